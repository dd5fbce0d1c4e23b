"""The attention of words over a label's description, against equations 1 to 5 of LEAR as loops."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
import pytest

from spanwise.analysis.attention import ROWS, attention
from spanwise.corpora import Corpus
from spanwise.document import Document
from spanwise.errors import InputError
from spanwise.inference.extractor import Extractor
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.testing.samples import DESCRIPTIONS

Make = Callable[..., TorchPipeline]
SENTENCE = "Mara Ostrow met Bo Lind in Brenford ."


@pytest.fixture(scope="module")
def lear(make_pipeline: Make, flat_corpus: Corpus) -> Extractor:
    return Extractor(make_pipeline("lear", flat_corpus, encoder={"word_shapes": False}))


def pieces_of(tokenizer: Any, words: list[str]) -> list[list[int]]:
    return [tokenizer.convert_tokens_to_ids(tokenizer.tokenize(word)) for word in words]


def hidden(pipeline: TorchPipeline, pieces: list[int]) -> list[list[float]]:
    """The encoder's vectors of [CLS] pieces [SEP], without those of the special tokens."""
    import torch

    ends = pipeline.tokenizer.cls_token_id, pipeline.tokenizer.sep_token_id
    with torch.no_grad():
        output = pipeline.model.encoder.transformer(input_ids=torch.tensor([[ends[0], *pieces, ends[1]]]))
    return output.last_hidden_state[0, 1:-1].double().tolist()


def times(matrix: list[list[float]], vector: list[float]) -> list[float]:
    return [sum(m * v for m, v in zip(row, vector, strict=True)) for row in matrix]


def by_the_paper(pipeline: TorchPipeline, words: list[str], description: list[str]) -> list[list[float]]:
    """Eqs. 1 to 5 for every word; the weights of a description's pieces are summed up by word."""
    weights = {name: value.double().tolist() for name, value in pipeline.model.state_dict().items()}
    text, label = pieces_of(pipeline.tokenizer, words), pieces_of(pipeline.tokenizer, description)
    vectors, found = hidden(pipeline, [*chain(*text)]), []  # eq. 1
    tokens = [times(weights["project_labels.weight"], y) for y in hidden(pipeline, [*chain(*label)])]  # eqs. 2, 4
    for pieces in text:
        own, vectors = vectors[: len(pieces)], vectors[len(pieces) :]
        word = times(weights["project_words.weight"], [max(column) for column in zip(*own, strict=True)])  # eq. 3
        scores = [math.exp(sum(x * y for x, y in zip(word, token, strict=True))) for token in tokens]
        rest = [score / sum(scores) for score in scores]  # eq. 5
        row = []
        for pieces in label:
            row.append(sum(rest[: len(pieces)]))
            rest = rest[len(pieces) :]
        found.append(row)
    return found


@pytest.mark.parametrize("label", DESCRIPTIONS)
def test_weights_are_those_of_equation_5(lear: Extractor, label: str) -> None:
    found = attention(lear, SENTENCE, None, label)
    description = DESCRIPTIONS[label].replace(",", " ,").split()
    assert (list(found.rows), list(found.columns)) == (SENTENCE.split(), description)
    wanted = by_the_paper(lear.pipeline, SENTENCE.split(), description)  # type: ignore[arg-type]
    np.testing.assert_allclose(np.array(found.values), wanted, atol=1e-5)
    assert np.ptp(wanted) > 0.1  # not the same weight everywhere


def test_the_rows_are_the_words_asked_for(lear: Extractor) -> None:
    whole = dict(zip(SENTENCE.split(), attention(lear, SENTENCE, None, "Person").values, strict=True))
    for word in ("Bo", "Mara Ostrow", "."):
        found = attention(lear, SENTENCE, word, "Person")
        assert list(found.rows) == word.split()
        assert found.values == tuple(whole[each] for each in word.split())


def test_every_occurrence_has_its_row(lear: Extractor) -> None:
    found = attention(lear, "Bo met Mara , and Mara met Bo Lind .", "Mara", "Person")
    assert found.rows == ("Mara", "Mara")
    assert found.values[0] != found.values[1]


def test_words_of_a_document_are_kept(lear: Extractor) -> None:
    document = Document.from_words(["Mara-Bo's", "left", "New York"])
    for word in ("Mara-Bo's", "New York", "Mara-Bo's left"):
        assert " ".join(attention(lear, document, word, "Place").rows) == word


def test_words_of_long_texts_are_read_in_their_window(lear: Extractor) -> None:
    text = f"{'It rained . ' * 60}Mara left . {'It rained . ' * 60}"
    assert len(lear.task.builder.examples(Document(text))) > 3
    found = attention(lear, text, "Mara", "Person")
    assert found.rows == ("Mara",)
    assert sum(value or 0 for value in found.values[0]) == pytest.approx(1)


def test_names_are_shown_where_the_model_reads_names(make_pipeline: Make, flat_corpus: Corpus) -> None:
    extractor = Extractor(make_pipeline("lear", flat_corpus, knowledge="names"))
    assert attention(extractor, SENTENCE, "Bo", "Organization").columns == ("Organization",)


def test_new_labels_have_their_descriptions(make_pipeline: Make, flat_corpus: Corpus) -> None:
    extractor = Extractor(make_pipeline("lear", flat_corpus, shared=True)).with_labels({"River": "flowing water"})
    assert attention(extractor, SENTENCE, "Bo", "River").columns == ("flowing", "water")


@pytest.mark.parametrize(
    ("text", "word", "label", "problem"),
    [
        (SENTENCE, "Bo", "Beast", "the model has no label 'Beast'; choose from Organization, Person, Place"),
        (SENTENCE, "Ada", "Person", "the text has no word 'Ada'; give a text, and one of its words"),
        (SENTENCE, " ", "Person", "the text has no word ' '"),
        (" ", None, "Person", "the text has no words"),
        ("Bo " * (ROWS + 1), None, "Person", "the text has 101 words to show; give a word, or a text of at most 100"),
    ],
)
def test_wrong_questions_are_refused(lear: Extractor, text: str, word: str | None, label: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        attention(lear, text, word, label)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("qa", {}),
        ("span-ner", {}),
        ("lear", {"fusion": "average"}),
        ("lear", {"fusion": "sentence"}),
        ("lear", {"knowledge": "embeddings"}),
    ],
)
def test_models_without_attention_over_descriptions_are_refused(
    make_pipeline: Make, flat_corpus: Corpus, name: str, options: dict[str, Any]
) -> None:
    extractor = Extractor(make_pipeline(name, flat_corpus, **options))
    with pytest.raises(InputError, match=rf"this {name} model has no attention over label texts; .*: lear"):
        attention(extractor, SENTENCE, "Bo", "Person")

"""Which texts are suggested for annotation, and how uncertain a model is about them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spanwise import formats
from spanwise.corpora import Corpus
from spanwise.decoding.uncertainty import Decisions, uncertainty
from spanwise.document import Document, Entity
from spanwise.errors import InputError
from spanwise.inference import suggestion
from spanwise.inference.extractor import Extractor
from spanwise.inference.suggestion import disagreement, diverse, sentence_vectors, suggest
from spanwise.pipeline.torch_pipeline import TorchPipeline

Make = Callable[..., TorchPipeline]
MODELS: list[tuple[str, dict[str, Any]]] = [
    ("seq-ner", {}),
    ("seq-ner", {"tagging": "crf"}),
    ("span-ner", {"nested": True, "multi_label": True}),
    ("spert", {"relation_threshold": 0.5}),
    ("dspert", {"depth": 1}),
    ("lear", {"nested": True}),
]


@pytest.fixture(scope="module")
def extractor(trained: Path) -> Extractor:
    return Extractor.from_pretrained(trained)


@pytest.fixture(scope="module")
def pool(easy_files: Path) -> list[Document]:
    return [Document(document.text, id=document.id) for document in formats.read(easy_files / "train.jsonl")]


@pytest.mark.parametrize("by", ["entropy", "margin"])
@pytest.mark.parametrize(("model", "options"), MODELS)
def test_every_model_rates_texts_alike_in_any_batch(
    make_pipeline: Make, flat_corpus: Corpus, model: str, options: dict[str, Any], by: Any
) -> None:
    asked = Extractor(make_pipeline(model, **options))
    documents = list(flat_corpus.splits["train"])
    together = suggestion._chunk_uncertainty(asked, documents, by)
    alone = [suggestion._chunk_uncertainty(asked, [document], by)[0] for document in documents]
    assert together == pytest.approx(np.array(alone), abs=1e-4)
    assert (together > 0).all()
    assert len(set(together.tolist())) > 1


def test_entropy_and_margin_of_known_probabilities() -> None:
    probability = np.array([[0.5, 0.5], [1.0, 0.0], [0.75, 0.25]], np.float32)
    found = Decisions(np.array([0, 0, 1]), probability)
    assert uncertainty(found, "entropy", 3) == pytest.approx([np.log(2), 0.5623, 0.0], abs=1e-4)
    assert uncertainty(found, "margin", 3) == pytest.approx([1.0, 0.5, 0.0])


@pytest.mark.parametrize("by", ["entropy", "margin"])
def test_names_that_the_model_never_saw_are_more_uncertain(extractor: Extractor, by: Any) -> None:
    known, strange = suggestion._chunk_uncertainty(
        extractor, [Document("Bo left Kell ."), Document("Zyx quuxed Blorp .")], by
    )
    assert strange > 2 * known


def test_suggestions_are_new_distinct_and_annotated_by_the_model(extractor: Extractor, pool: list[Document]) -> None:
    labeled = pool[:20]
    spaced = Document(pool[30].text.replace(" ", "  "))
    chosen = suggest(extractor, [*pool, Document(""), Document(" \n"), spaced], 200, labeled=labeled)
    texts = [document.text for document in chosen]
    assert len(texts) == len(set(texts)) > 10
    assert not set(texts) & {document.text for document in labeled}
    assert all(text.strip() for text in texts)
    assert spaced.text not in texts
    for document in chosen:
        found = extractor(document.text).entities
        assert [(e.start, e.end, e.label) for e in document.entities] == [(e.start, e.end, e.label) for e in found]
        assert document.metadata["uncertainty"] >= 0
    ids = {document.text: document.id for document in reversed(pool)}
    assert all(document.id == ids[document.text] for document in chosen)


def test_a_committee_chooses_what_its_members_disagree_about(make_pipeline: Make, flat_corpus: Corpus) -> None:
    first, second = (Extractor(make_pipeline("span-ner", seed=seed)) for seed in (1, 2))
    chosen = suggest(first, flat_corpus.splits["train"], 3, by="committee", committee=[second])
    votes = {d.text: disagreement([first(d.text), second(d.text)]) for d in chosen}
    assert len(chosen) == 3
    assert max(votes.values()) > 0
    assert suggest(first, flat_corpus.splits["train"], 3, by="committee", committee=[first])[0].metadata == {
        "uncertainty": 0.0
    }


def test_the_vote_entropy_of_known_votes() -> None:
    text = "Ada met Bo"
    one = Document(text, entities=(Entity(0, 3, "Person"), Entity(8, 10, "Person")))
    other = Document(text, entities=(Entity(0, 3, "Person"), Entity(8, 10, "Place")))
    assert disagreement([one, one]) == pytest.approx(0, abs=1e-6)
    assert disagreement([one, other]) == pytest.approx(2 * np.log(2))
    assert disagreement([Document(text), Document(text)]) == 0


def test_a_committee_needs_members_and_only_a_committee_does(extractor: Extractor) -> None:
    with pytest.raises(InputError, match="give both or neither"):
        suggest(extractor, [], by="committee")
    with pytest.raises(InputError, match="give both or neither"):
        suggest(extractor, [], committee=[extractor])


def test_a_text_like_one_that_is_chosen_comes_later() -> None:
    values = np.array([1.0, 0.95, 0.7, 0.0])
    vectors = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    assert diverse(values, vectors, 3) == [0, 2, 1]
    assert diverse(np.zeros(3), vectors[:3], 9) == [0, 2, 1]


def test_sentence_vectors_have_norm_one_and_do_not_depend_on_the_batch(extractor: Extractor) -> None:
    documents = [Document("Bo left Kell ."), Document("Nothing happened that day . " * 60), Document("")]
    vectors = sentence_vectors(extractor, documents)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 0])
    assert vectors[0] == pytest.approx(sentence_vectors(extractor, documents[:1])[0], abs=1e-5)


def test_an_empty_pool_gives_nothing(extractor: Extractor) -> None:
    assert suggest(extractor, []) == []

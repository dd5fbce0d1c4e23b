"""What every registered model must do, alone and bundled: one contract, checked through the seam and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from spanwise import Extractor
from spanwise.corpora import Corpus
from spanwise.document import Document, Entity
from spanwise.errors import RecipeError
from spanwise.inference.evaluation import evaluate_model
from spanwise.models.base import Prediction, ScoredSpan
from spanwise.models.registry import find, names
from spanwise.nn.batch import Batch
from spanwise.pipeline import Pipeline
from spanwise.recipe import Recipe
from spanwise.schema import EntityType, Schema
from spanwise.training.preparation import prepare
from spanwise.training.run import train

OVERFIT = {"epochs": 80, "patience": 25, "batch_size": 2, "encoder_lr": 3e-3, "task_lr": 1e-2}
BRIEF = {"epochs": 2, "batch_size": 4, "encoder_lr": 1e-3, "task_lr": 1e-3}


@dataclass(frozen=True)
class Variant:
    """A model as a recipe asks for it, and whether it reads nested entities."""

    model: str
    bundle: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    nested: bool = False

    def __str__(self) -> str:
        parts = [self.model, *([f"with-{self.bundle}"] if self.bundle else []), *map(str, self.options.values())]
        return "-".join(part.replace("True", "nested") for part in parts)

    def corpus(self, request: pytest.FixtureRequest) -> Corpus:
        found: Corpus = request.getfixturevalue("nested_corpus" if self.nested else "flat_corpus")
        return found

    def arguments(self) -> dict[str, Any]:
        return {**self.options, "bundle": {"name": self.bundle}} if self.bundle else self.options


def variants() -> Iterator[Variant]:
    """All registered models; those that can also in nested mode; those of the paper also bundled and with a CRF."""
    for name in names():
        switch = "nested" in find(name).Config.model_fields
        if switch or not find(name).can.nested:
            yield Variant(name)
        if find(name).can.nested:
            yield Variant(name, options={"nested": True} if switch else {}, nested=True)
    yield Variant("seq-ner", options={"tagging": "crf"})
    yield Variant("seq-ner", bundle="span-ner")
    yield Variant("span-ner", bundle="seq-ner")


@pytest.fixture(scope="module", params=list(variants()), ids=str)
def variant(request: pytest.FixtureRequest) -> Variant:
    found: Variant = request.param
    return found


@pytest.fixture(scope="module")
def corpus(variant: Variant, request: pytest.FixtureRequest) -> Corpus:
    return variant.corpus(request)


@pytest.fixture(scope="module")
def recipe(variant: Variant, make_recipe: Callable[..., Recipe]) -> Callable[..., Recipe]:
    """The variant's recipe with these sections."""
    return lambda **sections: make_recipe(variant.model, **{**variant.arguments(), **sections})


@pytest.fixture(scope="module")
def run(recipe: Callable[..., Recipe], corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that overfitted the eight sentences."""
    folder = tmp_path_factory.mktemp("run") / "model"
    train(recipe(train=OVERFIT), folder, corpus=corpus)
    return folder


@pytest.fixture(scope="module")
def extractor(run: Path) -> Extractor:
    return Extractor.from_pretrained(run)


@pytest.fixture(scope="module")
def random_model(variant: Variant, corpus: Corpus, make_pipeline: Callable[..., Pipeline]) -> Pipeline:
    """Untrained: it marks far more than a trained model, all over the text."""
    return make_pipeline(variant.model, corpus, **variant.arguments())


def marked(document: Document) -> list[tuple[str, str]]:
    return [(document.slice(entity), entity.label) for entity in document.entities]


def test_it_overfits_eight_sentences(extractor: Extractor, corpus: Corpus) -> None:
    score = evaluate_model(extractor, corpus.splits["train"]).entities.micro
    assert score.f1 >= 0.99
    assert score.gold >= 15


def rows_of(scores: Any, batch: Batch, row: int) -> list[Tensor]:
    """What the scores say about one example: of its words [B, T, …] or of its spans [N, …]."""
    if isinstance(scores, tuple):
        return [tensor for part in scores if part is not None for tensor in rows_of(part, batch, row)]
    if scores.ndim == 2 and len(scores) == len(batch.spans):
        return [scores[batch.spans[:, 0] == row]]
    return [scores[row, : int(batch.word_mask[row].sum())]]


@torch.inference_mode()
def test_scores_are_the_same_alone_and_inside_a_padded_batch(random_model: Pipeline, corpus: Corpus) -> None:
    examples = [e for group in random_model.builder.build(corpus.splits["train"], gold=False) for e in group]
    batch = random_model.collate(examples)
    assert not batch.word_mask.all()
    together = random_model.model(batch)
    for row, example in enumerate(examples):
        single = random_model.collate([example])
        alone = rows_of(random_model.model(single), single, 0)
        for one, other in zip(alone, rows_of(together, batch, row), strict=True):
            torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


def test_predictions_are_the_same_alone_and_among_others(random_model: Pipeline, corpus: Corpus) -> None:
    documents = corpus.splits["train"]
    together = random_model.predict(documents)
    assert sum(len(document.entities) for document in together) > 8
    for document, found in zip(documents, together, strict=True):
        (alone,) = random_model.predict([document])
        assert marked(alone) == marked(found)
        assert [e.score for e in alone.entities] == pytest.approx([e.score for e in found.entities], abs=1e-5)


def test_predictions_are_the_same_after_save_and_load(random_model: Pipeline, corpus: Corpus, tmp_path: Path) -> None:
    documents = [*corpus.splits["train"], Document("Bo Lind   left Westmoor . " * 30)]
    found = random_model.predict(documents)
    Extractor(random_model).save_pretrained(tmp_path / "copy")
    assert Extractor.from_pretrained(tmp_path / "copy")(documents) == found


def test_a_saved_model_needs_nothing_but_its_folder(extractor: Extractor, run: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    moved.mkdir()
    for file in ("config.json", "schema.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"):
        (moved / file).write_bytes((run / file).read_bytes())
    text = "Mara Ostrow met Bo Lind in Brenford ."
    assert Extractor.from_pretrained(moved)(text) == extractor(text)


def test_offsets_slice_the_text_exactly(extractor: Extractor, corpus: Corpus) -> None:
    """The words of a training sentence, laid out oddly, are marked as in the sentence itself."""
    for document in corpus.splits["train"]:
        text = "\n\t " + " \u00a0\n ".join(document.word_texts) + "  "
        found = extractor(text)
        assert found.text == text
        wanted = sorted((e.start, -e.end, " ".join(document.slice(e).split()), e.label) for e in document.entities)
        got = sorted((e.start, -e.end, " ".join(found.slice(e).split()), e.label) for e in found.entities)
        assert [row[2:] for row in got] == [row[2:] for row in wanted]
        assert all(found.slice(e) == found.slice(e).strip() for e in found.entities)


ODD_TEXTS = {
    "one word": "Mara",
    "one mark": ".",
    "emoji": "Mara 👩‍👩‍👧‍👦 met 🙂🙂 in 🇫🇷 !",
    "right to left": "سافرت مارا إلى القاهرة . מארה נסעה לחיפה .",
    "Chinese": "王小明在北京大学工作。她住在上海。",
    "mixed": "Mara在Brenford工作 — naïve cafe\u0301 № 5",
    "invisible": "Ma\u200dra \u200b \ufeff met\u00adBo",
    "control": "Mara\x00met\x07Bo",
    "surrogate-free plane": "𝓜𝓪𝓻𝓪 𐍈 met",
    "long word": "x" * 3000,
    "special tokens": "[CLS] Mara [SEP] met [PAD] [MASK] [UNK]",
}


@pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS)
def test_any_text_is_read_and_marked_on_word_borders(random_model: Pipeline, text: str) -> None:
    found = Extractor(random_model)(text)
    assert found.text == text
    assert {c for w in found.words for c in range(*w)} == {i for i, c in enumerate(text) if not c.isspace()}
    starts, ends = {word.start for word in found.words}, {word.end for word in found.words}
    assert all(e.start in starts and e.end in ends and 0 <= e.score <= 1 for e in found.entities)


@pytest.mark.parametrize("text", ["", " ", "\n\t \u3000"], ids=["empty", "space", "white space"])
def test_a_text_without_words_holds_nothing(random_model: Pipeline, text: str) -> None:
    found = Extractor(random_model)(text)
    assert (found.text, found.words, found.entities) == (text, (), ())


def test_flat_models_never_mark_a_word_twice(variant: Variant, random_model: Pipeline, corpus: Corpus) -> None:
    documents = [*corpus.splits["train"], Document("Bo Lind left Westmoor . " * 30)]
    crossing = 0
    for found in random_model.predict(documents):
        entities = sorted(found.entities, key=lambda e: e.start)
        crossing += sum(one.end > other.start for one, other in pairwise(entities))
    assert bool(crossing) == variant.nested


def test_one_label_is_enough(recipe: Callable[..., Recipe], corpus: Corpus, tmp_path: Path) -> None:
    documents = tuple(
        document.with_annotations(
            {(e.start, e.end): Entity(e.start, e.end, "Name") for e in document.entities}.values()
        )
        for document in corpus.splits["train"]
    )
    single = Corpus("single", {"train": documents}, Schema((EntityType("Name", "anything that has a name"),)))
    train(recipe(train={**OVERFIT, "epochs": 5}), tmp_path / "run", corpus=single)
    found = Extractor.from_pretrained(tmp_path / "run")(documents)
    assert {e.label for document in found for e in document.entities} <= {"Name"}
    losses = [json.loads(line)["loss"] for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert losses[-1] < losses[0]


def test_training_is_deterministic_under_a_seed(recipe: Callable[..., Recipe], corpus: Corpus, tmp_path: Path) -> None:
    weights = []
    for number, seed in enumerate((1, 1, 2)):
        torch.manual_seed(number)  # what happened before a run must not matter
        train(recipe(train={**BRIEF, "seed": seed}), tmp_path / str(number), corpus=corpus)
        weights.append((tmp_path / str(number) / "model.safetensors").read_bytes())
    assert weights[0] == weights[1] != weights[2]


def test_data_it_cannot_do_is_refused_before_anything_is_loaded(
    variant: Variant, recipe: Callable[..., Recipe], nested_corpus: Corpus, tmp_path: Path
) -> None:
    if variant.nested:
        prepare(recipe(encoder={"name": "./no/such/encoder"}), nested_corpus)
        return
    with pytest.raises(RecipeError, match=r"'nested' has nested entities, which this .* does not predict; .* or set"):
        train(recipe(encoder={"name": "./no/such/encoder"}), tmp_path / "run", corpus=nested_corpus)
    assert not (tmp_path / "run").exists()


def test_missing_descriptions_are_refused_before_anything_is_loaded(
    variant: Variant, recipe: Callable[..., Recipe], corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = replace(corpus, schema=Schema(tuple(EntityType(name) for name in corpus.schema.entity_names)))
    model = find(variant.model)
    monkeypatch.setattr(model, "can", replace(model.can, needs_descriptions=True))
    with pytest.raises(
        RecipeError, match=rf"{variant.model} reads descriptions of the labels, and 'Organization' has none"
    ):
        train(recipe(encoder={"name": "./no/such/encoder"}), tmp_path / "run", corpus=silent)


def test_a_corpus_without_entities_is_refused(recipe: Callable[..., Recipe], tmp_path: Path) -> None:
    empty = Corpus("empty", {"train": (Document.from_words(["It", "rained"]),)}, Schema())
    with pytest.raises(RecipeError, match=r"marks no entity; there is nothing to learn"):
        train(recipe(encoder={"name": "./no/such/encoder"}), tmp_path / "run", corpus=empty)


def read_letters(pipeline: Pipeline) -> Callable[..., list[Prediction]]:
    """A decoder for the tests of long text: `b` begins an entity and `i` goes on, with or without its `b`.

    So it marks, as a tagger does, whatever a window's edges leave of an entity.
    """
    begin, inside = (pipeline.pieces([letter])[0][0] for letter in "bi")

    def decode(scores: Any, batch: Batch, thresholds: Tensor) -> list[Prediction]:
        found = []
        for row, mask in enumerate(batch.word_mask):
            words = batch.pieces[row, batch.first_piece[row, mask]].tolist()
            starts = [
                t
                for t, w in enumerate(words)
                if w == begin or (w == inside and (t == 0 or words[t - 1] not in (begin, inside)))
            ]
            spans = []
            for start in starts:
                end = start + 1
                while end < len(words) and words[end] == inside:
                    end += 1
                spans.append(ScoredSpan(start, end, 0, 0.5))
            found.append(Prediction(tuple(spans)))
        return found

    return decode


@pytest.fixture(scope="module")
def letter_reader(variant: Variant, corpus: Corpus, make_pipeline: Callable[..., Pipeline]) -> Pipeline:
    pipeline = make_pipeline(variant.model, corpus, **variant.arguments())
    pipeline.model.decode = read_letters(pipeline)
    pipeline.model.score = lambda encoded, batch: None
    pipeline.model.encoder.transformer.forward = lambda input_ids, **_: SimpleNamespace(
        last_hidden_state=torch.zeros(*input_ids.shape, 32)
    )
    return pipeline


@st.composite
def long_texts(draw: st.DrawFn) -> list[str]:
    """Words of a text at least five times as long as the encoder's limit; entities are at most its overlap wide."""
    parts = draw(st.lists(st.tuples(st.integers(0, 24), st.integers(0, 30), st.booleans()), min_size=5, max_size=12))
    words: list[str] = []
    while len(words) < 5 * 96:
        for width, gap, stop in parts:
            words += ["b"] * bool(width) + ["i"] * (width - 1) + ["o"] * (gap + 1) + [".", "O"] * stop
    return words


@settings(max_examples=25)
@given(words=long_texts())
def test_long_text_keeps_every_entity_exactly_once(letter_reader: Pipeline, words: list[str]) -> None:
    document = Document.from_words(words)
    (group,) = letter_reader.builder.build([document], gold=False)
    assert len(group) >= 5
    starts = [i for i, word in enumerate(words) if word == "b"]
    wanted = []
    for start in starts:
        end = next(i for i in range(start + 1, len(words) + 1) if i == len(words) or words[i] != "i")
        wanted.append((document.words[start].start, document.words[end - 1].end))
    (found,) = letter_reader.predict([document])
    assert [(e.start, e.end) for e in found.entities] == wanted


def test_every_long_text_of_a_batch_is_whole(letter_reader: Pipeline) -> None:
    texts = [" ".join(["o"] * n + ["b", "i"] + ["o"] * (500 - n)) for n in range(0, 500, 7)]
    for text, found in zip(texts, letter_reader.predict([Document(text) for text in texts]), strict=True):
        assert found.text == text
        assert [found.slice(e) for e in found.entities] == ["b i"]

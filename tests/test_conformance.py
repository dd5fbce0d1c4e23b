"""What every registered model must do, alone and bundled: one contract, checked through the seam and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
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
from spanwise.document import Document, Relation
from spanwise.errors import InputError, RecipeError
from spanwise.inference.evaluation import evaluate_model
from spanwise.models.base import Least, Prediction, ScoredSpan
from spanwise.models.registry import find, names
from spanwise.nn.batch import Batch
from spanwise.pipeline import Pipeline
from spanwise.recipe import Recipe
from spanwise.schema import EntityType, RelationType, Schema
from spanwise.training.preparation import prepare
from spanwise.training.reporting import EpochReport, Silent
from spanwise.training.run import train

Triple = tuple[int, int, str]
# Of the eight sentences by their numbers: entities that a relation joins, by theirs; heads before and behind tails.
FLAT_LINKS: dict[int, list[Triple]] = {
    0: [(0, 1, "knows"), (0, 2, "lives in")],
    3: [(1, 0, "works for")],
    6: [(3, 0, "works for"), (0, 2, "lives in")],
    7: [(0, 1, "knows")],
}
NESTED_LINKS: dict[int, list[Triple]] = {
    0: [(0, 1, "lives in")],
    1: [(0, 1, "works for"), (1, 2, "lives in")],
    3: [(0, 1, "works for")],
    5: [(0, 2, "knows"), (0, 1, "lives in")],
    6: [(0, 1, "works for"), (1, 2, "lives in")],
}
RELATIONS = (RelationType("works for"), RelationType("lives in"), RelationType("knows", symmetric=True))
OVERFIT = {"epochs": 80, "batch_size": 2, "encoder_lr": 3e-3, "task_lr": 1e-2}
SLOW = {"lear": {"epochs": 400, "task_lr": 3e-3}}  # its words and its labels pull at one encoder
MATCHED = {"match_weight": 10.0}  # of a mean over n² cells, which are few in short sentences
SHORT = {**OVERFIT, "epochs": 5}
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

    @property
    def joins(self) -> bool:
        """Whether it predicts relations."""
        return find(self.model).can.relations

    def corpus(self, request: pytest.FixtureRequest) -> Corpus:
        """Eight sentences; with relations for those that predict some."""
        found: Corpus = request.getfixturevalue("nested_corpus" if self.nested else "flat_corpus")
        return linked(found, NESTED_LINKS if self.nested else FLAT_LINKS) if self.joins else found

    def arguments(self) -> dict[str, Any]:
        return {**self.options, "bundle": {"name": self.bundle}} if self.bundle else self.options


def linked(corpus: Corpus, links: dict[int, list[Triple]]) -> Corpus:
    documents = tuple(
        document.with_annotations(document.entities, [Relation(*link) for link in links.get(number, ())])
        for number, document in enumerate(corpus.splits["train"])
    )
    return Corpus("linked", {"train": documents, "dev": documents}, Schema(corpus.schema.entities, RELATIONS))


def variants() -> Iterator[Variant]:
    """All registered models; those that can also in nested mode; those of the paper also bundled and with a CRF."""
    for name in names():
        fields = find(name).Config.model_fields
        switch = "nested" in fields
        if switch or not find(name).can.nested:
            yield Variant(name)
        if find(name).can.nested:
            options = {"nested": True, **(MATCHED if "match_weight" in fields else {})} if switch else {}
            yield Variant(name, options=options, nested=True)
    yield Variant("seq-ner", options={"tagging": "crf"})
    yield Variant("seq-ner", bundle="span-ner")
    yield Variant("span-ner", bundle="seq-ner")
    yield Variant("dspert", options={"nested": True, "negatives": 6, "keep": 1e-4}, nested=True)


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


class Perfect(Exception):  # noqa: N818
    """Nothing is left to learn."""


class UntilPerfect(Silent):
    """Ends a run whose folder holds a model without errors on dev."""

    def epoch(self, report: EpochReport) -> None:
        if report.dev is not None and report.dev.f1 == 1:
            raise Perfect


@pytest.fixture(scope="module")
def run(
    variant: Variant, recipe: Callable[..., Recipe], corpus: Corpus, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The folder of a run that overfitted the eight sentences, without the dropout that would keep it from it."""
    folder = tmp_path_factory.mktemp("run") / "model"
    with suppress(Perfect):
        train(recipe(train=OVERFIT | SLOW.get(variant.model, {}), dropout=0.0), folder, UntilPerfect(), corpus)
    return folder


@pytest.fixture(scope="module")
def extractor(run: Path) -> Extractor:
    return Extractor.from_pretrained(run)


@pytest.fixture(scope="module")
def random_model(variant: Variant, corpus: Corpus, make_pipeline: Callable[..., Pipeline]) -> Pipeline:
    """Untrained: it marks far more than a trained model, all over the text. The first seed that joins some of it.

    Those that join see narrow spans only: the square of all others is too much for a test.
    """
    options = {**variant.arguments(), **({"max_width": 2} if variant.joins else {})}
    seeds = (evened(make_pipeline(variant.model, corpus, seed=seed, **options)) for seed in range(1, 50))
    return next(p for p in seeds if not variant.joins or count_relations(p.predict(corpus.splits["train"])) > 8)


def evened(pipeline: Pipeline) -> Pipeline:
    """Starts and ends are rare before anything is learnt; here they are as likely as not."""
    for name, parameter in pipeline.model.named_parameters():
        if name in ("start.bias", "end.bias"):
            torch.nn.init.zeros_(parameter)
    return pipeline


def count_relations(documents: Iterable[Document]) -> int:
    return sum(len(document.relations) for document in documents)


def marked(document: Document) -> list[tuple[str, str]]:
    return [(document.slice(entity), entity.label) for entity in document.entities]


def joined(document: Document) -> list[tuple[str, str, str]]:
    entities = [document.slice(entity) for entity in document.entities]
    return [(entities[r.head], r.label, entities[r.tail]) for r in document.relations]


def test_it_overfits_eight_sentences(variant: Variant, extractor: Extractor, corpus: Corpus) -> None:
    scores = evaluate_model(extractor, corpus.splits["train"])
    assert scores.entities.micro.f1 >= 0.99
    assert scores.entities.micro.gold >= 15
    assert (scores.relations is not None) == variant.joins
    if scores.relations is not None:
        assert scores.relations.strict.micro.f1 >= 0.99
        assert scores.relations.strict.micro.gold >= 6


def test_relations_between_given_entities_are_those_it_learnt(
    variant: Variant, extractor: Extractor, corpus: Corpus
) -> None:
    if not variant.joins:
        with pytest.raises(InputError, match=f"{variant.model} does not predict relations"):
            list(extractor.relate(corpus.splits["train"]))
        return
    for document, found in zip(corpus.splits["train"], extractor.relate(corpus.splits["train"]), strict=True):
        assert found.entities == document.entities
        assert sorted(joined(found)) == sorted(joined(document))


def rows_of(scores: Any, batch: Batch, row: int) -> list[Tensor]:
    """What the scores say about one example: of its words [B, T, …] or of its spans [N, …]."""
    if isinstance(scores, tuple):  # but for the spans themselves, where they stand, and what pairs will be scored from
        named = scores._asdict().items()  # type: ignore[attr-defined]
        parts = (part for name, part in named if name not in ("seen", "spans", "drawn"))
        return [tensor for part in parts for tensor in rows_of(part, batch, row)]
    if scores is None or not len(scores):  # of a partner, and of pairs, at work
        return []
    if scores.ndim < 3 and len(scores) == len(batch.spans):
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


def test_predictions_are_the_same_alone_and_among_others(
    variant: Variant, random_model: Pipeline, corpus: Corpus
) -> None:
    documents = corpus.splits["train"]
    together = random_model.predict(documents)
    assert sum(len(document.entities) for document in together) > 8
    assert bool(count_relations(together)) == variant.joins
    for document, found in zip(documents, together, strict=True):
        (alone,) = random_model.predict([document])
        assert marked(alone) == marked(found)
        assert [e.score for e in alone.entities] == pytest.approx([e.score for e in found.entities], abs=1e-5)
        assert joined(alone) == joined(found)
        assert [r.score for r in alone.relations] == pytest.approx([r.score for r in found.relations], abs=1e-5)


def test_predictions_are_the_same_after_save_and_load(
    variant: Variant, random_model: Pipeline, corpus: Corpus, tmp_path: Path
) -> None:
    documents = [*corpus.splits["train"], Document("Bo Lind   left Westmoor . " * 30)]
    found = random_model.predict(documents)
    assert bool(count_relations(found)) == variant.joins
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
    """The words of a training sentence, laid out oddly, are marked as in the sentence itself.

    One that takes several windows is left out: they are cut elsewhere where lines break elsewhere.
    """
    documents = corpus.splits["train"]
    windows = [len(group) for group in extractor.pipeline.builder.build(documents, gold=False)]
    whole = [document for document, number in zip(documents, windows, strict=True) if number == 1]
    assert len(whole) >= 6
    for document in whole:
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
    documents = [
        document.with_annotations(
            [replace(entity, label="Name") for entity in document.entities],
            [replace(relation, label="joined") for relation in document.relations],
        )
        for document in corpus.splits["train"]
    ]
    relations = (RelationType("joined"),) if corpus.schema.relations else ()
    schema = Schema((EntityType("Name", "anything that has a name"),), relations)
    train(recipe(train=SHORT), tmp_path / "run", corpus=Corpus("single", {"train": tuple(documents)}, schema))
    found = Extractor.from_pretrained(tmp_path / "run")(documents, relation_threshold=0.0)
    assert {e.label for document in found for e in document.entities} <= {"Name"}
    assert {r.label for document in found for r in document.relations} <= {"joined"}
    losses = losses_of(tmp_path / "run")
    assert losses[-1] < losses[0]


def losses_of(run: Path) -> list[float]:
    return [json.loads(line)["loss"] for line in (run / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("model", [name for name in names() if find(name).can.relations])
def test_without_relation_types_it_finds_entities_alone(
    model: str, make_recipe: Callable[..., Recipe], flat_corpus: Corpus, tmp_path: Path
) -> None:
    train(make_recipe(model, train=SHORT), tmp_path / "run", corpus=flat_corpus)
    losses = losses_of(tmp_path / "run")
    assert losses[-1] < losses[0]
    extractor = Extractor.from_pretrained(tmp_path / "run")
    documents = list(flat_corpus.splits["train"])
    for found in (*extractor(documents, relation_threshold=0.0), *extractor.relate(documents, relation_threshold=0.0)):
        assert found.relations == ()
    assert evaluate_model(extractor, documents).relations is None


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
        RecipeError,
        match=rf"{variant.model} reads descriptions of the labels, and Organization, Person, Place have none; write",
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

    def decode(scores: Any, batch: Batch, least: Least) -> list[Prediction]:
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
def letter_reader(variant: Variant, corpus: Corpus, make_pipeline: Callable[..., Pipeline]) -> Any:
    pipeline: Any = make_pipeline(variant.model, corpus, **variant.arguments())
    pipeline.model.decode = read_letters(pipeline)
    pipeline.model.score = lambda encoded, batch: None
    pipeline.model.encoder.transformer.forward = says_nothing
    return pipeline


def says_nothing(input_ids: Tensor, **_: object) -> SimpleNamespace:
    vectors = torch.zeros(*input_ids.shape, 32)
    return SimpleNamespace(last_hidden_state=vectors, hidden_states=(vectors,) * 3)


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

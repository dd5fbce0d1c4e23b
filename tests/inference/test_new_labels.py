"""Labels that a model was not trained on, asked for by their descriptions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from label_askers import emboldened
from spanwise.corpora import Corpus
from spanwise.document import Document, Entity
from spanwise.errors import InputError, SchemaError
from spanwise.inference.extractor import Extractor
from spanwise.pipeline import label_cache
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.schema import Schema

NEW = {"Town": "where people live, of any size", "Human": "persons by their names", "Date": "a day or a year"}
TEXT = "Mara Ostrow met Bo Lind in Brenford ."
TEXTS = [TEXT, "", "Acme hired Mara .", "Lind", " ".join([TEXT] * 8)]  # the last is longer than the encoder's window
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "lear": ("lear", {"shared": True}),
    "lear of names": ("lear", {"shared": True, "knowledge": "names"}),
    "lear nested": ("lear", {"shared": True, "nested": True, "matcher": "mlp"}),
    "lear with a tagger": ("lear", {"shared": True, "bundle": {"name": "seq-ner"}}),
    "qa": ("qa", {}),
}
Make = Callable[..., Extractor]


@pytest.fixture(scope="module")
def make(make_pipeline: Callable[..., TorchPipeline]) -> Make:
    """make("lear"): a new extractor of this variant, always the same."""

    def build(variant: str) -> Extractor:
        model, options = VARIANTS[variant]
        return Extractor(emboldened(make_pipeline(model, **options)))

    return build


@pytest.fixture(scope="module", params=VARIANTS)
def asker(request: pytest.FixtureRequest, make: Make) -> Extractor:
    return make(request.param)


@pytest.fixture(scope="module")
def lear(make: Make) -> Extractor:
    return make("lear")


def torch_pipeline(extractor: Extractor) -> TorchPipeline:
    assert isinstance(extractor.pipeline, TorchPipeline)
    return extractor.pipeline


def own_labels(schema: Schema) -> dict[str, str]:
    return {kind.name: kind.description for kind in schema.entities}


def marked(documents: list[Document]) -> list[list[tuple[int, int, str]]]:
    return [[(e.start, e.end, e.label) for e in document.entities] for document in documents]


def labels_in(documents: list[Document]) -> set[str]:
    return {entity.label for document in documents for entity in document.entities}


def test_only_the_labels_that_are_asked_for_are_found(asker: Extractor) -> None:
    found = asker(TEXTS, labels=NEW)
    assert [document.text for document in found] == TEXTS
    assert len(labels_in(found)) > 1
    assert labels_in(found) <= set(NEW)
    assert labels_in(asker(TEXTS)) <= set(asker.schema.entity_names)
    for name in NEW:
        alone = asker(TEXTS, labels={name: NEW[name]})
        assert labels_in(alone) == {name}


def test_its_own_labels_give_exactly_what_it_gives_by_itself(asker: Extractor) -> None:
    found = asker(TEXTS)
    assert len(labels_in(found)) > 1
    assert sum(len(document.entities) for document in found) > 10
    assert asker(TEXTS, labels=own_labels(asker.schema)) == found


def test_a_text_words_documents_and_a_stream_are_asked_alike(lear: Extractor) -> None:
    alone = lear(TEXT, labels=NEW)
    assert alone.entities
    assert lear([TEXT], labels=NEW) == [alone]
    assert lear(words=TEXT.split(), labels=NEW) == alone
    assert next(lear.with_labels(NEW).stream(iter([TEXT]))) == alone
    assert list(lear.stream([TEXT], labels=NEW)) == [alone]
    assert list(lear.stream([(TEXT, 7)], labels=NEW, as_tuples=True)) == [(alone, 7)]
    given = Document(TEXT, entities=(Entity(0, 4, "Person"),), id="d7")
    asked = lear(given, labels=NEW)
    assert (asked.entities, asked.id) == (alone.entities, "d7")


@pytest.mark.parametrize("variant", ["lear", "lear nested", "qa"])
def test_what_is_described_alike_is_found_alike_whatever_its_name(variant: str, make: Make) -> None:
    asker = make(variant)
    renamed = {f"new {name}": text for name, text in own_labels(asker.schema).items()}
    own = [[(start, end, f"new {label}") for start, end, label in row] for row in marked(asker(TEXTS))]
    assert marked(asker(TEXTS, labels=renamed)) == own


def test_another_description_of_a_label_changes_what_is_found(asker: Extractor) -> None:
    """But for a model that reads names alone."""
    names = asker.pipeline.reader.traits.label_texts == "names"
    one, other = (asker(TEXTS, labels={"Town": text}) for text in ("where people live", "12 # 7 [mask] ??"))
    assert (one == other) == names


def test_no_label_sees_which_others_are_asked_for(make: Make) -> None:
    """Where spans may overlap; in flat text the surest of all labels wins."""
    nested = make("lear nested")
    together = nested(TEXTS, labels=NEW)
    assert labels_in(together) == set(NEW)
    for name, text in NEW.items():
        for whole, alone in zip(together, nested(TEXTS, labels={name: text}), strict=True):
            wanted = [entity for entity in whole.entities if entity.label == name]
            assert [(e.start, e.end) for e in alone.entities] == [(e.start, e.end) for e in wanted]
            assert [e.score for e in alone.entities] == pytest.approx([e.score for e in wanted], abs=1e-5)


def test_asking_builds_no_second_pipeline_and_no_parameters(asker: Extractor) -> None:
    pipeline = torch_pipeline(asker)
    model, runner = pipeline.model, pipeline.runner
    before = {id(parameter) for parameter in model.parameters()}
    asked = asker.with_labels(NEW)
    assert asked(TEXT).text == TEXT
    assert asked.pipeline is pipeline is asker.pipeline
    assert (pipeline.model, pipeline.runner) == (model, runner)
    assert {id(parameter) for parameter in model.parameters()} == before


def test_the_extractor_itself_stays_as_it_was(asker: Extractor) -> None:
    model, schema = torch_pipeline(asker).model, asker.schema
    before = asker(TEXTS)
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    learns = {name: parameter.requires_grad for name, parameter in model.named_parameters()}
    assert labels_in(asker(TEXTS, labels={**NEW, "Thing": "a thing"})).isdisjoint(schema.entity_names)
    assert asker(TEXTS) == before
    assert asker.schema is schema
    assert not model.training
    assert model.state_dict().keys() == weights.keys()
    assert all(bool((value == weights[name]).all()) for name, value in model.state_dict().items())
    assert {name: parameter.requires_grad for name, parameter in model.named_parameters()} == learns


def test_an_asking_extractor_sees_later_changes_of_the_weights(make: Make) -> None:
    """Once the labels that were encoded with the old ones are forgotten, as training does after every epoch."""
    lear = make("lear")
    asked = lear.with_labels(own_labels(lear.schema))
    before = asked(TEXT)
    model: Any = torch_pipeline(lear).model
    model.encoder.transformer.embeddings.LayerNorm.bias.detach().add_(0.5)
    torch_pipeline(lear).reset_runner()
    assert asked(TEXT) == lear(TEXT) != before


@contextmanager
def passes(extractor: Extractor) -> Iterator[list[int]]:
    """How many rows went through the encoder, pass by pass."""
    rows: list[int] = []
    transformer: Any = torch_pipeline(extractor).model.encoder.transformer
    hook = transformer.register_forward_pre_hook(
        lambda _, args, kwargs: rows.append(len(kwargs["input_ids"])), with_kwargs=True
    )
    try:
        yield rows
    finally:
        hook.remove()


def test_descriptions_are_read_once_for_many_texts_and_calls(make: Make) -> None:
    lear = make("lear")
    lear(TEXT)  # its own three labels are read here
    with passes(lear) as rows:
        for _ in range(3):
            lear(TEXT, labels=dict(NEW))
        assert sorted(rows) == [1, 1, 1, len(NEW)]
        rows.clear()
        lear(TEXT)
        lear(TEXT, labels={"Town": "where people live"})
        lear(TEXT, labels=NEW)
        assert sorted(rows) == [1, 1, 1, 1]  # one pass for the one description that is new


def test_an_asking_extractor_has_the_labels_it_was_asked_for(lear: Extractor) -> None:
    asked = lear.with_labels(NEW)
    assert lear.with_labels({"Town": NEW["Town"]}).schema.entity_names == ("Town",)
    assert asked.schema.entity_names == tuple(NEW)
    assert [kind.description for kind in asked.schema.entities] == list(NEW.values())


def test_the_last_eight_sets_of_labels_are_kept(make: Make) -> None:
    lear = make("lear")
    sets = [{f"Kind {number}": f"things of kind {number}"} for number in range(10)]

    def encoded(number: int) -> bool:
        """Whether the labels of this set went through the encoder, beside the text."""
        with passes(lear) as rows:
            lear(TEXT, labels=sets[number])
        return len(rows) == 2

    assert label_cache.LABEL_SETS == 8
    assert [encoded(number) for number in range(10)] == [True] * 10
    assert [encoded(number) for number in range(2, 10)] == [False] * 8
    assert encoded(0)
    assert not encoded(9)
    assert encoded(2)  # it made room for the first


def test_thresholds_are_those_of_the_labels_that_are_asked_for(make: Make) -> None:
    lear = make("lear")
    everything = lear(TEXTS, labels=NEW)
    assert labels_in(lear(TEXTS, labels=NEW, threshold=1.0)) == set()
    for name in labels_in(everything):
        others = labels_in(lear(TEXTS, labels=NEW, threshold={name: 1.0}))
        assert others
        assert name not in others
    with pytest.raises(InputError, match=r"unknown label 'Person' .*; choose from Town, Human, Date"):
        lear(TEXT, labels=NEW, threshold={"Person": 0.5})


def test_the_models_own_threshold_holds_for_new_labels(make: Make) -> None:
    lear = make("lear")
    scores = sorted(entity.score for document in lear(TEXTS, labels=NEW) for entity in document.entities)
    middle = scores[len(scores) // 2]
    lear = make("lear")
    lear.pipeline.threshold = middle
    found = [entity.score for document in lear(TEXTS, labels=NEW) for entity in document.entities]
    assert sorted(found) == [score for score in scores if score >= middle] != scores


@pytest.mark.parametrize("variant", ["lear", "lear nested", "lear with a tagger", "qa"])
def test_a_saved_model_is_asked_as_before(variant: str, make: Make, tmp_path: Path) -> None:
    asker = make(variant)
    asker.save_pretrained(tmp_path / "model")
    assert Extractor.from_pretrained(tmp_path / "model")(TEXTS, labels=NEW) == asker(TEXTS, labels=NEW)


def test_what_is_asked_for_can_be_saved_as_a_model_of_its_own(asker: Extractor, tmp_path: Path) -> None:
    asker.with_labels(NEW).save_pretrained(tmp_path / "model")
    loaded = Extractor.from_pretrained(tmp_path / "model")
    assert loaded.schema.entity_names == tuple(NEW)
    assert loaded(TEXTS) == asker(TEXTS, labels=NEW)


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("lear", {}),
        ("lear", {"shared": True, "knowledge": "embeddings"}),
        ("seq-ner", {}),
        ("span-ner", {"max_width": 2, "bundle": {"name": "seq-ner"}}),
    ],
    ids=["lear", "lear of embeddings", "seq-ner", "bundle"],
)
def test_a_model_with_weights_for_each_label_takes_no_new_ones(
    model: str, options: dict[str, Any], make_pipeline: Callable[..., TorchPipeline], flat_corpus: Corpus
) -> None:
    extractor = Extractor(make_pipeline(model, **options))
    for labels in (NEW, own_labels(flat_corpus.schema)):
        with pytest.raises(InputError, match=rf"this {model} has fixed labels and takes no new"):
            extractor(TEXT, labels=labels)
    with pytest.raises(InputError, match="takes no new ones"):
        extractor.with_labels(NEW)


@pytest.mark.parametrize(
    "labels",
    [
        {},
        {"Town": ""},
        {"Town": " \n"},
        {"": "towns"},
        {" ": "towns"},
        {"Town": None},
        {3: "towns"},
        {**NEW, "Town": ""},
    ],
    ids=repr,
)
def test_labels_without_a_name_or_a_description_are_reported(lear: Extractor, labels: Any) -> None:
    with pytest.raises(InputError, match=r"give at least one label|texts and not empty"):
        lear(TEXT, labels=labels)


@pytest.mark.parametrize("labels", ["Town", 7, {"Town": ["where people live"]}, [["Town"]]], ids=repr)
def test_labels_that_are_no_texts_are_reported(lear: Extractor, labels: Any) -> None:
    with pytest.raises(InputError, match=r"labels= is a list of names, or a mapping|are texts and not empty"):
        lear(TEXT, labels=labels)


def test_a_list_of_names_reads_each_name_as_its_description(lear: Extractor) -> None:
    assert lear(TEXTS, labels=list(NEW)) == lear(TEXTS, labels={name: name for name in NEW})
    with pytest.raises(InputError, match="'Town' twice"):
        lear(TEXT, labels=["Town", "Human", "Town"])


@pytest.mark.parametrize("labels", [["Town " * 2000], [f"label {n}" for n in range(5001)]], ids=["long", "many"])
def test_too_much_text_in_labels_is_reported(lear: Extractor, labels: list[str]) -> None:
    with pytest.raises(InputError, match=r"at most 5,000"):
        lear(TEXT, labels=labels)


def test_labels_and_entities_together_are_reported(lear: Extractor) -> None:
    with pytest.raises(InputError, match=r"labels= and entities= exclude each other"):
        lear(TEXT, labels=NEW, entities=[Entity(0, 4, "Person")])


def test_a_description_that_leaves_no_room_for_the_text_is_reported(asker: Extractor) -> None:
    if asker.pipeline.reader.traits.label_texts == "names":
        return  # the name is read, and that is short
    with pytest.raises(SchemaError, match=r"the description 'where people live .* has \d+ word pieces; shorten it"):
        asker(TEXT, labels={"Town": "where people live " * 30})

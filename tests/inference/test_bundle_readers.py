"""Two models are trained on one encoder, and either of them reads out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from spanwise import formats
from spanwise.document import Document
from spanwise.errors import InputError
from spanwise.inference.extractor import Extractor
from spanwise.pipeline import folder as model_folder
from spanwise.pipeline.collate import collate
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.pipeline.torch_runner import TorchRunner
from spanwise.recipe import Recipe
from spanwise.seam.bundle import Bundle
from spanwise.seam.runner import run_stages
from spanwise.training.run import train

MEMBERS = ("span-ner", "seq-ner")
UNKNOWN = "the bundle has no member 'lear'; choose the reader from span-ner, seq-ner."
Marks = list[tuple[int, int, str, float]]


@pytest.fixture(scope="module")
def bundle(easy_recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of a span model with a tagger, so short that they do not agree on everything."""
    folder = tmp_path_factory.mktemp("runs") / "bundle"
    overrides = ["model={name: span-ner}", "bundle={name: seq-ner, tagging: crf}", "train.epochs=8"]
    train(Recipe.load(easy_recipe, overrides), folder)
    return folder


@pytest.fixture(scope="module")
def gold(easy_files: Path) -> list[Document]:
    return list(formats.read(easy_files / "test.jsonl"))


def marks(documents: list[Document]) -> list[Marks]:
    return [[(e.start, e.end, e.label, e.score) for e in document.entities] for document in documents]


def with_reader(name: str, pipeline: TorchPipeline, document: Document) -> Marks:
    """What the member's own decoder makes of the member's own scores, for a text of one window."""
    assert isinstance(pipeline.model, Bundle)
    number = MEMBERS.index(name)
    member, model = pipeline.members[number], (pipeline.model.reader, pipeline.model.partner)[number]
    assert (member.name, model.traits.tagger) == (name, name == "seq-ner")
    (example,) = pipeline.task.builder.examples(document)
    batch = collate([example], pipeline.pieces, member.proposer)
    (found,) = run_stages(TorchRunner(model), member.decoder, batch, pipeline.thresholds(None, None))
    words, labels = example.document.words, pipeline.schema.entity_names
    return sorted((words[s.start].start, words[s.end - 1].end, labels[s.label], s.score) for s in found.spans)


@pytest.mark.parametrize("name", MEMBERS)
def test_the_predictions_are_those_of_the_member_that_reads(bundle: Path, gold: list[Document], name: str) -> None:
    extractor, pipeline = Extractor.from_pretrained(bundle, reader=name), model_folder.load(bundle)
    found = marks([extractor(document) for document in gold])
    assert sum(map(len, found)) > 10
    assert found == [with_reader(name, pipeline, document) for document in gold]


def test_the_members_do_not_agree_and_the_recipes_model_reads_by_default(bundle: Path, gold: list[Document]) -> None:
    spans, tags = (marks(Extractor.from_pretrained(bundle, reader=name)(gold)) for name in MEMBERS)
    assert spans != tags
    assert marks(Extractor.from_pretrained(bundle)(gold)) == spans


@pytest.mark.parametrize("name", MEMBERS)
def test_a_saved_extractor_keeps_the_member_that_reads(
    bundle: Path, gold: list[Document], tmp_path: Path, name: str
) -> None:
    Extractor.from_pretrained(bundle, reader=name).save_pretrained(tmp_path)
    wanted = {member: Extractor.from_pretrained(bundle, reader=member)(gold) for member in MEMBERS}
    assert Extractor.from_pretrained(tmp_path)(gold) == wanted[name]
    for member in MEMBERS:  # and both are still there
        assert Extractor.from_pretrained(tmp_path, reader=member)(gold) == wanted[member]


def test_a_member_that_reads_has_its_own_traits(bundle: Path) -> None:
    spans, tags = (Extractor.from_pretrained(bundle, reader=name).pipeline.reader for name in MEMBERS)
    assert (spans.name, tags.name) == MEMBERS
    assert (spans.traits.max_width, tags.traits.max_width) == (2, None)
    assert tags.proposer is None


def test_an_unknown_member_is_refused_with_those_there_are(bundle: Path, trained: Path) -> None:
    with pytest.raises(InputError) as caught:
        Extractor.from_pretrained(bundle, reader="lear")
    assert str(caught.value) == UNKNOWN
    with pytest.raises(InputError, match=r"no member 'span-ner'; choose the reader from seq-ner\.$"):
        Extractor.from_pretrained(trained, reader="span-ner")


def test_a_model_alone_may_be_named_as_the_one_that_reads(trained: Path, gold: list[Document]) -> None:
    assert Extractor.from_pretrained(trained, reader="seq-ner")(gold) == Extractor.from_pretrained(trained)(gold)


def test_an_asked_for_member_is_saved_alone_with_its_new_labels(
    make_pipeline: Callable[..., TorchPipeline], tmp_path: Path
) -> None:
    """Here the model that takes new labels is the partner of a tagger."""
    pipeline = make_pipeline("seq-ner", bundle={"name": "lear", "shared": True})
    Extractor(pipeline).save_pretrained(tmp_path / "bundle")
    asked = Extractor.from_pretrained(tmp_path / "bundle", reader="lear").with_labels({"Town": "towns and countries"})
    asked.save_pretrained(tmp_path / "alone")
    alone = Extractor.from_pretrained(tmp_path / "alone")
    assert json.loads((tmp_path / "alone" / "config.json").read_text())["bundle"] is None
    assert alone.schema.entity_names == ("Town",)
    text = "Mara Ostrow met Bo Lind in Brenford ."
    assert alone(text, threshold=0.0) == asked(text, threshold=0.0)

"""Relations that a joint model is asked for by their texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from spanwise import corpora
from spanwise.corpora import Corpus
from spanwise.document import Document, Entity
from spanwise.errors import InputError, SchemaError
from spanwise.evaluation import evaluate
from spanwise.inference.extractor import Extractor
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.recipe import Recipe
from spanwise.schema import EntityType, RelationType, Schema
from spanwise.testing.samples import FLAT, FLAT_LINKS, sample_corpus
from spanwise.training.run import train

NEW = {"resides": "a person has a home in a place", "employs": "a person is employed by an organization"}
LABELS = {"Town": "where people live", "Human": "persons by their names"}
TEXT = "Mara Ostrow met Bo Lind in Brenford ."
TEXTS = [TEXT, "", "Acme hired Mara .", "Lind", " ".join([TEXT] * 8)]  # the last is longer than the encoder's window
Make = Callable[..., TorchPipeline]


@pytest.fixture(scope="module")
def related() -> Corpus:
    return sample_corpus("flat", FLAT, FLAT_LINKS)


@pytest.fixture(scope="module")
def asker(make_pipeline: Make, related: Corpus) -> Extractor:
    """A random model with open relations, without priors against them."""
    return Extractor(bold(make_pipeline("spert", related, scorer="descriptions", max_width=2)))


def bold(pipeline: TorchPipeline) -> TorchPipeline:
    model: Any = pipeline.torch_runner.model
    with torch.no_grad():
        model.label_scorer.bias.zero_()
        model.relation_scorer.bias.zero_()
    return pipeline


def joined(documents: list[Document]) -> list[list[tuple[str, str, str]]]:
    return [
        [(d.text_of(d.entities[r.head]), r.label, d.text_of(d.entities[r.tail])) for r in d.relations]
        for d in documents
    ]


def relations_in(documents: list[Document]) -> set[str]:
    return {relation.label for document in documents for relation in document.relations}


def test_only_the_relations_that_are_asked_for_are_found(asker: Extractor) -> None:
    found = asker(TEXTS, relations=NEW, relation_threshold=0.0)
    assert [document.text for document in found] == TEXTS
    assert relations_in(found) == set(NEW)
    assert [document.without_relations() for document in found] == [d.without_relations() for d in asker(TEXTS)]
    for name in NEW:
        alone = asker(TEXTS, relations={name: NEW[name]}, relation_threshold=0.0)
        assert relations_in(alone) == {name}


def test_labels_and_relations_are_asked_for_together_or_alone(asker: Extractor) -> None:
    both = asker(TEXTS, labels=LABELS, relations=NEW, relation_threshold=0.0)
    assert {entity.label for document in both for entity in document.entities} <= set(LABELS)
    assert relations_in(both) == set(NEW)
    alone = asker(TEXTS, labels=LABELS, relation_threshold=0.0)
    assert relations_in(alone) == set()
    assert alone == [document.without_relations() for document in both]


def test_order_and_number_of_relations_do_not_change_their_scores(asker: Extractor) -> None:
    def scores(relations: Any) -> dict[tuple[int, str, int, int], float]:
        found = asker(TEXTS, relations=relations, relation_threshold=0.0)
        return {(n, r.label, r.head, r.tail): r.score for n, d in enumerate(found) for r in d.relations}

    together = scores({"other": "something else", **NEW})
    swapped = scores(dict(reversed(NEW.items())))
    assert {label for _, label, *_ in swapped} == set(NEW)
    assert swapped == pytest.approx({key: s for key, s in together.items() if key[1] in NEW}, abs=1e-5)
    assert scores({"employs": NEW["resides"]}) == pytest.approx(
        {(n, "employs", *ends): s for (n, label, *ends), s in swapped.items() if label == "resides"}, abs=1e-5
    )


def test_a_relation_of_its_own_stays_symmetric_and_keeps_its_arguments(asker: Extractor) -> None:
    own = {kind.name: kind.plain_name for kind in asker.schema.relations}
    asked = asker.with_labels(relations={**own, "new": "anything else"})
    kinds = {kind.name: kind for kind in asked.schema.relations}
    for kind in asker.schema.relations:
        assert replace(kinds[kind.name], description="") == kind
    assert kinds["new"] == RelationType("new", "anything else")
    other = asker.with_labels(LABELS, own).schema.relations
    assert [(kind.symmetric, kind.head_types) for kind in other] == [(False, ()), (False, ()), (True, ())]
    assert asker(TEXTS, relations=own) == asker(TEXTS)


def test_relations_between_given_entities_are_asked_for(asker: Extractor) -> None:
    given = [Entity(0, 11, "Person"), Entity(27, 35, "Place")]
    found = asker(TEXT, entities=given, relations=NEW, relation_threshold=0.0)
    assert list(found.entities) == given
    assert {(r.head, r.label, r.tail) for r in found.relations} == {
        (head, name, 1 - head) for head in (0, 1) for name in NEW
    }
    with pytest.raises(InputError, match=r"leave labels= out"):
        list(asker.with_labels(LABELS).relate([found]))


def test_a_text_a_stream_and_an_asking_extractor_are_asked_alike(asker: Extractor) -> None:
    alone = asker(TEXT, relations=NEW, relation_threshold=0.0)
    assert alone.relations
    asked = asker.with_labels(relations=NEW)
    assert asked(TEXT, relation_threshold=0.0) == alone
    assert list(asker.stream([TEXT], relations=NEW, relation_threshold=0.0)) == [alone]
    assert asked.schema.relation_names == tuple(NEW)
    assert asker(TEXT, relations=list(NEW)) == asker(TEXT, relations={name: name for name in NEW})


@contextmanager
def passes(extractor: Extractor) -> Iterator[list[int]]:
    """How many rows went through the encoder, pass by pass."""
    rows: list[int] = []
    transformer: Any = extractor.pipeline.torch_runner.model.encoder.transformer  # type: ignore[attr-defined]
    hook = transformer.register_forward_pre_hook(
        lambda _, args, kwargs: rows.append(len(kwargs["input_ids"])), with_kwargs=True
    )
    try:
        yield rows
    finally:
        hook.remove()


def test_relation_texts_are_read_once_for_many_texts_and_calls(make_pipeline: Make, related: Corpus) -> None:
    asker = Extractor(bold(make_pipeline("spert", related, scorer="descriptions", max_width=2)))
    asker(TEXT)  # its own three labels and three relations are read here
    with passes(asker) as rows:
        for _ in range(3):
            asker(TEXT, relations=dict(NEW))
        assert sorted(rows) == [1, 1, 1, len(NEW)]
        rows.clear()
        asker(TEXT)
        assert rows == [1]


def test_a_saved_model_is_asked_as_before(asker: Extractor, tmp_path: Path) -> None:
    asker.save_pretrained(tmp_path / "model")
    wanted = asker(TEXTS, labels=LABELS, relations=NEW)
    assert Extractor.from_pretrained(tmp_path / "model")(TEXTS, labels=LABELS, relations=NEW) == wanted
    asker.with_labels(LABELS, NEW).save_pretrained(tmp_path / "asked")
    asked = Extractor.from_pretrained(tmp_path / "asked")
    assert asked.schema.relation_names == tuple(NEW)
    assert asked(TEXTS) == wanted


def test_a_model_without_open_relations_refuses_them(make_pipeline: Make, related: Corpus) -> None:
    for model, options in (("spert", {}), ("span-ner", {"scorer": "names"})):
        with pytest.raises(InputError, match=rf"this {model} takes no new relations"):
            Extractor(make_pipeline(model, related, max_width=2, **options))(TEXT, relations=NEW)


@pytest.mark.parametrize(
    ("relations", "problem"),
    [
        ([], r"relations= is empty; give at least one relation"),
        ({"employs": " "}, "a relation and its description are texts and not empty"),
        (["employs", "employs"], "the relation 'employs' twice"),
        ("employs", r"relations= is a list of names"),
        (["employs " * 1000], "at most 5,000"),
        ([f"relation {n}" for n in range(5001)], "at most 5,000"),
    ],
    ids=["none", "empty", "twice", "text", "long", "many"],
)
def test_relations_that_cannot_be_asked_for_are_reported(asker: Extractor, relations: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        asker(TEXT, relations=relations)


def test_a_text_that_fills_the_window_is_reported(asker: Extractor) -> None:
    with pytest.raises(SchemaError, match=r"has \d+ word pieces; shorten it"):
        asker(TEXT, relations={"employs": "a person is employed " * 20})
    with pytest.raises(InputError, match=r"needs labels or relations"):
        asker.with_labels()


def test_thresholds_are_those_of_the_relations_that_are_asked_for(asker: Extractor) -> None:
    found = asker(TEXTS, relations=NEW, relation_threshold={"employs": 1.0, "resides": 0.0})
    assert relations_in(found) == {"resides"}
    with pytest.raises(InputError, match=r"unknown label 'knows' .*; choose from resides, employs"):
        asker(TEXT, relations=NEW, relation_threshold={"knows": 0.5})


KINDS = {"works_for": "is paid by", "holds": "has the job", "located_in": "stands in"}


def demo_relations(count: int) -> Corpus:
    """Short documents of the demo corpus with these relations, of any two entities; the texts fit the tiny encoder."""
    demo = corpora.load("demo")
    labels, rows = ("Person", "Role", "Organization", "Place"), []
    for document in demo.splits["train"]:
        kept = document.select_entities([n for n, entity in enumerate(document.entities) if entity.label in labels])
        own = [relation for relation in kept.relations if relation.label in KINDS]
        if own and len(document.text) < 90:
            rows.append(kept.with_annotations(kept.entities, own))
    schema = Schema(tuple(map(EntityType, labels)), tuple(RelationType(name, text) for name, text in KINDS.items()))
    return Corpus("three", {"train": tuple(rows[:count])}, schema)


@pytest.mark.slow
def test_a_model_learns_relations_by_description(make_recipe: Callable[..., Recipe], tmp_path: Path) -> None:
    """It keeps what it learned when its relations are asked for under other names, in another order and number."""
    corpus = demo_relations(10)
    settings = {"epochs": 60, "batch_size": 2, "encoder_lr": 3e-3, "task_lr": 1e-2}
    options: dict[str, Any] = {"scorer": "descriptions", "nested": True, "dropout": 0.0, "max_width": 10}
    train(make_recipe("spert", train=settings, **options), tmp_path / "run", corpus=corpus)
    extractor, documents = Extractor.from_pretrained(tmp_path / "run"), list(corpus.splits["train"])
    scores = evaluate(extractor, documents).relations
    assert scores is not None
    assert scores.strict.micro.f1 > 0.9

    def found(relations: dict[str, str] | None = None) -> list[list[tuple[str, str, str]]]:
        return [sorted(row) for row in joined(extractor(documents, relations=relations))]

    renamed = {"holds": "does", "works_for": "earns at"}  # without the third, in another order
    own = [sorted((head, renamed[kind], tail) for head, kind, tail in row if kind in renamed) for row in found()]
    assert found({name: KINDS[kind] for kind, name in renamed.items()}) == own
    assert {kind for row in own for _, kind, _ in row} == set(renamed.values())
    assert found({"earns at": KINDS["located_in"], "does": KINDS["works_for"]}) != own  # it reads texts, not names


def test_the_command_asks_for_relations(asker: Extractor, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from spanwise.cli import app

    asker.save_pretrained(tmp_path / "model")
    texts = tmp_path / "texts.yaml"
    texts.write_text(json.dumps({"relations": NEW}), encoding="utf-8")
    options = ["--relations", str(texts), "--relation-threshold", "0", "--model", str(tmp_path / "model"), "--json"]
    for labels, wanted in (
        ([], asker(TEXT, relations=NEW, relation_threshold=0.0)),
        (["--labels", "town, human"], asker(TEXT, labels=["town", "human"], relations=NEW, relation_threshold=0.0)),
    ):
        done = CliRunner().invoke(app, ["extract", TEXT, *options, *labels])
        found = json.loads(done.stdout)
        assert [(r["head"], r["tail"], r["label"]) for r in found["relations"]] == [
            (r.head, r.tail, r.label) for r in wanted.relations
        ]
        assert [e["label"] for e in found["entities"]] == [entity.label for entity in wanted.entities]
    refused = CliRunner().invoke(app, ["extract", TEXT, "--relations", "a,,b", "--model", str(tmp_path / "model")])
    assert "--relations needs names with commas" in str(refused.exception)


def test_the_service_asks_for_relations(asker: Extractor) -> None:
    from starlette.testclient import TestClient

    from spanwise.serve.api import create_app
    from spanwise.serve.settings import Settings

    def found(**body: Any) -> list[tuple[int, int, str]]:
        answer = service.post("/v1/extract", json={"text": TEXT, "relation_threshold": 0.0, **body})
        assert answer.status_code == 200, answer.text
        return [(r["head"], r["tail"], r["label"]) for r in answer.json()["documents"][0]["relations"]]

    def expected(**options: Any) -> list[tuple[int, int, str]]:
        document = asker(TEXT, relation_threshold=0.0, **options)
        return [(r.head, r.tail, r.label) for r in document.relations]

    with TestClient(create_app(asker, Settings(min_threshold=0.0))) as service:
        assert service.get("/v1/schema").json()["open_relations"]
        assert found(relations=NEW) == expected(relations=NEW)
        assert found(relations=["employs"], labels=LABELS) == expected(relations=["employs"], labels=LABELS)
        given = [{"start": 0, "end": 11, "label": "Person"}, {"start": 27, "end": 35, "label": "Place"}]
        entities = [Entity(**entity) for entity in given]
        assert found(relations=NEW, entities=given) == expected(relations=NEW, entities=entities)
        assert service.post("/v1/extract", json={"text": TEXT, "relations": []}).status_code == 422

"""Exported stages: ONNX Runtime gives the documents that torch gives, through the same collate and the same decoder."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from spanwise.decoding.spans import SpanDecoder
from spanwise.document import Document
from spanwise.errors import InputError, ModelError
from spanwise.evaluation import exporting
from spanwise.evaluation.exporting import export_model
from spanwise.evaluation.scoring import gold_for_model
from spanwise.inference.export import on_onnx
from spanwise.inference.extractor import Extractor
from spanwise.inference.graphs import export_graphs
from spanwise.inference.quantization import graph_sizes, parts, quantize_graphs
from spanwise.pipeline.onnx_runner import FORWARD, OnnxRunner
from spanwise.pipeline.pipeline import Pipeline
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.pipeline.tuning import Tuning
from spanwise.testing import Case
from spanwise.text.alignment import align

pytestmark = pytest.mark.slow
LONG = Document("Bo Lind left Westmoor , and Ada Moss of Acme met Mara Ostrow in Brenford . " * 12)


CASES = [
    ("span-ner", {"nested": True}),
    ("seq-ner", {"tagging": "crf"}),
    ("spert", {"nested": True}),
    ("span", {}),
    ("stsn", {}),
    ("lear", {"nested": True, "shared": True}),
    ("qa", {}),
    ("traditional", {"nested": True}),
    ("dspert", {"nested": True, "screening_threshold": 0.01}),
    ("biaffine", {}),
]


@pytest.fixture(scope="module", params=CASES, ids=lambda given: "-".join([given[0], *given[1]]))
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    model, options = request.param
    return Case(model, tmp_path_factory.mktemp("case"), options)


@pytest.fixture(scope="module")
def exported(case: Case, tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    """The random model of the case, on ONNX Runtime."""
    folder = tmp_path_factory.mktemp("graphs")
    export_graphs(case.random, folder)
    return on_onnx(case.random, folder)


def assert_alike(one: list[Document], other: list[Document]) -> None:
    for document, same in zip(one, other, strict=True):
        assert [(e.start, e.end, e.label) for e in document.entities] == [
            (e.start, e.end, e.label) for e in same.entities
        ]
        assert [(r.head, r.tail, r.label) for r in document.relations] == [
            (r.head, r.tail, r.label) for r in same.relations
        ]
        scores, others = ([row.score for row in (*d.entities, *d.relations)] for d in (document, same))
        assert scores == pytest.approx(others, abs=1e-5)


def test_an_exported_model_gives_the_documents_of_torch(case: Case, exported: Pipeline) -> None:
    """One test for each model, because its graphs take seconds to make."""
    compare_documents(case, exported)
    compare_tuned(case, exported)
    if case.traits.relations:
        compare_given_entities(case, exported)


def compare_documents(case: Case, exported: Pipeline) -> None:
    """Batches of any shape."""
    documents = [*case.corpus.splits["train"], LONG, Document("Mara"), Document("")]
    wanted = case.random.predict(documents)
    assert sum(len(document.entities) for document in wanted) > 20
    assert bool(sum(len(document.relations) for document in wanted)) == case.traits.relations
    assert_alike(exported.predict(documents), wanted)
    for document, found in zip(documents, wanted, strict=True):
        assert_alike(exported.predict([document]), [found])


def compare_tuned(case: Case, exported: Pipeline) -> None:
    tuning = Tuning(thresholds={"Person": 0.3}, relation_threshold=0.45, temperature=2.5, relation_temperature=0.5)
    documents = [*case.corpus.splits["train"], LONG]
    wanted = case.random.with_tuning(tuning).predict(documents)
    assert sum(len(document.entities) for document in wanted) > 10
    assert wanted != case.random.predict(documents)
    assert_alike(exported.with_tuning(tuning).predict(documents), wanted)


def compare_given_entities(case: Case, exported: Pipeline) -> None:
    """Relations between entities that the caller gives, one of them wider than the model predicts."""
    wide = Document.from_words(
        ["Mara", "of", *["the"] * 15, "Bank", "met", "Bo"],
        [(0, 1, "Person"), (2, 18, "Organization"), (19, 20, "Person")],
    )
    documents = [*case.corpus.splits["train"], wide]
    wanted = case.random.relate(documents, relation_threshold=0.0)
    assert sum(len(document.relations) for document in wanted) > 10
    assert_alike(exported.relate(documents, relation_threshold=0.0), wanted)


WITHOUT_TORCH = """
import json, sys
sys.modules["torch"] = sys.modules["transformers"] = None  # importing them fails
from spanwise import Extractor
document = Extractor.from_pretrained(sys.argv[1])(sys.argv[2])
print(json.dumps([[entity.start, entity.end, entity.label] for entity in document.entities]))
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return Case("span-ner", tmp_path_factory.mktemp("trained"), {"nested": True})


def test_an_exported_folder_needs_no_torch_and_keeps_its_predictions(trained: Case, tmp_path: Path) -> None:
    documents = list(trained.corpus.splits["train"])
    result = export_model(trained.extractor, tmp_path / "exported", gold=documents)
    assert result.check is not None
    assert (result.check.changed, result.excluded) == (0, ())
    assert result.check.before.entities.micro.f1 == result.check.after.entities.micro.f1 > 0.9
    assert result.check.largest_difference < 1e-4
    wanted = [[e.start, e.end, e.label] for e in trained.extractor(documents[0].text).entities]
    assert wanted
    command = [sys.executable, "-c", WITHOUT_TORCH, str(tmp_path / "exported"), documents[0].text]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(shown.stdout) == wanted
    with pytest.raises(InputError, match="exists; export into a new or an empty folder"):
        export_model(trained.extractor, tmp_path / "exported")


def test_int8_makes_graphs_smaller_and_keeps_what_it_would_spoil(
    trained: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = list(trained.corpus.splits["train"])
    export_graphs(trained.extractor.pipeline, tmp_path / "fp32")
    quantize_graphs(tmp_path / "fp32", tmp_path / "int8")
    small, large = (graph_sizes(tmp_path / name)[FORWARD] for name in ("int8", "fp32"))
    assert small < large
    every = parts(tmp_path / "fp32")
    assert {"encoder layer 0", "encoder layer 1"} <= set(every)
    trial = exporting._Trial(trained.extractor, tmp_path / "fp32", gold_for_model(trained.extractor, documents))
    assert trial.quantized(tmp_path / "kept", every).changed == 0
    monkeypatch.setattr(exporting, "TOLERANCE", -1.0)  # nothing is exact enough
    assert sorted(exporting._inexact_parts(trial, tmp_path / "trial", lambda _: None)) == sorted(every)


def test_a_check_counts_what_changed() -> None:
    gold = Document.from_words(["Mara", "met", "Bo"], [(0, 1, "Person"), (2, 3, "Person")])
    before = gold.with_annotations(tuple(replace(e, score=0.75) for e in gold.entities))
    after = gold.with_annotations((replace(gold.entities[0], score=0.5), replace(gold.entities[1], label="Place")))
    check = exporting.compare([align(gold)], [before], [after])
    assert (check.predictions, check.changed, check.largest_difference) == ((2, 2), 2, 0.25)
    assert check.agreement == 0.5
    assert check.loss == pytest.approx(0.5)


def test_a_missing_graph_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=rf"{FORWARD} is missing; export the model again"):
        OnnxRunner(tmp_path, SpanDecoder(nested=False, multi_label=False))


def test_a_model_that_no_graph_can_express_is_refused(
    make_pipeline: Callable[..., TorchPipeline], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise torch.onnx.OnnxExporterError("data-dependent")

    monkeypatch.setattr(torch.onnx, "export", refuse)
    with pytest.raises(ModelError, match="this span-ner cannot be exported with its options"):
        export_graphs(make_pipeline("span-ner"), tmp_path)


@pytest.mark.parametrize("model", ["span-ner", "biaffine"])
def test_a_model_that_scores_label_texts_takes_any_labels(model: str, tmp_path: Path) -> None:
    case = Case(model, tmp_path, {"scorer": "descriptions", "nested": True})
    export_graphs(case.random, tmp_path / "graphs")
    exported, torch = Extractor(on_onnx(case.random, tmp_path / "graphs")), Extractor(case.random)
    documents = [*case.corpus.splits["train"], LONG]
    for labels in (["town"], [f"kind {number} of thing" for number in range(30)], {"Human": "persons by their names"}):
        wanted = torch.with_labels(labels).pipeline.predict(documents, torch.with_labels(labels).task, threshold=0.2)
        asked = exported.with_labels(labels)
        assert sum(len(document.entities) for document in wanted) > 10
        assert_alike(asked.pipeline.predict(documents, asked.task, threshold=0.2), wanted)


def test_a_model_that_scores_relation_texts_takes_any_relations(tmp_path: Path) -> None:
    case = Case("spert", tmp_path, {"scorer": "descriptions", "nested": True})
    export_graphs(case.random, tmp_path / "graphs")
    exported, torch = Extractor(on_onnx(case.random, tmp_path / "graphs")), Extractor(case.random)
    documents = [*case.corpus.splits["train"], LONG]
    assert_alike(exported.pipeline.predict(documents), case.random.predict(documents))
    other = {"home": "a person has a home"}
    for labels, relations in ((None, ["employs", "home", "knows"]), (["town", "human"], other)):
        wanted = torch(documents, labels=labels, relations=relations)
        assert sum(len(document.relations) for document in wanted) > 5
        assert_alike(exported(documents, labels=labels, relations=relations), wanted)
    assert_alike(exported(documents, labels=["town"]), torch(documents, labels=["town"]))
    wanted = list(torch.with_labels(relations=["employs"]).relate(documents, relation_threshold=0.0))
    assert sum(len(document.relations) for document in wanted) > 5
    asked = exported.with_labels(relations=["employs"])
    assert_alike(list(asked.relate(documents, relation_threshold=0.0)), wanted)


def test_a_model_that_learned_no_relations_is_exported_to_be_asked_for_some(
    make_pipeline: Callable[..., TorchPipeline], tmp_path: Path
) -> None:
    pipeline = make_pipeline("spert", scorer="names", max_width=2)
    for scorer in (pipeline.model.label_scorer, pipeline.model.relation_scorer):
        torch.nn.init.zeros_(scorer.bias)  # type: ignore[union-attr,arg-type]
    export_graphs(pipeline, tmp_path)
    exported, model = Extractor(on_onnx(pipeline, tmp_path)), Extractor(pipeline)
    wanted = model([LONG.text], relations=["knows"], relation_threshold=0.0)
    assert wanted[0].relations
    assert_alike(exported([LONG.text], relations=["knows"], relation_threshold=0.0), wanted)
    assert_alike(exported([LONG.text]), model([LONG.text]))

"""Exported stages: ONNX Runtime gives the documents that torch gives, through the same collate and the same decoder."""

from __future__ import annotations

from pathlib import Path

import pytest

from spanwise.document import Document
from spanwise.errors import ModelError
from spanwise.inference.extractor import Extractor
from spanwise.inference.graphs import export_graphs
from spanwise.pipeline.onnx_runner import FORWARD, RESCORE, OnnxRunner
from spanwise.pipeline.pipeline import Pipeline
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.pipeline.tuning import Tuning
from spanwise.testing import Case

pytestmark = pytest.mark.slow
LONG = Document("Bo Lind left Westmoor , and Ada Moss of Acme met Mara Ostrow in Brenford . " * 12)


@pytest.fixture(scope="module", params=["span-ner", "spert"])
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    return Case(request.param, tmp_path_factory.mktemp("case"), {"nested": True})


@pytest.fixture(scope="module")
def exported(case: Case, tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    """The random model of the case, on ONNX Runtime."""
    folder = tmp_path_factory.mktemp("graphs")
    export_graphs(case.random, folder)
    return on_onnx(case.random, folder)


def on_onnx(pipeline: TorchPipeline, folder: Path) -> Pipeline:
    runner = OnnxRunner(folder, pipeline.reader.decoder)
    return Pipeline(pipeline.reader, pipeline.schema, pipeline.pieces, pipeline.windows, runner, pipeline.threshold)


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


def test_documents_are_those_of_torch_in_batches_of_any_shape(case: Case, exported: Pipeline) -> None:
    documents = [*case.corpus.splits["train"], LONG, Document("Mara"), Document("")]
    wanted = case.random.predict(documents)
    assert sum(len(document.entities) for document in wanted) > 20
    assert bool(sum(len(document.relations) for document in wanted)) == case.traits.relations
    assert_alike(exported.predict(documents), wanted)
    for document, found in zip(documents, wanted, strict=True):
        assert_alike(exported.predict([document]), [found])


def test_a_tuned_model_gives_the_documents_of_torch(case: Case, exported: Pipeline) -> None:
    tuning = Tuning(thresholds={"Person": 0.3}, relation_threshold=0.45, temperature=2.5, relation_temperature=0.5)
    documents = [*case.corpus.splits["train"], LONG]
    wanted = case.random.with_tuning(tuning).predict(documents)
    assert sum(len(document.entities) for document in wanted) > 10
    assert wanted != case.random.predict(documents)
    assert_alike(exported.with_tuning(tuning).predict(documents), wanted)


def test_relations_between_given_entities_are_those_of_torch(case: Case, exported: Pipeline) -> None:
    if not case.traits.relations:
        pytest.skip("this model predicts no relations")
    wide = Document.from_words(
        ["Mara", "of", *["the"] * 15, "Bank", "met", "Bo"],
        [(0, 1, "Person"), (2, 18, "Organization"), (19, 20, "Person")],
    )
    documents = [*case.corpus.splits["train"], wide]
    wanted = case.random.relate(documents, relation_threshold=0.0)
    assert sum(len(document.relations) for document in wanted) > 10
    assert_alike(exported.relate(documents, relation_threshold=0.0), wanted)


def test_a_trained_model_keeps_its_documents(tmp_path: Path) -> None:
    case = Case("spert", tmp_path)
    pipeline = case.extractor.pipeline
    assert isinstance(pipeline, TorchPipeline)
    export_graphs(pipeline, tmp_path / "graphs")
    documents = list(case.corpus.splits["train"])
    wanted = pipeline.predict(documents)
    assert sum(len(document.relations) for document in wanted) >= 6
    assert_alike(on_onnx(pipeline, tmp_path / "graphs").predict(documents), wanted)


def test_a_missing_graph_is_named(case: Case, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=rf"{FORWARD} is missing; export the model again"):
        OnnxRunner(tmp_path, case.random.reader.decoder)
    assert RESCORE != FORWARD


def test_a_model_that_reads_label_texts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="lear needs label texts, which cannot be exported yet"):
        export_graphs(Case("lear", tmp_path).pipeline(), tmp_path / "graphs")


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

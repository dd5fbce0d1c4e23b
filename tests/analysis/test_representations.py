"""Span vectors of models (DSpERT, section 5): what the classifier really reads, pair by pair, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spanwise.analysis import representations
from spanwise.analysis.representations import Representations, represent
from spanwise.corpora import Corpus
from spanwise.document import ANNOTATED, Document
from spanwise.errors import InputError, SchemaError
from spanwise.inference.extractor import Extractor
from spanwise.pipeline.pipeline import Pipeline
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.seam.proposals import all_spans
from spanwise.testing import ConformanceError
from spanwise.testing.case import Case
from spanwise.testing.inside import check_span_vectors
from spanwise.text.alignment import word_spans

Make = Callable[..., TorchPipeline]
OPTIONS: dict[str, Any] = {"nested": True, "max_width": 4}
CLASSIFIERS: dict[str, Callable[[Any], Any]] = {  # of models that build the vectors of all spans when they predict
    "dspert": lambda model: model.classifier.classify,
    "span": lambda model: model.span[-1],
}


@pytest.fixture(scope="module", params=CLASSIFIERS)
def extractor(request: pytest.FixtureRequest, make_pipeline: Make, nested_corpus: Corpus) -> Extractor:
    return Extractor(make_pipeline(request.param, nested_corpus, **OPTIONS))


@pytest.fixture(scope="module")
def deep(make_pipeline: Make, nested_corpus: Corpus) -> Extractor:
    return Extractor(make_pipeline("dspert", nested_corpus, **OPTIONS))


@contextmanager
def inputs_of(layer: Any) -> Iterator[list[Any]]:
    """All inputs of a layer while the model predicts."""
    rows: list[Any] = []
    handle = layer.register_forward_pre_hook(lambda _, given: rows.append(given[0].numpy()))
    yield rows
    handle.remove()


def vectors_by_class(extractor: Extractor, documents: Any) -> list[tuple[str, int, Any]]:
    """Label, or "" for none, sentence and vector of every candidate, one document at a time: what the layer is fed."""
    layer = CLASSIFIERS[extractor.pipeline.reader.name](extractor.pipeline.torch_runner.model)  # type: ignore[attr-defined]
    found = []
    for number, document in enumerate(documents):
        with inputs_of(layer) as rows:
            extractor(document)
        gold = dict(zip(word_spans(document), (e.label for e in document.entities), strict=True))
        spans = [tuple(span) for span in all_spans(len(document.words), 4).tolist()]
        found += [(gold.get(span, ""), number, row) for span, row in zip(spans, np.concatenate(rows), strict=True)]
    return found


def test_tables_are_those_of_the_vectors_that_the_classifier_reads(extractor: Extractor, nested_corpus: Corpus) -> None:
    documents = nested_corpus.splits["train"]
    rows = [(label, row / np.linalg.norm(row)) for label, _, row in vectors_by_class(extractor, documents)]
    pairs: dict[str, list[float]] = {"within": [], "between": [], "negative": []}
    for (one, first), (other, second) in combinations(rows, 2):
        kind = "within" if one == other else "between" if one and other else "negative"
        if one or other:
            pairs[kind].append(float(first @ second))
    found = represent(extractor, documents)
    wanted = [(len(values), pytest.approx(np.mean(values), abs=1e-4)) for values in pairs.values()]
    means = (found.vectors.cosine, found.vectors.between, found.vectors.to_negatives)
    assert [(mean.count, mean.value) for mean in means] == wanted
    norms = [np.linalg.norm(row) for label, _, row in vectors_by_class(extractor, documents) if label]
    assert found.vectors.norm.value == pytest.approx(np.mean(norms), rel=1e-4)
    assert found.vectors.norm.count == len(norms) == sum(len(document.entities) for document in documents)
    assert found.left_out == 0


def test_templates_are_the_rows_of_the_classifier(extractor: Extractor, nested_corpus: Corpus) -> None:
    layer = CLASSIFIERS[extractor.pipeline.reader.name](extractor.pipeline.torch_runner.model)  # type: ignore[attr-defined]
    rows = layer.weight.detach().numpy().astype(np.float64)
    assert len(rows) == 4  # none and three labels
    cosines = {(i, j): abs(a @ b) / np.sqrt(a @ a * (b @ b)) for (i, a), (j, b) in combinations(enumerate(rows), 2)}
    found = represent(extractor, nested_corpus.splits["train"]).templates
    assert found.norm.value == pytest.approx(np.mean([np.sqrt(row @ row) for row in rows]))
    assert found.cosine.value == pytest.approx(np.mean(list(cosines.values())))
    assert found.between.value == pytest.approx(np.mean([cosines[pair] for pair in cosines if 0 not in pair]))
    assert found.to_negatives.value == pytest.approx(np.mean([cosines[0, label] for label in (1, 2, 3)]))


def test_rows_have_the_names_of_the_papers_tables(deep: Extractor, nested_corpus: Corpus) -> None:
    found = represent(deep, nested_corpus.splits["train"])
    assert [row[0] for row in found.overlap_table().rows] == [
        "Non-overlapping",
        "Weakly overlapping",
        "Strongly overlapping",
    ]
    assert [row[:2] for row in found.class_table().rows] == [
        ("Pre-logit representations", "l2-norm"),
        ("Pre-logit representations", "Cosine within pos class"),
        ("Pre-logit representations", "Cosine between pos vs. pos"),
        ("Pre-logit representations", "Cosine between pos vs. neg"),
        ("Pre-logit weight/templates W", "l2-norm"),
        ("Pre-logit weight/templates W", "Abs cosine"),
        ("Pre-logit weight/templates W", "Abs cosine between pos vs. pos"),
        ("Pre-logit weight/templates W", "Abs cosine between pos vs. neg"),
    ]
    assert [row[0] for row in found.label_table().rows] == [*nested_corpus.schema.entity_names]
    assert json.loads(json.dumps(found.to_dict()))["overlaps"][2]["count"] == found.overlaps[2].count > 0


def test_entities_of_long_documents_count_once(deep: Extractor) -> None:
    """One document of many overlapping windows, whose sentences repeat."""
    words = ["Mara", "Ostrow", "of", "the", "Bank", "of", "Westmoor", "spoke", "."] * 30
    gold = [(9 * n + i, 9 * n + j, label) for n in range(30) for i, j, label in ((0, 2, "Person"), (4, 7, "Place"))]
    document = Document.from_words(words, gold)
    assert len(deep.task.builder.examples(document)) > 3
    found = represent(deep, [document])
    assert (found.vectors.norm.count, found.left_out) == (60, 0)
    spans = len(all_spans(len(words), 4))
    assert found.negative_norm.count <= spans - 60
    assert found.negative_norm.count > 0.95 * spans - 60  # a span across the border of two sentences may fit no window


def test_entities_that_are_no_candidates_are_counted(deep: Extractor) -> None:
    words = ["Mara", "Ostrow", "of", "the", "Bank", "of", "Westmoor", "spoke", "."]
    document = Document.from_words(words, [(0, 7, "Person"), (4, 7, "Place")])  # at most four words can be predicted
    found = represent(deep, [document])
    assert (found.vectors.norm.count, found.left_out) == (1, 1)


def test_partly_annotated_documents_give_no_negatives(deep: Extractor, nested_corpus: Corpus) -> None:
    partly = [replace(d, metadata={ANNOTATED: ["Place"]}) for d in nested_corpus.splits["train"]]
    found = represent(deep, [document.filter_labels({"Place"}) for document in partly])
    assert found.negative_norm.count == found.vectors.to_negatives.count == 0
    assert found.vectors.to_negatives.value is None
    assert found.overlaps[0].count > 0


def test_independent_labels_have_no_template_for_no_label(make_pipeline: Make, nested_corpus: Corpus) -> None:
    pipeline = make_pipeline("span-ner", nested_corpus, multi_label=True, **OPTIONS)
    found = represent(Extractor(pipeline), nested_corpus.splits["train"])
    assert found.templates.norm.count == 3
    assert found.templates.to_negatives.value is None
    assert found.vectors.to_negatives.count > 0


def test_the_plot_shows_every_entity_by_label(deep: Extractor, nested_corpus: Corpus) -> None:
    documents = nested_corpus.splits["train"]
    labels = [entity.label for document in documents for entity in document.entities]
    plot = represent(deep, documents).scatter()
    assert {name: len(points) for name, points in plot.groups.items()} == {n: labels.count(n) for n in set(labels)}
    assert np.mean([point for points in plot.groups.values() for point in points], axis=0) == pytest.approx(0, abs=1e-5)
    assert plot.note == f"{len(labels)} entities."


def test_more_entities_than_fit_into_the_plot_are_sampled_with_the_seed(
    deep: Extractor, nested_corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(seed: int) -> Representations:
        return represent(deep, nested_corpus.splits["train"], seed)

    whole = found(1)
    monkeypatch.setattr(representations, "POINTS", 5)
    one, same, other = found(1), found(1), found(2)
    assert sum(map(len, one.points.values())) == 5
    assert one.points == same.points
    assert one.points != other.points
    assert one.class_table() == other.class_table() == whole.class_table()
    assert one.scatter().note == "5 entities, a sample of 15 with seed 1."


@pytest.mark.parametrize("name", ["biaffine", "seq-ner", "traditional"])
def test_models_without_span_vectors_are_refused(make_pipeline: Make, flat_corpus: Corpus, name: str) -> None:
    refused = rf"this {name} model has no span vectors .*: dspert, .*span, span-ner, spert, stsn\.$"
    with pytest.raises(InputError, match=refused):
        represent(Extractor(make_pipeline(name, flat_corpus)), flat_corpus.splits["train"])


def test_models_on_another_backend_are_refused(deep: Extractor, nested_corpus: Corpus) -> None:
    of = deep.pipeline
    exported = Pipeline(of.reader, of.schema, of.pieces, of.windows, of.runner)
    with pytest.raises(InputError, match="this model does not run on PyTorch; give the folder"):
        represent(Extractor(exported), nested_corpus.splits["train"])


def test_documents_without_entities_are_refused(deep: Extractor) -> None:
    for documents in ([], [Document("Nobody came .")]):
        with pytest.raises(InputError, match="no entities that the model can predict; give labeled documents"):
            represent(deep, documents)


def test_labels_that_the_model_does_not_know_are_refused(deep: Extractor) -> None:
    with pytest.raises(SchemaError, match="Beast"):
        represent(deep, [Document.from_words(["A", "cat"], [(1, 2, "Beast")])])


@pytest.mark.parametrize(
    "options", [{"lstm": 8}, {"depth": 0}, {"aggregation": "additive"}, {"screening_threshold": 1e-4}], ids=str
)
def test_vectors_and_templates_give_the_scores_of_every_dspert(options: dict[str, Any], tmp_path: Path) -> None:
    check_span_vectors(Case("dspert", tmp_path, {"nested": True, **options}))


def test_a_model_with_other_templates_than_its_classifier_breaks_the_contract(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from spanwise_probes.multi_label import MultiLabel

    check_span_vectors(Case("probe-multi-label", tmp_path))
    templates = MultiLabel.templates
    monkeypatch.setattr(MultiLabel, "templates", lambda self: templates(self)._replace(bias=self.classify.bias + 1))
    with pytest.raises(ConformanceError, match="differ from the products of their vectors with the templates"):
        check_span_vectors(Case("probe-multi-label", tmp_path))

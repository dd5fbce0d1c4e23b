"""What a model's span vectors look like (DSpERT, section 5): Tables 4 and 5 and Figure 4, for any model that has them.

The span vectors are the pre-logit representations z (eq. 6), the inputs of the linear span classifier; the rows of the
classifier's weight are the templates. The paper leaves some terms open. Here they mean:

- Overlapping ratio α of two spans: shared words divided by the words of their union. Two different spans have α < 1.
- Neighboring spans of an entity: all other candidate spans of the window that overlap it, or that have at most
  NEIGHBORHOOD words between them and the entity.
- pos: spans with a label, once per label; neg: all other candidate spans. Means are over all pairs of spans.
- l2-norm of the representations: over pos.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spanwise.analysis.model_access import runner_with
from spanwise.analysis.span_vectors import (
    NEIGHBORHOOD,
    Mean,
    VectorSums,
    principal_components,
    sums,
    template_means,
)
from spanwise.document import Document
from spanwise.errors import InputError
from spanwise.inference.extractor import Extractor, chunks
from spanwise.pipeline.batches import prediction_batches
from spanwise.pipeline.collate import collate
from spanwise.render.elements import Report, Scatter, Section, Table
from spanwise.seam.batch import Bools, Floats, Ints
from spanwise.text.alignment import align
from spanwise.text.examples import Example

if TYPE_CHECKING:
    from spanwise.pipeline.torch_runner import TorchRunner

POINTS = 2000  # entities drawn in the scatter plot; more are sampled
TOKEN_BUDGET = 1024  # word pieces of one batch: the vectors of all its spans are in memory at once
Z, W = "Pre-logit representations", "Pre-logit weight/templates W"
Points = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class LabelVectors:
    """The span vectors of one label: their number, mean norm and mean cosine with each other."""

    label: str
    norm: Mean
    cosine: Mean


@dataclass(frozen=True, slots=True)
class ClassStatistics:
    """Mean norm, and mean cosines within a class, between labels, and between labels and no label.

    For templates, which are one per class, `cosine` is over all pairs of classes, and cosines are absolute.
    """

    norm: Mean
    cosine: Mean
    between: Mean
    to_negatives: Mean


@dataclass(frozen=True, slots=True)
class Representations:
    """Statistics of a model's span vectors and templates on labeled documents."""

    model: str
    left_out: int  # gold entities that are not among the candidates
    overlaps: tuple[Mean, Mean, Mean]  # non-, weakly and strongly overlapping neighbors
    vectors: ClassStatistics
    negative_norm: Mean
    templates: ClassStatistics
    labels: tuple[LabelVectors, ...]
    points: Mapping[str, Points]  # first two principal components of entities, by label
    explained: tuple[float, float]  # shares of the variance
    seed: int

    def overlap_table(self) -> Table:
        """Table 4."""
        names = ("Non-overlapping", "Weakly overlapping", "Strongly overlapping")
        return Table(
            "Cosine similarity of entity spans and their neighboring spans",
            ("neighboring spans", "cosine", "pairs"),
            tuple((name, mean.value, mean.count) for name, mean in zip(names, self.overlaps, strict=True)),
            note=f"Neighboring spans overlap the entity or have at most {NEIGHBORHOOD} words between them and it. "
            "The overlapping ratio α is the number of shared words divided by the number of words of the union: "
            "non-overlapping α = 0, weakly 0 < α ≤ 0.5, strongly 0.5 < α < 1.",
        )

    def class_table(self) -> Table:
        """Table 5."""
        z, w = self.vectors, self.templates
        rows = (
            (Z, "l2-norm", z.norm),
            (Z, "Cosine within pos class", z.cosine),
            (Z, "Cosine between pos vs. pos", z.between),
            (Z, "Cosine between pos vs. neg", z.to_negatives),
            (W, "l2-norm", w.norm),
            (W, "Abs cosine", w.cosine),
            (W, "Abs cosine between pos vs. pos", w.between),
            (W, "Abs cosine between pos vs. neg", w.to_negatives),
        )
        return Table(
            "l2-norm and cosine similarity of pre-logit representations and templates",
            ("of", "metric", "mean", "count"),
            tuple((part, name, mean.value, mean.count) for part, name, mean in rows),
            note="pos: spans with a label; neg: candidate spans without one. The norm of the representations is over "
            "pos. Counts are spans or classes for norms, and pairs for cosines.",
        )

    def label_table(self) -> Table:
        """The same by label: which labels have tight clusters."""
        rows = ((each.label, each.norm.count, each.norm.value, each.cosine.value) for each in self.labels)
        return Table("Pre-logit representations by label", ("label", "spans", "l2-norm", "cosine within"), tuple(rows))

    def scatter(self) -> Scatter:
        """Figure 4."""
        drawn, entities = sum(map(len, self.points.values())), self.vectors.norm.count
        sampled = "" if drawn == entities else f", a sample of {entities:,} with seed {self.seed}"
        first, second = (f"component {i} ({share:.0%} of the variance)" for i, share in enumerate(self.explained, 1))
        return Scatter(
            "Pre-logit representations of entities, by PCA",
            self.points,
            note=f"{drawn:,} entities{sampled}.",
            x_title=first,
            y_title=second,
        )

    def report(self) -> Report:
        """All tables and the plot as one page."""
        tables = self.overlap_table(), self.class_table(), self.label_table()
        sections = (
            Section("overlaps", "Overlapping spans", tables[:1]),
            Section("classes", "Labels", tables[1:]),
            Section("pca", "Principal components", (self.scatter(),)),
        )
        facts = {
            "model": self.model,
            "entities": f"{self.vectors.norm.count:,}",
            "other spans": f"{self.negative_norm.count:,}",
            "entities left out": f"{self.left_out:,}",
        }
        return Report("Span vectors", sections, facts)

    def to_dict(self) -> dict[str, Any]:
        """All numbers as plain JSON values."""
        return asdict(self)


def represent(extractor: Extractor, documents: Iterable[Document], seed: int = 1) -> Representations:
    """Statistics of the model's span vectors on labeled documents, in bounded memory.

    All spans count in the tables. The scatter plot shows at most POINTS entities, sampled with `seed`.
    """
    runner = runner_with(extractor, "span_vectors")
    sample = _Sample(seed)
    total: VectorSums | None = None
    gold = 0
    for chunk in chunks(document.without_relations() for document in documents):
        extractor.schema.check(chunk, "the data")
        gold += sum(len({(e.start, e.end, e.label) for e in document.entities}) for document in chunk)
        for window in _windows(extractor, runner, chunk):
            part = sums(*window)
            total = part if total is None else total + part
            sample.add(window)
    if total is None or not total.spans[1:].any():
        raise InputError("the documents have no entities that the model can predict; give labeled documents.")
    return _statistics(extractor, runner, total, sample, gold)


def _statistics(
    extractor: Extractor, runner: TorchRunner, total: VectorSums, sample: _Sample, gold: int
) -> Representations:
    names, weight = extractor.schema.entity_names, runner.templates().weight
    points, explained = sample.points(names)
    cosines = total.cosine_within(), total.cosine_between(), total.cosine_to_negatives()
    labels = (LabelVectors(name, total.norm(row), total.cosine_within(row)) for row, name in enumerate(names, start=1))
    return Representations(
        model=extractor.pipeline.reader.name,
        left_out=gold - int(total.spans[1:].sum()),
        overlaps=total.overlap_means(),
        vectors=ClassStatistics(total.entity_norm(), *cosines),
        negative_norm=total.norm(0),
        templates=ClassStatistics(*template_means(weight, none=len(weight) > len(names))),
        labels=tuple(labels),
        points=points,
        explained=explained,
        seed=sample.seed,
    )


class _Window(NamedTuple):
    """The candidates of one window. Where windows overlap, a span has a class in one of them only."""

    vectors: Floats  # [N, d]
    spans: Ints  # [N, 2]
    labels: Bools  # [N, E]
    known: Bools  # [N]   false for spans of another window, and where a label may be missing


def _windows(extractor: Extractor, runner: TorchRunner, documents: Sequence[Document]) -> Iterator[_Window]:
    """The candidates of all windows of the documents, with their vectors and gold labels."""
    pipeline, task = extractor.pipeline, extractor.task
    built = (task.builder.gold_examples(align(document), trim=False)[0] for document in documents)
    examples = [example for group in built for example in group]
    for rows in prediction_batches(examples, TOKEN_BUDGET):
        chosen = [examples[index] for index in rows]
        batch = collate(chosen, pipeline.pieces, pipeline.reader.proposer, labels=task.labels)
        vectors, spans = runner.span_vectors(batch), batch.proposals.spans.astype(np.int64, copy=False)
        for row, example in enumerate(chosen):
            own = spans[:, 0] == row
            yield _window(example, vectors[own], spans[own, 1:])


def _window(example: Example, vectors: Floats, spans: Ints) -> _Window:
    owned = _owned(example, spans)
    place = np.full((example.length + 1, example.length + 1), -1)
    place[spans[:, 0], spans[:, 1]] = np.arange(len(spans))
    rows = place[example.gold[:, 0], example.gold[:, 1]]
    labels = np.zeros((len(spans), len(example.annotated)), np.bool_)
    labels[rows[rows >= 0], example.gold[rows >= 0, 2]] = True
    return _Window(vectors, spans, labels & owned[:, None], owned & example.annotated.all())


def _owned(example: Example, spans: Ints) -> Bools:
    """True for the spans that the example's window reports, false for those that a neighboring window reports."""
    window = example.window
    if window.previous_end <= window.start and window.next_start >= window.end:  # it shares no words
        return np.ones(len(spans), np.bool_)
    bounds = (spans + example.offset).tolist()
    return np.array([window.owns(start, end) for start, end in bounds], np.bool_)


class _Sample:
    """The vectors and labels of at most POINTS entities: those with the smallest random keys."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._rng = np.random.default_rng(seed)
        self._keys: list[Floats] = []
        self._vectors: list[Floats] = []
        self._labels: list[Ints] = []

    def add(self, window: _Window) -> None:
        rows, labels = np.nonzero(window.labels)
        self._keys.append(self._rng.random(len(rows), np.float32))
        self._vectors.append(window.vectors[rows])
        self._labels.append(labels)
        if sum(map(len, self._keys)) > 2 * POINTS:
            self._reduce()

    def _reduce(self) -> None:
        kept = np.argsort(np.concatenate(self._keys), kind="stable")[:POINTS]
        self._keys = [np.concatenate(self._keys)[kept]]
        self._vectors = [np.concatenate(self._vectors)[kept]]
        self._labels = [np.concatenate(self._labels)[kept]]

    def points(self, names: Sequence[str]) -> tuple[dict[str, Points], tuple[float, float]]:
        """Coordinates of the sampled entities by label, and the components' shares of the variance."""
        self._reduce()
        points, explained = principal_components(self._vectors[0])
        labels = self._labels[0]
        groups = {name: points[labels == row].tolist() for row, name in enumerate(names)}
        return {name: tuple(map(tuple, rows)) for name, rows in groups.items() if rows}, explained

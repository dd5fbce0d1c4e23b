"""Export a model to ONNX, measure what that changes, and keep the layers in fp32 that int8 makes inexact."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from spanwise import metrics, runtime
from spanwise.document import Document
from spanwise.errors import InputError
from spanwise.evaluation.scoring import LabeledDocument, gold_for_model, predictions
from spanwise.files import atomic_folder
from spanwise.inference.export import check_new, on_onnx, write_exported
from spanwise.inference.extractor import Extractor
from spanwise.inference.graphs import export_graphs
from spanwise.inference.quantization import graph_sizes, parts, quantize_graphs
from spanwise.metrics import Evaluation
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.text.alignment import AlignedDocument

TOLERANCE = 0.003  # of F1 that int8 may lose before layers are excluded
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Check:
    """Scores of a model before and after its export, and how its predictions changed."""

    before: Evaluation
    after: Evaluation
    predictions: tuple[int, int]  # entities and relations before and after
    changed: int  # predictions that only one of the two makes
    largest_difference: float  # of the scores of a prediction that both make

    @property
    def loss(self) -> float:
        """How much F1 is lost: of entities, or of relations (RE+) if they lose more."""
        return max(before - after for before, after in zip(f1s(self.before), f1s(self.after), strict=False))

    @property
    def agreement(self) -> float:
        """The F1 of the new predictions, with the old ones as gold."""
        return 1 - self.changed / max(1, sum(self.predictions))


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written: the bytes of each graph, the parts that stay in fp32, and the check if there was one."""

    sizes: dict[str, int]
    excluded: tuple[str, ...] = ()
    check: Check | None = None


def export_model(
    extractor: Extractor,
    folder: Path,
    *,
    int8: bool = False,
    gold: Sequence[LabeledDocument] = (),
    progress: Progress = lambda _: None,
) -> Exported:
    """Write the model for ONNX Runtime into a new folder.

    `gold` are labeled documents to check the result on. With `int8`, parts that cost more than 0.3 points of F1 on them
    keep their weights in fp32.
    """
    pipeline = extractor.pipeline
    if not isinstance(pipeline, TorchPipeline):
        raise InputError("this model is exported already; export the model folder that was trained.")
    check_new(folder)
    with TemporaryDirectory() as temporary:
        fp32, chosen = Path(temporary) / "fp32", Path(temporary) / "chosen"
        progress("graphs")
        export_graphs(pipeline, fp32)
        trial = _Trial(extractor, fp32, gold_for_model(extractor, gold)) if gold else None
        excluded: tuple[str, ...] = ()
        if int8:
            excluded = _inexact_parts(trial, chosen, progress) if trial else ()
            quantize_graphs(fp32, chosen, excluded)
        source = chosen if int8 else fp32
        if trial:
            progress("check")
        check = trial.check(source) if trial else None
        made = {"precision": "int8" if int8 else "fp32", "excluded": list(excluded)}
        with atomic_folder(folder) as draft:
            write_exported(pipeline, source, draft, extractor.card, **made)
        return Exported(graph_sizes(folder), excluded, check)


@dataclass
class _Trial:
    """Labeled documents with the predictions before the export, to try graphs on."""

    extractor: Extractor
    fp32: Path
    gold: list[AlignedDocument]
    before: list[Document] = field(init=False)

    def __post_init__(self) -> None:
        self.before = predictions(self.extractor, [row.document for row in self.gold])

    def check(self, graphs: Path) -> Check:
        pipeline = self.extractor.pipeline
        assert isinstance(pipeline, TorchPipeline)  # noqa: S101
        exported = Extractor(on_onnx(pipeline, graphs, runtime.session_threads()))
        return compare(self.gold, self.before, predictions(exported, [row.document for row in self.gold]))

    def quantized(self, folder: Path, excluded: Collection[str]) -> Check:
        quantize_graphs(self.fp32, folder, excluded)
        return self.check(folder)


def _inexact_parts(trial: _Trial, folder: Path, progress: Progress) -> tuple[str, ...]:
    """The parts to keep in fp32: those that change predictions most, until the loss of F1 is small."""
    every = parts(trial.fp32)
    progress("int8")
    check = trial.quantized(folder, ())
    if check.loss <= TOLERANCE:
        return ()
    agreement = {}
    for part in every:
        progress(f"int8: {part} alone")
        agreement[part] = trial.quantized(folder, set(every) - {part}).agreement
    excluded: tuple[str, ...] = ()
    for part in sorted(every, key=agreement.__getitem__):
        excluded = (*excluded, part)
        progress(f"int8 without {', '.join(excluded)}")
        if trial.quantized(folder, excluded).loss <= TOLERANCE:
            break
    return excluded


def compare(gold: Sequence[AlignedDocument], before: Sequence[Document], after: Sequence[Document]) -> Check:
    """Two predictions of the same documents."""
    pairs = [(_scored(one), _scored(other)) for one, other in zip(before, after, strict=True)]
    differences = [abs(one[key] - other[key]) for one, other in pairs for key in one.keys() & other.keys()]
    return Check(
        metrics.evaluate(gold, before),
        metrics.evaluate(gold, after),
        (sum(len(one) for one, _ in pairs), sum(len(other) for _, other in pairs)),
        sum(len(one.keys() ^ other.keys()) for one, other in pairs),
        max(differences, default=0.0),
    )


def _scored(document: Document) -> dict[tuple[object, ...], float]:
    """The score of each prediction, by what is predicted."""
    spans = [(entity.start, entity.end, entity.label) for entity in document.entities]
    found: dict[tuple[object, ...], float] = {
        span: entity.score for span, entity in zip(spans, document.entities, strict=True)
    }
    return found | {(spans[r.head], spans[r.tail], r.label): r.score for r in document.relations}


def f1s(evaluation: Evaluation) -> tuple[float, ...]:
    """Micro F1 of entities and, where there are any, of relations (RE+)."""
    entities = evaluation.entities.micro.f1
    return (entities,) if evaluation.relations is None else (entities, evaluation.relations.strict.micro.f1)

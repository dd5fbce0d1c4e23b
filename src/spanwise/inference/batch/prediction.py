"""The model of a batch and its options, which every worker loads for itself."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from spanwise import runtime
from spanwise.document import Document
from spanwise.formats import Report
from spanwise.formats.jsonl import encode
from spanwise.formats.writing import Writer
from spanwise.inference.batch.parts import Part, Result
from spanwise.inference.extractor import Extractor
from spanwise.inference.sources import model_folder
from spanwise.inference.thresholds import parse_thresholds
from spanwise.schema import Schema

CONFIG = "config.json"  # of a model folder; it holds the checksums of the other files


@dataclass(frozen=True)
class Extraction:
    """A model and how it is asked. It can be sent to another process, which a loaded model cannot."""

    model: str
    device: str = "auto"
    reader: str | None = None
    labels: Mapping[str, str] | None = None
    threshold: float | None = None
    label_thresholds: tuple[str, ...] = ()
    relation_threshold: float | None = None
    given: bool = False

    def resolved(self) -> Extraction:
        """The same model for a process in another working directory; a name on the hub stays a name."""
        path = Path(self.model)
        return replace(self, model=str(path.resolve())) if path.exists() else self

    def identity(self) -> dict[str, Any]:
        """What must be the same to resume: all that changes a prediction."""
        config = model_folder(self.model) / CONFIG
        return {
            "model": hashlib.sha256(config.read_bytes()).hexdigest() if config.is_file() else None,
            "--reader": self.reader,
            "--labels": None if self.labels is None else dict(self.labels),
            "--threshold": self.threshold,
            "--label-threshold": list(self.label_thresholds),
            "--relation-threshold": self.relation_threshold,
            "--given": self.given,
        }


class Predictor:
    """A loaded model that annotates documents."""

    def __init__(self, extraction: Extraction, threads: int | None = None) -> None:
        runtime.set_threads(threads)
        extractor = Extractor.from_pretrained(extraction.model, device=extraction.device, reader=extraction.reader)
        if extraction.labels is not None:
            extractor = extractor.with_labels(extraction.labels)
        own = extractor.pipeline.own_thresholds(extractor.schema)
        self.thresholds = parse_thresholds(extraction.threshold, extraction.label_thresholds, own)
        self.extraction, self.extractor = extraction, extractor

    @property
    def schema(self) -> Schema:
        return self.extractor.schema

    def documents(self, documents: Iterable[Document]) -> Iterator[Document]:
        relations = self.extraction.relation_threshold
        if self.extraction.given:
            return self.extractor.relate(documents, relation_threshold=relations)
        return self.extractor.stream(documents, threshold=self.thresholds, relation_threshold=relations)

    def result(self, part: Part) -> Result:
        """The part with its documents annotated."""
        writer = Writer(None, "", lossy=False, report=Report())
        return Result(part.head, b"".join(writer.each(self.documents(part.documents), encode)))

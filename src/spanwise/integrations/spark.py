"""Extraction in Spark: a function for `DataFrame.mapInPandas`, with one model per Python worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple

from spanwise.document import Document
from spanwise.formats.tables import COLUMNS, INTEGERS, TEXTS, to_frame
from spanwise.inference.extractor import Extractor

# Rows have no number in Spark: the id says which document they belong to.
_TYPES = {**dict.fromkeys(INTEGERS, "long"), **dict.fromkeys(TEXTS, "string"), "score": "double"}
SCHEMA = ", ".join(f"{name} {_TYPES[name]}" for name in COLUMNS if name != "document")


class SparkExtraction(NamedTuple):
    """The two arguments of `DataFrame.mapInPandas`."""

    function: Callable[[Iterator[Any]], Iterator[Any]]
    schema: str


@dataclass(frozen=True)
class _Asked:
    """All that a Python worker needs to know."""

    model: str
    text_column: str
    id_column: str
    threshold: float | None
    relation_threshold: float | None
    device: str
    threads: int


def extract(
    model: str,
    *,
    text_column: str = "text",
    id_column: str = "id",
    threshold: float | None = None,
    relation_threshold: float | None = None,
    device: str = "cpu",
    threads: int = 1,
) -> SparkExtraction:
    """What `mapInPandas` needs to turn rows of texts into one row per entity and one per relation.

    >>> found = texts.mapInPandas(*extract("/models/mine"))

    `model` is a folder that every executor can read, or a name on the hub. A text that is null has no rows.
    """
    asked = _Asked(model, text_column, id_column, threshold, relation_threshold, device, threads)
    return SparkExtraction(partial(_tables, asked), SCHEMA)


@cache
def _extractor(model: str, device: str, threads: int) -> Extractor:
    return Extractor.from_pretrained(model, device=device, threads=threads)


def _tables(asked: _Asked, frames: Iterator[Any]) -> Iterator[Any]:
    """The table of each frame of texts."""
    extractor = _extractor(asked.model, asked.device, asked.threads)
    for frame in frames:
        rows = zip(frame[asked.text_column], frame[asked.id_column], strict=True)
        documents = (Document(text, id=_name(id)) for text, id in rows if isinstance(text, str))
        found = extractor.stream(documents, threshold=asked.threshold, relation_threshold=asked.relation_threshold)
        yield to_frame(found).drop(columns="document")


def _name(id: Any) -> str:
    """The id as text; a missing one stays missing."""
    return "" if id is None or id != id else str(id)

"""Predictions beside recorded results, compressed and without the text, so that later analysis needs no training.

A line holds what a model predicted on one document of the scored split, in the order of the split. A checksum of the
text tells whether the corpus at hand is the one that was scored.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any
from zlib import error as ZlibError

from spanwise.benchmark.results import Result, run_name
from spanwise.document import Document, Entity, Offsets, Relation
from spanwise.errors import FormatError, InputError
from spanwise.files import atomic_file

FOLDER = "predictions"
DIGITS = 4  # of a score


def predictions_path(folder: Path, result: Result) -> Path:
    """The file of a result's predictions: its key, and its split if that is not test."""
    return folder / FOLDER / f"{run_name(result['key'], result['split'])}.jsonl.gz"


def write_predictions(path: Path, predicted: Sequence[Document]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(_record(document), ensure_ascii=False) + "\n" for document in predicted)
    with atomic_file(path) as draft:
        draft.write_bytes(gzip.compress(lines.encode(), mtime=0))  # the same bytes for the same predictions


def read_predictions(path: Path, gold: Sequence[Document]) -> list[Document]:
    """The recorded predictions on these documents; they must be the documents that were scored."""
    records = list(_records(path))
    if len(records) != len(gold):
        raise InputError(
            f"{path}: {len(records)} predictions for {len(gold)} documents; use the corpus that was scored."
        )
    return [_document(record, document, path) for record, document in zip(records, gold, strict=True)]


def _records(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            yield from map(json.loads, lines)
    except (OSError, EOFError, ValueError, ZlibError) as error:
        raise FormatError(f"no recorded predictions ({error}); run the suite again with another --out.", path) from None


def _checksum(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _record(document: Document) -> dict[str, Any]:
    entities = [[e.start, e.end, e.label, round(e.score, DIGITS), *(e.head or ())] for e in document.entities]
    relations = [[r.head, r.tail, r.label, round(r.score, DIGITS)] for r in document.relations]
    return {"text": _checksum(document.text), "entities": entities, **({"relations": relations} if relations else {})}


def _document(record: dict[str, Any], gold: Document, path: Path) -> Document:
    if record["text"] != _checksum(gold.text):
        raise InputError(f"{path}: document {gold.id!r} is not the one that was scored; use that corpus.")
    entities = [
        Entity(start, end, label, score, Offsets(*head) if head else None)
        for start, end, label, score, *head in record["entities"]
    ]
    return gold.with_annotations(entities, [Relation(*row) for row in record.get("relations", ())])

"""Pair gold with predicted documents. A silent mismatch would be the worst bug of a scorer."""

from __future__ import annotations

from collections.abc import Iterable

from spanwise.document import ANNOTATED, Document
from spanwise.errors import InputError
from spanwise.plural import counted


def pair_documents(gold: Iterable[Document], predicted: Iterable[Document]) -> list[tuple[Document, Document]]:
    """Pair documents by position; raise an InputError if their numbers or any of their texts differ."""
    wanted, found = list(gold), list(predicted)
    if len(wanted) != len(found):
        raise InputError(
            f"{counted(len(wanted), 'gold document')} cannot be scored against {len(found):,} predicted; "
            f"predict on exactly the gold documents, in their order."
        )
    pairs = list(zip(wanted, found, strict=True))
    for index, (one, other) in enumerate(pairs):
        if one.text != other.text:
            name = f" ({one.id!r} and {other.id!r})" if one.id or other.id else ""
            raise InputError(
                f"the texts of gold and predicted document {index}{name} differ from character "
                f"{_first_difference(one.text, other.text)} on; predict on exactly the gold documents, in their order."
            )
    return [(one, _comparable(one, other)) for one, other in pairs]


def _comparable(gold: Document, predicted: Document) -> Document:
    """Only the predictions with labels that the gold was annotated for; others cannot be judged."""
    known = gold.metadata.get(ANNOTATED)
    return predicted if known is None else predicted.filter_labels(known)


def _first_difference(one: str, other: str) -> int:
    shorter = min(len(one), len(other))
    return next((index for index in range(shorter) if one[index] != other[index]), shorter)

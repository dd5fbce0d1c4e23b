"""Match the predictions of a system with the gold documents: by position, by id or by text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from spanwise.document import Document
from spanwise.errors import InputError, shortened
from spanwise.metrics.pairing import pair_documents

ADVICE = "predict on exactly the gold documents"


def match_documents(gold: Sequence[Document], predicted: Sequence[Document], system: str) -> list[Document]:
    """The predictions in the order of gold.

    Documents are matched by their ids if all have one, no id repeats and some agree, else by their texts; equal texts
    are matched in their order. If gold was annotated for some labels only, predictions of other labels are left out. A
    document with another text, without a prediction or without gold raises an InputError that names it.
    """
    if not _same_order(gold, predicted):
        shared = {document.id for document in gold} & {document.id for document in predicted}
        by_id = shared and _unique_ids(gold) and _unique_ids(predicted)  # another tool may number its output itself
        predicted = _by_id(gold, predicted, system) if by_id else _by_text(gold, predicted, system)
    return [found for _, found in pair_documents(gold, predicted)]


def _same_order(gold: Sequence[Document], predicted: Sequence[Document]) -> bool:
    return len(gold) == len(predicted) and all(
        one.text == other.text and (one.id == other.id or not (one.id and other.id))
        for one, other in zip(gold, predicted, strict=True)
    )


def _unique_ids(documents: Sequence[Document]) -> bool:
    ids = {document.id for document in documents}
    return len(ids) == len(documents) and "" not in ids


def _by_id(gold: Sequence[Document], predicted: Sequence[Document], system: str) -> list[Document]:
    found = {document.id: document for document in predicted}
    if unknown := found.keys() - {document.id for document in gold}:
        raise InputError(f"{system} has a document {min(unknown)!r} that gold does not have; {ADVICE}.")
    matched = []
    for index, document in enumerate(gold):
        if document.id not in found:
            raise _missing(document, index, system)
        if document.text != found[document.id].text:
            raise InputError(f"{system} has another text than gold for document {document.id!r}; {ADVICE}.")
        matched.append(found[document.id])
    return matched


def _by_text(gold: Sequence[Document], predicted: Sequence[Document], system: str) -> list[Document]:
    found: defaultdict[str, list[Document]] = defaultdict(list)
    for document in reversed(predicted):
        found[document.text].append(document)
    matched = []
    for index, document in enumerate(gold):
        if not found[document.text]:
            raise _missing(document, index, system)
        matched.append(found[document.text].pop())
    if left := next((documents[-1] for documents in found.values() if documents), None):
        name = repr(left.id) if left.id else repr(shortened(left.text, 60))
        raise InputError(f"{system} has a document {name} that gold does not have; {ADVICE}.")
    return matched


def _missing(document: Document, index: int, system: str) -> InputError:
    name = repr(document.id) if document.id else f"{index + 1:,} ({shortened(document.text, 60)!r})"
    return InputError(f"{system} has no prediction for gold document {name}; {ADVICE}.")

"""Documents to splits: seeded, without a text on both sides, and with every label left in train."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from spanwise.document import Document
from spanwise.errors import InputError
from spanwise.plural import counted

SPLIT_SEED = 1


def split_documents(
    documents: Sequence[Document], shares: Mapping[str, float], seed: int = SPLIT_SEED
) -> dict[str, list[Document]]:
    """Split documents into `train` and the named shares of it, such as {"dev": 0.1}, each in the documents' order.

    Documents with the same text stay together. A document that has the last examples of a label stays in train.
    """
    groups = _by_text(documents)
    labels = [{entity.label for index in group for entity in documents[index].entities} for group in groups]
    left = Counter(label for names in labels for label in names)  # groups in train that have the label
    order = np.random.default_rng(seed).permutation(len(groups)).tolist()
    taken: dict[str, list[int]] = {}
    for name, share in shares.items():
        wanted = max(1, round(share * len(documents)))
        taken[name] = _take(order, groups, labels, left, wanted)
        if not taken[name]:
            raise InputError(
                f"{counted(len(documents), 'document is', 'documents are')} too few to split {name} off with every "
                f"text in one split and every label in train; give a file for {name}, or more documents."
            )
    chosen = {index for rows in taken.values() for index in rows}
    rest = [document for index, document in enumerate(documents) if index not in chosen]
    return {"train": rest, **{name: [documents[index] for index in sorted(rows)] for name, rows in taken.items()}}


def can_split_off(documents: Sequence[Document], share: float) -> bool:
    """Whether a share of the documents can be split off, and there are enough for that to make sense."""
    try:
        return len(documents) > 2 and bool(split_documents(documents, {"dev": share}))
    except InputError:
        return False


def _by_text(documents: Sequence[Document]) -> list[list[int]]:
    """Indices of documents, those with equal texts together."""
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for index, document in enumerate(documents):
        groups[document.text].append(index)
    return list(groups.values())


def _take(
    order: list[int], groups: Sequence[list[int]], labels: Sequence[set[str]], left: Counter[str], wanted: int
) -> list[int]:
    """About this many documents of the groups in `order`, which keeps the others."""
    rows: list[int] = []
    for group in list(order):
        if len(rows) >= wanted or len(order) == 1:
            break
        if all(left[label] > 1 for label in labels[group]):
            order.remove(group)
            rows += groups[group]
            left.subtract(labels[group])
    return rows

"""Examples and batches that come from no text: so many words, with gold wherever a test wants it."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from spanwise.document import Document
from spanwise.pipeline.collate import collate
from spanwise.seam.batch import Array, Batch
from spanwise.text.examples import Example
from spanwise.text.windows import Window

PAD = 9
LABELS = 5
PIECES: Any = SimpleNamespace(pad=PAD, prefix=(1,), suffix=(2,))  # what `collate` needs to know of a tokenizer


def example(
    counts: Sequence[int],
    gold: Sequence[tuple[int, int, int]] = (),
    outermost: Sequence[bool] | None = None,
    relations: Sequence[tuple[int, int, int]] = (),
    *,
    before: int = 0,
    behind: int = 0,
    labels: int = LABELS,
    annotated: Sequence[bool] | None = None,
) -> Example:
    """Words of so many pieces, numbered from 100, of which those `before` and `behind` the window are context."""
    window = (before, len(counts) - behind)
    return Example(
        Document(""),
        Window(*window, *window),
        np.array([1, *range(100, 100 + sum(counts)), 2]),
        np.array(counts),
        np.arange(len(counts)) % 11,
        before,
        np.array(gold, np.int64).reshape(-1, 3),
        np.array([True] * len(gold) if outermost is None else outermost, np.bool_),
        np.array(relations, np.int64).reshape(-1, 3),
        np.array([True] * labels if annotated is None else annotated, np.bool_),
    )


def words_only(scored: Sequence[Sequence[bool]]) -> Batch[Array]:
    """A batch for decoders that read nothing but which words are scored."""
    rows = [list(row) for row in scored]
    examples = []
    for row in rows:
        first = row.index(True)
        examples.append(example([1] * len(row), before=first, behind=len(row) - first - sum(row)))
    batch = collate(examples, PIECES, None)
    assert batch.words.scored.tolist() == rows
    return batch

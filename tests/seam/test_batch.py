"""Batches: every array is mapped, whatever there is of them, and a partner sees its own candidates."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from invented_examples import PIECES, example
from spanwise.pipeline.collate import collate
from spanwise.seam.batch import Array, Batch, LabelTexts
from spanwise.seam.proposals import Negatives, SpanProposer

TEXTS = LabelTexts(np.array([[1, 5, 2]]), np.ones((1, 3), np.bool_), np.array([[False, True, False]]))


def full_batch() -> Batch[Array]:
    """With texts of labels and relations, gold, and a partner's candidates."""
    examples = [example([1, 2, 1], [(0, 2, 1)]), example([3])]
    narrow, wide = SpanProposer(1, Negatives(9)), SpanProposer(3, Negatives(9))
    rng = np.random.default_rng(0)
    return collate(examples, PIECES, narrow, partner=wide, labels=TEXTS, relation_labels=TEXTS, gold=True, rng=rng)


def leaves(part: Any, name: str = "") -> dict[str, Any]:
    """Everything inside a batch that is not a container, by its path."""
    if part is None or not is_dataclass(part):
        return {name: part}
    found = {}
    for field in fields(part):
        found |= leaves(getattr(part, field.name), f"{name}.{field.name}")
    return found


def test_mapping_changes_every_array_and_nothing_else() -> None:
    batch = full_batch()
    before, after = leaves(batch), leaves(batch.map(lambda array: ("changed", array)))
    assert before.keys() == after.keys()
    for name, value in before.items():
        if name == ".size":
            assert after[name] == 2
        else:
            assert isinstance(value, np.ndarray)
            assert after[name][0] == "changed"
            assert after[name][1] is value


def test_parts_that_a_batch_does_not_have_stay_none() -> None:
    batch = collate([example([1])], PIECES, None).map(torch.from_numpy)
    assert (batch.labels, batch.gold, batch.partner) == (None, None, None)


def test_a_batch_of_tensors_comes_back_as_the_same_arrays() -> None:
    batch = full_batch()
    tensors: Batch[Tensor] = batch.map(torch.from_numpy)
    again = tensors.map(lambda tensor: tensor.numpy())
    for name, value in leaves(batch).items():
        np.testing.assert_array_equal(leaves(again)[name], value)
        if name != ".size":
            assert leaves(again)[name].dtype == value.dtype


def test_a_partner_sees_its_own_candidates_and_all_else_as_it_is() -> None:
    batch = full_batch()
    seen = batch.for_partner()
    assert seen.proposals is batch.partner
    assert seen.partner is None
    assert (seen.words, seen.labels, seen.gold, seen.size) == (batch.words, batch.labels, batch.gold, batch.size)
    assert seen.for_partner() is seen


def test_gold_of_a_batch_that_has_none_is_refused() -> None:
    assert full_batch().require_gold() is not None
    with pytest.raises(ValueError, match="this batch was made without gold"):
        collate([example([1], [(0, 1, 0)])], PIECES, None).require_gold()

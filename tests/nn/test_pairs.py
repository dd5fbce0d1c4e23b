"""What lies between two spans, against a loop."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from spanwise.nn.pairs import max_between, words_between
from spanwise.nn.pooling import RangeMax

bounds = st.tuples(st.integers(0, 8), st.integers(1, 9)).filter(lambda span: span[0] < span[1])
pairs = st.lists(st.tuples(st.integers(0, 1), bounds, bounds), min_size=1, max_size=10)


@given(pairs, st.integers(0, 2**32))
def test_context_is_the_maximum_over_the_words_between_or_zeros(
    pairs: list[tuple[int, tuple[int, int], tuple[int, int]]], seed: int
) -> None:
    words = torch.randn(2, 9, 3, generator=torch.Generator().manual_seed(seed)) - 1  # mostly below the zeros
    head = torch.tensor([(row, *head) for row, head, _ in pairs])
    tail = torch.tensor([(row, *tail) for row, _, tail in pairs])
    first, last = words_between(head, tail)
    for number, (vector, (row, one, other)) in enumerate(
        zip(max_between(RangeMax(words, words.shape[1]), head, tail), pairs, strict=True)
    ):
        inner = [w for w in range(9) if (one[1] <= w < other[0]) or (other[1] <= w < one[0])]
        assert list(range(int(first[number]), int(last[number]) + 1)) == inner
        wanted = words[row, inner].amax(0) if inner else torch.zeros(3)
        assert torch.equal(vector, wanted)


def test_no_pairs_have_no_context() -> None:
    none = torch.zeros(0, 3, dtype=torch.long)
    assert max_between(RangeMax(torch.randn(2, 5, 3), 5), none, none).shape == (0, 3)

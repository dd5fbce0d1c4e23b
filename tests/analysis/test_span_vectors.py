"""Sums over span vectors: hand-made vectors with cosines worked out in comments, and random ones pair by pair."""

from __future__ import annotations

from itertools import combinations
from math import sqrt

import numpy as np
import pytest

from spanwise.analysis.span_vectors import (
    NEIGHBORHOOD,
    Mean,
    overlap_sums,
    principal_components,
    sums,
    template_means,
)

ALL = np.ones(1, np.bool_)


def floats(rows: list[list[float]]) -> np.ndarray:
    return np.array(rows, np.float32)


def test_neighbors_of_an_entity_are_grouped_by_overlapping_ratio() -> None:
    assert NEIGHBORHOOD == 5
    spans = np.array([[2, 4], [2, 5], [3, 4], [3, 5], [4, 5], [9, 10], [10, 11], [0, 2]])
    vectors = floats(
        [
            [2, 0],  # the entity itself: no pair
            [3, 4],  # shares 2 of 3 words, α = 2/3, strongly: cosine 3/5
            [0, 2],  # shares 1 of 2 words, α = 1/2, weakly: cosine 0
            [4, 3],  # shares 1 of 3 words, α = 1/3, weakly: cosine 4/5
            [-1, 0],  # next to it, α = 0: cosine -1
            [5, 12],  # 5 words between them, α = 0: cosine 5/13
            [1, 0],  # 6 words between them: no neighbor
            [0, 0],  # has no direction: no pair
        ]
    )
    entity = np.array([[row == 0] for row in range(8)])
    non, weakly, strongly = sums(vectors, spans, entity, np.repeat(ALL, 8)).overlap_means()
    assert (non.value, non.count) == (pytest.approx((-1 + 5 / 13) / 2), 2)
    assert (weakly.value, weakly.count) == (pytest.approx((0 + 4 / 5) / 2), 2)
    assert (strongly.value, strongly.count) == (pytest.approx(3 / 5), 1)


def test_entities_and_negatives_are_compared_by_class() -> None:
    spans = np.array([[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]])
    vectors = floats([[2, 0], [3, 4], [0, 1], [-1, 0], [0, 3]])  # norms 2, 5, 1 of entities; 1, 3 of others
    labels = np.array([[1, 0], [1, 0], [0, 1], [0, 0], [0, 0]], np.bool_)  # A, A, B
    found = sums(vectors, spans, labels, np.repeat(ALL, 5))
    assert found.entity_norm() == Mean(pytest.approx((2 + 5 + 1) / 3), 3)
    assert found.norm(0) == Mean(2.0, 2)
    assert found.norm(1) == Mean(3.5, 2)
    assert found.cosine_within() == Mean(pytest.approx(3 / 5), 1)  # the two of A; B has no pair
    assert found.cosine_within(2) == Mean(None, 0)
    assert found.cosine_between() == Mean(pytest.approx((0 + 4 / 5) / 2), 2)  # both of A with the one of B
    # with [-1, 0]: -1, -3/5, 0; with [0, 3]: 0, 4/5, 1
    assert found.cosine_to_negatives() == Mean(pytest.approx((-1 - 3 / 5 + 0 + 0 + 4 / 5 + 1) / 6), 6)


def test_a_span_with_two_labels_is_never_compared_with_itself() -> None:
    spans, vectors = np.array([[0, 1], [4, 5]]), floats([[1, 0], [0, 1]])
    labels = np.array([[1, 1], [0, 1]], np.bool_)  # A and B on one span, B on the other
    found = sums(vectors, spans, labels, np.repeat(ALL, 2))
    assert found.cosine_between() == Mean(pytest.approx(0), 1)  # A with the other B only
    assert found.cosine_within() == Mean(pytest.approx(0), 1)


def test_spans_whose_label_may_be_unknown_are_no_negatives() -> None:
    spans, vectors = np.array([[0, 1], [1, 2], [2, 3]]), floats([[1, 0], [0, 1], [1, 1]])
    labels = np.array([[1], [0], [0]], np.bool_)
    found = sums(vectors, spans, labels, np.array([False, False, True]))
    assert found.cosine_to_negatives() == Mean(pytest.approx(1 / sqrt(2)), 1)
    assert found.overlap_means()[0].count == 2  # neighbors need no label


@pytest.mark.parametrize("cells", [7, 2**22])
def test_means_over_windows_are_those_of_all_pairs(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three windows of random vectors, against loops over pairs; also with entities in blocks."""
    monkeypatch.setattr("spanwise.analysis.span_vectors.CELLS", cells)
    rng = np.random.default_rng(3)
    windows = []
    for length in (4, 9, 12):
        spans = np.array([(i, j) for i in range(length) for j in range(i + 1, min(length, i + 3) + 1)])
        vectors = rng.normal(size=(len(spans), 5)).astype(np.float32)
        windows.append((vectors, spans, rng.random((len(spans), 3)) < 0.15, rng.random(len(spans)) < 0.9))
    first, *others = (sums(*window) for window in windows)
    found = sum(others, first)
    assert [(mean.value, mean.count) for mean in found.overlap_means()] == [
        (pytest.approx(np.mean(cosines)), len(cosines)) for cosines in slow_overlaps(windows)
    ]
    wanted = slow_classes(windows)
    means = (found.cosine_within(), found.cosine_between(), found.cosine_to_negatives())
    assert [(mean.value, mean.count) for mean in means] == [(pytest.approx(np.mean(row)), len(row)) for row in wanted]


def cosine(one: np.ndarray, other: np.ndarray) -> float:
    one, other = one.astype(np.float64), other.astype(np.float64)
    return float(one @ other / sqrt(one @ one) / sqrt(other @ other))


def slow_overlaps(windows: list[tuple[np.ndarray, ...]]) -> list[list[float]]:
    groups: list[list[float]] = [[], [], []]
    for vectors, spans, labels, _ in windows:
        for i, (start, end) in enumerate(spans.tolist()):
            for j, (left, right) in enumerate(spans.tolist()):
                words, others = set(range(start, end)), set(range(left, right))
                ratio = len(words & others) / len(words | others)
                between = len(set(range(min(start, left), max(end, right))) - words - others)
                if labels[i].any() and ratio < 1 and between <= NEIGHBORHOOD:
                    groups[0 if ratio == 0 else 1 if ratio <= 0.5 else 2].append(cosine(vectors[i], vectors[j]))
    return groups


def slow_classes(windows: list[tuple[np.ndarray, ...]]) -> list[list[float]]:
    spans = [
        (number, row, label, vector)
        for number, (vectors, _, labels, known) in enumerate(windows)
        for row, vector in enumerate(vectors)
        for label in (np.flatnonzero(labels[row]).tolist() or ([-1] if known[row] else []))
    ]
    within, between, negative = [], [], []
    for one, other in combinations(spans, 2):
        if one[:2] == other[:2]:
            continue
        group = within if one[2] == other[2] else negative if -1 in (one[2], other[2]) else between
        if (one[2], other[2]) != (-1, -1):
            group.append(cosine(one[3], other[3]))
    return [within, between, negative]


def test_without_entities_there_are_no_pairs() -> None:
    assert not overlap_sums(np.eye(2), np.array([[0, 1], [1, 2]]), np.zeros(2, np.bool_)).any()
    assert Mean.of(0.0, 0) == Mean(None, 0)


def test_templates_are_compared_by_absolute_cosine() -> None:
    weight = floats([[0, 2], [3, 4], [-4, -3]])  # None, A, B: norms 2, 5, 5
    # None and A: 4/5; None and B: |-3/5|; A and B: |-24/25|
    norm, every, between, to_none = template_means(weight, none=True)
    assert norm == Mean(pytest.approx(4), 3)
    assert every == Mean(pytest.approx((4 / 5 + 3 / 5 + 24 / 25) / 3), 3)
    assert between == Mean(pytest.approx(24 / 25), 1)
    assert to_none == Mean(pytest.approx((4 / 5 + 3 / 5) / 2), 2)


def test_templates_of_independent_labels_have_none_for_no_label() -> None:
    _, every, between, to_none = template_means(floats([[3, 4], [-4, -3]]), none=False)
    assert every == between == Mean(pytest.approx(24 / 25), 1)
    assert to_none == Mean(None, 0)


def test_principal_components_are_the_axes_of_the_covariance() -> None:
    rng = np.random.default_rng(5)
    vectors = (rng.normal(size=(40, 4)) * [1, 5, 2, 0.1] + [9, 0, 0, 3]).astype(np.float32)
    points, shares = principal_components(vectors)
    variances, axes = np.linalg.eigh(np.cov(vectors.astype(np.float64).T))
    assert shares == pytest.approx((variances[::-1] / variances.sum())[:2].tolist())
    for number in (0, 1):
        axis = axes[:, -1 - number]
        axis = axis * np.sign(axis[np.abs(axis).argmax()])  # the largest loading is positive
        np.testing.assert_allclose(points[:, number], (vectors - vectors.mean(0)) @ axis, atol=1e-4)


def test_the_signs_of_components_do_not_depend_on_the_order() -> None:
    vectors = np.random.default_rng(6).normal(size=(9, 3)).astype(np.float32)
    order = np.random.default_rng(7).permutation(9)
    np.testing.assert_allclose(
        principal_components(vectors[order])[0], principal_components(vectors)[0][order], atol=1e-5
    )


@pytest.mark.parametrize("vectors", [np.ones((3, 4)), np.ones((1, 1)), np.zeros((0, 4))])
def test_vectors_without_variance_lie_on_one_point(vectors: np.ndarray) -> None:
    points, shares = principal_components(vectors.astype(np.float32))
    assert points.shape == (len(vectors), 2)
    assert not np.abs(points).any()
    assert shares == (0, 0)

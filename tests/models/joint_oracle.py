"""What the oracles of SpERT, SPAN and STSN share: formulas over the vectors of single words, spans and pairs.

Loops in double precision, sharing no code with the package. Weights come by name from a module's state dict; where the
module splits a layer over the parts of what a paper lays side by side, its weights are laid side by side again.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor

Span = tuple[int, int]  # half-open
Weights = dict[str, Tensor]


class Sentence(NamedTuple):
    """The encoder's vectors of [CLS] and of the words."""

    cls: Tensor
    words: list[Tensor]


def weights_of(module: Any) -> Weights:
    return {name: value.double() for name, value in module.state_dict().items()}


def linear(weights: Weights, vector: Tensor, *names: str) -> Tensor:
    """W·x + b, where W is the weights of these layers side by side."""
    matrix = torch.cat([weights[f"{name}.weight"] for name in names], dim=1)
    bias = torch.zeros(len(matrix), dtype=matrix.dtype)
    for name in names:
        bias = bias + weights.get(f"{name}.bias", 0.0)
    return matrix @ vector + bias


def feed_forward(weights: Weights, vector: Tensor, name: str) -> Tensor:
    """A multi-layer FFNN: ReLU between its layers."""
    layers = sorted(int(key.split(".")[-2]) for key in weights if key.startswith(f"{name}.") and key.endswith("weight"))
    for layer in layers[:-1]:
        vector = linear(weights, vector, f"{name}.{layer}").clamp(min=0)
    return linear(weights, vector, f"{name}.{layers[-1]}")


def softmax(scores: list[float]) -> list[float]:
    exps = [math.exp(score) for score in scores]
    return [value / sum(exps) for value in exps]


def multi_head(query: Tensor, keys: list[Tensor], values: list[Tensor], heads: int) -> Tensor:
    """Concat(head_1 … head_h) with head_i = softmax(Q·Kᵀ / √(d / h))·V, each over its part of the units"""
    size = len(query) // heads
    found = []
    for head in range(heads):
        part = slice(head * size, (head + 1) * size)
        scores = [float(query[part] @ key[part]) / math.sqrt(size) for key in keys]
        found.append(weighed(softmax(scores), [value[part] for value in values]))
    return torch.cat(found)


def sigmoid(score: float) -> float:
    return 1 / (1 + math.exp(-score))


def weighed(shares: list[float], vectors: list[Tensor]) -> Tensor:
    """Σ α_k·x_k"""
    total = torch.zeros_like(vectors[0])
    for share, vector in zip(shares, vectors, strict=True):
        total = total + share * vector
    return total


def maximum(vectors: list[Tensor]) -> Tensor:
    best = vectors[0]
    for vector in vectors:
        best = torch.where(vector > best, vector, best)
    return best


def width(weights: Weights, span: Span) -> Tensor:
    """w_k: the first row is for a width of one; beyond the last, widths share it."""
    table = weights["widths.table.weight"]
    return table[min(span[1] - span[0], len(table)) - 1]


def words_between(head: Span, tail: Span) -> list[int]:
    """Behind the one that comes first and before the other; none if they touch or overlap."""
    first, second = sorted((head, tail))
    return list(range(first[1], second[0]))


def context(words: list[Tensor], head: Span, tail: Span) -> Tensor:
    """c(s1, s2): max-pooled words between two spans, or zeros."""
    between = [words[position] for position in words_between(head, tail)]
    return maximum(between) if between else torch.zeros_like(words[0])


def cross_entropy(rows: list[Tensor], gold: list[int]) -> float:
    """The mean of -log of the gold class's probability."""
    return -sum(math.log(softmax(row.tolist())[kind]) for row, kind in zip(rows, gold, strict=True)) / len(rows)


def binary_cross_entropy(row: Tensor, held: set[int]) -> float:
    """Summed over the types."""
    chances = [sigmoid(score) for score in row.tolist()]
    return -sum(math.log(p if kind in held else 1 - p) for kind, p in enumerate(chances))


class Labeled(NamedTuple):
    """What a loss is taken of: scores of spans, of pairs with their types, of words with their tags.

    A span has one class, 0 for none; or, where labels are independent of each other, a set of labels.
    """

    spans: list[tuple[Tensor, int | set[int]]]
    pairs: list[tuple[Tensor, set[int]]]
    tags: list[tuple[Tensor, int]]


def mean_cross_entropy(rows: list[tuple[Tensor, int]]) -> float:
    return cross_entropy([row for row, _ in rows], [gold for _, gold in rows])


def span_loss(rows: list[tuple[Tensor, int | set[int]]]) -> float:
    """The mean over spans of the cross entropy of their class, or of the binary ones of all labels, summed."""
    losses = [
        binary_cross_entropy(row, gold) if isinstance(gold, set) else cross_entropy([row], [gold]) for row, gold in rows
    ]
    return sum(losses) / len(losses)

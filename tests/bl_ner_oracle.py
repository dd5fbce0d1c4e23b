"""BL-NER's equations, written down one by one as loops over plain numbers. Slow, and sharing no code with the package.

Only weights are taken from it: rows of layers and embeddings, and the encoder's hidden states, a sentence at a time.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import torch

Vector = list[float]
Matrix = list[Vector]
Words = list[str]
Span = tuple[int, int]  # half-open
Typed = tuple[int, int, int]  # with its type


def numbers(tensor: Any) -> Any:
    return tensor.detach().double().tolist()


def encode(transformer: Any, tokenizer: Any, words: Words) -> tuple[Vector, Matrix]:
    """Eqs. 1 to 4: e_0 and e_1 … e_n of one sentence, word vectors max-pooled from sub-tokens."""
    ids, owners = [tokenizer.cls_token_id], [-1]
    for index, word in enumerate(words):
        for piece in tokenizer.tokenize(word):
            ids.append(tokenizer.convert_tokens_to_ids(piece))
            owners.append(index)
    ids.append(tokenizer.sep_token_id)
    owners.append(-1)
    with torch.no_grad():
        hidden = numbers(transformer(input_ids=torch.tensor([ids])).last_hidden_state[0])
    vectors = []
    for index in range(len(words)):
        own = [vector for vector, owner in zip(hidden, owners, strict=True) if owner == index]
        vectors.append([max(column) for column in zip(*own, strict=True)])  # eq. 3
    return hidden[0], vectors


def feed_forward(layer: Any, vector: Vector) -> Vector:
    """Eqs. 5 and 16: W·e + b."""
    weight, bias = numbers(layer.weight), numbers(layer.bias)
    return [sum(w * x for w, x in zip(row, vector, strict=True)) + b for row, b in zip(weight, bias, strict=True)]


def softmax(scores: Vector) -> Vector:
    """Eqs. 6 and 17."""
    exps = [math.exp(score) for score in scores]
    return [value / sum(exps) for value in exps]


def best(probabilities: Vector) -> int:
    return max(range(len(probabilities)), key=probabilities.__getitem__)


def cross_entropy(rows: list[Vector], gold: list[int]) -> float:
    """Eqs. 7 and 18: the mean over all instances of -log of the gold type's probability."""
    return -sum(math.log(softmax(row)[kind]) for row, kind in zip(rows, gold, strict=True)) / len(rows)


def tags_of(length: int, entities: list[Typed]) -> list[int]:
    """BIO: 0 is O, then B and I of each type in turn."""
    tags = [0] * length
    for start, end, kind in entities:
        for word in range(start, end):
            tags[word] = 1 + 2 * kind + (word > start)
    return tags


def combine(tags: list[int]) -> list[Typed]:
    """The label combiner; an I of no open entity of its type opens one."""
    entities: list[Typed] = []
    open_start, open_kind = 0, -1
    for word, tag in enumerate([*tags, 0]):
        kind = -1 if tag == 0 else (tag - 1) // 2
        begins = tag % 2 == 1
        if open_kind >= 0 and (kind != open_kind or begins):
            entities.append((open_start, word, open_kind))
            open_kind = -1
        if kind >= 0 and open_kind < 0:
            open_start, open_kind = word, kind
    return entities


def chain_score(emissions: Matrix, chain: tuple[int, ...], crf: Any) -> float:
    """Eq. 9 summed over the chain. The paper's y_0 stands before the text: its row of A is `start`; `end` closes."""
    transitions, start, end = numbers(crf.transitions), numbers(crf.start), numbers(crf.end)
    score: float = start[chain[0]] + emissions[0][chain[0]]
    for i in range(1, len(chain)):
        score += emissions[i][chain[i]] + transitions[chain[i - 1]][chain[i]]
    score += end[chain[-1]]
    return score


def chain_probabilities(emissions: Matrix, crf: Any) -> dict[tuple[int, ...], float]:
    """Eq. 8 for every chain of tags."""
    chains = list(product(range(len(emissions[0])), repeat=len(emissions)))
    weights = [math.exp(chain_score(emissions, chain, crf)) for chain in chains]
    return {chain: weight / sum(weights) for chain, weight in zip(chains, weights, strict=True)}


def spans_up_to(length: int, epsilon: int) -> list[Span]:
    """Eq. 12: t_i … t_{i+j} with 1 ≤ i ≤ i+j ≤ n and j+1 ≤ ε; here counted from 0 and half-open."""
    return [(i - 1, i + j) for i in range(1, length + 1) for j in range(length) if i + j <= length and j + 1 <= epsilon]


def represent(how: str, span: Span, e0: Vector, words: Matrix, widths: Any) -> Vector:
    """Eqs. 13 (boundary), 14 (pooling) and 15 (hybrid)."""
    start, end = span
    head, tail = words[start], words[end - 1]
    pooled = [max(column) for column in zip(*words[start:end], strict=True)]
    width: Vector = numbers(widths.weight)[end - start - 1]  # W_{j+1}: the first row is for a width of one
    if how == "boundary":
        return head + tail + width
    if how == "pooling":
        return pooled + e0 + width
    return head + tail + pooled + e0 + width


def heuristic(spans: list[tuple[int, int, int, float]], *, shared: bool = False) -> list[tuple[int, int, int, float]]:
    """Section 3.2.3: the most probable span is kept and all that overlap it are dropped, until none is left.

    Not in the paper: with `shared`, other labels of the same words do not overlap them.
    """
    left, kept = list(spans), []
    while left:
        first = left[0]
        for span in left:
            if span[3] > first[3]:
                first = span
        kept.append(first)
        same = [s for s in left if shared and s is not first and s[:2] == first[:2]]
        left = same + [s for s in left if s is not first and (s[1] <= first[0] or s[0] >= first[1])]
    return sorted(kept)

"""LEAR's equations 1 to 9, its losses and its decoding (Yang et al. 2021, sections 3.1 to 3.4 and 5.1), as loops
over labels, words and tokens; and the two formalizations it is compared with, which share all but the vectors.

Weights come by name from a module's state dict, the encoder's vectors one text at a time and without padding.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple

import joint_oracle as paper
import torch
from torch import Tensor

import bl_ner_oracle
import matching_oracle

Gold = set[tuple[int, int, int]]  # start, end (half-open), label
Found = tuple[int, int, int, float]  # the same, and its probability


class Described(NamedTuple):
    """The encoder's vectors of a label's text: of [CLS], and of its own tokens."""

    cls: Tensor
    tokens: list[Tensor]


class Scores(NamedTuple):
    """Before the sigmoid: of every label and word, and, where spans may be nested, of every label and two words."""

    start: list[list[float]]
    end: list[list[float]]
    match: list[list[list[float]]]


def pieces_of(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer.convert_tokens_to_ids(tokenizer.tokenize(text)))


def hidden(transformer: Any, pieces: list[int], types: list[int]) -> list[Tensor]:
    with torch.no_grad():
        output = transformer(input_ids=torch.tensor([pieces]), token_type_ids=torch.tensor([types]))
    return list(output.last_hidden_state[0].double())


def describe(transformer: Any, tokenizer: Any, text: str) -> Described:
    """Eq. 2 of one label: [CLS] text [SEP]"""
    own = pieces_of(tokenizer, text)
    vectors = hidden(transformer, [tokenizer.cls_token_id, *own, tokenizer.sep_token_id], [0] * (len(own) + 2))
    return Described(vectors[0], vectors[1:-1])


def read(transformer: Any, tokenizer: Any, words: list[str], question: str | None = None) -> list[Tensor]:
    """Eq. 1: words, max-pooled from the pieces of [CLS] text [SEP], or of [CLS] question [SEP] text [SEP]."""
    before = [tokenizer.cls_token_id]
    if question is not None:
        before += [*pieces_of(tokenizer, question), tokenizer.sep_token_id]
    pieces, bounds = list(before), []
    for word in words:
        bounds.append(len(pieces))
        pieces += pieces_of(tokenizer, word)
    bounds.append(len(pieces))
    pieces.append(tokenizer.sep_token_id)
    asked = 0 if question is None else 1  # the text is the second of two, or the only one
    vectors = hidden(transformer, pieces, [0] * len(before) + [asked] * (len(pieces) - len(before)))
    return [paper.maximum(vectors[first:stop]) for first, stop in pairwise(bounds)]


def gelu(number: float) -> float:
    return number * 0.5 * (1 + math.erf(number / math.sqrt(2)))


def cross_entropy(score: float, gold: bool) -> float:
    chance = paper.sigmoid(score)
    return -math.log(chance if gold else 1 - chance)


class Pointers:
    """Starts, ends and matches from the vectors that the words have for each label."""

    def __init__(self, module: Any) -> None:
        self.weights, self.options = paper.weights_of(module), module.config

    def row(self, name: str, label: int) -> Tensor:
        """A label's own row, or the one row that there is for all."""
        rows = self.weights[name]
        return rows[label if len(rows) > 1 else 0]

    def scores(self, vectors: list[list[Tensor]]) -> Scores:
        """Of a sentence's words as each label sees them: labels, then words."""
        return Scores(
            *(
                [[self.pointer_layer(name, label, word) for word in words] for label, words in enumerate(vectors)]
                for name in ("start", "end")
            ),
            [[[self.match(label, i, j) for j in words] for i in words] for label, words in enumerate(vectors)]
            if self.options.nested
            else [],
        )

    def pointer_layer(self, name: str, label: int, word: Tensor) -> float:
        """Eq. 8: Σ_d M[c, d]·ĥᶜ[d] + b[c]"""
        weight, bias = self.row(f"{name}.weight", label), self.row(f"{name}.bias", label)
        return sum(m * h for m, h in zip(weight.tolist(), word.tolist(), strict=True)) + float(bias)

    def match(self, label: int, first: Tensor, last: Tensor) -> float:
        """Eq. 9: M·[ĥ_i; ĥ_j], or the hidden layer with GELU of the public code"""
        if self.options.matcher == "linear":
            weight = torch.cat((self.row("matcher.head.weight", label), self.row("matcher.tail.weight", label)))
            return float(weight @ torch.cat((first, last)))
        inner = paper.linear(self.weights, torch.cat((first, last)), "matcher.head", "matcher.tail")
        return sum(gelu(h) * w for h, w in zip(inner.tolist(), self.row("matcher.weigh", label).tolist(), strict=True))

    def loss(self, sentences: list[tuple[Scores, Gold]]) -> dict[str, float]:
        """L = L_s + L_e, or α·(L_s + L_e) + β·L_match; each is the mean over sentences"""
        terms = {"starts": 0.0, "ends": 0.0} | ({"matches": 0.0} if self.options.nested else {})
        for scores, gold in sentences:
            terms["starts"] += pointer_loss(scores.start, {(label, i) for i, _, label in gold}) / len(sentences)
            terms["ends"] += pointer_loss(scores.end, {(label, j - 1) for _, j, label in gold}) / len(sentences)
            if self.options.nested:
                terms["matches"] += match_loss(scores.match, gold) / len(sentences)
        total = terms["starts"] + terms["ends"]
        if self.options.nested:
            total = self.options.pointer_weight * total + self.options.match_weight * terms["matches"]
        return {**terms, "total": total}

    def decode(self, scores: Scores, thresholds: list[float]) -> list[Found]:
        """Section 3.3. A span is as probable as the least probable of its parts; flat spans do not overlap."""
        found: list[Found] = []
        for label in range(len(scores.start)):
            start, end = ([paper.sigmoid(s) for s in rows[label]] for rows in (scores.start, scores.end))
            for i, j in self.matched(start, end):
                chance = min(start[i], end[j])
                if self.options.nested:
                    joined = paper.sigmoid(scores.match[label][i][j])
                    if joined <= 0.5:
                        continue
                    chance = min(chance, joined)
                if chance >= thresholds[label]:
                    found.append((i, j + 1, label, chance))
        found.sort()
        return found if self.options.nested else bl_ner_oracle.heuristic(found)

    def matched(self, start: list[float], end: list[float]) -> list[matching_oracle.Ends]:
        if self.options.nested:
            return matching_oracle.crossed(start, end)
        if self.options.matching == "nearest":
            return matching_oracle.nearest(start, end)
        return matching_oracle.algorithm_1(start, end)


class LEAR(Pointers):
    def fuse(self, words: list[Tensor], labels: list[Described]) -> list[list[Tensor]]:
        """Equations 3 to 7: ĥᶜ of every label and word."""
        return [[self.fused(word, self.known(c, label)) for word in words] for c, label in enumerate(labels)]

    def known(self, number: int, label: Described) -> list[Tensor]:
        """The tokens of a label: those of its text; or one vector of its own (LEL), or its sentence's (SF & Sim)"""
        if self.options.knowledge == "embeddings":
            return [self.weights["embedding.weight"][number]]
        return [label.cls] if self.options.fusion == "sentence" else label.tokens

    def fused(self, word: Tensor, tokens: list[Tensor]) -> Tensor:
        word = paper.linear(self.weights, word, "project_words")  # eq. 3
        tokens = [paper.linear(self.weights, token, "project_labels") for token in tokens]  # eq. 4
        likeness = [float(word @ token) for token in tokens]
        shares = {
            "attention": lambda: paper.softmax(likeness),  # eq. 5
            "average": lambda: [1 / len(tokens)] * len(tokens),  # AP & Add
            "sentence": lambda: [paper.sigmoid(score) for score in likeness],  # SF & Sim
        }[self.options.fusion]()
        knowing = word + paper.weighed(shares, tokens)  # eq. 6
        return torch.tanh(paper.linear(self.weights, knowing, "fuse"))  # eq. 7


def pointer_loss(scores: list[list[float]], gold: set[tuple[int, int]]) -> float:
    """1/n·Σ_c Σ_i CE"""
    total = 0.0
    for label, row in enumerate(scores):
        for word, score in enumerate(row):
            total += cross_entropy(score, (label, word) in gold) / len(row)
    return total


def match_loss(scores: list[list[list[float]]], gold: Gold) -> float:
    """1/n²·Σ_i≤j Σ_c CE·W, where W is 1 for gold and for what is taken for gold"""
    total = 0.0
    for label, rows in enumerate(scores):
        for i in range(len(rows)):
            for j in range(i, len(rows)):
                held = (i, j + 1, label) in gold
                if held or paper.sigmoid(rows[i][j]) > 0.5:
                    total += cross_entropy(rows[i][j], held) / len(rows) ** 2
    return total

"""DSpERT's equations 1 to 7 and its appendices A and C (Zhu, Liu and Li 2023), one span, head and word at a time; and
the biaffine classifier (Yu, Bohnet and Poesio 2020) that it is compared with.

Weights come by name from a module's state dict, the encoder's vectors one sentence at a time and without padding. Keys
and values are projected for every span anew, as the paper has it.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple

import joint_oracle as paper
import torch
from joint_oracle import Span, Weights
from torch import Tensor

import smoothing_oracle


class Sentence(NamedTuple):
    """Words on every level, from the embeddings (H⁰) to the top (H^L), and where the pieces of each begin."""

    levels: list[list[Tensor]]
    places: list[int]

    @property
    def top(self) -> list[Tensor]:
        return self.levels[-1]


class Scored(NamedTuple):
    """z_ij and the logits of a span, None first; or those of its labels alone, where they are independent."""

    z: Tensor
    logits: Tensor


def pieces_of(tokenizer: Any, words: list[str]) -> tuple[list[int], list[int]]:
    """[CLS] text [SEP] in pieces, and where each word begins, with the end of the last."""
    pieces, bounds = [tokenizer.cls_token_id], [1]
    for word in words:
        pieces += tokenizer.convert_tokens_to_ids(tokenizer.tokenize(word))
        bounds.append(len(pieces))
    return [*pieces, tokenizer.sep_token_id], bounds


def read(transformer: Any, tokenizer: Any, words: list[str], shapes: list[Tensor] | None = None) -> Sentence:
    """The words' vectors on every level, max-pooled from their pieces'; a vector for how each is written is added."""
    pieces, bounds = pieces_of(tokenizer, words)
    with torch.no_grad():
        output = transformer(input_ids=torch.tensor([pieces]), output_hidden_states=True)
    levels = []
    for hidden in output.hidden_states:
        vectors = list(hidden[0].double())
        pooled = [paper.maximum(vectors[first:stop]) for first, stop in pairwise(bounds)]
        levels.append(pooled if shapes is None else [w + s.double() for w, s in zip(pooled, shapes, strict=True)])
    return Sentence(levels, bounds[:-1])


def below(weights: Weights, name: str) -> Weights:
    """The weights of one part of a module, by their names in it."""
    return {key.removeprefix(f"{name}."): value for key, value in weights.items() if key.startswith(f"{name}.")}


def normalized(weights: Weights, vector: Tensor, name: str, eps: float) -> Tensor:
    """Layer normalization"""
    mean = sum(vector.tolist()) / len(vector)
    variance = sum((number - mean) ** 2 for number in vector.tolist()) / len(vector)
    return (vector - mean) / math.sqrt(variance + eps) * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def gelu(vector: Tensor) -> Tensor:
    numbers = [number * 0.5 * (1 + math.erf(number / math.sqrt(2))) for number in vector.tolist()]
    return torch.tensor(numbers, dtype=vector.dtype)


def turned(vector: Tensor, place: int, heads: int) -> Tensor:
    """Rotary positions (Su et al. 2021): in each head, the k-th pair is turned by place·10000^(-2k / e)"""
    size = len(vector) // heads
    numbers = vector.tolist()
    for head in range(heads):
        for k in range(size // 2):
            at, angle = head * size + 2 * k, place * 10000 ** (-2 * k / size)
            x, y = numbers[at], numbers[at + 1]
            numbers[at] = x * math.cos(angle) - y * math.sin(angle)
            numbers[at + 1] = x * math.sin(angle) + y * math.cos(angle)
    return torch.tensor(numbers, dtype=vector.dtype)


class Block:
    """TrBlock(Q, K, V) of eqs. 1 and 3 for one query."""

    def __init__(self, weights: Weights, transformer: Any) -> None:
        self.weights, options = weights, transformer.config
        self.heads, self.eps = options.num_attention_heads, options.layer_norm_eps
        self.rotary = options.model_type == "roformer"

    def __call__(self, query: Tensor, words: list[Tensor], place: int, places: list[int]) -> Tensor:
        """A query at its place, and the words it may see at theirs; only rotary positions ask where."""
        q = self.linear(query, "attention.self.query")
        keys = [self.linear(word, "attention.self.key") for word in words]
        values = [self.linear(word, "attention.self.value") for word in words]
        if self.rotary:
            q = turned(q, place, self.heads)
            keys = [turned(key, at, self.heads) for key, at in zip(keys, places, strict=True)]
        found = self.linear(paper.multi_head(q, keys, values, self.heads), "attention.output.dense")
        attended = normalized(self.weights, found + query, "attention.output.LayerNorm", self.eps)
        inner = gelu(self.linear(attended, "intermediate.dense"))
        return normalized(self.weights, self.linear(inner, "output.dense") + attended, "output.LayerNorm", self.eps)

    def linear(self, vector: Tensor, name: str) -> Tensor:
        return paper.linear(self.weights, vector, name)


def encoder_blocks(weights: Weights, transformer: Any) -> list[Block]:
    number = transformer.config.num_hidden_layers
    return [Block(below(weights, f"encoder.transformer.encoder.layer.{layer}"), transformer) for layer in range(number)]


class DSpERT:
    def __init__(self, module: Any) -> None:
        self.weights, self.options = paper.weights_of(module), module.config
        transformer = module.encoder.transformer
        layers = transformer.config.num_hidden_layers
        self.depth = layers if self.options.depth == "all" else self.options.depth  # L̃
        self.blocks: list[Block] = []
        if self.depth and self.options.shared:
            self.blocks = encoder_blocks(self.weights, transformer)[layers - self.depth :]
        elif self.depth:
            self.blocks = [
                Block(below(self.weights, f"span_blocks.{number}"), transformer) for number in range(self.depth)
            ]

    def score(self, sentence: Sentence) -> dict[Span, Scored]:
        """All spans of up to K words."""
        spans = smoothing_oracle.possible(len(sentence.top), self.options.max_width)
        vectors = {span: self.represent(sentence, span) for span in spans}
        if self.options.lstm:
            vectors = self.along(vectors)
        return {span: self.classify(vector, span) for span, vector in vectors.items()}

    def represent(self, sentence: Sentence, span: Span) -> Tensor:
        """s_i^{L,k}"""
        inside, start = slice(*span), span[0]
        if self.depth == 0:
            return self.aggregate(sentence.top[inside])
        if span[1] - start == 1:
            return sentence.top[start]  # eq. 4
        lowest = len(sentence.levels) - 1 - self.depth  # L - L̃
        vector = self.aggregate(sentence.levels[lowest][inside])  # eq. 2
        for block, words in zip(self.blocks, sentence.levels[lowest:-1], strict=True):
            vector = block(vector, words[inside], sentence.places[start], sentence.places[inside])  # eq. 3
        return vector

    def aggregate(self, words: list[Tensor]) -> Tensor:
        """Appendix A"""
        how = self.options.aggregation
        if how == "max":
            return paper.maximum(words)
        if how == "mean":
            return paper.weighed([1 / len(words)] * len(words), words)
        seen = words if how == "multiplicative" else [torch.cat((h, self.weights["aggregate.beside"])) for h in words]
        mix, weigh = self.weights["aggregate.mix.weight"], self.weights["aggregate.weigh.weight"]
        scores = [float(weigh[0] @ torch.tanh(mix @ vector)) for vector in seen]  # uᵀ·tanh(W·h) or uᵀ·tanh(W·[h; v])
        return paper.weighed(paper.softmax(scores), words)

    def along(self, vectors: dict[Span, Tensor]) -> dict[Span, Tensor]:
        """Appendix C: a BiLSTM over the spans of each size, from the first to the last of the text."""
        weights = below(self.weights, "lstm.lstm")
        lstm = torch.nn.LSTM(weights["weight_ih_l0"].shape[1], self.options.lstm, bidirectional=True).double()
        lstm.load_state_dict(weights)
        found = {}
        for size in range(1, self.options.max_width + 1):
            line = sorted(span for span in vectors if span[1] - span[0] == size)
            if line:
                with torch.no_grad():
                    states = lstm(torch.stack([vectors[span] for span in line]))[0]
                found.update(zip(line, states, strict=True))
        return found

    def classify(self, vector: Tensor, span: Span) -> Scored:
        weights = below(self.weights, "classifier")
        z = paper.linear(weights, torch.cat((vector, paper.width(weights, span))), "reduce").clamp(min=0)  # eq. 5
        return Scored(z, paper.linear(weights, z, "classify"))  # eq. 6

    def screening(self, sentence: Sentence, span: Span) -> float:
        """Not in the paper: how likely a span is an entity, by its first word, its last and its width."""
        ends = below(self.weights, "screening.ends")
        seen = torch.cat((sentence.top[span[0]], sentence.top[span[1] - 1], paper.width(ends, span)))
        hidden = paper.linear(ends, seen, "first", "last", "width").clamp(min=0)
        return paper.sigmoid(float(paper.linear(self.weights, hidden, "screening.weigh")))


class Biaffine:
    def __init__(self, module: Any) -> None:
        self.weights, self.options = paper.weights_of(module), module.config

    def score(self, sentence: Sentence) -> dict[Span, Tensor]:
        spans = smoothing_oracle.possible(len(sentence.top), self.options.max_width)
        return {span: self.logits(sentence.top[span[0]], sentence.top[span[1] - 1]) for span in spans}

    def logits(self, first: Tensor, last: Tensor) -> Tensor:
        """h_sᵀ·U·h_e + W·[h_s; h_e] + b, class by class"""
        start = paper.linear(self.weights, first, "first.0").clamp(min=0)
        end = paper.linear(self.weights, last, "last.0").clamp(min=0)
        plain = paper.linear(self.weights, torch.cat((start, end)), "linear_first", "linear_last")
        return plain + torch.stack([start @ product @ end for product in self.weights["product"]])


def loss(sentences: list[list[tuple[Tensor, list[float], float]]]) -> float:
    """Eq. 7 over spans: their logits, what they should be, and how often each counts; the mean over sentences."""
    total = 0.0
    for spans in sentences:
        for logits, target, weight in spans:
            chances = paper.softmax(logits.tolist())
            total -= weight * sum(wanted * math.log(chance) for wanted, chance in zip(target, chances, strict=True))
    return total / len(sentences)


def binary_loss(sentences: list[list[tuple[Tensor, list[float], float]]]) -> float:
    """Not in the paper: the same where labels are independent, with what each label was given, at most all of it."""
    total = 0.0
    for spans in sentences:
        for logits, shares, weight in spans:
            for score, share in zip(logits.tolist(), shares, strict=True):
                chance, wanted = paper.sigmoid(score), min(share, 1.0)
                total -= weight * (wanted * math.log(chance) + (1 - wanted) * math.log(1 - chance))
    return total / len(sentences)

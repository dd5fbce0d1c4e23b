"""The torch side of the interface: base classes of all models, their outputs and their losses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Generic, NamedTuple, TypeVar

import torch
from torch import Tensor, nn

from spanwise.schema import Schema
from spanwise.seam.batch import Batch, LabelTexts
from spanwise.seam.config import ModelConfig
from spanwise.seam.decoder import NoRows
from spanwise.seam.encoding import Encoded, Encoder

A = TypeVar("A")
S = TypeVar("S", bound=tuple[Tensor, ...])  # scores that the decoder reads
F = TypeVar("F", bound=tuple[Tensor, ...])  # features that stage two reads
R = TypeVar("R", bound=tuple[Tensor, ...])  # rows that stage two scores
T = TypeVar("T", bound=tuple[Tensor, ...])  # scores of these rows
Tensors = tuple[Tensor, ...]


class Output(NamedTuple, Generic[S, F]):
    """Output of stage one: two named tuples, whose field names are the output names of the exported graph."""

    scores: S
    features: F


class Rescored(NamedTuple, Generic[R, T]):
    """Rows and their scores from stage two."""

    rows: R
    scores: T


class Templates(NamedTuple, Generic[A]):
    """The linear span classifier of C classes, one template (row of weights) per class: logits = z·Wᵀ + b."""

    weight: A  # [C, d]
    bias: A  # [C]


@dataclass(frozen=True, slots=True)
class Loss:
    """The weighted sum to minimize, and its named terms."""

    total: Tensor
    terms: Mapping[str, Tensor]


class Trainable(nn.Module, ABC):
    """A model, or a bundle of two."""

    encoder: Encoder

    @abstractmethod
    def training_loss(self, batch: Batch[Tensor]) -> Loss: ...

    @property
    @abstractmethod
    def pretrained(self) -> Iterable[nn.Parameter]:
        """Pretrained parameters, which train at the encoder's learning rate."""


class SpanModel(Trainable, Generic[S, F, R, T]):
    """Base class, with one subclass per paper: computes scores from a batch and a loss from scores. A decoder turns
    scores into predictions.

    Stage one (`forward`) scores words or candidate spans. Stage two (`rescore`), for models that have one, scores rows
    proposed from stage one: pairs of entities, matches of starts with ends, or selected spans.
    """

    Config: ClassVar[type[ModelConfig]]
    summary: ClassVar[str]

    def __init__(self, encoder: Encoder, config: ModelConfig, schema: Schema) -> None:
        super().__init__()
        self.encoder = encoder
        self.config = config
        self.schema = schema
        self.traits = config.traits()

    @property
    def pretrained(self) -> Iterable[nn.Parameter]:
        parameters: Iterable[nn.Parameter] = self.encoder.transformer.parameters()
        return parameters

    def initialize(self, labels: LabelTexts[Tensor]) -> None:
        """Initialize a new model from its label texts. Called once, for models that read label texts."""

    def encode_labels(self, texts: LabelTexts[Tensor]) -> Tensors:
        """Encode the texts of C labels. At inference, a runner calls this once per label set."""
        return ()

    def encode_relations(self, texts: LabelTexts[Tensor]) -> Tensors:
        """The same for the texts of R relations, for models with open relations."""
        return ()

    def forward(self, batch: Batch[Tensor], labels: Tensors | None = None) -> Output[S, F]:
        """Stage one. `labels` is the output of `encode_labels` for the batch's label texts, if already computed, then
        that of `encode_relations` if there are texts of relations.
        """
        return self.score(self.encoder(batch.words, self.traits.hidden_states), batch, labels)

    @abstractmethod
    def score(self, encoded: Encoded, batch: Batch[Tensor], labels: Tensors | None = None) -> Output[S, F]:
        """Stage one from encoded words."""

    def training_rows(self, output: Output[S, F], batch: Batch[Tensor]) -> R | None:
        """Rows that stage two is trained on; None if there are none, and for models with one stage."""
        return None

    def rescore(self, features: F, rows: R) -> T:
        """Stage two."""
        raise TypeError(f"{type(self).__name__} has one stage")

    def span_vectors(self, encoded: Encoded, batch: Batch[Tensor]) -> Tensor:
        """z of each candidate, the input of the span classifier, for models with this trait. -> [N, d]"""
        raise TypeError(f"{type(self).__name__} has no span vectors")

    def templates(self) -> Templates[Tensor]:
        """The span classifier that reads `span_vectors`, with None first unless labels are independent."""
        raise TypeError(f"{type(self).__name__} has no span vectors")

    def label_attention(self, encoded: Encoded, texts: LabelTexts[Tensor]) -> Tensor:
        """Attention of each word over the tokens of each label text, for models with this trait. -> [B, T, C, m]"""
        raise TypeError(f"{type(self).__name__} has no attention over label texts")

    @abstractmethod
    def loss(self, output: Output[S, F], second: Rescored[R, T] | None, batch: Batch[Tensor]) -> Loss: ...

    def training_loss(self, batch: Batch[Tensor], encoded: Encoded | None = None) -> Loss:
        """The loss of both stages, computed in full precision from scores of any precision."""
        output = self(batch) if encoded is None else self.score(encoded, batch)
        rows = self.training_rows(output, batch)
        second = None if rows is None else Rescored(rows, self.rescore(output.features, rows))
        with torch.autocast(batch.words.pieces.device.type, enabled=False):
            output = output._replace(scores=_full_precision(output.scores))
            second = second and second._replace(scores=_full_precision(second.scores))
            return self.loss(output, second, batch)


OneStageModel = SpanModel[S, NoRows, NoRows, NoRows]


def _full_precision(tensors: S) -> S:
    """The same named tuple with every half-precision tensor in float32."""
    full = (t.float() if t.is_floating_point() else t for t in tensors)
    return type(tensors)(*full)

"""The traditional formalization of span extraction (LEAR, section 4.2): an encoder and two linear layers that predict,
for each word and label, whether a span starts or ends there. LEAR without label knowledge ("LEAR w/o") is the same.
"""

from __future__ import annotations

from torch import Tensor, nn

from spanwise.decoding.pointers import PointerScores
from spanwise.models.pointers import PointerConfig, PointerModel
from spanwise.nn.encoder import WordEncoder
from spanwise.nn.pointers import Matcher, MatchFeatures, pointer_layer
from spanwise.schema import Schema
from spanwise.seam.batch import Batch
from spanwise.seam.encoding import Encoded
from spanwise.seam.module import Output, Tensors


class Traditional(PointerModel):
    """Starts and ends by linear layers; in nested mode, a matcher with weights per label."""

    Config = PointerConfig
    summary = "starts and ends of spans by two linear layers (LEAR w/o, section 4.2); flat or nested entities"

    def __init__(self, encoder: WordEncoder, config: PointerConfig, schema: Schema) -> None:
        super().__init__(encoder, config, schema)
        labels = len(schema.entities)
        self.dropout = nn.Dropout(config.dropout)
        self.start, self.end = (pointer_layer(encoder.dim, labels) for _ in range(2))
        self.matcher = Matcher(config.matcher, encoder.dim, labels) if config.nested else None

    def score(
        self, encoded: Encoded, batch: Batch[Tensor], labels: Tensors | None = None
    ) -> Output[PointerScores[Tensor], MatchFeatures]:
        words = self.dropout(encoded.words)
        scores = PointerScores(self.start(words), self.end(words))  # [B, T, C]
        if self.matcher is None:
            none = scores.start.new_zeros(*scores.start.shape, 0)
            return Output(scores, MatchFeatures(none, none))
        heads, tails = (self._share(layer(words)) for layer in (self.matcher.head, self.matcher.tail))
        return Output(scores, MatchFeatures(heads, tails))

    def _share(self, ends: Tensor) -> Tensor:
        """[B, T, C], or [B, T, d] for all labels -> [B, T, C, k]"""
        if self.config.matcher == "linear":
            return ends.unsqueeze(-1)
        return ends.unsqueeze(2).expand(-1, -1, len(self.schema.entities), -1)

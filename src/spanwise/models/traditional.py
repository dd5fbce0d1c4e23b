"""The traditional formalisation of span extraction (LEAR, section 4.2): an encoder and two linear layers, which say of
each word whether it starts or ends a span of each label. LEAR without label knowledge ("LEAR w/o") is the same.
"""

from __future__ import annotations

from torch import Tensor, nn

from spanwise.models.base import Abilities
from spanwise.models.pointing import Matcher, PointerConfig, PointerModel, PointerScores, pointer
from spanwise.nn.batch import Batch
from spanwise.nn.encoder import Encoded, WordEncoder
from spanwise.schema import Schema


class Traditional(PointerModel):
    """Starts and ends by linear layers; where nested, a matcher with weights per label."""

    Config = PointerConfig
    can = Abilities(nested=True)
    summary = "starts and ends of spans by two linear layers (LEAR w/o, section 4.2); flat or nested entities"
    config: PointerConfig

    def __init__(self, encoder: WordEncoder, config: PointerConfig, schema: Schema) -> None:
        super().__init__(encoder, config, schema)
        labels = len(schema.entities)
        self.dropout = nn.Dropout(config.dropout)
        self.start, self.end = (pointer(encoder.dim, labels) for _ in range(2))
        self.matcher = Matcher(config.matcher, encoder.dim, labels) if config.nested else None

    def score(self, encoded: Encoded, batch: Batch) -> PointerScores:
        words = self.dropout(encoded.words)
        start, end = self.start(words), self.end(words)  # [B, T, C]
        if self.matcher is None:
            return PointerScores(start, end, *(start.new_zeros(*start.shape, 0) for _ in range(2)))
        heads, tails = (self._share(layer(words)) for layer in (self.matcher.head, self.matcher.tail))
        return PointerScores(start, end, heads, tails)

    def _share(self, ends: Tensor) -> Tensor:
        """[B, T, C], or [B, T, d] for all labels -> [B, T, C, k]"""
        if self.config.matcher == "linear":
            return ends.unsqueeze(-1)
        return ends.unsqueeze(2).expand(-1, -1, len(self.schema.entities), -1)

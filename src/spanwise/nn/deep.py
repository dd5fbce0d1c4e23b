"""The span Transformer (DSpERT, eqs. 2 to 4): span vectors pass through the encoder's blocks, as word vectors do.

In each block, the query is the span's vector from the layer below; keys and values come from its words in that layer.
Keys and values are projected once per layer and word, not once per span. Only the attention needs padding: it packs
neighboring spans into lines, so that a line attends to few words, and masks the words outside each span. All other
steps are a few matrix products over the spans of a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from spanwise.errors import EncoderError
from spanwise.nn.blockwise import blockwise
from spanwise.nn.packing import Packing, largest

if TYPE_CHECKING:
    from transformers import PreTrainedModel
    from transformers.models.bert.modeling_bert import BertLayer

BLOCK_SIZE = 2**13  # spans that pass through the blocks together
SPANS_PER_LINE = 2**6  # largest number of spans in a line
BERT_LIKE_TYPES = frozenset(("bert", "camembert", "electra", "ernie", "roberta", "roformer", "xlm-roberta"))
RECOMPUTE_ABOVE = 2**14  # above this number of spans, training recomputes activations in the backward pass


class KeyValues(NamedTuple):
    """Keys and values of the words of one layer, per head."""

    keys: Tensor  # [B·T, h, e]
    values: Tensor  # [B·T, h, e]


class SpanLayout(NamedTuple):
    """The words that spans attend to. Spans are packed into lines; a line holds spans of one sentence."""

    packing: Packing
    words: Tensor  # [L, W]   words that the spans of a line cover, as rows of KeyValues
    inside: Tensor  # [L, 1, S, W]   true where a word is inside the span
    rotary: Tensor | None  # [L, S, e]   of the span's first word, for encoders with rotary positions

    @classmethod
    def of(cls, spans: Tensor, words: Tensor, rotary: Tensor | None) -> Self:
        """spans [N, 3], sorted by sentence and start; words [B, T, d]; rotary [B, T, e]"""
        size, length, _ = words.shape
        packing = Packing.of(spans[:, 0], size, SPANS_PER_LINE)
        start, end = packing.pad(spans[:, 1:]).unsqueeze(-1).unbind(2)  # [L, S, 1]
        first = start[:, 0]  # lowest start of each line
        place = first + torch.arange(int((end - first.unsqueeze(1)).max()), device=spans.device)  # [L, W]
        inside = (place.unsqueeze(1) >= start) & (place.unsqueeze(1) < end) | (end == 0)  # padding: no empty softmax
        line = packing.source.unsqueeze(1)
        rotary = None if rotary is None else rotary[line, start.squeeze(-1)]
        return cls(packing, line * length + place.clamp(max=length - 1), inside.unsqueeze(1), rotary)

    def attend(self, query: Tensor, memory: KeyValues, dropout: float) -> Tensor:
        """Attention of each span to its words. query [N, h, e] -> [N, h, e]"""
        padded = self.packing.pad(query).transpose(1, 2)  # [L, h, S, e]
        if self.rotary is not None:
            padded = _rotate(padded, self.rotary)
        keys, values = (self._gather(part) for part in memory)
        found = F.scaled_dot_product_attention(padded, keys, values, attn_mask=self.inside, dropout_p=dropout)
        return self.packing.pack(found.transpose(1, 2))

    def _gather(self, memory: Tensor) -> Tensor:
        """[B·T, h, e] -> [L, h, W, e]"""
        found: Tensor = memory.index_select(0, self.words.flatten()).unflatten(0, self.words.shape)
        return found.transpose(1, 2)


class GatheredLayout(NamedTuple):
    """The words that spans attend to, one line per span: what a graph uses, where the number of lines must be known."""

    words: Tensor  # [N, W]   rows of KeyValues
    inside: Tensor  # [N, W, 1]   true where a word is inside the span
    rotary: Tensor | None  # [N, 1, e]

    @classmethod
    def of(cls, spans: Tensor, words: Tensor, rotary: Tensor | None) -> Self:
        """As in `SpanLayout`; spans in any order."""
        length = words.shape[1]
        example, start, end = spans.unsqueeze(1).unbind(-1)  # [N, 1] each
        place = start + torch.arange(largest(end - start), device=spans.device)
        rotary = None if rotary is None else rotary[example, start]
        return cls(example * length + place.clamp(max=length - 1), (place < end).unsqueeze(-1), rotary)

    def attend(self, query: Tensor, memory: KeyValues, dropout: float) -> Tensor:
        query = query.unsqueeze(1)  # [N, 1, h, e]
        if self.rotary is not None:
            query = _rotate(query.transpose(1, 2), self.rotary).transpose(1, 2)
        keys, values = (part[self.words] for part in memory)  # [N, W, h, e]
        scores = (query * keys).sum(-1) / query.shape[-1] ** 0.5
        weights = scores.masked_fill(~self.inside, -torch.inf).softmax(1)
        context: Tensor = (weights.unsqueeze(-1) * values).sum(1)
        return context


def blocks_of(transformer: PreTrainedModel) -> nn.ModuleList:
    """Return the encoder's blocks if they have BERT's structure, which lets spans pass through them as words do."""
    kind = transformer.config.model_type
    if kind not in BERT_LIKE_TYPES:
        raise EncoderError(
            f"a span Transformer cannot be built over {kind!r}, whose blocks differ from BERT's; "
            f"set model.depth to 0, or choose an encoder of type {', '.join(sorted(BERT_LIKE_TYPES))}."
        )
    relative = getattr(transformer.config, "position_embedding_type", None) or "absolute"
    if relative != "absolute" or getattr(transformer.config, "rotary_value", False):
        raise EncoderError(
            f"{kind!r} with {relative} positions or rotary values is not supported by the span Transformer."
        )
    layers: nn.ModuleList = transformer.encoder.layer
    return layers


def rotary_table(transformer: PreTrainedModel, places: Tensor) -> Tensor | None:
    """Sines and cosines of rotary positions, for encoders that have them (RoFormer). places [B, T] -> [B, T, e]"""
    table = getattr(getattr(transformer, "encoder", None), "embed_positions", None)
    return None if table is None else table.weight[places]


def span_transformer(
    blocks: Sequence[BertLayer], spans: Tensor, vectors: Tensor, hidden_states: Sequence[Tensor], rotary: Tensor | None
) -> Tensor:
    """Span vectors after the last block.

    spans [N, 3]; vectors [N, d], eq. 2; hidden_states: word vectors before each block [B, T, d] -> [N, d]
    """
    exporting = torch.compiler.is_exporting()
    if not exporting and not len(spans):
        return vectors
    key_values = [_project_words(block, words, rotary) for block, words in zip(blocks, hidden_states, strict=True)]
    if exporting:
        return _pass_blocks(blocks, vectors, key_values, GatheredLayout.of(spans, hidden_states[0], rotary))
    length = hidden_states[0].shape[1]
    order = (spans[:, 0] * length + spans[:, 1]).argsort(stable=True)
    again = torch.is_grad_enabled() and len(spans) > RECOMPUTE_ABOVE
    parts = (
        (blocks, vectors.index_select(0, chosen), key_values, SpanLayout.of(spans[chosen], hidden_states[0], rotary))
        for chosen in order.split(BLOCK_SIZE)
    )
    return blockwise(_pass_blocks, parts, recompute=again).index_select(0, order.argsort())


def _pass_blocks(
    blocks: Sequence[BertLayer], vectors: Tensor, key_values: Sequence[KeyValues], layout: SpanLayout | GatheredLayout
) -> Tensor:
    for block, memory in zip(blocks, key_values, strict=True):
        vectors = span_block(block, vectors, memory, layout)
    return vectors


def span_block(block: BertLayer, spans: Tensor, memory: KeyValues, layout: SpanLayout | GatheredLayout) -> Tensor:
    """SpanTrBlock (eq. 3): the encoder's block, with spans as queries and their words as keys and values.

    spans [N, d] -> [N, d]
    """
    own = block.attention.self
    query = own.query(spans).unflatten(-1, (own.num_attention_heads, -1))  # [N, h, e]
    found = layout.attend(query, memory, own.dropout.p if block.training else 0.0).flatten(1)
    attended = block.attention.output(found, spans)
    above: Tensor = block.output(block.intermediate(attended), attended)
    return above


def _project_words(block: BertLayer, words: Tensor, rotary: Tensor | None) -> KeyValues:
    own = block.attention.self
    keys, values = (_heads(layer(words), own.num_attention_heads) for layer in (own.key, own.value))
    if rotary is not None:
        keys = _rotate(keys, rotary)
    return KeyValues(*(part.transpose(1, 2).flatten(0, 1) for part in (keys, values)))


def _heads(vectors: Tensor, heads: int) -> Tensor:
    """[L, S, d] -> [L, h, S, d / h]"""
    split: Tensor = vectors.unflatten(-1, (heads, -1))
    return split.transpose(1, 2)


def _rotate(vectors: Tensor, rotary: Tensor) -> Tensor:
    """Rotary positions (Su et al. 2021): rotate neighboring pairs of values by the angles of their position.

    vectors [L, h, S, e]; rotary [L, S, e]: sines, then cosines
    """
    sine, cosine = (half.unsqueeze(1).to(vectors.dtype) for half in rotary.chunk(2, dim=-1))
    even, odd = vectors[..., ::2], vectors[..., 1::2]
    return torch.stack((even * cosine - odd * sine, odd * cosine + even * sine), dim=-1).flatten(-2)

"""The span Transformer (DSpERT, eqs. 2 to 4): span vectors that climb beside the words', layer by layer.

A span asks with its own vector of the layer below and finds its own words' vectors there. Keys and values are projected
once per layer and word, not once per span; a mask tells a span's words from the rest of its sentence. Only the
attention stands in lines by sentence, with gaps; all else is a few matrix products over the spans of a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from spanwise.errors import EncoderError
from spanwise.nn.packing import Packing

AT_ONCE = 2**13  # spans that climb together
LIKE_BERT = frozenset(("bert", "camembert", "electra", "ernie", "roberta", "roformer", "xlm-roberta"))
KEPT = 2**14  # spans whose way up training keeps for its backward pass; beyond, they climb again


class Memory(NamedTuple):
    """What spans find in the words of a layer, by heads."""

    keys: Tensor  # [B, h, T, e]
    values: Tensor  # [B, h, T, e]


class View(NamedTuple):
    """What spans look at, the spans of a sentence in lines."""

    packing: Packing
    inside: Tensor  # [L, 1, S, T]   true where a word is the span's own
    turn: Tensor | None  # [L, S, e]   of the span's first word, where positions are rotary


def blocks_of(transformer: Any) -> nn.ModuleList:
    """The encoder's own blocks, if they are built as BERT's are: then a span can pass them as well as a word."""
    kind = transformer.config.model_type
    if kind not in LIKE_BERT:
        raise EncoderError(
            f"a span Transformer cannot be built over {kind!r}, whose blocks are not made like BERT's; "
            f"set model.depth to 0, or take an encoder that is one of {', '.join(sorted(LIKE_BERT))}."
        )
    relative = getattr(transformer.config, "position_embedding_type", None) or "absolute"
    if relative != "absolute" or getattr(transformer.config, "rotary_value", False):
        raise EncoderError(f"{kind!r} with {relative} positions or rotated values has no span Transformer yet.")
    layers: nn.ModuleList = transformer.encoder.layer
    return layers


def turns_of(transformer: Any, places: Tensor) -> Tensor | None:
    """Sines and cosines of rotary positions, for encoders that have them (RoFormer). places [B, T] -> [B, T, e]"""
    table = getattr(getattr(transformer, "encoder", None), "embed_positions", None)
    return None if table is None else table.weight[places]


def climb(
    blocks: Sequence[nn.Module], spans: Tensor, vectors: Tensor, levels: Sequence[Tensor], turns: Tensor | None
) -> Tensor:
    """The spans' vectors above the last block.

    spans [N, 3], grouped by example; vectors [N, d], eq. 2; levels: words below each block [B, T, d] -> [N, d]
    """
    memories = [_memory(block, words, turns) for block, words in zip(blocks, levels, strict=True)]
    training = torch.is_grad_enabled()
    found = []
    for at in range(0, len(spans), AT_ONCE):
        part = (blocks, spans[at : at + AT_ONCE], vectors[at : at + AT_ONCE], memories, turns)
        again = training and len(spans) > KEPT
        found.append(checkpoint(_climb, *part, use_reentrant=False) if again else _climb(*part))
    return torch.cat(found) if found else vectors


def _climb(
    blocks: Sequence[nn.Module], spans: Tensor, vectors: Tensor, memories: Sequence[Memory], turns: Tensor | None
) -> Tensor:
    packing = Packing.of(spans[:, 0])
    bounds = packing.pad(spans[:, 1:])  # [L, S, 2]
    place = torch.arange(memories[0].keys.shape[2], device=spans.device)
    inside = (place >= bounds[..., :1]) & (place < bounds[..., 1:].clamp(min=1))  # gaps look at the first word
    turn = None if turns is None else turns[packing.source].gather(1, _wide(bounds[..., 0], turns.shape[-1]))
    view = View(packing, inside.unsqueeze(1), turn)
    for block, memory in zip(blocks, memories, strict=True):
        vectors = span_block(block, vectors, memory, view)
    return vectors


def span_block(block: Any, spans: Tensor, memory: Memory, view: View) -> Tensor:
    """SpanTrBlock (eq. 3): the encoder's block, with spans for queries and their words for keys and values.

    spans [N, d] -> [N, d]
    """
    own = block.attention.self
    query = _heads(view.packing.pad(own.query(spans)), own.num_attention_heads)
    if view.turn is not None:
        query = _turned(query, view.turn)
    keys, values = (part.index_select(0, view.packing.source) for part in memory)
    drop = own.dropout.p if block.training else 0.0
    context = F.scaled_dot_product_attention(query, keys, values, attn_mask=view.inside, dropout_p=drop)
    found = view.packing.pack(context.transpose(1, 2).flatten(2))
    attended = block.attention.output(found, spans)
    above: Tensor = block.output(block.intermediate(attended), attended)
    return above


def _memory(block: Any, words: Tensor, turns: Tensor | None) -> Memory:
    own = block.attention.self
    keys, values = (_heads(layer(words), own.num_attention_heads) for layer in (own.key, own.value))
    return Memory(keys if turns is None else _turned(keys, turns), values)


def _heads(vectors: Tensor, heads: int) -> Tensor:
    """[L, S, d] -> [L, h, S, d / h]"""
    split: Tensor = vectors.unflatten(-1, (heads, -1))
    return split.transpose(1, 2)


def _turned(vectors: Tensor, turns: Tensor) -> Tensor:
    """Rotary positions (Su et al. 2021): neighbouring pairs of numbers are turned by their place's angles.

    vectors [L, h, S, e]; turns [L, S, e]: sines, then cosines
    """
    sine, cosine = (half.unsqueeze(1).to(vectors.dtype) for half in turns.chunk(2, dim=-1))
    even, odd = vectors[..., ::2], vectors[..., 1::2]
    return torch.stack((even * cosine - odd * sine, odd * cosine + even * sine), dim=-1).flatten(-2)


def _wide(places: Tensor, width: int) -> Tensor:
    return places.unsqueeze(-1).expand(-1, -1, width)

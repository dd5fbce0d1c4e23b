"""STSN (Ji et al., Boosting Span-based Joint Entity and Relation Extraction via Sequence Tagging Mechanism), sections
3.1 to 3.3 and 4.1.

Each word has three vectors: for tags, entities and relations. Stacked attention layers exchange information between
them. A tagger reads the first; the span and pair classifiers read the other two, each concatenated with an embedding of
the word's tag. Tags are BIO, extended by double tags ("B-AE/B-DRUG") for words in two entities, as they occur in the
training data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from spanwise.decoding.pairs import PairRows, PairScores
from spanwise.decoding.spans import SpanScores
from spanwise.errors import RecipeError
from spanwise.models.joint import JointConfig, JointModel
from spanwise.nn.attention import check_heads, multi_head
from spanwise.nn.classification import UNKNOWN_LOGIT, class_count
from spanwise.nn.encoder import WordEncoder
from spanwise.nn.pairs import context_maxima, max_between
from spanwise.nn.spans import BoundaryScores, WidthEmbedding, boundary_vectors
from spanwise.nn.tags import stacked_tags
from spanwise.plural import counted
from spanwise.schema import Schema
from spanwise.seam.batch import Batch
from spanwise.seam.config import Dimension
from spanwise.seam.encoding import Encoded
from spanwise.seam.module import Loss, Output, Rescored, Templates
from spanwise.seam.traits import Traits
from spanwise.text.profile import DataProfile


class STSNConfig(JointConfig):
    """The sizes of the attention layers and of the tagger's embedding, and the ablations of Tables 3 and 4."""

    layers: int = Field(4, ge=0, le=64, description="N, number of attention layers; 0 is Table 4's -AttentionLayer")
    heads: int = Field(8, gt=0, le=256, description="attention heads")
    label_embedding: bool = Field(
        True, description="tag embeddings as classifier input; off: Table 4's -LabelEmbedding"
    )
    feedback: bool = Field(True, description="entities and relations inform the labels; off: Table 4's -E&R-L-A")
    label_dim: Dimension = Field(150, description="size of the tag embedding")
    predicted_tags: float = Field(
        0.0,
        ge=0,
        le=1,
        description="share of words that embed their predicted tag in training; the paper embeds gold tags",
    )
    double_tags: tuple[tuple[str, str], ...] | Literal["auto"] = Field(
        "auto", description="tags of words in two entities; `auto`: those that occur in the training data"
    )
    width_dim: Dimension = Field(150, description="size of the width embedding")

    def traits(self) -> Traits:
        return replace(super().traits(), span_vectors=True)

    def fitted(self, profile: DataProfile) -> STSNConfig:
        fitted = super().fitted(profile)
        if self.double_tags != "auto":
            return fitted
        return fitted.model_copy(update={"double_tags": tuple(sorted(profile.tag_pairs))})

    def notices(self, profile: DataProfile) -> Iterator[str]:
        yield from super().notices(profile)
        if crowded := profile.words_in_3plus_entities:
            lost = counted(crowded, "word lies", "words lie")
            yield f"{lost} in three or more entities; the tagger uses the first two."


class AttentionUnit(nn.Module):
    """Multi-head attention and a position-wise FFN, each with a residual and layer norm (section 3.2.2)."""

    def __init__(self, dim: int, heads: int, dropout: float) -> None:
        super().__init__()
        check_heads(dim, heads)
        self.heads = heads
        self.query, self.key, self.value, self.output = (nn.Linear(dim, dim, bias=False) for _ in range(4))
        self.feed_forward = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.dropout = nn.Dropout(dropout)
        self.attended, self.fed = nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(self, query: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        """query, memory [B, T, d]; mask [B, T] -> [B, T, d]"""
        parts = (self.query(query), self.key(memory), self.value(memory))
        informed = self.output(multi_head(*parts, mask.unsqueeze(1), self.heads))  # I
        attended = self.attended(query + self.dropout(informed))
        fed: Tensor = self.fed(attended + self.dropout(self.feed_forward(attended)))
        return fed


class AttentionLayer(nn.Module):
    """E&R-L-A, L-E-A and L-R-A: labels attend to the two tasks, then each task to the labels (section 3.2.1)."""

    def __init__(self, dim: int, heads: int, dropout: float, feedback: bool) -> None:
        super().__init__()
        self.tasks = nn.Linear(2 * dim, dim) if feedback else None  # W^C
        self.labels, self.entities, self.relations = (AttentionUnit(dim, heads, dropout) for _ in range(3))

    def forward(self, labels: Tensor, entities: Tensor, relations: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        tasks = labels if self.tasks is None else self.tasks(torch.cat((entities, relations), dim=-1))  # H_C
        labels = self.labels(labels, tasks, mask)
        return labels, self.entities(entities, labels, mask), self.relations(relations, labels, mask)


class Views(NamedTuple):
    """Tag scores, and the classifier inputs [H_E; label embedding] and [H_R; label embedding]."""

    tags: Tensor  # [B, T, l]
    entities: Tensor  # [B, T, d + label_dim]
    relations: Tensor  # [B, T, d + label_dim]


class STSN(JointModel[Views]):
    """Label, entity and relation representations that inform each other."""

    Config = STSNConfig
    summary = "spans and pairs informed by a tagger through stacked attention (Ji et al.); with relations"
    config: STSNConfig
    tag_table: Tensor  # [1 + 2E, 1 + 2E]
    tag_labels: Tensor  # [l, E]

    def __init__(self, encoder: WordEncoder, config: STSNConfig, schema: Schema) -> None:
        super().__init__(encoder, config, schema)
        dim, dropout = encoder.dim, config.dropout
        types, links = class_count(len(schema.entities), config.multi_label), len(schema.relations)
        seen = dim + (config.label_dim if config.label_embedding else 0)
        self.register_buffer("tag_table", self._tag_table(), persistent=False)
        self.register_buffer("tag_labels", self._tag_labels(), persistent=False)
        tags = int(self.tag_table.max()) + 1
        self.dropout = nn.Dropout(dropout)
        self.views = nn.ModuleList(nn.Linear(dim, dim) for _ in range(3))  # H_L, H_E, H_R of layer 0
        stack = (AttentionLayer(dim, config.heads, dropout, config.feedback) for _ in range(config.layers))
        self.layers = nn.ModuleList(stack)
        self.tag = nn.Linear(dim, tags)
        self.label = nn.Embedding(tags, config.label_dim) if config.label_embedding else None
        self.widths = WidthEmbedding(config.resolved_max_width(), config.width_dim)
        self.span = BoundaryScores(seen, self.widths, types)
        self.head, self.tail = (BoundaryScores(seen, self.widths, links) for _ in range(2))
        self.context = nn.Linear(seen, links, bias=False)

    def _tag_table(self) -> Tensor:
        """Map the tags of a word's first two entities to one tag; a pair not seen in training maps to the first."""
        names = ["O", *(f"{prefix}-{name}" for name in self.schema.entity_names for prefix in "BI")]
        number = {name: index for index, name in enumerate(names)}
        table = torch.arange(len(names)).unsqueeze(1).repeat(1, len(names))
        doubles = self.config.double_tags
        if doubles == "auto":
            raise ValueError("double_tags is still 'auto': call config.fitted(profile) before building the model")
        if unknown := sorted({tag for pair in doubles for tag in pair} - number.keys()):
            raise RecipeError(
                f"model.double_tags names {', '.join(unknown)}, which do not match the labels of the schema."
            )
        for index, (first, second) in enumerate(doubles, start=len(names)):
            table[number[first], number[second]] = index
            if (second, first) not in doubles:  # entities on one span may occur in either order
                table[number[second], number[first]] = index
        return table

    def _tag_labels(self) -> Tensor:
        """The labels that each tag names."""
        labels = torch.eye(len(self.schema.entities), dtype=torch.bool)
        single = F.pad(labels.repeat_interleave(2, dim=0), (0, 0, 1, 0))  # O, then B and I of each
        named = torch.zeros(int(self.tag_table.max()) + 1, len(labels), dtype=torch.bool)
        named[self.tag_table] = single.unsqueeze(1) | single
        named[: len(single)] = single  # pairs not seen in training map to these, too
        return named

    def gold_tags(self, batch: Batch[Tensor]) -> Tensor:
        """-> [B, T]"""
        first, second = stacked_tags(batch.require_gold().entities, *batch.words.scored.shape)
        return self.tag_table[first, second]

    def features(self, encoded: Encoded, batch: Batch[Tensor]) -> Views:
        words = self.dropout(encoded.words)
        labels, entities, relations = (view(words) for view in self.views)
        for layer in self.layers:
            labels, entities, relations = layer(labels, entities, relations, batch.words.present)
        tags = self.tag(labels)
        if self.label is not None:
            beside = self.label(self._read_tags(tags, batch))
            entities, relations = (torch.cat((view, beside), dim=-1) for view in (entities, relations))
        return Views(tags, self.dropout(entities), self.dropout(relations))

    def _read_tags(self, tags: Tensor, batch: Batch[Tensor]) -> Tensor:
        """Gold tags in training, except for the share `predicted_tags`; predicted tags at inference."""
        predicted = tags.argmax(-1)
        if not self.training:
            return predicted
        gold = self.gold_tags(batch)
        if not self.config.predicted_tags:
            return gold
        return predicted.where(torch.rand(gold.shape, device=gold.device) < self.config.predicted_tags, gold)

    def score_spans(self, features: Views, spans: Tensor) -> Tensor:
        """softmax(E_s·Wˢ + bˢ) with E_s = [H'_i; H'_i+j; W_j+1], before the softmax"""
        scores: Tensor = self.span(features.entities, spans)
        return scores

    def span_vectors(self, encoded: Encoded, batch: Batch[Tensor]) -> Tensor:
        """E_s = [H'_i; H'_i+j; W_j+1]   [N, 2(d + label_dim) + width_dim]"""
        features, spans = self.features(encoded, batch), batch.proposals.spans
        return torch.cat((boundary_vectors(features.entities, spans), self.widths(spans)), dim=-1)

    def templates(self) -> Templates[Tensor]:
        parts = (self.span.first.weight, self.span.last.weight, self.span.width.weight)
        return Templates(torch.cat(parts, dim=-1), self.span.first.bias)

    def score_pairs(self, features: Views, rows: PairRows[Tensor]) -> Tensor:
        """σ(E_r·Wʳ + bʳ) with E_r = [E_s1; E_s2; C_r], before the sigmoid"""
        words = features.relations
        heads, tails = self.head(words, rows.spans), self.tail(words, rows.spans)  # [K, R]
        head, tail = rows.pairs.unbind(-1)
        context = max_between(context_maxima(words), rows.spans[head], rows.spans[tail])  # C_r   [M, d + label_dim]
        ends = heads.index_select(0, head) + tails.index_select(0, tail)
        scores: Tensor = ends + self.context(context)
        return scores

    def loss(
        self,
        output: Output[SpanScores[Tensor], Views],
        second: Rescored[PairRows[Tensor], PairScores[Tensor]] | None,
        batch: Batch[Tensor],
    ) -> Loss:
        """L = L_L + L_E + L_R"""
        scored, annotated = batch.words.scored, batch.require_gold().annotated
        unknown = (~annotated.unsqueeze(1) & self.tag_labels).any(-1)  # [B, l]
        scores = output.features.tags.float().masked_fill(unknown.unsqueeze(1), UNKNOWN_LOGIT)
        tags = F.cross_entropy(scores[scored], self.gold_tags(batch)[scored])
        terms = self.terms(output, second, batch)
        return Loss(tags + terms["spans"] + terms["pairs"], {"tags": tags, **terms})

    def pair_loss(self, logits: Tensor, relations: Tensor) -> Tensor:
        """Binary cross entropy, summed over types and averaged over pairs, as in the paper's L_R."""
        return F.binary_cross_entropy_with_logits(logits, relations, reduction="sum") / len(relations)

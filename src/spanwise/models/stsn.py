"""STSN (Ji et al., Boosting Span-based Joint Entity and Relation Extraction via Sequence Tagging Mechanism), sections
3.1 to 3.3 and 4.1.

Three views of the words, for tags, entities and relations, inform each other through stacked layers of attention; a
tagger reads the first, span and pair classifiers the others, each with an embedding of the words' tags beside it.
Tags are BIO, extended by double tags ("B-AE/B-DRUG") for words in two entities, as they occur in the training data.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from spanwise.errors import RecipeError
from spanwise.models.base import Abilities, DataFacts, Loss
from spanwise.models.joint import Ends, JointConfig, JointModel, JointScores
from spanwise.nn.attention import check_heads, multi_head
from spanwise.nn.batch import Batch
from spanwise.nn.encoder import Encoded, WordEncoder
from spanwise.nn.pairs import context_max
from spanwise.nn.pooling import Maxima
from spanwise.nn.spans import BoundaryScores, WidthEmbedding
from spanwise.nn.tags import stacked_tags
from spanwise.schema import Schema


class STSNConfig(JointConfig):
    """The sizes of the attention layers and of the tagger's embedding, and the ablations of Tables 3 and 4."""

    layers: int = Field(4, ge=0)  # N; 0 (Table 4, -AttentionLayer): the projections are read as they are
    heads: int = Field(8, gt=0)
    label_embedding: bool = True  # Table 4, -LabelEmbedding
    feedback: bool = True  # off (Table 4, -E&R-L-A): label representations attend to themselves
    label_dim: int = Field(150, gt=0)
    predicted_tags: float = Field(0.0, ge=0, le=1)  # the share of words whose predicted tag is embedded in training
    double_tags: tuple[tuple[str, str], ...] | Literal["auto"] = "auto"  # auto: those that occur in the training data
    width_dim: int = Field(150, gt=0)

    def fitted(self, data: DataFacts) -> STSNConfig:
        fitted = super().fitted(data)
        if self.double_tags != "auto":
            return fitted
        return fitted.model_copy(update={"double_tags": tuple(sorted(data.double_tags))})


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
    """E&R-L-A, L-E-A and L-R-A: tasks inform the labels, then labels the tasks (section 3.2.1)."""

    def __init__(self, dim: int, heads: int, dropout: float, feedback: bool) -> None:
        super().__init__()
        self.tasks = nn.Linear(2 * dim, dim) if feedback else None  # W^C
        self.labels, self.entities, self.relations = (AttentionUnit(dim, heads, dropout) for _ in range(3))

    def forward(self, labels: Tensor, entities: Tensor, relations: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        tasks = labels if self.tasks is None else self.tasks(torch.cat((entities, relations), dim=-1))  # H_C
        labels = self.labels(labels, tasks, mask)
        return labels, self.entities(entities, labels, mask), self.relations(relations, labels, mask)


class Seen(NamedTuple):
    """What the three decoders read: tag scores, and [H_E; label embedding] and [H_R; label embedding]."""

    tags: Tensor  # [B, T, l]
    entities: Tensor  # [B, T, d + label_dim]
    relations: Tensor  # [B, T, d + label_dim]


class STSN(JointModel):
    """Label, entity and relation representations that inform each other."""

    Config = STSNConfig
    can = Abilities(nested=True, relations=True, double_tags=True)
    summary = "spans and pairs informed by a tagger through stacked attention (Ji et al.); with relations"
    config: STSNConfig
    tag_table: Tensor

    def __init__(self, encoder: WordEncoder, config: STSNConfig, schema: Schema) -> None:
        super().__init__(encoder, config, schema)
        dim, dropout = encoder.dim, config.dropout
        types, links = 1 + len(schema.entities), len(schema.relations)
        seen = dim + (config.label_dim if config.label_embedding else 0)
        self.register_buffer("tag_table", self._tag_table(), persistent=False)
        tags = int(self.tag_table.max()) + 1
        self.dropout = nn.Dropout(dropout)
        self.views = nn.ModuleList(nn.Linear(dim, dim) for _ in range(3))  # H_L, H_E, H_R of layer 0
        stack = (AttentionLayer(dim, config.heads, dropout, config.feedback) for _ in range(config.layers))
        self.layers = nn.ModuleList(stack)
        self.tag = nn.Linear(dim, tags)
        self.label = nn.Embedding(tags, config.label_dim) if config.label_embedding else None
        self.widths = WidthEmbedding(config.settled_width(), config.width_dim)
        self.span = BoundaryScores(seen, self.widths, types)
        self.head, self.tail = (BoundaryScores(seen, self.widths, links) for _ in range(2))
        self.context = nn.Linear(seen, links, bias=False)

    def _tag_table(self) -> Tensor:
        """The tag of a word by the tags of its two first entities; a pair that training lacks falls to the first."""
        names = ["O", *(f"{prefix}-{name}" for name in self.schema.entity_names for prefix in "BI")]
        number = {name: index for index, name in enumerate(names)}
        table = torch.arange(len(names)).unsqueeze(1).repeat(1, len(names))
        doubles = self.config.double_tags
        if doubles == "auto":
            raise ValueError("double_tags is still 'auto': call config.fitted(facts) before building the model")
        if unknown := sorted({tag for pair in doubles for tag in pair} - number.keys()):
            raise RecipeError(f"model.double_tags names {', '.join(unknown)}, which the schema's labels do not give.")
        for index, (first, second) in enumerate(doubles, start=len(names)):
            table[number[first], number[second]] = index
            if (second, first) not in doubles:  # entities on one span may come in either order
                table[number[second], number[first]] = index
        return table

    def gold_tags(self, batch: Batch) -> Tensor:
        """-> [B, T]"""
        first, second = stacked_tags(batch.gold, *batch.word_mask.shape)
        return self.tag_table[first, second]

    def see(self, encoded: Encoded, batch: Batch) -> Seen:
        words = self.dropout(encoded.words)
        labels, entities, relations = (view(words) for view in self.views)
        for layer in self.layers:
            labels, entities, relations = layer(labels, entities, relations, batch.word_mask)
        tags = self.tag(labels)
        if self.label is not None:
            beside = self.label(self._read_tags(tags, batch))
            entities, relations = (torch.cat((view, beside), dim=-1) for view in (entities, relations))
        return Seen(tags, self.dropout(entities), self.dropout(relations))

    def _read_tags(self, tags: Tensor, batch: Batch) -> Tensor:
        """Gold tags in training, but for the share that is asked of the predicted ones; predicted at inference."""
        predicted = tags.argmax(-1)
        if not self.training:
            return predicted
        gold = self.gold_tags(batch)
        if not self.config.predicted_tags:
            return gold
        return predicted.where(torch.rand(gold.shape, device=gold.device) < self.config.predicted_tags, gold)

    def score_spans(self, seen: Seen, spans: Tensor) -> Tensor:
        """softmax(E_s·Wˢ + bˢ) with E_s = [H'_i; H'_i+j; W_j+1], before the softmax"""
        scores: Tensor = self.span(seen.entities, spans)
        return scores

    def see_pairs(self, seen: Seen, spans: Tensor) -> Ends:
        words = seen.relations
        return Ends(spans, self.head(words, spans), self.tail(words, spans), Maxima(words, words.shape[1]))

    def score_pairs(self, seen: Ends, pairs: Tensor) -> Tensor:
        """σ(E_r·Wʳ + bʳ) with E_r = [E_s1; E_s2; C_r], before the sigmoid"""
        head, tail = pairs.unbind(-1)
        context = context_max(seen.words, seen.spans[head], seen.spans[tail])
        ends = seen.heads.index_select(0, head) + seen.tails.index_select(0, tail)
        scores: Tensor = ends + self.context(context)
        return scores

    def loss(self, scores: JointScores, batch: Batch) -> Loss:
        """L = L_L + L_E + L_R"""
        tags = F.cross_entropy(scores.seen.tags[batch.word_mask], self.gold_tags(batch)[batch.word_mask])
        terms = self.terms(scores, batch)
        return Loss(tags + terms["spans"] + terms["pairs"], {"tags": tags, **terms})

    def pair_loss(self, scores: Tensor, labels: Tensor) -> Tensor:
        """Binary cross entropy, summed over types and averaged over pairs, as L_R is printed."""
        return F.binary_cross_entropy_with_logits(scores, labels, reduction="sum") / len(labels)

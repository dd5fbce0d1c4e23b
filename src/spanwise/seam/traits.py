"""What a configured model can do and what it needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Traits:
    """Derived once from a model's config and stored in the model folder; the only source of its abilities and needs."""

    nested: bool = False  # predictions may overlap
    multi_label: bool = False  # a span may have several labels
    relations: bool = False
    span_vectors: bool = False  # can return the vectors that its linear span classifier reads
    label_attention: bool = False  # can return the attention of words over the tokens of label texts
    tagger: bool = False  # tags words; in a bundle, alpha is the weight of its loss
    # label texts that it reads: `plain` are names in plain words, `either` descriptions and, where there is none, these
    label_texts: Literal["none", "names", "descriptions", "plain", "either"] = "none"
    independent: bool = False  # scores each span and label on its own, and so learns from overlapping gold
    labels_in_window: bool = False  # label texts share the encoder's window with the text
    open_labels: bool = False  # can predict labels that were not in the training data
    open_relations: bool = False  # reads texts of relations as well, and predicts relations that were not in this data
    max_width: int | None = None  # words of the widest entity it can predict; None: no limit
    threshold: float = 0.0  # lowest probability of an entity, unless the recipe or the call sets one
    relation_threshold: float = 0.0
    hidden_states: int | Literal["all"] = 0  # number of last encoder blocks whose inputs it also reads
    context: int = 0  # words on either side of a window that it reads but never scores
    reserved_pieces: int = 0  # word pieces of the encoder's window that it needs for its own tokens
    special_tokens: tuple[str, ...] = ()  # added to the tokenizer

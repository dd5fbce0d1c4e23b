"""What a configured model can do and what it needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Traits:
    """Made once from a model's config and stored in the model folder; every question about a model is answered here."""

    nested: bool = False  # predictions may overlap
    multi_label: bool = False  # a span may have several labels
    relations: bool = False
    tagger: bool = False  # tags words: the member of a bundle that alpha weighs
    label_texts: Literal["none", "names", "descriptions"] = "none"  # what it reads about the labels
    labels_in_window: bool = False  # label texts share the encoder's window with the text
    open_labels: bool = False  # can be asked for labels that training did not see
    max_width: int | None = None  # words of the widest entity it can predict; None: any number
    threshold: float = 0.0  # lowest probability of an entity, unless the recipe or the call gives one
    relation_threshold: float = 0.0
    hidden_states: int | Literal["all"] = 0  # number of the encoder's last blocks whose input it reads as well
    context: int = 0  # words on either side of a window that it reads but never scores
    reserved_pieces: int = 0  # word pieces of the encoder's window that it needs for its own tokens
    special_tokens: tuple[str, ...] = ()  # added to the tokenizer

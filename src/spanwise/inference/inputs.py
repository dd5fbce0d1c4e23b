"""What a caller gives: texts, words and entities, each checked and made a document."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from spanwise.document import Document, Entity
from spanwise.errors import InputError

Text = str | Document
Words = list[str] | tuple[str, ...] | list[list[str]] | list[tuple[str, ...]]  # of one text, or of several
C = TypeVar("C")


def to_documents(texts: Iterable[Text]) -> Iterator[Document]:
    """The texts as documents; one that is no text is named by its index."""
    for index, text in enumerate(texts):
        if not isinstance(text, (str, Document)):
            raise InputError(
                f"item {index}: a text is a string, not {type(text).__name__}; for a text that is already split "
                f"use words=."
            )
        yield Document(text) if isinstance(text, str) else text


def split_pairs(pairs: Iterable[tuple[Text, C]], contexts: Callable[[C], object]) -> Iterator[Text]:
    """The texts of (text, context) pairs; each context is handed over when its text is read."""
    for index, pair in enumerate(pairs):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise InputError(f"item {index}: with as_tuples=True every item is a pair (text, context).")
        contexts(pair[1])
        yield pair[0]


def from_words(words: Words) -> Document | list[Document]:
    """The document of a list of words, or the documents of a list of such lists."""
    if not isinstance(words, (list, tuple)):
        raise InputError(f"words= takes a list of words, or a list of such lists, not {type(words).__name__}.")
    several = bool(words) and isinstance(words[0], (list, tuple))
    for index, item in enumerate(words):
        if not isinstance(item, (list, tuple) if several else str):
            wanted = "lists of words, one per text" if several else "the words of one text, which are strings"
            raise InputError(f"words= takes {wanted}, but item {index} is of type {type(item).__name__}.")
    if several:
        return [_from_text_words(row, f"words= has in text {index} ") for index, row in enumerate(words)]
    return _from_text_words(words, "words= has ")


def _from_text_words(words: Sequence[object], place: str) -> Document:
    texts = [word for word in words if isinstance(word, str) and word.strip()]
    if len(texts) < len(words):
        index, odd = next((i, word) for i, word in enumerate(words) if not isinstance(word, str) or not word.strip())
        problem = "an empty word" if isinstance(odd, str) else f"an item of type {type(odd).__name__}"
        raise InputError(f"{place}{problem} at position {index}; give strings that are not empty.")
    return Document.from_words(texts)


def with_entities(text: object, entities: Sequence[Entity]) -> Document:
    """The text with entities that the caller knows."""
    if not isinstance(text, (str, Document)):
        raise InputError("entities= goes with one text, not with words= or a list; for documents use relate().")
    if odd := [entity for entity in entities if not isinstance(entity, Entity)]:
        raise InputError(f"entities= takes Entity(start, end, label) by characters of the text, not {odd[0]!r}.")
    return (Document(text) if isinstance(text, str) else text).with_annotations(entities)

"""Random documents, and a way through a file and back."""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from spanwise.document import Document, Entity, Offsets, Relation
from spanwise.formats import EVENT_TYPES, read, write

CHARACTERS = st.characters(exclude_categories=["Cs"])
ANY_TEXT = st.text(CHARACTERS, max_size=30)
WORDS = st.one_of(
    st.sampled_from(["a", "Ann", "中", "\u2028", "\u00a0", "\u0085", "e\u0301", "😀", "-"]),
    st.text(CHARACTERS, min_size=1, max_size=6),
)
LABELS = st.one_of(
    st.sampled_from(["PER", "creative-work", "地点", "A:B"]), st.text(CHARACTERS, min_size=1, max_size=6)
)
SCORES = st.one_of(st.just(1.0), st.floats(0, 1))
NO_LINE_ENDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\r\n"), min_size=1, max_size=6)


def through_file(documents: list[Document], format: str, **options: Any) -> list[Document]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "documents"
        write(documents, path, format, **options)
        return list(read(path, format))


def content(document: Document) -> tuple[Any, ...]:
    """What a document says, whatever the order of its annotations."""
    entities = [(e.start, e.end, e.label, e.head) for e in document.entities]
    relations = Counter((entities[r.head], entities[r.tail], r.label) for r in document.relations)
    return document.text, document.words, Counter(entities), relations, document.id


@st.composite
def character_documents(draw: st.DrawFn, scored: bool = True, labels: st.SearchStrategy[str] = LABELS) -> Document:
    """Any text, any spans; `scored` also with words, scores and heads."""
    text = draw(ANY_TEXT)
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=6)))
    words = tuple(Offsets(a, b) for a, b in zip(cuts[::2], cuts[1::2], strict=False))
    scores = SCORES if scored else st.just(1.0)
    entities = []
    for _ in range(draw(st.integers(0, 4)) if text else 0):
        start, end = draw(_bounds(0, len(text)))
        head = draw(st.none() | _bounds(start, end)) if scored else None
        entities.append(Entity(start, end, draw(labels), draw(scores), head))
    relations = _relations(draw, len(entities), labels, scores)
    id = draw(ANY_TEXT)
    metadata = draw(st.dictionaries(ANY_TEXT, st.one_of(st.integers(), ANY_TEXT, st.lists(st.booleans())), max_size=2))
    return Document(text, words if scored else (), tuple(entities), tuple(relations), id, metadata)


@st.composite
def word_documents(draw: st.DrawFn, words: st.SearchStrategy[str] = WORDS, empty: bool = True) -> Document:
    """Words joined by spaces, with nested entities and relations."""
    tokens = draw(st.lists(words, min_size=0 if empty else 1, max_size=8))
    spans = []
    for _ in range(draw(st.integers(0, 4)) if tokens else 0):
        spans.append((*draw(_bounds(0, len(tokens))), draw(LABELS)))
    return Document.from_words(tokens, spans, _relations(draw, len(spans), LABELS, st.just(1.0)), id=draw(ANY_TEXT))


@st.composite
def flat_documents(
    draw: st.DrawFn, words: st.SearchStrategy[str] = NO_LINE_ENDS, labels: st.SearchStrategy[str] = NO_LINE_ENDS
) -> Document:
    """Words joined by spaces, with entities that do not overlap, from left to right."""
    tokens = draw(st.lists(words, min_size=1, max_size=8))
    cuts = sorted(draw(st.sets(st.integers(0, len(tokens)), max_size=6)))
    marked = [(a, b, draw(st.one_of(st.none(), labels))) for a, b in pairwise(cuts)]
    return Document.from_words(tokens, [(a, b, label) for a, b, label in marked if label])


@st.composite
def event_documents(draw: st.DrawFn, id: str = "d#0", trigger_width: int = 3) -> Document:
    """Mentions on spans of their own with relations between them; triggers with arguments."""
    tokens = draw(st.lists(WORDS, min_size=1, max_size=8))
    bounds = _bounds(0, len(tokens))
    mentions = draw(st.lists(bounds, max_size=4, unique=True))
    spans = [(first, last, draw(st.sampled_from(["PER", "untyped"]))) for first, last in mentions]
    relations = _relations(draw, len(spans), LABELS, st.just(1.0))
    for _ in range(draw(st.integers(0, 3))):
        first, last = draw(bounds)
        spans.append((first, min(last, first + trigger_width), draw(st.sampled_from(["Attack", "Meet"]))))
        tails = draw(st.lists(st.integers(0, len(mentions) - 1), max_size=3)) if mentions else []
        relations += [Relation(len(spans) - 1, tail, draw(LABELS)) for tail in tails]
    types = sorted({label for _, _, label in spans if label in {"Attack", "Meet"}})
    return Document.from_words(tokens, spans, relations, id=id, metadata={EVENT_TYPES: types} if types else {})


@st.composite
def headed_documents(draw: st.DrawFn) -> Document:
    """Documents with events, some of whose entities mark a head region on word boundaries."""
    document = draw(event_documents())
    words = document.words
    entities = []
    for entity in document.entities:
        inside = [word for word in words if entity.start <= word.start and word.end <= entity.end]
        first, last = draw(_bounds(0, len(inside)))
        head = draw(st.none() | st.just(Offsets(inside[first].start, inside[last - 1].end)))
        entities.append(replace(entity, head=head))
    return document.with_annotations(entities, document.relations)


def _bounds(start: int, end: int) -> st.SearchStrategy[Offsets]:
    """A stretch of at least one between two borders."""
    firsts = st.integers(start, end - 1)
    return firsts.flatmap(lambda first: st.builds(Offsets, st.just(first), st.integers(first + 1, end)))


def _relations(
    draw: st.DrawFn, entities: int, labels: st.SearchStrategy[str], scores: st.SearchStrategy[float]
) -> list[Relation]:
    if not entities:
        return []
    place = st.integers(0, entities - 1)
    return draw(st.lists(st.builds(Relation, place, place, labels, scores), max_size=3))

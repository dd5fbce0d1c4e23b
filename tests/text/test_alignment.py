"""Alignment: entities on word boundaries become word spans, all others are reported."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from spanwise.document import Document, Entity, Offsets, Relation
from spanwise.text.alignment import align, ensure_words, word_spans
from spanwise.text.words import segment


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """A text with entities on any characters, so that some lie on word boundaries and some do not."""
    text = draw(st.text(alphabet="ab-'. 中👍", min_size=1, max_size=30))
    bounds = st.tuples(st.integers(0, len(text) - 1), st.integers(1, len(text))).filter(lambda b: b[0] < b[1])
    entities = [Entity(start, end, "X") for start, end in draw(st.lists(bounds, max_size=8))]
    return Document(text, words=segment(text) if draw(st.booleans()) else (), entities=tuple(entities))


@given(documents())
def test_a_span_covers_exactly_its_entity_and_only_what_cuts_a_word_is_misaligned(document: Document) -> None:
    words = ensure_words(document).words
    starts, ends = {word.start for word in words}, {word.end for word in words}
    alignment = align(document)
    assert alignment.document == ensure_words(document)
    assert len(alignment.spans) == len(document.entities)
    for entity, span in zip(document.entities, alignment.spans, strict=True):
        if span is None:
            assert entity.start not in starts or entity.end not in ends
        else:
            first, last = span
            assert first < last
            assert (words[first].start, words[last - 1].end) == (entity.start, entity.end)
    missing = [e for e, span in zip(document.entities, alignment.spans, strict=True) if span is None]
    assert list(alignment.misaligned) == missing


@given(documents(), st.data())
def test_some_entities_of_an_aligned_document_are_those_of_the_document_aligned(
    document: Document, data: st.DataObject
) -> None:
    numbers = range(len(document.entities))
    links = (
        data.draw(st.lists(st.tuples(st.sampled_from(numbers), st.sampled_from(numbers)), max_size=4))
        if numbers
        else []
    )
    document = document.with_annotations(document.entities, [Relation(head, tail, "r") for head, tail in links])
    kept = [index for index in numbers if data.draw(st.booleans())]
    assert align(document).select_entities(kept) == align(document.select_entities(kept))
    assert align(document).filter_labels(["X"]) == align(document)
    assert align(document).filter_labels([]) == align(document.select_entities([]))


@given(documents(), st.data())
def test_every_stretch_of_words_is_found_again(document: Document, data: st.DataObject) -> None:
    words = ensure_words(document).words
    if not words:
        return
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first + 1, len(words)))
    marked = document.with_annotations([Entity(words[first].start, words[last - 1].end, "X")])
    assert word_spans(marked) == [(first, last)]


def test_a_border_inside_a_word_or_a_gap_is_misaligned() -> None:
    inside, gap, good = Entity(0, 3, "A"), Entity(5, 9, "B"), Entity(6, 9, "C")
    document = Document("Hello  you", entities=(inside, gap, good), words=(Offsets(0, 5), Offsets(6, 9)))
    assert align(document).spans == (None, None, (1, 2))
    assert align(document).misaligned == (inside, gap)


def test_given_words_are_kept_and_missing_words_are_made() -> None:
    given_words = Document.from_words(["Selegiline-induced", "fall"])
    assert ensure_words(given_words) is given_words
    raw = ensure_words(Document("Selegiline-induced fall", id="7"))
    assert raw.word_texts == ["Selegiline", "-", "induced", "fall"]
    assert raw.id == "7"


def test_many_entities_in_a_long_text_are_fast() -> None:
    text = "word " * 50_000
    entities = [Entity(5 * i, 5 * i + 4, "X") for i in range(50_000)]
    document = Document(text, words=segment(text), entities=tuple(entities))
    began = time.perf_counter()
    assert None not in word_spans(document)
    assert time.perf_counter() - began < 2

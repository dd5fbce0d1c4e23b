"""The data profile, against counting by brute force."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.document import Document, Entity, Relation
from spanwise.text.alignment import align
from spanwise.text.profile import DataProfile, profile

WORDS = ["ab", "cd", "ef", "gh", "ij"]
Marked = tuple[int, int, str]


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """Five words of two letters, and entities of which some cut a word."""
    bounds = st.integers(0, 14)
    on_words = st.tuples(st.integers(0, 4), st.integers(1, 5)).filter(lambda b: b[0] < b[1])
    spans = st.one_of(
        on_words.map(lambda b: (3 * b[0], 3 * b[1] - 1)), st.tuples(bounds, bounds).filter(lambda b: b[0] < b[1])
    )
    entities = [
        Entity(start, end, label)
        for (start, end), label in draw(st.lists(st.tuples(spans, st.sampled_from("XYZ")), max_size=7))
    ]
    numbers = st.integers(0, max(0, len(entities) - 1))
    links = draw(st.lists(st.tuples(numbers, numbers), max_size=4)) if entities else []
    relations = [Relation(head, tail, "r") for head, tail in links]
    return Document.from_words(WORDS).with_annotations(entities, relations)


def words_of(document: Document, entity: Entity) -> tuple[int, int] | None:
    """The words that an entity covers, by trying all stretches."""
    words = document.words
    stretches = [(i, j) for i in range(len(words)) for j in range(i + 1, len(words) + 1)]
    return next(
        ((i, j) for i, j in stretches if (words[i].start, words[j - 1].end) == (entity.start, entity.end)), None
    )


def marked_in(document: Document) -> set[Marked]:
    spans = [(words_of(document, entity), entity.label) for entity in document.entities]
    return {(*span, label) for span, label in spans if span is not None}


def tags_of(word: int, marked: set[Marked]) -> list[str]:
    """The tags of the entities around a word; the one that starts first, or ends last, precedes."""
    around = sorted((e for e in marked if e[0] <= word < e[1]), key=lambda e: (e[0], -e[1], e[2]))
    return [f"{'B' if start == word else 'I'}-{label}" for start, _, label in around]


@given(st.lists(documents(), max_size=4))
def test_the_profile_agrees_with_brute_force(texts: list[Document]) -> None:
    marked = [marked_in(document) for document in texts]
    pairs = [pair for entities in marked for pair in combinations(sorted(entities), 2)]
    tags = [tags_of(word, entities) for entities in marked for word in range(len(WORDS))]
    found = profile(map(align, texts))
    assert found.documents == len(texts)
    assert found.words == len(texts) * len(WORDS)
    assert found.entities == sum(len(document.entities) for document in texts)
    assert found.relations == sum(len(document.relations) for document in texts)
    assert found.labels == len({entity.label for document in texts for entity in document.entities})
    assert found.widths == Counter(end - start for entities in marked for start, end, _ in entities)
    assert found.aligned_entities == sum(map(len, marked))
    assert found.nested == any(a[:2] != b[:2] and a[0] < b[1] and b[0] < a[1] for a, b in pairs)
    assert (found.nested or found.shared_entities > 0) == any(a[0] < b[1] and b[0] < a[1] for a, b in pairs)
    assert found.shared_entities == sum(any(a[:2] == b[:2] and a != b for b in own) for own in marked for a in own)
    assert found.tag_pairs == {(row[0], row[1]) for row in tags if len(row) > 1}
    assert found.words_in_3plus_entities == sum(len(row) > 2 for row in tags)


@given(st.lists(documents(), max_size=3), st.integers(0, 5))
def test_widths_beyond_a_maximum_are_counted(texts: list[Document], width: int) -> None:
    found = profile(map(align, texts))
    assert found.wider_than(width) == sum(e - s > width for document in texts for s, e, _ in marked_in(document))
    wide = 0
    for document in texts:
        spans = [words_of(document, entity) for entity in document.entities]
        widths = [0 if span is None else span[1] - span[0] for span in spans]
        wide += sum(max(widths[r.head], widths[r.tail]) > width for r in document.relations)
    assert found.relations_wider_than(width) == wide


@given(st.dictionaries(st.integers(1, 9), st.integers(1, 50), min_size=1), st.floats(0.01, 1))
def test_the_covering_width_is_the_smallest_that_covers_the_share(widths: dict[int, int], share: float) -> None:
    width = DataProfile(widths=widths).covering_width(share)
    wanted = share * sum(widths.values())
    assert sum(count for other, count in widths.items() if other <= width) >= wanted
    assert sum(count for other, count in widths.items() if other < width) < wanted


def test_without_documents_all_is_zero() -> None:
    assert profile([]) == DataProfile()
    assert DataProfile().covering_width(0.99) == 1
    assert not DataProfile().nested


def test_two_labels_on_one_span_overlap_but_are_not_nested() -> None:
    shared = profile([align(Document.from_words(WORDS, [(0, 2, "X"), (0, 2, "Y"), (3, 4, "X")]))])
    assert (shared.nested, shared.shared_entities) == (False, 2)
    assert shared.tag_pairs == {("B-X", "B-Y"), ("I-X", "I-Y")}
    nested = profile([align(Document.from_words(WORDS, [(0, 2, "X"), (1, 2, "X")]))])
    assert (nested.nested, nested.shared_entities) == (True, 0)


def test_a_relation_has_the_width_of_its_wider_argument_that_is_aligned() -> None:
    entities = [Entity(0, 5, "X"), Entity(0, 2, "X"), Entity(0, 1, "X")]  # two words, one, half of one
    links = [Relation(0, 1, "r"), Relation(1, 1, "r"), Relation(2, 0, "r"), Relation(2, 2, "r")]
    document = Document.from_words(WORDS).with_annotations(entities, links)
    assert profile([align(document)]).relation_widths == {1: 1, 2: 2}


@pytest.mark.parametrize(
    ("texts", "script"),
    [(["Ann left", "Bo came", "他走了"], "latin"), (["他走了"], "cjk"), (["12 %"], "none"), ([], "none")],
)
def test_the_script_is_that_of_most_documents(texts: list[str], script: str) -> None:
    assert profile(align(Document(text)) for text in texts).script == script

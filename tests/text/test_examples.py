"""Examples: windows of words with their pieces; every gold entity and relation in one of them or told as lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spanwise.document import Document, Entity, Relation
from spanwise.schema import EntityType, RelationType, Schema
from spanwise.text.examples import Example, ExampleBuilder, LostGold
from spanwise.text.pieces import WordPieces
from spanwise.text.shapes import SHAPES

SCHEMA = Schema(
    (EntityType("Person"), EntityType("Place")), (RelationType("lives in"), RelationType("knows", symmetric=True))
)


@pytest.fixture(scope="module")
def pieces(tiny_encoder: Path) -> WordPieces:
    from transformers import AutoTokenizer

    return WordPieces(AutoTokenizer.from_pretrained(tiny_encoder), per_word=16)


@pytest.fixture
def builder(pieces: WordPieces) -> ExampleBuilder:
    return ExampleBuilder(pieces, SCHEMA, limit=34, overlap=8)


def examples(builder: ExampleBuilder, *documents: Document, gold: bool = True) -> list[list[Example]]:
    return list(builder.build(documents, gold=gold))


def test_a_short_document_is_one_example_with_its_pieces_and_gold(builder: ExampleBuilder) -> None:
    document = Document.from_words(["Mara", "met", "Bo"], [(0, 1, "Person"), (2, 3, "Place")])
    ((example,),) = examples(builder, document)
    tokenizer = builder.pieces.tokenizer
    tokens = ["[CLS]", "mar", "##a", "met", "b", "##o", "[SEP]"]
    assert tokenizer.convert_ids_to_tokens(example.pieces.tolist()) == tokens
    assert example.counts.tolist() == [2, 1, 2]
    assert [SHAPES[shape] for shape in example.shapes] == ["title", "lower", "title"]
    assert example.gold.tolist() == [[0, 1, 0], [2, 3, 1]]
    assert example.gold_flat.tolist() == [True, True]
    assert example.length == 3


def test_a_raw_text_is_segmented_first(builder: ExampleBuilder) -> None:
    ((example,),) = examples(builder, Document("Mara's dog.", entities=(Entity(0, 4, "Person"),)))
    assert example.document.word_texts == ["Mara", "'s", "dog", "."]
    assert example.gold.tolist() == [[0, 1, 0]]


@pytest.mark.parametrize("text", ["", " ", "\n\t \u3000"])
def test_a_document_without_words_has_no_examples_but_keeps_its_place(builder: ExampleBuilder, text: str) -> None:
    other = Document.from_words(["Mara"])
    assert [len(group) for group in examples(builder, other, Document(text), other)] == [1, 0, 1]


def test_without_gold_examples_carry_none(builder: ExampleBuilder) -> None:
    document = Document("Mara x", entities=(Entity(0, 4, "Person"), Entity(0, 2, "Person")))
    ((example,),) = examples(builder, document, gold=False)
    assert example.gold.shape == (0, 3)
    assert builder.lost == LostGold()


def test_an_entity_inside_a_word_is_told_as_lost(builder: ExampleBuilder) -> None:
    document = Document("Mara met Bo", entities=(Entity(0, 2, "Person"), Entity(9, 11, "Person")))
    ((example,),) = examples(builder, document)
    assert example.gold.tolist() == [[2, 3, 0]]
    assert [(d.id, e) for d, e in builder.lost.misaligned] == [("", document.entities[0])]
    assert builder.lost.misaligned


def test_an_entity_wider_than_any_window_is_told_as_lost(builder: ExampleBuilder) -> None:
    document = Document.from_words(["word"] * 40, [(0, 39, "Place"), (3, 4, "Person")])
    groups = examples(builder, document)
    assert [entity for _, entity in builder.lost.split] == [document.entities[0]]
    assert sum(len(example.gold) for example in groups[0]) >= 1


@pytest.mark.parametrize(
    "outer", [Entity(0, 7, "Place"), Entity(0, 40 * 5 - 1, "Place")], ids=["misaligned", "too wide"]
)
def test_a_lost_entity_does_not_hide_the_one_inside_it_from_taggers(builder: ExampleBuilder, outer: Entity) -> None:
    document = Document(" ".join(["word"] * 40), entities=(outer, Entity(0, 4, "Person")))
    first = examples(builder, document)[0][0]
    assert first.gold.tolist() == [[0, 1, 0]]
    assert first.gold_flat.tolist() == [True]


def test_entities_inside_others_are_marked(builder: ExampleBuilder) -> None:
    document = Document.from_words(["Bank", "of", "Kell"], [(2, 3, "Place"), (0, 3, "Person")])
    ((example,),) = examples(builder, document)
    assert example.gold_flat.tolist() == [False, True]


@st.composite
def long_documents(draw: st.DrawFn) -> Document:
    words = draw(
        st.lists(st.sampled_from(["a", "met", "Mara", "Brenford", ".", "abcdefghijk"]), min_size=1, max_size=60)
    )
    starts = draw(st.lists(st.integers(0, len(words) - 1), max_size=10))
    widths = draw(st.lists(st.integers(1, 8), min_size=len(starts), max_size=len(starts)))
    entities = [(s, min(s + w, len(words)), "Person") for s, w in zip(starts, widths, strict=True)]
    return Document.from_words(words, entities)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(document=long_documents())
def test_every_word_and_every_entity_is_in_an_example(pieces: WordPieces, document: Document) -> None:
    builder = ExampleBuilder(pieces, SCHEMA, limit=34, overlap=8)
    (group,) = examples(builder, document)
    starts = {word.start: index for index, word in enumerate(document.words)}
    ends = {word.end: index + 1 for index, word in enumerate(document.words)}
    found: set[tuple[int, int]] = set()
    covered: set[int] = set()
    for example in group:
        shift = example.window.start
        assert len(example.pieces) <= 34
        assert example.counts.sum() == len(example.pieces) - 2
        covered |= set(range(shift, shift + example.length))
        found |= {(start + shift, end + shift) for start, end, _ in example.gold.tolist()}
    assert covered == set(range(len(document.words)))
    lost = {(starts[e.start], ends[e.end]) for _, e in builder.lost.split}
    wanted = {(starts[e.start], ends[e.end]) for e in document.entities}
    assert found | lost == wanted
    counts = [len(ids) for ids in pieces(document.word_texts)]
    assert all(sum(counts[start:end]) > 8 for start, end in lost)


def test_examples_come_one_document_at_a_time(builder: ExampleBuilder) -> None:
    """A corpus of any size is read in bounded memory."""
    read: list[int] = []

    def documents() -> Any:
        for number in range(5):
            read.append(number)
            yield Document.from_words(["Mara"], id=str(number))

    stream = builder.build(documents(), gold=False)
    next(stream)
    next(stream)
    assert read == [0, 1]


def test_no_border_of_a_training_window_cuts_an_entity(builder: ExampleBuilder) -> None:
    words = ["word"] * 40
    entities = [(start, start + 3, "Person") for start in range(0, 39, 3)]
    document = Document.from_words(words, entities)
    groups = examples(builder, document)
    assert sum(map(len, groups)) > 1
    for example in (example for group in groups for example in group):
        start, end = example.window.start, example.window.end
        assert not [e for e in entities if e[0] < start < e[1] or e[0] < end < e[1]]
        assert len(example.gold) == sum(start <= first and last <= end for first, last, _ in entities)


def test_relations_are_rows_of_gold_and_a_symmetric_one_goes_both_ways(builder: ExampleBuilder) -> None:
    document = Document.from_words(
        ["Mara", "of", "Kell", "met", "Bo"],
        [(4, 5, "Person"), (2, 3, "Place"), (0, 1, "Person")],
        [Relation(2, 1, "lives in"), Relation(0, 2, "knows")],
    )
    ((example,),) = examples(builder, document)
    assert example.gold.tolist() == [[4, 5, 0], [2, 3, 1], [0, 1, 0]]
    assert example.relations.tolist() == [[2, 1, 0], [0, 2, 1], [2, 0, 1]]
    assert builder.lost == LostGold()


def test_without_gold_there_are_no_relations(builder: ExampleBuilder) -> None:
    document = Document.from_words(["Mara", "Bo"], [(0, 1, "Person"), (1, 2, "Person")], [Relation(0, 1, "knows")])
    ((example,),) = examples(builder, document, gold=False)
    assert example.relations.shape == (0, 3)
    assert builder.lost == LostGold()


def test_a_relation_of_an_entity_that_is_lost_is_lost_with_it_and_no_other(builder: ExampleBuilder) -> None:
    entities = (Entity(0, 2, "Person"), Entity(9, 11, "Person"), Entity(0, 4, "Person"))
    relations = (Relation(0, 1, "knows"), Relation(2, 1, "lives in"))
    document = Document("Mara met Bo", entities=entities, relations=relations)
    ((example,),) = examples(builder, document)
    assert example.relations.tolist() == [[1, 0, 0]]
    assert [relation for _, relation in builder.lost.relations] == [relations[0]]


def test_a_relation_between_two_labels_of_one_span_is_told_as_lost(builder: ExampleBuilder) -> None:
    relations = (Relation(0, 1, "lives in"), Relation(0, 0, "knows"))
    document = Document.from_words(["Kell", "left"], [(0, 1, "Person"), (0, 1, "Place")], relations)
    ((example,),) = examples(builder, document)
    assert example.relations.shape == (0, 3)
    assert [relation for _, relation in builder.lost.relations] == list(relations)


def test_a_relation_across_more_than_a_window_is_told_as_lost(builder: ExampleBuilder) -> None:
    relations = (Relation(0, 2, "knows"), Relation(0, 1, "lives in"))
    document = Document.from_words(["met"] * 80, [(0, 1, "Person"), (3, 4, "Place"), (79, 80, "Person")], relations)
    (group,) = examples(builder, document)
    assert [(d, relation) for d, relation in builder.lost.relations] == [(document, relations[0])]
    assert sum(len(example.relations) for example in group) == 1


@st.composite
def linked_documents(draw: st.DrawFn) -> Document:
    document = draw(long_documents())
    ends = st.integers(0, max(len(document.entities) - 1, 0))
    drawn = draw(st.lists(st.tuples(ends, ends, st.sampled_from(["lives in", "knows"])), max_size=8))
    relations = [Relation(*row) for row in drawn] if document.entities else []
    return document.with_annotations(document.entities, relations)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(document=linked_documents())
def test_every_relation_is_in_every_window_that_has_both_ends_or_told_as_lost(
    pieces: WordPieces, document: Document
) -> None:
    builder = ExampleBuilder(pieces, SCHEMA, limit=34, overlap=8)
    (group,) = examples(builder, document)
    starts = {word.start: index for index, word in enumerate(document.words)}
    ends = {word.end: index + 1 for index, word in enumerate(document.words)}
    lost = [relation for _, relation in builder.lost.relations]
    spans = [(starts[e.start], ends[e.end]) for e in document.entities]
    wanted: list[set[tuple[tuple[int, int], tuple[int, int], int]]] = [set() for _ in group]
    for relation in document.relations:
        head, tail = spans[relation.head], spans[relation.tail]
        both = (min(head[0], tail[0]), max(head[1], tail[1]))
        holders = [i for i, e in enumerate(group) if e.window.start <= both[0] and both[1] <= e.window.end]
        assert (relation in lost) == (head == tail or not holders)
        for index in holders if head != tail else ():
            label = SCHEMA.relation_names.index(relation.label)
            wanted[index] |= {(head, tail, label), *([(tail, head, label)] if relation.label == "knows" else [])}
    for example, links in zip(group, wanted, strict=True):
        bounds = [(start + example.window.start, end + example.window.start) for start, end, _ in example.gold.tolist()]
        assert {(bounds[head], bounds[tail], label) for head, tail, label in example.relations.tolist()} == links

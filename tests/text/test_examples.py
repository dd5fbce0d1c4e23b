"""Examples: windows of words with their pieces; every gold entity and relation in one of them or reported as lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spanwise.document import Document, Entity, Relation
from spanwise.errors import AnnotationError
from spanwise.schema import EntityType, RelationType, Schema
from spanwise.text.alignment import align
from spanwise.text.examples import Example, ExampleBuilder, LostGold
from spanwise.text.pieces import WordPieces
from spanwise.text.shapes import SHAPES

SCHEMA = Schema(
    (EntityType("Person"), EntityType("Place")), (RelationType("lives in"), RelationType("knows", symmetric=True))
)


@pytest.fixture(scope="module")
def pieces(tiny_encoder: Path) -> WordPieces:
    from transformers import AutoTokenizer

    return WordPieces.of(AutoTokenizer.from_pretrained(tiny_encoder), max_per_word=16)


@pytest.fixture
def builder(pieces: WordPieces) -> ExampleBuilder:
    return ExampleBuilder(pieces, SCHEMA, limit=34, overlap=8)


def built(builder: ExampleBuilder, document: Document) -> tuple[list[Example], LostGold]:
    return builder.gold_examples(align(document))


def test_a_short_document_is_one_example_with_its_pieces_and_gold(builder: ExampleBuilder, tiny_encoder: Path) -> None:
    from transformers import AutoTokenizer

    document = Document.from_words(["Mara", "met", "Bo"], [(0, 1, "Person"), (2, 3, "Place")])
    (example,), lost = built(builder, document)
    tokenizer = AutoTokenizer.from_pretrained(tiny_encoder)
    tokens = ["[CLS]", "mar", "##a", "met", "b", "##o", "[SEP]"]
    assert tokenizer.convert_ids_to_tokens(example.pieces.tolist()) == tokens
    assert example.counts.tolist() == [2, 1, 2]
    assert [SHAPES[shape] for shape in example.shapes] == ["title", "lower", "title"]
    assert example.gold.tolist() == [[0, 1, 0], [2, 3, 1]]
    assert example.outermost.tolist() == [True, True]
    assert example.length == 3
    assert lost == LostGold()


def test_a_raw_text_is_segmented_first(builder: ExampleBuilder) -> None:
    document = Document("Mara's dog.", entities=(Entity(0, 4, "Person"),))
    (example,), _ = built(builder, document)
    (without_gold,) = builder.examples(document)
    for found in (example, without_gold):
        assert found.document.word_texts == ["Mara", "'s", "dog", "."]
    assert example.gold.tolist() == [[0, 1, 0]]


@pytest.mark.parametrize("text", ["", " ", "\n\t \u3000"])
def test_a_document_without_words_has_no_examples_and_loses_its_gold(builder: ExampleBuilder, text: str) -> None:
    entities = tuple(Entity(0, len(text), "Person") for _ in text[:1])
    document = Document(text, entities=entities)
    assert builder.examples(document) == []
    assert built(builder, document) == ([], LostGold(misaligned=tuple((document, entity) for entity in entities)))


def test_without_gold_examples_carry_none(builder: ExampleBuilder) -> None:
    document = Document("Mara x", entities=(Entity(0, 4, "Person"), Entity(0, 2, "Person")))
    (example,) = builder.examples(document)
    assert example.gold.shape == (0, 3)
    assert example.outermost.shape == (0,)


def test_an_entity_inside_a_word_is_reported_as_lost(builder: ExampleBuilder) -> None:
    document = Document("Mara met Bo", entities=(Entity(0, 2, "Person"), Entity(9, 11, "Person")))
    (example,), lost = built(builder, document)
    assert example.gold.tolist() == [[2, 3, 0]]
    assert [(d.id, e) for d, e in lost.misaligned] == [("", document.entities[0])]


def test_an_entity_wider_than_any_window_is_reported_as_lost(builder: ExampleBuilder) -> None:
    document = Document.from_words(["word"] * 40, [(0, 39, "Place"), (3, 4, "Person")])
    examples, lost = built(builder, document)
    assert [entity for _, entity in lost.split] == [document.entities[0]]
    assert sum(len(example.gold) for example in examples) >= 1


@pytest.mark.parametrize(
    "outer", [Entity(0, 7, "Place"), Entity(0, 40 * 5 - 1, "Place")], ids=["misaligned", "too wide"]
)
def test_a_lost_entity_does_not_hide_the_one_inside_it_from_taggers(builder: ExampleBuilder, outer: Entity) -> None:
    document = Document(" ".join(["word"] * 40), entities=(outer, Entity(0, 4, "Person")))
    first = built(builder, document)[0][0]
    assert first.gold.tolist() == [[0, 1, 0]]
    assert first.outermost.tolist() == [True]


def test_entities_inside_others_are_marked(builder: ExampleBuilder) -> None:
    document = Document.from_words(["Bank", "of", "Kell"], [(2, 3, "Place"), (0, 3, "Person")])
    (example,), _ = built(builder, document)
    assert example.outermost.tolist() == [False, True]


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
    group, lost_gold = built(builder, document)
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
    lost = {(starts[e.start], ends[e.end]) for _, e in lost_gold.split}
    wanted = {(starts[e.start], ends[e.end]) for e in document.entities}
    assert found | lost == wanted
    counts = [len(ids) for ids in pieces(document.word_texts)]
    assert all(sum(counts[start:end]) > 8 for start, end in lost)


def test_no_border_of_a_training_window_cuts_an_entity(builder: ExampleBuilder) -> None:
    words = ["word"] * 40
    entities = [(start, start + 3, "Person") for start in range(0, 39, 3)]
    document = Document.from_words(words, entities)
    examples, _ = built(builder, document)
    assert len(examples) > 1
    for example in examples:
        start, end = example.window.start, example.window.end
        assert not [e for e in entities if e[0] < start < e[1] or e[0] < end < e[1]]
        assert len(example.gold) == sum(start <= first and last <= end for first, last, _ in entities)


def test_relations_are_rows_of_gold_and_a_symmetric_one_goes_both_ways(builder: ExampleBuilder) -> None:
    document = Document.from_words(
        ["Mara", "of", "Kell", "met", "Bo"],
        [(4, 5, "Person"), (2, 3, "Place"), (0, 1, "Person")],
        [Relation(2, 1, "lives in"), Relation(0, 2, "knows")],
    )
    (example,), lost = built(builder, document)
    assert example.gold.tolist() == [[4, 5, 0], [2, 3, 1], [0, 1, 0]]
    assert example.relations.tolist() == [[2, 1, 0], [0, 2, 1], [2, 0, 1]]
    assert lost == LostGold()


def test_without_gold_there_are_no_relations(builder: ExampleBuilder) -> None:
    document = Document.from_words(["Mara", "Bo"], [(0, 1, "Person"), (1, 2, "Person")], [Relation(0, 1, "knows")])
    (example,) = builder.examples(document)
    assert example.relations.shape == (0, 3)


def test_a_relation_of_an_entity_that_is_lost_is_lost_with_it_and_no_other(builder: ExampleBuilder) -> None:
    entities = (Entity(0, 2, "Person"), Entity(9, 11, "Person"), Entity(0, 4, "Person"))
    relations = (Relation(0, 1, "knows"), Relation(2, 1, "lives in"))
    document = Document("Mara met Bo", entities=entities, relations=relations)
    (example,), lost = built(builder, document)
    assert example.relations.tolist() == [[1, 0, 0]]
    assert [relation for _, relation in lost.relations] == [relations[0]]


def test_a_relation_between_two_labels_of_one_span_is_reported_as_lost(builder: ExampleBuilder) -> None:
    relations = (Relation(0, 1, "lives in"), Relation(0, 0, "knows"))
    document = Document.from_words(["Kell", "left"], [(0, 1, "Person"), (0, 1, "Place")], relations)
    (example,), lost = built(builder, document)
    assert example.relations.shape == (0, 3)
    assert [relation for _, relation in lost.relations] == list(relations)


def test_a_relation_across_more_than_a_window_is_reported_as_lost(builder: ExampleBuilder) -> None:
    relations = (Relation(0, 2, "knows"), Relation(0, 1, "lives in"))
    document = Document.from_words(["met"] * 80, [(0, 1, "Person"), (3, 4, "Place"), (79, 80, "Person")], relations)
    group, lost = built(builder, document)
    assert list(lost.relations) == [(document, relations[0])]
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
def test_every_relation_is_in_every_window_that_has_both_ends_or_reported_as_lost(
    pieces: WordPieces, document: Document
) -> None:
    builder = ExampleBuilder(pieces, SCHEMA, limit=34, overlap=8)
    group, lost_gold = built(builder, document)
    starts = {word.start: index for index, word in enumerate(document.words)}
    ends = {word.end: index + 1 for index, word in enumerate(document.words)}
    lost = [relation for _, relation in lost_gold.relations]
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


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(document=long_documents(), context=st.integers(1, 70), by_sentence=st.booleans())
def test_context_is_read_around_every_window_and_never_scored(
    pieces: WordPieces, document: Document, context: int, by_sentence: bool
) -> None:
    builder = ExampleBuilder(pieces, SCHEMA, limit=34, overlap=8, context=context, by_sentence=by_sentence)
    examples, _ = built(builder, document)
    scored: set[int] = set()
    for example in examples:
        window, end = example.window, example.offset + example.length
        assert len(example.pieces) <= 34
        assert 0 <= example.offset <= window.start <= window.end <= end <= len(document.words)
        assert example.scored_words == window.end - window.start
        assert max(example.first_scored, end - window.end) <= context
        assert example.counts.tolist() == [len(ids) for ids in pieces(document.word_texts[example.offset : end])]
        for start, stop, _ in example.gold.tolist():
            assert example.first_scored <= start < stop <= example.first_scored + example.scored_words
        scored |= set(range(window.start, window.end))
    assert scored == set(range(len(document.words)))


def test_context_before_a_window_takes_at_most_half_of_the_room(pieces: WordPieces) -> None:
    """Words of one piece; a window of 32 has 16 words of its own, and as many around them."""
    document = Document.from_words(["met"] * 100)
    alone, around = (ExampleBuilder(pieces, SCHEMA, limit=34, overlap=0, context=n).examples(document) for n in (0, 50))
    assert {example.first_scored for example in alone} == {0}
    assert [example.scored_words for example in around] == [16] * 6 + [4]
    assert [example.first_scored for example in around] == [0] + [8] * 5 + [14]
    assert [example.length for example in around] == [32] * 5 + [28, 18]


def test_labels_that_a_document_was_not_annotated_for_are_unknown(builder: ExampleBuilder) -> None:
    words = ["Mara", "left"]
    known = [{}, {"annotated": ["Place"]}, {"annotated": []}, {"annotated": ["Planet", "Person"]}]
    documents = [Document.from_words(words, metadata=metadata) for metadata in known]
    rows = [builder.gold_examples(align(document))[0][0].annotated for document in documents]
    assert [row.tolist() for row in rows] == [[True, True], [False, True], [False, False], [True, False]]
    assert all(builder.examples(document)[0].annotated.all() for document in documents)


def test_windows_that_are_not_trimmed_are_those_of_prediction(builder: ExampleBuilder) -> None:
    document = Document.from_words(["word"] * 40, [(start, start + 3, "Person") for start in range(0, 39, 3)])
    windows = [example.window for example in builder.examples(document)]
    trimmed, whole = (builder.gold_examples(align(document), trim=trim)[0] for trim in (True, False))
    assert [example.window for example in whole] == windows != [example.window for example in trimmed]


def test_what_is_lost_of_several_documents_is_joined_in_order(builder: ExampleBuilder) -> None:
    documents = [
        Document("Mara met", entities=(Entity(0, 2, "Person"), Entity(5, 8, "Person")), relations=relations, id=id)
        for id, relations in (("a", (Relation(0, 1, "knows"),)), ("b", ()))
    ]
    lost = LostGold.joined(built(builder, document)[1] for document in documents)
    assert [(document.id, entity.start) for document, entity in lost.misaligned] == [("a", 0), ("b", 0)]
    assert [document.id for document, _ in lost.relations] == ["a"]
    assert lost.split == ()


@pytest.mark.parametrize(
    ("annotated", "problem"),
    [
        (["Place"], "does not list 'Person', which occurs in the document"),
        ("Person", "must be a list of labels, not 'Person'"),
    ],
)
def test_gold_that_a_document_was_not_annotated_for_is_refused(
    builder: ExampleBuilder, annotated: object, problem: str
) -> None:
    document = Document("Mara left", entities=(Entity(0, 4, "Person"),), metadata={"annotated": annotated})
    with pytest.raises(AnnotationError, match=problem):
        builder.gold_examples(align(document))
    assert len(builder.examples(document)) == 1


def test_training_windows_of_a_long_document_count_their_sentences(pieces: WordPieces) -> None:
    sentence = "Mara met Bo in Kell . "
    builder = ExampleBuilder(pieces, SCHEMA, limit=62, overlap=0)
    for number, wanted in ((1, 1), (10, 1), (40, 40)):  # up to 64 words a document may be one sentence
        examples, _ = builder.gold_examples(align(Document(sentence * number)))
        assert sum(example.sentences for example in examples) == max(wanted, len(examples))
    assert all(example.sentences == 1 for example in builder.examples(Document(sentence * 40)))

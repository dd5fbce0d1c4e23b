"""A document holds what its text can carry, and nothing else."""

from __future__ import annotations

import copy
import json
import pickle
import re
from html import unescape
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.document import Document, Entity, Offsets, Relation, _filter_overlaps, outermost, overlap
from spanwise.errors import AnnotationError
from spanwise.text.alignment import ensure_words

TEXT = "Mara met Bo."
MARA, BO = Entity(0, 4, "Person"), Entity(9, 11, "Person")


@pytest.mark.parametrize(
    ("entity", "problem"),
    [
        (Entity(4, 0, "Person"), "ends before it starts"),
        (Entity(4, 4, "Person"), "is empty"),
        (Entity(9, 13, "Person"), "lies beyond the text's 12 characters"),
        (Entity(-1, 3, "Person"), "lies beyond"),
        (Entity(0, 4, ""), "has no label"),
        (Entity(5, 11, "Person", head=Offsets(3, 8)), "has a head at characters 3 to 8, empty or not inside it"),
        (Entity(5, 11, "Person", head=Offsets(9, 12)), "has a head at characters 9 to 12, empty or not inside"),
        (Entity(5, 11, "Person", head=Offsets(9, 9)), "has a head at characters 9 to 9, empty"),
        (Entity(5, 11, "Person", head=Offsets(11, 9)), "has a head at characters 11 to 9, empty"),
    ],
)
def test_an_impossible_entity_is_refused_and_named(entity: Entity, problem: str) -> None:
    with pytest.raises(AnnotationError, match=rf"document 'd7': entity 1 .*{problem}"):
        Document(TEXT, entities=(MARA, entity), id="d7")


@pytest.mark.parametrize(("head", "tail", "side"), [(0, 2, "tail"), (-1, 0, "head"), (5, 0, "head")])
def test_a_relation_to_a_missing_entity_is_refused_and_named(head: int, tail: int, side: str) -> None:
    with pytest.raises(AnnotationError, match=rf"relation 0 \('met'\) .* as its {side}, but the document has 2"):
        Document(TEXT, entities=(MARA, BO), relations=(Relation(head, tail, "met"),))


@pytest.mark.parametrize("words", [[(0, 4), (3, 8)], [(5, 8), (0, 4)], [(0, 0)], [(0, 13)]])
def test_words_out_of_order_empty_or_beyond_the_text_are_refused(words: list[tuple[int, int]]) -> None:
    with pytest.raises(AnnotationError, match="word"):
        Document(TEXT, words=words)  # type: ignore[arg-type]


def test_a_document_slices_its_own_entities_and_words() -> None:
    document = Document(TEXT, words=[(0, 4), (5, 8), (9, 11), (11, 12)], entities=(MARA, BO))  # type: ignore[arg-type]
    assert [document.text_of(entity) for entity in document.entities] == ["Mara", "Bo"]
    assert document.word_texts == ["Mara", "met", "Bo", "."]
    assert all(type(word) is Offsets for word in document.words)


def test_words_are_joined_and_entities_given_by_word_become_characters() -> None:
    document = Document.from_words(["Mara", "met", "Bo"], [(0, 1, "Person"), (2, 3, "Person")])
    assert document.text == "Mara met Bo"
    assert document.entities == (MARA, BO)
    chinese = Document.from_words("北京大学", [(0, 2, "Place")], joiner="")
    assert (chinese.text, chinese.text_of(chinese.entities[0])) == ("北京大学", "北京")
    with pytest.raises(AnnotationError, match="covers words 2 to 4, but the text has 3 words"):
        Document.from_words(["a", "b", "c"], [(2, 4, "X")])


def test_keeping_some_entities_keeps_the_relations_between_them() -> None:
    relations = (Relation(0, 1, "met"), Relation(1, 2, "near"))
    document = Document(TEXT, entities=(MARA, Entity(5, 8, "Event"), BO), relations=relations)
    kept = document.select_entities([1, 2])
    assert [kept.text_of(entity) for entity in kept.entities] == ["met", "Bo"]
    assert kept.relations == (Relation(0, 1, "near"),)
    assert document.relations == relations


def test_of_some_labels_are_their_entities_and_the_relations_between_them() -> None:
    relations = (Relation(0, 1, "took part in"), Relation(2, 0, "met"), Relation(1, 1, "is"))
    document = Document(TEXT, entities=(MARA, Entity(5, 8, "Event"), BO), relations=relations, id="d7")
    assert document.filter_labels(["Person"]) == Document(
        TEXT, entities=(MARA, BO), relations=(Relation(1, 0, "met"),), id="d7"
    )
    assert document.filter_labels({"Event", "Place"}).relations == (Relation(0, 0, "is"),)
    assert document.filter_labels(("Event", "Person")) == document
    assert document.filter_labels([]) == Document(TEXT, id="d7")


def test_an_entity_without_a_head_is_compared_and_printed_as_if_there_were_none() -> None:
    assert Entity(0, 4, "Person") == Entity(0, 4, "Person", head=None)
    assert repr(Entity(0, 4, "Person")) == "Entity(start=0, end=4, label='Person', score=1.0)"


def test_a_head_is_part_of_what_an_entity_says() -> None:
    headed = Entity(0, 4, "Person", head=(1, 3))  # type: ignore[arg-type]
    assert headed == Entity(0, 4, "Person", head=Offsets(1, 3)) != Entity(0, 4, "Person")
    assert type(headed.head) is Offsets
    assert repr(headed) == "Entity(start=0, end=4, label='Person', score=1.0, head=(1, 3))"
    assert copy.deepcopy(headed) == pickle.loads(pickle.dumps(headed)) == headed  # noqa: S301
    assert hash(headed) == hash(Entity(0, 4, "Person", head=Offsets(1, 3)))


def test_entities_are_narrowed_to_the_heads_they_mark() -> None:
    whole = Entity(5, 11, "Person", 0.5, head=Offsets(9, 11))
    document = Document(TEXT, entities=(MARA, whole), relations=(Relation(0, 1, "met"),), id="a")
    narrowed = document.with_head_spans()
    assert narrowed == Document(
        TEXT, entities=(MARA, Entity(9, 11, "Person", 0.5)), relations=document.relations, id="a"
    )
    assert narrowed.with_head_spans() == narrowed
    assert document.entities == (MARA, whole)


def test_new_annotations_are_checked_and_predicted_ones_are_taken_as_they_are() -> None:
    document, beyond = Document(TEXT, entities=(MARA,), id="d7"), Entity(9, 13, "Person")
    with pytest.raises(AnnotationError, match=r"document 'd7': entity 1 .* lies beyond"):
        document.with_annotations([MARA, beyond])
    with pytest.raises(AnnotationError, match=r"relation 0 .* as its tail, but the document has 1"):
        document.with_annotations([MARA], [Relation(0, 1, "met")])
    assert document.with_predictions([MARA, beyond]).entities == (MARA, beyond)


def test_a_document_is_checked_when_it_is_built_and_not_again(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[str] = []
    check = Document._check
    monkeypatch.setattr(Document, "_check", lambda document: checked.append(document.id) or check(document))
    raw = Document(TEXT, entities=(MARA, BO), relations=(Relation(0, 1, "met"),), id="raw", metadata={"source": "x"})
    given_words = Document.from_words(["Mara", "met"], [(0, 1, "Person")], id="words")
    assert checked == ["raw", "words"]
    for document in (raw, given_words):
        derived = (
            ensure_words(document).filter_labels(["Person"]).with_head_spans().select_entities([0]).without_relations()
        )
        derived = derived.with_annotations([MARA]).with_predictions([MARA])
        assert (derived.text, derived.id, derived.metadata) == (document.text, document.id, document.metadata)
        assert (derived.words, derived.entities, derived.relations) == (
            ensure_words(document).words,
            (MARA,),
            (),
        )
    assert checked == ["raw", "words"]


def test_a_derived_document_is_one_that_was_built() -> None:
    document = Document(TEXT, entities=(MARA, BO), relations=(Relation(0, 1, "met"),), id="a").select_entities([0])
    built = Document(TEXT, entities=(MARA,), id="a")
    assert (document, hash(document), repr(document)) == (built, hash(built), repr(built))
    assert copy.deepcopy(document) == pickle.loads(pickle.dumps(document)) == built  # noqa: S301


def test_documents_are_equal_by_content_and_can_be_copied_and_sent_to_another_process() -> None:
    document = Document(TEXT, entities=(MARA,), id="a", metadata={"source": "x"})
    assert document == Document(TEXT, entities=(MARA,), id="a")
    assert copy.deepcopy(document) == pickle.loads(pickle.dumps(document)) == document  # noqa: S301
    assert hash(document) == hash(Document(TEXT, entities=(MARA,), id="a"))


spans = st.tuples(st.integers(0, 12), st.integers(1, 6)).map(lambda s: Entity(s[0], s[0] + s[1], "X"))


@given(st.lists(spans))
def test_of_ranked_spans_each_is_kept_that_overlaps_none_kept_before(ranked: list[Entity]) -> None:
    kept: list[Entity] = []
    for span in ranked:
        if all(span.end <= other.start or other.end <= span.start for other in kept):
            kept.append(span)
    assert _filter_overlaps(ranked) == sorted(kept, key=lambda e: e.start)


@given(st.lists(spans))
def test_entities_overlap_when_two_of_them_share_a_character(entities: list[Entity]) -> None:
    characters = [index for entity in entities for index in range(entity.start, entity.end)]
    assert overlap(entities) == (len(characters) > len(set(characters)))


def test_the_outermost_entities_win_over_those_inside_and_across_them() -> None:
    inner, outer, across = Entity(2, 4, "Place"), Entity(0, 6, "Organization"), Entity(5, 9, "Person")
    assert outermost([inner, outer, across]) == (outer,)
    assert outermost([inner, across]) == (inner, across)


FULL = Document(
    TEXT,
    words=(Offsets(0, 4), Offsets(5, 8), Offsets(9, 11), Offsets(11, 12)),
    entities=(MARA, Entity(5, 11, "Person", 0.5, head=Offsets(9, 11))),
    relations=(Relation(0, 1, "met", 0.25),),
    id="d7",
    metadata={"source": "x"},
)


@pytest.mark.parametrize("document", [FULL, Document(TEXT), Document("")], ids=["full", "text", "empty"])
def test_a_document_comes_back_from_its_dictionary_and_from_json(document: Document) -> None:
    record = document.to_dict()
    for again in (Document.from_dict(record), Document.from_dict(json.loads(json.dumps(record)))):
        assert again == document
        assert again.metadata == document.metadata


def test_a_dictionary_leaves_out_what_is_empty_or_certain() -> None:
    assert Document(TEXT, entities=(MARA,)).to_dict() == {
        "text": TEXT,
        "entities": [{"start": 0, "end": 4, "label": "Person"}],
        "relations": [],
    }
    assert FULL.to_dict()["entities"][1] == {"start": 5, "end": 11, "label": "Person", "score": 0.5, "head": [9, 11]}


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        ([], "the document is of type list; give a dictionary as `to_dict` returns it."),
        ({"text": TEXT, "label": []}, "the document has the unknown key 'label'; choose from text, words, "),
        ({"entities": []}, "the document has no 'text'; add it."),
        ({"text": 3}, "the document has a 'text' of type int; correct it."),
        ({"text": TEXT, "entities": [[0, 4, "Person"]]}, "entities[0] is of type list; "),
        ({"text": TEXT, "entities": [{"start": 0, "end": 4}]}, "entities[0] has no 'label'; add it."),
        ({"text": TEXT, "entities": [{"start": "0", "end": 4, "label": "X"}]}, "entities[0] has a 'start' of type str"),
        ({"text": TEXT, "entities": [{"start": 0, "end": True, "label": "X"}]}, "entities[0] has a 'end' of type bool"),
        (
            {"text": TEXT, "entities": [{"start": 0, "end": 4, "label": "X", "head": [1]}]},
            "the head of entities[0] is [1], but should be a start and an end; correct it.",
        ),
        ({"text": TEXT, "words": [[0, 4], "met"]}, "words[1] is 'met', but should be a start and an end; correct it."),
        (
            {"text": TEXT, "relations": [{"head": 0, "tail": 1, "kind": "met"}]},
            "relations[0] has the unknown key 'kind'",
        ),
        ({"text": TEXT, "entities": [{"start": 0, "end": 99, "label": "X"}]}, "lies beyond the text's 12 characters"),
    ],
    ids=lambda value: None if isinstance(value, str) else repr(value)[:40],
)
def test_a_dictionary_of_another_kind_is_refused(record: Any, sentence: str) -> None:
    with pytest.raises(AnnotationError, match=re.escape(sentence)):
        Document.from_dict(record)


def test_a_printed_document_lists_its_entities_and_relations() -> None:
    document = Document("Mara\nmet Bo.", entities=(Entity(0, 4, "Person", 0.987), Entity(5, 11, "Event")))
    assert str(document) == "Mara\nmet Bo.\n  Mara [Person] 0.99\n  met Bo [Event] 1.00"
    assert str(FULL).splitlines()[-1] == "  Mara —met→ met Bo 0.25"
    assert str(Document(TEXT)) == TEXT


def test_a_long_text_is_printed_by_its_beginning() -> None:
    end = Entity(5995, 5999, "Person")
    first, *rest = str(Document("x " * 3000, entities=(end,))).splitlines()
    assert (len(first), first[-1]) == (302, "…")
    assert rest == ["  x x [Person] 1.00"]


def test_a_notebook_shows_the_page_of_the_document() -> None:
    html = Document("Mara <b> met Bo.", entities=(MARA,), id='"d7"')._repr_html_()
    (page,) = re.findall('srcdoc="([^"]*)"', html)
    assert '<mark class="c0"' in unescape(page)
    assert "Mara</mark> &lt;b&gt; met Bo." in unescape(page)
    assert html.startswith("<iframe ")
    assert html.count("<") == 2  # the frame alone: the page is its attribute, and its styles stay inside it
    assert "http" not in unescape(page).replace("http-equiv", "")

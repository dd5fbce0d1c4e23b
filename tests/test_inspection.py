"""Inspection: the published counts of the nine corpora exactly, and each trap on invented sentences."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise import corpora
from spanwise.corpora import CORPORA, Corpus
from spanwise.document import Document, Entity, Relation
from spanwise.inspection import crossing, inspect, nested, shared_spans
from spanwise.schema import Schema
from spanwise.text.alignment import align
from spanwise.text.words import segment

DATA = Path(os.environ.get(corpora.DATA_VARIABLE) or Path(__file__).parents[2] / "shared" / "data").absolute()
needs_data = pytest.mark.skipif(not (DATA / "conll04").is_dir(), reason="the named corpora are not on this machine")

# documents, entities, relations, events; in the order of the splits; then how many lie inside another, in all
PUBLISHED = {
    "conll04": ((922, 231, 288), (3377, 893, 1079), (1283, 343, 422), (0, 0, 0), 0),
    "ade": ((4272,), (10839,), (6821,), (0,), 120),
    "scierc": ((1861, 275, 551), (5598, 811, 1685), (3219, 455, 974), (0, 0, 0), 88),
    "wnut17": ((3394, 1009, 1287), (1975, 836, 1079), (0, 0, 0), (0, 0, 0), 0),
    "bc5cdr": ((4560, 4581, 4797), (9385, 9593, 9809), (0, 0, 0), (0, 0, 0), 0),
    "genia": ((15023, 1669, 1854), (45164, 5371, 5511), (0, 0, 0), (0, 0, 0), 5431),
    "weibo": ((1350, 270, 270), (1895, 389, 418), (0, 0, 0), (0, 0, 0), 0),
    "resume": ((3821, 463, 477), (13440, 1497, 1630), (0, 0, 0), (0, 0, 0), 0),
    "geneva": ((1963, 783, 933), (4057, 1442, 1893), (0, 0, 0), (4057, 1442, 1893), 0),
}
SHARED_WITH_TEST = {"conll04": 18, "bc5cdr": 16, "genia": 6, "weibo": 40, "resume": 5, "geneva": 20}


@needs_data
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n in ("bc5cdr", "genia"))) for n in PUBLISHED]
)
def test_a_named_corpus_has_its_published_counts_and_its_declared_labels(name: str) -> None:
    corpus = corpora.load(name, DATA)
    found = inspect(corpus)
    rows = found.splits.values()
    counted = tuple(
        tuple(getattr(row, field) for row in rows) for field in ("documents", "entities", "relations", "events")
    )
    assert (*counted, sum(row.nested for row in rows)) == PUBLISHED[name]
    assert found.shared_with_test == SHARED_WITH_TEST.get(name, 0)
    assert not found.misaligned
    named = next(named for named in CORPORA if named.name == name)
    assert (len(corpus.schema.entities), len(corpus.schema.relations)) == (named.entity_types, named.relation_types)
    assert all(entity.description for entity in corpus.schema.entities)
    assert named.nested == any(row.nested for row in rows)


@needs_data
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n in ("bc5cdr", "genia"))) for n in PUBLISHED]
)
def test_segmenting_a_corpus_anew_keeps_its_entities_on_word_borders(name: str) -> None:
    splits = corpora.load(name, DATA).splits.values()
    anew = (replace(document, words=()) for documents in splits for document in documents)
    # in Weibo most are the first part of a user name: a mention is one word
    assert sum(len(align(document).misaligned) for document in anew) == (19 if name == "weibo" else 0)


def corpus_of(**splits: list[Document]) -> Corpus:
    documents = [document for split in splits.values() for document in split]
    return Corpus("invented", {n: tuple(d) for n, d in splits.items()}, Schema.from_documents(documents))


def test_labels_are_counted_by_split() -> None:
    train = [
        Document.from_words(["Ada", "met", "Bo"], [(0, 1, "Person"), (2, 3, "Person")], [Relation(0, 1, "met")]),
        Document.from_words(["Rome"], [(0, 1, "Place")]),
    ]
    found = inspect(corpus_of(train=train, dev=[Document.from_words(["Di"], [(0, 1, "Person")])])).to_dict()
    assert found["splits"]["train"]["entity_types"] == {"Person": 2, "Place": 1}
    assert found["splits"]["train"]["relation_types"] == {"met": 1}
    assert found["splits"]["dev"]["entity_types"] == {"Person": 1}
    assert found["splits"]["train"]["words"] == 4


def test_the_json_has_the_keys_of_its_contract() -> None:
    found = json.loads(json.dumps(inspect(corpus_of(train=[Document.from_words(["a"], [(0, 1, "X")])])).to_dict()))
    assert set(found) == {"splits", "misaligned", "width_coverage", "shared_with_test"}
    counts = {"documents", "words", "entities", "relations", "nested", "entity_types", "relation_types"}
    assert counts <= set(found["splits"]["train"])


def test_width_coverage_rises_to_one_over_train_alone() -> None:
    train = Document.from_words([*"abcde"], [(0, 1, "X"), (1, 4, "X"), (0, 3, "X"), (4, 5, "X")])
    dev = Document.from_words([*"abcde"], [(0, 5, "X")])
    assert inspect(corpus_of(train=[train], dev=[dev])).width_coverage == {"1": 0.5, "2": 0.5, "3": 1.0}
    assert inspect(corpus_of(all=[dev])).width_coverage == {"1": 0, "2": 0, "3": 0, "4": 0, "5": 1}


def test_texts_of_test_that_stand_in_train_are_counted() -> None:
    one, two, three = (Document.from_words([word]) for word in ("one", "two", "three"))
    found = inspect(corpus_of(train=[one, two, two], test=[two, three, two]))
    assert found.shared_with_test == 2
    assert found.splits["train"].duplicate_documents == 1
    assert found.splits["test"].duplicate_documents == 1


def test_annotations_given_twice_are_counted() -> None:
    entities = [(0, 1, "X"), (0, 1, "X"), (0, 1, "Y"), (1, 2, "X")]
    document = Document.from_words(
        ["a", "b"], entities, [Relation(0, 3, "r"), Relation(0, 3, "r"), Relation(3, 0, "r")]
    )
    assert inspect(corpus_of(train=[document])).splits["train"].duplicate_annotations == 2


def test_unseen_words_are_a_share_of_all_words_of_the_split() -> None:
    train, test = Document.from_words(["a", "b"]), Document.from_words(["a", "c", "c", "b"])
    found = inspect(corpus_of(train=[train], test=[test])).splits
    assert found["train"].oov_density is None
    assert found["test"].oov_density == 0.5


def test_labels_that_train_lacks_are_listed_by_split() -> None:
    train = Document.from_words(["a", "b"], [(0, 1, "X"), (1, 2, "Y")], [Relation(0, 1, "X")])
    test = Document.from_words(["a", "b"], [(0, 1, "X"), (1, 2, "Z")], [Relation(0, 1, "Y")])
    found = inspect(corpus_of(train=[train], dev=[train], test=[test])).splits
    assert {name: split.unknown_labels for name, split in found.items()} == {"train": (), "dev": (), "test": ("Y", "Z")}
    assert inspect(corpus_of(all=[test])).splits["all"].unknown_labels == ()


def test_what_does_not_fall_on_word_borders_is_listed_with_its_place() -> None:
    raw = Document("Unbreakable glass", entities=(Entity(2, 7, "Thing"), Entity(12, 17, "Thing")))
    named = Document("abc", entities=(Entity(0, 1, "X"),), id="d7")
    misaligned = inspect(corpus_of(train=[Document("x"), raw], dev=[named])).to_dict()["misaligned"]
    assert list(misaligned) == [
        {"split": "train", "document": "1", "label": "Thing", "start": 2, "end": 7, "text": "break"},
        {"split": "dev", "document": "d7", "label": "X", "start": 0, "end": 1, "text": "a"},
    ]


def test_the_same_bounds_under_two_labels_are_not_nested() -> None:
    assert nested([Entity(0, 3, "A"), Entity(0, 3, "B")]) == 0
    assert nested([Entity(0, 3, "A"), Entity(0, 3, "B"), Entity(0, 4, "C")]) == 2


def test_spans_with_several_labels_are_counted_by_split() -> None:
    entities = [(0, 2, "X"), (0, 2, "Y"), (0, 2, "Y"), (0, 2, "Z"), (0, 1, "X"), (1, 3, "X"), (1, 3, "Y"), (3, 4, "X")]
    train = [
        Document.from_words("abcd", entities),
        Document.from_words("abcd", [(0, 2, "X"), (2, 3, "X"), (2, 3, "X")]),
    ]
    found = inspect(corpus_of(train=train, dev=[Document.from_words("ab", [(0, 1, "X"), (0, 1, "Y")])])).to_dict()
    assert {name: split["shared_spans"] for name, split in found["splits"].items()} == {"train": 2, "dev": 1}


def test_a_document_is_segmented_once(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    monkeypatch.setattr("spanwise.text.alignment.segment", lambda text: texts.append(text) or segment(text))
    raw = [Document(f"Ada met {name}.", entities=(Entity(0, 3, "Person"),)) for name in ("Bo", "Cy", "Di")]
    assert inspect(corpus_of(train=raw[:2], test=raw[2:])).splits["test"].widths == {1: 1}
    assert sorted(texts) == [document.text for document in raw]


spans = st.tuples(st.integers(0, 8), st.integers(1, 4)).map(lambda s: Entity(s[0], s[0] + s[1], "X"))


@given(st.lists(spans, max_size=12))
def test_nested_and_crossing_agree_with_comparing_every_pair(entities: list[Entity]) -> None:
    def inside(a: Entity, b: Entity) -> bool:
        return b.start <= a.start and a.end <= b.end and (a.start, a.end) != (b.start, b.end)

    assert nested(entities) == sum(any(inside(a, b) for b in entities) for a in entities)
    assert crossing(entities) == sum(a.start < b.start < a.end < b.end for a in entities for b in entities)


labeled = st.tuples(st.integers(0, 3), st.integers(1, 2), st.sampled_from("AB"))


@given(st.lists(labeled.map(lambda s: Entity(s[0], s[0] + s[1], s[2])), max_size=8))
def test_shared_spans_agree_with_comparing_every_pair(entities: list[Entity]) -> None:
    def share(a: Entity, b: Entity) -> bool:
        return (a.start, a.end) == (b.start, b.end) and a.label != b.label

    assert shared_spans(entities) == len({(a.start, a.end) for a in entities for b in entities if share(a, b)})

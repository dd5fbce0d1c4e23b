"""What a format cannot hold is refused, naming the document and the fix; or it is left out and counted."""

from __future__ import annotations

import pytest

from spanwise.document import Document, Entity, Offsets, Relation
from spanwise.errors import FormatError, LossyError
from spanwise.formats import EVENT_TYPES, FORMATS, Report, read, write

NESTED = Document.from_words(
    ["the", "Bank", "of", "Halden"], [(1, 4, "ORG"), (3, 4, "LOC"), (3, 4, "TOWN")], [Relation(0, 1, "In")], id="d7"
)
HALF_WORD = Document(
    "Halden-based", ((0, 12),), (Entity(0, 6, "LOC"), Entity(0, 12, "X")), (Relation(0, 1, "R"),), "d8"
)
TRIGGER_LINK = Document.from_words(
    ["he", "left", "after", "it"], [(1, 2, "Leave"), (2, 4, "Leave")], [Relation(0, 1, "Time")],
    id="d9", metadata={EVENT_TYPES: ["Leave"]},
)  # fmt: skip
HEADED = Document.from_words(["the", "new", "president"], id="d10").with_annotations(
    [Entity(0, 17, "PER", head=Offsets(8, 17)), Entity(4, 7, "X")]
)
# WebAnno has parts of tokens
TOKEN_FORMATS = sorted(n for n, format in FORMATS.items() if format.needs_words and format.write and n != "webanno")


@pytest.mark.parametrize(
    ("document", "format", "kind"),
    [
        (NESTED, "conll", "1 x relation"),
        (NESTED.with_annotations(NESTED.entities[:2]), "conll", "1 x nested or overlapping entity"),
        (NESTED.with_annotations(NESTED.entities[1:]), "conll", "1 x second label on one span"),
        (Document("a\tb", ((0, 3),), id="t"), "conll", "1 x document left out for a word or label with a tab"),
        (Document.from_words(["a"], [(0, 1, "X ")], id="t"), "conll", "1 x document left out for a word or label"),
        (Document.from_words(["-DOCSTART-"], id="t"), "conll", "1 x document left out for a word or label"),
        (Document("", id="t"), "conll", "1 x document left out for a text without words"),
        *((HALF_WORD, format, "1 x entity not on word boundaries") for format in TOKEN_FORMATS),
        *((Document("Hi, Ann", ((0, 2), (4, 7)), id="w"), f, "1 x text outside words") for f in TOKEN_FORMATS),
        *((HEADED.select_entities([0]), f, "1 x head region") for f in ("conll", "spert", "dygie", "brat")),
        (HEADED.with_annotations([Entity(0, 17, "PER", head=Offsets(10, 17))]), "oneie", "1 x head region not on word"),
        (TRIGGER_LINK, "oneie", "1 x relation to an event trigger"),
        (TRIGGER_LINK, "dygie", "1 x event trigger of several words"),
        (
            NESTED.with_annotations(NESTED.entities[1:], [Relation(0, 1, "R")]),
            "dygie",
            "1 x relation of an entity that shares",
        ),
        (Document("ab", entities=(Entity(0, 1, "a b"),), id="s"), "brat", "1 x space in a label"),
    ],
)
def test_a_loss_is_refused_with_the_document_and_the_fix_or_counted(tmp_path, document, format, kind):
    path = tmp_path / "out"
    with pytest.raises(LossyError, match=f"out: document '{document.id}' has {kind}.*--lossy"):
        write([document], path, format)
    assert not any(tmp_path.iterdir())
    report = Report()
    write([document], path, format, lossy=True, report=report)
    count, name = kind.split(" x ")
    assert [n for kind, n in report.dropped.items() if kind.startswith(name)] == [int(count)]


@pytest.mark.parametrize("format", TOKEN_FORMATS)
def test_a_text_that_is_not_segmented_is_refused_even_with_lossy(tmp_path, format):
    with pytest.raises(LossyError, match=r"document 'raw' has no words.*segment it first"):
        write([Document("Ann Lee", id="raw")], tmp_path / "out", format, lossy=True)


def test_io_refuses_to_merge_neighbors_of_one_label(tmp_path):
    document = Document.from_words(["Ann", "Bo", "left"], [(0, 1, "PER"), (1, 2, "PER")], id="d1")
    with pytest.raises(LossyError, match="document 'd1' has 1 x border between neighbors of one label"):
        write([document], tmp_path / "x.conll", scheme="IO")
    report = Report()
    write([document], tmp_path / "x.conll", scheme="IO", lossy=True, report=report)
    assert (tmp_path / "x.conll").read_text() == "Ann\tI-PER\nBo\tI-PER\nleft\tO\n\n"
    assert report.dropped == {"border between neighbors of one label": 1, "id": 1}


def test_lossy_conll_keeps_the_outermost_entity(tmp_path):
    report = Report()
    write([NESTED], tmp_path / "x.conll", lossy=True, report=report)
    assert (tmp_path / "x.conll").read_text() == "the\tO\nBank\tB-ORG\nof\tI-ORG\nHalden\tI-ORG\n\n"
    assert report.dropped == {
        "relation": 1, "second label on one span": 1, "nested or overlapping entity": 1, "id": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("format", "dropped"), [("jsonl", {}), ("oneie", {}), ("spert", {"head region": 1}), ("dygie", {"head region": 1})]
)
def test_a_head_that_goes_leaves_its_entity_as_it_is(tmp_path, format, dropped):
    report = Report()
    write([HEADED], tmp_path / "x", format, lossy=True, report=report)
    (document,) = read(tmp_path / "x", format)
    assert [(document.text_of(e), e.label, e.head is None) for e in document.entities] == [
        ("the new president", "PER", bool(dropped)), ("new", "X", True),
    ]  # fmt: skip
    assert report.dropped == dropped


def test_an_entity_that_goes_takes_its_relations_with_it(tmp_path):
    report = Report()
    write([HALF_WORD], tmp_path / "x.json", "spert", lossy=True, report=report)
    (document,) = read(tmp_path / "x.json")
    assert (document.text_of(document.entities[0]), len(document.entities), document.relations) == (
        "Halden-based",
        1,
        (),
    )
    assert report.dropped == {"entity not on word boundaries": 1, "relation of a dropped entity": 1}


def test_scores_metadata_and_spacing_are_counted_without_lossy(tmp_path):
    document = Document("Hi,  Ann", ((0, 2), (2, 3), (5, 8)), (Entity(5, 8, "PER", 0.5),), id="d", metadata={"x": 1})
    report = Report()
    write([document], tmp_path / "x.json", "spert", report=report)
    assert report.dropped == {"score": 1, "metadata": 1, "spacing of a text": 1}


def test_a_document_that_is_left_out_is_not_counted_as_written(tmp_path):
    report = Report()
    write([NESTED, Document("")], tmp_path / "x.conll", lossy=True, report=report)
    assert report.written == 1


def test_spaces_in_labels_become_underscores_in_brat(tmp_path):
    document = Document(
        "he left", entities=(Entity(0, 2, "a person"), Entity(3, 7, "Go away")), relations=(Relation(1, 0, "by whom"),),
        metadata={EVENT_TYPES: ["Go away"]},
    )  # fmt: skip
    write([document], tmp_path / "out", "brat", lossy=True)
    (read_back,) = read(tmp_path / "out")
    assert [e.label for e in read_back.entities] == ["a_person", "Go_away"]
    assert read_back.relations == (Relation(1, 0, "by_whom"),)


def test_clusters_of_sentences_that_are_gone_are_refused(tmp_path):
    first = Document.from_words(
        ["a"], metadata={"doc_key": "k", "sentence": 0, "clusters": [[[0, 0], [5, 5]]]}, id="k#0"
    )
    with pytest.raises(LossyError, match="1 x coreference cluster of sentences that are not there"):
        write([first], tmp_path / "x", "dygie")


def test_what_json_cannot_say_is_refused_with_the_document(tmp_path):
    for value in (float("nan"), {1, 2}, object()):
        with pytest.raises(FormatError, match=r"x\.jsonl: document 'd' holds a value that JSON cannot"):
            write([Document("a", id="d", metadata={"x": value})], tmp_path / "x.jsonl")
    with pytest.raises(FormatError, match="an unpaired surrogate"):
        write([Document("a\ud800", id="d")], tmp_path / "x.jsonl")
    assert not any(tmp_path.iterdir())


def test_weibo_is_not_written(tmp_path):
    with pytest.raises(FormatError, match="can be read but not written; write 'jsonl' or 'conll' instead"):
        write([NESTED], tmp_path / "x", "conll-weibo")

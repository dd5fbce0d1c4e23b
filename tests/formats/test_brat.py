"""brat folders as annotators leave them."""

from __future__ import annotations

import pytest

from spanwise.document import Document, Entity, Relation
from spanwise.errors import FormatError
from spanwise.formats import EVENT_TYPES, Report, detect, read, write

TEXT = "Ann Lee left Halden.\nShe sued Bo.\n"
ANN = """\
T1\tPER 0 7\tAnn Lee
T2\tLOC 13 19\tHalden
T3\tLeave 8 12\tleft
T4\tSue 25 29\tsued
T5\tPER 30 32\tBo
R1\tLivesIn Arg1:T1 Arg2:T2\t
E1\tLeave:T3 Who:T1 From:T2
E2\tSue:T4 Whom:T5 Because:E1
*\tEquiv T1 T5
A1\tNegated E1
M1\tSpeculated E2
N1\tReference T1 Wikipedia:1\tAnn Lee
#1\tAnnotatorNotes T1\tsure?
"""


@pytest.fixture
def pair(tmp_path):
    def put(text: str | bytes = TEXT, ann: str | bytes = ANN, name="doc"):
        for suffix, content in ((".txt", text), (".ann", ann)):
            (tmp_path / f"{name}{suffix}").write_bytes(content.encode() if isinstance(content, str) else content)
        return tmp_path

    return put


def test_entities_relations_and_events_are_read_and_the_rest_is_counted(pair):
    report = Report()
    (document,) = read(pair(), report=report)
    assert document.id == "doc"
    assert document.text == TEXT
    assert [(document.text_of(e), e.label) for e in document.entities] == [
        ("Ann Lee", "PER"), ("Halden", "LOC"), ("left", "Leave"), ("sued", "Sue"), ("Bo", "PER"),
    ]  # fmt: skip
    assert document.relations == (
        Relation(0, 1, "LivesIn"), Relation(2, 0, "Who"), Relation(2, 1, "From"),
        Relation(3, 4, "Whom"), Relation(3, 2, "Because"),
    )  # fmt: skip
    assert document.metadata == {EVENT_TYPES: ["Leave", "Sue"]}
    assert report.dropped == {"brat equivalence": 1, "brat attribute": 2, "brat normalization": 1, "brat note": 1}


@pytest.mark.parametrize("name", ["doc.ann", "doc.txt"])
def test_one_file_stands_for_its_pair(pair, name):
    folder = pair()
    pair(name="other")
    assert [d.id for d in read(folder / name)] == ["doc"]


def test_events_are_written_as_events_again(pair, tmp_path):
    documents = list(read(pair()))
    write(documents, tmp_path / "again", "brat")
    lines = (tmp_path / "again" / "doc.ann").read_text().splitlines()
    assert lines[5:] == ["R1\tLivesIn Arg1:T1 Arg2:T2", "E1\tLeave:T3 Who:T1 From:T2", "E2\tSue:T4 Whom:T5 Because:T3"]
    assert list(read(tmp_path / "again")) == documents


@pytest.mark.parametrize("text", ["\ufeff" + TEXT, TEXT.replace("\n", "\r\n"), "\ufeff" + TEXT.replace("\n", "\r\n")])
def test_offsets_that_count_plain_text_fit_a_text_with_byte_order_mark_or_carriage_returns(pair, text):
    (document,) = read(pair(text))
    assert document.text == TEXT


def test_offsets_that_count_carriage_returns_fit_too(pair):
    (document,) = read(pair("a\r\nBo\r\n", "T1\tPER 3 5\tBo\n"))
    assert document.text_of(document.entities[0]) == "Bo"


def test_arguments_may_stand_in_either_order(pair):
    (document,) = read(pair("Bo Al", "T1\tX 0 2\tBo\nT2\tX 3 5\tAl\nR1\tR Arg2:T2 Arg1:T1\n"))
    assert document.relations == (Relation(0, 1, "R"),)


def test_a_text_without_annotations_is_read_and_reported(pair):
    folder = pair()
    (folder / "bare.txt").write_text("Nothing here.")
    report = Report()
    assert [d.id for d in read(folder, report=report)] == ["bare", "doc"]
    assert report.notes == [f"{folder.name}: 1 text has no .ann file and no annotations"]


@pytest.mark.parametrize(
    ("ann", "message"),
    [
        ("\nT1\tPER 0 3;8 12\tAnn left\n", r"bad\.ann:2: T1 is discontinuous \('PER 0 3;8 12'\)"),
        ("T1\tPER 0\tAnn\n", r"bad\.ann:1: T1 is 'PER 0', but should be a type, a start and an end"),
        ("T1\tPER 0 3\tBob\n", r"bad\.ann: T1 says 'Bob', but the text at its offsets differs"),
        ("T1\tPER 0 999\t\n", r"bad\.ann: document 'bad': entity 0 .* lies beyond the text"),
        ("T1\tPER 0 3\tAnn\nT1\tPER 0 3\tAnn\n", r"bad\.ann:2: the id 'T1' is given twice"),
        ("R1\tX Arg1:T1 Arg2:T2\n", r"bad\.ann:1: 'X' joins \['T1', 'T2'\], which does not exist"),
        ("R1\tX Arg1:T1\n", r"bad\.ann:1: R1 should be a type and two arguments"),
        ("R1\t\n", r"bad\.ann:1: R1 should be a type and two arguments"),
        ("R1\tX T1 T2\n", r"bad\.ann:1: the argument 'T1' should be a role and an id"),
        ("E1\t\n", r"bad\.ann:1: E1 has no trigger"),
        ("E1\tX:T1\n", r"bad\.ann:1: the trigger 'T1' of E1 does not exist"),
        (
            "E1\tSue:T1\nT1\tLeave 8 12\tleft\n",
            r"bad\.ann:1: E1 is of type 'Sue', but its trigger T1 is of type 'Leave'",
        ),
        ("Hello\n", r"bad\.ann:1: the annotation 'Hello' is not a brat annotation"),
        (b"T1\tPER 0 3\tcaf\xe9\n", r"bad\.ann:1: byte 0xe9 is not UTF-8"),
    ],
)
def test_a_bad_document_is_named_and_can_be_skipped(pair, ann, message):
    folder = pair()
    pair(ann=ann, name="bad")
    with pytest.raises(FormatError, match=message):
        list(read(folder))
    report = Report()
    assert [d.id for d in read(folder, skip_bad=True, report=report)] == ["doc"]
    assert report.bad == 1


def test_two_events_on_one_trigger_keep_their_arguments_apart(pair, tmp_path):
    ann = "T1\tPER 0 7\tAnn Lee\nT2\tLOC 13 19\tHalden\nT3\tLeave 8 12\tleft\n"
    report = Report()
    (document,) = read(pair(ann=f"{ann}E1\tLeave:T3 Who:T1\nE2\tLeave:T3 From:T2 After:E1\n"), report=report)
    left = Entity(8, 12, "Leave")
    assert document.entities[2:] == (left, left)
    assert document.relations == (Relation(2, 0, "Who"), Relation(3, 1, "From"), Relation(3, 2, "After"))
    assert report.notes == [
        f"{tmp_path.name}: 1 event shares its trigger with another event; each event keeps its own copy of the trigger"
    ]
    write([document], tmp_path / "again", "brat")
    assert "E1\tLeave:T3 Who:T1\nE2\tLeave:T4 From:T2 After:T3\n" in (tmp_path / "again" / "doc.ann").read_text()


def test_subfolders_are_read_with_their_path_in_the_id(pair, tmp_path):
    (tmp_path / "1999" / "may").mkdir(parents=True)
    pair(name="1999/may/b")
    pair(name="1999/c")
    report = Report()
    documents = list(read(tmp_path, report=report))
    assert [(document.id, len(document.entities)) for document in documents] == [("1999/c", 5), ("1999/may/b", 5)]
    write(documents, tmp_path / "again", "brat")
    assert sorted(d.id for d in read(tmp_path / "again")) == ["1999/c", "1999/may/b"]


@pytest.mark.parametrize("names", [("doc.TXT", "doc.ANN"), ("doc.txt", "doc.ANN"), ("doc.TXT", "doc.Ann")])
def test_suffixes_in_upper_case_are_read_alike(tmp_path, names):
    for name, content in zip(names, (TEXT, ANN), strict=True):
        (tmp_path / name).write_text(content)
    for path in (tmp_path, *(tmp_path / name for name in names)):
        assert detect(path) == "brat"
        assert [(document.id, len(document.entities)) for document in read(path)] == [("doc", 5)]


def test_names_that_differ_only_in_case_are_refused(pair):
    folder = pair()
    (folder / "doc.ANN").write_text("")
    with pytest.raises(FormatError, match=r"doc\.ANN and doc\.ann differ only in their case; keep one"):
        list(read(folder))


def test_a_text_that_is_not_utf8_is_named_with_its_line(pair):
    with pytest.raises(FormatError, match=r"doc\.txt:2: byte 0xe9 is not UTF-8"):
        list(read(pair(b"a\ncaf\xe9", "")))


def test_annotations_without_a_text_are_reported(tmp_path):
    (tmp_path / "x.ann").write_text("T1\tPER 0 3\tAnn\n")
    for path in (tmp_path, tmp_path / "x.ann"):
        with pytest.raises(FormatError, match=r"x\.ann: x\.txt is missing beside it"):
            list(read(path))


def test_ids_become_safe_file_names_and_come_back(tmp_path):
    ids = ["a/b", "../up", ".hidden", "50%", "年", "a b", "x.txt"]
    write([Document("a", id=id) for id in ids], tmp_path / "out", "brat")
    assert len(list((tmp_path / "out").iterdir())) == 2 * len(ids)
    assert sorted(d.id for d in read(tmp_path / "out")) == sorted(ids)


def test_documents_without_id_or_with_the_same_one_all_get_files(tmp_path):
    documents = [Document("a"), Document("b", id="x"), Document("c", id="x"), Document("d", id="y" * 500)]
    write(documents, tmp_path / "out", "brat")
    assert [d.text for d in read(tmp_path / "out")] == ["a", "d", "c", "b"]


@pytest.mark.parametrize("ids", [["a-3", "a", "a"], ["document-000002", ""], ["a", "a-2", "a-3", "a", "a", "a-4"]])
def test_ids_that_look_like_the_numbered_names_of_others_overwrite_nothing(tmp_path, ids):
    report = Report()
    write([Document(f"text {place}", id=id) for place, id in enumerate(ids)], tmp_path / "out", "brat", report=report)
    assert sorted(d.text for d in read(tmp_path / "out")) == [f"text {place}" for place in range(len(ids))]
    assert report.written == len(ids)


def test_an_entity_over_a_line_end_is_written_on_one_line(tmp_path):
    document = Document("New\nYork", entities=(Entity(0, 8, "LOC"),), id="x")
    write([document], tmp_path / "out", "brat")
    assert (tmp_path / "out" / "x.ann").read_text() == "T1\tLOC 0 8\tNew York\n"
    assert list(read(tmp_path / "out")) == [document]

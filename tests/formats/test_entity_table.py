"""CSV with a row per entity: spanwise's own table, and those that people make."""

from __future__ import annotations

import pytest

from spanwise.document import Document, Entity, Relation
from spanwise.errors import FormatError
from spanwise.formats import Report, detect, read, write

DOCUMENT = Document(
    'Ann left, =Halden\r\n"now" .',
    entities=(Entity(0, 3, "PER", 0.5), Entity(10, 24, "LOC")),
    relations=(Relation(1, 0, "seen by", 0.25),),
    id="a",
)


def save(path, *rows):
    path.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    return path


def test_the_table_that_is_written_is_read(tmp_path):
    documents = [DOCUMENT, Document("Nothing .", id="b"), Document("")]
    write(documents, tmp_path / "x.csv")
    assert detect(tmp_path / "x.csv") == "csv"
    assert list(read(tmp_path / "x.csv")) == documents


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_columns_of_any_names_and_separators(tmp_path, separator):
    rows = [
        "doc_id,sentence,begin,end,entity_type,mention,annotated_on",
        "1,Ann saw 😀 Bo,0,3,PER,Ann,May",
        "1,Ann saw 😀 Bo,11,13,PER,Bo,May",
        "2,Ann saw 😀 Bo,0.0,3.0,PER,,",
        "3,nobody,,,,,",
    ]
    report = Report()
    path = save(tmp_path / "x.txt", *(row.replace(",", separator) for row in rows))
    documents = list(read(path, report=report))
    assert detect(path) == "csv"
    assert [(d.id, [d.text_of(e) for e in d.entities]) for d in documents] == [
        ("1", ["Ann", "Bo"]),
        ("2", ["Ann"]),
        ("3", []),
    ]
    assert report.repaired == {"document with offsets in UTF-16 units": 1}
    assert report.dropped == {"column 'annotated_on'": 1}


def test_rows_of_one_text_are_one_document_without_ids(tmp_path):
    path = save(tmp_path / "x.csv", "id,text,start,end,label", "1,Ann saw Bo,0,3,PER", "2,Ann saw Bo,8,10,PER")
    (document,) = read(path)
    assert (document.id, len(document.entities)) == ("1", 2)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("Bo left,0,9,PER", "does not lie in the text of 7 characters"),
        ("Bo left,0,two,PER", "'end' is 'two', but should be a whole number"),
        ("Bo left,0,,PER", "only one of 'start' and 'end'"),
        ("Bo left,0,2,", "'label' is empty"),
        ("Bo left,0,2", "the row has 3 cells, but the header 4"),
        ("Bo left,0,2,PER\nAnn,0,3,PER", "the rows of 'Ann' do not stand together"),
    ],
)
def test_a_bad_row_is_named_with_its_line(tmp_path, row, message):
    path = save(tmp_path / "x.csv", "text,start,end,label", "Ann,0,3,PER", row)
    line = 4 if "\n" in row else 3
    with pytest.raises(FormatError, match=rf"x\.csv:{line}: .*{message}"):
        list(read(path))


def test_a_flat_table_without_texts_is_refused(tmp_path):
    write([DOCUMENT], tmp_path / "x.csv")
    header, _, rest = (tmp_path / "x.csv").read_bytes().partition(b"\n")
    _, _, entities = rest.partition(b'.",')
    (tmp_path / "y.csv").write_bytes(header + b"\n" + entities.partition(b"\n")[2])
    with pytest.raises(FormatError, match="without the row of the kind 'document' that holds its text"):
        list(read(tmp_path / "y.csv"))


def test_a_long_text_is_one_cell(tmp_path):
    document = Document("word " * 100_000, entities=(Entity(499_990, 499_994, "X"),))
    write([document], tmp_path / "x.csv")
    (back,) = read(tmp_path / "x.csv")
    assert back.entities == (Entity(499_990, 499_994, "X"),)

"""doccano's JSON lines, of both kinds of projects."""

from __future__ import annotations

import json

import pytest

from spanwise.document import Document, Entity, Relation
from spanwise.errors import FormatError
from spanwise.formats import Report, detect, read, write

TEXT = "Mara Ostrow joined Velden Labs."
SPANS = (Entity(0, 11, "PER"), Entity(19, 30, "ORG"))
RELATIONAL = {
    "id": 12, "text": TEXT,
    "entities": [
        {"id": 40, "label": "PER", "start_offset": 0, "end_offset": 11},
        {"id": 41, "label": "ORG", "start_offset": 19, "end_offset": 30},
    ],
    "relations": [{"id": 9, "from_id": 41, "to_id": 40, "type": "employs"}],
    "Comments": [],
}  # fmt: skip


def save(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.mark.parametrize("field", ["label", "labels", "entities"])
def test_rows_of_offsets(tmp_path, field):
    record = {"id": 12, "text": TEXT, field: [[0, 11, "PER"], [19, 30, "ORG"]], "source": "mail", "Comments": ["?"]}
    path, report = save(tmp_path / "all.jsonl", record), Report()
    (document,) = read(path, report=report)
    assert detect(path) == "doccano"
    assert (document.entities, document.id, document.metadata) == (SPANS, "12", {"source": "mail"})
    assert report.dropped == {"comment": 1}


def test_spans_and_relations(tmp_path):
    path = save(tmp_path / "admin.jsonl", {**RELATIONAL, "entities": [], "relations": []}, RELATIONAL)
    empty, document = read(path)
    assert (detect(path), empty.entities) == ("doccano", ())
    assert (document.entities, document.relations) == (SPANS, (Relation(1, 0, "employs"),))


def test_an_export_that_begins_with_an_unlabeled_text(tmp_path):
    path = save(
        tmp_path / "all.jsonl",
        {"id": 1, "text": "Nobody.", "label": []},
        {"id": 2, "text": TEXT, "label": [[0, 11, "PER"]]},
    )
    assert [len(document.entities) for document in read(path)] == [0, 1]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"text": TEXT, "label": [[0, 11]]}, r"a label is \[0, 11\], but should hold 3 values"),
        ({"text": TEXT, "label": [[0, 99, "PER"]]}, "does not lie in the text"),
        ({**RELATIONAL, "relations": [{"from_id": 1, "to_id": 40, "type": "x"}]}, "joins '1', which is not an entity"),
    ],
)
def test_a_bad_record_is_named_with_its_line(tmp_path, record, message):
    path = save(tmp_path / "x.jsonl", RELATIONAL, record)
    with pytest.raises(FormatError, match=rf"x\.jsonl:2: .*{message}"):
        list(read(path))


def test_what_doccano_imports_is_written(tmp_path):
    document = Document(
        TEXT, entities=SPANS, relations=(Relation(1, 0, "employs"),), id="a", metadata={"source": "mail"}
    )
    write([document], tmp_path / "x.jsonl", "doccano")
    record = json.loads((tmp_path / "x.jsonl").read_text())
    assert record["entities"][0] == {"id": 0, "label": "PER", "start_offset": 0, "end_offset": 11}
    assert record["relations"] == [{"id": 0, "from_id": 1, "to_id": 0, "type": "employs"}]
    (back,) = read(tmp_path / "x.jsonl")
    assert (back, back.metadata) == (document, document.metadata)

"""Prodigy's JSON lines: spans, relations by token, answers and sessions."""

from __future__ import annotations

import json

import pytest

from spanwise.document import Document, Entity, Offsets, Relation
from spanwise.errors import FormatError
from spanwise.formats import Report, detect, read, write

TEXT = "Mara joined Velden Labs"
WORDS = ((0, 4), (5, 11), (12, 18), (19, 23))
TOKENS = [
    {"text": TEXT[start:end], "start": start, "end": end, "id": i, "ws": i < 3} for i, (start, end) in enumerate(WORDS)
]
PERSON = {"start": 0, "end": 4, "token_start": 0, "token_end": 0, "label": "PER"}
COMPANY = {"start": 12, "end": 23, "token_start": 2, "token_end": 3, "label": "ORG"}
SPANS = (Entity(0, 4, "PER"), Entity(12, 23, "ORG"))


def record(*spans, **more):
    hashes = {"_input_hash": -1042, "_task_hash": 2210, "_is_binary": False, "_view_id": "relations", "_timestamp": 17}
    return {"text": TEXT, "tokens": TOKENS, "spans": list(spans), "answer": "accept", **hashes, **more}


def save(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_spans_tokens_and_meta(tmp_path):
    path = save(tmp_path / "x.jsonl", record(PERSON, COMPANY | {"score": 0.25}, meta={"source": "mail"}))
    (document,) = read(path)
    assert detect(path) == "prodigy"
    assert (document.words, document.entities) == (tuple(Offsets(*word) for word in WORDS), SPANS)
    assert document.metadata == {"source": "mail"}


def test_answers_that_are_no_annotation_are_counted(tmp_path):
    records = [record(PERSON, answer=answer) for answer in ("accept", "reject", "ignore", "reject")]
    report = Report()
    assert len(list(read(save(tmp_path / "x.jsonl", *records), report=report))) == 1
    assert report.dropped == {"record with the answer 'reject'": 2, "record with the answer 'ignore'": 1}


def test_relations_by_spans_and_by_tokens(tmp_path):
    by_span = {"head": 3, "child": 0, "head_span": COMPANY, "child_span": PERSON, "label": "employs", "color": "#fff"}
    by_token = {"head": 0, "child": 3, "label": "works_for"}
    to_word = {"head": 0, "child": 1, "label": "does"}
    (document,) = read(save(tmp_path / "x.jsonl", record(PERSON, COMPANY, relations=[by_span, by_token, to_word])))
    assert document.entities == (*SPANS, Entity(5, 11, "untyped"))
    assert document.relations == (Relation(1, 0, "employs"), Relation(0, 1, "works_for"), Relation(0, 2, "does"))


def test_annotators_of_one_text(tmp_path):
    records = [
        record(*spans, _annotator_id=f"ner-{name}", _session_id=f"ner-{name}")
        for name, spans in (("ann", [PERSON, COMPANY]), ("bo", [PERSON]), ("cy", [PERSON]))
    ]
    path = save(tmp_path / "x.jsonl", *records)
    with pytest.raises(FormatError, match=r"x\.jsonl:2: .*several annotators \('ner-ann', 'ner-bo'\)"):
        list(read(path))
    counts = {name: [len(d.entities) for d in read(path, annotator=name)] for name in ("ner-ann", "majority", "each")}
    assert counts == {"ner-ann": [2], "majority": [1], "each": [2, 1, 1]}
    with pytest.raises(FormatError, match="no annotation by 'dee'; choose from ner-ann, ner-bo, ner-cy"):
        list(read(path, annotator="dee"))


def test_tokens_that_overlap_are_left_out(tmp_path):
    overlapping = [TOKENS[0], {**TOKENS[1], "text": TEXT[2:11], "start": 2}]
    report = Report()
    (document,) = read(save(tmp_path / "x.jsonl", record(PERSON, tokens=overlapping)), report=report)
    assert (document.words, len(document.entities)) == ((), 1)
    assert report.dropped == {"words of a text, for they overlap": 1}


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (record(PERSON, answer="maybe"), "the answer 'maybe' is unknown"),
        (record(PERSON, relations=[{"head": 9, "child": 0, "label": "x"}]), "the head of a relation is token 9"),
        (record(PERSON | {"text": "Bo"}), "should be 'Bo', but there the text is 'Mara'"),
    ],
)
def test_a_bad_record_is_named_with_its_line(tmp_path, bad, message):
    path = save(tmp_path / "x.jsonl", record(PERSON), bad)
    with pytest.raises(FormatError, match=rf"x\.jsonl:2: .*{message}"):
        list(read(path))
    assert len(list(read(path, skip_bad=True))) == 1


def test_text_classification_is_refused(tmp_path):
    path = save(
        tmp_path / "x.jsonl", {"text": TEXT, "label": "NEWS", "answer": "accept", "_input_hash": 1, "_task_hash": 2}
    )
    with pytest.raises(FormatError, match="not one entity was read, but the field 'label'"):
        list(read(path))


def test_predictions_have_scores_and_no_answer(tmp_path):
    document = Document(TEXT, WORDS, (Entity(0, 4, "PER", 0.5), Entity(12, 22, "ORG")), (Relation(0, 1, "x"),), "a")
    write([document], tmp_path / "x.jsonl", "prodigy", model_version="v1")
    written = json.loads((tmp_path / "x.jsonl").read_text())
    assert ("answer" not in written, written["meta"]) == (True, {"model_version": "v1"})
    assert "token_end" not in written["spans"][1]  # the entity ends inside a token
    assert list(read(tmp_path / "x.jsonl")) == [document]

"""Label Studio: exports with everything that they hold, and tasks with predictions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spanwise.document import ANNOTATED, Document, Entity, Relation
from spanwise.errors import FormatError
from spanwise.formats import Report, detect, read, write

TEXT = "Mara Ostrow joined Velden Labs in Osaka."


def region(id: str, start: int, end: int, *labels: str, text: str | None = None, **more: Any) -> dict[str, Any]:
    value = {"start": start, "end": end, "text": TEXT[start:end] if text is None else text, "labels": list(labels)}
    tags = {"from_name": "label", "to_name": "text", "type": "labels", "origin": "manual"}
    return {"id": id, **tags, "value": value, **more}


def relation(head: str, tail: str, *labels: str, direction: str = "right") -> dict[str, Any]:
    return {"type": "relation", "from_id": head, "to_id": tail, "direction": direction, "labels": list(labels)}


def annotation(*results: dict[str, Any], by: Any = 1, cancelled: bool = False) -> dict[str, Any]:
    return {
        "id": 31, "completed_by": by, "result": list(results), "was_cancelled": cancelled, "ground_truth": False,
        "created_at": "2024-05-02T09:14:07.241519Z", "lead_time": 12.6, "result_count": len(results),
    }  # fmt: skip


def task(*annotations: dict[str, Any], text: str = TEXT, **more: Any) -> dict[str, Any]:
    return {
        "id": 7, "data": {"text": text}, "annotations": list(annotations), "drafts": [], "predictions": [], "meta": {},
        "created_at": "2024-05-02T09:12:55.031011Z", "inner_id": 1, "total_annotations": len(annotations), "project": 3,
        **more,
    }  # fmt: skip


@pytest.fixture
def export(tmp_path: Path) -> Any:
    def save(*tasks: dict[str, Any]) -> Path:
        (tmp_path / "export.json").write_text(json.dumps(tasks, indent=2, ensure_ascii=False), encoding="utf-8")
        return tmp_path / "export.json"

    return save


PERSON, COMPANY = region("a1", 0, 11, "PER"), region("b2", 19, 30, "ORG")


def test_an_export_is_detected_and_read(export):
    path = export(
        task(annotation(PERSON, COMPANY, relation("a1", "b2", "works_for"), relation("a1", "b2", direction="left")))
    )
    (document,) = read(path)
    assert detect(path) == "label-studio"
    assert document.entities == (Entity(0, 11, "PER"), Entity(19, 30, "ORG"))
    assert document.relations == (Relation(0, 1, "works_for"), Relation(1, 0, "untyped"))
    assert (document.id, document.metadata) == ("7", {})


def test_fields_of_the_data_are_metadata(export):
    record = task(annotation(PERSON), meta={"batch": 2})
    record["data"] |= {"source": "mail", "id": "m-17"}
    (document,) = read(export(record))
    assert (document.id, document.metadata) == ("m-17", {"source": "mail", "batch": 2})


def test_the_annotated_field_may_have_another_name(export):
    record = task(annotation({**PERSON, "to_name": "body"}))
    record["data"] = {"body": TEXT, "title": "News"}
    assert [document.text for document in read(export(record))] == [TEXT]
    with pytest.raises(FormatError, match="does not tell which field is the annotated text; name that field 'text'"):
        list(read(export({**record, "annotations": [], "predictions": []})))


def test_results_that_are_not_regions_are_counted(export):
    choices = {"id": "c", "from_name": "mood", "to_name": "text", "type": "choices", "value": {"choices": ["good"]}}
    report = Report()
    (document,) = read(export(task(annotation(PERSON, choices, region("d", 31, 33)))), report=report)
    assert [e.label for e in document.entities] == ["PER"]
    assert report.dropped == {"Label Studio 'choices'": 1, "region without a label": 1}


def test_a_region_with_two_labels_is_two_entities(export):
    (document,) = read(export(task(annotation(region("a", 0, 11, "PER", "BOSS"), COMPANY, relation("b2", "a", "has")))))
    assert [e.label for e in document.entities] == ["PER", "BOSS", "ORG"]
    assert document.relations == (Relation(2, 0, "has"),)


def test_cancelled_annotations_and_drafts_are_counted(export):
    skipped, drafted = task(annotation(PERSON, cancelled=True)), task(annotation(PERSON), drafts=[{"result": []}])
    report = Report()
    assert len(list(read(export(skipped, drafted), report=report))) == 1
    assert report.dropped == {"cancelled annotation": 1, "unfinished draft": 1}


def test_hypertext_is_refused_with_its_line(export):
    value = {"start": "/p[1]/text()[1]", "end": "/p[1]/text()[1]", "startOffset": 0, "endOffset": 3}
    html = {"id": "a", "type": "hypertextlabels", "value": {**value, "hypertextlabels": ["PER"]}}
    with pytest.raises(FormatError, match=r"export\.json:2: .*'hypertextlabels', whose offsets count inside HTML"):
        list(read(export(task(annotation(html)))))


def test_a_task_without_annotation_says_nothing_about_its_labels(export):
    predicted = task(predictions=[{"model_version": "v1", "result": [PERSON | {"score": 0.75}]}])
    path, report = export(task(), predicted), Report()
    documents = list(read(path, report=report))
    assert [(d.entities, d.metadata[ANNOTATED]) for d in documents] == [((), [])] * 2
    assert report.notes == [
        "export.json: 1 task has predictions by 'v1' but no annotation; --annotator v1 reads the predictions"
    ]
    assert [e.score for d in read(path, annotator="v1") for e in d.entities] == [0.75]


def test_offsets_in_utf16_units_are_converted(export):
    text = "👋🏽 Mara left 😀 Osaka 📉"
    wrong = region("a", text.index("Osaka") + 3, text.index("Osaka") + 8, "LOC", text="Osaka")
    right = region("a", text.index("Osaka"), text.index("Osaka") + 5, "LOC", text="Osaka")
    report = Report()
    documents = list(
        read(export(task(annotation(wrong), text=text), task(annotation(right), text=text)), report=report)
    )
    assert [d.text_of(d.entities[0]) for d in documents] == ["Osaka", "Osaka"]
    assert report.repaired == {"document with offsets in UTF-16 units": 1}


def test_offsets_beyond_the_text_are_utf16_units_if_those_fit(export):
    text = "😀😀 Bo"
    (document,) = read(
        export(
            task(annotation({**region("a", 5, 7, "PER"), "value": {"start": 5, "end": 7, "labels": ["P"]}}), text=text)
        )
    )
    assert document.text_of(document.entities[0]) == "Bo"


def test_spaces_at_the_borders_are_trimmed(export):
    report = Report()
    spaced, empty = region("a", 0, 12, "PER"), region("b", 11, 12, "PER")
    (document,) = read(export(task(annotation(spaced, empty, relation("a", "b", "x")))), report=report)
    assert [document.text_of(e) for e in document.entities] == ["Mara Ostrow"]
    assert report.repaired == {"space at the border of an entity": 1}
    assert report.dropped == {"entity of nothing but white space": 1, "relation of a dropped entity": 1}


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (
            region("a", 1, 12, "PER", text="Mara Ostrow"),
            "at 1 to 12 should be 'Mara Ostrow', but there the text is 'ara",
        ),
        (region("a", 30, 99, "PER"), "at 30 to 99 does not lie in the text of 40 characters"),
        (relation("a1", "zz", "x"), "the relation 'x' joins 'zz', which is not an entity of this text"),
        (region("a", 0, 4, "PER") | {"value": {"end": 3, "labels": ["PER"]}}, "'start' is missing"),
    ],
)
def test_a_bad_task_is_named_with_its_line_or_skipped(export, bad, message):
    path = export(task(annotation(PERSON)), task(annotation(PERSON, bad)))
    with pytest.raises(FormatError, match=rf"export\.json:\d+: .*{message}"):
        list(read(path))
    assert len(list(read(path, skip_bad=True))) == 1


def test_the_short_export_is_read(tmp_path):
    rows = [
        {"text": TEXT, "id": 1, "annotator": who, "annotation_id": 5, "lead_time": 3.2, "source": "mail",
         "label": [{"start": 0, "end": 11, "text": "Mara Ostrow", "labels": ["PER"]}]}
        for who in (1, 2)
    ]  # fmt: skip
    (tmp_path / "min.json").write_text(json.dumps(rows))
    with pytest.raises(FormatError, match=r"several annotators \('1', '2'\)"):
        list(read(tmp_path / "min.json"))
    (document,) = read(tmp_path / "min.json", annotator="majority")
    assert (document.entities, document.metadata) == ((Entity(0, 11, "PER"),), {"source": "mail"})


SCORED = Document(
    TEXT,
    entities=(Entity(0, 11, "PER", 0.5), Entity(19, 30, "ORG", 0.75)),
    relations=(Relation(0, 1, "works_for", 0.25),),
    id="d1",
    metadata={"source": "mail"},
)


def test_predictions_keep_scores_model_and_relations(tmp_path):
    write([SCORED], tmp_path / "tasks.json", "label-studio", model_version="conll04-spert")
    (written,) = json.loads((tmp_path / "tasks.json").read_text())
    (prediction,) = written["predictions"]
    assert (written["annotations"], prediction["model_version"], prediction["score"]) == ([], "conll04-spert", 0.625)
    assert list(read(tmp_path / "tasks.json", annotator="conll04-spert")) == [SCORED]


def test_annotations_have_no_scores(tmp_path):
    report = Report()
    write([SCORED], tmp_path / "x.json", "label-studio", report=report)
    assert report.dropped == {"score": 3}
    (document,) = read(tmp_path / "x.json")
    assert (document.relations, document.metadata) == ((Relation(0, 1, "works_for"),), SCORED.metadata)


def test_a_model_version_is_refused_where_it_has_no_place(tmp_path):
    with pytest.raises(
        FormatError, match=r"'spert' cannot mark annotations as predictions; .* write label-studio, prodigy"
    ):
        write([SCORED], tmp_path / "x.json", "spert", model_version="v1")


def test_label_studio_accepts_what_is_written(tmp_path):
    sdk = pytest.importorskip("label_studio_sdk.label_interface", reason="label-studio-sdk is not installed")
    labels = "".join(f'<Label value="{label}"/>' for label in ("PER", "ORG"))
    interface = sdk.LabelInterface(
        '<View><Relations><Relation value="works_for"/></Relations>'
        f'<Labels name="label" toName="text">{labels}</Labels><Text name="text" value="$text"/></View>'
    )
    for version in (None, "v1"):
        write([SCORED], tmp_path / "tasks.json", "label-studio", model_version=version)
        (written,) = json.loads((tmp_path / "tasks.json").read_text())
        assert all(map(interface.validate_annotation, written["annotations"]))
        assert all(map(interface.validate_prediction, written.get("predictions", ())))
        assert all(map(interface.validate_region, [r for a in written["annotations"] for r in a["result"]][:2]))

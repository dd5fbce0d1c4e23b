"""SpERT, DyGIE and OneIE records as others write them."""

from __future__ import annotations

import json

import pytest

from spanwise.document import Document, Offsets, Relation
from spanwise.formats import EVENT_TYPES, UNTYPED, Report, read, triggers_only, write

DYGIE = {
    "doc_key": "d1",
    "dataset": "invented",
    "sentences": [["Ann", "Lee", "left", "Halden", "."], ["She", "sued", "Bo", "."]],
    "ner": [[[0, 1, "PER"], [3, 3, "LOC"]], [[5, 5, "PER"], [7, 7, "PER"]]],
    "relations": [[[0, 1, 3, 3, "LivesIn"]], []],
    "events": [[[[2, "Leave"], [0, 1, "Who"], [3, 3, "From"]]], [[[6, 6, "Sue"], [5, 5, "Who"], [8, 8, "End"]]]],
    "clusters": [[[0, 1], [5, 5]]],
}
ONEIE = {
    "doc_id": "d1",
    "sent_id": "d1-0",
    "sentence": "Ann Lee left Halden.",
    "tokens": ["Ann", "Lee", "left", "Halden", "."],
    "pieces": [],
    "token_lens": [],
    "entity_mentions": [
        {"id": "e1", "start": 0, "end": 2, "text": "Ann Lee", "entity_type": "PER", "mention_type": "NAM"},
        {"id": "e2", "start": 3, "end": 4, "text": "Halden"},
    ],
    "relation_mentions": [
        {
            "id": "r1",
            "relation_type": "LivesIn",
            "arguments": [{"entity_id": "e1", "role": "Arg-1"}, {"entity_id": "e2"}],
        }
    ],
    "event_mentions": [
        {
            "id": "v1",
            "event_type": "Leave",
            "trigger": {"start": 2, "end": 3, "text": "left"},
            "arguments": [{"entity_id": "e2", "role": "From", "text": "Halden"}],
        }
    ],
}


@pytest.fixture
def file(tmp_path):
    def put(*records):
        path = tmp_path / "in.json"
        path.write_text("".join(json.dumps(record) + "\r\n" for record in records), encoding="utf-8-sig")
        return path

    return put


def marked(document: Document):
    return [(document.text_of(e), e.label) for e in document.entities]


def test_spert_may_come_as_json_lines_with_numbers_as_ids(file):
    (document,) = read(file({"tokens": ["Ann"], "entities": [{"type": "PER", "start": 0, "end": 1}], "orig_id": 7}))
    assert (document.id, marked(document)) == ("7", [("Ann", "PER")])


def test_dygie_sentences_become_documents(file):
    report = Report()
    first, second = read(file(DYGIE), report=report)
    assert (first.id, second.id) == ("d1#0", "d1#1")
    assert marked(first) == [("Ann Lee", "PER"), ("Halden", "LOC"), ("left", "Leave")]
    assert first.relations == (Relation(0, 1, "LivesIn"), Relation(2, 0, "Who"), Relation(2, 1, "From"))
    assert marked(second) == [("She", "PER"), ("Bo", "PER"), ("sued", "Sue"), (".", UNTYPED)]
    assert second.relations == (Relation(2, 0, "Who"), Relation(2, 3, "End"))
    assert first.metadata == {
        "doc_key": "d1", "sentence": 0, "clusters": [[[0, 1], [5, 5]]], EVENT_TYPES: ["Leave"],
    }  # fmt: skip
    assert report.dropped == {"field 'dataset'": 1}


def test_dygie_sentences_are_put_together_again(file, tmp_path):
    write(read(file(DYGIE)), tmp_path / "out", "dygie")
    (record,) = map(json.loads, (tmp_path / "out").read_text().splitlines())
    expected = {key: value for key, value in DYGIE.items() if key != "dataset"}
    expected["events"] = [DYGIE["events"][0], [[[6, "Sue"], [5, 5, "Who"], [8, 8, "End"]]]]
    expected["ner"] = [DYGIE["ner"][0], [*DYGIE["ner"][1], [8, 8, UNTYPED]]]
    assert record == expected


@pytest.mark.parametrize("clusters", [[[1]], 5, {"a": 1}, [[[True, True]]], "x"])
def test_dygie_counts_metadata_that_is_no_coreference(tmp_path, clusters):
    report = Report()
    document = Document.from_words(["Ann", "left"], metadata={"clusters": clusters})
    write([document], tmp_path / "out", "dygie", report=report)
    assert "clusters" not in json.loads((tmp_path / "out").read_text())
    assert report.dropped == {"metadata": 1}


def test_dygie_writes_one_record_for_each_document(file, tmp_path):
    source = file(DYGIE, {"doc_key": "d2", "sentences": [["Hi"]]}, {"doc_key": "d2", "sentences": [["Ho"]]})
    loose = Document.from_words(["loose"], id="x")
    write([*read(source), loose, Document.from_words(["nameless"])], tmp_path / "out", "dygie")
    records = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    assert [(r["doc_key"], len(r["sentences"])) for r in records] == [
        ("d1", 2), ("d2", 1), ("d2", 1), ("x", 1), ("document-4", 1),
    ]  # fmt: skip
    assert "clusters" in records[0]
    assert "events" not in records[1]


def test_oneie_events_are_triggers_and_arguments_over_the_original_text(file):
    report = Report()
    (document,) = read(file(ONEIE), report=report)
    assert (document.id, document.text) == ("d1-0", "Ann Lee left Halden.")
    assert marked(document) == [("Ann Lee", "PER"), ("Halden", UNTYPED), ("left", "Leave")]
    assert document.relations == (Relation(0, 1, "LivesIn"), Relation(2, 1, "From"))
    assert document.metadata == {"doc_id": "d1", EVENT_TYPES: ["Leave"]}
    assert report.dropped == {"field 'mention_type'": 1}


@pytest.mark.parametrize(
    ("roles", "pair"),
    [
        (("Arg-1", "Arg-2"), (0, 1)),
        (("Arg-2", "Arg-1"), (1, 0)),
        (("Arg2", None), (1, 0)),
        ((None, "Arg-1"), (1, 0)),
        ((None, None), (0, 1)),
    ],
)
def test_oneie_relations_follow_the_names_of_their_roles(file, roles, pair):
    arguments = [{"entity_id": f"e{place}", "role": role} for place, role in enumerate(roles, 1)]
    (document,) = read(file({**ONEIE, "relation_mentions": [{"relation_type": "In", "arguments": arguments}]}))
    assert document.relations[0] == Relation(*pair, "In")


def test_oneie_heads_are_given_by_their_words(file, tmp_path):
    ann = {**ONEIE["entity_mentions"][0], "head": {"text": "Lee", "start": 1, "end": 2}}
    halden = {**ONEIE["entity_mentions"][1], "head": None}
    (document,) = read(file({**ONEIE, "entity_mentions": [ann, halden]}))
    assert [entity.head for entity in document.entities] == [(4, 7), None, None]
    assert [document.text_of(entity) for entity in document.with_head_spans().entities] == ["Lee", "Halden", "left"]
    write([document], tmp_path / "out", "oneie")
    mentions = json.loads((tmp_path / "out").read_text())["entity_mentions"]
    assert [mention.get("head") for mention in mentions] == [{"start": 1, "end": 2, "text": "Lee"}, None]


def test_tokens_that_differ_from_the_sentence_are_joined_by_spaces(file):
    (document,) = read(file({**ONEIE, "sentence": "Ann Lee left H."}))
    assert document.text == "Ann Lee left Halden ."
    assert marked(document)[1] == ("Halden", UNTYPED)


def test_triggers_can_be_had_alone(file):
    (document,) = map(triggers_only, read(file(ONEIE)))
    assert (marked(document), document.relations) == ([("left", "Leave")], ())
    assert triggers_only(Document.from_words(["a"], [(0, 1, "X")])).entities == ()


def test_oneie_leaves_untyped_mentions_without_a_type(file, tmp_path):
    write(read(file(ONEIE)), tmp_path / "out", "oneie")
    record = json.loads((tmp_path / "out").read_text())
    assert [mention.get("entity_type") for mention in record["entity_mentions"]] == ["PER", None]
    assert record["event_mentions"][0]["event_type"] == "Leave"
    assert record["relation_mentions"][0]["relation_type"] == "LivesIn"
    assert list(read(tmp_path / "out")) == list(read(file(ONEIE)))


def test_events_survive_a_way_through_jsonl_and_brat(file, tmp_path):
    documents = list(read(file(ONEIE)))
    write(documents, tmp_path / "x.jsonl")
    write(read(tmp_path / "x.jsonl"), tmp_path / "brat", "brat")
    assert "E1\tLeave:T3 From:T2" in (tmp_path / "brat" / "d1-0.ann").read_text()


def test_jsonl_writes_a_head_only_where_one_is_marked(tmp_path):
    plain, headed = {"start": 0, "end": 1, "label": "X"}, {"start": 0, "end": 2, "label": "Y", "head": [1, 2]}
    record = {"text": "ab", "entities": [plain, headed], "relations": []}
    (tmp_path / "x.jsonl").write_text(json.dumps(record))
    (document,) = read(tmp_path / "x.jsonl")
    assert [entity.head for entity in document.entities] == [None, Offsets(1, 2)]
    write([document], tmp_path / "y.jsonl")
    assert json.loads((tmp_path / "y.jsonl").read_text()) == record


def test_jsonl_writes_a_score_only_where_it_says_something(tmp_path):
    sure, unsure = {"start": 0, "end": 1, "label": "X"}, {"start": 1, "end": 2, "label": "Y", "score": 0.5}
    record = {"text": "ab", "entities": [sure, unsure], "relations": []}
    (tmp_path / "x.jsonl").write_text(json.dumps(record))
    write(read(tmp_path / "x.jsonl"), tmp_path / "y.jsonl")
    assert json.loads((tmp_path / "y.jsonl").read_text()) == record

"""Broken files end with one sentence that names the place, never with a traceback; or they are skipped and counted."""

from __future__ import annotations

import json
import os

import pytest

from spanwise.errors import FormatError
from spanwise.formats import FORMATS, Report, read

GOOD = {
    "jsonl": {"text": "Ann Lee", "entities": [{"start": 0, "end": 3, "label": "PER"}], "relations": []},
    "spert": {"tokens": ["Ann"], "entities": [{"type": "PER", "start": 0, "end": 1}], "relations": []},
    "dygie": {"doc_key": "d", "sentences": [["Ann"]], "ner": [[[0, 0, "PER"]]], "relations": [[]]},
    "oneie": {"tokens": ["Ann"], "entity_mentions": [{"id": "1", "start": 0, "end": 1, "entity_type": "PER"}]},
}


def with_head(head):
    return {"tokens": ["Ann", "Lee"], "entity_mentions": [{"id": "1", "start": 0, "end": 1, "head": head}]}


BROKEN = {
    "jsonl": [
        ({"entities": []}, "'text' is missing"),
        ({"text": 5}, "'text' is 5, but should be a string"),
        ({"text": "\ud800"}, "an unpaired surrogate"),
        ({"text": "Ann", "words": [[0]]}, r"'words'\[0\] is \[0\], but should hold 2 values"),
        ({"text": "Ann", "words": [[0, 9]]}, "word 0 at characters 0 to 9"),
        ({"text": "Ann", "entities": {}}, "'entities' is {}, but should be an array"),
        ({"text": "Ann", "entities": ["PER"]}, r"'entities'\[0\] is 'PER', but should be an object"),
        (
            {"text": "Ann", "entities": [{"start": "0", "end": 3, "label": "PER"}]},
            "'start' is '0', but should be an int",
        ),
        ({"text": "Ann", "entities": [{"start": False, "end": 3, "label": "PER"}]}, "'start' is False"),
        ({"text": "Ann", "entities": [{"start": 0.0, "end": 3, "label": "PER"}]}, "'start' is 0.0"),
        ({"text": "Ann", "entities": [{"start": 0, "label": "PER"}]}, "'end' is missing"),
        ({"text": "Ann", "entities": [{"start": 0, "end": 3, "label": ""}]}, "has no label"),
        ({"text": "Ann", "entities": [{"start": 0, "end": 4, "label": "PER"}]}, "beyond the text's 3 characters"),
        ({"text": "Ann", "entities": [{"start": 0, "end": 3, "label": "P", "score": "x"}]}, "'score' is 'x'"),
        (
            {"text": "Ann", "entities": [{"start": 0, "end": 3, "label": "P", "head": [1]}]},
            "'head' is .* hold 2 values",
        ),
        (
            {"text": "Ann", "entities": [{"start": 0, "end": 3, "label": "P", "head": {}}]},
            "'head' is {}, but should be",
        ),
        (
            {"text": "Ann", "entities": [{"start": 0, "end": 2, "label": "P", "head": [1, 3]}]},
            "a head at characters 1 to 3",
        ),
        ({"text": "Ann", "relations": [{"head": 0, "tail": 0, "label": "R"}]}, "has entity 0 as its head"),
        (
            {"text": "Ann", "entities": [{"start": 0, "end": 3, "label": "P", "score": 10**400}]},
            "'score' is 10000.*finite",
        ),
        ({"text": "Ann", "id": ["x"]}, "'id' is"),
        ({"text": "Ann", "metadata": []}, "'metadata' is"),
    ],
    "spert": [
        ({"entities": []}, "'tokens' is missing"),
        ({"tokens": "Ann"}, "'tokens' is 'Ann', but should be an array"),
        ({"tokens": ["Ann", 5]}, r"'tokens'\[1\] is 5"),
        ({"tokens": ["Ann", ""]}, "word 1 .* is empty"),
        ({"tokens": ["Ann"], "entities": [{"type": "P", "start": 0, "end": 2}]}, "covers words 0 to 2"),
        ({"tokens": ["Ann"], "entities": [{"type": "P", "start": 0, "end": 0}]}, "covers words 0 to 0"),
        ({"tokens": ["Ann"], "relations": [{"type": "R", "head": 0, "tail": 1}]}, "has entity 0"),
    ],
    "dygie": [
        ({"doc_key": "d"}, "'sentences' is missing or empty"),
        ({"doc_key": "d", "sentences": [["Ann"]], "ner": []}, "'ner' is given for 0 sentences, but there are 1"),
        ({"sentences": [["Ann"]], "ner": [[[0, 1, "P"]]]}, "'P' at tokens 0 to 1 lies outside its sentence"),
        ({"sentences": [["Ann"]], "ner": [[[0, 0]]]}, "should hold 3 values"),
        ({"sentences": [["Ann"]], "relations": [[[0, 0, 0, 0, "R"]]]}, "which are not an entity"),
        ({"sentences": [["Ann"]], "events": [[[]]]}, "an event is empty"),
        ({"sentences": [["Ann"]], "events": [[[[0]]]]}, "the trigger is"),
        ({"sentences": [["Ann"]], "clusters": [[0]]}, "a cluster's span is 0"),
    ],
    "oneie": [
        ({"entity_mentions": []}, "'tokens' is missing"),
        (
            {
                "tokens": ["a"],
                "entity_mentions": [{"id": "1", "start": 0, "end": 1}, {"id": "1", "start": 0, "end": 1}],
            },
            "share",
        ),
        (with_head("Ann"), "'head' is 'Ann', but should be an object"),
        (with_head({"text": "Ann"}), "'start' is missing in {'text': 'Ann'}"),
        (with_head({"start": 0, "end": 0}), "the head .* is empty or not inside its mention, words 0 to 1"),
        (with_head({"start": 0, "end": 2}), "the head .* is empty or not inside its mention, words 0 to 1"),
        (with_head({"start": -1, "end": 1}), "the head .* is empty or not inside its mention, words 0 to 1"),
        ({"tokens": ["a"], "event_mentions": [{"event_type": "X"}]}, "'trigger' is missing"),
        (
            {
                "tokens": ["a"],
                "event_mentions": [
                    {
                        "event_type": "X",
                        "trigger": {"start": 0, "end": 1},
                        "arguments": [{"entity_id": "9", "role": "r"}],
                    }
                ],
            },
            "names an entity that the record lacks",
        ),
        (
            {"tokens": ["a"], "relation_mentions": [{"relation_type": "R", "arguments": []}]},
            "should have two arguments",
        ),
        (
            {
                "tokens": ["a"],
                "relation_mentions": [{"relation_type": "R", "arguments": [{"role": "Arg-1"}, {"role": "Arg-1"}]}],
            },
            "both arguments have the role 'Arg-1'",
        ),
    ],
}
CASES = [(format, record, message) for format, cases in BROKEN.items() for record, message in cases]


def write_lines(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.mark.parametrize(("format", "record", "message"), CASES)
def test_a_bad_record_is_named_with_its_line_and_can_be_skipped(tmp_path, format, record, message):
    path = write_lines(tmp_path / "x.jsonl", GOOD[format], record, GOOD[format])
    with pytest.raises(FormatError, match=message) as caught:
        list(read(path, format))
    assert (caught.value.path, caught.value.line) == (str(path), 2)
    report = Report()
    assert len(list(read(path, format, skip_bad=True, report=report))) == 2
    assert (report.read, report.bad, [e.line for e in report.errors]) == (2, 1, [2])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"text": "a"', "is not a JSON object"),
        (b"[]", "the record is \\[\\], but should be an object"),
        (b'{"text": "a", "entities": [{"start": NaN, "end": 1, "label": "X"}]}', "NaN is not a JSON number"),
        (b'{"text": "a", "entities": [{"start": 0, "end": 1, "label": "X", "score": 1e999}]}', "finite number"),
        (b'{"text": ' + b"9" * 5000 + b"}", "is not a JSON object"),
        (b'{"text": "caf\xe9"}', "byte 0xe9 is not UTF-8"),
        (b'{"text": "a", "text": "b"}', "an object gives the key 'text' twice"),
        (b'{"text": "a", "entities": [{"start": 0, "end": 1, "label": "X", "label": "Y"}]}', "the key 'label' twice"),
        (b'{"metadata": ' + b"[" * 200_000 + b"}", "nested too deeply"),
        (b'{"text": "a", "metadata": ' + b"[" * 200_000 + b"]" * 200_000 + b"}", "nested too deeply"),
    ],
)
def test_a_bad_line_is_named_and_can_be_skipped(tmp_path, line, message):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'\n{"text": "first"}\n' + line + b'\n{"text": "last"}')
    with pytest.raises(FormatError, match=f"x.jsonl:3: .*{message}"):
        list(read(path))
    report = Report()
    assert [d.text for d in read(path, skip_bad=True, report=report)] == ["first", "last"]
    assert report.bad == 1


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b'[{"tokens": ["a"]},\n{"tokens": 5},\n{"tokens": ["b"]}]', 2, "'tokens' is 5"),
        (b'[{"tokens": ["a"]},\n\n5,\n{"tokens": ["b"]}]', 3, "the record is 5"),
        (
            b'[{"tokens": ["a"]},\n{"tokens": [], "tokens": ["c"]},\n{"tokens": ["b"]}]',
            2,
            "an object gives the key 'tok",
        ),
    ],
)
def test_a_bad_array_element_is_named_and_can_be_skipped(tmp_path, content, line, message):
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=f"x.json:{line}: {message}"):
        list(read(path, "spert"))
    assert [d.text for d in read(path, "spert", skip_bad=True)] == ["a", "b"]


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b'[{"tokens": ["a"]},\n{"tokens": ["b" "c"]}]', 2, "the JSON is broken"),
        (b'[{"tokens": ["a"]},\n{"tokens": ["b', 2, "the JSON is broken"),
        (b'[{"tokens": ["a"]}\n{"tokens": ["b"]}]', 2, "found '{' where ',' or ']' should follow"),
        (b'[{"tokens": ["a"]},\n', 2, "the JSON is broken"),
        (b'[{"tokens": ["a"]}\n', 2, "the file ends where ',' or ']' should follow"),
        (b'[{"tokens": ["a"]}]\n[]', 2, "'\\[' follows the end of the array"),
        (b'[{"tokens": ["a"]},\n{"tokens": ["caf\xe9"]}]', 2, "byte 0xe9 is not UTF-8"),
        (b'[{"tokens": ["a"]},\n{"tokens": [NaN]}]', 2, "NaN is not a JSON number"),
        (b'[{"tokens": ["a"]},\n{"tokens": ' + b"[" * 200_000, 2, "nested too deeply"),
    ],
)
def test_a_damaged_array_ends_the_reading_even_when_bad_records_are_skipped(tmp_path, content, line, message):
    path = tmp_path / "x.json"
    path.write_bytes(content)
    for skip_bad in (False, True):
        with pytest.raises(FormatError, match=f"x.json:{line}: .*{message}"):
            list(read(path, "spert", skip_bad=skip_bad))


@pytest.mark.parametrize("format", sorted(name for name in FORMATS if not FORMATS[name].is_folder))
def test_a_folder_instead_of_a_file_is_refused(tmp_path, format):
    with pytest.raises(FormatError, match="this is a folder"):
        list(read(tmp_path, format))


@pytest.mark.parametrize("format", sorted(FORMATS))
@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_an_empty_input_is_refused(tmp_path, format, content):
    path = tmp_path if FORMATS[format].is_folder else tmp_path / "x"
    if not FORMATS[format].is_folder:
        path.write_bytes(content)
    with pytest.raises(FormatError, match=r"holds no documents|has no table of mentions"):
        list(read(path, format))


def test_an_empty_array_is_refused(tmp_path):
    (tmp_path / "x.json").write_text("[ ]")
    with pytest.raises(FormatError, match="holds no documents"):
        list(read(tmp_path / "x.json"))


def test_a_file_of_which_nothing_can_be_read_is_refused_even_when_bad_records_are_skipped(tmp_path):
    path = write_lines(tmp_path / "x.jsonl", {"text": 1}, {"text": 2})
    with pytest.raises(FormatError, match=r"all of its 2 records are bad, the first: .*x\.jsonl:1: 'text' is 1"):
        list(read(path, skip_bad=True))


def test_only_the_first_errors_are_kept(tmp_path):
    path = write_lines(tmp_path / "x.jsonl", {"text": "a"}, *[{"text": 1}] * 50)
    report = Report()
    list(read(path, "jsonl", skip_bad=True, report=report))
    assert (report.bad, len(report.errors)) == (50, 10)


def test_missing_file_unknown_format_and_unreadable_content_are_reported(tmp_path):
    with pytest.raises(FormatError, match="no such file"):
        read(tmp_path / "missing.jsonl")
    (tmp_path / "notes.md").write_text("Just a text.\n")
    with pytest.raises(FormatError, match="the format is not recognized; choose it: one of brat, "):
        read(tmp_path / "notes.md")
    with pytest.raises(FormatError, match="the format 'xml' is unknown; choose one of"):
        read(tmp_path / "notes.md", "xml")


def test_fields_without_a_place_in_a_document_are_counted(tmp_path):
    path = write_lines(tmp_path / "x.jsonl", {"text": "a", "entites": []})
    report = Report()
    list(read(path, report=report))
    assert report.dropped == {"field 'entites'": 1}


HUGE = "x" * 1_000_000
DIGITS = int("9" * 4000)


@pytest.mark.parametrize(
    ("format", "content"),
    [
        ("conll", HUGE),
        ("conll", f"a\tB-X\nb\tB{HUGE}"),
        ("conll-weibo", f"{HUGE}\tO"),
        ("jsonl", HUGE),
        ("jsonl", {"text": "a", "id": HUGE, "entities": [{"start": 0, "end": 2, "label": HUGE}]}),
        ("jsonl", {"text": "a", "id": HUGE, "relations": [{"head": DIGITS, "tail": 0, "label": HUGE}]}),
        ("jsonl", {HUGE: HUGE, "a": [[[[["x" * 60] * 9] * 9] * 9] * 9] * 9}),
        ("spert", {"tokens": ["a"], "orig_id": HUGE, "entities": [{"type": HUGE, "start": 0, "end": 2}]}),
        ("dygie", {"sentences": [["a"]], "ner": [[[DIGITS, DIGITS, HUGE]]]}),
        ("dygie", {"sentences": [["a"]], "relations": [[[0, 0, DIGITS, 0, HUGE]]]}),
        ("oneie", {"tokens": ["a"], "relation_mentions": [{"relation_type": HUGE, "arguments": [{HUGE: HUGE}]}]}),
        *(
            ("brat", line)
            for line in (
                HUGE,
                f"T1\t{HUGE}",
                f"T{HUGE}\tX 0 1;2 3\ta",
                f"T1\tX 0 1\t{HUGE}",
                f"T1\tX 0 9\t\nT1{HUGE}\tX{HUGE} 0 9\t",
                f"R1\t{HUGE}",
                f"R{HUGE}\tX Arg1:{HUGE} Arg2:{HUGE}",
                f"R1\t{HUGE} Arg1:{HUGE} Arg2:T1",
                f"E{HUGE}\t",
                f"E{HUGE}\tX:{HUGE}",
            )
        ),
    ],
    ids=lambda value: value if str(value) in FORMATS else "",
)
def test_a_message_stays_short_whatever_the_file_holds(tmp_path, format, content):
    path = tmp_path / ("x.ann" if format == "brat" else "x")
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    (tmp_path / "x.txt").write_text("a")
    with pytest.raises(FormatError) as caught:
        list(read(path, format))
    assert len(caught.value.reason) < 1000


def test_names_of_fields_are_counted_in_short(tmp_path):
    report = Report()
    list(read(write_lines(tmp_path / "x.jsonl", {"text": "a", HUGE: 1}), report=report))
    assert len("".join(report.dropped)) < 100


def test_a_pipe_is_refused_instead_of_losing_its_beginning(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FormatError, match="a pipe or device is read only once"):
        read(tmp_path / "pipe")

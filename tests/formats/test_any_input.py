"""Whatever stands in a file, reading it gives documents or a FormatError, nothing else."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.errors import FormatError
from spanwise.formats import FORMATS, detect, read

KEYS = st.sampled_from([
    "text", "words", "entities", "relations", "id", "metadata", "start", "end", "label", "score", "head", "tail",
    "type", "tokens", "orig_id", "doc_key", "sentences", "ner", "events", "clusters", "entity_mentions",
    "event_mentions", "relation_mentions", "trigger", "event_type", "arguments", "entity_id", "role", "sentence",
    "wnd_id", "data", "annotations", "result", "value", "labels", "from_id", "to_id", "completed_by", "predictions",
    "model_version", "start_offset", "end_offset", "spans", "answer", "head_span", "child", "meta",
])  # fmt: skip
SCALARS = st.none() | st.booleans() | st.integers(-2, 9) | st.floats() | st.text(max_size=3) | st.just("a b")
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=6), max_leaves=25
)
RECORDS = st.dictionaries(KEYS, VALUES, max_size=8)
LINES = st.lists(
    st.sampled_from([b"a\tB-X", b"\xe4\xb8\xad0 I-X", b"\tO", b"b", b"", b"\xff\tO", b"-DOCSTART-"]), max_size=6
)
BRAT = st.lists(
    st.sampled_from(
        [b"T1\tPER 0 3\tAnn", b"T1\tX 0 99", b"E1\tX:T1 A:E1", b"R1\tY Arg1:T1 Arg2:E1", b"*", b"R", b"\xff", b"T"]
    ),
    max_size=5,
)


@contextmanager
def expecting_at_most_a_format_error(folder: str) -> Iterator[None]:
    """Any other error passes through and fails the test; this one must name its file."""
    message = folder
    try:
        yield
    except FormatError as error:
        message = str(error)
    assert message.startswith(folder)


def read_whatever(content: bytes, format: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.ann"
        path.write_bytes(content)
        path.with_suffix(".txt").write_bytes(b"Ann Lee")
        for skip_bad in (False, True):
            with expecting_at_most_a_format_error(folder):
                list(read(path, format, skip_bad=skip_bad))


@pytest.mark.parametrize("format", sorted(FORMATS))
@settings(max_examples=40, deadline=None)
@given(st.one_of(st.binary(max_size=30), LINES.map(b"\n".join), BRAT.map(b"\n".join)))
def test_any_bytes(format, content):
    read_whatever(content, format)


@pytest.mark.parametrize("format", ["jsonl", "spert", "dygie", "oneie", "label-studio", "doccano", "prodigy"])
@settings(max_examples=100, deadline=None)
@given(st.lists(RECORDS, max_size=3))
def test_any_json(format, records):
    read_whatever("\n".join(map(json.dumps, records)).encode(), format)


@settings(max_examples=100, deadline=None)
@given(st.one_of(st.binary(max_size=30), VALUES.map(lambda value: json.dumps(value).encode()), LINES.map(b"\n".join)))
def test_detection_of_anything(content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_bytes(content)
        with expecting_at_most_a_format_error(folder):
            assert detect(path) in FORMATS


NESTED = {
    "label-studio": lambda results: {"data": {"text": "Ann Lee"}, "annotations": [{"result": results}]},
    "prodigy": lambda spans: {"text": "Ann Lee", "spans": spans, "relations": spans, "tokens": spans},
    "doccano": lambda rows: {"text": "Ann Lee", "entities": rows, "relations": rows},
}
ITEMS = st.dictionaries(
    st.sampled_from(
        ["id", "type", "value", "start", "end", "label", "labels", "from_id", "to_id", "head", "child", "text"]
    ),
    st.sampled_from(
        ["labels", "relation", "a", "Ann", 0, 3, -1, None, ["X"], {}, {"start": 0, "end": 3, "labels": ["X"]}]
    ),
)


@pytest.mark.parametrize("format", sorted(NESTED))
@settings(max_examples=100, deadline=None)
@given(st.lists(ITEMS, max_size=3))
def test_any_items_of_a_tool(format, items):
    read_whatever(json.dumps(NESTED[format](items)).encode(), format)


TABLES = st.lists(
    st.sampled_from(["text,start,end,label", "Ann,0,3,PER", "Ann,0", '"Ann', "Ann,a,b,", ",,,", "Ann,,,", "Bo,9,9,X"]),
    max_size=5,
).map(lambda rows: "\n".join(["text,start,end,label", *rows]).encode())
LAYER_LINES = (
    *("#T_SP=x.E|label", "#T_RL=x.R|l|BT_x.E", "#T_SP=", "#T_CH=a|b", "#Text=Ann Lee", "#Text=", "", "1-1"),
    *("1-1\t0-3\tAnn\tP[1]", "1-2\t4-7\tLee\tP[1]", "1-2\t4-7\tLee\tP|Q[2]\tr\t1-1[1_2]", "1-1.1\t0-0\t\tP"),
)
LAYERS = st.lists(st.sampled_from(LAYER_LINES), max_size=8).map(
    lambda lines: "\n".join(["#FORMAT=WebAnno TSV 3.3", *lines]).encode()
)


@settings(max_examples=100, deadline=None)
@given(TABLES)
def test_any_table(content):
    read_whatever(content, "csv")


@settings(max_examples=200, deadline=None)
@given(LAYERS)
def test_any_layers(content):
    read_whatever(content, "webanno")


CORPORA = {
    "ace": ("x.apf.xml", "x.sgm"),
    "ace-events": ("x.apf.xml", "x.sgm"),
    "conll-2012": ("x.gold_conll", "y.gold_conll"),
    "kbp": ("x.tab", "d.xml"),
    "ontonotes": ("x.name", "y.name"),
}
FRAGMENTS = st.sampled_from([
    b"<source_file><document>", b"</document></source_file>", b'<entity TYPE="PER">', b"</entity>", b"\n", b"\r\n",
    b'<entity_mention ID="1">', b"</entity_mention>", b"<extent>", b"</extent>", b'<charseq START="0" END="2">Ann',
    b"</charseq>", b"<BODY>", b"</BODY>", b"Ann", b"&amp;", b"&#x110000;", b"\xff", b"<!DOCTYPE a [<!ENTITY b 'c'>]>",
    b'<DOC DOCNO="bn/x@0">\n', b"</DOC>\n", b'<ENAMEX TYPE="X">', b"</ENAMEX>", b"#begin document (d); part 000\n",
    b"#end document\n", b"d 0 0 Ann N * - - - A (X* -\n", b"d 0 0 Ann N * - - - A *) -\n",
    b"r\tm\tAnn\td:0-2\tk\tPER\tNAM\t1\n", b"r\tm\tAnn\td:5-7\tk\tPER\tNOM\t1\n",
])  # fmt: skip


@pytest.mark.parametrize("format", sorted(CORPORA))
@settings(max_examples=60, deadline=None)
@given(*[st.one_of(st.binary(max_size=30), st.lists(FRAGMENTS, max_size=10).map(b"".join))] * 2)
def test_any_files_of_a_corpus(format, first, second):
    with tempfile.TemporaryDirectory() as folder:
        for name, content in zip(CORPORA[format], (first, second), strict=True):
            (Path(folder) / name).write_bytes(content)
        for skip_bad in (False, True):
            with expecting_at_most_a_format_error(folder):
                list(read(folder, format, skip_bad=skip_bad))

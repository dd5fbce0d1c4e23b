"""Files of any size are read and written with the memory of one record."""

from __future__ import annotations

import io
import json
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.document import Document
from spanwise.errors import FormatError
from spanwise.formats import json_array, read, write

SENTENCE = Document.from_words(["w" * 6000, "word"], [(0, 1, "PER"), (1, 2, "ORG")])
FORMATS = ("jsonl", "spert", "conll", "oneie", "dygie")
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("format", FORMATS)
def test_memory_does_not_grow_with_the_file(tmp_path, format, monkeypatch):
    monkeypatch.setattr(json_array, "_CHUNK", 2**14)
    path = tmp_path / "x"
    tracemalloc.start()
    write((SENTENCE for _ in range(800)), path, format)
    assert sum(1 for _ in read(path, format)) == 800
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert path.stat().st_size > 2**22
    assert peak < 2**19


@settings(max_examples=200, deadline=None)
@given(st.lists(json_values, max_size=5), st.integers(1, 9), st.sampled_from([None, 0, 2]), st.booleans())
def test_an_array_cut_into_chunks_anywhere_is_the_same_array(values, chunk, indent, ascii_only):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_array, "_CHUNK", chunk)
        stream = io.BytesIO(json.dumps(values, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass"))
        assert [value for _, value in json_array.elements(stream, 2**20)] == values


def test_elements_come_with_the_line_they_start_on():
    stream = io.BytesIO(b'[\n{"a":\n1},\n\n {"b": 2}, 3\n,4]')
    assert [line for line, _ in json_array.elements(stream, 2**20)] == [2, 5, 5, 6]


def test_an_error_at_the_start_of_a_big_array_is_found_without_reading_it_all():
    class Counting(io.BytesIO):
        taken = 0

        def read(self, size=-1):
            self.taken += size
            return super().read(size)

    stream = Counting(b'[{"tokens": ["a" "b"]},' + b'{"tokens": ["a"]},' * 1_000_000)
    with pytest.raises(FormatError, match="the JSON is broken"):
        list(json_array.elements(stream, 2**28))
    assert stream.taken <= 2 * json_array._CHUNK


@pytest.mark.parametrize("format", FORMATS)
def test_a_record_of_a_megabyte_is_fine(tmp_path, format):
    words = ["w" * 99] * 10_000
    document = Document.from_words(
        words, [(9_990, 10_000, "PER")], id="big#0", metadata={"doc_key": "big", "sentence": 0}
    )
    write([document], tmp_path / "x", format)
    (read_back,) = read(tmp_path / "x", format)
    assert (read_back.text, read_back.entities) == (document.text, document.entities)


def test_a_line_above_the_limit_is_refused_or_skipped(tmp_path, monkeypatch):
    monkeypatch.setattr("spanwise.formats.reading.MAX_RECORD", 100)
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "a"}\n' + json.dumps({"text": "b" * 1000}) + '\n{"text": "c"}\n')
    with pytest.raises(FormatError, match=r"x\.jsonl:2: the line is longer than 0 MB, too much for one record"):
        list(read(path))
    assert [d.text for d in read(path, skip_bad=True)] == ["a", "c"]


def test_an_array_element_above_the_limit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("spanwise.formats.reading.MAX_RECORD", 100)
    monkeypatch.setattr(json_array, "_CHUNK", 10)
    path = tmp_path / "x.json"
    path.write_text('[{"tokens": ["a"]},\n' + json.dumps({"tokens": ["b" * 1000]}) + "]")
    with pytest.raises(FormatError, match=r"x\.json:2: a record is longer than 0 MB"):
        list(read(path, "spert"))

"""Formats are recognized by content first, then by extension."""

from __future__ import annotations

import pytest

from spanwise.document import Document
from spanwise.errors import FormatError
from spanwise.formats import FORMATS, detect, format_for_writing, read, write

DOCUMENT = Document.from_words(["Ann"], [(0, 1, "PER")], id="k#0", metadata={"doc_key": "k", "sentence": 0})


@pytest.mark.parametrize("name", sorted(name for name, format in FORMATS.items() if format.write))
@pytest.mark.parametrize("extension", ["", ".dat", ".json"])
def test_every_format_is_recognized_in_what_it_wrote(tmp_path, name, extension):
    path = tmp_path / f"x{extension}"
    write([DOCUMENT] * 2, path, name)
    assert detect(path) == name
    assert next(read(path)).text == "Ann"


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ('{"tokens": ["a"], "entities": []}\n', "spert"),
        ('\ufeff[\r\n  {"tokens": ["a"]}]', "spert"),
        ('\n{"text": "[a]", "metadata": {"tokens": []}}', "jsonl"),
        ("\ufeffa\tO\r\n\r\n", "conll"),
        ("a x y O\n", "conll"),
        ("B52\tB-X\n", "conll"),
        ("-DOCSTART- -X- O O\n\na x O\n", "conll"),
        ("科0\tO\n技1\tB-ORG\n", "conll-weibo"),
        ("Ann\tPER\nLee\tPER\nleft\tO\n", "conll"),
        ("Ann\tB-PER\rleft\tO\r\rBo\tB-PER\r", "conll"),
        ('{"text": "a"}\r{"text": "b"}', "jsonl"),
    ],
)
def test_content_tells_the_format(tmp_path, content, name):
    path = tmp_path / "x"
    path.write_text(content, encoding="utf-8", newline="")
    assert detect(path) == name


@pytest.mark.parametrize(
    "content",
    [
        "the last word\na word\nO\n",
        "we saw it\nyou see it\nthey O\n",
        "a NN\nb NN\nc VB\n",
        "Ann PER\nleft O\nBo LOC\n",
    ],
)
def test_words_at_the_end_of_lines_are_not_taken_for_labels(tmp_path, content):
    (tmp_path / "x").write_text(content)
    with pytest.raises(FormatError, match="the format is not recognized"):
        detect(tmp_path / "x")


def test_content_counts_more_than_the_extension(tmp_path):
    (tmp_path / "x.tsv").write_text('{"text": "a"}\n')
    assert detect(tmp_path / "x.tsv") == "jsonl"


def test_a_broken_file_is_still_recognized_by_its_extension(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"text": \n')
    assert detect(tmp_path / "x.jsonl") == "jsonl"


def test_a_first_record_longer_than_the_head_is_recognized(tmp_path):
    big = Document.from_words(["w" * 9] * 20_000)
    for name in ("jsonl", "spert", "oneie", "dygie"):
        write([big], tmp_path / name, name)
        assert detect(tmp_path / name) == name


def test_an_empty_file_or_folder_is_reported(tmp_path):
    (tmp_path / "x").write_text(" \n")
    with pytest.raises(FormatError, match="the file is empty: it holds no documents"):
        detect(tmp_path / "x")
    with pytest.raises(FormatError, match=r"a folder without \.ann files or those of a corpus; give one"):
        detect(tmp_path)


def test_the_extension_tells_what_to_write():
    names = [format_for_writing(f"x{suffix}") for suffix in (".jsonl", ".json", ".CONLL", ".tsv")]
    assert names == ["jsonl", "spert", "conll", "conll"]
    with pytest.raises(FormatError, match=r"the extension '\.xml' does not determine the format; choose one of brat, "):
        format_for_writing("x.xml")

"""MSRA in its two layouts: words with tags on a line, and a character and its tag per line. All texts are invented."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.document import Document
from spanwise.errors import FormatError
from spanwise.formats import Report, detect, read

LINES = "安娜/nr 去/o 哈尔登/ns 5/o //o 6/o 天/o 。/o\n\n橡树/nt 公司/o\n"
COLUMNS = "安 B-NR\n娜 I-NR\n去 O\n哈 B-NS\n尔 I-NS\n登 I-NS\n\n橡 B-NT\n树 I-NT\n"


def marked(document):
    return [(document.text_of(entity), entity.label) for entity in document.entities]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030"])
def test_words_with_tags_are_read_as_characters(tmp_path, encoding):
    path = tmp_path / "train1.txt"
    path.write_text(LINES, encoding=encoding)
    report = Report()
    first, second = read(path, report=report)
    assert detect(path) == "msra"
    assert first.text == "安娜去哈尔登5/6天。"
    assert first.word_texts == list(first.text)
    assert (marked(first), marked(second)) == ([("安娜", "NR"), ("哈尔登", "NS")], [("橡树", "NT")])
    assert report.notes == (["train1.txt: encoding GB 18030 (detected)"] if encoding == "gb18030" else [])


def test_characters_with_tags_give_the_same_entities(tmp_path):
    path = tmp_path / "msra_train_bio"
    path.write_text(COLUMNS, encoding="utf-8")
    first, second = read(path)
    assert detect(path) == "conll"
    assert (first.text, marked(first), marked(second)) == (
        "安娜去哈尔登",
        [("安娜", "NR"), ("哈尔登", "NS")],
        [("橡树", "NT")],
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("安娜/nr 去\n".encode(), "x:1: '去' is not a word and its tag"),
        ("安娜/nr\n/o\n".encode(), "x:2: '/o' is not a word and its tag"),
        ("安娜/nr\n".encode("gb18030") + b"\xff\xff/o\n", "x:2: byte 0xff is neither UTF-8 nor GB 18030"),
    ],
)
def test_a_damaged_line_is_named(tmp_path, content, message):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(FormatError, match=message):
        list(read(tmp_path / "x", "msra"))


WORDS = st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FA5), min_size=1, max_size=4)


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030"])
@given(st.lists(st.tuples(WORDS, st.sampled_from(["o", "nr", "ns", "nt"])), min_size=1, max_size=6))
def test_what_is_written_in_the_layout_is_read_back(encoding, words):
    words = [("的", "o"), *words]  # some other characters are the same bytes as UTF-8
    spans, start = [], 0
    for word, tag in words:
        spans += [(start, start + len(word), tag.upper())] if tag != "o" else []
        start += len(word)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_bytes((" ".join(f"{word}/{tag}" for word, tag in words) + "\n").encode(encoding))
        expected = Document.from_words("".join(word for word, _ in words), spans, joiner="")
        assert list(read(path, "msra")) == [expected]

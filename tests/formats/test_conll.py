"""CoNLL files as they come: separators, odd Unicode, blank lines, document marks, wrong tags."""

from __future__ import annotations

import pytest

from spanwise.errors import FormatError
from spanwise.formats import Report, read, write


@pytest.fixture
def conll(tmp_path):
    def parse(content: str | bytes, format="conll", **options):
        path = tmp_path / "train.conll"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return list(read(path, format, **options))

    return parse


def marked(document):
    return [(document.text_of(e), e.label) for e in document.entities]


def test_first_column_is_the_word_and_last_the_tag(conll):
    (document,) = conll("EU NNP B-NP B-ORG\nrejects VBZ B-VP O\n")
    assert document.text == "EU rejects"
    assert marked(document) == [("EU", "ORG")]


@pytest.mark.parametrize("blank", ["\n", "\n\n\n", "\t\n", "  \n", "\r\n"])
def test_a_line_of_white_space_ends_a_sentence(conll, blank):
    documents = conll(f"a\tO\n{blank}b\tB-X\n")
    assert [d.text for d in documents] == ["a", "b"]


@pytest.mark.parametrize(
    "word", ["\u2028", "\u2029", "\u0085", "\u00a0", "a\u00a0b", "\x0b", "\x0c", "\x1c", "a b", "\u3000"]
)
def test_only_tab_and_line_feed_separate(conll, word):
    (document,) = conll(f"x\tO\n{word}\tB-X\ny\tI-X\n")
    assert document.word_texts == ["x", word, "y"]
    assert marked(document) == [(f"{word} y", "X")]


def test_byte_order_mark_and_carriage_returns_are_no_part_of_words(conll):
    (document,) = conll("\ufeffAnn\tB-PER\r\nLee\tI-PER\r\n\r\n")
    assert document.text == "Ann Lee"
    assert marked(document) == [("Ann Lee", "PER")]


def test_carriage_returns_alone_end_lines(conll):
    report = Report()
    documents = conll("\ufeffAnn\tB-PER\rleft\tO\r\rBo\tB-PER\r", report=report)
    assert [(d.word_texts, marked(d)) for d in documents] == [
        (["Ann", "left"], [("Ann", "PER")]), (["Bo"], [("Bo", "PER")]),
    ]  # fmt: skip
    assert report.read == 2


def test_a_long_file_of_carriage_returns_is_the_same_file(conll):
    content = "".join(f"word{number}\tB-X\nother\tO\n\n" for number in range(20_000))
    assert conll(content.replace("\n", "\r")) == conll(content)


def test_a_bad_line_is_numbered_by_carriage_returns(conll):
    with pytest.raises(FormatError, match=r"train\.conll:3: 'c' is not a token and a tag"):
        conll("a\tO\rb\tB-X\rc\r")


def test_named_columns_are_merged_to_nested_entities(conll):
    content = "the O O O\nBank B-ORG O O\nof I-ORG O O\nHalden I-ORG B-LOC B-LOC\n"
    (document,) = conll(content, tag_columns=(2, 3, 4))
    assert marked(document) == [("Bank of Halden", "ORG"), ("Halden", "LOC")]
    (flat,) = conll(content, tag_columns=[2])
    assert marked(flat) == [("Bank of Halden", "ORG")]


def test_each_named_column_has_its_own_scheme(conll):
    report = Report()
    (document,) = conll("a B-X S-Y\nb I-X O\n", tag_columns=(2, 3), report=report)
    assert marked(document) == [("a b", "X"), ("a", "Y")]
    assert report.notes == ["train.conll: schemes IOB2 in column 2, BIOES in column 3 (detected)"]


@pytest.mark.parametrize(
    ("content", "columns", "message"),
    [
        ("a B-X\n", (3,), r"train\.conll:1: the line has 2 columns, but column 3 should hold a tag"),
        ("a B-X\n", (1,), "column 1 cannot hold tags: columns count from 1"),
    ],
)
def test_a_column_that_cannot_hold_tags_is_refused(conll, content, columns, message):
    with pytest.raises(FormatError, match=message):
        conll(content, tag_columns=columns)


def test_tag_columns_name_the_format(tmp_path):
    (tmp_path / "x.txt").write_text("Ann B-PER -\nleft O -\n")
    assert [marked(document) for document in read(tmp_path / "x.txt", tag_columns=(2,))] == [[("Ann", "PER")]]
    with pytest.raises(FormatError, match="tag columns belong to CoNLL files, not to 'jsonl'"):
        read(tmp_path / "x.txt", "jsonl", tag_columns=(2,))


def test_columns_with_tags_that_are_not_read_are_reported(conll):
    report = Report()
    conll("EU NNP B-NP B-ORG\nrejects VBZ O O\n", report=report)
    assert report.notes == [
        "train.conll: column 3 ('B-NP') also holds tags, which are not read; name every column to read "
        "(--tag-columns, tag_columns)",
        "train.conll: scheme IOB2 (detected)",
    ]


@pytest.mark.parametrize("content", ["Ann B-PER O\nleft O O\n", "Ann PER O\nleft - O\n"])
def test_several_columns_without_an_entity_in_the_last_are_refused(conll, content):
    with pytest.raises(FormatError, match="not one entity was read: the last of its 3 columns is O for every word"):
        conll(content)
    assert [marked(document) for document in conll(content, tag_columns=(3,))] == [[]]


def test_words_that_are_not_labeled_are_read(conll):
    assert [d.text for d in conll("Ann O\nleft O\n")] == ["Ann left"]


def test_docstart_lines_are_borders_and_no_sentences(conll):
    documents = conll("-DOCSTART- -X- O O\n\na x y O\n-DOCSTART- -X- O O\nb x y B-PER\n")
    assert [d.text for d in documents] == ["a", "b"]


def test_a_word_that_only_begins_like_docstart_is_a_word(conll):
    assert [d.text for d in conll("-DOCSTART-ed\tO\nb\tB-X\n")] == ["-DOCSTART-ed b"]


def test_an_inside_tag_without_its_begin_starts_an_entity_and_is_reported(conll):
    report = Report()
    (document,) = conll("a\tI-X\nb\tB-X\nc\tI-Y\n", scheme="IOB2", report=report)
    assert marked(document) == [("a", "X"), ("b", "X"), ("c", "Y")]
    assert report.notes == [
        "train.conll: 2 tags out of place for IOB2; each starts or ends an entity, none was dropped"
    ]


def test_the_detected_scheme_is_reported(conll):
    report = Report()
    (document,) = conll("a\tI-X\nb\tB-X\n", report=report)
    assert marked(document) == [("a", "X"), ("b", "X")]
    assert report.notes == ["train.conll: scheme IOB1 (detected)"]


def test_chinese_characters_are_joined_without_spaces(conll):
    (document,) = conll("吴 B-NAME\n重 M-NAME\n阳 E-NAME\n， O\nA O\n", report=(report := Report()))
    assert document.text == "吴重阳，A"
    assert document.word_texts == list("吴重阳，A")
    assert marked(document) == [("吴重阳", "NAME")]
    assert "train.conll: characters joined without spaces (detected)" in report.notes


def test_a_few_chinese_characters_do_not_change_how_words_are_joined(conll):
    documents = conll("my\tO\nname\tO\nis\tO\n\n王\tB-PER\n")
    assert [d.text for d in documents] == ["my name is", "王"]


def test_weibo_digits_are_taken_away(conll):
    (document,) = conll("科0\tB-ORG.NAM\n技1\tI-ORG.NAM\n70\tO\n😀0\tO\n", "conll-weibo")
    assert document.text == "科技7😀"
    assert marked(document) == [("科技", "ORG.NAM")]


def test_weibo_files_are_recognized(tmp_path):
    path = tmp_path / "weibo.dev"
    path.write_text("科0\tB-ORG\n技1\tI-ORG\n", encoding="utf-8")
    assert [d.text for d in read(path)] == ["科技"]


def test_a_weibo_token_without_digit_is_refused_with_its_line(conll):
    with pytest.raises(FormatError, match=r"train\.conll:2: the token '技' does not end in a digit"):
        conll("科0\tO\n技\tO\n", "conll-weibo")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a\tO\nb\n", r"train\.conll:2: 'b' is not a token and a tag"),
        ("a\tO\n\tO\n", r"train\.conll:2: '\\tO' is not a token and a tag"),
        ("a\tO\n\nb\tO\nc\tPER\n", r"train\.conll:4: the tag 'PER' is not one of IOB2"),
        (b"a\tO\n\ncaf\xe9\tO\n", r"train\.conll:3: byte 0xe9 is not UTF-8; .*iconv"),
        ("a\tB-X\nb\tM-X\nc\tL-X\n", r"train\.conll: the tag prefixes B, L, M fit no scheme"),
    ],
)
def test_a_bad_line_is_named(conll, content, message):
    with pytest.raises(FormatError, match=message):
        conll(content)


def test_a_bad_sentence_is_skipped_whole_and_counted(conll):
    report = Report()
    documents = conll(b"a\tO\n\nb\tO\ncaf\xe9\tO\n\nc\tO\nd\n\ne\tB-X\n", skip_bad=True, report=report)
    assert [d.text for d in documents] == ["a", "e"]
    assert (report.read, report.bad) == (2, 2)
    assert [error.line for error in report.errors] == [4, 7]


def test_a_sentence_without_end_is_refused_before_memory_is_full(conll, monkeypatch):
    monkeypatch.setattr("spanwise.formats.conll.MAX_SENTENCE", 10)
    with pytest.raises(FormatError, match="more than 10 words; end sentences with a blank line"):
        conll("a\tO\n" * 100)
    assert len(conll("a\tO\n" * 10)) == 1


CONLL_2003 = """\
-DOCSTART- -X- O O

Ann NNP I-NP I-PER
Lee NNP I-NP I-PER
met VBD I-VP O
Bo NNP I-NP I-PER
Oak NNP B-NP B-PER
. . O O

Halden NNP I-NP I-LOC

-DOCSTART- -X- O O

Rain NN I-NP O
. . O O
"""


def test_the_original_layout_of_conll_2003_is_read_without_options(tmp_path):
    (tmp_path / "eng.train").write_text(CONLL_2003)
    report = Report()
    documents = list(read(tmp_path / "eng.train", report=report))
    assert [(d.text, [(d.text_of(e), e.label) for e in d.entities]) for d in documents] == [
        ("Ann Lee met Bo Oak .", [("Ann Lee", "PER"), ("Bo", "PER"), ("Oak", "PER")]),
        ("Halden", [("Halden", "LOC")]),
        ("Rain .", []),
    ]
    assert [d.metadata for d in documents] == [
        {"doc_key": "eng.train-1", "sentence": 0},
        {"doc_key": "eng.train-1", "sentence": 1},
        {"doc_key": "eng.train-2", "sentence": 0},
    ]
    assert "eng.train: scheme IOB1 (detected)" in report.notes


def test_the_documents_of_conll_2003_are_kept_as_those_of_dygie(tmp_path):
    (tmp_path / "eng.train").write_text(CONLL_2003)
    write(read(tmp_path / "eng.train"), tmp_path / "x.json", "dygie")
    assert [document.id for document in read(tmp_path / "x.json")] == [
        "eng.train-1#0",
        "eng.train-1#1",
        "eng.train-2#0",
    ]


def test_a_file_without_documents_has_no_metadata(tmp_path):
    (tmp_path / "x").write_text("Ann B-PER\n\nBo B-PER\n")
    assert [dict(document.metadata) for document in read(tmp_path / "x")] == [{}, {}]

"""OntoNotes in its two layouts: the columns of CoNLL 2012, and `.name` files. All texts are invented."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.document import Document
from spanwise.errors import FormatError
from spanwise.formats import Report, detect, read

NAME = """<DOC DOCNO="bn/inv/00/inv_0001@0001@inv@bn@en@on">
<ENAMEX TYPE="PERSON">Ann Lee</ENAMEX> left <ENAMEX TYPE="ORG">Oak -AMP- Sons</ENAMEX> .
<TURN>
It is a <ENAMEX TYPE="NORP" S_OFF="4">pro-Halden</ENAMEX> paper -LRB- 5 -LAB- 6 -RRB- .
</DOC>
"""
CHINESE = """<DOC DOCNO="nw/inv/00/inv_0002@0000@inv@nw@ch@on">
<ENAMEX TYPE="PERSON">安娜</ENAMEX> 离开 <ENAMEX TYPE="GPE">哈尔登 市</ENAMEX> 5 天 。
</DOC>
"""


def columns(words, cells, document="bn/inv/00/inv_0001"):
    """The columns of a sentence, aligned with spaces as in the distribution."""
    rows = (
        f"{document}   1   {i:>3}   {word:>12}   NN   (TOP*   -   -   -   Ann_Lee   {cell:>10}   (ARG0*   -\n"
        for i, (word, cell) in enumerate(zip(words, cells, strict=True))
    )
    return "".join(rows) + "\n"


def document(*sentences, name="bn/inv/00/inv_0001", part=1):
    return f"#begin document ({name}); part {part:03}\n{''.join(sentences)}#end document\n"


WORDS = ["Ann", "Lee", "left", "Halden", "."]
CELLS = ["(PERSON*", "*)", "*", "(GPE)", "*"]


def marked(document):
    return [(document.text_of(entity), entity.label) for entity in document.entities]


def test_columns_are_read_by_sentence_with_their_document(tmp_path):
    path = tmp_path / "inv_0001.v4_gold_conll"
    path.write_text(document(columns(WORDS, CELLS), columns(["Rain", "."], ["*", "*"])))
    first, second = read(path)
    assert detect(path) == detect(tmp_path) == "conll-2012"
    assert (first.text, marked(first)) == ("Ann Lee left Halden .", [("Ann Lee", "PERSON"), ("Halden", "GPE")])
    assert (first.id, second.id) == ("bn/inv/00/inv_0001-1#0", "bn/inv/00/inv_0001-1#1")
    assert second.metadata == {"doc_key": "bn/inv/00/inv_0001-1", "sentence": 1}


def test_nested_brackets_are_nested_entities(tmp_path):
    (tmp_path / "x_gold_conll").write_text(document(columns(["Bank", "of", "Halden"], ["(ORG*", "*", "(GPE))"])))
    (found,) = read(tmp_path)
    assert marked(found) == [("Bank of Halden", "ORG"), ("Halden", "GPE")]


def test_a_folder_is_read_without_other_files_and_without_texts_that_are_not_annotated(tmp_path):
    for folder, name in (("pt/nt/40", "nt_4001"), ("bn/inv/00", "inv_0001")):
        (tmp_path / folder).mkdir(parents=True)
        path = tmp_path / folder / name
        path.with_suffix(".gold_conll").write_text(document(columns(WORDS, CELLS), name=f"{folder}/{name}"))
        path.with_suffix(".auto_conll").write_text("something else")
    report = Report()
    assert [found.id for found in read(tmp_path, report=report)] == ["bn/inv/00/inv_0001-1#0"]
    assert report.notes == [f"{tmp_path.name}: 1 sentence of pt/ is not read, because pt/ is not annotated for names"]


@pytest.mark.parametrize(
    ("names", "content"),
    [
        (("a.gold_conll", "a.v4_gold_conll"), document(columns(WORDS, CELLS))),
        (("a.name", "b.name"), NAME),
    ],
)
def test_a_document_in_two_files_is_refused_with_both(tmp_path, names, content):
    for name in names:
        (tmp_path / name).write_text(content)
    message = rf"{names[1]}:1: the document 'bn/inv/00/inv_0001-1' is given twice, here and in .*/{names[0]};"
    with pytest.raises(FormatError, match=message):
        list(read(tmp_path))


def test_a_document_that_is_twice_in_a_file_is_refused(tmp_path):
    (tmp_path / "a.gold_conll").write_text(2 * document(columns(WORDS, CELLS)))
    with pytest.raises(FormatError, match=r"a\.gold_conll:9: the document '.*' is given twice"):
        list(read(tmp_path))


def test_a_folder_without_annotated_texts_is_refused_for_that_reason(tmp_path):
    (tmp_path / "x.gold_conll").write_text(document(columns(WORDS, CELLS), name="pt/nt/40/nt_4001"))
    with pytest.raises(FormatError, match=r"all sentences are of pt/, which is not annotated for names; give other"):
        list(read(tmp_path))


def test_chinese_columns_are_read_as_characters(tmp_path):
    (tmp_path / "x.gold_conll").write_text(document(columns(["安娜", "离开", "哈尔登"], ["(PERSON)", "*", "(GPE)"])))
    (found,) = read(tmp_path)
    assert (found.text, found.word_texts[:2], marked(found)[1]) == ("安娜离开哈尔登", ["安", "娜"], ("哈尔登", "GPE"))


def test_a_chinese_file_of_numbers_is_read_as_the_rest_of_its_folder(tmp_path):
    (tmp_path / "a.gold_conll").write_text(document(columns(["安娜", "离开", "哈尔登"], ["*"] * 3), name="a"))
    (tmp_path / "b.gold_conll").write_text(document(columns(["1998", "2.5", "%", "3"], ["*"] * 4), name="b"))
    report = Report()
    _, numbers = read(tmp_path, report=report)
    assert (numbers.text, report.notes) == ("19982.5%3", [])


@pytest.mark.parametrize(
    ("most", "text", "how"),
    [("en", "安娜 离开", "words with spaces"), ("ch", "安娜离开", "characters without spaces")],
)
def test_a_folder_that_mixes_languages_is_noted_and_read_in_one_way(tmp_path, most, text, how):
    words = {"ch": ["安娜", "离开"], "en": ["Ann", "left"]}
    for name in ("ch", "en", most + "2"):
        (tmp_path / f"{name}.gold_conll").write_text(document(columns(words[name[:2]], ["*", "*"]), name=name))
    report = Report()
    assert next(iter(read(tmp_path, report=report))).text == text
    (note,) = report.notes
    assert note.endswith(f" and are all read as {how}; read one language at a time")
    assert ("2 Latin files, 1 Chinese file" if most == "en" else "2 Chinese files, 1 Latin file") in note


def test_a_folder_of_names_that_mixes_languages_is_noted(tmp_path):
    (tmp_path / "a.name").write_text(NAME)
    (tmp_path / "b.name").write_text(CHINESE, encoding="utf-8")
    report = Report()
    assert list(read(tmp_path, report=report))[-1].text == "安娜 离开 哈尔登 市 5 天 。"
    assert "the files mix languages (1 Latin file, 1 Chinese file)" in report.notes[0]


def test_a_word_may_hold_a_space_that_is_no_separator(tmp_path):
    words = ["Ann\u00a0Lee", "5\u30006", "left"]
    (tmp_path / "x.gold_conll").write_text(document(columns(words, ["(PERSON)", "*", "*"])), encoding="utf-8")
    (found,) = read(tmp_path)
    assert (found.word_texts, marked(found)) == (words, [("Ann\u00a0Lee", "PERSON")])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (document(columns(["Ann", "left"], ["(PERSON*", "*"])), r"x\.gold_conll:2: the entity that begins here"),
        (document(columns(["Ann", "left"], ["*", "*)"])), r"x\.gold_conll:3: an entity ends here that has not begun"),
        (document(columns(["Ann"], ["B-PER"])), r"x\.gold_conll:2: 'B-PER' in column 11 is not '\(PERSON\*'"),
        (document(columns(["[WORD]"], ["*"])), r"x\.gold_conll:2: the word is \[WORD\]: the file is a skeleton"),
        (document("inv 0 0 Ann NN *\n"), r"x\.gold_conll:2: the line has 6 columns, but CoNLL 2012 has at least 12"),
        (document(columns(["Ann"], ["*"])).replace("#end document\n", ""), r"x\.gold_conll: the file ends inside"),
        ("#begin it\n", r"x\.gold_conll:1: '#begin it' is not '#begin document"),
        (columns(["Ann"], ["*"]), r"x\.gold_conll:1: the sentence lies outside #begin document"),
    ],
)  # fmt: skip
def test_damaged_columns_are_named_with_their_line(tmp_path, content, message):
    (tmp_path / "x.gold_conll").write_text(content)
    with pytest.raises(FormatError, match=message):
        list(read(tmp_path))


def test_names_are_read_by_sentence_with_brackets_and_ampersands(tmp_path):
    (tmp_path / "inv_0001.name").write_text(NAME)
    report = Report()
    first, second = read(tmp_path, report=report)
    assert detect(tmp_path) == detect(tmp_path / "inv_0001.name") == "ontonotes"
    assert (first.text, marked(first)) == ("Ann Lee left Oak & Sons .", [("Ann Lee", "PERSON"), ("Oak & Sons", "ORG")])
    assert (second.text, marked(second)) == ("It is a pro-Halden paper -LRB- 5 < 6 -RRB- .", [("pro-Halden", "NORP")])
    assert (first.id, second.metadata["doc_key"]) == ("bn/inv/00/inv_0001-1#0", "bn/inv/00/inv_0001-1")
    assert report.notes == [f"{tmp_path.name}: 1 name is part of a word (S_OFF, E_OFF) and read as whole words"]


def test_chinese_names_are_read_as_characters_without_spaces(tmp_path):
    (tmp_path / "x.name").write_text(CHINESE, encoding="utf-8")
    (found,) = read(tmp_path)
    assert found.text == "安娜离开哈尔登市5天。"
    assert found.word_texts == list(found.text)
    assert marked(found) == [("安娜", "PERSON"), ("哈尔登市", "GPE")]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("Lee</ENAMEX>", "Lee"), r"x\.name:2: the name of type 'PERSON' is not closed in its line"),
        (('<ENAMEX TYPE="ORG">', ""), r"x\.name:2: '</ENAMEX>' closes no name"),
        (("Ann Lee</E", "</E"), r"x\.name:2: '</ENAMEX>' closes no name, or an empty one"),
        ((' TYPE="ORG"', ""), r"x\.name:2: '<ENAMEX>' has no TYPE"),
        (("left", "<B> left"), r"x\.name:2: '<B>' is not a name"),
        (("left", "< left"), r"x\.name:2: .* holds a bracket outside a tag"),
        (("</DOC>\n", ""), r"x\.name: the file ends inside a document"),
        (("<DOC DOC", "<XDOC DOC"), r"x\.name:1: the sentence lies outside <DOC"),
    ],
)
def test_damaged_names_are_named_with_their_line(tmp_path, change, message):
    (tmp_path / "x.name").write_text(NAME.replace(*change))
    with pytest.raises(FormatError, match=message):
        list(read(tmp_path, "ontonotes"))


TOKENS = st.text(
    st.characters(categories=["Lu", "Ll", "Nd", "Po"], exclude_characters="#&<>*()"), min_size=1, max_size=6
)
LABELS = st.sampled_from(["PERSON", "GPE", "WORK_OF_ART"])


@st.composite
def nested_spans(draw):
    """Words, and spans over them that nest but never cross, outer ones first."""
    words = draw(st.lists(TOKENS, min_size=1, max_size=8))
    spans = []
    for first in range(len(words)):
        inside = [last for a, last, _ in spans if a <= first < last]
        limit = min(inside, default=len(words))
        lasts = sorted(draw(st.sets(st.integers(first + 1, limit), max_size=2)), reverse=True)
        spans += [(first, last, draw(LABELS)) for last in lasts]
    return words, spans


def in_columns(words, spans):
    cells = []
    for i in range(len(words)):
        opened = "".join(f"({label}" for first, _, label in spans if first == i)
        closed = ")" * sum(last == i + 1 for _, last, _ in spans)
        cells.append(f"{opened}{'' if opened and closed else '*'}{closed}")
    return document(columns(words, cells, "bn/x"), name="bn/x")


def in_names(words, spans):
    parts = []
    for i, word in enumerate(words):
        opened = "".join(f'<ENAMEX TYPE="{label}">' for first, _, label in spans if first == i)
        parts.append(opened + word + "</ENAMEX>" * sum(last == i + 1 for _, last, _ in spans))
    return f'<DOC DOCNO="bn/x@0001@x">\n{" ".join(parts)}\n</DOC>\n'


@pytest.mark.parametrize(("name", "written"), [("x.gold_conll", in_columns), ("x.name", in_names)])
@given(nested_spans())
def test_what_is_written_in_the_layout_is_read_back(name, written, case):
    words, spans = case
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / name).write_text(written(words, spans), encoding="utf-8", newline="")
        assert list(read(folder)) == [Document.from_words(words, spans, id="bn/x-1#0")]

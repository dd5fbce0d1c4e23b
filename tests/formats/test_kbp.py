"""TAC KBP: sources in markup, and one table of their mentions. All texts are invented."""

from __future__ import annotations

import tempfile
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.document import Document, Entity
from spanwise.errors import FormatError
from spanwise.formats import Report, detect, read

HEADER = '<?xml version="1.0" encoding="utf-8"?>\n'
NEWS = '<DOC id="NW1">\n<TEXT>\n<P>\nThe mayor of Halden\nleft Oak &amp; Sons.\n</P>\n</TEXT>\n</DOC>\n'
FORUM = '<doc id="DF1">\n<post author="annlee" id="p1">\nAnn left.\n</post>\n</doc>\n'


def row(document, source, text, label="PER", kind="NAM", written=None, shift=0):
    """A row of the table; the offsets are those of the text in the source."""
    start = source.index(written or text) - shift
    end = start + len(written or text) - 1
    return f"LDC\tEDL_{start}\t{text}\t{document}:{start}-{end}\tNIL1\t{label}\t{kind}\t1.0\n"


ROWS = [
    row("NW1", NEWS, "mayor", kind="NOM"),
    row("NW1", NEWS, "Halden", "GPE"),
    row("NW1", NEWS, "Oak & Sons", "ORG", written="Oak &amp; Sons"),
    row("DF1", FORUM, "Ann"),
    row("DF1", FORUM, "annlee"),
]


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "source" / "df").mkdir(parents=True)
    (tmp_path / "source" / "NW1.xml").write_text(NEWS)
    (tmp_path / "source" / "df" / "DF1.df.xml").write_text(FORUM)
    (tmp_path / "gold.tab").write_text("".join(ROWS))
    return tmp_path


def marked(document):
    return [(document.text_of(entity), entity.label) for entity in document.entities]


def test_mentions_are_placed_in_the_text_without_tags(corpus):
    report = Report()
    news, forum = read(corpus, report=report)
    assert detect(corpus) == detect(corpus / "gold.tab") == "kbp"
    assert (news.id, news.text) == ("NW1", "\n\n\nThe mayor of Halden\nleft Oak & Sons.\n\n\n\n")
    assert marked(news) == [("mayor", "PER"), ("Halden", "GPE"), ("Oak & Sons", "ORG")]
    assert marked(forum) == [("Ann", "PER")]
    assert report.dropped == {"KBP mention inside a tag, such as the author of a post": 1}


def test_names_alone_are_read_when_asked_for(corpus):
    report = Report()
    news, _ = read(corpus, "kbp-names", report=report)
    assert marked(news) == [("Halden", "GPE"), ("Oak & Sons", "ORG")]
    assert report.dropped["KBP nominal mention (the format kbp reads it)"] == 1


def test_offsets_may_begin_at_the_tag_of_the_document(corpus):
    (corpus / "source" / "NW1.xml").write_text(HEADER + NEWS)
    news, _ = read(corpus)
    assert marked(news)[1] == ("Halden", "GPE")


def test_a_table_stands_for_its_folder_and_a_list_for_a_split(corpus):
    assert [document.id for document in read(corpus / "gold.tab")] == ["NW1", "DF1"]
    (corpus / "train.list").write_text("NW1\n")
    report = Report()
    assert [document.id for document in read(corpus / "train.list", report=report)] == ["NW1"]
    assert report.dropped == {}


def test_sources_without_mentions_and_mentions_without_a_source_are_reported(corpus):
    (corpus / "source" / "NW9.xml").write_text(NEWS)
    (corpus / "gold.tab").write_text("".join(ROWS) + row("CMN1", NEWS, "Halden", "GPE"))
    report = Report()
    assert len(list(read(corpus, report=report))) == 2
    assert report.notes == [
        "gold.tab: 1 source without a mention in the table is not read",
        "gold.tab: 1 mention is not read: 1 document has no source",
    ]
    assert report.dropped["KBP mention of a missing source"] == 1


@pytest.mark.parametrize("text", ["Oak &am", "mp; Sons"])
def test_a_mention_that_cuts_a_reference_is_counted_apart(corpus, text):
    (corpus / "gold.tab").write_text("".join(ROWS) + row("NW1", NEWS, text, "ORG"))
    report = Report()
    news, _ = read(corpus, report=report)
    assert len(news.entities) == 3
    assert report.dropped == {
        "KBP mention that begins or ends inside a character reference such as &amp;": 1,
        "KBP mention inside a tag, such as the author of a post": 1,
    }


def test_a_bad_row_is_placed_in_the_table_where_a_list_is_read(corpus):
    (corpus / "gold.tab").write_text("".join(ROWS) + row("NW1", NEWS, "Halden", " "))
    (corpus / "train.list").write_text("DF1\nNW1\n")
    with pytest.raises(FormatError, match=r"gold\.tab:6: the mention has no type, such as PER, in column 6; add it"):
        list(read(corpus / "train.list"))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("LDC\tm\tAnn\n", r"gold\.tab:6: 'LDC\\tm\\tAnn' is not a row of mentions"),
        (row("NW1", NEWS, "Halden").replace(":", "+"), r"gold\.tab:6: .* is not a row of mentions"),
        (row("NW1", NEWS, "Halden", kind="XXX"), r"gold\.tab:6: the type of mention is 'XXX'"),
        (row("NW1", NEWS, "Halden", ""), r"gold\.tab:6: the mention has no type"),
        (row("NW1", NEWS, "Upham", written="Halden"), r"gold\.tab:6: the mention 'Upham' \(EDL_.*\) is not at char"),
    ],
)
def test_a_bad_row_is_named_with_its_line(corpus, bad, message):
    (corpus / "gold.tab").write_text("".join(ROWS) + bad)
    with pytest.raises(FormatError, match=message):
        list(read(corpus))
    report = Report()
    assert list(read(corpus, skip_bad=True, report=report))
    assert report.bad == 1


@pytest.mark.parametrize("tables", [[], ["a.tab", "b.tab"]])
def test_a_folder_without_one_table_is_refused(corpus, tables):
    (corpus / "gold.tab").unlink()
    for table in tables:
        (corpus / table).write_text("".join(ROWS))
    with pytest.raises(FormatError, match=r"the folder has (no table|2 tables) of mentions"):
        list(read(corpus, "kbp"))


def test_a_document_with_two_sources_is_refused(corpus):
    (corpus / "NW1.sgm").write_text(NEWS)
    with pytest.raises(FormatError, match="the document 'NW1' has two sources"):
        list(read(corpus))


def test_a_mention_that_fits_inside_a_tag_as_well_is_one_of_the_text(tmp_path):
    source = HEADER + '<DOC id="d">v</DOC>\n'
    counted = source.index(">v") + 1 - len(HEADER)
    assert source[HEADER.index("v")] == "v"
    table = f"r\tm\tv\td:{counted}-{counted}\tNIL\tPER\tNAM\t1.0\n"
    padded = source.replace("<?xml ", "<?xml " + " " * (counted - HEADER.index("v")))
    (tmp_path / "d.xml").write_text(padded)
    (tmp_path / "gold.tab").write_text(table)
    (document,) = read(tmp_path)
    assert [document.text_of(entity) for entity in document.entities] == ["v"]


LETTERS = st.characters(categories=["Lu", "Ll", "Lo", "Nd", "So"])


@st.composite
def written_documents(draw):
    """A source and its table, written here, and what they say. No letter occurs twice."""
    text, written, counted = "", HEADER + '<DOC id="d">', []
    for letter in draw(st.lists(LETTERS, unique=True, min_size=1, max_size=20)):
        for character in (*draw(st.sampled_from(["", " ", "\n", "& ", "< "])), letter):
            written += draw(st.sampled_from(["", "", "<p>", '<a href="b c">']))
            counted.append(len(written))
            text, written = text + character, written + escape(character)
    text += "\n"
    written, counted = written + "</DOC>\n", [*counted, len(written)]
    shift = draw(st.sampled_from([0, len(HEADER)]))
    places = [index for index, character in enumerate(text) if not character.isspace() and character not in "&<"]
    entities, rows = [], []
    for number in range(draw(st.integers(1, 4))):
        first, last = sorted((draw(st.sampled_from(places)), draw(st.sampled_from(places))))
        entities.append(Entity(first, last + 1, "PER"))
        covered, end = " ".join(text[first : last + 1].split()), counted[last] + len(escape(text[last])) - 1
        rows.append(f"r\tm{number}\t{covered}\td:{counted[first] - shift}-{end - shift}\tNIL\tPER\tNAM\t1.0\n")
    return written, "".join(rows), Document("\n" + text, entities=[_moved(entity) for entity in entities], id="d")


def _moved(entity):
    return Entity(entity.start + 1, entity.end + 1, entity.label)  # the line feed of the header


@given(written_documents())
def test_what_is_written_in_the_layout_is_read_back(case):
    source, table, document = case
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "d.xml").write_text(source, encoding="utf-8", newline="")
        (Path(folder) / "gold.tab").write_text(table, encoding="utf-8", newline="")
        assert list(read(folder)) == [document]

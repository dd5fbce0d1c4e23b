"""ACE in its own layout: `.sgm` texts with `.apf.xml` annotations. All texts are invented."""

from __future__ import annotations

import tempfile
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given
from hypothesis import strategies as st

from invented_ace import BODY, ENTITIES, EVENT, RELATION_2004, RELATION_2005, SGM, apf, entity_mention, put
from spanwise.document import Document, Entity, Offsets, Relation
from spanwise.errors import FormatError
from spanwise.formats import EVENT_TYPES, Report, detect, read


def test_mentions_heads_and_relations_are_read_and_the_rest_is_counted(tmp_path):
    report = Report()
    (document,) = read(put(tmp_path), report=report)
    assert detect(tmp_path) == "ace"
    assert (document.id, document.text) == ("Invented.1", BODY)
    found = [(document.text_of(e), e.label, e.head and document.text_of(e.head)) for e in document.entities]
    assert found == [
        ("The mayor of Halden", "PER", "mayor"),
        ("Halden", "GPE", "Halden"),
        ("Oak & Sons", "ORG", "Oak & Sons"),
    ]
    assert document.relations == (Relation(0, 1, "ORG-AFF"),)
    assert report.dropped == {
        "ACE event mention (the format ace-events reads it)": 1,
        "ACE relation argument other than Arg-1 and Arg-2": 1,
        "ACE timex2": 1,
    }


def test_relations_of_2004_are_read(tmp_path):
    (document,) = read(put(tmp_path, content=ENTITIES + RELATION_2004))
    assert document.relations == (Relation(0, 1, "ORG-AFF"),)


def test_triggers_are_read_as_entities(tmp_path):
    report = Report()
    (document,) = read(put(tmp_path), "ace-events", report=report)
    assert [(document.text_of(e), e.label) for e in document.entities] == [("left", "Movement:Transport")]
    assert document.metadata == {EVENT_TYPES: ["Movement:Transport"]}
    assert report.dropped == {
        "ACE entity mention (the format ace reads it)": 3,
        "ACE relation mention (the format ace reads it)": 1,
        "ACE event argument": 1,
        "ACE timex2": 1,
    }


@pytest.mark.parametrize("format", ["ace", "ace-events"])
def test_values_times_and_quantities_are_counted_in_both_views(tmp_path, format):
    report = Report()
    list(read(put(tmp_path, content="<value/><value/><timex2/><quantity/>"), format, report=report))
    assert report.dropped == {"ACE value": 2, "ACE timex2": 1, "ACE quantity": 1}


def test_places_are_read_without_the_space_around_them(tmp_path):
    content = EVENT.replace('START="37" END="40"', 'START="36" END="41"')
    (document,) = read(put(tmp_path, content=content), "ace-events")
    assert [document.text_of(e) for e in document.entities] == ["left"]
    wide = entity_mention("E1-1", 30, "Halden", (30, "Halden")).replace('END="35"', 'END="36"')
    (document,) = read(put(tmp_path, content=f'<entity TYPE="GPE">{wide}</entity>'))
    assert document.entities == (Entity(15, 21, "GPE", head=Offsets(15, 21)),)


def test_offsets_may_count_an_ampersand_as_it_is_written(tmp_path):
    later = '<entity ID="E1" TYPE="TIM">' + entity_mention("E1-1", 57, "yesterday") + "</entity>"  # 53 as one character
    (document,) = read(put(tmp_path, content=later))
    assert (document.text, document.text_of(document.entities[0])) == (BODY, "yesterday")


def test_offsets_count_line_feeds_in_a_text_with_carriage_returns(tmp_path):
    (document,) = read(put(tmp_path, sgm=SGM.replace("\n", "\r\n")))
    assert document.text == BODY


@pytest.mark.parametrize("name", ["Invented.1.sgm", "Invented.1.apf.xml"])
def test_one_file_stands_for_its_pair(tmp_path, name):
    put(tmp_path, "other")
    assert [document.id for document in read(put(tmp_path) / name)] == ["Invented.1"]


def test_a_mention_outside_the_body_is_counted_with_its_relations(tmp_path):
    header = '<entity ID="E2" TYPE="GPE">' + entity_mention("E2-1", 3, "Invented.1") + "</entity>"
    content = ENTITIES.replace('ID="E2-1"', 'ID="E9-1"') + header + RELATION_2004
    report = Report()
    (document,) = read(put(tmp_path, content=content), report=report)
    assert (len(document.entities), document.relations) == (3, ())
    assert report.dropped["ACE mention outside the body of the text"] == 1
    assert report.dropped["ACE relation of a mention outside the body of the text"] == 1


def test_a_head_outside_its_mention_is_counted_and_the_mention_kept(tmp_path):
    content = '<entity ID="E2" TYPE="GPE">' + entity_mention("E2-1", 30, "Halden", (21, "mayor")) + "</entity>"
    report = Report()
    (document,) = read(put(tmp_path, content=content), report=report)
    assert document.entities == (Entity(15, 21, "GPE"),)
    assert report.dropped == {"ACE head region outside its mention": 1}


def test_of_several_versions_of_a_document_the_last_is_read(tmp_path):
    for version in ("fp1", "adj", "timex2norm"):
        put(tmp_path / "nw" / version, content=ENTITIES if version == "timex2norm" else "")
    report = Report()
    (document,) = read(tmp_path, report=report)
    assert len(document.entities) == 3
    assert report.notes == [f"{tmp_path.name}: 2 files are other versions of a document; "
                            "the one in timex2norm or adj or fp1 or fp2 is read"]  # fmt: skip


def test_a_document_that_lies_in_two_places_is_refused(tmp_path):
    put(tmp_path / "a")
    put(tmp_path / "b")
    with pytest.raises(FormatError, match=r"'Invented\.1' is given twice, in .*; keep one of them"):
        list(read(tmp_path))


def test_a_text_without_annotations_is_reported(tmp_path):
    (put(tmp_path) / "bare.sgm").write_text(SGM)
    report = Report()
    assert len(list(read(tmp_path, report=report))) == 1
    assert report.notes == [f"{tmp_path.name}: 1 .sgm file without .apf.xml file is not read"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (ENTITIES.replace("mayor of", "major of"), r"x\.apf\.xml:5: the mention 'The major of Halden' is not at char"),
        (ENTITIES.replace('START="17"', 'START="ten"'), r"x\.apf\.xml:5: START is 'ten', but should be a char"),
        (ENTITIES.replace('END="35"', 'END="3"'), r"x\.apf\.xml:5: the region from 17 to 3 ends before it starts"),
        (ENTITIES.replace('END="35"', ""), r"x\.apf\.xml:5: <charseq> has no attribute END; the file is damaged"),
        (ENTITIES.replace("extent>", "content>"), r"x\.apf\.xml:5: <entity_mention> has no <extent>"),
        (ENTITIES + "<mystery/>", r"x\.apf\.xml:8: <mystery> is not an ACE annotation"),
        (ENTITIES.replace("E2-1", "E1-1"), r"x\.apf\.xml:6: the id 'E1-1' is given twice"),
        (ENTITIES + RELATION_2005.replace("E2-1", "E7-1"), r"x\.apf\.xml:10: 'E7-1' is not an entity mention of the"),
        (ENTITIES + RELATION_2005.replace("Arg-2", "Arg-1"), r"x\.apf\.xml:12: the relation mention has two arg"),
        (ENTITIES + RELATION_2005.replace("Arg-2", "Time"), r"x\.apf\.xml:10: the relation mention lacks Arg-1"),
        (ENTITIES + "</document><document>", r"x\.apf\.xml:8: the file has a second <document>; put each into its own"),
        (f'<entity TYPE="X">{entity_mention("E", 41, " ")}</entity>', r"x\.apf\.xml:5: the mention ' ' is not at char"),
        ("<entity>", r"x\.apf\.xml:5: this is not well-formed XML \(mismatched tag\)"),
    ],
)  # fmt: skip
def test_a_damaged_file_is_named_with_its_line_and_can_be_skipped(tmp_path, content, message):
    put(tmp_path)
    put(tmp_path, "x", content=content)
    with pytest.raises(FormatError, match=message):
        list(read(tmp_path))
    report = Report()
    assert [document.id for document in read(tmp_path, skip_bad=True, report=report)] == ["Invented.1"]
    assert report.bad == 1


def test_annotations_without_a_text_are_refused(tmp_path):
    (put(tmp_path) / "Invented.1.sgm").unlink()
    with pytest.raises(FormatError, match=r"apf\.xml: there is no \.sgm file of the same name beside it"):
        list(read(tmp_path))


LETTERS = st.characters(categories=["Lu", "Ll", "Lo", "Nd", "So"], exclude_characters="&<>")


@st.composite
def written_documents(draw: st.DrawFn) -> tuple[str, str, Document]:
    """An `.sgm` and its annotations, written here, and what they say. No letter occurs twice.

    So no offset can fit by accident.
    """
    counts_one = draw(st.booleans())
    letters = draw(st.lists(LETTERS, unique=True, min_size=2, max_size=25))
    text, written, counted = "", "<DOC>\n<BODY>", [1]  # the line feed after <DOC> counts
    for letter in letters:
        for character in (*draw(st.sampled_from(["", " ", "\n", "& ", "< "])), letter):
            tag = draw(st.sampled_from(["", "", "", "<TURN>", '<QUOTE BY="a b">']))
            escaped = escape(character)
            text, written = text + character, written + tag + escaped
            counted.append(counted[-1] + (1 if counts_one else len(escaped)))
    places = [index for index, character in enumerate(text) if character in letters]
    entities, mentions = [], []
    for number in range(draw(st.integers(1, 5))):
        first, last = sorted((draw(st.sampled_from(places)), draw(st.sampled_from(places))))
        head = draw(st.sampled_from([place for place in places if first <= place <= last]))
        label = draw(st.sampled_from(["PER", "ORG"]))
        entities.append(Entity(first, last + 1, label, head=Offsets(head, last + 1)))
        mentions.append(
            f"<entity TYPE={quoteattr(label)}><entity_mention ID={quoteattr(f'm{number}')}>"
            f"{_region('extent', text, counted, first, last)}{_region('head', text, counted, head, last)}"
            f"</entity_mention></entity>\n"
        )
    return written + "</BODY></DOC>", apf("".join(mentions)), Document(text, entities=tuple(entities), id="d")


def _region(tag: str, text: str, counted: list[int], first: int, last: int) -> str:
    covered = escape(text[first : last + 1])
    return f'<{tag}><charseq START="{counted[first]}" END="{counted[last + 1] - 1}">{covered}</charseq></{tag}>'


@given(written_documents())
def test_what_is_written_in_the_layout_is_read_back(written):
    sgm, annotations, document = written
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "d.sgm").write_text(sgm, encoding="utf-8", newline="")
        (Path(folder) / "d.apf.xml").write_text(annotations, encoding="utf-8")
        assert list(read(folder)) == [document]

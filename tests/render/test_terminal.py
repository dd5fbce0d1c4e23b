"""Spans in a terminal: brackets stand under what they mark, at any width, and nothing is lost or executed."""

from __future__ import annotations

from io import StringIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from spanwise.document import Document, Entity, Relation
from spanwise.render import to_terminal
from spanwise.render.lanes import wrapped
from spanwise.schema import EntityType, RelationType, Schema

TEXT = "The University of Brenford opened a clinic in Halden."
MARKED = Document(TEXT, entities=(Entity(4, 26, "Organization"), Entity(18, 26, "Place"), Entity(46, 52, "Place")))


def printed(document: Document, width: int = 80, *, color: bool = False, schema: Schema | None = None) -> str:
    sink = StringIO()
    console = Console(file=sink, width=width, force_terminal=color, color_system="standard" if color else None)
    console.print(to_terminal(document, schema))
    return sink.getvalue()


def test_brackets_stand_under_their_spans_inner_ones_first() -> None:
    assert printed(MARKED).splitlines() == [
        "The University of Brenford opened a clinic in Halden.",
        "                  ╰Place─╯                    ╰────╯Place",
        "    ╰─ Organization ─────╯",
    ]


def test_a_span_over_a_line_end_is_drawn_on_both_lines() -> None:
    document = Document("It was the Brenford Harbour Authority.", entities=(Entity(11, 37, "Body"),))
    assert printed(document, width=34).splitlines() == [
        "It was the Brenford Harbour",
        "           ╰─ Body ─────────",
        "",
        "Authority.",
        "────────╯",
    ]


def test_spaces_that_stick_out_of_the_line_are_drawn_inside_it() -> None:
    document = Document("a" + " " * 60 + "b", entities=(Entity(30, 50, "X"), Entity(45, 46, "Y"), Entity(0, 62, "Z")))
    output = printed(document, width=20)
    assert {"X", "Y", "Z"} < set(output)
    assert max(map(len, output.splitlines())) <= 20


def test_wide_characters_keep_the_brackets_in_place() -> None:
    document = Document("在北京大学学习", entities=(Entity(1, 5, "ORG"), Entity(1, 3, "P")))
    assert printed(document).splitlines() == ["在北京大学学习", "  ╰P─╯", "  ╰ORG───╯"]


def test_right_to_left_text_gets_a_list_since_columns_would_not_line_up() -> None:
    document = Document("נפתח בית חולים", entities=(Entity(5, 14, "Facility"),))
    assert printed(document).splitlines() == ["נפתח בית חולים", "  Facility  בית חולים"]


def test_narrow_terminals_get_a_list() -> None:
    lines = printed(MARKED, width=24).splitlines()
    assert any(line.split() == ["Place", "Halden"] for line in lines)


def test_escape_codes_in_text_and_label_do_not_reach_the_terminal() -> None:
    document = Document("\x1b[2J\x07bad\x9b31m\ttext", entities=(Entity(0, 3, "L\x1b[0m"),))
    output = printed(document)
    assert not set(output) & {"\x1b", "\x07", "\x9b", "\t"}
    assert "bad" in output


def test_colors_follow_the_schema() -> None:
    schema = Schema((EntityType("Other"), EntityType("Place"), EntityType("Organization")))
    assert "\x1b[1;33m" in printed(MARKED, color=True, schema=schema)
    assert "\x1b[33m" in printed(MARKED, color=True, schema=schema)


def test_text_without_entities_is_just_printed() -> None:
    assert printed(Document("Nothing here.\nNor here.")) == "Nothing here.\nNor here.\n"


def test_markup_of_rich_is_text() -> None:
    assert printed(Document("[bold]x[/]", entities=(Entity(0, 6, "[red]"),))).splitlines()[0] == "[bold]x[/]"


@settings(max_examples=150, deadline=None)
@given(st.text("ab 界\u0301\n", max_size=60), st.integers(2, 20))
def test_wrapping_keeps_every_character_and_the_width(text: str, width: int) -> None:
    lines = list(wrapped(text, width))
    assert "".join(text[start:end] for start, end in lines) == text
    assert all(cell_len(text[start:end].rstrip(" \n")) <= width for start, end in lines)


@settings(max_examples=100, deadline=None)
@given(
    st.text("ab 界\n", min_size=1, max_size=60),
    st.lists(
        st.tuples(st.integers(0, 59), st.integers(1, 30), st.sampled_from(["Per", "Organization", "X"])), max_size=8
    ),
    st.sampled_from([18, 40, 80, 120]),
)
def test_every_label_is_printed_within_the_width(text: str, bounds: list[tuple[int, int, str]], width: int) -> None:
    entities = tuple(Entity(a, min(len(text), a + n), label) for a, n, label in bounds if a < len(text))
    output = printed(Document(text, entities=entities), width)
    for label in {entity.label for entity in entities}:
        assert output.count(label) >= sum(entity.label == label for entity in entities)
    assert all(cell_len(line) <= width for line in output.splitlines())


@pytest.mark.parametrize("text", ["", " ", "\n", "😀", "e\u0301"])
def test_odd_texts_do_not_break_it(text: str) -> None:
    entities = (Entity(0, len(text), "X"),) if text else ()
    assert ("X" in printed(Document(text, entities=entities))) == bool(text)


def test_relations_are_written_below_the_text() -> None:
    schema = Schema((EntityType("Place"),), (RelationType("near", symmetric=True), RelationType("located_in")))
    relations = [Relation(0, 1, "located_in"), Relation(1, 2, "near")]
    document = MARKED.with_annotations(MARKED.entities, relations)
    assert printed(document, schema=schema).splitlines()[-3:] == [
        "",
        "University of Brenford —located_in→ Brenford",
        "Brenford —near— Halden",
    ]


def test_relations_of_odd_labels_and_names_stay_on_their_line() -> None:
    document = Document("a\nb", entities=(Entity(0, 3, "X"),), relations=(Relation(0, 0, "[red]\x1b\n"),))
    assert printed(document).splitlines()[-1] == "a b —[red]\ufffd → a b"

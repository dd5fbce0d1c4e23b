"""The page: nothing lost, nothing executed, nothing fetched, and readable colors."""

from __future__ import annotations

import colorsys
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.document import Document, Entity, Relation
from spanwise.errors import FormatError
from spanwise.formats import write
from spanwise.render import to_html, write_html
from spanwise.render.palette import TONES
from spanwise.render.style import DARK, LIGHT, Mode
from spanwise.schema import EntityType, Schema

NASTY = "<script>alert('x')</script>\"&amp;"


class Page(HTMLParser):
    """What a page says: the text of each document, its boxes with what they cover, and every tag."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.boxes: list[dict[str, str]] = []
        self.tags: list[str] = []
        self.headings: list[str] = []
        self._open: list[dict[str, str]] = []
        self._inside = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.tags.append(tag)
        if tag == "div" and values.get("class") == "text":
            self._inside = "text"
            self.texts.append("")
        elif tag in {"h1", "h2"}:
            self._inside = "heading"
            self.headings.append("")
        elif tag == "mark":
            box = {**values, "covers": "", "document": str(len(self.texts) - 1)}
            self.boxes.append(box)
            self._open.append(box)

    def handle_endtag(self, tag: str) -> None:
        if tag == "mark":
            self._open.pop()
        elif tag in {"div", "h1", "h2"}:
            assert not self._open
            self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "text":
            self.texts[-1] += data
            for box in self._open:
                box["covers"] += data
        elif self._inside == "heading":
            self.headings[-1] += data


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """Any text without NUL and surrogates, with spans that nest, cross, touch and repeat."""
    text = draw(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=30))
    bounds = st.tuples(
        st.integers(0, len(text) - 1), st.integers(1, len(text)), st.text("ab<&\"'", min_size=1, max_size=3)
    )
    spans = draw(st.lists(bounds, max_size=8))
    return Document(
        text, entities=tuple(Entity(a, min(len(text), a + n), label) for a, n, label in spans), id=draw(st.text("<i&"))
    )


@settings(max_examples=150, deadline=None)
@given(st.lists(documents(), max_size=3))
def test_the_page_holds_every_text_and_every_entity(texts: list[Document]) -> None:
    page = Page(to_html(texts))
    assert page.texts == [document.text for document in texts]
    for number, document in enumerate(texts):
        for index, entity in enumerate(document.entities):
            pieces = [b for b in page.boxes if b["document"] == str(number) and b["data-entity"] == str(index)]
            assert "".join(piece["covers"] for piece in pieces) == document.text_of(entity)
            assert {piece["data-label"] for piece in pieces} == {entity.label}
            assert "came-from" not in pieces[0]["class"]
            assert "goes-on" not in pieces[-1]["class"]
            assert all("goes-on" in piece["class"] for piece in pieces[:-1])


def test_nested_spans_are_never_cut() -> None:
    entities = (Entity(0, 20, "Facility"), Entity(0, 10, "Organization"), Entity(3, 7, "Place"), Entity(3, 7, "City"))
    page = Page(to_html([Document("x" * 30, entities=entities)]))
    assert len(page.boxes) == 4
    assert "goes-on" not in to_html([Document("x" * 30, entities=entities)]).partition("<main>")[2]


def test_markup_in_text_label_id_title_and_description_is_only_text() -> None:
    document = Document(NASTY, entities=(Entity(0, 8, NASTY),), id=NASTY)
    html = to_html([document], title=NASTY, schema=Schema((EntityType(NASTY, NASTY),)))
    page = Page(html)
    assert "script" not in page.tags
    assert "<script" not in html
    assert page.texts == [NASTY]
    assert page.headings == [NASTY, NASTY]
    assert page.boxes[0]["data-label"] == "<script>alert('x')</script>…"
    assert page.boxes[0]["title"] == f"{NASTY} · 1.00"


def test_the_page_needs_nothing_from_elsewhere() -> None:
    html = to_html([Document("Ann", entities=(Entity(0, 3, "Person"),))])
    assert not re.search(r"https?:|url\(|@import|<link|<img|src=", html)
    assert "default-src 'none'" in html


def test_line_ends_and_directions_are_kept() -> None:
    text = "One\r\n\n  two\tשלום\r"
    html = to_html([Document(text)])
    assert Page(html).texts == [text]
    assert 'dir="auto"' in html
    assert "white-space:pre-wrap" in html


def test_legend_counts_labels_in_the_order_of_the_schema_with_descriptions() -> None:
    schema = Schema((EntityType("Zebra", "An animal."), EntityType("Unused"), EntityType("Ant")))
    entities = (Entity(0, 1, "Ant"), Entity(1, 2, "Zebra"), Entity(2, 3, "Ant"), Entity(3, 4, "Extra"))
    legend = to_html([Document("abcd", entities=entities)], schema=schema).partition("<nav")[2].partition("</nav>")[0]
    found = re.findall(r'<span class="name">(\w+)</span> <span class="count">(\d+)<', legend)
    assert found == [("Zebra", "1"), ("Ant", "2"), ("Extra", "1")]
    assert 'title="Zebra: An animal."' in legend


def test_scores_are_shown_on_hover_and_numbers_in_the_head() -> None:
    document = Document(
        "Ann, Bo", entities=(Entity(0, 3, "P", 0.876), Entity(5, 7, "P")), relations=(Relation(0, 1, "r"),)
    )
    html = to_html([document])
    assert 'title="P · 0.88"' in html
    assert "1 document · 2 entities · 1 relation<" in html


def test_pages_without_documents_or_entities_are_whole() -> None:
    assert "There are no documents." in to_html([])
    assert Page(to_html([Document("")])).texts == [""]
    assert "<nav" not in to_html([Document("Nothing here.")])


def test_more_labels_than_tones_stay_apart() -> None:
    labels = [f"L{number:02d}" for number in range(len(TONES) + 2)]
    document = Document("x" * len(labels), entities=tuple(Entity(i, i + 1, label) for i, label in enumerate(labels)))
    classes = [box["class"] for box in Page(to_html([document])).boxes]
    assert len(set(classes)) == len(labels)
    assert "again" in classes[-1]


def test_writing_leaves_one_whole_file(tmp_path: Path) -> None:
    write_html([Document("lone \ud800 surrogate")], tmp_path / "page.html", title="T")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert "&#55296;" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_missing_folder_is_refused_as_the_formats_refuse_it(tmp_path: Path) -> None:
    sentences = []
    for writer in (write_html, write):
        with pytest.raises(FormatError) as caught:
            writer([Document("Ann")], tmp_path / "nope" / "out.jsonl")
        sentences.append(str(caught.value))
    page, documents = sentences
    assert page == documents
    assert page.endswith(f"the folder '{tmp_path / 'nope'}' does not exist; create it first.")
    assert not (tmp_path / "nope").exists()


def test_the_label_comes_first_and_a_line_break_leaves_the_box_open() -> None:
    html = to_html([Document("Ann", entities=(Entity(0, 3, "Person"),))])
    assert 'mark::before{content:attr(data-label) "\\2060"' in html  # U+2060: no line ends behind the label
    assert "box-decoration-break:slice" in html
    assert "mark::after" not in html
    assert "mark.c0::before{content:none}" in html  # an unticked label


def test_a_long_label_is_cut_and_its_title_is_whole() -> None:
    label = "L" * 3000
    html = to_html([Document("Ann", entities=(Entity(0, 3, label),))])
    (box,) = Page(html).boxes
    assert box["data-label"] == "L" * 27 + "…"
    assert box["title"] == f"{label} · 1.00"
    assert ".chip .name{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}" in html


def _luminance(red: float, green: float, blue: float) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (red, green, blue)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: tuple[float, float, float], other: tuple[float, float, float]) -> float:
    dark, light = sorted((_luminance(*one), _luminance(*other)))
    return (light + 0.05) / (dark + 0.05)


def _rgb(color: str) -> tuple[float, float, float]:
    red, green, blue = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return red, green, blue


@pytest.mark.parametrize("mode", [LIGHT, DARK], ids=["light", "dark"])
def test_colors_have_accessible_contrast(mode: Mode) -> None:
    assert _contrast(_rgb(mode.ink), _rgb(mode.card)) >= 7
    assert _contrast(_rgb(mode.quiet), _rgb(mode.page)) >= 4.5
    for tone in TONES:
        saturation = tone.saturation / 100 * mode.vivid
        fill = colorsys.hls_to_rgb(tone.hue / 360, mode.fill / 100, saturation)
        tag = colorsys.hls_to_rgb(tone.hue / 360, mode.tag / 100, saturation)
        assert _contrast(tag, fill) >= 4.5, tone
        assert _contrast(_rgb(mode.ink), fill) >= 7, tone


@pytest.mark.slow
def test_a_browser_shows_the_page_as_it_was_meant(browse: Callable[..., str]) -> None:
    text = "The quick\r\nbrown <b>fox</b> jumps."
    entities = (Entity(0, 9, "A"), Entity(4, 16, "B"), Entity(17, 20, "<i>"))
    page = Page(browse(to_html([Document(text, entities=entities)])))
    assert page.texts[0].replace("\r\n", "\n") == text.replace("\r\n", "\n")
    assert page.boxes[0]["covers"] == "The quick"
    assert {box["data-label"] for box in page.boxes} == {"A", "B", "<i>"}


@pytest.mark.slow
def test_an_entity_over_two_lines_has_its_label_in_the_first_and_no_edge_between(measure: Callable[..., Any]) -> None:
    text = "They thanked the Royal Society for the Preservation of Northern Rivers and Lakes for it"
    page = to_html([Document.from_words(text.split(), [(3, 13, "Organization")])])
    boxes, text = measure(
        page,
        "(() => { const mark = document.querySelector('mark'), range = new Range(); range.selectNodeContents(mark);"
        "const lefts = (of) => [...of.getClientRects()].filter((rect) => rect.width > 9).map((rect) => rect.left);"
        "return [lefts(mark), lefts(range)]; })()",
    )
    assert len(boxes) == len(text) >= 2  # one for each line
    assert text[0] - boxes[0] > 60  # the room that "Organization" takes before the first word
    assert text[1:] == boxes[1:]  # neither a border nor padding where the box goes on


@pytest.mark.slow
def test_nothing_on_a_phone_is_wider_than_the_page_with_a_label_of_3000_characters(measure: Callable[..., Any]) -> None:
    for letter in "LW字":
        label = letter * 3000
        entities = (Entity(0, 3, label), Entity(8, 10, label))
        document = Document("Ann and Bo.", entities=entities, relations=(Relation(0, 1, label),))
        page = to_html([document]).replace("view.list.open = false", "view.list.open = true")
        widest = "Math.max(...[...document.querySelectorAll('body, nav, li, .chip')].map((e) => e.scrollWidth))"
        assert measure(page, widest) == 375

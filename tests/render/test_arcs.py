"""Relations on the page: all of them in the markup, one script and no other, and arcs where the browser draws them."""

from __future__ import annotations

import re
from base64 import b64encode
from collections import defaultdict
from collections.abc import Callable
from hashlib import sha256
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise import corpora
from spanwise.document import Document, Entity, Relation
from spanwise.render import to_html
from spanwise.render.markup import short
from spanwise.schema import EntityType, RelationType, Schema

NASTY = "</script><!--<script>alert('x')</script>\"&amp;🙂שלום"
PAIR = Document(
    "Ann met Bo.", entities=(Entity(0, 3, "P"), Entity(8, 10, "P")), relations=(Relation(0, 1, "met", 0.876),)
)


class Page(HTMLParser):
    """The arcs of each document with their labels, the written relations, the scripts and the policy."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.arcs: list[list[dict[str, str]]] = []
        self.labels: list[list[dict[str, str]]] = []
        self.written: list[list[str]] = []
        self.scripts: list[str] = []
        self.policy = ""
        self._open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self._open.append(tag)
        if tag == "article":
            self.arcs.append([])
            self.labels.append([])
            self.written.append([])
        elif tag == "path":
            self.arcs[-1].append(values)
        elif tag == "text":
            self.labels[-1].append({**values, "says": ""})
        elif tag == "li":
            self.written[-1].append("")
        elif tag == "script":
            self.scripts.append("")
        elif tag == "meta":
            self.policy = values["content"] if "http-equiv" in values else self.policy

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        within = self._open[-1] if self._open else ""
        if within == "text":
            self.labels[-1][-1]["says"] += data
        elif "li" in self._open:
            self.written[-1][-1] += data
        elif within == "script":
            self.scripts[-1] += data


@st.composite
def documents(draw: st.DrawFn) -> Document:
    """Spans that nest and cross, and relations between any two of them, an entity and itself included."""
    text = draw(st.text("ab <&\"'🙂ש", min_size=1, max_size=20))
    places = st.tuples(st.integers(0, len(text) - 1), st.integers(1, len(text)))
    entities = tuple(Entity(a, min(len(text), a + n), "E") for a, n in draw(st.lists(places, min_size=1, max_size=5)))
    ends = st.integers(0, len(entities) - 1)
    label = st.sampled_from(["part_of", "x\"'>y", NASTY])
    relations = draw(st.lists(st.builds(Relation, ends, ends, label), max_size=6))
    return Document(text).with_annotations(entities, relations)


@settings(max_examples=100, deadline=None)
@given(st.lists(documents(), max_size=3))
def test_the_markup_holds_every_relation_as_an_arc_and_in_words(texts: list[Document]) -> None:
    page = Page(to_html(texts))
    for number, document in enumerate(texts):
        found = [(int(arc["data-head"]), int(arc["data-tail"])) for arc in page.arcs[number]]
        assert found == [(relation.head, relation.tail) for relation in document.relations]
        assert [label["says"] for label in page.labels[number]] == [short(r.label) for r in document.relations]
        names = [document.text_of(entity) for entity in document.entities]
        assert page.written[number] == [f"{names[r.head]} —{r.label}→ {names[r.tail]}" for r in document.relations]


@settings(max_examples=50, deadline=None)
@given(st.lists(documents(), max_size=2))
def test_only_the_one_script_can_run_and_only_where_there_are_relations(texts: list[Document]) -> None:
    page = Page(to_html(texts))
    base = "default-src 'none'; style-src 'unsafe-inline'"
    if any(document.relations for document in texts):
        (script,) = page.scripts
        assert page.policy == f"{base}; script-src 'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"
    else:
        assert not page.scripts
        assert page.policy == base


def test_the_script_is_the_same_on_every_page_and_cannot_end_early() -> None:
    one, other = (
        Page(to_html([document])).scripts[0]
        for document in (PAIR, Document(NASTY, (), PAIR.entities, (Relation(1, 1, NASTY),)))
    )
    assert one == other
    assert one.isascii()
    assert not re.search(r"</script|<!--", one, re.IGNORECASE)


def test_the_page_with_arcs_needs_nothing_from_elsewhere() -> None:
    assert not re.search(r"https?:|url\(|@import|<link|<img|src=", to_html([PAIR]))


def test_without_the_script_the_written_relations_are_in_view_and_the_arcs_are_not() -> None:
    html = to_html([PAIR])
    assert "<details open>" in html
    assert ".arcs{display:none;" in html


def test_scores_are_shown_on_hover() -> None:
    assert to_html([PAIR]).count("<title>met · 0.88</title>") == 2
    assert 'title="met · 0.88"' in to_html([PAIR])


def test_symmetric_relations_of_the_schema_have_no_direction() -> None:
    schema = Schema((EntityType("P"),), (RelationType("met", symmetric=True),))
    page = Page(to_html([PAIR], schema=schema))
    assert "data-symmetric" in page.arcs[0][0]
    assert page.written == [["Ann —met— Bo"]]
    assert "data-symmetric" not in Page(to_html([PAIR])).arcs[0][0]


def test_legend_counts_relations_in_the_order_of_the_schema_with_descriptions() -> None:
    schema = Schema((EntityType("P"),), (RelationType("zest", "A taste."), RelationType("unused"), RelationType("art")))
    relations = [Relation(0, 1, label) for label in ("art", "zest", "art", "extra")]
    html = to_html([PAIR.with_annotations(PAIR.entities, relations)], schema=schema)
    legend = html.partition('<nav class="ties"')[2].partition("</nav>")[0]
    assert re.findall(r'<span class="name">(\w+)</span> <span class="count">(\d+)<', legend) == [
        ("zest", "1"),
        ("art", "2"),
        ("extra", "1"),
    ]
    assert 'title="zest: A taste."' in legend


def test_unticking_a_label_hides_the_arcs_that_carry_or_touch_it() -> None:
    entities = (Entity(0, 3, "A"), Entity(8, 10, "B"))
    html = to_html([Document("Ann met Bo.", entities=entities, relations=(Relation(0, 1, "met"),))])
    for name, kind in (("0", "e0"), ("1", "e1"), ("r0", "r0")):
        assert f'id="show-{name}"' in html
        assert f"body:has(#show-{name}:not(:checked)) .{kind}{{display:none}}" in html
    assert Page(html).arcs[0][0]["class"] == "r0 e0 e1"


def _points(arc: dict[str, str]) -> list[float]:
    assert re.fullmatch(r"[MLQml\d .-]+", arc["d"]), arc["d"]
    return [float(number) for number in re.findall(r"-?[\d.]+", arc["d"])]


def _dense(entities: int = 60, relations: int = 200) -> Document:
    words = [("of", "alpha", "epsilon")[place * place % 7 % 3] for place in range(3 * entities)]
    spans = [(3 * index, 3 * index + 1 + index % 2, "ABC"[index % 3]) for index in range(entities)]
    ends = [(number * 7 % entities, (number * 11 + number // 9) % entities) for number in range(relations)]
    labels = ("part_of", "located_in", "at")
    return Document.from_words(words, spans, [Relation(h, t, labels[(h + t) % 3]) for h, t in ends])


def _odd() -> list[Document]:
    nested = (Entity(4, 26, "Org"), Entity(18, 26, "Place"), Entity(18, 26, "City"), Entity(15, 34, "Crossing"))
    pairs = [(0, 1), (1, 2), (3, 0), (2, 3), (3, 3)]
    return [
        Document(
            "The University of Brenford opened a clinic.", (), nested, tuple(Relation(h, t, "r") for h, t in pairs)
        ),
        Document(
            "Ann met Bo.", (), PAIR.entities, (Relation(0, 0, "self"), Relation(0, 1, NASTY), Relation(1, 0, "a" * 300))
        ),
        Document("ד״ר כהן עבד בתל אביב", (), (Entity(0, 7, "P"), Entity(12, 20, "L")), (Relation(0, 1, "עובד"),)),
        Document(
            "a\n\n\nb " + "c " * 200,
            (),
            (Entity(0, 1, "X"), Entity(4, 5, "X"), Entity(0, 400, "Y")),
            (Relation(0, 1, "r"), Relation(2, 1, "r")),
        ),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("width", [500, 1400])
def test_a_browser_draws_one_arc_per_relation_with_its_label(browse: Callable[..., str], width: int) -> None:
    demo = corpora.load("demo")
    texts = [*_odd(), _dense(), *demo.splits["test"][:20]]
    page = Page(browse(to_html(texts, schema=demo.schema), width))
    for document, arcs, labels in zip(texts, page.arcs, page.labels, strict=True):
        assert len(arcs) == len(labels) == len(document.relations)
        assert all(len(_points(arc)) >= 8 for arc in arcs)
        assert all(float(label["x"]) > 0 and float(label["y"]) > 0 for label in labels)
        assert [label["says"] for label in labels] == [short(relation.label) for relation in document.relations]


@pytest.mark.slow
def test_labels_in_the_browser_do_not_lie_on_each_other(browse: Callable[..., str]) -> None:
    (labels,) = Page(browse(to_html([_dense()]))).labels
    rows = defaultdict(list)
    for label in labels:
        rows[float(label["y"])].append((float(label["x"]), len(label["says"])))
    assert len(rows) > 20
    for row in rows.values():
        for (x, size), (next_x, next_size) in pairwise(sorted(row)):
            assert next_x - x > 4 * (size + next_size) / 2  # no letter is narrower than 4 pixels on average


@pytest.mark.slow
def test_arcs_of_an_unticked_label_take_no_room_in_the_browser(browse: Callable[..., str]) -> None:
    entities = (Entity(0, 3, "A"), Entity(8, 10, "B"), Entity(4, 7, "C"))
    document = Document("Ann met Bo.", (), entities, (Relation(0, 1, "r"), Relation(0, 2, "r")))
    unticked = to_html([document]).replace('id="show-1" checked', 'id="show-1"')
    shown = browse(unticked)
    (arcs,) = Page(shown).arcs
    assert ["d" in arc for arc in arcs] == [False, True]
    assert shown.count("--room: 21px") == 1
    assert browse(to_html([document])).count("--room: 36px") == 1


@pytest.mark.slow
def test_labels_on_a_phone_do_not_sit_on_other_arcs(measure: Callable[..., Any]) -> None:
    demo = corpora.load("demo")
    related = [document for document in demo.splits["test"] if len(document.relations) > 1]
    assert len(related) >= 40
    crossed = measure(
        to_html(related, schema=demo.schema),
        "[...document.querySelectorAll('article')].map((article) => {"
        "const points = [...article.querySelectorAll('path')].flatMap((path) =>"
        "  Array.from({length: path.getTotalLength() / 2}, (_, i) =>"
        "    [path.dataset.relation, path.getPointAtLength(2 * i)]));"
        "return [...article.querySelectorAll('text')].filter((label) => { const box = label.getBBox();"
        "  return points.some(([relation, {x, y}]) => relation !== label.dataset.relation"
        "    && box.x < x && x < box.x + box.width && box.y < y && y < box.y + box.height); }).length; })",
    )
    assert crossed == [0] * len(related)

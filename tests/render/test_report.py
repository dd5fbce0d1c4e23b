"""The page of a report: all content in the markup, nothing executed or fetched, and usable with any device."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from itertools import cycle
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from sample_report import HOSTILE, LABELS, sample_report

from browser import Browser
from spanwise.document import Document, Entity
from spanwise.errors import InputError
from spanwise.formats import read
from spanwise.render.elements import (
    Bars,
    Example,
    Examples,
    Heatmap,
    Interval,
    MarkedText,
    Report,
    Section,
    Series,
    Table,
)
from spanwise.render.report import charts_of, to_page
from spanwise.render.report_folder import write_report

VOID = {"meta", "rect", "path"}
DESK, PHONE = 1280, 390


def hostile_report() -> Report:
    """Every name is hostile, in turn."""
    texts = cycle(HOSTILE)
    return sample_report(lambda name: next(texts) + name)


class Page(HTMLParser):
    """The tags of a page, its scripts and its policy, and the texts of headings and cells."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.scripts: list[str] = []
        self.texts: dict[str, list[str]] = {}
        self.attributes: list[tuple[str, str | None]] = []
        self.policy = ""
        self._open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if ("http-equiv", "Content-Security-Policy") in attrs:
            self.policy = dict(attrs)["content"] or ""
        if tag not in VOID:
            self._open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in set(self._open):
            self.texts[tag][-1] += data


def test_the_page_holds_every_section_table_chart_and_sentence() -> None:
    report = sample_report()
    page = Page(to_page(report))
    assert page.texts["h1"] == [report.title]
    assert page.texts["h2"] == ["Contents", *(section.title for section in report.sections)]
    assert page.texts["h3"] == [one.title for section in report.sections for one in section.elements]
    assert page.tags.count("svg") == len(charts_of(report)) + 1  # and the arcs of one sentence
    assert page.texts["td"][:4] == ["Person", "80.00", "75.50", "77.00 [70.10, 84.00]"]
    assert page.texts["h4"] == ["Organization as Place×12", "missed"]
    assert page.texts["h5"] == ["gold", "baseline"] * 2


def test_only_the_scripts_of_the_page_can_run() -> None:
    for report in (sample_report(), Report("r", ())):
        page = Page(to_page(report))
        hashes = [b64encode(sha256(script.encode()).digest()).decode() for script in page.texts["script"]]
        assert len(hashes) == (2 if report.sections else 1)  # arcs only where there are relations
        allowed = " ".join(f"'sha256-{one}'" for one in hashes)
        assert page.policy.endswith(f"script-src {allowed}")
        assert page.policy.startswith("default-src 'none'; style-src 'unsafe-inline'")
        assert not [name for name, _ in page.attributes if name.startswith("on")]


def test_the_page_needs_nothing_from_elsewhere() -> None:
    page = to_page(sample_report()).replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"https?:|url\(|@import|<link|<img|src=", page)


def test_the_script_cannot_end_early() -> None:
    for script in Page(to_page(sample_report())).texts["script"]:
        assert script.isascii()
        assert not re.search(r"</script|<!--", script, re.IGNORECASE)


def test_hostile_text_adds_no_tag_and_no_attribute() -> None:
    plain, hostile = Page(to_page(sample_report())), Page(to_page(hostile_report()))
    assert [tag for tag in hostile.tags if tag != "title"] == [tag for tag in plain.tags if tag != "title"]
    assert {name for name, _ in hostile.attributes} == {name for name, _ in plain.attributes}
    assert hostile.texts["style"] == plain.texts["style"]


def test_reports_without_sections_elements_or_rows_are_whole() -> None:
    empty = Section("e", "Empty", ())
    nothing = Section("n", "Nothing", (Table("t", ("a",), ()), Examples("x", ()), Heatmap("h", (), (), ())))
    assert Page(to_page(Report("r", ()))).texts["h1"] == ["r"]
    page = Page(to_page(Report("r", (empty, nothing))))
    assert "There are none." in "".join(page.texts["p"])
    assert ("class", "sortable") not in page.attributes


def test_each_cell_has_its_number_in_full_to_sort_by() -> None:
    table = Table("t", ("a", "b"), (("x", 1 / 3), ("y", Interval(2 / 3, 0.1, 0.9)), ("z", None)))
    page = to_page(Report("r", (Section("s", "S", (table,)),)))
    assert f'data-value="{1 / 3}">0.33<' in page
    assert f'data-value="{2 / 3}">0.67 <span' in page
    assert "data-missing>–<" in page


def test_names_of_chart_files_are_safe_and_different() -> None:
    bars = Bars("../../etc/passwd\0<script>: Größe + RE+ " + "x" * 300, ("a",), (Series("s", (1.0,)),))
    report = Report("r", (Section("con", "S", (bars, bars)), Section("../é", "T", (bars, Bars("字", (), ())))))
    names = list(charts_of(report))
    assert len(names) == 4
    assert all(re.fullmatch(r"\d-[a-z0-9]+(-[a-z0-9]+)*\.svg", name) and len(name) < 80 for name in names)
    assert names[0].startswith("1-con-etc-passwd-script-groe-plus-re-plus-xxx")


def test_a_folder_holds_the_page_the_numbers_each_chart_and_the_review(tmp_path: Path) -> None:
    review = (Document("Ann", entities=(Entity(0, 3, "P"),)),)
    write_report(sample_report(), tmp_path / "new", {"f1": 0.5}, review)
    folder = tmp_path / "new"
    assert sorted(path.name for path in folder.iterdir()) == [
        "charts",
        "report.html",
        "report.json",
        "suspicious.jsonl",
    ]
    assert json.loads((folder / "report.json").read_text()) == {"f1": 0.5}
    assert tuple(read(folder / "suspicious.jsonl")) == review
    charts = sorted((folder / "charts").iterdir())
    assert [path.name for path in charts] == list(charts_of(sample_report()))
    assert all(ElementTree.parse(path).getroot().tag.endswith("svg") for path in charts)  # noqa: S314


def test_a_report_replaces_an_earlier_report_and_nothing_else(tmp_path: Path) -> None:
    write_report(sample_report(), tmp_path, {}, (Document("Ann"),))
    (tmp_path / "charts" / "mine.svg").write_text("mine")
    (tmp_path / "notes.txt").write_text("mine")
    write_report(Report("r", sample_report().sections[:1]), tmp_path, {})
    assert sorted(path.name for path in (tmp_path / "charts").iterdir()) == ["1-scores-f1-by-label.svg", "mine.svg"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["charts", "notes.txt", "report.html", "report.json"]
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("mine")
    with pytest.raises(InputError, match="holds other files; choose an empty or a new folder"):
        write_report(sample_report(), other, {})
    with pytest.raises(InputError, match="is a file; choose a folder"):
        write_report(sample_report(), other / "thesis.tex", {})
    assert [path.name for path in other.iterdir()] == ["thesis.tex"]


def shown(browser: Browser, report: Report, folder: Path, width: int, *, dark: bool = False) -> Path:
    browser.problems.clear()
    browser.requests.clear()
    path = folder / "report.html"
    path.write_bytes(to_page(report).encode("utf-8", "xmlcharrefreplace"))
    browser.open(path, width, dark=dark)
    return path


def column(browser: Browser, number: int) -> list[str]:
    cells = f"table.sortable tbody tr td:nth-child({number})"
    found: list[str] = browser.value(f"[...document.querySelectorAll({json.dumps(cells)})].map((c) => c.textContent)")
    return found


def heading(number: int) -> str:
    return f"table.sortable th:nth-child({number}) button"


def order(browser: Browser, number: int) -> str | None:
    found: str | None = browser.value(f"document.querySelector({json.dumps(heading(number))}).parentNode.ariaSort")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("width", [DESK, PHONE])
@pytest.mark.parametrize("kind", ["plain", "hostile"])
def test_a_browser_shows_it_without_problem_request_or_overflow(
    browser: Browser, tmp_path: Path, width: int, kind: str
) -> None:
    report = hostile_report() if kind == "hostile" else sample_report()
    path = shown(browser, report, tmp_path, width)
    assert browser.problems == []
    assert browser.requests == [path.as_uri()]
    sizes = "[document.documentElement.scrollWidth, document.body.scrollWidth, innerWidth]"
    assert browser.value(sizes) == [width] * 3
    outside = (
        "[...document.querySelectorAll('body *')].filter((e) => !e.closest('.scroll > *') && !e.closest('.arcs') && "
        f"e.getBoundingClientRect().right > {width} + 0.5).map((e) => e.outerHTML.slice(0, 200))"
    )
    assert browser.value(outside) == []


@pytest.mark.slow
@pytest.mark.parametrize("width", [DESK, PHONE])
def test_hostile_text_is_shown_as_text(browser: Browser, tmp_path: Path, width: int) -> None:
    report = hostile_report()
    shown(browser, report, tmp_path, width)
    # the title's control characters are written as a browser shows them
    assert "broken" not in browser.value("document.title").removeprefix(HOSTILE[0])
    assert browser.value("document.querySelectorAll('img, b, iframe, a[href^=java]').length") == 0
    assert browser.value("document.querySelectorAll('style').length") == 1
    assert browser.value("document.querySelectorAll('script').length") == 2
    said = browser.value("document.body.textContent")
    assert all(text in said for text in HOSTILE[:6])
    assert browser.value("getComputedStyle(document.querySelector('h1')).display") == "block"
    tall = (
        "Math.max(...[...document.querySelectorAll('h1, h2, h3, h4, h5, td, th, dt, dd')].map((e) => e.offsetHeight))"
    )
    assert browser.value(tall) < 250  # 3,000 characters take a few lines


@pytest.mark.slow
@pytest.mark.parametrize("width", [DESK, PHONE])
def test_tables_sort_by_click(browser: Browser, tmp_path: Path, width: int) -> None:
    shown(browser, sample_report(), tmp_path, width)
    original = column(browser, 1)
    assert original == [*LABELS, "micro"]
    browser.click(heading(1))
    assert (column(browser, 1), order(browser, 1)) == (sorted(original, key=str.lower), "ascending")
    browser.click(heading(1))
    assert (column(browser, 1), order(browser, 1)) == (sorted(original, key=str.lower, reverse=True), "descending")
    browser.click(heading(1))
    assert (column(browser, 1), order(browser, 1)) == (original, None)
    browser.click(heading(5))  # numbers with commas, the largest first
    assert (column(browser, 5), order(browser, 5)) == (["1,200", "480", "360", "240", "120"], "descending")
    browser.click(heading(4))  # intervals, and a dash that stays last
    assert [cell[:5] for cell in column(browser, 4)] == ["81.00", "79.00", "78.00", "77.00", "–"]
    assert order(browser, 5) is None
    browser.click(heading(4))
    assert [cell[:5] for cell in column(browser, 4)] == ["77.00", "78.00", "79.00", "81.00", "–"]


@pytest.mark.slow
def test_tables_sort_by_keyboard_and_keep_the_focus(browser: Browser, tmp_path: Path) -> None:
    shown(browser, sample_report(), tmp_path, DESK)
    for _ in range(200):
        browser.press("Tab")
        if browser.value(f"document.activeElement === document.querySelector({json.dumps(heading(2))})"):
            break
    browser.press("Enter")
    assert column(browser, 2)[0] == "89.00"
    browser.press(" ")
    assert column(browser, 2)[0] == "80.00"
    assert browser.value(f"document.activeElement === document.querySelector({json.dumps(heading(2))})")


@pytest.mark.slow
@pytest.mark.parametrize("width", [DESK, PHONE])
def test_everything_that_can_be_used_is_reached_by_tab_and_shows_its_focus(
    browser: Browser, tmp_path: Path, width: int
) -> None:
    shown(browser, sample_report(), tmp_path, width)
    wanted = browser.value(
        "window.wanted = [...document.querySelectorAll('a, button, summary, .scroll')].filter((e) => "
        "e.checkVisibility()); wanted.length"
    )
    assert wanted >= 4 + 9 + 7 + 3
    reached: set[int] = set()
    for _ in range(wanted + 5):
        browser.press("Tab")
        place = browser.value("wanted.indexOf(document.activeElement)")
        reached.add(place)
        if place >= 0:
            assert browser.value("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert set(range(wanted)) <= reached


@pytest.mark.slow
def test_a_chart_can_be_downloaded_as_a_file_of_its_own(browser: Browser, tmp_path: Path) -> None:
    shown(browser, sample_report(), tmp_path, DESK)
    saved = "URL.createObjectURL = (blob) => { window.saved = blob; return '#'; }; HTMLAnchorElement.prototype.click = "
    browser.value(saved + "function () { window.named = this.download; }; 1")
    browser.click("figure.plot .save")
    assert browser.value("named") == "1-scores-f1-by-label.svg"
    root = ElementTree.fromstring(browser.value("saved.text()"))  # noqa: S314
    assert root.tag == "{http://www.w3.org/2000/svg}svg"


def test_documents_in_closed_examples_are_not_lost() -> None:
    texts = tuple(MarkedText("gold", Document(f"text {number}")) for number in range(10))
    examples = Examples("x", tuple(Example(f"case {i}", (text,)) for i, text in enumerate(texts)))
    page = to_page(Report("r", (Section("s", "S", (examples,)),)))
    assert all(f">text {number}<" in page for number in range(10))
    assert page.count('<details class="case" open>') == 3


@pytest.mark.slow
def test_arcs_of_a_closed_example_are_drawn_when_it_opens(browser: Browser, tmp_path: Path) -> None:
    examples = sample_report().sections[1].elements[1]
    assert isinstance(examples, Examples)
    many = Examples("x", (examples.examples[0],) * 5)
    shown(browser, Report("r", (Section("s", "S", (many,)),)), tmp_path, DESK)
    drawn = "[...document.querySelectorAll('.case')].map((c) => c.querySelector('.arcs path').hasAttribute('d'))"
    assert browser.value(drawn) == [True, True, True, False, False]
    browser.click(".case:nth-of-type(4) summary")
    browser.value("new Promise((done) => setTimeout(() => done(1), 300))")
    assert browser.value(drawn) == [True, True, True, True, False]
    assert browser.problems == []


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True])
def test_charts_follow_the_mode_of_the_page(browser: Browser, tmp_path: Path, dark: bool) -> None:
    shown(browser, sample_report(), tmp_path, DESK, dark=dark)
    colors: list[Any] = browser.value(
        "[getComputedStyle(document.querySelector('.chart .back')).fill, "
        "getComputedStyle(document.querySelector('figure')).backgroundColor]"
    )
    assert colors == (["rgb(27, 30, 36)"] * 2 if dark else ["rgb(255, 255, 255)"] * 2)

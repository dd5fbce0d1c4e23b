"""A report as one self-contained HTML page: sortable tables, charts, and sentences with their spans marked.

The page loads no resources. Its scripts sort tables, offer charts as files and position arcs; all content is in the
markup, and the Content-Security-Policy allows only these scripts.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from spanwise.document import Document
from spanwise.render.arcs import ARCS, Arcs
from spanwise.render.charts import to_svg
from spanwise.render.elements import (
    Chart,
    Element,
    Example,
    Examples,
    Interval,
    MarkedText,
    Report,
    Section,
    Table,
    Value,
)
from spanwise.render.marked import marked_text
from spanwise.render.markup import escaped
from spanwise.render.palette import color_indices
from spanwise.render.report_style import report_style
from spanwise.render.scripts import script, script_policy
from spanwise.render.tables import formatted, numeric_columns

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_OPEN = 3  # examples whose texts are shown from the start
_NAME = 60  # the most characters of a file's name


def charts_of(report: Report) -> dict[str, Chart]:
    """The charts of a report, each with a name for its file that is safe on every system."""
    charts = [(section, one) for section in report.sections for one in section.elements if _is_chart(one)]
    width = len(str(len(charts)))
    return {
        f"{number:0{width}}-{_slug(f'{section.key} {chart.title}')}.svg": chart
        for number, (section, chart) in enumerate(charts, start=1)
        if not isinstance(chart, Table | Examples)
    }


def to_page(report: Report) -> str:
    """The page of a report. Characters that HTML cannot contain (NUL) appear as U+FFFD."""
    page = _Page.of(report)
    scripts = [script("report.js"), *([script(ARCS)] if page.arcs.relation_labels else [])]
    style = report_style(len(page.colors), len(page.arcs.relation_labels))
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}; {script_policy(scripts)}">\n'
        f'<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        f"<title>{escaped(report.title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f'<div class="wrap">\n<header>\n<h1>{_words(report.title)}</h1>\n{_facts(report.facts)}</header>\n'
        f'<div class="page">\n{_contents(report)}<main>\n{"".join(page.sections(report))}</main>\n</div>\n</div>\n'
        + "".join(f"<script>{text}</script>\n" for text in scripts)
        + "</body>\n</html>\n"
    )


@dataclass(frozen=True, slots=True)
class _Page:
    """What all sections of a page share: the colors of labels, the relations, and the names of the charts' files."""

    colors: Mapping[str, int]
    arcs: Arcs
    files: Mapping[int, str]

    @classmethod
    def of(cls, report: Report) -> _Page:
        documents = list(_documents(report))
        colors = color_indices(documents)
        files = {id(chart): name for name, chart in charts_of(report).items()}
        return cls(colors, Arcs.of(documents, colors, None), files)

    def sections(self, report: Report) -> Iterator[str]:
        for number, section in enumerate(report.sections, start=1):
            text = f"<p>{escaped(section.text)}</p>\n" if section.text else ""
            elements = "".join(map(self._element, section.elements))
            yield (
                f'<section id="{_anchor(number, section)}">\n<h2>{_words(section.title)}</h2>\n{text}'
                f'<div class="elements">\n{elements}</div>\n</section>\n'
            )

    def _element(self, element: Element) -> str:
        if isinstance(element, Table):
            return _table(element)
        return self._examples(element) if isinstance(element, Examples) else self._chart(element)

    def _chart(self, chart: Chart) -> str:
        return (
            f'<figure class="plot" data-file="{self.files[id(chart)]}">\n{_heading(chart.title)}'
            f"{_scrolled(chart.title, to_svg(chart))}{_note(chart.note)}</figure>\n"
        )

    def _examples(self, examples: Examples) -> str:
        cases = "".join(self._case(example, number < _OPEN) for number, example in enumerate(examples.examples))
        cases = cases or '<p class="empty">There are none.</p>\n'
        return f'<div class="cases">\n{_heading(examples.title)}{_note(examples.note)}{cases}</div>\n'

    def _case(self, example: Example, is_open: bool) -> str:
        times = f'<span class="times">×{example.count:,}</span>' if example.count > 1 else ""
        texts = "".join(map(self._text, example.texts))
        head = f"<summary><h4>{_words(example.title)}{times}</h4></summary>"
        return f'<details class="case"{" open" if is_open else ""}>\n{head}\n{texts}</details>\n'

    def _text(self, text: MarkedText) -> str:
        heading = escaped(text.heading)
        relations = self.arcs.drawing(text.document) + self.arcs.written(text.document)
        return (
            f'<article class="doc">\n<h5 title="{heading}">{heading}</h5>\n'
            f"{marked_text(text.document, self.colors)}{relations}</article>\n"
        )


def _is_chart(element: Element) -> bool:
    return not isinstance(element, Table | Examples)


def _documents(report: Report) -> Iterator[Document]:
    for section in report.sections:
        for element in section.elements:
            if isinstance(element, Examples):
                yield from (text.document for example in element.examples for text in example.texts)


def _facts(facts: Mapping[str, str]) -> str:
    rows = "".join(f"<div><dt>{_words(name)}</dt><dd>{_words(fact)}</dd></div>\n" for name, fact in facts.items())
    return f'<dl class="facts">\n{rows}</dl>\n' if rows else ""


def _contents(report: Report) -> str:
    links = "".join(
        f'<li><a href="#{_anchor(number, section)}">{_words(section.title)}</a></li>\n'
        for number, section in enumerate(report.sections, start=1)
    )
    return f'<nav class="contents" aria-label="Contents">\n<h2>Contents</h2>\n<ol>\n{links}</ol>\n</nav>\n'


def _anchor(number: int, section: Section) -> str:
    return f"section-{number}-{_slug(section.key)}"


def _slug(text: str) -> str:
    """Letters, digits and hyphens, for addresses and file names."""
    plain = unicodedata.normalize("NFKD", text[:1000].replace("+", " plus ")).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:_NAME].rstrip("-") or "chart"


def _heading(title: str) -> str:
    return f"<h3>{_words(title)}</h3>\n" if title else ""


def _note(note: str) -> str:
    return f'<p class="note">{escaped(note)}</p>\n' if note else ""


def _words(text: str) -> str:
    """A text of any length: the style shows its first lines, and its title the whole."""
    title = f' title="{escaped(text)}"' if len(text) > _NAME else ""
    return f'<span class="words"{title}>{escaped(text)}</span>'


def _scrolled(name: str, content: str) -> str:
    """A box of its own for what may be wider than the page; the keyboard can scroll it."""
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{escaped(name)}">\n{content}</div>\n'


def _table(table: Table) -> str:
    numeric = numeric_columns(table)
    head = "".join(
        f'<th scope="col"{_number_class(number)}>{_words(name)}</th>'
        for name, number in zip(table.header, numeric, strict=True)
    )
    rows = "".join(
        f"<tr>{''.join(_cell(value, number, table.digits) for value, number in zip(row, numeric, strict=True))}</tr>\n"
        for row in table.rows
    )
    sortable = ' class="sortable"' if len(table.rows) > 1 else ""
    grid = f"<table{sortable}>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n"
    return (
        f'<figure class="table">\n{_heading(table.title)}{_scrolled(table.title, grid)}{_note(table.note)}</figure>\n'
    )


def _cell(value: Value | Interval, numeric: bool, digits: int) -> str:
    """A cell, with its number in full to sort by."""
    if isinstance(value, str):
        return f"<td>{_words(value)}</td>"
    number = value.value if isinstance(value, Interval) else value
    shown = formatted(value, digits)
    if number is None or not math.isfinite(number):
        return f"<td{_number_class(numeric)} data-missing>{shown}</td>"
    if isinstance(value, Interval):
        plain, _, ends = shown.partition(" ")
        shown = f'{plain} <span class="range">{ends}</span>'
    return f'<td{_number_class(numeric)} data-value="{number}">{shown}</td>'


def _number_class(numeric: bool) -> str:
    return ' class="number"' if numeric else ""

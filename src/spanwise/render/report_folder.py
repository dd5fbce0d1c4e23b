"""The folder of a report: the page, its numbers, its charts, and documents to review. Each file appears whole."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spanwise.document import Document
from spanwise.errors import InputError
from spanwise.files import atomic_file, write_text
from spanwise.formats import write
from spanwise.render.charts import to_svg
from spanwise.render.elements import Report
from spanwise.render.report import charts_of, to_page

PAGE, NUMBERS, CHARTS, REVIEW = "report.html", "report.json", "charts", "suspicious.jsonl"
_CHART = re.compile(r"\d+-[a-z0-9-]+\.svg")


def check_report_folder(folder: Path) -> None:
    """Refuse a place that holds something else: a report replaces only an earlier report."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{str(folder)!r} is a file; choose a folder for the report.")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / NUMBERS).is_file():
        raise InputError(f"the folder {str(folder)!r} holds other files; choose an empty or a new folder.")


def write_report(report: Report, folder: Path, numbers: Mapping[str, Any], review: Sequence[Document] = ()) -> None:
    """Write the page, the same numbers as JSON, one file per chart, and the documents to review if there are any."""
    check_report_folder(folder)
    charts = charts_of(report)
    text, page = json.dumps(numbers, ensure_ascii=False, indent=1, allow_nan=False), to_page(report)
    write_text(folder / NUMBERS, text + "\n")  # first: it marks the folder as that of a report
    for name, chart in charts.items():
        write_text(folder / CHARTS / name, to_svg(chart))
    _remove_earlier(folder, keep=frozenset(charts))
    if review:
        write(review, folder / REVIEW, "jsonl")
    else:
        (folder / REVIEW).unlink(missing_ok=True)
    with atomic_file(folder / PAGE) as draft:
        draft.write_bytes(page.encode("utf-8", "xmlcharrefreplace"))  # UTF-8 cannot encode lone surrogates


def _remove_earlier(folder: Path, keep: frozenset[str]) -> None:
    """Remove the charts of an earlier report that this one does not have."""
    for path in (folder / CHARTS).glob("*.svg"):
        if path.name not in keep and _CHART.fullmatch(path.name):
            path.unlink()

"""Prints what was dropped in reading and writing, in the same words for every verb, on standard error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.cli.app import err

if TYPE_CHECKING:
    from spanwise.formats import Report


def print_report(report: Report) -> None:
    for line in report.sentences():
        err.print(line, markup=False, soft_wrap=True)

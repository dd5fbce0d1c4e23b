"""What reading and writing left out, told on standard error: every verb that reads files tells it in the same words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwise.cli.app import err

if TYPE_CHECKING:
    from spanwise.formats import Report


def print_report(report: Report) -> None:
    for line in report.sentences():
        err.print(line, markup=False, soft_wrap=True)

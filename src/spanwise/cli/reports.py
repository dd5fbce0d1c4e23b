"""What reading and writing left out, told on standard error: every verb that reads files tells it in the same words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape

from spanwise.cli.app import err

if TYPE_CHECKING:
    from spanwise.formats import Report

_KINDS_SHOWN = 20


def print_report(report: Report) -> None:
    """The notes, what was left out by kind, and the first of the bad records."""
    kinds = report.dropped.most_common()
    lines = [*report.notes, *(f"left out: {count:,} x {kind}" for kind, count in kinds[:_KINDS_SHOWN])]
    if rest := kinds[_KINDS_SHOWN:]:
        lines.append(f"left out: {sum(count for _, count in rest):,} of {len(rest):,} further kinds")
    if report.bad:
        lines += [f"skipped {report.bad:,} bad records, the first of them:", *(f"  {e}" for e in report.errors)]
    for line in lines:
        err.print(escape(line), soft_wrap=True)

"""What happened while files were read and written, so that nothing is lost in silence."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from spanwise.errors import FormatError
from spanwise.plural import counted

ERRORS_KEPT = 10
KINDS_SHOWN = 20


class BadRecord(NamedTuple):
    """A record that cannot be read: where it is, why, and the record itself as text."""

    source: str | None
    line: int | None
    reason: str
    record: str | None

    @property
    def error(self) -> FormatError:
        return FormatError(self.reason, self.source, self.line)


@dataclass
class Report:
    """Counts that a reader and a writer add to; one report can follow several files.

    `bad_records` takes all bad records where a caller gives a list; by default only the first errors are kept.
    """

    read: int = 0
    written: int = 0
    bad: int = 0
    errors: list[FormatError] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    repaired: Counter[str] = field(default_factory=Counter)  # what exports get wrong, and a reader mends
    notes: list[str] = field(default_factory=list)
    bytes_read: int = 0  # of inputs that are read in order, for progress
    bad_records: list[BadRecord] | None = None

    def drop(self, kind: str, count: int = 1) -> None:
        """Count what has no place in a document."""
        if count:
            self.dropped[kind] += count

    def repair(self, kind: str, count: int = 1) -> None:
        """Count what an export has wrong and a reader has mended."""
        if count:
            self.repaired[kind] += count

    def add_bad(self, error: FormatError, record: str | None = None) -> None:
        """Count a bad record; the first few are kept to be shown."""
        self.bad += 1
        if self.bad_records is not None:
            source = None if error.path is None else str(error.path)
            self.bad_records.append(BadRecord(source, error.line, error.reason, record))
        if len(self.errors) < ERRORS_KEPT:
            self.errors.append(error)

    def sentences(self) -> list[str]:
        """What the user must see: the notes, what was left out by kind, and the first of the bad records."""
        kinds = self.dropped.most_common()
        lines = [*self.notes, *(f"dropped: {count:,} x {kind}" for kind, count in kinds[:KINDS_SHOWN])]
        if rest := kinds[KINDS_SHOWN:]:
            lines.append(f"dropped: {sum(count for _, count in rest):,} of {counted(len(rest), 'other kind')}")
        lines += [f"repaired: {count:,} x {kind}" for kind, count in self.repaired.most_common()]
        if self.bad:
            bad = counted(self.bad, "bad record:", "bad records, the first ones:")
            lines += [f"skipped {bad}", *(f"  {e}" for e in self.errors)]
        return lines

    def to_dict(self) -> dict[str, Any]:
        """The report as plain JSON values."""
        return {
            "read": self.read,
            "written": self.written,
            "bad": self.bad,
            "errors": [str(error) for error in self.errors],
            "dropped": dict(self.dropped),
            "repaired": dict(self.repaired),
            "notes": list(self.notes),
        }

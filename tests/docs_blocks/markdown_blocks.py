"""The fenced code blocks of the README and the docs, each with the decision in the comment above it.

    <!-- block: slow, given train.jsonl runs/mine -->
    <!-- block: check, needs a corpus of SPANWISE_DATA -->

`run` is the default: the block is executed with every test run. `slow` blocks are executed where SPANWISE_DOCS is set.
`check` blocks are only validated, for the reason in the comment. Every block is validated, also those that run.
`given` names files that a reader has at this point; a block finds them in its folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
RUNNABLE = ("python", "bash", "console", "sh")
DECISIONS = ("run", "slow", "check")
_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,}|~{3,})(?P<language>[\w-]*)(?P<rest>.*)$")
_COMMENT = re.compile(r"^ *<!-- block: (?P<decision>\w+)(?P<details>, .*?)? -->$")
_GIVEN = "given "


@dataclass(frozen=True)
class Block:
    """A fenced block: where it begins, what it holds, and what is decided about it."""

    page: Path
    line: int
    language: str
    source: str
    decision: str = "run"
    given: tuple[str, ...] = ()
    reason: str = ""

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT).as_posix()}:{self.line}"

    @property
    def is_python(self) -> bool:
        return self.language == "python"


def blocks_of(page: Path, text: str | None = None) -> list[Block]:
    """All fenced blocks of a page, in order."""
    return list(_parse(page, (page.read_text(encoding="utf-8") if text is None else text).split("\n")))


def _parse(page: Path, lines: list[str]) -> Iterator[Block]:
    number = 0
    while number < len(lines):
        opening = _FENCE.match(lines[number])
        if opening is None:
            if "<!-- block:" in lines[number] and not _is_above_a_block(lines, number):
                raise AssertionError(f"{page.name}:{number + 1}: a comment on a block stands directly above it")
            number += 1
            continue
        indent, start = opening["indent"], number + 1
        end = next(
            (at for at in range(start, len(lines)) if lines[at].strip() == opening["ticks"]),
            None,
        )
        assert end is not None, f"{page.name}:{start}: the block has no end"
        body = [line.removeprefix(indent) for line in lines[start:end]]
        decided = _COMMENT.match(lines[number - 1]) if number else None
        yield Block(page, start, opening["language"], "\n".join(body) + "\n", **_decision(page, start, decided))
        number = end + 1


def _is_above_a_block(lines: list[str], number: int) -> bool:
    return bool(_COMMENT.match(lines[number]) and _FENCE.match("".join(lines[number + 1 : number + 2])))


def _decision(page: Path, line: int, comment: re.Match[str] | None) -> dict[str, object]:
    if comment is None:
        return {}
    decision = comment["decision"]
    parts = [part for part in (comment["details"] or "").split(", ") if part]
    given = tuple(name for part in parts if part.startswith(_GIVEN) for name in part.removeprefix(_GIVEN).split())
    reason = ", ".join(part for part in parts if not part.startswith(_GIVEN))
    assert decision in DECISIONS, f"{page.name}:{line}: {decision!r} is none of {', '.join(DECISIONS)}"
    assert reason or decision != "check", f"{page.name}:{line}: say why the block is only checked"
    return {"decision": decision, "given": given, "reason": reason}

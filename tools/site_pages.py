"""Hooks of mkdocs.yml: pages of the site that are not files of docs/, links between them, and names of headings.

README.md and some other pages of the repository are pages of the site, too. A link in a page is written for readers of
the repository; here it becomes a link of the site. The references are written from the code (site_reference.py).
"""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
COPIES = {  # page of the site: page of the repository
    "index.md": "README.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
    "benchmark-notes.md": "benchmarks/NOTES.md",
}
REFERENCES = ("reference/cli.md", "reference/python.md")
_LINK = re.compile(r"(\]\()([^()\s]+)(\))")
_FENCE = re.compile(
    r"^(?P<indent> *)(?P<fence>`{3,}|~{3,})[^\n]*\n.*?^(?P=indent)(?P=fence) *$", re.DOTALL | re.MULTILINE
)
_CODE = re.compile(r"(`+).+?\1", re.DOTALL)


def slug(heading: str, separator: str = "-") -> str:
    """The name of a heading in links, as Git hosts give it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", separator)


def links(page: str) -> Iterator[re.Match[str]]:
    """The links and pictures of a page in Markdown, without those in code."""
    code = [match.span() for pattern in (_FENCE, _CODE) for match in pattern.finditer(page)]
    for match in _LINK.finditer(page):
        if not any(start <= match.start() < end for start, end in code):
            yield match


def is_external(target: str) -> bool:
    return bool(re.match(r"[a-z]+:", target))


def source(page: str) -> str:
    """The path in the repository of a page of the site."""
    return COPIES.get(page, f"docs/{page}")


def site_link(target: str, page: str) -> str:
    """A link of a page, as written in the repository, as a link of the site."""
    path, hash_, anchor = target.partition("#")
    if is_external(target) or not path:
        return target
    aimed = posixpath.normpath(posixpath.join(posixpath.dirname(source(page)), path))
    place = next((copy for copy, original in COPIES.items() if original == aimed), None)
    if place is None:
        if not aimed.startswith("docs/"):
            raise ValueError(f"{source(page)} links to {target}, which is no page of the site.")
        place = aimed.removeprefix("docs/")
    return posixpath.relpath(place, posixpath.dirname(page) or ".") + hash_ + anchor


def site_page(text: str, page: str) -> str:
    """A page of the repository with the links of the site."""
    parts, end = [], 0
    for match in links(text):
        parts += [text[end : match.start(2)], site_link(match[2], page)]
        end = match.end(2)
    return "".join([*parts, text[end:]])


def with_deep_lists(text: str) -> str:
    """A page whose list items have their further lines in column four, as Python-Markdown wants them.

    After a paragraph inside an item, the next item needs an empty line before it.
    """
    lines: list[str] = []
    shift, fenced, loose = 0, False, False
    for line in text.split("\n"):
        if line.startswith(("```", "~~~")):
            fenced = not fenced
        if fenced:
            lines.append(line)
            continue
        marker = re.match(r"(?:[-*+]|\d+\.) +", line)
        if marker and loose:
            lines.append("")
        if marker or line[:1].strip():
            shift, loose = 4 - len(marker[0]) if marker else 0, False
        inside = shift > 0 and line.startswith(" ")
        loose |= inside and not lines[-1]
        lines.append(" " * shift + line if inside else line)
    return "\n".join(lines)


def on_config(config: Any) -> Any:
    config.mdx_configs.setdefault("toc", {})["slugify"] = slug
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are not in docs/."""
    from mkdocs.structure.files import File

    sys.path[:0] = [str(Path(__file__).parent)]
    from site_reference import cli_reference, python_reference

    for place, original in COPIES.items():
        files.append(File.generated(config, place, content=(ROOT / original).read_text(encoding="utf-8")))
    for place, write in zip(REFERENCES, (cli_reference, python_reference), strict=True):
        files.append(File.generated(config, place, content=write()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    place = page.file.src_uri
    return markdown if place in REFERENCES else with_deep_lists(site_page(markdown, place))

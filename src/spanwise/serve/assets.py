"""The files of the page: a fixed list, read once from the package."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

from spanwise.render.palette import TONES
from spanwise.render.scripts import script
from spanwise.render.style import style_sheet

TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class Asset:
    content: bytes
    type: str


def page_assets() -> dict[str, Asset]:
    """Name to content: the page's own files, and what it shares with the pages that `predict --html` writes."""
    shared = {"arcs.js": script("arcs.js"), "marks.css": style_sheet(len(TONES), relation_labels=1)}
    own = {file.name: file.read_text(encoding="utf-8") for file in (files("spanwise.serve") / "page").iterdir()}
    return {
        name: Asset(content.encode(), TYPES[name.rpartition(".")[2]]) for name, content in {**own, **shared}.items()
    }

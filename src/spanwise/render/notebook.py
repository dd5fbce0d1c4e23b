"""A document in a notebook: its page in a frame, so that neither changes how the other looks."""

from __future__ import annotations

from spanwise.document import Document
from spanwise.render.html import DEFAULT_TITLE, to_html
from spanwise.render.markup import escaped

HIGHEST = 700  # pixels; a longer page scrolls
_LINE = 70  # characters of a line, about


def to_notebook(document: Document) -> str:
    """The page of one document in a frame that may run no script but the page's own."""
    page = to_html([document], title=document.id or DEFAULT_TITLE)
    return (
        f'<iframe srcdoc="{escaped(page)}" sandbox="allow-scripts" width="100%" height="{_height(document)}" '
        f'style="border:0" title="{escaped(document.id or DEFAULT_TITLE)}"></iframe>'
    )


def _height(document: Document) -> int:
    """About as high as the page, whose height nothing outside the frame can ask for."""
    lines = sum(1 + len(line) // _LINE for line in document.text.split("\n"))
    return min(HIGHEST, 350 + 45 * lines + (100 if document.relations else 0))

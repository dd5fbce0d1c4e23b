"""A text with its spans as nested boxes."""

from __future__ import annotations

from collections.abc import Mapping

from spanwise.document import Document, Entity
from spanwise.render.layout import Open, Text, nested_pieces
from spanwise.render.markup import escaped, short
from spanwise.render.palette import TONES

_STYLED_LEVELS = 8


def label_classes(index: int) -> str:
    """The classes of a label's color; labels beyond the last color repeat the colors with dashed edges."""
    return f"c{index}" if index < len(TONES) else f"c{index} again"


def marked_text(document: Document, colors: Mapping[str, int]) -> str:
    """The text with a box around each piece of an entity, in the color of its label."""
    deep, parts = 1, []
    for token in nested_pieces(len(document.text), document.entities):
        if isinstance(token, Text):
            parts.append(escaped(document.text[token.start : token.end]))
        elif isinstance(token, Open):
            height = min(token.height, _STYLED_LEVELS)
            deep = max(deep, height)
            parts.append(_box(token, document.entities[token.entity], colors, height))
        else:
            parts.append("</mark>")
    return f'<div class="text" dir="auto" lang="" style="--deep:{deep}">{"".join(parts)}</div>\n'


def _box(piece: Open, entity: Entity, colors: Mapping[str, int], height: int) -> str:
    label = escaped(entity.label)
    classes = label_classes(colors[entity.label])
    classes += "" if piece.begins else " came-from"
    classes += "" if piece.ends else " goes-on"
    raised = f' style="--up:{height}"' if height > 1 else ""
    return (
        f'<mark class="{classes}" data-entity="{piece.entity}" data-label="{escaped(short(entity.label))}" '
        f'title="{label} · {entity.score:.2f}"{raised}>'
    )

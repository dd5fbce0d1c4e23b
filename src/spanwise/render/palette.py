"""Colors of labels. Pages with the same schema use the same colors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from spanwise.document import Document
from spanwise.schema import Schema


@dataclass(frozen=True, slots=True)
class Tone:
    """A hue in degrees and a saturation in percent; the page's light or dark mode adds the lightness."""

    hue: int
    saturation: int


TONES = (
    Tone(212, 80),
    Tone(28, 85),
    Tone(145, 50),
    Tone(338, 70),
    Tone(265, 65),
    Tone(46, 80),
    Tone(184, 60),
    Tone(4, 70),
    Tone(88, 50),
    Tone(236, 70),
    Tone(306, 55),
    Tone(164, 55),
    Tone(20, 35),
    Tone(205, 25),
    Tone(66, 55),
    Tone(288, 30),
)
TERMINAL_COLORS = (
    "blue",
    "yellow",
    "green",
    "magenta",
    "cyan",
    "red",
    "bright_blue",
    "bright_yellow",
    "bright_green",
    "bright_magenta",
    "bright_cyan",
    "bright_red",
)


def color_indices(documents: Iterable[Document], schema: Schema | None = None) -> dict[str, int]:
    """A color index per label: the schema's labels in its order, then other labels by name."""
    known = list(schema.entity_names) if schema else []
    found = {entity.label for document in documents for entity in document.entities}
    return {label: index for index, label in enumerate([*known, *sorted(found.difference(known))])}

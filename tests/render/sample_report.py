"""A report with every kind of element, of harmless or of hostile text."""

from __future__ import annotations

from collections.abc import Callable

from spanwise.document import Document, Entity, Relation
from spanwise.render.elements import (
    Bars,
    Example,
    Examples,
    Heatmap,
    Interval,
    Lines,
    MarkedText,
    Reliability,
    ReliabilityBin,
    Report,
    Scatter,
    Section,
    Series,
    Table,
)

HOSTILE = (
    "<script>document.title='broken'</script>",
    '"><img src=x onerror="document.title=\'broken\'">',
    "</style><style>*{display:none}</style>",
    "</title></svg></script><b>",
    "\u202eright to left\u202c \u200f\u061c\u2066",
    "L" * 3000,
    "two\nlines\tand\x00\x07\x1b control \ud800",
    "=1+1|`*_[a](javascript:alert(1))$&%#{}~^\\",
)
LABELS = ("Person", "Place", "Organization", "Other")
BUCKETS = ("1", "2", "3–4", "5 or more")


def sample_report(name: Callable[[str], str] = lambda name: name) -> Report:
    """A report; `name` may make any text in it hostile."""
    names = [name(label) for label in LABELS]
    systems = [name(system) for system in ("baseline", "deep spans")]
    return Report(
        name("Analysis of the test set"),
        (
            Section("scores", name("Scores"), (_scores(names), _bars(names, systems)), name("Strict matches.")),
            Section("errors", name("Errors"), (_confusion(names), _examples(names, systems[0]))),
            Section("buckets", name("F1 by attribute"), (_single(systems), _difference(names), _lines(systems))),
            Section("calibration", name("Calibration"), (_reliability(name("baseline")), _scatter(names))),
        ),
        {name("documents"): "288", name("entities"): "1,077"},
    )


def _scores(names: list[str]) -> Table:
    header = ("label", "precision", "recall", "F1", "gold", "predicted", "partial F1", "boundary F1", "support share")
    rows = tuple(
        (label, 80.0 + 3 * i, 75.5, Interval(77.0 + (i * 7) % 5, 70.1, 84.0), 120 * (i + 1), 110, 88.1, None, 0.25)
        for i, label in enumerate(names)
    )
    return Table(
        "Scores by label", header, (*rows, ("micro", 85.0, None, float("nan"), 1200, 440, 1.0, 2.0, 1.0)), "In %."
    )


def _bars(names: list[str], systems: list[str]) -> Bars:
    values = [
        tuple(Interval(70.0 + 5 * i - 9 * s, 60 + 5 * i - 9 * s, 74 + 5 * i - 9 * s) for i in range(len(names)))
        for s in range(len(systems))
    ]
    series = tuple(Series(system, row) for system, row in zip(systems, values, strict=True))
    return Bars("F1 by label", tuple(names), series, "With 95% intervals.", x_title="label")


def _single(systems: list[str]) -> Bars:
    values = (Interval(88.2, 86.0, 90.0), Interval(80.5, 76.0, 85.5), None, Interval(41.0, 12.0, 70.0))
    return Bars("F1 by entity length", BUCKETS, (Series(systems[0], values),), "Words.", x_title="words of the entity")


def _confusion(names: list[str]) -> Heatmap:
    values = tuple(tuple(float(40 - 9 * abs(i - j)) if i != 2 else None for j in range(4)) for i in range(4))
    return Heatmap("Label confusion", tuple(names), tuple(names), values, "", False, 0, "gold", "predicted")


def _difference(names: list[str]) -> Heatmap:
    values = tuple(tuple((i - 1.5) * (j + 1) * 1.3 for j in range(4)) for i in range(4))
    return Heatmap("Difference by bucket", tuple(names), BUCKETS, values, "Blue: the first is better.", diverging=True)


def _lines(systems: list[str]) -> Lines:
    series = (Series(systems[0], (81.0, 84.5, 83.0)), Series(systems[1], (Interval(80.0, 79, 81), None, 85.0)))
    return Lines("F1 over α", (0.1, 0.5, 1.0), series, "", "F1", "α")


def _reliability(system: str) -> Reliability:
    bins = tuple(ReliabilityBin(i / 10, (i + 1) / 10, 2**i, i / 10 + 0.05, max(0, i / 10 - 0.05)) for i in range(10))
    return Reliability(system, bins, "Expected calibration error: 0.10.")


def _scatter(names: list[str]) -> Scatter:
    groups = {label: tuple((i + k / 9, (k * 7 % 10) / 5 - i) for k in range(10)) for i, label in enumerate(names)}
    return Scatter("Span vectors", groups, "", "first component", "second component")


def _examples(names: list[str], system: str) -> Examples:
    text = "The University of Lindqvale in Upper Dale thanked Femke Addo."
    gold = Document(
        text,
        entities=(
            Entity(4, 27, names[2]),
            Entity(18, 27, names[1]),
            Entity(31, 41, names[1]),
            Entity(50, 60, names[0]),
        ),
        relations=(Relation(0, 2, names[3]), Relation(3, 0, "works for")),
    )
    found = Document(text, entities=(Entity(4, 41, names[2], 0.91), Entity(18, 27, names[1], 0.5)))
    other = Document(f"{names[0]} met {system}.", entities=(Entity(0, len(names[0]), names[0]),))
    cases = (
        Example(f"{names[2]} as {names[1]}", (MarkedText("gold", gold), MarkedText(system, found)), 12),
        Example("missed", (MarkedText("gold", other), MarkedText(system, Document(other.text)))),
    )
    return Examples("Frequent mistakes", cases, "Boxes show entities.")

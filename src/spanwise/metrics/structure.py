"""Strict scores of entities by two properties that make them hard: width and nesting (DSpERT, section 4).

Gold and predicted entities are grouped by their own bounds, so that a false positive lowers the precision of the group
that it resembles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from spanwise.document import Document, Entity
from spanwise.metrics.pairing import pair_documents
from spanwise.metrics.scores import Score, count_matches
from spanwise.text.alignment import AlignedDocument, align

MAX_GROUPED_WIDTH = 10  # words; wider entities form one group
NESTING = ("flat", "nested", "covering", "both")
Bounds = tuple[int, int]


def score_by_width(gold: Iterable[Document | AlignedDocument], predicted: Iterable[Document]) -> Mapping[str, Score]:
    """Scores by number of words, from "1" to "10" and "11+"; "?" holds entities that are not on word boundaries."""
    rows = [align(row) for row in gold]
    found = (other for _, other in pair_documents((row.document for row in rows), predicted))
    scores = count_matches((_by_width(row), _by_width(align(other))) for row, other in zip(rows, found, strict=True))
    groups = scores.labels
    return dict(sorted(groups.items(), key=lambda item: int(item[0].rstrip("+").replace("?", "99"))))


def score_by_nesting(gold: Iterable[Document], predicted: Iterable[Document]) -> Mapping[str, Score]:
    """Scores by nesting relative to the gold entities.

    nested: inside a gold entity that contains another one; covering: around a gold entity that is inside another one;
    both: nested and covering; flat: neither.
    """
    pairs = ((_nesting(one), one.entities, other.entities) for one, other in pair_documents(gold, predicted))
    scores = count_matches((_grouped(group, one), _grouped(group, other)) for group, one, other in pairs).labels
    return {name: scores[name] for name in NESTING if name in scores}


def _by_width(row: AlignedDocument) -> Iterator[tuple[str, tuple[Bounds, str]]]:
    for entity, words in zip(row.document.entities, row.spans, strict=True):
        width = 0 if words is None else words[1] - words[0]
        name = "?" if words is None else str(width) if width <= MAX_GROUPED_WIDTH else f"{MAX_GROUPED_WIDTH + 1}+"
        yield name, ((entity.start, entity.end), entity.label)


def _grouped(group: Callable[[Bounds], str], entities: Sequence[Entity]) -> Iterator[tuple[str, tuple[Bounds, str]]]:
    for entity in entities:
        bounds = entity.start, entity.end
        yield group(bounds), (bounds, entity.label)


def _nesting(gold: Document) -> Callable[[Bounds], str]:
    """A function from bounds to their group, relative to the entities of this gold document."""
    all_bounds = {(entity.start, entity.end) for entity in gold.entities}
    outer = {one for one in all_bounds if any(_inside(other, one) for other in all_bounds)}
    inner = {one for one in all_bounds if any(_inside(one, other) for other in all_bounds)}

    def group(bounds: Bounds) -> str:
        nested = any(_inside(bounds, other) for other in outer)
        covering = any(_inside(other, bounds) for other in inner)
        return NESTING[nested + 2 * covering]

    return group


def _inside(one: Bounds, other: Bounds) -> bool:
    return one != other and other[0] <= one[0] and one[1] <= other[1]

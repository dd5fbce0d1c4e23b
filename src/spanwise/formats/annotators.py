"""Several annotators of one text: one of them is chosen, or their majority; without a choice the text is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import NamedTuple, TypeVar

from spanwise.document import Document, Entity, Relation
from spanwise.errors import FormatError
from spanwise.formats.fields import short_repr
from spanwise.formats.reading import Reader

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
MAJORITY, EACH = "majority", "each"
ANNOTATOR = "annotator"  # metadata key of the documents that are read with `each`
_NAMES_SHOWN = 5


class Version(NamedTuple):
    """A text as one annotator marked it."""

    annotator: str
    document: Document


def choose(versions: Sequence[Version], reader: Reader) -> Iterator[Document]:
    """The document that the reader asks for, from the versions of one text. A later version replaces an earlier one of
    the same annotator."""
    latest = {version.annotator: version for version in versions}
    reader.report.drop("earlier annotation by the same annotator", len(versions) - len(latest))
    reader.annotators.update(latest)
    if reader.annotator == EACH:
        yield from map(_named, latest.values())
    elif reader.annotator == MAJORITY and latest:
        yield majority(list(latest.values()))
    elif reader.annotator is not None:
        reader.report.drop("text without an annotation by this annotator", reader.annotator not in latest)
        yield from (latest[name].document for name in [reader.annotator] if name in latest)
    elif len(latest) > 1:
        raise several(latest)
    else:
        yield from (version.document for version in latest.values())


class Repeats:
    """Versions of one text that stand in records of their own, anywhere in a file."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._annotators: dict[bytes, str] = {}  # by the digest of a text: the file may be large
        self._held: dict[bytes, list[Version]] = {}

    def add(self, version: Version) -> Iterator[Document]:
        """The document of a record, unless it is held back for the majority or by another annotator."""
        self._reader.annotators.update([version.annotator] if version.annotator else [])
        text = blake2b(version.document.text.encode(), digest_size=16).digest()
        if self._reader.annotator == MAJORITY:
            self._held.setdefault(text, []).append(version)
        elif self._reader.annotator is not None:
            yield from choose([version], self._reader)
        elif (first := self._annotators.setdefault(text, version.annotator)) != version.annotator:
            raise several([first, version.annotator])
        else:
            yield version.document

    def majorities(self) -> Iterator[Document]:
        """The documents that were held back."""
        for versions in self._held.values():
            yield from choose(versions, self._reader)


def several(names: Iterable[str]) -> FormatError:
    """The refusal of a text that several annotators marked."""
    listed = list(names)
    shown = ", ".join(map(short_repr, listed[:_NAMES_SHOWN])) + (", …" if len(listed) > _NAMES_SHOWN else "")
    return FormatError(
        f"the text has annotations by several annotators ({shown}); choose one of them with --annotator NAME, or "
        f"--annotator {MAJORITY} (annotator=)."
    )


def majority(versions: Sequence[Version]) -> Document:
    """The first version's text with the entities and relations that more than half of the versions have."""
    documents = [version.document for version in versions]
    entities = _elected(({entity_key(e): e for e in d.entities} for d in documents), len(documents))
    places = {key: index for index, key in enumerate(entities)}
    linked = _elected(({relation_key(d, r): r for r in d.relations} for d in documents), len(documents))
    relations = [
        replace(relation, head=places[key[0]], tail=places[key[1]])
        for key, relation in linked.items()
        if key[0] in places and key[1] in places
    ]
    return documents[0].with_annotations(entities.values(), relations)


def entity_key(entity: Entity) -> tuple[int, int, str]:
    """What must be equal for two annotators to have marked the same entity."""
    return entity.start, entity.end, entity.label


def relation_key(document: Document, relation: Relation) -> tuple[tuple[int, int, str], tuple[int, int, str], str]:
    """What must be equal for two annotators to have marked the same relation."""
    head, tail = (entity_key(document.entities[index]) for index in (relation.head, relation.tail))
    return head, tail, relation.label


def _elected(found: Iterable[dict[K, V]], voters: int) -> dict[K, V]:
    votes: Counter[K] = Counter()
    first: dict[K, V] = {}
    for marked in found:
        votes.update(marked.keys())
        first = marked | first
    return {key: first[key] for key in votes if 2 * votes[key] > voters}


def _named(version: Version) -> Document:
    document = version.document
    return replace(document, metadata={**document.metadata, ANNOTATOR: version.annotator})

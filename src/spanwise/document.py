"""Text with typed spans and relations between them. Outside a model, all offsets are half-open and in characters."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, TypeVar

from spanwise.errors import AnnotationError
from spanwise.plural import counted


class Span(Protocol):
    """Any object with a start and an exclusive end."""

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...


S = TypeVar("S", bound=Span)
SHOWN_CHARACTERS = 300  # of a text that is printed
ANNOTATED = "annotated"  # metadata key for the entity labels that a document was annotated for; if absent, all labels


class Offsets(NamedTuple):
    """A half-open range of characters, such as a word."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Entity:
    """A typed span of text. An event trigger is an entity whose label is an event type.

    `head` is the head region that some corpora, such as ACE, mark inside an entity: "president" in "the new president
    of Norland".
    """

    start: int
    end: int
    label: str
    score: float = 1.0
    head: Offsets | None = None

    def __post_init__(self) -> None:
        if self.head is not None:
            object.__setattr__(self, "head", Offsets(*self.head))

    def __repr__(self) -> str:
        head = "" if self.head is None else f", head={tuple(self.head)}"
        return f"Entity(start={self.start}, end={self.end}, label={self.label!r}, score={self.score!r}{head})"


@dataclass(frozen=True, slots=True)
class Relation:
    """A typed, directed link; head and tail are indices into the document's entities."""

    head: int
    tail: int
    label: str
    score: float = 1.0


@dataclass(frozen=True, slots=True)
class Document:
    """A text and its annotations. Annotations that do not fit the text raise an AnnotationError.

    The check runs once, on construction; documents that its own methods derive are valid already. `words` are the
    offsets of the text's words; empty means that the text has not been segmented yet.
    """

    text: str
    words: tuple[Offsets, ...] = ()
    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    id: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", tuple(w if type(w) is Offsets else Offsets(*w) for w in self.words))
        object.__setattr__(self, "entities", tuple(self.entities))
        object.__setattr__(self, "relations", tuple(self.relations))
        self._check()

    @classmethod
    def from_words(
        cls,
        words: Iterable[str],
        entities: Iterable[tuple[int, int, str]] = (),
        relations: Iterable[Relation] = (),
        *,
        joiner: str = " ",
        id: str = "",
        metadata: Mapping[str, Any] | None = None,
    ) -> Document:
        """Join words into a text; the entities' bounds are half-open word indices."""
        pieces, offsets, cursor = [], [], 0
        for word in words:
            pieces.append(word)
            offsets.append(Offsets(cursor, cursor + len(word)))
            cursor += len(word) + len(joiner)
        marked = entities_on_words(offsets, entities, id)
        return cls(joiner.join(pieces), tuple(offsets), marked, tuple(relations), id, metadata or {})

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Document:
        """The document of a dictionary that `to_dict` gave."""
        values = _fields_of(record, Document, "the document")
        words = (_offsets(word, f"words[{index}]") for index, word in enumerate(values.get("words", ())))
        entities = (_entity(row, f"entities[{index}]") for index, row in enumerate(values.get("entities", ())))
        relations = (_relation(row, f"relations[{index}]") for index, row in enumerate(values.get("relations", ())))
        return cls(**{**values, "words": tuple(words), "entities": tuple(entities), "relations": tuple(relations)})

    def to_dict(self) -> dict[str, Any]:
        """The document as plain JSON values, as the `jsonl` format writes it; what is empty or certain is left out."""
        words = {"words": [list(word) for word in self.words]} if self.words else {}
        return {
            "text": self.text,
            **words,
            "entities": [
                {
                    "start": e.start,
                    "end": e.end,
                    "label": e.label,
                    **_score(e),
                    **({"head": [*e.head]} if e.head else {}),
                }
                for e in self.entities
            ],
            "relations": [{"head": r.head, "tail": r.tail, "label": r.label, **_score(r)} for r in self.relations],
            **({"id": self.id} if self.id else {}),
            **({"metadata": dict(self.metadata)} if self.metadata else {}),
        }

    def __str__(self) -> str:
        """The text, shortened, then the entities and the relations, one per line."""
        text = self.text if len(self.text) <= SHOWN_CHARACTERS else f"{self.text[:SHOWN_CHARACTERS]} …"
        names = [" ".join(self.text_of(entity).split()) for entity in self.entities]
        entities = (f"{name} [{e.label}] {e.score:.2f}" for name, e in zip(names, self.entities, strict=True))
        relations = (f"{names[r.head]} —{r.label}→ {names[r.tail]} {r.score:.2f}" for r in self.relations)
        return "\n  ".join([text, *entities, *relations])

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from spanwise.render.notebook import to_notebook

        return to_notebook(self)

    def text_of(self, span: Entity | Offsets) -> str:
        """The text that an entity or a word covers."""
        return self.text[span.start : span.end]

    @property
    def word_texts(self) -> list[str]:
        return [self.text[start:end] for start, end in self.words]

    def with_annotations(self, entities: Iterable[Entity] = (), relations: Iterable[Relation] = ()) -> Document:
        """The same text with these annotations instead of its own; they are checked."""
        document = self.with_predictions(entities, relations)
        document._check_entities()
        document._check_relations()
        return document

    def with_predictions(self, entities: Iterable[Entity] = (), relations: Iterable[Relation] = ()) -> Document:
        """The same text with annotations that are valid by construction, such as a model's; they are not checked."""
        return self._copy_unchecked(entities=tuple(entities), relations=tuple(relations))

    def with_words(self, words: tuple[Offsets, ...]) -> Document:
        """The same text with words that were found in it, such as those of `segment`; they are not checked."""
        return self._copy_unchecked(words=words)

    def without_relations(self) -> Document:
        """The same text and entities, without relations."""
        return self._copy_unchecked(relations=())

    def select_entities(self, entities: Iterable[int]) -> Document:
        """The document with only the entities at these indices, and the relations between them."""
        kept = list(entities)
        place = {old: new for new, old in enumerate(kept)}
        relations = (
            replace(relation, head=place[relation.head], tail=place[relation.tail])
            for relation in self.relations
            if relation.head in place and relation.tail in place
        )
        return self.with_predictions((self.entities[index] for index in kept), relations)

    def filter_labels(self, labels: Collection[str]) -> Document:
        """The document with only the entities with these labels, and the relations between them."""
        return self.select_entities(index for index, entity in enumerate(self.entities) if entity.label in labels)

    def with_head_spans(self) -> Document:
        """The document with each entity narrowed to its head region; entities without one do not change."""
        entities = (replace(e, start=e.head.start, end=e.head.end, head=None) if e.head else e for e in self.entities)
        return self.with_predictions(entities, self.relations)

    def _copy_unchecked(self, **changes: Any) -> Document:
        """A copy with changes that cannot make it invalid; nothing is checked."""
        document = object.__new__(Document)
        for name in Document.__slots__:
            object.__setattr__(document, name, changes[name] if name in changes else getattr(self, name))
        return document

    def _check(self) -> None:
        """Raise an AnnotationError for words, entities or relations that do not fit the text."""
        self._check_words()
        self._check_entities()
        self._check_relations()

    def _check_words(self) -> None:
        cursor = 0
        for index, (start, end) in enumerate(self.words):
            if not cursor <= start < end <= len(self.text):
                raise AnnotationError(
                    f"{_named(self.id)} word {index} at characters {start} to {end} is empty, out of order or beyond "
                    f"the text's {counted(len(self.text), 'character')}; give words from left to right without overlap."
                )
            cursor = end

    def _check_entities(self) -> None:
        for index, entity in enumerate(self.entities):
            if entity.end <= entity.start:
                problem = "ends before it starts" if entity.end < entity.start else "is empty"
            elif entity.start < 0 or entity.end > len(self.text):
                problem = f"lies beyond the text's {counted(len(self.text), 'character')}"
            elif not entity.label:
                problem = "has no label"
            elif entity.head and not entity.start <= entity.head.start < entity.head.end <= entity.end:
                problem = f"has a head at characters {entity.head.start} to {entity.head.end}, empty or not inside it"
            else:
                continue
            raise AnnotationError(
                f"{_named(self.id)} entity {index} ({entity.label!r}, characters {entity.start} to {entity.end}) "
                f"{problem}; correct its offsets or leave it out."
            )

    def _check_relations(self) -> None:
        for index, relation in enumerate(self.relations):
            for side, entity in (("head", relation.head), ("tail", relation.tail)):
                if not 0 <= entity < len(self.entities):
                    raise AnnotationError(
                        f"{_named(self.id)} relation {index} ({relation.label!r}) has entity {entity} as its {side}, "
                        f"but the document has {counted(len(self.entities), 'entity', 'entities')}; correct the index "
                        f"or leave it out."
                    )


# What each field of a dictionary is, by the class that it is for.
_TYPES: Mapping[type, Mapping[str, type | tuple[type, ...]]] = {
    Document: {"text": str, "words": list, "entities": list, "relations": list, "id": str, "metadata": dict},
    Entity: {"start": int, "end": int, "label": str, "score": (int, float), "head": (list, tuple)},
    Relation: {"head": int, "tail": int, "label": str, "score": (int, float)},
}


def _fields_of(record: object, kind: type, what: str) -> dict[str, Any]:
    """The fields of a dictionary, if it has those that the class needs, none that it lacks, and each of its type."""
    types = _TYPES[kind]
    if not isinstance(record, Mapping):
        raise AnnotationError(f"{what} is of type {type(record).__name__}; give a dictionary as `to_dict` returns it.")
    if unknown := [key for key in record if key not in types]:
        raise AnnotationError(f"{what} has the unknown key {unknown[0]!r}; choose from {', '.join(types)}.")
    if missing := [f.name for f in fields(kind) if f.default is f.default_factory is MISSING and f.name not in record]:
        raise AnnotationError(f"{what} has no {missing[0]!r}; add it.")
    for key, value in record.items():
        if isinstance(value, bool) or not isinstance(value, types[key]):
            raise AnnotationError(f"{what} has a {key!r} of type {type(value).__name__}; correct it.")
    return dict(record)


def _entity(record: object, what: str) -> Entity:
    values = _fields_of(record, Entity, what)
    return Entity(**{**values, "head": _offsets(values["head"], f"the head of {what}")} if "head" in values else values)


def _relation(record: object, what: str) -> Relation:
    return Relation(**_fields_of(record, Relation, what))


def _offsets(value: object, what: str) -> Offsets:
    """A pair of character offsets, which JSON has as an array."""
    if not isinstance(value, (list, tuple)) or len(value) != 2 or not all(type(bound) is int for bound in value):
        raise AnnotationError(f"{what} is {repr(value)[:60]}, but should be a start and an end; correct it.")
    return Offsets(*value)


def _score(annotation: Entity | Relation) -> dict[str, float]:
    return {} if annotation.score == 1.0 else {"score": annotation.score}


def entities_on_words(
    words: Sequence[Offsets], entities: Iterable[tuple[int, int, str]], id: str = ""
) -> tuple[Entity, ...]:
    """Entities from bounds given as half-open word indices."""
    marked = []
    for first, last, label in entities:
        if not 0 <= first < last <= len(words):
            raise AnnotationError(
                f"{_named(id)} entity {label!r} covers words {first} to {last}, but the text has "
                f"{counted(len(words), 'word')}; correct the bounds (the end is exclusive)."
            )
        marked.append(Entity(words[first].start, words[last - 1].end, label))
    return tuple(marked)


def overlap(entities: Iterable[Entity]) -> bool:
    """Whether any two of the entities share a character: nested, crossing or with the same bounds."""
    return any(one.end > two.start for one, two in pairwise(sorted(entities, key=lambda e: (e.start, e.end))))


def outermost(entities: Iterable[Entity]) -> tuple[Entity, ...]:
    """Entities without overlap, selected from widest to narrowest, in text order."""
    return tuple(_filter_overlaps(sorted(entities, key=lambda e: (e.start - e.end, e.start))))


def _filter_overlaps(ranked: Iterable[S]) -> list[S]:
    """Go through spans in order of preference and keep those that overlap no kept span; return them in text order."""
    kept: list[S] = []
    for span in ranked:
        at = bisect_left(kept, span.end, key=lambda other: other.start)
        if at == 0 or kept[at - 1].end <= span.start:
            kept.insert(at, span)
    return kept


def _named(id: str) -> str:
    return f"document {id!r}:" if id else "document:"

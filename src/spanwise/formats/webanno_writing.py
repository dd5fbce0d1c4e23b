"""Documents as WebAnno TSV 3: named entities and relations between them. Spans inside tokens become parts of tokens."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import NamedTuple

from spanwise.document import Document, Offsets
from spanwise.formats.standoff import trimmed
from spanwise.formats.webanno_escapes import escape, escape_line
from spanwise.formats.writing import Writer, free_path
from spanwise.text.sentences import sentence_starts

HEADER = "#FORMAT=WebAnno TSV 3"
_ENTITY = "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity"
_RELATION = "webanno.custom.Relation"
_EMPTY, _NO_VALUE = "_", "*"


class _Place(NamedTuple):
    """A token by its sentence and number, from 1, or a part of it; part 0 is the whole token."""

    sentence: int
    token: int
    part: int = 0

    def __str__(self) -> str:
        return f"{self.sentence}-{self.token}" + (f".{self.part}" if self.part else "")


def write_folder(documents: Iterable[Document], writer: Writer) -> None:
    """A file for each document."""
    with writer.folder() as folder:
        for number, document in enumerate(documents, 1):
            if not document.text.strip():
                writer.drop_or_refuse(document, "document left out for a text without words")
                continue
            writer.count_unsupported(document)
            content = "".join(_Layout(document, writer).lines())
            free_path(folder, document, number, ".tsv").write_bytes(writer.encoded(content, document))
            writer.report.written += 1


class _Layout:
    """The sentences, tokens and parts of tokens of a document, and the cells of its entities and relations."""

    def __init__(self, document: Document, writer: Writer) -> None:
        kept = _trimmed(document, writer)
        self._document = kept
        self._tokens = _tokens(kept)
        self._starts = [token.start for token in self._tokens]
        self._ends = [token.end for token in self._tokens]
        self._cuts = self._sentence_cuts()
        self._parts = self._parts_of_tokens()
        self._units = [self._units_of(Offsets(e.start, e.end)) for e in kept.entities]
        self._ids = self._annotation_ids()
        self._utf16 = _utf16_offsets(kept.text)

    def lines(self) -> Iterator[str]:
        yield f"{HEADER}.3\n#T_SP={_ENTITY}|identifier|value\n"
        if self._document.relations:
            yield f"#T_RL={_RELATION}|label|BT_{_ENTITY}\n"
        yield "\n"
        values, relations = self._values(), self._relations()
        for number, (first, last) in enumerate(pairwise(self._cuts), 1):
            yield "\n"
            yield from (f"#Text={escape_line(line)}\n" for line in self._sentence_text(first, last).split("\n"))
            for index in range(first, last):
                token = self._tokens[index]
                places = [(_Place(number, index - first + 1), token)]
                places += [(places[0][0]._replace(part=n), part) for n, part in enumerate(self._parts[index], 1)]
                yield from (self._row(place, bounds, values, relations) for place, bounds in places)

    def _row(
        self,
        place: _Place,
        bounds: Offsets,
        values: Mapping[str, list[tuple[str, str]]],
        relations: Mapping[str, list[tuple[str, str]]],
    ) -> str:
        own, ended = values.get(str(place), []), relations.get(str(place), [])
        identifiers, labels = ("|".join(side) for side in zip(*own, strict=True)) if own else (_EMPTY, _EMPTY)
        cells = [identifiers, labels]
        if self._document.relations:
            cells += ["|".join(side) or _EMPTY for side in zip(*ended, strict=True)] if ended else [_EMPTY] * 2
        offsets = f"{self._utf16[bounds.start]}-{self._utf16[bounds.end]}"
        return "\t".join([str(place), offsets, escape(self._document.text[slice(*bounds)]), *cells]) + "\t\n"

    def _sentence_cuts(self) -> list[int]:
        """The index of the first token of each sentence, and of the end. No entity is cut."""
        starts = sentence_starts(self._document.text, tuple(self._tokens))
        inside = {
            index
            for entity in self._document.entities
            for index in range(bisect_right(self._ends, entity.start) + 1, bisect_left(self._starts, entity.end))
        }
        return [*(start for start in starts if start not in inside), len(self._tokens)]

    def _sentence_text(self, first: int, last: int) -> str:
        """The text of a sentence. What is between two sentences belongs to the first, but for one line end."""
        text = self._document.text
        begin = self._tokens[first].start if first else 0
        end = self._tokens[last].start if last < len(self._tokens) else len(text)
        gap = text[self._ends[last - 1] : end]
        implied = last < len(self._tokens) and re.fullmatch("\n *", gap)
        return text[begin : self._ends[last - 1] if implied else end]

    def _overlapping(self, span: Offsets) -> range:
        return range(bisect_right(self._ends, span.start), bisect_left(self._starts, span.end))

    def _parts_of_tokens(self) -> defaultdict[int, list[Offsets]]:
        parts: defaultdict[int, set[Offsets]] = defaultdict(set)
        for entity in self._document.entities:
            for index in self._overlapping(Offsets(entity.start, entity.end)):
                part = _common(self._tokens[index], Offsets(entity.start, entity.end))
                if part != self._tokens[index]:
                    parts[index].add(part)
        return defaultdict(list, {index: sorted(found) for index, found in parts.items()})

    def _units_of(self, span: Offsets) -> list[_Place]:
        """The tokens and parts of tokens that a span covers."""
        places = []
        for index in self._overlapping(span):
            sentence = bisect_right(self._cuts, index)
            part = _common(self._tokens[index], span)
            number = 0 if part == self._tokens[index] else self._parts[index].index(part) + 1
            places.append(_Place(sentence, index - self._cuts[sentence - 1] + 1, number))
        return places

    def _annotation_ids(self) -> list[int]:
        """A number for each entity that covers several units or shares one, and 0 for the others."""
        shared = Counter(place for units in self._units for place in units)
        needed = [len(units) > 1 or shared[units[0]] > 1 for units in self._units]
        return [number if needs else 0 for number, needs in zip(accumulate(map(int, needed)), needed, strict=True)]

    def _values(self) -> Mapping[str, list[tuple[str, str]]]:
        """The identifier, which is empty, and the label of the entities at each unit."""
        values: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        for entity, units, id in zip(self._document.entities, self._units, self._ids, strict=True):
            for place in units:
                number = f"[{id}]" if id else ""
                values[str(place)].append((_NO_VALUE + number, escape(entity.label) + number))
        return values

    def _relations(self) -> Mapping[str, list[tuple[str, str]]]:
        """The label and the source of the relations that end at each unit."""
        found: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        for relation in self._document.relations:
            source, ids = self._units[relation.head][0], (self._ids[relation.head], self._ids[relation.tail])
            reference = f"{source}[{ids[0]}_{ids[1]}]" if any(ids) else str(source)
            found[str(self._units[relation.tail][0])].append((escape(relation.label), reference))
        return found


def _trimmed(document: Document, writer: Writer) -> Document:
    """The document whose entities have no white space at their borders."""
    bounds = [trimmed(document.text, entity.start, entity.end, writer.report) for entity in document.entities]
    empty = sum(start == end for start, end in bounds)
    writer.drop_or_refuse(document, "entity of nothing but white space", empty)
    kept = [index for index, (start, end) in enumerate(bounds) if start < end]
    entities = [
        replace(entity, start=start, end=end) for entity, (start, end) in zip(document.entities, bounds, strict=True)
    ]
    moved = document.with_predictions(entities, document.relations)
    return moved if len(kept) == len(entities) else moved.select_entities(kept)


def _tokens(document: Document) -> list[Offsets]:
    """The words, and every other stretch of the text that is no white space."""
    tokens, cursor = [], 0
    for start, end in (*document.words, Offsets(len(document.text), len(document.text))):
        between = re.finditer(r"\S+", document.text[cursor:start])
        tokens += [Offsets(cursor + found.start(), cursor + found.end()) for found in between]
        tokens += [Offsets(start, end)] if start < end else []
        cursor = end
    return tokens


def _common(one: Offsets, other: Offsets) -> Offsets:
    return Offsets(max(one.start, other.start), min(one.end, other.end))


def _utf16_offsets(text: str) -> list[int]:
    """The offset of each character in UTF-16 units, and that of the end."""
    offsets = [0]
    for character in text:
        offsets.append(offsets[-1] + (2 if character > "\uffff" else 1))
    return offsets

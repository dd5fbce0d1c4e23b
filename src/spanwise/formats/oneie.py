"""OneIE's JSON lines: tokens, entity, relation and event mentions, some with their head region.

GENEVA's mentions come without a type.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from spanwise.document import Document, Offsets, Relation
from spanwise.errors import FormatError
from spanwise.formats.base import Format, Probe
from spanwise.formats.events import EVENT_TYPES, UNTYPED, EventView, event_metadata, without_links_to_triggers
from spanwise.formats.fields import get, identifier, objects, short_repr, strings
from spanwise.formats.reading import Reader
from spanwise.formats.tokens import WordSpan, align_to_words, build, head_words, word_spans
from spanwise.formats.writing import Writer, dumps

# `pieces` and `token_lens` are an encoder's own pieces, made again when a model needs them.
_KEYS = frozenset(
    {"doc_id", "wnd_id", "sent_id", "sentence", "tokens", "pieces", "token_lens"}
    | {"entity_mentions", "relation_mentions", "event_mentions"}
)
_ENTITY_KEYS = frozenset({"id", "start", "end", "text", "entity_type", "head"})


def _matches(probe: Probe) -> bool:
    keys = probe.record or {}
    return "tokens" in keys and ("entity_mentions" in keys or "event_mentions" in keys)


def _parse(record: dict[str, Any], reader: Reader) -> Iterator[Document]:
    reader.count_unknown_fields(record, _KEYS)
    mentions, events = objects(record, "entity_mentions"), objects(record, "event_mentions")
    for mention in mentions:
        reader.count_unknown_fields(mention, _ENTITY_KEYS)
    triggers = [_span(get(event, "trigger", dict), get(event, "event_type", str)) for event in events]
    words = strings(get(record, "tokens", list), "'tokens'")
    doc_id = identifier(record, "doc_id")
    document = build(
        words,
        [_span(m, get(m, "entity_type", str, UNTYPED) or UNTYPED) for m in mentions] + triggers,
        [*_relations(record, _places(mentions)), *_arguments(events, _places(mentions), len(mentions))],
        text=get(record, "sentence", str, ""),
        id=identifier(record, "wnd_id") or identifier(record, "sent_id"),
        metadata={**({"doc_id": doc_id} if doc_id else {}), **event_metadata(t.label for t in triggers)},
    )
    yield _with_heads(document, [*mentions, *(event["trigger"] for event in events)])


def _span(mention: dict[str, Any], label: str) -> WordSpan:
    return WordSpan(get(mention, "start", int), get(mention, "end", int), label)


def _with_heads(document: Document, mentions: list[dict[str, Any]]) -> Document:
    """The document with the head regions that the mentions of its entities mark."""
    heads = [_head(mention, document.words) for mention in mentions]
    if not any(heads):
        return document
    marked = (replace(entity, head=head) for entity, head in zip(document.entities, heads, strict=True))
    return document.with_annotations(marked, document.relations)


def _head(mention: dict[str, Any], words: Sequence[Offsets]) -> Offsets | None:
    """A head region, which the file gives by its words, like the mention around it."""
    if mention.get("head") is None:
        return None
    head = get(mention, "head", dict)
    first, last = get(head, "start", int), get(head, "end", int)
    if not mention["start"] <= first < last <= mention["end"]:
        raise FormatError(
            f"the head {short_repr(head)} is empty or not inside its mention, words {mention['start']} to "
            f"{mention['end']}; correct its words (the end is exclusive)."
        )
    return Offsets(words[first].start, words[last - 1].end)


def _places(mentions: list[dict[str, Any]]) -> dict[str, int]:
    places = {identifier(mention, "id"): index for index, mention in enumerate(mentions)}
    if len(places) < len(mentions):
        raise FormatError("two entity mentions share an id, or have none; give each its own.")
    return places


def _place(argument: dict[str, Any], places: dict[str, int]) -> int:
    name = identifier(argument, "entity_id")
    if name not in places:
        raise FormatError(
            f"the argument {short_repr(argument)} names an entity that the record lacks; correct its entity_id."
        )
    return places[name]


def _relations(record: dict[str, Any], places: dict[str, int]) -> Iterator[Relation]:
    for relation in objects(record, "relation_mentions"):
        arguments = objects(relation, "arguments")
        if len(arguments) != 2:
            raise FormatError(
                f"the relation {short_repr(relation)} should have two arguments; correct it or leave it out."
            )
        head, tail = arguments if _head_first(arguments) else reversed(arguments)
        yield Relation(_place(head, places), _place(tail, places), get(relation, "relation_type", str))


def _head_first(arguments: list[dict[str, Any]]) -> bool:
    """Whether the head, Arg-1, is listed first; without role names the first argument is the head."""
    roles = [re.sub("[^a-z0-9]", "", get(argument, "role", str, "").lower()) for argument in arguments]
    if roles in (["arg1", "arg1"], ["arg2", "arg2"]):
        raise FormatError(
            f"both arguments have the role {short_repr(arguments[0]['role'])}; name the head Arg-1 and the tail Arg-2."
        )
    return roles[0] != "arg2" and roles[1] != "arg1"


def _arguments(events: list[dict[str, Any]], places: dict[str, int], first_trigger: int) -> Iterator[Relation]:
    for trigger, event in enumerate(events, first_trigger):
        for argument in objects(event, "arguments"):
            yield Relation(trigger, _place(argument, places), get(argument, "role", str))


def _read(reader: Reader) -> Iterator[Document]:
    return reader.json_line_documents(partial(_parse, reader=reader))


def _encode(document: Document, writer: Writer) -> str:
    kept = without_links_to_triggers(align_to_words(document, writer), writer)
    spans = word_spans(kept)
    writer.count_unsupported(kept, metadata=("doc_id", EVENT_TYPES))
    view, mentions = EventView.of(kept), _Mentions(kept, spans, head_words(kept, writer))
    relations, events = enumerate(view.relations), enumerate(view.triggers)
    record: dict[str, Any] = {
        "doc_id": kept.metadata.get("doc_id", ""),
        "wnd_id": kept.id,
        "sentence": kept.text,
        "tokens": mentions.words,
        "entity_mentions": [
            {"id": mentions.name(i), **mentions.place(i), **_type(spans[i].label)} for i in view.mentions
        ],
        "relation_mentions": [
            {"id": f"{kept.id}-R{number}", "relation_type": r.label, "arguments": mentions.pair(r)}
            for number, r in relations
        ],
        "event_mentions": [
            {
                "id": f"{kept.id}-EV{number}",
                "event_type": spans[trigger].label,
                "trigger": mentions.place(trigger),
                "arguments": [mentions.argument(r.tail, r.label) for r in view.arguments.get(trigger, ())],
            }
            for number, trigger in events
        ],
    }
    return dumps(record, document) + "\n"


class _Mentions:
    """A document's entities as the format names and places them."""

    def __init__(self, document: Document, spans: list[WordSpan], heads: list[tuple[int, int] | None]) -> None:
        self.words, self._id, self._spans, self._heads = document.word_texts, document.id, spans, heads

    def name(self, index: int) -> str:
        return f"{self._id}-E{index}"

    def place(self, index: int) -> dict[str, Any]:
        first, last, _ = self._spans[index]
        head = self._heads[index]
        return {**self._stretch(first, last), **({"head": self._stretch(*head)} if head else {})}

    def _stretch(self, first: int, last: int) -> dict[str, Any]:
        return {"start": first, "end": last, "text": " ".join(self.words[first:last])}

    def argument(self, index: int, role: str) -> dict[str, Any]:
        return {"entity_id": self.name(index), "role": role, "text": self.place(index)["text"]}

    def pair(self, relation: Relation) -> list[dict[str, Any]]:
        return [self.argument(relation.head, "Arg-1"), self.argument(relation.tail, "Arg-2")]


def _type(label: str) -> dict[str, str]:
    return {} if label == UNTYPED else {"entity_type": label}


def _write(documents: Iterable[Document], writer: Writer) -> None:
    writer.file(writer.each(documents, partial(_encode, writer=writer)))


ONEIE = Format(
    name="oneie",
    matches=_matches,
    read=_read,
    write=_write,
    needs_words=True,
    example=(
        '{"tokens": ["Ann", "left"], "entity_mentions": [{"id": "e1", "start": 0, "end": 1, "entity_type": "PER"}], '
        '"relation_mentions": [], "event_mentions": []}'
    ),
    holds_heads=True,
)

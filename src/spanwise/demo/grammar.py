"""A small grammar that writes marked text: rules expand to phrases that carry their entities and relations along."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from types import MappingProxyType

from spanwise.demo.names import Names
from spanwise.document import Entity, Relation

_RULE = re.compile(r"\[(\w+)(?: = (\w+))?\]")
_WEIGHT = re.compile(r"(\d+)\* ")
_CHOICE = re.compile(r"<([^<>]*)>")
_SLOT = re.compile(r"\{(?P<main>\*)?(?:(?P<name>\w+):)?(?P<kind>\w+)(?:=(?P<words>[^{}]*))?\}")
_SELF = "self"


@dataclass(frozen=True)
class Phrase:
    """Text with entities and relations; `names` maps the template's names, and nested ones as `x/y`, to entities."""

    text: str
    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    names: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    main: int | None = None


@dataclass(frozen=True)
class Rule:
    """The templates that a symbol may expand to, and the label that marks what they write."""

    label: str | None
    templates: tuple[str, ...]


def read_rules(lines: Iterable[str]) -> dict[str, Rule]:
    """The rules of a grammar file by symbol; its first lines say how it is written."""
    labels: dict[str, str | None] = {}
    templates: dict[str, list[str]] = {}
    symbol = ""
    for line in (line.strip() for line in lines):
        if opened := _RULE.fullmatch(line):
            symbol = opened[1]
            labels[symbol], templates[symbol] = opened[2], []
        elif line and not line.startswith("#"):
            weight = _WEIGHT.match(line)
            repeats = int(weight[1]) if weight else 1
            templates[symbol] += [line[weight.end() if weight else 0 :]] * repeats
    return {symbol: Rule(labels[symbol], tuple(found)) for symbol, found in templates.items()}


class Writer:
    """Expands rules into phrases with one source of chance and one of names."""

    def __init__(self, rules: Mapping[str, Rule], names: Names, random: Random) -> None:
        self._rules, self._names, self._random = rules, names, random

    def expand(self, symbol: str) -> Phrase:
        """A phrase of this rule, or a bare name when the symbol is a kind of name."""
        if symbol not in self._rules:
            return Phrase(self._names.draw(symbol))
        rule = self._rules[symbol]
        return self.write(self._random.choice(rule.templates), rule.label)

    def write(self, template: str, label: str | None = None) -> Phrase:
        """Fill one template; with a label, the whole phrase becomes an entity that its relations call self."""
        wording, _, links = template.partition(" :: ")
        chosen = self._choose(wording)
        draft, cursor = _Draft(), 0
        for slot in _SLOT.finditer(chosen):
            draft.text += chosen[cursor : slot.start()]
            draft.append(self._fill(slot), slot["name"], main=bool(slot["main"]))
            cursor = slot.end()
        draft.text += chosen[cursor:]
        return draft.finish(label, links, wording)

    def _fill(self, slot: re.Match[str]) -> Phrase:
        if slot["words"] is None:
            return self.expand(slot["kind"])
        return Phrase(slot["words"], (Entity(0, len(slot["words"]), slot["kind"]),), main=0)

    def _choose(self, wording: str) -> str:
        """Resolve the choices, innermost first."""
        while found := _CHOICE.search(wording):
            chosen = self._random.choice(found[1].split("|"))
            wording = wording[: found.start()] + chosen + wording[found.end() :]
        return wording


@dataclass
class _Draft:
    """A phrase while its parts are put together."""

    text: str = ""
    entities: list[Entity] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)
    main: int | None = None

    def append(self, part: Phrase, name: str | None, *, main: bool) -> None:
        """Add a part at the end, its entities moved along and its names put under this name."""
        moved, first = len(self.text), len(self.entities)
        self.text += part.text
        self.entities += [Entity(e.start + moved, e.end + moved, e.label) for e in part.entities]
        self.relations += [Relation(r.head + first, r.tail + first, r.label) for r in part.relations]
        if part.main is None:
            return
        if main:
            self.main = part.main + first
        if name:
            self.names[name] = part.main + first
            self.names.update({f"{name}/{inner}": index + first for inner, index in part.names.items()})

    def finish(self, label: str | None, links: str, wording: str) -> Phrase:
        known = dict(self.names)
        if label is not None:
            self.main = known[_SELF] = len(self.entities)
            self.entities.append(Entity(0, len(self.text), label))
        self.relations += _linked(links, known, wording)
        return Phrase(self.text, tuple(self.entities), tuple(self.relations), self.names, self.main)


def _linked(links: str, names: Mapping[str, int], wording: str) -> list[Relation]:
    """The relations between the names that this expansion holds; a choice may have left some out."""
    found = []
    for link in filter(None, links.split(", ")):
        head, label, tail = link.split(" ")
        for name in (head, tail):
            if name != _SELF and f"{{{name.partition('/')[0]}:" not in wording.replace("{*", "{"):
                raise ValueError(f"the relation {link!r} uses the name {name!r}, which is not in {wording!r}; name it.")
        if head in names and tail in names:
            found.append(Relation(names[head], names[tail], label))
    return found

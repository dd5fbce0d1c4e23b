"""Writes the demo corpus: `python -m spanwise.demo.generator --seed 13 --out DIR` writes what ships, exactly."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from itertools import count, islice
from pathlib import Path
from random import Random
from typing import Any

from spanwise.demo import demo_folder
from spanwise.demo.grammar import Phrase, Rule, Writer, read_rules
from spanwise.demo.names import Names, read_names
from spanwise.demo.schema import demo_schema
from spanwise.document import Document, Entity, Relation
from spanwise.files import atomic_file

SEED = 13
SIZES = {"train": 880, "dev": 110, "test": 110}
_SECTIONS = ("business", "civic", "science", "sport", "culture", "people", "mixed")
_PLAIN_EVERY = 13
_WORDS = range(4, 41)
_ATTEMPTS = 500


def generate(seed: int = SEED) -> dict[str, list[Document]]:
    """The documents of each split. Names are not shared between splits, and no sentence comes twice."""
    rules, lists = read_rules(_lines("grammar.txt")), read_names(_lines("names.txt"))
    seen: set[str] = set()
    documents = {}
    for split, size in SIZES.items():
        random = Random(f"{seed} {split}")  # noqa: S311
        phrases = islice(_sentences(rules, Names(random, split, lists), random, seen), size)
        documents[split] = [_document(phrase, f"{split}-{index:03d}") for index, phrase in enumerate(phrases, 1)]
    return documents


def _lines(name: str) -> list[str]:
    return (demo_folder() / name).read_text(encoding="utf-8").splitlines()


def _sentences(rules: Mapping[str, Rule], names: Names, random: Random, seen: set[str]) -> Iterator[Phrase]:
    """Sentences without end; every so many of them holds no name."""
    writer = Writer(rules, names, random)
    templates = _templates(rules, random)
    for index in count():
        template = random.choice(rules["plain"].templates) if index % _PLAIN_EVERY == 0 else next(templates)
        yield _sentence(writer, names, template, seen)


def _sentence(writer: Writer, names: Names, template: str, seen: set[str]) -> Phrase:
    """A sentence of fitting length that no split holds yet."""
    for _ in range(_ATTEMPTS):
        names.start_sentence()
        phrase = writer.write(template)
        if len(phrase.text.split()) in _WORDS and phrase.text not in seen:
            seen.add(phrase.text)
            return phrase
    raise ValueError(f"no new sentence of {_WORDS.start} to {_WORDS.stop - 1} words can be made from {template!r}.")


def _templates(rules: Mapping[str, Rule], random: Random) -> Iterator[str]:
    """Every sentence template in a new order, again and again, so that none is rare."""
    templates = [template for section in _SECTIONS for template in rules[section].templates]
    while True:
        yield from sorted(templates, key=lambda _: random.random())


def _document(phrase: Phrase, id: str) -> Document:
    """The phrase as a sentence, its entities in the order of the text and the outer ones first."""
    order = sorted(range(len(phrase.entities)), key=lambda i: (phrase.entities[i].start, -phrase.entities[i].end))
    rank = {old: new for new, old in enumerate(order)}
    relations = sorted((rank[r.head], rank[r.tail], r.label) for r in phrase.relations)
    return Document(
        text=phrase.text[0].upper() + phrase.text[1:],
        entities=tuple(phrase.entities[old] for old in order),
        relations=tuple(Relation(*relation) for relation in relations),
        id=id,
    )


def _record(document: Document) -> dict[str, Any]:
    return {
        "text": document.text,
        "entities": [_span(entity) for entity in document.entities],
        "relations": [{"head": r.head, "tail": r.tail, "label": r.label} for r in document.relations],
        "id": document.id,
    }


def _span(entity: Entity) -> dict[str, Any]:
    return {"start": entity.start, "end": entity.end, "label": entity.label}


def write_corpus(folder: Path, seed: int = SEED) -> None:
    """One JSONL file per split and the schema."""
    for split, documents in generate(seed).items():
        lines = (json.dumps(_record(document), ensure_ascii=False) + "\n" for document in documents)
        _write(folder / f"{split}.jsonl", "".join(lines))
    _write(folder / "schema.json", json.dumps(demo_schema().to_dict(), ensure_ascii=False, indent=2) + "\n")


def _write(path: Path, text: str) -> None:
    with atomic_file(path) as draft:
        draft.write_bytes(text.encode())  # the same bytes on every system, line ends included


def main() -> None:
    parser = argparse.ArgumentParser(description="Generate the demo corpus.")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--out", type=Path, required=True, help="folder to write the corpus to")
    options = parser.parse_args()
    write_corpus(options.out, options.seed)


if __name__ == "__main__":
    main()

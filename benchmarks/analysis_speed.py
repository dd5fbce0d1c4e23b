"""Measure time and memory of `analyze` on perturbed gold: GENIA's test set, and 100,000 sentences of CoNLL04.

    python benchmarks/analysis_speed.py --corpus genia
    python benchmarks/analysis_speed.py --corpus conll04 --documents 100000 --systems 2
    python benchmarks/analysis_speed.py --corpus conll04 --documents 100000 --write speed

Perturbed predictions drop, shift, relabel and add entities, at rates that give an F1 of about 0.8; the seed makes them
the same each time.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
from dataclasses import replace
from pathlib import Path
from time import perf_counter

from spanwise import corpora, formats
from spanwise.analysis import analyze
from spanwise.document import Document, Entity, Offsets, Relation


def perturbed(document: Document, labels: list[str], rng: random.Random) -> Document:
    """The document with errors of every kind, and scores that are higher for what is correct."""
    entities: list[Entity] = []
    place: dict[int, int] = {}
    for index, entity in enumerate(document.entities):
        change = rng.random()
        if change < 0.08:
            continue
        place[index] = len(entities)
        entities.append(replace(_changed(document, entity, labels, change, rng), score=_score(rng, change >= 0.2)))
    if document.words and rng.random() < 0.2:
        word = rng.choice(document.words)
        entities.append(Entity(word.start, word.end, rng.choice(labels), _score(rng, False)))
    relations = [
        Relation(place[r.head], place[r.tail], r.label, _score(rng, True))
        for r in document.relations
        if r.head in place and r.tail in place and rng.random() > 0.1
    ]
    return copied(document, document.id).with_annotations(entities, relations)


def copied(document: Document, id: str) -> Document:
    """A document that shares no words or annotations with the original, as if both were read from files."""
    words = tuple(Offsets(word.start, word.end) for word in document.words)
    return Document(document.text, words, tuple(map(replace, document.entities)), document.relations, id)


def _changed(document: Document, entity: Entity, labels: list[str], change: float, rng: random.Random) -> Entity:
    if change < 0.14:
        return replace(entity, label=rng.choice(labels))
    if change < 0.2:
        words = [word for word in document.words if word.start >= entity.end]
        return replace(entity, end=words[0].end) if words else entity
    return entity


def _score(rng: random.Random, correct: bool) -> float:
    return rng.betavariate(8, 1.5) if correct else rng.betavariate(4, 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", default="genia")
    parser.add_argument("--documents", type=int, help="repeat the split up to this number; default: the split")
    parser.add_argument("--systems", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", type=Path, help="only write the data into this folder, for `spanwise analyze`")
    options = parser.parse_args()
    corpus = corpora.load(options.corpus)
    split = [*corpus.split("test")]
    number = options.documents or len(split)
    gold = [copied(split[index % len(split)], str(index)) for index in range(number)]
    labels = sorted(corpus.schema.entity_names)
    systems = {}
    for system in range(options.systems):
        rng = random.Random(options.seed + system)  # noqa: S311
        systems[f"system {system + 1}"] = [perturbed(document, labels, rng) for document in gold]
    if options.write:
        options.write.mkdir(parents=True, exist_ok=True)
        for name, documents in {"gold": gold, **systems}.items():
            formats.write(documents, options.write / f"{name.replace(' ', '-')}.jsonl")
        return
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = perf_counter()
    result = analyze(gold, systems, train=[*corpus.split("train")], schema=corpus.schema)
    seconds = perf_counter() - started
    report = {
        "corpus": options.corpus,
        "documents": number,
        "systems": options.systems,
        "entities": result.gold_entities,
        "seconds": round(seconds, 1),
        "megabytes_before": before // 1024,
        "megabytes_peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "json_bytes": len(json.dumps(result.to_dict())),
        "f1": {name: round(one.entities.strict.micro.f1.value, 4) for name, one in result.systems.items()},
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()

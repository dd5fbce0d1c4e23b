"""Documents from text with brackets: "[[Kell:LOC] University:ORG] hired [Ada Moss:PER@0.9] ." """

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from spanwise.document import Document, Relation

_TOKEN = re.compile(r"(\[*)(.*?)((?::[A-Z]+(?:@[\d.]+)?\])*)")
_END = re.compile(r":([A-Z]+)(?:@([\d.]+))?\]")


def document(text: str, relations: Sequence[tuple[int, int, str, float]] = (), id: str = "") -> Document:
    """Words are separated by spaces. Entities are numbered by their opening brackets, for the relations."""
    words: list[str] = []
    spans: list[tuple[int, int, str]] = []
    scores: list[float] = []
    open_spans: list[int] = []
    for token in text.split():
        match = _TOKEN.fullmatch(token)
        assert match, token
        for _ in match[1]:
            open_spans.append(len(spans))
            spans.append((len(words), 0, ""))
            scores.append(1.0)
        words.append(match[2])
        for label, score in _END.findall(match[3]):
            index = open_spans.pop()
            spans[index] = (spans[index][0], len(words), label)
            scores[index] = float(score or 1)
    made = Document.from_words(words, spans, id=id)
    entities = [replace(entity, score=score) for entity, score in zip(made.entities, scores, strict=True)]
    return made.with_annotations(entities, [Relation(*relation) for relation in relations])

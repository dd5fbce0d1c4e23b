"""Two or more systems side by side: significance of their differences, and the sentences on which they disagree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from spanwise.analysis.arrays import Integers, Texts, joint_ids
from spanwise.analysis.errors import Judgement
from spanwise.analysis.examples import cut, document_name, sentence_bounds, words_between
from spanwise.analysis.relations import JudgedRelations
from spanwise.document import Document
from spanwise.metrics import randomization_test

MAX_DISAGREEMENTS = 50


@dataclass(frozen=True, slots=True)
class PairedTest:
    """A randomization test of two systems. `difference` is F1 of `first` minus F1 of `second`."""

    task: str  # entities, RE or RE+
    first: str
    second: str
    difference: float
    p: float
    trials: int


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A sentence and the number of its entities that some systems predict and others do not."""

    document: str
    differences: int
    gold: Document
    predicted: Mapping[str, Document]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Pairwise tests, and the sentences with the most differences, of `disagreeing_sentences` in all."""

    tests: tuple[PairedTest, ...]
    disagreements: tuple[Disagreement, ...]
    disagreeing_sentences: int


def paired_tests(task: str, counts: Mapping[str, Integers], seed: int) -> list[PairedTest]:
    """Approximate randomization for every pair of systems, on their counts per document: [D, 3]."""
    tests = []
    for first, second in combinations(counts, 2):
        found = randomization_test(counts[first].tolist(), counts[second].tolist(), seed=seed)
        tests.append(PairedTest(task, first, second, found.difference, found.p, found.trials))
    return tests


def per_document(judged: Judgement | JudgedRelations, documents: int) -> Integers:
    """Gold, predicted and correct items of each document: [D, 3]."""
    rows = (judged.gold.document, judged.predicted.document, judged.predicted.document[judged.correct])
    return np.stack([np.bincount(row, minlength=documents) for row in rows], axis=1)


def disagreements(
    judgements: Mapping[str, Judgement], predictions: Mapping[str, Sequence[Document]], texts: Texts
) -> tuple[tuple[Disagreement, ...], int]:
    """The sentences with the most entities that not all systems predict, and the number of such sentences."""
    tables = [judged.predicted for judged in judgements.values()]
    columns = (tuple(getattr(table, name) for table in tables) for name in ("start", "end", "label"))
    ids = np.concatenate(joint_ids(*columns))
    _, first, agreeing = np.unique(ids, return_index=True, return_counts=True)
    sentence = np.concatenate([table.sentence for table in tables])[first]
    counts = np.bincount(sentence[agreeing < len(tables)], minlength=len(texts.sentence_lengths))
    ranked = np.lexsort((np.arange(len(counts)), -counts))[:MAX_DISAGREEMENTS]
    shown = tuple(
        _disagreement(int(index), int(counts[index]), predictions, texts) for index in ranked if counts[index]
    )
    return shown, int((counts > 0).sum())


def _disagreement(
    sentence: int, count: int, predictions: Mapping[str, Sequence[Document]], texts: Texts
) -> Disagreement:
    document = texts.sentence_document(sentence)
    bounds = sentence_bounds(
        *(texts, document, int(texts.sentence_words[sentence])),
        *(texts.documents[document], *(rows[document] for rows in predictions.values())),
    )
    words = words_between(texts, document, bounds)
    return Disagreement(
        document=document_name(texts, document),
        differences=count,
        gold=cut(texts.documents[document], bounds, words),
        predicted={name: cut(rows[document], bounds, words) for name, rows in predictions.items()},
    )

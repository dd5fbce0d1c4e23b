"""Every number of an analysis, worked out by hand on twelve documents.

The table lists gold and what systems A and B predict. Behind each document: gold, predicted by A, correct by A.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from brackets import document

from spanwise.analysis import Analysis, analyze, report
from spanwise.document import Document
from spanwise.metrics import document_counts, randomization_test
from spanwise.render.elements import Heatmap
from spanwise.schema import EntityType, RelationType, Schema

LONG = "very " * 20 + "gladly joined {} " + "today " * 24 + "."  # 22 words, an entity of 5 words, 25 words
ROWS = [
    # d1: 2, 2, 2
    (
        "[Ada Moss:PER] works for [Orbit:ORG] .",
        "[Ada Moss:PER@0.95] works for [Orbit:ORG@0.85] .",
        "[Ada Moss:PER] works for [Orbit:ORG] .",
    ),
    # d2: 2, 2, 1; boundary error: Bo Lind -> Bo
    (
        "[Bo Lind:PER] left [Kell:LOC] .",
        "[Bo:PER@0.65] Lind left [Kell:LOC@0.95] .",
        "[Bo Lind:PER] left [Kell:LOC] .",
    ),
    # d3: 2, 2, 1; type error: Orbit ORG -> LOC
    (
        "[Orbit:ORG] is in [Kell:LOC] .",
        "[Orbit:LOC@0.92] is in [Kell:LOC@0.75] .",
        "[Orbit:LOC] is in [Kell:LOC] .",
    ),
    # d4: 3, 3, 2; both: Upper Dale LOC -> Dale ORG
    (
        "[Mara:PER] met [Ivo Lind:PER] in [Upper Dale:LOC] .",
        "[Mara:PER@0.85] met [Ivo Lind:PER@0.95] in Upper [Dale:ORG@0.45] .",
        "[Mara:PER] met [Ivo Lind:PER] in [Upper Dale:LOC] .",
    ),
    # d5: 1, 0, 0; missed: Brenford LOC
    ("Nothing happened in [Brenford:LOC] .", "Nothing happened in Brenford .", "Nothing happened in [Brenford:LOC] ."),
    # d6: 0, 1, 0; spurious: rained ORG
    ("It rained all day .", "It [rained:ORG@0.35] all day .", "It [rained:ORG] all day ."),
    # d7: 3, 2, 2; missed: Kell LOC, which is nested
    (
        "[[Kell:LOC] University:ORG] hired [Ada Moss:PER] .",
        "[Kell University:ORG@0.95] hired [Ada Moss:PER@0.95] .",
        "[[Kell:LOC] University:ORG] hired [Ada Moss:PER] .",
    ),
    # d8: 2, 1, 0; two labels on one span. Type error: Orbit LOC -> PER (LOC comes before ORG); missed: Orbit ORG
    ("[[Orbit:ORG]:LOC] opened .", "[Orbit:PER@0.55] opened .", "[Orbit:ORG] opened ."),
    # d9: 2, 2, 2; a duplicate prediction counts once, with its higher score
    (
        "[Nell:PER] saw [Tarek Oss:PER] .",
        "[Nell:PER@0.95] saw [[Tarek Oss:PER@0.85]:PER@0.15] .",
        "[Nell:PER] saw [Tarek Oss:PER] .",
    ),
    # d10: 2, 2, 1; 53 words; boundary error: 5 words -> Orbit Labs
    (
        "[Ivo:PER] " + LONG.format("[Orbit Labs of Upper Westmoor:ORG]"),
        "[Ivo:PER@0.95] " + LONG.format("[Orbit Labs:ORG@0.75] of Upper Westmoor"),
        "[Ivo:PER] " + LONG.format("[Orbit Labs of Upper Westmoor:ORG]"),
    ),
    # d11: 4, 4, 4
    (
        "[Ada Moss:PER] of [Orbit:ORG] and [Mara:PER] of [Kell University:ORG] .",
        "[Ada Moss:PER@0.95] of [Orbit:ORG@0.85] and [Mara:PER@0.95] of [Kell University:ORG@0.85] .",
        "[Ada Moss:PER] of [Orbit:ORG] and [Mara:PER] of [Kell University:ORG] .",
    ),
    # d12: 3, 2, 1; boundary error: Brenford -> Brenford Kell (8 of 13 characters); missed: Kell (4 of 13)
    (
        "[Brenford:LOC] [Kell:LOC] [Mara:PER] .",
        "[Brenford Kell:LOC@0.9] [Mara:PER@0.95] .",
        "Brenford Kell [Mara:PER] .",
    ),
]
WORKS, IN, MARRIED = "works_for", "located_in", "married"
GOLD_RELATIONS = {
    1: [(0, 1, WORKS, 1.0)],
    3: [(0, 1, IN, 1.0)],
    4: [(0, 1, MARRIED, 1.0)],
    7: [(2, 0, WORKS, 1.0)],
    10: [(0, 1, WORKS, 1.0)],
    11: [(0, 1, WORKS, 1.0), (2, 3, WORKS, 1.0)],
    12: [(0, 1, IN, 1.0)],
}
A_RELATIONS = {
    1: [(0, 1, WORKS, 0.9)],  # correct
    3: [(0, 1, IN, 0.8)],  # RE: correct; RE+: the head has the wrong label
    4: [(1, 0, MARRIED, 0.7)],  # correct: symmetric
    7: [(0, 1, WORKS, 0.6)],  # wrong direction
    9: [(0, 1, MARRIED, 0.2)],  # spurious, both arguments are right
    11: [(0, 1, IN, 0.5)],  # wrong type; the second gold relation is missing
}
B_RELATIONS = {number: rows for number, rows in GOLD_RELATIONS.items() if number != 12}
TRAIN = [
    document("[Ada Moss:PER] left [Kell:LOC] ."),
    document("[Kell:LOC] is big and Kell is [Kell:ORG] ."),  # Kell: LOC in 2 of 4 occurrences
    document("[Orbit:ORG] and [Orbit:ORG] and [Orbit:ORG] and [Orbit:LOC] ."),  # ORG in 3 of 4, LOC in 1 of 4
    document("[Mara:PER] saw [Brenford:LOC] , and Upper Dale ."),  # Upper Dale: LOC in 0 of 1
]
SCHEMA = Schema(
    tuple(map(EntityType, ("LOC", "ORG", "PER"))),
    (RelationType(WORKS), RelationType(IN), RelationType(MARRIED, symmetric=True)),
)


def documents(column: int, relations: dict[int, list[tuple[int, int, str, float]]]) -> list[Document]:
    return [document(row[column], relations.get(number, ()), f"d{number}") for number, row in enumerate(ROWS, start=1)]


GOLD, A, B = documents(0, GOLD_RELATIONS), documents(1, A_RELATIONS), documents(2, B_RELATIONS)


@pytest.fixture(scope="module")
def alone() -> Analysis:
    return analyze(GOLD, {"A": A}, train=TRAIN, schema=SCHEMA)


@pytest.fixture(scope="module")
def both() -> Analysis:
    return analyze(GOLD, {"A": A, "B": B}, train=TRAIN, schema=SCHEMA)


def counts(groups) -> dict[str, tuple[int, int, int]]:
    """Gold, predicted and correct of the groups that have any."""
    found = {name: (one.gold, one.predicted, one.correct) for name, one in groups.items()}
    return {name: row for name, row in found.items() if any(row)}


def test_the_corpus_is_counted(alone):
    # words: 6 + 5 + 5 + 8 + 5 + 5 + 6 + 3 + 5 + 53 + 10 + 4
    assert (alone.documents, alone.sentences, alone.words) == (12, 12, 115)
    assert (alone.gold_entities, alone.gold_relations) == (26, 8)
    assert alone.labels == ("LOC", "ORG", "PER")
    assert alone.relation_labels == (IN, MARRIED, WORKS)
    assert alone.notes == ()


def test_strict_scores(alone):
    strict = alone.systems["A"].entities.strict
    assert counts({"micro": strict.micro}) == {"micro": (26, 23, 16)}
    assert strict.micro.precision.value == pytest.approx(16 / 23)
    assert strict.micro.recall.value == pytest.approx(16 / 26)
    assert strict.micro.f1.value == pytest.approx(32 / 49)
    # LOC: gold d2 d3 d4 d5 d7 d8 d12 d12, predicted d2 d3 d3 d12, correct d2 d3
    # ORG: gold d1 d3 d7 d8 d10 d11 d11, predicted d1 d4 d6 d7 d10 d11 d11, correct d1 d7 d11 d11
    assert counts(strict.labels) == {"LOC": (8, 4, 2), "ORG": (7, 7, 4), "PER": (11, 12, 10)}
    assert strict.macro.precision.value == pytest.approx((2 / 4 + 4 / 7 + 10 / 12) / 3)
    assert strict.macro.recall.value == pytest.approx((2 / 8 + 4 / 7 + 10 / 11) / 3)
    assert strict.macro.f1.value == pytest.approx((4 / 12 + 8 / 14 + 20 / 23) / 3)


def test_partial_matches_stand_beside_the_strict_scores(alone):
    entities = alone.systems["A"].entities
    # 16 correct, and the three boundary errors: PER in d2, ORG in d10, LOC in d12
    assert counts({"micro": entities.overlap.micro}) == {"micro": (26, 23, 19)}
    assert counts(entities.overlap.labels) == {"LOC": (8, 4, 3), "ORG": (7, 7, 5), "PER": (11, 12, 11)}
    # the span of d8 has two labels and counts once; Orbit in d3 and in d8 has the right boundaries
    assert counts({"": entities.boundaries}) == {"": (25, 23, 18)}
    assert entities.boundaries.f1.value == pytest.approx(36 / 48)


def test_error_kinds_and_rates(alone):
    errors = alone.systems["A"].errors
    assert (errors.false_positives, errors.false_negatives) == (7, 10)
    # boundary: d2 d10 d12; type: d3 d8; both: d4; missed: d5 d7 d8 d12; spurious: d6
    assert {kind: found.count for kind, found in errors.kinds.items()} == {
        "boundary": 3,
        "type": 2,
        "both": 1,
        "missed": 4,
        "spurious": 1,
    }
    assert [found.rate for found in errors.kinds.values()] == pytest.approx([n / 17 for n in (3, 2, 1, 4, 1)])
    assert [found.share for found in errors.kinds.values()] == pytest.approx([n / 17 for n in (6, 4, 2, 4, 1)])


def test_label_confusion(alone):
    confusion = alone.systems["A"].errors.confusion
    assert confusion.labels == ("LOC", "ORG", "PER")
    assert confusion.counts == (
        (3, 1, 1, 3),  # LOC: d2 d3 d12; d4 as ORG; d8 as PER; missed in d5 d7 d12
        (1, 5, 0, 1),  # ORG: d3 as LOC; d1 d7 d10 d11 d11; missed in d8
        (0, 0, 11, 0),  # PER: 10 correct, and d2
        (0, 1, 0, 0),  # spurious: d6
    )


def test_frequent_mistakes_come_with_their_sentences(alone):
    errors = alone.systems["A"].errors
    first = errors.mistakes[0]
    # Kell LOC is missed in d7 and in d12; the nine others occur once
    assert (first.kind, first.gold_text, first.gold_label, first.count) == ("missed", "Kell", "LOC", 2)
    assert (first.predicted_text, first.predicted_label) == (None, None)
    assert [example.document for example in first.examples] == ["d7", "d12"]
    assert first.examples[0].gold.text == "Kell University hired Ada Moss ."
    assert len(first.examples[0].gold.entities) == 3
    assert len(first.examples[0].predicted.entities) == 2
    assert errors.different_mistakes == len(errors.mistakes) == 10
    found = {
        (one.kind, one.gold_text, one.gold_label, one.predicted_text, one.predicted_label, one.count)
        for one in errors.mistakes[1:]
    }
    assert found == {
        ("boundary", "Bo Lind", "PER", "Bo", "PER", 1),
        ("boundary", "Orbit Labs of Upper Westmoor", "ORG", "Orbit Labs", "ORG", 1),
        ("boundary", "Brenford", "LOC", "Brenford Kell", "LOC", 1),
        ("type", "Orbit", "ORG", "Orbit", "LOC", 1),
        ("type", "Orbit", "LOC", "Orbit", "PER", 1),
        ("both", "Upper Dale", "LOC", "Dale", "ORG", 1),
        ("missed", "Brenford", "LOC", None, None, 1),
        ("missed", "Orbit", "ORG", None, None, 1),
        ("spurious", None, None, "rained", "ORG", 1),
    }


BUCKETS = {
    # 1 word: 16 gold, 14 predicted (wrong: Bo, Orbit d3, Dale, rained, Orbit d8); 2 words: wrong are Orbit Labs and
    # Brenford Kell; 5 words: d10
    "entity_length": {"XS 1": (16, 14, 9), "S 2": (9, 9, 7), "XL 5+": (1, 0, 0)},
    # 8 to 16 words: d4 and d11; 32 words and more: d10
    "sentence_length": {"XS 1–7": (17, 14, 9), "S 8–16": (7, 7, 6), "XL 32+": (2, 2, 1)},
    # gold: 1 for Ada Moss, Mara and Brenford (d1 d4 d5 d7 d11 d11 d12 d12); 3/4 for Orbit ORG (d1 d3 d8 d11);
    # 2/4 for Kell LOC (d2 d3 d7 d12) and 1/4 for Orbit LOC (d8); 0 for the others.
    # predicted: 1 for d1 d4 d7 d11 d11 d12; 3/4 for d1 d11; 2/4 for Kell in d2 d3, 1/4 for Orbit LOC in d3
    "label_consistency": {
        "XS [0, 0.1]": (9, 12, 6),
        "S (0.1, 0.5]": (5, 3, 2),
        "L (0.5, 0.9]": (4, 2, 2),
        "XL > 0.9": (8, 6, 6),
    },
    # d6 has no gold entity; d10 has 2 / 53 = 0.038; all others have more than 0.05
    "entity_density": {"XS [0, 0.01]": (0, 1, 0), "L (0.025, 0.05]": (2, 2, 1), "XL > 0.05": (24, 20, 15)},
    # Words not in train: d1 2/6, d2 2/5, d3 1/5, d4 4/8, d5 3/5, d6 4/5, d7 2/6, d8 1/3, d9 3/5, d10 50/53, d11 3/10,
    # d12 0/4. Sorted by gold entity: 0 x 3, .2 x 2, .3 x 4, 1/3 x 7, .4 x 2, .5 x 3, .6 x 3, .94 x 2. The quartiles
    # are the 7th, 13th and 20th value: .3, 1/3, .5.
    "oov_density": {
        "[0, 0.3]": (9, 8, 6),
        "(0.3, 0.333]": (7, 5, 4),
        "(0.333, 0.5]": (5, 5, 3),
        "> 0.5": (5, 5, 3),
    },
    "span_length": {"1": (16, 14, 9), "2": (9, 9, 7), "5": (1, 0, 0)},
    # Kell in d7 is nested, Kell University covers it; Brenford Kell in d12 covers entities that are not nested
    "nesting": {"flat": (24, 22, 15), "nested": (1, 0, 0), "covering": (1, 1, 1)},
    "grouped_entity_length": {"1–2": (25, 23, 16), "5–6": (1, 0, 0)},
    "grouped_sentence_length": {"0–19": (24, 21, 15), "50+": (2, 2, 1)},
}


@pytest.mark.parametrize("key", BUCKETS)
def test_scores_by_attribute(alone, key):
    groups = alone.systems["A"].breakdowns[key].groups
    assert counts(groups) == BUCKETS[key]
    for gold, predicted, correct in BUCKETS[key].values():
        assert any(one.f1.value == pytest.approx(2 * correct / (gold + predicted)) for one in groups.values())


def test_every_breakdown_is_tested(alone):
    assert set(alone.systems["A"].breakdowns) == set(BUCKETS)


def test_quantiles_replace_the_papers_buckets():
    found = analyze(GOLD, {"A": A}, train=TRAIN, buckets="quantiles", samples=10).systems["A"].breakdowns
    # lengths: 16 x 1, 9 x 2, 1 x 5: quartiles 1, 1, 2
    assert counts(found["entity_length"].groups) == {"1": (16, 14, 9), "2": (9, 9, 7), "3+": (1, 0, 0)}
    # sentence lengths by gold entity: 3 x 2, 4 x 3, 5 x 7 (d2 d3 d5 d9), 6 x 5, 8 x 3, 10 x 4, 53 x 2: quartiles
    # 5 (7th), 6 (13th), 8 (20th)
    assert counts(found["sentence_length"].groups) == {
        "1–5": (12, 10, 5),
        "6": (5, 4, 4),
        "7–8": (3, 3, 2),
        "9+": (6, 6, 5),
    }
    assert counts(found["span_length"].groups) == BUCKETS["span_length"]


def test_relation_scores(alone):
    relations = alone.systems["A"].relations
    assert counts({task: one.scores.micro for task, one in relations.items()}) == {"RE": (8, 6, 3), "RE+": (8, 6, 2)}
    # RE is correct in d1 d3 d4
    assert counts(relations["RE"].scores.labels) == {IN: (2, 2, 1), MARRIED: (1, 2, 1), WORKS: (5, 2, 1)}
    assert counts(relations["RE+"].scores.labels) == {IN: (2, 2, 0), MARRIED: (1, 2, 1), WORKS: (5, 2, 1)}
    assert relations["RE"].scores.macro.f1.value == pytest.approx((2 / 4 + 2 / 3 + 2 / 7) / 3)


def test_relation_errors_are_inherited_or_own(alone):
    errors = alone.systems["A"].relations["RE"].errors
    # inherited: d10 and d12, where an argument has the wrong boundaries
    assert (errors.false_positives, errors.false_negatives) == (3, 5)
    assert (errors.inherited_missing, errors.inherited_spurious) == (2, 0)
    # own: type and missing in d11, direction in d7, spurious in d9
    assert (errors.type, errors.direction, errors.missing, errors.spurious) == (1, 1, 1, 1)
    assert (errors.inherited, errors.own) == (2, 6)
    strict = alone.systems["A"].relations["RE+"].errors
    # in d3, the head has the wrong label
    assert (strict.false_positives, strict.false_negatives) == (4, 6)
    assert (strict.inherited_missing, strict.inherited_spurious) == (3, 1)
    assert (strict.type, strict.direction, strict.missing, strict.spurious) == (1, 1, 1, 1)


def test_relations_by_attribute_of_their_arguments(alone):
    found = alone.systems["A"].relations
    # words between: d1 2, d3 2, d4 1, d7 1, d9 1, d10 22, d11 1 and 1, d12 0
    assert counts(found["RE"].breakdowns["distance"].groups) == {"0": (1, 0, 0), "1–3": (6, 6, 3), "16+": (1, 0, 0)}
    assert counts(found["RE+"].breakdowns["distance"].groups) == {"0": (1, 0, 0), "1–3": (6, 6, 2), "16+": (1, 0, 0)}
    lengths = found["RE+"].breakdowns["grouped_entity_length"].groups
    assert counts(lengths) == {"1–2": (7, 6, 2), "5–6": (1, 0, 0)}
    sentences = found["RE+"].breakdowns["grouped_sentence_length"].groups
    assert counts(sentences) == {"0–19": (7, 6, 2), "50+": (1, 0, 0)}


def test_calibration(alone):
    calibration = alone.systems["A"].calibration
    # .35, .45, .55 and .65: one wrong prediction each (d6 d4 d8 d2); .75: d3 right, d10 wrong; .85: five right;
    # from .9 on: ten right with .95, two wrong with .92 and .9
    found = [(one.low, one.count, one.confidence, one.accuracy) for one in calibration.bins]
    assert found == [
        pytest.approx(row)
        for row in [
            (0.3, 1, 0.35, 0),
            (0.4, 1, 0.45, 0),
            (0.5, 1, 0.55, 0),
            (0.6, 1, 0.65, 0),
            (0.7, 2, 0.75, 0.5),
            (0.8, 5, 0.85, 1),
            (0.9, 12, 11.32 / 12, 10 / 12),
        ]
    ]
    overall = calibration.overall
    assert overall.expected == pytest.approx((0.35 + 0.45 + 0.55 + 0.65 + 2 * 0.25 + 5 * 0.15 + 1.32) / 23)
    assert overall.maximum == pytest.approx(0.65)
    assert (overall.count, overall.accuracy) == (23, pytest.approx(16 / 23))
    assert overall.confidence == pytest.approx((0.35 + 0.45 + 0.55 + 0.65 + 1.5 + 4.25 + 11.32) / 23)
    # LOC: .75 right (d3); .95 right, .92 wrong, .9 wrong
    assert calibration.labels["LOC"].expected == pytest.approx((0.25 + 1.77) / 4)
    assert calibration.labels["LOC"].maximum == pytest.approx(1.77 / 3)
    # ORG: .85 right three times, .95 right, .75 .45 .35 wrong
    assert calibration.labels["ORG"].expected == pytest.approx((3 * 0.15 + 0.05 + 0.75 + 0.45 + 0.35) / 7)


def test_calibration_of_relations(alone):
    calibration = alone.systems["A"].relation_calibration  # RE+: d1 .9 and d4 .7 are right
    assert calibration.overall.expected == pytest.approx((0.1 + 0.8 + 0.3 + 0.6 + 0.2 + 0.5) / 6)
    assert calibration.overall.maximum == pytest.approx(0.8)


def test_suspicious_gold_of_one_system(alone):
    cases = alone.suspicious.cases
    assert alone.suspicious.total == 2  # d3 with .92, d12 with .9; all other wrong predictions have less
    assert [(one.document, one.kind, one.confidence) for one in cases] == [
        ("d3", "type", 0.92),
        ("d12", "boundary", 0.9),
    ]
    assert (cases[0].gold.text, cases[0].gold.label, cases[0].predicted.label) == ("Orbit", "ORG", "LOC")
    assert (cases[1].gold.text, cases[1].predicted.text) == ("Brenford", "Brenford Kell")


def test_suspicious_gold_is_ranked_by_agreement_first(both):
    found = [(one.document, one.systems, one.confidence) for one in both.suspicious.cases]
    # B has no scores: all its wrong predictions take part (d3 and d6), those without a score last
    assert found == [("d3", ("A", "B"), 0.92), ("d12", ("A",), 0.9), ("d6", ("B",), None)]
    assert both.suspicious.cases[2].gold is None


def test_suspicious_documents_can_be_reviewed(both):
    documents = both.suspicious.documents
    assert [one.id for one in documents] == ["d3", "d12", "d6"]
    assert documents[0].entities == GOLD[2].entities
    assert documents[0].metadata["review"] == [
        {
            "kind": "type",
            "gold": {"start": 0, "end": 5, "label": "ORG", "text": "Orbit"},
            "predicted": {"start": 0, "end": 5, "label": "LOC", "text": "Orbit"},
            "systems": ["A", "B"],
            "confidence": 0.92,
        }
    ]


def test_scores_of_the_second_system(both):
    one = both.systems["B"]
    # wrong: Orbit in d3, rained in d6; not found: Orbit ORG in d3, Orbit LOC in d8, Brenford and Kell in d12
    assert counts({"": one.entities.strict.micro}) == {"": (26, 24, 22)}
    assert [found.count for found in one.errors.kinds.values()] == [0, 1, 0, 3, 1]
    assert counts(one.breakdowns["entity_length"].groups) == {
        "XS 1": (16, 14, 12),
        "S 2": (9, 9, 9),
        "XL 5+": (1, 1, 1),
    }
    assert one.calibration is None
    assert both.notes == ("The predictions of B have no scores; calibration is left out.",)


def heatmaps(analysis: Analysis) -> dict[str, Heatmap]:
    section = next(one for one in report(analysis).sections if one.key == "comparison")
    return {one.title: one for one in section.elements if isinstance(one, Heatmap)}


def test_heatmaps_show_differences_to_the_first_system(both):
    lengths = heatmaps(both)["Difference in F1 by entity length (words)"]
    assert (lengths.rows, lengths.columns) == (("A", "B"), ("XS 1", "S 2", "XL 5+"))
    assert lengths.values[0] == (0, 0, 0)
    assert lengths.values[1] == pytest.approx((100 * (24 - 18) / 30, 100 * (18 - 14) / 18, 100))
    rates = heatmaps(both)["Difference in error rate by kind"]
    assert rates.values[1] == pytest.approx(
        [100 * (b / 6 - a / 17) for a, b in ((3, 0), (2, 1), (1, 0), (4, 3), (1, 1))]
    )


def test_significance_of_the_differences(both):
    tests = {one.task: one for one in both.comparison.tests}
    assert list(tests) == ["entities", "RE", "RE+"]
    assert tests["entities"].difference == pytest.approx(32 / 49 - 44 / 50)
    assert tests["RE"].difference == pytest.approx(6 / 14 - 14 / 15)  # B: 7 of 8 and nothing wrong
    assert tests["RE+"].difference == pytest.approx(4 / 14 - 12 / 15)  # B: Orbit in d3 has the wrong label
    one, other = (document_counts(GOLD, found, SCHEMA) for found in (A, B))
    assert tests["entities"].p == randomization_test(one.entities, other.entities).p
    assert tests["RE+"].p == randomization_test(one.strict, other.strict).p


def test_sentences_on_which_the_systems_disagree(both):
    found = [(one.document, one.differences) for one in both.comparison.disagreements]
    # two: Bo / Bo Lind, Dale / Upper Dale, Orbit PER / ORG, Orbit Labs / Orbit Labs of Upper Westmoor
    # one: Brenford in d5 and Kell in d7 (B alone), Brenford Kell in d12 (A alone)
    assert found == [("d2", 2), ("d4", 2), ("d8", 2), ("d10", 2), ("d5", 1), ("d7", 1), ("d12", 1)]
    assert both.comparison.disagreeing_sentences == 7
    first = both.comparison.disagreements[0]
    assert [len(one.entities) for one in (first.gold, *first.predicted.values())] == [2, 2, 2]


def test_intervals_are_percentiles_of_resampled_documents(alone):
    """A plain bootstrap over the documents' counts, with the same draws."""
    rows = [(2, 2, 2), (2, 2, 1), (2, 2, 1), (3, 3, 2), (1, 0, 0), (0, 1, 0)]
    rows += [(3, 2, 2), (2, 1, 0), (2, 2, 2), (2, 2, 1), (4, 4, 4), (3, 2, 1)]
    values = []
    for drawn in np.random.default_rng(1).integers(0, 12, (1000, 12)):
        gold, predicted, correct = (sum(rows[index][kind] for index in drawn) for kind in range(3))
        values.append((correct / predicted, correct / gold, 2 * correct / (gold + predicted)))
    low, high = np.percentile(values, [2.5, 97.5], axis=0)
    micro = alone.systems["A"].entities.strict.micro
    found = [(one.low, one.high) for one in (micro.precision, micro.recall, micro.f1)]
    assert found == [pytest.approx(pair) for pair in zip(low, high, strict=True)]


def test_the_analysis_is_json(both):
    record = json.loads(json.dumps(both.to_dict()))
    assert record["systems"]["A"]["entities"]["strict"]["micro"]["f1"]["value"] == pytest.approx(32 / 49)
    assert record["systems"]["A"]["errors"]["kinds"]["boundary"]["count"] == 3
    assert record["suspicious"]["cases"][0]["document"] == "d3"
    assert "documents" not in record["suspicious"]
    assert record["comparison"]["disagreements"][0]["gold"]["text"] == "Bo Lind left Kell ."


def test_the_report_has_every_section(both):
    found = report(both)
    keys = [section.key for section in found.sections]
    assert keys == [
        "scores",
        "comparison",
        "errors",
        "buckets",
        "structure",
        "lengths",
        "relations",
        "calibration",
        "suspicious",
    ]
    assert all(section.elements for section in found.sections)
    assert found.facts["documents"] == "12"

"""Every cell of the report on the twelve documents: the counts are those worked out in `test_twelve_documents`."""

from __future__ import annotations

import pytest
from test_twelve_documents import BUCKETS, GOLD, IN, MARRIED, SCHEMA, TRAIN, WORKS, A, B

from spanwise.analysis import analyze, report
from spanwise.render.elements import Bars, Heatmap, Interval, Reliability, Table

TITLES = {
    "entity_length": "entity length (words)",
    "sentence_length": "sentence length (words)",
    "label_consistency": "label consistency in train",
    "entity_density": "entities per word",
    "oov_density": "share of words that are not in train",
    "span_length": "span length (words)",
    "nesting": "nesting relative to gold",
    "grouped_entity_length": "entity length (words), as in STSN",
    "grouped_sentence_length": "sentence length (words), as in STSN",
}
DISTANCE = "words between the arguments"
ENTITY, SENTENCE = TITLES["grouped_entity_length"], TITLES["grouped_sentence_length"]
COUNTS = {  # gold, predicted, correct of each row
    "Strict scores by label": {"LOC": (8, 4, 2), "ORG": (7, 7, 4), "PER": (11, 12, 10)},
    "Overlap scores by label": {"LOC": (8, 4, 3), "ORG": (7, 7, 5), "PER": (11, 12, 11)},
    **{f"Scores by {TITLES[key]}": rows for key, rows in BUCKETS.items()},
    "RE by type": {IN: (2, 2, 1), MARRIED: (1, 2, 1), WORKS: (5, 2, 1)},
    "RE+ by type": {IN: (2, 2, 0), MARRIED: (1, 2, 1), WORKS: (5, 2, 1)},
    f"RE: Scores by {DISTANCE}": {"0": (1, 0, 0), "1–3": (6, 6, 3), "16+": (1, 0, 0)},
    f"RE: Scores by {ENTITY}": {"1–2": (7, 6, 3), "5–6": (1, 0, 0)},
    f"RE: Scores by {SENTENCE}": {"0–19": (7, 6, 3), "50+": (1, 0, 0)},
    f"RE+: Scores by {DISTANCE}": {"0": (1, 0, 0), "1–3": (6, 6, 2), "16+": (1, 0, 0)},
    f"RE+: Scores by {ENTITY}": {"1–2": (7, 6, 2), "5–6": (1, 0, 0)},
    f"RE+: Scores by {SENTENCE}": {"0–19": (7, 6, 2), "50+": (1, 0, 0)},
}
OVERVIEW = {  # the rows of two tables that also have macro scores
    "Entities": {"strict, micro": (26, 23, 16), "overlap, micro": (26, 23, 19), "boundaries": (25, 23, 18)},
    "Relations": {"RE, micro": (8, 6, 3), "RE+, micro": (8, 6, 2)},
}
MACRO = {
    "strict, macro": [(2 / 4, 2 / 8, 4 / 12), (4 / 7, 4 / 7, 8 / 14), (10 / 12, 10 / 11, 20 / 23)],
    "RE, macro": [(1 / 2, 1 / 2, 2 / 4), (1 / 2, 1, 2 / 3), (1 / 2, 1 / 5, 2 / 7)],
    "RE+, macro": [(0, 0, 0), (1 / 2, 1, 2 / 3), (1 / 2, 1 / 5, 2 / 7)],
}
OTHERS = {
    "Errors by kind": [
        ("boundary", 3, 300 / 17, 600 / 17),
        ("type", 2, 200 / 17, 400 / 17),
        ("both", 1, 100 / 17, 200 / 17),
        ("missed", 4, 400 / 17, 400 / 17),
        ("spurious", 1, 100 / 17, 100 / 17),
        ("all (FP + FN)", 17, None, 100),
    ],
    # inherited: 2 of 8 errors, and 4 of 10
    "Errors of relations": [("RE", 8, 2, 0, 1, 1, 1, 1, 25), ("RE+", 10, 3, 1, 1, 1, 1, 1, 40)],
    "Calibration of entities, by label": [
        ("all", 100 * 4.57 / 23, 65, 100 * 19.07 / 23, 1600 / 23, 23),
        # .75 right; .95 right, .92 and .9 wrong in one bin: |2.77 - 1| / 3
        ("LOC", 100 * (0.25 + 1.77) / 4, 59, 100 * (0.75 + 0.95 + 0.92 + 0.9) / 4, 50, 4),
        # .85 x 3 and .95 right; .75, .45, .35 wrong
        ("ORG", 100 * (0.45 + 0.05 + 0.75 + 0.45 + 0.35) / 7, 75, 100 * (2.55 + 0.95 + 1.55) / 7, 400 / 7, 7),
        # .95 x 8 (d1 d4 d7 d9 d10 d11 d11 d12) and .85 x 2 (d4 d9) right; .65 and .55 wrong
        ("PER", 100 * (8 * 0.05 + 2 * 0.15 + 0.65 + 0.55) / 12, 65, 100 * (7.6 + 1.7 + 1.2) / 12, 1000 / 12, 12),
    ],
    "Calibration of relations, by label": [
        ("all", 100 * 2.5 / 6, 80, 100 * 3.7 / 6, 200 / 6, 6),
        (IN, 65, 80, 65, 0, 2),  # .8 and .5 are wrong
        (MARRIED, 25, 30, 45, 50, 2),  # .7 is right, .2 is wrong
        (WORKS, 35, 60, 75, 50, 2),  # .9 is right, .6 is wrong
    ],
}


def percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0


def scores(gold: int, predicted: int, correct: int) -> tuple[float, ...]:
    return percent(correct, predicted), percent(correct, gold), percent(2 * correct, gold + predicted)


def value(cell):
    return cell.value if isinstance(cell, Interval) else cell


def plain(row):
    return tuple(map(value, row))


@pytest.fixture(scope="module")
def elements():
    sections = report(analyze(GOLD, {"A": A}, train=TRAIN, schema=SCHEMA, samples=50)).sections
    return {(type(one), one.title): one for section in sections for one in section.elements}


def tables(elements) -> dict[str, Table]:
    return {title: one for (kind, title), one in elements.items() if kind is Table}


def test_every_table_of_the_report_is_tested(elements):
    assert set(tables(elements)) == {*COUNTS, *OVERVIEW, *OTHERS}


@pytest.mark.parametrize("title", COUNTS)
def test_scores_and_counts_of_a_table(elements, title):
    table = tables(elements)[title]
    assert table.header[1:] == ("precision", "recall", "F1", "gold", "predicted", "correct")
    assert [row[0] for row in table.rows] == list(COUNTS[title])
    for row, counts in zip(table.rows, COUNTS[title].values(), strict=True):
        assert plain(row)[1:] == pytest.approx((*scores(*counts), *counts))
        assert all(cell.low <= cell.value <= cell.high for cell in row[1:4])


@pytest.mark.parametrize("title", OVERVIEW)
def test_micro_and_macro_scores(elements, title):
    for name, *cells in map(plain, tables(elements)[title].rows):
        if name in MACRO:
            assert cells[:3] == pytest.approx([100 * sum(column) / 3 for column in zip(*MACRO[name], strict=True)])
            assert cells[3:] == [None, None, None]
        else:
            assert cells == pytest.approx([*scores(*OVERVIEW[title][name]), *OVERVIEW[title][name]])


@pytest.mark.parametrize("title", OTHERS)
def test_errors_and_calibration(elements, title):
    rows = [plain(row) for row in tables(elements)[title].rows]
    assert [row[0] for row in rows] == [row[0] for row in OTHERS[title]]
    for row, wanted in zip(rows, OTHERS[title], strict=True):
        assert [cell for cell in row[1:] if cell is not None] == pytest.approx([c for c in wanted[1:] if c is not None])


def test_bars_show_the_f1_of_the_tables(elements):
    bars = [one for (kind, _), one in elements.items() if kind is Bars and "F1 by" in one.title]
    assert len(bars) == sum("Scores by" in title for title in COUNTS)
    for one in bars:
        rows = tables(elements)[one.title.replace("F1 by", "Scores by")].rows
        assert one.categories == tuple(row[0] for row in rows)
        assert one.series[0].values == tuple(row[3] for row in rows)


def test_the_confusion_heatmap_is_in_percent_of_its_rows(elements):
    confusion = elements[Heatmap, "Label confusion"]
    counts = [(3, 1, 1, 3), (1, 5, 0, 1), (0, 0, 11, 0)]
    for found, row in zip(confusion.values, counts, strict=False):
        assert found == pytest.approx([100 * count / sum(row) for count in row])
    assert confusion.values[3] == (0, 100, 0, None)


def test_the_reliability_diagram_has_the_bins_of_the_calibration(elements):
    bins = elements[Reliability, "Calibration of entities"].bins
    assert [one.count for one in bins] == [1, 1, 1, 1, 2, 5, 12]
    assert bins[-1].confidence == pytest.approx(11.32 / 12)
    assert bins[-1].accuracy == pytest.approx(10 / 12)


def test_the_table_of_two_systems_holds_both():
    found = report(analyze(GOLD, {"A": A, "B": B}, train=TRAIN, schema=SCHEMA, samples=10)).sections[0].elements[0]
    rows = {plain(row)[:2]: plain(row)[2:] for row in found.rows}
    assert rows["A", "strict, micro"] == pytest.approx((*scores(26, 23, 16), 26, 23, 16))
    assert rows["B", "strict, micro"] == pytest.approx((*scores(26, 24, 22), 26, 24, 22))

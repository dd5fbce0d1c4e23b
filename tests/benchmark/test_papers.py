"""The inventory of the papers' tables and figures: complete, valid, and shown from results."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from spanwise import benchmark, corpora
from spanwise.benchmark import papers
from spanwise.benchmark.exhibits import grid_table, show
from spanwise.benchmark.papers import Exhibit, exhibits, find_exhibit, is_recorded, recorded_variants
from spanwise.corpora import NAMES
from spanwise.errors import InputError, RecipeError
from spanwise.render.elements import Bars, Heatmap, Interval, Lines, Scatter, Table

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results"
ALL = exhibits()
SUITES = {name: exhibit for name, exhibit in ALL.items() if exhibit.suite}


def test_forty_tables_and_figures_of_five_papers_are_listed() -> None:
    counts = Counter(name.rpartition("-")[0] for name in ALL)
    assert counts == {"lear": 7, "stsn": 6, "dspert": 14, "span": 4, "bl-ner": 9}
    assert sum(counts.values()) == 40


@pytest.mark.parametrize("name", ALL)
def test_an_exhibit_names_a_suite_corpora_and_its_place_in_the_paper(name: str) -> None:
    exhibit, (_, number) = ALL[name], name.rsplit("-", 1)
    kind = {"t": "Table", "f": "Figure"}[number[0]]
    assert f", {kind} {number[1:]}: " in exhibit.title
    assert set(exhibit.corpora) <= set(NAMES)


@pytest.mark.parametrize("name", SUITES)
def test_every_run_of_an_exhibit_can_be_planned(name: str) -> None:
    exhibit = SUITES[name]
    for corpus in exhibit.corpora:
        variants = {run.variant for run in exhibit.plan(corpus, 1)}
        assert variants == set(exhibit.variants or benchmark.Suite.load(exhibit.suite or "").variants)


@pytest.mark.parametrize("name", [name for name, exhibit in SUITES.items() if is_recorded(exhibit, RESULTS)])
def test_a_recorded_exhibit_is_shown_with_numbers(name: str) -> None:
    exhibit = SUITES[name]
    corpus = next(corpus for corpus in exhibit.corpora if recorded_variants(exhibit, corpus, RESULTS)[0])
    folder = benchmark.results_folder(exhibit.suite or "", RESULTS)
    elements = show(exhibit, corpus, exhibit.found(corpus, RESULTS), folder)
    assert elements
    for element in elements:
        assert element.title.startswith(exhibit.title)
        if isinstance(element, Table):
            assert any(isinstance(cell, float | Interval) for row in element.rows for cell in row)


@pytest.mark.parametrize("name", SUITES)
def test_an_exhibit_needs_variants_that_it_has(name: str) -> None:
    exhibit = SUITES[name]
    assert set(exhibit.needs) <= set(exhibit.variants or benchmark.Suite.load(exhibit.suite or "").variants)


def test_an_exhibit_counts_as_recorded_with_all_that_it_needs(results: Any, tmp_path: Path) -> None:
    (tmp_path / "tiny").symlink_to(tmp_path / "out")
    assert is_recorded(tiny(), tmp_path)
    lines = (tmp_path / "out" / "results.jsonl").read_text().splitlines()
    (tmp_path / "out" / "results.jsonl").write_text(lines[0] + "\n")
    assert not is_recorded(tiny(), tmp_path)
    assert is_recorded(tiny(needs=("tags",)), tmp_path)


def test_an_unknown_name_is_an_error_that_says_where_all_are() -> None:
    with pytest.raises(RecipeError, match="unknown table or figure 'lear-t99'; `spanwise benchmark --list` names all"):
        find_exhibit("lear-t99")


def test_the_papers_values_stand_beside_ours_and_its_own_rows_follow() -> None:
    table = grid_table(
        "t", "model", {"a": {"F1": 1.0, "P": 2.0}, "b": {"F1": 3.0}}, {"a": {"F1": 9.0}, "theirs": {"F1": 8.0}}
    )
    assert table.header == ("model", "F1", "F1, paper", "P")
    assert table.rows == (("a", 1.0, 9.0, 2.0), ("b", 3.0, None, None), ("theirs", None, 8.0, None))


def tiny(**options: Any) -> Exhibit:
    return Exhibit(title="Tiny, Table 1: nothing", suite="tiny", corpora=("easy",), **options)


@pytest.fixture
def results(suites: Any, easy: None, tmp_path: Path) -> list[dict[str, Any]]:
    return benchmark.run_suite(benchmark.plan("tiny", "easy", 1), tmp_path / "out")


def test_scores_have_a_row_per_variant_and_the_papers_column(results: Any, tmp_path: Path) -> None:
    (table,) = show(tiny(), "easy", results, tmp_path / "out")
    assert isinstance(table, Table)
    assert table.header == ("model", "runs", "P", "P, paper", "R", "R, paper", "F1", "F1, paper")
    assert [row[0] for row in table.rows] == ["tags", "spans"]
    assert table.rows[0][3] == 90.0
    assert table.rows[1][3] is None


@pytest.mark.parametrize("kind", ["labels", "widths", "nesting"])
def test_groups_have_a_table_and_bars(results: Any, tmp_path: Path, kind: Any) -> None:
    table, bars = show(tiny(shows=kind), "easy", results, tmp_path / "out")
    assert isinstance(table, Table)
    assert isinstance(bars, Bars)
    assert [series.name for series in bars.series] == ["tags", "spans"]
    assert tuple(row[0] for row in table.rows) == bars.categories


def test_the_size_of_a_model_is_that_of_its_weights(suites: Any, easy: None, tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    (run, _) = benchmark.plan("tiny", "easy", 1)
    (result,) = benchmark.run_suite([run], tmp_path / "out", keep=True)
    weights = load_file(tmp_path / "out" / "runs" / run.name / "model.safetensors")
    assert result["parameters"] == sum(array.size for array in weights.values())
    (table,) = show(tiny(shows="cost"), "easy", [result], tmp_path / "out")
    assert isinstance(table, Table)
    assert table.rows[0][1] == result["parameters"] / 1e6


def test_attributes_errors_and_lengths_come_from_recorded_predictions(results: Any, tmp_path: Path) -> None:
    shown = {kind: show(tiny(shows=kind), "easy", results, tmp_path / "out") for kind in papers.FROM_PREDICTIONS}
    assert [type(element) for element in shown["attributes"]] == [Table, Heatmap]
    assert [type(element) for element in shown["errors"]] == [Table, Heatmap]
    assert [type(element) for element in shown["entity-length"]] == [Table, Bars]
    lengths = shown["entity-length"][0]
    assert isinstance(lengths, Table)
    gold = sum(len(document.entities) for document in corpora.load("easy").split("test"))
    assert sum(row[1] for row in lengths.rows if isinstance(row[1], int)) == gold


def test_without_results_nothing_is_shown(suites: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no result of 'Tiny, Table 1: nothing' on easy is recorded"):
        show(tiny(), "easy", [], tmp_path)


def test_variants_become_lines_over_the_number_in_their_names(suites: Any, easy: None, tmp_path: Path) -> None:
    def result(variant: str, f1: float) -> dict[str, Any]:
        micro = {"precision": f1, "recall": f1, "f1": f1}
        return {"variant": variant, "seed": 1, "corpus": "easy", "split": "test", "entities": {"micro": micro}}

    suites(
        variants={f"{model} α={alpha}": {"recipe": "seq-ner"} for model in ("A", "B") for alpha in (0.1, 0.5)}, paper={}
    )
    found = [result("A α=0.1", 0.1), result("A α=0.5", 0.2), result("B α=0.5", 0.4)]
    _, lines = show(tiny(chart="lines", between=" α=", x_title="α"), "easy", found, tmp_path)
    assert isinstance(lines, Lines)
    assert lines.x == (0.1, 0.5)
    assert [(series.name, series.values) for series in lines.series] == [("A", (10.0, 20.0)), ("B", (None, 40.0))]
    _, bars = show(tiny(chart="bars", between=" α="), "easy", found, tmp_path)
    assert isinstance(bars, Bars)
    assert (bars.categories, [series.name for series in bars.series]) == (("A", "B"), ["0.1", "0.5"])


def test_span_vectors_and_attention_are_recorded_where_a_suite_asks(
    suites: Any, easy: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_encoder: Path
) -> None:
    quick = {"encoder.name": str(tiny_encoder), "train.epochs": 1, "train.batch_size": 8}
    whole = corpora.load("easy")
    described = whole.schema.with_descriptions({name: f"a {name} here" for name in whole.schema.entity_names}, {})
    monkeypatch.setattr(corpora, "load", lambda _: whole.__class__(whole.name, whole.splits, described))
    suites(
        variants={"spans": {"recipe": "span-ner", "set": quick}, "lear": {"recipe": "lear", "set": quick}},
        asked={"representations": True, "attention": "Ann went home"},
        paper={},
    )
    spans, lear = benchmark.run_suite(benchmark.plan("tiny", "easy", 1), tmp_path / "out")
    assert "attention" not in spans
    assert "representations" not in lear
    (overlap,) = show(tiny(shows="overlap"), "easy", [spans], tmp_path / "out")
    (plane,) = show(tiny(shows="plane"), "easy", [spans], tmp_path / "out")
    pictures = show(tiny(shows="attention"), "easy", [lear], tmp_path / "out")
    assert isinstance(overlap, Table)
    assert [row[0] for row in overlap.rows] == ["Non-overlapping", "Weakly overlapping", "Strongly overlapping"]
    assert isinstance(plane, Scatter)
    assert len(pictures) == len(described.entity_names)
    assert isinstance(pictures[0], Heatmap)
    assert pictures[0].rows == ("Ann", "went", "home")
    assert all(sum(weight or 0 for weight in row) == pytest.approx(1, abs=1e-3) for row in pictures[0].values)

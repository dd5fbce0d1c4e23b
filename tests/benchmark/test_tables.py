"""The table of a suite, its comparisons, and the page that shows them."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from spanwise import benchmark
from spanwise.benchmark.results import recipe_to_dict

REPORT = Path(__file__).resolve().parents[2] / "benchmarks" / "report.py"
PAPER = {"P": 90.0, "R": 80.0, "F1": 84.7}
JOINT = {"entities": "entities.micro.f1", "RE": "relations.boundaries.micro.f1", "RE+": "relations.strict.micro.f1"}


def result(variant: str, seed: int, f1: float, corpus: str = "easy", **more: Any) -> dict[str, Any]:
    scored = {"precision": f1 + 0.1, "recall": f1 - 0.1, "f1": f1}
    return {"variant": variant, "seed": seed, "corpus": corpus, "split": "test", "entities": {"micro": scored}, **more}


def with_macro(found: dict[str, Any], f1: float) -> dict[str, Any]:
    return {**found, "entities": {**found["entities"], "macro": {"f1": f1}}}


RESULTS = [result("tags", 1, 0.6), result("tags", 2, 0.5), result("spans", 1, 1 / 3)]


def test_the_table_holds_mean_and_sample_deviation_in_per_cent(suites: Any) -> None:
    tags, spans = benchmark.summarize("tiny", "easy", RESULTS).rows
    assert (tags.variant, tags.runs, tags.paper) == ("tags", 2, PAPER)
    assert tags.mean == pytest.approx({"P": 65.0, "R": 45.0, "F1": 55.0})
    assert tags.std == pytest.approx(dict.fromkeys(("P", "R", "F1"), 7.071068))
    assert (spans.variant, spans.runs, spans.std, spans.paper) == ("spans", 1, None, {})
    assert spans.mean["F1"] == pytest.approx(33.333333)


def test_variants_without_results_have_no_row(suites: Any) -> None:
    assert [row.variant for row in benchmark.summarize("tiny", "easy", RESULTS[2:]).rows] == ["spans"]


def test_the_papers_figures_can_stand_under_another_name(suites: Any) -> None:
    suites(variants={"tags": {"recipe": "seq-ner", "paper": "none"}, "spans": {"recipe": "span-ner", "paper": "tags"}})
    tags, spans = benchmark.summarize("tiny", "easy", RESULTS).rows
    assert (tags.paper, spans.paper) == ({}, PAPER)


def printed(table: benchmark.Table) -> str:
    return benchmark.markdown(table.header, table.body)


def test_the_table_as_markdown(suites: Any) -> None:
    assert printed(benchmark.summarize("tiny", "easy", RESULTS)) == (
        "| model | runs | P (paper) | R (paper) | F1 (paper) |\n"
        "|---|---|---|---|---|\n"
        "| tags | 2 | 65.00 ± 7.07 (90.00) | 45.00 ± 7.07 (80.00) | 55.00 ± 7.07 (84.70) |\n"
        "| spans | 1 | 43.33 | 23.33 | 33.33 |\n"
    )


def widths(**f1: float) -> dict[str, Any]:
    return {
        "widths": {group.strip("_"): {"f1": score, "gold": 10 * i} for i, (group, score) in enumerate(f1.items(), 1)}
    }


def test_f1_is_grouped_by_the_groups_that_the_results_hold(suites: Any) -> None:
    results = [result("tags", 1, 0.6, **widths(_1=0.5)), result("tags", 2, 0.5, **widths(_1=0.7, _2=0.25))]
    results.append(result("spans", 1, 0.3, **widths(_1=0.1, _2=0.2)))
    assert printed(benchmark.summarize("tiny", "easy", results, by="width")) == (
        "| model | runs | 1 (10) | 2 (20) |\n|---|---|---|---|\n"
        "| tags | 2 | 60.00 ± 14.14 | – |\n"
        "| spans | 1 | 10.00 | 20.00 |\n"
    )
    assert benchmark.summarize("tiny", "easy", results, by="width").transposed == [
        ["model", "tags", "spans"],
        ["runs", "2", "1"],
        ["1 (10)", "60.00 ± 14.14", "10.00"],
        ["2 (20)", "–", "20.00"],
    ]


def test_the_gold_entities_of_several_folds_are_not_counted(suites: Any) -> None:
    results = [result("tags", 1, 0.6, corpus=f"easy/{fold}", **widths(_1=0.5)) for fold in (0, 1)]
    assert benchmark.summarize("tiny", "easy", results, by="width").columns == ("1",)


def test_a_suite_names_its_columns_and_the_paper_may_have_figures_for_some(suites: Any) -> None:
    suites(columns=JOINT, best_by="RE+", paper={"easy": {"spans": {"RE+": 71.5, "entities": 90.0}, "tags": {"RE+": 7}}})
    strict = {"boundaries": {"micro": {"f1": 0.75}}, "strict": {"micro": {"f1": 0.5}}}
    results = [result("tags", 1, 0.6, relations=None), result("spans", 1, 0.8, relations=strict)]
    assert printed(benchmark.summarize("tiny", "easy", results)) == (
        "| model | runs | entities (paper) | RE | RE+ (paper) |\n"
        "|---|---|---|---|---|\n"
        "| tags | 1 | 60.00 | – | – (7.00) |\n"
        "| spans | 1 | 80.00 (90.00) | 75.00 | 50.00 (71.50) |\n"
    )


def test_a_table_without_figures_of_a_paper_does_not_speak_of_them(suites: Any) -> None:
    assert benchmark.summarize("tiny", "elsewhere", RESULTS).header == ["model", "runs", "P", "R", "F1"]


def protocols(table: benchmark.Table) -> dict[str, float]:
    return {row.name: row.mean["F1"] for row in table.rows}


def test_the_best_run_and_the_mean_of_the_top_five_are_named_for_what_they_are(suites: Any) -> None:
    runs = [result("tags", seed, seed / 10) for seed in range(1, 8)]
    assert protocols(benchmark.summarize("tiny", "easy", runs)) == pytest.approx({"tags": 40.0})
    table = benchmark.summarize("tiny", "easy", runs, best=True)
    assert protocols(table) == pytest.approx(
        {"tags": 40.0, "tags, best by F1": 70.0, "tags, mean of the top five by F1": 50.0}
    )
    assert [(row.runs, row.std is None, row.paper) for row in table.rows] == [
        (7, False, PAPER),
        (1, True, PAPER),
        (5, True, PAPER),
    ]


@pytest.mark.parametrize(("number", "rows"), [(1, 1), (2, 2), (5, 2), (6, 3)])
def test_choosing_among_runs_takes_enough_of_them(suites: Any, number: int, rows: int) -> None:
    runs = [result("tags", seed, seed / 10) for seed in range(1, number + 1)]
    assert len(benchmark.summarize("tiny", "easy", runs, best=True).rows) == rows


def test_runs_are_ranked_by_one_column_only(suites: Any) -> None:
    suites(columns={"F1": "entities.micro.f1", "macro": "entities.macro.f1"}, best_by="macro", paper={})
    runs = [with_macro(result("tags", 1, 0.9), 0.1), with_macro(result("tags", 2, 0.2), 0.8)]
    _, best = benchmark.summarize("tiny", "easy", runs, best=True).rows
    assert (best.protocol, best.mean) == ("best by macro", {"F1": 20.0, "macro": 80.0})


FOLDED = [
    result("tags", seed, f1, f"easy/{fold}") for seed, fold, f1 in ((1, 0, 0.2), (1, 1, 0.4), (2, 0, 0.8), (2, 1, 0.2))
]


def test_folds_are_averaged_per_seed_and_the_deviation_is_that_of_the_seeds(suites: Any) -> None:
    table = benchmark.summarize("tiny", "easy", FOLDED)
    (row,) = table.rows
    assert table.spread == "mean of 2 folds, ± over 2 seeds"
    assert (row.runs, row.mean["F1"], row.paper) == (4, pytest.approx(40.0), PAPER)
    assert row.std is not None
    assert row.std["F1"] == pytest.approx(14.142136)  # of 30 and 50


def test_with_one_seed_the_deviation_is_that_of_the_folds(suites: Any) -> None:
    table = benchmark.summarize("tiny", "easy", FOLDED[:2], best=True)
    (row,) = table.rows
    assert table.spread == "mean ± over 2 folds, one seed"
    assert row.std is not None
    assert (row.mean["F1"], row.std["F1"]) == pytest.approx((30.0, 14.142136))


def test_the_best_runs_are_chosen_fold_by_fold(suites: Any) -> None:
    table = benchmark.summarize("tiny", "easy", FOLDED, best=True)
    assert protocols(table) == pytest.approx({"tags": 40.0, "tags, best of each fold by F1": 60.0})


def test_one_fold_is_found_by_its_corpus(suites: Any) -> None:
    (row,) = benchmark.summarize("tiny", "easy/1", FOLDED[1:2]).rows
    assert row.paper == PAPER
    (run, _) = benchmark.plan("tiny", "easy/1", 1)
    assert (run.recipe.data.corpus, run.recipe.train.task_lr) == ("easy/1", 0.01)


GOOD, BAD = [[1, 1, 1]] * 30, [[1, 1, 1]] * 10 + [[1, 1, 0]] * 20


def counted(variant: str, seed: int, **counts: list[list[int]]) -> dict[str, Any]:
    return result(variant, seed, 0.5, documents=counts)


def test_variants_are_compared_by_every_column_with_counts(suites: Any) -> None:
    suites(columns={**JOINT, "macro": "entities.macro.f1"}, best_by="RE+", paper={}, compare=[["spans", "tags"]])
    results = [counted("tags", 1, entities=GOOD, strict=GOOD), counted("spans", 1, entities=GOOD, strict=BAD)]
    same, worse = benchmark.compare("tiny", results)
    assert (same.one, same.other, same.column, same.difference, same.p) == ("spans", "tags", "entities", 0.0, 1.0)
    assert (worse.column, worse.runs, worse.difference) == ("RE+", 1, pytest.approx(-66.666667))
    assert worse.p == 1 / 10_001
    assert worse.cells == ["spans − tags", "RE+", "-66.67", "-83.33 to -50.00", "0.0001", "1"]


def test_runs_are_compared_seed_by_seed_and_those_without_a_partner_do_not_count(suites: Any) -> None:
    suites(compare=[["tags", "spans"]])
    tags = [counted("tags", seed, entities=GOOD) for seed in (1, 2, 3)]
    spans = [
        counted("spans", 2, entities=GOOD[:5] + BAD[5:]),
        counted("spans", 1, entities=GOOD),
        result("spans", 3, 0.5),
    ]
    (found,) = benchmark.compare("tiny", [*tags, *spans])
    assert (found.runs, found.difference) == (2, pytest.approx(100 * 20 / 60))


def test_results_without_counts_and_suites_without_comparisons_are_not_compared(suites: Any) -> None:
    assert benchmark.compare("tiny", [counted("tags", 1, entities=GOOD), counted("spans", 1, entities=BAD)]) == []
    suites(compare=[["tags", "spans"]])
    assert benchmark.compare("tiny", RESULTS) == []
    assert benchmark.compare("tiny", [counted("tags", 1, entities=GOOD)]) == []


@pytest.fixture
def report(suites: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """report("tiny easy", results): the text that the script puts between such marks."""
    spec = spec_from_file_location("report", REPORT)
    assert spec is not None
    assert spec.loader is not None
    script = module_from_spec(spec)
    spec.loader.exec_module(script)
    monkeypatch.setattr(script, "ROOT", tmp_path)
    monkeypatch.setattr(script, "PAGE", tmp_path / "page.md")
    machine = {"cores": 2, "machine": "x86_64", "torch": "2.6", "precision": "fp32"}

    def write(marks: str, results: list[dict[str, Any]]) -> str:
        suite = benchmark.Suite.load("tiny")
        folder = tmp_path / "benchmarks" / "results" / "tiny"
        folder.mkdir(parents=True, exist_ok=True)
        for line in results:
            recipe = recipe_to_dict(suite.recipe(line["variant"], line["corpus"], line["seed"]))
            more = {"recipe": recipe, "date": "2026-01-02", "environment": machine}
            benchmark.append_result(folder, {**line, **more})
        (tmp_path / "page.md").write_text(f"before\n<!-- {marks} -->\nold\n<!-- end -->\nafter\n")
        script.main()
        return (tmp_path / "page.md").read_text()

    return write


def test_the_page_shows_table_comparisons_command_and_circumstances(suites: Any, report: Any) -> None:
    suites(compare=[["tags", "spans"]])
    results = [
        result("tags", 1, 0.6, documents={"entities": GOOD}),
        result("spans", 1, 0.2, documents={"entities": BAD}),
    ]
    page = report("tiny easy", results)
    assert page == (
        "before\n<!-- tiny easy -->\n"
        "`spanwise benchmark tiny --corpus easy --seeds 1 --jobs 2`\n\n"
        "| model | runs | P (paper) | R (paper) | F1 (paper) |\n"
        "|---|---|---|---|---|\n"
        "| tags | 1 | 70.00 (90.00) | 50.00 (80.00) | 60.00 (84.70) |\n"
        "| spans | 1 | 30.00 | 10.00 | 20.00 |\n\n"
        "Two-sided p by paired approximate randomization over documents, 10,000 trials:\n\n"
        "| difference | column | points | 95 % interval | p | runs |\n"
        "|---|---|---|---|---|---|\n"
        "| tags − spans | F1 | +66.67 | +50.00 to +83.33 | 0.0001 | 1 |\n\n"
        "2026-01-02; 2 cores (x86_64), one thread a run, torch 2.6; "
        "1 epochs, batch 8, learning rates 0.0002 (encoder) and 0.01, fp32.\n"
        "<!-- end -->\nafter\n"
    )


def test_the_page_says_what_was_not_run_and_shows_the_best_where_its_mark_says_so(report: Any) -> None:
    assert report("tiny easy", []) == "before\n<!-- tiny easy -->\nNot run yet.\n<!-- end -->\nafter\n"
    page = report("tiny easy --best", [result("tags", 1, 0.6), result("tags", 2, 0.4)])
    assert "| tags, best by F1 | 1 | 70.00 (90.00) | 50.00 (80.00) | 60.00 (84.70) |" in page
    assert "<!-- tiny easy --best -->" in page


def test_the_page_shows_only_folds_and_seeds_that_every_variant_has(report: Any) -> None:
    done = {("tags", 1): 3, ("spans", 1): 2, ("tags", 2): 2, ("spans", 2): 2, ("tags", 3): 2, ("spans", 3): 1}
    results = [
        result(variant, seed, (fold + seed) / 10, f"ade/{fold}")
        for (variant, seed), folds in done.items()
        for fold in range(folds)
    ]
    page = report("tiny ade", results)
    assert "--corpus ade --folds 2 --seeds 2 " in page
    assert "--jobs 2`: mean of 2 folds, ± over 2 seeds\n" in page
    assert "| tags | 4 | 30.00 ± 7.07 |" in page


def test_seeds_do_not_make_documents_of_their_own(suites: Any) -> None:
    """One document that differs can be swapped or not: no number of seeds makes that significant."""
    suites(compare=[["tags", "spans"]])
    results = [
        counted(variant, seed, entities=[[5, 5, right], [5, 5, 5]])
        for seed in range(1, 9)
        for variant, right in (("tags", 5), ("spans", 0))
    ]
    (found,) = benchmark.compare("tiny", results)
    assert (found.runs, found.p) == (8, 1.0)

"""`spanwise benchmark`: a suite in, a table out, a stopped one goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spanwise import benchmark, corpora
from spanwise.benchmark import runs as running
from spanwise.benchmark import suite as suite_files

Command = Callable[..., Any]
SUITE = """\
title: Tiny
variants:
  tags: {{recipe: seq-ner}}
{spans}
paper: {{demo: {{tags: {{P: 50.0, R: 60.0, F1: 54.55}}}}}}
"""


@pytest.fixture
def run(
    command: Command, tmp_path: Path, tiny_encoder: Path, easy_files: Path, monkeypatch: pytest.MonkeyPatch
) -> Command:
    """run("--json"): a suite of one variant, or of a pair, on the easy corpus, in this process."""
    monkeypatch.setattr(suite_files, "SUITES", tmp_path)
    (tmp_path / "tiny.yaml").write_text(SUITE.format(spans=""))
    (tmp_path / "pair.yaml").write_text(
        SUITE.format(spans="  spans: {recipe: span-ner}") + "compare: [[spans, tags]]\n"
    )
    corpus = corpora.from_files(*([easy_files / f"{split}.jsonl"] for split in ("train", "dev", "test")))
    load = corpora.load
    monkeypatch.setattr(corpora, "load", lambda name: corpus if name == "demo" else load(name))
    monkeypatch.setattr(
        running,
        "_execute_all",
        lambda runs, folder, _, keep, stop=None: (benchmark.execute(r, folder, 1, keep) for r in runs),
    )

    def call(*arguments: object, suite: str = "tiny", corpus: str | None = "demo") -> Any:
        quick = ("--set", f"encoder.name={tiny_encoder}", "--set", "train.epochs=1")
        named = () if corpus is None else ("--corpus", corpus)
        return command("benchmark", suite, *named, "--out", tmp_path / "out", *quick, *arguments)

    return call


def test_json_is_one_object_with_the_rows(run: Command, tmp_path: Path) -> None:
    done = run("--seeds", "2", "--json")
    assert done.code == 0
    found = json.loads(done.out)
    assert {key: found[key] for key in found if key != "rows"} == {
        "suite": "tiny",
        "corpus": "demo",
        "seeds": 2,
        "folds": None,
        "comparisons": [],
    }
    row, best = found["rows"]
    assert (row["variant"], row["protocol"], row["runs"]) == ("tags", "mean of all runs", 2)
    assert row["paper"] == {"P": 50.0, "R": 60.0, "F1": 54.55}
    assert set(row["mean"]) == set(row["std"]) == {"P", "R", "F1"}
    assert (best["protocol"], best["runs"], best["std"]) == ("best by F1", 1, None)
    assert best["mean"]["F1"] >= row["mean"]["F1"]
    assert "tags, demo, seed 1: test F1 " in done.err
    assert len((tmp_path / "out" / "results.jsonl").read_text().splitlines()) == 2


def test_the_best_run_has_a_row_when_asked_for(run: Command) -> None:
    assert "best by" not in run("--seeds", "2").out
    assert "tags, best by" in run("--seeds", "2", "--best").out


def test_f1_is_refused_by_width_and_nesting_when_asked_for(run: Command) -> None:
    done = run("--by", "width", "--by", "nesting")
    assert "Tiny: F1 by width, demo test" in " ".join(done.out.split())
    assert "flat (" in done.out
    found = json.loads(run("--by", "nesting", "--json").out)
    assert [row["variant"] for row in found["by_nesting"]] == ["tags"]


def test_a_pair_of_variants_is_compared(run: Command) -> None:
    done = run("--json", suite="pair")
    (comparison,) = json.loads(done.out)["comparisons"]
    assert (comparison["one"], comparison["other"], comparison["column"]) == ("spans", "tags", "F1")
    assert (comparison["runs"], comparison["trials"]) == (1, 10_000)
    assert 0 < comparison["p"] <= 1
    printed = run(suite="pair")
    assert "spans − tags" in printed.out
    assert f"{comparison['p']:.4f}" in printed.out
    assert "paired approximate randomization" in " ".join(printed.out.split())


def test_one_variant_of_a_suite_can_be_run_alone(run: Command, tmp_path: Path) -> None:
    done = run("--variant", "spans", "--json", suite="pair")
    assert [row["variant"] for row in json.loads(done.out)["rows"]] == ["spans"]
    assert len((tmp_path / "out" / "results.jsonl").read_text().splitlines()) == 1
    assert run("--variant", "span", suite="pair").refusal == "suite 'pair' has no variant 'span'; it has tags, spans."


def test_folds_are_averaged_and_the_title_says_so(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    easy = corpora.load("demo")
    monkeypatch.setattr(corpora, "load", lambda name: {"ade/0": easy, "ade/1": easy}[name])
    done = run("--folds", "2", corpus="ade")
    assert "Tiny, ade test, mean ± over 2 folds, one seed" in " ".join(done.out.split())
    assert "tags, ade/1, seed 1: test F1 " in done.err
    found = json.loads(run("--folds", "2", "--json", corpus="ade").out)
    assert (found["folds"], found["rows"][0]["runs"]) == (2, 2)


def test_the_table_comes_at_once_when_all_is_done(run: Command) -> None:
    first = run()
    assert (first.code, first.err.count("test F1")) == (0, 1)
    second = run()
    assert (second.code, second.out, second.err.count("test F1")) == (0, first.out, 0)
    assert "F1 (paper)" in second.out
    assert "(54.55)" in second.out


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"suite": "nope"}, "unknown suite 'nope'; choose from pair, tiny."),
        ({"corpus": "nope"}, "unknown corpus 'nope'; choose from "),
        ({"corpus": "ade"}, "corpus 'ade' comes in folds; give --folds 10, "),
    ],
)
def test_an_unknown_name_is_refused(run: Command, options: dict[str, str], sentence: str) -> None:
    assert run(**options).refusal.startswith(sentence)


def test_a_wrong_setting_is_refused(run: Command, tmp_path: Path) -> None:
    assert (
        run("--set", "train.epoch=1").refusal
        == "suite variant 'tags': train.epoch: unknown key (did you mean epochs?)."
    )
    assert not (tmp_path / "out").exists()


def test_shots_reach_the_recipe_of_every_run(run: Command, tmp_path: Path) -> None:
    assert run("--shots", "2", "--seeds", "2").code == 0
    results = [json.loads(line) for line in (tmp_path / "out" / "results.jsonl").read_text().splitlines()]
    assert [(found["recipe"]["data"]["shots"], found["seed"]) for found in results] == [(2, 1), (2, 2)]
    assert [found["dev_f1"] for found in results] == [None, None]
    assert run("--shots", "3", "--seeds", "1").code == 0  # other shots are other work
    assert len((tmp_path / "out" / "results.jsonl").read_text().splitlines()) == 3


def test_shots_below_one_are_refused(run: Command, tmp_path: Path) -> None:
    done = run("--shots", "0")
    assert (done.code, done.out) == (2, "")
    assert "--shots" in done.err
    assert not (tmp_path / "out").exists()


def _own(folder: Path, *splits: str) -> list[object]:
    return [part for split in splits for part in (f"--{split}", folder / f"{split}.jsonl")]


def test_a_suite_runs_on_files_of_ones_own(
    run: Command, tmp_path: Path, easy_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(easy_files)
    files = ("--train", "train.jsonl", "--dev", "dev.jsonl", "--test", "test.jsonl", "--test", "test.jsonl")
    done = run(*files, "--json", corpus=None)
    assert done.code == 0, done.err
    assert "tags, train, seed 1: test F1 " in done.err
    found = json.loads(done.out)
    assert (found["corpus"], found["rows"][0]["paper"]) == ("train", {})
    (line,) = (tmp_path / "out" / "results.jsonl").read_text().splitlines()
    result = json.loads(line)
    assert result["corpus"] == "train"
    assert (result["recipe"]["data"]["corpus"], result["recipe"]["data"]["dev"]) == (
        None,
        [str(easy_files / "dev.jsonl")],
    )
    assert len(result["recipe"]["data"]["test"]) == 2
    monkeypatch.chdir(tmp_path)
    again = run(*_own(easy_files, "train", "dev", "test"), *_own(easy_files, "test"), "--json", corpus=None)
    assert (again.out, again.err.count("test F1")) == (done.out, 0)  # from another folder it is the same work


def test_own_files_that_are_called_as_a_corpus_are_not_taken_for_it(
    run: Command, easy_files: Path, tmp_path: Path
) -> None:
    (tmp_path / "demo.jsonl").write_bytes((easy_files / "train.jsonl").read_bytes())
    done = run("--train", tmp_path / "demo.jsonl", *_own(easy_files, "test"), "--json", corpus=None)
    found = json.loads(done.out)
    assert (found["corpus"], found["rows"][0]["paper"]) == ("demo.jsonl", {})


@pytest.mark.parametrize(
    ("splits", "corpus", "more", "sentence"),
    [
        ((), None, (), "give either --corpus NAME, or files of your own with --train, --test and perhaps --dev."),
        (("train", "dev"), None, (), "give either --corpus NAME, or files of your own with"),
        (("train", "test"), "demo", (), "give either --corpus NAME, or files of your own with"),
        (("train", "test"), None, ("--folds", 2), "--folds is for a corpus that comes in folds; leave it out"),
        (("train", "nope", "test"), None, (), "nope.jsonl: no such file or folder; check the path."),
    ],
)
def test_files_that_make_no_benchmark_are_refused(
    run: Command, easy_files: Path, splits: tuple[str, ...], corpus: str | None, more: Any, sentence: str
) -> None:
    files = ["--dev" if part == "--nope" else part for part in _own(easy_files, *splits)]
    assert sentence in run(*files, *more, corpus=corpus).refusal


def test_a_grouping_that_recorded_runs_lack_is_refused_before_anything_runs(run: Command, tmp_path: Path) -> None:
    assert run().code == 0
    path = tmp_path / "out" / "results.jsonl"
    result = json.loads(path.read_text())
    del result["nesting"]
    path.write_text(json.dumps(result) + "\n")
    assert run("--by", "width").code == 0
    assert run("--by", "nesting", "--seeds", "2").refusal == (
        "no scores by nesting are recorded for 1 run (tags, demo, seed 1); leave out --by nesting, or give another "
        "--out to run again."
    )
    assert len(path.read_text().splitlines()) == 1


def test_the_papers_tables_and_figures_are_listed_with_what_is_recorded(command: Command, tmp_path: Path) -> None:
    done = command("benchmark", "--list", "--out", tmp_path)
    assert done.code == 0
    assert "lear-t2" in done.out
    assert "40 tables and figures, 4 recorded in" in " ".join(done.out.split())  # statistics and speed need no runs
    found = json.loads(command("benchmark", "--list", "--out", tmp_path, "--json").out)
    assert len(found["exhibits"]) == 40
    assert {"name", "command", "suite", "corpora", "recorded"} <= found["exhibits"][0].keys()


EXHIBITS = {
    "tiny-t1": {"title": "Tiny, Table 1: scores", "suite": "pair", "corpora": ["demo"], "variants": ["tags"]},
    "tiny-f1": {"title": "Tiny, Figure 1: widths", "suite": "pair", "corpora": ["demo"], "shows": "widths"},
    "tiny-t2": {"title": "Tiny, Table 2: counts", "shows": "statistics", "corpora": ["demo"]},
    "tiny-t3": {"title": "Tiny, Table 3: speed", "script": "benchmarks/x.py", "page": "docs/x.md", "corpora": ["demo"]},
    "tiny-t4": {"title": "Tiny, Table 4: errors", "suite": "pair", "corpora": ["demo"], "shows": "errors"},
}


@pytest.fixture
def shown(run: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    """shown("tiny-t1", …): a table or figure of a paper of one's own."""
    from spanwise.benchmark import papers

    made = {name: papers.Exhibit.model_validate(entry) for name, entry in EXHIBITS.items()}
    monkeypatch.setattr(papers, "exhibits", lambda: made)
    return lambda name, *arguments: run(*arguments, suite=name, corpus=None)


def test_a_table_of_a_paper_runs_its_variants_and_is_written_in_any_format(shown: Command, tmp_path: Path) -> None:
    done = shown("tiny-t1")
    assert done.code == 0
    assert "Tiny, Table 1: scores; demo test" in " ".join(done.out.split())
    lines = (tmp_path / "out" / "results.jsonl").read_text().splitlines()
    assert [json.loads(line)["variant"] for line in lines] == ["tags"]
    assert "| model | runs | P | P, paper |" in shown("tiny-t1", "--recorded", "--format", "markdown").out
    assert "\\begin{tabular}" in shown("tiny-t1", "--recorded", "--format", "latex").out
    shown("tiny-t1", "--recorded", "--format", "csv", "--save", tmp_path / "new" / "t.csv")
    assert (tmp_path / "new" / "t.csv").read_text().startswith('model,runs,P,"P, paper"')


def test_a_figure_of_a_paper_is_an_svg(shown: Command, tmp_path: Path) -> None:
    assert "--format svg" in shown("tiny-f1").out
    done = shown("tiny-f1", "--recorded", "--format", "svg", "--save", tmp_path / "f.svg")
    assert done.code == 0
    assert (tmp_path / "f.svg").read_text().startswith("<svg")
    assert "this table has no figure" in shown("tiny-t1", "--recorded", "--format", "svg").err


def test_statistics_and_speed_need_no_runs(shown: Command) -> None:
    assert "demo train" in shown("tiny-t2").out
    assert "python benchmarks/x.py" in shown("tiny-t3").out


def test_runs_that_lack_what_a_table_needs_are_run_again(shown: Command, tmp_path: Path) -> None:
    shown("tiny-t4")
    kept = sorted((tmp_path / "out" / "predictions").iterdir())
    assert len(kept) == 2
    kept[0].unlink()
    done = shown("tiny-t4")
    assert done.code == 0
    assert done.err.count("test F1") == 1
    assert sorted((tmp_path / "out" / "predictions").iterdir()) == kept


def test_what_is_not_recorded_is_not_run_where_only_records_are_asked_for(shown: Command, tmp_path: Path) -> None:
    done = shown("tiny-t1", "--recorded")
    assert (done.code, "no result of 'Tiny, Table 1: scores' on demo is recorded" in done.err) == (2, True)
    assert not (tmp_path / "out").exists()


def test_the_variants_of_a_suite_are_compared_in_a_report(run: Command, tmp_path: Path) -> None:
    done = run("--report", tmp_path / "report", suite="pair")
    assert done.code == 0
    assert {"tags", "spans"} == set(json.loads((tmp_path / "report" / "report.json").read_text())["systems"])
    assert "<html" in (tmp_path / "report" / "report.html").read_text()


def test_own_files_can_be_called_as_the_papers_corpus(run: Command, easy_files: Path) -> None:
    done = run(*_own(easy_files, "train", "dev", "test"), "--name", "demo", "--json", corpus=None)
    assert json.loads(done.out)["rows"][0]["paper"] == {"P": 50.0, "R": 60.0, "F1": 54.55}
    assert "--name is for files of your own" in run("--name", "mine").err


def test_without_a_name_there_is_nothing_to_run(command: Command) -> None:
    done = command("benchmark")
    assert (done.code, "--list names" in done.err) == (2, True)


def test_a_table_of_a_paper_is_also_json(shown: Command) -> None:
    (table,) = json.loads(shown("tiny-t1", "--json").out)
    assert (table["kind"], table["header"][0], table["rows"][0][0]) == ("table", "model", "tags")


def test_recorded_tables_show_all_recorded_seeds(shown: Command) -> None:
    shown("tiny-t1", "--seeds", "2", "--json")
    (table,) = json.loads(shown("tiny-t1", "--recorded", "--json").out)
    assert table["rows"][0][table["header"].index("runs")] == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--save", "x.md"), "--save needs --format"),
        (("--format", "csv", "--json"), "--json and --format exclude each other"),
        (("--best",), "--best and --by are for suites"),
        (("--by", "width"), "--best and --by are for suites"),
    ],
)
def test_options_without_effect_are_refused(shown: Command, options: tuple[str, ...], message: str) -> None:
    done = shown("tiny-t1", *options)
    assert (done.code, message in " ".join(done.err.split())) == (2, True)


def test_a_report_without_recorded_results_is_refused(run: Command, tmp_path: Path) -> None:
    done = run("--recorded", "--report", tmp_path / "report")
    assert (done.code, "no result is recorded to analyze" in done.err) == (2, True)

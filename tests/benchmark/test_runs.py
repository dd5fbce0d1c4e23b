"""Suites of runs: what is planned, what is recorded, and what is done once only."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from spanwise import benchmark, corpora
from spanwise import recipe as recipes
from spanwise.benchmark import results as recording
from spanwise.benchmark import suite as suite_files
from spanwise.benchmark.scoring import scores
from spanwise.document import Document, Entity, Relation
from spanwise.errors import CorpusError, FormatError, RecipeError, TrainingStopped
from spanwise.schema import Schema

SHIPPED = benchmark.names()
RECORDED = Path(__file__).resolve().parents[2] / "benchmarks" / "results" / "bl-ner"


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


def quick_settings(name: str) -> dict[str, Any]:
    """What the suite sets for its first variant: the tiny encoder, one epoch."""
    suite = yaml.safe_load((suite_files.SUITES / f"{name}.yaml").read_text())
    return next(iter(suite["variants"].values()))["set"]


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_suite_is_valid_and_opens_with_its_command(name: str) -> None:
    first = (suite_files.SUITES / f"{name}.yaml").read_text().splitlines()[0]
    assert first.startswith(f"# spanwise benchmark {name} --corpus ")
    runs = benchmark.plan(name, "wnut17", seeds=2)
    assert len({run.key for run in runs}) == len(runs) == 2 * len(benchmark.Suite.load(name).variants)


@pytest.mark.parametrize("name", SHIPPED)
def test_the_columns_of_a_shipped_suite_are_in_a_result(name: str) -> None:
    bounds = ((0, 1), (0, 3), (0, 5), (6, 7))  # inside one another, and one alone
    linked = Document("a b c d", entities=tuple(Entity(*b, "A") for b in bounds), relations=(Relation(0, 1, "r"),))
    found = scores([linked], [linked], Schema.from_documents([linked]))
    found["new_labels"] = found["entities"]["micro"]  # of a model that is asked for what it was not trained on
    paths = benchmark.Suite.load(name).columns.values()
    assert [benchmark.get_path(found, path) for path in paths] == [1.0] * len(paths)


def test_a_plan_takes_all_variants_of_a_seed_before_the_next(suites: Any) -> None:
    runs = benchmark.plan("tiny", "easy", seeds=2)
    assert [(run.variant, run.seed) for run in runs] == [("tags", 1), ("spans", 1), ("tags", 2), ("spans", 2)]
    assert [run.recipe.train.seed for run in runs] == [1, 1, 2, 2]


def test_the_users_settings_come_after_the_variants_and_those_after_the_corpus(suites: Any) -> None:
    suites(
        variants={"a": {"recipe": "seq-ner", "set": {"train.epochs": 2, "train.batch_size": 2}}},
        corpora={"easy": {"train.epochs": 3, "train.batch_size": 3, "train.warmup": 0.3}},
    )
    (run,) = benchmark.plan("tiny", "easy", 1, ["train.epochs=4"])
    assert (run.recipe.train.epochs, run.recipe.train.batch_size, run.recipe.train.warmup) == (4, 2, 0.3)
    assert run.recipe.data.corpus == "easy"
    (other,) = benchmark.plan("tiny", "elsewhere", 1)
    assert (other.recipe.train.epochs, other.recipe.train.warmup) == (2, 0.1)


def test_files_of_an_override_are_relative_to_the_working_directory(
    suites: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = benchmark.plan("tiny", "easy", 1, ["data.descriptions=labels.yaml"])[0]
    assert run.recipe.data.descriptions == tmp_path / "labels.yaml"


def test_a_suite_can_take_the_settings_of_another(suites: Any) -> None:
    suites("base", corpora={"easy": {"train.warmup": 0.4}})
    suites(settings="base")
    assert benchmark.plan("tiny", "easy", 1)[0].recipe.train.warmup == 0.4


@pytest.mark.parametrize(
    "sections",
    [{"best_by": "F2"}, {"paper": {"easy": {"tags": {"F2": 1.0}}}}, {"compare": [["tags", "F2"]]}],
    ids=["best_by", "paper", "compare"],
)
def test_a_suite_that_names_what_it_does_not_have_is_refused(suites: Any, sections: dict[str, Any]) -> None:
    suites(**sections)
    with pytest.raises(ValueError, match="unknown name 'F2'; choose from "):
        benchmark.Suite.load("tiny")


@pytest.mark.parametrize("name", ["nope", "../recipes/seq-ner", ""])
def test_an_unknown_suite_is_refused_with_the_known_ones(suites: Any, name: str) -> None:
    with pytest.raises(RecipeError, match=r"unknown suite .*; choose from tiny"):
        benchmark.plan(name, "easy", 1)


def test_a_wrong_setting_is_reported_with_its_variant(suites: Any) -> None:
    with pytest.raises(RecipeError, match=r"suite variant 'tags': train\.epoch: unknown key"):
        benchmark.plan("tiny", "easy", 1, ["train.epoch=4"])


def test_every_run_is_a_line_and_a_second_call_does_nothing_more(suites: Any, easy: None, tmp_path: Path) -> None:
    runs, finished = benchmark.plan("tiny", "easy", 1), []
    results = benchmark.run_suite(runs, tmp_path / "out", finished=finished.append)
    assert results == finished == lines(tmp_path / "out")
    assert [(result["variant"], result["seed"], result["corpus"]) for result in results] == [
        ("tags", 1, "easy"),
        ("spans", 1, "easy"),
    ]
    for run, result in zip(runs, results, strict=True):
        assert set(result["entities"]["micro"]) >= {"precision", "recall", "f1"}
        assert recording.key(recipes.Recipe.parse(result["recipe"])) == run.key == result["key"]
        assert result["environment"]["torch"]
    assert not list((tmp_path / "out" / "runs").iterdir())  # the models are not kept
    before = (tmp_path / "out" / "results.jsonl").read_bytes()
    assert benchmark.run_suite(runs, tmp_path / "out", finished=lambda _: pytest.fail("run again")) == results
    assert (tmp_path / "out" / "results.jsonl").read_bytes() == before


def test_a_recorded_recipe_holds_every_option_of_its_models(suites: Any, easy: None, tmp_path: Path) -> None:
    suites(variants={"a": {"recipe": "bl-span-ner", "set": quick_settings("tiny")}})
    (run,) = benchmark.plan("tiny", "easy", 1)
    (found,) = benchmark.run_suite([run], tmp_path / "out")
    assert run.recipe.bundle is not None
    assert found["recipe"]["model"] == {"name": "span-ner", **run.recipe.model.config.model_dump(mode="json")}
    assert found["recipe"]["bundle"] == {
        "name": "seq-ner",
        "alpha": run.recipe.bundle.alpha,
        **run.recipe.bundle.config.model_dump(mode="json"),
    }
    assert benchmark.recorded(tmp_path / "out") == {run.key: found}


def recorded_lines() -> list[dict[str, Any]]:
    """The line of each run; of a run that was repeated, the last."""
    runs = {(line["corpus"], line["variant"], line["seed"]): line for line in lines(RECORDED)}
    return [line for line in runs.values() if line["corpus"] in ("conll04", "wnut17")]


def planned() -> set[str]:
    return {run.key for corpus in ("conll04", "wnut17") for run in benchmark.plan("bl-ner", corpus, 3)}


def write_lines(folder: Path, content: list[dict[str, Any]]) -> Path:
    (folder / "results.jsonl").write_text("".join(json.dumps(line) + "\n" for line in content))
    return folder


def test_every_recorded_result_of_this_repository_is_found(tmp_path: Path) -> None:
    known = recorded_lines()
    assert len(known) >= 18
    assert len(benchmark.recorded(write_lines(tmp_path, known)).keys() & planned()) == len(known)


def test_recorded_results_outlive_a_new_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class NewTrain(recipes.TrainSection):
        brand_new: int = 3

    class NewRecipe(recipes.Recipe):
        train: NewTrain = NewTrain()

    before = planned()
    for module in (suite_files, recording):
        monkeypatch.setattr(module, "Recipe", NewRecipe)
    assert not planned() & before  # the option is part of the work
    known = recorded_lines()
    assert len(benchmark.recorded(write_lines(tmp_path, known)).keys() & planned()) == len(known)


def test_recorded_results_outlive_a_new_option_of_a_model(tmp_path: Path) -> None:
    known = recorded_lines()
    for line in known:
        assert line["recipe"]["model"].pop("dropout") == 0.1  # the default, as if it had come later
    assert len(benchmark.recorded(write_lines(tmp_path, known)).keys() & planned()) == len(known)


def test_a_result_with_another_value_belongs_to_another_run(tmp_path: Path) -> None:
    known = recorded_lines()[:1]
    known[0]["recipe"]["train"]["warmup"] = 0.2
    assert not benchmark.recorded(write_lines(tmp_path, known)).keys() & planned()


def test_a_recorded_recipe_that_cannot_be_read_any_more_belongs_to_no_run(tmp_path: Path) -> None:
    known = recorded_lines()[:3]
    known[0]["recipe"]["train"]["gone"] = 1
    known[1]["recipe"]["model"] = {"name": "gone"}
    (found,) = benchmark.recorded(write_lines(tmp_path, known)).values()
    assert found["key"] == known[2]["key"]


def test_models_are_kept_when_asked_for(suites: Any, easy: None, tmp_path: Path) -> None:
    (run, _) = benchmark.plan("tiny", "easy", 1)
    benchmark.run_suite([run], tmp_path / "out", keep=True)
    assert (tmp_path / "out" / "runs" / run.key / "model.safetensors").exists()


def test_the_recorded_scores_are_those_of_evaluating_the_model(suites: Any, easy: None, tmp_path: Path) -> None:
    from spanwise.evaluation import evaluate

    (run, _) = benchmark.plan("tiny", "easy", 1)
    (found,) = benchmark.run_suite([run], tmp_path / "out", keep=True)
    gold = corpora.load("easy").split("test")
    scored = evaluate(tmp_path / "out" / "runs" / run.key, gold)
    assert found["entities"] == scored.entities.to_dict()
    assert found["relations"] is scored.relations is None
    assert found["documents"].keys() == {"entities"}
    assert len(found["documents"]["entities"]) == len(gold)


def test_the_relations_of_a_joint_model_are_recorded_and_compared(
    suites: Any, easy: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    demo = corpora.load("demo")
    few = {split: documents[:16] for split, documents in demo.splits.items()}
    monkeypatch.setattr(corpora, "load", lambda _: replace(demo, splits=few))
    joint = {"recipe": "spert", "set": quick_settings("tiny")}
    columns = {"F1": "entities.micro.f1", "RE+": "relations.strict.micro.f1"}
    suites(variants={"one": joint, "other": joint}, columns=columns, compare=[["one", "other"]], paper={})
    results = benchmark.run_suite(benchmark.plan("tiny", "demo", 1), tmp_path / "out")
    linked = sum(len(set(document.relations)) for document in few["test"])
    assert results[0]["relations"]["strict"]["micro"]["gold"] == linked > 0
    assert sum(gold for gold, *_ in results[0]["documents"]["strict"]) == linked
    assert benchmark.summarize("tiny", "demo", results).rows[0].mean.keys() == columns.keys()
    assert [(found.column, found.p) for found in benchmark.compare("tiny", results)] == [("F1", 1.0), ("RE+", 1.0)]


def test_a_run_on_head_regions_is_scored_on_them(
    suites: Any, easy: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = Document.from_words(["Ann", "Vale", "left"], [(0, 2, "Person"), (0, 1, "Person")])
    headed = named.with_annotations([replace(named.entities[0], head=named.words[0]), named.entities[1]])
    easy_corpus = corpora.load("easy")
    monkeypatch.setattr(
        corpora, "load", lambda _: replace(easy_corpus, splits={**easy_corpus.splits, "test": (headed,)})
    )
    found = [
        benchmark.run_suite(benchmark.plan("tiny", "easy", 1, [f"data.heads={heads}"])[:1], tmp_path / "out")[0]
        for heads in ("false", "true")
    ]
    assert [result["entities"]["micro"]["gold"] for result in found] == [2, 1]  # both have the same head


def test_a_corpus_without_dev_gives_a_result_without_dev_score(
    suites: Any, easy: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = corpora.load("easy")
    parts = {split: whole.splits[split] for split in ("train", "test")}
    monkeypatch.setattr(corpora, "load", lambda _: replace(whole, splits=parts))
    (found,) = benchmark.run_suite(benchmark.plan("tiny", "easy", 1)[:1], tmp_path / "out")
    assert found["dev_f1"] is None
    assert benchmark.summarize("tiny", "easy", [found]).rows


def test_a_result_holds_relations_and_the_counts_of_each_document() -> None:
    people = (Entity(0, 3, "PER"), Entity(4, 7, "PER"), Entity(11, 15, "LOC"))
    gold = Document("Ann Bob in Kell", entities=people, relations=(Relation(0, 1, "knows"), Relation(0, 2, "lives")))
    mistyped = (people[0], Entity(4, 7, "LOC"))
    predicted = Document(gold.text, entities=mistyped, relations=(Relation(0, 1, "knows"), Relation(1, 0, "lives")))
    found = scores([gold, Document("None")], [predicted, Document("None")], Schema.from_documents([gold]))
    assert found["documents"] == {
        "entities": [[3, 2, 1], [0, 0, 0]],
        "boundaries": [[2, 2, 1], [0, 0, 0]],
        "strict": [[2, 2, 0], [0, 0, 0]],
    }
    assert found["entities"]["micro"]["f1"] == 2 / 5
    assert found["relations"]["boundaries"]["micro"]["f1"] == 1 / 2
    assert found["relations"]["boundaries"]["macro"] == {"precision": 1 / 2, "recall": 1 / 2, "f1": 1 / 2}
    assert found["relations"]["strict"]["micro"]["f1"] == 0.0
    assert json.loads(json.dumps(found)) == found


def test_a_stopped_suite_goes_on_where_it_was(suites: Any, easy: None, tmp_path: Path) -> None:
    runs = benchmark.plan("tiny", "easy", 1)

    def stop(_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        benchmark.run_suite(runs, tmp_path / "out", finished=stop)
    first = lines(tmp_path / "out")
    assert [line["variant"] for line in first] == ["tags"]
    done: list[dict[str, Any]] = []
    results = benchmark.run_suite(runs, tmp_path / "out", finished=done.append)
    assert [result["variant"] for result in done] == ["spans"]
    assert results == [*first, *done]


def test_a_run_that_is_stopped_resumes_from_its_checkpoint(suites: Any, easy: None, tmp_path: Path) -> None:
    (run, _) = benchmark.plan("tiny", "easy", 1, ["train.batch_size=2"])
    asked = iter([False, True])
    with pytest.raises(TrainingStopped):
        benchmark.execute(run, tmp_path / "out", 1, False, stop=lambda: next(asked))
    result = benchmark.execute(run, tmp_path / "out", 1, False)
    assert "resuming from step 1" in " ".join(result["notices"])


def test_a_run_that_was_trained_but_not_scored_is_not_trained_again(
    suites: Any, easy: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from spanwise.inference.extractor import Extractor
    from spanwise.training import run as training

    (run, _) = benchmark.plan("tiny", "easy", 1)
    with monkeypatch.context() as broken:
        broken.setattr(Extractor, "from_pretrained", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            benchmark.run_suite([run], tmp_path / "out")
    assert not (tmp_path / "out" / "results.jsonl").exists()
    monkeypatch.setattr(training, "train", lambda *_, **__: pytest.fail("trained again"))
    assert len(benchmark.run_suite([run], tmp_path / "out")) == 1


def test_suites_share_equal_runs_and_each_names_them_its_own_way(suites: Any, easy: None, tmp_path: Path) -> None:
    (run, _) = benchmark.plan("tiny", "easy", 1)
    benchmark.run_suite([run], tmp_path / "out")
    variants = yaml.safe_load((suite_files.SUITES / "tiny.yaml").read_text())["variants"]
    suites("other", variants={"the same tags": variants["tags"]})
    runs = benchmark.plan("other", "easy", 1)
    results = benchmark.run_suite(runs, tmp_path / "out", finished=lambda _: pytest.fail("run again"))
    assert [row.variant for row in benchmark.summarize("other", "easy", results).rows] == ["the same tags"]
    assert len(lines(tmp_path / "out")) == 1


def test_an_unknown_corpus_is_refused(suites: Any, easy: None, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="unknown corpus 'nope'"):
        benchmark.run_suite(benchmark.plan("tiny", "nope", 1), tmp_path / "out")


def test_a_file_of_something_else_is_refused(suites: Any, tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_text("hello\n")
    with pytest.raises(FormatError, match="not a results file"):
        benchmark.run_suite(benchmark.plan("tiny", "easy", 1), tmp_path)


@pytest.mark.slow
def test_runs_in_processes_of_their_own_give_the_same_scores(suites: Any, tmp_path: Path) -> None:
    """On the demo corpus, which every process finds by its name."""
    runs = benchmark.plan("tiny", "demo", 1, ["train.batch_size=32"])
    assert len(runs) == 2
    together = benchmark.run_suite(runs, tmp_path / "two", jobs=2)
    alone = benchmark.run_suite(runs[:1], tmp_path / "one")
    assert [result["variant"] for result in together] == ["tags", "spans"]
    assert together[0]["entities"] == alone[0]["entities"]
    assert [result["environment"]["threads"] for result in together] == [1, 1]


@pytest.mark.slow
def test_own_files_are_read_in_the_processes_of_jobs(suites: Any, easy_files: Path, tmp_path: Path) -> None:
    files = {split: [easy_files / f"{split}.jsonl"] for split in ("train", "dev", "test")}
    runs = benchmark.plan("tiny", benchmark.corpus_name(files), 1, files=files)
    found = benchmark.run_suite(runs, tmp_path / "out", jobs=2)
    assert [(result["variant"], result["corpus"]) for result in found] == [("tags", "train"), ("spans", "train")]
    assert all(result["entities"]["micro"]["gold"] > 0 for result in found)


def test_folds_are_planned_within_a_seed(suites: Any) -> None:
    runs = benchmark.plan("tiny", "ade", 2, folds=2, variants=["tags"])
    assert [(run.seed, run.corpus) for run in runs] == [(1, "ade/0"), (1, "ade/1"), (2, "ade/0"), (2, "ade/1")]
    assert [run.corpus for run in benchmark.plan("tiny", "ade/7", 1)] == ["ade/7", "ade/7"]


@pytest.mark.parametrize(
    ("corpus", "folds", "sentence"),
    [
        ("ade", 11, "corpus 'ade' has 10 folds; give fewer --folds"),
        ("conll04", 2, "corpus 'conll04' has no folds; "),
        ("ade/0", 2, "corpus 'ade/0' has no folds; "),
        ("ade", None, "corpus 'ade' comes in folds; give --folds 10, or one fold: ade/0."),
    ],
)
def test_folds_that_are_not_there_are_refused(suites: Any, corpus: str, folds: int | None, sentence: str) -> None:
    with pytest.raises(CorpusError, match=sentence):
        benchmark.plan("tiny", corpus, 1, folds=folds)


def test_every_fold_is_a_run_of_its_own(
    suites: Any, easy: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = corpora.load("easy")
    monkeypatch.setattr(corpora, "load", lambda name: {"ade/0": corpus, "ade/1": corpus}[name])
    runs = benchmark.plan("tiny", "ade", 1, folds=2, variants=["spans"])
    results = benchmark.run_suite(runs, tmp_path / "out")
    assert [found["corpus"] for found in results] == ["ade/0", "ade/1"]
    assert benchmark.summarize("tiny", "ade", results).rows[0].runs == 2


def test_only_the_variants_asked_for_are_planned_in_the_suites_order(suites: Any) -> None:
    assert [run.variant for run in benchmark.plan("tiny", "easy", 1, variants=["spans"])] == ["spans"]
    assert [run.variant for run in benchmark.plan("tiny", "easy", 1, variants=["spans", "tags"])] == ["tags", "spans"]


def test_an_unknown_variant_is_refused_with_the_known_ones(suites: Any) -> None:
    with pytest.raises(RecipeError, match="suite 'tiny' has no variant 'tag'; it has tags, spans"):
        benchmark.plan("tiny", "easy", 1, variants=["spans", "tag"])

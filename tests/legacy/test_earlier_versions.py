"""What spanwise 0.1.0 wrote is read today: models, an interrupted run and results."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from safetensors.torch import load_file

from spanwise import benchmark, corpora
from spanwise.benchmark.results import key
from spanwise.document import Document, Entity
from spanwise.errors import RecipeError
from spanwise.evaluation import evaluate
from spanwise.inference.extractor import Extractor
from spanwise.pipeline import folder as model_folder
from spanwise.recipe import Recipe
from spanwise.training.reporting import NullListener, StepReport
from spanwise.training.run import RunSummary, train

LEGACY = Path(__file__).parent
FOLDERS = ("bundle", "lear-shared", "spert", "dspert")
PREDICTIONS = [json.loads(line) for line in (LEGACY / "predictions.jsonl").read_text(encoding="utf-8").splitlines()]
UNINTERRUPTED = json.loads((LEGACY / "uninterrupted.json").read_text(encoding="utf-8"))
BENCHMARK_OPTIONS = (  # as in make.py
    "encoder.name=tiny-encoder",
    "encoder.freeze_embeddings=false",
    "train.epochs=10",
    "train.batch_size=4",
    "train.encoder_lr=0.003",
    "train.task_lr=0.005",
)


@pytest.fixture(scope="module")
def extractors() -> dict[str, Extractor]:
    return {name: Extractor.from_pretrained(LEGACY / name) for name in FOLDERS}


def called(extractor: Extractor, line: dict[str, Any]) -> Document:
    """What the extractor finds in the line's text, asked as `make.py` asked."""
    if "given" in line:
        return extractor(line["text"], entities=[Entity(*row) for row in line["given"]])
    return extractor(line["text"], labels=line.get("labels"))


def assert_finds(document: Document, line: dict[str, Any]) -> None:
    entities = [(e.start, e.end, e.label) for e in document.entities]
    relations = [(r.head, r.tail, r.label) for r in document.relations]
    assert entities == [tuple(row[:3]) for row in line["entities"]]
    assert relations == [tuple(row[:3]) for row in line["relations"]]
    scores = [row.score for row in (*document.entities, *document.relations)]
    assert scores == pytest.approx([row[3] for row in (*line["entities"], *line["relations"])], abs=1e-4)


@pytest.mark.parametrize("line", PREDICTIONS, ids=lambda line: f"{line['folder']}: {line['text'][:20]!r}")
def test_a_finished_model_predicts_what_it_predicted(extractors: dict[str, Extractor], line: dict[str, Any]) -> None:
    assert_finds(called(extractors[line["folder"]], line), line)


@pytest.mark.parametrize("name", FOLDERS)
def test_texts_that_are_read_together_are_read_as_they_were_alone(extractors: dict[str, Extractor], name: str) -> None:
    lines = [line for line in PREDICTIONS if line["folder"] == name and not {"labels", "given"} & line.keys()]
    assert len(lines) == 6
    for document, line in zip(extractors[name]([line["text"] for line in lines]), lines, strict=True):
        assert_finds(document, line)


@pytest.mark.parametrize("name", FOLDERS)
def test_a_finished_model_that_is_saved_again_predicts_the_same(
    extractors: dict[str, Extractor], name: str, tmp_path: Path
) -> None:
    extractors[name].save_pretrained(tmp_path)
    again = Extractor.from_pretrained(tmp_path)
    for line in (line for line in PREDICTIONS if line["folder"] == name):
        assert called(again, line) == called(extractors[name], line)
    assert again.schema == extractors[name].schema


@pytest.mark.parametrize("name", FOLDERS)
def test_a_finished_run_scores_on_its_own_data_as_it_did(extractors: dict[str, Extractor], name: str) -> None:
    """Train and dev are the same file, which the recipe names as it lies from the run's folder."""
    recipe = Recipe.load(LEGACY / name / "recipe.yaml")
    gold = corpora.from_files(recipe.data.train, recipe.data.dev).split("dev")
    summary = json.loads((LEGACY / name / "run.json").read_text())
    best = json.loads((LEGACY / name / "metrics.jsonl").read_text().splitlines()[summary["best_epoch"] - 1])
    found = evaluate(extractors[name], gold)
    micro = found.entities.micro
    wanted = {kind: best["dev"][kind] for kind in ("precision", "recall", "f1")}
    assert {kind: getattr(micro, kind) for kind in wanted} == pytest.approx(wanted)
    if "relations" in best["dev"]:
        assert found.relations is not None
        assert found.relations.strict.micro.f1 == pytest.approx(best["dev"]["relations"]["f1"])


@pytest.mark.parametrize("reader", ["span-ner", "seq-ner"])
def test_either_member_of_a_bundle_reads_out(extractors: dict[str, Extractor], reader: str) -> None:
    found = Extractor.from_pretrained(LEGACY / "bundle", reader=reader)(["Mara Ostrow met Bo Lind in Brenford ."])[0]
    assert {(found.text_of(e), e.label) for e in found.entities} >= {("Bo Lind", "Person"), ("Brenford", "Place")}


def test_a_threshold_of_zero_that_was_written_out_is_the_models_own() -> None:
    config, recipe = (LEGACY / "bundle" / name for name in ("config.json", "recipe.yaml"))
    assert json.loads(config.read_text())["threshold"] == 0.0
    assert model_folder.load(LEGACY / "bundle").blueprint.threshold is None
    assert yaml.safe_load(recipe.read_text())["evaluation"]["threshold"] == 0.0
    assert Recipe.load(recipe).evaluation.threshold is None


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the interrupted run, in a working directory where its encoder is found by name."""
    for name in ("tiny-encoder", "corpora", "interrupted"):
        shutil.copytree(LEGACY / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "interrupted"


class Steps(NullListener):
    """Counts the steps of a run."""

    def __init__(self) -> None:
        self.sentences: list[str] = []
        self.count = 0

    def notice(self, sentence: str) -> None:
        self.sentences.append(sentence)

    def step(self, report: StepReport) -> None:
        self.count += 1


def resume(folder: Path, recipe: Recipe, listener: NullListener | None = None) -> RunSummary:
    easy = corpora.from_files(["corpora/easy-train.jsonl"], ["corpora/easy-dev.jsonl"])
    return train(recipe, folder, listener, easy)


def assert_ended_like_the_uninterrupted_run(folder: Path, summary: RunSummary) -> None:
    wanted = UNINTERRUPTED["run"]
    assert (summary.best_epoch, summary.steps) == (wanted["best_epoch"], wanted["steps"])
    assert summary.dev_f1 == pytest.approx(wanted["dev_f1"])
    found, weights = load_file(folder / "model.safetensors"), load_file(LEGACY / "uninterrupted.safetensors")
    assert found.keys() == weights.keys()
    for name, weight in weights.items():
        if name.endswith("attention.self.key.bias"):
            continue  # its gradient is zero but for rounding, which Adam turns into steps that differ between CPUs
        torch.testing.assert_close(found[name], weight, atol=1e-3, rtol=1e-2, msg=name)
    metrics = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    for line, before in zip(metrics, UNINTERRUPTED["metrics"], strict=True):
        assert (line["epoch"], line["best"]) == (before["epoch"], before["best"])
        assert line["dev"] == pytest.approx(before["dev"])
        assert {kind: line[kind] for kind in ("loss", "tags")} == pytest.approx(
            {kind: before[kind] for kind in ("loss", "tags")}, rel=1e-3
        )


def test_an_interrupted_run_goes_on_and_ends_like_the_uninterrupted_one(copied: Path) -> None:
    listener = Steps()
    summary = resume(copied, Recipe.load(copied / "recipe.yaml"), listener)
    assert listener.sentences == ["resuming from step 36 in epoch 3."]
    assert listener.count == 96 - 36
    assert_ended_like_the_uninterrupted_run(copied, summary)
    extractor = Extractor.from_pretrained(copied)
    for line in UNINTERRUPTED["dev"]:
        assert_finds(extractor(line["text"]), line)


def reordered(content: dict[str, Any]) -> str:
    turned = {name: dict(reversed(section.items())) if section else section for name, section in content.items()}
    return yaml.safe_dump(dict(reversed(turned.items())), sort_keys=False)


def commented(content: dict[str, Any]) -> str:
    lines = yaml.safe_dump(content, default_flow_style=None, sort_keys=False).splitlines()
    return "# An old run.\n\n" + "\n".join(f"{line}  # as it was" for line in lines) + "\n"


def without_defaults(content: dict[str, Any]) -> str:
    set_by_the_user = ("epochs", "batch_size", "encoder_lr", "task_lr", "seed", "checkpoint_steps")
    kept = {
        "encoder": {"name": content["encoder"]["name"]},
        "model": content["model"],
        "data": {"corpus": content["data"]["corpus"]},
        "train": {name: content["train"][name] for name in set_by_the_user},
    }
    return yaml.safe_dump(kept)


def with_todays_options(content: dict[str, Any]) -> str:
    return Recipe.parse(content).dump()


@pytest.mark.parametrize(
    "rewritten",
    [reordered, commented, without_defaults, with_todays_options],
    ids=lambda rewritten: rewritten.__name__,
)
def test_a_recipe_that_differs_only_as_text_is_the_same_recipe(
    copied: Path, rewritten: Callable[[dict[str, Any]], str]
) -> None:
    recipe = Recipe.load(copied / "recipe.yaml")
    before = (copied / "recipe.yaml").read_text()
    (copied / "recipe.yaml").write_text(rewritten(yaml.safe_load(before)))
    assert (copied / "recipe.yaml").read_text() != before
    listener = Steps()
    assert_ended_like_the_uninterrupted_run(copied, resume(copied, recipe, listener))
    assert listener.count == 96 - 36


@pytest.mark.parametrize(
    "override",
    ["train.seed=7", "train.epochs=7", "model.tagging=crf", "evaluation.threshold=0.5", "bundle={name: span-ner}"],
)
def test_a_recipe_with_another_value_is_another_recipe(copied: Path, override: str) -> None:
    before = {path.name: path.read_bytes() for path in copied.iterdir()}
    key = override.partition("=")[0]
    with pytest.raises(RecipeError, match=rf"interrupted run of another recipe \({key}: .* there, .* here\); "):
        resume(copied, Recipe.load(copied / "recipe.yaml", [override]))
    assert {path.name: path.read_bytes() for path in copied.iterdir()} == before


@pytest.mark.parametrize("content", ["", "[]", "hello", "model: {name: gone}\ndata: {corpus: demo}\n"], ids=repr)
def test_a_recipe_that_cannot_be_read_is_another_recipe(copied: Path, content: str) -> None:
    recipe = Recipe.load(copied / "recipe.yaml")
    (copied / "recipe.yaml").write_text(content)
    with pytest.raises(RecipeError, match="holds an interrupted run of another recipe"):
        resume(copied, recipe)


def test_an_interrupted_run_does_not_go_on_with_other_data(copied: Path) -> None:
    path = Path("corpora", "easy-train.jsonl")
    path.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))
    with pytest.raises(RecipeError, match="the training data has changed since the run was interrupted"):
        resume(copied, Recipe.load(copied / "recipe.yaml"))


def test_recorded_results_are_found_by_the_plan_of_today() -> None:
    runs = [
        *benchmark.plan("bl-ner", "demo", 1, BENCHMARK_OPTIONS, variants=["SeqNER", "BL-SpanNER"]),
        *benchmark.plan("joint", "demo", 1, BENCHMARK_OPTIONS, variants=["SpERT"]),
    ]
    lines = [json.loads(line) for line in (LEGACY / "results" / "results.jsonl").read_text().splitlines()]
    found = benchmark.find_results(runs, LEGACY / "results")
    assert list(benchmark.recorded(LEGACY / "results")) == [run.key for run in runs]
    assert [result["entities"]["micro"] for result in found] == [line["test"] for line in lines]
    assert [result["entities"]["macro"]["f1"] for result in found] == [line["test_macro_f1"] for line in lines]
    assert [{**result, **line} for result, line in zip(found, lines, strict=True)] == [
        {**line, "split": "test", "entities": result["entities"]} for result, line in zip(found, lines, strict=True)
    ]
    assert [key(Recipe.parse(line["recipe"])) for line in lines] == [run.key for run in runs]


def test_a_run_with_a_recorded_result_is_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(shutil.copytree(LEGACY / "results", tmp_path / "results"))
    monkeypatch.setattr(benchmark.runs, "execute", lambda *_: pytest.fail("run again"))
    runs = benchmark.plan("joint", "demo", 1, BENCHMARK_OPTIONS, variants=["SpERT"])
    (found,) = benchmark.run_suite(runs, folder)
    table = benchmark.summarize("joint", "demo", [found])
    assert [(row.variant, row.runs) for row in table.rows] == [("SpERT", 1)]


def test_a_plan_with_another_value_finds_no_recorded_result() -> None:
    options = [*BENCHMARK_OPTIONS, "train.epochs=11"]
    runs = benchmark.plan("bl-ner", "demo", 1, options, variants=["SeqNER", "BL-SpanNER"])
    assert benchmark.find_results(runs, LEGACY / "results") == []

"""Thresholds and temperatures of a model: in decoding, at a call, and in the model folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spanwise.corpora import Corpus
from spanwise.decoding.probabilities import scaled
from spanwise.document import Document
from spanwise.errors import ModelError
from spanwise.inference.extractor import Extractor
from spanwise.pipeline import folder as model_folder
from spanwise.pipeline import stored
from spanwise.pipeline.pipeline import Pipeline
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.pipeline.tuning import Tuning
from spanwise.seam.batch import Array, Batch
from spanwise.seam.runner import Arrays, Runner, StageOne
from spanwise.testing.samples import FLAT, FLAT_LINKS, sample_corpus

Make = Callable[..., TorchPipeline]
LEGACY = Path(__file__).parents[1] / "legacy"
MODELS: list[tuple[str, dict[str, Any]]] = [
    ("span-ner", {"nested": True}),
    ("span-ner", {"multi_label": True}),
    ("biaffine", {}),
    ("seq-ner", {}),
    ("seq-ner", {"tagging": "crf"}),
    ("dspert", {}),
    ("lear", {}),
    ("traditional", {"nested": True}),
    ("spert", {}),
    ("stsn", {}),
    ("span", {}),
]


class NoisyRunner:
    """Random scores in the shapes of a model's, because those of an untrained one are too alike."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner

    def forward(self, batch: Batch[Array]) -> StageOne:
        found = self.runner.forward(batch)
        return found._replace(scores=noise(found.scores))

    def rescore(self, features: object, rows: Arrays) -> Arrays:
        return noise(self.runner.rescore(features, rows))


class DividingRunner:
    """An oracle of temperatures: a runner whose scores are divided before any decoder sees them."""

    def __init__(self, runner: Runner, first: float, second: float) -> None:
        self.runner, self.first, self.second = runner, first, second

    def forward(self, batch: Batch[Array]) -> StageOne:
        found = self.runner.forward(batch)
        return found._replace(scores=divided(found.scores, self.first))

    def rescore(self, features: object, rows: Arrays) -> Arrays:
        return divided(self.runner.rescore(features, rows), self.second)


class CountingRunner:
    """Counts the calls of a runner."""

    def __init__(self, runner: Runner) -> None:
        self.runner, self.forwards, self.rescores = runner, 0, 0

    def forward(self, batch: Batch[Array]) -> StageOne:
        self.forwards += 1
        return self.runner.forward(batch)

    def rescore(self, features: object, rows: Arrays) -> Arrays:
        self.rescores += 1
        return self.runner.rescore(features, rows)


def noise(scores: Arrays) -> Arrays:
    rng = np.random.default_rng(1)
    return type(scores)._make(rng.normal(0, 3, array.shape).astype(np.float32) for array in scores)  # type: ignore[attr-defined,no-any-return]


def divided(scores: Arrays, by: float) -> Arrays:
    return type(scores)._make(array / np.float32(by) for array in scores)  # type: ignore[attr-defined,no-any-return]


def on_runner(pipeline: Pipeline, runner: Runner) -> Pipeline:
    return Pipeline(pipeline.reader, pipeline.schema, pipeline.pieces, pipeline.windows, runner, pipeline.threshold)


def outcome(documents: list[Document]) -> tuple[list[Any], list[float]]:
    """What was found, and its scores."""
    rows = [[*document.entities, *document.relations] for document in documents]
    return [[replace(row, score=None) for row in each] for each in rows], [
        row.score or 0 for each in rows for row in each
    ]


@pytest.fixture(scope="module")
def linked() -> Corpus:
    return sample_corpus("linked", FLAT, FLAT_LINKS)


@pytest.mark.parametrize(("name", "options"), MODELS)
def test_a_temperature_divides_the_logits_of_every_model(
    make_pipeline: Make, linked: Corpus, name: str, options: dict[str, Any]
) -> None:
    made = make_pipeline(name, linked, **options)
    pipeline, documents = on_runner(made, NoisyRunner(made.runner)), linked.splits["train"]
    relations = pipeline.reader.traits.relations
    tuned = pipeline.with_tuning(Tuning(temperature=0.4, relation_temperature=3.0, relation_threshold=0.2))
    runner = DividingRunner(pipeline.runner, 0.4, 3.0 if relations else 0.4)
    wanted = on_runner(pipeline, runner).predict(documents, relation_threshold=0.2)
    assert sum(len(document.entities) for document in wanted) > 5
    (found, scores), (rows, expected) = outcome(tuned.predict(documents)), outcome(wanted)
    assert found == rows
    assert scores == pytest.approx(expected, abs=1e-5)
    before = pipeline.predict(documents, relation_threshold=0.2)
    assert [e.score for d in before for e in d.entities] != [e.score for d in wanted for e in d.entities]


@pytest.mark.parametrize(("name", "options"), MODELS)
def test_a_temperature_of_1_leaves_every_bit_as_it_was(
    make_pipeline: Make, linked: Corpus, name: str, options: dict[str, Any]
) -> None:
    made = make_pipeline(name, linked, **options)
    pipeline, documents = on_runner(made, NoisyRunner(made.runner)), linked.splits["train"]
    assert pipeline.with_tuning(Tuning()).predict(documents) == pipeline.predict(documents)
    divided_by_1 = on_runner(pipeline, DividingRunner(pipeline.runner, 1.0, 1.0))
    assert divided_by_1.predict(documents) == pipeline.predict(documents)


def test_logits_at_temperature_1_are_not_even_copied() -> None:
    logits = np.ones(3, np.float32)
    assert scaled(logits, 1.0) is logits
    assert scaled(logits, 2.0).dtype == np.float32


@pytest.mark.parametrize("name", ["spert", "dspert"])
def test_several_settings_run_the_model_once_and_give_what_each_gives_alone(
    make_pipeline: Make, linked: Corpus, name: str
) -> None:
    pipeline = make_pipeline(name, linked, nested=True)
    runner = CountingRunner(pipeline.runner)
    counted, task, documents = on_runner(pipeline, runner), pipeline.task, linked.splits["train"]
    settings = [
        pipeline.with_tuning(Tuning(temperature=t, relation_threshold=0.3)).thresholds(None, None) for t in (1, 2, 5)
    ]
    groups = [task.builder.examples(document) for document in documents]
    together = counted.predict_each(documents, groups, task, settings)
    once = (runner.forwards, runner.rescores)
    for setting, found in zip(settings, together, strict=True):
        assert pipeline.predict_examples(documents, groups, task, setting) == found
    counted.predict_examples(documents, groups, task, settings[0])
    assert (runner.forwards, runner.rescores) == (2 * once[0], 2 * once[1])


def test_tuned_thresholds_hold_unless_a_call_gives_others(make_pipeline: Make, flat_corpus: Corpus) -> None:
    pipeline = make_pipeline("span-ner").with_tuning(Tuning(threshold=0.25, thresholds={"Place": 0.75}))
    names = flat_corpus.schema.entity_names

    def used(threshold: Any) -> dict[str, float]:
        return dict(zip(names, pipeline.thresholds(threshold, None).entities.tolist(), strict=True))

    assert used(None) == {"Person": 0.25, "Place": 0.75, "Organization": 0.25}
    assert used({"Person": 0.5}) == {"Person": 0.5, "Place": 0.75, "Organization": 0.25}
    assert used(0.0) == {"Person": 0.0, "Place": 0.0, "Organization": 0.0}


TUNING = Tuning(threshold=0.3, thresholds={"Person": 0.4}, temperature=1.5)


@pytest.fixture
def saved(make_pipeline: Make, tmp_path: Path) -> Path:
    model_folder.save(make_pipeline("span-ner"), tmp_path / "model")
    return tmp_path / "model"


def test_a_stored_tuning_is_loaded_with_checksums_verified(saved: Path, flat_corpus: Corpus) -> None:
    documents = flat_corpus.splits["train"]
    wanted = model_folder.load(saved).with_tuning(TUNING).predict(documents)
    others = {path.name: path.read_bytes() for path in saved.iterdir() if path.name != "config.json"}
    stored.store_tuning(saved, "span-ner", TUNING)
    assert {path.name: path.read_bytes() for path in saved.iterdir() if path.name != "config.json"} == others
    loaded = model_folder.load(saved)
    assert loaded.reader.tuning == TUNING
    assert loaded.predict(documents) == wanted


def test_removing_a_tuning_leaves_the_folder_as_it_was(saved: Path) -> None:
    before = (saved / "config.json").read_bytes()
    stored.store_tuning(saved, "span-ner", TUNING)
    assert (saved / "config.json").read_bytes() != before
    stored.remove_tuning(saved)
    assert (saved / "config.json").read_bytes() == before


def test_a_tuned_extractor_is_saved_with_its_tuning(saved: Path, tmp_path: Path) -> None:
    Extractor.from_pretrained(saved).with_tuning(TUNING).save_pretrained(tmp_path / "copy")
    assert Extractor.from_pretrained(tmp_path / "copy").pipeline.reader.tuning == TUNING


@pytest.mark.parametrize("name", ["schema.json", "model.safetensors", "tokenizer.json"])
def test_files_that_change_after_tuning_are_still_detected(saved: Path, name: str) -> None:
    stored.store_tuning(saved, "span-ner", TUNING)
    content = bytearray((saved / name).read_bytes())
    content[-3] ^= 1
    (saved / name).write_bytes(content)
    with pytest.raises(ModelError, match=f"{name}: changed since the model was saved"):
        model_folder.load(saved)


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        ({"span-ner": {"threshold": 2}}, "has 'threshold': Input should be less than or equal to 1"),
        ({"span-ner": {"temperature": 0}}, "has 'temperature': Input should be greater than or equal to 0.01"),
        ({"span-ner": {"temperature": float("nan")}}, "has 'temperature': Input should be a finite number"),
        ({"span-ner": {"thresholds": {"Person": "high"}}}, "has 'thresholds.Person': Input should be a valid number"),
        ({"span-ner": {"code": "x"}}, "has 'code': Extra inputs are not permitted"),
        ({"span-ner": {"thresholds": {"Planet": 0.5}}}, "names 'Planet', which the model does not have"),
        ({"span-ner": {"relation_thresholds": {"on": 0.5}}}, "names 'on', which the model does not have"),
        ({"lear": {}}, "names 'lear', which the model does not have"),
        ("high", "is no mapping"),
    ],
)
def test_an_invalid_tuning_is_refused_and_can_be_removed(saved: Path, edit: object, reason: str) -> None:
    config = json.loads((saved / "config.json").read_text())
    (saved / "config.json").write_text(json.dumps({**config, "tuning": edit}))
    with pytest.raises(ModelError) as refused:
        model_folder.load(saved)
    assert f"the tuning {reason}" in str(refused.value)
    assert str(refused.value).endswith(f"remove it with `spanwise tune {saved} --reset`.")
    stored.remove_tuning(saved)
    assert model_folder.load(saved).reader.tuning == Tuning()


def test_a_folder_of_an_earlier_version_loads_untuned_and_can_be_tuned(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(LEGACY / "spert", tmp_path / "spert"))
    assert model_folder.load(folder).reader.tuning == Tuning()
    tuning = Tuning(relation_threshold=0.7, relation_temperature=2.0)
    stored.store_tuning(folder, "spert", tuning)
    assert model_folder.load(folder).reader.tuning == tuning


def test_each_member_of_a_bundle_has_its_own_tuning(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(LEGACY / "bundle", tmp_path / "bundle"))
    stored.store_tuning(folder, "seq-ner", Tuning(temperature=2.0))
    stored.store_tuning(folder, "span-ner", Tuning(temperature=3.0))
    found = {name: model_folder.load(folder, name).reader.tuning.temperature for name in ("span-ner", "seq-ner")}
    assert found == {"span-ner": 3.0, "seq-ner": 2.0}
    stored.store_tuning(folder, "span-ner", Tuning())
    assert list(json.loads((folder / "config.json").read_text())["tuning"]) == ["seq-ner"]


def test_a_model_saved_with_other_labels_keeps_the_thresholds_of_those_it_still_has(
    make_pipeline: Make, tmp_path: Path
) -> None:
    tuning = Tuning(threshold=0.6, thresholds={"Person": 0.7, "Place": 0.8}, temperature=2.0)
    extractor = Extractor(make_pipeline("lear", shared=True).with_tuning(tuning))
    extractor.with_labels({"Person": "people", "Town": "towns"}).save_pretrained(tmp_path / "new")
    loaded = Extractor.from_pretrained(tmp_path / "new").pipeline
    assert loaded.reader.tuning == Tuning(threshold=0.6, thresholds={"Person": 0.7}, temperature=2.0)

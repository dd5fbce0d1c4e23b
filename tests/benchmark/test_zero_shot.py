"""`spanwise benchmark zero-shot`: what each model is trained without, and how unseen corpora are scored."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spanwise import corpora
from spanwise.benchmark import zero_shot
from spanwise.benchmark.zero_shot import FIRST, Asked, Asking, LeftOut, ZeroShot, means, score_zero_shot
from spanwise.corpora import Corpus
from spanwise.document import ANNOTATED, Document
from spanwise.errors import InputError
from spanwise.inference.extractor import Extractor
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.recipe import Recipe, find_recipe
from spanwise.schema import EntityType, Schema


@pytest.fixture(scope="module")
def suite() -> ZeroShot:
    return ZeroShot.load()


@pytest.fixture(scope="module")
def models(suite: ZeroShot) -> dict[str, LeftOut]:
    return {model.folder.name: model for model in suite.models(Path("runs/zero-shot"))}


def trained_on(recipe: Recipe) -> dict[str, set[str]]:
    """The corpora of a recipe with the labels that are left out."""
    return {str(part.corpus): set(part.leave_out) for part in recipe.data.corpora}


def test_every_corpus_is_scored_once(suite: ZeroShot, models: dict[str, LeftOut]) -> None:
    scored = [name for model in models.values() for name in model.scored]
    assert sorted(scored) == sorted(suite.corpora)


def test_no_model_has_seen_what_it_is_scored_on(suite: ZeroShot, models: dict[str, LeftOut]) -> None:
    for model in models.values():
        seen = trained_on(model.recipe)
        for name in model.scored:
            assert name not in seen or seen[name] == set(suite.corpora[name].labels) != set()


def test_the_first_model_has_seen_no_corpus_that_is_scored(suite: ZeroShot, models: dict[str, LeftOut]) -> None:
    seen = trained_on(models[FIRST].recipe)
    assert set(suite.corpora) & set(seen) == {"geneva"}
    assert seen["geneva"] == set(suite.corpora["geneva"].labels)
    assert "open/bionlp13cg" not in seen


def test_further_models_start_from_the_first(models: dict[str, LeftOut]) -> None:
    for name, model in models.items():
        start = model.recipe.train.start
        assert start is None if name == FIRST else Path(str(start)) == Path("runs/zero-shot/first").absolute()


def test_a_fold_trains_on_the_corpora_of_the_other_folds(suite: ZeroShot) -> None:
    folds = suite.model_copy(update={"folds": (("bc5cdr", "anem"), ("wnut17", "geneva"))})
    one, two = list(folds.models(Path("runs")))[1:]
    assert {"wnut17", "re3d"} <= set(trained_on(one.recipe))
    assert {"bc5cdr", "anem", "re3d"} <= set(trained_on(two.recipe))
    assert trained_on(one.recipe)["geneva"] == set()
    assert trained_on(two.recipe)["geneva"] == set(suite.corpora["geneva"].labels)


def test_no_model_trains_on_a_corpus_with_a_closed_license(models: dict[str, LeftOut]) -> None:
    closed = {"conll04", "scierc", "ade", "gum"}
    for recipe in (*(model.recipe for model in models.values()), Recipe.load(find_recipe("general"))):
        assert not closed & set(trained_on(recipe))


def test_an_unknown_corpus_is_refused_with_those_there_are(suite: ZeroShot) -> None:
    with pytest.raises(InputError, match=r"no corpus 'nope'; choose from conll04, "):
        suite.chosen(["nope"])


WORDS = ["Mara", "Ostrow", "met", "Bo", "Lind", "in", "Brenford", "."]
PERSON, TOWN = (0, 2, "PER"), (6, 7, "LOC")


def towns() -> Corpus:
    """Four documents for training, and one for testing that was not annotated for persons."""
    train = [Document.from_words(WORDS, [PERSON, TOWN], id=str(number)) for number in range(4)]
    partly = Document.from_words(WORDS, [TOWN], metadata={ANNOTATED: ["LOC"]}, id="partly")
    kinds = (EntityType("PER", "a human being", "human"), EntityType("LOC", "a place", "town"))
    return Corpus.from_documents(train, test=[partly], schema=Schema(kinds))


class Marking:
    """Stands in for an extractor: marks the same entities in every document, and notes what it was asked for."""

    def __init__(self) -> None:
        self.labels: list[dict[str, str]] = []

    def stream(self, documents: list[Document], *, labels: dict[str, str], threshold: float | None) -> list[Document]:
        self.labels.append(labels)
        return [Document.from_words(WORDS, [PERSON, TOWN]) for _ in documents]


def scores_of(marking: Marking, split: str, monkeypatch: pytest.MonkeyPatch) -> list[zero_shot.ZeroShotScore]:
    monkeypatch.setattr(corpora, "load", lambda _: towns())
    asked = {"towns": Asked(paraphrases={"PER": "someone", "LOC": "somewhere"})}
    suite = ZeroShot.load().model_copy(update={"corpora": asked})
    return list(score_zero_shot(marking, suite, asking=Asking(split)))  # type: ignore[arg-type]


def test_labels_are_asked_for_in_four_wordings(monkeypatch: pytest.MonkeyPatch) -> None:
    marking = Marking()
    found = scores_of(marking, "test", monkeypatch)
    assert [score.wording for score in found] == ["names", "descriptions", "both", "paraphrases"]
    assert marking.labels == [
        {"PER": "human", "LOC": "town"},
        {"PER": "a human being", "LOC": "a place"},
        {"PER": "human: a human being", "LOC": "town: a place"},
        {"PER": "someone", "LOC": "somewhere"},
    ]


def test_a_label_that_a_document_was_not_annotated_for_is_not_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    found = scores_of(Marking(), "test", monkeypatch)
    assert [(score.precision, score.recall) for score in found] == [(1, 1)] * 4


def test_a_corpus_without_dev_gives_documents_of_train(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {score.documents for score in scores_of(Marking(), "dev", monkeypatch)} == {4}


def test_the_mean_is_that_of_the_corpora() -> None:
    one = zero_shot.ZeroShotScore("a", "names", 2, 10, 0.5, 0.5, 0.5)
    two = zero_shot.ZeroShotScore("b", "names", 2, 1000, 0.1, 0.1, 0.1)
    assert means([one, two]) == {"names": pytest.approx(0.3)}


@pytest.fixture
def command(
    make_pipeline: Callable[..., TorchPipeline], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Any]:
    """`spanwise benchmark zero-shot` on a random model and four documents, with its JSON."""
    from typer.testing import CliRunner

    from spanwise.cli import app
    from spanwise.pipeline import folder

    folder.save(make_pipeline("span-ner", scorer="names"), tmp_path / "model")
    monkeypatch.setattr(corpora, "load", lambda _: towns())

    def run(*given: str) -> Any:
        arguments = ["--model", str(tmp_path / "model"), "--corpus", "wnut17", "--split", "dev", "--json", *given]
        result = CliRunner().invoke(app, ["benchmark", "zero-shot", *arguments])
        return json.loads(result.stdout)

    return run


def test_the_command_scores_a_model_on_dev(command: Callable[..., Any]) -> None:
    found = command("--threshold", "0")
    assert found["split"] == "dev"
    assert [score["wording"] for score in found["scores"]] == ["names", "descriptions", "both"]
    assert {(score["documents"], score["labels"]) for score in found["scores"]} == {(4, 2)}
    assert set(found["means"]) == {"names", "descriptions", "both"}


def test_recorded_scores_are_not_computed_again(
    command: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = ("--out", str(tmp_path / "kept"))
    first = command(*kept)
    monkeypatch.setattr(zero_shot, "score_zero_shot", None)
    assert command(*kept) == first == command(*kept, "--recorded")


def test_scores_with_another_threshold_are_others(command: Callable[..., Any], tmp_path: Path) -> None:
    kept = ("--out", str(tmp_path / "kept"))
    command(*kept)
    command(*kept, "--threshold", "1")
    lines = (tmp_path / "kept" / "scores.jsonl").read_text().splitlines()
    assert [json.loads(line)["threshold"] for line in lines] == [None] * 3 + [1] * 3


def test_threshold_reaches_the_extractor(make_pipeline: Callable[..., TorchPipeline]) -> None:
    extractor = Extractor(make_pipeline("span-ner", scorer="names"))
    document = towns().split("test")[0].with_annotations()
    marked = [len(next(iter(extractor.stream([document], labels=["a"], threshold=t))).entities) for t in (0.0, 1.0)]
    assert marked[0] > marked[1] == 0

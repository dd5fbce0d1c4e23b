"""A training run: what it repeats, what it counts, what it keeps and what it reports."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from spanwise import formats, runtime
from spanwise.corpora import Corpus
from spanwise.document import Document, Entity, Relation
from spanwise.errors import CorpusError, RecipeError
from spanwise.evaluation import evaluate
from spanwise.inference.extractor import Extractor
from spanwise.metrics import Score
from spanwise.recipe import Recipe
from spanwise.schema import RelationType, Schema
from spanwise.training.preparation import prepare
from spanwise.training.reporting import DevScore, NullListener
from spanwise.training.run import train
from spanwise.training.trainer import Trainer

MODEL_FILES = {
    "config.json",
    "schema.json",
    "model.safetensors",
    "tokenizer.json",
    "tokenizer_config.json",
    "README.md",
}
PERFECT = Score.from_counts(correct=1, predicted=1, gold=1)
RUN_FILES = MODEL_FILES | {"recipe.yaml", "environment.json", "metrics.jsonl", "run.json"}

TrainEasy = Callable[..., Any]
Metrics = Callable[[Path], list[dict[str, Any]]]


def weights(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


def checkpointed(folder: Path) -> dict[str, torch.Tensor]:
    """The parameters in a run's checkpoint."""
    tensors = load_file(folder / "checkpoint.safetensors")
    return {name.removeprefix("parameter."): value for name, value in tensors.items() if name.startswith("parameter.")}


def same_tensors(left: dict[str, torch.Tensor], right: dict[str, torch.Tensor]) -> bool:
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


def trainer_of(recipe: Recipe, corpus: Corpus, folder: Path) -> Trainer:
    return Trainer(prepare(recipe, corpus), folder, NullListener())


@pytest.mark.parametrize(
    "model",
    [(), ("model={name: span-ner}", "bundle={name: seq-ner, tagging: crf}")],
    ids=["tagger", "bundle"],
)
def test_a_seed_repeats_to_the_last_digit(
    train_easy: TrainEasy, metrics: Metrics, tmp_path: Path, model: tuple[str, ...]
) -> None:
    for name in ("first", "second"):
        train_easy(tmp_path / name, "train.epochs=2", *model)
    assert metrics(tmp_path / "first") == metrics(tmp_path / "second")
    assert weights(tmp_path / "first") == weights(tmp_path / "second")


def test_another_seed_gives_another_model(train_easy: TrainEasy, metrics: Metrics, tmp_path: Path) -> None:
    for seed in (1, 2):
        train_easy(tmp_path / str(seed), "train.epochs=1", f"train.seed={seed}")
    assert metrics(tmp_path / "1") != metrics(tmp_path / "2")
    assert weights(tmp_path / "1") != weights(tmp_path / "2")


@pytest.mark.parametrize(
    ("size", "accumulate", "steps"), [(8, 1, 8), (4, 2, 8), (4, 3, 6), (4, 100, 1)], ids=["8", "4x2", "4x3", "4x100"]
)
def test_accumulated_batches_count_as_one_step(
    train_easy: TrainEasy, tmp_path: Path, size: int, accumulate: int, steps: int
) -> None:
    """64 documents: the last step of an epoch may have fewer batches."""
    overrides = (f"train.batch_size={size}", f"train.accumulate={accumulate}", "train.epochs=1")
    assert train_easy(tmp_path / "run", *overrides).steps == steps


def test_an_accumulated_gradient_is_the_mean_over_its_batches(
    make_recipe: Callable[..., Recipe], flat_corpus: Corpus, tmp_path: Path
) -> None:
    options = {"batch_size": 4, "accumulate": 2, "epochs": 1, "clip": 1e9, "seed": 3}
    trainer = trainer_of(make_recipe("seq-ner", train=options), flat_corpus, tmp_path)
    model: Any = trainer.pipeline.model.train()
    for index, batch in enumerate(trainer.data.batches(trainer.options, 0)):
        rng = runtime.seed_step(3, 0, index, 0)
        tensors = trainer._tensors(trainer.data.arrays(trainer.pipeline, batch.part, batch.rows, rng))
        (model.training_loss(tensors).total / 2).backward()
    wanted = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    model.zero_grad()

    found: list[dict[str, torch.Tensor]] = []
    trainer.optimizer.register_step_pre_hook(
        lambda *_: found.append({name: p.grad.clone() for name, p in model.named_parameters()})
    )
    trainer.train()
    assert len(found) == 1
    for name in wanted:
        torch.testing.assert_close(found[0][name], wanted[name])


@pytest.mark.parametrize("clip", [0.01, 1e9])
def test_gradients_are_clipped_to_the_norm_of_the_recipe(
    make_recipe: Callable[..., Recipe], flat_corpus: Corpus, tmp_path: Path, clip: float
) -> None:
    recipe = make_recipe("seq-ner", train={"batch_size": 2, "epochs": 1, "clip": clip})
    trainer = trainer_of(recipe, flat_corpus, tmp_path)
    norms: list[float] = []

    def measure(*_: Any) -> None:
        gradients = [p.grad.norm() for p in trainer.pipeline.model.parameters() if p.grad is not None]
        norms.append(float(torch.stack(gradients).norm()))

    trainer.optimizer.register_step_pre_hook(measure)
    trainer.train()
    assert len(norms) == 4
    assert max(norms) == pytest.approx(0.01, rel=1e-3) if clip == 0.01 else min(norms) > 0.01


def test_training_stops_early_and_keeps_the_best_model(
    train_easy: TrainEasy, metrics: Metrics, memory: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = iter([0.5, 0.7, 0.6, 0.7, 0.9])
    monkeypatch.setattr(Trainer, "_score_dev", lambda self: DevScore(replace(PERFECT, f1=next(scores))))
    folder, states = tmp_path / "run", []
    listener = memory(at_epoch=lambda _: states.append(checkpointed(folder)))
    summary = train_easy(folder, "train.epochs=9", "train.patience=2", listener=listener)
    assert (summary.dev_f1, summary.best_epoch) == (0.7, 2)
    assert [(line["dev"]["f1"], line["best"]) for line in metrics(folder)] == [
        (0.5, True),
        (0.7, True),
        (0.6, False),
        (0.7, False),
    ]
    kept = load_file(folder / "model.safetensors")
    assert [same_tensors(kept, state) for state in states] == [False, True, False, False]
    assert listener.notices == ["stopped early: no better dev F1 since epoch 2."]


def test_without_dev_data_the_last_model_is_kept(
    train_easy: TrainEasy, metrics: Metrics, memory: Any, tmp_path: Path
) -> None:
    folder, states = tmp_path / "run", []
    listener = memory(at_epoch=lambda _: states.append(checkpointed(folder)))
    summary = train_easy(folder, "data.dev=[]", "train.patience=1", listener=listener)
    assert (summary.dev_f1, summary.best_epoch) == (None, 3)
    assert [line["dev"] for line in metrics(folder)] == [None, None, None]
    kept = load_file(folder / "model.safetensors")
    assert [same_tensors(kept, state) for state in states] == [False, False, True]
    assert "no dev data" in (folder / "README.md").read_text()


def test_training_on_dev_as_well_keeps_the_last_model(
    train_easy: TrainEasy, metrics: Metrics, memory: Any, tmp_path: Path
) -> None:
    folder, states = tmp_path / "run", []
    listener = memory(at_epoch=lambda _: states.append(checkpointed(folder)))
    summary = train_easy(folder, "data.train_on=[train, dev]", "train.patience=1", listener=listener)
    assert (summary.dev_f1, summary.best_epoch, summary.steps) == (None, 3, 3 * (64 + 24) // 4)
    assert [line["dev"] for line in metrics(folder)] == [None, None, None]
    kept = load_file(folder / "model.safetensors")
    assert [same_tensors(kept, state) for state in states] == [False, False, True]
    assert "88 documents" in (folder / "README.md").read_text()


@pytest.mark.parametrize(
    ("train_on", "learned", "left"),
    [
        ("train", "a b", "dev test"),
        ("train dev", "a b c", "test"),
        ("dev train test", "c a b d", ""),
        ("dev", "c", "test"),
    ],
)
def test_the_splits_to_train_on_are_joined_and_scored_on_no_more(
    make_recipe: Callable[..., Recipe], train_on: str, learned: str, left: str
) -> None:
    splits = {
        split: tuple(Document("Bo left .", entities=(Entity(0, 2, "Person"),), id=id) for id in ids.split())
        for split, ids in {"train": "a b", "dev": "c", "test": "d"}.items()
    }
    corpus = Corpus("own", splits, Schema.from_documents(splits["train"]))
    joined = prepare(make_recipe("seq-ner", data={"corpus": "demo", "train_on": train_on.split()}), corpus).data
    assert [row.document.id for row in joined.train] == learned.split()
    assert sorted(set(joined.splits) - {"train"}) == left.split()


def test_a_split_to_train_on_that_is_not_there_is_refused(
    make_recipe: Callable[..., Recipe], flat_corpus: Corpus, tmp_path: Path
) -> None:
    data = {"corpus": "demo", "train_on": ["train", "gold"]}
    recipe = make_recipe("seq-ner", encoder={"name": "./no/such/encoder"}, data=data)
    with pytest.raises(CorpusError, match=r"corpus 'flat' has no split 'gold'; it has \['dev', 'train'\]"):
        train(recipe, tmp_path / "run", corpus=flat_corpus)
    assert not (tmp_path / "run").exists()


def test_the_folder_holds_the_best_model_by_dev_f1(trained: Path, easy_files: Path, metrics: Metrics) -> None:
    lines = metrics(trained)
    summary = json.loads((trained / "run.json").read_text())
    assert [line["epoch"] for line in lines] == list(range(1, 17))
    assert summary["dev_f1"] == max(line["dev"]["f1"] for line in lines) >= 0.9
    assert lines[summary["best_epoch"] - 1]["dev"]["f1"] == summary["dev_f1"]
    gold = list(formats.read(easy_files / "dev.jsonl"))
    assert evaluate(Extractor.from_pretrained(trained), gold).entities.micro.f1 == summary["dev_f1"]


def test_metrics_hold_the_mean_of_every_loss_term_of_every_epoch(
    train_easy: TrainEasy, metrics: Metrics, memory: Any, tmp_path: Path
) -> None:
    listener = memory()
    train_easy(tmp_path / "run", "bundle={name: span-ner, alpha: 0.25}", listener=listener)
    for epoch, line in enumerate(metrics(tmp_path / "run")):
        assert set(line) == {"epoch", "loss", "tags", "spans", "dev", "best"}
        steps = [step for step in listener.steps if step.epoch == epoch]
        assert line["spans"] == pytest.approx(mean(step.terms["spans"] for step in steps), abs=1e-5)
        assert line["loss"] == pytest.approx(0.25 * line["tags"] + 0.75 * line["spans"], abs=1e-5)


def test_a_run_folder_says_what_made_it_and_holds_nothing_else(trained: Path, easy_recipe: Path) -> None:
    assert {path.name for path in trained.iterdir()} == RUN_FILES
    assert Recipe.load(trained / "recipe.yaml") == Recipe.load(easy_recipe)
    environment = json.loads((trained / "environment.json").read_text())
    assert (environment["torch"], environment["threads"], environment["processes"]) == (torch.__version__, 1, 1)


def test_the_card_gives_scores_labels_and_use(trained: Path, tiny_encoder: Path) -> None:
    card = (trained / "README.md").read_text()
    f1 = json.loads((trained / "run.json").read_text())["dev_f1"]
    for words in (f"{100 * f1:.2f}", "seq-ner", "64 documents", "`Person`", "`Place`", "Extractor.from_pretrained"):
        assert words in card
    assert card.startswith("---\n")
    assert str(tiny_encoder.parent) not in card


def test_a_model_says_nothing_of_the_machine_it_was_trained_on(trained: Path, tiny_encoder: Path) -> None:
    for name in MODEL_FILES:
        assert str(tiny_encoder.parent).encode() not in (trained / name).read_bytes()


def test_curves_go_to_tensorboard_when_asked_for(train_easy: TrainEasy, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    train_easy(tmp_path / "run", "train.tracker=tensorboard", "train.epochs=2")
    curves = EventAccumulator(str(tmp_path / "run" / "tensorboard")).Reload()
    assert set(curves.Tags()["scalars"]) == {"loss/total", "loss/tags", "dev/precision", "dev/recall", "dev/f1"}
    assert [event.step for event in curves.Scalars("loss/total")] == list(range(1, 33))
    assert [event.step for event in curves.Scalars("dev/f1")] == [1, 2]


def test_tensorboard_that_is_not_installed_is_reported(
    train_easy: TrainEasy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(RecipeError, match=r"spanwise\[tensorboard\]"):
        train_easy(tmp_path / "run", "train.tracker=tensorboard")


def lossy_corpus(document: Document) -> Corpus:
    """The document, with one more that can be learned."""
    documents = (document, Document("Bo left .", entities=(Entity(0, 2, "Person"),)))
    return Corpus("lossy", {"train": documents}, Schema.from_documents(documents))


def notices_of(recipe: Recipe, corpus: Corpus, folder: Path, memory: Any) -> list[str]:
    listener = memory()
    train(recipe, folder, listener, corpus)
    return [sentence for sentence in listener.notices if "Likely causes" not in sentence]  # of a run that was too short


def test_gold_across_words_is_reported(make_recipe: Callable[..., Recipe], memory: Any, tmp_path: Path) -> None:
    corpus = lossy_corpus(Document("Unbreakable glass", entities=(Entity(0, 2, "Person"),), id="odd"))
    notices = notices_of(make_recipe("seq-ner", train={"epochs": 1}), corpus, tmp_path / "run", memory)
    (found,) = [notice for notice in notices if "word boundaries" in notice]
    assert found.startswith("1 training entity does not fall on word boundaries")
    assert "'Un' in document 'odd'" in found


def test_gold_that_fits_into_no_window_is_reported(
    make_recipe: Callable[..., Recipe], memory: Any, tmp_path: Path
) -> None:
    text = " ".join(["the"] * 200)
    corpus = lossy_corpus(Document(text, entities=(Entity(0, len(text), "Person"),), id="long"))
    notices = notices_of(make_recipe("seq-ner", train={"epochs": 1}), corpus, tmp_path / "run", memory)
    assert any(sentence.startswith("1 training entity does not fit into one window") for sentence in notices)


def test_relations_that_cannot_be_learned_are_reported_where_the_model_learns_relations(
    make_recipe: Callable[..., Recipe], memory: Any, tmp_path: Path
) -> None:
    entities = (Entity(0, 2, "Person"), Entity(12, 17, "Person"))
    corpus = lossy_corpus(Document("Unbreakable glass", entities=entities, relations=(Relation(0, 1, "of"),), id="odd"))
    sentence = "1 training relation joins entities that cannot be learned, share no window or lie on one span"
    for model in ("spert", "span-ner"):
        notices = notices_of(make_recipe(model, train={"epochs": 1}), corpus, tmp_path / model, memory)
        assert any(line.startswith(sentence) for line in notices) == (model == "spert")
        assert not [line for line in notices if line.startswith(sentence) and "'of' in document 'odd'" not in line]


def test_words_in_three_entities_are_reported_where_tags_hold_two(
    make_recipe: Callable[..., Recipe], nested_corpus: Corpus
) -> None:
    document = Document.from_words(["The", "Bank", "of", "Kell"], [(0, 4, "Person"), (1, 4, "Place"), (3, 4, "Place")])
    corpus = replace(nested_corpus, splits={"train": (document, *nested_corpus.splits["train"])})
    notices = {model: prepare(make_recipe(model, nested=True), corpus).notices for model in ("stsn", "spert")}
    crowded = "1 word lies in three or more entities; the tagger uses the first two."
    assert crowded in notices["stsn"]
    assert crowded not in notices["spert"]


def test_gold_wider_than_the_model_can_see_is_reported(
    make_recipe: Callable[..., Recipe], flat_corpus: Corpus, memory: Any, tmp_path: Path
) -> None:
    recipe = make_recipe("span-ner", max_width=2, train={"epochs": 1})
    notices = notices_of(recipe, flat_corpus, tmp_path / "run", memory)
    assert "2 training entities (13.3%) are wider than the model's max_width of 2 words." in notices


def test_nested_gold_is_refused_by_a_flat_model_unless_the_recipe_says_what_to_keep(
    make_recipe: Callable[..., Recipe], nested_corpus: Corpus, memory: Any, tmp_path: Path
) -> None:
    with pytest.raises(RecipeError, match="has nested entities, which this seq-ner does not predict; choose a model"):
        train(make_recipe("seq-ner"), tmp_path / "run", corpus=nested_corpus)
    with pytest.raises(RecipeError, match=r"set model\.nested: true"):
        train(make_recipe("span-ner"), tmp_path / "run", corpus=nested_corpus)
    assert not (tmp_path / "run").exists()
    data = {"corpus": "demo", "overlaps": "outermost"}
    notices = notices_of(
        make_recipe("seq-ner", data=data, train={"epochs": 1}), nested_corpus, tmp_path / "run", memory
    )
    assert "5 training entities lie inside another entity and are dropped (data.overlaps: outermost)." in notices


def test_where_bf16_does_not_run_training_goes_on_in_fp32_and_says_so(
    train_easy: TrainEasy, memory: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "bf16_works", lambda: False)
    listener = memory()
    train_easy(tmp_path / "half", "train.epochs=1", "train.precision=bf16", listener=listener)
    train_easy(tmp_path / "full", "train.epochs=1")
    assert listener.notices[0] == "bf16 is not supported on this machine; training in fp32."
    assert weights(tmp_path / "half") == weights(tmp_path / "full")


def test_precisions_can_follow_each_other_in_one_process(
    train_easy: TrainEasy, metrics: Metrics, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not runtime.bf16_works():
        pytest.skip("bf16 does not run on this machine")
    for number, precision in enumerate(("fp32", "bf16", "fp32")):
        train_easy(tmp_path / str(number), "train.epochs=1", f"train.precision={precision}")
    assert weights(tmp_path / "0") == weights(tmp_path / "2") != weights(tmp_path / "1")
    losses = [metrics(tmp_path / str(number))[0]["loss"] for number in range(2)]
    assert losses[1] == pytest.approx(losses[0], rel=0.05)


@pytest.mark.parametrize("model", ["biaffine", "dspert", "lear", "qa", "span", "spert", "stsn", "traditional"])
def test_models_learn_in_half_precision(
    make_recipe: Callable[..., Recipe], flat_corpus: Corpus, metrics: Metrics, tmp_path: Path, model: str
) -> None:
    if not runtime.bf16_works():
        pytest.skip("bf16 does not run on this machine")
    first, *others = flat_corpus.splits["train"]
    documents = (first.with_annotations(first.entities, [Relation(0, 2, "lives in")]), *others)
    schema = replace(flat_corpus.schema, relations=(RelationType("lives in"),))
    corpus = Corpus("linked", {"train": documents}, schema)
    terms: list[dict[str, Any]] = []
    for precision in ("fp32", "bf16"):
        recipe = make_recipe(model, train={"epochs": 1, "precision": precision})
        train(recipe, tmp_path / precision, corpus=corpus)
        terms.append({k: v for k, v in metrics(tmp_path / precision)[0].items() if isinstance(v, float)})
    assert len(terms[0]) > 1
    assert terms[1] == pytest.approx(terms[0], rel=0.05)


def test_a_loss_that_is_no_number_ends_training(train_easy: TrainEasy, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="the loss became nan in epoch 1; lower"):
        train_easy(tmp_path / "run", "train.encoder_lr=10", "train.task_lr=10", "train.weight_decay=100")


def test_data_without_entities_is_refused(make_recipe: Callable[..., Recipe], tmp_path: Path) -> None:
    empty = Corpus("empty", {"train": (Document("Nothing here ."),)}, Schema())
    with pytest.raises(RecipeError, match="contains no entities"):
        train(make_recipe("seq-ner"), tmp_path / "run", corpus=empty)


def test_a_model_of_relations_on_data_without_any_is_reported(
    make_recipe: Callable[..., Recipe], flat_corpus: Corpus
) -> None:
    recipe = make_recipe("spert")
    assert "the data has no relations; the model will learn entities only." in prepare(recipe, flat_corpus).notices


def test_relations_of_entities_that_are_too_wide_are_counted(make_recipe: Callable[..., Recipe]) -> None:
    text = "Bo of the far north met Al ."
    entities = (Entity(0, 19, "Person"), Entity(24, 26, "Person"))
    document = Document(text, entities=entities, relations=(Relation(0, 1, "knows"), Relation(1, 0, "knows")))
    corpus = Corpus("own", {"train": (document,)}, Schema.from_documents([document]))
    recipe = make_recipe("spert", max_width=2)
    notices = prepare(recipe, corpus).notices
    assert "2 training relations join an entity wider than 2 words and cannot be learned." in notices

"""The PyTorch runner encodes the labels of a set once, keeps a bounded number of sets, and never mixes them up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from model_batches import arrays, batch_of, gold_examples
from spanwise.corpora import Corpus
from spanwise.decoding.spans import SpanRows
from spanwise.pipeline.collate import collate
from spanwise.pipeline.label_cache import LABEL_SETS
from spanwise.pipeline.pipeline import Task
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.pipeline.torch_runner import TorchRunner
from spanwise.seam.batch import Array, Batch, LabelTexts

CLOSE: dict[str, Any] = {"atol": 1e-5, "rtol": 1e-5}
EMBEDDINGS = "encoder.transformer.embeddings.word_embeddings.weight"
SETS = [{"Town": text} for text in ("a", "towns", "met", "in the", "univer", "of", "rain", "it met", "bren", "ost")]


@pytest.fixture
def pipeline(make_pipeline: Callable[..., TorchPipeline]) -> TorchPipeline:
    """A model that can be asked for any labels."""
    return make_pipeline("lear", shared=True)


def watched(pipeline: TorchPipeline) -> list[bytes]:
    """The label sets that the model encodes from now on."""
    model: Any = pipeline.model
    encode, calls = model.encode_labels, []

    def watching(texts: LabelTexts[Tensor]) -> Any:
        calls.append(texts.pieces.numpy().tobytes())
        return encode(texts)

    model.encode_labels = watching
    return calls


def asked(pipeline: TorchPipeline, corpus: Corpus, task: Task) -> Batch[Array]:
    examples = [example for d in corpus.splits["train"] for example in task.builder.examples(d)]
    return collate(examples, pipeline.pieces, None, labels=task.labels)


def starts(runner: TorchRunner, batch: Batch[Array]) -> Array:
    return runner.forward(batch).scores[0]


@torch.no_grad()
def fresh(pipeline: TorchPipeline, batch: Batch[Array]) -> Array:
    """The same scores by the model itself, which remembers nothing."""
    start: Tensor = pipeline.model.eval()(batch.map(torch.from_numpy)).scores.start
    return start.numpy()


def test_the_labels_of_a_set_are_encoded_once(pipeline: TorchPipeline, flat_corpus: Corpus) -> None:
    calls, documents = watched(pipeline), flat_corpus.splits["train"]
    pipeline.predict(documents, token_budget=100)  # several batches
    pipeline.predict(documents)
    assert len(calls) == 1


def test_each_of_several_label_sets_is_encoded_once_and_gets_its_own_scores(
    pipeline: TorchPipeline, flat_corpus: Corpus
) -> None:
    calls = watched(pipeline)
    batches = [asked(pipeline, flat_corpus, pipeline.task_for_labels(labels)) for labels in SETS[:LABEL_SETS]]
    scores = [starts(pipeline.runner, batch) for batch in (*batches, *batches)]
    assert len(calls) == len(set(calls)) == LABEL_SETS
    for batch, one, other in zip(batches, scores[:LABEL_SETS], scores[LABEL_SETS:], strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_allclose(one, fresh(pipeline, batch), atol=1e-5)
    assert np.abs(scores[0] - scores[1]).max() > 1e-3


def test_the_set_that_was_used_longest_ago_is_forgotten_and_encoded_again(
    pipeline: TorchPipeline, flat_corpus: Corpus
) -> None:
    calls, runner = watched(pipeline), pipeline.runner
    batches = [asked(pipeline, flat_corpus, pipeline.task_for_labels(labels)) for labels in SETS]
    for batch in batches[:LABEL_SETS]:
        runner.forward(batch)
    runner.forward(batches[0])  # used again: the second is now the oldest
    runner.forward(batches[LABEL_SETS])
    assert len(runner._labels) == LABEL_SETS
    assert len(calls) == LABEL_SETS + 1
    runner.forward(batches[0])
    assert len(calls) == LABEL_SETS + 1
    again = starts(runner, batches[1])
    assert len(calls) == LABEL_SETS + 2
    np.testing.assert_allclose(again, fresh(pipeline, batches[1]), atol=1e-5)


def texts_of(pieces: Sequence[Sequence[int]]) -> LabelTexts[Array]:
    rows = np.array(pieces, np.int64)
    content = np.ones(rows.shape, np.bool_)
    content[:, [0, -1]] = False
    return LabelTexts(rows, np.ones(rows.shape, np.bool_), content)


def test_label_sets_with_the_same_bytes_in_another_shape_are_kept_apart(
    pipeline: TorchPipeline, flat_corpus: Corpus
) -> None:
    """Twelve pieces are three texts of four, or two of six."""
    pieces = np.array([2, 10, 11, 3, 2, 12, 13, 3, 2, 14, 15, 3])
    batch = asked(pipeline, flat_corpus, pipeline.task)
    for labels in (texts_of(pieces.reshape(3, 4)), texts_of(pieces.reshape(2, 6)), texts_of(pieces.reshape(3, 4))):
        own = Batch(batch.size, batch.words, batch.proposals, labels)
        scores = starts(pipeline.runner, own)
        assert scores.shape[2] == len(labels.pieces)
        np.testing.assert_allclose(scores, fresh(pipeline, own), atol=1e-5)


def test_threads_that_ask_for_different_labels_get_their_own_scores(
    pipeline: TorchPipeline, flat_corpus: Corpus
) -> None:
    batches = [asked(pipeline, flat_corpus, pipeline.task_for_labels(labels)) for labels in SETS]
    wanted = [fresh(pipeline, batch) for batch in batches]
    order = [number % len(batches) for number in range(0, 120, 7)]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda number: starts(pipeline.runner, batches[number]), order))
    for number, scores in zip(order, found, strict=True):
        np.testing.assert_allclose(scores, wanted[number], atol=1e-5)
    assert len(pipeline.runner._labels) == LABEL_SETS


def train_step(pipeline: TorchPipeline, corpus: Corpus) -> None:
    model = pipeline.model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    model.training_loss(batch_of(pipeline, corpus.splits["train"], np.random.default_rng(0))).total.backward()
    optimizer.step()


def test_in_training_labels_are_encoded_at_every_step(pipeline: TorchPipeline, flat_corpus: Corpus) -> None:
    pipeline.predict(flat_corpus.splits["train"])
    calls = watched(pipeline)
    for _ in range(3):  # also after a prediction in inference mode
        train_step(pipeline, flat_corpus)
    assert len(calls) == 3


def copy_in_place(name: str) -> Callable[[TorchPipeline, Corpus], None]:
    def copy(pipeline: TorchPipeline, corpus: Corpus) -> None:
        weight = dict(pipeline.model.named_parameters())[name]
        with torch.no_grad():
            weight.copy_(1.5 * weight)

    return copy


CHANGES = {
    "a step of training": train_step,
    "the encoder": copy_in_place(EMBEDDINGS),
    **{name: copy_in_place(f"{name}.weight") for name in ("project_words", "project_labels", "fuse", "start")},
}


@pytest.mark.parametrize("knowledge", ["descriptions", "embeddings"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_fresh_runner_predicts_from_the_changed_weights(
    make_pipeline: Callable[..., TorchPipeline], flat_corpus: Corpus, change: str, knowledge: str
) -> None:
    """Nothing that inference keeps outlives what it was computed from."""
    used = make_pipeline("lear", knowledge=knowledge)
    batch = arrays(batch_of(used, flat_corpus.splits["train"]))
    before = starts(used.runner, batch)
    CHANGES[change](used, flat_corpus)
    used.reset_runner()
    new = make_pipeline("lear", knowledge=knowledge)
    new.model.load_state_dict(used.model.state_dict())
    found = starts(used.runner, batch)
    np.testing.assert_allclose(found, starts(new.runner, batch), atol=1e-5)
    assert np.abs(found - before).max() > 1e-3


def test_a_model_in_training_mode_predicts_without_dropout(pipeline: TorchPipeline, flat_corpus: Corpus) -> None:
    batch = arrays(batch_of(pipeline, flat_corpus.splits["train"]))
    wanted = starts(pipeline.runner, batch)
    pipeline.model.train()
    np.testing.assert_array_equal(starts(pipeline.runner, batch), wanted)


def test_scores_and_rescored_rows_are_named_arrays_in_single_precision(
    make_pipeline: Callable[..., TorchPipeline], flat_corpus: Corpus
) -> None:
    pipeline = make_pipeline("dspert")
    examples = gold_examples(pipeline, flat_corpus.splits["train"])
    decoder = pipeline.reader.decoder
    batch = collate(examples, pipeline.pieces, pipeline.reader.proposer)
    first = pipeline.runner.forward(batch)
    second = pipeline.runner.rescore(first.features, SpanRows(batch.proposals.spans[::2]))  # not contiguous
    assert [type(part) for part in first.scores] == [np.ndarray]
    assert type(first.scores)._fields == decoder.first._fields
    assert type(second)._fields == decoder.second._fields
    assert second[0].dtype == np.float32
    assert second[0].shape == (len(batch.proposals.spans[::2]), 4)

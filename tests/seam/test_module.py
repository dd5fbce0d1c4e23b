"""What every model inherits: two stages around a loss that is computed in full precision."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn

from invented_examples import PIECES, example
from spanwise.pipeline.collate import collate
from spanwise.schema import EntityType, Schema
from spanwise.seam.batch import Batch
from spanwise.seam.config import ModelConfig
from spanwise.seam.encoding import Encoded
from spanwise.seam.module import Loss, Output, Rescored, SpanModel


class Scores(NamedTuple):
    logits: Tensor
    places: Tensor


class Rows(NamedTuple):
    rows: Tensor


class Halves(nn.Module):
    """An encoder that gives half precision, and counts how often it is asked."""

    dim = 2
    asked = 0

    def forward(self, words: Any, hidden_states: int = 0) -> Encoded:
        self.asked += 1
        return Encoded(torch.ones(1, 3, 2, dtype=torch.bfloat16), torch.ones(1, 2, dtype=torch.bfloat16))


class TwoStage(SpanModel[Scores, Rows, Rows, Scores]):
    """Records what its loss is given."""

    def __init__(self, rows: Rows | None) -> None:
        super().__init__(Halves(), ModelConfig(), Schema((EntityType("Person"),)))  # type: ignore[arg-type]
        self.rows, self.given = rows, {}

    def score(self, encoded: Encoded, batch: Batch[Tensor], labels: Any = None) -> Output[Scores, Rows]:
        return Output(Scores(encoded.words, torch.arange(3)), Rows(encoded.sentence))

    def training_rows(self, output: Output[Scores, Rows], batch: Batch[Tensor]) -> Rows | None:
        return self.rows

    def rescore(self, features: Rows, rows: Rows) -> Scores:
        return Scores(features.rows * 2, rows.rows)

    def loss(self, output: Output[Scores, Rows], second: Rescored[Rows, Scores] | None, batch: Batch[Tensor]) -> Loss:
        self.given = {"output": output, "second": second}
        return Loss(output.scores.logits.sum(), {})


class OneStage(TwoStage):
    rescore = SpanModel.rescore  # type: ignore[assignment]
    training_rows = SpanModel.training_rows  # type: ignore[assignment]


BATCH: Batch[Tensor] = collate([example([1] * 3)], PIECES, None).map(torch.from_numpy)


def test_the_loss_gets_the_scores_of_both_stages_in_full_precision() -> None:
    model = TwoStage(Rows(torch.tensor([4])))
    loss = model.training_loss(BATCH)
    output, second = model.given["output"], model.given["second"]
    assert loss.total.dtype == output.scores.logits.dtype == second.scores.logits.dtype == torch.float32
    assert output.scores.places.dtype == torch.int64
    assert output.features.rows.dtype == torch.bfloat16
    assert second.rows is model.rows
    assert second.scores.logits.tolist() == [[2.0, 2.0]]


def test_without_rows_there_is_no_second_stage() -> None:
    model = TwoStage(None)
    model.training_loss(BATCH)
    assert model.given["second"] is None


def test_words_that_are_encoded_already_are_not_encoded_again() -> None:
    model: Any = TwoStage(None)
    words = Encoded(torch.full((1, 3, 2), 5.0), torch.ones(1, 2))
    assert model.training_loss(BATCH, words).total == 30
    assert model.encoder.asked == 0
    assert model.training_loss(BATCH).total == 6
    assert model.encoder.asked == 1


def test_a_model_with_one_stage_cannot_rescore() -> None:
    model: Any = OneStage(None)
    model.training_loss(BATCH)
    assert model.given["second"] is None
    with pytest.raises(TypeError, match="OneStage has one stage"):
        model.rescore(Rows(torch.zeros(1)), Rows(torch.zeros(1)))

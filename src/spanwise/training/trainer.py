"""The training loop, on accelerate: one process or several, stopped and resumed, the same numbers every time."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import torch
from accelerate import Accelerator, DistributedDataParallelKwargs
from accelerate.state import AcceleratorState
from torch import Tensor, nn

from spanwise import runtime
from spanwise.errors import RecipeError, TrainingStopped
from spanwise.files import write_text
from spanwise.inference.sources import model_folder as find_model_folder
from spanwise.metrics import Score, score_entities, score_relations
from spanwise.pipeline import folder as model_folder
from spanwise.plural import counted
from spanwise.seam.batch import Array, Batch
from spanwise.seam.module import Loss, Trainable
from spanwise.text.examples import LostGold
from spanwise.training.checkpoint import Progress, load_checkpoint, save_checkpoint
from spanwise.training.optimization import optimizer_for, set_learning_rate
from spanwise.training.preparation import PreparedRun
from spanwise.training.reporting import (
    DevScore,
    EpochReport,
    Listener,
    StepReport,
    TrainingPlan,
)
from spanwise.training.run_folder import CHECKPOINT, METRICS
from spanwise.training.training_set import Chosen, DevSet, TrainingSet, dev_sets, selecting_score

SENTENCE_PIECES = 32  # word pieces of an average sentence: a training window has no more sentences than a batch
MIN_WINDOW = 256  # word pieces of the longest training window, however small the batches are


class Objective(nn.Module):
    """Model and loss as one module: DDP must see every parameter that a loss uses, such as a CRF's transitions."""

    def __init__(self, model: Trainable) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Batch[Tensor]) -> Loss:
        return self.model.training_loss(batch)


class Trainer:
    """Trains what `prepared` describes into a run folder, going on from its checkpoint if there is one.

    `stop` is asked after every step; once it is true, a checkpoint is saved and `TrainingStopped` raised. With `fresh`,
    a checkpoint in the folder is ignored.
    """

    def __init__(
        self,
        prepared: PreparedRun,
        folder: Path,
        listener: Listener,
        *,
        stop: Callable[[], bool] | None = None,
        fresh: bool = False,
    ) -> None:
        self.recipe, self.options = prepared.recipe, prepared.recipe.train
        self.folder, self.listener, self.stop = folder, listener, stop
        self.accelerator = _accelerator(self.options.precision, listener)
        runtime.seed_step(self.options.seed)
        self.pipeline = prepared.pipeline()
        self._start_from(self.options.start)
        self.pipeline.limit_training_windows(max(MIN_WINDOW, SENTENCE_PIECES * self.options.batch_size))
        self.data = TrainingSet.of(self.pipeline, prepared.data, self.options)
        self._report_lost(self.data.lost)
        rank, world = self.accelerator.process_index, self.accelerator.num_processes
        self.dev = dev_sets(self.pipeline, prepared.data, rank, world)
        self.optimizer = optimizer_for(self.pipeline.model, self.options)
        objective = Objective(self.pipeline.model)
        self.objective, self.prepared_optimizer = self.accelerator.prepare(objective, self.optimizer)
        self.progress = Progress(data=self.data.fingerprint())
        if not fresh and (folder / CHECKPOINT).exists():
            self.progress = self._resumed()
        self.plan = self._plan()
        self.saved_at = time.monotonic()

    def _start_from(self, source: str | None) -> None:
        """Take over the weights of a trained model, as far as they fit."""
        if source is None:
            return
        folder, layers = find_model_folder(source), self.recipe.encoder.layers
        taken, parameters = model_folder.load_fitting_weights(self.pipeline.model, folder, layers)
        self.listener.notice(f"starting from {source}: {taken} of {parameters} weight tensors.")

    def _report_lost(self, lost: LostGold) -> None:
        if lost.relations and any(member.traits.relations for member in self.pipeline.members):
            which = counted(len(lost.relations), "training relation joins", "training relations join")
            self.listener.notice(
                f"{which} entities that cannot be learned, share no window or "
                f"lie on one span, such as {lost.relations[0][1].label!r} in document {lost.relations[0][0].id!r}."
            )
        for place, rows in (("fall on word boundaries", lost.misaligned), ("fit into one window", lost.split)):
            if rows:
                document, entity = rows[0]
                self.listener.notice(
                    f"{counted(len(rows), 'training entity does', 'training entities do')} not {place} and cannot be "
                    f"learned, such as {document.text_of(entity)!r} "
                    f"in document {document.id!r}; `spanwise inspect` lists them."
                )

    def _resumed(self) -> Progress:
        progress = load_checkpoint(self.folder / CHECKPOINT, self.pipeline.model, self.optimizer)
        if progress.data != self.progress.data:
            raise RecipeError(
                f"{self.folder}: the training data has changed since the run was interrupted; "
                f"give another folder, or start anew with --force (force=True in Python)."
            )
        self.listener.notice(f"resuming from step {progress.step} in epoch {progress.epoch + 1}.")
        return progress

    def _plan(self) -> TrainingPlan:
        """The length of the run; the schedule of the learning rate, totals and the time left follow from it."""
        return TrainingPlan(
            self.data.batch_counts(self.options),
            self.options.accumulate,
            epoch=self.progress.epoch,
            batch=self.progress.batch,
            step=self.progress.step,
            score=selecting_score(self.dev),
        )

    def train(self) -> Progress:
        """Run to the end; the folder then holds the best model by dev F1, or the last one where there is no dev."""
        self.listener.start(self.plan)
        for epoch in range(self.progress.epoch, self.options.epochs):
            if self._patience_is_over(epoch):
                self.listener.notice(f"stopped early: no better dev F1 since epoch {self.progress.best_epoch}.")
                break
            self._stop_if_asked()
            self._close_epoch(epoch, self._train_epoch(epoch))
        self.accelerator.wait_for_everyone()
        self.accelerator.end_training()
        return self.progress

    def _patience_is_over(self, epoch: int) -> bool:
        patience = self.options.patience
        return patience is not None and self.progress.best_f1 > 0 and epoch - self.progress.best_epoch >= patience

    def _train_epoch(self, epoch: int) -> Mapping[str, float]:
        """Train on every batch once; gives the mean of each loss term over the epoch."""
        batches = self.data.batches(self.options, epoch)
        self.objective.train()
        for index in range(self.progress.batch, len(batches)):
            began = time.perf_counter()
            group = index - index % self.options.accumulate  # the batches that share an optimizer step start here
            size = min(self.options.accumulate, len(batches) - group)
            closes = index + 1 == group + size
            self._set_learning_rate()
            report = self._step(epoch, index, batches[index], closes, size)
            seconds = time.perf_counter() - began
            self.progress = replace(
                self.progress,
                batch=index + 1,
                step=self.progress.step + closes,
                seconds=self.progress.seconds + seconds,
                losses=_sum(self.progress.losses, {"loss": report.loss, **report.terms}),
            )
            self.listener.step(replace(report, seconds=seconds, step=self.progress.step))
            if closes and self._checkpoint_is_due():
                self._checkpoint()
            if closes:
                self._stop_if_asked()
        return {name: value / len(batches) for name, value in self.progress.losses.items()}

    def _set_learning_rate(self) -> None:
        step, options = self.progress.step, self.options
        set_learning_rate(self.optimizer, step, self.plan.steps, options.warmup, options.final_lr)

    def _step(self, epoch: int, index: int, batch: Chosen, closes: bool, group: int) -> StepReport:
        """Add the batch's share of its group's gradient; the last of the group closes the optimizer step."""
        rank, world = self.accelerator.process_index, self.accelerator.num_processes
        rng = runtime.seed_step(self.options.seed, epoch, index, rank)
        share = batch.rows[rank::world] or [batch.rows[rank % len(batch.rows)]]  # every process has a part of the batch
        tensors = self._tensors(self.data.arrays(self.pipeline, batch.part, share, rng))
        with self.accelerator.no_sync(self.objective) if not closes else nullcontext():
            loss = self.objective(tensors)
            self.accelerator.backward(loss.total / group)
        total = float(loss.total.detach())
        if not math.isfinite(total):
            raise RecipeError(
                f"the loss became {total} in epoch {epoch + 1}; lower train.encoder_lr and train.task_lr."
            )
        if closes:
            self.accelerator.clip_grad_norm_(self.objective.parameters(), self.options.clip)
            self.prepared_optimizer.step()
            self.prepared_optimizer.zero_grad()
        terms = {name: float(term.detach()) for name, term in loss.terms.items()}
        return StepReport(epoch, index, total, terms, int(tensors.words.piece_mask.sum()) * world)

    def _tensors(self, batch: Batch[Array]) -> Batch[Tensor]:
        device = self.accelerator.device
        return batch.map(lambda array: torch.from_numpy(array).to(device, non_blocking=True))

    def _close_epoch(self, epoch: int, losses: Mapping[str, float]) -> None:
        began = time.perf_counter()
        score = self._score_dev() if self.dev else None
        best = score is None or score.f1 > self.progress.best_f1
        if best and self.accelerator.is_main_process:
            model_folder.save(self.pipeline, self.folder)
        closing = time.perf_counter() - began
        self.progress = replace(
            self.progress,
            epoch=epoch + 1,
            batch=0,
            losses={},
            best_f1=score.f1 if best and score else self.progress.best_f1,
            best_epoch=epoch + 1 if best else self.progress.best_epoch,
            seconds=self.progress.seconds + closing,
        )
        report = EpochReport(epoch + 1, losses, score, best, self.progress.seconds, closing)
        if self.accelerator.is_main_process:
            self._log(report)
        self._checkpoint()
        self.listener.epoch(report)

    def _score_dev(self) -> DevScore:
        """Micro scores on dev, with several corpora also of each."""
        self.pipeline.reset_runner()
        scores = [self._score_corpus(dev) for dev in self.dev]
        if len(scores) == 1:
            return scores[0]
        counts = [sum(getattr(score.entities, name) for score in scores) for name in ("correct", "predicted", "gold")]
        total = Score.from_counts(correct=counts[0], predicted=counts[1], gold=counts[2])
        return DevScore(total, corpora=tuple(score.f1 for score in scores))

    def _score_corpus(self, dev: DevSet) -> DevScore:
        """Micro scores on the dev data of a corpus, every process counting on its share."""
        thresholds = self.pipeline.thresholds(None, None, dev.task.schema)
        with self._stoppable():
            found = self.pipeline.predict_examples(
                dev.documents, dev.examples, dev.task, thresholds, self.recipe.evaluation.token_budget
            )
        entities = self._summed(score_entities(dev.documents, found).micro)
        if not dev.scores_relations:
            return DevScore(entities)
        symmetric = {relation.name for relation in self.pipeline.schema.relations if relation.symmetric}
        return DevScore(entities, self._summed(score_relations(dev.documents, found, symmetric=symmetric).strict.micro))

    def _summed(self, share: Score) -> Score:
        counts = torch.tensor([share.correct, share.predicted, share.gold], device=self.accelerator.device)
        correct, predicted, gold = self.accelerator.reduce(counts, "sum").tolist()
        return Score.from_counts(correct=correct, predicted=predicted, gold=gold)

    def _log(self, report: EpochReport) -> None:
        """One line per epoch; lines of epochs that are run again after a stop are replaced."""
        path = self.folder / METRICS
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        kept = [line for line in lines if json.loads(line)["epoch"] < report.epoch]
        write_text(path, "".join(line + "\n" for line in [*kept, json.dumps(report.to_dict())]))

    def timed_steps(self, number: int) -> tuple[list[float], int]:
        """The seconds of a few batches, for an estimate, and how many batches the whole run has."""
        batches = self.data.batches(self.options, 0)
        took = []
        self.objective.train()
        for index, batch in enumerate(batches[:number]):
            began = time.perf_counter()
            self._step(0, index, batch, True, 1)
            took.append(time.perf_counter() - began)
        return took, sum(self.plan.batches)

    def _checkpoint_is_due(self) -> bool:
        """Whether the recipe asks for a checkpoint after this step, by number or by time."""
        steps, minutes = self.options.checkpoint_steps, self.options.checkpoint_minutes
        by_number = steps is not None and self.progress.step % steps == 0
        return by_number or (minutes is not None and time.monotonic() - self.saved_at >= 60 * minutes)

    def _checkpoint(self) -> None:
        if self.accelerator.is_main_process:
            save_checkpoint(self.folder / CHECKPOINT, self.pipeline.model, self.optimizer, self.progress)
        self.saved_at = time.monotonic()

    def _stop_if_asked(self) -> None:
        if not self._is_asked_to_stop():
            return
        self._checkpoint()
        self.accelerator.wait_for_everyone()  # a launcher ends all processes when the first has ended
        self.accelerator.end_training()
        raise TrainingStopped(self.folder / CHECKPOINT, self.progress.step, self.plan.steps)

    def _is_asked_to_stop(self) -> bool:
        """Whether any process is asked to stop: all must stop after the same step."""
        if self.stop is None or self.accelerator.num_processes == 1:
            return self.stop is not None and self.stop()
        asked = torch.tensor(int(self.stop()), device=self.accelerator.device)
        return bool(self.accelerator.reduce(asked, "sum"))

    @contextmanager
    def _stoppable(self) -> Iterator[None]:
        """Predictions that can be stopped before each batch; not with several processes, which would lose each other.

        A checkpoint that is saved here has all batches of the epoch, so that resuming begins with the scoring of dev.
        """
        if self.accelerator.num_processes > 1:
            yield
            return
        hook = self.pipeline.torch_runner.model.register_forward_pre_hook(lambda *_: self._stop_if_asked())
        try:
            yield
        finally:
            hook.remove()


def _accelerator(precision: str, listener: Listener) -> Accelerator:
    if precision == "bf16" and not runtime.bf16_works():
        listener.notice("bf16 is not supported on this machine; training in fp32.")
        precision = "fp32"
    AcceleratorState._reset_state()  # the precision of an earlier run in this process would be kept
    return Accelerator(
        cpu=runtime.process_count() > 1 and not torch.accelerator.is_available(),  # else each would train alone
        mixed_precision="bf16" if precision == "bf16" else "no",
        kwargs_handlers=[DistributedDataParallelKwargs(find_unused_parameters=True)],
    )


def _sum(sums: Mapping[str, float], more: Mapping[str, float]) -> dict[str, float]:
    return {name: sums.get(name, 0.0) + value for name, value in more.items()}

"""What a run trains on and is scored on: the examples of one corpus or several, and the batches of an epoch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self
from zlib import crc32

import numpy as np

from spanwise.corpora.mixture import Mixture
from spanwise.corpora.selection import Selection
from spanwise.document import Document
from spanwise.pipeline.batches import mixed_batches, training_batches
from spanwise.pipeline.label_sampling import LabelSampler
from spanwise.pipeline.pipeline import Task
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.recipe import LabelSampling, TrainSection
from spanwise.seam.batch import Array, Batch
from spanwise.text.examples import Example, LostGold
from spanwise.training.reporting import ENTITY_SCORE, JOINT_SCORE, MEAN_SCORE


@dataclass(frozen=True)
class Part:
    """The examples of one corpus; a sampler if its batches ask for some of its labels only."""

    examples: Sequence[Example]
    task: Task
    sampler: LabelSampler | None


@dataclass(frozen=True)
class Chosen:
    """A batch: examples of one part by their indices."""

    part: int
    rows: Sequence[int]


@dataclass(frozen=True)
class TrainingSet:
    """The examples of all corpora, and the gold that none of them contains."""

    parts: tuple[Part, ...]
    lost: LostGold
    temperature: float

    @classmethod
    def of(cls, pipeline: TorchPipeline, data: Selection | Mixture, options: TrainSection) -> Self:
        mixed = isinstance(data, Mixture)
        sampling = options.labels or (LabelSampling() if mixed else None)
        parts, lost = [], []
        for source in data.parts if mixed else (data,):
            task = pipeline.training_task_for(source.schema) if mixed else pipeline.training_task
            built = [task.builder.gold_examples(document) for document in source.train]
            examples = [example for found, _ in built for example in found]
            lost += [gold for _, gold in built]
            limit = pipeline.windows.limit
            sampler = LabelSampler.of(sampling, pipeline.pieces, limit, source.schema) if sampling else None
            parts.append(Part(examples, task, sampler))
        return cls(tuple(parts), LostGold.joined(lost), data.temperature if isinstance(data, Mixture) else 1.0)

    def batches(self, options: TrainSection, epoch: int) -> list[Chosen]:
        """The batches of an epoch, always the same ones."""
        rng = np.random.default_rng((options.seed, epoch))
        if len(self.parts) == 1:
            return [Chosen(0, rows) for rows in training_batches(self.parts[0].examples, options.batch_size, rng)]
        examples = [part.examples for part in self.parts]
        mixed = mixed_batches(
            examples, options.batch_size, rng, temperature=self.temperature, number=options.epoch_batches
        )
        return [Chosen(part, rows) for part, rows in mixed]

    def batch_counts(self, options: TrainSection) -> tuple[int, ...]:
        """The number of batches of each epoch."""
        if len(self.parts) > 1 and options.epoch_batches is not None:
            return (options.epoch_batches,) * options.epochs
        return tuple(len(self.batches(options, epoch)) for epoch in range(options.epochs))

    def arrays(self, pipeline: TorchPipeline, part: int, rows: Sequence[int], rng: np.random.Generator) -> Batch[Array]:
        """A batch of these examples; its labels are sampled if the part has a sampler."""
        source = self.parts[part]
        examples = [source.examples[row] for row in rows]
        if source.sampler is None:
            return pipeline.training_batch(examples, rng, source.task.labels)
        examples, labels = source.sampler.sample(examples, rng)
        return pipeline.training_batch(examples, rng, labels)

    def fingerprint(self) -> int:
        """Equal for equal training examples: an interrupted run goes on only with the data it began with."""
        mark = 0
        for example in (example for part in self.parts for example in part.examples):
            for values in (example.pieces, example.gold, example.relations):
                mark = crc32(values.tobytes(), mark)
            if not example.annotated.all():
                mark = crc32(example.annotated.tobytes(), mark)
        return mark


@dataclass(frozen=True, slots=True)
class DevSet:
    """Documents of one corpus that epochs are scored on, with their examples and labels."""

    documents: Sequence[Document]
    examples: Sequence[Sequence[Example]]
    task: Task
    scores_relations: bool


def dev_sets(pipeline: TorchPipeline, data: Selection | Mixture, rank: int, world: int) -> tuple[DevSet, ...]:
    """The dev data of every corpus that has some, cut into examples once; of these documents, one process's share."""
    return tuple(_dev_sets(pipeline, data, rank, world))


def _dev_sets(pipeline: TorchPipeline, data: Selection | Mixture, rank: int, world: int) -> Iterator[DevSet]:
    for part in data.parts:
        gold = [row.document for row in part.split("dev")] if "dev" in part.splits else []
        if not gold:
            continue
        task = pipeline.task_for(part.schema) if isinstance(data, Mixture) else pipeline.task
        share = gold[rank::world]
        scores_relations = pipeline.reader.traits.relations and any(document.relations for document in gold)
        yield DevSet(share, [task.builder.examples(document) for document in share], task, scores_relations)


def selecting_score(dev: Sequence[DevSet]) -> str | None:
    """What the best epoch is selected by; None without dev data."""
    if not dev:
        return None
    return MEAN_SCORE if len(dev) > 1 else JOINT_SCORE if dev[0].scores_relations else ENTITY_SCORE

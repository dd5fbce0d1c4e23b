"""A pipeline on PyTorch: built fresh for training, or from a model folder."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Self

import numpy as np
import torch

from spanwise import runtime
from spanwise.pipeline.adapters import add_adapter, has_adapter, merged_transformer
from spanwise.pipeline.blueprint import Blueprint
from spanwise.pipeline.collate import collate
from spanwise.pipeline.encoders import add_special_tokens, window_limits, word_encoder
from spanwise.pipeline.pipeline import Pipeline, Task
from spanwise.pipeline.torch_runner import TorchRunner
from spanwise.pipeline.tuning import Tuning
from spanwise.pipeline.weights import stored_tensors
from spanwise.recipe import ModelSection
from spanwise.schema import Schema
from spanwise.seam.batch import Array, Batch, LabelTexts
from spanwise.seam.bundle import Bundle
from spanwise.seam.module import SpanModel, Trainable
from spanwise.seam.registry import find_model
from spanwise.text.examples import Example
from spanwise.text.pieces import WordPieces

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


class TorchPipeline(Pipeline):
    """A pipeline that can be trained and saved. `model` is what is trained: one model, or a bundle of two."""

    def __init__(
        self,
        blueprint: Blueprint,
        schema: Schema,
        transformer: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
    ) -> None:
        runtime.apply_threads()
        self.blueprint, self.tokenizer = blueprint, tokenizer
        self.members = blueprint.members(schema)
        tokens = [token for member in self.members for token in member.traits.special_tokens]
        special_ids = add_special_tokens(transformer, tokenizer, tokens)
        encoder = word_encoder(transformer, blueprint.encoder, special_ids)
        models: list[SpanModel] = [find_model(s.name)(encoder, s.config, schema) for s in blueprint.sections]
        if blueprint.encoder.adapter is not None:  # after the models, which may copy blocks of the encoder
            add_adapter(transformer, blueprint.encoder)
        bundle = blueprint.bundle
        self.model: Trainable = models[0] if bundle is None else Bundle(models[0], models[1], bundle.alpha)
        place = next((i for i, member in enumerate(self.members) if member.name == blueprint.reader), 0)
        self.torch_runner = TorchRunner(models[place])
        super().__init__(
            self.members[place],
            schema,
            WordPieces.of(tokenizer, blueprint.encoder.pieces_per_word, special_ids.values()),
            window_limits(transformer, tokenizer, blueprint.encoder),
            self.torch_runner,
            blueprint.threshold,
        )
        self._training_pieces: int | None = None
        self.training_task = self.training_task_for(schema)
        if self.training_task.labels is not None:
            for model in models:
                model.initialize(self.training_task.labels.map(torch.from_numpy))

    def training_task_for(self, schema: Schema) -> Task:
        """What both members of a bundle learn from: texts for the one that reads them, windows that fit both."""
        traits = [member.traits for member in self.members]
        joint = replace(
            traits[0],
            label_texts=next((t.label_texts for t in traits if t.label_texts != "none"), "none"),
            labels_in_window=any(t.labels_in_window for t in traits),
            open_relations=any(t.open_relations for t in traits),
            context=max(t.context for t in traits),
            reserved_pieces=max(t.reserved_pieces for t in traits),
        )
        task = self.task_for(schema, joint)
        return task if self._training_pieces is None else self._limited(task, self._training_pieces)

    def limit_training_windows(self, pieces: int) -> None:
        """Cut training windows of at most this many word pieces; prediction keeps the encoder's limit.

        Windows end with a sentence, which entities do not cross, so only relations need windows that overlap.
        """
        self._training_pieces = pieces
        self.training_task = self._limited(self.training_task, pieces)

    def _limited(self, task: Task, pieces: int) -> Task:
        overlap = any(member.traits.relations for member in self.members)
        return replace(task, builder=task.builder.limited(pieces, overlap=overlap))

    def reset_runner(self) -> None:
        """Forget what was computed from the weights, which have changed."""
        self.runner = self.torch_runner = TorchRunner(self.torch_runner.model)

    def with_labels(self, schema: Schema) -> TorchPipeline:
        """The reader alone with its weights and labels that it can be asked for: a model of its own, to be saved."""
        section = next(section for section in self.blueprint.sections if section.name == self.reader.name)
        alone = ModelSection(name=section.name, config=section.config)
        tuning = {section.name: self.reader.tuning.for_schema(schema)}
        blueprint = replace(self.blueprint, model=alone, bundle=None, reader=None, tuning=tuning)
        pipeline = TorchPipeline(blueprint, schema, self.model.encoder.transformer, self.tokenizer)
        pipeline.model.load_state_dict(self.torch_runner.model.state_dict())
        return pipeline

    @torch.no_grad()
    def merged(self) -> TorchPipeline:
        """The same model with its adapter added to the encoder's weights; itself if it has none."""
        transformer = self.model.encoder.transformer
        if not has_adapter(transformer):
            return self
        encoder = self.blueprint.encoder.model_copy(update={"adapter": None})
        blueprint = replace(self.blueprint, encoder=encoder)
        pipeline = TorchPipeline(blueprint, self.schema, merged_transformer(transformer), deepcopy(self.tokenizer))
        own = stored_tensors(self.model)
        for name, tensor in stored_tensors(pipeline.model).items():
            if name in own:
                tensor.copy_(own[name])
        pipeline.model.to(self.torch_runner.device).eval()
        return pipeline

    def use_threads(self, count: int | None) -> None:
        runtime.use_threads(count)

    def with_tuning(self, tuning: Tuning) -> Self:
        tuned = super().with_tuning(tuning)
        tuned.blueprint = replace(self.blueprint, tuning={**self.blueprint.tuning, self.reader.name: tuning})
        return tuned

    def training_batch(
        self,
        examples: Sequence[Example],
        rng: np.random.Generator | None = None,
        labels: LabelTexts[Array] | None = None,
    ) -> Batch[Array]:
        """A batch with gold for all members; with `rng` candidates are sampled, as training does.

        `labels` are the texts of the labels in the examples, if these are not the labels of the model.
        """
        proposers = [member.proposer for member in self.members]
        return collate(
            examples,
            self.pieces,
            proposers[0],
            partner=proposers[1] if len(proposers) > 1 else None,
            labels=self.training_task.labels if labels is None else labels,
            relation_labels=self.training_task.relations,
            gold=True,
            rng=rng,
        )

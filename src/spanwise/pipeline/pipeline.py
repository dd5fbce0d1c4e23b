"""Documents in, documents out, through one model on any backend."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from spanwise.document import Document
from spanwise.errors import InputError
from spanwise.pipeline.assembly import predicted_document, related_document
from spanwise.pipeline.batches import prediction_batches
from spanwise.pipeline.collate import collate, collate_given_entities, label_texts
from spanwise.pipeline.tuning import Tuning
from spanwise.schema import EntityType, RelationType, Schema
from spanwise.seam.batch import Array, Floats, LabelTexts
from spanwise.seam.decoder import Decoder, Prediction, ScoreThresholds
from spanwise.seam.proposals import Proposer
from spanwise.seam.runner import Runner, SharedRunner, run_stages
from spanwise.seam.traits import Traits
from spanwise.text.alignment import align
from spanwise.text.examples import Example, ExampleBuilder, LostGold
from spanwise.text.pieces import WordPieces

Threshold = float | Mapping[str, float]  # for all labels, or by label
TOKEN_BUDGET = 1024  # word pieces of one batch, padding included: larger ones leave the cache of a CPU
log = logging.getLogger("spanwise")


@dataclass(frozen=True, slots=True)
class Member:
    """A configured model as the pipeline sees it."""

    name: str
    traits: Traits
    proposer: Proposer | None
    decoder: Decoder
    tuning: Tuning = field(default_factory=Tuning)


@dataclass(frozen=True, slots=True)
class WindowSettings:
    """How text is cut: the most word pieces of a window, how many neighbors share, and whether at every sentence."""

    limit: int
    overlap: int
    by_sentence: bool = False


@dataclass(frozen=True, slots=True)
class Task:
    """What a pipeline is asked for: labels, their texts for models that read them, and windows that leave room."""

    schema: Schema
    labels: LabelTexts[Array] | None
    relations: LabelTexts[Array] | None
    builder: ExampleBuilder
    decoder: Decoder


class Pipeline:
    """A model that reads documents. No call changes what another gives, so that several threads may share it."""

    def __init__(
        self,
        reader: Member,
        schema: Schema,
        pieces: WordPieces,
        windows: WindowSettings,
        runner: Runner,
        threshold: float | None = None,
    ) -> None:
        self.reader, self.schema, self.pieces, self.windows = reader, schema, pieces, windows
        self.runner = runner
        self.threshold = reader.traits.threshold if threshold is None else threshold
        self.task = self.task_for(schema)
        self._warned = False

    def use_threads(self, count: int | None) -> None:
        """The threads for one batch. A model on ONNX Runtime gets them when it is loaded."""
        if count is not None:
            raise InputError("give threads= where this model is loaded: Extractor.from_pretrained(FOLDER, threads=N).")

    def with_tuning(self, tuning: Tuning) -> Self:
        """The same model with other thresholds and temperatures; both share the weights."""
        tuned = copy(self)
        tuned.reader = replace(self.reader, tuning=tuning)
        return tuned

    def task_for(self, schema: Schema, traits: Traits | None = None) -> Task:
        """Labels with what must be known of them to read text."""
        traits = traits or self.reader.traits
        labels = self._texts(schema.entities, traits)
        relations = self._texts(schema.relations, traits) if traits.open_relations and schema.relations else None
        limit = self.windows.limit - traits.reserved_pieces
        if labels is not None and traits.labels_in_window:
            limit -= labels.pieces.shape[1] - len(self.pieces.prefix)
        builder = ExampleBuilder(
            self.pieces,
            schema,
            limit=limit,
            overlap=self.windows.overlap,
            by_sentence=self.windows.by_sentence,
            context=traits.context,
        )
        return Task(schema, labels, relations, builder, self.reader.decoder.for_schema(schema))

    def _texts(self, kinds: Sequence[EntityType | RelationType], traits: Traits) -> LabelTexts[Array] | None:
        """The label texts that the model reads, of entity types or of relation types."""
        texts = {
            "none": None,
            "names": [kind.name for kind in kinds],
            "descriptions": [kind.description for kind in kinds],
            "plain": [kind.plain_name for kind in kinds],
            "either": [kind.description or kind.plain_name for kind in kinds],
        }[traits.label_texts]
        return None if texts is None else label_texts(self.pieces, self.windows.limit, texts)

    def task_for_labels(self, labels: Mapping[str, str] | None, relations: Mapping[str, str] | None = None) -> Task:
        """A task for labels and relations that training may never have seen, each with the text that describes it.

        Without labels, they are the model's own. Without relations, there are none.
        """
        if labels is not None and not self.reader.traits.open_labels:
            raise InputError(
                f"this {self.reader.name} has fixed labels and takes no new ones; train a model with open labels "
                f"(see `spanwise models`)."
            )
        if relations is not None and not self.reader.traits.open_relations:
            raise InputError(
                f"this {self.reader.name} takes no new relations; train spert with model.scorer: descriptions, or "
                f"leave relations= out."
            )
        entities = self.schema.entities
        if labels is not None:
            entities = tuple(EntityType(name, text) for name, text in labels.items())
        return self.task_for(self.schema.asked_for(entities, relations or {}))

    def predict(
        self,
        documents: Sequence[Document],
        task: Task | None = None,
        *,
        threshold: Threshold | None = None,
        relation_threshold: Threshold | None = None,
        token_budget: int = TOKEN_BUDGET,
    ) -> list[Document]:
        """The documents with the model's annotations instead of their own, in order."""
        task = task or self.task
        groups = [task.builder.examples(document) for document in documents]
        return self.predict_examples(
            documents, groups, task, self.thresholds(threshold, relation_threshold, task.schema), token_budget
        )

    def predict_examples(
        self,
        documents: Sequence[Document],
        groups: Sequence[Sequence[Example]],
        task: Task,
        thresholds: ScoreThresholds,
        token_budget: int = TOKEN_BUDGET,
    ) -> list[Document]:
        """The same from examples that were built before."""
        (found,) = self.predict_each(documents, groups, task, (thresholds,), token_budget)
        return found

    def predict_each(
        self,
        documents: Sequence[Document],
        groups: Sequence[Sequence[Example]],
        task: Task,
        settings: Sequence[ScoreThresholds],
        token_budget: int = TOKEN_BUDGET,
    ) -> list[list[Document]]:
        """The documents once per setting; the model runs once for all of them."""
        self._warn_truncated()
        return [
            [
                predicted_document(*row, task.schema, self.reader.traits)
                for row in zip(documents, groups, found, strict=True)
            ]
            for found in self._run(groups, task, settings, token_budget)
        ]

    def relate(
        self,
        documents: Sequence[Document],
        task: Task | None = None,
        *,
        relation_threshold: Threshold | None = None,
        token_budget: int = TOKEN_BUDGET,
    ) -> list[Document]:
        """The documents with their own entities and the model's relations between them."""
        task = task or self.task
        thresholds = self.thresholds(None, relation_threshold, task.schema)
        self._check_given(documents, task.schema)
        rows = [align(document.without_relations()) for document in documents]
        built = [task.builder.gold_examples(row, trim=False) for row in rows]
        self._warn_truncated()
        _warn_lost(LostGold.joined(lost for _, lost in built))
        groups = [examples for examples, _ in built]
        (found,) = self._run(groups, task, (thresholds,), token_budget, given=True)
        return [related_document(*row, task.schema) for row in zip(rows, groups, found, strict=True)]

    def _run(
        self,
        groups: Sequence[Sequence[Example]],
        task: Task,
        settings: Sequence[ScoreThresholds],
        token_budget: int,
        *,
        given: bool = False,
    ) -> list[list[list[Prediction]]]:
        """Predictions per setting about the examples of each document, batched by length across documents."""
        examples = [example for group in groups for example in group]
        found = [[Prediction()] * len(examples) for _ in settings]
        for rows in prediction_batches(examples, token_budget):
            chosen = [examples[index] for index in rows]
            for place, predictions in zip(found, self._predictions(chosen, task, settings, given), strict=True):
                for index, prediction in zip(rows, predictions, strict=True):
                    place[index] = prediction
        return [[[next(results) for _ in group] for group in groups] for results in map(iter, found)]

    def _predictions(
        self, examples: Sequence[Example], task: Task, settings: Sequence[ScoreThresholds], given: bool
    ) -> list[list[Prediction]]:
        batch = collate(
            examples,
            self.pieces,
            None if given else self.reader.proposer,
            labels=task.labels,
            relation_labels=task.relations,
        )
        entities = collate_given_entities(examples) if given else None
        runner = self.runner if len(settings) == 1 else SharedRunner(self.runner)
        return [run_stages(runner, task.decoder, batch, setting, entities) for setting in settings]

    def thresholds(
        self, entities: Threshold | None, relations: Threshold | None, schema: Schema | None = None
    ) -> ScoreThresholds:
        """The lowest probability of every type; the model's own where none is given."""
        schema = schema or self.schema
        return ScoreThresholds(
            _vector(entities, self.own_thresholds(schema)),
            _vector(relations, self.own_relation_thresholds(schema)),
            self.reader.tuning.temperature,
            self.reader.tuning.relation_temperature,
        )

    def own_thresholds(self, schema: Schema) -> dict[str, float]:
        """The threshold of every entity type where a call names none: tuned, else of the recipe, else the model's."""
        return self.reader.tuning.entity_thresholds(schema.entity_names, self.threshold)

    def own_relation_thresholds(self, schema: Schema) -> dict[str, float]:
        """The same for every relation type."""
        default = self.reader.traits.relation_threshold
        return self.reader.tuning.relation_type_thresholds(schema.relation_names, default)

    def _check_given(self, documents: Sequence[Document], schema: Schema) -> None:
        if not self.reader.traits.relations:
            raise InputError(
                f"{self.reader.name} does not predict relations; train a model that does (see `spanwise models`)."
            )
        for document in documents:
            if unknown := sorted({entity.label for entity in document.entities} - set(schema.entity_names)):
                raise InputError(
                    f"the model has no entity label {unknown[0]!r}; rename it to one of "
                    f"{', '.join(schema.entity_names)}, or leave such entities out."
                )

    def _warn_truncated(self) -> None:
        """Say once that very long words are read by their beginning only; as words they are all there."""
        if self.pieces.truncated_words and not self._warned:
            self._warned = True
            most = self.pieces.max_per_word
            log.warning("words of more than %d pieces are truncated; see encoder.pieces_per_word.", most)


def _warn_lost(lost: LostGold) -> None:
    for kind, rows in (("does not fall on word boundaries", lost.misaligned), ("fits into no window", lost.split)):
        if rows:
            document, entity = rows[0]
            log.warning(
                "%d of the given entities take part in no relation, such as %r in document %r, which %s.",
                *(len(rows), document.text_of(entity), document.id, kind),
            )


def _vector(threshold: Threshold | None, own: Mapping[str, float]) -> Floats:
    """The threshold of each label; a label that a mapping does not name keeps its own."""
    threshold = own if threshold is None else threshold
    if not isinstance(threshold, Mapping):
        threshold = dict.fromkeys(own, threshold)
    if odd := [value for value in threshold.values() if not isinstance(value, (int, float))]:
        raise InputError(f"a threshold is a number, or a mapping of labels to numbers, not {odd[0]!r}.")
    if unknown := sorted(set(threshold) - set(own)):
        raise InputError(f"unknown label {unknown[0]!r} in a threshold; choose from {', '.join(own)}.")
    if wrong := [value for value in threshold.values() if not 0 <= value <= 1]:
        raise InputError(f"a threshold is a probability between 0 and 1, not {wrong[0]}.")
    return np.array([float(threshold.get(name, value)) for name, value in own.items()], np.float32)

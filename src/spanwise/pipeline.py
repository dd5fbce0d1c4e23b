"""A model with all that it needs to read documents and write them: built from a recipe, or from its folder."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from spanwise.batching import collate, given, label_pieces, prediction_batches
from spanwise.document import Document, Entity, Relation
from spanwise.encoders import EncoderConfig, window_limits, word_encoder, word_pieces
from spanwise.errors import InputError
from spanwise.models.base import (
    DataFacts,
    Least,
    ModelConfig,
    Prediction,
    ScoredSpan,
    SpanModel,
    without_overlaps,
)
from spanwise.models.bundle import Bundled
from spanwise.models.registry import find
from spanwise.nn.batch import Batch
from spanwise.nn.encoder import WordEncoder
from spanwise.recipe import BundleSection, ModelSection, Recipe
from spanwise.schema import EntityType, Schema
from spanwise.text.alignment import word_spans
from spanwise.text.examples import Example, ExampleBuilder, LostGold

Thresholds = float | Mapping[str, float]
WordSpan = tuple[int, int, int]  # start, end, label
TOKEN_BUDGET = 4096  # word pieces of one batch, padding included
log = logging.getLogger("spanwise")


@dataclass(frozen=True)
class Blueprint:
    """The options a model is built from, with nothing left open: what `config.json` of a model folder holds."""

    encoder: EncoderConfig
    model: ModelSection
    bundle: BundleSection | None
    threshold: float = 0.0  # the least probability of an entity, where a call names none

    @classmethod
    def from_recipe(cls, recipe: Recipe, facts: DataFacts) -> Blueprint:
        """The recipe's options, with what they leave open derived from the training data."""
        model = ModelSection(name=recipe.model.name, **recipe.model.config().fitted(facts).model_dump())
        bundle = recipe.bundle
        if bundle is not None:
            options = bundle.config().fitted(facts).model_dump()
            bundle = BundleSection(name=bundle.name, alpha=bundle.alpha, **options)
        return cls(recipe.encoder, model, bundle, recipe.evaluation.threshold)

    def build(self, encoder: WordEncoder, schema: Schema) -> SpanModel:
        model = _member(self.model, encoder, schema)
        if self.bundle is None:
            return model
        return Bundled(model, _member(self.bundle, encoder, schema), self.bundle.alpha)


def _member(section: ModelSection, encoder: WordEncoder, schema: Schema) -> SpanModel:
    config: ModelConfig = section.config()
    return find(section.name)(encoder, config, schema)


class Pipeline:
    """Documents in, documents out, through one model. Reading and writing of files and training stand outside."""

    def __init__(self, blueprint: Blueprint, schema: Schema, transformer: Any, tokenizer: Any) -> None:
        self.blueprint, self.schema, self.tokenizer = blueprint, schema, tokenizer
        self.model = blueprint.build(word_encoder(transformer, blueprint.encoder), schema)
        self.pieces = word_pieces(tokenizer, blueprint.encoder)
        limit, overlap = window_limits(transformer, tokenizer, blueprint.encoder)
        self.model.read_labels(partial(label_pieces, self.pieces, limit))
        limit -= self.model.reserved
        by_sentence = blueprint.encoder.window == "sentence"
        self.builder = ExampleBuilder(self.pieces, schema, limit=limit, overlap=overlap, by_sentence=by_sentence)
        self._told_clipped = False

    def relabelled(self, labels: Mapping[str, str]) -> Pipeline:
        """The same weights, asked for labels that they may never have seen, each by its description."""
        if not self.blueprint.model.config().takes_new_labels():
            raise InputError(
                f"this {self.blueprint.model.name} has weights of its own for each label and takes no new ones; train "
                f"one that does (LEAR with model.shared: true)."
            )
        schema = Schema(tuple(EntityType(name, text) for name, text in labels.items()))
        asked = Pipeline(replace(self.blueprint, bundle=None), schema, self.model.encoder.transformer, self.tokenizer)
        for name, parameter in self.model.alone.named_parameters():
            place, _, leaf = name.rpartition(".")
            setattr(asked.model.get_submodule(place), leaf, parameter)
        asked.model.to(self.device).eval()
        return asked

    def collate(self, examples: Sequence[Example], rng: np.random.Generator | None = None) -> Batch:
        """A batch for this model; with `rng` for training, with sampled candidates."""
        return collate(examples, self.pieces.pad, len(self.pieces.prefix), self.model.candidates, rng)

    def predict(
        self,
        documents: Sequence[Document],
        *,
        thresholds: Thresholds | None = None,
        relation_thresholds: Thresholds | None = None,
        token_budget: int = TOKEN_BUDGET,
    ) -> list[Document]:
        """The documents with the model's annotations instead of their own, in order."""
        least = self.least(thresholds, relation_thresholds)
        groups = list(self.builder.build(documents, gold=False))
        self._tell_clipped()
        found = self._run(groups, token_budget, lambda examples: self._decoded(examples, least))
        return [self._document(*row) for row in zip(documents, groups, found, strict=True)]

    def relate(
        self,
        documents: Sequence[Document],
        *,
        relation_thresholds: Thresholds | None = None,
        token_budget: int = TOKEN_BUDGET,
    ) -> list[Document]:
        """The documents with their own entities and the model's relations between them."""
        least = self.least(None, relation_thresholds)
        self._check_given(documents)
        documents = [document.with_annotations(document.entities) for document in documents]
        self.builder.lost = LostGold()
        groups = list(self.builder.build(documents, gold=True, trim=False))
        self._tell_clipped()
        self._tell_lost(self.builder.lost)
        found = self._run(groups, token_budget, lambda examples: self._related(examples, least))
        return [self._linked(*row) for row in zip(documents, groups, found, strict=True)]

    @torch.inference_mode()
    def _run(
        self, groups: Sequence[Sequence[Example]], token_budget: int, run: Callable[[list[Example]], list[Prediction]]
    ) -> list[list[Prediction]]:
        """What is found in the examples of each document, batched by length across documents."""
        examples = [example for group in groups for example in group]
        found: list[Prediction] = [Prediction()] * len(examples)
        self.model.eval()
        for batch in prediction_batches(examples, token_budget):
            for index, prediction in zip(batch, run([examples[i] for i in batch]), strict=True):
                found[index] = prediction
        results = iter(found)
        return [[next(results) for _ in group] for group in groups]

    def _decoded(self, examples: list[Example], least: Least) -> list[Prediction]:
        batch = self.collate(examples).to(self.device)
        return self.model.decode(self.model(batch), batch, least)

    def _related(self, examples: list[Example], least: Least) -> list[Prediction]:
        batch = given(examples, self.pieces.pad, len(self.pieces.prefix)).to(self.device)
        return self.model.relate(batch, least)

    def _document(self, document: Document, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Document:
        if not examples:
            return document.with_annotations()
        document = examples[0].document
        spans = [span for pair in zip(examples, predictions, strict=True) for span in _owned(*pair)]
        if len(examples) > 1 and not self.model.nested:
            spans = without_overlaps(spans)
        spans.sort()
        names, words = self.schema.entity_names, document.words
        entities = [Entity(words[s.start].start, words[s.end - 1].end, names[s.label], s.score) for s in spans]
        place = {span[:3]: index for index, span in enumerate(spans)}
        return document.with_annotations(entities, self._relations(place, examples, predictions))

    def _linked(self, document: Document, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Document:
        """A document whose entities were given, with the relations found between them."""
        document = examples[0].document if examples else document
        label = {name: index for index, name in enumerate(self.schema.entity_names)}
        pairs = zip(word_spans(document), document.entities, strict=True)
        place = {(*span, label[entity.label]): index for index, (span, entity) in enumerate(pairs) if span is not None}
        return document.with_annotations(document.entities, self._relations(place, examples, predictions))

    def _relations(
        self, place: Mapping[WordSpan, int], examples: Sequence[Example], predictions: Sequence[Prediction]
    ) -> list[Relation]:
        """Relations between entities that have a place: each once, as sure as the window that is surest of it."""
        best: dict[tuple[int, int, int], float] = {}
        for example, prediction in zip(examples, predictions, strict=True):
            spans = [_shifted(span, example.window.start) for span in prediction.spans]
            for head, tail, label, score in prediction.relations:
                ends = place.get(spans[head][:3]), place.get(spans[tail][:3])
                if ends[0] is not None and ends[1] is not None:
                    key = (ends[0], ends[1], label)
                    best[key] = max(score, best.get(key, 0.0))
        names = self.schema.relation_names
        return [Relation(head, tail, names[label], score) for (head, tail, label), score in sorted(best.items())]

    def _check_given(self, documents: Sequence[Document]) -> None:
        if not self.model.can.relations:
            raise InputError(
                f"{self.blueprint.model.name} does not predict relations; train one that does (see `spanwise models`)."
            )
        for document in documents:
            if unknown := sorted({entity.label for entity in document.entities} - set(self.schema.entity_names)):
                raise InputError(
                    f"the model has no entity label {unknown[0]!r}; rename it to one of "
                    f"{', '.join(self.schema.entity_names)}, or leave such entities out."
                )

    def _tell_lost(self, lost: LostGold) -> None:
        for kind, rows in (("does not fall on word borders", lost.misaligned), ("fits into no window", lost.split)):
            if rows:
                document, entity = rows[0]
                log.warning(
                    "%d of the given entities take part in no relation, such as %r in document %r, which %s.",
                    *(len(rows), document.slice(entity), document.id, kind),
                )

    def _tell_clipped(self) -> None:
        """Say once that very long words are seen by their beginning only; as words they are all there."""
        if self.pieces.clipped and not self._told_clipped:
            self._told_clipped = True
            most = self.pieces.per_word
            log.warning("a word of more than %d pieces is read by its first ones; see encoder.pieces_per_word.", most)

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    def least(self, thresholds: Thresholds | None, relation_thresholds: Thresholds | None) -> Least:
        """The least probability of every type; the model's own where none is given."""
        own, links = self.blueprint.threshold, self.blueprint.model.config().least_relation()
        return Least(
            self._vector(thresholds, self.schema.entity_names, own),
            self._vector(relation_thresholds, self.schema.relation_names, links),
        )

    def _vector(self, thresholds: Thresholds | None, names: Sequence[str], own: float) -> Tensor:
        thresholds = own if thresholds is None else thresholds
        if not isinstance(thresholds, Mapping):
            thresholds = dict.fromkeys(names, thresholds)
        if odd := [value for value in thresholds.values() if not isinstance(value, (int, float))]:
            raise InputError(f"a threshold is a number, or a mapping of labels to numbers, not {odd[0]!r}.")
        if unknown := sorted(set(thresholds) - set(names)):
            raise InputError(f"there is no label {unknown[0]!r} to set a threshold for; there are {', '.join(names)}.")
        if wrong := [value for value in thresholds.values() if not 0 <= value <= 1]:
            raise InputError(f"a threshold is a probability between 0 and 1, not {wrong[0]}.")
        return torch.tensor([float(thresholds.get(name, own)) for name in names], device=self.device)


def _owned(example: Example, prediction: Prediction) -> Iterator[ScoredSpan]:
    """The spans that the example's window is to report, in words of the document."""
    for span in prediction.spans:
        shifted = _shifted(span, example.window.start)
        if example.window.owns(shifted.start, shifted.end):
            yield shifted


def _shifted(span: ScoredSpan, by: int) -> ScoredSpan:
    return span._replace(start=span.start + by, end=span.end + by)


def data_facts(documents: Iterable[Document]) -> DataFacts:
    """Widths, nesting and double tags of the entities in segmented documents."""
    widths: Counter[int] = Counter()
    doubles: set[tuple[str, str]] = set()
    crowded, nested = 0, False
    for document in documents:
        pairs = zip(word_spans(document), document.entities, strict=True)
        marked = {(*span, entity.label) for span, entity in pairs if span is not None}  # each once
        widths.update(end - start for start, end, _ in marked)
        if _overlap((start, end) for start, end, _ in marked):
            nested = True
            for tags in _tags_of_words(marked):
                doubles.update([(tags[0], tags[1])] if len(tags) > 1 else ())
                crowded += len(tags) > 2
    return DataFacts(widths, nested, frozenset(doubles), crowded)


def _tags_of_words(marked: Iterable[tuple[int, int, str]]) -> Iterable[list[str]]:
    """The BIO tags of every word in an entity, the preceding entity's first: who starts first, or ends last."""
    tags: dict[int, list[str]] = {}
    for start, end, label in sorted(marked, key=lambda entity: (entity[0], -entity[1], entity[2])):
        for word in range(start, end):
            tags.setdefault(word, []).append(f"{'I' if word > start else 'B'}-{label}")
    return tags.values()


def _overlap(spans: Iterable[tuple[int, int]]) -> bool:
    furthest = 0
    for start, end in sorted(spans):
        if start < furthest:
            return True
        furthest = max(furthest, end)
    return False

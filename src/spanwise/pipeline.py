"""A model with all that it needs to read documents and write them: built from a recipe, or from its folder."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from spanwise.batching import collate, prediction_batches
from spanwise.document import Document, Entity
from spanwise.encoders import EncoderConfig, window_limits, word_encoder, word_pieces
from spanwise.errors import InputError
from spanwise.models.base import DataFacts, ModelConfig, Prediction, ScoredSpan, SpanModel, without_overlaps
from spanwise.models.bundle import Bundled
from spanwise.models.registry import find
from spanwise.nn.batch import Batch
from spanwise.nn.encoder import WordEncoder
from spanwise.recipe import BundleSection, ModelSection, Recipe
from spanwise.schema import Schema
from spanwise.text.alignment import word_spans
from spanwise.text.examples import Example, ExampleBuilder

Thresholds = float | Mapping[str, float]
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
        limit, overlap = window_limits(transformer, tokenizer, blueprint.encoder)
        self.pieces = word_pieces(tokenizer, blueprint.encoder)
        self.builder = ExampleBuilder(self.pieces, schema, limit=limit, overlap=overlap)
        self._told_clipped = False

    def collate(self, examples: Sequence[Example], rng: np.random.Generator | None = None) -> Batch:
        """A batch for this model; with `rng` for training, with sampled candidates."""
        return collate(examples, self.pieces.pad, len(self.pieces.prefix), self.model.candidates, rng)

    def predict(
        self, documents: Sequence[Document], *, thresholds: Thresholds | None = None, token_budget: int = TOKEN_BUDGET
    ) -> list[Document]:
        """The documents with the model's annotations instead of their own, in order."""
        groups = list(self.builder.build(documents, gold=False))
        self._tell_clipped()
        return self.annotate(groups, documents, thresholds=thresholds, token_budget=token_budget)

    @torch.inference_mode()
    def annotate(
        self,
        groups: Sequence[Sequence[Example]],
        documents: Iterable[Document],
        *,
        thresholds: Thresholds | None,
        token_budget: int,
    ) -> list[Document]:
        """Predict on the examples of each document and put what is found back into the document."""
        examples = [example for group in groups for example in group]
        found: list[Prediction] = [Prediction()] * len(examples)
        least = self.threshold_vector(thresholds)
        self.model.eval()
        for batch in prediction_batches(examples, token_budget):
            tensors = self.collate([examples[i] for i in batch]).to(self.device)
            predictions = self.model.decode(self.model(tensors), tensors, least)
            for index, prediction in zip(batch, predictions, strict=True):
                found[index] = prediction
        results = iter(found)
        return [
            self._document(document, group, [next(results) for _ in group])
            for document, group in zip(documents, groups, strict=True)
        ]

    def _document(self, document: Document, examples: Sequence[Example], predictions: Sequence[Prediction]) -> Document:
        if not examples:
            return document.with_annotations()
        document = examples[0].document
        spans = [span for pair in zip(examples, predictions, strict=True) for span in _owned(*pair)]
        if len(examples) > 1 and not self.model.nested:
            spans = without_overlaps(spans)
        names = self.schema.entity_names
        words = document.words
        return document.with_annotations(
            Entity(words[s.start].start, words[s.end - 1].end, names[s.label], s.score) for s in sorted(spans)
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

    def threshold_vector(self, thresholds: Thresholds | None) -> Tensor:
        """One threshold per entity type; the model's own where none is given."""
        names, own = self.schema.entity_names, self.blueprint.threshold
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
    shift = example.window.start
    for span in prediction.spans:
        if example.window.owns(span.start + shift, span.end + shift):
            yield span._replace(start=span.start + shift, end=span.end + shift)


def data_facts(documents: Iterable[Document]) -> DataFacts:
    """Widths and nesting of the entities in segmented documents."""
    widths: Counter[int] = Counter()
    nested = False
    for document in documents:
        pairs = zip(word_spans(document), document.entities, strict=True)
        marked = {(*span, entity.label) for span, entity in pairs if span is not None}  # each once
        widths.update(end - start for start, end, _ in marked)
        nested = nested or _overlap((start, end) for start, end, _ in marked)
    return DataFacts(widths, nested)


def _overlap(spans: Iterable[tuple[int, int]]) -> bool:
    furthest = 0
    for start, end in sorted(spans):
        if start < furthest:
            return True
        furthest = max(furthest, end)
    return False

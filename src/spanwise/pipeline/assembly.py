"""Predictions about windows to documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from spanwise.decoding.overlaps import filter_overlaps
from spanwise.document import ANNOTATED, Document, Entity, Relation
from spanwise.schema import Schema
from spanwise.seam.decoder import Prediction, ScoredSpan
from spanwise.seam.traits import Traits
from spanwise.text.alignment import AlignedDocument
from spanwise.text.examples import Example

LabeledSpan = tuple[int, int, int]  # start, end, label


def predicted_document(
    document: Document, examples: Sequence[Example], predictions: Sequence[Prediction], schema: Schema, traits: Traits
) -> Document:
    """The document with what was predicted in its windows; each span is taken from the window that owns it."""
    document = _for_predictions(examples[0].document if examples else document)
    if not examples:
        return document.with_predictions()
    spans = [span for pair in zip(examples, predictions, strict=True) for span in spans_owned_by_window(*pair)]
    if len(examples) > 1 and not traits.nested:
        spans = filter_overlaps(spans, shared=traits.multi_label)
    spans.sort()
    names, words = schema.entity_names, document.words
    entities = [Entity(words[s.start].start, words[s.end - 1].end, names[s.label], s.score) for s in spans]
    place = {span[:3]: index for index, span in enumerate(spans)}
    return document.with_predictions(entities, _relations(place, examples, predictions, schema))


def _for_predictions(document: Document) -> Document:
    """Without the list of labels that its own annotations were limited to."""
    if ANNOTATED not in document.metadata:
        return document
    return replace(document, metadata={key: value for key, value in document.metadata.items() if key != ANNOTATED})


def related_document(
    row: AlignedDocument, examples: Sequence[Example], predictions: Sequence[Prediction], schema: Schema
) -> Document:
    """A document whose entities were given, with the relations predicted between them."""
    document = row.document
    label = {name: index for index, name in enumerate(schema.entity_names)}
    pairs = zip(row.spans, document.entities, strict=True)
    place = {(*span, label[entity.label]): index for index, (span, entity) in enumerate(pairs) if span is not None}
    return document.with_predictions(document.entities, _relations(place, examples, predictions, schema))


def spans_owned_by_window(example: Example, prediction: Prediction) -> Iterator[ScoredSpan]:
    """The spans that the example's window is to report, in words of the document."""
    for span in prediction.spans:
        shifted = shift(span, example.offset)
        if example.window.owns(shifted.start, shifted.end):
            yield shifted


def shift(span: ScoredSpan, by: int) -> ScoredSpan:
    return span._replace(start=span.start + by, end=span.end + by) if by else span


def _relations(
    place: Mapping[LabeledSpan, int], examples: Sequence[Example], predictions: Sequence[Prediction], schema: Schema
) -> list[Relation]:
    """Relations between entities that have a place: each once, with the highest of its windows' scores."""
    best: dict[tuple[int, int, int], float] = {}
    for example, prediction in zip(examples, predictions, strict=True):
        spans = [shift(span, example.offset) for span in prediction.spans] if prediction.relations else []
        for head, tail, label, score in prediction.relations:
            ends = place.get(spans[head][:3]), place.get(spans[tail][:3])
            if ends[0] is not None and ends[1] is not None:
                key = (ends[0], ends[1], label)
                best[key] = max(score, best.get(key, 0.0))
    names = schema.relation_names
    return [Relation(head, tail, names[label], score) for (head, tail, label), score in sorted(best.items())]

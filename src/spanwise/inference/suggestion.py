"""Active learning: the texts of a pool that a model is least certain about, unlike each other, to be annotated next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from heapq import nlargest
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from spanwise.decoding.uncertainty import Measure, decisions, entropy, uncertainty
from spanwise.document import Document
from spanwise.errors import InputError
from spanwise.inference.extractor import Extractor, chunks
from spanwise.pipeline.batches import prediction_batches
from spanwise.pipeline.collate import collate
from spanwise.seam.batch import Array, Batch
from spanwise.seam.runner import Arrays, Runner, StageOne, run_stages
from spanwise.text.examples import Example

By = Literal["entropy", "margin", "committee"]
CANDIDATES = 5  # uncertain texts per text that is suggested; the most diverse of them are chosen
DIVERSITY = 0.5  # weight of being unlike the texts that are chosen already, beside uncertainty
Doubles = NDArray[np.float64]


def suggest(
    extractor: Extractor,
    pool: Iterable[Document],
    top: int = 50,
    *,
    by: By = "entropy",
    committee: Sequence[Extractor] = (),
    labeled: Iterable[Document] = (),
) -> list[Document]:
    """The texts to annotate next, the first one first, with the model's predictions and their uncertainty.

    Texts in `labeled`, repeated texts and empty ones are left out. `by="committee"` measures how much the model and
    the committee disagree. Each document has `uncertainty` in its metadata.
    """
    if (by == "committee") != bool(committee):
        raise InputError("by='committee' needs the other models as committee=; give both or neither.")
    new = _new(pool, {_key(document) for document in labeled})
    rated = _disagreements([extractor, *committee], new) if by == "committee" else _uncertainties(extractor, new, by)
    candidates = nlargest(CANDIDATES * top, rated, key=lambda row: row[1])
    if not candidates:
        return []
    documents = [document for document, _ in candidates]
    values = np.array([value for _, value in candidates])
    chosen = diverse(values, sentence_vectors(extractor, documents), top)
    found = extractor.stream(documents[index] for index in chosen)
    return [
        replace(document, metadata={**document.metadata, "uncertainty": round(float(values[index]), 6)})
        for index, document in zip(chosen, found, strict=True)
    ]


def _key(document: Document) -> str:
    """Equal for texts that differ in white space alone."""
    return " ".join(document.text.split())


def _new(pool: Iterable[Document], known: set[str]) -> Iterator[Document]:
    for document in pool:
        key = _key(document)
        if key and key not in known:
            known.add(key)
            yield document


def _uncertainties(extractor: Extractor, pool: Iterable[Document], by: Measure) -> Iterator[tuple[Document, float]]:
    for chunk in chunks(pool):
        yield from zip(chunk, _chunk_uncertainty(extractor, chunk, by).tolist(), strict=True)


def _chunk_uncertainty(extractor: Extractor, documents: Sequence[Document], by: Measure) -> Doubles:
    """Per document, over its windows: the sum of entropies, or the closest margin."""
    pipeline, values = extractor.pipeline, np.zeros(len(documents))
    thresholds = pipeline.thresholds(None, None, extractor.schema)
    multi_label, combine = pipeline.reader.traits.multi_label, np.add if by == "entropy" else np.maximum
    for places, batch in _batches(extractor, documents):
        recorder = _Recorder(pipeline.runner)
        run_stages(recorder, extractor.task.decoder, batch, thresholds)
        found = decisions(recorder.first, recorder.second, batch, multi_label=multi_label)
        combine.at(values, places, uncertainty(found, by, batch.size))
    return values


def _batches(extractor: Extractor, documents: Sequence[Document]) -> Iterator[tuple[list[int], Batch[Array]]]:
    """Batches of the documents' windows, each with the index of the document of every example."""
    pipeline, task = extractor.pipeline, extractor.task
    rows: list[tuple[int, Example]] = [
        (index, example) for index, document in enumerate(documents) for example in task.builder.examples(document)
    ]
    examples = [example for _, example in rows]
    for batch in prediction_batches(examples, extractor.token_budget):
        chosen = [examples[row] for row in batch]
        arrays = collate(
            chosen, pipeline.pieces, pipeline.reader.proposer, labels=task.labels, relation_labels=task.relations
        )
        yield [rows[row][0] for row in batch], arrays


class _Recorder:
    """A runner that keeps the scores of one batch."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.first: Arrays = ()
        self.second: list[tuple[Arrays, Arrays]] = []

    def forward(self, batch: Batch[Array]) -> StageOne:
        output = self.runner.forward(batch)
        self.first = output.scores
        return output

    def rescore(self, features: object, rows: Arrays) -> Arrays:
        scores = self.runner.rescore(features, rows)
        self.second.append((rows, scores))
        return scores


def _disagreements(members: Sequence[Extractor], pool: Iterable[Document]) -> Iterator[tuple[Document, float]]:
    for chunk in chunks(pool):
        found = [list(member.stream(chunk)) for member in members]
        for document, *votes in zip(chunk, *found, strict=True):
            yield document, disagreement(votes)


def disagreement(votes: Sequence[Document]) -> float:
    """Vote entropy of a committee (Engelson and Dagan 1996): the sum over all entities that a member predicts."""
    counts: dict[Any, int] = {}
    for vote in votes:
        for entity in {(entity.start, entity.end, entity.label) for entity in vote.entities}:
            counts[entity] = counts.get(entity, 0) + 1
    share = np.array([*counts.values()], np.float32) / len(votes)
    return float(entropy(np.stack((1 - share, share), axis=1)).sum())


def sentence_vectors(extractor: Extractor, documents: Sequence[Document]) -> Doubles:
    """The mean of each document's word vectors, with norm 1. -> [D, d]"""
    from spanwise.pipeline.torch_pipeline import TorchPipeline

    if not isinstance(extractor.pipeline, TorchPipeline):
        raise InputError("an exported model has no word vectors; give the model folder that it was exported from.")
    runner = extractor.pipeline.torch_runner
    sums: Doubles = np.zeros((len(documents), runner.model.encoder.dim))
    for places, batch in _batches(extractor, documents):
        vectors = np.where(batch.words.scored[..., None], runner.word_vectors(batch), 0.0)
        np.add.at(sums, places, vectors.sum(1))
    norms = np.linalg.norm(sums, axis=1, keepdims=True)
    unit: Doubles = sums / np.maximum(norms, 1e-12)
    return unit


def diverse(values: Doubles, vectors: Doubles, top: int) -> list[int]:
    """Maximal marginal relevance (Carbonell and Goldstein 1998): uncertain, and unlike those that are chosen already.

    values [D]; vectors [D, d] of norm 1 -> indices, in the order in which they are chosen
    """
    spread = values.max() - values.min()
    relevance = (values - values.min()) / spread if spread > 0 else np.zeros(len(values))
    nearest, left = np.zeros(len(values)), np.ones(len(values), np.bool_)
    chosen: list[int] = []
    while len(chosen) < min(top, len(values)):
        score = (1 - DIVERSITY) * relevance - DIVERSITY * nearest
        index = int(np.where(left, score, -np.inf).argmax())
        chosen.append(index)
        left[index] = False
        nearest = np.maximum(nearest, vectors @ vectors[index])
    return chosen

"""Words of context are read but never scored: part of no candidate and no prediction, and not in the loss.

The examples are the sentences of a text, each with words of its neighbors around it. What a model makes of them is
compared with what it makes of the sentence alone, given the same vectors of its words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from deep_cases import without_dropout
from torch import Tensor

from model_batches import arrays, at_least
from spanwise.corpora import Corpus
from spanwise.document import Document, Relation
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.schema import EntityType, RelationType, Schema
from spanwise.seam.batch import Batch
from spanwise.seam.encoding import Encoded
from spanwise.seam.module import Output, Rescored
from spanwise.seam.runner import run_stages
from spanwise.text.alignment import align
from spanwise.text.examples import Example, ExampleBuilder
from spanwise.text.windows import Window

SENTENCES: tuple[tuple[str, list[tuple[int, int, str]]], ...] = (
    ("Mara of Kell met Bo .", [(0, 1, "Person"), (2, 3, "Place"), (4, 5, "Person")]),
    ("Ada left .", [(0, 1, "Person")]),
    ("In Brenford the mayor spoke .", [(1, 2, "Place"), (2, 4, "Person")]),
    ("It rained .", []),
)
WORDS = [word for text, _ in SENTENCES for word in text.split()]
STARTS = [sum(len(text.split()) for text, _ in SENTENCES[:row]) for row in range(len(SENTENCES))]
ENTITIES = [
    (start + first, end + first, label)
    for first, (_, entities) in zip(STARTS, SENTENCES, strict=True)
    for start, end, label in entities
]
RELATIONS = [Relation(0, 1, "from"), Relation(5, 4, "from")]
DOCUMENT = Document.from_words(WORDS, ENTITIES, RELATIONS)
CORPUS = Corpus(
    "sentences",
    {"train": (DOCUMENT,)},
    Schema((EntityType("Person", "people by name"), EntityType("Place", "towns")), (RelationType("from"),)),
)
CONTEXT = 3
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in ("span-ner", "spert", "span", "stsn", "dspert", "biaffine", "lear", "qa")},
    "span-ner-multi-label": ("span-ner", {"multi_label": True}),
    "span-without-attention": ("span", {"span_context": False, "pair_context": False}),
    "stsn-without-attention": ("stsn", {"layers": 0}),
    "dspert-screened": ("dspert", {"screening_threshold": 0.3, "negatives": 5}),
    "dspert-shallow-lstm": ("dspert", {"depth": 0, "lstm": 6}),
    "biaffine-sampled": ("biaffine", {"negatives": 4, "smoothing_distance": 3}),
    "seq-ner": ("seq-ner", {}),
    "seq-ner-crf": ("seq-ner", {"tagging": "crf"}),
    "traditional": ("traditional", {}),
    "traditional-nested": ("traditional", {"nested": True}),
    "lear-nested-mlp": ("lear", {"nested": True, "matcher": "mlp"}),
}
ATTENDING = ("span", "stsn")  # to all words, context included
ENCODING = ("qa",)  # the text anew with every label
OF_WORDS = ("seq-ner", "seq-ner-crf", "traditional", "traditional-nested", "lear", "lear-nested-mlp", "qa", "stsn")


class Case(NamedTuple):
    pipeline: TorchPipeline
    model: Any
    examples: list[Example]  # each sentence with its context

    def batch(self, examples: list[Example] | None = None, *, training: bool = True) -> Batch[Tensor]:
        rng = np.random.default_rng(1) if training else None
        own = self.examples if examples is None else examples
        return self.pipeline.training_batch(own, rng).map(torch.from_numpy)

    def alone(self) -> list[Example]:
        """Each sentence without its context."""
        return [without_context(example) for example in self.examples]

    def encoded(self, batch: Batch[Tensor]) -> Encoded:
        encoded: Encoded = self.model.encoder(batch.words, self.model.traits.hidden_states)
        return encoded

    def loss(self, batch: Batch[Tensor], encoded: Encoded) -> dict[str, float]:
        torch.manual_seed(4)
        loss = self.model.training_loss(batch, encoded)
        return {"total": loss.total.item(), **{name: term.item() for name, term in loss.terms.items()}}


def without_context(example: Example) -> Example:
    first, words = example.first_scored, example.scored_words
    counts = example.counts[first : first + words]
    before = 1 + int(example.counts[:first].sum())
    return replace(
        example,
        window=Window(0, words, 0, words),
        pieces=np.concatenate(
            (example.pieces[:1], example.pieces[before : before + counts.sum()], example.pieces[-1:])
        ),
        counts=counts,
        shapes=example.shapes[first : first + words],
        first_scored=0,
        gold=example.gold - np.array([first, first, 0]),
    )


def cut(encoded: Encoded, examples: list[Example]) -> Encoded:
    """The vectors of the scored words alone."""
    longest = max(example.scored_words for example in examples)

    def scored(rows: Tensor) -> Tensor:
        found = rows.new_zeros(len(rows), longest, rows.shape[2])
        for row, example in enumerate(examples):
            own = slice(example.first_scored, example.first_scored + example.scored_words)
            found[row, : example.scored_words] = rows[row, own]
        return found

    return Encoded(scored(encoded.words), encoded.sentence, tuple(map(scored, encoded.hidden_states)))


@pytest.fixture(scope="module")
def case(request: pytest.FixtureRequest, make_pipeline: Callable[..., TorchPipeline]) -> Case:
    name, options = VARIANTS[request.param]
    pipeline = make_pipeline(name, CORPUS, **options)
    without_dropout(pipeline.model)
    builder = ExampleBuilder(pipeline.pieces, CORPUS.schema, limit=96, overlap=0, by_sentence=True, context=CONTEXT)
    examples, lost = builder.gold_examples(align(DOCUMENT))
    assert [example.first_scored for example in examples] == [0, 3, 3, 3]
    assert [example.length for example in examples] == [9, 9, 12, 6]
    assert not any((lost.misaligned, lost.split, lost.relations))
    return Case(pipeline, pipeline.model, examples)


every_variant = pytest.mark.parametrize("case", VARIANTS, indirect=True)


@every_variant
def test_candidates_are_spans_of_scored_words(case: Case) -> None:
    for training in (True, False):
        batch = case.batch(training=training)
        for row, start, end in batch.proposals.spans.tolist():
            assert batch.words.scored[row, start:end].all()
        alone = case.batch(case.alone(), training=training)
        shift = torch.tensor([example.first_scored for example in case.examples])[batch.proposals.spans[:, 0]]
        moved = batch.proposals.spans - torch.stack((torch.zeros_like(shift), shift, shift), dim=1)
        assert torch.equal(moved, alone.proposals.spans)


def bold(case: Case) -> None:
    """Weights of the classifiers that make untrained models predict something everywhere."""
    with torch.no_grad():
        for name in ("start", "end"):
            layer = getattr(case.model, name, None)
            if isinstance(layer, torch.nn.Linear):
                layer.weight.mul_(8)
                layer.bias.fill_(1.5)


@every_variant
def test_predictions_are_spans_of_scored_words(case: Case) -> None:
    bold(case)
    thresholds, batch = at_least(0.0, 0.0, relations=[0.0]), arrays(case.batch(training=False))
    predictions = run_stages(case.pipeline.runner, case.pipeline.reader.decoder, batch, thresholds)
    assert sum(len(prediction.spans) for prediction in predictions) > 3
    for row, prediction in enumerate(predictions):
        for span in prediction.spans:
            assert batch.words.scored[row, span.start : span.end].all()


@pytest.mark.parametrize("case", [n for n in VARIANTS if n not in (*ATTENDING, *ENCODING)], indirect=True)
@torch.no_grad()
def test_given_the_same_vectors_the_loss_is_that_of_the_sentence_without_context(case: Case) -> None:
    batch = case.batch()
    encoded = case.encoded(batch)
    wanted = case.loss(case.batch(case.alone()), cut(encoded, case.examples))
    assert case.loss(batch, encoded) == pytest.approx(wanted, rel=1e-5)
    odd = encoded._replace(
        words=encoded.words.masked_fill(~batch.words.scored.unsqueeze(-1), 7.0),
        hidden_states=tuple(h.masked_fill(~batch.words.scored.unsqueeze(-1), 7.0) for h in encoded.hidden_states),
    )
    assert case.loss(batch, odd) == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("case", ["span-ner"], indirect=True)
@torch.no_grad()
def test_context_is_read(case: Case) -> None:
    """The encoder sees it: the vectors of the scored words are others than without it."""
    batch, alone = case.batch(), case.batch(case.alone())
    with_context, without = cut(case.encoded(batch), case.examples).words, case.encoded(alone).words
    assert (with_context - without)[1, :3].abs().max() > 1e-3


def word_scores(output: Output[Any, Any]) -> dict[str, Tensor]:
    """The scores of all words; STSN's, of tags, are among what its second stage is computed from."""
    scores = {**output.scores._asdict(), "tags": getattr(output.features, "tags", None)}
    return {name: scores[name] for name in ("emissions", "start", "end", "tags") if np.ndim(scores.get(name)) == 3}


@pytest.mark.parametrize("case", OF_WORDS, indirect=True)
@torch.no_grad()
def test_scores_of_words_of_context_have_no_influence_on_the_loss(case: Case) -> None:
    batch = case.batch()
    output = case.model(batch)
    rows = case.model.training_rows(output, batch)
    second = None if rows is None else Rescored(rows, case.model.rescore(output.features, rows))

    def loss(where: Tensor) -> float:
        odd = {name: s.masked_fill(where.unsqueeze(-1), 9.0) for name, s in word_scores(output).items()}
        features = output.features._replace(tags=odd.pop("tags")) if "tags" in odd else output.features
        total: Tensor = case.model.loss(Output(output.scores._replace(**odd), features), second, batch).total
        return total.item()

    assert word_scores(output)
    nowhere = torch.zeros_like(batch.words.scored)
    assert loss(~batch.words.scored) == pytest.approx(loss(nowhere), rel=1e-6)
    assert loss(batch.words.scored) != pytest.approx(loss(nowhere), rel=1e-3)


@pytest.mark.parametrize("case", ["traditional-nested", "lear-nested-mlp"], indirect=True)
@torch.no_grad()
def test_no_pair_with_a_word_of_context_is_learned_from(case: Case) -> None:
    batch = case.batch()
    output = case.model(batch)
    generator = torch.Generator().manual_seed(0)
    features = type(output.features)(*(torch.randn(part.shape, generator=generator) for part in output.features))
    cells = case.model.training_rows(output._replace(features=features), batch).cells
    labels, length = len(CORPUS.schema.entities), batch.words.scored.shape[1]
    assert len(cells) > 20
    for cell in cells.tolist():
        example, first, last = cell // (labels * length**2), cell // length % length, cell % length
        assert batch.words.scored[example, [first, last]].all()

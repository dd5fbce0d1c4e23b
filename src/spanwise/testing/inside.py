"""Checks of what a model shows of its inside: span vectors with templates, and attention over label texts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spanwise.analysis.attention import attention
from spanwise.analysis.representations import represent
from spanwise.errors import InputError
from spanwise.inference.extractor import Extractor
from spanwise.pipeline.collate import collate
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.seam.batch import Array, Batch, Floats, Ints
from spanwise.testing.case import Case
from spanwise.testing.expectation import ConformanceError, expect

TOLERANCE = 1e-4  # one product in full, against a model's own order of operations


def check_span_vectors(case: Case) -> None:
    """Vectors and templates give the model's scores of spans; models without the trait are refused by `represent`."""
    documents = case.corpus.splits["train"]
    if not case.traits.span_vectors:
        _expect_refusal(lambda: represent(Extractor(case.random), documents), "span_vectors")
        return
    runner, batch = case.random.torch_runner, _batch(case.random, case)
    vectors, templates = runner.span_vectors(batch), runner.templates()
    expect(len(vectors) == len(batch.proposals.spans), "there is not one vector per candidate")
    logits = vectors @ templates.weight.T + templates.bias
    rows, scores = _span_scores(case.random, batch)
    expect(len(rows) > 0, "no span is scored")
    expect(logits[rows].shape == scores.shape, f"templates give {logits.shape[1]} scores per span, not {scores.shape}")
    same = np.allclose(logits[rows], scores, atol=TOLERANCE, rtol=TOLERANCE)
    expect(same, "the scores of spans differ from the products of their vectors with the templates")
    found = represent(Extractor(case.random), documents)
    expect(found.vectors.norm.count > 0, "entities have no vectors")


def _span_scores(pipeline: TorchPipeline, batch: Batch[Array]) -> tuple[Ints, Floats]:
    """The model's own scores of spans, from stage one or two, and their rows among the candidates."""
    first, spans = pipeline.runner.forward(batch), batch.proposals.spans
    if hasattr(first.scores, "logits"):
        return np.arange(len(spans)), first.scores.logits
    place = {tuple(span): row for row, span in enumerate(spans.tolist())}
    proposal = pipeline.reader.decoder.propose(first.scores, batch, pipeline.thresholds(None, None))
    rows, scores = [], []
    for proposed in proposal.rows:
        rows += [place[tuple(span)] for span in proposed.spans.tolist()]
        scores.append(pipeline.runner.rescore(first.features, proposed).logits)  # type: ignore[attr-defined]
    return np.array(rows, np.int64), np.concatenate(scores)


def check_label_attention(case: Case) -> None:
    """The attention of a word over a label text sums up to 1; models without the trait are refused by `attention`."""
    extractor, label = Extractor(case.random), case.corpus.schema.entity_names[0]
    if not case.traits.label_attention:
        _expect_refusal(lambda: attention(extractor, "Mara met Bo .", "Mara", label), "label_attention")
        return
    batch = _batch(case.random, case)
    weights, texts = case.random.torch_runner.label_attention(batch), batch.require_label_texts()
    shape = (*batch.words.present.shape, *texts.content.shape)
    expect(weights.shape == shape, f"the attention has the shape {weights.shape}, not {shape}")
    content = texts.content.astype(np.bool_)
    expect(not weights[..., ~content].any(), "special tokens or padding of a label text get attention")
    expect(np.allclose(weights.sum(-1), 1, atol=TOLERANCE), "the attention of a word does not sum up to 1")
    found = attention(extractor, "Mara met Bo .", None, label)
    expect(
        np.allclose(np.array(found.values, np.float64).sum(1), 1, atol=TOLERANCE),
        "merging pieces to words loses attention",
    )


def _batch(pipeline: TorchPipeline, case: Case) -> Batch[Array]:
    documents = case.corpus.splits["train"]
    examples = [example for document in documents for example in pipeline.task.builder.examples(document)]
    return collate(examples, pipeline.pieces, pipeline.reader.proposer, labels=pipeline.task.labels)


def _expect_refusal(action: Callable[[], object], trait: str) -> None:
    try:
        action()
    except InputError:
        return
    raise ConformanceError(f"its traits have no {trait}, but it is not refused")

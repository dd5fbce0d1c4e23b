"""Labels that a training batch asks for: those with gold, a sample of others, each in one of three wordings."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from spanwise.document import ANNOTATED, Document
from spanwise.pipeline.label_sampling import LabelSampler
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.recipe import LabelSampling
from spanwise.schema import EntityType, Schema
from spanwise.text.alignment import align
from spanwise.text.examples import Example, ExampleBuilder

SCHEMA = Schema(tuple(EntityType(f"kind_{number}", f"thing number {number}") for number in range(40)))
KNOWN = [f"kind_{number}" for number in range(30)]
TEXTS = [("Mara met Bo", [(0, 1, "kind_7"), (2, 3, "kind_29")]), ("Kell is old", [(0, 1, "kind_3")])]


@pytest.fixture(scope="module")
def pipeline(make_pipeline: Callable[..., TorchPipeline]) -> TorchPipeline:
    return make_pipeline("span-ner", scorer="names")


@pytest.fixture(scope="module")
def examples(pipeline: TorchPipeline) -> list[Example]:
    """Two sentences that were annotated for thirty of the forty labels."""
    builder = ExampleBuilder(pipeline.pieces, SCHEMA, limit=64, overlap=0)
    documents = [Document.from_words(text.split(), gold, metadata={ANNOTATED: KNOWN}) for text, gold in TEXTS]
    return [builder.gold_examples(align(document))[0][0] for document in documents]


def sampler(pipeline: TorchPipeline, **options: float) -> LabelSampler:
    return LabelSampler.of(LabelSampling(**options), pipeline.pieces, 64, SCHEMA)


def numbers(texts: Sequence[np.ndarray], rows: np.ndarray) -> list[int]:
    """The label of each text, by its word pieces."""
    known = {text.tobytes(): number for number, text in enumerate(texts)}
    return [known[row[row != 0].tobytes()] for row in rows]


def test_gold_keeps_its_label_and_unknown_labels_are_not_asked_for(
    pipeline: TorchPipeline, examples: list[Example]
) -> None:
    sample = sampler(pipeline, per_batch=6, names=1, descriptions=0)
    seen: set[int] = set()
    for seed in range(40):
        asked, texts = sample.sample(examples, np.random.default_rng(seed))
        labels = numbers(sample.names, texts.pieces)
        assert len(labels) == 6
        assert {3, 7, 29} <= set(labels)
        assert [labels[label] for example in asked for label in example.gold[:, 2]] == [7, 29, 3]
        assert all(example.annotated.shape == (6,) and example.annotated.all() for example in asked)
        seen.update(labels)
    assert seen == set(range(30))


def test_gold_without_a_place_in_the_batch_is_left_out(pipeline: TorchPipeline, examples: list[Example]) -> None:
    asked, texts = sampler(pipeline, per_batch=2).sample(examples, np.random.default_rng(1))
    assert len(texts.pieces) == 2
    assert sum(len(example.gold) for example in asked) == 2


def test_labels_are_worded_by_name_by_description_and_by_both(pipeline: TorchPipeline, examples: list[Example]) -> None:
    sample = sampler(pipeline, names=0.5, descriptions=0.3)
    lengths = [len(rows[0]) for rows in (sample.names, sample.descriptions, sample.both)]
    assert len(set(lengths)) == 3
    counts = dict.fromkeys(lengths, 0)
    for seed in range(300):
        _, texts = sample.sample(examples, np.random.default_rng(seed))
        counts[min(lengths, key=lambda length: abs(length - int(texts.mask.sum(1).min())))] += 1
    assert [counts[length] / 300 for length in lengths] == pytest.approx([0.5, 0.3, 0.2], abs=0.08)

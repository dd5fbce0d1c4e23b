"""Examples to batches: padding that nothing can mistake for words, gold that names its example, texts of labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from invented_examples import PAD, PIECES, example
from spanwise.corpora import Corpus
from spanwise.errors import SchemaError
from spanwise.pipeline.collate import collate, collate_given_entities, label_texts
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.schema import EntityType, Schema
from spanwise.seam.proposals import Negatives, SpanProposer


def test_a_batch_is_padded_and_says_where_words_lie() -> None:
    batch = collate([example([2, 1, 3], [(0, 2, 4)]), example([1])], PIECES, None, gold=True)
    words = batch.words
    assert words.pieces.tolist() == [[1, 100, 101, 102, 103, 104, 105, 2], [1, 100, 2, PAD, PAD, PAD, PAD, PAD]]
    assert words.piece_mask.tolist() == [[1] * 8, [1] * 3 + [0] * 5]
    assert words.present.tolist() == words.scored.tolist() == [[True] * 3, [True, False, False]]
    assert words.first_piece.tolist() == [[1, 3, 4], [1, 0, 0]]
    assert words.last_piece.tolist() == [[2, 3, 6], [1, 0, 0]]
    assert words.shapes.tolist() == [[0, 1, 2], [0, 0, 0]]
    assert batch.require_gold().entities.tolist() == [[0, 0, 2, 4]]
    assert batch.proposals.spans.shape == (0, 3)
    assert batch.size == 2


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5), st.integers(0, 3)), min_size=1, max_size=5))
def test_words_of_context_are_present_but_not_scored(rows: list[tuple[int, int, int]]) -> None:
    examples = [example([1] * sum(row), before=row[0], behind=row[2]) for row in rows]
    words = collate(examples, PIECES, None).words
    longest = max(map(sum, rows))
    for row, (before, scored, behind) in enumerate(rows):
        padding = [False] * (longest - before - scored - behind)
        assert words.present[row].tolist() == [True] * (before + scored + behind) + padding
        assert words.scored[row].tolist() == [False] * before + [True] * scored + [False] * behind + padding


def test_gold_names_its_example() -> None:
    examples = [example([1]), example([1] * 4, [(0, 4, 1), (1, 2, 0)], [True, False])]
    gold = collate(examples, PIECES, None, gold=True).require_gold()
    assert gold.entities.tolist() == [[1, 0, 4, 1], [1, 1, 2, 0]]
    assert gold.outermost.tolist() == [True, False]


def test_gold_says_which_labels_each_example_was_annotated_for() -> None:
    examples = [example([1], annotated=[True, False]), example([1, 1], annotated=[True, True])]
    assert collate(examples, PIECES, None, gold=True).require_gold().annotated.tolist() == [[True, False], [True, True]]


def test_without_gold_a_batch_has_none_and_says_so() -> None:
    batch = collate([example([1], [(0, 1, 0)])], PIECES, None)
    assert batch.gold is None
    with pytest.raises(ValueError, match="made without gold"):
        batch.require_gold()


def test_a_partner_gets_candidates_of_its_own() -> None:
    narrow, wide = SpanProposer(1, Negatives(9)), SpanProposer(2, Negatives(9))
    batch = collate([example([1] * 3)], PIECES, narrow, partner=wide)
    assert len(batch.proposals.spans) == 3
    assert len(batch.for_partner().proposals.spans) == 5
    tagger_first = collate([example([1] * 3)], PIECES, None, partner=wide)
    assert len(tagger_first.proposals.spans) == 0
    assert len(tagger_first.for_partner().proposals.spans) == 5


LINKED = [
    example([1] * 3),
    example([1] * 9, [(0, 1, 0), (2, 8, 1), (3, 4, 2), (8, 9, 0)]),
    example([1] * 2, [(0, 1, 1)]),
    example([1] * 4, [(0, 1, 0), (2, 4, 1)]),
]


def test_given_entities_are_the_gold_of_the_examples_however_wide() -> None:
    found = collate_given_entities(LINKED)
    assert found.spans.tolist() == [[1, 0, 1], [1, 2, 8], [1, 3, 4], [1, 8, 9], [2, 0, 1], [3, 0, 1], [3, 2, 4]]
    assert found.labels.tolist() == [0, 1, 2, 0, 1, 0, 1]
    assert found.scores.tolist() == [1.0] * 7


@pytest.fixture(scope="module")
def pipeline(make_pipeline: Callable[..., TorchPipeline]) -> TorchPipeline:
    return make_pipeline("seq-ner")


def test_label_texts_are_padded_and_say_which_pieces_are_their_own(pipeline: TorchPipeline) -> None:
    described = ["towns", "people, by name", "in the univer"]
    texts = label_texts(pipeline.pieces, 96, described)
    rows = [pipeline.tokenizer(text)["input_ids"] for text in described]
    assert [row[mask].tolist() for row, mask in zip(texts.pieces, texts.mask, strict=True)] == rows
    own = [row[content].tolist() for row, content in zip(texts.pieces, texts.content, strict=True)]
    assert own == [row[1:-1] for row in rows]
    assert (texts.pieces[~texts.mask] == pipeline.pieces.pad).all()


@pytest.mark.parametrize("text", ["", "  "])
def test_a_label_text_without_words_is_refused(pipeline: TorchPipeline, text: str) -> None:
    with pytest.raises(SchemaError, match="the description of a label is empty"):
        label_texts(pipeline.pieces, 96, ["towns", text])


def with_description(corpus: Corpus, text: str) -> Corpus:
    first, *others = corpus.schema.entities
    return replace(corpus, schema=Schema((EntityType(first.name, text), *others)))


@pytest.mark.parametrize("model", ["lear", "qa"])
def test_a_description_that_leaves_too_little_room_is_refused_by_name(
    make_pipeline: Callable[..., TorchPipeline], flat_corpus: Corpus, model: str
) -> None:
    """The tiny encoder reads 96 pieces."""
    make_pipeline(model, with_description(flat_corpus, "in the met " * 14))
    with pytest.raises(SchemaError, match=r"the description 'in the met in the .* has 60 word pieces; shorten"):
        make_pipeline(model, with_description(flat_corpus, "in the met " * 20))


def test_the_same_generator_gives_the_same_batch() -> None:
    examples = [example([1] * 20, [(0, 2, 0)])]
    proposer = SpanProposer(6, Negatives(8))
    one, other, third = (
        collate(examples, PIECES, proposer, gold=True, rng=np.random.default_rng(seed)).proposals.spans
        for seed in (5, 5, 6)
    )
    assert np.array_equal(one, other)
    assert not np.array_equal(one, third)

"""Entities from tags, word by word or as the best chain of a CRF; chains against an enumeration of all of them."""

from __future__ import annotations

import math
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.metrics.sequence_labeling import get_entities

import bl_ner_oracle as paper
from invented_examples import words_only
from spanwise.decoding.tags import Chain, TagDecoder, TagScores, best_chains, combine_tags
from spanwise.seam.batch import Array
from spanwise.seam.decoder import PredictedSpans, Prediction, ScoreThresholds

Doubles = np.ndarray


class Chains(NamedTuple):
    """Emissions of sentences of different lengths, padded with numbers that must not matter."""

    emissions: Doubles  # [B, T, C]
    lengths: list[int]
    transitions: Doubles  # [C, C]
    start: Doubles  # [C]
    end: Doubles  # [C]

    def chain(self) -> Chain:
        mask = np.arange(self.emissions.shape[1]) < np.array(self.lengths)[:, None]
        return Chain(self.emissions, mask, self.transitions, self.start, self.end)

    def all_scores(self, row: int) -> dict[tuple[int, ...], float]:
        """Every chain of tags over a sentence, and its score: a sum over its words and its steps."""
        scores = {}
        for chain in product(range(len(self.start)), repeat=self.lengths[row]):
            score = self.start[chain[0]] + self.end[chain[-1]]
            for word, tag in enumerate(chain):
                score += self.emissions[row, word, tag]
                if word:
                    score += self.transitions[chain[word - 1], tag]
            scores[chain] = float(score)
        return scores


def shares(scores: dict[tuple[int, ...], float]) -> dict[tuple[int, ...], float]:
    top = max(scores.values())
    total = sum(math.exp(score - top) for score in scores.values())
    return {chain: math.exp(score - top) / total for chain, score in scores.items()}


@st.composite
def chains(draw: st.DrawFn, scales: st.SearchStrategy[float]) -> Chains:
    tags = draw(st.integers(1, 4))
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    rng, scale = np.random.default_rng(draw(st.integers(0, 2**32))), draw(scales)
    shapes = ((len(lengths), max(lengths), tags), (tags, tags), (tags,), (tags,))
    emissions, *others = (scale * (2 * rng.random(shape) - 1) for shape in shapes)
    emissions[np.arange(max(lengths)) >= np.array(lengths)[:, None]] = 50.0
    return Chains(emissions, lengths, *others)


SCALES = st.sampled_from([0.5, 3.0, 60.0])


@settings(max_examples=60)
@given(chains(SCALES))
def test_viterbi_finds_the_best_of_all_chains(case: Chains) -> None:
    found = case.chain().viterbi()
    for row, length in enumerate(case.lengths):
        scores = case.all_scores(row)
        assert scores[tuple(found[row, :length].tolist())] == pytest.approx(max(scores.values()), abs=1e-9)


@settings(max_examples=60)
@given(chains(SCALES))
def test_marginals_are_the_shares_of_chains_with_each_tag(case: Chains) -> None:
    found = case.chain().marginals()
    for row, length in enumerate(case.lengths):
        share = shares(case.all_scores(row))
        for word, tag in product(range(length), range(len(case.start))):
            wanted = sum(part for chain, part in share.items() if chain[word] == tag)
            assert found[row, word, tag] == pytest.approx(wanted, abs=1e-9)


def test_scores_of_hundreds_do_not_overflow() -> None:
    emissions = np.array([[[300.0, -300.0, 0.0], [-300.0, 300.0, 0.0]] * 30])
    chain = Chain(emissions, np.ones((1, 60), np.bool_), np.zeros((3, 3)), np.zeros(3), np.zeros(3))
    assert chain.viterbi().tolist() == [[0, 1] * 30]
    assert np.isfinite(chain.marginals()).all()


class Tagged(NamedTuple):
    """Scores of the tags of two types, and which words are scored: context may stand before and behind them."""

    scores: TagScores[Array]
    scored: list[list[bool]]
    lowest: list[float]

    def thresholds(self) -> ScoreThresholds:
        return ScoreThresholds(np.array(self.lowest, np.float32), np.zeros(0, np.float32))

    def chains(self, row: int) -> Chains:
        """The chain of one example's scored words, cut out."""
        words = np.flatnonzero(self.scored[row])
        emissions = self.scores.emissions[row, words].astype(np.float64)[None]
        return Chains(emissions, [len(words)], *(part.astype(np.float64) for part in self.scores[1:]))


TAGS = 5


@st.composite
def tagged(draw: st.DrawFn, *, longest: int) -> Tagged:
    count = draw(st.integers(1, 3))
    scored = []
    for _ in range(count):
        before, words, behind = draw(st.integers(0, 2)), draw(st.integers(1, longest)), draw(st.integers(0, 2))
        scored.append([False] * before + [True] * words + [False] * behind)
    length = max(map(len, scored))
    scored = [row + [False] * (length - len(row)) for row in scored]
    rng, scale = np.random.default_rng(draw(st.integers(0, 2**32))), draw(st.sampled_from([1.0, 3.0, 60.0]))
    shapes = ((count, length, TAGS), (TAGS, TAGS), (TAGS,), (TAGS,))
    parts = ((scale * (2 * rng.random(shape) - 1)).astype(np.float32) for shape in shapes)
    return Tagged(TagScores(*parts), scored, [draw(st.sampled_from([0.0, 0.4, 0.9])) for _ in range(2)])


def decoded(decoder: TagDecoder, case: Tagged) -> list[Prediction]:
    batch = words_only(case.scored)
    return decoder.decode(decoder.propose(case.scores, batch, case.thresholds()), (), batch, case.thresholds())


def check(prediction: Prediction, case: Tagged, row: int, tags: list[int], chances: list[float]) -> None:
    """The entities of these tags of the scored words, each as probable as its least probable tag."""
    shift, wanted = case.scored[row].index(True), []
    for start, end, kind in paper.combine(tags):
        score = min(chances[start:end])
        assert abs(score - case.lowest[kind]) > 1e-6
        if score >= case.lowest[kind]:
            wanted.append((start + shift, end + shift, kind, pytest.approx(score, abs=1e-5)))
    assert [tuple(span) for span in prediction.spans] == wanted


@given(tagged(longest=6))
def test_without_a_crf_entities_are_the_most_probable_tags_of_the_scored_words(case: Tagged) -> None:
    for row, prediction in enumerate(decoded(TagDecoder(), case)):
        words = [word for word, scored in enumerate(case.scored[row]) if scored]
        rows = [paper.softmax(case.scores.emissions[row, word].astype(float).tolist()) for word in words]
        tags = [paper.best(chances) for chances in rows]
        check(prediction, case, row, tags, [chances[tag] for chances, tag in zip(rows, tags, strict=True)])


@settings(max_examples=60)
@given(tagged(longest=4))
def test_with_a_crf_entities_are_the_best_chain_of_the_scored_words_alone(case: Tagged) -> None:
    for row, prediction in enumerate(decoded(TagDecoder(crf=True), case)):
        scores = case.chains(row).all_scores(0)
        chain, share = max(scores, key=scores.__getitem__), shares(scores)
        marginals = [sum(p for other, p in share.items() if other[w] == tag) for w, tag in enumerate(chain)]
        check(prediction, case, row, list(chain), marginals)


@settings(max_examples=60)
@given(tagged(longest=4))
def test_the_best_chain_with_context_around_it_is_that_of_the_chain_without(case: Tagged) -> None:
    scored = np.array(case.scored)
    tags, chances = best_chains(case.scores, scored)
    for row, words in enumerate(map(np.flatnonzero, scored)):
        alone = TagScores(case.scores.emissions[row, words][None], *case.scores[1:])
        own_tags, own_chances = best_chains(alone, np.ones((1, len(words)), np.bool_))
        assert tags[row, words].tolist() == own_tags[0].tolist()
        np.testing.assert_allclose(chances[row, words], own_chances[0], atol=1e-6)


@pytest.mark.parametrize("crf", [False, True])
def test_neither_padding_nor_context_becomes_an_entity(crf: bool) -> None:
    """Every word would continue an entity of the first type."""
    scored = [[False, True, True, False], [True, False, False, False], [True] * 4]
    emissions = np.zeros((3, 4, TAGS), np.float32)
    emissions[..., 2] = 5.0
    rest = (np.zeros((TAGS, TAGS), np.float32), np.zeros(TAGS, np.float32), np.zeros(TAGS, np.float32))
    predictions = decoded(TagDecoder(crf), Tagged(TagScores(emissions, *rest), scored, [0.0, 0.0]))
    assert [[span[:3] for span in p.spans] for p in predictions] == [[(1, 3, 0)], [(0, 1, 0)], [(0, 4, 0)]]


@pytest.mark.parametrize("crf", [False, True])
def test_given_entities_are_predicted_in_place_of_found_ones(crf: bool) -> None:
    batch, decoder = words_only([[True] * 3]), TagDecoder(crf)
    scores = TagScores(*(np.ones(shape, np.float32) for shape in ((1, 3, TAGS), (TAGS, TAGS), (TAGS,), (TAGS,))))
    thresholds = ScoreThresholds(np.ones(2, np.float32), np.zeros(0, np.float32))
    entities = PredictedSpans(np.array([[0, 0, 2], [0, 1, 3]]), np.array([1, 0]), np.full(2, 0.5, np.float32))
    for found, wanted in ((entities, [(0, 2, 1), (1, 3, 0)]), (PredictedSpans.empty(), [])):
        (prediction,) = decoder.decode(decoder.propose(scores, batch, thresholds, found), (), batch, thresholds)
        assert [span[:3] for span in prediction.spans] == wanted


def combined(tags: list[list[int]], chances: Array, lowest: list[float]) -> list[list[tuple[int, int, int, float]]]:
    """What the label combiner finds in each sentence."""
    found = combine_tags(np.array(tags), chances, np.array(lowest))
    rows: list[list[tuple[int, int, int, float]]] = [[] for _ in tags]
    for (row, *bounds), label, score in zip(*(part.tolist() for part in found), strict=True):
        rows[row].append((*bounds, label, score))
    return rows


tag_rows = st.lists(st.lists(st.integers(0, 6), min_size=7, max_size=7), min_size=1, max_size=4)


@given(tag_rows, st.integers(0, 2**32))
def test_the_label_combiner_joins_runs_of_one_type(rows: list[list[int]], seed: int) -> None:
    chances = np.random.default_rng(seed).random((len(rows), 7))
    for found, row, own in zip(combined(rows, chances, [0.0] * 3), rows, chances, strict=True):
        assert [span[:3] for span in found] == paper.combine(row)
        assert [score for *_, score in found] == [min(own[start:end]) for start, end, *_ in found]


@given(tag_rows)
def test_the_label_combiner_reads_tags_as_seqeval_does(rows: list[list[int]]) -> None:
    for found, row in zip(combined(rows, np.ones((len(rows), 7)), [0.0] * 3), rows, strict=True):
        names = ["O" if tag == 0 else f"{'BI'[(tag - 1) % 2]}-{(tag - 1) // 2}" for tag in row]
        assert [(str(label), start, end - 1) for start, end, label, _ in found] == get_entities(names)


@pytest.mark.parametrize(
    ("tags", "entities"),
    [
        ([0, 2, 2, 0], [(1, 3, 0)]),  # I I: an entity without its B
        ([1, 4, 4, 0], [(0, 1, 0), (1, 3, 1)]),  # B-0 I-1 I-1
        ([1, 1, 2, 0], [(0, 1, 0), (1, 3, 0)]),  # B B I
        ([0, 0, 0, 1], [(3, 4, 0)]),  # up to the last word
        ([0, 0, 0, 0], []),
    ],
)
def test_odd_tag_sequences_are_repaired(tags: list[int], entities: list[tuple[int, int, int]]) -> None:
    (found,) = combined([tags], np.ones((1, 4)), [0.0, 0.0])
    assert [span[:3] for span in found] == entities


def test_a_threshold_holds_for_its_own_label_only() -> None:
    (found,) = combined([[1, 0, 3, 4]], np.array([[0.5, 1.0, 0.9, 0.4]]), [0.5, 0.41])
    assert [span[:3] for span in found] == [(0, 1, 0)]

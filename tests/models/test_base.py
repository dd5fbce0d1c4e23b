"""What models share: settling overlaps, and being found by name."""

from __future__ import annotations

import bl_ner_oracle as paper
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.errors import RecipeError
from spanwise.models.base import DataFacts, ScoredSpan, SpanModel, without_overlaps
from spanwise.models.registry import find, names


@st.composite
def scored_spans(draw: st.DrawFn) -> list[ScoredSpan]:
    """Spans of different probability in a sentence of twelve words."""
    bounds = st.tuples(st.integers(0, 11), st.integers(1, 12)).filter(lambda b: b[0] < b[1])
    spans = draw(st.lists(bounds, max_size=15))
    scores = draw(st.permutations([rank / 20 for rank in range(1, len(spans) + 1)]))
    return [ScoredSpan(*span, draw(st.integers(0, 2)), score) for span, score in zip(spans, scores, strict=True)]


@given(scored_spans())
def test_overlaps_are_settled_by_the_papers_heuristic(spans: list[ScoredSpan]) -> None:
    assert without_overlaps(spans) == paper.heuristic([tuple(span) for span in spans])


@given(scored_spans())
def test_what_is_kept_never_overlaps_and_what_is_dropped_overlaps_something_surer(spans: list[ScoredSpan]) -> None:
    def overlap(one: ScoredSpan, other: ScoredSpan) -> bool:
        return one.start < other.end and other.start < one.end

    kept = without_overlaps(spans)
    assert not any(overlap(one, other) for i, one in enumerate(kept) for other in kept[i + 1 :])
    assert all(any(overlap(s, k) and k.score > s.score for k in kept) for s in spans if s not in kept)


def test_equal_probabilities_are_settled_the_same_way_in_any_order() -> None:
    spans = [ScoredSpan(0, 2, 0, 0.5), ScoredSpan(1, 3, 0, 0.5), ScoredSpan(2, 4, 1, 0.5)]
    assert without_overlaps(spans) == without_overlaps(reversed(spans)) == [spans[0], spans[2]]


def test_the_covering_width_of_no_entities_is_one() -> None:
    assert DataFacts({}).covering_width(0.99) == 1


@pytest.mark.parametrize("name", names())
def test_a_registered_model_says_what_it_is_and_takes_only_its_own_options(name: str) -> None:
    model = find(name)
    assert issubclass(model, SpanModel)
    assert model.summary
    with pytest.raises(ValueError, match="no_such_option"):
        model.Config(no_such_option=1)


def test_an_unknown_model_is_refused_with_those_there_are() -> None:
    with pytest.raises(RecipeError, match=r"there is no model 'bert'; there are .*seq-ner.*span-ner"):
        find("bert")

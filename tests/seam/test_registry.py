"""Models are found by name; each says what it is and takes its own options alone."""

from __future__ import annotations

import pytest

from spanwise.errors import RecipeError
from spanwise.schema import EntityType, Schema
from spanwise.seam.config import ModelConfig
from spanwise.seam.module import SpanModel
from spanwise.seam.registry import find_model, model_names
from spanwise.seam.traits import Traits
from spanwise.text.profile import DataProfile


@pytest.mark.parametrize("name", model_names())
def test_a_registered_model_says_what_it_is_and_takes_only_its_own_options(name: str) -> None:
    model = find_model(name)
    assert issubclass(model, SpanModel)
    assert model.summary
    with pytest.raises(ValueError, match="no_such_option"):
        model.Config(no_such_option=1)


def test_an_unknown_model_is_refused_with_those_there_are() -> None:
    with pytest.raises(RecipeError, match=r"unknown model 'bert'; choose from .*seq-ner.*span-ner"):
        find_model("bert")


OWN = [name for name in model_names() if find_model(name).__module__.startswith("spanwise.")]


@pytest.mark.parametrize("name", OWN)
def test_traits_follow_from_the_options(name: str) -> None:
    config = find_model(name).Config
    for option in {"nested", "multi_label"} & config.model_fields.keys():
        assert [getattr(config(**{option: value}).traits(), option) for value in (False, True)] == [False, True]
    if "multi_label" in config.model_fields:
        assert [config(multi_label=several).traits().threshold for several in (False, True)] == [0.0, 0.5]
    if "max_width" in config.model_fields:
        assert config(max_width=7).traits().max_width == 7


SHARED = DataProfile(entities=9, relations=1, widths={1: 8, 12: 1}, shared_entities=4)


@pytest.mark.parametrize("name", ["span-ner", "spert", "span", "stsn", "dspert", "biaffine"])
def test_labels_that_share_a_span_are_noticed_unless_the_model_predicts_several(name: str) -> None:
    config = find_model(name).Config
    one, several = (" ".join(config(max_width=9, multi_label=flag).notices(SHARED)) for flag in (False, True))
    assert "4 training entities share their span with an entity of another label" in one
    assert "set model.multi_label: true" in one
    assert "share their span" not in several
    assert all("1 training entity (11.1%) is wider than the model's max_width of 9" in text for text in (one, several))


def test_a_config_without_a_decoder_says_what_is_missing() -> None:
    class Bare(ModelConfig):
        pass

    assert Bare().traits() == Traits()
    with pytest.raises(TypeError, match=r"Bare must define decoder\(\)"):
        Bare().decoder(Schema((EntityType("Person"),)))

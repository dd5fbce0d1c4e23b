"""STSN beyond its formulas: which tags there are, and who reads gold and who predicted ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import joint_cases as cases
import pytest
import stsn_oracle as paper
import torch
from joint_cases import SCHEMA, SENTENCES
from pydantic import ValidationError

from spanwise.document import Document
from spanwise.errors import RecipeError
from spanwise.models.stsn import STSN, STSNConfig
from spanwise.text.alignment import align
from spanwise.text.profile import DataProfile, profile

SIZES: dict[str, Any] = {"layers": 1, "heads": 4, "label_dim": 6}
DOCUMENTS = [
    Document.from_words("w" * s.length, [(start, end, SCHEMA.entity_names[k]) for start, end, k in s.entities])
    for s in SENTENCES
]


def profile_of(documents: list[Document]) -> DataProfile:
    return profile(map(align, documents))


def gold_tags(sentence: cases.Marked) -> list[str]:
    entities = [(start, end, SCHEMA.entity_names[kind]) for start, end, kind in sentence.entities]
    return paper.extended_tags(sentence.length, entities)


def test_codeine_intoxication_is_tagged_as_in_figure_4() -> None:
    words = ["Codeine", "intoxication", "in", "the", "neonate", "."]
    document = Document.from_words(words, [(0, 1, "DRUG"), (0, 2, "AE")])
    assert profile_of([document]).tag_pairs == {("B-AE", "B-DRUG")}
    assert paper.extended_tags(6, [(0, 1, "DRUG"), (0, 2, "AE")]) == ["B-AE/B-DRUG", "I-AE", *["O"] * 4]


def test_the_double_tags_are_those_of_the_training_data() -> None:
    """Two entities on one span have no order in the paper; both orders are one tag."""
    found = profile_of(DOCUMENTS)
    wanted = {tuple(tag.split("/")) for sentence in SENTENCES for tag in gold_tags(sentence) if "/" in tag}
    assert {frozenset(pair) for pair in found.tag_pairs} == {frozenset(pair) for pair in wanted}
    assert len(found.tag_pairs) == len(wanted) == 5
    assert found.words_in_3plus_entities == 1  # one word lies in three entities
    fitted = STSNConfig().fitted(found)
    assert fitted.double_tags == tuple(sorted(found.tag_pairs))
    assert fitted.max_width == 10


def test_double_tags_that_are_given_stay() -> None:
    given = (("B-Drug", "B-Dose"),)
    assert STSNConfig(double_tags=given).fitted(profile_of(DOCUMENTS)).double_tags == given
    assert STSNConfig().fitted(DataProfile()).double_tags == ()


def test_double_tags_of_labels_that_the_schema_lacks_are_refused() -> None:
    with pytest.raises(RecipeError, match="double_tags names B-Ghost, which"):
        cases.build(STSN, **SIZES, double_tags=(("B-Drug", "B-Ghost"),))


def test_every_word_has_its_gold_tag_and_a_pair_that_training_lacks_falls_to_the_preceding_entity() -> None:
    doubles = tuple(sorted(profile_of(DOCUMENTS).tag_pairs - {("I-Effect", "B-Drug")}))
    model = cases.build(STSN, **SIZES, double_tags=doubles)
    names = ["O", "B-Drug", "I-Drug", "B-Effect", "I-Effect", "B-Dose", "I-Dose", *map("/".join, doubles)]
    assert model.tag.out_features == len(names) == 11
    found = model.gold_tags(cases.batch_of(model))
    for row, sentence in zip(found.tolist(), SENTENCES, strict=True):
        for number, tag in zip(row, gold_tags(sentence), strict=False):
            swapped = "/".join(reversed(tag.split("/")))
            assert names[number] in ((tag, swapped) if {tag, swapped} & set(names) else (tag.split("/")[0],))
        assert not any(row[sentence.length :])


def swapped_gold(model: Any, *, training: bool) -> tuple[Any, Any]:
    """A batch, and the same batch with other gold labels on its words."""
    batch = cases.batch_of(model, training=training)
    other = batch.require_gold().entities.clone()
    other[:, 3] = (other[:, 3] + 1) % 3
    return batch, replace(batch, gold=replace(batch.require_gold(), entities=other))


@torch.no_grad()
def test_training_reads_gold_tags_and_inference_predicted_ones() -> None:
    model = cases.build(STSN, **SIZES, double_tags=())
    for training in (True, False):
        model.train(training)
        one, other = (model(batch) for batch in swapped_gold(model, training=training))
        assert torch.equal(one.scores.logits, other.scores.logits) == (not training)
        assert torch.equal(one.features.tags, other.features.tags)


@torch.no_grad()
def test_inference_needs_no_gold() -> None:
    model = cases.build(STSN, **SIZES, double_tags=())
    batch = cases.batch_of(model)
    assert torch.equal(model(replace(batch, gold=None)).scores.logits, model(batch).scores.logits)


@torch.no_grad()
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_a_share_of_the_words_reads_predicted_tags_in_training(share: float) -> None:
    torch.manual_seed(0)
    model = cases.build(STSN, **SIZES, double_tags=(), predicted_tags=share)
    batch = cases.batch_of(model, training=True)
    predicted, gold = torch.full((4, 9), 6), model.gold_tags(batch)
    scores = torch.nn.functional.one_hot(predicted, 7).float()
    rounds = 50
    read = torch.stack([model.train()._read_tags(scores, batch) for _ in range(rounds)])
    assert ((read == predicted) | (read == gold)).all()
    differs = gold != predicted
    taken = (read == predicted)[:, differs].float().mean().item()
    assert taken == pytest.approx(share, abs=0.05)
    assert torch.equal(model.eval()._read_tags(scores, batch), predicted)


@torch.no_grad()
def test_without_label_embedding_gold_tags_change_the_tagger_loss_alone() -> None:
    model = cases.build(STSN, **SIZES, double_tags=(), label_embedding=False).train()
    losses = [model.training_loss(batch).terms for batch in swapped_gold(model, training=True)]
    assert losses[0]["tags"] != losses[1]["tags"]
    assert losses[0]["spans"] == losses[1]["spans"]
    assert losses[0]["pairs"] == losses[1]["pairs"]


@torch.no_grad()
def test_the_tagger_loss_reads_no_padding() -> None:
    model = cases.build(STSN, **SIZES, double_tags=())
    batch = cases.batch_of(model, training=True)
    output = model(batch)
    odd = output.features.tags.masked_fill(~batch.words.scored.unsqueeze(-1), 1e4)
    again = output._replace(features=output.features._replace(tags=odd))
    assert model.loss(output, None, batch).total == model.loss(again, None, batch).total


@pytest.mark.parametrize("options", [{"layers": -1}, {"heads": 0}, {"predicted_tags": 1.1}, {"label_dim": 0}], ids=str)
def test_options_that_cannot_work_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        STSNConfig(**options)


def test_heads_that_do_not_divide_the_encoder_are_refused() -> None:
    with pytest.raises(RecipeError, match="3 heads do not divide the encoder's 8 units"):
        cases.build(STSN, layers=1, heads=3, double_tags=())

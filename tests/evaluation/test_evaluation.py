"""Scores of a model on labeled documents, and what of them it cannot find."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from spanwise import formats
from spanwise.corpora import Corpus
from spanwise.document import Document, Entity, Offsets, Relation
from spanwise.errors import SchemaError
from spanwise.evaluation import evaluate, unreachable_notices
from spanwise.inference.extractor import Extractor
from spanwise.pipeline.torch_pipeline import TorchPipeline
from spanwise.text.alignment import align


@pytest.fixture(scope="module")
def extractor(trained: Path) -> Extractor:
    return Extractor.from_pretrained(trained)


def test_the_scores_are_those_of_counting_by_hand(extractor: Extractor, easy_files: Path) -> None:
    gold = list(formats.read(easy_files / "test.jsonl"))
    wanted = {(d.id, e.start, e.end, e.label) for d in gold for e in d.entities}
    found = {(d.id, e.start, e.end, e.label) for d in extractor(gold) for e in d.entities}
    micro = evaluate(extractor, gold).entities.micro
    assert (micro.gold, micro.predicted, micro.correct) == (len(wanted), len(found), len(wanted & found))
    assert micro.f1 == pytest.approx(2 * len(wanted & found) / (len(wanted) + len(found)))


def test_gold_that_no_model_can_find_counts_against_it(extractor: Extractor) -> None:
    """Half a word is no word: it is missed, not left out."""
    document = Document("Unbreakable Bo", entities=(Entity(0, 2, "Person"), Entity(12, 14, "Person")))
    assert evaluate(extractor, [document]).entities.micro.gold == 2


def test_a_higher_threshold_predicts_less(extractor: Extractor, easy_files: Path) -> None:
    gold = list(formats.read(easy_files / "test.jsonl"))
    assert evaluate(extractor, gold, 1.0).entities.micro.predicted == 0
    assert evaluate(extractor, gold, {"Person": 1.0}).entities.labels["Place"].predicted > 0


def test_labels_that_the_model_does_not_know_are_refused(extractor: Extractor) -> None:
    with pytest.raises(SchemaError, match=r"the evaluation data has the entity labels \['Planet'\]"):
        evaluate(extractor, [Document("Mars", entities=(Entity(0, 4, "Planet"),))])


def test_a_model_of_entities_is_not_scored_on_relations(extractor: Extractor) -> None:
    relations = (Relation(0, 1, "lives in"),)
    document = Document("Bo left Kell", entities=(Entity(0, 2, "Person"), Entity(8, 12, "Place")), relations=relations)
    assert evaluate(extractor, [document]).relations is None


def test_a_folder_stands_for_its_model_and_aligned_documents_for_documents(
    extractor: Extractor, trained: Path, easy_files: Path
) -> None:
    gold = list(formats.read(easy_files / "test.jsonl"))
    wanted = evaluate(extractor, gold)
    assert wanted.entities.micro.correct > 0
    assert evaluate(trained, gold) == evaluate(str(trained), gold) == wanted
    assert evaluate(extractor, list(map(align, gold))) == wanted


def test_entities_count_by_their_heads_when_asked_for(extractor: Extractor) -> None:
    (document,) = extractor(["Ada Moss met Bo in Upper Dale ."])
    (first, *others) = document.entities
    wide = replace(first, end=first.end + 4, head=Offsets(first.start, first.end))
    gold = [document.with_annotations([wide, *others])]
    assert evaluate(extractor, gold).entities.micro.correct == len(others)
    assert evaluate(extractor, gold, heads=True).entities.micro.correct == len(others) + 1


def test_gold_that_the_model_cannot_find_is_listed(
    make_pipeline: Callable[..., TorchPipeline], extractor: Extractor, flat_corpus: Corpus
) -> None:
    narrow = Extractor(make_pipeline("span-ner", max_width=2))
    gold = flat_corpus.splits["train"]
    assert unreachable_notices(narrow, gold) == [
        "2 gold entities are wider than the model's 2 words and cannot be predicted."
    ]
    assert unreachable_notices(extractor, gold) == []
    entities = (Entity(0, 2, "Person"), Entity(12, 14, "Person"))
    odd = Document("Unbreakable Bo", entities=entities, relations=(Relation(0, 1, "knows"),))
    assert unreachable_notices(narrow, [*gold, align(odd)]) == [
        "1 gold entity does not fall on word boundaries and cannot be predicted.",
        "2 gold entities are wider than the model's 2 words and cannot be predicted.",
        "span-ner does not predict relations; the relations in the data are not scored.",
    ]

"""What a user of the Python interface meets: notices in the log, either reader of a bundle, clear refusals."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from spanwise import Corpus, Document, Entity, Extractor, Recipe, evaluate, train
from spanwise.errors import InputError, RecipeError, SchemaError
from spanwise.pipeline.torch_pipeline import TorchPipeline

LEGACY = Path(__file__).parent / "legacy"


def test_training_without_a_listener_logs_what_cannot_be_learned(
    make_recipe: Callable[..., Recipe], flat_corpus: Corpus, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="spanwise"):
        train(make_recipe("span-ner", max_width=2, train={"epochs": 1}), tmp_path / "run", corpus=flat_corpus)
    assert "2 training entities (13.3%) are wider than the model's max_width of 2 words." in [
        record.message for record in caplog.records
    ]


def test_either_member_of_a_bundle_in_a_folder_is_scored(flat_corpus: Corpus) -> None:
    documents = flat_corpus.split("train")
    both = [evaluate(LEGACY / "bundle", documents, reader=name).entities.micro for name in ("span-ner", "seq-ner")]
    assert [score.f1 for score in both] == [1.0, 1.0]
    with pytest.raises(InputError, match="no member 'lear'; choose the reader from span-ner, seq-ner"):
        evaluate(LEGACY / "bundle", documents, reader="lear")


def test_given_entities_and_new_labels_exclude_each_other(make_pipeline: Callable[..., TorchPipeline]) -> None:
    asked = Extractor(make_pipeline("lear", shared=True)).with_labels({"Town": "towns and countries"})
    with pytest.raises(InputError, match="need the model's own labels; leave labels= out"):
        list(asked.relate([Document("Kell", entities=(Entity(0, 4, "Town"),))]))


def test_a_recipe_that_names_no_data_needs_a_corpus(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"the recipe has no data; give data.corpus or data.train"):
        train(Recipe.parse({"model": {"name": "seq-ner"}}), tmp_path / "run")


def test_documents_in_memory_make_a_corpus_of_the_labels_of_train() -> None:
    mara = Document("Mara left", entities=(Entity(0, 4, "Person"),))
    corpus = Corpus.from_documents([mara], test=[mara])
    assert (list(corpus.splits), corpus.schema.entity_names) == (["train", "test"], ("Person",))
    with pytest.raises(SchemaError, match="dev has the entity labels"):
        Corpus.from_documents([mara], dev=[Document("Kell", entities=(Entity(0, 4, "Place"),))])

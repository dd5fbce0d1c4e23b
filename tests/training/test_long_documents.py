"""A document of any length trains as well as its sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import pytest

from spanwise import formats
from spanwise.corpora import Corpus, from_files
from spanwise.document import Document, Entity
from spanwise.recipe import Recipe
from spanwise.training.run import train


def joined(sentences: Sequence[Document], size: int) -> Iterator[Document]:
    """Documents of `size` sentences each, one sentence per line."""
    rest = iter(sentences)
    for number in range(-(-len(sentences) // size)):
        text, entities = "", []
        for sentence in islice(rest, size):
            entities += [Entity(e.start + len(text), e.end + len(text), e.label) for e in sentence.entities]
            text += f"{sentence.text}\n"
        yield Document(text, entities=tuple(entities), id=f"novel-{number}")


@pytest.mark.slow
def test_long_brat_documents_train_as_well_as_their_sentences(
    easy_files: Path, make_recipe: Callable[..., Recipe], tmp_path: Path
) -> None:
    sentences = from_files([easy_files / "train.jsonl"], [easy_files / "dev.jsonl"])
    for split, documents in sentences.splits.items():
        formats.write(joined(documents, 16), tmp_path / split, "brat")
    novels = from_files([tmp_path / "train"], [tmp_path / "dev"])
    assert [len(d.text) > 300 for d in novels.split("train")] == [True] * 4
    options = {"epochs": 12, "batch_size": 4, "encoder_lr": 5e-3, "task_lr": 1e-2, "seed": 6}
    scores = []
    for name, corpus in (("sentences", sentences), ("novels", novels)):
        summary = train(make_recipe("span-ner", train=options), tmp_path / f"run-{name}", corpus=corpus)
        scores.append(summary.dev_f1 or 0.0)
    assert min(scores) > 0.9, scores
    assert scores[1] >= scores[0] - 0.05, scores  # two of 24 sentences: rounding differs between processors


def test_a_training_window_has_no_more_sentences_than_a_batch(
    make_pipeline: Callable[..., object], flat_corpus: Corpus
) -> None:
    from spanwise.text.alignment import align

    pipeline = make_pipeline("span-ner", flat_corpus)
    document = align(Document("Mara Ostrow met Bo Lind in Brenford . " * 30, entities=(Entity(0, 11, "Person"),)))
    whole, _ = pipeline.training_task.builder.gold_examples(document)  # type: ignore[attr-defined]
    pipeline.limit_training_windows(30)  # type: ignore[attr-defined]
    cut, lost = pipeline.training_task.builder.gold_examples(document)  # type: ignore[attr-defined]
    assert max(len(example.pieces) for example in cut) <= 30 + 2 < max(len(example.pieces) for example in whole)
    assert sum(example.scored_words for example in cut) == len(document.document.words)  # no overlap, nothing left out
    assert (lost.misaligned, lost.split) == ((), ())

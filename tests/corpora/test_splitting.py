"""Splitting documents: seeded, no text on both sides, no label lost from train."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spanwise.corpora import Corpus
from spanwise.corpora.options import DataOptions
from spanwise.corpora.selection import select
from spanwise.corpora.splitting import split_documents
from spanwise.document import Document, Entity
from spanwise.errors import InputError

LABELS = ("Person", "Place", "Firm")


def document(number: int, label: str) -> Document:
    return Document(f"text {number}", entities=(Entity(0, 4, label),), id=str(number))


texts = st.lists(st.tuples(st.integers(0, 30), st.sampled_from(LABELS)), min_size=8, max_size=60)


@given(texts, st.floats(0.05, 0.5), st.integers(0, 99))
def test_every_document_is_in_one_split_and_equal_texts_are_together(
    rows: list[tuple[int, str]], share: float, seed: int
) -> None:
    documents = [document(number, label) for number, label in rows]
    assume(len({number for number, _ in rows}) > 7)
    assume(min(Counter(label for _, label in dict.fromkeys(rows)).values()) > 2)
    try:
        parts = split_documents(documents, {"dev": share, "test": 0.1}, seed)
    except InputError:
        return  # all texts have several labels that would be lost
    assert sorted(map(id, documents)) == sorted(id(row) for part in parts.values() for row in part)
    names = {name: {row.text for row in part} for name, part in parts.items()}
    assert not names["train"] & names["dev"]
    assert not names["train"] & names["test"]
    assert not names["dev"] & names["test"]
    assert {e.label for row in parts["train"] for e in row.entities} == {label for _, label in rows}
    assert parts == split_documents(documents, {"dev": share, "test": 0.1}, seed)


def test_shares_are_about_as_large_as_asked_for_and_seeds_differ() -> None:
    documents = [document(number, LABELS[number % 3]) for number in range(200)]
    one, other = (split_documents(documents, {"dev": 0.1, "test": 0.2}, seed) for seed in (1, 2))
    assert {name: len(rows) for name, rows in one.items()} == {"train": 140, "dev": 20, "test": 40}
    assert one["dev"] != other["dev"]
    assert [int(row.id) for row in one["dev"]] == sorted(int(row.id) for row in one["dev"])


def test_a_label_with_one_document_stays_in_train() -> None:
    documents = [document(number, "Person") for number in range(30)] + [document(99, "Rare")]
    for seed in range(20):
        assert documents[-1] in split_documents(documents, {"dev": 0.4}, seed)["train"]


def test_too_few_documents_are_refused() -> None:
    with pytest.raises(InputError, match="1 document is too few to split dev off"):
        split_documents([document(1, "Person")], {"dev": 0.1})


def test_a_recipe_can_split_dev_off_and_it_is_the_same_for_every_seed() -> None:
    corpus = Corpus.from_documents([document(number, LABELS[number % 3]) for number in range(50)])
    options = DataOptions(dev_share=0.2)
    one, other = (select(options, seed=seed, corpus=corpus) for seed in (1, 2))
    assert [row.document.id for row in one.split("dev")] == [row.document.id for row in other.split("dev")]
    assert (len(one.train), len(one.split("dev"))) == (40, 10)
    assert not {row.document.id for row in one.train} & {row.document.id for row in one.split("dev")}


def test_dev_data_that_is_there_is_not_replaced() -> None:
    rows = [document(number, LABELS[number % 3]) for number in range(50)]
    corpus = Corpus.from_documents(rows[:40], rows[40:])
    found = select(DataOptions(dev_share=0.2), seed=1, corpus=corpus)
    assert (len(found.train), len(found.split("dev"))) == (40, 10)

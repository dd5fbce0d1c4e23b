"""What is written is what is read back, for every document that a format can hold."""

from __future__ import annotations

import re
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from document_strategies import (
    CHARACTERS,
    character_documents,
    content,
    event_documents,
    flat_documents,
    headed_documents,
    through_file,
    word_documents,
)
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spanwise.document import Document
from spanwise.formats import Report, read, standoff, write
from spanwise.formats.schemes import SCHEMES, merged_in_io
from spanwise.formats.tokens import word_spans

few = settings(max_examples=50, deadline=None)


@few
@given(st.lists(character_documents(), min_size=1, max_size=3))
def test_jsonl_keeps_everything(documents):
    read_back = through_file(documents, "jsonl")
    assert read_back == documents
    assert [d.metadata for d in read_back] == [d.metadata for d in documents]


@few
@given(st.lists(word_documents(), min_size=1, max_size=3))
def test_spert_keeps_nested_entities_and_relations(documents):
    assert through_file(documents, "spert") == documents


@few
@given(st.lists(flat_documents(), min_size=1, max_size=3), st.sampled_from(SCHEMES))
def test_conll_keeps_flat_entities_in_every_scheme(documents, scheme):
    assume(all(not w.startswith("-DOCSTART-") for d in documents for w in d.word_texts))
    assume(
        all(
            e.label == e.label.strip(" ") and not e.label.startswith("-DOCSTART-")
            for d in documents
            for e in d.entities
        )
    )
    assume(not mostly_chinese(documents))
    assume(scheme != "IO" or not any(merged_in_io(word_spans(document)) for document in documents))
    assert through_file_with_scheme(documents, scheme) == documents


@few
@given(
    st.lists(flat_documents(words=st.sampled_from("中国人民银行，。"), labels=st.just("ORG")), min_size=1, max_size=3)
)
def test_conll_joins_chinese_characters_without_spaces(documents):
    joined = [respelt(document) for document in documents]
    assert through_file(joined, "conll") == joined


@few
@given(st.lists(event_documents(), min_size=1, max_size=3))
def test_oneie_keeps_events_and_untyped_mentions(documents):
    read_back = through_file(documents, "oneie")
    assert [content(d) for d in read_back] == [content(d) for d in documents]
    assert [d.metadata for d in read_back] == [d.metadata for d in documents]


@few
@given(headed_documents())
def test_oneie_keeps_heads(document):
    (read_back,) = through_file([document], "oneie")
    assert content(read_back) == content(document)


@few
@given(st.lists(event_documents(trigger_width=1), min_size=1, max_size=4))
def test_dygie_puts_the_sentences_of_a_document_together_again(sentences):
    documents = [
        replace(d, id=f"key#{i}", metadata={"doc_key": "key", "sentence": i, **d.metadata})
        for i, d in enumerate(sentences)
    ]
    documents[0] = replace(documents[0], metadata={**documents[0].metadata, "clusters": [[[0, 0]]]})
    read_back = through_file(documents, "dygie")
    assert [content(d) for d in read_back] == [content(d) for d in documents]
    assert [d.metadata for d in read_back] == [d.metadata for d in documents]


@few
@given(st.lists(character_documents(scored=False, labels=st.from_regex(r"[^\s]{1,5}", fullmatch=True)), max_size=3))
def test_brat_keeps_any_text_with_its_entities_and_relations(documents):
    documents = [replace(d, id=f"{i:03}/{d.id}", metadata={}) for i, d in enumerate(documents)]
    assume(documents)
    assert sorted(through_file(documents, "brat"), key=lambda d: d.id) == documents


@few
@given(event_documents())
def test_brat_keeps_events(document):
    assume(not any(re.search(r"\s", r.label) for r in document.relations))
    (read_back,) = through_file([replace(document, words=())], "brat")
    assert content(read_back) == content(replace(document, words=()))
    assert read_back.metadata == document.metadata


@few
@given(word_documents(words=st.text(CHARACTERS, min_size=1).filter(lambda w: "\n" not in w)))
def test_formats_agree_on_what_a_document_says(document):
    by_spert = through_file([document], "spert")
    assert through_file(through_file(by_spert, "jsonl"), "spert") == [document]


TOOLS = ("label-studio", "doccano", "prodigy", "csv", "huggingface", "webanno")


@pytest.mark.parametrize("format", TOOLS)
@settings(max_examples=30, deadline=None)
@given(character_documents(scored=False))
def test_tools_keep_any_text_with_its_entities_and_relations(format, document):
    if format in {"csv", "huggingface", "webanno"}:
        document = replace(document, metadata={})
    elif format == "doccano":  # they are fields of the record there
        document = replace(document, metadata={f"meta {key}": value for key, value in document.metadata.items()})
    document = replace(trimmed(document), id="d")
    assume(document.text.strip())
    (read_back,) = through_file([document], format)
    assert content(replace(read_back, words=())) == content(document)
    assert read_back.metadata == document.metadata


@few
@given(character_documents(labels=st.sampled_from("AB")))
def test_predictions_keep_their_scores_in_label_studio(document):
    document = trimmed(replace(document, words=(), id="d"))
    with tempfile.TemporaryDirectory() as folder:
        write([document], Path(folder) / "x", "label-studio", model_version="v1")
        assert list(read(Path(folder) / "x", annotator="v1")) == [document]


PRINTED = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=4)


@few
@given(word_documents(words=PRINTED))
def test_spacy_keeps_words_and_nested_entities(document):
    pytest.importorskip("spacy", reason="the extra spacy is not installed")
    document = replace(document, relations=(), id="")
    (read_back,) = through_file([document], "spacy")
    assert (read_back.text, read_back.words) == (document.text, document.words)
    assert set(read_back.entities) == set(document.entities)


@few
@given(st.lists(flat_documents(words=PRINTED, labels=PRINTED), min_size=1, max_size=3), st.sampled_from(SCHEMES))
def test_tags_of_hugging_face_keep_flat_entities_in_every_scheme(documents, scheme):
    assume(not mostly_chinese(documents))
    assume(scheme != "IO" or not any(merged_in_io(word_spans(document)) for document in documents))
    with tempfile.TemporaryDirectory() as folder:
        write(documents, Path(folder) / "x.parquet", "huggingface-tags", scheme=scheme)
        assert list(read(Path(folder) / "x.parquet", scheme=scheme)) == documents


def trimmed(document: Document) -> Document:
    """The document without heads and with entities that have no white space at their borders, as tools store them."""
    report = Report()
    bounds = [standoff.trimmed(document.text, e.start, e.end, report) for e in document.entities]
    moved = [replace(e, start=a, end=b, head=None) for e, (a, b) in zip(document.entities, bounds, strict=True)]
    whole = document.with_predictions(moved, document.relations)
    return whole.select_entities(index for index, (start, end) in enumerate(bounds) if start < end)


def through_file_with_scheme(documents: list[Document], scheme: str) -> list[Document]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "documents.conll"
        write(documents, path, scheme=scheme)
        return list(read(path, "conll", scheme=scheme))


def mostly_chinese(documents: list[Document]) -> bool:
    words = [word for document in documents for word in document.word_texts]
    return sum(len(word) == 1 and word >= "\u3000" for word in words) * 2 > len(words)


def respelt(document: Document) -> Document:
    """The same words and entities, joined without spaces."""
    starts = {word.start: index for index, word in enumerate(document.words)}
    ends = {word.end: index + 1 for index, word in enumerate(document.words)}
    spans = [(starts[e.start], ends[e.end], e.label) for e in document.entities]
    return Document.from_words(document.word_texts, spans, joiner="")

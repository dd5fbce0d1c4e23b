"""spaCy's DocBin, through spaCy itself."""

from __future__ import annotations

import zlib

import pytest

from spanwise.document import Document, Entity, Relation
from spanwise.errors import FormatError, InputError, LossyError
from spanwise.formats import Report, detect, extras, read, spacy_docs, write

TEXT = " Mara  Ostrow saw 😀\nOsaka."
WORDS = ((1, 5), (7, 13), (14, 17), (18, 19), (20, 25), (25, 26))
FLAT = Document(TEXT, WORDS, (Entity(1, 13, "PER"), Entity(20, 25, "LOC")))
NESTED = Document(TEXT, WORDS, (Entity(1, 13, "PER"), Entity(7, 13, "NAME"), Entity(7, 13, "PER")))


@pytest.fixture(scope="module")
def tokens():
    return pytest.importorskip("spacy.tokens", reason="the extra spacy is not installed")


def test_documents_survive_a_file(tmp_path, tokens):
    write([FLAT, NESTED, Document("a", ((0, 1),))], tmp_path / "x", "spacy")
    assert detect(tmp_path / "x") == "spacy"
    flat, nested, empty = read(tmp_path / "x")
    assert (flat, nested.text, nested.words, empty.entities) == (FLAT, TEXT, NESTED.words, ())
    assert set(nested.entities) == set(NESTED.entities)


def test_spacy_reads_what_is_written(tmp_path, tokens):
    vocabulary = pytest.importorskip("spacy").blank("en").vocab
    write([FLAT, NESTED], tmp_path / "x.spacy")
    flat, nested = tokens.DocBin().from_disk(tmp_path / "x.spacy").get_docs(vocabulary)
    assert (flat.text, [(e.text, e.label_) for e in flat.ents]) == (TEXT, [("Mara  Ostrow", "PER"), ("Osaka", "LOC")])
    assert [(s.text, s.label_) for s in nested.spans["sc"]] == [(NESTED.text_of(e), e.label) for e in NESTED.entities]
    assert (nested.ents, len(flat.spans["sc"])) == ((), 2)


def test_span_groups_are_read_and_user_data_is_not(tmp_path, tokens):
    spacy = pytest.importorskip("spacy")
    doc = spacy.blank("en")("Mara saw Osaka Bay.")
    doc.set_ents([tokens.Span(doc, 0, 1, "PER")])
    doc.spans["places"] = [tokens.Span(doc, 2, 4, "LOC"), tokens.Span(doc, 2, 3, "LOC"), tokens.Span(doc, 0, 1, "PER")]
    doc.spans["unlabeled"] = [tokens.Span(doc, 1, 2)]
    doc.cats["news"] = 1.0
    docs = tokens.DocBin(docs=[doc], store_user_data=True)
    docs.user_data = [b"\xc1 is no msgpack"]
    docs.to_disk(tmp_path / "x.spacy")
    report = Report()
    (document,) = read(tmp_path / "x.spacy", report=report)
    assert [(document.text_of(e), e.label) for e in document.entities] == [
        ("Mara", "PER"), ("Osaka Bay", "LOC"), ("Osaka", "LOC"),
    ]  # fmt: skip
    assert report.dropped == {"span without a label": 1, "text category": 1}


def test_losses_are_refused(tmp_path, tokens):
    related = Document(TEXT, WORDS, FLAT.entities, (Relation(0, 1, "in"),))
    with pytest.raises(LossyError, match="1 x relation"):
        write([related], tmp_path / "x.spacy")
    write([related], tmp_path / "x.spacy", lossy=True)
    assert list(read(tmp_path / "x.spacy")) == [FLAT]


@pytest.mark.parametrize("content", [b"x", zlib.compress(b"x"), zlib.compress(b"\x81\xa5attrs\x90")])
def test_a_damaged_file_is_refused(tmp_path, tokens, content):
    (tmp_path / "x.spacy").write_bytes(content)
    with pytest.raises(FormatError, match=r"x\.spacy: this is not a \.spacy file, or it is damaged"):
        list(read(tmp_path / "x.spacy"))


def test_a_file_that_grows_too_large_is_refused(tmp_path, tokens, monkeypatch):
    monkeypatch.setattr(spacy_docs, "_MAX_SIZE", 2**20)
    (tmp_path / "x.spacy").write_bytes(zlib.compress(bytes(2**21)))
    with pytest.raises(FormatError, match="the file holds more than 1 MB; split it"):
        list(read(tmp_path / "x.spacy"))


def test_without_spacy_the_extra_is_named(tmp_path, monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(name=name.partition(".")[0])

    monkeypatch.setattr(extras, "import_module", missing)
    (tmp_path / "x.spacy").write_bytes(zlib.compress(b"\x81\xa5attrs\x90"))
    with pytest.raises(
        InputError, match=r"a \.spacy file needs spacy; install it with `pip install 'spanwise\[spacy\]'`"
    ):
        list(read(tmp_path / "x.spacy"))

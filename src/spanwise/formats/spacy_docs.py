"""spaCy's DocBin (`.spacy`): documents with words, entities and span groups. It is msgpack in zlib. No pickle."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Any

from spanwise.document import Document, Entity, Offsets, overlap
from spanwise.errors import FormatError
from spanwise.formats.base import Format, Probe
from spanwise.formats.extras import optional_module
from spanwise.formats.reading import Reader
from spanwise.formats.tokens import align_to_words, word_spans
from spanwise.formats.writing import Writer

SPAN_GROUP = "sc"  # what spaCy's span categorizer reads and writes
_MAX_SIZE = 2**30  # bytes when unpacked: a DocBin is in memory as a whole
_ATTRIBUTES = ("ORTH", "SPACY", "ENT_IOB", "ENT_TYPE")


def _matches(probe: Probe) -> bool:
    return b"attrs" in _unpacked(probe.head, 256)[:64]


def _unpacked(packed: bytes, size: int) -> bytes:
    """The first bytes of what is packed; nothing if it is not zlib."""
    try:
        return zlib.decompressobj().decompress(packed, size)
    except zlib.error:
        return b""


def _read(reader: Reader) -> Iterator[Document]:
    tokens = optional_module("spacy.tokens", "spacy", "a .spacy file")
    with reader.open() as stream:
        packed = stream.read()
    if not packed.strip(b"\xef\xbb\xbf\n"):
        return
    if len(_unpacked(packed, _MAX_SIZE + 1)) > _MAX_SIZE:
        raise FormatError(f"the file holds more than {_MAX_SIZE // 2**20:,} MB; split it into several.", reader.name)
    reader.report.bytes_read += len(packed)
    try:
        docs = tokens.DocBin().from_bytes(packed)
        docs.user_data = [None] * len(docs)  # values of extensions, which are not read
        vocabulary = optional_module("spacy.vocab", "spacy", "a .spacy file").Vocab()
        found = enumerate(docs.get_docs(vocabulary), 1)
    except Exception as error:
        raise _damaged(error, reader) from error
    yield from reader.documents(_each(found, reader), lambda doc: [_document(doc, reader)])


def _each(docs: Iterator[tuple[int, Any]], reader: Reader) -> Iterator[tuple[None, Any]]:
    while True:
        try:
            _, doc = next(docs)
        except StopIteration:
            return
        except Exception as error:  # spaCy reads damaged values without a check of its own
            raise _damaged(error, reader) from error
        yield None, doc


def _damaged(error: Exception, reader: Reader) -> FormatError:
    return FormatError(f"this is not a .spacy file, or it is damaged ({type(error).__name__}).", reader.name)


def _document(doc: Any, reader: Reader) -> Document:
    """The entities and all span groups of a spaCy document; what stands in several of them counts once."""
    spans = [*doc.ents, *(span for group in doc.spans.values() for span in group)]
    labeled = [span for span in spans if span.label_]
    reader.report.drop("span without a label", len(spans) - len(labeled))
    reader.report.drop("text category", len(doc.cats))
    entities = dict.fromkeys(Entity(span.start_char, span.end_char, span.label_) for span in labeled)
    words = (Offsets(token.idx, token.idx + len(token)) for token in doc if token.text.strip())
    return Document(doc.text, tuple(words), tuple(entities))


def _write(documents: Iterable[Document], writer: Writer) -> None:
    tokens = optional_module("spacy.tokens", "spacy", "a .spacy file")
    vocabulary = optional_module("spacy.vocab", "spacy", "a .spacy file").Vocab()
    docs = tokens.DocBin(attrs=_ATTRIBUTES, store_user_data=False)
    for document in documents:
        docs.add(_doc(document, vocabulary, tokens, writer))
        writer.report.written += 1
    writer.file([docs.to_bytes()])


def _doc(document: Document, vocabulary: Any, tokens: Any, writer: Writer) -> Any:
    """All entities as a span group, and as `doc.ents` if they do not overlap."""
    kept = align_to_words(document, writer)
    writer.drop_or_refuse(kept, "relation", len(kept.relations))
    writer.count_unsupported(kept, id=True)
    texts, spaces, places = _tokens(kept)
    doc = tokens.Doc(vocabulary, words=texts, spaces=spaces)
    spans = [
        tokens.Span(doc, places[first], places[last - 1] + 1, label=label) for first, last, label in word_spans(kept)
    ]
    doc.spans[SPAN_GROUP] = spans
    if not overlap(kept.entities):
        doc.set_ents(spans)
    return doc


def _tokens(document: Document) -> tuple[list[str], list[bool], list[int]]:
    """The text as spaCy has it: tokens with one space or none after them, and tokens of other white space.

    With them the token of each word.
    """
    texts: list[str] = []
    spaces: list[bool] = []
    places: list[int] = []
    cursor = 0
    for start, end in document.words:
        _add_gap(document.text[cursor:start], texts, spaces)
        places.append(len(texts))
        texts.append(document.text[start:end])
        spaces.append(False)
        cursor = end
    _add_gap(document.text[cursor:], texts, spaces)
    return texts, spaces, places


def _add_gap(gap: str, texts: list[str], spaces: list[bool]) -> None:
    if gap.startswith(" ") and texts:
        spaces[-1], gap = True, gap[1:]
    if gap:
        texts.append(gap)
        spaces.append(False)


SPACY = Format(
    name="spacy",
    matches=_matches,
    read=_read,
    write=_write,
    needs_words=True,
    example="",
    suffixes=(".spacy",),
    whole_texts=True,
)

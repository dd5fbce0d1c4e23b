"""Hugging Face data sets, saved to disk or as Parquet: tokens with a tag each, or texts with spans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from spanwise.document import Document
from spanwise.errors import FormatError
from spanwise.formats import schemes
from spanwise.formats.arrow_files import PARQUET, ArrowTable, TableWriter, is_table
from spanwise.formats.base import Format, Probe
from spanwise.formats.chinese import count_characters, joiner_of, word_joiner
from spanwise.formats.fields import arrays, get, identifier, objects, row, score, short_repr, strings
from spanwise.formats.reading import Reader
from spanwise.formats.standoff import Link, Mark, Standoff
from spanwise.formats.tokens import align_to_words, count_spacing, flattened, word_spans
from spanwise.formats.writing import Writer
from spanwise.plural import counted

_TOKENS = ("tokens", "words")
_TAGS = ("ner_tags", "tags", "ner", "labels", "entity_tags")
_SPANS = ("entities", "spans", "labels", "label", "annotations")
_LABELS = ("label", "type", "entity", "entity_type")
_OUTSIDE = -100  # what training scripts put in place of a tag that does not count
_STRING = {"dtype": "string", "_type": "Value"}
_INTEGER = {"dtype": "int64", "_type": "Value"}
_NUMBER = {"dtype": "float64", "_type": "Value"}


def _first(names: Sequence[str], columns: Sequence[str]) -> str | None:
    return next((name for name in names if name in columns), None)


def _is_tagged(columns: Sequence[str]) -> bool:
    return _first(_TOKENS, columns) is not None and _first(_TAGS, columns) is not None and "entities" not in columns


def _matches(probe: Probe, tagged: bool) -> bool:
    if not is_table(probe.path, probe.head):
        return False
    try:
        return _is_tagged(ArrowTable(probe.path).columns) == tagged
    except FormatError:  # the reader reports it
        return not tagged


def _table(reader: Reader, needed: str, *choices: Sequence[str]) -> tuple[ArrowTable, list[str]]:
    """The table and the columns that were found for each choice of names."""
    if reader.path is None:
        raise FormatError("a table cannot come from standard input; name the file.")
    table = ArrowTable(reader.path)
    found = [name for choice in choices if (name := _first(choice, table.columns))]
    if len(found) < len(choices):
        columns = ", ".join(table.columns)
        raise FormatError(f"the table has no {needed}, but the columns {columns}; rename them.", reader.name)
    reader.report.bytes_read += table.size
    return table, found


def _count_unread(table: ArrowTable, read: Sequence[str], reader: Reader) -> None:
    for name in table.columns:
        if name not in read:
            reader.report.drop(f"column {short_repr(name)}")


def _read_tags(reader: Reader) -> Iterator[Document]:
    table, (tokens, tags) = _table(reader, "tokens and ner_tags", _TOKENS, _TAGS)
    columns = [name for name in (tokens, tags, "id") if name in table.columns]
    _count_unread(table, columns, reader)
    names = table.class_names(tags)
    scheme, joiner = _detect(table, tokens, tags, names, reader)
    repaired: Counter[str] = Counter()

    def parse(record: dict[str, Any]) -> Iterator[Document]:
        words = strings(get(record, tokens, list), repr(tokens))
        values = get(record, tags, list)
        if len(values) != len(words):
            raise FormatError(f"there are {len(words)} tokens, but {len(values)} tags; give each token a tag.")
        spans, repairs = schemes.decode([_tag(value, names) for value in values], scheme)
        repaired.update(tags=repairs)
        yield Document.from_words(words, spans, joiner=joiner, id=identifier(record, "id"))

    yield from reader.documents(table.rows(columns), parse)
    if repairs := repaired["tags"]:
        reader.note(f"{repairs} tags out of place for {scheme}; each starts or ends an entity, none was dropped")


def _detect(table: ArrowTable, tokens: str, tags: str, names: Sequence[str] | None, reader: Reader) -> tuple[str, str]:
    """The tag scheme, by a pass over all tags, and what joins the words."""
    detector, seen, characters = schemes.SchemeDetector(), 0, 0
    for _, record in table.rows([tokens, tags]):
        words = [word for word in record[tokens] or () if isinstance(word, str)]
        seen, characters = seen + len(words), characters + count_characters(words)
        try:
            detector.add([_tag(value, names) for value in record[tags] or ()])
        except FormatError:  # reported when the row itself is read
            continue
    if reader.scheme is not None:
        return schemes.scheme_named(reader.scheme), word_joiner(characters, seen)
    try:
        scheme = detector.scheme()
    except FormatError as error:
        raise reader.with_location(error, None) from None
    reader.note(f"scheme {scheme} (detected)")
    return scheme, word_joiner(characters, seen)


def _tag(value: Any, names: Sequence[str] | None) -> str:
    """The name of a tag that is stored as the number of a class."""
    if isinstance(value, str):
        return value
    if value == _OUTSIDE:
        return "O"
    if not isinstance(value, int):
        raise FormatError(f"the tag {short_repr(value)} is neither a name nor a number; correct it.")
    if names is None:
        raise FormatError(
            f"the tag {value} has no name: the table says nothing about its classes; store the tags as ClassLabel "
            f"or as strings."
        )
    if not 0 <= value < len(names):
        raise FormatError(f"the tag {value} is not one of the {counted(len(names), 'class', 'classes')}; correct it.")
    return names[value]


def _read_spans(reader: Reader) -> Iterator[Document]:
    table, (text, spans) = _table(reader, "text with entities", ("text", "sentence"), _SPANS)
    columns = [name for name in (text, spans, "id", "words", "relations") if name in table.columns]
    _count_unread(table, columns, reader)
    names = {label: table.class_names(spans, label) for label in _LABELS}

    def parse(record: dict[str, Any]) -> Iterator[Document]:
        marks = [_mark(span, number, names) for number, span in enumerate(_objects(record, spans))]
        links = [
            Link(get(r, "head", int), get(r, "tail", int), get(r, "label", str), score(r))
            for r in _objects(record, "relations")
        ]
        words = [_word(bounds, number) for number, bounds in enumerate(arrays(record, "words"))]
        standoff = Standoff(get(record, text, str), marks, links, words)
        yield standoff.document(reader.report, identifier(record, "id"))

    return reader.documents(table.rows(columns), parse)


def _objects(record: dict[str, Any], column: str) -> list[dict[str, Any]]:
    """A list of objects; `datasets` also stores one as an object of lists."""
    value = record.get(column)
    if not isinstance(value, dict):
        return objects(record, column)
    lists = {key: get(value, key, list) for key in value}
    if len(set(map(len, lists.values()))) > 1:
        raise FormatError(f"the lists in {column!r} differ in their lengths; correct the row.")
    return [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)]


def _word(bounds: list[Any], number: int) -> Mark:
    start, end = row(bounds, (int, int), f"'words'[{number}]")
    return Mark(start, end, "")


def _mark(span: dict[str, Any], number: int, names: dict[str, list[str] | None]) -> Mark:
    field = _first(_LABELS, list(span))
    if field is None:
        raise FormatError(f"the span {short_repr(span)} has no label; give it one.")
    label = span[field] if isinstance(span[field], str) else _tag(span[field], names[field])
    surface = get(span, "text", str) if span.get("text") else None
    return Mark(get(span, "start", int), get(span, "end", int), label, surface, number, score(span))


def _write_spans(documents: Iterable[Document], writer: Writer) -> None:
    table = TableWriter(writer)
    arrow = table.arrow
    scored = [("label", arrow.string()), ("score", arrow.float64())]
    bounds, ends = ([(name, arrow.int64()) for name in pair] for pair in (("start", "end"), ("head", "tail")))
    schema = arrow.schema(
        {
            "id": arrow.string(),
            "text": arrow.string(),
            "words": arrow.list_(arrow.list_(arrow.int64())),
            "entities": arrow.list_(arrow.struct([*bounds, *scored])),
            "relations": arrow.list_(arrow.struct([*ends, *scored])),
        }
    )
    values = {"label": _STRING, "score": _NUMBER}
    table.features = {
        "id": _STRING,
        "text": _STRING,
        "words": [[_INTEGER]],
        "entities": [{"start": _INTEGER, "end": _INTEGER, **values}],
        "relations": [{"head": _INTEGER, "tail": _INTEGER, **values}],
    }
    table.write(map(partial(_span_row, writer=writer), documents), schema)


def _span_row(document: Document, writer: Writer) -> dict[str, Any]:
    writer.count_dropped("metadata", bool(document.metadata))
    writer.encoded(document.text, document)
    writer.report.written += 1
    return {
        "id": document.id,
        "text": document.text,
        "words": [list(word) for word in document.words],
        "entities": [{"start": e.start, "end": e.end, "label": e.label, "score": e.score} for e in document.entities],
        "relations": [{"head": r.head, "tail": r.tail, "label": r.label, "score": r.score} for r in document.relations],
    }


def _write_tags(documents: Iterable[Document], writer: Writer) -> None:
    table = TableWriter(writer)
    arrow, classes = table.arrow, _Classes(schemes.scheme_named(writer.scheme))
    tokens, tags = arrow.list_(arrow.string()), arrow.list_(arrow.int64())
    schema = arrow.schema({"id": arrow.string(), "tokens": tokens, "ner_tags": tags})
    class_label = {"names": classes.names, "_type": "ClassLabel"}  # the names grow while rows are written
    table.features = {"id": _STRING, "tokens": [_STRING], "ner_tags": [class_label]}
    table.write((_tag_row(document, classes, writer) for document in documents), schema, streamed=False)


class _Classes:
    """The numbers of tags, in the order in which their labels occur."""

    def __init__(self, scheme: str) -> None:
        self.scheme = scheme
        self.names = ["O"]
        self._numbers = {"O": 0}

    def number(self, tag: str) -> int:
        if tag not in self._numbers:
            label = tag.partition("-")[2]
            for letter in schemes.letters(self.scheme):
                self._numbers[f"{letter}-{label}"] = len(self.names)
                self.names.append(f"{letter}-{label}")
        return self._numbers[tag]


def _tag_row(document: Document, classes: _Classes, writer: Writer) -> dict[str, Any]:
    kept = flattened(align_to_words(document, writer), writer)
    if classes.scheme == "IO":
        merged = schemes.merged_in_io(word_spans(kept))
        writer.drop_or_refuse(kept, "border between neighbors of one label", merged)
    count_spacing(kept, joiner_of(kept.word_texts), writer)
    writer.count_unsupported(kept)
    writer.report.written += 1
    tags = schemes.encode(word_spans(kept), len(kept.words), classes.scheme)
    return {"id": kept.id, "tokens": kept.word_texts, "ner_tags": [classes.number(tag) for tag in tags]}


HUGGINGFACE = Format(
    name="huggingface",
    matches=partial(_matches, tagged=False),
    read=_read_spans,
    write=_write_spans,
    needs_words=False,
    example="",
    suffixes=(PARQUET,),
    is_folder=True,
)
HUGGINGFACE_TAGS = Format(
    name="huggingface-tags",
    matches=partial(_matches, tagged=True),
    read=_read_tags,
    write=_write_tags,
    needs_words=True,
    example="",
    is_folder=True,
)

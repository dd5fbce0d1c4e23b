"""Files of other tools in forms that are not read: fields that look like labels, and the tool that writes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from spanwise.formats.fields import short_repr

EXAMPLE = '{"text": "Ann left.", "entities": [{"start": 0, "end": 3, "label": "PER"}]}'
_LABEL_FIELDS = frozenset(
    {"label", "labels", "ner_tags", "ner", "predicted_ner", "spans", "ents", "annotations", "result", "predictions"}
    | {"tokenized_text"}
)
_LABEL_COLUMNS = frozenset(
    {"label", "labels", "tag", "tags", "ner", "ner_tag", "ner_tags", "entity", "entities", "spans", "annotations"}
)
_TEXT_COLUMNS = frozenset({"text", "word", "words", "token", "tokens", "sentence", "sentence #", "sentences"})
_TAG = re.compile(r"[BIESLUM]-\S+")
_NAMES = {"CSV": "a CSV or TSV table"}
_ADVICE = {
    "Label Studio": "export it as JSON, or convert it to jsonl",
    "doccano": "export it as JSONL, or convert it to jsonl",
    "spaCy": "save it as a .spacy file, or convert it to jsonl",
    "Hugging Face datasets": "save it with save_to_disk or to_parquet, or convert it to jsonl",
    "CSV": "give it the columns text, start, end and label, or convert it to conll (one word and its tag per line, no "
    "header) or to jsonl",
}
_FORMATS = {
    "Label Studio": "label-studio",
    "doccano": "doccano",
    "Prodigy": "prodigy",
    "spaCy": "spacy",
    "CSV": "csv",
    "Hugging Face datasets": "huggingface-tags",
}  # the usual form of the tool's files


@dataclass(frozen=True)
class UnreadLabels:
    """A field of a record that looks like labels, but has no place in a document."""

    field: str
    value: Any
    tool: str | None

    @classmethod
    def of(cls, record: dict[str, Any], known: frozenset[str]) -> UnreadLabels | None:
        for field, value in record.items():
            if field not in known and _holds_labels(field, value):
                return cls(field, value, tool_of(record))
        return None

    def sentence(self) -> str:
        return (
            f"not one entity was read, but the field {short_repr(self.field)} ({short_repr(self.value)}) looks like "
            f"labels; {self._advice()}; remove the field if it is something else."
        )

    def _advice(self) -> str:
        if self.tool not in _FORMATS:
            return described(self.tool) if self.tool else _advice(None)
        named = f"read it as {_FORMATS[self.tool]!r} if its records are of that form"
        return f"this looks like {_name(self.tool)}; {named}, else {_advice(self.tool)}"


def _holds_labels(field: str, value: Any) -> bool:
    name = field.lower()
    if _is_empty(value):
        return False
    if name in _LABEL_FIELDS or (isinstance(value, list) and SequenceMatcher(None, name, "entities").ratio() > 0.8):
        return True
    return isinstance(value, list) and any(isinstance(item, str) and _TAG.fullmatch(item) for item in value)


def _is_empty(value: Any) -> bool:
    return value in (None, "", {}) or (isinstance(value, list) and all(map(_is_empty, value)))


def described(tool: str) -> str:
    """What to do with a file of this tool in a form that is not read."""
    form = "in a form that spanwise cannot read" if tool in _FORMATS else "which spanwise cannot read"
    return f"this looks like {_name(tool)}, {form}; {_advice(tool)}"


def is_read_as(tool: str, format: str) -> bool:
    """Whether the files of this tool are read in this format."""
    return format.startswith(_FORMATS.get(tool, "?"))


def _name(tool: str) -> str:
    return _NAMES.get(tool, f"a file of {tool}")


def _advice(tool: str | None) -> str:
    return f"{_ADVICE.get(tool or '', 'convert it to jsonl')} (one {EXAMPLE} per line, see docs/formats.md)"


def tool_of_file(path: Path, lines: Iterable[str], value: Any) -> str | None:
    """The tool that writes such files, by the first JSON value, the header of a table or the extension."""
    first = next((line for line in lines if line.strip()), "")
    if value is None and (path.suffix.lower() == ".csv" or is_header(re.split("[,;|\t]", first))):
        return "CSV"
    return tool_of(value)


def is_header(cells: Iterable[str]) -> bool:
    """Whether the cells of a line are the names of a column of texts and one of labels."""
    names = {cell.strip(" \"'").lower() for cell in cells}
    return bool(names & _LABEL_COLUMNS and names & _TEXT_COLUMNS)


def tool_of(value: Any) -> str | None:
    """The tool that writes such records, if it is one of those that many people use."""
    if isinstance(value, list):
        return "spaCy" if len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], dict) else None
    if not isinstance(value, dict):
        return None
    return next((tool for tool, wrote in _TOOLS.items() if wrote(value)), None)


def _label_studio(record: dict[str, Any]) -> bool:
    regions = any("labels" in item for item in _objects(record, "label", "labels"))
    tasks = "data" in record and not record.keys().isdisjoint({"annotations", "completions", "predictions"})
    return tasks or regions or "result" in record or any("result" in item for item in _objects(record, "annotations"))


def _prodigy(record: dict[str, Any]) -> bool:
    return not record.keys().isdisjoint({"spans", "_input_hash", "_task_hash"})


def _spacy(record: dict[str, Any]) -> bool:
    keys = record.keys()
    return "ents" in keys or "paragraphs" in keys or {"classes", "annotations"} <= keys or _has_rows(record, "entities")


def _doccano(record: dict[str, Any]) -> bool:
    offsets = any("start_offset" in item for item in _objects(record, "entities", "annotations"))
    return offsets or _has_rows(record, "label", "labels")


_TOOLS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "GLiNER": lambda record: "tokenized_text" in record,
    "Label Studio": _label_studio,
    "Prodigy": _prodigy,
    "spaCy": _spacy,
    "doccano": _doccano,
    "Hugging Face datasets": lambda record: "tokens" in record and not record.keys().isdisjoint({"ner_tags", "tags"}),
}


def _objects(record: dict[str, Any], *fields: str) -> list[dict[str, Any]]:
    """The objects in lists of these fields."""
    return [item for field in fields for item in _items(record, field) if isinstance(item, dict)]


def _has_rows(record: dict[str, Any], *fields: str) -> bool:
    """Whether one of these fields is a list of rows of a start, an end and a label."""
    rows = [item for field in fields for item in _items(record, field) if isinstance(item, list) and len(item) >= 3]
    return any(isinstance(row[0], int) and isinstance(row[1], int) and isinstance(row[2], str) for row in rows)


def _items(record: dict[str, Any], field: str) -> list[Any]:
    value = record.get(field)
    return value if isinstance(value, list) else []

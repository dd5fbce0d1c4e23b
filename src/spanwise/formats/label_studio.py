"""Label Studio: a JSON array (or JSON lines) of tasks: a text with annotations by people and predictions by models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

from spanwise.document import ANNOTATED, Document
from spanwise.errors import FormatError
from spanwise.formats.annotators import MAJORITY, Repeats, Version, choose
from spanwise.formats.base import Format, Probe
from spanwise.formats.events import UNTYPED
from spanwise.formats.fields import get, identifier, objects, score, short_repr, strings
from spanwise.formats.reading import Reader
from spanwise.formats.standoff import Link, Mark, Standoff
from spanwise.formats.writing import Writer, array_chunks, dumps
from spanwise.plural import counted

_LABEL, _TEXT = "label", "text"  # the names of the tags in Label Studio's own template for named entities
_REGION, _RELATION = "labels", "relation"  # types of results
_ELSEWHERE = ("hypertextlabels", "paragraphlabels", "timelinelabels")  # regions that are not in a plain text
_ANNOTATIONS = ("annotations", "completions", "predictions")
_EXPORTED = frozenset({"id", "annotation_id", "annotator", "created_at", "updated_at", "lead_time"})  # by JSON-MIN


class _Task(NamedTuple):
    """The text of a task and what else is known of it."""

    text: str
    id: str
    metadata: dict[str, Any]


def _matches(probe: Probe) -> bool:
    record = probe.record
    return record is not None and (_is_task(record) or bool(_minimal_fields(record)))


def _is_task(record: dict[str, Any]) -> bool:
    data = record.get("data")
    return isinstance(data, dict) and (_TEXT in data or not record.keys().isdisjoint(_ANNOTATIONS))


def _minimal_fields(record: dict[str, Any]) -> list[str]:
    """The fields of a record of the JSON-MIN export that hold regions."""
    lists = {key: value for key, value in record.items() if isinstance(value, list) and value}
    return [key for key, value in lists.items() if all(isinstance(item, dict) and _REGION in item for item in value)]


def _read(reader: Reader) -> Iterator[Document]:
    repeats, predicted = Repeats(reader), Counter[str]()
    parse = partial(_parse, reader=reader, repeats=repeats, predicted=predicted)
    as_lines = reader.opening() == b"{"
    yield from reader.json_line_documents(parse) if as_lines else reader.json_array_documents(parse)
    yield from repeats.majorities()
    for model, tasks in predicted.items():
        waiting = counted(tasks, "task has predictions", "tasks have predictions")
        reader.note(f"{waiting} by {short_repr(model)} but no annotation; --annotator {model} reads the predictions")


def _parse(record: dict[str, Any], reader: Reader, repeats: Repeats, predicted: Counter[str]) -> Iterator[Document]:
    if not _is_task(record):
        return _parse_minimal(record, reader, repeats)
    return _parse_task(record, reader, predicted)


def _parse_task(record: dict[str, Any], reader: Reader, predicted: Counter[str]) -> Iterator[Document]:
    annotations = objects(record, "annotations") or objects(record, "completions")
    finished = [annotation for annotation in annotations if not annotation.get("was_cancelled")]
    predictions = {identifier(p, "model_version"): p for p in objects(record, "predictions")}
    task = _task(record, [*finished, *predictions.values()])
    reader.report.drop("cancelled annotation", len(annotations) - len(finished))
    reader.report.drop("unfinished draft", len(objects(record, "drafts")))
    versions = [_version(task, a, _annotator(a, number), reader) for number, a in enumerate(finished, 1)]
    if reader.annotator in predictions:
        versions.append(_version(task, predictions[reader.annotator], reader.annotator, reader, scored=True))
    if versions or annotations or reader.annotator not in {None, MAJORITY}:
        yield from choose(versions, reader)
    else:
        predicted.update(model for model in predictions if model)
        yield Document(task.text, id=task.id, metadata={**task.metadata, ANNOTATED: []})


def _parse_minimal(record: dict[str, Any], reader: Reader, repeats: Repeats) -> Iterator[Document]:
    """A record of the JSON-MIN export: one annotation, its regions without ids, and no relations."""
    fields = _minimal_fields(record)
    regions = [region for field in fields for region in objects(record, field)]
    data = {key: value for key, value in record.items() if key not in _EXPORTED and key not in fields}
    task = _task({"id": record.get("id"), "data": data}, [])
    results = {"result": [{"type": _REGION, "value": region} for region in regions]}
    return repeats.add(_version(task, results, identifier(record, "annotator"), reader))


def _task(record: dict[str, Any], annotations: Iterable[dict[str, Any]]) -> _Task:
    data = get(record, "data", dict)
    field = _text_field(data, annotations)
    rest = {key: value for key, value in data.items() if key not in {field, "id"}}
    id = identifier(data, "id") or identifier(record, "id")
    return _Task(get(data, field, str), id, {**rest, **get(record, "meta", dict, {})})


def _text_field(data: dict[str, Any], annotations: Iterable[dict[str, Any]]) -> str:
    """The field of the data that was annotated: `text`, the name of the annotated tag, or the only string."""
    tags = (result.get("to_name") for annotation in annotations for result in objects(annotation, "result"))
    texts = [key for key, value in data.items() if isinstance(value, str) and key != "id"]
    candidates = [_TEXT, *tags, *(texts if len(texts) == 1 else [])]
    for field in candidates:
        if isinstance(field, str) and isinstance(data.get(field), str):
            return field
    raise FormatError(
        f"the data {short_repr(data)} does not tell which field is the annotated text; name that field 'text'."
    )


def _annotator(annotation: dict[str, Any], number: int) -> str:
    """The user's address or id; the place of the annotation in the task if it says neither."""
    user = annotation.get("completed_by")
    if isinstance(user, dict):
        return identifier(user, "email") or identifier(user, "id")
    return identifier(annotation, "completed_by") or f"#{number}"


def _version(
    task: _Task, annotation: dict[str, Any], annotator: str, reader: Reader, *, scored: bool = False
) -> Version:
    """The text with the results of one annotation. People are certain: only predictions keep their scores."""
    results = objects(annotation, "result")
    regions = [result for result in results if _is_region(result)]
    relations = [result for result in results if result.get("type") == _RELATION]
    for result in results:
        if result not in regions and result not in relations:
            reader.report.drop(f"Label Studio {short_repr(result.get('type'))}")
    unlabeled = sum(not get(region["value"], _REGION, list, []) for region in regions)
    reader.report.drop("region without a label", unlabeled)
    marks = [mark for number, region in enumerate(regions) for mark in _marks(region, number, scored)]
    links = [link for relation in relations for link in _links(relation, scored)]
    return Version(annotator, Standoff(task.text, marks, links).document(reader.report, task.id, task.metadata))


def _is_region(result: dict[str, Any]) -> bool:
    """Whether a result is a labeled stretch of the text. One of another kind of text is refused."""
    value, kind = result.get("value"), result.get("type")
    if kind in _ELSEWHERE or (isinstance(value, dict) and "startOffset" in value):
        raise FormatError(
            f"the task has regions of the type {short_repr(kind)}, whose offsets count inside HTML elements or "
            f"paragraphs; only tasks with a <Text> tag can be read."
        )
    return kind == _REGION and isinstance(value, dict)


def _marks(region: dict[str, Any], number: int, scored: bool) -> Iterator[Mark]:
    """A mark for each label of a region."""
    value = region["value"]
    bounds = get(value, "start", int), get(value, "end", int)
    surface = get(value, "text", str) if value.get("text") else None
    for label in strings(get(value, _REGION, list, []), "'labels'"):
        yield Mark(*bounds, label, surface, identifier(region, "id") or number, score(region) if scored else 1.0)


def _links(relation: dict[str, Any], scored: bool) -> Iterator[Link]:
    """A link for each label of a relation; one without a label is untyped."""
    ends = [identifier(relation, "from_id"), identifier(relation, "to_id")]
    head, tail = reversed(ends) if relation.get("direction") == "left" else ends
    for label in strings(get(relation, "labels", list, []), "'labels'") or [UNTYPED]:
        yield Link(head, tail, label, score(relation) if scored else 1.0)


def _encode(document: Document, writer: Writer) -> str:
    writer.count_dropped("words", bool(document.words))
    metadata = dict(document.metadata)
    waiting = not document.entities and metadata.get(ANNOTATED) == [] and writer.model_version is None
    if waiting:
        del metadata[ANNOTATED]
    task: dict[str, Any] = {"data": {_TEXT: document.text, **({"id": document.id} if document.id else {})}}
    if metadata:
        task["meta"] = metadata
    if writer.model_version is None:
        writer.count_unsupported(document, metadata=document.metadata)
        task["annotations"] = [] if waiting else [{"result": list(_results(document, scored=False))}]
    else:
        task["annotations"] = []
        task["predictions"] = [_prediction(document, writer.model_version)]
    return dumps(task, document)


def _prediction(document: Document, model_version: str) -> dict[str, Any]:
    """The annotations as those of a model; its score is the mean of those of its entities."""
    scores = [entity.score for entity in document.entities]
    mean = {"score": sum(scores) / len(scores)} if scores else {}
    return {"model_version": model_version, **mean, "result": list(_results(document, scored=True))}


def _results(document: Document, *, scored: bool) -> Iterator[dict[str, Any]]:
    for number, entity in enumerate(document.entities):
        value = {"start": entity.start, "end": entity.end, "text": document.text_of(entity), _REGION: [entity.label]}
        tags = {"from_name": _LABEL, "to_name": _TEXT, "type": _REGION}
        yield {"id": f"e{number}", **tags, "value": value, **({"score": entity.score} if scored else {})}
    for relation in document.relations:
        ends = {"from_id": f"e{relation.head}", "to_id": f"e{relation.tail}", "direction": "right"}
        yield {"type": _RELATION, **ends, "labels": [relation.label], **({"score": relation.score} if scored else {})}


def _write(documents: Iterable[Document], writer: Writer) -> None:
    writer.file(array_chunks(writer.each(documents, partial(_encode, writer=writer))))


LABEL_STUDIO = Format(
    name="label-studio",
    matches=_matches,
    read=_read,
    write=_write,
    needs_words=False,
    example='{"data": {"text": "Ann left."}, "annotations": [{"result": [{"type": "labels", "value": '
    '{"start": 0, "end": 3, "text": "Ann", "labels": ["PER"]}}]}]}',
    holds_annotators=True,
    holds_predictions=True,
)

"""What requests and answers look like, for validation and for the OpenAPI description."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model, model_validator
from starlette.responses import Response

from spanwise.document import Document, Entity
from spanwise.inference.extractor import Extractor
from spanwise.inference.inputs import from_words, with_entities
from spanwise.serve.batcher import Options, frozen
from spanwise.serve.refusals import json_response
from spanwise.serve.settings import Settings

Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
INPUTS = ("text", "texts", "words")
ANSWER: dict[str, Any] = {
    "documents": [
        {
            "text": "Mara met Bo.",
            "words": [[0, 4], [5, 8], [9, 11], [11, 12]],
            "entities": [{"start": 0, "end": 4, "label": "Person", "score": 0.98}],
            "relations": [],
        }
    ]
}


class GivenEntity(BaseModel):
    """An entity that the caller knows, with a label of the model; offsets are code points, half-open."""

    model_config = ConfigDict(extra="forbid")
    start: Annotated[int, Field(ge=0)]
    end: Annotated[int, Field(ge=1)]
    label: str


class Request(BaseModel):
    """Texts and what to look for in them; `request_model` adds the fields with the limits of the service."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="after")
    def _check_fields(self) -> Request:
        if sum(self._get(name) is not None for name in INPUTS) != 1:
            raise ValueError("give exactly one of text, texts and words")
        if self._get("entities") is not None:
            if self._get("text") is None:
                raise ValueError("entities go with text")
            if self._get("labels") is not None or self._get("threshold") is not None:
                raise ValueError("entities are kept as given; leave labels and threshold out")
        return self

    def _get(self, name: str) -> Any:
        return getattr(self, name, None)

    def documents(self) -> list[Document]:
        """The texts to read, with the entities that the caller gave."""
        if (words := self._get("words")) is not None:
            made = from_words(words)
            return made if isinstance(made, list) else [made]
        if (entities := self._get("entities")) is not None:
            return [with_entities(self._get("text"), [Entity(e.start, e.end, e.label) for e in entities])]
        texts = self._get("texts")
        return [Document(text) for text in ([self._get("text")] if texts is None else texts)]

    def options(self) -> Options:
        labels, relations = self._described("labels"), self._described("relations")
        thresholds = frozen(self._get("threshold")), frozen(self._get("relation_threshold"))
        return Options(labels, *thresholds, given_entities=self._get("entities") is not None, relations=relations)

    def _described(self, field: str) -> tuple[tuple[str, str], ...] | None:
        """Each label with its description, or with its name if it has none."""
        labels = self._get(field)
        if isinstance(labels, list):
            labels = dict.fromkeys(labels, "")
        return tuple((name, text.strip() or name) for name, text in labels.items()) if labels else None


def request_model(extractor: Extractor, settings: Settings) -> type[Request]:
    """The request that this model takes: labels only if they are open, entities only if it finds relations."""
    traits, schema = extractor.pipeline.reader.traits, extractor.schema
    text = Annotated[str, Field(max_length=settings.max_characters)]
    word = Annotated[str, Field(min_length=1, max_length=settings.max_characters, pattern=r"\S")]
    most_words = (settings.max_characters + 1) // 2  # each has a character and, but for the last, a space
    words = Annotated[list[word], Field(max_length=most_words)]  # type: ignore[valid-type]
    several = Field(min_length=1, max_length=settings.max_texts)
    either = words | Annotated[list[words], several]  # type: ignore[valid-type]
    probability = Annotated[float, Field(ge=settings.min_threshold, le=1, allow_inf_nan=False)]
    fields: dict[str, Any] = {
        "text": _optional(text, "One text."),
        "texts": _optional(Annotated[list[text], several], "Texts; the answer keeps their order."),  # type: ignore[valid-type]
        "words": _optional(either, "The words of one text that is already split, or of several: a list per text."),
        "threshold": _optional(
            _threshold(probability, schema.entity_names, traits.open_labels),
            "Lowest probability of an entity, for all labels or by label.",
        ),
        "relation_threshold": _optional(
            _threshold(probability, schema.relation_names, traits.open_relations),
            "Lowest probability of a relation, for all labels or by label.",
        ),
    }
    if traits.relations:
        label: Any = Literal[tuple(schema.entity_names)]  # type: ignore[valid-type]
        known = create_model("KnownEntity", __base__=GivenEntity, label=(label, ...))
        entities = Annotated[list[known], Field(max_length=settings.max_entities)]  # type: ignore[valid-type]
        fields["entities"] = _optional(entities, "Known entities of `text`; only relations between them are sought.")
    if traits.open_labels:
        fields["labels"] = _optional(
            _labels(settings), "Labels to predict instead of the model's, by name or with descriptions."
        )
    if traits.open_relations:
        fields["relations"] = _optional(
            _labels(settings), "Relations to predict instead of the model's, as labels are."
        )
    return create_model("ExtractRequest", __base__=Request, **fields)


def _optional(kind: Any, description: str) -> Any:
    return (kind, Field(default=None, description=description))


def _labels(settings: Settings) -> Any:
    """A list of names, or names with descriptions; the name describes a label that has no other description."""
    name = Annotated[str, Field(min_length=1, max_length=settings.max_label_characters, pattern=r"\S")]
    text = Annotated[str, Field(max_length=settings.max_label_characters)]
    most = settings.max_labels
    names = Annotated[
        list[name],
        Field(min_length=1, max_length=most, json_schema_extra={"uniqueItems": True}),
        AfterValidator(_distinct),
    ]  # type: ignore[valid-type]
    return names | Annotated[dict[name, text], Field(min_length=1, max_length=most)]  # type: ignore[valid-type]


def _distinct(names: list[str]) -> list[str]:
    if len(set(names)) < len(names):
        raise ValueError("a label occurs twice")
    return names


def _threshold(probability: Any, names: Sequence[str], any_label: bool) -> Any:
    """One number, or a number by label; the description lists the labels that a model has."""
    if not names and not any_label:
        return probability
    limits = Field(json_schema_extra={} if any_label else {"propertyNames": {"enum": [*names]}})
    return probability | Annotated[dict[str, probability], limits]


def request_schema(model: type[Request]) -> dict[str, Any]:
    """The JSON schema of a request; a field that is left out has no default value to send."""
    schema = model.model_json_schema()
    definitions = schema.pop("$defs", {})
    for field in schema["properties"].values():
        field.pop("default", None)
    schema["oneOf"] = [{"required": [name]} for name in INPUTS]
    if "entities" in schema["properties"]:
        (schema["properties"]["entities"]["items"],) = definitions.values()
        alone = {"not": {"anyOf": [{"required": [name]} for name in ("labels", "threshold")]}, "required": ["text"]}
        schema["dependentSchemas"] = {"entities": alone}
    return schema


class EntityMessage(BaseModel):
    """Offsets are code points, half-open."""

    start: int
    end: int
    label: str
    score: Probability


class RelationMessage(BaseModel):
    """Head and tail are indices into the entities."""

    head: int
    tail: int
    label: str
    score: Probability


class DocumentMessage(BaseModel):
    """A document as `spanwise predict` writes it; `words` are the offsets of its words."""

    text: str
    words: list[tuple[int, int]] = []
    entities: list[EntityMessage]
    relations: list[RelationMessage]


class ExtractResponse(BaseModel):
    """One document per text, in order."""

    model_config = ConfigDict(json_schema_extra={"example": ANSWER})
    documents: list[DocumentMessage]


class EntityTypeMessage(BaseModel):
    name: str
    description: str


class RelationTypeMessage(EntityTypeMessage):
    """Without head types, an entity of any type can be the head; the same holds for the tail."""

    symmetric: bool
    head_types: list[str]
    tail_types: list[str]


class LimitsMessage(BaseModel):
    """Characters of a text, texts of a request, bytes of a body."""

    characters: int
    texts: int
    body: int


class SchemaResponse(BaseModel):
    """What the model looks for and what the service accepts; not every model predicts the relations of its schema."""

    model: str
    entities: list[EntityTypeMessage]
    relations: list[RelationTypeMessage]
    open_labels: bool
    open_relations: bool
    predicts_relations: bool
    limits: LimitsMessage
    version: str


class Problem(BaseModel):
    code: str
    message: str


class ErrorResponse(BaseModel):
    """Every error has this shape."""

    error: Problem


def answer(documents: Sequence[Document]) -> Response:
    return json_response({"documents": [_document(document) for document in documents]})


def _document(document: Document) -> dict[str, Any]:
    """The document as JSON values; here every score is written."""
    message = document.to_dict()
    for kind in ("entities", "relations"):
        for row in message[kind]:
            row.setdefault("score", 1.0)
    return message

"""What requests and answers look like, for validation and for the OpenAPI description."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator

from spanwise.document import Document
from spanwise.inference.extractor import Extractor
from spanwise.serve.batcher import Options, frozen
from spanwise.serve.settings import Settings

Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Request(BaseModel):
    """One text or several; the fields are those of `request_model`."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="after")
    def _one_of_text_and_texts(self) -> Request:
        if (self._get("text") is None) == (self._get("texts") is None):
            raise ValueError("give either text or texts")
        return self

    def _get(self, name: str) -> Any:
        return getattr(self, name, None)

    def all_texts(self) -> list[str]:
        text = self._get("text")
        return [text] if text is not None else list(self._get("texts"))

    def options(self) -> Options:
        labels = self._get("labels")
        if isinstance(labels, list):
            labels = {label: label for label in labels}
        return Options(
            tuple(labels.items()) if labels else None,
            frozen(self._get("threshold")),
            frozen(self._get("relation_threshold")),
        )


def request_model(extractor: Extractor, settings: Settings) -> type[Request]:
    """The request that this model takes: labels only if they are open, thresholds of the labels that it has."""
    text = Annotated[str, Field(max_length=settings.max_characters)]
    texts = Annotated[list[text], Field(min_length=1, max_length=settings.max_texts)]  # type: ignore[valid-type]
    fields: dict[str, Any] = {
        "text": (text, Field(default=None, description="One text.")),
        "texts": (texts, Field(default=None, description="Several texts; the answer keeps their order.")),
        "threshold": _threshold("an entity", extractor.schema.entity_names, is_open(extractor)),
        "relation_threshold": _threshold("a relation", extractor.schema.relation_names, False),
    }
    if is_open(extractor):
        name = Annotated[str, Field(min_length=1, max_length=settings.max_label_characters, pattern=r"\S")]
        limits = Field(min_length=1, max_length=settings.max_labels)
        kind = Annotated[list[name], limits] | Annotated[dict[name, name], limits]  # type: ignore[valid-type]
        fields["labels"] = (
            kind,
            Field(default=None, description="Labels to predict instead of the model's, by name or with descriptions."),
        )
    return create_model("ExtractRequest", __base__=Request, **fields)


def _threshold(what: str, names: Sequence[str], any_label: bool) -> Any:
    limits = Field(json_schema_extra={} if any_label else {"propertyNames": {"enum": [*names]}})
    kind: Any = Probability | Annotated[dict[str, Probability], limits]
    if not any_label and not names:
        kind = Probability
    return (kind, Field(default=None, description=f"Lowest probability of {what}, for all labels or by label."))


def request_schema(model: type[Request]) -> dict[str, Any]:
    """The JSON schema of a request; a field that is left out has no default value to send."""
    schema = model.model_json_schema()
    for field in schema["properties"].values():
        field.pop("default", None)
    return {**schema, "oneOf": [{"required": ["text"]}, {"required": ["texts"]}]}


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
    """A document as `spanwise predict` writes it."""

    text: str
    words: list[list[int]] = []
    entities: list[EntityMessage]
    relations: list[RelationMessage]


class ExtractResponse(BaseModel):
    """One document per text, in order."""

    documents: list[DocumentMessage]


class LabelMessage(BaseModel):
    name: str
    description: str


class SchemaResponse(BaseModel):
    """What the model looks for and what the service accepts."""

    model: str
    entities: list[LabelMessage]
    relations: list[LabelMessage]
    open_labels: bool
    limits: dict[str, int]
    version: str


class Problem(BaseModel):
    code: str
    message: str


class ErrorResponse(BaseModel):
    """Every error has this shape."""

    error: Problem


def document_message(document: Document) -> dict[str, Any]:
    """The document as JSON values; here every score is written."""
    message = document.to_dict()
    for kind in ("entities", "relations"):
        for row in message[kind]:
            row.setdefault("score", 1.0)
    return message


def is_open(extractor: Extractor) -> bool:
    return extractor.pipeline.reader.traits.open_labels

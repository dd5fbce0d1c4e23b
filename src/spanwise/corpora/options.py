"""The data section of a recipe: which documents a run is trained and scored on, and what their labels mean."""

from __future__ import annotations

from pathlib import Path
from types import NoneType
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from spanwise.corpora.yaml_files import first_problem, read_yaml
from spanwise.errors import RecipeError

_SECTIONS = "descriptions are a mapping with the sections entities and relations"


class Descriptions(BaseModel):
    """What labels mean, in words."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    entities: dict[str, str] = {}
    relations: dict[str, str] = {}

    @classmethod
    def load(cls, path: Path | str) -> Descriptions:
        """From a YAML file with the sections `entities` and `relations`, label by label."""
        content = read_yaml(Path(path)) or {}
        if not isinstance(content, dict):
            raise RecipeError(f"{path}: {_SECTIONS}.")
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            raise RecipeError(f"{path}: {first_problem(error)}") from None


class DataOptions(BaseModel):
    """A named corpus or the user's own files, and which part of it a run uses."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    corpus: str | None = None
    train: tuple[Path, ...] = ()
    dev: tuple[Path, ...] = ()
    test: tuple[Path, ...] = ()
    format: str | None = None
    scheme: str | None = None
    skip_bad: bool = False
    overlaps: Literal["refuse", "outermost"] = "refuse"  # what a flat model does with nested training entities
    train_on: tuple[str, ...] = ("train",)  # splits; with dev among them, the last epoch is kept, not the best on dev
    heads: bool = False  # train and score on the entities' head regions, where they are marked
    descriptions: Descriptions | Path | None = None  # of the labels; None: descriptions.yaml beside the train files
    description_sentences: int | None = Field(None, ge=1)  # number of sentences kept of each description; None: all
    sample: int | None = Field(None, ge=1)  # train on this many documents, the same ones for every seed
    shots: int | None = Field(None, ge=1)  # few-shot: train on this many documents per label, drawn by the seed
    leave_out: tuple[str, ...] = ()  # entity types that training does not see

    @field_validator("descriptions", mode="before")
    @classmethod
    def _texts_or_file(cls, value: object) -> Descriptions | Path | None:
        if isinstance(value, (str, Path)):
            return Path(value)
        if not isinstance(value, (dict, Descriptions, NoneType)):
            raise ValueError(f"{_SECTIONS}, or the path of a file that holds it")
        try:
            return None if value is None else Descriptions.model_validate(value)
        except ValidationError as error:
            raise ValueError(first_problem(error).rstrip(".")) from None

    @field_validator("train", "dev", "test", mode="before")
    @classmethod
    def _one_file(cls, value: object) -> object:
        return [value] if isinstance(value, (str, Path)) else value

    @model_validator(mode="after")
    def _one_source(self) -> DataOptions:
        if self.corpus is not None and self.train:
            raise ValueError("give either `corpus` or `train` files")
        return self

"""The data section of a recipe: which documents a run is trained and scored on, and what their labels mean."""

from __future__ import annotations

from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from spanwise.corpora.yaml_files import MAX_NAME, first_error, read_yaml
from spanwise.errors import RecipeError

# options that a recipe gives once for all of its corpora
SHARED = ("dev_share", "format", "scheme", "tag_columns", "skip_bad", "heads", "sample", "sample_dev")
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
            raise RecipeError(f"{path}: {first_error(error, cls)}") from None


class DataOptions(BaseModel):
    """A named corpus or the user's own files, and which part of it a run uses."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_max_length=MAX_NAME)

    corpus: str | None = Field(None, description="named corpus (see `spanwise corpora`), instead of files")
    train: tuple[Path, ...] = Field((), description="training files, relative to the recipe")
    dev: tuple[Path, ...] = Field((), description="files on which the best epoch is chosen")
    test: tuple[Path, ...] = Field((), description="files to score the finished model on")
    dev_share: float | None = Field(
        None,
        gt=0,
        le=0.5,
        description="share of the training documents to split off as dev, where there is no dev data",
    )
    format: str | None = Field(None, description="format of the files; null: detected")
    scheme: str | None = Field(None, description="tag scheme of CoNLL files; null: detected")
    tag_columns: tuple[Annotated[int, Field(ge=2, le=1000)], ...] = Field(
        (), description="columns of CoNLL files that hold tags, counted from 1 (the word); `[]`: the last"
    )
    annotator: str | None = Field(
        None,
        description="of texts with several annotators: the name of one, or `majority`; null: such texts are refused",
    )
    skip_bad: bool = Field(False, description="skip bad records with a warning instead of stopping")
    overlaps: Literal["refuse", "outermost"] = Field(
        "refuse",
        description="what a flat model does with nested training entities: `refuse`, or train on the `outermost`",
    )
    train_on: tuple[str, ...] = Field(
        ("train",), description="splits to train on; with `dev` among them, the last epoch is kept instead of the best"
    )
    heads: bool = Field(False, description="train and score on head regions, where the data marks them (ACE)")
    descriptions: Descriptions | Path | None = Field(
        None, description="label descriptions, or a file of them; null: `descriptions.yaml` beside the training files"
    )
    description_sentences: int | None = Field(
        None, ge=1, le=10_000, description="sentences kept of each description; null: all"
    )
    sample: int | None = Field(
        None, ge=1, le=1_000_000_000, description="train on N documents, the same ones for every seed"
    )
    sample_dev: int | None = Field(
        None, ge=1, le=1_000_000_000, description="choose the best epoch on N dev documents, the same for every seed"
    )
    shots: int | None = Field(
        None, ge=1, le=1_000_000_000, description="train on N documents per label, sampled with train.seed"
    )
    leave_out: tuple[str, ...] = Field((), description="entity types to hide from training")
    corpora: tuple[DataOptions, ...] = Field(
        (),
        description="several corpora at once, each with its own labels and the options of this section",
    )
    temperature: float = Field(
        0.5, ge=0, le=1, description="with several corpora, one is drawn by its size to the power of this"
    )

    @model_validator(mode="before")
    @classmethod
    def _share_options(cls, data: Any) -> Any:
        """Give the options that stand beside `corpora` to every corpus that does not set them."""
        if not isinstance(data, dict) or not isinstance(data.get("corpora"), (list, tuple)):
            return data
        shared = {key: data[key] for key in SHARED if key in data}
        return {**data, "corpora": [{**shared, **c} if isinstance(c, dict) else c for c in data["corpora"]]}

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
            raise ValueError(first_error(error, Descriptions).rstrip(".")) from None

    @field_validator("train", "dev", "test", mode="before")
    @classmethod
    def _one_file(cls, value: object) -> object:
        return [value] if isinstance(value, (str, Path)) else [] if value is None else value

    @model_validator(mode="after")
    def _one_source(self) -> DataOptions:
        if self.corpus is not None and (self.train or self.dev or self.test):
            raise ValueError("give either `corpus` or files (`train`, `dev`, `test`)")
        if self.corpora and (self.corpus is not None or self.train or self.dev or self.test):
            raise ValueError("give `corpora`, or one corpus or files; put these into the list as well")
        if any(part.corpora for part in self.corpora):
            raise ValueError("`corpora` holds corpora, no further lists of them")
        return self

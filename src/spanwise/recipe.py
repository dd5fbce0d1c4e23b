"""The validated recipe: encoder, model, data, training and evaluation in one YAML file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import NoneType
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from spanwise.encoders import EncoderConfig
from spanwise.errors import RecipeError
from spanwise.models.base import ModelConfig
from spanwise.models.registry import find

RECIPES = Path(__file__).parent / "recipes"


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ModelSection(BaseModel):
    """A model by name; every other key is one of the model's own options."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str

    def config(self) -> ModelConfig:
        try:
            return find(self.name).Config(**(self.model_extra or {}))
        except ValidationError as error:
            raise RecipeError(f"{self.name}: {_first_problem(error)}") from None


class BundleSection(ModelSection):
    """The partner that a model is bundled with; `alpha` weighs the tagger's loss (BL-NER eq. 19)."""

    alpha: float = Field(0.1, ge=0, le=1)


_SECTIONS = "descriptions are a mapping with the sections entities and relations"


class Descriptions(_Section):
    """What labels mean, in words."""

    entities: dict[str, str] = {}
    relations: dict[str, str] = {}

    @classmethod
    def load(cls, path: Path | str) -> Descriptions:
        """From a YAML file with the sections `entities` and `relations`, label by label."""
        content = _read_yaml(Path(path)) or {}
        if not isinstance(content, dict):
            raise RecipeError(f"{path}: {_SECTIONS}.")
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            raise RecipeError(f"{path}: {_first_problem(error)}") from None


class DataSection(_Section):
    """A named corpus, or files of one's own."""

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
    description_sentences: int | None = Field(None, ge=1)  # how many of each are read, from the first; None: all
    sample: int | None = Field(None, ge=1)  # train on so many documents, the same ones whatever the seed
    shots: int | None = Field(None, ge=1)  # few-shot: train on so many documents for each label, drawn by the seed
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
            raise ValueError(_first_problem(error).rstrip(".")) from None

    @field_validator("train", "dev", "test", mode="before")
    @classmethod
    def _one_file(cls, value: object) -> object:
        return [value] if isinstance(value, (str, Path)) else value

    @model_validator(mode="after")
    def _one_source(self) -> DataSection:
        if (self.corpus is None) == (not self.train):
            raise ValueError("give either `corpus` or `train` files")
        return self


class TrainSection(_Section):
    epochs: int = Field(10, ge=1)
    batch_size: int = Field(16, ge=1)
    accumulate: int = Field(1, ge=1)
    encoder_lr: float = Field(2e-4, gt=0)
    task_lr: float = Field(1e-3, gt=0)
    weight_decay: float = Field(0.01, ge=0)
    warmup: float = Field(0.1, ge=0, lt=1)
    clip: float = Field(1.0, gt=0)
    patience: int | None = Field(None, ge=1)  # epochs without a better dev F1 before training stops
    seed: int = Field(1, ge=0)
    precision: Literal["fp32", "bf16"] = "fp32"
    checkpoint_steps: int | None = Field(None, ge=1)  # between checkpoints, besides one after every epoch
    tensorboard: bool = False


class EvaluationSection(_Section):
    token_budget: int = Field(4096, ge=64)  # word pieces of one batch on dev, padding included
    threshold: float = Field(0.0, ge=0, le=1)  # the least probability of an entity, kept with the model


class Recipe(_Section):
    """All that a training run is made from."""

    encoder: EncoderConfig = EncoderConfig()
    model: ModelSection
    bundle: BundleSection | None = None
    data: DataSection
    train: TrainSection = TrainSection()
    evaluation: EvaluationSection = EvaluationSection()

    @model_validator(mode="after")
    def _known_options(self) -> Recipe:
        self.model.config()
        if self.bundle is not None:
            self.bundle.config()
            if find(self.model.name).can.tagger == find(self.bundle.name).can.tagger:
                pair = f"{self.model.name!r} cannot be bundled with {self.bundle.name!r}"
                raise RecipeError(f"{pair}; bundle a span model with a tagger.")
        return self

    @classmethod
    def load(cls, path: Path | str, overrides: Iterable[str] = ()) -> Recipe:
        """Read a recipe file; overrides are `dotted.key=value` with YAML values."""
        path, overrides = Path(path), tuple(overrides)
        data = _read_yaml(path)
        if not isinstance(data, dict):
            raise RecipeError(f"{path}: a recipe is a mapping with the sections {', '.join(cls.model_fields)}.")
        recipe = cls.parse(override(data, overrides), str(path))
        return recipe.model_copy(update={"data": _anchored(recipe.data, path.parent, overrides)})

    @classmethod
    def parse(cls, data: dict[str, Any], where: str = "recipe") -> Recipe:
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise RecipeError(f"{where}: {_first_problem(error)}") from None
        except RecipeError as error:  # of the model's own options
            raise RecipeError(f"{where}: {error}") from None

    def dump(self) -> str:
        """The recipe as YAML, every option written out."""
        return yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False, allow_unicode=True)


def find_recipe(name: Path | str) -> Path:
    """A recipe file, or the shipped recipe of this name."""
    path = Path(name)
    if path.is_file():
        return path
    shipped = RECIPES / f"{path.name.removesuffix('.yaml')}.yaml"
    if len(path.parts) == 1 and shipped.exists():
        return shipped
    if path.exists():  # a folder: what reads it says so
        return path
    known = ", ".join(sorted(file.stem for file in RECIPES.glob("*.yaml")))
    raise RecipeError(f"there is no recipe file {str(name)!r}; write one with `spanwise init`, or take one of {known}.")


def override(data: dict[str, Any], assignments: Iterable[str]) -> dict[str, Any]:
    """The data with `dotted.key=value` assignments applied."""
    result: dict[str, Any] = _copied(data)
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals or not key:
            raise RecipeError(f"--set takes key=value, as in --set train.seed=2, not {assignment!r}.")
        *sections, last = key.split(".")
        target = result
        for section in sections:
            target = target.setdefault(section, {}) if target.get(section) is not None else _new(target, section)
            if not isinstance(target, dict):
                raise RecipeError(f"--set {key}: {section!r} is a value and has no keys.")
        try:
            target[last] = yaml.safe_load(value)
        except (yaml.YAMLError, ValueError, RecursionError):
            raise RecipeError(f"--set {key}: {value!r:.60} is not a YAML value.") from None
    return result


def _new(target: dict[str, Any], section: str) -> dict[str, Any]:
    target[section] = {}
    return target[section]  # type: ignore[no-any-return]


def _copied(data: Any) -> Any:
    """A copy without shared or self-referring parts."""
    if isinstance(data, dict):
        return {key: _copied(value) for key, value in data.items()}
    return [_copied(value) for value in data] if isinstance(data, list) else data


def _anchored(data: DataSection, base: Path, overrides: Iterable[str]) -> DataSection:
    """Files are relative to the recipe that names them; those of an override to where the user stands."""
    typed = {assignment.partition("=")[0] for assignment in overrides}
    places = {
        split: Path.cwd() if {"data", f"data.{split}"} & typed else base.absolute()
        for split in ("train", "dev", "test")
    }
    anchored: dict[str, Any] = {
        split: tuple(place / path for path in getattr(data, split)) for split, place in places.items()
    }
    if isinstance(data.descriptions, Path):
        at = Path.cwd() if {"data", "data.descriptions"} & typed else base.absolute()
        anchored["descriptions"] = at / data.descriptions
    return data.model_copy(update=anchored)


def _read_yaml(path: Path) -> Any:
    try:
        return _copied(yaml.safe_load(path.read_text(encoding="utf-8")))
    except yaml.YAMLError as error:
        place = getattr(error, "problem_mark", None)
        line = f":{place.line + 1}" if place else ""
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise RecipeError(f"{path}{line}: this is not YAML ({problem}); correct it.") from None
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise RecipeError(f"{path}: byte 0x{byte:02x} is not UTF-8; save the recipe as UTF-8.") from None
    except (ValueError, RecursionError) as error:  # a date that is none, an anchor inside itself
        raise RecipeError(f"{path}: this YAML cannot be read ({error}); correct it.") from None


def _first_problem(error: ValidationError) -> str:
    """The first of what is wrong, in words."""
    first = error.errors()[0]
    key = ".".join(map(str, first["loc"])) or "recipe"
    known = {
        "extra_forbidden": "there is no such key",
        "missing": "this key is required",
        "value_error": first["msg"].removeprefix("Value error, "),
    }
    problem = known.get(first["type"]) or f"{first['msg']}, not {first['input']!r:.60}"
    more = f" ({error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return f"{key}: {problem}{more}."

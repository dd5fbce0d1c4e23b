"""The sections of a recipe and the recipe itself."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializationInfo,
    SerializeAsAny,
    ValidationError,
    field_validator,
    model_serializer,
    model_validator,
)

from spanwise.corpora.options import DataOptions
from spanwise.corpora.yaml_files import MAX_NAME, first_error
from spanwise.errors import RecipeError
from spanwise.recipe.parsing import anchored, read_recipe, validated
from spanwise.renamed import upgrade_keys
from spanwise.seam.config import ModelConfig
from spanwise.seam.registry import find_model


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, str_max_length=MAX_NAME, allow_inf_nan=False)


class EncoderConfig(_Section):
    """Which encoder, and how word vectors are made from it."""

    name: str = Field(
        "minilm", description="`minilm` (a wheel), a folder, a folder in $SPANWISE_ENCODERS, or a hub name"
    )
    layers: tuple[Annotated[int, Field(ge=0, le=1_000)], ...] | None = Field(
        None,
        min_length=1,
        max_length=1_000,
        description="layers of the encoder to keep, counted from 0, such as [0, 2, 5]: faster; null: all",
    )
    pooling: Literal["max", "first", "mean"] = Field(
        "max", description="word vectors from word pieces: `max`, `first` or `mean`"
    )
    word_shapes: bool = Field(
        True, description="add a learned vector for the word's shape (lower, Title, UPPER, digits)"
    )
    freeze_embeddings: bool = Field(False, description="do not train the word-piece embeddings; faster on CPU")
    adapter: Literal["lora"] | None = Field(
        None, description="`lora`: train and store an adapter instead of the encoder's weights; null: train them all"
    )
    lora_rank: int = Field(8, ge=1, le=1_024, description="rank of the adapter's matrices")
    lora_alpha: float = Field(16, gt=0, le=100_000, description="the adapter is scaled by lora_alpha / lora_rank")
    lora_targets: tuple[str, ...] = Field(
        (), max_length=1_000, description="linear layers with an adapter, such as [query, value]; `[]`: all"
    )
    lora_dropout: float = Field(0.0, ge=0, lt=1, description="dropout before the adapter")
    dropout: float | None = Field(
        None, ge=0, lt=1, description="dropout inside the encoder; null: its own; 0 is faster, for much training data"
    )
    gradient_checkpointing: bool = Field(
        False, description="recompute the encoder's activations in the backward pass: less memory, a third more time"
    )
    window: Literal["text", "sentence"] = Field(
        "text", description="text of one window: as much as fits (`text`) or one `sentence`"
    )
    max_pieces: int | None = Field(
        None, ge=64, le=1_000_000, description="word pieces of one window; null: the encoder's limit"
    )
    pieces_per_word: int = Field(16, ge=1, le=32, description="word pieces of one word; longer words are truncated")
    overlap: int = Field(
        64, ge=0, le=100_000, description="word pieces shared by neighboring windows, at most a quarter of a window"
    )

    @field_validator("layers")
    @classmethod
    def _ascending(cls, layers: tuple[int, ...] | None) -> tuple[int, ...] | None:
        if layers is not None and sorted(set(layers)) != list(layers):
            raise ValueError(f"give each layer once, in ascending order: {sorted(set(layers))}")
        return layers


class ModelSection(_Section):
    """A model by name with its validated options; written as a flat mapping such as `{name: seq-ner, tagging: crf}`."""

    name: str
    config: SerializeAsAny[ModelConfig]

    @model_validator(mode="before")
    @classmethod
    def _from_flat(cls, data: Any) -> Any:
        """Validate what is not a key of the section as the model's own options."""
        if not isinstance(data, dict) or isinstance(data.get("config"), ModelConfig):
            return data
        keys = [key for key in cls.model_fields if key != "config"]
        own = {key: data[key] for key in keys if key in data}
        options = {key: value for key, value in data.items() if key not in own}
        return {**own, "config": _model_config(own.get("name"), options, keys)}

    @model_serializer
    def _flat(self, info: SerializationInfo) -> dict[str, Any]:
        own = {key: getattr(self, key) for key in type(self).model_fields if key != "config"}
        return {**own, **self.config.model_dump(mode=info.mode)}


def _model_config(name: object, options: dict[str, Any], beside: Iterable[str]) -> ModelConfig:
    """The options of a model, which are written beside the keys of its section.

    Without a name there is nothing to check them against, which the section reports.
    """
    if not isinstance(name, str):
        return ModelConfig()
    kind = find_model(name).Config
    try:
        return kind(**options)
    except ValidationError as error:
        raise RecipeError(f"{name}: {first_error(error, kind, beside)}") from None


class BundleSection(ModelSection):
    """The partner that a model is bundled with; `alpha` weighs the tagger's loss (BL-NER eq. 19)."""

    alpha: float = Field(
        0.1, ge=0, le=1, description="weight of the tagger's loss; the span model gets 1 - alpha (BL-NER eq. 19)"
    )


class LabelSampling(_Section):
    """Which labels a training batch asks for, and how each is worded."""

    per_batch: int = Field(30, ge=1, le=10_000, description="labels per batch at most; those without gold are sampled")
    names: float = Field(0.65, ge=0, le=1, description="share of the batches that give labels by name alone")
    descriptions: float = Field(
        0.2,
        ge=0,
        le=1,
        description="share that gives them by description alone; the rest gives `name: description`",
    )


class TrainSection(_Section):
    """How long and how fast a model learns."""

    epochs: int = Field(10, ge=1, le=10_000, description="passes over the training data")
    batch_size: int = Field(
        16, ge=1, le=65_536, description="sentences per batch; a window of a long document counts as several"
    )
    accumulate: int = Field(1, ge=1, le=1_024, description="batches per optimizer step")
    encoder_lr: float = Field(2e-4, gt=0, le=10, description="learning rate of the pretrained encoder")
    task_lr: float = Field(1e-3, gt=0, le=10, description="learning rate of the new layers")
    weight_decay: float = Field(0.01, ge=0, le=100, description="weight decay; none on biases and norms")
    warmup: float = Field(0.1, ge=0, lt=1, description="share of the steps with a rising rate; then linear decay")
    final_lr: float = Field(
        0.0, ge=0, le=1, description="share of the learning rates that is left after the last step, to train on from"
    )
    clip: float = Field(1.0, gt=0, le=1e9, description="largest norm of the gradient")
    patience: int | None = Field(
        None, ge=1, le=10_000, description="epochs without a better dev F1 before training stops"
    )
    start: str | None = Field(
        None,
        description="trained model whose weights training starts from: a folder, or `general`; null: none",
    )
    seed: int = Field(1, ge=0, lt=2**63, description="seed of everything random; the same seed gives the same model")
    precision: Literal["fp32", "bf16"] = Field(
        "fp32", description="`fp32` or `bf16`; bf16 falls back to fp32 with a warning"
    )
    checkpoint_steps: int | None = Field(
        None, ge=1, le=1_000_000_000, description="steps between checkpoints, besides one after every epoch"
    )
    checkpoint_minutes: float | None = Field(
        5, gt=0, le=100_000, description="minutes between checkpoints, written after a step; null: none by time"
    )
    tracker: Literal["tensorboard", "mlflow", "wandb"] | None = Field(
        None, description="record curves with `tensorboard`, `mlflow` or `wandb` (an extra of that name)"
    )
    labels: LabelSampling | None = Field(
        None,
        description="labels sampled per batch: `per_batch`, `names`, `descriptions`; null: all of a single corpus",
    )
    epoch_batches: int | None = Field(
        None, ge=1, le=1_000_000_000, description="with several corpora, batches per epoch; null: as many as they have"
    )


class EvaluationSection(_Section):
    """How dev data is read during training, and the threshold that is stored with the model."""

    token_budget: int = Field(
        4096, ge=64, le=10_000_000, description="word pieces of one batch on dev, padding included"
    )
    threshold: float | None = Field(
        None,
        gt=0,
        le=1,
        description="lowest probability of a predicted entity, stored with the model; null: the model's own",
    )


class Recipe(_Section):
    """All that a training run is made from. Recipes are compared by value."""

    encoder: EncoderConfig = EncoderConfig()
    model: ModelSection
    bundle: BundleSection | None = None
    data: DataOptions = DataOptions()
    train: TrainSection = TrainSection()
    evaluation: EvaluationSection = EvaluationSection()

    @model_validator(mode="after")
    def _one_tagger(self) -> Recipe:
        if self.bundle is None or self.model.config.traits().tagger != self.bundle.config.traits().tagger:
            return self
        pair = f"{self.model.name!r} cannot be bundled with {self.bundle.name!r}"
        raise RecipeError(f"{pair}; bundle a span model with a tagger.")

    @classmethod
    def load(cls, path: Path | str, overrides: Iterable[str] = ()) -> Recipe:
        """Read a recipe file; overrides are `dotted.key=value` with YAML values."""
        path, overrides = Path(path), tuple(overrides)
        recipe = cls.parse(read_recipe(path, overrides, cls.model_fields), str(path))
        return recipe.model_copy(update={"data": anchored(recipe.data, path.parent, overrides)})

    @classmethod
    def parse(cls, data: dict[str, Any], where: str = "recipe", *, warns: bool = True) -> Recipe:
        """A recipe from its sections, also from those that an earlier version wrote; `where` begins every error."""
        return validated(cls, upgrade_keys(data, warns=warns), where)

    def dump(self) -> str:
        """The recipe as YAML, every option written out, those of its models included."""
        return yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False, allow_unicode=True)

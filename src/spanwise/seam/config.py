"""Model options. Only the config turns options into traits, a proposer, a decoder and notices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from spanwise.plural import counted
from spanwise.schema import Schema
from spanwise.seam.decoder import Decoder
from spanwise.seam.proposals import Negatives, Proposer, SpanProposer
from spanwise.seam.traits import Traits
from spanwise.text.profile import DataProfile

# Sizes with upper bounds: beyond any use, and small enough that a typo does not exhaust the memory.
MAX_WIDTH = 512
Width = Annotated[int, Field(ge=1, le=MAX_WIDTH)]  # words of a span
Dimension = Annotated[int, Field(ge=1, le=8_192)]  # units of a layer or of an embedding
Samples = Annotated[int, Field(ge=1, le=1_000_000)]  # negatives per example or per gold item


class ModelConfig(BaseModel):
    """Options of one model; unknown keys are rejected."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_max_length=1_000, allow_inf_nan=False)

    def fitted(self, profile: DataProfile) -> Self:
        """The same options with every "auto" derived from the training data."""
        return self

    def traits(self) -> Traits:
        return Traits()

    def notices(self, profile: DataProfile) -> Iterator[str]:
        """Yield one sentence for each limit of the model on this data."""
        yield from ()

    def proposer(self, schema: Schema) -> Proposer | None:
        """The proposer of candidates; None for models that score words."""
        return None

    def decoder(self, schema: Schema) -> Decoder:
        """The decoder that turns scores into predictions."""
        raise TypeError(f"{type(self).__name__} must define decoder()")


class SpanConfig(ModelConfig):
    """Options of models that classify spans up to a width."""

    max_width: Width | Literal["auto"] = Field(
        "auto", description="widest span in words; `auto` covers the share `coverage` of the training entities"
    )
    coverage: float = Field(
        0.99, gt=0, le=1, description="share of the training entities that `max_width: auto` covers"
    )
    dropout: float = Field(0.1, ge=0, lt=1, description="dropout of the task layers")
    nested: bool = Field(False, description="keep overlapping predictions; otherwise only the most probable is kept")
    multi_label: bool = Field(
        False, description="allow several labels per span: one sigmoid per label instead of a softmax over all labels"
    )

    def fitted(self, profile: DataProfile) -> Self:
        if self.max_width != "auto":
            return self
        return self.model_copy(update={"max_width": min(profile.covering_width(self.coverage), MAX_WIDTH)})

    def traits(self) -> Traits:
        width = None if self.max_width == "auto" else self.max_width
        threshold = 0.5 if self.independent else 0.0
        return Traits(nested=self.nested, multi_label=self.multi_label, max_width=width, threshold=threshold)

    @property
    def independent(self) -> bool:
        """Whether each label has a sigmoid of its own."""
        return self.multi_label

    def notices(self, profile: DataProfile) -> Iterator[str]:
        yield from super().notices(profile)
        width = self.resolved_max_width()
        if wide := profile.wider_than(width):
            share = f"({wide / profile.aligned_entities:.1%})"
            which = counted(wide, f"training entity {share} is", f"training entities {share} are")
            yield f"{which} wider than the model's max_width of {counted(width, 'word')}."
        if profile.shared_entities and not self.multi_label:
            which = counted(profile.shared_entities, "training entity shares its", "training entities share their")
            yield (
                f"{which} span with an entity of another label; the model predicts at most one label per span; set "
                f"model.multi_label: true to predict all."
            )

    def resolved_max_width(self) -> int:
        """ε as a number; the options must be fitted."""
        if self.max_width == "auto":
            raise ValueError("max_width is still 'auto': call config.fitted(profile) before building the model")
        return self.max_width

    def negatives_per_example(self) -> Negatives:
        """Number of negative spans per training example."""
        raise TypeError(f"{type(self).__name__} must define negatives_per_example()")

    def proposer(self, schema: Schema) -> Proposer:
        width, negatives = self.resolved_max_width(), self.negatives_per_example()
        return SpanProposer(max_width=width, negatives=negatives, merge_labels=self.independent)


class LabeledSpanConfig(SpanConfig):
    """Options of span models that can score spans against label texts."""

    scorer: Literal["classes", "names", "descriptions"] = Field(
        "classes",
        description="score spans against fixed `classes`, or against label `names` or `descriptions`: takes new labels",
    )

    @property
    def reads_labels(self) -> bool:
        return self.scorer != "classes"

    @property
    def independent(self) -> bool:
        return self.multi_label or self.reads_labels

    def traits(self) -> Traits:
        if not self.reads_labels:
            return super().traits()
        texts: Literal["plain", "either"] = "plain" if self.scorer == "names" else "either"
        return replace(super().traits(), label_texts=texts, open_labels=True, independent=True)

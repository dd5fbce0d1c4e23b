"""Every error a user can meet. Each message is one sentence that says what is wrong and what to do about it."""

from __future__ import annotations

from pathlib import Path


class SpanwiseError(Exception):
    """Wrong input, described in one sentence; the command line prints it and exits with 2."""


class AnnotationError(SpanwiseError):
    """An annotation that its text cannot carry."""


class SchemaError(SpanwiseError):
    """Labels that contradict the schema, or a schema that contradicts itself."""


class FormatError(SpanwiseError):
    """A file or record that cannot be read, or a document that a format cannot hold."""

    def __init__(self, reason: str, path: Path | str | None = None, line: int | None = None) -> None:
        self.reason, self.path, self.line = reason, path, line
        place = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(f"{place}{reason}")


class LossyError(FormatError):
    """The target format cannot hold what the document says."""


class CorpusError(SpanwiseError):
    """A named corpus that is unknown or not on this machine."""


class RecipeError(SpanwiseError):
    """A recipe with a wrong key, a wrong value or a pairing of model and data that cannot work."""


class ModelError(SpanwiseError):
    """A model folder that is incomplete, damaged or made by something else."""


class EncoderError(SpanwiseError):
    """An encoder that cannot be found, loaded or trusted."""


class InputError(SpanwiseError):
    """A call whose arguments contradict each other."""


class TrainingStopped(Exception):  # noqa: N818
    """Training was asked to stop and did; its checkpoint holds all that was learned. Not an error."""

    def __init__(self, checkpoint: Path, step: int, steps: int) -> None:
        self.checkpoint, self.step, self.steps = checkpoint, step, steps
        super().__init__(
            f"training stopped after step {step:,} of {steps:,}; the checkpoint is {checkpoint}; "
            f"train with the same recipe and folder to resume."
        )

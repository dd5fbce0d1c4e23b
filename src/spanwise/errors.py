"""All errors for users. Each message is one sentence that says what is wrong and how to fix it."""

from __future__ import annotations

from pathlib import Path


def shortened(text: str, length: int = 80) -> str:
    """A text that a message quotes, cut where it is longer than anybody would read."""
    return text if len(text) <= length else f"{text[:length]}…"


class SpanwiseError(Exception):
    """Invalid input, described in one sentence; the command line prints it and exits with status 2."""


class AnnotationError(SpanwiseError):
    """An annotation that does not fit its text."""


class SchemaError(SpanwiseError):
    """Labels that contradict the schema, or a schema that contradicts itself."""


class FormatError(SpanwiseError):
    """A file or record that cannot be read, or a document that a format cannot represent."""

    def __init__(self, reason: str, path: Path | str | None = None, line: int | None = None) -> None:
        self.reason, self.path, self.line = reason, path, line
        place = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(f"{place}{reason}")


class UnknownFormatError(FormatError):
    """A file whose format is not recognized."""


class LossyError(FormatError):
    """The target format cannot represent everything in the document."""


class CorpusError(SpanwiseError):
    """A named corpus that is unknown or not on this machine."""


class RecipeError(SpanwiseError):
    """A recipe with an invalid key, an invalid value or a model that does not fit the data."""


class ModelError(SpanwiseError):
    """A model folder that is incomplete, damaged or not written by spanwise."""


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

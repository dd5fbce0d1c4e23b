"""Write a tuning into a model folder: the config, and a line of the model card."""

from __future__ import annotations

from pathlib import Path

from spanwise.errors import InputError
from spanwise.evaluation.tuning import TuningResult
from spanwise.files import write_text
from spanwise.pipeline import MODEL_CARD

CARD_LINE = "Tuned with `spanwise tune`"  # begins the line of the card


def local_folder(model: str) -> Path:
    """The folder that a tuning is written to: a local one, because a download is shared and may be replaced."""
    folder = Path(model)
    if not folder.is_dir():
        raise InputError(
            f"a tuning is written into a model folder, and {model!r} is no local one; save the model in a folder first "
            f"(`Extractor.from_pretrained({model!r}).save_pretrained(FOLDER)`)."
        )
    return folder


def store(folder: Path, member: str, result: TuningResult, source: str) -> None:
    """Store what was chosen for a member of the model; `source` names the data."""
    from spanwise.pipeline.stored import store_tuning

    store_tuning(folder, member, result.tuning)
    _write_card_line(folder, _card_line(member), f"{source}: {_summary(result)}.")


def reset(folder: Path, member: str | None = None) -> None:
    """The thresholds and temperatures that the model was trained with, for one member or all."""
    from spanwise.pipeline.stored import remove_tuning

    remove_tuning(folder, member)
    _write_card_line(folder, CARD_LINE if member is None else _card_line(member), None)


def _card_line(member: str) -> str:
    return f"{CARD_LINE} for {member} on "


def _summary(result: TuningResult) -> str:
    before, after = result.before, result.after
    parts = [f"F1 of entities {_change(before.scores.entities.micro.f1, after.scores.entities.micro.f1)}"]
    if before.scores.relations and after.scores.relations:
        parts.append(
            f"RE+ F1 {_change(before.scores.relations.strict.micro.f1, after.scores.relations.strict.micro.f1)}"
        )
    if before.calibration_error is not None and after.calibration_error is not None:
        parts.append(f"calibration error {before.calibration_error:.3f} → {after.calibration_error:.3f}")
    return ", ".join(parts)


def _change(before: float, after: float) -> str:
    return f"{100 * before:.2f} → {100 * after:.2f}"


def _write_card_line(folder: Path, start: str, rest: str | None) -> None:
    """Replace the lines of the card that begin so; the new one comes before the first section."""
    path = folder / MODEL_CARD
    if not path.is_file():
        return
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = [line for line in text.splitlines() if not line.startswith(start)]
    if rest is not None:
        place = next((index for index, line in enumerate(lines) if line.startswith("## ")), len(lines))
        lines[place:place] = [start + rest, ""]
    write_text(path, "\n".join(lines) + "\n")

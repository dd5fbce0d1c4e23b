"""`spanwise benchmark zero-shot`: scores on corpora that a model has not seen."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.cli.app import emit_json, err, print_table
from spanwise.cli.train import stoppable
from spanwise.errors import InputError

if TYPE_CHECKING:
    from spanwise.benchmark.zero_shot import Asking, ScoreFile, ZeroShot, ZeroShotScore

FOLDER = Path("runs/zero-shot")
SCORES = "scores.jsonl"


def zero_shot(
    model: Path | None,
    folder: Path | None,
    corpus: str | None,
    asking: Asking,
    set_: list[str],
    as_json: bool,
    *,
    recorded: bool,
) -> None:
    """Score a model on corpora that it has not seen; without a model, train those of the suite first.

    Scores are kept in the folder; those of a given model only if a folder is given. With `recorded`, nothing is run.
    """
    from spanwise.benchmark.zero_shot import ScoreFile, ZeroShot, ZeroShotScore, means

    suite = ZeroShot.load()
    chosen = suite.chosen([corpus] if corpus else [])
    if model is not None and set_:
        raise InputError("--set is for training; leave it out with --model.")
    kept = ScoreFile((folder or FOLDER) / SCORES) if model is None or folder is not None else None
    if recorded:
        found = [score for score in (kept.find(asking, model) if kept else ()) if score.corpus in chosen]
    else:
        scored = _trained_without(suite, folder or FOLDER, chosen, set_) if model is None else [(model, tuple(chosen))]
        found = [score for place, names in scored for score in _scores(place, names, suite, asking, kept)]
    mean = means(found)
    if as_json:
        emit_json({"split": asking.split, "scores": [score.to_dict() for score in found], "means": mean})
        return
    body = [score.cells for score in found]
    body += [("mean", wording, "", "", "", "", f"{100 * f1:.2f}") for wording, f1 in mean.items()]
    print_table(f"zero-shot, {asking.split}", ZeroShotScore.HEADER, body)


def _scores(
    model: Path, names: Collection[str], suite: ZeroShot, asking: Asking, kept: ScoreFile | None
) -> Iterator[ZeroShotScore]:
    """The scores of a model on these corpora; recorded ones are not computed again."""
    from spanwise.benchmark.zero_shot import score_zero_shot
    from spanwise.inference.extractor import Extractor

    recorded = kept.find(asking, model) if kept else []
    open_ = [name for name in names if name not in {score.corpus for score in recorded}]
    yield from (score for score in recorded if score.corpus in names)
    if not open_:
        return
    extractor = Extractor.from_pretrained(model)
    for name in open_:
        found = list(score_zero_shot(extractor, suite, [name], asking))
        for score in found:
            err.print(f"{name}, {score.wording}: {asking.split} F1 {100 * score.f1:.2f}", markup=False, soft_wrap=True)
        if kept:
            kept.add(model, asking, found)
        yield from found


def _trained_without(
    suite: ZeroShot, folder: Path, corpora: Collection[str], set_: list[str]
) -> list[tuple[Path, tuple[str, ...]]]:
    """The models that have not seen these corpora, trained or gone on with; finished ones are kept."""
    from spanwise.benchmark.zero_shot import FIRST
    from spanwise.training.display import LiveDisplay
    from spanwise.training.run import SUMMARY, train

    scored = []
    for left_out in suite.models(folder, set_):
        names = tuple(name for name in left_out.scored if name in corpora)
        if not names and left_out.folder.name != FIRST:
            continue
        if not (left_out.folder / SUMMARY).exists():
            with stoppable() as stop, LiveDisplay(err) as display:
                train(left_out.recipe, left_out.folder, display, stop=stop)
        if names:
            scored.append((left_out.folder, names))
    return scored

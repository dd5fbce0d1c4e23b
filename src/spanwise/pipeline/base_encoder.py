"""How a model folder names the encoder that its adapter belongs to, and where that encoder is found again.

A hub name, `minilm` and a name in SPANWISE_ENCODERS are stored as they are. Of a folder, only what does not depend on
the machine is stored: the way from the model to an encoder nearby, else the name of the encoder's folder.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from spanwise.errors import ModelError, shortened
from spanwise.pipeline.encoders import ENCODERS_VARIABLE, is_path, local_folder

NAME, FOLDER = "name", "folder"  # keys; with FOLDER: true, the name is that of a folder
NEARBY = 2  # levels up from the model, and down from there


def described(encoder: str, model: Path) -> dict[str, Any]:
    """What the config of a model in this folder says about the encoder of this name."""
    if not Path(encoder).is_dir() and not is_path(encoder):
        return {NAME: encoder}
    place = Path(encoder).absolute()
    way = _way(model.absolute(), place) if place.is_dir() else None
    return {NAME: place.name, FOLDER: True} if way is None else {NAME: way}


def _way(model: Path, encoder: Path) -> str | None:
    """The relative path to an encoder near the model, such as ../encoder; None if it would tell where both are."""
    try:
        parts = Path(os.path.relpath(encoder, model)).parts
    except ValueError:  # on another drive
        return None
    up = parts.count("..")
    shared = model.parents[up - 1] if up else model
    if up > NEARBY or len(parts) - up > NEARBY:
        return None
    if up == NEARBY and shared in (Path(shared.anchor), Path.home().parent):
        return None
    return "/".join(parts if up else (".", *parts))


def found(base: dict[str, Any], model: Path) -> str | None:
    """The name or folder of the encoder on this machine; None if its folder is missing."""
    name: str = base[NAME]
    if not is_path(name) and base.get(FOLDER) is not True:
        return name
    near = model / name  # earlier versions stored an absolute path, which stays as it is here
    if is_path(name) and near.is_dir():
        return str(near)
    last = Path(name).name
    return last if local_folder(last) is not None else None


def missing(base: dict[str, Any], model: Path) -> ModelError:
    return ModelError(
        f"{model}: the encoder of its adapter is missing: the folder {shortened(base[NAME])!r} does not exist; put it "
        f"into the folder that {ENCODERS_VARIABLE} names, or give it as encoder=SharedEncoder.load(FOLDER)."
    )


def check_public(encoder: str) -> None:
    """Refuse an adapter whose encoder others cannot load."""
    if Path(encoder).is_dir() or is_path(encoder) or local_folder(encoder) is not None:
        raise ModelError(
            f"the model is an adapter for the local encoder {Path(encoder).name!r}, which others do not have; upload "
            f"it with its encoder: push_to_hub(…, merge=True)."
        )

"""Where a model comes from: a folder, or the hub. A mistyped folder is reported before the hub is asked."""

from __future__ import annotations

import logging
import os
from difflib import get_close_matches
from pathlib import Path

from spanwise.errors import ModelError

HUB = "hub:"  # before the name of a model that is on the hub in any case
GENERAL, GENERAL_VARIABLE = "general", "SPANWISE_GENERAL"  # the general model's name, and where it lies if elsewhere
CONFIG = "config.json"  # what a model folder has
log = logging.getLogger("spanwise")


def model_folder(source: Path | str) -> Path:
    """The folder of a model, or of what the hub has: `hub:owner/name`, or `owner/name` if no folder is like that."""
    name, folder = str(source), Path(source)
    if name.startswith(HUB):
        return _download(name.removeprefix(HUB))
    if name == GENERAL and not (folder / CONFIG).exists():  # another folder of that name is no model
        return general_folder()
    if folder.exists():
        return folder
    on_hub = _looks_like_hub_name(name) and not folder.parent.exists()
    if similar := _similar_folder(folder):
        hint = f" (For a model on the hub, write {HUB + name!r}.)" if on_hub else ""
        raise ModelError(f"model folder {name!r} does not exist; did you mean {str(similar)!r}?{hint}")
    if not on_hub:
        raise ModelError(f"model folder {name!r} does not exist; check the path, or train one with `spanwise train`.")
    log.warning("folder %r does not exist; looking for a model of that name on the hub.", name)
    return _download(name)


def general_folder() -> Path:
    """The folder of the general model: $SPANWISE_GENERAL, or the one that ships with the package."""
    configured = os.environ.get(GENERAL_VARIABLE)
    folder = Path(configured) if configured else Path(__file__).parents[1] / "data" / GENERAL
    if not folder.is_dir():
        raise ModelError(
            f"the general model is not at {folder}; train it with `spanwise train general --out FOLDER` and set the "
            f"environment variable {GENERAL_VARIABLE} to the folder."
        )
    return folder


def _looks_like_hub_name(source: str) -> bool:
    owner, slash, name = source.partition("/")
    return bool(slash and owner and name) and "/" not in name and not owner.startswith((".", "~"))


def _similar_folder(path: Path) -> Path | None:
    """The folder that exists and whose path differs least, name by name; None if some name is like no other."""
    if path.is_dir():
        return path
    parent = _similar_folder(path.parent) if path.name else None
    names = [folder.name for folder in parent.iterdir() if folder.is_dir()] if parent else []
    close = get_close_matches(path.name, names, n=1)
    return parent / close[0] if parent and close else None


def _download(name: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
    )

    try:
        kinds = ["*.json", "*.onnx", "*.safetensors", "*.txt", "*.model", "*.jinja", "README.md"]
        return Path(snapshot_download(name, allow_patterns=kinds))
    except (RepositoryNotFoundError, LocalEntryNotFoundError, HFValidationError, HfHubHTTPError, OSError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise ModelError(f"folder {name!r} does not exist, and the hub has no such model ({reason}).") from None

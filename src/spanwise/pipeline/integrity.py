"""What a model folder must hold to be trusted: a known format and unchanged files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from spanwise import __version__
from spanwise.errors import ModelError, shortened

FORMAT = 2  # of a model folder; earlier versions wrote neither a format nor checksums
OPTIONAL_FILES = ("added_tokens.json", "special_tokens_map.json")  # which a tokenizer reads where they exist


def checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_version(config: Mapping[str, Any], path: Path) -> None:
    """Refuse a folder that a later version wrote, or none."""
    stored, version = config.get("format"), str(config.get("spanwise"))
    major = version.partition(".")[0]
    if not major.isdecimal():
        raise ModelError(f"{path}: not a spanwise model (the version that wrote it is missing); copy it again.")
    if len(major) > 9 or int(major) > int(__version__.partition(".")[0]):
        raise ModelError(f"{path}: written by spanwise {shortened(version)}, this is {__version__}; upgrade spanwise.")
    if ("checksums" in config) if stored is None else (type(stored) is not int or stored != FORMAT):
        raise ModelError(
            f"{path}: unknown format {shortened(repr(stored))}; spanwise {__version__} reads format {FORMAT} and "
            f"earlier ones: upgrade spanwise, or copy the file again."
        )


def verify_checksums(config: Mapping[str, Any], folder: Path, needed: Iterable[str]) -> None:
    """Compare every file with its checksum; a folder of an earlier version has none."""
    if config.get("format") is None:
        return
    stored = config.get("checksums")
    if not isinstance(stored, dict) or any(name not in stored for name in needed):
        raise ModelError(f"{folder / 'config.json'}: the checksums of the other files are missing; copy it again.")
    if foreign := [name for name in OPTIONAL_FILES if name not in stored and (folder / name).exists()]:
        raise ModelError(
            f"{folder / foreign[0]}: not part of the saved model, but it changes its tokenizer; delete it."
        )
    for name, wanted in stored.items():
        path = folder / Path(name).name
        if not path.is_file():
            raise ModelError(f"{folder}: {path.name} is missing; copy the whole model folder.")
        if checksum(path) != wanted:
            raise ModelError(
                f"{path}: changed since the model was saved (its checksum differs); copy it again, or load the "
                f"model with verify=False."
            )

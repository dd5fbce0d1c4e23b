"""What a model folder must hold to be trusted: a known format, unchanged files, and sizes that its weights have."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from spanwise import __version__
from spanwise.errors import ModelError, shortened

FORMAT = 2  # of a model folder; earlier versions wrote neither a format nor checksums
OPTIONAL_FILES = ("added_tokens.json", "special_tokens_map.json")  # which a tokenizer reads where they exist
FACTORIES = (torch.empty, torch.zeros, torch.ones, torch.full, torch.rand, torch.randn, torch.arange, torch.eye)
SPARE_ELEMENTS = 2**20  # for what a model computes from its options


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


class SizeLimit(TorchFunctionMode):
    """Inside, a model is built that must fit weights of so many elements: what is larger is refused unallocated."""

    def __init__(self, elements: int, path: Path) -> None:
        super().__init__()
        self.left = 2 * elements + SPARE_ELEMENTS  # poolers and initial values are not among the weights
        self.path = path

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if function in FACTORIES:
            self.left -= function(*args, **{**kwargs, "device": "meta"}).numel()
            self.check(0)
        return function(*args, **kwargs)

    def check(self, size: int) -> None:
        """Refuse a size that is larger than all that is left."""
        if size > self.left:
            raise ModelError(f"{self.path}: its sizes are larger than those of the stored weights; copy it again.")

    def check_numbers(self, settings: object) -> None:
        """No number of layers or units can be larger than the number of weights."""
        for number in _integers(settings):
            self.check(number)


def _integers(data: object) -> Iterator[int]:
    if isinstance(data, int):
        yield data
    for part in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from _integers(part)

"""A model that is read must not be larger than the weights that are stored with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from spanwise.errors import ModelError

FACTORIES = (torch.empty, torch.zeros, torch.ones, torch.full, torch.rand, torch.randn, torch.arange, torch.eye)
SPARE_ELEMENTS = 2**20  # for what a model computes from its options


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

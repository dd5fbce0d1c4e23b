"""Packages that only some formats need: imported when they are used, named with their extra when they are missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from spanwise.errors import InputError


def optional_module(name: str, extra: str, purpose: str) -> Any:
    """The module, or a sentence that says which extra installs it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            raise
        raise InputError(f"{purpose} needs {error.name}; install it with `pip install 'spanwise[{extra}]'`.") from None

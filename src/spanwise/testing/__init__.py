"""A conformance suite for all models, both built-in and from other packages.

>>> from spanwise.testing import check_model
>>> check_model("my-model")  # raises a ConformanceError that names the failed check
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spanwise.testing.case import Case, cases
    from spanwise.testing.conformance import CHECKS, check_model
    from spanwise.testing.expectation import ConformanceError

__all__ = ["CHECKS", "Case", "ConformanceError", "cases", "check_model"]
_MODULES = {"Case": "case", "cases": "case", "ConformanceError": "expectation"}


def __getattr__(name: str) -> object:
    """Import torch only when a model is checked, so that tests without torch can use the samples."""
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module 'spanwise.testing' has no attribute {name!r}")
    return getattr(import_module(f"spanwise.testing.{_MODULES.get(name, 'conformance')}"), name)

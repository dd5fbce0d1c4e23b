"""One contract, one conformance suite, for our models and for those of other packages.

>>> from spanwise.testing import check_model
>>> check_model("my-model")  # raises a ConformanceError that names what does not hold
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
    """Import torch only when a model is checked, so that the samples serve tests that do without it."""
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module 'spanwise.testing' has no attribute {name!r}")
    return getattr(import_module(f"spanwise.testing.{_MODULES.get(name, 'conformance')}"), name)

"""The scripts of pages: plain files of this package. A page allows only its own, by their hashes."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from importlib.resources import files


@cache
def script(name: str) -> str:
    """The text of a script, such as `arcs.js`."""
    return files("spanwise.render").joinpath(name).read_text(encoding="utf-8")


def script_policy(scripts: Iterable[str]) -> str:
    """The directive of the Content-Security-Policy that allows only these scripts."""
    hashes = (b64encode(sha256(text.encode()).digest()).decode() for text in scripts)
    return "script-src " + " ".join(f"'sha256-{one}'" for one in hashes)

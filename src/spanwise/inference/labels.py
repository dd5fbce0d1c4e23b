"""The labels and relations that a caller asks for: names, or names with descriptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spanwise.errors import InputError

Labels = Sequence[str] | Mapping[str, str]
MAX_LABELS = 5_000
MAX_TEXT = 5_000  # characters of a name or a description


def label_descriptions(labels: Labels, option: str = "labels") -> dict[str, str]:
    """Each label with the text that describes it; a name describes itself. `option` is the name in errors."""
    kind = option.removesuffix("s")
    if isinstance(labels, str) or not isinstance(labels, (Mapping, Sequence)):
        raise InputError(
            f"{option}= is a list of names, or a mapping of each name to its description, not {type(labels).__name__}."
        )
    names = list(labels)
    if not names:
        raise InputError(f"{option}= is empty; give at least one {kind}.")
    if len(names) > MAX_LABELS:
        raise InputError(f"{option}= has {len(names):,} {option}; give at most {MAX_LABELS:,}.")
    for name in names:
        _check(name, option)
    found = dict(labels) if isinstance(labels, Mapping) else dict(zip(names, names, strict=True))
    if len(found) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{option}= has the {kind} {repeated!r} twice; give each {kind} once.")
    for text in found.values():
        _check(text, option)
    return found


def _check(text: object, option: str) -> None:
    kind = option.removesuffix("s")
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"a {kind} and its description are texts and not empty; {option}= has {text!r}.")
    if len(text) > MAX_TEXT:
        raise InputError(f"the {kind} text {text[:40]!r}… has {len(text):,} characters; give at most {MAX_TEXT:,}.")

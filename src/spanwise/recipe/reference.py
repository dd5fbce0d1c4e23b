"""The options of a recipe for readers, from the descriptions of their fields.

    python -m spanwise.recipe.reference docs/*.md docs/models/*.md

writes the table of a section or of a model between `<!-- options NAME -->` and `<!-- end options -->`, and the comments
that `spanwise init` puts into recipes. These are stored because the fields of models cannot be read without torch.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from pydantic import BaseModel

from spanwise.corpora.options import DataOptions
from spanwise.files import write_text
from spanwise.recipe.advice import COMMENTS
from spanwise.recipe.sections import BundleSection, EncoderConfig, EvaluationSection, TrainSection
from spanwise.seam.registry import find_model, model_names

SECTIONS: dict[str, type[BaseModel]] = {
    "encoder": EncoderConfig,
    "bundle": BundleSection,
    "data": DataOptions,
    "train": TrainSection,
    "evaluation": EvaluationSection,
}
COMMENTS_HEAD = (
    "# Written by `python -m spanwise.recipe.reference` from the descriptions of the options; do not edit.\n"
)
_BLOCK = re.compile(r"<!-- options (?P<name>\S+) -->\n.*?<!-- end options -->", re.DOTALL)
_HEADER = "| option | default | meaning |\n|---|---|---|\n"


class Option(NamedTuple):
    """An option of a section or a model."""

    name: str
    default: Any
    description: str


def options(kind: type[BaseModel]) -> Iterator[Option]:
    """The options of a section, in its order; a bundled model's name and its own options are not among them."""
    for name, field in kind.model_fields.items():
        if name != "config" and not (kind is BundleSection and name == "name"):
            yield Option(name, field.get_default(), field.description or "")


def comments(models: Sequence[str]) -> str:
    """The content of the comments file: the description of every option, by section or model."""
    names = (*SECTIONS, *models)
    found = {name: {o.name: o.description.replace("`", "") for o in options(_kind(name))} for name in names}
    return COMMENTS_HEAD + yaml.safe_dump(found, sort_keys=False, allow_unicode=True, width=10**6)


def table(name: str) -> str:
    """The options of a section, or of a model by its name, as a Markdown table."""
    prefix = f"{name}." if name in SECTIONS else "model."
    rows = (f"| `{prefix}{o.name}` | `{_yaml(o.default)}` | {o.description} |\n" for o in options(_kind(name)))
    return _HEADER + "".join(rows)


def updated(page: str) -> str:
    """A page with its tables of options written anew."""

    def block(match: re.Match[str]) -> str:
        return f"<!-- options {match['name']} -->\n{table(match['name'])}<!-- end options -->"

    return _BLOCK.sub(block, page)


def _kind(name: str) -> type[BaseModel]:
    return SECTIONS.get(name) or find_model(name).Config


def _yaml(value: Any) -> str:
    text = yaml.safe_dump(list(value) if isinstance(value, tuple) else value, default_flow_style=True)
    return text.removesuffix("...\n").strip()


def main() -> None:
    write_text(COMMENTS, comments(model_names()))
    for path in map(Path, sys.argv[1:]):
        page = path.read_text(encoding="utf-8")
        if (new := updated(page)) != page:
            write_text(path, new)


if __name__ == "__main__":
    main()

"""Options that several verbs share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from spanwise.errors import InputError

TagColumns = Annotated[
    str | None,
    typer.Option("--tag-columns", help="Columns of CoNLL files that hold tags, from 1: 2,3. Default: the last."),
]
AnnotatorName = Annotated[
    str | None,
    typer.Option("--annotator", help="Of texts with several annotators: the NAME of one, majority, or each."),
]


def asked_labels(given: str, option: Literal["labels", "relations"] = "labels") -> Sequence[str] | Mapping[str, str]:
    """What `--labels` or `--relations` asks for: names with commas between them, or the descriptions of a YAML file."""
    if Path(given).suffix in (".yaml", ".yml"):
        from spanwise.recipe import Descriptions

        descriptions = Descriptions.load(given)
        return descriptions.entities if option == "labels" else descriptions.relations
    names = [name.strip() for name in given.split(",")]
    if not all(names):
        sample = "drug, symptom" if option == "labels" else "treats, causes"
        raise InputError(f'--{option} needs names with commas between them, such as --{option} "{sample}".')
    return names

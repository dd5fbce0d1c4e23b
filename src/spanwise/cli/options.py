"""Options that several verbs share."""

from __future__ import annotations

from typing import Annotated

import typer

TagColumns = Annotated[
    str | None,
    typer.Option("--tag-columns", help="Columns of CoNLL files that hold tags, from 1: 2,3. Default: the last."),
]
AnnotatorName = Annotated[
    str | None,
    typer.Option("--annotator", help="Of texts with several annotators: the NAME of one, majority, or each."),
]

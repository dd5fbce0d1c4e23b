"""Options are described once, in their fields; the docs and the comments of recipes repeat these words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spanwise.recipe import reference
from spanwise.recipe.advice import COMMENTS, comments
from spanwise.seam.registry import find_model, model_names

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
OWN = [name for name in model_names() if find_model(name).__module__.startswith("spanwise.")]


@pytest.mark.parametrize("name", [*reference.SECTIONS, *OWN])
def test_every_option_has_a_description_of_one_line(name: str) -> None:
    kind = reference.SECTIONS.get(name) or find_model(name).Config
    for option in reference.options(kind):
        assert 3 < len(option.description) <= 110, option
        assert not option.description.endswith("."), option


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_tables_of_options_are_up_to_date(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert reference.updated(text) == text, "run `python -m spanwise.recipe.reference docs/*.md docs/models/*.md`"


def test_every_section_and_model_has_a_table_in_the_docs() -> None:
    marks = {name for page in PAGES for name in re.findall(r"<!-- options (\S+) -->", page.read_text("utf-8"))}
    assert marks >= {*reference.SECTIONS, *OWN}


def test_the_comments_of_recipes_are_up_to_date() -> None:
    assert COMMENTS.read_text(encoding="utf-8") == reference.comments(OWN), "run `python -m spanwise.recipe.reference`"
    assert comments("train")["seed"] == "seed of everything random; the same seed gives the same model"
    assert comments("no-such-model") == {}


def test_a_table_is_written_between_its_marks() -> None:
    page = "before\n<!-- options bundle -->\nold\n<!-- end options -->\nafter\n"
    table = "| option | default | meaning |\n|---|---|---|\n| `bundle.alpha` | `0.1` | "
    assert reference.updated(page).startswith(f"before\n<!-- options bundle -->\n{table}")
    assert reference.updated(page).endswith("|\n<!-- end options -->\nafter\n")

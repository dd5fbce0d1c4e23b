"""The pages of the site as they are in the repository: navigation, links, names in the code, tables from results."""

from __future__ import annotations

import importlib
import posixpath
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote

import pytest
import yaml

import spanwise
from spanwise.seam.registry import find_model, model_names

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (*DOCS.rglob("*.md"), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")))
)
OWN = [name for name in model_names() if find_model(name).__module__.startswith("spanwise.")]
MODEL_PAGES = sorted((DOCS / "models").glob("*.md"))


def navigation(entries: Any) -> Iterator[str]:
    """The pages of a navigation, in its order."""
    if isinstance(entries, str):
        yield entries
    for entry in entries.values() if isinstance(entries, dict) else entries if isinstance(entries, list) else ():
        yield from navigation(entry)


def test_every_page_is_in_the_navigation_once(site_pages: ModuleType) -> None:
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    named = Counter(navigation(config["nav"]))
    there = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert named == Counter({*there, *site_pages.COPIES, *site_pages.REFERENCES})


def headings(page: Path, site_pages: ModuleType) -> set[str]:
    """The names of the headings of a page."""
    text = site_pages._FENCE.sub("", page.read_text(encoding="utf-8"))
    found: Counter[str] = Counter()
    names = set()
    for title in re.findall(r"^#{1,6} +(.+?) *$", text, re.MULTILINE):
        name = site_pages.slug(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).replace("`", ""))
        names.add(f"{name}-{found[name]}" if found[name] else name)
        found[name] += 1
    return names


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_to_a_file_and_a_heading(page: str, site_pages: ModuleType) -> None:
    for match in site_pages.links((ROOT / page).read_text(encoding="utf-8")):
        target, _, anchor = match[2].partition("#")
        if site_pages.is_external(match[2]):
            continue
        aimed = ROOT / posixpath.normpath(posixpath.join(posixpath.dirname(page), target)) if target else ROOT / page
        assert aimed.is_file(), match[2]
        assert not anchor or unquote(anchor) in headings(aimed, site_pages), match[2]


@pytest.mark.parametrize(
    ("target", "page", "expected"),
    [
        ("docs/python.md#names", "index.md", "python.md#names"),
        ("CONTRIBUTING.md", "index.md", "contributing.md"),
        ("../benchmarks/NOTES.md#settings", "results.md", "benchmark-notes.md#settings"),
        ("../python.md", "models/span.md", "../python.md"),
        ("figures/a.svg", "results.md", "figures/a.svg"),
        ("../docs/results.md", "benchmark-notes.md", "results.md"),
        ("#here", "results.md", "#here"),
        ("https://example.org/a", "results.md", "https://example.org/a"),
    ],
)
def test_a_link_of_the_repository_becomes_one_of_the_site(
    target: str, page: str, expected: str, site_pages: ModuleType
) -> None:
    assert site_pages.site_link(target, page) == expected


def test_a_link_to_a_file_outside_the_site_is_rejected(site_pages: ModuleType) -> None:
    with pytest.raises(ValueError, match=r"README\.md links to Makefile"):
        site_pages.site_link("Makefile", "index.md")


def test_links_in_code_stay_as_they_are(site_pages: ModuleType) -> None:
    page = "[a](docs/a.md) `[b](docs/b.md)`\n```\n[c](docs/c.md)\n```\n[d](docs/d.md)\n"
    assert site_pages.site_page(page, "index.md") == page.replace("(docs/a", "(a").replace("(docs/d", "(d")


def test_lists_are_as_deep_as_python_markdown_wants_them(site_pages: ModuleType) -> None:
    page = "- a\n  b\n  - c\n- d\n\n  | d |\n1. e\n   f\n\ntext\n  g\n```yaml\n- h\n  i\n```\n"
    deep = "- a\n    b\n    - c\n- d\n\n    | d |\n\n1. e\n    f\n\ntext\n  g\n```yaml\n- h\n  i\n```\n"
    assert site_pages.with_deep_lists(page) == deep


def test_every_model_has_a_page_with_its_options_scores_and_command() -> None:
    index = (DOCS / "models" / "index.md").read_text(encoding="utf-8")
    for name in OWN:
        page = (DOCS / "models" / f"{name}.md").read_text(encoding="utf-8")
        assert f"<!-- options {name} -->" in page
        assert f"<!-- measured {name} -->" in page
        assert f"spanwise train {name} " in page
        assert f"]({name}.md)" in index


@pytest.mark.parametrize("page", MODEL_PAGES, ids=lambda page: page.stem)
def test_the_code_that_a_model_page_names_exists(page: Path) -> None:
    names = re.findall(r"`(spanwise(?:\.\w+)+)`", page.read_text(encoding="utf-8"))
    assert names
    for name in names:
        value: Any = spanwise
        parts = name.split(".")
        for index, part in enumerate(parts[1:], start=2):
            value = getattr(value, part, None) or importlib.import_module(".".join(parts[:index]))


def test_the_tables_of_scores_are_up_to_date(choosing: ModuleType) -> None:
    for page in choosing.PAGES:
        text = page.read_text(encoding="utf-8")
        assert choosing.updated(text) == text, "run `python benchmarks/choosing.py`"


def test_a_score_is_a_mean_with_its_spread_and_the_fastest_epoch(choosing: ModuleType) -> None:
    def run(f1: float, seconds: float) -> dict[str, Any]:
        recipe = {"train": {"epochs": 2, "precision": "fp32"}}
        return {"entities": {"micro": {"f1": f1}}, "seconds": seconds, "recipe": recipe, "environment": {}}

    found = choosing.Measured("spert", "joint", "demo", (run(0.8, 30), run(0.9, 20)))
    assert found.cells == ["2", "85.00 ± 7.07", "", "2", "10 (fp32)"]
    assert choosing.table("a | b | c", [["1", "", "2"]]) == "| a | c |\n|---|---|\n| 1 | 2 |\n"


def test_the_reference_has_every_command_with_its_options(site_reference: ModuleType) -> None:
    page = site_reference.cli_reference()
    sections = dict(re.findall(r"^## spanwise (\S+)\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE))
    verbs = {
        path.stem for path in (ROOT / "src/spanwise/cli").glob("*.py") if "@app.command" in path.read_text("utf-8")
    }
    assert set(sections) == verbs
    assert "| `--dev " in sections["split"]
    assert "spanwise split all.jsonl --dev 0.1" in sections["split"]
    assert not re.search(r"\[/?bold\]", page)
    for name, section in sections.items():
        assert section.count("\n| `") >= 1, name


def test_the_reference_has_every_public_name_with_its_members(site_reference: ModuleType) -> None:
    page = site_reference.python_reference()
    for name in spanwise.__all__:
        assert f"\n### {name}\n" in page
    for member in (r"Extractor.from\_pretrained", "Extractor.stream", r"Document.text\_of", "Recipe.parse"):
        assert f"\n#### {member}\n" in page
    assert "0x" not in page
    assert "spanwise.testing" in page


def test_a_long_signature_has_a_line_per_parameter(site_reference: ModuleType) -> None:
    def function(
        first: dict[str, int], second: str = "a, b", *, third: tuple[int, ...] = (1, 2), fourth: int = 4
    ) -> int:
        raise NotImplementedError

    assert site_reference._signature(function) == (
        "(\n    first: dict[str, int],\n    second: str = 'a, b',\n    *,\n"
        "    third: tuple[int, ...] = (1, 2),\n    fourth: int = 4,\n) -> int"
    )

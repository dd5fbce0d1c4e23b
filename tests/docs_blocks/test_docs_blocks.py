"""Every code block of the README and the docs runs, or is valid as far as that can be told without running it.

What is run is decided in a comment above the block; see markdown_blocks.py. Blocks marked `slow` are run where
SPANWISE_DOCS is set (`make test-docs`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest
from markdown_blocks import PAGES, ROOT, RUNNABLE, Block, blocks_of
from page_runs import GivenFiles, run_page
from python_checks import BadCodeError, Names
from shell_checks import BadCommandError, check_command, check_shell, check_yaml, commands

from spanwise import formats

SLOW = "SPANWISE_DOCS"
OUTPUT = ("", "text")  # what a command prints
BLOCKS = {page: blocks_of(page) for page in PAGES}


def _pages(*decisions: str) -> list[object]:
    """The pages that have a block of code with one of these decisions."""
    return [
        pytest.param(page, id=page.relative_to(ROOT).as_posix())
        for page, blocks in BLOCKS.items()
        if any(block.language in RUNNABLE and block.decision in decisions for block in blocks)
    ]


def _code(page: Path, decisions: Sequence[str]) -> list[Block]:
    return [block for block in BLOCKS[page] if block.language in RUNNABLE and block.decision in decisions]


@pytest.fixture
def given(easy_files: Path, easy_recipe: Path, request: pytest.FixtureRequest) -> GivenFiles:
    def trained() -> Path:
        return request.getfixturevalue("trained")

    return GivenFiles(easy_files, easy_recipe, trained)


@pytest.mark.parametrize("page", _pages("run"))
def test_the_blocks_of_a_page_run(
    page: Path, tmp_path: Path, given: GivenFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_page(_code(page, ("run",)), tmp_path, given, monkeypatch)


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get(SLOW), reason=f"takes minutes; set {SLOW}=1 (make test-docs)")
@pytest.mark.parametrize("page", _pages("slow"))
def test_all_blocks_of_a_page_run(
    page: Path, tmp_path: Path, given: GivenFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_page(_code(page, ("run", "slow")), tmp_path, given, monkeypatch)


@pytest.mark.parametrize("page", [pytest.param(page, id=page.relative_to(ROOT).as_posix()) for page in PAGES])
def test_the_blocks_of_a_page_are_valid(page: Path, tmp_path: Path) -> None:
    names = Names()
    for block in BLOCKS[page]:
        try:
            _check(block, names, tmp_path)
        except Exception as error:
            raise AssertionError(f"{block.place}: {error}") from error


def _check(block: Block, names: Names, folder: Path) -> None:
    match block.language:
        case "python":
            names.check(block)
        case "bash" | "sh" | "console":
            check_shell(block)
        case "json":
            _check_json(block, folder)
        case "yaml":
            check_yaml(block.source)
        case "csv":
            (folder / "block.csv").write_text(block.source, encoding="utf-8")
            assert list(formats.read(folder / "block.csv"))
        case "xml":
            ElementTree.fromstring(block.source)  # noqa: S314
        case language:
            assert language in OUTPUT, f"no check is known for {language!r}"


def _check_json(block: Block, folder: Path) -> None:
    """One JSON value or several; those that are labeled texts must be read as such."""
    decoder, rest, values = json.JSONDecoder(), block.source.strip(), []
    while rest:
        value, end = decoder.raw_decode(rest)
        values.append(value)
        rest = rest[end:].lstrip()
    records = [record for value in values for record in (value if isinstance(value, list) else [value])]
    for number, record in enumerate(records):
        if not isinstance(record, dict) or record.keys().isdisjoint(("text", "tokens", "data")):
            continue
        path = folder / f"{block.line}-{number}.json"
        path.write_text(json.dumps([record] if isinstance(values[0], list) else record) + "\n", encoding="utf-8")
        (document,) = formats.read(path)
        assert document.entities, f"no entity is read from {record}"


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("spanwise train recipe.yaml", "--out"),
        ("spanwise train recipe.yaml --outs runs/mine", "--outs"),
        ("spanwise trian recipe.yaml --out runs/mine", "trian"),
        ("spanwise train recipe.yaml --set train.epoch=3 --out runs/mine", "epoch"),
        ("spanwise train recipe.yaml --set train.epochs=many --out runs/mine", "train.epochs"),
        ("spanwise train paper/gone --out runs/mine", "paper/gone"),
        ("spanwise train span-ner --set data.corpus=conll05 --out runs/mine", "conll05"),
        ("spanwise tune runs/mine --precision 9", "precision"),
        ("spanwise evaluate runs/mine --by colour", "colour"),
        ("spanwise evaluate runs/mine --reads seq-ner", "--reader"),
        ("spanwise evaluate runs/mine --reader seqner", "seqner"),
        ("spanwise convert a.jsonl b.json --to labelstudio", "labelstudio"),
        ("spanwise benchmark lear-t99", "lear-t99"),
        ("torchrun --nproc_per_node 2 -m spanwise train recipe.yaml", "--out"),
        ("python benchmarks/gone.py", "does not exist"),
        ("python benchmarks/findings.py --corpus conll04", "no arguments"),
        ("python benchmarks/analysis_speed.py --speed 3", "--speed"),
        ("pip install 'spanwise[loar]'", "loar"),
        ("make demos", "demos"),
        ("spanwice train recipe.yaml", "spanwice"),
    ],
)
def test_a_wrong_command_is_found(command: str, reason: str) -> None:
    (parsed,) = commands(command)
    with pytest.raises(BadCommandError, match=reason):
        check_command(parsed)


def test_commands_are_told_apart() -> None:
    script = "A=1 spanwise corpora | cat > out.txt  # listed\npip install \\\n  x && make test\nexport B=2\n"
    assert list(commands(script)) == [
        ["spanwise", "corpora"], ["cat"], ["pip", "install", "x"], ["make", "test"], ["export", "B=2"]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("from spanwise import Extracter", "Extracter"),
        ("from spanwise.inferences import Extractor", "inferences"),
        ("print(extractor)", "extractor is not defined"),
        ("from spanwise import Extractor\nExtractor.from_folder('a')", "from_folder"),
        ("from spanwise import Extractor\nExtractor.from_pretrained('a', thread=1)", "thread"),
        ("from spanwise import Extractor\ne = Extractor.from_pretrained('a')\ne.scheme", "scheme"),
        ("from spanwise import Extractor\ne = Extractor.from_pretrained('a')\ne('text', label={})", "label"),
        ("from spanwise import Entity\nEntity(1)", "missing"),
        ("x = = 1", "invalid syntax"),
    ],
)
def test_wrong_code_is_found(source: str, reason: str) -> None:
    with pytest.raises(BadCodeError, match=reason):
        Names().check(Block(ROOT / "README.md", 1, "python", source))


@pytest.mark.parametrize("source", ["model: {name: span-ner, width: 3}\n", "train: {epoch: 3}\n", "entities: [Drug]\n"])
def test_a_wrong_recipe_is_found(source: str) -> None:
    with pytest.raises(Exception, match=r"width|epoch|entities"):
        check_yaml(source)


def test_a_decision_is_read_from_the_comment_above_a_block() -> None:
    first = "<!-- block: slow, given a.jsonl runs/b, trains -->\n```bash\nls\n```\n\n"
    slow, plain = blocks_of(ROOT / "README.md", f"{first}- x\n  ```python\n  if x:\n      y\n  ```\n")
    assert (slow.decision, slow.given, slow.reason) == ("slow", ("a.jsonl", "runs/b"), "trains")
    assert (plain.decision, plain.line, plain.source) == ("run", 7, "if x:\n    y\n")


@pytest.mark.parametrize(
    "comment", ["<!-- block: maybe -->", "<!-- block: check -->", "<!-- block: run -->\n", "<!-- block:slow -->"]
)
def test_a_decision_that_cannot_be_read_is_refused(comment: str) -> None:
    with pytest.raises(AssertionError):
        blocks_of(ROOT / "README.md", f"{comment}\n```bash\nls\n```\n")

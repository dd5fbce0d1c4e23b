"""`spanwise analyze`: a folder with page, numbers, charts and review; wrong input in one sentence."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from spanwise.document import Document, Entity, Relation
from spanwise.formats import read, write
from spanwise.metrics import evaluate

Command = Callable[..., Any]
DOCS = Path(__file__).resolve().parents[2] / "docs"
TEXT = "Ada Moss left Upper Dale ."


def document(*entities: tuple[int, int, str, float], text: str = TEXT, related: bool = False) -> Document:
    relations = (Relation(0, 1, "left"),) if related else ()
    return Document(text, entities=tuple(Entity(*entity) for entity in entities), relations=relations)


GOLD = [
    document((0, 8, "Person", 1.0), (14, 24, "Place", 1.0), related=True),
    document((0, 2, "Person", 1.0), text="Bo met no one ."),
]
PREDICTED = [
    document((0, 8, "Person", 0.9), (14, 19, "Place", 0.8)),
    document((0, 2, "Place", 0.95), text="Bo met no one ."),
]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    write(GOLD, tmp_path / "gold.jsonl")
    write(PREDICTED, tmp_path / "mine.jsonl")
    write(GOLD, tmp_path / "perfect.jsonl")
    return tmp_path


def test_the_folder_holds_page_numbers_charts_and_review(command: Command, files: Path) -> None:
    done = command("analyze", files / "gold.jsonl", files / "mine.jsonl", "--out", files / "report", "--samples", 50)
    assert done.code == 0, done
    assert {path.name for path in (files / "report").iterdir()} == {
        *("report.html", "report.json", "charts", "suspicious.jsonl")
    }
    numbers = json.loads((files / "report" / "report.json").read_text())
    expected = evaluate(GOLD, PREDICTED).entities.micro
    strict = numbers["systems"]["mine"]["entities"]["strict"]["micro"]
    assert [strict[key] for key in ("gold", "predicted", "correct")] == [3, 3, 1]
    assert strict["f1"]["value"] == pytest.approx(expected.f1)
    for chart in (files / "report" / "charts").iterdir():
        assert ElementTree.parse(chart).getroot().get("role") == "img"  # noqa: S314
    (reviewed, *_) = read(files / "report" / "suspicious.jsonl")
    assert reviewed.metadata["review"]
    page = (files / "report" / "report.html").read_text()
    assert "Ada Moss" in page
    assert "default-src 'none'" in page


def test_the_summary_names_scores_errors_and_the_page(command: Command, files: Path) -> None:
    done = command("analyze", files / "gold.jsonl", files / "mine.jsonl", "--out", files / "r", "--samples", 50)
    lines = [line.replace("│", " ").split() for line in done.out.splitlines()]
    assert ["mine", "entities", "33.33", "33.33", "33.33"] in [line[:5] for line in lines]
    assert ["mine", "1", "1", "0", "0", "0"] in lines
    assert done.out.splitlines()[-1] == f"report: {files / 'r' / 'report.html'}"
    assert "note: Without training data" in done.err


def test_json_prints_the_numbers_of_the_folder(command: Command, files: Path) -> None:
    done = command(
        "analyze", files / "gold.jsonl", files / "mine.jsonl", "--out", files / "r", "--samples", 9, "--json"
    )
    assert json.loads(done.out) == json.loads((files / "r" / "report.json").read_text())


def test_several_systems_are_compared_under_their_names(command: Command, files: Path) -> None:
    given = (files / "gold.jsonl", files / "mine.jsonl", files / "perfect.jsonl", "--name", "A [x]", "--name", "<b>")
    done = command("analyze", *given, "--out", files / "r", "--samples", 50, "--train", files / "gold.jsonl")
    assert done.code == 0, done
    numbers = json.loads((files / "r" / "report.json").read_text())
    assert list(numbers["systems"]) == ["A [x]", "<b>"]
    assert "A [x] – <b>" in done.out
    assert "-66.67" in done.out
    assert "Without training data" not in done.err


def test_the_same_seed_gives_the_same_files(command: Command, files: Path) -> None:
    for name in ("one", "two"):
        command(
            "analyze", files / "gold.jsonl", files / "mine.jsonl", "--out", files / name, "--samples", 50, "--seed", 7
        )
    names = [path.relative_to(files / "one") for path in (files / "one").rglob("*.*")]
    assert len(names) > 5
    assert all((files / "one" / name).read_bytes() == (files / "two" / name).read_bytes() for name in names)


def test_predictions_of_another_format_are_read(command: Command, files: Path) -> None:
    (files / "mine.conll").write_text("Ada B-Person\nMoss I-Person\nleft O\nUpper B-Place\nDale I-Place\n. O\n")
    (files / "gold.conll").write_text("Ada B-Person\nMoss I-Person\nleft O\nUpper O\nDale B-Place\n. O\n")
    done = command(
        "analyze", files / "gold.conll", files / "mine.conll", "--out", files / "r", "--samples", 9, "--json"
    )
    assert json.loads(done.out)["systems"]["mine"]["entities"]["strict"]["micro"]["correct"] == 1


def test_quantiles_make_other_buckets_than_the_papers(command: Command, files: Path) -> None:
    found = []
    for buckets in ("paper", "quantiles"):
        given = (files / "gold.jsonl", files / "mine.jsonl", "--out", files / "r", "--buckets", buckets, "--json")
        done = command("analyze", *given, "--samples", 9)
        found.append(list(json.loads(done.out)["systems"]["mine"]["breakdowns"]["sentence_length"]["groups"]))
    assert found[0] != found[1]


def test_a_named_corpus_is_gold_and_gives_its_training_data(command: Command, tmp_path: Path) -> None:
    from spanwise import corpora

    write(corpora.load("demo").split("test"), tmp_path / "all.jsonl")
    given = ("analyze", "--corpus", "demo", tmp_path / "all.jsonl", "--out", tmp_path / "r", "--samples", 9, "--json")
    found = json.loads(command(*given).out)["systems"]["all"]
    assert found["entities"]["strict"]["micro"]["f1"]["value"] == 1
    assert "oov_density" in found["breakdowns"]


def test_no_predictions(command: Command, files: Path) -> None:
    assert "there are no predictions; give one or more files" in command("analyze", files / "gold.jsonl").refusal


def test_a_missing_file(command: Command, files: Path) -> None:
    refusal = command("analyze", files / "gold.jsonl", files / "nope.jsonl", "--out", files / "r").refusal
    assert refusal == f"{files / 'nope.jsonl'}: no such file or folder; check the path."
    assert not (files / "r").exists()


def test_duplicate_and_missing_names(command: Command, files: Path) -> None:
    gold, mine = files / "gold.jsonl", files / "mine.jsonl"
    assert (
        "two systems have the name 'mine'; give each a --name of its own"
        in command("analyze", gold, mine, mine).refusal
    )
    refusal = command("analyze", gold, mine, mine, "--name", "a").refusal
    assert refusal == "there are 2 files of predictions and 1 name; give one --name each."


def test_predictions_on_other_texts(command: Command, files: Path) -> None:
    write(PREDICTED[:1], files / "short.jsonl")
    refusal = command("analyze", files / "gold.jsonl", files / "short.jsonl", "--out", files / "r").refusal
    assert refusal.startswith("short has no prediction for gold document 2 ('Bo met no one .')")
    assert not (files / "r").exists()


def test_a_folder_with_other_files_is_refused_before_anything_is_read(command: Command, files: Path) -> None:
    refusal = command("analyze", "nope", "nope2", "--out", files).refusal
    assert refusal == f"the folder '{files}' holds other files; choose an empty or a new folder."


def test_an_earlier_report_is_replaced(command: Command, files: Path) -> None:
    for system in ("mine", "perfect"):
        given = (files / "gold.jsonl", files / f"{system}.jsonl", "--out", files / "r", "--samples", 9)
        assert command("analyze", *given).code == 0
    assert list(json.loads((files / "r" / "report.json").read_text())["systems"]) == ["perfect"]
    assert not (files / "r" / "suspicious.jsonl").exists()


@pytest.mark.parametrize("option", [["--samples", "0"], ["--samples", "100001"], ["--buckets", "x"], ["--seed", "-1"]])
def test_options_out_of_range_are_wrong_usage(command: Command, files: Path, option: list[str]) -> None:
    done = command("analyze", files / "gold.jsonl", files / "mine.jsonl", *option)
    assert (done.code, done.out) == (2, "")
    assert option[0] in done.err


def test_the_script_of_the_docs_gives_the_numbers_in_its_comments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (script,) = re.findall(r"```python\n(.*?)```", (DOCS / "analysis.md").read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(script, names)  # noqa: S102
    lines = [line.split("#") for line in script.splitlines() if "# " in line]
    assert len(lines) == 2
    for expression, value in lines:
        assert eval(expression, names) == pytest.approx(float(value))  # noqa: S307
    assert (tmp_path / "report" / "report.html").is_file()

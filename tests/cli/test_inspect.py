"""`spanwise inspect` and `spanwise corpora`: results on standard output, one sentence for wrong input."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from spanwise import corpora as rooms
from spanwise.cli import main

_WATCHED = """
import sys
from spanwise.cli import main
try:
    main()
except SystemExit as done:
    assert not {"torch", "transformers"} & sys.modules.keys()
    raise
"""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["spanwise", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            main()
        captured = capsys.readouterr()
        return int(caught.value.code or 0), captured.out, captured.err

    return call


def write(path: Path, *texts: str) -> Path:
    """Texts whose first word is a person."""
    lines = ({"text": t, "entities": [{"start": 0, "end": t.index(" "), "label": "Person"}]} for t in texts)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_json_is_one_object_and_nothing_else(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    train, test = write(tmp_path / "train.jsonl", "Ada left.", "Bo came."), write(tmp_path / "test.jsonl", "Bo came.")
    code, out, _ = run("inspect", train, test, "--json")
    found = json.loads(out)
    assert code == 0
    assert {name: split["documents"] for name, split in found["splits"].items()} == {"train": 2, "test": 1}
    assert found["shared_with_test"] == 1


def test_the_table_tells_the_counts_and_the_traps(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    train = write(tmp_path / "mine.jsonl", "Ada left.", "Unbreakable glass")
    train.write_text(train.read_text() + '{"text": "Undo", "entities": [{"start": 0, "end": 2, "label": "Person"}]}\n')
    code, out, _ = run("inspect", train, "--test", write(tmp_path / "other.jsonl", "Ada left."))
    assert code == 0
    assert "Person" in out
    assert "1 test document also occurs in train." in out
    assert "train 2: Person at 0 to 2, 'Un'" in out


def test_the_table_tells_how_wide_entities_are_and_what_a_maximum_width_covers(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    sentence, one, two = "a b c d e f g h", {"start": 0, "end": 1}, {"start": 0, "end": 3}
    entities = [one] * 150 + [two] * 48 + [{"start": 0, "end": 9}, {"start": 0, "end": 15}]
    record = {"text": sentence, "entities": [{**entity, "label": "X"} for entity in entities]}
    (tmp_path / "train.jsonl").write_text(json.dumps(record) + "\n")
    _, out, _ = run("inspect", tmp_path / "train.jsonl")
    rows = [line.replace("│", " ").split() for line in out.splitlines()]
    assert ["1", "150", "75.0%"] in rows
    assert ["2", "48", "99.0%"] in rows
    assert ["up", "to", "8", "2", "100.0%"] in rows


def test_spans_with_several_labels_are_a_row_of_the_table(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    entities = [{"start": 0, "end": 1, "label": label} for label in ("X", "Y")]
    (tmp_path / "train.jsonl").write_text(json.dumps({"text": "a b", "entities": entities}) + "\n")
    rows = [line.replace("│", " ").split() for line in run("inspect", tmp_path / "train.jsonl")[1].splitlines()]
    assert ["spans", "with", "several", "labels", "1"] in rows


@pytest.mark.parametrize(
    "arguments", [["inspect", "--corpus", "demo"], ["convert", "a.jsonl", "b.json", "--to", "spert"]]
)
def test_reading_data_imports_neither_torch_nor_transformers(arguments: list[str], tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", "Ada left.")
    done = subprocess.run([sys.executable, "-c", _WATCHED, *arguments], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_bad_records_end_the_reading_unless_they_are_skipped(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    train = write(tmp_path / "train.jsonl", "Ada left.")
    train.write_text(train.read_text() + "{oops\n")
    code, out, err = run("inspect", train)
    assert (code, out) == (2, "")
    assert "train.jsonl:2" in err
    code, out, err = run("inspect", train, "--skip-bad", "--json")
    assert code == 0
    assert json.loads(out)["splits"]["train"]["documents"] == 1
    assert "skipped 1 bad record:" in err
    assert "train.jsonl:2" in err


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_a_label_that_train_lacks_is_reported_and_not_refused(run, tmp_path: Path, flags: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    train, test = write(tmp_path / "train.jsonl", "Ada left."), tmp_path / "test.jsonl"
    test.write_text('{"text": "Oslo", "entities": [{"start": 0, "end": 4, "label": "[Place]"}]}\n')
    code, out, _ = run("inspect", train, test, *flags)
    assert code == 0
    if flags:
        assert {n: s["unknown_labels"] for n, s in json.loads(out)["splits"].items()} == {
            "train": [],
            "test": ["[Place]"],
        }
    else:
        assert "test has labels that do not occur in train: [Place]." in out


def test_a_field_that_no_document_has_and_the_notes_are_reported(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    train = tmp_path / "train.jsonl"
    train.write_text(
        '{"text": "Ada left.", "entities": [{"start": 0, "end": 3, "label": "Person"}], "source": "mail"}\n'
    )
    code, _, err = run("inspect", train, "--json")
    assert code == 0
    assert "dropped: 1 x field 'source'" in err
    train.write_text('{"tokenized_text": ["Ada", "left"], "ner": [[0, 0, "Person"]]}\n')
    code, _, err = run("inspect", train, "--json")
    assert code == 2
    assert "this looks like a file of GLiNER" in err
    columns = tmp_path / "train.conll"
    columns.write_text("Ada\tB-Person\n")
    assert "train.conll: scheme IOB2 (detected)" in run("inspect", columns)[2]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["inspect"], "either a corpus by name (--corpus) or files"),
        (["inspect", "--corpus", "demo", "x.jsonl"], "either a corpus by name (--corpus) or files"),
        (["inspect", "--corpus", "demo", "--skip-bad"], "are for files"),
        (["inspect", "--corpus", "nope"], "unknown corpus 'nope'"),
        (["inspect", "missing.jsonl"], "missing.jsonl"),
    ],
)
def test_wrong_input_is_one_sentence_and_exit_code_two(run, arguments: list[str], sentence: str) -> None:  # type: ignore[no-untyped-def]
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert sentence in " ".join(err.split())
    assert "Traceback" not in err


def test_corpora_lists_each_name_and_whether_it_is_here(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = run("corpora", "--data", tmp_path, "--json")
    rows = {row["name"]: row for row in json.loads(out)["corpora"]}
    assert code == 0
    assert tuple(rows) == rooms.NAMES
    assert rows["demo"]["present"]
    assert not rows["genia"]["present"]
    code, out, _ = run("corpora")
    assert code == 0
    assert all(name in out for name in rooms.NAMES)
    assert "where to get them; put them below $SPANWISE_DATA" in out
    assert all(f"  {name}: {row['source']}" in out for name, row in rows.items())


@pytest.mark.parametrize("verb", ["inspect", "corpora"])
def test_help_gives_an_example(run, verb: str) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = run(verb, "--help")
    assert code == 0
    assert f"Example: spanwise {verb}" in out

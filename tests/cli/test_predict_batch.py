"""`spanwise predict` with several workers, tables, Parquet and a file of bad records."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spanwise.inference.extractor import Extractor

Command = Callable[..., Any]
LEGACY = Path(__file__).resolve().parents[1] / "legacy"
TEXTS = ["Ada Moss met Bo in Upper Dale .", "", "In Westmoor it rained ."]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    rows = ({"text": text, "id": str(number)} for number, text in enumerate(TEXTS * 10))
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path / "in.jsonl"


def csv_rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


@pytest.mark.slow
def test_workers_write_what_one_process_writes(command: Command, trained: Path, source: Path, tmp_path: Path) -> None:
    options = ["--part-size", "7"]
    assert command("predict", trained, source, tmp_path / "one.jsonl", *options).code == 0
    done = command("predict", trained, source, tmp_path / "two.jsonl", "--workers", "2", *options)
    assert (done.code, done.err) == (0, "30 documents\n")
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"in.jsonl", "one.jsonl", "two.jsonl"}


def test_small_parts_change_nothing(command: Command, trained: Path, source: Path, tmp_path: Path) -> None:
    for name, options in {"whole.conll": [], "parts.conll": ["--part-size", "4"]}.items():
        assert command("predict", trained, source, tmp_path / name, "--lossy", *options).code == 0
    assert (tmp_path / "whole.conll").read_bytes() == (tmp_path / "parts.conll").read_bytes()


def test_tables_hold_what_a_data_frame_holds(command: Command, trained: Path, source: Path, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="the extra tables is not installed")
    frame = Extractor.from_pretrained(trained).table(TEXTS * 10)
    for name in ("out.csv", "out.parquet"):
        done = command("predict", trained, source, tmp_path / name, "--part-size", "8")
        assert (done.code, done.err.splitlines()[-1]) == (0, "30 documents")
    columns = ["document", "kind", "label", "start", "end", "text"]
    csv = pandas.read_csv(tmp_path / "out.csv")
    assert list(csv[csv["kind"] == "document"]["text"].fillna("")) == TEXTS * 10
    for table in (csv[csv["kind"] != "document"], pandas.read_parquet(tmp_path / "out.parquet")):
        assert table[columns].to_numpy().tolist() == frame[columns].to_numpy().tolist()
        assert list(table["id"].astype(int)) == list(table["document"])


def test_a_table_goes_to_standard_output(command: Command, trained: Path) -> None:
    done = command("predict", trained, "--lines", "--to", "csv", stdin=f"{TEXTS[0]}\n".encode())
    assert done.code == 0
    assert [row["text"] for row in csv_rows(done.out)] == [TEXTS[0], "Ada Moss", "Bo", "Upper Dale"]


def test_relations_are_rows_of_a_table(command: Command, tmp_path: Path) -> None:
    document = {"text": "Mara Ostrow met Bo Lind in Brenford .", "entities": [
        {"start": 0, "end": 11, "label": "Person"}, {"start": 27, "end": 35, "label": "Place"}]}  # fmt: skip
    (tmp_path / "in.jsonl").write_text(json.dumps(document))
    options = ["--given", "--relation-threshold", "0"]
    assert command("predict", LEGACY / "spert", tmp_path / "in.jsonl", tmp_path / "out.csv", *options).code == 0
    found = csv_rows((tmp_path / "out.csv").read_text())
    assert [row["kind"] for row in found[:4]] == ["document", "entity", "entity", "relation"]
    relation = found[3]
    assert {relation["head_text"], relation["tail_text"]} == {"Mara Ostrow", "Brenford"}
    assert relation["text"] == relation["start"] == ""


def test_parquet_is_read(command: Command, trained: Path, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="the extra tables is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"body": TEXTS, "id": ["x", "y", "z"]}), tmp_path / "in.parquet")
    done = command("predict", trained, tmp_path / "in.parquet", "--text-column", "body")
    assert [json.loads(line)["id"] for line in done.out.splitlines()] == ["x", "y", "z"]
    refusal = command("predict", trained, tmp_path / "in.parquet", tmp_path / "out.jsonl").refusal
    assert refusal.endswith("name the column of the texts with --text-column: one of body, id.")


def test_urls_are_read_and_written(command: Command, trained: Path, source: Path, tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec", reason="the extra tables is not installed")
    command("predict", trained, source, tmp_path / "out.jsonl")
    with fsspec.open("memory://corpus/in.jsonl", "wb") as stream:
        stream.write(source.read_bytes())
    url = "memory://corpus/out.jsonl"
    assert command("predict", trained, "memory://corpus/in.jsonl", url, "--part-size", "7").code == 0
    with fsspec.open(url, "rb") as stream:
        assert stream.read() == (tmp_path / "out.jsonl").read_bytes()
    assert sorted(fsspec.filesystem("memory").find("/corpus")) == ["/corpus/in.jsonl", "/corpus/out.jsonl"]


@pytest.mark.parametrize("size", ["5", "1000"])
def test_bad_records_have_a_file_of_their_own(
    command: Command, trained: Path, source: Path, tmp_path: Path, size: str
) -> None:
    bad = [b"{oops", '{"text": "André"}'.encode("latin-1"), b'{"text": "Bo", "entities": [{"start": 9, "end": 1}]}']
    good = source.read_bytes().splitlines()
    source.write_bytes(b"\n".join([*good[:12], *bad, *good[12:], bad[0]]) + b"\n")
    out, side = tmp_path / "out.jsonl", tmp_path / "out.jsonl.bad.jsonl"
    done = command("predict", trained, source, out, "--skip-bad", "--part-size", size)
    assert done.code == 0
    assert f"bad records are in {side}" in done.err
    assert "skipped 4 bad records, the first ones:" in done.err
    assert len(out.read_text().splitlines()) == 30
    found = [json.loads(line) for line in side.read_text().splitlines()]
    assert [(record["source"], record["line"]) for record in found] == [(str(source), n) for n in (13, 14, 15, 34)]
    assert [record["record"] for record in found][:2] == ["{oops", '{"text": "Andr\\xe9"}']
    source.write_bytes(b"\n".join(good))
    assert command("predict", trained, source, out, "--skip-bad", "--part-size", size).code == 0
    assert not side.exists()


def test_finished_parts_survive_a_bad_record(command: Command, trained: Path, source: Path, tmp_path: Path) -> None:
    source.write_text(source.read_text() + "{oops\n")
    arguments = ("predict", trained, source, tmp_path / "out.jsonl", "--part-size", "7")
    done = command(*arguments)
    assert done.code == 2
    parts = tmp_path / "out.jsonl.parts"
    first, last = done.err.splitlines()
    assert first == f"28 documents finished in {parts}; run the same command again to resume"
    assert last.startswith(f"error: {source}:31: the line is not a JSON object")
    assert command(*arguments, "--skip-bad").code == 0
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 30
    assert not parts.exists()


def test_standard_input_is_resumed_if_it_is_the_same(
    command: Command, trained: Path, source: Path, tmp_path: Path
) -> None:
    whole = source.read_bytes()
    arguments = ("predict", trained, "-", tmp_path / "out.jsonl", "--part-size", "7")
    assert command(*arguments, stdin=whole + b"{oops\n").code == 2
    changed = command(*arguments, stdin=whole.replace(b"Ada", b"Eva"))
    assert "the input has changed since part 0 was finished; restore it to resume" in changed.err
    assert command(*arguments, stdin=whole).code == 0
    assert command("predict", trained, source, tmp_path / "file.jsonl").code == 0
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "file.jsonl").read_bytes()


def test_a_page_goes_with_parts(command: Command, trained: Path, source: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    options = ["--part-size", "7", "--html", page]
    assert command("predict", trained, source, tmp_path / "out.jsonl", *options).code == 0
    assert page.read_text().count("Westmoor") >= 10


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-", "-", "--workers", "2"], "store finished parts beside OUT; name a file as OUT."),
        (["-", "{folder}/out.jsonl", "--engine", "ray"], "Ray cannot read standard input; save it to a file first."),
        (["-", "{folder}/out.jsonl", "--workers", "2", "--html", "{folder}/p"], "--html keeps all documents in memory"),
        (["-", "{folder}/out.txt", "--to", "xml"], "the format 'xml' is unknown; choose one of brat, "),
        (["-", "memory://out.conll"], "behind a URL, OUT is one of csv, jsonl, parquet."),
        (["-", "{folder}"], "does not determine the format"),
        (["-", "{folder}", "--to", "csv"], "this is a folder; give the name of a file in it."),
    ],
)
def test_what_does_not_go_together_is_refused(
    command: Command, trained: Path, tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    filled = [argument.format(folder=tmp_path) for argument in arguments]
    assert sentence in command("predict", trained, *filled, stdin=b'{"text": "Bo"}\n').refusal
    assert list(tmp_path.iterdir()) == []

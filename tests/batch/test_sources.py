"""What can be read: Parquet, folders of records, and URLs, beside all files that were readable before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spanwise.document import Document, Entity
from spanwise.errors import FormatError, InputError
from spanwise.formats import Report
from spanwise.inference.batch.source import Source

pyarrow = pytest.importorskip("pyarrow", reason="the extra tables is not installed")
parquet = pytest.importorskip("pyarrow.parquet")
fsspec = pytest.importorskip("fsspec")


def write_parquet(path: Path, **columns: list[Any]) -> Path:
    path.parent.mkdir(exist_ok=True)
    parquet.write_table(pyarrow.table(columns), path)
    return path


def read(path: Path | str, report: Report | None = None, **options: Any) -> list[Document]:
    return list(Source(str(path), **options).documents(report or Report()))


def test_a_parquet_row_is_a_document(tmp_path: Path) -> None:
    entities = [[{"start": 0, "end": 2, "label": "PER", "score": None}], None]
    path = write_parquet(tmp_path / "in", text=["Bo left .", "Kell"], id=[7, 8], entities=entities, lang=["a", "b"])
    report = Report()
    assert read(path, report) == [
        Document("Bo left .", entities=(Entity(0, 2, "PER"),), id="7"),
        Document("Kell", id="8"),
    ]
    assert dict(report.dropped) == {"column 'lang'": 1}
    assert report.bytes_read == path.stat().st_size


def test_the_column_of_the_texts_can_be_named(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "in.parquet", body=["Bo left ."], text=[1])
    report = Report()
    assert read(path, report, text_column="body") == [Document("Bo left .")]
    assert dict(report.dropped) == {"column 'text'": 1}
    with pytest.raises(FormatError, match=r"no column 'content'; name the .* with --text-column: one of body, text\."):
        read(path, text_column="content")


def test_bad_rows_are_named_or_skipped(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "in.parquet", text=["Bo", None, "Kell"])
    with pytest.raises(FormatError, match=r"in\.parquet:2: 'text' is missing"):
        read(path)
    report = Report(bad_records=[])
    assert [document.text for document in read(path, report, skip_bad=True)] == ["Bo", "Kell"]
    assert [bad.line for bad in report.bad_records or []] == [2]


def test_a_damaged_parquet_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(FormatError, match=r"in\.parquet: this is not a Parquet file, or it is damaged"):
        read(tmp_path / "in.parquet")


def test_a_folder_of_records_is_read_by_name(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.ndjson", "_temporary/c.jsonl", ".hidden.jsonl", "empty.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("" if name.startswith("empty") else json.dumps({"text": name}) + "\n")
    (tmp_path / "_SUCCESS").touch()
    assert [document.text for document in read(tmp_path)] == ["a.ndjson", "b.jsonl"]


def test_a_folder_of_two_kinds_asks_for_one(tmp_path: Path) -> None:
    write_parquet(tmp_path / "a.parquet", text=["from Parquet"])
    (tmp_path / "b.jsonl").write_text('{"text": "from JSON"}\n')
    with pytest.raises(FormatError, match=r"holds \.jsonl and \.parquet files; choose with --from"):
        read(tmp_path)
    assert [document.text for document in read(tmp_path, format="parquet")] == ["from Parquet"]
    assert [document.text for document in read(tmp_path, format="jsonl")] == ["from JSON"]


@pytest.mark.parametrize("protocol", ["file", "memory"])
def test_a_url_is_read_as_the_file_would_be(tmp_path: Path, protocol: str) -> None:
    base = f"{protocol}://{tmp_path}"
    table = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.table({"text": ["Bo", "Kell"]}), table)
    contents = {
        "a.jsonl": b'{"text": "Bo"}\r\n{"text": "Kell"}\n',
        "b.parquet": table.getvalue().to_pybytes(),
        "c.txt": b"Bo\nKell",
    }
    for name, content in contents.items():
        with fsspec.open(f"{base}/{name}", "wb") as stream:
            stream.write(content)
    texts = {name: [document.text for document in read(f"{base}/{name}")] for name in contents}
    assert texts == {"a.jsonl": ["Bo", "Kell"], "b.parquet": ["Bo", "Kell"], "c.txt": ["Bo\nKell"]}
    assert [document.text for document in read(f"{base}/c.txt", lines=True)] == ["Bo", "Kell"]
    assert [document.text for document in read(base, format="jsonl")] == ["Bo", "Kell"]
    assert Source(f"{base}/a.jsonl").size() == len(contents["a.jsonl"])


@pytest.mark.parametrize(
    ("url", "options", "sentence"),
    [
        ("memory://nowhere/in.jsonl", {}, "no such file or folder; check the URL"),
        ("nothing://in.jsonl", {}, r"this URL cannot be opened \(.*\); check its protocol"),
        ("memory://here/in.conll", {"format": "conll"}, "a URL can hold JSON lines, Parquet or plain text; download"),
    ],
)
def test_a_wrong_url_is_refused(url: str, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(FormatError, match=sentence):
        read(url, **options)


def test_plain_text_behind_a_url_has_no_entities_to_keep() -> None:
    with fsspec.open("memory://here/in.txt", "wb") as stream:
        stream.write(b"Bo")
    with pytest.raises(InputError, match="--given keeps the entities of the input, but plain text has none"):
        read("memory://here/in.txt", given=True)

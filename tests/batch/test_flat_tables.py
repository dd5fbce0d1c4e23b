"""Documents as tables: a row per entity and per relation, the same in CSV, Parquet and a data frame."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spanwise.document import Document, Entity, Relation
from spanwise.errors import InputError, LossyError
from spanwise.formats import Report, tables
from spanwise.formats.tables import COLUMNS, Row, rows
from spanwise.formats.writing import Writer
from spanwise.inference.extractor import Extractor
from spanwise.pipeline.torch_pipeline import TorchPipeline

MEETING = Document(
    'Ann left, =Halden\r\n"now" .',
    entities=(Entity(0, 3, "PER", 0.5), Entity(10, 24, "LOC")),
    relations=(Relation(1, 0, "seen by", 0.25),),
    id="a",
)
EMPTY = Document("Nothing .")
NOBODY = (None,) * 8
ROWS = [
    Row(1, "a", "entity", "PER", 0.5, 0, 3, "Ann", *NOBODY),
    Row(1, "a", "entity", "LOC", 1.0, 10, 24, '=Halden\r\n"now"', *NOBODY),
    Row(1, "a", "relation", "seen by", 0.25, *[None] * 3, 10, 24, "LOC", '=Halden\r\n"now"', 0, 3, "PER", "Ann"),
]


def writer(path: Path, **options: Any) -> Writer:
    return Writer(path, "", options.get("lossy", False), Report())


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_a_document_is_a_row_per_entity_and_relation() -> None:
    assert [*rows(EMPTY, 0), *rows(MEETING, 1)] == ROWS


def test_csv_quotes_what_needs_it_and_counts_possible_formulas(tmp_path: Path) -> None:
    csv_writer = writer(tmp_path / "out.csv")
    tables.write_csv([EMPTY, MEETING], csv_writer)
    texts = [Row(0, None, "document", "", 1.0, text=EMPTY.text), Row(1, "a", "document", "", 1.0, text=MEETING.text)]
    assert [tuple(row.values()) for row in read_csv(tmp_path / "out.csv")] == [
        tuple("" if cell is None else str(cell) for cell in row) for row in [*texts, *ROWS]
    ]
    assert csv_writer.report.written == 2
    (note,) = csv_writer.report.notes
    assert note.startswith("out.csv: 2 cells begin with =, +, -, @, a tab or a carriage return, which spreadsheets can")


def test_parquet_holds_the_same_rows_and_types(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="the extra tables is not installed")
    for name, found in {"out": [EMPTY, MEETING], "none": [EMPTY]}.items():
        tables.write_parquet(found, writer(tmp_path / f"{name}.parquet"))
    table = parquet.read_table(tmp_path / "out.parquet")
    assert [Row(**row) for row in table.to_pylist()] == ROWS
    assert parquet.read_table(tmp_path / "none.parquet").schema == table.schema


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(text=TEXTS, label=TEXTS, id=TEXTS)
def test_every_text_survives_a_table(tmp_path: Path, text: str, label: str, id: str) -> None:
    document = Document(text, (), (Entity(0, len(text), label),), (Relation(0, 0, label),), id)
    for write, name in ((tables.write_csv, "any.csv"), (tables.write_parquet, "any.parquet")):
        write([document], writer(tmp_path / name))
    whole, entity, relation = read_csv(tmp_path / "any.csv")
    assert (whole["kind"], whole["text"]) == ("document", text)
    assert (entity["text"], entity["label"], entity["id"]) == (text, label, id)
    assert (relation["head_text"], relation["tail_label"], relation["text"]) == (text, label, "")
    assert [tuple(row) for row in rows(document, 0)] == read_parquet(tmp_path / "any.parquet")


def read_parquet(path: Path) -> list[tuple[Any, ...]]:
    parquet = pytest.importorskip("pyarrow.parquet", reason="the extra tables is not installed")
    return [tuple(row.values()) for row in parquet.read_table(path).to_pylist()]


def test_head_regions_are_refused_or_counted(tmp_path: Path) -> None:
    headed = Document("the mayor", entities=(Entity(0, 9, "PER", head=(4, 9)),))  # type: ignore[arg-type]
    with pytest.raises(LossyError, match="1 x head region"):
        tables.write_csv([headed], writer(tmp_path / "out.csv"))
    assert list(tmp_path.iterdir()) == []
    lossy = writer(tmp_path / "out.csv", lossy=True)
    tables.write_csv([headed], lossy)
    assert lossy.report.dropped["head region"] == 1


@pytest.fixture(scope="module")
def extractor(make_pipeline: Callable[..., TorchPipeline]) -> Extractor:
    return Extractor(make_pipeline("seq-ner"))


def test_an_extractor_gives_a_data_frame(extractor: Extractor) -> None:
    pytest.importorskip("pandas", reason="the extra tables is not installed")
    texts = ["Mara met Bo in Kell .", "", "Acme hired Bo ."]
    frame = extractor.table(iter(texts))
    wanted = [row for number, document in enumerate(extractor(texts)) for row in rows(document, number)]
    assert tuple(frame.columns) == COLUMNS
    assert {0, 2} == set(frame["document"])
    for column in ("document", "kind", "label", "score", "start", "end", "text"):
        assert list(frame[column]) == [getattr(row, column) for row in wanted]
    assert frame["id"].isna().all()
    assert str(frame["start"].dtype) == "Int64"
    assert tuple(extractor.table([]).columns) == COLUMNS


def test_one_text_is_no_list_of_texts(extractor: Extractor) -> None:
    with pytest.raises(InputError, match=r"table\(\) takes a list of texts; put the one text into a list"):
        extractor.table("Mara met Bo .")


def test_a_missing_package_is_named_with_its_extra(extractor: Extractor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        InputError, match=r"a data frame needs pandas; install it with `pip install 'spanwise\[tables\]'"
    ):
        extractor.table(["Bo"])

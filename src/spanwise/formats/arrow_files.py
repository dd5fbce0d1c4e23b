"""Rows in Arrow files, without `datasets`: a folder that its `save_to_disk` makes, or a Parquet file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from spanwise.errors import FormatError
from spanwise.formats.extras import optional_module
from spanwise.formats.fields import short_repr
from spanwise.formats.reading import MAX_RECORD
from spanwise.formats.writing import Writer

PARQUET = ".parquet"
_STATE, _INFO, _SPLITS = "state.json", "dataset_info.json", "dataset_dict.json"
_DATA = "data-00000-of-00001.arrow"
_FEATURES = b"huggingface"  # key of the metadata in which `datasets` stores its features
_ROWS = 1024  # in memory at a time
_MAGIC = b"PAR1"


def is_table(path: Path, head: bytes) -> bool:
    """Whether this is a Parquet file, or a folder that `datasets` saved."""
    return any((path / name).is_file() for name in (_STATE, _SPLITS)) if path.is_dir() else head.startswith(_MAGIC)


class ArrowTable:
    """The schema and the rows of a table on disk."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._arrow = optional_module("pyarrow", "tables", "a Parquet file or a data set of Hugging Face")
        self._parquet = optional_module("pyarrow.parquet", "tables", "a Parquet file")
        self._files = _data_files(path) if path.is_dir() else [path]
        with self._damage(), self._opened(self._files[0]) as file:
            self.schema = file.schema_arrow if self._is_parquet else file.schema
        self.columns: Sequence[str] = self.schema.names
        self._features = self._stored_features()

    @property
    def _is_parquet(self) -> bool:
        return not self._path.is_dir()

    @property
    def size(self) -> int:
        return sum(file.stat().st_size for file in self._files)

    def class_names(self, *path: str) -> list[str] | None:
        """The names of the classes of a column, or of a field in it; None if its values are no classes."""
        feature: Any = self._features
        for name in path:
            feature = _inner(feature).get(name)
        names = _inner(feature).get("names")
        return [str(name) for name in names] if isinstance(names, list) else None

    def rows(self, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
        """The rows of these columns with their numbers, from 1."""
        number = 0
        with self._damage():
            for batch in self._batches(columns):
                for start in range(0, batch.num_rows, _ROWS):
                    for row in batch.slice(start, _ROWS).to_pylist():
                        number += 1
                        yield number, row

    def _batches(self, columns: Sequence[str]) -> Iterator[Any]:
        for path in self._files:
            with self._opened(path) as file:
                if self._is_parquet:
                    yield from file.iter_batches(batch_size=_ROWS, columns=list(columns))
                else:
                    yield from (batch.select(list(columns)) for batch in file)

    @contextmanager
    def _opened(self, path: Path) -> Iterator[Any]:
        if self._is_parquet:
            with self._parquet.ParquetFile(path) as file:
                yield file
        else:
            with self._arrow.memory_map(str(path)) as source, self._arrow.ipc.open_stream(source) as stream:
                yield stream

    @contextmanager
    def _damage(self) -> Iterator[None]:
        try:
            yield
        except (self._arrow.ArrowException, OSError, KeyError) as error:
            reason = str(error).partition("\n")[0]
            raise FormatError(
                f"this is not a table of Arrow or Parquet, or it is damaged ({reason}).", self._path
            ) from None

    def _stored_features(self) -> dict[str, Any]:
        """What `datasets` stored about the columns, beside the table or in its metadata."""
        stored = (self.schema.metadata or {}).get(_FEATURES)
        if self._path.is_dir() and (self._path / _INFO).is_file():
            features = _json_object(self._path / _INFO).get("features")
            return features if isinstance(features, dict) else {}
        try:
            return dict(json.loads(stored)["info"]["features"]) if stored else {}
        except (ValueError, KeyError, TypeError):
            return {}


def _inner(feature: Any) -> dict[str, Any]:
    """A feature without the lists around it."""
    while isinstance(feature, list) or (isinstance(feature, dict) and isinstance(feature.get("feature"), list | dict)):
        feature = (feature[0] if feature else {}) if isinstance(feature, list) else feature["feature"]
    return feature if isinstance(feature, dict) else {}


def _data_files(folder: Path) -> list[Path]:
    """The files of one split."""
    if (folder / _SPLITS).is_file():
        splits = _json_object(folder / _SPLITS).get("splits")
        names = ", ".join(str(folder / str(name)) for name in splits) if isinstance(splits, list) else "its folders"
        raise FormatError(f"this folder holds the splits of a data set; give one of them: {names}.", folder)
    if not (folder / _STATE).is_file():
        reason = f"the folder holds no documents: {_STATE} is not in it; give a folder that `save_to_disk` made."
        raise FormatError(reason, folder)
    state = _json_object(folder / _STATE).get("_data_files")
    files = [folder / Path(str(file.get("filename"))).name for file in state or () if isinstance(file, dict)]
    if missing := [file for file in files if not file.is_file()]:
        raise FormatError("the file is missing, but the data set lists it; save the data set again.", missing[0])
    if not files:
        raise FormatError(f"{_STATE} lists no file; save the data set again.", folder)
    return files


def _json_object(path: Path) -> dict[str, Any]:
    if path.stat().st_size > MAX_RECORD:
        raise FormatError(f"the file is longer than {MAX_RECORD // 2**20} MB; save the data set again.", path)
    try:
        value = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise FormatError(f"{short_repr(value)} is not a JSON object; save the data set again.", path)
    return value


class TableWriter:
    """Rows with a given Arrow schema, written as a folder of `datasets` or as Parquet."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self.arrow = optional_module("pyarrow", "tables", "a Parquet file or a data set of Hugging Face")
        self.features: dict[str, Any] = {}

    def write(self, rows: Iterable[Mapping[str, Any]], schema: Any, *, streamed: bool = True) -> None:
        """Write the rows. Parquet has the features first: if they are complete only after the last row, it cannot be
        `streamed`, and the packed rows are held in memory."""
        path, batches = self._writer.path, self._batches(rows, schema)
        if path is not None and path.suffix.lower() == PARQUET:
            self._write_parquet(batches if streamed else iter(list(batches)), schema)
        else:
            self._write_folder(batches, schema)

    def _batches(self, rows: Iterable[Mapping[str, Any]], schema: Any) -> Iterator[Any]:
        remaining = iter(rows)
        while group := list(islice(remaining, _ROWS)):
            yield self.arrow.RecordBatch.from_pylist(group, schema=schema)

    def _write_parquet(self, batches: Iterator[Any], schema: Any) -> None:
        parquet = optional_module("pyarrow.parquet", "tables", "a Parquet file")
        described = schema.with_metadata({_FEATURES: json.dumps({"info": {"features": self.features}})})
        with self._writer.open() as stream, parquet.ParquetWriter(stream, described, compression="zstd") as table:
            for batch in batches:
                table.write_batch(batch.replace_schema_metadata(described.metadata))

    def _write_folder(self, batches: Iterator[Any], schema: Any) -> None:
        with self._writer.folder() as folder:
            with self.arrow.OSFile(str(folder / _DATA), "wb") as sink, self.arrow.ipc.new_stream(sink, schema) as table:
                for batch in batches:
                    table.write_batch(batch)
            info = {"citation": "", "description": "", "features": self.features, "homepage": "", "license": ""}
            (folder / _INFO).write_text(json.dumps(info, ensure_ascii=False, indent=2), encoding="utf-8")
            (folder / _STATE).write_text(json.dumps(_state(), indent=2), encoding="utf-8")


def _state() -> dict[str, Any]:
    absent = ("_format_columns", "_format_type", "_split")
    files = {"_data_files": [{"filename": _DATA}], "_fingerprint": "spanwise"}
    return {**files, **dict.fromkeys(absent), "_format_kwargs": {}, "_output_all_columns": False}

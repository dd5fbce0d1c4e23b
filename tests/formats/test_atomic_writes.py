"""A file appears whole or not at all."""

from __future__ import annotations

import os
import stat

import pytest

from spanwise.document import Document
from spanwise.errors import FormatError
from spanwise.formats import FORMATS, read, write

DOCUMENT = Document.from_words(["Ann"], [(0, 1, "PER")], id="a", metadata={"doc_key": "a", "sentence": 0})
WRITABLE = sorted(name for name, format in FORMATS.items() if format.write)


def failing():
    yield DOCUMENT
    yield DOCUMENT
    raise KeyboardInterrupt


@pytest.mark.parametrize("format", WRITABLE)
def test_a_failure_leaves_nothing_behind(tmp_path, format):
    with pytest.raises(KeyboardInterrupt):
        write(failing(), tmp_path / "out", format)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("format", [name for name in WRITABLE if not FORMATS[name].is_folder])
def test_a_failure_keeps_the_old_file(tmp_path, format):
    (tmp_path / "out").write_text("old")
    with pytest.raises(KeyboardInterrupt):
        write(failing(), tmp_path / "out", format)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("out", "old")]


@pytest.mark.parametrize("format", WRITABLE)
def test_nothing_is_seen_under_the_name_before_all_is_written(tmp_path, format):
    def watching():
        for _ in range(3):
            assert not (tmp_path / "out").exists()
            yield DOCUMENT

    write(watching(), tmp_path / "out", format)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_file_can_be_converted_onto_itself(tmp_path):
    path = tmp_path / "x.jsonl"
    write([DOCUMENT] * 3, path)
    write(read(path), path)
    assert list(read(path)) == [DOCUMENT] * 3


def test_new_files_have_the_usual_permissions_and_links_are_followed(tmp_path):
    (tmp_path / "real.jsonl").write_text("")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "real.jsonl")
    write([DOCUMENT], tmp_path / "link.jsonl")
    assert (tmp_path / "link.jsonl").is_symlink()
    (tmp_path / "plain").write_text("")
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("real.jsonl", "plain")}
    assert len(modes) == 1


def test_devices_are_written_to_and_not_replaced():
    write([DOCUMENT], os.devnull, "jsonl")
    assert not os.path.isfile(os.devnull)


@pytest.mark.parametrize("format", WRITABLE)
def test_a_missing_folder_is_reported(tmp_path, format):
    with pytest.raises(FormatError, match="does not exist; create it first"):
        write([DOCUMENT], tmp_path / "missing" / "out", format)


def test_a_folder_in_the_way_is_reported(tmp_path):
    with pytest.raises(FormatError, match="this is a folder; give the name of a file in it"):
        write([DOCUMENT], tmp_path, "jsonl")
    (tmp_path / "x").write_text("")
    with pytest.raises(FormatError, match="this already exists; name a new folder"):
        write([DOCUMENT], tmp_path, "brat")


def test_an_empty_folder_may_be_filled(tmp_path):
    (tmp_path / "out").mkdir()
    write([DOCUMENT], tmp_path / "out", "brat")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a.ann", "a.txt"]


def test_standard_output_and_input_speak_jsonl_only(capfdbinary, monkeypatch, tmp_path):
    write([DOCUMENT], "-")
    written = capfdbinary.readouterr().out
    (tmp_path / "in").write_bytes(written)
    with (tmp_path / "in").open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert list(read("-")) == [DOCUMENT]
    with pytest.raises(FormatError, match="only 'jsonl' can go to standard output"):
        write([DOCUMENT], "-", "spert")
    with pytest.raises(FormatError, match="standard input can only be read as 'jsonl'"):
        read("-", "conll")

"""Files appear whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from spanwise.files import replacing, write_text


def test_a_file_takes_its_place_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.txt"
    with replacing(path) as draft:
        draft.write_text("whole")
        assert not path.exists()
    assert path.read_text() == "whole"
    assert list(path.parent.iterdir()) == [path]


def test_a_failure_leaves_what_was_there_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_text(path, "old")

    def fail() -> None:
        with replacing(path) as draft:
            draft.write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_text_is_written_as_utf_8_and_replaces_what_was_there(tmp_path: Path) -> None:
    write_text(tmp_path / "a.txt", "old")
    write_text(tmp_path / "a.txt", "中国 é")
    assert (tmp_path / "a.txt").read_bytes() == "中国 é".encode()

"""Files appear whole or not at all."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from spanwise.files import atomic_file, atomic_folder, remove_partial_files, write_text


def test_a_file_takes_its_place_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.txt"
    with atomic_file(path) as draft:
        draft.write_text("whole")
        assert not path.exists()
    assert path.read_text() == "whole"
    assert list(path.parent.iterdir()) == [path]


def test_a_failure_leaves_what_was_there_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_text(path, "old")

    def fail() -> None:
        with atomic_file(path) as draft:
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


def test_what_is_written_is_on_disk_before_it_takes_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[tuple[bytes, bool]] = []
    path = tmp_path / "a.txt"
    monkeypatch.setattr(os, "fsync", lambda file: synced.append((os.pread(file, 99, 0), path.exists())))
    write_text(path, "whole")
    assert synced == [(b"whole", False)]


def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path: Path) -> None:
    write_text(tmp_path / "real" / "a.txt", "old")
    (tmp_path / "link.txt").symlink_to(Path("real", "a.txt"))
    write_text(tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real" / "a.txt").read_text() == "new"
    assert len(list((tmp_path / "real").iterdir())) == 1


def test_a_file_that_its_writer_made_private_has_the_usual_permissions(tmp_path: Path) -> None:
    with atomic_file(tmp_path / "a") as draft:
        draft.chmod(0o600)
    (tmp_path / "b").touch()
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in "ab"}
    assert len(modes) == 1


@pytest.mark.parametrize("name", ["x" * 255, "é" * 127, "中" * 85, "👍" * 63])
def test_a_name_may_be_as_long_as_the_file_system_allows(tmp_path: Path, name: str) -> None:
    write_text(tmp_path / name, "whole")
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_two_writers_of_one_file_do_not_disturb_each_other(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with atomic_file(path) as one:
        write_text(path, "first")
        one.write_text("second")
    assert path.read_text() == "second"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_takes_its_place_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder"
    with atomic_folder(path) as draft:
        (draft / "a.txt").write_text("whole")
        assert not path.exists()
    assert (path / "a.txt").read_text() == "whole"
    assert list(path.parent.iterdir()) == [path]


def test_a_failure_leaves_no_folder(tmp_path: Path) -> None:
    def fail() -> None:
        with atomic_folder(tmp_path / "folder") as draft:
            (draft / "a.txt").write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_drafts_of_files_and_folders_are_removed(tmp_path: Path) -> None:
    (tmp_path / ".a.txt.0123.part").touch()
    (tmp_path / ".b.0123.part").mkdir()
    (tmp_path / ".b.0123.part" / "c.txt").touch()
    (tmp_path / ".tmp7F7vd1").touch()  # of safetensors, beside the file in earlier versions
    (tmp_path / "a.part").touch()
    remove_partial_files(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a.part"]


KILLED_WRITER = """
import resource, signal, sys
from pathlib import Path
import numpy
from safetensors.numpy import save_file
from spanwise.files import atomic_file

signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # a write beyond the limit kills the process
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, resource.RLIM_INFINITY))
with atomic_file(Path(sys.argv[1])) as draft:
    save_file({"weights": numpy.zeros(1_000_000)}, draft)
"""


def test_what_a_killed_writer_of_weights_left_is_removed(tmp_path: Path) -> None:
    """safetensors writes to a temporary file of its own, beside the path that it is given."""
    pytest.importorskip("resource")
    path = tmp_path / "model.safetensors"
    child = subprocess.run([sys.executable, "-c", KILLED_WRITER, str(path)], capture_output=True)
    assert child.returncode == -signal.SIGXFSZ, child.stderr
    assert len(list(tmp_path.iterdir())) == 1  # a megabyte of them
    remove_partial_files(tmp_path)
    assert list(tmp_path.iterdir()) == []

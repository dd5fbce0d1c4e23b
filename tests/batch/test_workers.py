"""Worker processes: the same output as one process, whichever process is killed in the middle."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from spanwise.errors import InputError, ModelError
from spanwise.inference.batch import workers
from spanwise.inference.batch.output import Output
from spanwise.inference.batch.parts import Finished, cut
from spanwise.inference.batch.prediction import Extraction
from spanwise.inference.batch.run import Batch, LocalEngine
from spanwise.inference.batch.source import Source
from spanwise.inference.batch.workers import Pool

Write = Callable[[int], Path]
NOTHING = Finished("", {})
pytestmark = pytest.mark.slow


def in_one_process(source: Path, out: Path, model: Path, part_size: int) -> bytes:
    asked = Extraction(str(model))
    batch = Batch(Source(str(source), part_size=part_size), asked, Output(str(out), "jsonl"))
    batch.run(LocalEngine(asked))
    return out.read_bytes()


def test_a_killed_worker_is_replaced(write_texts: Write, model: Path, tmp_path: Path) -> None:
    source, asked = write_texts(300), Extraction(str(model))
    wanted = in_one_process(source, tmp_path / "one.jsonl", model, part_size=10)
    found: dict[int, bytes] = {}
    with Pool(asked, 2, threads=1) as pool:
        for result in pool.results(cut(Source(str(source), part_size=10))):
            assert result.head.number not in found
            found[result.head.number] = result.lines
            if len(found) == 5:
                victim = pool.workers[0].process.pid
                assert victim is not None
                os.kill(victim, signal.SIGKILL)
        assert sum(pool.deaths.values()) == 1
        processes = [worker.process for worker in pool.workers]
    assert b"".join(lines for _, lines in sorted(found.items())) == wanted
    assert not any(process.is_alive() for process in processes)


def test_parts_that_kill_their_workers_end_the_run(
    write_texts: Write, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "MAX_DEATHS", 1)
    with Pool(Extraction(str(model)), 1, threads=1) as pool:
        pool.workers[0].process.kill()
        with pytest.raises(InputError, match=r"1 workers died at part 0 \(10 documents\), the last with exit code -9"):
            next(pool.results(cut(Source(str(write_texts(30)), part_size=10))))


def test_an_error_in_a_worker_is_the_error_of_the_run(write_texts: Write, tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.json").write_text("{}")
    engine = LocalEngine(Extraction(str(tmp_path / "broken")), workers=2)
    with pytest.raises(ModelError, match="not a spanwise model"):
        list(engine.results(Source(str(write_texts(30)), part_size=10), NOTHING))


@pytest.mark.parametrize("count", ["1", "2"])
def test_a_killed_command_is_resumed(write_texts: Write, model: Path, tmp_path: Path, count: str) -> None:
    source, out, documents = write_texts(1500), tmp_path / "out.jsonl", 1500
    paths = map(str, (model, source, out))
    command = [sys.executable, "-m", "spanwise", "predict", *paths, "--workers", count, "--part-size", "30"]
    parts = tmp_path / "out.jsonl.parts"
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while len(list(parts.glob("part-*.jsonl"))) < 4:
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert not out.exists()
    finished = len(list(parts.glob("part-*.jsonl")))
    assert 4 <= finished < documents // 30
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.endswith("1,500 documents\n")
    assert [json.loads(line)["id"] for line in out.read_text().splitlines()] == [str(n) for n in range(documents)]
    assert out.read_bytes() == in_one_process(source, tmp_path / "one.jsonl", model, part_size=30)
    assert not parts.exists()


def test_workers_end_with_the_command(write_texts: Write, model: Path, tmp_path: Path) -> None:
    source, out = write_texts(3000), tmp_path / "out.jsonl"
    paths = map(str, (model, source, out))
    command = [sys.executable, "-m", "spanwise", "predict", *paths, "--workers", "2", "--part-size", "30"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    parts = tmp_path / "out.jsonl.parts"
    while len(list(parts.glob("part-*.jsonl"))) < 2:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)  # ends only when the workers, which share standard error, have ended
    assert process.returncode == 128 + signal.SIGTERM
    assert "documents finished in" in said
    assert "run the same command again to resume" in said
    assert "Traceback" not in said

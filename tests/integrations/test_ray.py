"""Ray Data: the output of the local engine, also if a worker is killed, and errors as the local engine gives them."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from spanwise.errors import InputError
from spanwise.inference.batch.output import Output
from spanwise.inference.batch.parts import Finished, Part, Result
from spanwise.inference.batch.prediction import Extraction
from spanwise.inference.batch.run import Batch, Engine, LocalEngine
from spanwise.inference.batch.source import Source
from spanwise.inference.extractor import Extractor
from spanwise.integrations.ray import RayEngine, _Annotator, _Attempts, _read, _result, session
from spanwise.pipeline.torch_pipeline import TorchPipeline

pytestmark = pytest.mark.slow
DOCUMENTS = 200


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    """One session for all tests."""
    if find_spec("ray") is None:
        pytest.skip("the extra ray is not installed")
    with session(2) as (ray, _):
        yield ray


@pytest.fixture(scope="module")
def model(make_pipeline: Callable[..., TorchPipeline], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "tagger"
    Extractor(make_pipeline("seq-ner")).save_pretrained(folder)
    return folder


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    rows = ({"text": f"Mara {number} met Bo in Kell .", "id": str(number)} for number in range(DOCUMENTS))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def batch(source: object, out: object, model: Path) -> Batch:
    return Batch(Source(str(source), part_size=10), Extraction(str(model)), Output(str(out), "jsonl"))


def run(engine: type[Engine], source: object, out: object, model: Path) -> None:
    batch(source, out, model).run(engine(Extraction(str(model)), 2 if engine is RayEngine else 1, 1))  # type: ignore[call-arg]


def actors() -> list[int]:
    """The processes below this one that annotate."""
    parents, found = {}, []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parents[int(process.name)] = int((process / "stat").read_text().rpartition(")")[2].split()[1])
            if b"ray::MapWorker" in (process / "cmdline").read_bytes():
                found.append(int(process.name))
    return [number for number in found if is_below(number, os.getpid(), parents)]


def is_below(number: int, top: int, parents: dict[int, int]) -> bool:
    while number and number != top:
        number = parents.get(number, 0)
    return number == top


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are found in /proc")
def test_a_killed_worker_changes_nothing(ray: Any, model: Path, source: Path, tmp_path: Path) -> None:
    run(LocalEngine, source, tmp_path / "local.jsonl", model)
    job = batch(f"file://{source}", tmp_path / "ray.jsonl", model)
    killed: list[int] = []

    def kill() -> None:
        if len(job.store.finished) >= 5 and not killed:
            killed.append(min(actors()))
            os.kill(killed[0], signal.SIGKILL)

    job.watch = kill
    report = job.run(RayEngine(Extraction(str(model)), 2, 1))
    assert killed
    assert report.written == DOCUMENTS
    assert (tmp_path / "ray.jsonl").read_bytes() == (tmp_path / "local.jsonl").read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"in.jsonl", "local.jsonl", "ray.jsonl"}


def test_a_run_of_one_engine_is_resumed_by_the_other(ray: Any, model: Path, source: Path, tmp_path: Path) -> None:
    run(LocalEngine, source, tmp_path / "whole.jsonl", model)
    job = batch(source, tmp_path / "out.jsonl", model)

    def interrupt() -> None:
        if len(job.store.finished) == 3:
            raise KeyboardInterrupt

    job.watch = interrupt
    with pytest.raises(KeyboardInterrupt):
        job.run(LocalEngine(Extraction(str(model)), 1, 1))
    run(RayEngine, source, tmp_path / "out.jsonl", model)
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_an_error_of_an_actor_is_that_of_the_local_engine(ray: Any, source: Path, tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.json").write_text("{}")
    with pytest.raises(InputError, match="not a spanwise model"):
        run(RayEngine, source, tmp_path / "out.jsonl", tmp_path / "broken")


def test_an_error_of_the_reading_task_is_that_of_the_local_engine(source: Path) -> None:
    pytest.importorskip("pyarrow", reason="the extra tables is not installed")
    source.write_text(source.read_text() + "{oops\n")
    rows = [table.to_pylist()[0] for table in _read(Source(str(source), part_size=150), Finished("", {}))]
    assert [row["failed"] for row in rows] == [False, True]
    with pytest.raises(InputError, match=r"in\.jsonl:201: the line is not a JSON object"):
        _result(rows[-1])


def test_a_part_that_kills_its_actors_ends_the_run(source: Path) -> None:
    annotator = object.__new__(_Annotator)
    annotator.predictor, annotator.attempts = EchoPredictor(), _Attempts()  # type: ignore[assignment]
    annotator.attempts.begin = SimpleNamespace(remote=annotator.attempts.begin)
    annotator.get = lambda number: number
    (table,) = _read(Source(str(source)), Finished("", {}))
    assert [annotator(table).to_pylist()[0]["failed"] for _ in range(4)] == [False, False, False, True]
    with pytest.raises(InputError, match="3 workers died at part 0; if memory was short, use a smaller --part-size"):
        _result(annotator(table).to_pylist()[0])


class EchoPredictor:
    """A model that finds nothing."""

    def result(self, part: Part) -> Result:
        return Result(part.head, b"")


def test_a_session_of_its_own_listens_to_this_machine_alone(ray: Any) -> None:
    assert {node["NodeManagerAddress"] for node in ray.nodes()} == {"127.0.0.1"}


def test_missing_ray_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch, model: Path, source: Path) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"--engine ray needs ray; install it with `pip install 'spanwise\[ray\]'`"):
        run(RayEngine, source, source.with_name("out.jsonl"), model)

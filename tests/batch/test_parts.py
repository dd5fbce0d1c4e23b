"""An input is cut into the same parts every time, and a run resumes with those that are missing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from echo_engine import Crash, EchoEngine
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spanwise.errors import FormatError, InputError
from spanwise.formats.report import BadRecord
from spanwise.inference.batch import parts as parts_module
from spanwise.inference.batch.folders import LocalFolder
from spanwise.inference.batch.output import Output
from spanwise.inference.batch.parts import Head, cut
from spanwise.inference.batch.prediction import Extraction
from spanwise.inference.batch.run import Batch
from spanwise.inference.batch.source import Source

Write = Callable[[int], Path]


def batch(source: Path, out: Path, model: Path, part_size: int = 10, **options: Any) -> Batch:
    return Batch(Source(str(source), part_size=part_size, **options), Extraction(str(model)), Output(str(out), "jsonl"))


def ids(path: Path) -> list[str]:
    return [json.loads(line)["id"] for line in path.read_text().splitlines()]


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize(("count", "sizes"), [(1, [1]), (10, [10]), (11, [10, 1]), (30, [10, 10, 10])])
def test_parts_have_a_bounded_number_of_documents(write_texts: Write, count: int, sizes: list[int]) -> None:
    found = list(cut(Source(str(write_texts(count)), part_size=10)))
    assert [part.head.documents for part in found] == sizes
    assert [part.head.number for part in found] == list(range(len(sizes)))
    assert [part.head.last for part in found] == [False] * (len(sizes) - 1) + [True]
    assert sum(part.head.share or 0 for part in found) == pytest.approx(1)


def test_parts_have_a_bounded_number_of_characters(write_texts: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts_module, "PART_CHARACTERS", 60)
    found = list(cut(Source(str(write_texts(6)))))
    assert [part.head.documents for part in found] == [3, 3]


def test_input_is_read_no_further_than_needed(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n' * 10 + "{oops\n")
    found = cut(Source(str(tmp_path / "in.jsonl"), part_size=4))
    assert [next(found).head.number, next(found).head.number] == [0, 1]
    with pytest.raises(FormatError, match=r"in\.jsonl:11"):
        next(found)


@given(
    st.builds(
        Head,
        number=st.integers(0),
        documents=st.integers(0),
        checksum=st.text(),
        last=st.booleans(),
        share=st.none() | st.floats(0, 1),
        bad=st.lists(st.builds(BadRecord, *[st.none() | st.text(), st.none() | st.integers(1), st.text(), st.text()])),
        dropped=st.dictionaries(st.text(), st.integers(1)),
        notes=st.lists(st.text()).map(tuple),
    )
)
def test_heads_survive_their_line(head: Head) -> None:
    line = head.to_line()
    assert line.count(b"\n") == 1
    read = Head.from_line(line)
    assert read == Head(**{**head.__dict__, "bad": tuple(head.bad)})


def test_a_small_input_leaves_no_trace_of_parts(write_texts: Write, model: Path, tmp_path: Path) -> None:
    report = batch(write_texts(10), tmp_path / "out.jsonl", model).run(EchoEngine())
    assert report.written == 10
    assert names(tmp_path) == {"in.jsonl", "out.jsonl"}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(crashes=st.lists(st.integers(0, 4), max_size=4))
def test_a_run_that_ends_anywhere_is_resumed(
    write_texts: Write, model: Path, tmp_path: Path, crashes: list[int]
) -> None:
    source, out = write_texts(45), tmp_path / "out.jsonl"
    out.unlink(missing_ok=True)
    done: list[int] = []
    for crash in [*crashes, None]:
        engine = EchoEngine(crash)
        try:
            batch(source, out, model).run(engine)
        except Crash:
            assert not out.exists()
        done += engine.done
        if out.exists():
            break
    assert sorted(done) == [0, 1, 2, 3, 4]
    assert ids(out) == [str(number) for number in range(45)]
    assert names(tmp_path) == {"in.jsonl", "out.jsonl"}


def crashed(source: Path, out: Path, model: Path, **options: Any) -> Path:
    """The folder of a run that ended after two parts."""
    with pytest.raises(Crash):
        batch(source, out, model, **options).run(EchoEngine(2))
    return Path(f"{out}.parts")


def test_what_a_killed_process_left_half_written_is_removed(write_texts: Write, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    folder = crashed(write_texts(45), out, model)
    (folder / ".part-000002.jsonl.0123.part").mkdir()
    (folder / ".part-000002.jsonl.0123.part" / "part-000002.jsonl").write_text("half")
    batch(write_texts(45), out, model).run(EchoEngine())
    assert ids(out) == [str(number) for number in range(45)]


def test_a_run_that_ended_while_parts_were_removed_starts_again(
    write_texts: Write, model: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.jsonl"
    (crashed(write_texts(45), out, model) / "manifest.json").unlink()
    engine = EchoEngine()
    batch(write_texts(45), out, model).run(engine)
    assert engine.done == [0, 1, 2, 3, 4]
    assert names(tmp_path) == {"in.jsonl", "out.jsonl"}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"part_size": 11}, r"out\.jsonl\.parts' holds parts of a run with another --part-size \(10, now 11\); use"),
        ({"lines": True}, r"another --lines \(not set, now true\); use the same to resume, or remove the folder"),
    ],
)
def test_a_run_with_other_options_is_refused(
    write_texts: Write, model: Path, tmp_path: Path, change: dict[str, Any], sentence: str
) -> None:
    source, out = write_texts(45), tmp_path / "out.jsonl"
    crashed(source, out, model)
    with pytest.raises(InputError, match=sentence):
        batch(source, out, model, **change).run(EchoEngine())
    with pytest.raises(InputError, match="of a run with another --threshold"):
        Batch(Source(str(source), part_size=10), Extraction(str(model), threshold=0.3), Output(str(out), "jsonl")).run(
            EchoEngine()
        )


def test_a_run_with_another_model_is_refused(write_texts: Write, model: Path, tmp_path: Path) -> None:
    source, out = write_texts(45), tmp_path / "out.jsonl"
    crashed(source, out, model)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "config.json").write_text("{}")
    with pytest.raises(InputError, match="of a run with another model "):
        batch(source, out, tmp_path / "other").run(EchoEngine())


def test_a_changed_input_is_refused(write_texts: Write, model: Path, tmp_path: Path) -> None:
    source, out = write_texts(45), tmp_path / "out.jsonl"
    crashed(source, out, model)
    source.write_text(source.read_text().replace("Mara 12 ", "Nell 12 "))
    with pytest.raises(InputError, match=r"the input has changed since part 1 was finished; .* 'out|/out.jsonl\.parts"):
        batch(source, out, model).run(EchoEngine())


def test_bad_records_can_be_skipped_when_a_run_is_resumed(write_texts: Write, model: Path, tmp_path: Path) -> None:
    source, out = write_texts(25), tmp_path / "out.jsonl"
    source.write_text(source.read_text() + "{oops\n" + '{"text": "Bo", "id": "25"}\n')
    with pytest.raises(FormatError, match=r"in\.jsonl:26"):
        batch(source, out, model).run(EchoEngine())
    engine = EchoEngine()
    report = batch(source, out, model, skip_bad=True).run(engine)
    assert engine.done == [2]
    assert (report.read, report.written, report.bad) == (26, 26, 1)
    assert ids(out) == [str(number) for number in range(26)]
    (bad,) = map(json.loads, Path(f"{out}.bad.jsonl").read_text().splitlines())
    assert (bad["line"], bad["record"], bad["source"]) == (26, "{oops", str(source))
    assert bad["reason"].startswith("the line is not a JSON object")


def test_two_runs_do_not_write_the_same_output(write_texts: Write, model: Path, tmp_path: Path) -> None:
    source, out = write_texts(45), tmp_path / "out.jsonl"
    with (
        LocalFolder(crashed(source, out, model)).locked(),
        pytest.raises(InputError, match="another process is writing to"),
    ):
        batch(source, out, model).run(EchoEngine())


def test_a_folder_of_others_is_left_alone(write_texts: Write, model: Path, tmp_path: Path) -> None:
    (tmp_path / "out.jsonl.parts").mkdir()
    (tmp_path / "out.jsonl.parts" / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match=r"holds 'mine\.txt', which is no part of a run"):
        batch(write_texts(45), tmp_path / "out.jsonl", model).run(EchoEngine())
    assert names(tmp_path / "out.jsonl.parts") == {"mine.txt"}


def test_a_damaged_part_is_named(write_texts: Write, model: Path, tmp_path: Path) -> None:
    source, out = write_texts(45), tmp_path / "out.jsonl"
    part = crashed(source, out, model) / "part-000001.jsonl"
    part.write_text("".join(part.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(FormatError, match=r"part-000001\.jsonl: holds 9 documents, not 10; remove it and run the same"):
        batch(source, out, model).run(EchoEngine())
    assert not out.exists()
    part.unlink()
    batch(source, out, model).run(EchoEngine())
    assert ids(out) == [str(number) for number in range(45)]


def test_progress_knows_the_share_and_the_time_left(write_texts: Write, model: Path, tmp_path: Path) -> None:
    source, out = write_texts(45), tmp_path / "out.jsonl"
    crashed(source, out, model)
    run = batch(source, out, model)
    assert run.progress.seconds_left() is None
    said: list[str] = []
    run.watch = lambda: said.append(run.progress.sentence())
    run.run(EchoEngine())
    assert [sentence.partition(",")[0] for sentence in said] == [f"{n} documents" for n in (20, 30, 40, 45)]
    assert said[-1] == "45 documents, 100%, 0:00 left"

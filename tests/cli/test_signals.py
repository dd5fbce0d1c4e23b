"""INT, TERM and HUP: `train` and `demo` save a checkpoint and say how to resume, other commands end at once."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from spanwise.cli import main, signals
from spanwise.cli.signals import SignalExit, StopSignals, end, handled
from spanwise.recipe import Recipe

if not hasattr(signal, "SIGHUP"):
    pytest.skip("signals of POSIX", allow_module_level=True)

NUMBERS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
CHECKPOINT = "checkpoint.safetensors"
SLOW_COMMAND = """
import sys, time
from spanwise.cli import main
from spanwise.training.display import LiveDisplay

step = LiveDisplay.step

def slow(self, report):
    step(self, report)
    if report.step == 3:
        print("third step", file=sys.stderr, flush=True)
    time.sleep({seconds})

LiveDisplay.step = slow
{before}
main()
"""
TINY_DEMO = """
from spanwise.recipe import Recipe

load = Recipe.load
Recipe.load = lambda path: load(path, {tiny!r})
"""


class Child:
    """A command that trains, in a process of its own, with steps that take a while."""

    def __init__(self, *arguments: str, seconds: float = 0.05, before: str = "", **settings: Any) -> None:
        self.arguments = [*arguments]
        command = [sys.executable, "-c", SLOW_COMMAND.format(seconds=seconds, before=before), *self.arguments]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, **{**streams, **settings})
        self.lines: list[str] = []
        self.watchdog = Timer(120, self.process.kill)  # a signal that does nothing fails, and does not hang
        self.watchdog.daemon = True
        self.watchdog.start()

    def wait_for(self, line: str) -> None:
        assert self.process.stderr is not None
        for found in self.process.stderr:
            self.lines.append(found.rstrip("\n"))
            if line in found:
                return
        pytest.fail("\n".join(self.lines))

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def end(self) -> tuple[int, str, list[str]]:
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, self.lines + (err or "").splitlines()


@pytest.fixture
def start(easy_recipe: Path, tmp_path: Path) -> Iterator[Callable[..., Child]]:
    children: list[Child] = []

    def start(*options: str, verb: str = "train", **settings: Any) -> Child:
        out = ("--out", str(tmp_path / "run"))
        train = ("train", str(easy_recipe), *out, "--set", "train.epochs=3")
        children.append(Child(*(train if verb == "train" else (verb, *out)), *options, **settings))
        return children[-1]

    yield start
    for child in children:
        child.watchdog.cancel()
        child.process.kill()
        child.process.wait()


def model(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


@pytest.mark.parametrize(
    "number",
    [signal.SIGINT, *(pytest.param(number, marks=pytest.mark.slow) for number in (signal.SIGTERM, signal.SIGHUP))],
    ids=lambda number: number.name,
)
def test_a_signal_saves_a_checkpoint_and_the_printed_command_resumes_to_the_same_weights(
    start: Callable[..., Child], command: Callable[..., Any], tmp_path: Path, number: int
) -> None:
    folder = tmp_path / "run"
    child = start("--set", "data.leave_out=[]", "--force")
    child.wait_for("third step")
    child.send(number)
    code, out, lines = child.end()
    assert (code, out) == (128 + number, "")
    assert "stopping after this step; Ctrl-C again exits at once and saves nothing" in lines
    stopped, resume = lines[-2:]
    assert stopped.startswith("stopped after step ")
    assert stopped.endswith(f" of 48; checkpoint: {folder / CHECKPOINT}")
    assert (folder / CHECKPOINT).exists()
    assert not any("Traceback" in line for line in lines)
    assert resume == f"resume: {shlex.join(['spanwise', *child.arguments[:-1]])}"  # without --force
    resumed = command(*shlex.split(resume.removeprefix("resume: spanwise ")))
    assert resumed.code == 0, resumed.err
    assert f"note: resuming from step {stopped.split()[3]} in epoch" in resumed.err
    assert command(*(tmp_path / "alone" if part == str(folder) else part for part in child.arguments)).code == 0
    assert model(folder) == model(tmp_path / "alone")


@pytest.mark.slow
def test_the_demo_saves_a_checkpoint_and_the_printed_command_finishes_it(
    start: Callable[..., Child],
    command: Callable[..., Any],
    tiny_encoder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tiny = (f"encoder.name={tiny_encoder}", "train.epochs=1", "train.encoder_lr=0.001")
    child = start(verb="demo", before=TINY_DEMO.format(tiny=tiny))
    child.wait_for("third step")
    child.send(signal.SIGTERM)
    code, out, lines = child.end()
    folder = tmp_path / "run"
    assert (code, out) == (128 + signal.SIGTERM, "")
    stopped, resume = lines[-2:]
    assert stopped.startswith("stopped after step ")
    assert stopped.endswith(f"; checkpoint: {folder / 'model' / CHECKPOINT}")
    assert (folder / "model" / CHECKPOINT).exists()
    assert resume == f"resume: spanwise demo --out {folder}"
    load = Recipe.load
    monkeypatch.setattr(Recipe, "load", lambda path: load(path, tiny))
    resumed = command(*shlex.split(resume.removeprefix("resume: spanwise ")))
    assert resumed.code == 0, resumed.err
    assert f"note: resuming from step {stopped.split()[3]} in epoch" in resumed.err
    assert (folder / "demo.html").exists()


@pytest.mark.slow
def test_a_second_signal_ends_training_at_once(start: Callable[..., Child], tmp_path: Path) -> None:
    child = start(seconds=20)
    child.wait_for("training: ")
    time.sleep(1)  # into the first step
    child.send(signal.SIGINT)
    child.wait_for("stopping after this step")
    time.sleep(signals.REPEATED + 0.2)
    child.send(signal.SIGTERM)
    began = time.monotonic()
    code, out, lines = child.end()
    assert time.monotonic() - began < 10
    assert (code, out, lines[-1]) == (128 + signal.SIGTERM, "", "interrupted")
    assert not (tmp_path / "run" / CHECKPOINT).exists()


@pytest.mark.slow
def test_a_signal_that_a_launcher_sends_twice_counts_once(start: Callable[..., Child], tmp_path: Path) -> None:
    child = start(seconds=0.3)
    child.wait_for("training: ")
    child.send(signal.SIGINT)
    child.wait_for("stopping after this step")
    child.send(signal.SIGTERM)
    code, _, lines = child.end()
    assert (code, lines[-1].split()[0]) == (130, "resume:")
    assert (tmp_path / "run" / CHECKPOINT).exists()


@pytest.mark.slow
def test_a_run_under_nohup_goes_on_when_the_terminal_closes(start: Callable[..., Child]) -> None:
    child = start(preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN), seconds=0.01)
    child.wait_for("training: ")
    child.send(signal.SIGHUP)
    code, out, _ = child.end()
    assert code == 0
    assert out.startswith("trained ")


@pytest.mark.slow
def test_a_terminal_that_closes_leaves_a_checkpoint(start: Callable[..., Child], tmp_path: Path) -> None:
    pty, fcntl, termios = (pytest.importorskip(name) for name in ("pty", "fcntl", "termios"))
    ours, theirs = pty.openpty()

    def take_terminal() -> None:
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)

    streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    child = start(start_new_session=True, preexec_fn=take_terminal, **streams)
    os.close(theirs)
    seen = b""
    while b"third step" not in seen:
        seen += os.read(ours, 1000)
    os.close(ours)  # the kernel sends HUP, and the terminal can no longer be written to
    assert child.process.wait(60) == 128 + signal.SIGHUP
    assert (tmp_path / "run" / CHECKPOINT).exists()


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number.name)
def test_other_commands_end_with_the_exit_code_of_the_signal(
    command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    before = [signal.getsignal(number) for number in NUMBERS]
    monkeypatch.setattr(sys.modules[main.__module__], "app", lambda **_: os.kill(os.getpid(), number))
    done = command("corpora")
    assert (done.code, done.out, done.err) == (128 + number, "", "interrupted\n")
    assert [signal.getsignal(number) for number in NUMBERS] == before


def test_half_written_files_are_removed_when_a_signal_ends_a_command(tmp_path: Path) -> None:
    from spanwise.files import atomic_file

    def write() -> None:
        with handled(end), atomic_file(tmp_path / "out.jsonl"):
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(SignalExit) as ended:
        write()
    assert ended.value.code == 143
    assert list(tmp_path.iterdir()) == []


def test_signals_are_handled_in_the_main_thread_alone() -> None:
    import threading

    request = StopSignals("")
    entered: list[bool] = []

    def run() -> None:
        with handled(request.receive):
            entered.append(signal.getsignal(signal.SIGTERM) != request.receive)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert entered == [True]

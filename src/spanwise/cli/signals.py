"""INT, TERM and HUP on the command line: they end a command, or ask a training run to stop."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import current_thread, main_thread
from types import FrameType

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
REPEATED = 1.0  # seconds: `timeout` and the launchers of several processes may send a signal twice


class SignalExit(SystemExit):
    """A signal ends the program, with the exit code that shells give it."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)


@contextmanager
def handled(receive: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Handle the signals in the block, except those that the caller ignores, as `nohup` ignores HUP."""
    before = {}
    if current_thread() is main_thread():
        listening = [number for number in SIGNALS if signal.getsignal(number) not in (signal.SIG_IGN, None)]
        before = {number: signal.signal(number, receive) for number in listening}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def end(number: int, _: FrameType | None) -> None:
    """Handle a signal by ending the program; files that are half written are removed on the way."""
    raise SignalExit(number)


class StopSignals:
    """The first signal is a request to stop, which `answer` confirms; one more than a second later ends the program."""

    def __init__(self, answer: str) -> None:
        self.answer = answer.encode()
        self.number: int | None = None
        self.since = 0.0

    def is_requested(self) -> bool:
        return self.number is not None

    @property
    def exit_code(self) -> int:
        return 128 + (self.number or 0)

    def receive(self, number: int, _: FrameType | None) -> None:
        if self.number is None:
            self.number, self.since = number, time.monotonic()
            with suppress(OSError):  # the terminal may be gone; and no print, which a signal may have interrupted
                os.write(2, self.answer)
        elif time.monotonic() - self.since > REPEATED:
            raise SignalExit(number)

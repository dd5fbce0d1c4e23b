"""How long a recipe trains on this machine: a few timed steps, in a process of their own.

    python -m spanwise.training.probe RECIPE fp32|bf16

prints the seconds of a step and the number of steps as JSON. A CPU that dies of bf16 takes only that process with it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

STEPS, WARM_UP = 4, 1
TIMEOUT = 120  # seconds
FASTER = 0.8  # bf16 must take at most this share of the time of fp32
SCORING = 0.15  # of the time of an epoch, for dev: reading takes a third of a training step, on a tenth of the data


@dataclass(frozen=True, slots=True)
class Probe:
    """What the timed steps say about a whole run."""

    precision: str
    seconds_per_step: float
    steps: int
    threads: int

    @property
    def seconds(self) -> float:
        """Of all epochs, with scoring on dev."""
        return self.seconds_per_step * self.steps * (1 + SCORING)

    def __str__(self) -> str:
        return f"about {duration(self.seconds)} with {self.threads} thread{'s' * (self.threads > 1)} on this machine"


def duration(seconds: float) -> str:
    """A time for readers: seconds, minutes or hours."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def probe(recipe: Path) -> Probe | None:
    """The faster of fp32 and bf16, timed in child processes; None where not even fp32 could be timed."""
    full = _child(recipe, "fp32")
    half = _child(recipe, "bf16") if full else None
    return half if full and half and half.seconds_per_step <= FASTER * full.seconds_per_step else full


def _child(recipe: Path, precision: str) -> Probe | None:
    command = [sys.executable, "-m", "spanwise.training.probe", str(recipe), precision]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)  # noqa: S603
        return Probe(**json.loads(done.stdout)) if done.returncode == 0 else None
    except (subprocess.TimeoutExpired, ValueError):
        return None


def measure(recipe: Path, precision: str) -> Probe:
    """Time steps of a training that is thrown away."""
    from spanwise import runtime
    from spanwise.recipe import Recipe
    from spanwise.training.preparation import prepare
    from spanwise.training.reporting import NullListener
    from spanwise.training.trainer import Trainer

    threads = runtime.set_threads()
    loaded = Recipe.load(recipe, [f"train.precision={precision}"])
    with tempfile.TemporaryDirectory() as folder:
        took, steps = Trainer(prepare(loaded), Path(folder), NullListener()).timed_steps(STEPS + WARM_UP)
    return Probe(precision, median(took[WARM_UP:] or took), steps, threads)


if __name__ == "__main__":
    print(json.dumps(asdict(measure(Path(sys.argv[1]), sys.argv[2]))))

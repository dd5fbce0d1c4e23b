"""Compare the speed of an older installed copy of spanwise with that of the current one.

    pip install --no-deps --target old-site path/to/old-checkout
    python benchmarks/versions.py --old old-site --old-benchmarks path/to/old-checkout/benchmarks --rounds 3

Each version runs its own copy of a benchmark script with the same arguments, in its own child process. The versions
alternate, and the version that runs first changes every round. The table lists the seconds of each model (medians over
the rounds) and the ratio new/old within a round: median, lowest and highest. A ratio below 1 means that the current
version is faster. Both children inherit the environment, including SPANWISE_THREADS and SPANWISE_DATA.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Seconds = dict[tuple[str, str], float]  # by model and kind of work
HEADER = ("script", "model", "work", "old s", "new s", "new/old", "lowest", "highest")


def _reading(result: Mapping[str, Any]) -> Seconds:
    """Seconds from the output of throughput.py, which reports speeds."""
    models = {name: part for name, part in result.items() if isinstance(part, dict)}
    return {(name, "inference"): result["texts"] / part["sentences_per_second"] for name, part in models.items()}


def _by_model(result: Mapping[str, Any]) -> Seconds:
    """Seconds from the output of joint_speed.py: kinds of work by model."""
    models = {name: part for name, part in result.items() if isinstance(part, dict)}
    return {(name, kind): times["seconds"] for name, part in models.items() for kind, times in part.items()}


def _by_row(result: Mapping[str, Any]) -> Seconds:
    """Seconds from label_speed.py and deep_speed.py: rows that begin with the setting, then models by kind of work."""
    seconds: Seconds = {}
    for row in result["rows"]:
        setting, value = next(iter(row.items()))
        for kind in ("inference", "training step"):
            seconds |= {(f"{name}, {setting} {value}", kind): times["seconds"] for name, times in row[kind].items()}
    return seconds


@dataclass(frozen=True, slots=True)
class Script:
    """A benchmark script, with arguments that keep a round short."""

    file: str
    arguments: str
    parse: Callable[[Mapping[str, Any]], Seconds]


SCRIPTS = {
    "throughput": Script("throughput.py", "--texts 1000 --repeats 3", _reading),
    "joint": Script("joint_speed.py", "--models spert stsn span --epochs 1 --repeats 3", _by_model),
    "label": Script("label_speed.py", "--labels 33 --models traditional lear --texts 256 --repeats 3", _by_row),
    "deep": Script("deep_speed.py", "--depths 6 --widths 10 --texts 128 --repeats 3", _by_row),
}


@dataclass(frozen=True, slots=True)
class Version:
    """A copy of the package with its benchmark scripts; without `site`, the one that this Python imports."""

    benchmarks: Path
    site: Path | None = None

    def measure(self, script: Script) -> Seconds:
        output = self._run(str(self.benchmarks / script.file), *script.arguments.split())
        return script.parse(json.loads(output))

    def package(self) -> Path:
        """The folder that the package is imported from."""
        return Path(self._run("-c", "import spanwise; print(spanwise.__file__)").strip()).resolve().parent

    def _run(self, *arguments: str) -> str:
        environment = dict(os.environ)
        if self.site is not None:
            paths = [str(self.site), *filter(None, [environment.get("PYTHONPATH")])]
            environment["PYTHONPATH"] = os.pathsep.join(paths)
        command = [sys.executable, *arguments]
        child = subprocess.run(command, env=environment, capture_output=True, text=True)  # noqa: S603
        if child.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{child.stderr[-2000:]}")
        return child.stdout


def check_packages(old: Version, new: Version) -> None:
    """Exit with an error if both versions would import the same package."""
    site, first, second = old.site, old.package(), new.package()
    if site is None or not first.is_relative_to(site) or second.is_relative_to(site):
        raise SystemExit(f"--old {site}: old is {first}, new is {second}; give the folder that holds the old copy.")
    print(f"old: {first}\nnew: {second}", flush=True)


def measure_round(versions: Sequence[Version], script: Script, number: int) -> tuple[Seconds, Seconds]:
    """The seconds of the old and of the new version; in every second round the new one runs first."""
    order = (0, 1) if number % 2 == 0 else (1, 0)
    measured = {place: versions[place].measure(script) for place in order}
    old, new = measured[0], measured[1]
    if old.keys() != new.keys():
        raise SystemExit(f"{script.file} measures {sorted(old)} in the old version and {sorted(new)} in the new one.")
    return old, new


def table(name: str, rounds: Sequence[tuple[Seconds, Seconds]]) -> list[tuple[str, ...]]:
    """A row of cells for each model and kind of work of one script."""
    rows = []
    for model, kind in rounds[0][0]:
        old, new = ([measured[place][model, kind] for measured in rounds] for place in (0, 1))
        ratios = [after / before for before, after in zip(old, new, strict=True)]
        numbers = (statistics.median(old), statistics.median(new), statistics.median(ratios), min(ratios), max(ratios))
        rows.append((name, model, kind, *(f"{number:.3f}" for number in numbers)))
    return rows


def show(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip(), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", type=Path, required=True, metavar="SITE", help="folder with the old installed package")
    parser.add_argument("--old-benchmarks", type=Path, required=True, help="folder with the old benchmark scripts")
    parser.add_argument("--scripts", nargs="+", choices=SCRIPTS, default=list(SCRIPTS))
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each version (default: 3)")
    options = parser.parse_args()
    old = Version(options.old_benchmarks.resolve(), options.old.resolve())
    new = Version(Path(__file__).resolve().parent)
    check_packages(old, new)
    rounds: dict[str, list[tuple[Seconds, Seconds]]] = {name: [] for name in options.scripts}
    for number in range(options.rounds):
        for name in options.scripts:
            rounds[name].append(measure_round((old, new), SCRIPTS[name], number))
            print(f"round {number + 1} of {options.rounds}: {name} done", file=sys.stderr, flush=True)
    show([HEADER, *(row for name in options.scripts for row in table(name, rounds[name]))])


if __name__ == "__main__":
    main()

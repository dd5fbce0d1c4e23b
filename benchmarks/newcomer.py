"""Time the newcomer's path: the six commands of docs/newcomer.md, from Label Studio's export to a served model.

    python benchmarks/newcomer.py                        # the corpus of the demo, written as Label Studio exports it
    python benchmarks/newcomer.py --export export.json   # an export of your own
    python benchmarks/newcomer.py --folder newcomer      # resumes after the commands that are done
    python benchmarks/newcomer.py --write                # puts the table into the page

The commands are read from the page and run as they are printed there. The served model is asked for one text; the time
of `serve` ends with the answer. The output is a Markdown table. The exit code is 1 if a command fails or nothing is
answered.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import Request, urlopen

from spanwise import corpora, formats, runtime
from spanwise.files import write_text

PAGE = Path(__file__).resolve().parents[1] / "docs" / "newcomer.md"
ADDRESS = "http://127.0.0.1:8000"
PATIENCE = 300  # seconds until the service must answer
BEGIN, END = "<!-- times -->", "<!-- end times -->"  # around the table in the page
TIMES = "newcomer-times.json"  # in the folder: the commands that are done


def commands(page: str) -> list[list[str]]:
    """The commands of the page's first block of bash."""
    block = re.search(r"```bash\n(.*?)```", page, re.DOTALL)
    if block is None:
        raise SystemExit(f"{PAGE} has no block of commands")
    return [command for line in block[1].splitlines() if (command := shlex.split(line, comments=True))]


def write_export(path: Path) -> None:
    """The sentences of the demo as Label Studio exports them."""
    corpus = corpora.load("demo")
    formats.write((document for split in corpus.splits.values() for document in split), path, "label-studio")


def started(command: list[str], folder: Path) -> subprocess.Popen[bytes]:
    """The command in this environment; what it prints goes to standard error."""
    program = [sys.executable, "-m", "spanwise"] if command[0] == "spanwise" else command[:1]
    print("$", shlex.join(command), file=sys.stderr, flush=True)
    return subprocess.Popen([*program, *command[1:]], cwd=folder, stdout=sys.stderr)  # noqa: S603


def run(command: list[str], folder: Path) -> None:
    if code := started(command, folder).wait():
        raise SystemExit(f"{shlex.join(command)} ended with {code}")


def serve(command: list[str], folder: Path, text: str) -> str:
    """Start the service, ask it for one text, stop it; the answer."""
    with suppress(OSError), urlopen(ADDRESS):
        raise SystemExit(f"another service answers on {ADDRESS}; stop it first")
    service = started(command, folder)
    try:
        return ask(text, service)
    finally:
        service.terminate()
        service.wait()


def ask(text: str, service: subprocess.Popen[bytes]) -> str:
    body = json.dumps({"texts": [text]}).encode()
    request = Request(f"{ADDRESS}/v1/extract", body, {"Content-Type": "application/json"})  # noqa: S310
    end = time.monotonic() + PATIENCE
    while service.poll() is None and time.monotonic() < end:
        with suppress(OSError), urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310
            return str(answer.read().decode())
        time.sleep(0.1)
    raise SystemExit("the service gives no answer")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--export", type=Path, help="an export of Label Studio; default: the demo's corpus as one")
    parser.add_argument("--folder", type=Path, help="a folder to work in and to keep; default: a temporary one")
    parser.add_argument("--text", default="Femke Addo left the University of Lindqvale for Cobaltine Freight in 2021.")
    parser.add_argument("--note", default="", help="what else is to be said of the measurement, such as the load")
    parser.add_argument("--write", action="store_true", help="write the table into the page")
    options = parser.parse_args()
    with TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        export = folder / "export.json"
        if not export.exists():
            shutil.copyfile(options.export, export) if options.export else write_export(export)
        seconds, answer = walk(commands(PAGE.read_text(encoding="utf-8")), folder, options.text)
    times = f"{table(seconds)}\n\n{described(options.note)}"
    if options.write:
        write_text(PAGE, with_times(PAGE.read_text(encoding="utf-8"), times))
    print(times)
    print(f"\nThe answer to {options.text!r}:\n{answer}")


def walk(steps: list[list[str]], folder: Path, text: str) -> tuple[dict[str, float], str]:
    """Run the commands; their seconds, and the answer of the service."""
    done = folder / TIMES
    seconds: dict[str, float] = json.loads(done.read_text(encoding="utf-8")) if done.exists() else {}
    answer = ""
    for step in steps:
        command, start = shlex.join(step), time.perf_counter()
        if step[1] == "serve":
            answer = serve(step, folder, text)
        elif command in seconds:
            continue
        else:
            run(step, folder)
        seconds[command] = time.perf_counter() - start
        write_text(done, json.dumps(seconds, indent=1) + "\n")
    return seconds, answer


def table(seconds: dict[str, float]) -> str:
    rows = [f"| `{command}` | {elapsed:,.0f} |" for command, elapsed in seconds.items()]
    return "\n".join(["| command | seconds |", "|---|---|", *rows, f"| together | {sum(seconds.values()):,.0f} |"])


def described(note: str) -> str:
    """The date, the seed and the machine; the trainings of a recipe that `init` wrote have seed 1."""
    threads = os.environ.get(runtime.THREADS_VARIABLE) or runtime.available_cores()
    machine = f"{runtime.available_cores()} cores ({platform.machine()}), {threads} threads, torch {version('torch')}"
    return f"{datetime.now(UTC):%Y-%m-%d}, seed 1, {machine}{f'; {note}' if note else ''}."


def with_times(page: str, times: str) -> str:
    """The page with these times in the place for them."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise SystemExit(f"{PAGE} has no place for the times, between {BEGIN} and {END}")
    return f"{before}{begin}\n{times}\n{end}{after}"


if __name__ == "__main__":
    main()

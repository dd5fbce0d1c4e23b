"""The app that every verb registers on: results go to standard output, everything else to standard error."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from spanwise import __version__
from spanwise.cli.signals import SignalExit, end, handled
from spanwise.errors import SpanwiseError, shortened
from spanwise.renamed import RenamedWarning, upgrade_flags


class Verbs(TyperGroup):
    """The verbs. The help shows a flag without a type: it takes no value."""

    def get_params(self, ctx: Any) -> Any:
        return _untyped_flags(super().get_params(ctx))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            _untyped_flags(command.get_params(ctx))
        return command


def _untyped_flags(params: Any) -> Any:
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
    return params


app = typer.Typer(
    name="spanwise",
    cls=Verbs,
    help="Text to typed spans and the relations between them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def emit_json(value: Any) -> None:
    """Print one JSON object and nothing else on standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def _version(show: bool) -> None:
    if show:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _root(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    if debug:
        os.environ["SPANWISE_DEBUG"] = "1"


def print_table(title: str, header: Sequence[str], body: Iterable[Sequence[str]]) -> None:
    """A table on standard output; its cells may hold any text."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(*map(escape, header), title=escape(title))
    for cells in body:
        table.add_row(*map(escape, cells))
    out.print(table)


def main() -> None:
    """Run the app. Wrong input ends with one sentence and exit code 2, a signal with 128 and its number.

    A traceback is shown only with --debug.
    """
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    sys.argv[1:] = upgrade_flags(sys.argv[1:])
    if "--debug" in sys.argv[1:]:  # before or after the verb
        sys.argv.remove("--debug")
        os.environ["SPANWISE_DEBUG"] = "1"
    try:
        with handled(end):
            app(prog_name="spanwise")
    except (SpanwiseError, OSError, UnicodeError) as error:
        if os.environ.get("SPANWISE_DEBUG"):
            raise
        err.print(f"[bold red]error:[/] {_sentence(error)}", soft_wrap=True, markup=True)
        sys.exit(2)
    except SignalExit:
        with suppress(OSError):  # the terminal may be gone
            err.print("interrupted")
        raise


def _show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    """Print deprecated names in one line; other warnings come from libraries and are not shown."""
    if issubclass(category, RenamedWarning):
        err.print(f"warning: {message}", markup=False, soft_wrap=True)


def _sentence(error: Exception) -> str:
    from rich.markup import escape

    if isinstance(error, OSError) and error.filename is not None:
        return escape(f"{shortened(str(error.filename), 500)}: {error.strerror}.")
    return escape(str(error))

"""Validate the commands of a bash block without running them."""

from __future__ import annotations

import argparse
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import typer
import yaml
from markdown_blocks import ROOT, Block

from spanwise.benchmark.papers import exhibits
from spanwise.benchmark.suite import names as suite_names
from spanwise.cli import app
from spanwise.corpora import CORPORA
from spanwise.errors import SpanwiseError
from spanwise.formats import FORMATS
from spanwise.recipe import Recipe, find_recipe, shipped_recipes
from spanwise.renamed import RenamedWarning, upgrade_flags
from spanwise.seam.registry import model_names

SEPARATORS = frozenset(("|", "||", "&", "&&", ";", "(", ")"))
REDIRECTIONS = frozenset((">", ">>", "<", "2>"))
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
OTHER_PROGRAMS = frozenset(("curl", "docker", "echo", "zcat", "cat", "export", ".", "cd", "mkdir"))
OWN_RECIPE = {"model": {"name": "span-ner"}, "data": {"train": ["train.jsonl"]}}  # what the user's recipe may hold
TABLES = ("csv", "parquet", "text")  # what `predict` reads or writes beside the formats


class BadCommandError(Exception):
    """A documented command that would not be accepted."""


def check_shell(block: Block) -> None:
    """Every command of the block is one that bash, the command line and the scripts accept."""
    parsed = subprocess.run(["bash", "-n"], input=block.source, text=True, capture_output=True, check=False)
    if parsed.returncode:
        raise BadCommandError(parsed.stderr.strip())
    found = list(commands(block.source))
    if not found:
        raise BadCommandError("the block has no command")
    for command in found:
        try:
            check_command(command)
        except BadCommandError as error:
            raise BadCommandError(f"`{shlex.join(command)}`: {error}") from None


def commands(source: str) -> Iterator[list[str]]:
    """The commands of a script, without variables before them and without redirections."""
    for line in source.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split, lexer.commenters = True, "#"
        command: list[str] = []
        tokens = iter(lexer)
        for token in tokens:
            if token in REDIRECTIONS:
                next(tokens, None)
            elif token in SEPARATORS:
                yield from _program(command)
                command = []
            else:
                command.append(token)
        yield from _program(command)


def _program(command: list[str]) -> Iterator[list[str]]:
    start = next((at for at, token in enumerate(command) if not ASSIGNMENT.match(token)), len(command))
    if command[start:]:
        yield command[start:]


def check_command(command: list[str]) -> None:
    program, *arguments = command
    if program == "spanwise":
        check_spanwise(arguments)
    elif "-m" in arguments and arguments[arguments.index("-m") + 1 :][:1] == ["spanwise"]:  # by a launcher
        check_spanwise(arguments[arguments.index("-m") + 2 :])
    elif program == "python" and arguments[:1] == ["-c"]:
        compile(arguments[1], "-c", "exec")
    elif program == "python":
        check_script(*arguments)
    elif program == "pip":
        check_pip(arguments)
    elif program == "make":
        check_make(arguments)
    elif program not in OTHER_PROGRAMS:
        raise BadCommandError(f"no check is known for {program!r}")


def check_spanwise(arguments: list[str]) -> None:
    """Parse the arguments as the command line does, then check the names that its verbs look up."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RenamedWarning)
        try:
            arguments = upgrade_flags(list(arguments))
        except RenamedWarning as error:
            raise BadCommandError(str(error)) from None
    group: Any = typer.main.get_command(app)
    try:
        root = group.make_context("spanwise", list(arguments))
        name, verb, rest = group.resolve_command(root, [*getattr(root, "_protected_args", []), *root.args])
        values = verb.make_context(name, rest, parent=root).params
    except Exception as error:  # of click, wherever typer keeps it
        message = getattr(error, "format_message", lambda: "")()
        if not message:
            raise
        raise BadCommandError(message) from None
    try:
        _check_names(name, values)
    except SpanwiseError as error:
        raise BadCommandError(str(error)) from None


def _check_names(verb: str, values: dict[str, Any]) -> None:
    _one_of("format", values.get("to"), (*FORMATS, *TABLES))
    _one_of("format", values.get("format") if verb != "benchmark" else None, FORMATS)
    _one_of("reader", values.get("reader"), model_names())
    _one_of("corpus", (values.get("corpus") or "").partition("/")[0] or None, _corpora())
    if verb == "train":
        start = values["from_"]
        overrides = [*(values["set_"] or ()), *([] if start is None else [f"train.start={start}"])]
        check_recipe(values["recipe"], overrides)
    elif "from_" in values:
        _one_of("format", values["from_"], (*FORMATS, *TABLES))
    if verb == "benchmark":
        _one_of("suite", values["name"], (*suite_names(), *exhibits(), "zero-shot"))


def _corpora() -> list[str]:
    return [named.name.partition("/")[0] for named in CORPORA]


def _one_of(what: str, value: str | None, known: Any) -> None:
    if value is not None and value not in set(known):
        raise BadCommandError(f"unknown {what} {value!r}")


def check_recipe(recipe: Path, overrides: list[str]) -> None:
    """The recipe is shipped or a file of the user's, and it takes the overrides."""
    if str(recipe) in shipped_recipes():
        loaded = Recipe.load(find_recipe(recipe), overrides)
    elif recipe.suffix in (".yaml", ".yml"):
        from spanwise.recipe import override

        loaded = Recipe.parse(override(OWN_RECIPE, overrides))
    else:
        raise BadCommandError(f"no recipe is called {str(recipe)!r}")
    _one_of("corpus", (loaded.data.corpus or "").partition("/")[0] or None, _corpora())


def check_script(path: str, *arguments: str) -> None:
    """The script exists, and its own parser takes the arguments."""
    script = ROOT / path
    if not script.is_file():
        raise BadCommandError(f"{path} does not exist")
    if "argparse" not in script.read_text(encoding="utf-8"):
        if arguments:
            raise BadCommandError(f"{path} takes no arguments")
        return
    message = parse_only(script, list(arguments))
    if message:
        raise BadCommandError(message)


def parse_only(script: Path, arguments: list[str]) -> str | None:
    """What the script's parser says about the arguments; the script ends when it has parsed them."""

    class Parsed(BaseException):
        pass

    class Refused(BaseException):
        pass

    parse = argparse.ArgumentParser.parse_args

    def parse_args(self: argparse.ArgumentParser, *_: object, **__: object) -> None:
        self.error = refuse  # type: ignore[method-assign]
        for action in self._actions:  # what a function of the script reads, such as a folder that must exist
            action.type = action.type if isinstance(action.type, type) else None
        parse(self)
        raise Parsed

    def refuse(message: str) -> None:
        raise Refused(message)

    argv, path = sys.argv, list(sys.path)
    sys.argv = [str(script), *arguments]
    sys.path.insert(0, str(script.parent))
    argparse.ArgumentParser.parse_args = parse_args  # type: ignore[assignment, method-assign]
    try:
        runpy.run_path(str(script), run_name="__main__")
    except Parsed:
        return None
    except Refused as refusal:
        return str(refusal)
    finally:
        argparse.ArgumentParser.parse_args = parse  # type: ignore[method-assign]
        sys.argv, sys.path[:] = argv, path
    return "the script does not parse its arguments"


def check_pip(arguments: list[str]) -> None:
    extras = set(_project()["optional-dependencies"])
    for argument in arguments:
        if named := re.fullmatch(r"(?:spanwise|\.)\[([\w,-]+)\]", argument):
            for extra in named[1].split(","):
                _one_of("extra", extra, extras)


@cache
def _project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def check_make(targets: list[str]) -> None:
    known = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for target in targets:
        _one_of("target", target, known)


def check_yaml(source: str) -> None:
    """A recipe, sections of a recipe, or the descriptions of labels."""
    from spanwise.recipe import Descriptions

    content = yaml.safe_load(source)
    if content.keys() <= Descriptions.model_fields.keys():
        Descriptions.model_validate(content)
    elif "model" in content:
        Recipe.parse(content)
    else:  # sections beside those of the general model
        general = yaml.safe_load(find_recipe("general").read_text(encoding="utf-8"))
        Recipe.parse({**general, **{key: {**general.get(key, {}), **value} for key, value in content.items()}})

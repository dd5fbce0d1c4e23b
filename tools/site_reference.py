"""The references of the site, written from the code: every command with its options, and the public Python names."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from functools import cached_property
from typing import Any

CLI_HEAD = """# Command line

Written from the code, as `spanwise COMMAND --help` shows it. Every command ends with 0 on success, 2 with one sentence
on wrong input, and 130 when it is interrupted. `spanwise --debug COMMAND` shows the traceback of an error.
"""
PYTHON_HEAD = """# Python interface

Written from the code. The names of the first section are imported from `spanwise`. The [Python guide](../python.md)
shows how they are used together.
"""
MODULES = {  # module: what it is for, and its names; None for those of __all__
    "spanwise": ("The names that most programs need.", None),
    "spanwise.corpora": ("Named corpora and your own files.", ("from_files", "infer_splits", "is_present")),
    "spanwise.formats": ("Readers and writers of documents.", ("read", "write", "detect", "Report")),
    "spanwise.metrics": ("Scores and agreement, on documents in memory.", None),
    "spanwise.evaluation": ("Scores and tuning of a model.", ("predictions", "tune", "Objective", "TuningResult")),
    "spanwise.render": ("Documents as HTML or for a terminal.", None),
    "spanwise.testing": ("The conformance suite for models.", ("check_model",)),
    "spanwise.seam.config": ("What a new model implements: its options.", ("ModelConfig", "SpanConfig")),
    "spanwise.seam.traits": ("What a new model declares.", ("Traits",)),
    "spanwise.seam.module": ("What a new model implements: its module.", ("SpanModel", "OneStageModel")),
    "spanwise.seam.decoder": ("Scores to predictions.", ("Decoder",)),
    "spanwise.seam.registry": ("The installed models.", ("model_names", "find_model")),
}


def cli_reference() -> str:
    """A section per command: its help, its examples and its options."""
    import typer
    from typer.main import get_command

    from spanwise.cli import app

    group: Any = get_command(app)
    context = typer.Context(group, info_name="spanwise")
    sections = []
    for name in sorted(group.list_commands(context)):
        command = group.get_command(context, name)
        own = typer.Context(command, info_name=name, parent=context)
        sections.append(_command(f"spanwise {name}", command, own))
    return "\n".join([CLI_HEAD, *sections])


def _command(title: str, command: Any, context: Any) -> str:
    help_text = re.sub(r"\[/?(?:bold)?\]", "", inspect.cleandoc(command.help or "").partition("\f")[0])
    lines = [line for line in help_text.splitlines() if not line.startswith("Example:")]
    examples = re.findall(r"^Example: (.*)$", help_text, re.MULTILINE)
    usage = " ".join(command.collect_usage_pieces(context))
    parts = [f"## {title}", "\n".join(lines).strip(), f"```text\n{title} {usage}\n```"]
    if examples:
        parts.append("```bash\n" + "\n".join(examples) + "\n```")
    records = (parameter.get_help_record(context) for parameter in command.get_params(context))
    rows = [f"| `{_names(record[0])}` | {_cell(record[1])} |" for record in records if record]
    rows = [row for row in rows if "--help" not in row]
    parts.append("| argument or option | meaning |\n|---|---|\n" + "\n".join(rows))
    return "\n\n".join(parts) + "\n"


def _names(shown: str) -> str:
    return re.sub(r"\s+", " ", shown.removeprefix("* ")).strip().replace("|", "\\|")


def _cell(text: str) -> str:
    """Text for a cell of a table, with its bars and brackets escaped outside code."""
    parts = re.split(r"(`[^`]*`)", re.sub(r"\s+", " ", text).replace("|", "\\|"))
    return "".join(part if index % 2 else re.sub(r"([<*\[\]])", r"\\\1", part) for index, part in enumerate(parts))


def python_reference() -> str:
    """A section per module, and its classes and functions with their signatures and docstrings."""
    parts = [PYTHON_HEAD]
    for name, (purpose, chosen) in MODULES.items():
        module = importlib.import_module(name)
        parts.append(f"## {name}\n\n{purpose}\n")
        parts += [_entry(each, getattr(module, each)) for each in chosen or module.__all__]
    return "\n".join(parts)


def _entry(name: str, value: Any) -> str:
    if not (inspect.isclass(value) or callable(value)):
        return f"### {name}\n\n`{_shortened(repr(value))}`\n"
    kind = "class" if inspect.isclass(value) else "def"
    parts = [f"### {name}", _code(f"{kind} {name}{_signature(value)}"), _docstring(value)]
    if inspect.isclass(value):
        parts += list(_members(value))
    return "\n\n".join(part for part in parts if part) + "\n"


def _members(owner: type) -> Iterator[str]:
    """Public methods and properties that the package defines, in the order of the code."""
    for name, member in _own_attributes(owner).items():
        if name.startswith("_") and name != "__call__":
            continue
        if isinstance(member, property | cached_property):
            function = member.fget if isinstance(member, property) else member.func
            kind = f"{name}: {_annotation(inspect.signature(function).return_annotation)}"  # type: ignore[arg-type]
        elif isinstance(member, classmethod | staticmethod) or inspect.isfunction(member):
            function = getattr(member, "__func__", member)
            mark = f"@{type(member).__name__}\n" if isinstance(member, classmethod | staticmethod) else ""
            kind = f"{mark}def {name}{_signature(function)}"
        else:
            continue
        title = f"{owner.__name__}." + name.replace("_", r"\_")
        yield f"#### {title}\n\n{_code(kind)}\n\n{_docstring(function)}".rstrip()


def _own_attributes(owner: type) -> dict[str, Any]:
    classes = [each for each in reversed(owner.__mro__) if each.__module__.startswith("spanwise")]
    return {name: member for each in classes for name, member in vars(each).items()}


def _signature(value: Any) -> str:
    """The parameters and the result of a callable, one parameter per line if they are many."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    empty = signature.empty
    shown = []
    for each in signature.parameters.values():
        annotation = empty if each.annotation is empty else _Text(_annotation(each.annotation))
        default = empty if each.default is empty else _Text(_shortened(repr(each.default)))
        shown.append(each.replace(annotation=annotation, default=default))
    returned = empty if inspect.isclass(value) else signature.return_annotation
    arrow = "" if returned is empty else f" -> {_annotation(returned)}"
    line = str(signature.replace(parameters=shown, return_annotation=empty))
    if len(line) <= 80:
        return line + arrow
    return "(\n" + "".join(f"    {part},\n" for part in _with_marks(shown)) + f"){arrow}"


def _with_marks(parameters: list[inspect.Parameter]) -> Iterator[str]:
    """The parameters and the marks / and * between their kinds."""
    before = None
    for each in parameters:
        if before == each.POSITIONAL_ONLY != each.kind:
            yield "/"
        if each.kind == each.KEYWORD_ONLY and before not in (each.KEYWORD_ONLY, each.VAR_POSITIONAL):
            yield "*"
        yield str(each)
        before = each.kind
    if before == inspect.Parameter.POSITIONAL_ONLY:
        yield "/"


class _Text(str):
    """A text that shows itself without quotes."""

    def __repr__(self) -> str:
        return str(self)


def _annotation(annotation: Any) -> str:
    if isinstance(annotation, str):
        return annotation.strip("'")
    return inspect.formatannotation(annotation).replace("typing.", "")


def _shortened(text: str, most: int = 60) -> str:
    text = re.sub(r"<(?:[\w.]+\.)?(\w+) object at 0x[0-9a-f]+>", r"\1(…)", text)
    text = re.sub(r"<function (\w+) at 0x[0-9a-f]+>|<class '[\w.]+?(\w+)'>", r"\1\2", text)
    return text if len(text) <= most else text[: most - 1] + "…"


def _code(text: str) -> str:
    return f"```python\n{text}\n```"


def _docstring(value: Any) -> str:
    """A docstring in Markdown; those that dataclasses and pydantic write themselves are left out."""
    text = inspect.cleandoc(value.__doc__ or "")
    if inspect.isclass(value) and is_dataclass(value) and text.startswith(f"{value.__name__}("):
        return ""
    blocks = []
    for block in text.split("\n\n"):
        blocks.append(_code(block) if block.lstrip().startswith(">>>") else block.replace("<", "&lt;"))
    return "\n\n".join(blocks)

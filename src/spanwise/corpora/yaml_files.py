"""YAML that users write, read with one sentence for whatever is wrong with it, in bounded time and memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import chain
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError

from spanwise.errors import RecipeError, shortened

_TYPE_NAME = re.compile(r"constrained-\w+|\w+\[.*\]")
MAX_BYTES = 1_000_000  # of a file
MAX_NODES = 100_000  # of its content, with every alias written out
MAX_DEPTH = 50
MAX_NUMBER = 1_000  # characters of a number or date
MAX_NAME = 1_000  # characters of a name in a recipe: of a corpus, a model, an encoder, a label


def read_yaml(path: Path) -> Any:
    """The content of a YAML file, without shared or self-referring parts."""
    try:
        return parse_yaml(_text(path))
    except yaml.YAMLError as error:
        place = getattr(error, "problem_mark", None)
        line = f":{place.line + 1}" if place else ""
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise RecipeError(f"{path}{line}: invalid YAML ({shortened(problem)}); correct it.") from None
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise RecipeError(f"{path}: byte 0x{byte:02x} is not UTF-8; save the recipe as UTF-8.") from None
    except (ValueError, RecursionError) as error:  # an invalid date, content beyond the bounds
        raise RecipeError(f"{path}: invalid YAML ({shortened(str(error))}); correct it.") from None


def _text(path: Path) -> str:
    with path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise RecipeError(f"{path}: the file is larger than {MAX_BYTES:,} bytes; recipes are small, give another file.")
    return content.decode("utf-8")


def parse_yaml(text: str) -> Any:
    """The content of a YAML text; too much of it is refused before any alias or merge is written out."""
    loader = _BoundedLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _expanded_size(node, MAX_DEPTH, {})
        return deep_copy(loader.construct_document(node))
    finally:
        loader.dispose()


class _BoundedLoader(yaml.SafeLoader):
    """Stops at more content than a recipe has."""

    nodes = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise ValueError(f"more than {MAX_NODES:,} values")
        node = super().compose_node(parent, index)
        if isinstance(node, yaml.ScalarNode) and not node.tag.endswith(":str") and len(node.value) > MAX_NUMBER:
            raise ValueError(f"a number of more than {MAX_NUMBER:,} characters")
        return node


def _expanded_size(node: yaml.Node, depth: int, known: dict[tuple[int, int], int]) -> int:
    """How many nodes there are with every alias written out; known: of nodes that were counted at a depth."""
    if not depth:
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
    key = (id(node), depth)
    if key not in known:
        known[key] = 1 + sum(_expanded_size(child, depth - 1, known) for child in _children(node))
        if known[key] > MAX_NODES:
            raise ValueError(f"more than {MAX_NODES:,} values with all aliases written out")
    return known[key]


def _children(node: yaml.Node) -> Iterable[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return chain.from_iterable(node.value)
    return node.value if isinstance(node, yaml.SequenceNode) else ()


def deep_copy(data: Any) -> Any:
    """A copy without shared parts."""
    if isinstance(data, dict):
        return {key: deep_copy(value) for key, value in data.items()}
    return [deep_copy(value) for value in data] if isinstance(data, list) else data


def first_error(error: ValidationError, kind: type[BaseModel], beside: Iterable[str] = ()) -> str:
    """The first problem of a validation as `kind`, as one sentence that begins with its key.

    `beside` are keys that are written in the same mapping but belong to something else.
    """
    first = error.errors()[0]
    keys = dict.fromkeys(_key(each["loc"]) for each in error.errors())
    known = {
        "extra_forbidden": f"unknown key{_suggestion(kind, first['loc'], beside)}",
        "missing": "this key is required",
        "value_error": first["msg"].removeprefix("Value error, "),
    }
    problem = known.get(first["type"]) or f"{first['msg']}, not {first['input']!r:.60}"
    more = f" ({len(keys) - 1} more)" if len(keys) > 1 else ""
    return f"{next(iter(keys))}: {problem}{more}."


def _key(place: tuple[int | str, ...]) -> str:
    """A dotted key, without the names of types that pydantic adds where an option may have one of several."""
    return shortened(".".join(part for part in map(str, place) if not _TYPE_NAME.fullmatch(part))) or "recipe"


def _suggestion(kind: type[BaseModel] | None, place: Sequence[int | str], beside: Iterable[str]) -> str:
    """The known key that is most like an unknown one, if any is."""
    *sections, key = place
    for section in sections:
        field = kind.model_fields.get(str(section)) if kind else None
        kind = next(filter(_is_model, (field.annotation, *get_args(field.annotation))), None) if field else None
    known = [*(kind.model_fields if kind else ()), *(() if sections else beside)]
    close = get_close_matches(str(key), known, n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def _is_model(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)

"""Validate python blocks without running them: names, imports, attributes and arguments of spanwise."""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import sys
from collections.abc import Iterator
from typing import Any

from markdown_blocks import Block

PACKAGE = "spanwise"


class BadCodeError(Exception):
    """Documented code that would not run."""


class Names:
    """What the blocks of a page have bound so far; of what comes from spanwise, the object or its class."""

    def __init__(self) -> None:
        self.bound: set[str] = set(dir(builtins)) | {"__name__", "__file__"}
        self.objects: dict[str, Any] = {}  # imported from spanwise
        self.instances: dict[str, type] = {}  # made by something from spanwise

    def check(self, block: Block) -> None:
        """The block compiles, every name is bound, and spanwise has what it uses."""
        try:
            tree = ast.parse(block.source)
        except SyntaxError as error:
            raise BadCodeError(f"line {error.lineno}: {error.msg}") from None
        self.bound |= set(_bindings(tree))
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                self._import(node)
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in self.bound:
                raise BadCodeError(f"line {node.lineno}: {node.id} is not defined on this page")
        for statement in ast.walk(tree):
            if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                self._assign(statement.targets[0], statement.value)
            elif isinstance(statement, ast.With):
                for item in statement.items:
                    if item.optional_vars is not None:
                        self._assign(item.optional_vars, item.context_expr)
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute | ast.Call):
                self._resolve(node)

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == PACKAGE:
                    self.objects[alias.asname or PACKAGE] = importlib.import_module(
                        alias.name if alias.asname else PACKAGE
                    )
            return
        if node.level or (node.module or "").partition(".")[0] != PACKAGE:
            return
        try:
            module = importlib.import_module(str(node.module))
        except ModuleNotFoundError as error:
            raise BadCodeError(f"line {node.lineno}: {error}") from None
        for alias in node.names:
            try:
                found = getattr(module, alias.name, None) or importlib.import_module(f"{node.module}.{alias.name}")
            except ModuleNotFoundError:
                raise BadCodeError(f"line {node.lineno}: {node.module} has no {alias.name}") from None
            self.objects[alias.asname or alias.name] = found

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            made = self._type_of(value)
            self.instances.pop(target.id, None)
            if made is not None:
                self.instances[target.id] = made

    def _type_of(self, node: ast.expr) -> type | None:
        """The class of what a call of spanwise gives, where its annotation says so."""
        if not isinstance(node, ast.Call):
            return None
        called = self._resolve(node.func)
        if inspect.isclass(called):
            return called
        return _returned(called)

    def _resolve(self, node: ast.expr) -> Any:
        """The object of spanwise that an expression names; None where that is not known."""
        if isinstance(node, ast.Name):
            return self.objects.get(node.id)
        if isinstance(node, ast.Call):
            made = self.instances.get(node.func.id) if isinstance(node.func, ast.Name) else None
            called = self._resolve(node.func) if made is None else made.__dict__.get("__call__")
            if called is not None:
                _check_arguments(called, node)
            return None
        if not isinstance(node, ast.Attribute):
            return None
        if isinstance(node.value, ast.Name) and (made := self.instances.get(node.value.id)) is not None:
            if node.attr not in _members(made):
                raise BadCodeError(f"line {node.lineno}: a {made.__name__} has no {node.attr}")
            found = getattr(made, node.attr, None)
            return found if inspect.isroutine(found) else None
        owner = self._resolve(node.value)
        if owner is None:
            return None
        if not hasattr(owner, node.attr):
            raise BadCodeError(f"line {node.lineno}: {ast.unparse(node.value)} has no {node.attr}")
        return getattr(owner, node.attr)


def _bindings(tree: ast.AST) -> Iterator[str]:
    """Every name that the code binds anywhere."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(ctx=ast.Store()):
                yield node.id
            case ast.FunctionDef() | ast.ClassDef() | ast.AsyncFunctionDef():
                yield node.name
            case ast.arg():
                yield node.arg
            case ast.alias():
                yield (node.asname or node.name).partition(".")[0]
            case ast.ExceptHandler(name=str(name)):
                yield name


def _returned(called: Any) -> type | None:
    try:
        annotation = inspect.signature(called).return_annotation
    except (TypeError, ValueError):
        return None
    if annotation == "Self" and inspect.ismethod(called):
        return called.__self__ if inspect.isclass(called.__self__) else type(called.__self__)
    module = sys.modules.get(getattr(called, "__module__", ""))
    found = getattr(module, annotation, None) if isinstance(annotation, str) else annotation
    return found if inspect.isclass(found) and found is not inspect.Signature.empty else None


def _members(kind: type) -> set[str]:
    fields = {name for base in kind.__mro__ for name in getattr(base, "__annotations__", {})}
    return set(dir(kind)) | fields | _assigned(kind)


def _assigned(kind: type) -> set[str]:
    """The attributes that the methods of a class set on self."""
    found: set[str] = set()
    for base in kind.__mro__:
        try:
            tree = ast.parse(inspect.cleandoc("\n" + inspect.getsource(base)))
        except (OSError, TypeError, SyntaxError):
            continue
        found |= {
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
        }
    return found


def _check_arguments(called: Any, call: ast.Call) -> None:
    """The call fits the signature; a call with `*` or `**` is not checked."""
    if any(isinstance(argument, ast.Starred) for argument in call.args) or any(k.arg is None for k in call.keywords):
        return
    try:
        signature = inspect.signature(called)
    except (TypeError, ValueError):
        return
    given = [None] * len(call.args)
    if inspect.isfunction(called) and next(iter(signature.parameters), "") == "self":
        given.append(None)
    try:
        signature.bind(*given, **{str(keyword.arg): None for keyword in call.keywords})
    except TypeError as error:
        raise BadCodeError(f"line {call.lineno}: {ast.unparse(call.func)}: {error}") from None

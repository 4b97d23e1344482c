"""Values that were set on a module of the user's from outside: `mine.GAIN = 3` in a notebook, before a sweep."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from types import ModuleType
from typing import NamedTuple

from wifair.extensions import live_code, loaded

CHANGING = {"add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove", "setdefault", "update"}
"""Methods that change what they are called on."""


class _Source(NamedTuple):
    constants: dict[str, object]
    """Names that are set once, and to a literal."""
    state: frozenset[str]
    """Names and attributes that the functions of the module set or change themselves."""


def of(name: str, source: bytes) -> dict[str, bytes]:
    """Get the digest of each value that a loaded module has instead of the one that it was loaded with.

    State that the functions of a module keep there themselves does not count. Of a module that was imported before
    wifair only numbers, texts and other literals are compared, with its source.

    Parameters
    ----------
    name : str
        The module.
    source : bytes
        The source that it was loaded from.
    """
    module = sys.modules.get(name)
    if not isinstance(module, ModuleType):
        return {}
    known, before = _parsed(source), loaded.values_of(name)
    now = live_code.namespace(module)
    if before is None:
        constants = ModuleType(name)
        vars(constants).update(known.constants)
        before = live_code.namespace(constants)
        now = {key: value for key, value in now.items() if key in before}
    return {
        key: now.get(key, b"")
        for key in sorted(before.keys() | now.keys())
        if before.get(key) != now.get(key) and key.rpartition(".")[2] not in known.state
    }


@lru_cache(maxsize=256)
def _parsed(source: bytes) -> _Source:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _Source({}, frozenset())
    stored = Counter(
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del)
    )
    constants: dict[str, object] = {}
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if stored[name] == 1:
                with suppress(ValueError, TypeError, MemoryError, RecursionError):
                    constants[name] = ast.literal_eval(value)
    return _Source(constants, frozenset(_state(tree)))


def _state(tree: ast.Module) -> Iterator[str]:
    """List what the functions of a module set: globals, items and attributes, but for those of `self`."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        for node in ast.walk(function):
            match node:
                case ast.Global(names=names):
                    yield from names
                case ast.Attribute(value=value, attr=attr, ctx=ast.Store() | ast.Del()) if not _is_self(value):
                    yield attr
                case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()):
                    yield from _last(value)
                case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in CHANGING:
                    yield from _last(value)


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _last(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            yield name
        case ast.Subscript(value=value):
            yield from _last(value)

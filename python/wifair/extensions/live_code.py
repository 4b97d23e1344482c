"""The code of classes that are in no file, or whose file does not say all: those of notebooks, and of functions.

What a class of a notebook does depends on other cells, and what one of a function does depends on its arguments. So
their code is followed to all that it refers to: functions, classes, numbers, texts, lists and arrays.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from collections.abc import Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

LIBRARY = ("builtins", "wifair", "abc")
"""Modules whose classes belong to Python or to this package."""

MOST_DEEP = 50

given: dict[str, type] = {}
"""Classes that were handed over as such: those of a function or a notebook cannot be imported."""


def in_module(name: str) -> object:
    """Get what a loaded module has under the name of a class; None if it has nothing."""
    module, _, path = name.partition(":")
    found: object = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


def known(name: str) -> type:
    """Get a class that has been loaded, or was handed over.

    Raises
    ------
    LookupError
        If there is none.
    """
    cls = in_module(name) or given.get(name)
    if not isinstance(cls, type):
        raise LookupError(name)
    return cls


class LiveCode(NamedTuple):
    """What a class does, as far as no file says it."""

    digest: bytes
    """SHA-256."""
    modules: frozenset[str]
    """Modules that it refers to."""


def of(name: str) -> LiveCode | None:
    """Describe the class `module:Class`; None if the file of its module says everything."""
    module, _, path = name.partition(":")
    if "<locals>" not in path and not is_typed(module):
        return None
    try:
        cls = known(name)
    except LookupError:
        return None
    walk = _Walk()
    walk.value(cls, MOST_DEEP)
    return LiveCode(walk.number.digest(), frozenset(walk.modules))


def digest(cls: type) -> bytes:
    """Get the SHA-256 of what a class does, as far as no file says it."""
    walk = _Walk()
    walk.value(cls, MOST_DEEP)
    return walk.number.digest()


def namespace(module: ModuleType) -> dict[str, bytes]:
    """Get the SHA-256 of what each name of a module stands for, and each attribute of its own classes.

    Objects that are neither data, functions nor classes count by their class: their state may change as they are used.
    """
    digests: dict[str, bytes] = {}
    for name, value in [*vars(module).items()]:
        is_part = isinstance(value, ModuleType) and value.__name__ == f"{module.__name__}.{name}"
        if name.startswith("__") or is_part:
            continue
        digests[name] = _digest_in(module, value)
        if isinstance(value, type) and value.__module__ == module.__name__:
            for part, held in _attributes(value):
                digests[f"{name}.{part}"] = _digest_in(module, held)
    return digests


def _digest_in(module: ModuleType, value: object) -> bytes:
    walk = _Walk(module.__name__)
    walk.value(value, MOST_DEEP)
    return walk.number.digest()


def _attributes(cls: type) -> Iterator[tuple[str, object]]:
    """List what a class has of its own, by name."""
    for name, part in sorted(vars(cls).items()):
        if name not in ("__dict__", "__weakref__", "__doc__", "__module__", "__firstlineno__"):
            yield name, part


def is_typed(module: str | None) -> bool:
    """Whether a module is in no file, because it was typed: in a notebook or an interactive session."""
    return not getattr(sys.modules.get(module or ""), "__file__", None)


class _Walk:
    def __init__(self, inside: str | None = None) -> None:
        self.inside = inside  # the module whose functions are read, and not what their names stand for
        self.number = hashlib.sha256()
        self.modules: set[str] = set()
        self._seen: dict[int, int] = {}
        self._kept: list[object] = []  # so that no other object gets the same `id`

    def _say(self, *parts: object) -> None:
        for part in parts:
            data = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass")
            self.number.update(len(data).to_bytes(8, "little") + data)

    def value(self, value: Any, depth: int) -> None:
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            self._say(type(value).__name__, repr(value))
            return
        if id(value) in self._seen or depth == 0:
            self._say("again", self._seen.get(id(value), 0))
            return
        self._seen[id(value)] = len(self._seen) + 1
        self._kept.append(value)
        match value:
            case ModuleType():
                self._say("module", value.__name__)
                self.modules.add(value.__name__)
            case type():
                self._class(value, depth)
            case FunctionType():
                self._function(value, depth)
            case CodeType():
                self._code(value, depth)
            case BuiltinFunctionType():
                self._say("builtin", value.__module__, value.__qualname__)
            case _:
                self._parts(value, depth)

    def _parts(self, value: Any, depth: int) -> None:
        """Say what something is made of."""
        self._say(type(value).__name__)
        match value:
            case staticmethod() | classmethod():
                parts: list[object] = [value.__func__]
            case property():
                parts = [value.fget, value.fset, value.fdel]
            case set() | frozenset():
                parts = [*sorted(map(repr, value))]
            case dict():
                parts = [part for pair in value.items() for part in pair]
            case tuple() | list():
                parts = list(value)
            case _:
                self._object(value, depth)
                return
        self._say(len(parts))
        for part in parts:
            self.value(part, depth - 1)

    def _class(self, cls: type, depth: int) -> None:
        self._say("class", cls.__module__, cls.__qualname__)
        if cls.__module__ in LIBRARY and sys.modules.get(cls.__module__) is not None and _is_in(cls):
            return
        if cls.__module__ == self.inside:
            return  # its attributes are told one by one
        if not is_typed(cls.__module__):
            self.modules.add(cls.__module__)
            if "<locals>" not in cls.__qualname__:
                return
        for base in cls.__bases__:
            self.value(base, depth - 1)
        for name, part in _attributes(cls):
            self._say(name)
            self.value(part, depth - 1)

    def _function(self, function: FunctionType, depth: int) -> None:
        self._say("function", function.__module__, function.__qualname__)
        for cell in function.__closure__ or ():
            try:
                self.value(cell.cell_contents, depth - 1)
            except ValueError:
                self._say("empty")
        self.value(function.__defaults__, depth - 1)
        self.value(function.__kwdefaults__, depth - 1)
        if not is_typed(function.__module__) and function.__module__ != self.inside:
            self.modules.add(function.__module__)
            if "<locals>" not in function.__qualname__:
                return
        self._code(function.__code__, depth)
        if is_typed(function.__module__):
            for name in sorted(set(_names(function.__code__))):
                if name in function.__globals__:
                    self._say("global", name)
                    self.value(function.__globals__[name], depth - 1)

    def _code(self, code: CodeType, depth: int) -> None:
        self._say("code", code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_exceptiontable)
        for part in code.co_consts:
            self.value(part, depth - 1)

    def _object(self, value: object, depth: int) -> None:
        """Say what another object is: its class, and its contents if they can be written."""
        self.value(type(value), depth - 1)
        content = getattr(value, "tobytes", None)
        if isinstance(content, BuiltinFunctionType):  # numpy's arrays and numbers; of an alias for them it is unbound
            self._say(getattr(value, "dtype", None), getattr(value, "shape", ()), content())
            return
        if self.inside is not None:
            return
        try:
            self._say(pickle.dumps(value, 4))
        except Exception:  # of the user's __reduce__, too
            self._say("an object")


def _is_in(cls: type) -> bool:
    """Whether a module has a class under its name."""
    return getattr(sys.modules[cls.__module__], cls.__qualname__, None) is cls


def _names(code: CodeType) -> Iterator[str]:
    """List the names that a function and those inside it look up."""
    yield from code.co_names
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _names(part)

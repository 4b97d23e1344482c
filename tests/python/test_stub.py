"""The stub of the compiled module lists what the module contains: names, and the parameters of functions."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest
import wifair
from wifair import _core

STUB = ast.parse((Path(wifair.__file__).parent / "_core.pyi").read_text(encoding="utf-8"))
IMPLICIT = {"__new__", "__init__"}


def _body(of: ast.Module | ast.ClassDef) -> dict[str, ast.stmt]:
    """Get the definitions of a module or class by name; of several overloads the last."""
    found: dict[str, ast.stmt] = {}
    for item in of.body:
        if isinstance(item, (ast.FunctionDef, ast.ClassDef)):
            found[item.name] = item
        elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            found[item.target.id] = item
    return found


def _is_typing_only(item: ast.stmt) -> bool:
    """Whether a class is for type checkers alone: a TypedDict, or a protocol."""
    if not isinstance(item, ast.ClassDef):
        return isinstance(item, ast.AnnAssign) and "TypeAlias" in ast.unparse(item.annotation)
    return any(ast.unparse(base) in {"TypedDict", "Protocol"} for base in item.bases)


TOP = {name: item for name, item in _body(STUB).items() if not _is_typing_only(item)}
CALLABLE = [
    *((name, None) for name, item in TOP.items() if isinstance(item, ast.FunctionDef)),
    *(
        (name, member)
        for name, item in TOP.items()
        if isinstance(item, ast.ClassDef)
        for member, inner in _body(item).items()
        if isinstance(inner, ast.FunctionDef) and not inner.decorator_list and not member.startswith("__")
    ),
]


def _public(names: list[str]) -> set[str]:
    return {name for name in names if not name.startswith("_")}


def test_the_module_has_what_its_stub_says_and_nothing_else() -> None:
    assert _public(list(TOP)) == _public(dir(_core))


@pytest.mark.parametrize("name", [name for name, item in TOP.items() if isinstance(item, ast.ClassDef)])
def test_a_class_has_what_its_stub_says_and_nothing_else(name: str) -> None:
    item, found = TOP[name], getattr(_core, name)
    assert isinstance(item, ast.ClassDef)
    inherited = {member for base in found.__mro__[1:] for member in vars(base)}
    assert _public(list(_body(item))) == _public(list(vars(found))) - inherited


@pytest.mark.parametrize(("name", "member"), CALLABLE)
def test_parameters_are_those_of_the_stub(name: str, member: str | None) -> None:
    item, found = TOP[name], getattr(_core, name)
    if member is not None:
        assert isinstance(item, ast.ClassDef)
        item, found = _body(item)[member], getattr(found, member)
    assert isinstance(item, ast.FunctionDef)
    expected = [arg.arg for arg in (*item.args.posonlyargs, *item.args.args, *item.args.kwonlyargs)]
    assert list(inspect.signature(found).parameters) == expected

"""The sources of classes that scenarios name, found without running them."""

from __future__ import annotations

import ast
import hashlib
import importlib
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import NamedTuple

from wifair.exceptions import ScenarioError
from wifair.extensions import live_code, loaded, set_outside

STANDARD = sys.stdlib_module_names - {"__main__"}
PYTHON = f"python {sys.version_info.major}.{sys.version_info.minor}"


class _Found(NamedTuple):
    """The file of a module."""

    path: Path
    data: bytes
    source: loaded.LoadedSource | None
    """As it was loaded; None if it is not."""


def digest(names: Iterable[str], folder: str) -> str:
    """Get the SHA-256 of the sources of classes, and of what they import, in hexadecimal.

    It covers what runs: of a module that is loaded, the source that it was loaded from, and the values that were set on
    it from outside. Of the standard library and of
    installed packages it covers the versions, of interactive classes their code and what that refers to. Nothing is
    imported for that: who reads a scenario runs none of its code.

    Parameters
    ----------
    names : iterable of str
        ``module:Class`` of each.
    folder : str
        Where the scenario lies; modules are looked for there at last.

    Raises
    ------
    ScenarioError
        If there is no such module, it has no source, or what was loaded is not known.
    """
    number = hashlib.sha256(PYTHON.encode())
    modules: dict[str, _Found] = {}
    for name in names:
        module = name.partition(":")[0]
        number.update(f"\0{name}\0".encode())
        code = live_code.of(name)
        if code is not None:
            number.update(code.digest)
        for start in [module] if code is None else sorted(code.modules):
            modules |= _files(start, folder, needed=code is None)
    for part, found in sorted(modules.items()):
        number.update(f"\0{part}\0{len(found.data)}\0".encode())
        number.update(found.data)
        for key, value in _set_outside(part, found).items():
            number.update(f"\0{key}\0".encode() + value)
    return number.hexdigest()


def require_unchanged(names: Iterable[str], folder: str) -> None:
    """Refuse classes of modules that have changed since they were loaded: the user means the file, and the old runs.

    Raises
    ------
    ScenarioError
        If there is one; the message names the file.
    """
    for name in names:
        module = name.partition(":")[0]
        code = live_code.of(name)
        for start in [module] if code is None else sorted(code.modules):
            for part, found in _files(start, folder, needed=False).items():
                if found.source is not None and _read(found.path) != found.source.data:
                    raise _changed(part, found.path)


def require_as_loaded(names: Iterable[str], folder: str) -> None:
    """Refuse classes for whose modules values were set from outside: another process loads them without.

    Raises
    ------
    ScenarioError
        If there is one; the message names the value.
    """
    for name in names:
        for part, found in _files(name.partition(":")[0], folder, needed=False).items():
            for key in _set_outside(part, found):
                raise ScenarioError(
                    f"error: `{part}.{key}` was set after `{part}` was loaded, which other processes do not know: "
                    "write the value into its file and restart Python, or use threads\n"
                )


def _set_outside(module: str, found: _Found) -> dict[str, bytes]:
    return {} if found.source is None or found.path.suffix != ".py" else set_outside.of(module, found.source.data)


def _changed(module: str, path: Path) -> ScenarioError:
    return ScenarioError(
        f"error: `{path}` has changed since `{module}` was imported: restart Python to run what it says now\n"
    )


def _files(module: str, folder: str, *, needed: bool) -> dict[str, _Found]:
    """Files of a module and of all that it imports, by the names of the modules; versions of what is installed."""
    if _locate(module, folder) is None:
        if not needed:
            return {}
        raise ScenarioError(f"error: cannot import `{module}`: no module named {module.partition('.')[0]!r}\n")
    found: dict[str, _Found] = {}
    ahead = [module]
    while ahead:
        name = ahead.pop()
        top = name.partition(".")[0]
        if name in found or top in found or top == "wifair" or top in STANDARD:
            continue
        path = _locate(name, folder)
        if path is None:
            continue
        version = _version(top) if loaded.is_installed(str(path)) else None
        if version is not None:
            found[top] = _Found(path, f"version {version}".encode(), None)
            continue
        one = found[name] = _file(name, path)
        inside = name.split(".")
        ahead += [".".join(inside[:count]) for count in range(1, len(inside))]
        ahead += _imports(one.data, name, path.name == "__init__.py") if path.suffix == ".py" else ()
    _require_fresh(found)
    return found


def _require_fresh(found: dict[str, _Found]) -> None:
    """Refuse a module that holds what it imported from another before that one was loaded again."""
    for name, one in found.items():
        if one.source is None or one.path.suffix != ".py":
            continue
        for other in _imports(one.data, name, one.path.name == "__init__.py"):
            there = found.get(other)
            if there is not None and there.source is not None and there.source.replaced > one.source.loaded:
                raise ScenarioError(
                    f"error: `{other}` was loaded again, and `{name}` still has what it imported from it before: "
                    "restart Python\n"
                )


def _file(name: str, path: Path) -> _Found:
    """Read the file of a module, or take what it was loaded from."""
    try:
        if getattr(sys.modules.get(name), "__file__", None) is None:
            return _Found(path, path.read_bytes(), None)
        source = loaded.source_of(name, str(getattr(sys.modules[name], "__file__", path)))
    except OSError as error:
        raise ScenarioError(f"error: cannot read `{path}`: {error.strerror}\n") from None
    if source is None:
        raise _changed(name, path)
    return _Found(path, source.data, source)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _locate(module: str, folder: str) -> Path | None:
    """File of a module: as Python would find it, without importing what is above it."""
    origin = getattr(sys.modules.get(module), "__file__", None)
    if origin:
        return Path(origin).resolve()
    importlib.invalidate_caches()
    places: list[str] | None = [*sys.path, str(Path(folder).resolve())]
    name = ""
    file: str | None = None
    for part in module.split("."):
        name = f"{name}.{part}" if name else part
        try:
            spec = PathFinder.find_spec(name, places)
        except (ImportError, ValueError, OSError):
            return None
        if spec is None:
            return None
        file = spec.origin if spec.has_location else None
        places = list(spec.submodule_search_locations or [])
    return Path(file).resolve() if file else None


@lru_cache(maxsize=256)
def _version(top: str) -> str | None:
    """Version of the distribution that has installed a module; None if none has."""
    from importlib import metadata  # noqa: PLC0415

    try:
        return metadata.version(top)
    except metadata.PackageNotFoundError:
        names = metadata.packages_distributions().get(top, [])
    return ", ".join(f"{name} {metadata.version(name)}" for name in sorted(set(names))) or None


def _imports(source: bytes, module: str, is_package: bool) -> tuple[str, ...]:
    """Names that a module may import; what is wrong with its source shows when it runs."""
    return _parsed(source, module, is_package)


@lru_cache(maxsize=256)
def _parsed(source: bytes, module: str, is_package: bool) -> tuple[str, ...]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    above = module.split(".") if is_package else module.split(".")[:-1]
    return tuple(dict.fromkeys(name for node in ast.walk(tree) for name in _named(node, above)))


def _named(node: ast.AST, above: list[str]) -> Iterator[str]:
    match node:
        case ast.Import():
            yield from (alias.name for alias in node.names)
        case ast.ImportFrom():
            start = above[: len(above) - node.level + 1] if node.level else []
            whole = ".".join([*start, *([node.module] if node.module else [])])
            if whole:
                yield whole
                yield from (f"{whole}.{alias.name}" for alias in node.names)
        case ast.Call(
            func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
            args=[ast.Constant(value=str(name)), *_],
        ) if not name.startswith("."):
            yield name

"""The sources of classes that scenarios name, found without running them."""

from __future__ import annotations

import ast
import hashlib
import importlib
import sys
from collections.abc import Iterable, Iterator
from importlib.machinery import PathFinder
from pathlib import Path

from wifair.errors import ScenarioError


def digest(names: Iterable[str], folder: str) -> str:
    """Get the SHA-256 of the files of classes, and of what they import from beside them, in hexadecimal.

    Nothing is imported for that: who reads a scenario runs none of its code.

    Parameters
    ----------
    names : iterable of str
        ``module:Class`` of each.
    folder : str
        Where the scenario lies; modules are looked for there at last.

    Raises
    ------
    ScenarioError
        If there is no such module, or it has no source.
    """
    number = hashlib.sha256()
    for name in names:
        module = name.partition(":")[0]
        number.update(f"{name}\0".encode())
        given = _given_source(name, module)
        if given is not None:
            number.update(given)
            continue
        for part, data in sorted(_files(module, folder).items()):
            number.update(f"{part}\0{len(data)}\0".encode())
            number.update(data)
    return number.hexdigest()


def _given_source(name: str, module: str) -> bytes | None:
    """Source of a class of an interactive session, which was handed over as such and is in no file."""
    from wifair import extending  # noqa: PLC0415

    cls = extending._given.get(name)
    loaded = sys.modules.get(module)
    if cls is None or getattr(loaded, "__file__", None):
        return None
    return b"".join(extending._source(part) for part in cls.__mro__ if part.__module__ not in extending.LIBRARY)


def _files(module: str, folder: str) -> dict[str, bytes]:
    """Files of a module and of those beside it that it imports, by the names of the modules."""
    first = _locate(module, folder)
    if first is None:
        raise ScenarioError(f"error: cannot import `{module}`: no module named {module.partition('.')[0]!r}\n")
    base = first.parents[module.count(".") + (first.name == "__init__.py")]
    found: dict[str, bytes] = {}
    ahead = [module]
    while ahead:
        name = ahead.pop()
        path = first if name == module else _locate(name, folder)
        if name in found or path is None or base not in path.parents:
            continue
        try:
            data = found[name] = path.read_bytes()
        except OSError as error:
            raise ScenarioError(f"error: cannot read `{path}`: {error.strerror}\n") from None
        ahead += _imports(data, name, is_package=path.name == "__init__.py")
    return found


def _locate(module: str, folder: str) -> Path | None:
    """File of the source of a module: as Python would find it, without importing what is above it."""
    loaded = getattr(sys.modules.get(module), "__file__", None)
    if loaded:
        return Path(loaded).resolve()
    importlib.invalidate_caches()
    places: list[str] | None = [*sys.path, str(Path(folder).resolve())]
    name = ""
    origin = None
    for part in module.split("."):
        name = f"{name}.{part}" if name else part
        try:
            spec = PathFinder.find_spec(name, places)
        except (ImportError, ValueError, OSError):
            return None
        if spec is None:
            return None
        origin, places = spec.origin, list(spec.submodule_search_locations or [])
    return Path(origin).resolve() if origin and origin.endswith(".py") else None


def _imports(source: bytes, module: str, *, is_package: bool) -> Iterator[str]:
    """Names that a module may import; what is wrong with its source shows when it runs."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    above = module.split(".") if is_package else module.split(".")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = above[: len(above) - node.level + 1] if node.level else []
            whole = ".".join([*start, *([node.module] if node.module else [])])
            if whole:
                yield whole
                yield from (f"{whole}.{alias.name}" for alias in node.names)

"""Which source each module of the user's was loaded from: what runs is not always what lies on the disk.

A notebook that imported a module goes on with that version when its file is edited. `watch` therefore has the sources
of modules outside the standard library and installed packages kept as they are compiled. They are compiled anew each
time: Python's compiled files are keyed by whole seconds, so that two edits within one could run the first.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import NamedTuple

_LIBRARY = f"{os.path.dirname(os.__file__)}{os.sep}"  # noqa: PTH120 (at each start of a command)
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


class LoadedSource(NamedTuple):
    """The source from which a module was loaded."""

    path: str
    """The file."""
    data: bytes
    """Its contents."""
    loaded: int
    """When it was loaded, as a place in the order of all."""
    replaced: int
    """When it was loaded instead of other contents; 0 if it never was."""


_sources: dict[str, LoadedSource] = {}
_values: dict[str, dict[str, bytes]] = {}
"""What the names of a module stood for when it had been loaded; see `live_code.namespace`."""
_before: dict[str, tuple[int, int]] = {}
"""Modified when, and how large, the files of modules were that had been loaded before `watch`."""
_order = itertools.count(1)


def watch() -> None:
    """Keep the sources of all modules that are loaded from now on."""
    for module in [*sys.modules.values()]:
        path = getattr(module, "__file__", None)
        if isinstance(path, str) and not is_installed(path):
            _before[path] = _stamp(path)
    finders: list[object] = sys.meta_path  # type: ignore[assignment]
    if PathFinder in finders:
        finders.insert(finders.index(PathFinder), _Finder)


def is_installed(path: str) -> bool:
    """Whether a file belongs to Python or to an installed package."""
    return path.startswith(_LIBRARY) or any(part in path for part in _INSTALLED)


def source_of(name: str, path: str) -> LoadedSource | None:
    """Get the source from which the module `name` was loaded; None if it is no longer known, because it has changed.

    Raises
    ------
    OSError
        If it was not watched, and cannot be read.
    """
    known = _sources.get(name)
    if known is not None and known.path == path:
        return known
    if path in _before and _before[path] != _stamp(path):
        return None
    with open(path, "rb") as file:  # noqa: PTH123 (as the loader does)
        source = _sources[name] = LoadedSource(path, file.read(), 0, 0)
    return source


def values_of(name: str) -> dict[str, bytes] | None:
    """Get what the names of a module stood for when it had been loaded; None if that was before `watch`."""
    return _values.get(name)


def _stamp(path: str) -> tuple[int, int]:
    try:
        found = os.stat(path)  # noqa: PTH116
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType | None:
        data = self.get_data(self.path)
        code: CodeType = self.source_to_code(data, self.path)
        before, now = _sources.get(fullname), next(_order)
        same = before is None or before.data == data
        replaced = (before.replaced if before is not None else 0) if same else now
        _sources[fullname] = LoadedSource(self.path, data, now, replaced)
        return code

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        from wifair.extensions.live_code import namespace  # noqa: PLC0415 (not at each start of a command)

        _values[module.__name__] = namespace(module)


class _Finder:
    """Finds what `PathFinder` would, which comes after it."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target)
        is_ours = name.partition(".")[0] == "wifair"
        if spec is not None and type(spec.loader) is SourceFileLoader and not is_ours:
            file = spec.loader.path
            if not is_installed(file):
                spec.loader = _Loader(name, file)
        return spec

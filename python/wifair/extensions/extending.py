"""Classes of the user's own that scenarios name: congestion controls and queue disciplines in Python.

A scenario holds the name of a class, ``module:Class``; only a run imports it. Scenarios with classes can therefore be
saved, swept, and sent to other processes, which must be able to import the class too.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Iterable
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from types import TracebackType

from wifair._core import CongestionControl, QueueDiscipline
from wifair.exceptions import ScenarioError
from wifair.extensions.live_code import digest, given, in_module, known

BASES: dict[str, type] = {"CongestionControl": CongestionControl, "QueueDiscipline": QueueDiscipline}


def name_of(cls: type) -> str:
    """Name a class as scenarios do, and remember it.

    Raises
    ------
    TypeError
        If it is neither a congestion control nor a queue discipline.
    ScenarioError
        If its module has another class of that name by now.
    """
    if not issubclass(cls, tuple(BASES.values())):
        raise TypeError(f"{cls.__qualname__} is no subclass of wifair.{' or wifair.'.join(BASES)}")
    name = f"{cls.__module__}:{cls.__qualname__}"
    there = in_module(name)
    if there is None and given.get(name, cls) is not cls:
        if digest(cls) != digest(given[name]):  # the function that makes it was called with other arguments
            name += f"#{digest(cls).hex()[:12]}"
    elif there not in (None, cls):
        raise _error(f"`{cls.__qualname__}` is not the class that `{cls.__module__}` has now", "take that one")
    given[name] = cls
    return name


def find(name: str, base: str, folder: str = ".") -> type:
    """Find the class that a scenario names, importing its module if need be.

    Parameters
    ----------
    name : str
        ``module:Class``.
    base : {"CongestionControl", "QueueDiscipline"}
        What it must be.
    folder : str
        Where the scenario lies; modules are looked for there at last.

    Raises
    ------
    ScenarioError
        If there is no such class, or it is not of that kind.
    """
    module, _, path = name.partition(":")
    cls: object = None
    with suppress(LookupError):
        cls = known(name)
    if cls is None:
        cls = _import(module, folder)
        for part in path.split("."):
            cls = getattr(cls, part, None)
        if cls is None:
            if "<locals>" in path or module == "__main__":
                raise _error(f"`{path}` is not known in this process", "put the class into a module of its own")
            raise _error(f"module `{module}` has no class `{path}`")
    if not (isinstance(cls, type) and issubclass(cls, BASES[base])):
        raise _error(f"`{name}` is no subclass of wifair.{base}")
    _check_names(cls, BASES[base])
    return cls


def line_of(trace: TracebackType | None) -> str:
    """Say where a class of the user's own raised: file and line, and what stands there, on lines of their own.

    That is the innermost line of the file in which the method lies that was called; empty if there is no traceback.
    """
    frames = traceback.extract_tb(trace)
    if not frames:
        return ""
    frame = [one for one in frames if one.filename == frames[0].filename][-1]
    file = Path(frame.filename)
    shown = file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file
    number = str(frame.lineno)
    return f"\n  --> {shown}:{number}, in {frame.name}" + (f"\n{number} | {frame.line}" if frame.line else "")


def require_importable(names: Iterable[str]) -> None:
    """Refuse classes that another process could not find.

    Raises
    ------
    ScenarioError
        If one was defined in a function or in an interactive session.
    """
    for name in names:
        module, _, path = name.partition(":")
        if "<locals>" in path:
            raise _error(
                f"other processes cannot find `{path}`: it was defined in a function",
                "put the class at the top of a module, or use threads",
            )
        if module == "__main__" and not hasattr(sys.modules["__main__"], "__file__"):
            raise _error(
                f"other processes cannot find `{path}`: it was defined in an interactive session",
                "put the class into a module, or use threads",
            )


def _check_names(cls: type, base: type) -> None:
    """Refuse methods and attributes that are never used because their names are misspelt."""
    known = [name for name in dir(base) if not name.startswith("_")]
    for part in cls.__mro__[: cls.__mro__.index(base)]:
        for name, value in vars(part).items():
            reserved = name.startswith(("on_", "wants_", "rules_"))
            near = get_close_matches(name, known, n=1, cutoff=0.5 if reserved else 0.85)
            if name in known or name.startswith("_") or not (reserved or (near and callable(value))):
                continue
            rest = f"did you mean `{near[0]}`?" if near else f"there is no such one in wifair.{base.__name__}"
            raise _error(f"nothing calls or reads `{name}` of {cls.__qualname__}", rest)


def imported(module: str, folder: str) -> object:
    """Import a module, which may lie in `folder`.

    Raises
    ------
    ScenarioError
        If it cannot be imported.
    """
    return _import(module, folder)


def _import(module: str, folder: str, *, again: bool = False) -> object:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        top = module.partition(".")[0]
        where = Path(folder).resolve()
        beside = (where / f"{top}.py").is_file() or (where / top / "__init__.py").is_file()
        if error.name != top or not beside or again:
            note = f"write the name of the module, `{module[:-3]}`" if module.endswith(".py") else ""
            raise _error(f"cannot import `{module}`: {error}", note) from error
        if str(where) not in sys.path:  # another thread may have added it since
            sys.path.append(str(where))
        importlib.invalidate_caches()
        return _import(module, folder, again=True)
    except (Exception, SystemExit) as error:
        raise _error(f"cannot import `{module}`: {type(error).__name__}: {error}") from error


def _error(message: str, note: str = "") -> ScenarioError:
    return ScenarioError(f"error: {message}{': ' + note if note else ''}\n")

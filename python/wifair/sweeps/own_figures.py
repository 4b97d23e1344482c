"""Figures of the user's own: functions that get the results of a run and return a number, kept beside it."""

from __future__ import annotations

import hashlib
import math
import pickle
import struct
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple

from wifair import _core
from wifair.exceptions import ScenarioError
from wifair.extensions import class_sources

if TYPE_CHECKING:
    from wifair.results.results import Results
    from wifair.scenario.scenario import Scenario

TABLE = "metrics"
"""The table of a store that has them."""
Metric = Callable[["Results"], float]


class Metrics(NamedTuple):
    """Functions by the names of their columns."""

    functions: dict[str, Metric]
    """Each gets the results of one run."""
    detail: str
    """Tells other functions of the same name apart: runs that have other ones are computed again."""

    def columns(self, scenario: Scenario, outcome: _core.Outcome, step_ns: int | None) -> list[_core.RawColumn]:
        """Compute the figures of a run, as the core gives its columns.

        Raises
        ------
        ValueError
            If a function fails, or returns no number; the message names it.
        """
        from wifair.results.results import Results  # noqa: PLC0415

        results = Results(scenario, [outcome], series_step_s=math.nan if step_ns is None else step_ns / 1e9)
        return [
            (
                name,
                f"{_reference(function)}, of this sweep.",
                ("<f8", struct.pack("<d", _value(name, function, results))),
            )
            for name, function in self.functions.items()
        ]

    def require_picklable(self) -> None:
        """Refuse functions that other processes could not find.

        Raises
        ------
        ValueError
            If there is one.
        """
        for name, function in self.functions.items():
            try:
                pickle.dumps(function)
            except Exception as error:
                raise ValueError(
                    f"metric `{name}` cannot be sent to other processes: {error}; put the function into a module"
                ) from None


def metrics_of(given: Mapping[str, Metric]) -> Metrics | None:
    """Check functions, and find out what tells them apart; None if there are none.

    Raises
    ------
    ValueError
        If a name cannot be that of a column, or is that of a figure that each run has.
    TypeError
        If something is no function.
    """
    for name, function in given.items():
        if not name.isidentifier():
            raise ValueError(f"metric `{name}`: write a name of letters, digits and _")
        if not callable(function):
            raise TypeError(f"metric `{name}` is no function, but {function!r}")
        if _is_figure(name):
            raise ValueError(f"metric `{name}`: each run has a figure of that name already")
    if not given:
        return None
    return Metrics(dict(given), ", ".join(f"{name} {_digest(function)}" for name, function in given.items()))


def metric_named(text: str, folder: str) -> tuple[str, Metric]:
    """Find the function that ``module:function`` or ``NAME=module:function`` names.

    Parameters
    ----------
    text : str
        Its name; that of the column is the function's own by default.
    folder : str
        Where its module may lie, besides where Python looks.

    Raises
    ------
    ValueError
        If there is none.
    """
    name, _, reference = text.rpartition("=")
    module, colon, path = reference.partition(":")
    if not colon or not module or not path:
        raise ValueError(f"`{text}` names no function: write module:function or NAME=module:function")
    place = str(Path(folder).resolve())
    if place not in sys.path:
        sys.path.append(place)
    from wifair.extensions.extending import imported  # noqa: PLC0415

    found: Any = imported(module, folder)
    for part in path.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise ValueError(f"module `{module}` has no function `{path}`")
    return name or path.rpartition(".")[2], found


def _is_figure(name: str) -> bool:
    """Whether each run has a figure of that name."""
    if name in ("seed", "scenario", "measured_s", "events"):
        return True
    try:
        return _core.stop_rule("metric", f"ci({name}) < 1")[1] == name
    except (ValueError, ScenarioError):
        return False


def _value(name: str, function: Metric, results: Results) -> float:
    from wifair.extensions.extending import line_of  # noqa: PLC0415

    try:
        value = function(results)
    except Exception as error:
        where = line_of(error.__traceback__.tb_next if error.__traceback__ else None)
        raise ValueError(f"metric `{name}` raised {type(error).__name__}: {error}{where}") from error
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"metric `{name}` returned {value!r}, which is no number") from None


def _reference(function: Metric) -> str:
    return f"{getattr(function, '__module__', '?')}:{getattr(function, '__qualname__', type(function).__name__)}"


def _digest(function: Metric) -> str:
    """Tell functions apart by the source of their module and what it imports, and by their own code and values."""
    reference = _reference(function)
    number = hashlib.sha256(reference.encode())
    code = getattr(function, "__code__", None)
    if code is not None:
        cells = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
        number.update(repr((_parts(code), cells, getattr(function, "__defaults__", None))).encode())
    if "<" not in reference and not reference.startswith("__main__:"):
        number.update(class_sources.digest([reference], ".").encode())
    return number.hexdigest()[:12]


def _parts(code: CodeType) -> tuple[object, ...]:
    """Give what a function does, without the place where it is written."""
    constants = tuple(_parts(one) if isinstance(one, CodeType) else one for one in code.co_consts)
    return code.co_code, code.co_names, constants

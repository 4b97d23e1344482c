"""The points of a sweep: scenarios that differ in what is varied, and the values that tell them apart."""

from __future__ import annotations

import csv
import io
import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from wifair import _core
from wifair._output.words import counted
from wifair.exceptions import ScenarioError
from wifair.scenario import toml
from wifair.scenario.scenario import Scenario
from wifair.sweeps.store import Label

Value = str | int | float | bool | list[object]
"""A value of a parameter."""
Dependent = Callable[[Mapping[str, "Label"]], Value]
"""Makes a value from those of the point."""
Axes = Mapping[Any, str | Iterable[Any] | Dependent]
"""What is varied; see `wifair.sweep`."""
Option = tuple[str, str]
"""The name of an option, which messages show, and its text."""

MOST_PROBLEMS = 10
"""The most messages that are shown."""
MOST_ALIKE = 1000
"""Points with mistakes that are counted; many points often have the same one."""


class Points:
    """The points of a sweep, in order. A point is created when it is requested, because there may be many.

    Attributes
    ----------
    hashes : list of str
        Hashes of the points' scenarios. Two points may have the same scenario.
    """

    def __init__(
        self,
        base: Scenario,
        axes: Iterable[Option] = (),
        listed: Iterable[Option] = (),
        dependent: Mapping[str, Dependent] | None = None,
    ) -> None:
        """Create the points of `base` given by `axes` and `listed` in the grammar of ``--vary``, and check all of them.

        `dependent` are functions of the other parameters, by path. Without axes and listed points, those of the file's
        ``[sweep]``.

        Raises
        ------
        ScenarioError
            If one cannot be run.
        """
        self.base = base
        self._plan = _core.plan(base._core, list(axes), list(listed))
        self._dependent = dict(dependent or {})
        self.hashes: list[str] = self._check()

    def __len__(self) -> int:
        return len(self._plan)

    @property
    def paths(self) -> list[str]:
        """The paths that are varied."""
        return [*self._plan.paths, *self._dependent]

    @property
    def drawn(self) -> bool:
        """Whether a parameter is drawn from a distribution; only then the number of samples is set."""
        return self.base._core.samples is not None

    def said_of_groups(self) -> list[str]:
        """Say of `stations.count` and the like that it sets each of several groups, if it does."""
        lists = tomllib.loads(self.base.resolved)
        said = []
        for path in self.paths:
            first, _, key = path.partition(".")
            names = [group["name"] for group in lists.get(first, [])] if key == "count" else []
            if len(names) > 1:
                every = f"{', '.join(names[:-1])} and {names[-1]}"
                said.append(f"`{path}` is the number in each group, {every}: `{first}.{names[0]}.count` sets one")
        return said

    def labels(self, index: int) -> dict[str, Label]:
        """Paths and values of a point."""
        labels = {path: label_of(text) for _, path, text in self._plan.point(index)}
        for path, function in self._dependent.items():
            labels[path] = _plain(function(labels), path)
        return labels

    def scenario(self, index: int) -> Scenario:
        """Make the scenario of a point."""
        changes = [(origin or "[sweep]", f"{path}={text}") for origin, path, text in self._plan.point(index)]
        if self._dependent:
            labels = self.labels(index)
            changes += [("vary", f"{path}={toml.value(labels[path], path)}") for path in self._dependent]
        return self.base._changed(changes)

    def _check(self) -> list[str]:
        hashes = []
        problems: dict[str, ScenarioError] = {}
        alike: Counter[str] = Counter()
        for index in range(len(self)):
            try:
                scenario = self.scenario(index)
                scenario._require_unchanged()
                hashes.append(scenario.hash)
            except ScenarioError as error:
                # A mistake is the same with another number.
                kind = re.sub(r"\b\d+\b", "#", " ".join(re.findall(r"(?m)^error: .*$", str(error))))
                problems.setdefault(kind, error)
                alike[kind] += 1
                if len(problems) == MOST_PROBLEMS or alike.total() == MOST_ALIKE:
                    break
        if problems:
            texts = [_said_once(error, alike[kind] - 1) for kind, error in problems.items()]
            parts = [problem for error in problems.values() for problem in error.problems]
            raise ScenarioError("\n".join(texts), tuple(parts))
        return hashes


def _said_once(error: ScenarioError, others: int) -> str:
    more = f"  = the same in {counted(others, 'other point')}\n" if others else ""
    return str(error).rstrip("\n") + "\n" + more


def options_of(vary: Axes | Iterable[str]) -> tuple[list[Option], dict[str, Dependent]]:
    """Convert the argument of `wifair.sweep` to the grammar of ``--vary`` and to functions by path."""
    if not isinstance(vary, Mapping):
        return [("vary", text) for text in vary], {}
    axes: list[Option] = []
    dependent: dict[str, Dependent] = {}
    for key, values in vary.items():
        if isinstance(key, str):
            if callable(values):
                dependent[key] = values
            elif isinstance(values, str):
                axes.append(("vary", f"{key} = {values}"))
            elif not isinstance(values, Iterable):
                raise TypeError(f"{values!r} of {key} is no list of values: write [{values!r}]")
            else:
                axes.append(("vary", f"{key} = {_list(values, key)}"))
            continue
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise TypeError(f"values of {key} go together: expected a list of tuples")
        rows = [list(row) for row in values]
        for row in rows:
            if len(row) != len(key):
                raise ValueError(f"{row} are not {len(key)} values, for {', '.join(key)}")
        columns = [_list([row[i] for row in rows], path) for i, path in enumerate(key)]
        axes.append(("vary", "; ".join(f"{path} = {column}" for path, column in zip(key, columns))))
    return axes, dependent


def listed_of(points: Iterable[Mapping[str, object]]) -> list[Option]:
    """Convert listed points to the grammar of ``--point``."""
    return [
        ("points", "; ".join(f"{path} = {toml.value(value, path)}" for path, value in point.items()))
        for point in points
    ]


def label_of(text: str) -> Label:
    """Read a value that is written as behind ``--set``: a number or a text."""
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    if text[:1] == '"' == text[-1:]:
        try:
            return str(json.loads(text))
        except ValueError:
            pass
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == "'" else text


def rows_of(text: str, name: str) -> Iterator[tuple[int, str]]:
    """Read points from CSV with paths in its header: the line of each, and the point in the grammar of ``--point``.

    An empty cell leaves a parameter as it is.
    """
    reader = csv.reader(io.StringIO(text), skipinitialspace=True)
    paths = [path.strip() for path in next(reader, [])]
    if not paths:
        raise ScenarioError(f"error: `{name}` is empty: its first line holds the paths\n")
    for row in reader:
        if not row:
            continue
        if len(row) != len(paths):
            raise ScenarioError(f"error: {len(row)} values for {len(paths)} paths\n --> {name}:{reader.line_num}\n")
        pairs = [(path, value.strip()) for path, value in zip(paths, row) if value.strip()]
        if pairs:
            yield reader.line_num, "; ".join(f"{path} = {value}" for path, value in pairs)


def _list(values: Iterable[object], path: str) -> str:
    texts = [toml.value(value, path) for value in values]
    if not texts:
        raise ValueError(f"there are no values of {path}")
    return ", ".join(texts)


def _plain(value: object, path: str) -> Label:
    if hasattr(value, "item"):  # numpy's scalars
        value = value.item()
    if isinstance(value, (str, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return toml.value(value, path)
    raise TypeError(f"{path} is a {type(value).__name__}: expected a string, number or bool")

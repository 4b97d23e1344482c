"""Results that were written into a folder, read again."""

from __future__ import annotations

import csv
import json
import math
import os
import tomllib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wifair import _core
from wifair._output.files import read_regular, require_regular
from wifair._output.report import text
from wifair._output.words import reason
from wifair.columns import Columns, plain_text
from wifair.exceptions import ResultsError, ScenarioError
from wifair.results._summary import Summary
from wifair.results.folder import PROVENANCE
from wifair.scenario.scenario import ApQueues, Scenario
from wifair.statistics import mean_interval

TABLES = ("flows", "cells", "stations", "sessions")
OVER_TIME = ("series", "queues")
LARGEST_TEXT = 100_000_000
"""The largest scenario or provenance [B]. Tables may have any size."""


class SavedResults:
    """Results read from a folder that `Results.save` or ``wifair run --out`` wrote, with the same tables.

    Attributes
    ----------
    scenario : namespace
        ``name``, ``hash``, ``duration_s``, ``warm_up_s``, ``summary``, ``text`` and ``resolved`` of what was run.
    seeds : tuple of int
        Seeds of the runs.
    version : str
        Version of wifair that ran them.
    flows, cells, stations, sessions : Columns
        As in `Results`.
    series, queues : Columns or None
        As in `Results`.
    """

    RUN = "seed"
    """The noun for what distinguishes runs of a scenario; imported measurements have repetitions."""

    def __init__(self, folder: Path) -> None:
        """`folder` holds them; see `read_results` for the errors."""
        provenance = _provenance(folder)
        try:
            self.version = str(provenance["version"])
            self.RUN = str(provenance.get("run", "seed"))
            self.seeds = tuple(int(seed) for seed in provenance["seeds"])
            about: dict[str, dict[str, str]] = provenance["columns"]
            scenario = provenance["scenario"]
            resolved = _text(folder / "resolved.toml")
            self.scenario = SimpleNamespace(
                name=str(scenario["name"]),
                hash=str(scenario["hash"]),
                duration_s=float(scenario["duration_s"]),
                warm_up_s=_warm_up_s(resolved),
                summary=scenario.get("summary") or f"{_standard(resolved)}{float(scenario['duration_s']):g} s",
                toml=_text(folder / "scenario.toml"),
                resolved=resolved,
                ap_queues=_ap_queues(resolved),
            )
            texts: dict[str, list[str]] = provenance.get("texts", {})  # missing in results of version 0.1
            tables = {
                name: _table(folder, name, about[name], texts.get(name))
                for name in (*TABLES, *OVER_TIME)
                if name in about or name in TABLES
            }
        except (AttributeError, KeyError, TypeError, ValueError, OSError) as error:
            raise ResultsError(f"`{folder}` is not complete, or was changed: {_why(error)}") from None
        self.flows, self.cells, self.stations, self.sessions = (tables[name] for name in TABLES)
        self.series, self.queues = tables.get("series"), tables.get("queues")

    @cached_property
    def summary(self) -> Summary:
        """Mean over the seeds and half width of the 95 % interval (Student t) of every figure of the cell."""
        return Summary({name: mean_interval(self.cells.to_list(name)) for name in self.cells if name != "seed"})

    def __repr__(self) -> str:
        return text(self)


def read_results(folder: str | os.PathLike[str]) -> SavedResults:
    """Read results that `Results.save` or ``wifair run --out`` wrote.

    Parameters
    ----------
    folder : str or path
        The folder.

    Returns
    -------
    SavedResults
        The tables as they were.

    Raises
    ------
    ResultsError
        If it holds no results, or only a part of them.
    ImportError
        If there are only Parquet files and pyarrow is not installed.
    """
    return SavedResults(Path(folder))


def _provenance(folder: Path) -> dict[str, Any]:
    path = folder / PROVENANCE
    try:
        found = json.loads(_text(path))
    except RecursionError:
        raise ResultsError(f"`{path}` is no JSON of ours: it nests too deeply") from None
    except OSError as error:
        if path.exists():
            raise ResultsError(f"cannot read `{path}`: {reason(error)}") from None
        if (folder / "runs.sqlite").exists():
            raise ResultsError(f"`{folder}` is the store of a sweep: read it with wifair.read_sweep") from None
        raise ResultsError(f"`{folder}` holds no results of `wifair run --out`: it has no {PROVENANCE}") from None
    except ValueError as error:
        raise ResultsError(f"`{path}` is no JSON: {error}") from None
    if not isinstance(found, dict) or "scenario" not in found:
        raise ResultsError(f"`{folder}` holds no results of `wifair run --out`")
    return found


def _text(path: Path) -> str:
    return read_regular(path, LARGEST_TEXT).decode("utf-8")


def _why(error: Exception) -> str:
    """Name the file that the system could not read."""
    return f"cannot read `{error.filename}`: {reason(error)}" if isinstance(error, OSError) else str(error)


def _standard(resolved: str) -> str:
    wlan = tomllib.loads(resolved).get("wlan")
    return f"{wlan['standard']}, " if wlan else ""


def _ap_queues(resolved: str) -> ApQueues | None:
    """Queues at the access point; None for what is no scenario of this version."""
    try:
        return Scenario.from_text(resolved).ap_queues
    except ScenarioError:
        return None


def _warm_up_s(resolved: str) -> float:
    try:
        return float(_core.time_of_run("warm_up", str(tomllib.loads(resolved).get("warm_up", "0 s")))) / 1e9
    except ValueError:  # a measurement's plan is JSON
        return math.nan


def _table(folder: Path, name: str, about: dict[str, str], texts: Sequence[str] | None) -> Columns:
    """Read a table, whose columns of text are `texts` if that is known."""
    path = folder / f"{name}.csv"
    if not path.exists():
        return _parquet(folder / f"{name}.parquet", about)
    require_regular(path)
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    head, body = (rows[0], rows[1:]) if rows else ([], [])
    if any(len(row) != len(head) for row in body):
        raise ValueError(f"{path.name} has rows of different length")
    body = [[plain_text(cell) for cell in row] for row in body]
    cells = list(zip(*body)) if body else [()] * len(head)
    columns = {
        key: np.array(values, dtype=np.str_) if key in (texts or ()) else _array(values)
        for key, values in zip(head, cells)
    }
    for key in about:
        if key not in columns:
            raise ValueError(f"{path.name} has no column {key}")
        if texts is not None and key not in texts and columns[key].dtype.kind == "U":
            raise ValueError(f"{path.name} has texts in column {key}")
    return Columns(columns, about)


def _parquet(path: Path, about: dict[str, str]) -> Columns:
    try:
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError:
        raise ImportError(f"reading `{path}` needs pyarrow: pip install 'wifair[parquet]'") from None
    require_regular(path)
    table = parquet.read_table(path)
    return Columns({key: _array_of(table[key].to_pylist()) for key in table.column_names}, about)


def _array_of(values: list[Any]) -> NDArray[Any]:
    return np.array(values, dtype=np.str_) if values and isinstance(values[0], str) else np.array(values)


def _array(values: tuple[str, ...]) -> NDArray[Any]:
    """Convert cells to integers, to floats (NaN for an empty cell) or to texts: the first that fits all."""
    if all(value.isdecimal() for value in values):
        return np.array([int(value) for value in values], dtype=np.uint64)
    try:
        return np.array([float(value or "nan") for value in values])
    except ValueError:
        return np.array(values, dtype=np.str_)

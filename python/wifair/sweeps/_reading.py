"""Rows of a store, as columns."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wifair.sweeps.schema import quoted
from wifair.sweeps.store import Label

CHUNK = 20_000
"""Rows that are in memory as Python objects at the same time."""

ABOUT = {
    "scenario": "SHA-256 of the scenario, without its seeds.",
    "seed": "Seed of the run.",
    "measured_s": "Measured time [s]: duration less warm-up.",
    "events": "Events taken.",
}


class Failure(NamedTuple):
    """A run that failed."""

    scenario: str
    """SHA-256 of its scenario."""
    seed: int
    """Its seed."""
    labels: Mapping[str, Label]
    """The labels of the request."""
    message: str
    """The reason."""


def chunks(
    db: sqlite3.Connection, query: str, values: Sequence[object], names: Sequence[str]
) -> Iterator[dict[str, NDArray[Any]]]:
    """Read the result of a query as columns, in parts; a column has the same type in all of them.

    Parameters
    ----------
    db : Connection
        Where from.
    query : str
        Its columns have the names `names`.
    values : sequence
        Of its parameters.
    names : sequence of str
        Which columns.

    Yields
    ------
    dict
        Columns by name: whole numbers, or numbers with NaN for NULL, or texts with nothing for NULL.
    """
    tests = ", ".join(
        f"max(typeof({quoted(name)}) = 'text'), max(typeof({quoted(name)}) <> 'integer')" for name in names
    )
    found = db.execute(f"SELECT {tests} FROM ({query})", values).fetchone()
    kinds = ["U" if found[2 * i] else "f" if found[2 * i + 1] else "i" for i in range(len(names))]
    cursor = db.execute(query, values)
    while rows := cursor.fetchmany(CHUNK):
        yield {name: _column(column, kind) for name, kind, column in zip(names, kinds, zip(*rows))}


def fetch(
    db: sqlite3.Connection, query: str, values: Sequence[object], names: Sequence[str]
) -> dict[str, NDArray[Any]]:
    """Read the whole result of a query as columns; see `chunks`."""
    parts = list(chunks(db, query, values, names))
    if not parts:
        return {name: np.empty(0) for name in names}
    return {name: np.concatenate([part[name] for part in parts]) for name in names}


def label_column(values: Sequence[Label]) -> NDArray[Any]:
    """Make an array of integers, of floats (NaN for None) or of texts (empty for None): the first that fits."""
    kinds = {type(value) for value in values}
    return _column(values, "i" if kinds <= {int} else "f" if kinds <= {int, float, type(None)} else "U")


def _column(values: Sequence[Any], kind: str) -> NDArray[Any]:
    match kind:
        case "i":
            return np.array(values, dtype=np.int64)
        case "f":
            return np.array(values, dtype=np.float64)
    return np.array(["" if value is None else _text(value) for value in values], dtype=np.str_)


def _text(value: Label) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)

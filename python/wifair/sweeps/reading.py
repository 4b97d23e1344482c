"""Results from a store, as columns."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wifair.columns import Columns
from wifair.sweeps.schema import quoted
from wifair.sweeps.store import Key, Label, Store
from wifair.sweeps.task import VERSION

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


class Runs:
    """Results of runs, in the order in which they were requested; read from the store on first use.

    Attributes
    ----------
    path : Path
        The store.
    wide : int
        Number of points whose interval is still too wide with the maximum number of seeds.
    """

    def __init__(
        self,
        path: Path,
        wanted: Iterable[tuple[Key, Mapping[str, Label]]],
        tables: Iterable[str],
        *,
        wide: int = 0,
    ) -> None:
        """See `compute`, which makes them."""
        self.path = path
        self.wide = wide
        self._wanted = list(wanted)
        self._tables = list(tables)
        self._read: dict[str, Columns] = {}

    @property
    def figures(self) -> Columns:
        """A row for each finished run: its labels, its ``scenario`` and ``seed``, and all figures of its cell."""
        return self.table("runs")

    @property
    def flows(self) -> Columns:
        """A row for each run and flow, which begins with labels, ``scenario`` and ``seed``."""
        return self.table("flows")

    @property
    def tables(self) -> dict[str, Columns]:
        """The tables that were kept, by name, each like `flows`."""
        return {name: self.table(name) for name in self._tables}

    def table(self, name: str) -> Columns:
        """Read a table: ``runs``, or one that was kept.

        Raises
        ------
        KeyError
            If it was not kept.
        """
        if name not in ("runs", *self._tables):
            raise KeyError(f"table {name!r} was not kept: there are {', '.join(['runs', *self._tables])}")
        if name not in self._read:
            with self._joined(name) as (store, joined):
                self._read[name] = self._select(store, joined, name)
        return self._read[name]

    @cached_property
    def failures(self) -> list[Failure]:
        """The runs that failed."""
        with self._joined() as (store, joined):
            query = f"SELECT w.place, r.message {joined} 'failed' ORDER BY w.place"
            rows = store._db.execute(query, (VERSION,)).fetchall()
        failures = []
        for place, message in rows:
            key, labels = self._wanted[place]
            failures.append(Failure(key.scenario, key.seed, labels, message))
        return failures

    def load(self) -> None:
        """Read everything now, so that the store is no longer needed."""
        for name in ("runs", *self._tables):
            self.table(name)
        self.failures  # noqa: B018 (reads and keeps them)

    @contextmanager
    def _joined(self, *tables: str) -> Iterator[tuple[Store, str]]:
        """Open the store with a temporary table of the requested runs; yield it, and the start of queries on both."""
        with Store(self.path, create=False) as store, store.reading():
            store.verify(tables)
            db = store._db
            db.execute("CREATE TEMP TABLE wanted (place INTEGER PRIMARY KEY, scenario TEXT, seed INTEGER)")
            db.execute("BEGIN")
            rows = ((place, *key) for place, (key, _) in enumerate(self._wanted))
            db.executemany("INSERT INTO wanted VALUES (?, ?, ?)", rows)
            yield (
                store,
                "FROM wanted w JOIN runs r ON r.scenario = w.scenario AND r.seed = w.seed AND r.version = ? "
                "AND r.status =",
            )
            db.execute("ROLLBACK")

    def _select(self, store: Store, joined: str, table: str) -> Columns:
        if table == "runs":
            names = [*ABOUT, *store.figures()]
            selected = [f"r.{quoted(name)}" for name in names]
            rest = f"{joined} 'done' ORDER BY w.place"
        else:
            own = [name for name in store.columns(table) if name != "run"]
            if not own:
                return Columns({})
            names = ["scenario", "seed", *own]
            selected = ["r.scenario", "r.seed", *(f"t.{quoted(name)}" for name in own)]
            rest = f"{joined} 'done' JOIN {quoted(table)} t ON t.run = r.run ORDER BY w.place, t.rowid"
        place = "\n"  # no label has this name
        columns = ", ".join(f"{part} AS {quoted(name)}" for part, name in zip(selected, names))
        query = f"SELECT w.place AS {quoted(place)}, {columns} {rest}"
        rows = fetch(store._db, query, (VERSION,), [place, *names])
        places = rows.pop(place).astype(np.int64)
        about = {**ABOUT, **store.meanings(table)}
        front = {name: column[places] for name, column in self._labels().items() if name not in rows}
        return Columns({**front, **rows}, about)

    def _labels(self) -> dict[str, NDArray[Any]]:
        names = dict.fromkeys(name for _, labels in self._wanted for name in labels)
        return {name: label_column([labels.get(name) for _, labels in self._wanted]) for name in names}

    def __repr__(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"<Runs: {self.figures.rows} finished{failed}>\n{self.figures!r}"

    def _repr_html_(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"<b>{self.figures.rows} runs{failed}</b>{self.figures._repr_html_()}"


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

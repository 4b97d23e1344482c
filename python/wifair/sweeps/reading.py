"""Results out of a store, as columns."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wifair.columns import Columns
from wifair.sweeps.schema import quoted
from wifair.sweeps.store import Key, Label, Store
from wifair.sweeps.task import VERSION

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["Failure", "Runs", "fetch", "label_column"]

CHUNK = 20_000
"""Rows that are Python objects at the same time."""

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
    """What was asked for."""
    message: str
    """Why."""


class Runs:
    """Results of runs, in the order in which they were asked for.

    Attributes
    ----------
    figures : Columns
        A row for each finished run: its labels, its ``scenario`` and ``seed``, and all figures of its cell.
    tables : dict of str to Columns
        The other tables that were kept, each with labels, ``scenario`` and ``seed`` in front: ``tables["flows"]`` has
        a row for each run and flow.
    failures : list of Failure
        The runs that failed.
    """

    def __init__(self, figures: Columns, tables: Mapping[str, Columns], failures: Sequence[Failure]) -> None:
        """See `compute`, which makes them."""
        self.figures = figures
        self.tables = dict(tables)
        self.failures = list(failures)

    @property
    def flows(self) -> Columns:
        """A row for each run and flow."""
        return self.tables["flows"]

    @classmethod
    def of(cls, store: Store, wanted: Sequence[tuple[Key, Mapping[str, Label]]], tables: Iterable[str]) -> Runs:
        """Read the runs `wanted` from a store."""
        db = store._db
        names = list(dict.fromkeys(name for _, labels in wanted for name in labels))
        labels = {name: label_column([of.get(name) for _, of in wanted]) for name in names}
        db.execute("CREATE TEMP TABLE IF NOT EXISTS wanted (place INTEGER PRIMARY KEY, scenario TEXT, seed INTEGER)")
        db.execute("BEGIN")
        try:
            db.execute("DELETE FROM wanted")
            db.executemany("INSERT INTO wanted VALUES (?, ?, ?)", ((i, *key) for i, (key, _) in enumerate(wanted)))
            joined = (
                "FROM wanted w JOIN runs r ON r.scenario = w.scenario AND r.seed = w.seed AND r.version = ? "
                "AND r.status = "
            )
            figures = _select(
                db,
                labels,
                [*(f"r.{name}" for name in ABOUT), *(f"r.{quoted(name)}" for name in store.figures())],
                [*ABOUT, *store.figures()],
                f"{joined} 'done' ORDER BY w.place",
                {**ABOUT, **store.meanings("runs")},
            )
            read = {}
            for table in tables:
                columns = [name for name in store.columns(table) if name != "run"]
                if columns:
                    read[table] = _select(
                        db,
                        labels,
                        ["r.scenario", "r.seed", *(f"t.{quoted(name)}" for name in columns)],
                        ["scenario", "seed", *columns],
                        f"{joined} 'done' JOIN {quoted(table)} t ON t.run = r.run ORDER BY w.place, t.rowid",
                        {**ABOUT, **store.meanings(table)},
                    )
                else:
                    read[table] = Columns({})
            failed = db.execute(f"SELECT w.place, r.message {joined} 'failed' ORDER BY w.place", (VERSION,)).fetchall()
        finally:
            db.execute("ROLLBACK")
        failures = []
        for place, message in failed:
            key, of = wanted[place]
            failures.append(Failure(key.scenario, key.seed, of, message))
        return cls(figures, read, failures)

    def __repr__(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"<Runs: {self.figures.rows} finished{failed}>\n{self.figures!r}"

    def _repr_html_(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"<b>{self.figures.rows} runs{html.escape(failed)}</b>{self.figures._repr_html_()}"


def fetch(cursor: sqlite3.Cursor, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """All rows of a query as columns, few of them as Python objects at the same time."""
    parts: list[list[NDArray[Any]]] = [[] for _ in names]
    while rows := cursor.fetchmany(CHUNK):
        for part, column in zip(parts, zip(*rows)):
            part.append(label_column(column))
    return {name: _joined(part) for name, part in zip(names, parts)}


def label_column(values: Sequence[Label]) -> NDArray[Any]:
    """Values as an array of whole numbers, else of numbers (NaN for None), else of texts (empty for None)."""
    kinds = {type(value) for value in values}
    if kinds <= {int}:
        return np.array(values, dtype=np.int64)
    if kinds <= {int, float, type(None)}:
        return np.array(values, dtype=np.float64)
    return np.array(["" if value is None else _text(value) for value in values], dtype=np.str_)


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    if not parts:
        return np.empty(0)
    if len({part.dtype.kind == "U" for part in parts}) > 1:
        # Nothing but NULL in one part, or numbers among texts.
        texts = [part if part.dtype.kind == "U" else _texts(part) for part in parts]
        return np.concatenate(texts)
    return np.concatenate(parts)


def _texts(numbers: NDArray[Any]) -> NDArray[np.str_]:
    return np.array(["" if math.isnan(value) else _text(value) for value in numbers.tolist()], dtype=np.str_)


def _text(value: Label) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)


def _select(
    db: sqlite3.Connection,
    labels: Mapping[str, NDArray[Any]],
    selected: Sequence[str],
    names: Sequence[str],
    rest: str,
    about: Mapping[str, str],
) -> Columns:
    rows = fetch(db.execute(f"SELECT w.place, {', '.join(selected)} {rest}", (VERSION,)), ["", *names])
    places = rows.pop("").astype(np.int64)
    front = {name: column[places] for name, column in labels.items() if name not in rows}
    return Columns({**front, **rows}, about)

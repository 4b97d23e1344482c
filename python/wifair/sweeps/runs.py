"""The results of requested runs, read from a store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wifair._output.streams import escape
from wifair.columns import Columns
from wifair.sweeps._reading import ABOUT, Failure, fetch, label_column
from wifair.sweeps._task import VERSION
from wifair.sweeps.own_figures import TABLE
from wifair.sweeps.schema import quoted
from wifair.sweeps.store import Key, Label, Store
from wifair.sweeps.summarising import shown, summary_of


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
        return {name: self.table(name) for name in self._tables if name != TABLE}

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
            rest = f"{joined} 'done'"
            if TABLE in self._tables and store.columns(TABLE):
                own = [name for name in store.columns(TABLE) if name != "run"]
                names += own
                selected += [f"m.{quoted(name)}" for name in own]
                rest += f" LEFT JOIN {TABLE} m ON m.run = r.run"
            rest += " ORDER BY w.place"
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
        about = {**ABOUT, **store.meanings(TABLE), **store.meanings(table)}
        front = {name: column[places] for name, column in self._labels().items() if name not in rows}
        return Columns({**front, **rows}, about)

    def _labels(self) -> dict[str, NDArray[Any]]:
        names = dict.fromkeys(name for _, labels in self._wanted for name in labels)
        return {name: label_column([labels.get(name) for _, labels in self._wanted]) for name in names}

    def summary(
        self, by: str | Sequence[str] | None = None, figures: str | Sequence[str] | None = None, *, table: str = "runs"
    ) -> Columns:
        """Average figures over the seeds, with 95 % intervals; see `SavedSweep.summary`.

        Parameters
        ----------
        by, figures : str or sequence of str, optional
            What tells the rows apart, and what to average.
        table : str, default "runs"
            Where the figures are.

        Returns
        -------
        Columns
            The columns `by`, ``seeds``, and mean and interval of each figure.

        Raises
        ------
        ValueError
            If a name is unknown or could be several.
        KeyError
            If the table was not kept.
        """
        return summary_of(self.table(table), list(self._labels()), by, figures)

    def __repr__(self) -> str:
        return shown(self.path, self.figures, list(self._labels()), len(self.failures))

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"

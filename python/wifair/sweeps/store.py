"""Runs on disk: finished runs are never computed twice, and survive the end of the process by any cause."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import time
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from wifair import _core
from wifair.columns import plain_values
from wifair.exceptions import StoppedError, StoreError
from wifair.scenario.scenario import Scenario
from wifair.sweeps import _foreign as foreign
from wifair.sweeps import checksums, schema
from wifair.sweeps._task import VERSION, Computed
from wifair.sweeps.schema import insert, listed, quoted

DEAD_AFTER_S = 15.0
"""A process without a heartbeat for so long is taken for dead, and others may take its runs."""

_OPEN: set[str] = set()
"""Owners (one for each open store) of this process."""

OF_RUN = "scenario = ? AND seed = ? AND version = ?"
"""Which run a row is of, in SQL."""

MOST_SEED = (1 << 63) - 1
"""The largest integer of SQLite."""

Label = str | int | float | bool | None
"""The value of a label; see `Store`."""


class Key(NamedTuple):
    """Identifies a run among those of a version."""

    scenario: str
    """SHA-256 of the scenario."""
    seed: int
    """Seed."""


class Kept(NamedTuple):
    """A table of each run that is kept besides the figures of the cell."""

    name: str
    """Its name: ``flows``, ``stations``, ``sessions``, ``series`` or ``queues``."""
    detail: str = ""
    """The time between samples; a table with another one is another table."""


class Store:
    """A folder with the results of runs: an SQLite database, readable by anything that reads SQLite.

    Its table ``runs`` has a row for each run, ``points`` one for each combination of parameters that was asked for
    (labels: paths and values, or any names), and its view ``results`` joins them. Several processes of one machine may
    compute into one store at the same time: they divide the runs between them.

    A store belongs to the thread that opened it. Close it, or use it in a ``with``.

    Attributes
    ----------
    path : Path
        The folder.
    """

    def __init__(self, path: str | os.PathLike[str], *, create: bool = True) -> None:
        """Open the store in folder `path`, which is created if `create`.

        One that cannot be written is opened for reading only.

        Raises
        ------
        StoreError
            If the folder holds no store, a store in another format, or something else.
        """
        self.path = Path(path)
        self._db = schema.connect(self.path, create=create)
        self._verified: set[str] = set()
        self._owner = uuid.uuid4().hex
        _OPEN.add(self._owner)
        self._host = socket.gethostname()
        self._seen = 0.0
        self._columns: dict[str, set[str]] = {}

    def close(self) -> None:
        """Close it."""
        _OPEN.discard(self._owner)
        with suppress(sqlite3.Error, StoppedError, StoreError):
            self.release()
        with suppress(sqlite3.Error):
            self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Store {str(self.path)!r}: {self.count()} runs>"

    def count(self, status: str = "done") -> int:
        """Count the runs of this version.

        Parameters
        ----------
        status : {"done", "failed"}
            Those that finished, or failed.

        Returns
        -------
        int
            Their number.
        """
        query = "SELECT count(*) FROM runs WHERE version = ? AND status = ?"
        return int(self._select(query, (VERSION, status))[0][0])

    def versions(self) -> dict[str, int]:
        """Count the finished runs of each version, the latest last."""
        query = "SELECT version, count(*) FROM runs WHERE status = 'done' GROUP BY version ORDER BY max(finished)"
        self.verify()
        return dict(self._select(query))

    def verify(self, tables: Sequence[str] = ()) -> None:
        """Compare points, runs and `tables` with their checksums, once.

        Raises
        ------
        StoreError
            If something is not as it was written; the message names runs.
        """
        missing = [table for table in dict.fromkeys(("runs", *tables)) if table not in self._verified]
        if not missing:
            return
        with self.reading():
            kept = [name for name in missing if name != "runs" and self.columns(name)]
            found = checksums.examine(self._db, kept, texts=False)
        if found.damage:
            raise checksums.damaged(self.path, *found.damage)
        self._verified |= {*missing}

    def reading(self) -> AbstractContextManager[None]:
        """Convert errors of the database, such as those of damage, to `StoreError`."""
        return checksums.guarded(self.path)

    def _select(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with self.reading():
            return self._db.execute(query, values).fetchall()

    # Requests

    def add_points(self, points: Iterable[tuple[str, Mapping[str, Label]]]) -> None:
        """Record requested points: hashes of scenarios with the labels under which results show them.

        Known points keep their place; new ones are appended in order.
        """
        with self._change():
            for scenario, labels in points:
                own = sorted(name for name in labels if name.lower() in schema.fixed_of("points"))
                if own:
                    raise ValueError(f"label `{own[0]}` is a column of the store: choose another name")
                if any("\0" in name for name in labels):
                    raise ValueError("the name of a label has a null character: choose another name")
                text = json.dumps(dict(sorted(labels.items())), ensure_ascii=False)
                known = self._db.execute(
                    "INSERT OR IGNORE INTO points (scenario, labels) VALUES (?, ?)", (scenario, text)
                )
                if known.rowcount and labels:
                    self._fit("points", {name: _kind(value) for name, value in labels.items()})
                    names = ", ".join(f"{quoted(name)} = ?" for name in labels)
                    values = [_label(value) for value in labels.values()]
                    self._db.execute(f"UPDATE points SET {names} WHERE point = ?", [*values, known.lastrowid])
                if known.rowcount and known.lastrowid is not None:
                    checksums.seal_point(self._db, known.lastrowid)

    def labels(self) -> list[str]:
        """List the names of all labels, in the order in which they came."""
        with self.reading():
            return schema.labels_of(self._db)

    def figures(self) -> list[str]:
        """List the figures that each run has."""
        with self.reading():
            return schema.figures_of(self._db)

    def tables(self) -> list[str]:
        """List ``"runs"`` and the tables that were kept of any run."""
        names = self._select("SELECT DISTINCT name FROM kept ORDER BY name")
        return ["runs", *(name for (name,) in names if schema.is_kept(name))]

    def columns(self, table: str) -> list[str]:
        """List the columns of a table.

        Parameters
        ----------
        table : str
            ``"runs"``, ``"points"``, or a table that was kept, as `Kept` names it.

        Returns
        -------
        list of str
            Names in the order of the database; empty if there is no such table.
        """
        with self.reading():
            return list(schema.kinds_of(self._db, table))

    def meanings(self, table: str) -> dict[str, str]:
        """Say what the columns of a table mean.

        Parameters
        ----------
        table : str
            As in `columns`.

        Returns
        -------
        dict of str to str
            A sentence with the unit for each column that has one; empty if there is no such table.
        """
        rows = self._select("SELECT name, meaning, checksum FROM meanings WHERE source = ?", (table,))
        for name, meaning, checksum in rows:
            if checksums.digest(checksums.MEANING, (table, name, meaning)) != checksum:
                raise checksums.damaged(self.path, f"what {name} of {table} means")
        return {name: meaning for name, meaning, _ in rows}

    def wall_s(self, scenario: str) -> float | None:
        """Return the mean time that finished runs of a scenario took with this version of wifair.

        Parameters
        ----------
        scenario : str
            `Scenario.hash`.

        Returns
        -------
        float or None
            Wall-clock time of a run [s]; None if none has finished.
        """
        query = "SELECT avg(wall_s) FROM runs WHERE scenario = ? AND version = ? AND status = 'done'"
        ((mean,),) = self._select(query, (scenario, VERSION))
        return None if mean is None else float(mean)

    def failures(self, version: str | None = None) -> list[tuple[str, int, dict[str, Label], str]]:
        """List the runs that failed.

        Parameters
        ----------
        version : str, optional
            Only those of this version of wifair.

        Returns
        -------
        list of tuple
            Hash of the scenario, seed, labels of the point, and message; a run of several points comes with each.
        """
        query = (
            "SELECT r.scenario, r.seed, p.labels, r.message FROM runs r LEFT JOIN points p ON p.scenario = r.scenario "
            "WHERE r.status = 'failed' AND (? IS NULL OR r.version = ?) ORDER BY p.point, r.seed"
        )
        self.verify()
        rows = self._select(query, (version, version))
        try:
            return [(scenario, seed, json.loads(labels or "{}"), message) for scenario, seed, labels, message in rows]
        except (ValueError, TypeError, RecursionError):
            raise checksums.damaged(self.path, "the labels of a failed run") from None

    def values(self, scenario: str, figures: Sequence[str]) -> list[tuple[Any, ...]]:
        """Read figures of the finished runs of a scenario.

        Parameters
        ----------
        scenario : str
            Its hash.
        figures : sequence of str
            Columns of the table of runs.

        Returns
        -------
        list of tuple
            Seed and figures of each run, by seed; None for NaN. Empty if there is no run or no such figure.
        """
        if not set(figures) <= set(self.columns("runs")):
            return []  # no run has finished yet
        names = listed(["seed", *figures])
        query = f"SELECT {names} FROM runs WHERE scenario = ? AND version = ? AND status = 'done' ORDER BY seed"
        return self._select(query, (scenario, VERSION))

    # Claims of processes

    def done(self, kept: Sequence[Kept] = ()) -> set[Key]:
        """List the runs that have finished, by this version of wifair.

        Parameters
        ----------
        kept : sequence of Kept, optional
            Tables that must have been kept of a run for it to count, each with its detail (the step of a series).

        Returns
        -------
        set of Key
            ``scenario`` (its hash) and ``seed`` of each.
        """
        self.verify([name for name, _ in kept])
        query, values = _finished(kept)
        return {Key(*row) for row in self._select(f"SELECT scenario, seed {query}", values)}

    def claim(
        self, keys: Sequence[Key], scenario: Callable[[Key], Scenario], kept: Sequence[Kept] = ()
    ) -> tuple[list[Key], list[Key], list[Key]]:
        """Claim runs for this process.

        Parameters
        ----------
        keys : sequence of Key
            Which.
        scenario : callable
            Makes the scenario of a run, if the store does not know it.
        kept : sequence of Kept
            Tables that a finished run must have.

        Returns
        -------
        tuple of three lists of Key
            Those that are this process's now, those that have finished, and those that another process computes.
        """
        mine: list[Key] = []
        done: list[Key] = []
        busy: list[Key] = []
        query, values = _finished(kept)
        finished = f"SELECT 1 {query} AND scenario = ? AND seed = ?"
        with self._change():
            self._see()
            alive = self._alive()
            for key in keys:
                if self._db.execute(finished, [*values, *key]).fetchone():
                    done.append(key)
                    continue
                of = (*key, VERSION)
                holder = self._db.execute(f"SELECT owner FROM claims WHERE {OF_RUN}", of).fetchone()
                if holder and holder[0] != self._owner and holder[0] in alive:
                    busy.append(key)
                    continue
                self._db.execute("INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?)", (*of, self._owner))
                self._describe(key, scenario)
                mine.append(key)
        return mine, done, busy

    def heartbeat(self) -> None:
        """Record that this process is alive, if the last time was a while ago."""
        if time.monotonic() - self._seen > DEAD_AFTER_S / 6:
            with self._change():
                self._see()

    def release(self) -> None:
        """Release the claims of this process."""
        if self._seen:
            with self._change():
                self._forget(self._owner)
            self._seen = 0.0

    def _forget(self, owner: str) -> None:
        for table in ("claims", "owners"):
            self._db.execute(f"DELETE FROM {table} WHERE owner = ?", (owner,))

    def _see(self) -> None:
        row = (self._owner, self._host, os.getpid(), time.time())
        self._db.execute("INSERT OR REPLACE INTO owners VALUES (?, ?, ?, ?)", row)
        self._seen = time.monotonic()

    def _alive(self) -> set[str]:
        """Find the owners that are alive; delete the others with their claims."""
        alive = set()
        for owner, host, pid, seen in self._db.execute("SELECT owner, host, pid, seen FROM owners").fetchall():
            here = host == self._host
            # A closed one is still there if the disk was full.
            closed = here and pid == os.getpid() and owner not in _OPEN
            gone = closed or abs(time.time() - seen) > DEAD_AFTER_S or (here and not _runs(pid))
            if gone and owner != self._owner:
                self._forget(owner)
            else:
                alive.add(owner)
        return alive

    def _describe(self, key: Key, scenario: Callable[[Key], Scenario]) -> None:
        if self._db.execute("SELECT 1 FROM scenarios WHERE scenario = ?", (key.scenario,)).fetchone():
            return
        known = scenario(key)
        row = (key.scenario, known.name, zlib.compress(known.resolved.encode()))
        checksum = checksums.digest(checksums.SCENARIO, row)
        self._db.execute("INSERT OR REPLACE INTO scenarios VALUES (?, ?, ?, ?)", (*row, checksum))

    def scenario_text(self, scenario: str) -> str:
        """Return the scenario whose hash begins with `scenario`, as TOML with all defaults filled in.

        Raises
        ------
        StoreError
            If there is none, or more than one.
        """
        query = "SELECT scenario, name, toml, checksum FROM scenarios WHERE substr(scenario, 1, ?) = ? LIMIT 2"
        rows = self._select(query, (len(scenario), scenario.lower()))
        if len(rows) != 1:
            what = "several scenarios whose hash begins" if rows else "no scenario whose hash begins"
            raise StoreError(f"`{self.path}` has {what} with `{scenario}`")
        *row, checksum = rows[0]
        if checksums.digest(checksums.SCENARIO, row) != checksum:
            raise checksums.damaged(self.path, f"the text of scenario {row[0]}")
        text = foreign.unpacked(row[2])
        if text is None:
            raise checksums.damaged(self.path, f"the text of scenario {row[0]}")
        return text

    # Results

    def record(self, results: Iterable[tuple[Key, Computed]], kept: Sequence[Kept] = ()) -> None:
        """Write runs that finished or failed; they are safe when this returns.

        Raises
        ------
        StoppedError
            If it cannot be written; nothing of `results` is then there.
        """
        with self._change():
            for key, computed in results:
                self._record(key, computed, kept)
                of = (*key, VERSION, self._owner)
                self._db.execute(f"DELETE FROM claims WHERE {OF_RUN} AND owner = ?", of)

    def _record(self, key: Key, computed: Computed, kept: Sequence[Kept]) -> None:
        of = (*key, VERSION)
        old = self._db.execute(f"SELECT run, status FROM runs WHERE {OF_RUN}", of).fetchone()
        outcome = computed.outcome
        if old and (outcome is None or old[1] == "done"):
            run: int = old[0]  # it has failed again, or more of its tables are requested
        else:
            if old:
                checksums.unseal_run(self._db, old[0])
                self._db.execute("DELETE FROM runs WHERE run = ?", old[:1])
            row: dict[str, object] = {
                "scenario": key.scenario,
                "seed": key.seed,
                "version": VERSION,
                "status": "failed" if outcome is None else "done",
                "message": computed.message,
                "finished": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "host": computed.host,
                "wall_s": computed.wall_s,
            }
            if outcome is not None:
                row |= {"measured_s": outcome["measured_s"], "events": outcome["events"]}
                names, rows = self._columns_of("runs", outcome["cell"])
                row |= dict(zip(names, next(rows)))
            run = self._db.execute(insert("runs", list(row)), list(row.values())).lastrowid or 0
        if outcome is not None:
            for name, detail in kept:
                self._db.execute("DELETE FROM kept WHERE run = ? AND name = ?", (run, name))
                self._keep(run, name, outcome[name] or [])  # type: ignore[literal-required]
                self._db.execute("INSERT INTO kept (run, name, detail) VALUES (?, ?, ?)", (run, name, detail))
        checksums.seal_run(self._db, run, [name for name, _ in kept] if outcome is not None else [])

    def _keep(self, run: int, table: str, columns: list[_core.RawColumn]) -> None:
        schema.create_kept(self._db, table)
        self._db.execute(f"DELETE FROM {quoted(table)} WHERE run = ?", (run,))
        names, rows = self._columns_of(table, columns)
        if names:
            self._db.executemany(insert(table, ["run", *names]), ((run, *row) for row in rows))

    def _columns_of(self, table: str, columns: list[_core.RawColumn]) -> tuple[list[str], Iterator[tuple[object, ...]]]:
        """Convert columns of the core to names and rows, and add missing columns to the table."""
        kinds = {name: _raw_kind(data) for name, _, data in columns}
        self._fit(table, kinds, {name: meaning for name, meaning, _ in columns})
        # SQLite stores NaN as NULL.
        return list(kinds), zip(*(plain_values(data) for _, _, data in columns))

    def _fit(self, table: str, kinds: Mapping[str, str], meanings: Mapping[str, str] | None = None) -> None:
        """Add the columns that a table does not have yet."""
        if kinds.keys() <= self._columns.get(table, set()):
            return
        schema.add_columns(self._db, table, kinds)
        rows = [(table, name, meaning) for name, meaning in (meanings or {}).items()]
        sealed = [(*row, checksums.digest(checksums.MEANING, row)) for row in rows]
        self._db.executemany("INSERT OR REPLACE INTO meanings VALUES (?, ?, ?, ?)", sealed)
        self._columns[table] = set(self.columns(table))
        if table in ("runs", "points"):
            schema.make_view(self._db)

    @contextmanager
    def _change(self) -> Iterator[None]:
        """Run the body as a transaction."""
        try:
            with schema.transaction(self._db, "IMMEDIATE"):
                yield
        except BaseException as error:
            self._columns.clear()  # the transaction may have added columns
            if not isinstance(error, sqlite3.Error):
                raise
            if schema.code_of(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                raise checksums.damaged(self.path, str(error)) from error
            trouble = schema.trouble(error)
            raise StoppedError(f"cannot write `{self.path}`: {trouble}; all runs that it holds are safe") from error


def values_of(columns: list[_core.RawColumn]) -> dict[str, Any]:
    """Read the first row of a table of the core."""
    return {name: plain_values(data)[0] for name, _, data in columns}


def _finished(kept: Sequence[Kept]) -> tuple[str, list[object]]:
    """Return the end of a query for finished runs with these tables, and its values."""
    query = "FROM runs WHERE version = ? AND status = 'done'"
    values: list[object] = [VERSION]
    for name, detail in kept:
        query += " AND EXISTS (SELECT 1 FROM kept WHERE kept.run = runs.run AND name = ? AND detail = ?)"
        values += [name, detail]
    return query, values


def _runs(pid: int) -> bool:
    if os.name == "nt":
        return True  # signal 0 would be Ctrl-C there: wait for DEAD_AFTER_S
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _raw_kind(data: _core.RawData) -> str:
    if isinstance(data, list):
        return "TEXT"
    return "REAL" if data[0] == "<f8" else "INTEGER"


def _kind(value: Label) -> str:
    match value:
        case bool() | str() | None:
            return "TEXT"
        case int():
            return "INTEGER"
        case _:
            return "REAL"


def _label(value: Label) -> Label:
    return ("true" if value else "false") if isinstance(value, bool) else value

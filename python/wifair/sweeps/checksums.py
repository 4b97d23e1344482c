"""Checksums of the contents of a store, so that damage is an error and never a wrong figure.

Every row has a CRC-32 of its columns: names and values in the order of the names, without NULL, in Python's `marshal`
format of version 2. The checksum of a run covers its key, its figures, and number and checksum of the rows of each
table that was kept of it. The table ``sums`` has the number of all rows and the sum of their checksums, so that a row
that is gone is missed. Indices are compared with their tables by SQLite's own ``integrity_check``.
"""

from __future__ import annotations

import marshal
import sqlite3
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from wifair._output.words import counted
from wifair.exceptions import StoreError
from wifair.sweeps._foreign import too_much
from wifair.sweeps.schema import code_of, fixed_of, has_own_view, is_kept, kinds_of, listed, quoted, transaction

MOST_NAMED = 5
"""The most damaged runs that a message names."""
CHUNK = 2_000
"""Rows that are in memory as Python objects at the same time."""
MOST_HOLES = 2_000
"""After this many unreadable places the rest of a table is not read."""
SMALLEST_ROW = 4
"""Bytes that any row takes at least."""
FEWEST_READ = 100_000
"""Rows that may be read of a file of any size."""
CIRCLE = "its rows lead in a circle"

SCENARIO = ("scenario", "name", "toml")
MEANING = ("source", "name", "meaning")
"""Columns of tables whose rows never change."""
UNSEALED = ("run", "point", "checksum")
"""Columns that are not part of a checksum."""

UNREADABLE = (sqlite3.DatabaseError, UnicodeDecodeError, OverflowError)


class Examined(NamedTuple):
    """The result of an examination of a store."""

    runs: int
    """Number of undamaged runs."""
    points: int
    """Number of undamaged points."""
    damage: list[str]
    """A description of each damaged run, point and table."""


def digest(names: Sequence[str], values: Sequence[Any], start: int = 0) -> int:
    """Compute the checksum of a row; `names` are the columns in alphabetical order, and NULL is left out."""
    known: list[Any] = []
    for name, value in zip(names, values):
        if value is not None:
            known += (name, value)
    return crc32(marshal.dumps(known, 2), start)


def sealed_kinds(db: sqlite3.Connection, table: str) -> dict[str, str]:
    """List the columns of a table that a checksum covers, each with its type."""
    return {name: kind for name, kind in kinds_of(db, table).items() if name not in UNSEALED}


def columns_of(db: sqlite3.Connection, table: str) -> list[str]:
    """List the same columns in the order in which a checksum takes them."""
    return sorted(sealed_kinds(db, table), key=str.lower)


def seal_run(db: sqlite3.Connection, run: int, tables: Sequence[str]) -> None:
    """Write the checksums of a run and of its rows in `tables`, which were written just now."""
    for table in tables:
        names = columns_of(db, table)
        rows = total = 0
        if names:
            query = f"SELECT {listed(names)} FROM {quoted(table)} WHERE run = ? ORDER BY rowid"
            for row in db.execute(query, (run,)):
                rows, total = rows + 1, digest(names, row, total)
        db.execute("UPDATE kept SET rows = ?, checksum = ? WHERE run = ? AND name = ?", (rows, total, run, table))
    kept = db.execute("SELECT name, detail, rows, checksum FROM kept WHERE run = ? ORDER BY name", (run,)).fetchall()
    _seal(db, "runs", "run", run, lambda names, values: _of_run(names, values, kept))


def unseal_run(db: sqlite3.Connection, run: int) -> None:
    """Subtract a run from the sums before it is deleted."""
    (before,) = db.execute("SELECT checksum FROM runs WHERE run = ?", (run,)).fetchone()
    _add(db, "runs", -1, -before)


def seal_point(db: sqlite3.Connection, point: int) -> None:
    """Write the checksum of a point."""
    _seal(db, "points", "point", point, digest)


def _seal(
    db: sqlite3.Connection, table: str, key: str, number: int, of: Callable[[Sequence[str], Sequence[Any]], int]
) -> None:
    """Write the checksum that `of` computes from names and values of a row, and add it to the sums."""
    names = columns_of(db, table)
    query = f"SELECT checksum, {listed(names)} FROM {table} WHERE {key} = ?"
    before, *values = db.execute(query, (number,)).fetchone()
    after = of(names, values)
    db.execute(f"UPDATE {table} SET checksum = ? WHERE {key} = ?", (after, number))
    _add(db, table, before is None, after - (before or 0))


def seal_new(db: sqlite3.Connection, tables: Mapping[int, Sequence[str]]) -> None:
    """Write the missing checksums of points and runs, and those of new `tables` by run; recompute the sums."""
    runs = {*tables, *(row[0] for row in db.execute("SELECT run FROM main.runs WHERE checksum IS NULL"))}
    for run in sorted(runs):
        seal_run(db, run, tables.get(run, ()))
    for (point,) in db.execute("SELECT point FROM main.points WHERE checksum IS NULL").fetchall():
        seal_point(db, point)
    for table in ("runs", "points"):
        db.execute(
            f"INSERT OR REPLACE INTO sums SELECT '{table}', count(*), coalesce(sum(checksum), 0) FROM main.{table}"
        )


def _add(db: sqlite3.Connection, table: str, rows: int, total: int) -> None:
    db.execute("UPDATE sums SET rows = rows + ?, total = total + ? WHERE name = ?", (int(rows), total, table))


def _of_run(names: Sequence[str], values: Sequence[Any], kept: Sequence[tuple[Any, ...]]) -> int:
    total = digest(names, values)
    return crc32(marshal.dumps([list(row) for row in kept], 2), total)


def examine(db: sqlite3.Connection, tables: Sequence[str] | None = None, *, texts: bool = True) -> Examined:
    """Compare all rows of a store with their checksums.

    Parameters
    ----------
    db : Connection
        The store.
    tables : sequence of str, optional
        Tables to look through besides those of runs and points; all that were kept by default.
    texts : bool, default True
        Whether to look through the scenarios and the meanings of columns.

    Returns
    -------
    Examined
        What is whole, and what is not.
    """
    with transaction(db):
        damage: list[str] = []
        if tables is None:
            tables = kept_tables(db)
            damage += _structure(db, ["kept", "sums", "scenarios", "meanings", "owners", "claims"])
            if not has_own_view(db):
                damage.append("the text of the view `results`")
        damage += _structure(db, ["points", "runs", *tables])
        return _Examination(db, damage).all(tables, texts=texts)


def whole(db: sqlite3.Connection) -> tuple[set[int], set[int], list[str]]:
    """Find the numbers of the undamaged runs and points, and describe the damage."""
    examination = _Examination(db, [])
    examination.all(kept_tables(db))
    return examination.whole, examination.points, examination.damage


def kept_tables(db: sqlite3.Connection) -> list[str]:
    """List the tables that were kept of runs, as far as their names can be read."""
    with suppress(*UNREADABLE):
        return sorted({name for (name,) in rows_of(db, "kept", ["name"]) if is_kept(name)})
    return []


class _Examination:
    def __init__(self, db: sqlite3.Connection, damage: list[str]) -> None:
        self.db = db
        self.damage = damage
        self.whole: set[int] = set()
        self.points: set[int] = set()

    def all(self, tables: Sequence[str], *, texts: bool = True) -> Examined:
        points = self._points()
        sums = {row[0]: row[1:] for row in self._rows("sums", ["name", "rows", "total"])}
        kept: dict[int, list[tuple[Any, ...]]] = {}
        for run, *row in self._rows("kept", ["run", "name", "detail", "rows", "checksum"]):
            kept.setdefault(run, []).append(tuple(row))
        found = {table: self._table(table) for table in tables}
        count = total = 0
        names = columns_of(self.db, "runs")
        for run, checksum, *values in self._rows("runs", ["run", "checksum", *names]):
            count, total = count + 1, total + _number(checksum)
            key = dict(zip(names, values))
            own = sorted(kept.pop(run, ()), key=lambda row: str(row[0]))
            what = f"the run of scenario {str(key.get('scenario'))[:12]} with seed {key.get('seed')}"
            if _of_run(names, values, own) != checksum:
                self.damage.append(what)
                continue
            bad = [name for name, _, rows, crc in own if name in found and found[name].get(run, (0, 0)) != (rows, crc)]
            if bad:
                self.damage.append(f"{what}: its rows in {', '.join(bad)}")
                continue
            self.whole.add(run)
        for run in kept:
            self.damage.append(f"tables of run {run}, which is not there")
        for name, was in (("runs", (count, total)), ("points", points)):
            if sums.get(name) != was:
                expected = sums.get(name, (None,))[0]
                more = f", and {expected} were written" if expected not in (None, was[0]) else ""
                self.damage.append(f"the table of {name}: it has {was[0]} rows{more}, and another sum")
        self._names(["runs", *tables])
        if texts:
            self._texts()
        return Examined(len(self.whole), len(self.points), self.damage)

    def _names(self, tables: Sequence[str]) -> None:
        """Compare the names of columns with the recorded ones, because an empty column is part of no checksum."""
        known: dict[str, set[str]] = {}
        for source, name, meaning, checksum in self._rows("meanings", [*MEANING, "checksum"]):
            if digest(MEANING, (source, name, meaning)) == checksum:
                known.setdefault(source, set()).add(name)
        for table in tables:
            if {*columns_of(self.db, table)} - fixed_of("runs") != known.get(table, set()):
                self.damage.append(f"the names of the columns of {table}")

    def _texts(self) -> None:
        for *row, checksum in self._rows("scenarios", [*SCENARIO, "checksum"]):
            if digest(SCENARIO, row) != checksum:
                self.damage.append(f"the text of scenario {str(row[0])[:12]}")
        for *row, checksum in self._rows("meanings", [*MEANING, "checksum"]):
            if digest(MEANING, row) != checksum:
                self.damage.append(f"what column {row[1]} of {row[0]} means")

    def _points(self) -> tuple[int, int]:
        names = columns_of(self.db, "points")
        count = total = 0
        for point, checksum, *values in self._rows("points", ["point", "checksum", *names]):
            count, total = count + 1, total + _number(checksum)
            if digest(names, values) == checksum:
                self.points.add(point)
            else:
                self.damage.append(f"point {point} of the sweep ({dict(zip(names, values)).get('labels')})")
        return count, total

    def _table(self, table: str) -> dict[int, tuple[int, int]]:
        """Count the rows of each run, and compute their checksum."""
        names = columns_of(self.db, table)
        found: dict[int, tuple[int, int]] = {}
        for run, *values in self._rows(table, ["run", *names]):
            rows, total = found.get(run, (0, 0))
            found[run] = rows + 1, digest(names, values, total)
        return found

    def _rows(self, table: str, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        lost: list[str] = []
        try:
            yield from rows_of(self.db, table, names, lost)
        except UNREADABLE as error:
            lost.append(str(error))
        if lost:
            self.damage.append(f"{counted(len(lost), 'place')} of the table of {table}: {lost[0]}")


def rows_of(
    db: sqlite3.Connection, table: str, names: Sequence[str], lost: list[str] | None = None
) -> Iterator[tuple[Any, ...]]:
    """Read all rows of a table in order and without an index, and skip unreadable ones.

    Damage can lead in a circle, in which rows never end: row numbers must rise, and there are no more rows than fit
    into the file.

    Parameters
    ----------
    db : Connection
        Where from.
    table : str
        Which.
    names : sequence of str
        Columns.
    lost : list, optional
        Takes the message of each place that cannot be read.
    """
    yield from _Reading(db, table, names, [] if lost is None else lost).rows()


class _Reading:
    """Reads a table as far as it can be read."""

    def __init__(self, db: sqlite3.Connection, table: str, names: Sequence[str], lost: list[str]) -> None:
        self._db = db
        self._lost = lost
        self._selected = listed(names)
        self._source = f"FROM main.{quoted(table)} NOT INDEXED"
        self._is_small = table in ("kept", "sums", "scenarios", "meanings")  # without row numbers
        pages, page = (db.execute(f"PRAGMA main.{what}").fetchone()[0] for what in ("page_count", "page_size"))
        self._left = FEWEST_READ + pages * page // SMALLEST_ROW

    def rows(self) -> Iterator[tuple[Any, ...]]:
        if self._is_small:
            yield from self._small()
            return
        last = yield from self._first()
        if last is None:
            return
        ahead = [(max(last + 1, 1), 1 << 40)]
        while ahead and len(self._lost) < MOST_HOLES and self._left > 0:
            low, high = ahead.pop()
            rows, low, wrong = self._between(low, high)
            yield from rows
            if wrong and low >= high:
                self._lost.append(wrong)
            elif wrong:
                middle = low + (high - low) // 2
                ahead += [(middle + 1, high), (low, middle)]
        if ahead:
            self._lost.append("the rest, which was not looked through")

    def _small(self) -> Iterator[tuple[Any, ...]]:
        try:
            for row in self._db.execute(f"SELECT {self._selected} {self._source}"):
                self._left -= 1
                if self._left < 0:
                    self._lost.append(CIRCLE)
                    return
                yield row
        except UNREADABLE as error:
            self._lost.append(str(error))

    def _first(self) -> Generator[tuple[Any, ...], None, int | None]:
        """Read up to the first damage; return the last row number before it, None if there is none."""
        last = -(1 << 63)
        try:
            for number, *row in self._db.execute(f"SELECT rowid, {self._selected} {self._source} ORDER BY rowid"):
                if number <= last:
                    self._lost.append(CIRCLE)
                    return last
                last = number
                yield tuple(row)
        except UNREADABLE as error:
            self._lost.append(str(error))
            return last
        return None

    def _between(self, low: int, high: int) -> tuple[list[tuple[Any, ...]], int, str]:
        """Read rows by their numbers; return them, the number after the last one, and what is wrong then."""
        query = f"SELECT rowid, {self._selected} {self._source} WHERE rowid BETWEEN ? AND ? ORDER BY rowid"
        rows: list[tuple[Any, ...]] = []
        try:
            for number, *row in self._db.execute(query, (low, high)):
                self._left -= 1
                if not low <= number <= high or self._left < 0:
                    return rows, low, CIRCLE
                rows.append(tuple(row))
                low = number + 1
        except UNREADABLE as error:
            if isinstance(error, sqlite3.Error) and code_of(error) == sqlite3.SQLITE_INTERRUPT:
                self._left = 0
            return rows, low, str(error)
        return rows, low, ""


def _number(checksum: object) -> int:
    """Return a checksum as a number; 0 if damage has turned it into something else."""
    return checksum if isinstance(checksum, int) else 0


def _structure(db: sqlite3.Connection, tables: Sequence[str]) -> list[str]:
    """List the errors that SQLite finds in tables and their indices."""
    found = []
    for table in tables:
        try:
            told = db.execute(f"PRAGMA main.integrity_check({quoted(table)})").fetchmany(MOST_NAMED)
        except sqlite3.OperationalError as error:
            if code_of(error) != sqlite3.SQLITE_ERROR:
                raise
            told = [(str(error),)]  # no such table
        for (text,) in told:
            if text != "ok":
                found.append(f"the table of {table}: {' '.join(text.split())}")
    return found


@contextmanager
def guarded(path: Path) -> Iterator[None]:
    """Convert errors of SQLite, such as those of a damaged database, to `StoreError`."""
    try:
        yield
    except (*UNREADABLE, sqlite3.Error) as error:
        if isinstance(error, sqlite3.Error) and code_of(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise StoreError(f"`{path}` is busy: another process writes into it for long") from error
        if isinstance(error, sqlite3.Error) and code_of(error) == sqlite3.SQLITE_INTERRUPT:
            raise too_much(path) from error
        raise damaged(path, str(error)) from error


def damaged(path: Path, *damage: str) -> StoreError:
    """Create the error that describes the damage and the remedy."""
    named = "; ".join(damage[:MOST_NAMED])
    more = f"; and {len(damage) - MOST_NAMED} more" if len(damage) > MOST_NAMED else ""
    return StoreError(
        f"`{path}` is damaged: {named}{more}. `wifair results {path} --repair` keeps what is whole, and the sweep then "
        "computes the rest again"
    )

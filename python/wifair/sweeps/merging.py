"""Merges several stores into one, such as the shards of a sweep."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from wifair.errors import StoreError
from wifair.sweeps import checksums
from wifair.sweeps.schema import FILE, address, quoted
from wifair.sweeps.store import Store

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["merge"]


def merge(target: Store, source: Path) -> int:
    """Take over what the store `source` has and `target` does not: points, runs of all versions, and their tables.

    Finished runs replace failed ones. Everything is copied, or nothing.

    Parameters
    ----------
    target : Store
        The store to fill.
    source : Path
        The folder of the other, which stays as it is.

    Returns
    -------
    int
        Number of finished runs that were added.

    Raises
    ------
    StoreError
        If `source` is not a store, or is the same one.
    StoppedError
        If the disk is full.
    """
    if source.resolve() == target.path.resolve():
        raise StoreError(f"`{source}` is the store to merge into")
    target.verify()
    with Store(source, create=False) as other:  # checks what it is
        other.verify(_tables(other))
        columns = {table: other.columns(table) for table in ("points", "runs")}
        meanings = {table: other.meanings(table) for table in ("runs", *_tables(other))}
        kinds = {table: _kinds(other, table) for table in ("points", "runs", *_tables(other))}
        tables = _tables(other)
    db = target._db
    try:
        db.execute("ATTACH ? AS source", (address(source / FILE),))
    except sqlite3.Error as error:
        raise StoreError(f"cannot read `{source / FILE}`: {error}") from None
    try:
        with target._change():
            for table, of in kinds.items():
                if table in tables:
                    target._make_table(table)
                target._fit(table, of, meanings.get(table))
            _points(target, columns["points"])
            came = _runs(target, columns["runs"])
            changed: dict[int, list[str]] = {}
            for table in tables:
                for run in _table(target, table, list(kinds[table])):
                    changed.setdefault(run, []).append(table)
            new = db.execute("SELECT run FROM main.runs WHERE checksum IS NULL").fetchall()
            for run in {*changed, *(row[0] for row in new)}:
                checksums.seal_run(db, run, changed.get(run, []))
            for (point,) in db.execute("SELECT point FROM main.points WHERE checksum IS NULL").fetchall():
                checksums.seal_point(db, point)
            checksums.sum_up(db)
            db.execute("INSERT OR IGNORE INTO scenarios SELECT * FROM source.scenarios")
        return came
    finally:
        db.execute("DETACH source")


def _tables(store: Store) -> list[str]:
    return [row[0] for row in store._db.execute("SELECT DISTINCT name FROM kept ORDER BY name")]


def _kinds(store: Store, table: str) -> dict[str, str]:
    """Columns of a table and how they were declared."""
    rows = store._db.execute(f"PRAGMA table_info({quoted(table)})").fetchall()
    return {row[1]: row[2] for row in rows if row[1] not in ("run", "checksum")}


def _points(target: Store, columns: list[str]) -> None:
    names = ", ".join(quoted(name) for name in columns if name not in ("point", "checksum"))
    target._db.execute(f"INSERT OR IGNORE INTO points ({names}) SELECT {names} FROM source.points ORDER BY point")


def _runs(target: Store, columns: list[str]) -> int:
    db = target._db
    names = ", ".join(quoted(name) for name in columns if name not in ("run", "checksum"))
    same = "o.scenario = r.scenario AND o.seed = r.seed AND o.version = r.version"
    db.execute(
        "DELETE FROM runs AS r WHERE status = 'failed' AND EXISTS "
        f"(SELECT 1 FROM source.runs o WHERE {same} AND o.status = 'done')"
    )
    insert = f"INSERT OR IGNORE INTO runs ({names}) SELECT {names} FROM source.runs WHERE status = ? ORDER BY run"
    came = db.execute(insert, ("done",)).rowcount
    db.execute(insert, ("failed",))
    db.execute("CREATE TEMP TABLE IF NOT EXISTS same (theirs INTEGER PRIMARY KEY, ours INTEGER)")
    db.execute("DELETE FROM same")
    db.execute(
        "INSERT INTO same SELECT o.run, r.run FROM source.runs o "
        f"JOIN main.runs r ON {same} WHERE o.status = 'done' AND r.status = 'done'"
    )
    return came


def _table(target: Store, table: str, columns: list[str]) -> list[int]:
    """Take over a table of the runs that do not have it here, and list these."""
    db = target._db
    missing = (
        "FROM source.kept k JOIN same ON same.theirs = k.run WHERE k.name = ? "
        "AND NOT EXISTS (SELECT 1 FROM main.kept WHERE kept.run = same.ours AND kept.name = k.name)"
    )
    names = ", ".join(quoted(name) for name in columns)
    of_theirs = ", ".join(f"t.{quoted(name)}" for name in columns)
    db.execute(
        f"INSERT INTO {quoted(table)} (run{', ' if names else ''}{names}) "
        f"SELECT same.ours{', ' if names else ''}{of_theirs} FROM source.{quoted(table)} t "
        f"JOIN same ON same.theirs = t.run WHERE t.run IN (SELECT k.run {missing}) ORDER BY t.rowid",
        (table,),
    )
    runs = [row[0] for row in db.execute(f"SELECT same.ours {missing}", (table,))]
    db.execute(f"INSERT INTO kept (run, name, detail) SELECT same.ours, k.name, k.detail {missing}", (table,))
    return runs

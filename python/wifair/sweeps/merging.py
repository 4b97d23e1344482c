"""Merges several stores into one, such as the shards of a sweep."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from wifair.exceptions import StoreError
from wifair.sweeps import checksums
from wifair.sweeps.schema import FILE, address, create_kept, listed, quoted
from wifair.sweeps.store import Store


def merge(target: Store, source: Path) -> int:
    """Copy what the store `source` has and `target` lacks: points, runs of all versions, and their tables.

    Finished runs replace failed ones. Either everything is copied or nothing.

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
    with Store(source, create=False) as other:  # checks that it is a store
        tables = other.tables()[1:]
        other.verify(tables)
        meanings = {table: other.meanings(table) for table in ("runs", *tables)}
        kinds = {table: checksums.sealed_kinds(other._db, table) for table in ("points", "runs", *tables)}
    db = target._db
    try:
        db.execute("ATTACH ? AS source", (address(source / FILE),))
    except sqlite3.Error as error:
        raise StoreError(f"cannot read `{source / FILE}`: {error}") from None
    try:
        with target._change():
            for table, of in kinds.items():
                if table in tables:
                    create_kept(db, table)
                target._fit(table, of, meanings.get(table))
            names = listed(kinds["points"])
            db.execute(f"INSERT OR IGNORE INTO points ({names}) SELECT {names} FROM source.points ORDER BY point")
            came = _runs(target, listed(kinds["runs"]))
            changed: dict[int, list[str]] = {}
            for table in tables:
                for run in _table(target, table, list(kinds[table])):
                    changed.setdefault(run, []).append(table)
            checksums.seal_new(db, changed)
            db.execute("INSERT OR IGNORE INTO scenarios SELECT * FROM source.scenarios")
        return came
    finally:
        db.execute("DETACH source")


def _runs(target: Store, names: str) -> int:
    """Copy runs, with the columns `names`; return the number of new finished runs."""
    db = target._db
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
    """Copy a table of the runs that lack it here; return these runs."""
    db = target._db
    missing = (
        "FROM source.kept k JOIN same ON same.theirs = k.run WHERE k.name = ? "
        "AND NOT EXISTS (SELECT 1 FROM main.kept WHERE kept.run = same.ours AND kept.name = k.name)"
    )
    theirs = ", ".join(["same.ours", *(f"t.{quoted(name)}" for name in columns)])
    db.execute(
        f"INSERT INTO {quoted(table)} ({listed(['run', *columns])}) SELECT {theirs} FROM source.{quoted(table)} t "
        f"JOIN same ON same.theirs = t.run WHERE t.run IN (SELECT k.run {missing}) ORDER BY t.rowid",
        (table,),
    )
    runs = [row[0] for row in db.execute(f"SELECT same.ours {missing}", (table,))]
    db.execute(f"INSERT INTO kept (run, name, detail) SELECT same.ours, k.name, k.detail {missing}", (table,))
    return runs

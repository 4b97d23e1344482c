"""Repairs a store: copies what is undamaged, and keeps the damaged file beside it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

from wifair._output.words import reason
from wifair.exceptions import StoreError
from wifair.sweeps import checksums
from wifair.sweeps._foreign import TABLES, USUAL, BoundedConnection, require_regular_store, strange
from wifair.sweeps.schema import (
    APPLICATION,
    FILE,
    FORMAT,
    add_columns,
    check_whole,
    code_of,
    create_kept,
    create_tables,
    fixed_of,
    has_own_view,
    insert,
    is_kept,
    make_view,
    quoted,
    writable,
)

LOST_MEANING = "(what this column means was damaged)"


class Repaired(NamedTuple):
    """The result of a repair."""

    runs: int
    """Runs that were kept."""
    points: int
    """Points that were kept."""
    damage: list[str]
    """What was dropped."""
    old: Path | None
    """Where the damaged file is now; None if nothing was wrong."""


def repair(folder: Path) -> Repaired:
    """Drop what is damaged in the store `folder`, so that a sweep computes it again.

    A store of format 1, which has no checksums, gets them.

    Parameters
    ----------
    folder : Path
        The store.

    Returns
    -------
    Repaired
        What was kept and what was dropped.

    Raises
    ------
    StoreError
        If there is no store, another process computes into it, or nothing of it can be read.
    """
    file = folder / FILE
    if not file.exists():
        raise StoreError(f"`{folder}` is no store: there is no `{FILE}` in it")
    require_regular_store(file)
    if file.stat().st_size == 0:
        raise StoreError(f"`{file}` is empty: there is nothing to repair. Remove it, and repeat the sweep")
    new = folder / f"{FILE}.repaired"
    try:
        new.unlink(missing_ok=True)
        if not writable(file):
            raise StoreError(f"cannot repair `{folder}`: it cannot be written")
        with closing(_open(file)) as source:
            layout = _layout(source, file)
            others = _require_tables(source, file)
            if layout == FORMAT and (found := _sound(source, file)) is not None:
                return Repaired(found.runs, found.points, [], None)
            with closing(sqlite3.connect(new, isolation_level=None)) as target:
                result = _copy(source, target, layout)
            result = result._replace(damage=[*others, *result.damage])
        _sync(new)
        old = _aside(file)
        new.replace(file)
        return result._replace(old=old)
    except sqlite3.Error as error:
        raise StoreError(f"cannot repair `{folder}`: {error}") from None
    except OSError as error:
        raise StoreError(f"cannot repair `{folder}`: {reason(error)}") from None
    finally:
        for ending in ("", "-journal"):
            with suppress(OSError):
                new.with_name(new.name + ending).unlink(missing_ok=True)


def _open(file: Path) -> sqlite3.Connection:
    """Open a database, including its log, exclusively."""
    source = sqlite3.connect(file, timeout=2.0, isolation_level=None, factory=BoundedConnection)
    source.bound(file)
    source.execute("PRAGMA trusted_schema = OFF")
    source.text_factory = _text
    source.execute("PRAGMA writable_schema = ON")  # otherwise SQLite reads nothing of a file that is truncated
    try:
        source.execute("PRAGMA locking_mode = EXCLUSIVE")
        source.execute("BEGIN IMMEDIATE")
        source.execute("ROLLBACK")
    except sqlite3.Error as error:
        if code_of(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            source.close()
            raise StoreError(f"`{file.parent}` is in use: stop the sweep first") from None
    return source


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")  # a damaged text then has another checksum


def _layout(source: sqlite3.Connection, file: Path) -> int:
    try:
        application = int(source.execute("PRAGMA application_id").fetchone()[0])
        layout = int(source.execute("PRAGMA user_version").fetchone()[0])
        tables = {row[0] for row in source.execute("SELECT name FROM sqlite_master")}
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise StoreError(
            f"nothing of `{file}` can be read: {error}. Take it from a copy, or remove it and repeat the sweep"
        ) from None
    if application != APPLICATION and not {"runs", "points", "kept"} <= tables:
        raise StoreError(f"`{file}` is an SQLite database, but no store of wifair")
    if layout == 1 and "sums" not in tables:
        return 1
    if layout > FORMAT and layout & ~FORMAT:
        raise StoreError(f"`{file}` has format {layout} of a later wifair, this one has format {FORMAT}")
    return FORMAT


def _require_tables(source: sqlite3.Connection, file: Path) -> list[str]:
    """Refuse a store whose tables are none; describe what else it has that no store has, which is dropped."""
    found = strange(source)
    for name, text in found.items():
        if name in (*TABLES, *USUAL):
            raise StoreError(
                f"`{file}` is no store of wifair, or was changed: {text}. Take it from a copy, or remove it"
            )
    return [*found.values()]


def _sound(source: sqlite3.Connection, file: Path) -> checksums.Examined | None:
    """Examine the whole store; None if something is damaged."""
    try:
        check_whole(file)
        if source.execute("PRAGMA user_version").fetchone()[0] != FORMAT:
            return None
        if strange(source):
            return None
        found = checksums.examine(source)
    except (sqlite3.Error, UnicodeDecodeError, StoreError):
        return None
    return None if found.damage else found


def _copy(source: sqlite3.Connection, target: sqlite3.Connection, layout: int) -> Repaired:
    """Copy what is undamaged, and write its checksums."""
    create_tables(target)
    if layout == FORMAT:
        runs, points, damage = checksums.whole(source)
        if not has_own_view(source):
            damage.append("the text of the view `results`, which is made anew")
    else:
        runs = {row[0] for row in checksums.rows_of(source, "runs", ["run"])}
        points = {row[0] for row in checksums.rows_of(source, "points", ["point"])}
        damage = []
    target.execute("PRAGMA synchronous = FULL")
    target.execute("BEGIN IMMEDIATE")
    scenarios = _sealed(source, "scenarios", checksums.SCENARIO, layout)
    target.executemany("INSERT OR REPLACE INTO scenarios VALUES (?, ?, ?, ?)", scenarios)
    _table(source, target, "points", "point", points)
    _table(source, target, "runs", "run", runs)
    tables: dict[int, list[str]] = {}
    for run, name, detail in checksums.rows_of(source, "kept", ["run", "name", "detail"]):
        if run in runs and is_kept(name):
            target.execute("INSERT OR REPLACE INTO kept (run, name, detail) VALUES (?, ?, ?)", (run, name, detail))
            tables.setdefault(run, []).append(name)
    kept = sorted({name for names in tables.values() for name in names})
    for name in kept:
        create_kept(target, name)
        _table(source, target, name, "run", runs)
    _meanings(source, target, layout, ["runs", *kept])
    checksums.seal_new(target, tables)
    make_view(target)
    target.execute("COMMIT")
    target.execute("PRAGMA journal_mode = WAL")
    return Repaired(len(runs), len(points), damage, None)


def _table(source: sqlite3.Connection, target: sqlite3.Connection, table: str, key: str, wanted: set[int]) -> None:
    """Copy the rows of a table whose `key` is one of `wanted`."""
    kinds = checksums.sealed_kinds(source, table)
    add_columns(target, table, kinds)
    names = [key, *kinds]
    rows = (row for row in checksums.rows_of(source, table, names) if row[0] in wanted)
    target.executemany(insert(table, names, "IGNORE"), rows)


def _meanings(source: sqlite3.Connection, target: sqlite3.Connection, layout: int, tables: Sequence[str]) -> None:
    """Copy the meanings of columns.

    A column without a meaning is kept if it has values, whose checksums hold, or if meanings were lost. Otherwise its
    name is what is damaged.
    """
    lost: list[str] = []
    known = {row[:2]: row for row in _sealed(source, "meanings", checksums.MEANING, layout, lost)}
    for table in tables:
        for name in set(checksums.columns_of(target, table)) - fixed_of("runs"):
            row = known.get((table, name))
            if row is None:
                of = f"FROM {quoted(table)} WHERE {quoted(name)} IS NOT NULL LIMIT 1"
                if not lost and not target.execute(f"SELECT 1 {of}").fetchone():
                    target.execute(f"ALTER TABLE {quoted(table)} DROP COLUMN {quoted(name)}")
                    continue
                values = (table, name, LOST_MEANING)
                row = (*values, checksums.digest(checksums.MEANING, values))
            target.execute("INSERT OR REPLACE INTO meanings VALUES (?, ?, ?, ?)", row)


def _sealed(
    source: sqlite3.Connection, table: str, names: tuple[str, ...], layout: int, lost: list[str] | None = None
) -> Iterator[tuple[Any, ...]]:
    """Read the undamaged rows of a table of three columns and a checksum; `lost` takes what is wrong."""
    lost = [] if lost is None else lost
    columns = [*names, "checksum"] if layout == FORMAT else list(names)
    for row in checksums.rows_of(source, table, columns, lost):
        checksum = checksums.digest(names, row[:3])
        if layout != FORMAT or row[3] == checksum:
            yield (*row[:3], checksum)
        else:
            lost.append(str(row[1]))


def _aside(file: Path) -> Path:
    """Rename the damaged file and its log; return the new name."""
    number = 1
    while (old := file.with_name(f"{FILE}.damaged{number}")).exists():
        number += 1
    file.rename(old)
    for ending in ("-wal", "-shm"):
        log = file.with_name(file.name + ending)
        if log.exists():
            log.rename(old.with_name(old.name + ending))
    return old


def _sync(file: Path) -> None:
    with file.open("rb+") as opened:
        os.fsync(opened.fileno())

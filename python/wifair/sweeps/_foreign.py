"""Stores from somebody else: what is in the file may cost no more than its size allows, and runs nothing.

A database can hold more than rows: a view with an endless query in place of a table, triggers, columns that are
computed. wifair makes none of these, so they are refused. Every statement has a bound of work besides.
"""

from __future__ import annotations

import re
import sqlite3
import zlib
from pathlib import Path
from typing import Any

from wifair._output import files
from wifair._output.words import reason, size
from wifair.exceptions import StoreError

LEAST_STEPS = 300_000_000
"""Steps of SQLite's virtual machine that any statement may take: some seconds."""
STEPS_PER_BYTE = 500
"""Further steps for each byte of the file. Reading all rows takes about two, sorting them some tens."""
LOOK_EVERY = 200_000
"""Steps between two looks."""
MOST_VALUE = 500_000_000
"""The longest text or value [B]."""
MOST_TEXT = 100_000_000
"""The longest scenario [B]."""

TABLES = ("runs", "points", "scenarios", "kept", "meanings", "sums", "owners", "claims")
USUAL = ("flows", "stations", "sessions", "series", "queues")
VIEW = "results"
KEPT = re.compile(r"[a-z][a-z_]{0,40}")
"""Names of tables that are kept of runs."""

_STRAY = re.compile(r"\b(AS|CHECK|COLLATE|DEFAULT|GENERATED|REFERENCES|SELECT|VIRTUAL|WHERE)\b", re.IGNORECASE)
_NAMES = re.compile(r"\"(?:[^\"]|\"\")*\"|--[^\n]*")


class BoundedConnection(sqlite3.Connection):
    """A connection whose statements take at most so many steps; then SQLite interrupts them."""

    most_steps = 0
    _steps = 0

    def bound(self, file: Path) -> None:
        """Bound the work of each statement by the size of the file and its log."""
        total = sum(path.stat().st_size for path in (file, file.with_name(f"{file.name}-wal")) if path.exists())
        self.most_steps = LEAST_STEPS + STEPS_PER_BYTE * total
        self.set_progress_handler(self._look, LOOK_EVERY)
        self.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_VALUE)

    def _look(self) -> bool:
        self._steps += LOOK_EVERY
        return self._steps > self.most_steps

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        """Begin a statement, whose steps are counted from here."""
        self._steps = 0
        return super().execute(*arguments)

    def executemany(self, *arguments: Any) -> sqlite3.Cursor:
        """Execute a statement for many rows, however many there are."""
        before, self.most_steps = self.most_steps, 1 << 62
        try:
            return super().executemany(*arguments)
        finally:
            self.most_steps = before


def require_regular_store(file: Path) -> None:
    """Refuse a file that is a device or a pipe: to open it could wait for ever.

    Raises
    ------
    StoreError
        If it is one.
    """
    try:
        files.require_regular(file)
    except OSError as error:
        raise StoreError(f"cannot read `{file}`: {reason(error)}") from None


def strange(connection: sqlite3.Connection) -> dict[str, str]:
    """Describe what is in a database that no store has, by name: views, triggers, columns that are computed."""
    found = {}
    for kind, name, table, sql in connection.execute("SELECT type, name, tbl_name, sql FROM main.sqlite_master"):
        plain = _NAMES.sub("", str(sql or ""))
        match kind:
            case "table" if str(name).startswith("sqlite_") and name != "sqlite_sequence":
                continue
            case "table" if not (name in TABLES or KEPT.fullmatch(str(name))) or _STRAY.search(plain):
                found[str(name)] = f"`{name}` is not a table as wifair makes it"
            case "index" if _STRAY.search(plain) or "(" in plain.partition("(")[2]:
                found[str(name)] = f"`{name}` of `{table}` is not an index as wifair makes it"
            case "view" if name != VIEW:
                found[str(name)] = f"`{name}` is a view"
            case "table" | "index" | "view":
                continue
            case _:
                found[str(name)] = f"`{name}` is a {kind}"
    return found


def require_plain(connection: sqlite3.Connection, file: Path) -> None:
    """Refuse a database with something in it that no store has.

    Raises
    ------
    StoreError
        If there is something; the message names it.
    """
    found = strange(connection)
    if found:
        raise StoreError(f"`{file}` is no store of wifair, or was changed: {next(iter(found.values()))}")


def unpacked(data: object) -> str | None:
    """Unpack a stored scenario; None if it is damaged, or too long."""
    if not isinstance(data, bytes):
        return None
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(data, MOST_TEXT)
        return text.decode() if unpacker.eof else None
    except (zlib.error, UnicodeDecodeError):
        return None


def too_much(path: Path) -> StoreError:
    """Create the error of a statement that was interrupted."""
    return StoreError(
        f"`{path}` takes more work than its size ({size(_bytes(path))}) explains: it is damaged, or was made to do so. "
        f"`wifair results {path} --repair` keeps what is whole"
    )


def _bytes(path: Path) -> int:
    try:
        return sum(file.stat().st_size for file in path.iterdir())
    except OSError:
        return 0

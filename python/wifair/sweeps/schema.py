"""The layout of the database of a store, and how one is opened, created or refused."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path

from wifair._output.words import reason
from wifair.exceptions import StoreError
from wifair.sweeps._foreign import KEPT, VIEW, BoundedConnection, require_plain, require_regular_store, too_much
from wifair.sweeps._foreign import TABLES as TABLE_NAMES

FILE = "runs.sqlite"
FORMAT = 2
"""Version of the layout: columns and tables may be added within one, none is renamed or removed."""

MAGIC = b"SQLite format 3\0"
HEADER = 100
"""Bytes of the header of an SQLite database."""
APPLICATION = 0x57694661  # "WiFa" in the header of the file: `file` and readers can tell what it is
BUSY_S = 60.0

TABLES = """
CREATE TABLE runs (  -- one row a run; the figures of the cell are further columns
    run INTEGER PRIMARY KEY,
    scenario TEXT NOT NULL,  -- SHA-256 of the scenario, without its seeds
    seed INTEGER NOT NULL,
    version TEXT NOT NULL,   -- of wifair, with the number of its sources
    status TEXT NOT NULL,    -- done or failed
    message TEXT,            -- why it failed
    finished TEXT NOT NULL,  -- UTC
    host TEXT NOT NULL,
    wall_s REAL NOT NULL,    -- what it took
    measured_s REAL,
    events INTEGER,
    checksum INTEGER,        -- of all columns that are not NULL, and of `kept`; see wifair/sweeps/checksums.py
    UNIQUE (scenario, seed, version)
);
CREATE TABLE points (  -- what was varied; each label is a further column
    point INTEGER PRIMARY KEY,
    scenario TEXT NOT NULL,
    labels TEXT NOT NULL,  -- all of them as JSON
    checksum INTEGER,
    UNIQUE (scenario, labels)
);
CREATE TABLE scenarios (scenario TEXT PRIMARY KEY, name TEXT NOT NULL, toml BLOB NOT NULL, checksum INTEGER)
    WITHOUT ROWID;
CREATE TABLE kept (run INTEGER NOT NULL, name TEXT NOT NULL, detail TEXT NOT NULL, rows INTEGER, checksum INTEGER,
    PRIMARY KEY (run, name)) WITHOUT ROWID;
CREATE TABLE meanings (source TEXT NOT NULL, name TEXT NOT NULL, meaning TEXT NOT NULL, checksum INTEGER,
    PRIMARY KEY (source, name)) WITHOUT ROWID;
CREATE TABLE sums (name TEXT PRIMARY KEY, rows INTEGER NOT NULL, total INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO sums VALUES ('runs', 0, 0), ('points', 0, 0);
CREATE TABLE owners (owner TEXT PRIMARY KEY, host TEXT NOT NULL, pid INTEGER NOT NULL, seen REAL NOT NULL)
    WITHOUT ROWID;
CREATE TABLE claims (scenario TEXT NOT NULL, seed INTEGER NOT NULL, version TEXT NOT NULL, owner TEXT NOT NULL,
    PRIMARY KEY (scenario, seed, version)) WITHOUT ROWID;
"""


def connect(folder: Path, *, create: bool) -> sqlite3.Connection:
    """Open the database in `folder`, which is created if `create`; see `Store`."""
    file = folder / FILE
    if not file.exists():
        _may_create(folder, create)
    else:
        require_regular_store(file)
        check_whole(file)
        if not create and file.stat().st_size == 0:
            raise StoreError(f"`{file}` is empty: there is nothing to read")
        if not writable(file):
            if create:
                raise StoreError(
                    f"`{folder}` cannot be written: `wifair results {folder}` shows what it has; "
                    "to add runs, choose another folder, or copy this one"
                )
            return _connect_read_only(file)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot make `{folder}`: {reason(error)}") from None
    with _opened(file.absolute().as_uri(), file) as connection:
        try:
            _prepare(connection, file)
        except UnicodeDecodeError as error:
            raise StoreError(f"`{file}` is damaged: {error}") from None
        except sqlite3.DatabaseError as error:
            match code_of(error):
                case sqlite3.SQLITE_NOTADB:
                    raise StoreError(f"`{file}` is no store: {error}") from None
                case sqlite3.SQLITE_FULL | sqlite3.SQLITE_IOERR:
                    raise StoreError(f"cannot write `{folder}`: {trouble(error)}") from None
                case sqlite3.SQLITE_INTERRUPT:
                    raise too_much(folder) from None
                case sqlite3.SQLITE_ERROR | sqlite3.SQLITE_CORRUPT:  # such as a view whose text is damaged
                    remedy = f"`wifair results {folder} --repair` keeps what is whole"
                    raise StoreError(f"`{file}` is damaged: {error}. {remedy}") from None
            raise StoreError(f"cannot use `{file}`: {error}") from None
    return connection


@contextmanager
def _opened(uri: str, file: Path) -> Iterator[sqlite3.Connection]:
    """Open a database by its URI, so that others can be attached by theirs; close it if the body fails."""
    try:
        connection = sqlite3.connect(uri, uri=True, timeout=BUSY_S, isolation_level=None, factory=BoundedConnection)
    except sqlite3.Error as error:
        raise StoreError(f"cannot open `{file}`: {error}") from None
    try:
        connection.bound(file)
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
        except sqlite3.Error as error:
            raise StoreError(f"cannot open `{file}`: {error}") from None
        yield connection
    except BaseException:
        connection.close()
        raise


@contextmanager
def transaction(connection: sqlite3.Connection, kind: str = "DEFERRED") -> Iterator[None]:
    """Run the body as a transaction, or as part of the current one."""
    nested = connection.in_transaction
    if nested:
        yield
        return
    connection.execute(f"BEGIN {kind}")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def writable(file: Path) -> bool:
    """Whether a database, and the files that SQLite puts beside it, can be written."""
    return os.access(file.parent, os.W_OK) and os.access(file, os.W_OK)


def address(file: Path) -> str:
    """Return the URI of a database for reading. No files are written beside one that cannot be written.

    Raises
    ------
    StoreError
        If it cannot be written, and has a log that cannot be read without.
    """
    if writable(file):
        return file.absolute().as_uri()
    log = file.with_name(f"{FILE}-wal")
    logged = log.exists() and log.stat().st_size > 0
    if logged and not os.access(file.with_name(f"{FILE}-shm"), os.R_OK):
        raise StoreError(
            f"`{file.parent}` cannot be written, and `{log.name}` in it has runs that are not in `{FILE}` yet: "
            "open it once where it can be written, or copy the whole folder"
        )
    # Nobody changes a database that cannot be written, so SQLite needs no files shared by readers and writers.
    return f"{file.absolute().as_uri()}?{'mode=ro' if logged else 'immutable=1'}"


def _connect_read_only(file: Path) -> sqlite3.Connection:
    """Open a database that cannot be written."""
    with _opened(address(file), file) as connection:
        try:
            _check_header(file, *_header(connection)[:2])
            require_plain(connection, file)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise StoreError(f"cannot read `{file}`: {error}") from None
    return connection


def check_whole(file: Path) -> None:
    """Refuse a database that is shorter than its header says."""
    log = file.with_name(f"{FILE}-wal")
    try:
        if log.exists() and log.stat().st_size > 0:
            return  # the rest may be in the log
        with file.open("rb") as opened:
            header = opened.read(HEADER)
        size = file.stat().st_size
    except OSError as error:
        raise StoreError(f"cannot read `{file}`: {reason(error)}") from None
    if 0 < size < HEADER and header[: len(MAGIC)] == MAGIC[:size]:
        raise StoreError(f"`{file}` is truncated: it has {size} bytes, and its header alone {HEADER}")
    if not header.startswith(MAGIC):
        return
    page = int.from_bytes(header[16:18], "big")
    expected = (65536 if page == 1 else page) * int.from_bytes(header[28:32], "big")
    changed, valid_for = header[24:28], header[92:96]
    if changed == valid_for and size < expected:
        raise StoreError(
            f"`{file}` is truncated: it has {size} of {expected} bytes. "
            f"`wifair results {file.parent} --repair` keeps the runs that are whole"
        )


def kinds_of(connection: sqlite3.Connection, table: str) -> dict[str, str]:
    """List the columns of a table in order, each with its declared type."""
    return {row[1]: row[2] for row in connection.execute(f"PRAGMA main.table_info({quoted(table)})")}


@cache
def fixed_of(table: str) -> frozenset[str]:
    """Give the columns that a table has in every store: those of `runs` that are not figures, for example."""
    with closing(sqlite3.connect(":memory:")) as empty:
        create_tables(empty)
        return frozenset(kinds_of(empty, table))


def labels_of(connection: sqlite3.Connection) -> list[str]:
    """List the labels that points have."""
    return [name for name in kinds_of(connection, "points") if name not in fixed_of("points")]


def figures_of(connection: sqlite3.Connection) -> list[str]:
    """List the figures that runs have."""
    return [name for name in kinds_of(connection, "runs") if name not in fixed_of("runs")]


def add_columns(connection: sqlite3.Connection, table: str, kinds: Mapping[str, str]) -> None:
    """Add the columns that a table does not have yet."""
    known = {name.lower() for name in kinds_of(connection, table)}
    for name, kind in kinds.items():
        if name.lower() not in known:
            connection.execute(f"ALTER TABLE {quoted(table)} ADD COLUMN {quoted(name)} {kind}")


def create_kept(connection: sqlite3.Connection, table: str) -> None:
    """Create a table that is kept of runs, without columns, unless it exists."""
    connection.execute(f"CREATE TABLE IF NOT EXISTS {quoted(table)} (run INTEGER NOT NULL)")
    connection.execute(f"CREATE INDEX IF NOT EXISTS {quoted(table + '_run')} ON {quoted(table)} (run)")


def is_kept(name: object) -> bool:
    """Whether a table of this name can be kept of runs: the names are in the file, too."""
    return isinstance(name, str) and KEPT.fullmatch(name) is not None and name not in (*TABLE_NAMES, VIEW)


def insert(table: str, names: Sequence[str], otherwise: str = "ABORT") -> str:
    """Return the statement that inserts a row of columns `names`; `otherwise` says what happens on a conflict."""
    places = ", ".join("?" * len(names))
    return f"INSERT OR {otherwise} INTO {quoted(table)} ({listed(names)}) VALUES ({places})"


def make_view(connection: sqlite3.Connection) -> None:
    """Create the view `results` of labels and figures again."""
    connection.execute("DROP VIEW IF EXISTS main.results")
    connection.execute(view_text(connection).replace("VIEW results", "VIEW main.results", 1))


def has_own_view(connection: sqlite3.Connection) -> bool:
    """Whether the view `results` is the one of the store's labels and figures, if it has any."""
    row = connection.execute("SELECT sql FROM main.sqlite_master WHERE type = 'view' AND name = 'results'").fetchone()
    if row is None:
        return not labels_of(connection) and not figures_of(connection)
    return bool(row[0] == view_text(connection))


def view_text(connection: sqlite3.Connection) -> str:
    """Get the text of the view `results` of labels and figures."""
    shown = ("seed", "version", "measured_s", "events", *figures_of(connection))
    labels = labels_of(connection)
    parts = [f"p.{quoted(name)} AS {quoted(f'label.{name}' if name in shown else name)}" for name in labels]
    parts += [f"r.{quoted(name)}" for name in shown]
    return (
        f"CREATE VIEW results AS SELECT {', '.join(parts)} FROM points p JOIN runs r ON r.scenario = p.scenario "
        "WHERE r.status = 'done' ORDER BY p.point, r.seed"
    )


def quoted(name: str) -> str:
    """Quote a name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def listed(names: Iterable[str]) -> str:
    """Quote names for SQL, with commas between them."""
    return ", ".join(map(quoted, names))


def code_of(error: sqlite3.Error) -> int:
    """Get the primary result code of an error of SQLite; 0 if it is an error of Python's module."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def trouble(error: sqlite3.Error) -> str:
    """Describe an error of a database."""
    match code_of(error):
        case sqlite3.SQLITE_FULL:
            return "the disk is full"
        case sqlite3.SQLITE_IOERR:  # also on a full disk, if SQLite maps files into memory
            return f"{error}, or the disk is full"
    return str(error)


def _may_create(folder: Path, create: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise StoreError(f"`{folder}` is a file: a store is a folder with `{FILE}` in it")
    if not create:
        what = f"there is no `{FILE}` in it" if folder.exists() else "there is no such folder"
        raise StoreError(f"`{folder}` is no store: {what}")
    # Another process may be creating the same store, whose files are not foreign.
    if folder.exists() and any(not path.name.startswith(FILE) for path in folder.iterdir()):
        raise StoreError(f"`{folder}` holds other files: choose another folder")


def _prepare(connection: sqlite3.Connection, file: Path) -> None:
    application, layout, tables = _header(connection)
    if application == 0 and tables == 0:
        _write_ahead(connection)
        with transaction(connection, "IMMEDIATE"):
            if _header(connection)[0] == 0:  # unless another process was faster
                create_tables(connection)
        application, layout, _ = _header(connection)
    _check_header(file, application, layout)
    require_plain(connection, file)
    # The store survives kill -9. A power cut may lose the last few runs, but no others.
    connection.execute("PRAGMA synchronous = NORMAL")


def create_tables(connection: sqlite3.Connection) -> None:
    """Make the tables of an empty store."""
    for statement in TABLES.split(";\n"):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def _check_header(file: Path, application: int, layout: int) -> None:
    if application != APPLICATION:
        raise StoreError(f"`{file}` is an SQLite database, but no store of wifair")
    if layout != FORMAT:
        age = "a later" if layout > FORMAT else "an earlier"
        way = "choose another folder, or read it with that wifair"
        if layout == 1:
            way = f"it has no checksums: `wifair results {file.parent} --repair` adds them"
        raise StoreError(f"`{file}` has format {layout} of {age} wifair, this one has format {FORMAT}: {way}")


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch to write-ahead logging, so that readers and the writer do not wait for each other.

    Where the file system does not support it, SQLite keeps another mode, which is as safe. If another process is about
    to write, as it is when both make a store, SQLite refuses at once instead of waiting.
    """
    until = time.monotonic() + BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if code_of(error) != sqlite3.SQLITE_BUSY or time.monotonic() >= until:
                raise
            time.sleep(0.01)
        else:
            return


def _header(connection: sqlite3.Connection) -> tuple[int, int, int]:
    def one(query: str) -> int:
        return int(connection.execute(query).fetchone()[0])

    # One transaction, so that no other process creates the tables between these queries.
    with transaction(connection):
        tables = one("SELECT count(*) FROM sqlite_master")
        return one("PRAGMA application_id"), one("PRAGMA user_version"), tables

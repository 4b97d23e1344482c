"""A store from somebody else costs bounded time and memory, and damage never makes a command go on for ever."""

from __future__ import annotations

import csv
import io
import os
import shutil
import sqlite3
import subprocess
import sys
import time
import zlib
from contextlib import closing
from pathlib import Path

import pytest
import wifair
from click.testing import CliRunner, Result
from wifair.cli import main
from wifair.sweeps import _foreign as foreign
from wifair.sweeps import checksums, compute
from wifair.sweeps.schema import FILE

LONG_S = 30.0
"""Far longer than any command takes for a store of some hundred kilobytes."""

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT"


@pytest.fixture(scope="module")
def whole(text: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of 8 runs in two points."""
    out = tmp_path_factory.mktemp("whole") / "out"
    compute(requests(text), out, tables=["flows", "stations", "sessions"])
    return out


def requests(text: str) -> list[tuple[wifair.Scenario, int, dict[str, str | int]]]:
    scenario = wifair.Scenario.from_text(text)
    return [
        (scenario.with_({"stations.count": count}), seed, {"zeta": f"n{count}", "stations.count": count, "alpha": 1})
        for count in (1, 2)
        for seed in range(1, 5)
    ]


def results(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["results", *map(str, arguments)])


EXPORTS = (["--csv", "-"], ["--table", "flows", "--csv", "-"], ["--table", "stations", "--csv", "-"])


def exports(store: Path) -> list[Result]:
    return [results(store, *question) for question in EXPORTS]


def changed(whole: Path, to: Path, *statements: str) -> Path:
    shutil.copytree(whole, to)
    with closing(sqlite3.connect(to / FILE)) as db, db:
        for statement in statements:
            db.execute(statement)
    return to


def commands(store: Path) -> list[list[str]]:
    found = [["results", str(store), *more] for more in ([], ["--verify"], ["--failed"], *EXPORTS)]
    merging = ["results", "merge", str(store.parent / "merged"), str(store)]
    return [*found, merging, ["results", str(store), "--repair"]]


@pytest.mark.parametrize(
    "statements",
    [
        ("ALTER TABLE runs RENAME TO old", f"CREATE VIEW runs AS {ENDLESS} * FROM n, old"),
        ("DROP TABLE kept", f"CREATE VIEW kept AS {ENDLESS} i AS run, 'flows' AS name, '' AS detail, 1 AS rows FROM n"),
        ("DROP TABLE flows", f"CREATE VIEW flows AS {ENDLESS} i AS run, i AS goodput_bps FROM n"),
        (f"CREATE TRIGGER t AFTER INSERT ON owners BEGIN INSERT INTO sums {ENDLESS} i, i, i FROM n; END",),
        (f"CREATE TRIGGER t AFTER INSERT ON points BEGIN INSERT INTO sums {ENDLESS} i, i, i FROM n; END",),
        ("ALTER TABLE runs ADD COLUMN bomb AS (hex(zeroblob(400000000)))",),
        ("CREATE INDEX slow ON points (hex(zeroblob(100000)))",),
        ("CREATE VIRTUAL TABLE more USING fts5(x)",),
    ],
)
def test_what_no_store_has_is_refused_at_once(
    whole: Path, tmp_path: Path, text: str, statements: tuple[str, ...]
) -> None:
    store = changed(whole, tmp_path / "store", *statements)
    for command in commands(store):
        began = time.monotonic()
        answer = CliRunner().invoke(main, command)
        assert time.monotonic() - began < LONG_S, command
        if "--repair" in command:
            assert answer.exit_code in (0, 2), answer.output
            continue
        assert answer.exit_code == 2, (command, answer.output)
        assert answer.stderr.startswith(f"error: `{store / FILE}` is no store of wifair, or was changed: "), (
            answer.stderr
        )
    began = time.monotonic()
    shutil.rmtree(store)
    store = changed(whole, tmp_path / "store", *statements)
    with pytest.raises(wifair.StoreError, match="is no store of wifair, or was changed"):
        compute(requests(text), store)
    assert time.monotonic() - began < LONG_S


def test_what_is_dropped_by_a_repair_runs_nothing(whole: Path, tmp_path: Path) -> None:
    right = [answer.stdout for answer in exports(whole)]
    store = changed(whole, tmp_path / "store", f"CREATE TRIGGER t AFTER INSERT ON runs BEGIN {ENDLESS} i FROM n; END")
    repaired = results(store, "--repair")
    assert (repaired.exit_code, repaired.stdout) == (0, "dropped: `t` is a trigger\n"), repaired.output
    assert [answer.stdout for answer in exports(store)] == right


def test_a_statement_that_does_not_end_is_interrupted(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreign, "LEAST_STEPS", 1_000_000)
    store = changed(whole, tmp_path / "store")
    with wifair.Store(store, create=False) as opened, pytest.raises(wifair.StoreError, match="takes more work than"):
        opened._select(f"{ENDLESS} max(i) FROM n")


def test_a_stored_scenario_that_unpacks_to_much_is_refused(whole: Path, tmp_path: Path) -> None:
    store = changed(whole, tmp_path / "store")
    bomb = zlib.compress(bytes(foreign.MOST_TEXT + 1), 9)
    with closing(sqlite3.connect(store / FILE)) as db, db:
        for scenario, name in db.execute("SELECT scenario, name FROM scenarios").fetchall():
            checksum = checksums.digest(checksums.SCENARIO, (scenario, name, bomb))
            db.execute("UPDATE scenarios SET toml = ?, checksum = ? WHERE scenario = ?", (bomb, checksum, scenario))
    answer = results(store, "--scenario", str(scenario))
    assert (answer.exit_code, "the text of scenario" in answer.stderr) == (2, True), answer.output


def test_labels_that_nest_deeply_are_damage(whole: Path, tmp_path: Path) -> None:
    store = changed(whole, tmp_path / "store", "UPDATE runs SET status = 'failed', message = 'x' WHERE seed = 1")
    with closing(sqlite3.connect(store / FILE)) as db, db:
        db.execute("UPDATE points SET labels = ?", ("[" * 100_000,))
        for (point,) in db.execute("SELECT point FROM points").fetchall():
            checksums.seal_point(db, point)
        for (run,) in db.execute("SELECT run FROM runs").fetchall():
            checksums.seal_run(db, run, ["flows", "stations", "sessions"])
    answer = results(store, "--failed")
    assert (answer.exit_code, "the labels of a failed run" in answer.stderr) == (2, True), answer.output


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs")
def test_a_pipe_in_place_of_the_database_is_refused(tmp_path: Path, text: str) -> None:
    store = tmp_path / "store"
    store.mkdir()
    os.mkfifo(store / FILE)
    for command in commands(store):
        done = subprocess.run(
            [sys.executable, "-m", "wifair", *command], capture_output=True, text=True, timeout=LONG_S, check=False
        )
        assert (done.returncode, done.stderr) == (2, f"error: cannot read `{store / FILE}`: it is no regular file\n")
    with pytest.raises(wifair.StoreError, match="is no regular file"):
        compute(requests(text), store)


def test_an_empty_file_is_called_empty(tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    (store / FILE).touch()
    for command in commands(store):
        answer = CliRunner().invoke(main, command)
        assert (answer.exit_code, "is empty: there is nothing to" in answer.stderr) == (2, True), answer.output


def test_a_store_that_cannot_be_written_says_what_to_do(
    whole: Path, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = changed(whole, tmp_path / "store")
    monkeypatch.setattr(wifair.sweeps.schema, "writable", lambda _: False)
    with pytest.raises(wifair.StoreError, match=r"cannot be written: `wifair results .*` shows what it has"):
        compute(requests(text), store)
    assert results(store, "--csv", "-").exit_code == 0


@pytest.mark.parametrize("flip", range(6))
def test_a_changed_view_is_found_and_made_anew(whole: Path, tmp_path: Path, flip: int) -> None:
    right = [answer.stdout for answer in exports(whole)]
    with closing(sqlite3.connect(whole / FILE)) as db:
        (sql,) = db.execute("SELECT sql FROM sqlite_master WHERE name = 'results'").fetchone()
    store = changed(whole, tmp_path / "store")
    data = bytearray((store / FILE).read_bytes())
    at = data.index(sql.encode())
    places = (at + 3, at + 20, at + len(sql) // 2, at + len(sql) - 3, at + sql.index("FROM"), at + sql.index("seed"))
    data[places[flip]] ^= 1 << (flip % 3)
    (store / FILE).write_bytes(data)
    for answer, expected in zip(exports(store), right):
        assert answer.stdout == expected or (answer.exit_code == 2 and "--repair" in answer.stderr), answer.output
    assert results(store, "--verify").exit_code in (1, 2)
    repaired = results(store, "--repair")
    assert (repaired.exit_code, "8 runs and 2 points are whole" in repaired.stderr) == (0, True), repaired.output
    assert "the text of the view" in repaired.stdout
    assert results(store, "--verify").exit_code == 0
    assert [answer.stdout for answer in exports(store)] == right


def outlines(store: Path) -> dict[str, list[str]]:
    with closing(sqlite3.connect(store / FILE)) as db:
        tables = ("runs", "points", "flows", "stations", "sessions")
        return {table: [row[1] for row in db.execute(f"PRAGMA table_info({table})")] for table in tables}


def rows(text: str) -> list[list[str]]:
    assert text
    head, *body = csv.reader(io.StringIO(text))
    return [head, *sorted(body)]


def check_damaged(store: Path, text: str, right: list[str], outline: dict[str, list[str]], what: str) -> None:
    """Each command must end in time, and show true figures or say what is gone; a repair and a sweep give all again."""
    began = time.monotonic()
    for answer, expected in zip(exports(store), right):
        assert answer.exit_code == 2 or answer.stdout == expected, f"{what}: other figures"
        assert answer.exception is None or isinstance(answer.exception, SystemExit), (what, answer.exception)
    verified = results(store, "--verify")
    assert isinstance(verified.exception, SystemExit | None), (what, verified.exception)
    try:
        compute(requests(text), store, tables=["flows", "stations", "sessions"])
    except (wifair.StoreError, wifair.StoppedError):
        pass
    else:
        for answer, expected in zip(exports(store), right):
            assert answer.exit_code == 2 or rows(answer.stdout) == rows(expected), (
                f"{what}: other figures after a sweep"
            )
    repaired = results(store, "--repair")
    assert time.monotonic() - began < LONG_S, what
    if repaired.exit_code == 2:
        assert (
            "nothing of" in repaired.stderr or "cannot repair" in repaired.stderr or "or was changed" in repaired.stderr
        )
        return
    compute(requests(text), store, tables=["flows", "stations", "sessions"])
    assert results(store, "--verify").exit_code == 0, what
    for answer, expected in zip(exports(store), right):
        assert answer.exit_code == 0, (what, answer.output)
        assert rows(answer.stdout) == rows(expected), what
    now = outlines(store)
    for table, names in outline.items():
        assert now[table] == names, f"{what}: the columns of {table}"


@pytest.mark.parametrize("size", [512, 4096])
def test_a_zeroed_or_repeated_sector_ends_no_command_late(
    whole: Path, tmp_path: Path, text: str, size: int, request: pytest.FixtureRequest
) -> None:
    right = [answer.stdout for answer in exports(whole)]
    outline = outlines(whole)
    original = (whole / FILE).read_bytes()
    sectors = range(0, len(original), size)
    some = sectors if request.config.getoption("--slow") else sectors[:: max(len(sectors) // 6, 1)]
    store = tmp_path / "store"
    for number, at in enumerate(some):
        shutil.rmtree(store, ignore_errors=True)
        store.mkdir()
        other = original[(at + 7 * size) % len(original) :][:size].ljust(size, b"\0")
        new = bytes(size) if number % 2 == 0 else other
        (store / FILE).write_bytes((original[:at] + new + original[at + size :])[: len(original)])
        check_damaged(store, text, right, outline, f"sector of {size} at {at}")


def test_rows_that_lead_in_a_circle_end(whole: Path, tmp_path: Path, text: str) -> None:
    """Interior pages that point to themselves, to the page before, and to the first page."""
    right = [answer.stdout for answer in exports(whole)]
    outline = outlines(whole)
    original = bytearray((whole / FILE).read_bytes())
    page = int.from_bytes(original[16:18], "big")
    interior = [at for at in range(0, len(original), page) if original[at + (100 if at == 0 else 0)] in (2, 5)]
    assert interior
    store = tmp_path / "store"
    for at in interior:
        start = at + (100 if at == 0 else 0)
        cells = int.from_bytes(original[start + 3 : start + 5], "big")
        first = int.from_bytes(original[start + 12 : start + 14], "big")
        for place in {start + 8, at + first} if cells else {start + 8}:
            for target in (at // page + 1, max(at // page, 1), 2):
                data = bytearray(original)
                data[place : place + 4] = target.to_bytes(4, "big")
                shutil.rmtree(store, ignore_errors=True)
                store.mkdir()
                (store / FILE).write_bytes(data)
                check_damaged(store, text, right, outline, f"page {at // page + 1} leads to {target}")

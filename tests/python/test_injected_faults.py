"""Injected faults, from a seed: files and databases fail at the n-th call; messages are lost, late or duplicated.

In every case, repeating the command ends with each result once, equal to those of a run without faults.
"""

from __future__ import annotations

import errno
import os
import random
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import wifair
from _pytest.mark import ParameterSet
from wifair._output import files
from wifair.optional.measure.errors import MeasureError
from wifair.optional.measure.journal import Journal
from wifair.optional.measure.journal import read as read_journal
from wifair.sweeps import Key, Store, checksums, compute, engines, repair, schema
from wifair.sweeps import _task as task
from wifair.sweeps._foreign import BoundedConnection
from wifair.sweeps.query import ask, select


def schedules(quick: int, many: int) -> list[ParameterSet]:
    """Numbers of schedules: a few for `make test`, then all others in four parts, for as many processors."""
    part = (many - quick) // 4
    slow = [
        pytest.param(range(quick + n * part, quick + (n + 1) * part), id=f"part{n + 1}", marks=pytest.mark.slow)
        for n in range(4)
    ]
    return [pytest.param(range(quick), id="quick"), *slow]


SCHEDULES = schedules(200, 10_000)
CODES = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY)


class Faults:
    """Decides, call by call, what fails; the same seed decides the same."""

    def __init__(self, seed: str) -> None:
        self.rng = random.Random(seed)
        self.calls = 0
        self.at = -1
        self.lasts = False

    def plan(self, most: int, *, lasts: bool) -> None:
        """Fail at one of the next `most` calls, and at all later ones if it `lasts`."""
        self.calls, self.at, self.lasts = 0, self.rng.randrange(most), lasts

    def off(self) -> None:
        self.at = -1

    def now(self) -> bool:
        self.calls += 1
        return self.at >= 0 and (self.calls - 1 == self.at or (self.lasts and self.calls > self.at))


class Database(BoundedConnection):
    """SQLite whose statements fail."""

    faults = Faults("none")

    def fail(self) -> None:
        if self.faults.now():
            error = sqlite3.OperationalError("a fault on purpose")
            error.sqlite_errorcode = self.faults.rng.choice(CODES)
            raise error

    def executemany(self, statement: str, rows: Any, /) -> sqlite3.Cursor:
        def failing() -> Iterator[Any]:
            for row in rows:
                self.fail()
                yield row

        return super().executemany(statement, failing())

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        self.fail()
        if arguments[0].startswith("PRAGMA synchronous"):
            arguments = ("PRAGMA synchronous = OFF",)  # no power cut here, and ten times as fast
        return super().execute(*arguments)


class Messages(Executor):
    """Workers whose answers come late, twice, in another order, or not at all."""

    def __init__(self, faults: Faults) -> None:
        self.rng = faults.rng
        self.waiting: list[Callable[[], object]] = []
        self.lose = faults.rng.random() < 0.3
        self._max_workers = 3

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()

        def answer() -> None:
            if future.set_running_or_notify_cancel():
                future.set_result(fn(*args, **kwargs))

        def lost() -> None:
            future.cancel()
            future.set_running_or_notify_cancel()

        match self.rng.randrange(10):
            case 0 if self.lose:
                self.waiting.append(lost)
            case 1 | 2 | 3:
                self.waiting.append(answer)  # late, and in another order
            case 4:
                fn(*args, **kwargs)  # done twice, by two workers
                answer()
            case _:
                answer()
        while len(self.waiting) > 2 or (self.waiting and self.rng.random() < 0.5):
            self.waiting.pop(self.rng.randrange(len(self.waiting)))()
        return future

    def late(self, _: object) -> None:
        """Deliver one late message: the sweep waits for it."""
        if self.waiting:
            self.waiting.pop(0)()

    def end(self) -> None:
        while self.waiting:
            self.waiting.pop()()


@pytest.fixture(scope="module")
def outcomes(text: str) -> dict[Key, task.Computed]:
    """Results of six runs, computed once."""
    base = wifair.Scenario.from_text(text)
    found = {}
    for count in (1, 2):
        scenario = base.with_({"stations.count": count})
        for seed in (1, 2, 3):
            found[Key(scenario.hash, seed)] = task.simulate(scenario, seed, ["flows"], None, wifair._core.Control())
    return found


def tables(path: Path) -> tuple[str, str]:
    with Store(path, create=False) as opened:
        return select(opened).to_csv(), select(opened, ask(opened, table="flows")).to_csv()


@contextmanager
def patched(monkeypatch: pytest.MonkeyPatch, faults: Faults, outcomes: dict[Key, task.Computed]) -> Iterator[None]:
    connect = sqlite3.connect
    Database.faults = faults
    real_time = time.time
    jump = [0.0]

    def clock() -> float:
        if faults.rng.random() < 0.05:
            jump[0] = faults.rng.choice((0.0, 3600.0, -86_400.0))  # somebody sets the clock
        return real_time() + jump[0]

    def canned(scenario: wifair.Scenario, seed: int, *_: Any) -> task.Computed:
        return outcomes[Key(scenario.hash, seed)]

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **{**k, "factory": Database}))
        patch.setattr(schema, "BUSY_S", 0.2)
        patch.setattr(engines, "perform", lambda given: outcomes[Key(given.scenario, given.seed)])
        patch.setattr(engines, "simulate", canned)
        patch.setattr(time, "time", clock)
        patch.setattr("wifair.sweeps.work.TICK_S", 0.001)
        yield


@pytest.mark.parametrize("numbers", SCHEDULES)
def test_a_sweep_loses_nothing_and_counts_nothing_twice(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outcomes: dict[Key, task.Computed], numbers: range
) -> None:
    base = wifair.Scenario.from_text(text)
    points = [base.with_({"stations.count": n}) for n in (1, 2)]
    wanted = [(one, seed, {"n": n}) for n, one in enumerate(points) for seed in (1, 2, 3)]
    faults = Faults("reference")
    with patched(monkeypatch, faults, outcomes):
        compute(wanted, tmp_path / "reference")
        compute(wanted[:1], tmp_path / "begun")
    expected = tables(tmp_path / "reference")
    failed = 0
    for number in numbers:
        faults = Faults(f"sweep/{number}")
        out = tmp_path / "out"
        if number % 4:  # go on with a store: faults of a new one strike most often while it gets its columns
            shutil.copytree(tmp_path / "begun", out)
        with patched(monkeypatch, faults, outcomes):
            for attempt in range(3):
                if attempt < 2:
                    faults.plan(120, lasts=faults.rng.random() < 0.3)
                else:
                    faults.off()
                messages = Messages(faults) if attempt < 2 and faults.rng.random() < 0.7 else None
                try:
                    late = messages.late if messages else None
                    runs = compute(wanted, out, executor=messages, threads=None if messages else 1, progress=late)
                except (wifair.StoppedError, wifair.StoreError):
                    failed += 1
                else:
                    assert len(runs.figures) == 6 if attempt == 2 else True
                finally:
                    if messages is not None:
                        messages.end()
            faults.off()
            assert tables(out) == expected, f"schedule {number}"
            with Store(out) as opened:
                assert checksums.examine(opened._db).damage == [], f"schedule {number}"
                assert opened.count() == 6
                assert opened._db.execute("SELECT count(*) FROM claims").fetchone() == (0,)
        for path in out.iterdir():
            path.unlink()
        out.rmdir()
    assert failed > len(numbers) / 2, "faults must strike"


class Raw:
    """A file that fails at some call, or writes only a part."""

    def __init__(self, file: Any, faults: Faults) -> None:
        self._file, self._faults = file, faults

    def write(self, data: bytes) -> int:
        if self._faults.now():
            if self._faults.rng.random() < 0.5:
                self._file.write(data[: self._faults.rng.randrange(len(data))])
                if self._faults.rng.random() < 0.5:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                raise SystemExit  # killed in the midst of it
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        part = self._faults.rng.randint(1, len(data)) if self._faults.rng.random() < 0.3 else len(data)
        return int(self._file.write(data[:part]))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@pytest.mark.parametrize("numbers", SCHEDULES)
def test_a_journal_loses_nothing_that_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, numbers: range
) -> None:
    head = {"hash": "h"}
    monkeypatch.setattr(os, "fsync", lambda handle: None)  # noqa: ARG005
    opens = Path.open
    for number in numbers:
        faults = Faults(f"journal/{number}")
        folder = tmp_path / str(number)
        done: list[int] = []
        with monkeypatch.context() as patch:
            patch.setattr(Path, "open", lambda path, *a, f=faults, **k: Raw(opens(path, *a, **k), f))
            for attempt in range(6):
                if attempt < 5:
                    faults.plan(12, lasts=False)
                else:
                    faults.off()
                try:
                    journal = Journal(folder, head, resume=folder.exists())
                except (MeasureError, SystemExit):
                    continue
                kept = [row["n"] for row in journal.rows if row.get("kind") == "repetition"]
                # Entries for which `add` has returned are there; one that was cut off may be missing, and is then
                # redone.
                assert kept[: len(done)] == done, f"schedule {number}"
                done = kept
                try:
                    while len(done) < 8:
                        journal.add({"kind": "repetition", "n": len(done)})
                        done.append(len(done))
                except (MeasureError, SystemExit):
                    pass
                finally:
                    journal.close()
        rows = [row["n"] for row in read_journal(folder) if row.get("kind") == "repetition"]
        assert rows == list(range(8)), f"schedule {number}"


@pytest.mark.parametrize("numbers", SCHEDULES)
def test_a_file_is_the_old_or_the_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, numbers: range) -> None:
    path = tmp_path / "table.csv"
    for number in numbers:
        faults = Faults(f"file/{number}")
        faults.plan(5, lasts=False)
        path.write_text("old")

        def failing(call: Callable[..., Any], faults: Faults = faults) -> Callable[..., Any]:
            def either(*arguments: Any, **options: Any) -> Any:
                if faults.now():
                    raise OSError(errno.EIO, os.strerror(errno.EIO))
                return call(*arguments, **options)

            return either

        with monkeypatch.context() as patch:
            patch.setattr(tempfile, "mkstemp", failing(tempfile.mkstemp))
            patch.setattr(os, "fsync", failing(os.fsync))
            patch.setattr(Path, "replace", failing(Path.replace))
            try:
                files.write_text(path, (part for part in ("n", "ew")))
                told = False
            except OSError:
                told = True
        assert path.read_text() in (("old", "new") if told else ("new",)), f"schedule {number}"
        assert [one.name for one in tmp_path.iterdir()] == ["table.csv"]


@pytest.mark.parametrize("numbers", schedules(12, 2_000))
def test_a_repair_that_fails_leaves_the_store_as_it_was(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outcomes: dict[Key, task.Computed], numbers: range
) -> None:
    base = wifair.Scenario.from_text(text).with_({"stations.count": 1})
    out = tmp_path / "out"
    with patched(monkeypatch, Faults("x"), outcomes):
        compute([(base, seed) for seed in (1, 2, 3)], out)
    db = sqlite3.connect(out / schema.FILE)
    db.execute("UPDATE runs SET goodput_bps = 1 WHERE seed = 2")
    db.commit()
    db.close()
    before = (out / schema.FILE).read_bytes()
    connect = sqlite3.connect
    for number in numbers:
        faults = Faults(f"repair/{number}")
        Database.faults = faults
        faults.plan(120, lasts=True)
        with monkeypatch.context() as patch:
            patch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **{**k, "factory": Database}))
            try:
                done = repair.repair(out)
            except wifair.StoreError:
                assert (out / schema.FILE).read_bytes() == before, f"schedule {number}"
                assert not list(out.glob("*.repaired*"))
                continue
        assert len(done.damage) >= 1
        with Store(out) as opened:
            assert opened.count() >= 1
            assert checksums.examine(opened._db).damage == []
        for path in out.iterdir():
            path.unlink()
        (out / schema.FILE).write_bytes(before)

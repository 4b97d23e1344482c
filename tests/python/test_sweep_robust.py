"""Sweeps survive faults: no finished run is lost, computed again, or broken."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import wifair
from command import started
from wifair.sweeps import Key, Progress, Runs, Store, compute, engines
from wifair.sweeps import _task as task
from wifair.sweeps.points import Points
from wifair.sweeps.query import ask, select
from wifair.sweeps.store import Kept
from wifair.sweeps.sweeping import Sweep, run_sweep

VARY: dict[str, Any] = {"stations.count": "1..4"}
SEEDS = 30
RUNS = 4 * SEEDS

# Computes the sweep as a process of its own. Each run leaves a line in LOG when it has been simulated, and another one
# when the sweep says that it has finished.
WORKER = """
import sys
import wifair
from wifair.sweeps import _task as task, engines

file, out, log = sys.argv[1:]
lines = open(log, "a", buffering=1)

def simulate(scenario, seed, *rest):
    computed = task.simulate(scenario, seed, *rest)
    if computed.outcome is not None:
        lines.write(f"simulated {scenario.hash} {seed}\\n")
    return computed

def report(progress):
    for run in progress.latest:
        lines.write(f"finished {run.key.scenario} {run.key.seed}\\n")

engines.simulate = simulate
print("ready", flush=True)
wifair.sweep(file, vary={"stations.count": "1..4"}, seeds=range(1, SEEDS + 1), out=out, threads=2, progress=report)
""".replace("SEEDS", str(SEEDS))


@pytest.fixture(scope="module")
def long(text: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scenario whose runs take some ten milliseconds."""
    file = tmp_path_factory.mktemp("long") / "long.toml"
    file.write_text(text.replace('duration = "3 s"', 'duration = "30 s"'))
    return file


@pytest.fixture(scope="module")
def expected(long: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The tables of an undisturbed sweep."""
    out = tmp_path_factory.mktemp("expected") / "out"
    wifair.sweep(long, vary=VARY, seeds=range(1, SEEDS + 1), out=out)
    return tables(out)


def tables(out: Path) -> tuple[str, str]:
    """Everything that an intact store holds, as text."""
    with Store(out, create=False) as store:
        assert store._db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return select(store).to_csv(), select(store, ask(store, table="flows")).to_csv()


def stored(out: Path) -> set[Key]:
    """Runs that a store has, complete with their flows."""
    if not (out / "runs.sqlite").exists():
        return set()
    with Store(out) as store:
        assert store._db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return store.done([Kept("flows")])


def stored_lightly(out: Path) -> int:
    """Count the runs of a store that others write, with SQL alone."""
    try:
        db = sqlite3.connect(f"file:{out}/runs.sqlite?mode=ro", uri=True)
        try:
            return int(db.execute("SELECT count(*) FROM runs").fetchone()[0])
        finally:
            db.close()
    except sqlite3.OperationalError:
        return 0


@contextmanager
def worker(long: Path, out: Path, log: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that computes the sweep; it has just started."""
    command = [sys.executable, "-c", WORKER, str(long), str(out), str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield process
        finally:
            process.kill()


def logged(log: Path, word: str) -> list[Key]:
    """Runs that a worker has logged as `simulated` or `finished`."""
    lines = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
    return [Key(line[1], int(line[2])) for line in lines if len(line) == 3 and line[0] == word]


@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_kill_9_at_random_moments(long: Path, expected: tuple[str, str], tmp_path: Path, kills: int) -> None:
    out, moments = tmp_path / "out", random.Random(1)
    before: set[Key] = set()
    for number in range(kills):
        log = tmp_path / f"log{number}"
        with worker(long, out, log) as process:
            time.sleep(moments.uniform(0, 2 / kills))
            process.kill()
        after = stored(out)
        assert before <= after, "a finished run was lost"
        assert set(logged(log, "finished")) <= after, "a run that was said to have finished was lost"
        assert not before & set(logged(log, "simulated")), "a finished run was computed again"
        before = after
    with worker(long, out, tmp_path / "last") as process:
        assert process.wait(120) == 0
    assert not before & set(logged(tmp_path / "last", "simulated"))
    assert tables(out) == expected


def test_two_processes_on_one_store(long: Path, expected: tuple[str, str], tmp_path: Path) -> None:
    out, logs = tmp_path / "out", [tmp_path / "a", tmp_path / "b"]
    with worker(long, out, logs[0]) as one, worker(long, out, logs[1]) as other:
        assert one.wait(120) == 0
        assert other.wait(120) == 0
    runs = [key for log in logs for key in logged(log, "simulated")]
    assert len(runs) == len(set(runs)) == RUNS
    assert tables(out) == expected


def test_runs_of_a_killed_process_are_taken_over(long: Path, expected: tuple[str, str], tmp_path: Path) -> None:
    out, logs = tmp_path / "out", [tmp_path / "a", tmp_path / "b"]
    with worker(long, out, logs[0]) as one, worker(long, out, logs[1]) as other:
        while len(logged(logs[0], "finished")) < 5:
            time.sleep(0.02)
        one.kill()
        one.wait()
        assert other.wait(120) == 0
    assert not set(logged(logs[0], "finished")) & set(logged(logs[1], "simulated"))
    assert tables(out) == expected


def test_ctrl_c(long: Path, expected: tuple[str, str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = ["sweep", long, "--vary", "stations.count=1..4", "--seeds", f"1..{SEEDS}", "--out", out, "--threads", 1]
    with started(*command) as process:
        while stored_lightly(out) < 5:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    told = re.fullmatch(rf"interrupted: (\d+) of {RUNS} runs are in `.*`; repeat the command to go on\n", err)
    assert told, err
    assert len(stored(out)) == int(told[1]) < RUNS
    wifair.sweep(long, vary=VARY, seeds=range(1, SEEDS + 1), out=out)
    assert tables(out) == expected


# Runs a sweep on a disk that fills up, and then with room again. The small disk is a tmpfs that only this process
# sees; without permission for that, a limit on file size takes its place.
NARROW = """
import json, os, resource, subprocess, sys
from pathlib import Path
import wifair
from wifair.exceptions import StoreError
from wifair.sweeps import Store
from wifair.sweeps.store import Kept

file, disk, how, small = sys.argv[1:5]
out = Path(disk) / "out"

def allow(size):
    if how == "tmpfs":
        remount = "remount," if os.path.ismount(disk) else ""
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"{remount}size={size}", "tmpfs", disk], check=True)
    else:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

def sweep():
    told = []
    def report(progress):
        told.extend(list(run.key) for run in progress.latest)
    message = None
    try:
        wifair.sweep(file, vary={"stations.count": "1..4"}, seeds=range(1, SEEDS + 1), out=out, progress=report)
    except (wifair.StoppedError, StoreError) as error:  # the latter where not even the tables can be made
        message = str(error)
    return told, message

def kept():
    with Store(out) as store:
        assert store._db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return [list(key) for key in store.done([Kept("flows")])]

allow(int(small))
first = sweep()
again = sweep()
allow(64_000_000)
before = kept()
last = sweep()
subprocess.run(["cp", "-r", str(out), sys.argv[5]], check=True)
print(json.dumps([first, again, before, last]))
""".replace("SEEDS", str(SEEDS))


def own_mounts() -> list[str]:
    """A prefix that lets a command mount in a namespace of its own; empty if that is impossible."""
    for way in (["unshare", "--mount"], ["unshare", "--map-root-user", "--mount"]):
        with suppress(OSError):
            if (
                subprocess.run([*way, "mount", "-t", "tmpfs", "x", "/mnt"], capture_output=True, check=False).returncode
                == 0
            ):
                return way
    return []


@pytest.mark.parametrize(("small", "some"), [(400_000, True), (16_384, False)])
@pytest.mark.parametrize("how", ["tmpfs", "limit"])
def test_a_full_disk(long: Path, expected: tuple[str, str], tmp_path: Path, how: str, small: int, some: bool) -> None:
    before = own_mounts() if how == "tmpfs" else []
    (tmp_path / "disk").mkdir()
    arguments = [str(long), str(tmp_path / "disk"), "tmpfs" if before else "limit", str(small), str(tmp_path / "copy")]
    done = subprocess.run(
        [*before, sys.executable, "-c", NARROW, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    first, again, kept, last = json.loads(done.stdout)
    for told, message in (first, again):
        assert "the disk is full" in message
        assert message.endswith("all runs that it holds are safe") or not some
        assert all(run in kept for run in told), "a run that was said to have finished was lost"
    assert (0 < len(kept) < RUNS) if some else not kept, len(kept)
    assert last[1] is None
    assert len(last[0]) == RUNS - len(kept)
    assert not any(run in kept for run in last[0]), "a finished run was computed again"
    assert tables(tmp_path / "copy") == expected


def in_processes(
    long: Path, out: Path, seeds: int, report: Callable[[engines.Processes, Progress], object] = lambda *_: None
) -> Runs:
    """The sweep in two processes that are replaced when they die; `report` may kill them."""
    points = Points(wifair.Scenario.from_file(long), [("vary", "stations.count=1..4")])
    engine = engines.Processes(2)
    try:
        with Store(out) as store:
            return run_sweep(
                Sweep(points, range(1, seeds + 1)), store, engine, ["flows"], None, lambda now: report(engine, now)
            )
    finally:
        engine.close()


def test_a_worker_is_killed_in_mid_run(long: Path, expected: tuple[str, str], tmp_path: Path) -> None:
    killed: list[int] = []

    def report(engine: engines.Processes, progress: Progress) -> None:
        workers = list(engine._executor._processes)  # type: ignore[attr-defined]
        if progress.computed >= 15 * (len(killed) + 1) and len(killed) < 3 and workers:
            os.kill(workers[-1], signal.SIGKILL)
            killed.append(workers[-1])

    runs = in_processes(long, tmp_path / "out", SEEDS, report)
    assert len(killed) == 3
    assert runs.failures == []
    assert tables(tmp_path / "out") == expected


def deadly(job: task.Task) -> task.Computed:
    """Kill the worker if the seed is 2."""
    if job.seed == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return task.perform(job)


@pytest.mark.slow
def test_a_run_that_kills_its_workers_fails_alone(long: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "perform", deadly)
    runs = in_processes(long, tmp_path / "out", 3)
    assert sorted(runs.figures["seed"].tolist()) == [1] * 4 + [3] * 4
    assert [failure.seed for failure in runs.failures] == [2] * 4
    assert {failure.message for failure in runs.failures} == {"its worker died each time: out of memory, or killed"}


def of_session(session: int) -> list[str]:
    """Processes of a session, by /proc."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            pid, _, rest = stat.read_text().partition(" (")
            state, _, _, of = rest.rpartition(") ")[2].split()[:4]
            if int(of) == session and state != "Z":
                found.append(pid)
    return found


@pytest.mark.alone
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc to look for them")
def test_workers_end_with_their_parent(long: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "wifair", "sweep", str(long), "--seeds", "1..3000", "--processes", "2"]
    with subprocess.Popen([*command, "--out", str(tmp_path / "out")], start_new_session=True) as process:
        while stored_lightly(tmp_path / "out") < 2:
            time.sleep(0.05)
        process.kill()
    deadline = time.monotonic() + 20
    while of_session(process.pid):
        assert time.monotonic() < deadline, "workers live on without their parent"
        time.sleep(0.05)


def test_an_error_of_the_store_ends_a_sweep_cleanly(
    long: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = wifair.Scenario.from_file(long)
    with Store(tmp_path / "out") as store:

        def broken(*_: object) -> None:
            raise sqlite3.OperationalError("disk I/O error")

        with monkeypatch.context() as patch:
            patch.setattr(store, "_see", broken)
            with pytest.raises(wifair.StoppedError, match="disk I/O error; all runs that it holds are safe"):
                compute([(scenario, 1)], store)
        assert len(compute([(scenario, 1)], store).figures) == 1

"""Rare endings: closed standard input, SIGTERM, a disk that fills, a Dask cluster without workers."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import wifair
from click.testing import CliRunner
from command import started
from wifair.cli import main
from wifair.cli.common import guarded
from wifair.sweeps import Store, compute, engines


@pytest.mark.parametrize(
    "command",
    [
        "run -",
        "check -",
        "sweep - --dry-run",
        "explain -",
        "analyze -",
        "compare - -",
        "measure run - --server 127.0.0.1:1",
    ],
)
def test_closed_standard_input(command: str) -> None:
    line = f"{sys.executable} -m wifair {command} <&-"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert re.fullmatch(r"error: (cannot read `.*`|-): standard input is closed\n+", done.stderr), done.stderr


def until_it_computes(pid: int, threads: int) -> None:
    """Wait until a process has this many threads, however slowly it starts."""
    tasks = Path(f"/proc/{pid}/task")
    for _ in range(1200 if tasks.exists() else 60):
        if tasks.exists() and len(list(tasks.iterdir())) > threads:
            break
        time.sleep(0.05)
    time.sleep(1)


@pytest.mark.parametrize("command", ["run", "sweep"])
def test_sigterm_is_reported_and_keeps_finished_runs(file: Path, tmp_path: Path, command: str) -> None:
    out = tmp_path / "out"
    more = ["--out", str(out)] if command == "sweep" else []
    process = subprocess.Popen(
        [sys.executable, "-m", "wifair", command, str(file), "--seeds", "1..100000", "--threads", "5", *more],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    until_it_computes(process.pid, threads=5)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    told = re.search(r"interrupted: (\d+) of 100000 runs", err)
    assert told is not None, err
    if command == "sweep":
        with Store(out) as store:
            assert store.count() == int(told[1])


def test_sigterm_ends_a_command_that_ignores_ctrl_c() -> None:
    """As commands do that a shell script starts in the background."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with pytest.raises(SystemExit) as left:
            guarded(lambda: signal.raise_signal(signal.SIGTERM))
    finally:
        signal.signal(signal.SIGINT, before)
    assert left.value.code == 130


def test_a_stopped_sweep_counts_the_runs_in_the_store(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = wifair.Scenario.from_file(file)
    compute([(scenario, seed) for seed in range(1, 15)], tmp_path / "out")

    def full(*_: object) -> None:
        raise wifair.StoppedError("the disk is full")

    monkeypatch.setattr(Store, "record", full)
    answer = CliRunner().invoke(main, ["sweep", str(file), "--seeds", "1..300", "--out", str(tmp_path / "out")])
    assert answer.exit_code == 1
    assert "14 of 300 runs are in" in answer.stderr


class Cluster:
    """A Dask client whose workers go away, and come back after a while."""

    status = "running"

    def __init__(self, back_after: int) -> None:
        self._client = self
        self.asked = 0
        self.back_after = back_after
        self.submitted = 0

    def ncores(self) -> dict[str, int]:
        self.asked += 1
        return {"a": 2} if self.asked < 2 or self.asked > self.back_after else {}

    def submit(self, function: Any, *arguments: Any) -> Future[Any]:
        self.submitted += 1
        future: Future[Any] = Future()
        if self.submitted <= 2:  # these are lost with their workers
            future.cancel()
            future.set_running_or_notify_cancel()
        else:
            future.set_result(function(*arguments))
        return future


def test_workers_of_a_cluster_may_come_back(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "RETRY_S", 0.01)
    cluster: Any = Cluster(back_after=20)
    runs = [(wifair.Scenario.from_file(file), seed) for seed in range(1, 6)]
    assert len(compute(runs, tmp_path / "out", executor=cluster).figures) == 5
    monkeypatch.setattr(engines, "WORKERS_S", 0.2)
    gone: Any = Cluster(back_after=10**9)
    with pytest.raises(wifair.StoppedError, match="repeat the command to go on"):
        compute([(runs[0][0], seed) for seed in range(10, 20)], tmp_path / "out", executor=gone)


class Unreachable(Cluster):
    """A cluster whose scheduler does not answer for a while."""

    def ncores(self) -> dict[str, int]:
        workers = super().ncores()
        if not workers:
            raise OSError("timed out trying to connect")
        return workers


def test_an_unreachable_scheduler_counts_as_having_no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster: Any = Unreachable(back_after=10)
    engine = engines.Given(cluster)
    assert engine.slots == engines.UNKNOWN_SLOTS
    while cluster.asked < 10:
        assert engine.slots == engines.UNKNOWN_SLOTS
    assert engine.slots == engines.UNKNOWN_SLOTS
    gone: Any = Unreachable(back_after=10**9)
    engine = engines.Given(gone)
    monkeypatch.setattr(engines, "WORKERS_S", 0.05)
    assert [engine.slots for _ in range(2)] == [engines.UNKNOWN_SLOTS] * 2  # the second one misses the workers
    time.sleep(0.1)
    with pytest.raises(wifair.StoppedError, match="repeat the command to go on"):
        assert engine.slots


def test_a_scheduler_that_disappears_while_workers_are_awaited(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Client(Cluster):
        def __init__(self, *_: object, **__: object) -> None:
            super().__init__(0)

        def __enter__(self) -> Client:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def wait_for_workers(self, count: int, timeout: float) -> None:
            raise OSError(f"timed out for {count} after {timeout}")

    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(Client=Client))
    answer = CliRunner().invoke(main, ["sweep", str(file), "--out", str(tmp_path / "out"), "--dask", "tcp://x:1"])
    assert answer.exit_code == 1, answer.output
    assert "error: lost the Dask scheduler at `tcp://x:1`: timed out" in answer.stderr


def test_the_signal_handler_is_restored() -> None:
    before = signal.getsignal(signal.SIGTERM)
    CliRunner().invoke(main, ["list", "cc"])
    assert signal.getsignal(signal.SIGTERM) is before
    assert os.getpid() > 0


GRID = """
[space]
[[stations]]
name = "sta"
count = 10000
layout = "grid"
grid.spacing = "100 m"
[[flows]]
name = "far"
from = "sta1"
to = "sta10000"
"""
CELL = """
[[servers]]
name = "server"
[[stations]]
name = "sta"
count = 100000
[[flows]]
name = "up"
station = "sta"
"""


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.alone
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc")
@pytest.mark.parametrize(("rest", "at_s"), [(GRID, 0.8), (GRID, 2.5), (CELL, 1.5)])
def test_ctrl_c_ends_a_run_that_is_still_being_set_up(tmp_path: Path, rest: str, at_s: float) -> None:
    """Set-up takes seconds. A second of CPU time is enough to end it, even if other programs take most of the
    processor.
    """
    file = tmp_path / "large.toml"
    file.write_text(f'duration = "1000 s"\nwlan.standard = "802.11g"\n{rest}')
    with started("run", file, "--quiet", "--yes") as process:
        while (before := cpu_s(process.pid)) < at_s:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        err = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert used.ru_utime + used.ru_stime - before < 1.0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize(
    "arguments", [["list"], ["run", "two.toml", "--json"], ["airtime", "--help"], ["--help"], ["--version"]]
)
def test_output_to_a_full_disk_is_one_clear_error(arguments: list[str], tmp_path: Path, text: str) -> None:
    (tmp_path / "two.toml").write_text(text)
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "wifair", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1:] == ["error: cannot write to standard output: no space left on device"]
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-"])
def test_a_closed_standard_stream_is_an_error_or_does_not_matter(closed: str, tmp_path: Path, text: str) -> None:
    """A file opened later must not get the number of the closed stream, or it would receive what is printed."""
    (tmp_path / "two.toml").write_text(text)
    line = f"{sys.executable} -m wifair run two.toml --seeds 1..2 --out out {closed}"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, cwd=tmp_path, check=False)
    if closed == ">&-":
        assert done.returncode == 2
        assert done.stderr == "error: standard output is closed: let it be a file, a pipe or /dev/null\n"
        assert not (tmp_path / "out").exists()
    else:
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        assert (tmp_path / "out" / "provenance.json").is_file()

"""A sweep on a Dask cluster of two workers, one of which may die."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import wifair
from wifair.sweeps import Store
from wifair.sweeps.query import ask, select

pytest.importorskip("distributed")

SWEEP = ["--vary", "stations.count=1..3", "--seeds", "1..20", "--quiet"]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[str]]]]:
    """Address of a scheduler, and two workers."""
    processes: list[subprocess.Popen[str]] = []

    def start(name: str, *arguments: str) -> Path:
        log = tmp_path / f"{name}.log"
        command = [sys.executable, "-m", "dask", *arguments, "--no-dashboard"]
        with log.open("w") as out:
            processes.append(subprocess.Popen(command, cwd=tmp_path, text=True, stdout=out, stderr=subprocess.STDOUT))
        return log

    try:
        scheduler = start("scheduler", "scheduler", "--host", "127.0.0.1", "--port", "0")
        address = wait_for(scheduler, r"(tcp://127\.0\.0\.1:\d+)")
        workers = [start(name, "worker", address, "--nthreads", "1", "--no-nanny", "--name", name) for name in "ab"]
        for worker in workers:
            wait_for(worker, "Registered to")
        yield address, processes[1:]
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()


def wait_for(log: Path, pattern: str) -> str:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if found := re.search(pattern, log.read_text()):
            return found[found.re.groups]
        time.sleep(0.1)
    raise AssertionError(log.read_text())


def csv(out: Path) -> tuple[str, str]:
    with Store(out, create=False) as store:
        return select(store).to_csv(), select(store, ask(store, table="flows")).to_csv()


@contextmanager
def sweep(file: Path, out: Path, address: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "wifair", "sweep", str(file), *SWEEP, "--out", str(out), "--dask", address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_cluster_gives_the_same_bytes(
    file: Path, tmp_path: Path, cluster: tuple[str, list[subprocess.Popen[str]]]
) -> None:
    wifair.sweep(file, vary={"stations.count": "1..3"}, seeds=range(1, 21), out=tmp_path / "threads")
    with sweep(file, tmp_path / "cluster", cluster[0]) as process:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
    assert csv(tmp_path / "cluster") == csv(tmp_path / "threads")


@pytest.mark.slow
def test_a_worker_of_the_cluster_dies(
    file: Path, tmp_path: Path, cluster: tuple[str, list[subprocess.Popen[str]]]
) -> None:
    file.write_text(file.read_text().replace('duration = "3 s"', 'duration = "100 s"'))
    address, workers = cluster
    with sweep(file, tmp_path / "cluster", address) as process:
        while not (tmp_path / "cluster" / "runs.sqlite").exists():
            time.sleep(0.05)
        with Store(tmp_path / "cluster") as store:
            while store.count() < 10:
                time.sleep(0.01)
        os.kill(workers[0].pid, signal.SIGKILL)
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
    wifair.sweep(file, vary={"stations.count": "1..3"}, seeds=range(1, 21), out=tmp_path / "threads")
    assert csv(tmp_path / "cluster") == csv(tmp_path / "threads")


@pytest.mark.slow
def test_no_cluster_there(file: Path, tmp_path: Path) -> None:
    with sweep(file, tmp_path / "out", "tcp://127.0.0.1:9") as process:
        _, err = process.communicate(timeout=60)
        assert process.returncode == 2
    assert "cannot reach a Dask scheduler at `tcp://127.0.0.1:9`" in err
    assert "Traceback" not in err
    assert not (tmp_path / "out").exists()

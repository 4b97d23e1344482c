"""Stores of many runs answer in seconds and with little memory."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest
import wifair
from wifair import _core
from wifair.sweeps import Key, Store
from wifair.sweeps import _task as task
from wifair.sweeps.store import Kept, Label

SEEDS = 100
SECONDS = 15.0
"""Of CPU time: the computer may be busy with other things."""
MEGABYTES = 300
"""Python with NumPy, Matplotlib and pyarrow takes 150."""


def fill(out: Path, scenario: wifair.Scenario, runs: int) -> None:
    """Store one result as those of many points and seeds."""
    computed = task.simulate(scenario, 1, ["flows"], None, _core.Control())
    points: list[tuple[str, dict[str, Label]]] = [
        (
            hashlib.sha256(f"{n}".encode()).hexdigest(),
            {"stations.count": 1 + n % 4, "ap.queue.limit": f"{n // 4} packets"},
        )
        for n in range(runs // SEEDS)
    ]
    with Store(out) as store:
        store.add_points(points)
        for name, _ in points:
            store.record([(Key(name, seed), computed) for seed in range(1, SEEDS + 1)], [Kept("flows")])


def peak(*arguments: str | Path) -> tuple[float, float]:
    """CPU time [s] and most memory [MB] of a command."""
    # A process inherits the peak memory of the process that starts it, so a small one starts it.
    code = """
import resource, subprocess, sys
subprocess.run([sys.executable, *sys.argv[1:]], stdout=subprocess.DEVNULL, check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
"""
    command = [sys.executable, "-c", code, "-m", "wifair", *map(str, arguments)]
    took_s, memory = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(took_s), float(memory) / (1024 * 1024 if sys.platform == "darwin" else 1024)


@pytest.mark.parametrize("runs", [2_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_large_stores_answer_in_seconds(file: Path, tmp_path: Path, runs: int) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("pyarrow")
    out, table = tmp_path / "out", tmp_path / "runs.csv"
    fill(out, wifair.Scenario.from_file(file), runs)
    for arguments in (
        [],
        ["--where", "count>=2", "--group", "count"],
        ["--x", "ap.queue.limit", "--y", "goodput_bps", "--by", "count", "--figure", tmp_path / "figure.png"],
        ["--csv", table],
        ["--table", "flows", "--parquet", tmp_path / "flows.parquet"],
    ):
        took_s, memory_mb = peak("results", out, *arguments)
        assert took_s < SECONDS, arguments
        assert memory_mb < MEGABYTES, arguments
    with table.open() as lines:
        assert sum(1 for _ in lines) == 1 + runs

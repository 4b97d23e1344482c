"""What a sweep costs besides its runs, what a second core brings, and how long large stores take to answer.

`python benches/sweep.py [runs] [cores] [store]`: all three by default. Times are wall-clock times, except where CPU is
said.
"""

from __future__ import annotations

import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import wifair
from wifair.sweeps import Progress

SCENARIO = wifair.Scenario.from_file(Path(__file__).parent / "scenarios" / "uploads_ns2.toml")
ROUNDS = 5
RUNS = 200
MANY = 100_000


@dataclass
class Cost:
    """What a piece of work took."""

    wall_s: float
    """Wall-clock time."""
    cpu_s: float
    """CPU time."""
    wanted: float = math.nan
    """Mean number of threads that ran or, on a busy computer, waited for a core; NaN where the system does not say."""


def wanted_s() -> dict[str, float]:
    """Time that each thread of this process ran or waited for a core [s], where the system says so."""
    times = {}
    for file in Path("/proc/self/task").glob("*/schedstat"):
        with suppress(OSError):
            ran_ns, waited_ns, _ = file.read_text().split()
            times[file.parent.name] = (int(ran_ns) + int(waited_ns)) / 1e9
    return times


def spent(work: Callable[[], object]) -> Cost:
    """Measure."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Cost(time.perf_counter() - wall, time.process_time() - cpu)


def swept(folder: str, scenario: wifair.Scenario, threads: int, runs: int = RUNS) -> Cost:
    """Measure a sweep into a new store."""
    before, latest = wanted_s(), {}

    def look(progress: Progress) -> None:
        if progress.done == progress.total:
            latest.update(wanted_s())

    with tempfile.TemporaryDirectory(dir=folder) as out:
        cost = spent(
            lambda: wifair.sweep(scenario, seeds=range(1, runs + 1), out=f"{out}/store", threads=threads, progress=look)
        )
    if latest:
        cost.wanted = sum(value - before.get(thread, 0.0) for thread, value in latest.items()) / cost.wall_s
    return cost


def bench_runs(folder: str) -> None:
    """Overhead: a sweep of almost empty runs on one thread, less the same runs in a loop, alternately."""
    empty = SCENARIO.with_({"duration": "100 ms", "warm_up": "0 s"})
    runs = 5 * RUNS

    def loop() -> None:
        for seed in range(1, runs + 1):
            empty._core.run(seed, None, wifair._core.Control())

    walls, cpus = [], []
    for _ in range(ROUNDS):
        alone, whole = spent(loop), swept(folder, empty, 1, runs)
        walls.append((whole.wall_s - alone.wall_s) / runs * 1e3)
        cpus.append((whole.cpu_s - alone.cpu_s) / runs * 1e3)
    print(f"overhead of a run, {runs} runs of {empty.duration_s} s on one thread, {ROUNDS} rounds:")
    for what, values in (("CPU", cpus), ("wall", walls)):
        print(f"  {what:<5} {statistics.median(values):.2f} ms ({min(values):.2f} to {max(values):.2f})")


def bench_cores(folder: str) -> None:
    """Throughput on two cores by that on one, alternately.

    On a busy computer two threads do not get two cores. What they would do with them follows from the CPU time of a run
    and the number of threads that wanted to run all the time: `possible`.
    """
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise SystemExit("error: there is one core only")
    short = SCENARIO.with_({"duration": "100 s"})
    ratios, possible = [], []
    print(f"two cores by one, {RUNS} runs of {short.duration_s} s:")
    for _ in range(ROUNDS):
        os.sched_setaffinity(0, cores[:1])
        one = swept(folder, short, 1)
        os.sched_setaffinity(0, cores)
        two = swept(folder, short, 2)
        ratios.append(one.wall_s / two.wall_s)
        possible.append(min(two.wanted, 2) / two.cpu_s / (min(one.wanted, 1) / one.cpu_s))
        print(
            f"  {RUNS / one.wall_s:5.1f} and {RUNS / two.wall_s:5.1f} runs/s: {ratios[-1]:.2f} times, "
            f"{possible[-1]:.2f} possible; CPU {one.cpu_s / RUNS * 1e3:.1f} and {two.cpu_s / RUNS * 1e3:.1f} ms a run, "
            f"{one.cpu_s / one.wall_s:.2f} of {one.wanted:.2f} and {two.cpu_s / two.wall_s:.2f} of {two.wanted:.2f} "
            f"cores got; load {os.getloadavg()[0]:.1f}"
        )
    print(f"  median {statistics.median(ratios):.2f} times, {statistics.median(possible):.2f} possible")


def bench_store(folder: str) -> None:
    """A sweep of many runs, and questions to its store, each as a process of its own with its peak of memory."""
    empty = SCENARIO.with_({"duration": "50 ms", "warm_up": "0 s"})
    out = f"{folder}/store"
    vary: dict[str, str] = {"stations.count": "1..4", "ap.queue.limit": "1..250 packets"}
    cost = spent(lambda: wifair.sweep(empty, vary=vary, seeds=range(1, MANY // 1000 + 1), out=out, threads=2))
    size = sum(path.stat().st_size for path in Path(out).iterdir()) / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{MANY:,} runs: {cost.wall_s:.0f} s ({cost.cpu_s:.0f} s CPU), {size:.0f} MB on disk, {peak:.0f} MB of memory"
    )
    figure = ["--x", "ap.queue.limit", "--y", "goodput_bps", "--by", "count", "--plot", f"{folder}/figure.png"]
    for what, arguments in {
        "table": [],
        "filter and group": ["--where", "count>=2", "--where", "seed<=50", "--group", "count"],
        "plot": figure,
        "CSV": ["--csv", f"{folder}/runs.csv"],
        "Parquet": ["--parquet", f"{folder}/runs.parquet"],
        "flows as Parquet": ["--table", "flows", "--parquet", f"{folder}/flows.parquet"],
    }.items():
        command = [sys.executable, "-m", "wifair", "results", out, *arguments]
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, command
        print(f"  {what:<17} {time.perf_counter() - began:5.1f} s, {usage.ru_maxrss / 1024:5.0f} MB")


def main() -> None:
    """Do what the command line says."""
    benches = {"runs": bench_runs, "cores": bench_cores, "store": bench_store}
    for name in sys.argv[1:] or list(benches):
        with tempfile.TemporaryDirectory() as folder:
            benches[name](folder)


if __name__ == "__main__":
    main()

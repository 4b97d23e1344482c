"""Simulated seconds per CPU second: wifair beside ns-2 and ns-3, where these are installed, on the same scenarios.

`python benches/bench.py [--rounds N] [NAME ...]` runs the programs in turn, so that what else the machine does meets
all of them, and writes `results.md`. CPU time is that of the whole process, start-up included.
"""

from __future__ import annotations

import datetime
import os
import platform
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
RESULTS = HERE / "results.md"


class Case(NamedTuple):
    """A scenario, and how long each program simulates it."""

    name: str
    file: str
    overrides: tuple[str, ...] = ()
    seconds: int = 10_000
    ns2: tuple[str, ...] = ()
    ns2_seconds: int = 200
    ns3: tuple[str, ...] = ()
    ns3_seconds: int = 10
    goal: str = ""


def uploads(stations: int, ns2_seconds: int, ns3_seconds: int, goal: str) -> Case:
    """NewReno uploads over 802.11b."""
    name = f"802.11b, {stations} NewReno uploads"
    tcl = ("uploads.tcl", str(stations)) if ns2_seconds else ()
    program = ("uploads", str(stations)) if ns3_seconds else ()
    overrides = (f"stations.count={stations}",)
    return Case(name, "scenarios/uploads_ns2.toml", overrides, 20_000, tcl, ns2_seconds, program, ns3_seconds, goal)


def aggregates(name: str, file: str, overrides: tuple[str, ...], seconds: int, ns3: str, stations: int) -> Case:
    """Uploads over 802.11n or ax, 500 times as fast as ns-3."""
    return Case(name, file, overrides, seconds, ns3=(ns3, str(stations)), ns3_seconds=6, goal="500 x ns-3")


def high_speed(cc: str, buffer: int) -> Case:
    """One of the runs of oda2012, Fig. 8: 100 s, which shall take at most 10 s of CPU time and 150 MB."""
    overrides = (f'tcp.cc="{cc}"', f'links.queue.limit="{buffer} packets"')
    return Case(f"10 Gb/s, 220 ms, {cc}, {buffer:,} packets", "scenarios/high_speed.toml", overrides, 100, goal="10")


N = 'wlan.standard="802.11n"'
AX80 = ('wlan.standard="802.11ax"', "wlan.width=80", 'flows.udp.rate="83 Mb/s"')

CASES = [
    uploads(8, 200, 20, "10,000"),
    uploads(50, 100, 4, "10,000"),
    uploads(200, 40, 2, "10,000"),
    uploads(1000, 0, 0, "8,000"),
    Case(
        "802.11g, 20 saturated UDP uploads",
        "scenarios/saturated.toml",
        ns3=("saturated", "20"),
        ns3_seconds=5,
        goal="4,000",
    ),
    Case("chain of 5 nodes", "scenarios/chain.toml", ns2=("chain.tcl",), goal="50 x ns-2"),
    Case(
        "200 stations in 10 overlapping cells",
        "scenarios/cells.toml",
        seconds=100,
        ns3=("cells", "200"),
        ns3_seconds=1,
        goal="500 x ns-3",
    ),
    aggregates("802.11n, 4 CUBIC uploads", "scenarios/aggregates-tcp.toml", (N,), 3_000, "tcp-n", 4),
    aggregates("802.11ax, 4 CUBIC uploads", "scenarios/aggregates-tcp.toml", (), 2_000, "tcp-ax", 4),
    aggregates("802.11n, 10 saturated UDP uploads", "scenarios/aggregates.toml", (), 10_000, "udp-n", 10),
    aggregates("802.11ax, 80 MHz, 10 saturated UDP uploads", "scenarios/aggregates.toml", AX80, 3_000, "udp-ax80", 10),
    *(high_speed(cc, buffer) for cc in ("compound", "compound-plus") for buffer in (18_333, 91_667, 183_333)),
]


class Used(NamedTuple):
    """What a process used, and the goodput [Mb/s] that it found."""

    cpu_s: float
    memory_mb: float
    goodput_mbps: float


def run(command: list[str], pattern: str) -> Used:
    """Run a command in a process of its own; `pattern` finds the goodput in what it prints."""
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise SystemExit(f"error: `{' '.join(command)}` failed with exit code {process.returncode}")
        out.seek(0)
        found = re.search(pattern, out.read(), re.MULTILINE)
    assert found is not None, pattern
    scale = 1024 if sys.platform != "darwin" else 1024**2
    return Used(
        usage.ru_utime + usage.ru_stime, usage.ru_maxrss / scale, float(found[1]) * (1000 if "Gb/s" in found[0] else 1)
    )


@cache
def ns3_program() -> str | None:
    """`ns3.cc`, compiled with the ns-3 of the wheel `ns3`, where that and g++ are there."""
    try:
        ns3 = Path(str(distribution("ns3").locate_file("ns3")))
    except PackageNotFoundError:
        return None
    compiler = shutil.which("g++")
    if compiler is None:
        return None
    program = HERE.parent / "target" / "ns3"
    libraries = [f"-l{file.stem.removeprefix('lib')}" for file in sorted(ns3.glob("lib64/libns3.*.so"))]
    command = [compiler, "-std=c++20", "-O3", f"-I{ns3}/include", str(HERE / "ns3.cc"), "-o", str(program)]
    command += [f"-L{ns3}/lib64", f"-Wl,-rpath,{ns3}/lib64", "-Wl,--as-needed", *libraries]
    program.parent.mkdir(exist_ok=True)
    subprocess.run(command, check=True)
    return str(program)


def commands(case: Case) -> dict[str, tuple[list[str], str, int]]:
    """Commands by program, where in its output the goodput [Mb/s] stands, and how long it simulates."""
    wifair = [str(Path(sys.executable).parent / "wifair"), "run", str(HERE / case.file), "--quiet", "--seed", "1"]
    wifair += ["--duration", f"{case.seconds} s"]
    for override in case.overrides:
        wifair += ["--set", override]
    found: dict[str, tuple[list[str], str, int]] = {}
    found["wifair"] = (wifair, r"^goodput +([\d.]+) [GM]b/s$", case.seconds)
    if case.ns2 and (ns := shutil.which("ns")):
        script, *rest = case.ns2
        command = [ns, str(HERE / script), *rest, str(case.ns2_seconds)]
        found["ns-2"] = (command, r"^([\d.]+)$", case.ns2_seconds)
    if case.ns3 and (program := ns3_program()):
        found["ns-3"] = ([program, *case.ns3, str(case.ns3_seconds)], r"^([\d.]+)$", case.ns3_seconds)
    return found


def processor() -> str:
    """The name of the processor, as far as the system tells."""
    try:
        found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else platform.processor() or platform.machine()


def spread(values: list[float]) -> str:
    """Median, smallest and largest."""
    digits = 0 if statistics.median(values) >= 100 else 1 if statistics.median(values) >= 10 else 2
    low, middle, high = (f"{value:,.{digits}f}" for value in (min(values), statistics.median(values), max(values)))
    return f"{middle} ({low} to {high})"


def measure(case: Case, rounds: int) -> str:
    """A row of the table."""
    programs = commands(case)
    speeds: dict[str, list[float]] = {name: [] for name in programs}
    last: dict[str, Used] = {}
    for number in range(rounds):
        for name, (command, pattern, seconds) in programs.items():
            print(f"\r\033[K{case.name}, round {number + 1} of {rounds}: {name} ", end="", file=sys.stderr)
            last[name] = run(command, pattern)
            speeds[name].append(seconds / last[name].cpu_s)
    print("\r\033[K", end="", file=sys.stderr)
    cells = [case.name, spread(speeds["wifair"]), case.goal]
    for other in ("ns-2", "ns-3"):
        if other in speeds:
            ratios = [ours / theirs for ours, theirs in zip(speeds["wifair"], speeds[other], strict=True)]
            cells += [spread(speeds[other]), spread(ratios)]
        else:
            cells += ["-", "-"]
    cells += [" / ".join(f"{last[name].goodput_mbps:.2f}" for name in last), f"{last['wifair'].memory_mb:.0f}"]
    return "| " + " | ".join(cells) + " |"


def versions() -> str:
    """Programs and their versions."""
    wifair = subprocess.run(
        [str(Path(sys.executable).parent / "wifair"), "--version"], capture_output=True, text=True, check=True
    ).stdout.strip()
    found = [wifair.replace(", version", ""), f"Python {platform.python_version()}"]
    if rustc := shutil.which("rustc"):
        compiler = subprocess.run([rustc, "--version"], capture_output=True, text=True, check=True).stdout
        found.append(" ".join(compiler.split()[:2]))
    if shutil.which("ns"):
        found.append("ns-2 2.35 (Debian package ns2)")
    if ns3_program():
        found.append(f"ns-3 {version('ns3')} (wheel ns3)")
    return ", ".join(found)


def main() -> None:
    """Measure all cases, or those whose name contains one of the arguments, and write them down."""
    arguments = sys.argv[1:]
    rounds = 5
    if "--rounds" in arguments:
        place = arguments.index("--rounds")
        rounds = int(arguments[place + 1])
        del arguments[place : place + 2]
    chosen = [case for case in CASES if not arguments or any(part in case.name for part in arguments)]
    load_before = os.getloadavg()[0]
    head = ["scenario", "wifair", "goal", "ns-2", "ratio", "ns-3", "ratio", "goodput [Mb/s]", "memory [MB]"]
    rows = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        print(row)
    for case in chosen:
        rows.append(measure(case, rounds))
        print(rows[-1], flush=True)
    if len(chosen) < len(CASES):
        return
    text = f"""# Speed

Simulated seconds per CPU second: median, smallest and largest of {rounds} rounds, in each of which the programs took
turns; ratios are those of the same round. CPU time is that of the whole process. Goodput is in the columns' order.

{chr(10).join(rows)}

{datetime.datetime.now(tz=datetime.UTC):%Y-%m-%d}. {processor()}, {os.cpu_count()} processors, load {load_before:.1f}
before and {os.getloadavg()[0]:.1f} after. {versions()}. Written by `make bench`.
"""
    RESULTS.write_text(text)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{RESULTS}: {children.ru_utime + children.ru_stime:.0f} s of CPU time", file=sys.stderr)


if __name__ == "__main__":
    main()

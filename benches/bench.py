"""Simulated seconds per CPU second: wifair, and ns-2 where it is installed, on the same scenario, alternately.

`python benches/bench.py [STATIONS ...]`: 8 by default. CPU time is that of the whole process, start-up included.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ROUNDS = 5
SECONDS = {"wifair": 10_000, "ns-2": 200}


def cpu_s(command: list[str], pattern: str) -> tuple[float, float]:
    """CPU time of a command, user and system [s], and the number that `pattern` finds in what it prints."""
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise SystemExit(f"error: `{' '.join(command)}` failed with exit code {process.returncode}")
        out.seek(0)
        found = re.search(pattern, out.read(), re.M)
    assert found is not None, pattern
    return usage.ru_utime + usage.ru_stime, float(found[1])


def commands(stations: int) -> dict[str, tuple[list[str], str]]:
    """Commands by program, and where in its output the goodput [Mb/s] stands."""
    wifair = [str(Path(sys.executable).parent / "wifair"), "run", str(HERE / "uploads.toml"), "--quiet"]
    wifair += ["--set", f"stations.count={stations}", "--duration", f"{SECONDS['wifair']} s"]
    found = {"wifair": (wifair, r"^goodput +([\d.]+) Mb/s$")}
    if ns := shutil.which("ns"):
        found["ns-2"] = ([ns, str(HERE / "uploads.tcl"), str(stations), str(SECONDS["ns-2"])], r"^([\d.]+)$")
    return found


def main() -> None:
    """Print medians and the median of the paired ratios."""
    for stations in map(int, sys.argv[1:] or ["8"]):
        programs = commands(stations)
        speeds: dict[str, list[float]] = {name: [] for name in programs}
        goodput = dict.fromkeys(programs, 0.0)
        for number in range(ROUNDS):
            for name, (command, pattern) in programs.items():
                print(f"\r{stations} stations, round {number + 1} of {ROUNDS}: {name} ", end="", file=sys.stderr)
                used, goodput[name] = cpu_s(command, pattern)
                speeds[name].append(SECONDS[name] / used)
        print("\r\033[K", end="", file=sys.stderr)
        print(f"802.11b, {stations} NewReno uploads, 1000-byte segments")
        for name, values in speeds.items():
            spread = f"{min(values):,.0f} to {max(values):,.0f}"
            median = statistics.median(values)
            print(f"  {name:<7} {median:>9,.0f} simulated s per CPU s ({spread}); {goodput[name]:.2f} Mb/s")
        if "ns-2" in speeds:
            ratios = [a / b for a, b in zip(speeds["wifair"], speeds["ns-2"])]
            print(f"  ratio   {statistics.median(ratios):>9,.0f}")
        else:
            print("  ns-2 is not installed (Debian package ns2)")


if __name__ == "__main__":
    main()

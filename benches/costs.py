"""What runs cost as they grow, for the tables of `docs/performance.md`: instructions, memory, CPU time.

`python benches/costs.py` prints all tables, `python benches/costs.py cells chain` those named. Instructions are counted
by callgrind as the difference of two runs that differ in duration, so that the start is left out. Memory is the peak of
the whole process, CPU time its user time.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable

from instructions import HERE, collected, count, release_example

PROGRAM = release_example("run")
COMMAND = [sys.executable, "-m", "wifair", "run", "--quiet", "--seed", "1"]
CATEGORIES = ("vo", "vi", "be", "bk")
DCF = ("aifsn=2", "cw_min=15", "cw_max=1023", 'txop="0 s"')


def between(file: str, short_s: float, long_s: float, *changes: str, payload: int | None = None) -> tuple[float, float]:
    """Instructions per frame or packet, and per simulated second, from the difference of two durations."""
    few, many = (count(PROGRAM, file, duration, payload, *changes) for duration in (short_s, long_s))
    added = many[0] - few[0]
    return added / (many[1] - few[1]), added / (long_s - short_s)


def used(command: list[str]) -> tuple[float, float]:
    """User time [s] and largest memory [MB] of a command."""
    # Not by `resource`: after vfork a child counts the memory of this program as its own.
    clock = ["/usr/bin/time", "--format=%U %M"]
    done = subprocess.run([*clock, *command], check=True, text=True, capture_output=True)
    seconds, kilobytes = done.stderr.split()[-2:]
    return float(seconds), float(kilobytes) / 1024


def scenario(name: str) -> str:
    """Path of a scenario of this folder."""
    return str(HERE / "scenarios" / name)


def whole(name: str, *changes: str) -> list[str]:
    """The command `wifair run` for a scenario with these changes."""
    return [*COMMAND, scenario(name), *(part for change in changes for part in ("--set", change))]


def print_memory(file: str, *changes: str) -> None:
    """Memory of a run, by the engine alone and by the command."""
    for name, command in (("engine", [PROGRAM, scenario(file), *changes]), ("command", whole(file, *changes))):
        print(f"memory, 200 stations, {name} | {used(command)[1]:.1f} MB", flush=True)


def uploads() -> None:
    """Uploads of many stations in one cell, and many flows of eight."""
    print("stations, one upload each | instructions per frame | million per simulated second | engine [MB]")
    for stations in (1, 8, 50, 200, 1000):
        change = f"stations.count={stations}"
        a_frame, a_second = between("uploads.toml", 5, 15, change)
        memory = used([PROGRAM, scenario("uploads.toml"), change])[1]
        print(f"{stations} | {a_frame:,.0f} | {a_second / 1e6:.2f} | {memory:.1f}")
    for flows in (1, 10, 100):
        print(f"{flows} uploads of each of eight | {between('uploads.toml', 5, 15, f'flows.count={flows}')[0]:,.0f}")
    print_memory("uploads.toml", "stations.count=200")
    a_second = between("uploads_ns2.toml", 5, 15)[1]
    print(f"eight uploads in ns-2's profile | million per simulated second | {a_second / 1e6:.2f}")


def chain() -> None:
    """Four transfers at the head of a chain, and ten cells."""
    print("nodes | spacing [m] | instructions per data frame")
    for nodes, spacing in ((5, 150), (20, 150), (100, 150), (100, 50), (100, 20), (100, 5)):
        changes = (f"stations.count={nodes}", f"stations.chain.spacing={spacing} m")
        plain = between("chain.toml", 5, 25, *changes)[0]
        print(f"{nodes} | {spacing} | {plain:,.0f}")
    print(f"210 in ten cells | | {between('cells.toml', 1, 2)[0]:,.0f}")


def fast() -> None:
    """One path over 10 Gb/s, by congestion control and buffer."""
    print("buffer [packets] | control | CPU time [s] | memory [MB]")
    for buffer in (18333, 91667, 183333):
        for control in ("compound", "compound-plus"):
            limit = f'links.queue.limit="{buffer} packets"'
            seconds, memory = used(whole("high_speed.toml", limit, f"tcp.cc={control}"))
            print(f"{buffer:,} | {control} | {seconds:.1f} | {memory:.0f}")
    print(f"instructions per packet | {between('high_speed.toml', 6, 10, payload=1460)[0]:,.0f}")


def records() -> None:
    """Eight uploads while records are written, the whole command."""
    kinds: dict[str, tuple[str, ...]] = {
        "none": (),
        "series, each 100 ms": ("--series", "--out", "out"),
        "series, each 10 ms": ("--series", "--series-step", "10 ms", "--out", "out"),
        "frames": ("--frames", "frames.csv"),
        "captures at air and hosts, 160 bytes a packet": ("--pcap", "pcap", "--pcap-snap", "160"),
        "captures of whole packets": ("--pcap", "pcap"),
    }
    print("records | million instructions per simulated second | relative to none")
    none = 0.0
    for name, options in kinds.items():
        counted = []
        for duration in (5, 25):
            with tempfile.TemporaryDirectory() as folder:
                command = [*whole("uploads.toml", f'duration="{duration} s"'), *options]
                counted.append(collected(command, folder)[0])
        added = (counted[1] - counted[0]) / 20
        none = none or added
        print(f"{name} | {added / 1e6:.2f} | {added / none:.1f}", flush=True)


def aggregates() -> None:
    """Saturated uploads of 200 stations of 802.11ax, queues of 1000 packets each; TCP with and without losses."""
    changes = ("wlan.standard=802.11ax", "stations.count=200")
    print("million instructions per simulated second | instructions per MPDU")
    a_packet, a_second = between("aggregates.toml", 5, 15, *changes, payload=1472)
    print(f"{a_second / 1e6:.1f} | {a_packet:,.0f}")
    print_memory("aggregates.toml", *changes, 'duration="10 s"')
    print("TCP | instructions per segment")
    for name, limits in (("with losses", ()), ("without", ('tcp.max_cwnd="200 packets"',))):
        print(f"{name} | {between('aggregates-tcp.toml', 5, 15, *limits, payload=1460)[0]:,.0f}", flush=True)


def categories() -> None:
    """TCP uploads over 802.11n without aggregates, by access categories."""
    best_effort = [f"flows.{name}.category=best-effort" for name in CATEGORIES]
    dcf = [f"wlan.edca.{name}.{change}" for name in CATEGORIES for change in DCF]
    print("parameters of the flows | instructions per frame, 8 stations | 1000 stations")
    for name, file, changes in (
        ("best effort, with those of DCF", "categories.toml", [*best_effort, *dcf]),
        ("four categories, each with those of DCF", "categories.toml", dcf),
        ("four categories of the standard", "categories.toml", []),
        ("plain DCF, 802.11b", "uploads.toml", []),
        ("plain DCF, 802.11g", "uploads.toml", ["wlan.standard=802.11g"]),
    ):
        groups = [f"stations.{group}.count" for group in CATEGORIES] if "categories" in file else ["stations.count"]
        few, many = (
            between(file, 5, 25, *changes, *(f"{group}={total // len(groups)}" for group in groups))[0]
            for total in (8, 1000)
        )
        print(f"{name} | {few:,.0f} | {many:,.0f}")


TABLES: dict[str, Callable[[], None]] = {
    table.__name__: table for table in (uploads, chain, fast, records, aggregates, categories)
}


def main() -> int:
    """Print the tables asked for."""
    names = sys.argv[1:] or list(TABLES)
    unknown = [name for name in names if name not in TABLES]
    if unknown:
        print(f"error: unknown table `{unknown[0]}`: there are {', '.join(TABLES)}", file=sys.stderr)
        return 2
    for name in names:
        print(f"\n{name}: {TABLES[name].__doc__}", flush=True)
        TABLES[name]()
    return 0


if __name__ == "__main__":
    sys.exit(main())

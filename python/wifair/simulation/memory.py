"""How much memory a run will take, and how much there is."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from wifair._output.words import general, size
from wifair.exceptions import TooLargeError
from wifair.scenario.scenario import Scenario

KEPT = 0.9
"""The part of the free memory that runs may take."""
MUCH_BYTES, MUCH_EVENTS, MUCH_SAMPLES = 1e9, 1e9, 1e7
"""Before runs that take more of one of these, a line on standard error says so."""
ENDLESS_EVENTS, LARGEST_BYTES = 1e12, 1e15
"""Estimates above these are not told apart: no figure would mean anything."""
NO_LIMIT = 1 << 60
"""A larger limit means that there is none: control groups then give a number close to 2**63."""


class Part(NamedTuple):
    """Something that takes memory in a run."""

    what: str
    number: float
    bytes: float
    key: str
    """The key that it depends on most; empty if there is none."""
    value: str


class MemoryEstimate(NamedTuple):
    """What a run takes, estimated from its scenario: upper bounds of the right order of magnitude."""

    packets: float
    events: float
    sessions: float
    samples: float
    parts: tuple[Part, ...]
    """What takes memory, the largest first."""

    @property
    def memory_bytes(self) -> float:
        """Memory of all parts."""
        return sum(part.bytes for part in self.parts)

    def __str__(self) -> str:
        if max(self.packets, self.events) >= ENDLESS_EVENTS:
            return (
                "more than a trillion events, for which a machine that does ten million a second takes more than a day"
            )
        counts = (("packets", self.packets), ("events", self.events), ("sessions", self.sessions))
        listed = [f"{_count(number)} {what}" for what, number in (*counts, ("samples", self.samples)) if number]
        return f"about {', '.join([*listed, f'{_bytes(self.memory_bytes)} of memory'])}"


def estimate(scenario: Scenario, *, step_ns: int | None = None, frames_ns: int | None = None) -> MemoryEstimate:
    """Estimate what a run of `scenario` takes, with samples `step_ns` apart and a record of frames over `frames_ns`."""
    *counts, parts = scenario._core.estimate(step_ns, frames_ns)
    packets, events, sessions, samples = counts
    together: dict[tuple[str, str, str], Part] = {}
    for part in map(Part._make, parts):  # one for each flow of a group
        before = together.get((part.what, part.key, part.value), part._replace(number=0.0, bytes=0.0))
        together[part.what, part.key, part.value] = part._replace(
            number=before.number + part.number, bytes=before.bytes + part.bytes
        )
    largest_first = sorted(together.values(), key=lambda part: -part.bytes)
    return MemoryEstimate(packets, events, sessions, samples, tuple(largest_first))


def check(found: MemoryEstimate, runs: int, *, remedy: str = "--yes") -> int:
    """Find out how many of `runs` runs fit into memory at the same time.

    Raises
    ------
    TooLargeError
        If not even one does. The message says what drives it.
    """
    free = free_memory()
    if free is None:
        return runs
    fit = int(KEPT * free / max(found.memory_bytes, 1.0))
    if fit >= 1:
        return min(runs, fit)
    lines = [f"a run needs {_about(found.memory_bytes)} of memory, and {size(free)} are free"]
    lines += [
        f"  {_bytes(part.bytes)} for {_count(part.number)} {part.what}: `{part.key}` is {part.value}"
        for part in found.parts[:3]
        if part.key and part.bytes > found.memory_bytes / 10
    ]
    lines.append(f"change that, shorten `duration`, or try it all the same with {remedy}")
    raise TooLargeError("\n".join(lines))


def announce(found: MemoryEstimate, runs: int, say: Callable[[str], object] | None = None) -> None:
    """Say beforehand what `runs` runs take, on standard error, if it is much."""
    if found.memory_bytes < MUCH_BYTES and found.events * runs < MUCH_EVENTS and found.samples * runs < MUCH_SAMPLES:
        return
    largest = found.parts[0] if found.parts and found.parts[0].key else None
    because = f", mostly because `{largest.key}` is {largest.value}" if largest else ""
    many = "a run takes" if runs == 1 else f"each of {runs:,} runs takes"
    line = f"{many} {found}{because}; Ctrl-C ends it with what has finished"
    (say or functools.partial(print, file=sys.stderr, flush=True))(line)


def for_each(runs: int) -> int | None:
    """Memory that each of `runs` runs at the same time may hold [B]; None where it is not known."""
    free = free_memory()
    return None if free is None else int(KEPT * free / max(runs, 1))


def free_memory() -> int | None:
    """Memory that this process may still take [B]: of the machine, its control group and its resource limits.

    None where the system does not say.
    """
    return min((free for free in (_of_machine(), *_of_groups(), *_of_limits()) if free is not None), default=None)


def _count(number: float) -> str:
    if number >= ENDLESS_EVENTS:
        return "more than a trillion"
    for unit, name in ((1e9, "billion"), (1e6, "million")):
        if number >= unit:
            return f"{general(number / unit)} {name}"
    return f"{float(f'{number:.3g}'):,.0f}"


def _about(number: float) -> str:
    return ("" if number >= LARGEST_BYTES else "about ") + _bytes(number)


def _bytes(number: float) -> str:
    return f"more than {size(LARGEST_BYTES)}" if number >= LARGEST_BYTES else size(number)


def _of_machine() -> int | None:
    for line in _lines(Path("/proc/meminfo")):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _of_groups() -> Iterator[int]:
    """Give the memory that the control groups leave (versions 1 and 2): that of this process, and those above it."""
    for line in _lines(Path("/proc/self/cgroup")):
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            root, limit, used = Path("/sys/fs/cgroup"), "memory.max", "memory.current"
        elif "memory" in controllers.split(","):
            root, limit, used = Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "memory.usage_in_bytes"
        else:
            continue
        own = root / path.strip("/")
        for folder in (own, *own.parents):
            if (most := _number(folder / limit)) is not None and most < NO_LIMIT:
                cached = _cached(folder / "memory.stat")
                yield max(most - (_number(folder / used) or 0) + cached, 0)
            if folder == root:
                break


def _cached(path: Path) -> int:
    """Memory that holds contents of files, which the system frees when it needs the memory."""
    return sum(int(value) for name, value in map(str.split, _lines(path)) if name == "inactive_file")


def _lines(path: Path) -> list[str]:
    """Read the lines of a file of the system; an empty list if there is no such file."""
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):  # "max" is none
        return None


def _of_limits() -> Iterator[int]:
    """Give what `ulimit -v` leaves."""
    try:
        import resource  # noqa: PLC0415
    except ImportError:
        return
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most != resource.RLIM_INFINITY:
        try:
            used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
        except OSError:
            used = 0
        yield max(most - used, 0)

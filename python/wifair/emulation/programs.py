"""Programs at the hosts of an emulation: started, watched, ended."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from wifair.emulation.namespaces import Namespaces

__all__ = ["Command", "Programs"]

READY_S = 3.0
"""A command waits at most so long for the one before it to begin: to listen, to send a packet, or to end."""
GRACE_S = 1.0
"""From the polite request to end to the other one."""
LISTENING = "0A"
UNCONNECTED = "07"


@dataclass(frozen=True)
class Command:
    """A shell command at a host."""

    host: str
    text: str
    serves: bool = False
    """It has no end of its own: nobody waits for it."""


@dataclass
class _Program:
    command: Command
    index: int
    process: subprocess.Popen[bytes]
    status: int | None = None
    stopped: bool = field(default=False)
    """It was ended with the emulation."""


class Programs:
    """The programs of one emulation."""

    def __init__(self, namespaces: Namespaces, *, output: int | None) -> None:
        """`output` is the file descriptor of their standard output; that of this program, if None."""
        self._namespaces = namespaces
        self._output = output
        self._list: list[_Program] = []

    def start(self, command: Command, sent: Callable[[], list[int]], *, wait: bool = True) -> None:
        """Start a command, and wait until it has begun.

        Parameters
        ----------
        command : Command
            What to run.
        sent : callable
            Gives the packets that each host has sent so far.
        wait : bool, default True
            Whether to wait.
        """
        index = next(at for at, host in enumerate(self._namespaces.hosts) if host.name == command.host)

        def packets() -> int:
            counts = sent()  # none before the first
            return counts[index] if counts else 0

        before = packets()
        process = subprocess.Popen(
            self._namespaces.command(index, command.text),
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            start_new_session=True,
        )
        program = _Program(command, index, process)
        self._list.append(program)
        until = time.monotonic() + (READY_S if wait else 0.0)
        while time.monotonic() < until and process.poll() is None:
            if packets() > before or _serves(process.pid):
                break
            time.sleep(0.01)

    def poll(self) -> bool:
        """Whether all have ended that have an end, and there was one."""
        for program in self._list:
            if program.status is None:
                program.status = program.process.poll()
        running = [program for program in self._list if program.status is None]
        if len(running) == len(self._list):
            return False
        return all(program.command.serves or _serves(program.process.pid) for program in running)

    def stop(self) -> None:
        """End all that still run, with all their children."""
        running = [program for program in self._list if program.process.poll() is None]
        for signum in (signal.SIGTERM, signal.SIGKILL):
            for program in self._list:
                if program in running or signum == signal.SIGKILL:
                    with suppress(OSError):
                        os.killpg(program.process.pid, signum)
            until = time.monotonic() + GRACE_S
            while time.monotonic() < until and any(program.process.poll() is None for program in running):
                time.sleep(0.01)
        for program in self._list:
            program.stopped = program in running
            program.status = program.process.wait()

    def report(self) -> list[dict[str, Any]]:
        """Say how each ended: ``host``, ``command``, ``status`` (None if it was ended with the emulation)."""
        return [
            {
                "host": program.command.host,
                "command": program.command.text,
                "status": None if program.stopped else program.status,
            }
            for program in self._list
        ]


def _serves(session: int) -> bool:
    """Whether a process of this session waits for others: it listens at a port that was chosen, not drawn."""
    pids = list(_of_session(session))
    if not pids:
        return False
    inodes: set[str] = set()
    for pid in pids:
        with suppress(OSError):
            for descriptor in Path(f"/proc/{pid}/fd").iterdir():
                with suppress(OSError):
                    target = str(descriptor.readlink())
                    if target.startswith("socket:["):
                        inodes.add(target[8:-1])
    return bool(inodes) and not inodes.isdisjoint(_listening(pids[0]))


def _of_session(session: int) -> Iterable[int]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, IndexError, ValueError):
                fields = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
                if int(fields[3]) == session and fields[0] not in "ZX":
                    yield int(entry.name)


def _listening(pid: int) -> set[str]:
    """Inodes of sockets in the namespace of a process that wait for peers."""
    drawn = range(32768, 61000)
    with suppress(OSError, ValueError):
        low, high = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()
        drawn = range(int(low), int(high) + 1)
    found: set[str] = set()
    for table, state in (("tcp", LISTENING), ("tcp6", LISTENING), ("udp", UNCONNECTED), ("udp6", UNCONNECTED)):
        with suppress(OSError):
            for line in Path(f"/proc/{pid}/net/{table}").read_text(encoding="ascii").splitlines()[1:]:
                fields = line.split()
                port = int(fields[1].rpartition(":")[2], 16)
                if fields[3] == state and port not in drawn:
                    found.add(fields[9])
    return found

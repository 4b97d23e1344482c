"""Starts, watches and stops the programs at the hosts of an emulation."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wifair.emulation.namespaces import Namespaces, process_stat

READY_S = 3.0
"""How long a command waits at most for the previous one to listen, to send a packet, or to end [s]."""
GRACE_S = 1.0
"""Time from SIGTERM to SIGKILL [s]."""
LISTENING = "0A"
UNCONNECTED = "07"


@dataclass(frozen=True)
class Command:
    """A shell command at a host."""

    host: str
    text: str
    serves: bool = False
    """Whether it is a server, which does not end by itself and is not waited for."""


@dataclass
class _Program:
    command: Command
    index: int
    process: subprocess.Popen[bytes]
    status: int | None = None
    stopped: bool = False
    """Whether it was stopped at the end of the emulation."""


class Programs:
    """The programs of one emulation."""

    def __init__(self, namespaces: Namespaces, *, output: int | None) -> None:
        """Prepare to run programs, with the file descriptor `output` as standard output, or that of this program."""
        self._namespaces = namespaces
        self._output = output
        self._list: list[_Program] = []

    def start(self, command: Command, sent: Callable[[], list[int]], *, wait: bool = True) -> None:
        """Start a command, and wait until it listens, sends a packet, or ends.

        Parameters
        ----------
        command : Command
            What to run.
        sent : callable
            Returns the number of packets that each host has sent so far.
        wait : bool, default True
            Whether to wait.
        """
        index = next(at for at, host in enumerate(self._namespaces.hosts) if host.name == command.host)

        def packets() -> int:
            counts = sent()  # empty at first
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
        """Whether at least one program has ended, and all that still run are servers."""
        for program in self._list:
            if program.status is None:
                program.status = program.process.poll()
        running = [program for program in self._list if program.status is None]
        if len(running) == len(self._list):
            return False
        return all(program.command.serves or _serves(program.process.pid) for program in running)

    def stop(self) -> None:
        """Stop all programs that still run, with their children."""
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
        """Report how each ended: ``host``, ``command``, ``status`` (None if it was stopped with the emulation)."""
        return [
            {
                "host": program.command.host,
                "command": program.command.text,
                "status": None if program.stopped else program.status,
            }
            for program in self._list
        ]


def _serves(session: int) -> bool:
    """Whether a process of this session is a server: it listens on a port outside the ephemeral range."""
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
            fields = process_stat(int(entry.name))
            if fields is not None and int(fields[3]) == session:
                yield int(entry.name)


def _listening(pid: int) -> set[str]:
    """Inodes of listening TCP and unconnected UDP sockets, on chosen ports, in the network namespace of a process."""
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

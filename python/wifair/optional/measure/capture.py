"""Captures packets with tcpdump or dumpcap."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wifair.optional.measure.errors import MeasureError
from wifair.optional.measure.wireless import search_path

LARGEST = 256 << 20
"""The largest capture [bytes]; later packets are not captured."""
SNAPLEN = 128
"""Captured bytes of each packet: all headers, including IPv6 and SACK options."""
START_S = 5.0
SETTLE_S = 0.3
"""Time that packets may wait in the kernel's ring before they are written [s]."""


def tools() -> list[str]:
    """Paths of the programs that can capture, the best one first."""
    found = (shutil.which(name, path=search_path()) for name in ("tcpdump", "dumpcap"))
    return [program for program in found if program is not None]


class PortCapture:
    """A capture of some TCP and UDP ports on one interface."""

    def __init__(self, interface: str, host: str, ports: Sequence[int]) -> None:
        """`host` is the address of the server, whose `ports` are captured."""
        self.interface = interface
        self.filter = f"host {host} and (" + " or ".join(f"port {port}" for port in ports) + ")"
        self._folder = tempfile.TemporaryDirectory(prefix="wifair-")
        self.path = Path(self._folder.name) / "capture.pcap"
        self._process: asyncio.subprocess.Process | None = None
        self._said = b""
        self._listening = asyncio.Event()
        self._reader: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin; returns when packets are being captured.

        Raises
        ------
        MeasureError
            If there is no program, or it may not capture.
        """
        why = "neither tcpdump nor dumpcap is installed"
        for program in tools():
            # A program may fail because it drops its privileges; the other one may work.
            if await self._try(program):
                return
            await self._end()
            lines = self._said.decode("utf-8", "replace").strip().splitlines()
            why = lines[-1] if lines else f"no word from {program}"
        raise MeasureError(f"cannot capture: {why}")

    async def _try(self, program: str) -> bool:
        """Start a program; returns whether it captures."""
        if Path(program).name == "tcpdump":
            command = [program, "-i", self.interface, "-n", "-s", str(SNAPLEN), "-B", "8192", "--immediate-mode", "-U"]
            command += ["-Z", "root"] if os.geteuid() == 0 else []  # otherwise it may not write into our folder
            command += ["-w", str(self.path), self.filter]
        else:
            command = [program, "-i", self.interface, "-P", "-q", "-s", str(SNAPLEN), "-B", "8", "-w", str(self.path)]
            command += ["-a", f"filesize:{LARGEST // 1000}", "-f", self.filter]
        self._said, self._listening = b"", asyncio.Event()
        self._process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,  # Ctrl-C reaches only us, and we stop it
        )
        self._reader = asyncio.create_task(self._listen())
        listening = asyncio.create_task(self._listening.wait())
        await asyncio.wait({listening, self._reader}, timeout=START_S, return_when=asyncio.FIRST_COMPLETED)
        listening.cancel()
        return self._listening.is_set()

    async def _listen(self) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        while line := await self._process.stderr.readline():
            self._said = (self._said + line)[-4096:]
            if b"listening on" in line or line.startswith(b"File: "):
                self._listening.set()

    async def watch(self) -> None:
        """End the capture when it is too large."""
        while self._process is not None and self._process.returncode is None:
            await asyncio.sleep(1)
            with contextlib.suppress(OSError):
                if self.path.stat().st_size > LARGEST:
                    self._process.send_signal(signal.SIGINT)

    async def stop(self) -> dict[str, Any]:
        """End it; returns how many bytes were captured, and how many packets the kernel dropped."""
        if self._process is not None and self._process.returncode is None:
            await asyncio.sleep(SETTLE_S)
        await self._end()
        said = self._said.decode("utf-8", "replace")
        dropped = re.search(r"(\d+) packets? dropped by kernel", said) or re.search(
            r"dropped on interface.*?: \d+/(\d+)", said
        )
        size = self.path.stat().st_size if self.path.exists() else 0
        return {"size": size, "dropped": int(dropped.group(1)) if dropped else None}

    async def _end(self) -> None:
        process = self._process
        if process is None:
            return
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGINT)
            try:
                async with asyncio.timeout(5):
                    await process.wait()
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if self._reader is not None:
            await self._reader

    def close(self) -> None:
        """Remove the file."""
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
        self._folder.cleanup()

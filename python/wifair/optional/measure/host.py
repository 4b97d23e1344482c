"""The part of one host in a repetition: its ends of the flows, its radio, its capture."""

from __future__ import annotations

import asyncio
import contextlib
import platform
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from wifair._kernel_tcp import has_tcp_info, kernel_has
from wifair.optional.measure import capture as captures
from wifair.optional.measure.clock import now
from wifair.optional.measure.errors import MeasureError
from wifair.optional.measure.transfer import End
from wifair.optional.measure.wireless import Radio, RtsThreshold, interface_of

RADIO_STEP_S = 1.0
MOST_RADIO_SAMPLES = 600
SYSCTLS = ("tcp_congestion_control", "tcp_no_metrics_save", "tcp_rmem", "tcp_wmem", "tcp_sack", "tcp_timestamps")


class Host:
    """The part of this host in measurements, one repetition at a time."""

    def __init__(self, address: str, log: Callable[[str], object]) -> None:
        """`address` is the local address of the control connection; data uses the same interface."""
        self.address = address
        self.log = log
        self.interface = interface_of(address)
        self.radio = Radio(self.interface)
        self._rts: RtsThreshold | None = None
        if self.radio.present:
            try:
                self._rts = RtsThreshold(self.radio)
            except MeasureError as error:
                log(str(error))
        self._ends: list[End] = []
        self._capture: captures.PortCapture | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._radio_rows: list[dict[str, float]] = []
        self._over = threading.Event()
        self._origin_s = 0.0

    def about(self) -> dict[str, Any]:
        """Describe the host for the results."""
        about: dict[str, Any] = {
            "system": f"{platform.system()} {platform.release()} {platform.machine()}"[:120],
            "interface": self.interface or "",
            "wireless": self.radio.present,
        }
        for name in SYSCTLS:
            with contextlib.suppress(OSError):
                about[name] = Path(f"/proc/sys/net/ipv4/{name}").read_text(encoding="ascii").strip()[:100]
        return about

    async def check(self, *, ccs: Sequence[str], capture: bool, rts: bool) -> tuple[list[str], list[str]]:
        """Find problems that prevent a plan, and notes for the user, before anything is measured."""
        problems, notes = await asyncio.to_thread(self._check, ccs, rts)
        if capture:
            try:
                trial = self._new_capture(self.address, [1])
                try:
                    await trial.start()
                    await trial.stop()
                finally:
                    trial.close()
            except MeasureError as error:
                problems.append(str(error))
        return problems, notes

    def _new_capture(self, server: str, ports: Sequence[int]) -> captures.PortCapture:
        if self.interface is None:
            raise MeasureError(f"cannot capture: no interface has the address {self.address}")
        return captures.PortCapture(self.interface, server, ports)

    def _check(self, ccs: Sequence[str], rts: bool) -> tuple[list[str], list[str]]:
        problems, notes = [], []
        missing = [cc for cc in ccs if not kernel_has(cc)]
        if missing:
            has = "?"
            with contextlib.suppress(OSError):
                has = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text(encoding="ascii").strip()
            problems.append(f"the kernel has no congestion control `{'`, `'.join(missing)}`: it has {has}")
        if not self.radio.present:
            notes.append("not wireless: no signal levels, no RTS threshold")
        elif rts:
            try:
                if self._rts is not None:
                    self._rts.set(self.radio.rts_threshold() or 0)
                    self._rts.restore()
            except MeasureError as error:
                notes.append(f"{error}; figures are for the threshold it has")
                self._rts = None
        if not has_tcp_info():
            notes.append("this system has no TCP_INFO: no windows, round-trip times and retransmissions")
        elif self.about().get("tcp_no_metrics_save") == "0":
            notes.append("the kernel remembers windows of earlier connections: set net.ipv4.tcp_no_metrics_save=1")
        return problems, notes

    async def prepare(
        self, ends: Sequence[End], *, rts_threshold: int | None, capture: tuple[str, Sequence[int]] | None
    ) -> None:
        """Prepare a repetition: open connections, set the radio, start the capture.

        Raises
        ------
        MeasureError
            If that is not possible; `finish` must be called nevertheless.
        """
        self._ends = list(ends)
        self._over.clear()
        self._radio_rows = []
        if rts_threshold is not None and self._rts is not None:
            await asyncio.to_thread(self._rts.set, rts_threshold)
        if capture is not None:
            self._capture = self._new_capture(*capture)
            await self._capture.start()
            self._tasks.append(asyncio.create_task(self._capture.watch()))
        await self._look(None)
        for end in self._ends:
            threading.Thread(target=end.run, name="wifair flow", daemon=True).start()
        await asyncio.gather(*(asyncio.wrap_future(end.ready) for end in self._ends))

    def start(self, origin_s: float) -> None:
        """Start all flows at `origin_s` on this host's clock, each after its own delay."""
        self._origin_s = origin_s
        for end in self._ends:
            end.go(origin_s)
        threading.Thread(target=self._sample, args=(list(self._ends),), name="wifair samples", daemon=True).start()
        if self.radio.present:
            self._tasks.append(asyncio.create_task(self._watch_radio()))

    async def results(self) -> list[dict[str, Any]]:
        """Wait for the results of all ends, in order; the first failure ends the others.

        Raises
        ------
        MeasureError
            If a flow failed.
        """
        results = [asyncio.wrap_future(end.result) for end in self._ends]
        try:
            return list(await asyncio.gather(*results))
        except BaseException as error:
            self.stop(str(error) if isinstance(error, MeasureError) else "stopped")
            raise

    def stop(self, reason: str) -> None:
        """End all flows as soon as possible."""
        for end in self._ends:
            end.stop(reason)

    async def finish(self) -> dict[str, Any]:
        """Clean up after a repetition, failed or not. Returns the records of the radio and the capture."""
        self._over.set()
        self.stop("the repetition is over")
        self._ends = []
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        extra: dict[str, Any] = {}
        if self.radio.present:
            await self._look(now() - self._origin_s)
            extra["radio"] = self._radio_rows
        await asyncio.to_thread(self._restore)
        if self._capture is not None:
            extra["capture"] = await self._capture.stop()
        return extra

    def captured(self, offset: int, size: int) -> bytes:
        """Read a part of the capture; empty after its end."""
        if self._capture is None or not self._capture.path.exists():
            return b""
        with self._capture.path.open("rb") as file:
            file.seek(offset)
            return file.read(size)

    def forget_capture(self) -> None:
        """Remove the capture of the last repetition."""
        if self._capture is not None:
            self._capture.close()
            self._capture = None

    def close(self) -> None:
        """Restore the state of the host."""
        self._over.set()
        self.stop("the host leaves")
        self.forget_capture()
        self._restore()

    def _restore(self) -> None:
        if self._rts is not None:
            try:
                self._rts.restore()
            except MeasureError as error:
                self.log(str(error))

    def _sample(self, ends: list[End]) -> None:
        """Sample the state of all connections until the repetition is over."""
        step_s = min((end.series.step_s for end in ends), default=1.0)
        time_s = self._origin_s
        while not self._over.is_set():
            left = time_s - now()
            if left > 0:
                time.sleep(min(left, 0.25))
                continue
            working = [end for end in ends if not end.result.done()]
            if not working:
                return
            for end in working:
                end.sample()
            time_s += step_s * max(1, int((now() - time_s) / step_s) + 1)

    async def _look(self, time_s: float | None) -> None:
        """Record the figures of the radio; `time_s` is None before the start."""
        if self.radio.present and len(self._radio_rows) < MOST_RADIO_SAMPLES:
            figures = await asyncio.to_thread(self.radio.snapshot)
            self._radio_rows.append({"time_s": round(time_s, 3) if time_s is not None else -1.0, **figures})

    async def _watch_radio(self) -> None:
        while True:
            await asyncio.sleep(RADIO_STEP_S)
            await self._look(now() - self._origin_s)

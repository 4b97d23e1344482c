"""`wifair measure run`: executes a plan, one repetition after another, and stores the results."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wifair._core import __version__
from wifair._output.files import below
from wifair._output.words import reason
from wifair.optional.measure import fields
from wifair.optional.measure.clock import now
from wifair.optional.measure.errors import MeasureError, ProtocolError
from wifair.optional.measure.journal import Journal
from wifair.optional.measure.plan import Plan
from wifair.optional.measure.server import Timing
from wifair.optional.measure.station import connect
from wifair.optional.measure.wire import Channel

ATTEMPTS = 2
"""How often a repetition is tried before it has failed."""
LARGEST_CAPTURE = 300 << 20
CAPTURES = "captures"
"""The folder of captures in that of a measurement."""


def slug(name: str) -> str:
    """Convert a name to a part of a file name."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-.")[:80] or "case"


@dataclass
class Coordinator:
    """Executes a plan."""

    plan: Plan
    journal: Journal
    folder: Path
    capture: bool = False
    wait_s: float = 60.0
    """How long to wait for missing stations [s]."""
    cases: Sequence[int] | None = None
    """Indices of the cases to run; all if None."""
    timing: Timing = field(default_factory=Timing)
    log: Callable[[str], object] = lambda _: None
    ask: Callable[[str], Awaitable[None]] | None = None
    """Called when the stations must be moved; returns when they have been."""
    progress: Callable[[int, int, str], object] = lambda _done, _all, _what: None

    async def run(self, secret: bytes, host: str, port: int, name: str) -> bool:
        """Execute the repetitions that are not in the journal. Returns whether every one has a result.

        Raises
        ------
        MeasureError
            If the plan cannot go on: the text says why. What was finished is in the journal.
        """
        channel = await connect(secret, host, port, role="coordinator", name=name)
        talk = _Talk(channel, self.timing)
        try:
            await talk.ask(self.plan.task(capture=self.capture), "planned")
            await self._check(talk)
            return await self._all(talk)
        except ConnectionError as error:
            raise MeasureError(f"lost the server: {error}; go on with --resume") from None
        except ProtocolError as error:
            raise MeasureError(f"the server makes no sense: {error}") from None
        finally:
            await talk.close()

    async def _check(self, talk: _Talk) -> None:
        """Check all hosts, and wait for missing stations."""
        wanted = self._wanted_stations()
        patience_s = now() + self.wait_s
        said: set[str] = set()
        while True:
            answer = await talk.ask({"type": "check"}, "checked")
            missing = [name for name in fields.texts(answer, "missing", most=1000) if name in wanted]
            problems = fields.texts(answer, "problems", most=1000)
            if problems:
                raise MeasureError("; ".join(problems))
            if not missing:
                break
            names = ", ".join(f"`{name}`" for name in missing)
            if now() > patience_s:
                raise MeasureError(f"not there: {names}; run `wifair measure join HOST --name NAME` on each")
            if names not in said:
                said.add(names)
                self.log(f"waiting for {names}: run `wifair measure join HOST --name NAME` there")
            await asyncio.sleep(1.0)
        notes = fields.texts(answer, "notes", most=1000)
        said_by: dict[str, list[str]] = {}
        for note in notes:
            host, _, rest = note.partition(": ")
            said_by.setdefault(rest, []).append(host)
        for note, who in said_by.items():
            more = f" and {len(who) - 5} more" if len(who) > 5 else ""
            self.log(f"{', '.join(who[:5])}{more}: {note}")
        self.journal.add({"kind": "hosts", "hosts": fields.table(answer, "hosts"), "notes": notes})

    def _wanted_stations(self) -> set[str]:
        indices = self.cases if self.cases is not None else range(len(self.plan.cases))
        return {flow.station for index in indices for flow in self.plan.cases[index].flows}

    async def _all(self, talk: _Talk) -> bool:
        done = {(row["case"], row["repetition"]) for row in self.journal.rows if row.get("kind") == "repetition"}
        wanted = [pair for pair in self.plan.schedule() if self.cases is None or pair[0] in self.cases]
        todo = [pair for pair in wanted if pair not in done]
        if len(todo) < len(wanted):
            self.log(f"{len(wanted) - len(todo)} of {len(wanted)} repetitions are there already")
        place = None
        failed = []
        for number, (case, repetition) in enumerate(todo):
            here = self.plan.cases[case]
            if here.place != place:
                if self.ask is not None and here.place:
                    await talk.meanwhile(self.ask(here.place))
                place = here.place
            elif self.plan.pause_s > 0:
                await talk.meanwhile(asyncio.sleep(self.plan.pause_s))
            self.progress(number, len(todo), f"{here.name}, {repetition} of {self.plan.repetitions}")
            if not await self._one(talk, case, repetition):
                failed.append((case, repetition))
        self.progress(len(todo), len(todo), "")
        if failed:
            self.log(f"{len(failed)} of {len(todo)} repetitions failed: run the same with --resume to repeat them")
        return not failed

    async def _one(self, talk: _Talk, case: int, repetition: int) -> bool:
        """Execute a repetition, and try again if it fails."""
        for attempt in range(1, ATTEMPTS + 1):
            row, why = await self._attempt(talk, case, repetition)
            if row is not None:
                self.journal.add(row)
                return True
            name = self.plan.cases[case].name
            self.log(f"{name}, repetition {repetition}: {why}")
            self.journal.add(
                {"kind": "failed", "case": case, "repetition": repetition, "attempt": attempt, "reason": why}
            )
            if attempt < ATTEMPTS and not await self._all_there(talk, case):
                return False
        return False

    async def _all_there(self, talk: _Talk, case: int) -> bool:
        """Whether the stations of a case are present, or return in time."""
        wanted = {flow.station for flow in self.plan.cases[case].flows}
        patience_s = now() + min(self.wait_s, 30.0)
        while True:
            answer = await talk.ask({"type": "check"}, "checked")
            if not wanted & set(fields.texts(answer, "missing", most=1000)):
                return True
            if now() > patience_s:
                return False
            await asyncio.sleep(0.5)

    async def _attempt(self, talk: _Talk, case: int, repetition: int) -> tuple[dict[str, Any] | None, str]:
        """Try a repetition. Returns the row for the journal, or None and the reason of the failure."""
        patience_s = self.plan.timeout_s + self.timing.prepare_s + 2 * self.timing.grace_s + 30
        await talk.send({"type": "run", "case": case})
        flows: dict[str, Any] = {}
        hosts: dict[str, Any] = {}
        while True:
            message = await talk.next(patience_s)
            kind = message.get("type")
            if kind == "flow":
                port = fields.whole(message, "port", low=1, high=65_535)
                ends = {end: fields.table(message, end) for end in ("sender", "receiver")}
                flows[fields.text(message, "flow")] = {"port": port, **ends}
            elif kind == "host":
                host = fields.text(message, "name")
                hosts[host] = {key: message[key] for key in ("radio", "capture") if key in message}
            elif kind == "ran":
                break
            else:
                raise ProtocolError("an answer that does not belong here")
        if not fields.flag(message, "ok"):
            return None, fields.text(message, "reason", most=500)
        if set(flows) != {flow.name for flow in self.plan.cases[case].flows}:
            return None, "results of some flows are missing"
        if self.capture:
            for name, part in hosts.items():
                if "capture" in part:
                    part["capture"] |= {"file": await self._fetch(talk, case, repetition, name)}
        return {
            "kind": "repetition",
            "case": case,
            "repetition": repetition,
            "time": round(fields.number(message, "time", low=0, high=1e12), 3),
            "clocks": fields.table(message, "clocks"),
            "late_s": fields.number(message, "late_s", low=0, high=1e6),
            "flows": flows,
            "hosts": hosts,
        }, ""

    async def _fetch(self, talk: _Talk, case: int, repetition: int, host: str) -> str:
        """Copy a capture from a host. Returns its name in the folder."""
        name = f"{slug(self.plan.cases[case].name)}-{repetition}-{slug(host)}.pcap"
        try:
            with below(self.folder, CAPTURES, name).open("wb") as file:
                offset = 0
                while offset < LARGEST_CAPTURE:
                    answer = await talk.ask({"type": "fetch", "host": host, "offset": offset}, "chunk")
                    data = base64.b64decode(fields.text(answer, "data", most=1 << 22), validate=True)
                    if not data:
                        break
                    file.write(data)
                    offset += len(data)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise MeasureError(f"cannot write `{self.folder / CAPTURES / name}`: {reason(error)}") from None
        except ValueError as error:
            raise ProtocolError("a capture in no known form") from error
        return f"{CAPTURES}/{name}"

    @staticmethod
    def head(plan: Plan, command: str | None) -> dict[str, Any]:
        """Create the first row of the journal of a plan."""
        return {
            "version": __version__,
            "hash": plan.hash,
            "text": plan.text,
            "resolved": plan.resolved,
            "command": command,
            "time": round(time.time(), 3),
        }


class _Talk:
    """Sends questions to the server, and answers those of the server meanwhile."""

    def __init__(self, channel: Channel, timing: Timing) -> None:
        self._channel = channel
        self._timing = timing
        self._inbox: asyncio.Queue[dict[str, Any] | Exception] = asyncio.Queue(4096)
        self._reader = asyncio.create_task(self._read())

    async def _read(self) -> None:
        try:
            while True:
                message = await self._channel.receive(self._timing.dead_s)
                if message.get("type") == "ping":
                    await self._channel.send({"type": "pong", "number": message.get("number"), "time_s": now()})
                else:
                    await self._inbox.put(message)
        except (ConnectionError, ProtocolError) as error:
            await self._inbox.put(error)

    async def send(self, message: dict[str, Any]) -> None:
        await self._channel.send(message)

    async def next(self, timeout_s: float) -> dict[str, Any]:
        try:
            async with asyncio.timeout(timeout_s):
                message = await self._inbox.get()
        except TimeoutError:
            raise ConnectionError(f"the server did not answer for {timeout_s:g} s") from None
        if isinstance(message, Exception):
            raise message
        if message.get("type") == "failed":
            raise MeasureError(f"the server refused: {fields.text(message, 'reason', most=500)}")
        return message

    async def ask(self, message: dict[str, Any], kind: str) -> dict[str, Any]:
        await self.send(message)
        answer = await self.next(self._timing.prepare_s + 30)
        if answer.get("type") != kind:
            raise ProtocolError("an answer that does not belong here")
        return answer

    async def meanwhile(self, work: Awaitable[None]) -> None:
        """Wait for other work to end, unless the server is lost."""
        task = asyncio.ensure_future(work)
        await asyncio.wait({task, self._reader}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await self.next(0.1)
        await task

    async def close(self) -> None:
        with contextlib.suppress(ConnectionError):
            await self._channel.send({"type": "release"}, timeout_s=1.0)
        self._reader.cancel()
        await asyncio.gather(self._reader, return_exceptions=True)
        await self._channel.close()

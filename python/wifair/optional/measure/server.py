"""`wifair measure serve`: the host behind the access point, to which stations and the coordinator connect.

It is one end of every flow, and of every control connection. It sends data only to a station that has proven itself, at
the address of its control connection, and only in a repetition of a plan that it has accepted.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from wifair.optional.measure import fields, transfer
from wifair.optional.measure.clock import Ping, Skew, now, skew
from wifair.optional.measure.errors import MeasureError, ProtocolError
from wifair.optional.measure.flow import Flow, Limits
from wifair.optional.measure.host import Host
from wifair.optional.measure.secret import stretched
from wifair.optional.measure.strangers import Strangers
from wifair.optional.measure.wire import PORT, SALT, Channel, Peer, admit

SERVER = "server"
"""The name of this host in results."""
CHUNK = 1 << 20
PINGS = 8
Log = Callable[[str], object]
MOST_INBOX_BYTES = 64 << 20
"""The most bytes of unread messages of a peer; one has at most 4 MiB."""


@dataclass(frozen=True)
class Timing:
    """How long hosts wait for each other [s]."""

    prove_s: float = 10.0
    """For a new peer to prove itself."""
    dead_s: float = 60.0
    """For any message of a peer, which is asked four times in that time."""
    prepare_s: float = 30.0
    """For a station to get ready."""
    grace_s: float = 15.0
    """For results, after the longest duration of a repetition."""


@dataclass(frozen=True)
class AllowedCase:
    """Flows that run at the same time."""

    flows: tuple[Flow, ...]
    rts_threshold: int | None

    def stations(self) -> list[str]:
        """List the stations that take part."""
        return list(dict.fromkeys(flow.station for flow in self.flows))


@dataclass(frozen=True)
class MeasurementTask:
    """The cases of a plan, which the coordinator may execute."""

    name: str
    cases: tuple[AllowedCase, ...]
    runs: int
    timeout_s: float
    sample_s: float
    capture: bool

    @classmethod
    def from_dict(cls, data: dict[str, Any], limits: Limits) -> MeasurementTask:
        """Check a plan that came from a peer.

        Raises
        ------
        ProtocolError
            If something is missing, of the wrong type, or beyond `limits`.
        """
        timeout_s = fields.number(data, "timeout_s", low=1e-3, high=24 * 3600.0)
        if timeout_s > limits.duration_s:
            raise ProtocolError(f"repetitions of {timeout_s:g} s: this server allows {limits.duration_s:g} s")
        cases = []
        for part in fields.records(data, "cases", most=1000):
            flows = [Flow.from_dict(flow, limits) for flow in fields.records(part, "flows", most=limits.flows)]
            if not flows or len({flow.name for flow in flows}) < len(flows):
                raise ProtocolError("a case without flows, or with two of one name")
            rts = fields.optional_whole(part, "rts_threshold", low=0, high=2347)
            cases.append(AllowedCase(tuple(flows), rts))
        return cls(
            name=fields.text(data, "name"),
            cases=tuple(cases),
            runs=fields.whole(data, "runs", low=1, high=limits.repetitions),
            timeout_s=timeout_s,
            sample_s=fields.number(data, "sample_s", low=1e-3, high=60.0),
            capture=fields.flag(data, "capture"),
        )

    def stations(self) -> list[str]:
        """List all stations that take part."""
        return list(dict.fromkeys(name for case in self.cases for name in case.stations()))


class Inbox:
    """Unread messages, limited in number and total size."""

    def __init__(self) -> None:
        """Begin without messages."""
        self._queue: asyncio.Queue[tuple[dict[str, Any], int]] = asyncio.Queue(1024)
        self._bytes = 0

    def put_nowait(self, message: dict[str, Any], size: int) -> None:
        """Add a message of `size` bytes; `asyncio.QueueFull` if there is no room."""
        if self._bytes + size > MOST_INBOX_BYTES:
            raise asyncio.QueueFull
        self._queue.put_nowait((message, size))
        self._bytes += size

    async def get(self) -> dict[str, Any]:
        """Wait for the next message."""
        message, size = await self._queue.get()
        self._bytes -= size
        return message

    def clear(self) -> None:
        """Discard all messages."""
        while not self._queue.empty():
            self._bytes -= self._queue.get_nowait()[1]


@dataclass
class Member:
    """A peer that has proven itself."""

    peer: Peer
    channel: Channel
    about: dict[str, Any] = field(default_factory=dict)
    inbox: Inbox = field(default_factory=Inbox)
    asked: dict[int, tuple[float, asyncio.Future[Ping]]] = field(default_factory=dict)
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    async def next(self, kind: str, timeout_s: float) -> dict[str, Any]:
        """Wait for its next message, which must be of type `kind`, or a failure, which is raised."""
        waiting = asyncio.create_task(self.inbox.get())
        gone = asyncio.create_task(self.gone.wait())
        try:
            await asyncio.wait({waiting, gone}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
            if not waiting.done():
                if self.gone.is_set():
                    raise MeasureError(f"station `{self.peer.name}` was lost")
                raise MeasureError(f"station `{self.peer.name}` did not answer for {timeout_s:g} s")
            message = waiting.result()
        finally:
            waiting.cancel()
            gone.cancel()
        if message.get("type") == "failed":
            raise MeasureError(f"station `{self.peer.name}`: {fields.text(message, 'reason', most=500)}")
        if message.get("type") != kind:
            raise MeasureError(f"station `{self.peer.name}` said something unexpected")
        return message


class Server:
    """Takes part in the plans of all who know the secret."""

    def __init__(
        self,
        secret: bytes,
        *,
        limits: Limits | None = None,
        timing: Timing | None = None,
        data_ports: range | None = None,
        log: Log = lambda _: None,
    ) -> None:
        """`log` is called with a line for everything that the operator should know, but no secret."""
        self._secret = secret
        self.limits = limits or Limits()
        self.timing = timing or Timing()
        self._data_ports = data_ports
        self._log = _Quiet(log)
        self._stations: dict[str, Member] = {}
        self._coordinator: Member | None = None
        self._strangers = Strangers()
        self._listener: asyncio.Server | None = None
        self._running: Repetition | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self, host: str = "127.0.0.1", port: int = PORT) -> int:
        """Listen. Returns the port, which the system chooses if `port` is 0.

        Raises
        ------
        OSError
            If that is not possible.
        """
        await asyncio.to_thread(stretched, self._secret, SALT)  # cached, before anybody waits for it
        self._listener = await asyncio.start_server(self._connected, host, port, backlog=64)
        return int(self._listener.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Close all connections."""
        if self._listener is not None:
            self._listener.close()
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        address = str((writer.get_extra_info("peername") or ("?",))[0])
        try:
            for gone in self._strangers.add(task, address, writer.transport.abort):
                self._log.about_strangers(f"closed a connection from {gone}: too many that prove nothing")
            try:
                async with asyncio.timeout(self.timing.prove_s):
                    channel, peer = await admit(reader, writer, self._secret)
            finally:
                self._strangers.remove(task)
            await self._serve(Member(peer, channel))
        except TimeoutError:
            self._log.about_strangers(
                f"closed a connection from {address}: it proved nothing in {self.timing.prove_s:g} s"
            )
        except ProtocolError as error:
            self._log.about_strangers(f"closed a connection from {address}: {error}")
        except ConnectionError as error:
            self._log.about_strangers(f"a connection from {address} ended: {error}")
        except asyncio.CancelledError:
            pass  # the server is closing
        except Exception as error:  # a bug, which must not end other connections
            self._log(f"closed a connection from {address}: {error!r}")
        finally:
            writer.close()
            with contextlib.suppress(OSError, TimeoutError, asyncio.CancelledError):
                async with asyncio.timeout(1):
                    await writer.wait_closed()
            self._connections.discard(task)

    async def _serve(self, member: Member) -> None:
        peer = member.peer
        watch = asyncio.create_task(self._keep_asking(member))
        coordinate: asyncio.Task[None] | None = None
        try:
            if peer.role == "station":
                if peer.name in self._stations:
                    other = self._stations[peer.name].peer.address
                    await member.channel.send(
                        {"type": "refused", "reason": f"station `{peer.name}` is there already, from {other}"}
                    )
                    return
                self._stations[peer.name] = member
                self._log(f"station `{peer.name}` joined from {peer.address}")
            else:
                if self._coordinator is not None:
                    busy = self._coordinator.peer
                    reason = f"the server is busy with a plan of `{busy.name}` from {busy.address}"
                    await member.channel.send({"type": "refused", "reason": reason})
                    return
                self._coordinator = member
                coordinate = asyncio.create_task(self._coordinate(member))
            await member.channel.send({"type": "joined"})
            await self._read(member, coordinate)
        finally:
            member.gone.set()
            watch.cancel()
            if coordinate is not None:
                coordinate.cancel()
                await asyncio.gather(coordinate, return_exceptions=True)
            if self._stations.get(peer.name) is member:
                del self._stations[peer.name]
                self._log(f"station `{peer.name}` left")
                if self._running is not None:
                    self._running.lost(peer.name)
            if self._coordinator is member:
                self._coordinator = None
                if self._running is not None:
                    self._running.close()
                    self._running = None
                self._log(f"`{peer.name}` from {peer.address} left")
            await asyncio.gather(watch, return_exceptions=True)

    async def _read(self, member: Member, coordinate: asyncio.Task[None] | None) -> None:
        """Process messages of a member until it leaves."""
        while True:
            reading = asyncio.create_task(member.channel.receive(self.timing.dead_s))
            both = {reading} | ({coordinate} if coordinate is not None else set())
            try:
                await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
                if coordinate is not None and coordinate.done():
                    coordinate.result()
                    return
                message = reading.result()
            except ProtocolError as error:
                raise ProtocolError(f"{member.peer.role} `{member.peer.name}`: {error}") from None
            finally:
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)
            kind = message.get("type")
            if kind == "pong":
                _answered(member, message)
            elif kind == "ping":
                await member.channel.send({"type": "pong", "number": message.get("number"), "time_s": now()})
            elif kind == "about":
                member.about = _about(message)
            else:
                try:
                    member.inbox.put_nowait(message, member.channel.last_size)
                except asyncio.QueueFull:
                    raise ProtocolError("it says more than it is asked") from None

    async def _keep_asking(self, member: Member) -> None:
        """Ask a member regularly, so that silence shows that it is dead."""
        with contextlib.suppress(ConnectionError):
            while True:
                await asyncio.sleep(self.timing.dead_s / 4)
                await _ping(member)

    async def _coordinate(self, member: Member) -> None:
        """Serve the requests of the coordinator."""
        task: MeasurementTask | None = None
        runs = 0
        while True:
            message = await member.inbox.get()
            kind = message.get("type")
            try:
                if kind == "plan":
                    task, runs = MeasurementTask.from_dict(message, self.limits), 0
                    self._log(f"`{member.peer.name}` from {member.peer.address} runs the plan `{task.name}`")
                    await member.channel.send({"type": "planned"})
                elif kind == "check" and task is not None:
                    await member.channel.send(await self._check(task, member))
                elif kind == "run" and task is not None:
                    runs += 1
                    if runs > task.runs:
                        raise ProtocolError("more repetitions than the plan has")
                    await self._run(task, fields.whole(message, "case", low=0, high=len(task.cases) - 1), member)
                elif kind == "fetch" and self._running is not None:
                    await self._running.fetch(message, member)
                elif kind == "release":
                    return
                else:
                    raise ProtocolError("a message that does not belong here")
            except ProtocolError as error:
                await member.channel.send({"type": "failed", "reason": str(error)[:500]})
                raise

    def _joined(self, names: Iterable[str]) -> dict[str, Member]:
        return {name: self._stations[name] for name in names if name in self._stations}

    def _host(self, stations: dict[str, Member], coordinator: Member) -> Host:
        """Get this host with the interface that the data of `stations` uses."""
        return Host(next(iter(stations.values()), coordinator).channel.local_address, self._log)

    async def _check(self, task: MeasurementTask, coordinator: Member) -> dict[str, Any]:
        """Check all hosts before the first repetition."""
        stations = self._joined(task.stations())
        missing = [name for name in task.stations() if name not in stations]
        hosts: dict[str, Any] = {}
        problems: list[str] = []
        notes: list[str] = []
        host = self._host(stations, coordinator)
        rts = any(case.rts_threshold is not None for case in task.cases)
        try:
            ours = _ccs(flow for case in task.cases for flow in case.flows if flow.direction == "down")
            found, said = await host.check(ccs=ours, capture=task.capture, rts=rts)
            hosts[SERVER] = host.about()
        finally:
            host.close()
        problems += [f"{SERVER}: {text}" for text in found]
        notes += [f"{SERVER}: {text}" for text in said]
        for name, station in stations.items():
            mine = (
                flow for case in task.cases for flow in case.flows if flow.station == name and flow.direction == "up"
            )
            try:
                await station.channel.send({"type": "check", "ccs": _ccs(mine), "capture": task.capture, "rts": rts})
                answer = await station.next("checked", self.timing.prepare_s)
                problems += [f"{name}: {text}" for text in fields.texts(answer, "problems", most=20)]
                notes += [f"{name}: {text}" for text in fields.texts(answer, "notes", most=20)]
                hosts[name] = {"address": station.peer.address, **station.about}
            except (MeasureError, ConnectionError) as error:
                self._log(f"station `{name}` is taken for dead: {error}")
                await station.channel.close()
                missing.append(name)
        return {"type": "checked", "missing": missing, "problems": problems, "notes": notes, "hosts": hosts}

    async def _run(self, task: MeasurementTask, number: int, member: Member) -> None:
        """Execute a repetition, and report the outcome."""
        if self._running is not None:
            self._running.close()
        case = task.cases[number]
        stations = self._joined(case.stations())
        self._running = repetition = Repetition(
            task,
            case,
            stations,
            self._host(stations, member),
            self.timing,
            self._data_ports,
            self._log,
            self._log.about_strangers,
        )
        started_s = time.time()
        outcome: dict[str, Any] = {"type": "ran", "ok": True, "time": started_s}
        try:
            for result in await repetition.run():
                await member.channel.send({"type": "flow", **result})
        except (MeasureError, ConnectionError, OSError) as error:
            outcome |= {"ok": False, "reason": str(error)[:500]}
            self._log(f"a repetition failed: {error}")
        for name, extra in repetition.extras.items():
            await member.channel.send({"type": "host", "name": name, **extra})
        skews = {name: found._asdict() for name, found in repetition.skews.items()}
        await member.channel.send(outcome | {"clocks": skews, "late_s": repetition.late_s})


@dataclass
class Repetition:
    """A repetition on all hosts."""

    task: MeasurementTask
    case: AllowedCase
    members: dict[str, Member]
    """The stations that take part, as far as they have joined."""
    host: Host
    """This host's part."""
    timing: Timing
    ports: range | None
    log: Log
    about_strangers: Log
    """For lines about unproven peers, whose number is limited."""
    skews: dict[str, Skew] = field(default_factory=dict)
    extras: dict[str, dict[str, Any]] = field(default_factory=dict)
    late_s: float = 0.0

    def __post_init__(self) -> None:
        """Draw the identity of the repetition."""
        self._failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._identity = secrets.token_bytes(16)

    def lost(self, name: str) -> None:
        """End the repetition if it needs a station that is lost."""
        if name in self.members and not self._failure.done():
            self._failure.set_exception(MeasureError(f"station `{name}` was lost"))
            self._failure.exception()  # no warning if nobody waits for it

    async def run(self) -> list[dict[str, Any]]:
        """Execute it. Returns the results of both ends of each flow.

        Raises
        ------
        MeasureError
            If it failed, after cleaning up.
        """
        for name in self.case.stations():
            if name not in self.members:
                raise MeasureError(f"station `{name}` has not joined")
        for member in self.members.values():
            member.inbox.clear()  # messages of a repetition that failed
        work = asyncio.create_task(self._work())
        try:
            both: list[asyncio.Future[Any]] = [work, self._failure]
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if self._failure.done():
                self._failure.result()
            return await work
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            await self._finish()

    async def _work(self) -> list[dict[str, Any]]:
        await asyncio.gather(*(self._compare_clocks(name, member) for name, member in self.members.items()))
        ends = [self._end(flow) for flow in self.case.flows]
        try:
            ports = {end.flow.name: end.port for end in ends}
            capture = (self.host.address, list(ports.values())) if self.task.capture else None
            ours = self.host.prepare(ends, rts_threshold=self.case.rts_threshold, capture=capture)
            theirs = (self._prepare(name, member, ports) for name, member in self.members.items())
            await _all(ours, *theirs)
        except BaseException:
            for end in ends:
                end.stop("the repetition was not started")
                end.close()
            raise
        # Late enough for the message to reach every station in time.
        slowest_s = max(found.round_trip_s for found in self.skews.values())
        origin_s = now() + 0.2 + 2 * slowest_s
        self.host.start(origin_s)
        for name, member in self.members.items():
            await member.channel.send({"type": "start", "at_s": origin_s + self.skews[name].offset_s})
        patience_s = self.task.timeout_s + self.timing.grace_s
        collected = await _all(self.host.results(), *(self._collect(m, patience_s) for m in self.members.values()))
        mine = dict(zip(ports, collected[0]))
        theirs_by_flow = {name: result for part in collected[1:] for name, result in part.items()}
        return [
            {"port": ports[flow.name], **self._together(flow, mine[flow.name], theirs_by_flow[flow.name])}
            for flow in self.case.flows
        ]

    def _end(self, flow: Flow) -> transfer.ServerEnd:
        member = self.members[flow.station]
        return transfer.ServerEnd(
            flow,
            member.channel.local_address,
            member.peer.address,
            self.ports,
            self.about_strangers,
            key=member.channel.key,
            repetition=self._identity,
            sample_s=self.task.sample_s,
            timeout_s=self.task.timeout_s,
        )

    async def _compare_clocks(self, name: str, member: Member) -> None:
        pings = []
        for _ in range(PINGS):
            answer = await _ping(member)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(2.0):
                    pings.append(await answer)
        if not pings:
            raise MeasureError(f"station `{name}` does not answer")
        self.skews[name] = skew(pings)

    async def _prepare(self, name: str, member: Member, ports: dict[str, int]) -> None:
        flows = [{**flow.to_dict(), "port": ports[flow.name]} for flow in self.case.flows if flow.station == name]
        message: dict[str, Any] = {
            "type": "prepare",
            "repetition": self._identity.hex(),
            "flows": flows,
            "sample_s": self.task.sample_s,
            "timeout_s": self.task.timeout_s,
            "capture": self.task.capture,
        }
        if self.case.rts_threshold is not None:
            message["rts_threshold"] = self.case.rts_threshold
        await member.channel.send(message)
        await member.next("prepared", self.timing.prepare_s)

    async def _collect(self, member: Member, patience_s: float) -> dict[str, dict[str, Any]]:
        """Wait for the results of a station's ends."""
        mine = [flow.name for flow in self.case.flows if flow.station == member.peer.name]
        results: dict[str, dict[str, Any]] = {}
        for _ in mine:
            message = await member.next("result", patience_s)
            name = fields.text(message, "flow")
            if name not in mine or name in results:
                raise MeasureError(f"station `{member.peer.name}` told of a flow that is not its own")
            results[name] = fields.table(message, "result")
        return results

    def _together(self, flow: Flow, ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
        """Combine both ends of a flow, and check that all written bytes arrived."""
        sender, receiver = (theirs, ours) if flow.direction == "up" else (ours, theirs)
        if flow.transport == "tcp" and sender.get("written") != receiver.get("received"):
            raise MeasureError(
                f"flow `{flow.name}`: {sender.get('written')} bytes went, {receiver.get('received')} came"
            )
        for end, clock in ((sender, flow.direction == "up"), (receiver, flow.direction == "down")):
            if "started_s" in end:
                late_s = end["started_s"] - flow.start_s if isinstance(end["started_s"], int | float) else 0.0
                error_s = self.skews[flow.station].error_s if clock else 0.0
                self.late_s = max(self.late_s, late_s + error_s)
        return {"flow": flow.name, "sender": sender, "receiver": receiver}

    async def _finish(self) -> None:
        """Clean up on all hosts."""
        self.extras[SERVER] = await self.host.finish()
        await asyncio.gather(*(self._finish_at(name, member) for name, member in self.members.items()))

    async def _finish_at(self, name: str, member: Member) -> None:
        if member.gone.is_set():
            return
        try:
            await member.channel.send({"type": "finish"}, timeout_s=self.timing.grace_s)
            async with asyncio.timeout(self.timing.grace_s):
                while True:  # after remaining messages of a repetition that failed
                    message = await member.inbox.get()
                    if message.get("type") == "finished":
                        break
            self.extras[name] = _extra(message)
        except (MeasureError, ConnectionError, TimeoutError):
            self.log(f"station `{name}` did not clear up in {self.timing.grace_s:g} s: it is taken for dead")
            await member.channel.close()

    async def fetch(self, message: dict[str, Any], coordinator: Member) -> None:
        """Pass a part of a capture to the coordinator."""
        name, offset = fields.text(message, "host", most=60), fields.whole(message, "offset", low=0, high=1 << 30)
        if name == SERVER:
            data = base64.b64encode(self.host.captured(offset, CHUNK)).decode()
        else:
            data = ""
            member = self.members.get(name)
            if member is not None and not member.gone.is_set():
                try:
                    await member.channel.send({"type": "fetch", "offset": offset})
                    answer = await member.next("chunk", self.timing.prepare_s)
                    data = fields.text(answer, "data", most=2 * CHUNK)
                except (MeasureError, ConnectionError) as error:
                    self.log(f"the capture of `{name}` is not complete: {error}")
        await coordinator.channel.send({"type": "chunk", "data": data})

    def close(self) -> None:
        """Release what the repetition has left."""
        self.host.close()


class _Quiet:
    """A log with a limited number of lines about unproven peers in a time window; it counts the others."""

    LINES = 20
    WINDOW_S = 10.0

    def __init__(self, log: Log) -> None:
        self._log = log
        self._since_s = 0.0
        self._lines = 0

    def __call__(self, line: str) -> None:
        self._log(line)

    def about_strangers(self, line: str) -> None:
        if now() - self._since_s > self.WINDOW_S:
            if self._lines > self.LINES:
                self._log(f"and {self._lines - self.LINES} more closed connections")
            self._since_s, self._lines = now(), 0
        self._lines += 1
        if self._lines <= self.LINES:
            self._log(line)


async def _ping(member: Member) -> asyncio.Future[Ping]:
    """Send a request for the time. Returns a future for the answer."""
    number = secrets.randbits(40)
    answer: asyncio.Future[Ping] = asyncio.get_running_loop().create_future()
    if len(member.asked) > 100:
        member.asked.clear()
    member.asked[number] = (now(), answer)
    await member.channel.send({"type": "ping", "number": number})
    return answer


def _answered(member: Member, message: dict[str, Any]) -> None:
    answered_s = now()
    asked_s, answer = member.asked.pop(fields.whole(message, "number", low=0, high=1 << 40), (0.0, None))
    if answer is not None and not answer.done():
        answer.set_result(Ping(asked_s, fields.number(message, "time_s", low=-1e12, high=1e12), answered_s))


async def _all(*parts: Any) -> list[Any]:
    """Wait for all; the first failure cancels the others."""
    tasks = [asyncio.ensure_future(part) for part in parts]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


def _ccs(flows: Iterable[Flow]) -> list[str]:
    return sorted({flow.cc for flow in flows if flow.cc is not None})


def _about(message: dict[str, Any]) -> dict[str, Any]:
    about = fields.table(message, "about")
    if len(about) > 40:
        raise ProtocolError("too much about a host")
    return {
        key[:40]: value
        for key, value in about.items()
        if isinstance(value, str | bool | int | float) and key.isprintable()
    }


def _extra(message: dict[str, Any]) -> dict[str, Any]:
    extra: dict[str, Any] = {}
    if fields.optional(message, "radio"):
        extra["radio"] = fields.records(message, "radio", most=1000)
    if fields.optional(message, "capture"):
        extra["capture"] = fields.table(message, "capture")
    return extra

"""Control messages that are lost, late, duplicated, reordered, changed or cut off, from a seed.

TCP and the signatures let none of these pass silently: a conversation continues as intended, or it ends. The
measurement then has each repetition once, if necessary after repeating the command with ``--resume``.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from testbed import SECRET
from wifair.optional.measure import wire
from wifair.optional.measure.coordinator import Coordinator
from wifair.optional.measure.errors import MeasureError, ProtocolError
from wifair.optional.measure.journal import Journal
from wifair.optional.measure.plan import Plan
from wifair.optional.measure.results import Measurement
from wifair.optional.measure.server import Server, Timing
from wifair.optional.measure.station import Station

KEY = SECRET.encode()
FAULTS = ("lost", "late", "doubled", "reordered", "changed", "cut", "replayed")
MESSAGES = 12


class Frames:
    """A writer that keeps what is written, message by message."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.frames.append(data)

    async def drain(self) -> None:
        pass


def disturbed(frames: list[bytes], fault: str, rng: random.Random) -> list[bytes]:
    """The part of `frames` that arrives."""
    at = rng.randrange(len(frames))
    frames = list(frames)
    match fault:
        case "lost":
            del frames[at]
        case "doubled":
            frames.insert(at, frames[at])
        case "reordered":
            other = rng.randrange(len(frames))
            frames[at], frames[other] = frames[other], frames[at]
        case "changed":
            frame = bytearray(frames[at])
            frame[rng.randrange(len(frame))] ^= 1 << rng.randrange(8)
            frames[at] = bytes(frame)
        case "cut":
            frames[at:] = [frames[at][: rng.randrange(len(frames[at]))]]
        case "replayed":  # of an earlier part, behind all
            frames.append(frames[at])
    return frames


async def conversation(number: int) -> None:
    """Send messages over a channel with a fault, and look at what the other end takes for said."""
    rng = random.Random(f"messages/{number}")
    fault = rng.choice(FAULTS)
    key = rng.randbytes(32)
    written = Frames()
    sender = wire.Channel(asyncio.StreamReader(), written, key, "client")  # type: ignore[arg-type]
    said = [{"type": rng.choice("abc"), "number": n, "x": "y" * rng.randrange(50)} for n in range(MESSAGES)]
    for message in said:
        await sender.send(message)
    frames = disturbed(written.frames, fault, rng)
    reader = asyncio.StreamReader()
    for frame in frames:
        if fault == "late":  # in whatever portions it comes
            for start in range(0, len(frame), 7):
                reader.feed_data(frame[start : start + 7])
        else:
            reader.feed_data(frame)
    reader.feed_eof()
    receiver = wire.Channel(reader, Frames(), key, "server")  # type: ignore[arg-type]
    heard = []
    ended = ""
    while not ended:
        try:
            heard.append(await receiver.receive(5.0))
        except ProtocolError:
            ended = "wrong"
        except ConnectionError:
            ended = "lost"
    assert heard == said[: len(heard)], f"schedule {number}: {fault}"
    intact = frames == written.frames
    assert (heard == said and ended == "lost") == intact or fault == "lost", f"schedule {number}: {fault}"
    if fault == "lost" and heard == said[:-1]:
        return  # the last one: the end of the connection tells
    if not intact:
        assert len(heard) < len(said) or ended == "wrong", f"schedule {number}: {fault}"


@pytest.mark.parametrize(
    "count", [pytest.param(200, id="quick"), pytest.param(10_000, id="many", marks=pytest.mark.slow)]
)
def test_a_channel_delivers_messages_unchanged_or_ends(count: int) -> None:
    async def all_of_them() -> None:
        for number in range(count):
            await conversation(number)

    asyncio.run(all_of_them())


PLAN = """
repetitions = 3
pause = "1 ms"
timeout = "5 s"
transfer.size = "20 kB"
stations = [{ name = "sta1" }]
[[cases]]
name = "up"
directions = ["up"]
flows = [{ station = "sta1" }]
"""
SOON = Timing(prove_s=2.0, dead_s=3.0, prepare_s=2.0, grace_s=1.0)


def _close(writer: asyncio.StreamWriter, _: object) -> None:
    writer.close()


class Relay:
    """Sits between hosts and a server, and tampers with a message now and then."""

    def __init__(self, port: int, rng: random.Random) -> None:
        self._port = port
        self._rng = rng
        self.struck = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> int:
        self._server = await asyncio.start_server(self._take, "127.0.0.1", 0)
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        this = asyncio.current_task()
        assert this is not None
        self._tasks.add(this)
        try:
            there, onwards = await asyncio.open_connection("127.0.0.1", self._port)
        except (OSError, asyncio.CancelledError):
            writer.close()
            return
        finally:
            self._tasks.discard(this)
        for ends in ((reader, onwards), (there, writer)):
            task = asyncio.create_task(self._pass(*ends))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            task.add_done_callback(partial(_close, ends[1]))  # also of one that never ran

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass on messages of one direction: first the handshake, one or two without signatures."""
        held: bytes | None = None
        strikes = self._rng.randrange(2, 60)
        try:
            async for number, frame in _frames(reader):
                frames = [frame]
                if number == strikes:
                    self.struck += 1
                    match self._rng.choice(FAULTS):
                        case "lost":
                            frames = []
                        case "doubled" | "replayed":
                            frames = [frame, frame]
                        case "reordered":
                            held, frames = frame, []
                        case "late":
                            await asyncio.sleep(0.2)
                        case "changed":
                            frames = [frame[:-1] + bytes([frame[-1] ^ 1])]
                        case "cut":
                            writer.write(frame[: len(frame) // 2])
                            break
                elif held is not None:
                    frames, held = [frame, held], None
                for one in frames:
                    writer.write(one)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            with contextlib.suppress(OSError):
                writer.close()


async def _frames(reader: asyncio.StreamReader) -> AsyncIterator[tuple[int, bytes]]:
    """Messages as they are on the wire. Those of the handshake, which has its own tests, pass first."""
    number = 0
    while True:
        head = await reader.readexactly(4)
        size = int.from_bytes(head, "big")
        body = await reader.readexactly(1)
        plain = body == b"{" and number < 2
        body += await reader.readexactly(size - 1 if plain else size + wire.MAC_BYTES - 1)
        yield number, head + body
        number += 1


@asynccontextmanager
async def hosts(rng: random.Random | None) -> AsyncIterator[tuple[int, Relay | None]]:
    """A server, a station that comes back, and a relay before the server if there are faults."""
    server = Server(KEY, timing=SOON)
    port = await server.start("127.0.0.1", 0)
    relay = Relay(port, rng) if rng is not None else None
    entry = await relay.start() if relay is not None else port
    station = asyncio.create_task(_station(entry))
    try:
        yield entry, relay
    finally:
        station.cancel()
        await asyncio.gather(station, return_exceptions=True)
        if relay is not None:
            await relay.close()
        await server.close()


async def _station(port: int) -> None:
    while True:
        with contextlib.suppress(MeasureError, OSError, TimeoutError):
            await Station(KEY, "127.0.0.1", port, name="sta1", timing=SOON).run()
        await asyncio.sleep(0.1)


async def measured(folder: Path, number: int) -> int:
    """Measure with faults, again and again, then without; returns how often something struck."""
    rng = random.Random(f"measurement/{number}")
    plan = Plan.from_text(PLAN)
    struck = 0
    for attempt in range(3):
        async with hosts(rng if attempt < 2 else None) as (port, relay):
            journal = Journal(folder, Coordinator.head(plan, None), resume=folder.exists())
            coordinator = Coordinator(plan, journal, folder, wait_s=20.0, timing=SOON)
            complete = False
            with contextlib.suppress(MeasureError, OSError, TimeoutError):
                complete = await coordinator.run(KEY, "127.0.0.1", port, "me")
            journal.close()
            struck += relay.struck if relay is not None else 0
    assert complete, f"schedule {number}"
    rows = [row["repetition"] for row in journal.rows if row.get("kind") == "repetition"]
    assert sorted(rows) == [1, 2, 3], f"schedule {number}"
    flows = Measurement.from_folder(folder).cases["up"].flows
    assert flows["transfer_bytes"].tolist() == [20_000] * 3, f"schedule {number}"
    return struck


@pytest.mark.parametrize("count", [pytest.param(3, id="quick"), pytest.param(100, id="many", marks=pytest.mark.slow)])
def test_a_measurement_has_each_repetition_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    rng = random.Random("clock")
    real = time.time
    jump = [0.0]

    def clock() -> float:
        if rng.random() < 0.2:
            jump[0] = rng.choice((0.0, 3600.0, -86_400.0))  # somebody sets the clock
        return real() + jump[0]

    monkeypatch.setattr(time, "time", clock)
    struck = sum(asyncio.run(measured(tmp_path / str(number), number)) for number in range(count))
    assert struck > 0, "faults must strike"

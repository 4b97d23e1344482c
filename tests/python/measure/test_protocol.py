"""The control protocol: who is let in, and what malformed, oversized or endless input does."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import os
import socket
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from testbed import SECRET
from wifair.optional.measure import fields, wire
from wifair.optional.measure import secret as secrets
from wifair.optional.measure.coordinator import _Talk
from wifair.optional.measure.errors import MeasureError, ProtocolError, Refused
from wifair.optional.measure.flow import Flow, Limits
from wifair.optional.measure.server import MeasurementTask, Server, Timing
from wifair.optional.measure.station import Station, connect

KEY = SECRET.encode()
FLOW = {"name": "f", "station": "a", "direction": "up", "transport": "tcp", "start_s": 0.0, "size": 1000}
PLAN = {"name": "p", "cases": [{"flows": [FLOW]}], "runs": 4, "timeout_s": 5.0, "sample_s": 0.05, "capture": False}
SOON = Timing(prove_s=0.3, dead_s=2.0, prepare_s=2.0, grace_s=2.0)

some_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=5),
    max_leaves=12,
)


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Stretch keys only a little: a server waits only 0.3 s here."""
    monkeypatch.setattr(secrets, "COST", 1 << 8)
    secrets.stretched.cache_clear()
    yield
    secrets.stretched.cache_clear()


def with_server(test: Callable[[Server, int, list[str]], Awaitable[None]], **options: Any) -> list[str]:
    """Run a test against a server on the loopback interface; returns its log."""
    log: list[str] = []

    async def run() -> None:
        server = Server(KEY, timing=SOON, log=log.append, **options)
        port = await server.start("127.0.0.1", 0)
        try:
            async with asyncio.timeout(30):
                await test(server, port, log)
        finally:
            await server.close()

    asyncio.run(run())
    return log


async def said_back(port: int, data: bytes) -> bytes:
    """Send bytes, and read until the server closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(data)
        return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


def test_signatures_are_hmac_sha256_over_parts_with_their_lengths() -> None:
    expected = hmac.new(b"key", (2).to_bytes(8, "big") + b"ab" + (1).to_bytes(8, "big") + b"c", hashlib.sha256).digest()
    assert secrets.mac(b"key", b"ab", b"c") == expected
    assert secrets.mac(b"key", b"a", b"bc") != expected


def test_the_secret_never_leaves_the_host() -> None:
    async def look(_: Server, port: int, __: list[str]) -> None:
        seen = bytearray()

        async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            upstream = await asyncio.open_connection("127.0.0.1", port)

            async def copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
                while data := await source.read(4096):
                    seen.extend(data)
                    sink.write(data)
                sink.close()

            await asyncio.gather(copy(reader, upstream[1]), copy(upstream[0], writer), return_exceptions=True)
            writer.close()

        between = await asyncio.start_server(proxy, "127.0.0.1", 0)
        channel = await connect(KEY, "127.0.0.1", between.sockets[0].getsockname()[1], role="station", name="a")
        await channel.close()
        between.close()
        assert KEY not in seen
        assert hashlib.sha256(KEY).digest() not in seen
        assert len(seen) > 200

    assert not any(SECRET in line for line in with_server(look))


def test_a_wrong_secret_is_refused_with_one_clear_line() -> None:
    async def wrong(_: Server, port: int, __: list[str]) -> None:
        with pytest.raises(Refused, match="wrong secret"):
            await connect(b"another secret, as long", "127.0.0.1", port, role="coordinator", name="me")

    log = with_server(wrong)
    assert log == ["closed a connection from 127.0.0.1: wrong secret"]


def test_a_server_without_the_secret_is_rejected() -> None:
    async def run() -> None:
        async def pretend(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            hello = wire.encode({"type": "hello", "protocol": wire.PROTOCOL, "nonce": "00" * 32, "salt": "00" * 16})
            writer.write(len(hello).to_bytes(4, "big") + hello)
            await reader.read(1000)
            welcome = wire.encode({"type": "welcome", "proof": "11" * 32})
            writer.write(len(welcome).to_bytes(4, "big") + welcome)
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(pretend, "127.0.0.1", 0)
        with pytest.raises(ProtocolError, match="does not know the secret"):
            await connect(KEY, "127.0.0.1", server.sockets[0].getsockname()[1], role="station", name="a")
        server.close()

    asyncio.run(run())


def test_a_proof_cannot_be_replayed() -> None:
    """A station's proof is useless to another station: the server's nonce is new each time."""

    async def replay(_: Server, port: int, log: list[str]) -> None:
        said = bytearray()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        await wire.introduce(reader, Copying(writer, said), KEY, "station", "a")  # type: ignore[arg-type]
        await said_back(port, bytes(said))
        writer.close()
        assert "closed a connection from 127.0.0.1: wrong secret" in log

    with_server(replay)


def test_messages_that_were_changed_or_repeated_close_the_connection() -> None:
    async def tamper(_: Server, port: int, log: list[str]) -> None:
        for change in ("flip a bit", "repeat"):
            channel = await connect(KEY, "127.0.0.1", port, role="station", name="a")
            payload = wire.encode({"type": "about", "about": {}})
            signature = secrets.mac(channel.key, b"client", (0).to_bytes(8, "big"), payload)
            if change == "flip a bit":
                frames = len(payload).to_bytes(4, "big") + signature + bytes([payload[0] ^ 1]) + payload[1:]
            else:
                frames = 2 * (len(payload).to_bytes(4, "big") + signature + payload)
            channel._writer.write(frames)
            while "wrong signature" not in "".join(log):
                await asyncio.sleep(0.01)
            log.clear()
            await channel.close()

    with_server(tamper)


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "not the protocol of wifair measure"),
        (b"\xff" * 100_000, "not the protocol of wifair measure"),
        (b"\0\0\0\x02{}", "`protocol` is no whole number"),
        (b"\0\0\0\x02[]", "a message that is no table"),
        (b"\0\0\x03\xe8" + b"[" * 1000, "a message that is no JSON"),
        (b"\0\0\0\x0a" + b'{"a": NaN}', "a message that is no JSON"),
        (b"\0\0\0\x0c" + b'{"a": 1e999}', "a message that is no JSON"),
        (b"\0\0\0\x04\xff\xfe\xfd\xfc", "a message that is no JSON"),
        (b"", "it proved nothing in 0.3 s"),
        (b"\0\0\0\x08ab", "it proved nothing in 0.3 s"),
    ],
)
def test_garbage_closes_its_connection_with_a_clear_line(data: bytes, line: str) -> None:
    async def send(_: Server, port: int, __: list[str]) -> None:
        await said_back(port, data)

    log = with_server(send)
    assert len(log) == 1
    assert line in log[0]


def test_an_endless_stranger_and_a_crowd_do_no_harm() -> None:
    async def crowd(_: Server, port: int, log: list[str]) -> None:
        idle = [await asyncio.open_connection("127.0.0.1", port) for _each in range(90)]
        endless = socket.create_connection(("127.0.0.1", port))
        endless.setblocking(False)
        for _block in range(50):
            try:
                endless.send(b"\0\0\0\x10" + os.urandom(4096))
            except OSError:
                break
            await asyncio.sleep(0.005)
        await asyncio.sleep(0.4)
        channel = await connect(KEY, "127.0.0.1", port, role="station", name="a")
        await channel.close()
        endless.close()
        for _reader, writer in idle:
            writer.close()
        # On a busy computer the first strangers may time out before there are too many.
        assert any("too many that prove nothing" in line or "proved nothing in" in line for line in log)
        assert len(log) < 90, "strangers do not flood the log"

    with_server(crowd)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_an_error(data: bytes) -> None:
    try:
        message = wire.decode(data)
    except ProtocolError:
        return
    assert isinstance(message, dict)
    assert json.loads(wire.encode(message)) == message


@given(st.lists(st.binary(max_size=400), max_size=5), st.booleans())
@settings(deadline=None)
def test_any_bytes_before_the_proof_are_refused(chunks: list[bytes], framed: bool) -> None:
    async def feed() -> None:
        reader = asyncio.StreamReader()
        for chunk in chunks:
            reader.feed_data(len(chunk).to_bytes(4, "big") + chunk if framed else chunk)
        reader.feed_eof()
        with pytest.raises((ProtocolError, ConnectionError)):
            await wire.admit(reader, Nowhere(), KEY)  # type: ignore[arg-type]

    asyncio.run(feed())


class Copying:
    """A writer that keeps what was written."""

    def __init__(self, writer: asyncio.StreamWriter, copy: bytearray) -> None:
        self.writer = writer
        self.copy = copy

    def write(self, data: bytes) -> None:
        self.copy.extend(data)
        self.writer.write(data)

    async def drain(self) -> None:
        await self.writer.drain()

    def get_extra_info(self, name: str) -> object:
        return self.writer.get_extra_info(name)


class Nowhere:
    """A writer that discards everything."""

    def write(self, data: bytes) -> None:
        pass

    async def drain(self) -> None:
        pass

    def get_extra_info(self, _: str) -> tuple[str, int]:
        return ("192.0.2.1", 1)


@given(st.dictionaries(st.sampled_from([*FLOW, "sessions", "rate_bps", "payload", "mss", "cc"]), some_json))
def test_any_table_is_a_flow_within_bounds_or_an_error(change: dict[str, Any]) -> None:
    try:
        flow = Flow.from_dict({**FLOW, **change}, Limits())
    except ProtocolError:
        return
    assert flow.direction in ("up", "down")
    assert (flow.size or 0) <= Limits().size
    assert Flow.from_dict(flow.to_dict(), Limits()) == flow


@given(st.dictionaries(st.sampled_from(list(PLAN)), some_json))
def test_any_table_is_a_plan_within_bounds_or_an_error(change: dict[str, Any]) -> None:
    try:
        task = MeasurementTask.from_dict({**PLAN, **change}, Limits())
    except ProtocolError:
        return
    assert 1 <= task.runs <= Limits().repetitions
    assert task.timeout_s <= Limits().duration_s


messages = st.fixed_dictionaries(
    {"type": st.sampled_from(["plan", "check", "run", "fetch", "release", "pong", "ping", "about", "result", "", "x"])},
    optional={
        "case": some_json, "number": some_json, "host": some_json, "offset": some_json, "cases": some_json,
        "about": some_json, "time_s": some_json,
    },
)  # fmt: skip


@given(st.sampled_from(wire.ROLES), st.lists(messages | st.dictionaries(st.text(max_size=8), some_json), max_size=6))
@settings(max_examples=60)
def test_any_messages_of_a_member_leave_the_server_working(role: str, said: list[dict[str, Any]]) -> None:
    async def talk(server: Server, port: int, _: list[str]) -> None:
        channel = await connect(KEY, "127.0.0.1", port, role=role, name="odd")
        try:
            for message in said:
                await channel.send(message)
                await asyncio.sleep(0)
        except ConnectionError:
            pass
        await channel.close()
        for _try in range(400):  # its name and place are free again
            if not server._stations and server._coordinator is None:
                break
            await asyncio.sleep(0.005)
        again = await connect(KEY, "127.0.0.1", port, role=role, name="odd")
        await again.close()

    with_server(talk)


@given(st.lists(messages, max_size=4))
@settings(max_examples=15)
def test_any_messages_of_a_server_leave_the_station_working(said: list[dict[str, Any]]) -> None:
    async def run() -> None:
        async def odd(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            channel, _ = await wire.admit(reader, writer, KEY)
            await channel.send({"type": "joined"})
            for message in said:
                await channel.send(message)
            await channel.close()

        server = await asyncio.start_server(odd, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        station = Station(KEY, "127.0.0.1", port, name="a", timing=SOON)
        with pytest.raises((MeasureError, TimeoutError)):
            await asyncio.wait_for(station.run(again=False), 0.2)
        server.close()

    asyncio.run(run())


def test_a_server_allows_only_what_its_operator_set() -> None:
    async def ask(_: Server, port: int, __: list[str]) -> None:
        for change, why in (
            ({"cases": [{"flows": [{**FLOW, "size": 10_001}]}]}, "`size` is no whole number from 1 to 10000"),
            ({"cases": [{"flows": [FLOW, {**FLOW, "name": "g"}]}]}, "at most 1 table"),
            ({"timeout_s": 100.0}, "allows 60 s"),
        ):
            channel = await connect(KEY, "127.0.0.1", port, role="coordinator", name="me")
            await channel.send({"type": "plan", **PLAN, **change})
            answer = await channel.receive(5)
            assert answer["type"] == "failed"
            assert why in answer["reason"]
            await channel.close()
            await asyncio.sleep(0.05)

    with_server(ask, limits=Limits(size=10_000, flows=1, duration_s=60.0))


def test_more_repetitions_than_the_plan_has_are_refused() -> None:
    async def ask(_: Server, port: int, __: list[str]) -> None:
        channel = await connect(KEY, "127.0.0.1", port, role="coordinator", name="me")
        await channel.send({"type": "plan", **PLAN, "runs": 1})
        assert (await channel.receive(5))["type"] == "planned"
        for _again in range(2):
            await channel.send({"type": "run", "case": 0})
        kinds = [await channel.receive(5) for _each in range(2)]
        assert kinds[-1] == {"type": "failed", "reason": "more repetitions than the plan has"}
        assert kinds[-2]["reason"] == "station `a` has not joined"
        await channel.close()

    with_server(ask)


def test_data_connections_are_for_their_station_only() -> None:
    """A connection to a data port without the flow's token is closed, and the flow continues."""

    async def intrude(_: Server, port: int, __: list[str]) -> None:
        station = asyncio.create_task(Station(KEY, "127.0.0.1", port, name="a").run())
        channel = await connect(KEY, "127.0.0.1", port, role="coordinator", name="me")
        flow = {**FLOW, "size": 100_000}
        await channel.send({"type": "plan", **PLAN, "cases": [{"flows": [flow]}]})
        assert (await channel.receive(5))["type"] == "planned"
        await asyncio.sleep(0.2)
        ports = range(40_600, 40_602)
        intruders = [socket.socket() for _ in range(20)]
        for number, intruder in enumerate(intruders):
            intruder.setblocking(False)
            intruder.bind(("127.0.0.2" if number % 2 else "127.0.0.1", 0))
        await channel.send({"type": "run", "case": 0})
        for _try in range(20):  # the port opens at some moment: try until the repetition is over
            for intruder in intruders:
                try:
                    intruder.connect_ex(("127.0.0.1", ports[0]))
                    intruder.send(b"x" * 48)
                except OSError:
                    pass
            await asyncio.sleep(0.01)
        while (message := await channel.receive(10))["type"] != "ran":
            pass
        assert message["ok"], message
        for intruder in intruders:
            intruder.close()
        await channel.close()
        station.cancel()
        await asyncio.gather(station, return_exceptions=True)

    with_server(intrude, data_ports=range(40_600, 40_602))


def test_ctrl_c_is_not_lost_if_an_answer_arrives_with_it() -> None:
    """Python 3.11's `asyncio.wait_for` returns a result that is ready, and forgets that it was cancelled."""

    async def run() -> None:
        talk = _Talk.__new__(_Talk)
        talk._inbox = asyncio.Queue()
        waiting = asyncio.create_task(talk.next(5.0))
        await asyncio.sleep(0)
        talk._inbox.put_nowait({"type": "checked"})
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(run())


def test_secret_files_must_be_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(secrets.ENVIRONMENT, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with pytest.raises(MeasureError, match="there is no secret"):
        secrets.load()
    path = secrets.default_path()
    secrets.create(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(secrets.load()) == 64
    with pytest.raises(MeasureError, match="exists"):
        secrets.create(path)
    path.chmod(0o640)
    with pytest.raises(MeasureError, match="others can read"):
        secrets.load()
    monkeypatch.setenv(secrets.ENVIRONMENT, "short")
    with pytest.raises(MeasureError, match="5 characters"):
        secrets.load()
    monkeypatch.setenv(secrets.ENVIRONMENT, SECRET)
    assert secrets.load() == KEY


@given(some_json)
def test_values_have_their_type_or_are_refused(value: Any) -> None:
    for read in (
        lambda m: fields.text(m, "k"),
        lambda m: fields.whole(m, "k", low=0, high=9),
        lambda m: fields.number(m, "k", low=0.0, high=9.0),
        lambda m: fields.flag(m, "k"),
        lambda m: fields.texts(m, "k", most=3),
        lambda m: fields.records(m, "k", most=3),
    ):
        try:
            found = read({"k": value})
        except ProtocolError:
            continue
        assert found == value

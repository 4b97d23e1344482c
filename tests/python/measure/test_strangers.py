"""Strangers: a thousand of them lock nobody out, and authenticated messages cannot be changed on the way."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import resource
from functools import partial
from pathlib import Path

import pytest
from testbed import SECRET
from wifair.optional.measure import secret as secrets
from wifair.optional.measure import strangers, wire
from wifair.optional.measure.coordinator import Coordinator
from wifair.optional.measure.errors import ProtocolError, Refused
from wifair.optional.measure.journal import Journal
from wifair.optional.measure.plan import Plan
from wifair.optional.measure.results import Measurement
from wifair.optional.measure.server import MOST_INBOX_BYTES, Inbox, Server
from wifair.optional.measure.station import Station, connect

pytestmark = pytest.mark.alone

KEY = SECRET.encode()
PLAN = """
repetitions = 3
pause = "10 ms"
transfer.size = "500 kB"
stations = [{ name = "sta1" }]
[[cases]]
name = "udp"
[[cases.flows]]
station = "sta1"
direction = "down"
transport = "udp"
rate = "8 Mb/s"
"""


def test_the_most_crowded_network_loses_its_oldest_connections() -> None:
    known = strangers.Strangers()
    closed: list[str] = []
    for number in range(3 * strangers.MOST_OF_ADDRESS):
        known.add(("loud", number), "192.0.2.1", partial(closed.append, f"loud {number}"))
    assert closed == [f"loud {number}" for number in range(2 * strangers.MOST_OF_ADDRESS)]
    closed.clear()
    known.add("quiet", "192.0.2.2", lambda: closed.append("quiet"))
    known.add("far", "198.51.100.1", lambda: closed.append("far"))
    for number in range(1000):  # a whole network that comes again and again
        known.add(("net", number), f"192.0.2.{3 + number % 250}", partial(closed.append, f"net {number}"))
    assert "far" not in closed
    assert len(known) <= strangers.MOST_OF_NETWORK + 1
    for number in range(5000):  # many networks
        address = f"10.{number % 50}.{number % 7}.{number % 200}"
        known.add(("many", number), address, lambda: None)
    assert len(known) <= strangers.MOST
    known.remove("far")
    assert strangers.network_of("fe80::1%eth0") == "fe80::/64"


def measure(folder: Path, crowd: int) -> tuple[Measurement, list[str]]:
    """Run a plan over loopback while strangers from several networks connect and stay as long as they may."""
    log: list[str] = []

    async def run() -> None:
        server = Server(KEY, log=log.append)
        port = await server.start("127.0.0.1", 0)
        writers: list[asyncio.StreamWriter] = []

        async def stranger(number: int) -> None:
            with contextlib.suppress(OSError):
                local = (f"127.{1 + number % 5}.{number // 5 % 3}.{1 + number % 200}", 0)
                _, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=local)
                writers.append(writer)

        await asyncio.gather(*(stranger(number) for number in range(crowd // 2)))
        plan = Plan.from_text(PLAN)
        journal = Journal(folder, Coordinator.head(plan, None), resume=False)
        station = asyncio.create_task(Station(KEY, "127.0.0.1", port, name="sta1").run())
        more = asyncio.gather(*(stranger(number) for number in range(crowd // 2)))
        try:
            assert await Coordinator(plan, journal, folder).run(KEY, "127.0.0.1", port, "me")
        finally:
            await more
            station.cancel()
            for writer in writers:
                writer.close()
            journal.close()
            await server.close()

    asyncio.run(run())
    return Measurement.from_folder(folder), log


def test_a_thousand_strangers_do_not_change_a_measurement(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    try:
        crowded, log = measure(tmp_path / "crowded", 1000)
        alone, _ = measure(tmp_path / "alone", 0)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert not crowded.failures
    flows, quiet = crowded.cases["udp"].flows, alone.cases["udp"].flows
    # 500 kB are 339.7 datagrams of 1,472 B, so 340.
    assert flows["data_packets_sent"].tolist() == quiet["data_packets_sent"].tolist() == 3 * [340.0]
    assert flows["lost_datagrams"].tolist() == quiet["lost_datagrams"].tolist() == 3 * [0.0]
    assert flows["transfer_bytes"].tolist() == 3 * [340.0 * 1472]
    assert any("too many that prove nothing" in line for line in log)
    assert len([line for line in log if "closed a connection" in line]) <= 100, "strangers do not flood the log"


def test_keys_are_stretched_with_scrypt() -> None:
    salt = bytes(range(16))
    assert secrets.stretched(KEY, salt) == hashlib.scrypt(KEY, salt=salt, n=32768, r=8, p=1, maxmem=1 << 27, dklen=32)


async def server_says(change: dict[str, object]) -> None:
    """Join a server through something that changes what the station says."""
    server = Server(KEY)
    port = await server.start("127.0.0.1", 0)
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        hello = await wire._receive_plain(reader)
        nonce, salt = bytes.fromhex(str(hello["nonce"])), bytes.fromhex(str(hello["salt"]))
        key = secrets.stretched(KEY, salt)
        said = {"protocol": wire.PROTOCOL, "role": "station", "name": "a", "client": "127.0.0.1", "server": "127.0.0.1"}
        mine = b"\x01" * 32
        parts = [b"client", nonce, mine, b"wifair measure", *(str(value).encode() for value in said.values())]
        signer = hmac.new(key, digestmod=hashlib.sha256)
        for part in parts:
            signer.update(len(part).to_bytes(8, "big") + part)
        proof = {"type": "proof", **said, "nonce": mine.hex(), "proof": signer.hexdigest(), **change}
        await wire._send_plain(writer, proof)
        answer = await wire._receive_plain(reader)
        writer.close()
        if answer["type"] == "refused":
            raise Refused(str(answer["reason"]))
    finally:
        await server.close()


def test_role_name_version_and_addresses_are_signed() -> None:
    asyncio.run(server_says({}))
    for change in ({"role": "coordinator"}, {"name": "b"}, {"client": "192.0.2.7"}, {"server": "192.0.2.7"}):
        with pytest.raises(Refused, match="wrong secret"):
            asyncio.run(server_says(dict(change)))
    with pytest.raises(Refused, match="speaks protocol 2"):
        asyncio.run(server_says({"protocol": 1}))


def test_an_inbox_is_bounded_in_bytes() -> None:
    async def fill() -> None:
        inbox = Inbox()
        for _ in range(MOST_INBOX_BYTES // wire.LARGEST):
            inbox.put_nowait({}, wire.LARGEST)
        with pytest.raises(asyncio.QueueFull):
            inbox.put_nowait({}, 1)
        await inbox.get()
        inbox.put_nowait({}, 1)
        inbox.clear()
        inbox.put_nowait({}, wire.LARGEST)

    asyncio.run(fill())


def test_a_wrong_secret_is_refused() -> None:
    async def run() -> None:
        server = Server(KEY)
        port = await server.start("127.0.0.1", 0)
        try:
            with pytest.raises((Refused, ProtocolError), match="wrong secret"):
                await connect(b"some other long secret", "127.0.0.1", port, role="station", name="a")
        finally:
            await server.close()

    asyncio.run(run())

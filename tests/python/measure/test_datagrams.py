"""UDP flows: every datagram is sent and counted once, and those that found the receiver too slow are counted
separately.
"""

from __future__ import annotations

import socket
import threading
import time
from typing import Any

import pytest
from wifair.optional.measure import transfer
from wifair.optional.measure.clock import now
from wifair.optional.measure.flow import Flow

LINE = {"key": b"k" * 32, "repetition": b"r" * 16, "sample_s": 0.1, "timeout_s": 20.0}


def flow(**options: Any) -> Flow:
    return Flow(**{"name": "voice", "station": "sta1", "direction": "down", "transport": "udp", **options})


def transferred(given: Flow) -> tuple[dict[str, Any], dict[str, Any]]:
    """Run a flow from the server's end to the station's on the loopback interface; returns sender's and receiver's
    figures.
    """
    server = transfer.ServerEnd(given, "127.0.0.1", "127.0.0.1", None, print, **LINE)
    station = transfer.StationEnd(given, ("127.0.0.1", server.port), **LINE)
    for end in (server, station):
        threading.Thread(target=end.run, daemon=True).start()
    for end in (server, station):
        end.ready.result(10.0)
    origin_s = now() + 0.05
    for end in (server, station):
        end.go(origin_s)
    return server.result.result(20.0), station.result.result(20.0)


def test_a_delayed_sender_sends_the_remaining_datagrams(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before its last datagrams the sender waits 50 ms for a processor; all 100 are sent."""
    waits = []
    wait = transfer.End._wait_until

    def held_up(end: transfer.End, time_s: float) -> None:
        wait(end, time_s)
        waits.append(time_s)
        if len(waits) == 95:
            time.sleep(0.05)

    monkeypatch.setattr(transfer.End, "_wait_until", held_up)
    sender, receiver = transferred(flow(size=100_000, payload=1000, rate_bps=8_000_000))
    assert sender["datagrams"] == receiver["datagrams"] == 100
    assert receiver["received"] == 100_000
    assert receiver["duplicates"] == receiver["overflowed"] == 0


def test_a_sender_whose_interface_is_too_slow_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each datagram takes ten times as long as planned: half a second after its time the sender gives up."""

    class Slow(socket.socket):
        def send(self, *arguments: Any) -> int:
            time.sleep(0.02)
            return super().send(*arguments)

    monkeypatch.setattr("wifair.optional.measure.transfer.socket.socket", Slow)
    sender, receiver = transferred(flow(duration_s=0.2, payload=1000, rate_bps=4_000_000))
    assert 1 < sender["datagrams"] == receiver["datagrams"] <= 36, "0.7 s of 20 ms each, of 100 planned"


def test_datagrams_that_overflow_the_receiver_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    class Late(socket.socket):
        def recv(self, *arguments: Any) -> bytes:
            if self.type == socket.SOCK_DGRAM and self.gettimeout() == transfer.POLL_S:
                time.sleep(0.005)
            return super().recv(*arguments)

    monkeypatch.setattr("wifair.optional.measure.transfer.socket.socket", Late)
    given = flow(size=200_000, payload=1000, rate_bps=8_000_000, receive_buffer=4096)
    sender, receiver = transferred(given)
    assert sender["datagrams"] == 200
    assert receiver["overflowed"] > 0
    assert receiver["datagrams"] + receiver["overflowed"] == 200


def test_a_hello_as_long_as_data_is_not_data() -> None:
    """The server's last message of the handshake has 33 bytes, and comes twice."""
    sender, receiver = transferred(flow(size=3300, payload=33, rate_bps=1_000_000))
    assert sender["datagrams"] == receiver["datagrams"] == 100
    assert receiver["reordered"] == 0

"""Real datagrams in an emulation arrive as those that are offered to a link at the same times."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import wifair
from emulating import WHY_NOT
from emulating import wifair as command

pytestmark = [pytest.mark.alone, pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT or "emulation works here")]

CELL = """
duration = "20 s"
warm_up = "0 s"
[wlan]
standard = "802.11g"
[[servers]]
name = "server"
delay = "10 ms"
[[stations]]
name = "sta"
count = 3
[[flows]]
name = "up"
station = "sta"
tcp.cc = "cubic"
"""
SEND = """
import random, socket, time
peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
rng = random.Random(1)
for number in range(400):
    peer.sendto(bytes(rng.randrange(100, 1472)), ("server", 4000))
    time.sleep(0.004 * rng.random())
time.sleep(0.5)
"""
TAKE = """
import socket
taking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
taking.bind(("", 4000))
while True:
    taking.recv(2000)
"""
EPOCH_NS = 946_684_800_000_000_000


def passed(path: Path) -> list[tuple[int, int]]:
    """Times [ns] and lengths of IP packets of the datagrams in a capture."""
    data, found, at = path.read_bytes(), [], 24
    while at < len(data):
        seconds, nanos, kept, _ = np.frombuffer(data[at : at + 16], "<u4").tolist()
        frame = data[at + 16 : at + 16 + kept]
        if frame[12:14] == b"\x08\x00" and frame[23] == 17 and frame[36:38] == (4000).to_bytes(2, "big"):
            found.append((seconds * 10**9 + nanos - EPOCH_NS, int.from_bytes(frame[16:18], "big")))
        at += 16 + kept
    return found


def test_the_same_offers_arrive_at_the_same_times(tmp_path: Path) -> None:
    """Beside three uploads of CUBIC, which run in either; the queue of the station drops some datagrams."""
    (tmp_path / "cell.toml").write_text(CELL)
    (tmp_path / "send.py").write_text(SEND)
    (tmp_path / "take.py").write_text(TAKE)
    done = command(
        *("emulate", "cell.toml", "--seed", "5", "--quiet", "--pcap", "captures", "--pcap-at", "sta1,server"),
        *("--serve", "server", f"{sys.executable} take.py", "--exec", "sta1", f"sleep 1; {sys.executable} send.py"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    sent, arrived = (passed(tmp_path / "captures" / f"{name}.pcap") for name in ("sta1", "server"))
    assert len(sent) == 400
    assert len(arrived) > 200

    assert through_a_link(sent, 5) == arrived
    assert through_a_link(sent, 6) != arrived, "the control: the seed matters"


def through_a_link(sent: list[tuple[int, int]], seed: int) -> list[tuple[int, int]]:
    """Offer these datagrams; returns the times and lengths of those that arrive."""
    link = wifair.Link(wifair.Scenario.from_text(CELL), seed=seed)
    for time_ns, length in sent:
        link.offer(time_ns / 1e9, "sta1", "server", length - 28)
    while link.in_flight:
        link.advance(link.next_event_s())
    return [(round(one.time_s * 1e9), one.length + 28) for one in iter(link.poll_delivery, None)]

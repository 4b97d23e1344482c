"""Captures of any number of connections: memory and time are bounded, and output says which connections are counted
together.
"""

from __future__ import annotations

import json
import signal
import struct
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
import wifair

SECOND = 10**9


def packet(source: tuple[int, int], to: tuple[int, int], seq: int, ack: int, flags: int, payload: int = 0) -> bytes:
    tcp = struct.pack(">HHIIBBHHH", source[1], to[1], seq, ack, 5 << 4, flags, 65535, 0, 0)
    ip = struct.pack(">BBHHHBBHII", 0x45, 0, 40 + payload, 0, 0, 64, 6, 0, source[0], to[0])
    return ip + tcp + bytes(payload)


def write(path: Path, connections: int, *, with_large: int = 0) -> None:
    """Write SYN and SYN-ACK of many connections, and among them some that carry data."""
    server = (0xC0A80001, 80)
    with path.open("wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 101))

        def add(nanos: int, data: bytes) -> None:
            out.write(struct.pack("<IIII", 10**6 + nanos // SECOND, nanos % SECOND, len(data), len(data)) + data)

        for number in range(connections):
            client = (0x0A000000 + number // 60_000, 1024 + number % 60_000)
            at = number * 60_000
            add(at, packet(client, server, 1000, 0, 2))
            add(at + 20_000, packet(server, client, 5000, 1001, 0x12))
            if with_large and number % 10 == 0:
                large = (0x0B000000 + number // 10 % with_large, 7)
                seq = 1 + 1000 * (number // 10 // with_large)
                add(at + 30_000, packet(large, server, seq, 1, 0x10, 1000))


def test_the_smallest_connections_are_counted_together(tmp_path: Path) -> None:
    path = tmp_path / "many.pcap"
    write(path, 30_000, with_large=20)
    capture = wifair.read_capture(path, connections=100)
    document = capture.document
    assert len(document["connections"]) == 100
    counts = document["capture"]
    # The twenty connections that carry data, in every tenth packet, are complete; all 30,020 are accounted for.
    assert len(capture.flows) == 20
    assert capture.flows["received_bytes"].tolist() == [150_000] * 20
    assert counts["other_connections"] == 30_020 - 100
    kept = sum(side["total_packets"] for one in document["connections"] for side in (one["a2b"], one["b2a"]))
    assert kept + counts["other_connections_packets"] == counts["tcp_segments"] == 63_000
    assert "29,920 smaller connections counted together (--connections tells more apart)" in repr(capture)
    every = wifair.read_capture(path, connections=40_000)
    assert every.others == 0
    assert every.flows["received_bytes"].tolist() == [150_000] * 20


def test_rows_of_the_remaining_connections_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "many.pcap"
    write(path, 2_000, with_large=5)
    few = wifair.read_capture(path, connections=10, packets=True)
    every = wifair.read_capture(path, packets=True)
    assert few.packets is not None
    assert every.packets is not None

    def data_rows(capture: wifair.Capture) -> list[tuple[int, int]]:
        assert capture.packets is not None
        rows = capture.packets
        return [(int(f), int(p)) for f, p in zip(rows["frame"], rows["payload_bytes"]) if p > 0]

    assert data_rows(few) == data_rows(every)
    assert few.xplot(tmp_path / "few") != []


CODE = """
import resource, sys, time, json
import wifair
began = time.process_time()
capture = wifair.read_capture(sys.argv[1])
json.dumps(capture.document)
repr(capture)
print(time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


@pytest.mark.parametrize("count", [20_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_memory_and_time_are_bounded(tmp_path: Path, count: int) -> None:
    path = tmp_path / "many.pcap"
    write(path, count, with_large=1_000)
    done = subprocess.run([sys.executable, "-c", CODE, str(path)], capture_output=True, text=True, check=True)
    took_s, memory_mb = map(float, done.stdout.split())
    assert memory_mb < 1024
    assert took_s < 60


def test_ctrl_c_shows_the_analysis_so_far(tmp_path: Path) -> None:
    path = tmp_path / "many.pcap"
    write(path, 3_000)
    data = path.read_bytes()
    with (tmp_path / "out").open("wb") as out, (tmp_path / "err").open("wb") as err:
        process = subprocess.Popen(
            [sys.executable, "-m", "wifair", "analyze", "-", "--json"], stdin=subprocess.PIPE, stdout=out, stderr=err
        )
    assert process.stdin is not None
    process.stdin.write(data)
    deadline = time.monotonic() + 600  # a second or so where nothing else goes on
    with suppress(BrokenPipeError):  # a capture that never ends
        for number in range(10**9):
            process.stdin.write(data[24:])
            if number == 50:
                process.send_signal(signal.SIGINT)
            assert time.monotonic() < deadline
    with suppress(BrokenPipeError):
        process.stdin.close()
    assert process.wait(timeout=600) == 130
    assert b"interrupted" in (tmp_path / "err").read_bytes()
    assert json.loads((tmp_path / "out").read_bytes())["capture"]["packets"] > 0

"""Real TCP for the tests of emulation: plain sockets, and what the kernel says of them. It knows nothing of wifair.

serve PORT KIND                             take in what comes (`drain`), send without end (`flood`), or both (`both`)
bulk HOST PORT KIND SECONDS CC FILE [DSCP]  send for so long (`drain`, `both`) or take in (`flood`); report in FILE
fetch HOST PORT COUNT FILE                  ask a `pages` server COUNT times for 30 kB; the time of each in FILE

With a path in READY a server makes that file when it listens, and a client waits for it: an attempt that is refused
would be one connection more.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

CHUNK = bytes(1 << 16)
PAGE = 30_000
SETTLE = 0.4
"""Share of the time that does not count."""


def info(peer: socket.socket) -> dict[str, int]:
    """Read the kernel's state of a connection (struct tcp_info of linux/tcp.h)."""
    raw = peer.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232)
    words = struct.unpack_from("=24I", raw, 8)
    return {
        "send_scale": raw[6] & 15,
        "mss": words[2],
        "srtt_us": words[15],
        "cwnd": words[18],
        "retransmissions": words[23],
        "acknowledged": struct.unpack_from("=Q", raw, 120)[0],
        "delivered_ce": struct.unpack_from("=I", raw, 196)[0],
        "send_window": struct.unpack_from("=I", raw, 228)[0],
    }


def kernel_counters() -> dict[str, int]:
    """The counters of this host's kernel: bad checksums, packets marked "congestion experienced"."""
    found: dict[str, int] = {"Ip6InCEPkts": 0}
    for file in ("netstat", "snmp"):
        lines = Path(f"/proc/net/{file}").read_text().splitlines()
        for names, values in zip(lines[::2], lines[1::2], strict=True):
            group = names.partition(":")[0]
            pairs = zip(names.split()[1:], values.split()[1:], strict=True)
            found.update({group + name: int(value) for name, value in pairs})
    for line in Path("/proc/net/snmp6").read_text().splitlines() if Path("/proc/net/snmp6").exists() else []:
        name, value = line.split()
        found[name] = int(value)
    wanted = ("TcpInCsumErrors", "TcpInErrs", "IpExtInCEPkts", "Ip6InCEPkts", "IpInHdrErrors")
    return {name: found.get(name, 0) for name in wanted}


def _flood(peer: socket.socket) -> None:
    with suppress(OSError):
        while True:
            peer.sendall(CHUNK)


def _drain(peer: socket.socket) -> None:
    with suppress(OSError):
        while peer.recv(1 << 18):
            pass


def _pages(peer: socket.socket) -> None:
    with suppress(OSError):
        peer.recv(1)
        peer.sendall(bytes(PAGE))
    peer.close()


def serve(port: int, kind: str) -> None:
    """Serve all clients, IPv4 and IPv6."""
    listener = socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
    if "READY" in os.environ:
        Path(os.environ["READY"]).touch()
    todo = {"drain": [_drain], "flood": [_flood], "both": [_drain, _flood], "pages": [_pages]}[kind]
    while True:
        peer, _ = listener.accept()
        for do in todo:
            threading.Thread(target=do, args=(peer,), daemon=True).start()


def connect(host: str, port: int) -> socket.socket:
    """Connect as soon as the server listens, within a minute."""
    until = time.monotonic() + 60
    while "READY" in os.environ and not Path(os.environ["READY"]).exists() and time.monotonic() < until:
        time.sleep(0.02)
    while True:
        try:
            return socket.create_connection((host, port), timeout=20)
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def bulk(host: str, port: int, kind: str, seconds: float, cc: str, file: str, dscp: int) -> None:
    """Carry as much as possible, and report what arrived in the later part of the time."""
    peer = connect(host, port)
    begin = time.monotonic()
    if dscp:
        level, option = (41, 67) if peer.family == socket.AF_INET6 else (0, socket.IP_TOS)
        peer.setsockopt(level, option, dscp << 2)
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
    got = [0]

    def take() -> None:
        with suppress(OSError):
            while data := peer.recv(1 << 18):
                got[0] += len(data)

    if kind in ("flood", "both"):
        threading.Thread(target=take, daemon=True).start()
    if kind in ("drain", "both"):
        threading.Thread(target=_flood, args=(peer,), daemon=True).start()
    time.sleep(max(0.0, begin + SETTLE * seconds - time.monotonic()))
    first, at, before = info(peer), time.monotonic(), got[0]
    window = []
    while time.monotonic() < begin + seconds:
        time.sleep(0.1)
        window.append(info(peer))
    last, taken = info(peer), time.monotonic() - at
    report: dict[str, Any] = {
        **last,
        "sent_bps": 8 * (last["acknowledged"] - first["acknowledged"]) / taken,
        "received_bps": 8 * (got[0] - before) / taken,
        "srtt_ms": sum(one["srtt_us"] for one in window) / len(window) / 1000,
        "late_retransmissions": last["retransmissions"] - first["retransmissions"],
        "windows": sorted({one["send_window"] for one in window}),
        "kernel": kernel_counters(),
    }
    Path(file).write_text(json.dumps(report))
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.close()


def fetch(host: str, port: int, count: int, file: str) -> None:
    """Fetch pages, one after the other."""
    taken = []
    for _ in range(count):
        begin = time.monotonic()
        with connect(host, port) as peer:
            peer.sendall(b"g")
            left = PAGE
            while left:
                left -= len(peer.recv(1 << 16)) or left
        taken.append(time.monotonic() - begin)
        time.sleep(0.05)
    Path(file).write_text(json.dumps(taken))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", port, kind]:
            serve(int(port), kind)
        case ["bulk", host, port, kind, seconds, cc, file, *dscp]:
            bulk(host, int(port), kind, float(seconds), cc, file, int(dscp[0]) if dscp else 0)
        case ["fetch", host, port, count, file]:
            fetch(host, int(port), int(count), file)
        case _:
            sys.exit(__doc__)

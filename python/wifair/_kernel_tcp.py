"""The TCP of the running kernel: what it can do, and what it knows of a connection (``getsockopt(TCP_INFO)``).

Offsets are those of ``struct tcp_info`` in Linux's ``include/uapi/linux/tcp.h``, which only ever grows at its end: an
older kernel gives fewer bytes, and what lies behind them is None.
"""

from __future__ import annotations

import socket
import struct
import sys

INFINITE_SSTHRESH = 0x7FFFFFFF

FIELDS: dict[str, tuple[int, str]] = {
    "rto": (8, "I"),
    "snd_mss": (16, "I"),
    "rtt": (68, "I"),
    "snd_ssthresh": (76, "I"),
    "snd_cwnd": (80, "I"),
    "total_retrans": (100, "I"),
    "bytes_acked": (120, "Q"),
    "notsent_bytes": (144, "I"),
    "min_rtt": (148, "I"),
    "data_segs_out": (156, "I"),
    "delivery_rate": (160, "Q"),
    "busy_time": (168, "Q"),
    "bytes_sent": (200, "Q"),
    "bytes_retrans": (208, "Q"),
    "reord_seen": (220, "I"),
    "total_rto": (240, "H"),
}
"""Offset and type of each field that is used; names are the kernel's without ``tcpi_``."""

MOST_BYTES = 1024

TcpInfo = dict[str, int | None]
"""Fields of `FIELDS`; times in us, rates in bytes/s; None for what the kernel is too old for."""


def has_tcp_info() -> bool:
    """Whether this system has TCP_INFO."""
    return sys.platform == "linux" and hasattr(socket, "TCP_INFO")


def parse_tcp_info(data: bytes) -> TcpInfo:
    """Take the kernel's bytes apart.

    Raises
    ------
    ValueError
        If there are fewer than Linux 2.6 gave.
    """
    if len(data) < 104:
        raise ValueError(f"{len(data)} bytes of TCP_INFO: expected at least 104")
    return {
        name: struct.unpack_from("=" + form, data, offset)[0] if offset + struct.calcsize(form) <= len(data) else None
        for name, (offset, form) in FIELDS.items()
    }


def tcp_info(connection: socket.socket) -> TcpInfo | None:
    """Ask the kernel; None where it does not answer (another system, a socket that was closed)."""
    if not has_tcp_info():
        return None
    try:
        return parse_tcp_info(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, MOST_BYTES))
    except (OSError, ValueError):
        return None


def kernel_has(cc: str) -> bool:
    """Whether a connection of this host can have the congestion control, by the kernel's name for it."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
        except (OSError, AttributeError):
            return False
    return True

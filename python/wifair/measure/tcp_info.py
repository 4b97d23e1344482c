"""What the kernel knows of a TCP connection: ``getsockopt(TCP_INFO)``.

Offsets are those of ``struct tcp_info`` in Linux's ``include/uapi/linux/tcp.h``, which only ever grows at its end: an
older kernel gives fewer bytes, and what lies behind them is None.
"""

from __future__ import annotations

import socket
import struct
import sys

__all__ = ["FIELDS", "TcpInfo", "available", "parse", "read"]

INFINITE_SSTHRESH = 0x7FFFFFFF

FIELDS: dict[str, tuple[int, str]] = {
    "state": (0, "B"),
    "ca_state": (1, "B"),
    "rto": (8, "I"),
    "snd_mss": (16, "I"),
    "rcv_mss": (20, "I"),
    "unacked": (24, "I"),
    "sacked": (28, "I"),
    "lost": (32, "I"),
    "retrans": (36, "I"),
    "pmtu": (60, "I"),
    "rtt": (68, "I"),
    "rttvar": (72, "I"),
    "snd_ssthresh": (76, "I"),
    "snd_cwnd": (80, "I"),
    "advmss": (84, "I"),
    "rcv_rtt": (92, "I"),
    "rcv_space": (96, "I"),
    "total_retrans": (100, "I"),
    "pacing_rate": (104, "Q"),
    "bytes_acked": (120, "Q"),
    "bytes_received": (128, "Q"),
    "segs_out": (136, "I"),
    "segs_in": (140, "I"),
    "notsent_bytes": (144, "I"),
    "min_rtt": (148, "I"),
    "data_segs_in": (152, "I"),
    "data_segs_out": (156, "I"),
    "delivery_rate": (160, "Q"),
    "busy_time": (168, "Q"),
    "rwnd_limited": (176, "Q"),
    "sndbuf_limited": (184, "Q"),
    "delivered": (192, "I"),
    "bytes_sent": (200, "Q"),
    "bytes_retrans": (208, "Q"),
    "dsack_dups": (216, "I"),
    "reord_seen": (220, "I"),
    "rcv_ooopack": (224, "I"),
    "snd_wnd": (228, "I"),
    "total_rto": (240, "H"),
}
"""Offset and type of each field that is used; names are the kernel's without ``tcpi_``."""

MOST_BYTES = 1024

TcpInfo = dict[str, int | None]
"""Fields of `FIELDS`; times in us, rates in bytes/s; None for what the kernel is too old for."""


def available() -> bool:
    """Whether this system has it."""
    return sys.platform == "linux" and hasattr(socket, "TCP_INFO")


def parse(data: bytes) -> TcpInfo:
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


def read(connection: socket.socket) -> TcpInfo | None:
    """Ask the kernel; None where it does not answer (another system, a socket that was closed)."""
    if not available():
        return None
    try:
        return parse(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, MOST_BYTES))
    except (OSError, ValueError):
        return None

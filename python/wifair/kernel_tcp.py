"""What the TCP of the running kernel can do."""

from __future__ import annotations

import socket

__all__ = ["kernel_has"]


def kernel_has(cc: str) -> bool:
    """Whether a connection of this host can have the congestion control, by the kernel's name for it."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, cc.encode())
        except (OSError, AttributeError):
            return False
    return True

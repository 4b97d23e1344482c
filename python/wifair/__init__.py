"""Packet-level simulation of TCP over 802.11 wireless LANs: who gets what, why, and how fair it is."""

from __future__ import annotations

from wifair._core import __version__

__all__ = ["__version__"]

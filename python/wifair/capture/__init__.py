"""Packet captures: their tables, their page, and the scenario that one suggests."""

from __future__ import annotations

from wifair._moved import refuse


def __getattr__(name: str) -> object:
    refuse(__name__, name)

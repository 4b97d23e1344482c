"""Packet captures: their tables, their page, and the scenario that one suggests."""

from __future__ import annotations

from wifair._moved import missing


def __getattr__(name: str) -> object:
    raise missing(__name__, name)

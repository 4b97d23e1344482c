"""Scenarios: what is simulated, and how it is written."""

from __future__ import annotations

from wifair._moved import refuse


def __getattr__(name: str) -> object:
    refuse(__name__, name)

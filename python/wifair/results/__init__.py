"""Results of runs: in memory, in a folder, as text."""

from __future__ import annotations

from wifair._moved import refuse


def __getattr__(name: str) -> object:
    refuse(__name__, name)

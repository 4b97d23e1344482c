"""Results of runs: in memory, in a folder, as text."""

from __future__ import annotations

from wifair._moved import missing


def __getattr__(name: str) -> object:
    raise missing(__name__, name)

"""V. Kemerlis, E. Stefanis, G. Xylomenos and G. Polyzos, "Throughput Unfairness in TCP over WiFi", WONS 2006."""

from __future__ import annotations

from pathlib import Path

from wifair.papers.kemerlis2006.experiments import EXPERIMENTS, UNITS
from wifair.reproduce import Paper

__all__ = ["PAPER"]

PAPER = Paper(
    key="kemerlis2006",
    title="V. Kemerlis, E. Stefanis, G. Xylomenos and G. Polyzos, Throughput Unfairness in TCP over WiFi, 2006",
    folder=Path(__file__).parent,
    experiments=EXPERIMENTS,
    units=UNITS,
    names={"queue": "AP queue", "wire": "wire [Mb/s]"},
)

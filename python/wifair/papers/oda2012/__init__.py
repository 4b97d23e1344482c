"""H. Oda, H. Hisamatsu and H. Noborio, "Compound TCP+", 2012."""

from __future__ import annotations

from pathlib import Path

from wifair.papers.oda2012.experiments import EXPERIMENTS, UNITS
from wifair.reproduce import Paper

__all__ = ["PAPER"]

PAPER = Paper(
    key="oda2012",
    title="H. Oda, H. Hisamatsu and H. Noborio, Compound TCP+: A Solution for Compound TCP Unfairness in Wireless LAN, "
    "2012",
    folder=Path(__file__).parent,
    experiments=EXPERIMENTS,
    units=UNITS,
    names={"n": "stations", "t": "second"},
)

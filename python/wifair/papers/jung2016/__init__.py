"""Y.-J. Jung and C. Y. Park, "Instantaneous Fairness of TCP in Heterogeneous Traffic Wireless LAN", 2016."""

from __future__ import annotations

from pathlib import Path

from wifair.papers.jung2016.experiments import EXPERIMENTS, UNITS
from wifair.reproduce import Paper

__all__ = ["PAPER"]

PAPER = Paper(
    key="jung2016",
    title="Y.-J. Jung and C. Y. Park, Instantaneous Fairness of TCP in Heterogeneous Traffic Wireless LAN "
    "Environments, 2016",
    folder=Path(__file__).parent,
    experiments=EXPERIMENTS,
    units=UNITS,
    names={"n": "nodes", "length": "bytes", "intro": "introduction"},
)

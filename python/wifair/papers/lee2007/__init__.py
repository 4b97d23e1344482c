"""E.-J. Lee, H.-T. Lim, S.-J. Seok and C.-H. Kang, "A Scheme for Enhancing TCP Fairness and Throughput", 2007."""

from __future__ import annotations

from pathlib import Path

from wifair.papers.lee2007.experiments import EXPERIMENTS, UNITS
from wifair.reproduce import Paper

__all__ = ["PAPER"]

PAPER = Paper(
    key="lee2007",
    title="E.-J. Lee, H.-T. Lim, S.-J. Seok and C.-H. Kang, A Scheme for Enhancing TCP Fairness and Throughput in "
    "IEEE 802.11 WLANs, 2007",
    folder=Path(__file__).parent,
    experiments=EXPERIMENTS,
    units=UNITS,
    names={"rtt": "RTT [ms]", "uplinks": "uploads", "error": "error rate"},
)

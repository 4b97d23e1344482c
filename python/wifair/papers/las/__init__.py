"""The paper `las`: least attained service instead of FIFO in 802.11 networks, about 2006."""

from __future__ import annotations

from pathlib import Path

from wifair.papers.las.experiments import EXPERIMENTS, UNITS
from wifair.reproduce import Paper

__all__ = ["PAPER"]

PAPER = Paper(
    key="las",
    title="Least attained service (LAS) in 802.11 networks; the text at hand has no title page (about 2006)",
    folder=Path(__file__).parent,
    experiments=EXPERIMENTS,
    units=UNITS,
    names={"window": "window [kB]", "buffer": "buffer [kB]", "spacing": "spacing [m]", "cov": "CoV"},
)

"""Y.-J. Jung and C. Y. Park, "Instantaneous Fairness of TCP in Heterogeneous Traffic Wireless LAN", 2016."""

from __future__ import annotations

from wifair.papers.jung2016.experiments import PAPER

__all__ = ["PAPER"]

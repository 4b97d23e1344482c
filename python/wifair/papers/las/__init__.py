"""The paper `las`: least attained service instead of FIFO in 802.11 networks, about 2006."""

from __future__ import annotations

from wifair.papers.las.experiments import PAPER

__all__ = ["PAPER"]

"""E.-J. Lee, H.-T. Lim, S.-J. Seok and C.-H. Kang, "A Scheme for Enhancing TCP Fairness and Throughput", 2007."""

from __future__ import annotations

from wifair.papers.lee2007.experiments import PAPER

__all__ = ["PAPER"]

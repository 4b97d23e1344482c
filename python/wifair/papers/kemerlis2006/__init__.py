"""V. Kemerlis, E. Stefanis, G. Xylomenos and G. Polyzos, "Throughput Unfairness in TCP over WiFi", WONS 2006."""

from __future__ import annotations

from wifair.papers.kemerlis2006.experiments import PAPER

__all__ = ["PAPER"]

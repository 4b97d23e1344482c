"""T. Høiland-Jørgensen et al., "Ending the Anomaly: Achieving Low Latency and Airtime Fairness in WiFi", 2017."""

from __future__ import annotations

from wifair.papers.hoiland2017.experiments import PAPER

__all__ = ["PAPER"]

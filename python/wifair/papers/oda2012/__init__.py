"""H. Oda, H. Hisamatsu and H. Noborio, "Compound TCP+", 2012."""

from __future__ import annotations

from wifair.papers.oda2012.experiments import PAPER

__all__ = ["PAPER"]

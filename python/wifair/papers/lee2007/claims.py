"""Judges of the claims of lee2007."""

from __future__ import annotations

from wifair.reproduce import Judges

__all__ = ["judges"]

judges = Judges()

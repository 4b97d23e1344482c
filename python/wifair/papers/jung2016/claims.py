"""Judges of the claims of jung2016."""

from __future__ import annotations

from wifair.reproduce import Judges

__all__ = ["judges"]

judges = Judges()

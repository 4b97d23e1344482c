"""Papers that `wifair reproduce` reproduces, one folder each."""

from __future__ import annotations

__all__ = ["KEYS"]

KEYS = ("jung2016", "lee2007", "kemerlis2006", "oda2012", "las", "hoiland2017")
"""The papers, in the order in which they are reproduced."""

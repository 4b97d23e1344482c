"""Compares the clocks of two hosts over their control connection.

A host asks the other for its time, and assumes that it was read halfway between question and answer. The error is at
most half of the time between them (RFC 5905, section 8, with no time spent in the peer). The fastest of many answers
is used.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import NamedTuple

now = time.monotonic
"""The clock of this host [s]: monotonic, with an arbitrary origin."""


class Ping(NamedTuple):
    """A question and its answer: two times of this host, and between them one of the other [s]."""

    asked_s: float
    theirs_s: float
    answered_s: float


class Skew(NamedTuple):
    """How far the other clock is ahead, the largest error of that, and the round-trip time that gave it [s]."""

    offset_s: float
    error_s: float
    round_trip_s: float


def skew(pings: Iterable[Ping]) -> Skew:
    """Estimate from pings how far the other clock is ahead.

    Raises
    ------
    ValueError
        If there is none.

    Examples
    --------
    >>> skew([Ping(1.0, 11.9, 3.0), Ping(5.0, 15.2, 5.2)])
    Skew(offset_s=10.1, error_s=0.1, round_trip_s=0.2)
    """
    best = min(pings, key=lambda ping: ping.answered_s - ping.asked_s, default=None)
    if best is None:
        raise ValueError("no ping")
    trip = best.answered_s - best.asked_s
    return Skew(round(best.theirs_s - (best.asked_s + best.answered_s) / 2, 9), round(trip / 2, 9), round(trip, 9))

"""Clocks of two hosts, held against each other over their control connection.

A host is asked for its time; the answer belongs, as well as can be told, to the middle between question and answer, and
is wrong by half of that time at most (D. Mills, RFC 5905, section 8, with no time spent in the peer). Of many answers
the fastest one says most.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import NamedTuple

now = time.monotonic
"""The clock of this host [s]; it is never set, and may begin anywhere."""


class Ping(NamedTuple):
    """A question and its answer: two times of this host, and one of the other between them [s]."""

    asked_s: float
    theirs_s: float
    answered_s: float


class Skew(NamedTuple):
    """How far the other clock is ahead of this one, at most how wrong that is, and the round trip it came from [s]."""

    offset_s: float
    error_s: float
    round_trip_s: float


def skew(pings: Iterable[Ping]) -> Skew:
    """Estimate how far the other clock is ahead, from at least one ping.

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

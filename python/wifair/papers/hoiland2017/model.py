"""The analytical model of section 2.2: rates of stations with aggregates, with and without airtime fairness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Sender", "rates_mbps"]

PHY_US, DIFS_US, SIFS_US, BACKOFF_US = 32.0, 34.0, 16.0, 68.0
"""Preamble, DIFS, SIFS and the mean backoff of 7.5 slots, as the paper rounds them."""
DELIMITER, MAC, FCS = 4, 34, 4
"""Bytes that a packet gets in an aggregate, besides padding to a multiple of four."""


class Sender(NamedTuple):
    """Aggregates to a station: their mean number of packets, the length of a packet [bytes], the rate [Mb/s]."""

    packets: float
    length: int
    rate_mbps: float

    @property
    def data_us(self) -> float:
        """Time of an aggregate (equation 2)."""
        subframe = DELIMITER + MAC + self.length + FCS
        return PHY_US + 8 * self.packets * (subframe + -subframe % 4) / self.rate_mbps

    @property
    def overhead_us(self) -> float:
        """Time between aggregates: DIFS, SIFS, block ACK and backoff (equation 3)."""
        return DIFS_US + SIFS_US + (SIFS_US + 8 * 58 / self.rate_mbps) + BACKOFF_US

    @property
    def alone_mbps(self) -> float:
        """Rate of a station that is alone (equation 3)."""
        return 8 * self.packets * self.length / (self.data_us + self.overhead_us)


def rates_mbps(senders: Sequence[Sender], *, is_fair: bool) -> list[float]:
    """Compute the rate of each station (equations 4 and 5) [Mb/s].

    With airtime fairness each has the same share of the air, otherwise one in proportion to its aggregate.
    """
    total = sum(sender.data_us for sender in senders)
    shares = [1 / len(senders) if is_fair else sender.data_us / total for sender in senders]
    return [share * sender.alone_mbps for share, sender in zip(shares, senders)]

"""IEEE 802.11 EDCA with saturated categories and aggregates: a slow, plain model.

Source: IEEE Std 802.11-2020, 10.23.2 (EDCA: AIFS, backoff, TXOP, internal collisions) and 10.25 (block ACK).

Each contender is one access category of one station. From the end of the last transmission it waits AIFS, then has a
slot boundary every slot. On each boundary it sends if its counter is 0, else takes one off, also on the boundary on
which somebody else begins to send (10.23.2.4). That is what differs from DCF, where this boundary does not count.
Contenders that send at the same nanosecond collide, and all of their PPDUs are lost.

Not modelled: propagation delay, capture, bit errors, arrivals (each contender always has a full PPDU).
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Literal

US = 1000  # ns


@dataclass(frozen=True)
class Category:
    """Parameters of an access category."""

    aifsn: int
    cw_min: int
    cw_max: int
    txop: int = 0
    """TXOP limit [ns]; 0: one PPDU."""


VO = Category(2, 3, 7)
VI = Category(2, 7, 15)
BE = Category(3, 15, 1023)
BK = Category(7, 15, 1023)


@dataclass(frozen=True)
class Exchange:
    """A PPDU and its response, in nanoseconds."""

    ppdu: int
    response: int
    payload_bits: int
    """Payload of all MPDUs together."""
    request: int | None = None
    """A BlockAckReq. With it, a contender whose PPDU got no response sends it, until it gets one, before data again."""
    slot: int = 9 * US
    sifs: int = 16 * US

    @property
    def duration(self) -> int:
        """PPDU, SIFS, response."""
        return self.ppdu + self.sifs + self.response


@dataclass(eq=False)
class Contender:
    """One category of one station."""

    station: int
    category: Category
    """Higher priority first, within a station."""
    cw: int = 0
    counter: int = 0
    failures: int = 0
    requests: bool = False
    """Whether it sends a BlockAckReq next."""
    idle_from: int = 0
    """When the medium became idle for it, deferral after a collision included."""
    sent: int = 0
    collided: int = 0
    delivered_bits: int = 0
    drops: int = 0

    def ppdu(self, exchange: Exchange) -> int:
        """Duration of what it sends next."""
        return exchange.request if self.requests and exchange.request else exchange.ppdu

    def first_boundary(self, exchange: Exchange) -> int:
        """End of AIFS."""
        return self.idle_from + exchange.sifs + self.category.aifsn * exchange.slot


@dataclass
class Result:
    """Figures of a run."""

    seconds: float
    contenders: list[Contender] = field(default_factory=list)

    @property
    def goodput_mbps(self) -> list[float]:
        """Of each contender."""
        return [c.delivered_bits / self.seconds / 1e6 for c in self.contenders]

    @property
    def collision_probability(self) -> float:
        """Part of the accesses that collided."""
        return sum(c.collided for c in self.contenders) / sum(c.sent for c in self.contenders)


def saturate(
    contenders: list[tuple[int, Category]],
    exchange: Exchange,
    *,
    seconds: float,
    seed: int,
    retry_limit: int = 7,
    colliders: Literal["aifs", "timeout"] = "aifs",
    eifs: bool = False,
) -> Result:
    """Let contenders, given by station and category, send for this many seconds.

    `colliders` says what stations that collided wait from the end of their PPDU, with all of their categories: AIFS, or
    the timeout of the response (SIFS, a slot, 20 us) and AIFS (10.23.2.4). `eifs`: the others wait SIFS and an ACK at
    6 Mb/s (44 us) more after a collision.
    """
    draw = random.Random(seed)
    all_of = [Contender(station, category, cw=category.cw_min) for station, category in contenders]
    for c in all_of:
        c.counter = draw.randint(0, c.cw)
    now, end = 0, int(seconds * 1e9)
    while now < end:
        due = {id(c): c.first_boundary(exchange) + c.counter * exchange.slot for c in all_of}
        start = min(due.values())
        ready = [c for c in all_of if due[id(c)] == start]
        for c in all_of:
            first = c.first_boundary(exchange)
            if c not in ready and first <= start:
                c.counter -= (start - first) // exchange.slot + 1
        senders: list[Contender] = []
        for c in ready:
            if any(other.station == c.station for other in senders):
                fail(c, draw, retry_limit)  # internal collision: the category of higher priority sends
            else:
                senders.append(c)
        for c in senders:
            c.sent += 1
        if len(senders) == 1:
            now = send(senders[0], start, exchange)
            for c in all_of:
                c.idle_from = now
            senders[0].cw, senders[0].failures = senders[0].category.cw_min, 0
            senders[0].counter = draw.randint(0, senders[0].cw)
        else:
            ends = {id(c): start + c.ppdu(exchange) for c in senders}
            now = max(ends.values())
            timeout = exchange.sifs + exchange.slot + 20 * US if colliders == "timeout" else 0
            for c in all_of:
                c.idle_from = now + (exchange.sifs + 44 * US if eifs else 0)
            for c in senders:
                c.collided += 1
                c.requests = exchange.request is not None
                fail(c, draw, retry_limit)
                for own in all_of:
                    if own.station == c.station:
                        own.idle_from = max(now, ends[id(c)] + timeout)
    return Result(now / 1e9, all_of)


def send(c: Contender, start: int, exchange: Exchange) -> int:
    """Send as many PPDUs as the TXOP allows; the end of the last response."""
    if c.requests and exchange.request:
        c.requests = False
        return start + exchange.request + exchange.sifs + exchange.response
    now = start + exchange.duration
    c.delivered_bits += exchange.payload_bits
    while now + exchange.sifs + exchange.duration - start <= c.category.txop:
        now += exchange.sifs + exchange.duration
        c.delivered_bits += exchange.payload_bits
    return now


def fail(c: Contender, draw: random.Random, retry_limit: int) -> None:
    """Double the window, or drop what was sent and begin anew at the retry limit."""
    c.failures += 1
    c.cw = min(2 * c.cw + 1, c.category.cw_max)
    if c.failures >= retry_limit:
        c.cw, c.failures = c.category.cw_min, 0
        c.drops += 1
        c.requests = False
    c.counter = draw.randint(0, c.cw)


def lone_mbps(category: Category, exchange: Exchange) -> float:
    """One contender alone: payload over AIFS, mean backoff and exchange."""
    aifs = exchange.sifs + category.aifsn * exchange.slot
    return exchange.payload_bits / (aifs + exchange.slot * category.cw_min / 2 + exchange.duration) * 1e3

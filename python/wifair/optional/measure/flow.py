"""A flow of a plan, as sent to other hosts, and the limits that every host enforces."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from wifair.optional.measure import fields
from wifair.optional.measure.errors import ProtocolError
from wifair.optional.measure.wire import NAME

CC = re.compile(r"[A-Za-z0-9_-]{1,15}")


@dataclass(frozen=True)
class Limits:
    """Limits of a host, whatever a plan asks for."""

    flows: int = 256
    """Flows at the same time."""
    repetitions: int = 100_000
    """Repetitions of all cases of one plan."""
    size: int = 1 << 40
    """Bytes of one flow."""
    duration_s: float = 24 * 3600.0
    """Time that one repetition may take [s]."""
    rate_bps: float = 10e9
    """Rate of one UDP flow [bit/s]."""


@dataclass(frozen=True)
class Sessions:
    """Sessions at fixed times on one connection."""

    size: int
    """Bytes of each."""
    every_s: float
    """Time from one start to the next [s]."""
    count: int
    """How many."""


@dataclass(frozen=True)
class Flow:
    """One flow; exactly one of `size`, `duration_s` and `sessions` is given."""

    name: str
    station: str
    direction: str
    """``"up"`` from the station to the server, or ``"down"``."""
    transport: str
    """``"tcp"`` or ``"udp"``."""
    start_s: float = 0.0
    """Time from the common start to its beginning [s]."""
    size: int | None = None
    """Bytes to transfer."""
    duration_s: float | None = None
    """Time to send for [s]."""
    sessions: Sessions | None = None
    cc: str | None = None
    """Congestion control, by its name in the kernel."""
    mss: int | None = None
    """Largest segment [bytes]."""
    send_buffer: int | None = None
    """SO_SNDBUF [bytes]."""
    receive_buffer: int | None = None
    """SO_RCVBUF [bytes]."""
    rate_bps: int | None = None
    """Rate of UDP data [bit/s]."""
    payload: int | None = None
    """Bytes in a UDP datagram."""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], limits: Limits) -> Flow:
        """Check a flow that came from a plan or a peer.

        Raises
        ------
        ProtocolError
            If something is missing, of the wrong type, or beyond `limits`.
        """
        name, station = fields.text(data, "name", most=120), fields.text(data, "station", most=60)
        if not NAME.fullmatch(station):
            raise ProtocolError("`station` is no name")
        direction, transport = fields.text(data, "direction", most=4), fields.text(data, "transport", most=3)
        if direction not in ("up", "down") or transport not in ("tcp", "udp"):
            raise ProtocolError("no such direction or transport")

        whole = partial(fields.optional_whole, data)
        size = whole("size", low=1, high=limits.size)
        longest = limits.duration_s
        duration_s = sessions = cc = None
        if fields.optional(data, "duration_s"):
            duration_s = fields.number(data, "duration_s", low=1e-3, high=longest)
        if fields.optional(data, "sessions"):
            part = fields.table(data, "sessions")
            sessions = Sessions(
                fields.whole(part, "size", low=1, high=min(limits.size, 10**9)),
                fields.number(part, "every_s", low=1e-3, high=longest),
                fields.whole(part, "count", low=1, high=10_000),
            )
            if sessions.size * sessions.count > limits.size or sessions.every_s * sessions.count > longest:
                raise ProtocolError("sessions of too much data, or too long")
        if sum(work is not None for work in (size, duration_s, sessions)) != 1:
            raise ProtocolError("not one of size, duration and sessions")
        if fields.optional(data, "cc"):
            cc = fields.text(data, "cc", most=15)
            if not CC.fullmatch(cc):
                raise ProtocolError("`cc` is no name")
        flow = cls(
            name=name,
            station=station,
            direction=direction,
            transport=transport,
            start_s=fields.number(data, "start_s", low=0.0, high=longest),
            size=size,
            duration_s=duration_s,
            sessions=sessions,
            cc=cc,
            mss=whole("mss", low=88, high=32_767),
            send_buffer=whole("send_buffer", low=1, high=10**9),
            receive_buffer=whole("receive_buffer", low=1, high=10**9),
            rate_bps=whole("rate_bps", low=1, high=int(limits.rate_bps)),
            payload=whole("payload", low=16, high=65_507),
        )
        if transport == "udp" and (flow.rate_bps is None or flow.payload is None or sessions is not None):
            raise ProtocolError("UDP without rate or payload, or with sessions")
        return flow

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values, without those that are not set."""
        return {key: value for key, value in asdict(self).items() if value is not None}

    @property
    def span_s(self) -> float | None:
        """How long it lasts [s], if that is known in advance."""
        if self.sessions is not None:
            return self.sessions.every_s * self.sessions.count
        if self.size is not None and self.rate_bps is not None and self.transport == "udp":
            return 8 * self.size / self.rate_bps
        return self.duration_s

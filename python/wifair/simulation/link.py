"""A contended Wi-Fi network as a link between the endpoints of a test, in virtual time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from wifair import _core
from wifair.exceptions import ScenarioError, WifairError
from wifair.scenario.scenario import scenario_of

if TYPE_CHECKING:
    from wifair._core import LinkStation
    from wifair.scenario.scenario import Source

EcnField = Literal["not-ect", "ect0", "ect1", "ce"]
NANOS = 1_000_000_000


class LinkError(WifairError, ValueError):
    """Something that a link cannot do: a time that has passed, an unknown host, a datagram that is too long."""


class Delivery(NamedTuple):
    """A datagram that has arrived."""

    time_s: float
    """When [s], from the beginning of the network."""
    number: int
    """The number that `Link.offer` gave it."""
    source: str
    """Who sent it."""
    destination: str
    """Whose it is."""
    payload: bytes
    """Its bytes; empty if only a length was offered."""
    length: int
    """Bytes of payload."""
    ecn: EcnField
    """The ECN field, ``"ce"`` if a queue marked it."""
    flow: int
    """Its flow."""


class LinkLoss(NamedTuple):
    """A datagram that did not arrive."""

    time_s: float
    """When it was dropped or given up [s]."""
    number: int
    """The number that `Link.offer` gave it."""
    place: str
    """``"ap-queue"``, ``"station-queue"``, ``"link-queue"``, ``"retry-limit"`` or ``"other"``."""


class LinkSnapshot(NamedTuple):
    """The network up to now. Figures of the air count from the end of the scenario's `warm_up`."""

    time_s: float
    """When it was taken [s]."""
    offered: int
    """Datagrams offered."""
    delivered: int
    """Datagrams that arrived."""
    lost: int
    """Datagrams that were lost."""
    marked: int
    """Datagrams that a queue marked with "congestion experienced"."""
    air_idle: float
    """Part of the time in which the channel was idle."""
    air_collision: float
    """Part of the time that collisions took."""
    ap_queue_mean_packets: float
    """Packets in the queue of the access point, averaged over time."""
    stations: dict[str, LinkStation]
    """Of each station and access point: ``attempts``, ``retries``, ``given_up``, ``queue_drops``, ``air_time_s``."""


class Link:
    """A simulated network between the endpoints of a test: offers in, deliveries out, time in between.

    There is no thread, clock or I/O. The flows of the scenario run inside; it needs none. The same scenario, seed and
    offers give the same deliveries. Times are seconds from the beginning, rounded to nanoseconds. A datagram is an IPv4
    packet with a UDP header to the network: 28 bytes more than its payload, at most 1500.

    Parameters
    ----------
    scenario : Scenario, path or mapping
        The network.
    seed : int, default 1
        Seed of all random draws.

    Raises
    ------
    ScenarioError
        If the scenario is wrong, or names a class in Python.

    Examples
    --------
    >>> from wifair import Link
    >>> network = {
    ...     "duration": "10 s",
    ...     "wlan": {"standard": "802.11g", "data_rate": "54 Mb/s"},
    ...     "stations": [{"name": "phone"}],
    ...     "servers": [{"name": "server", "delay": "10 ms", "rate": "1 Gb/s"}],
    ... }
    >>> link = Link(network)
    >>> link.offer(1.0, "phone", "server", b"hello")
    0
    >>> while link.in_flight:
    ...     link.advance(link.next_event_s())
    >>> link.poll_delivery().payload
    b'hello'
    """

    def __init__(self, scenario: Source, *, seed: int = 1) -> None:
        made = scenario_of(scenario, for_programs=True)
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 1 << 64:
            raise LinkError(f"no seed {seed!r}: give a whole number from 0")
        try:
            self._core = _core.Link(made.resolved, seed)
        except ValueError as error:
            raise ScenarioError(str(error)) from None
        self.hosts: tuple[str, ...] = tuple(self._core.hosts)
        """Names of all stations, then of all servers."""

    @property
    def now_s(self) -> float:
        """The present [s]."""
        return self._core.now / NANOS

    @property
    def end_s(self) -> float:
        """The end, after which nothing happens: the scenario's `duration` [s]."""
        return self._core.end / NANOS

    @property
    def in_flight(self) -> int:
        """Datagrams that have neither arrived nor been lost."""
        return self._core.in_flight

    def next_event_s(self) -> float:
        """Tell when something happens next [s], here or in the background; infinity if nothing will before the end."""
        found = self._core.next_event()
        return float("inf") if found is None else found / NANOS

    def advance(self, until_s: float) -> None:
        """Let time pass up to and including `until_s`.

        To act on each delivery at its own time, advance to `next_event_s`.

        Raises
        ------
        LinkError
            If that lies in the past or after the end.
        """
        try:
            self._core.advance(_nanos(until_s))
        except ValueError as error:
            raise LinkError(str(error)) from None

    def offer(
        self,
        at_s: float,
        source: str,
        destination: str,
        payload: bytes | int,
        *,
        ecn: EcnField = "not-ect",
        dscp: int = 0,
        flow: int = 0,
    ) -> int:
        """Send a datagram at `at_s`, to which time advances, after all else that happens at that instant.

        Parameters
        ----------
        at_s : float
            When [s]; not before `now_s`.
        source, destination : str
            Two of `hosts`.
        payload : bytes or int
            Bytes, which come back unchanged, or how many there are.
        ecn : {"not-ect", "ect0", "ect1", "ce"}
            The ECN field.
        dscp : int, default 0
            Differentiated services code point, which decides the access category from 802.11n on.
        flow : int, default 0
            Which of the flows between the two hosts it belongs to, as ports would say.

        Returns
        -------
        int
            Its number: 0, 1, 2 and so on.

        Raises
        ------
        LinkError
            If it cannot be sent; nothing has changed then.
        """
        data, padding = (b"", payload) if isinstance(payload, int) else (bytes(payload), 0)
        ends = self._host(source), self._host(destination)
        for name, value, most in (("payload", padding, 65_535), ("dscp", dscp, 63), ("flow", flow, 65_535)):
            if not 0 <= value <= most:
                raise LinkError(f"no {name} of {value}: there are 0 to {most}")
        try:
            return self._core.offer(_nanos(at_s), *ends, data, padding, ecn, dscp, flow)
        except ValueError as error:
            raise LinkError(str(error)) from None

    def poll_delivery(self) -> Delivery | None:
        """Take the next datagram that has arrived, in order of time; None if there is none."""
        found = self._core.poll_delivery()
        if found is None:
            return None
        time, number, source, destination, payload, length, ecn, flow = found
        ends = self.hosts[source], self.hosts[destination]
        return Delivery(time / NANOS, number, *ends, payload, length, ecn, flow)  # type: ignore[arg-type]

    def poll_loss(self) -> LinkLoss | None:
        """Take the next datagram that was lost, in order of time; None if there is none."""
        found = self._core.poll_loss()
        return None if found is None else LinkLoss(found[0] / NANOS, *found[1:])

    def snapshot(self) -> LinkSnapshot:
        """Tell what has happened so far."""
        found = self._core.snapshot()
        return LinkSnapshot(found.pop("time") / NANOS, **found)  # type: ignore[misc]

    def __repr__(self) -> str:
        return f"<Link of {len(self.hosts)} hosts at {self.now_s:g} s of {self.end_s:g} s>"

    def _host(self, name: str) -> int:
        try:
            return self.hosts.index(name)
        except ValueError:
            known = ", ".join(self.hosts[:10]) + (", ..." if len(self.hosts) > 10 else "")
            raise LinkError(f"no host {name!r}: there are {known}") from None


def _nanos(time_s: float) -> int:
    if not 0 <= time_s < 1e9:
        raise LinkError(f"no time {time_s!r}: give seconds from 0")
    return round(time_s * NANOS)

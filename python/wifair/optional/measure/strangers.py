"""Connections of peers that have not proven themselves yet: limited by address and network; the oldest are closed."""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Callable, Hashable

MOST_OF_ADDRESS = 64
MOST_OF_NETWORK = 128
"""Limit for an IPv4 network of 24 bits, or an IPv6 network of 64."""
MOST = 192
"""Limit in all, well below the number of files that a process may open."""


class Strangers:
    """Makes room for new connections by closing the oldest ones from where most of them come.

    Peers that have proven themselves are not counted, and never closed.
    """

    def __init__(self) -> None:
        """Begin without connections."""
        self._known: dict[Hashable, tuple[str, str, Callable[[], object]]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def add(self, connection: Hashable, address: str, close: Callable[[], object]) -> list[str]:
        """Add a connection, which `close` closes. Returns the addresses of connections that were closed for it."""
        gone = []
        network = network_of(address)
        self._known[connection] = address, network, close
        while (oldest := self._too_many(address, network)) is not None:
            was, _, end = self._known.pop(oldest)
            gone.append(was)
            end()
        return gone

    def remove(self, connection: Hashable) -> None:
        """Remove a connection that has ended, or whose peer has proven itself."""
        self._known.pop(connection, None)

    def _too_many(self, address: str, network: str) -> Hashable | None:
        addresses = Counter(known[0] for known in self._known.values())
        if addresses[address] > MOST_OF_ADDRESS:
            return self._oldest(lambda known: known[0] == address)
        networks = Counter(known[1] for known in self._known.values())
        if networks[network] > MOST_OF_NETWORK:
            inside = Counter(known[0] for known in self._known.values() if known[1] == network)
            busiest = max(inside.values())
            return self._oldest(lambda known: known[1] == network and inside[known[0]] == busiest)
        if len(self._known) > MOST:
            most = max(networks.values())
            return self._oldest(lambda known: networks[known[1]] == most)
        return None

    def _oldest(self, among: Callable[[tuple[str, str, Callable[[], object]]], bool]) -> Hashable:
        return next(connection for connection, known in self._known.items() if among(known))


def network_of(address: str) -> str:
    """Find the network that an address is counted with."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    bits = 24 if found.version == 4 else 64
    return str(ipaddress.ip_network((found, bits), strict=False))

"""Connections that have not proven themselves yet: few of each address and network, the oldest give way."""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Callable, Hashable

MOST_OF_ADDRESS = 64
MOST_OF_NETWORK = 128
"""Of an IPv4 network of 24 bits, or an IPv6 network of 64."""
MOST = 192
"""In all: well below the number of files that systems let a process open."""


class Strangers:
    """Makes room for newcomers by closing those who have waited longest, where most of them come from.

    Who has proven itself is none of them, and never gives way.
    """

    def __init__(self) -> None:
        """Know nobody."""
        self._known: dict[Hashable, tuple[str, str, Callable[[], object]]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def add(self, connection: Hashable, address: str, close: Callable[[], object]) -> list[str]:
        """Take in a newcomer; `close` ends it. Returns the addresses of those that had to go."""
        gone = []
        network = network_of(address)
        self._known[connection] = address, network, close
        while (oldest := self._too_many(address, network)) is not None:
            was, _, end = self._known.pop(oldest)
            gone.append(was)
            end()
        return gone

    def remove(self, connection: Hashable) -> None:
        """Forget one that has gone, or proven itself."""
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
    """Network that an address is counted with."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    bits = 24 if found.version == 4 else 64
    return str(ipaddress.ip_network((found, bits), strict=False))

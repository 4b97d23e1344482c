"""Generic nulls: five changes that take away what most explanations of unfairness need, whatever the paper.

A claim that holds with each of them says nothing about contention, losses, buffers, errors or windows. The matrix of
claims and nulls shows which claims those are.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from wifair.reproduce._model import Case
from wifair.scenario.scenario import Scenario

Document = Mapping[str, Any]
ENDLESS = "100000 packets"
WIRE = "2 Mb/s"


@dataclass(frozen=True)
class GenericNull:
    """A change of any scenario that takes a mechanism away."""

    id: str
    says: str
    """What is changed, in words."""
    changes: Callable[[Document], dict[str, object]]
    """Makes the settings from a scenario with all its values; none if there is nothing to change."""


def _slow_wire(document: Document) -> dict[str, object]:
    return {"servers.rate": WIRE} if "ap" in document and "servers" in document else {}


def _queues(document: Document) -> dict[str, str]:
    """Find the limits of the queues for the air, by path."""
    ap = {"ap.queue.limit": document["ap"]["queue"]["limit"]} if "ap" in document else {}
    groups = {f"stations.{one['name']}.queue.limit": one["queue"]["limit"] for one in document.get("stations", ())}
    return {**ap, **groups}


def _limits_in_bytes(document: Document) -> dict[str, object]:
    size = max((_packet(flow) for flow in document.get("flows", ())), default=1500)
    found = {path: limit.removesuffix(" packets") for path, limit in _queues(document).items() if "packets" in limit}
    return {path: f"{int(packets) * size} B" for path, packets in found.items()}


def _packet(flow: Document) -> int:
    """Get the size of a full packet of a flow [bytes]."""
    if "tcp" in flow:
        return sum(int(flow["tcp"][key].removesuffix(" B")) for key in ("mss", "header"))
    return int(flow.get("udp", {}).get("payload", "1500 B").removesuffix(" B"))


def _endless(document: Document) -> dict[str, object]:
    servers = {f"servers.{one['name']}.queue.limit": ENDLESS for one in document.get("servers", ())}
    return {**dict.fromkeys(_queues(document), ENDLESS), **servers}


def _no_noise(document: Document) -> dict[str, object]:
    found: dict[str, object] = {}
    wlan = document.get("wlan", {})
    found |= {f"wlan.{key}": 0.0 for key in ("data_error", "control_error") if wlan.get(key)}
    if document.get("space", {}).get("radio", {}).get("noise", "-inf dBm") != "-inf dBm":
        found["space.radio.noise"] = "-200 dBm"
    for one in document.get("stations", ()):
        found |= {f"stations.{one['name']}.{key}": 0.0 for key in ("data_error_up", "data_error_down") if one.get(key)}
        for key in ("outage_up", "outage_down"):
            if key in one:
                found |= {f"stations.{one['name']}.{key}.up": "1 h", f"stations.{one['name']}.{key}.down": "1 us"}
    return found


def _small_windows(document: Document) -> dict[str, object]:
    return {"tcp.receive_window": "2 packets"} if any("tcp" in flow for flow in document.get("flows", ())) else {}


NULLS = (
    GenericNull("no contention", f"the wire at {WIRE}, so that the air is not what everybody waits for", _slow_wire),
    GenericNull("no ACK drops", "buffers that count bytes, so that an ACK nearly always fits", _limits_in_bytes),
    GenericNull("endless buffers", f"buffers of {ENDLESS}, on the wire, too", _endless),
    GenericNull("no noise", "no frame errors, no outages, and a radio without noise", _no_noise),
    GenericNull("windows of 2", "receive windows of two packets, which fill no buffer", _small_windows),
)


@cache
def _document(text: str) -> Document:
    return tomllib.loads(text)


def nulled(case: Case, null: GenericNull) -> Case:
    """Take a mechanism away from a case."""
    changes = null.changes(_document(case.scenario.resolved))
    return replace(case, scenario=_changed(case.scenario, tuple(changes.items()))) if changes else case


@cache
def _changed(scenario: Scenario, changes: tuple[tuple[str, object], ...]) -> Scenario:
    return scenario.with_(dict(changes))

"""Stations that become hidden from each other as one of them walks, beside ns-2: the scenarios of `moving.tcl`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import wifair
from model import Case, Comparison, Rule, goodput, lookup, read

SCENARIO = """
[wlan]
standard = "802.11b"
profile = "ns2"
basic_rate = "2 Mb/s"
routing_overhead = "0 B"        # ns-2's DumbAgent adds nothing
[space]
profile = "ns2"
mode = "ad-hoc"
radio.sensitivity = "-70 dBm"
[tcp]
stack = "ns2"
cc = "newreno"
receive_window = "20 packets"
[[stations]]
name = "third"
queue.limit = "49 packets"
[[stations]]
name = "stays"
position = ["-280 m", "0 m"]
queue.limit = "49 packets"
[[stations]]
name = "walks"
position = ["-280 m", "5 m"]
queue.limit = "49 packets"
[[flows]]
name = "one"
from = "stays"
to = "third"
start = "100 ms"
start_spread = "100 ms"
[[flows]]
name = "other"
from = "walks"
to = "third"
start = "100 ms"
start_spread = "100 ms"
"""
WALK = [{"at": "5 s", "to": ["280 m", "5 m"], "over": "10 s"}]
PHASES: Mapping[str, Mapping[str, object]] = {
    "beside": {"warm_up": "1 s", "duration": "5 s"},
    "walking": {"warm_up": "5500 ms", "duration": "14 s", "stations.walks.moves": WALK},
    "hidden": {"warm_up": "16 s", "duration": "46 s", "stations.walks.moves": WALK},
}
TRANSPORTS: Mapping[str, Mapping[str, object]] = {
    # 34 less the 28 of UDP and IP, which ns-2's datagrams do not carry.
    "udp": {
        "wlan.mac_overhead": "6 B",
        "flows.transport": "udp",
        "flows.udp.rate": "8 Mb/s",
        "flows.udp.payload": "1000 B",
        "flows.udp.jitter": 0.5,
    },
    "tcp": {},
}


def least_share(results: wifair.Results) -> np.ndarray:
    """Share of the flow that gets less, in each run."""
    flows = results.flows
    rates = np.array([flows["goodput_bps"][flows["name"] == name] for name in ("one", "other")])
    return np.asarray(rates.min(axis=0) / rates.sum(axis=0))


def cases() -> Iterator[Case]:
    rows = read("ns2_moving.csv")
    base = wifair.Scenario.from_text('duration = "5 s"' + SCENARIO)
    for transport, settings in TRANSPORTS.items():
        for phase, times in PHASES.items():
            theirs = {
                metric: lookup(rows, metric, transport=transport, phase=phase) for metric in ("tot_mbps", "least_share")
            }

            def measure(results: wifair.Results, theirs: dict[str, list[float]] = theirs) -> Iterable[Comparison]:
                yield Comparison("goodput [Mb/s]", goodput(results), {"ns-2": theirs["tot_mbps"]}, Rule.MEAN, 0.02)
                yield Comparison("least share", least_share(results), {"ns-2": theirs["least_share"]}, Rule.T_TEST)

            labels = {"transport": transport, "stations": phase}
            yield Case(labels, base.with_({**settings, **times}), measure, fast=phase == "hidden")

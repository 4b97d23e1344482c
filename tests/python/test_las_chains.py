"""Chains of four and five nodes compared with ns-2 2.35: las, section 6.1, with FIFO.

Reference: `tests/data/reference/ns2_las_chains.csv`, 20 seeds a row, or 10. ns-2 finds routes by DSDV, and in some of
its runs a route is missing for half a minute or more: a new route is announced only after settling for 12 s per hop,
and announcements that collide with data are not repeated. One flow is silent then, and the others have the channel to
themselves. Such runs say nothing about queues and channel access. Where wifair has static routes, runs in which a flow
is silent for more than 4 s (longer than any pause of TCP in the others) are therefore left out. With DSDV on both sides
none is left out; medians are compared, because these gaps occur at random.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import wifair

REFERENCE = Path(__file__).parents[1] / "data" / "reference" / "ns2_las_chains.csv"
LONGEST_PAUSE_S = 4.0
SEEDS = range(1, 21)


@dataclass(frozen=True)
class Row:
    """One row of the reference: the settings, and the results of each run."""

    topology: str
    spacing_m: int
    window: int
    buffer: int
    udp_mbps: str
    runs: tuple[tuple[float, float, float], ...]
    """Goodput in kb/s, Jain's index and the longest silence of a flow in s."""

    def __str__(self) -> str:
        load = f"udp{self.udp_mbps}M" if self.udp_mbps else f"w{self.window}"
        return f"{self.topology}-{self.spacing_m}m-{load}"

    @property
    def starves(self) -> bool:
        """Whether UDP takes everything, so that the silence of TCP is a result."""
        return self.udp_mbps in ("2", "5")

    def without_gaps(self) -> np.ndarray:
        runs = [run for run in self.runs if run[2] <= LONGEST_PAUSE_S or self.starves]
        return np.array(runs)[:, :2]


def rows() -> Iterator[Row]:
    runs: dict[tuple[str, ...], list[tuple[float, float, float]]] = {}
    with REFERENCE.open(newline="") as file:
        for line in csv.DictReader(file):
            key = ("topology", "spacing_m", "window_packets", "buffer_packets", "udp_rate_mbps")
            run = (float(line["agg_kbps"]), float(line["jain"]), float(line["longest_silence_s"]))
            runs.setdefault(tuple(line[k] for k in key), []).append(run)
    for (topology, spacing, window, buffer, rate), values in runs.items():
        yield Row(topology, int(spacing), int(window), int(buffer), rate, tuple(values))


def scenario(row: Row, protocol: str) -> wifair.Scenario:
    """The reference's settings: ns-2's card and MAC, everything but data at 1 Mb/s, delayed ACKs."""
    nodes = 5 if row.topology == "chain5" else 4
    flow = {"from": "node1", "start": "50 s", "start_spread": "1 s"}
    tcp = [node for node in range(2, nodes + 1) if not row.udp_mbps or node == nodes]
    flows: list[dict[str, object]] = [{"name": f"to{node}", "to": f"node{node}", **flow} for node in tcp]
    if row.udp_mbps:
        # ns-2's datagrams have no header but the 20 bytes of DSDV.
        udp = {"rate": f"{row.udp_mbps} Mb/s", "payload": "1000 B", "header": "0 B", "jitter": 0.5}
        load = {"transport": "udp", "udp": udp, **flow}
        flows += [{"name": f"to{node}", "to": f"node{node}", **load} for node in (2, 3)]
    return wifair.Scenario.from_dict(
        {
            "duration": "160 s",
            "warm_up": "60 s",
            "wlan": {"standard": "802.11b", "profile": "ns2", "basic_rate": "1 Mb/s", "plcp_rate": "1 Mb/s"},
            "space": {"mode": "ad-hoc", "profile": "ns2"},
            "routing": {"protocol": protocol},
            "stations": [
                {
                    "name": "node",
                    "count": nodes,
                    "layout": "chain",
                    "chain": {"spacing": f"{row.spacing_m} m"},
                    # ns-2 counts the packet that is being sent.
                    "queue": {"limit": f"{row.buffer - 1} packets"},
                }
            ],
            "tcp": {
                "stack": "ns2",
                "cc": "newreno",
                "mss": "1000 B",
                "receive_window": f"{row.window} packets",
                "delayed_ack": True,
            },
            "flows": flows,
        }
    )


def ours(row: Row, protocol: str, seeds: range = SEEDS) -> np.ndarray:
    results = wifair.run(scenario(row, protocol), seeds=seeds)
    goodput = np.asarray(results.flows["goodput_bps"], dtype=float).reshape(len(seeds), -1) / 1e3
    if row.udp_mbps:
        # ns-2 counts the 20 bytes of DSDV among the 1020 that it receives.
        goodput[:, 1:] *= 1020 / 1000
    return np.column_stack([goodput.sum(axis=1), wifair.metrics.jain_index(goodput)])


ROWS = list(rows())

GAP_OF_FOUR = (
    "ns-2's Jain 0.920: one of its four runs has a gap of 4 s, as long as the longest pause of TCP that is let pass; "
    "without it 0.914, and our seeds give 0.910 to 0.915"
)
ONE_IN_A_HUNDRED = (
    "Jain 0.9235 in ns-2, at least 0.9237 here: TCP gets 504 kb/s of 2533, in ns-2 500, with as many lost datagrams "
    "(72 and 70), timeouts (13 and 13) and retransmissions (212 and 190) on either side"
)
NO_WAY = "in {runs} of 10 runs of ns-2 a flow has no way for a while: even the median is {median}"

#: What differs, by how much, and why.
KNOWN = {
    ("static", "udp4-150m-udp1M"): ONE_IN_A_HUNDRED,
    ("static", "udp4-200m-udp0.5M"): GAP_OF_FOUR,
    ("dsdv", "udp4-150m-udp1M"): NO_WAY.format(runs=4, median="between these and the others, Jain 0.922"),
    ("dsdv", "udp4-200m-udp0.5M"): NO_WAY.format(runs=6, median="that of such a run"),
}


def cases(protocol: str) -> list[object]:
    def marks(row: Row) -> list[pytest.MarkDecorator]:
        reason = KNOWN.get((protocol, str(row)))
        return [pytest.mark.xfail(reason=reason, strict=True)] if reason else []

    return [pytest.param(row, id=str(row), marks=marks(row)) for row in ROWS]


def test_one_row_of_each_length() -> None:
    for row in ROWS:
        if row.topology != "udp4" and row.spacing_m == 200 and row.window == 20:
            theirs = row.without_gaps().mean(axis=0)
            mine = ours(row, "static", range(1, 6)).mean(axis=0)
            assert mine[0] == pytest.approx(theirs[0], rel=0.05), row


@pytest.mark.slow
@pytest.mark.parametrize("row", cases("static"))
def test_static_routes(row: Row) -> None:
    theirs = row.without_gaps()
    assert len(theirs) >= 3
    mine = ours(row, "static")
    assert mine[:, 0].mean() == pytest.approx(theirs[:, 0].mean(), rel=0.05)
    jain = theirs[:, 1].mean()
    # The reference is printed to four digits.
    assert mine[:, 1].min() - 1e-4 <= jain <= mine[:, 1].max() + 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("row", cases("dsdv"))
def test_dsdv(row: Row) -> None:
    theirs = np.median(np.array(row.runs)[:, :2], axis=0)
    mine = ours(row, "dsdv")
    assert np.median(mine[:, 0]) == pytest.approx(theirs[0], rel=0.05)
    assert mine[:, 1].min() - 1e-4 <= theirs[1] <= mine[:, 1].max() + 1e-4

"""A grid of 16 nodes compared with ns-2 2.35: las, section 6.1, with FIFO.

Reference: `tests/data/reference/ns2_las_grid.csv`, ten seeds with nodes 150 m and 200 m apart. Transfers begin as a
Poisson process, 1.5 per second, between nodes drawn at random; lengths are exponential with a mean of 100 packets.
ns-2's own transfers are repeated here, so only the channel and the routes differ. Transfers of ns-2 that got nothing
for more than 4 s waited for a route (see `test_las_chains`), and are left out on both sides: 4 of 1503, and 20 over 200
m.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import wifair

REFERENCE = Path(__file__).parents[1] / "data" / "reference" / "ns2_las_grid.csv"
LONGEST_PAUSE_S = 4.0
DURATION_S, WARM_UP_S = 160.0, 60.0
SEEDS = range(1, 21)


@dataclass(frozen=True)
class Transfer:
    """One transfer of ns-2, and how long it took."""

    start_s: float
    ends: tuple[int, int]
    packets: int
    response_s: float
    silence_s: float

    @property
    def counts(self) -> bool:
        return self.start_s >= WARM_UP_S and self.silence_s <= LONGEST_PAUSE_S


def transfers(spacing_m: int) -> list[list[Transfer]]:
    """Of each seed."""
    seeds: dict[int, list[Transfer]] = {}
    with REFERENCE.open(newline="") as file:
        for row in csv.DictReader(file):
            if int(row["spacing_m"]) == spacing_m:
                ends = (int(row["from"]), int(row["to"]))
                took = float(row["response_s"] or "nan")
                transfer = Transfer(
                    float(row["start_s"]), ends, int(row["packets"]), took, float(row["longest_silence_s"])
                )
                seeds.setdefault(int(row["seed"]), []).append(transfer)
    return list(seeds.values())


def scenario(spacing_m: int, wanted: list[Transfer], protocol: str) -> wifair.Scenario:
    """The reference's settings: ns-2's card and MAC, everything but data at 1 Mb/s, delayed ACKs."""
    sessions: dict[tuple[int, int], list[list[float]]] = {}
    for one in wanted:
        sessions.setdefault(one.ends, []).append([one.start_s, 1000.0 * one.packets])
    return wifair.Scenario.from_dict(
        {
            "duration": f"{DURATION_S} s",
            "wlan": {"standard": "802.11b", "profile": "ns2", "basic_rate": "1 Mb/s", "plcp_rate": "1 Mb/s"},
            "space": {"mode": "ad-hoc", "profile": "ns2"},
            "routing": {"protocol": protocol},
            "stations": [
                {
                    "name": "node",
                    "count": 16,
                    "layout": "grid",
                    "grid": {"spacing": f"{spacing_m} m"},
                    # ns-2's 103 include the packet that is being sent.
                    "queue": {"limit": "102 packets"},
                }
            ],
            "tcp": {
                "stack": "ns2",
                "cc": "newreno",
                "mss": "1000 B",
                "receive_window": "60 packets",
                "delayed_ack": True,
            },
            "flows": [
                {
                    "name": f"from{a}to{b}",
                    "from": f"node{a}",
                    "to": f"node{b}",
                    "workload": "trace",
                    "trace": {"list": rows},
                }
                for (a, b), rows in sessions.items()
            ],
        }
    )


def ours(spacing_m: int, wanted: list[Transfer], protocol: str, seeds: range) -> np.ndarray:
    """Response times, a row for each seed, in the order of `wanted`."""
    sessions = wifair.run(scenario(spacing_m, wanted, protocol), seeds=seeds).sessions
    table: dict[tuple[int, str], list[float]] = {}
    for seed, flow, took in zip(*(sessions[name].tolist() for name in ("seed", "flow", "acked_after_s"))):
        table.setdefault((seed, flow), []).append(took)
    # Both sides have the transfers between two nodes in the order of their starts.
    return np.array(
        [
            [took for one in wanted for took in [table[seed, "from{}to{}".format(*one.ends)].pop(0)] if one.counts]
            for seed in seeds
        ]
    )


def figures(responses: np.ndarray, packets: np.ndarray) -> np.ndarray:
    """Load of all runs together in kb/s; mean, median, 95 % quantile of response times; Jain's index of throughputs."""
    done = np.isfinite(responses)
    load = 8 * packets[done].sum() / (DURATION_S - WARM_UP_S)
    times = responses[done]
    tail = np.quantile(times, 0.95)
    return np.array([load, times.mean(), np.median(times), tail, wifair.metrics.jain_index(packets[done] / times)])


def compared(spacing_m: int, runs: list[list[Transfer]], protocol: str, seeds: range) -> tuple[np.ndarray, np.ndarray]:
    """Figures of ns-2, and a row of figures for each seed of wifair, over all transfers of the runs."""
    counted = [one for run in runs for one in run if one.counts]
    packets = np.array([one.packets for one in counted], dtype=float)
    mine = np.hstack([ours(spacing_m, run, protocol, seeds) for run in runs])
    theirs = np.array([one.response_s for one in counted])
    return figures(theirs, packets), np.array([figures(row, packets) for row in mine])


def test_one_run_of_the_grid() -> None:
    theirs, mine = compared(150, transfers(150)[:1], "dsdv", range(1, 6))
    assert mine[:, 0].mean() == pytest.approx(theirs[0], rel=0.05)
    assert mine[:, 2].mean() == pytest.approx(theirs[2], rel=0.05)


def static(spacing_m: int, reason: str) -> object:
    return pytest.param(spacing_m, "static", marks=pytest.mark.xfail(reason=reason, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spacing_m", "protocol"),
    [
        (150, "dsdv"),
        (200, "dsdv"),
        static(150, "mean and median 5.5 % shorter: what DSDV costs, for with DSDV here they differ by 0.5 %"),
        static(
            200, "Jain 0.497 in ns-2, at least 0.501 here: what DSDV costs, for with DSDV here it is 0.494 to 0.512"
        ),
    ],
)
def test_all_runs_of_the_grid(spacing_m: int, protocol: str) -> None:
    runs = transfers(spacing_m)
    assert len(runs) == 10
    theirs, mine = compared(spacing_m, runs, protocol, SEEDS)
    # Load, mean, median and tail.
    assert mine[:, :4].mean(axis=0) == pytest.approx(theirs[:4], rel=0.05)
    jain = theirs[4]
    assert mine[:, 4].min() - 1e-4 <= jain <= mine[:, 4].max() + 1e-4

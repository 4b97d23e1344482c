"""A run, its captures at all points, and `explain` agree on who starves."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import wifair

if TYPE_CHECKING:
    from pathlib import Path

CLOSE = 1.6
"""Flows within this factor of a tenth of their share are not held against each other: a capture counts what passed its
point from its first packet to its last, a run what the application got in the measured time."""


def drawn(number: int) -> wifair.Scenario:
    """Draw a cell with uploads, and perhaps downloads, pages and transfers beside them."""
    draw = random.Random(number)
    algorithm = draw.choice(["reno", "newreno", "cubic"])
    flows: list[dict[str, Any]] = [{"name": "up", "station": "sta", "tcp": {"cc": algorithm}}]
    if draw.random() < 0.5:
        flows.append({"name": "down", "station": "sta1", "direction": "down", "count": draw.randint(1, 4)})
    if draw.random() < 0.4:
        page = {"length": "20 kB", "period": "1 s"}
        flows.append(
            {"name": "pages", "station": "sta2", "direction": "down", "workload": "periodic", "periodic": page}
        )
    if draw.random() < 0.4:
        flows.append({"name": "mail", "station": "sta1", "workload": "transfer", "transfer": {"size": "100 kB"}})
    for flow in flows:
        flow["tcp"] = {**flow.get("tcp", {}), "stack": draw.choice(["ns2", "modern"])}
    return wifair.Scenario.from_dict(
        {
            "name": f"drawn {number}",
            "duration": "15 s",
            "wlan": {"standard": draw.choice(["802.11b", "802.11b", "802.11g"])},
            "ap": {"queue": {"limit": f"{draw.choice([10, 20, 50, 100])} packets"}},
            "servers": [{"name": "server", "delay": f"{draw.choice([2, 10, 30])} ms"}],
            "stations": [{"name": "sta", "count": draw.randint(2, 20)}],
            "flows": flows,
        }
    )


@pytest.mark.parametrize("number", range(30))
def test_all_agree_on_who_starves(number: int, tmp_path: Path) -> None:
    scenario = drawn(number)
    at = ("air", "ap", "servers", "stations")
    run = wifair.run(scenario, seeds=[number], pcap=wifair.Pcap(tmp_path, at=at, snap=160))
    goodput = run.flows["goodput_bps"]
    asked = np.minimum(run.flows["asked_bps"], goodput.sum())
    starved = dict(zip(run.flows["name"].tolist(), run.flows["starved"].tolist()))
    clear = set()
    for name, got, wanted in zip(run.flows["name"].tolist(), goodput, asked):
        share = min(goodput.mean(), wanted)
        if not 0.1 / CLOSE < got / share < 0.1 * CLOSE:
            clear.add(name)
    by_port = dict(enumerate(run.flows["name"].tolist(), start=5001))  # the receivers' ports
    for point in ("air", "ap-air", "ap-wire", "server"):
        capture = wifair.read_capture(tmp_path / f"{point}.pcap")
        assert capture.cells["starved_fraction"][0] == pytest.approx(capture.flows["starved"].mean())
        flows = zip(capture.flows["name"].tolist(), capture.flows["starved"].tolist())
        seen = {by_port[int(name.rpartition(":")[2])]: hungry for name, hungry in flows}
        # A transfer that is done and does not close its connection looks like one that waits, from far away: the
        # capture says that it cannot know, and takes it for starved.
        doubtful = {by_port[int(flow.rpartition(":")[2])] for flow in capture.flows["name"][capture.flows["unsure"]]}
        satisfied = {name for name, got, wanted in zip(starved, goodput, run.flows["asked_bps"]) if got >= 0.9 * wanted}
        expected = {name: bool(starved[name]) for name in seen if name in clear - (doubtful & satisfied)}
        assert {name: seen[name] for name in expected} == expected, point
        told = {finding.topic: finding.text for finding in wifair.explain(capture).findings}
        assert ("starved" in told) == any(seen.values())
    told = {finding.topic: finding.text for finding in wifair.explain(run).findings}
    assert ("starved" in told) == any(starved.values())

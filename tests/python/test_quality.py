"""Quality of UDP flows, latency under load, and what captures say about both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import wifair
from wifair import gallery, metrics

if TYPE_CHECKING:
    from pathlib import Path

CALL = """\
duration = "10 s"
[wlan]
standard = "802.11g"
[[servers]]
name = "server"
delay = "20 ms"
[[stations]]
name = "sta"
[[flows]]
name = "call"
station = "sta"
direction = "down"
transport = "udp"
udp.rate = "64 kb/s"
udp.payload = "160 B"
"""


def test_a_call_alone_is_perfect() -> None:
    flow = wifair.run(wifair.Scenario.from_text(CALL)).flows.to_dicts()[0]
    # The link's 20 ms, its 188 bytes at 100 Mb/s, and the frame on the air: at least 20 us of preamble.
    assert 20.035e-3 < flow["owd_idle_s"] <= flow["owd_mean_s"] < 21e-3
    assert flow["loss_fraction"] == 0
    assert flow["r_factor"] == pytest.approx(93.2)
    assert flow["mos"] == pytest.approx(4.41, abs=0.005)
    assert flow["jitter_s"] < 1e-3
    assert flow["asked_bps"] == pytest.approx(64e3, rel=0.01)
    assert flow["bufferbloat_grade"] == "A+"


def test_a_call_beside_a_download_does_not_starve() -> None:
    both = CALL + '[[flows]]\nname = "film"\nstation = "sta"\ndirection = "down"\n'
    flows = wifair.run(wifair.Scenario.from_text(both)).flows
    call = flows.filter(name="call")
    assert call["goodput_bps"][0] < 0.1 * flows["goodput_bps"].mean()
    assert call["goodput_bps"][0] > 0.9 * call["asked_bps"][0]
    assert flows["starved"].tolist() == [0, 0]
    assert call["mos"][0] < 4.41


def test_if_no_flow_gets_anything_all_starve() -> None:
    dead = wifair.Scenario.from_text(CALL.replace('"802.11g"', '"802.11g"\ndata_error = 1.0'))
    results = wifair.run(dead)
    assert results.flows["starved"].tolist() == [1]
    assert results.cells["starved_fraction"].tolist() == [1]


def test_echoes_measure_latency_under_load(tmp_path: Path) -> None:
    scenario = wifair.Scenario.from_text(gallery.example("rrul").toml).with_(duration="12 s")
    results = wifair.run(scenario, pcap=wifair.Pcap(tmp_path, at=("server", "laptop"), snap=160))
    ping = results.flows.filter(name="echo").to_dicts()[0]
    # Twice the link's 10 ms, and two frames on the air.
    assert 20e-3 < ping["rtt_idle_s"] < 22e-3
    assert ping["rtt_mean_s"] - ping["rtt_idle_s"] == pytest.approx(ping["latency_increase_s"])
    assert ping["bufferbloat_grade"] == metrics.bufferbloat_grade(ping["latency_increase_s"])
    assert ping["latency_increase_s"] > 5e-3
    assert ping["data_packets_sent"] in (60, 61)
    # Echoes do not count in fairness indices.
    others = results.flows["goodput_bps"][results.flows["name"] != "echo"]
    assert results.cells["jain_index"][0] == pytest.approx(float(metrics.jain_index(others)))

    seen = wifair.read_capture(tmp_path / "laptop.pcap")
    echo = seen.echoes.to_dicts()[0]
    assert echo["requests"] == ping["data_packets_sent"]
    assert echo["rtt_samples"] == ping["rtt_samples"]
    assert echo["rtt_mean_s"] == pytest.approx(ping["rtt_mean_s"], rel=1e-3)
    call, there = results.flows.filter(name="call").to_dicts()[0], seen.datagrams.to_dicts()[0]
    assert there["kind"] == "iperf2"
    assert there["lost"] + there["packets"] == pytest.approx(call["data_packets_sent"], abs=40)  # some are on the way
    for figure in ("owd_idle_s", "owd_mean_s", "owd_p95_s", "jitter_s"):
        assert there[figure] == pytest.approx(call[figure], rel=0.01), figure
    assert there["loss_fraction"] == pytest.approx(call["loss_fraction"], abs=0.01)
    assert there["mos"] == pytest.approx(call["mos"], abs=0.05)
    assert {"datagrams", "echoes"} <= set(seen.tables)
    assert "echo from" in repr(seen)

    far = wifair.read_capture(tmp_path / "server.pcap")
    downs = far.flows.filter(direction="wired")
    assert set(far.flows["rtt_point"]) <= {"sender", "receiver", "between"}
    known = ~np.isnan(downs["rtt_path_mean_s"])
    assert known.any()
    assert (downs["rtt_idle_s"][known] > 19e-3).all()  # the whole path, also at the receiver of the uploads


def test_udp_carries_no_echoes() -> None:
    text = CALL.replace('transport = "udp"', 'transport = "udp"\nworkload = "ping"')
    with pytest.raises(wifair.ScenarioError, match="UDP carries persistent and on-off workloads only"):
        wifair.Scenario.from_text(text)

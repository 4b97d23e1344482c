"""802.11n, ac and ax from a scenario: what is refused, and what results say of aggregates."""

from __future__ import annotations

import re

import pytest
import wifair

BASE = """
duration = "2 s"
warm_up = "0.5 s"
[wlan]
standard = "802.11n"
[[servers]]
name = "server"
rate = "1 Gb/s"
[[stations]]
name = "sta"
queue.limit = "1000 packets"
[[flows]]
name = "up"
station = "sta"
transport = "udp"
udp.rate = "80 Mb/s"
"""


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"wlan.mcs": 40}, "no MCS 40 in 802.11n: there are 0 to 31"),
        ({"wlan.width": 80}, "no width of 80 MHz in 802.11n"),
        ({"wlan.guard_interval": "3200 ns"}, "no guard interval of 3200 ns in 802.11n"),
        ({"wlan.standard": "802.11ac", "wlan.mcs": 9}, "MCS 9"),
        ({"wlan.band": "6 GHz"}, "no 802.11n in 6 GHz"),
        ({"stations.sta.mcs": 32}, "no MCS 32 in 802.11n"),
        ({"wlan.data_rate": "24 Mb/s"}, "`data_rate` does not apply to 802.11n"),
        ({"wlan.cw_min": 31}, "`cw_min` does not apply to 802.11n"),
        ({"wlan.aggregation.max_ampdu": "65536 B"}, "no receiver of 802.11n takes an A-MPDU of 65536 B"),
        ({"wlan.aggregation.max_amsdu": "11454 B"}, "no receiver of 802.11n takes an A-MSDU of 11454 B"),
        ({"wlan.aggregation.window": 256}, "no block ACK of 802.11n covers 256 MPDUs"),
        ({"wlan.standard": "802.11g", "wlan.mcs": 3}, "`mcs` does not apply to 802.11g"),
        ({"wlan.standard": "802.11g", "flows.category": "voice"}, "`category` does not apply to 802.11g"),
        ({"flows.category": "voice", "flows.dscp": 46}, "`category` and `dscp` exclude each other"),
        ({"ap.scheme.access": "edca"}, "`access` does not apply to 802.11n"),
        ({"space.propagation": "friis"}, "a [space] with 802.11n"),
    ],
)
def test_what_a_standard_does_not_have_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(wifair.ScenarioError, match=re.escape(message)):
        wifair.Scenario.from_text(BASE).with_(changes)


def test_a_resolved_scenario_can_be_read_again() -> None:
    for standard in ("802.11n", "802.11ac", "802.11ax", "802.11be"):
        scenario = wifair.Scenario.from_text(BASE).with_({"wlan.standard": standard})
        again = wifair.Scenario.from_text(scenario.resolved)
        assert wifair.run(again).cells["goodput_bps"][0] == wifair.run(scenario).cells["goodput_bps"][0]


def test_results_tell_of_aggregates() -> None:
    """One saturated station at MCS 7: 28 MPDUs of 1538 bytes in 5360 us, then 158.5 us of gaps and block ACK."""
    results = wifair.run(wifair.Scenario.from_text(BASE))
    assert results.cells["mpdus_per_ppdu"][0] == pytest.approx(28.0, abs=0.1)
    stations = dict(zip(results.stations["name"], range(len(results.stations["name"])), strict=True))
    place = stations["sta"]
    assert results.stations["air_best_effort_s"][place] / 1.5 == pytest.approx(5360 / 5518.5, rel=0.01)
    assert results.stations["air_voice_s"][place] == 0.0
    assert results.stations["mpdus"][place] == pytest.approx(28 * results.stations["ppdus"][place], rel=0.01)


def test_dscp_chooses_the_category() -> None:
    """EF is voice (RFC 8325, section 4.2.1, as Linux has it)."""
    scenario = wifair.Scenario.from_text(BASE).with_({"flows.dscp": 46, "flows.udp.rate": "1 Mb/s"})
    stations = wifair.run(scenario).stations
    place = list(stations["name"]).index("sta")
    assert stations["air_voice_s"][place] > 0.0
    assert stations["air_best_effort_s"][place] == 0.0


def test_the_same_seed_gives_the_same_bytes_in_any_order() -> None:
    changes = {"stations.sta.count": 5, "wlan.data_error": 0.1, "wlan.aggregation.max_amsdu": "3839 B"}
    scenario = wifair.Scenario.from_text(BASE).with_(changes)
    together = wifair.run(scenario, seeds=[1, 2])
    assert list(together.cells["goodput_bps"])[::-1] == list(wifair.run(scenario, seeds=[2, 1]).cells["goodput_bps"])

"""TCP small queues (`small_queue`) and autosized bursts (`tso_autosize`) over simulated Wi-Fi."""

from __future__ import annotations

from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
import wifair


def upload(tcp: dict[str, Any], direction: str = "up", **wlan: Any) -> dict[str, Any]:
    """Run a flow over a cell with long queues and a server 10 ms away; returns the row of the flow."""
    scenario = wifair.Scenario.from_dict(
        {
            "duration": "8 s",
            "warm_up": "3 s",
            "wlan": {"standard": "802.11g", **wlan},
            "ap": {"queue": {"limit": "1000 packets"}},
            "servers": [{"name": "server", "delay": "10 ms"}],
            "stations": [{"name": "sta", "queue": {"limit": "1000 packets"}}],
            "flows": [
                {"name": "f", "station": "sta", "direction": direction, "tcp": {"stack": "modern", **tcp}},
            ],
        }
    )
    return wifair.run(scenario, seeds=1, progress=False).flows.to_dicts()[0]


def test_a_station_keeps_little_of_its_upload_in_its_queue() -> None:
    """CUBIC fills the queue of its station. With small queues, in congestion avoidance, the packets waiting there leave
    within 1.2 * 1/128 s, 9.4 ms, beside the 20 ms of the path, and the station is as busy as before.
    """
    plain = upload({})
    small = upload({"small_queue": "7.8125 ms", "initial_ssthresh": "10 packets"})
    assert plain["rtt_p50_s"] > 0.2
    assert small["rtt_p50_s"] == pytest.approx(0.020 + 0.0094, abs=0.006)
    assert small["goodput_bps"] == pytest.approx(plain["goodput_bps"], rel=0.05)


@pytest.mark.parametrize(("small_queue", "waiting_s"), [("7.8125 ms", 4 / 128), ("30 ms", 0.12)])
def test_slow_start_has_a_longer_queue(small_queue: str, waiting_s: float) -> None:
    """No loss ends slow start: the pacing rate is twice a window that is twice what is in flight (Linux)."""
    small = upload({"small_queue": small_queue})
    assert small["rtt_p50_s"] == pytest.approx(0.020 + waiting_s, abs=0.004 + 0.1 * waiting_s)


def test_small_queue_sets_the_time_in_the_queue() -> None:
    """30 ms at 1.2 times the rate are 36 ms of waiting."""
    small = upload({"small_queue": "30 ms", "initial_ssthresh": "10 packets"})
    assert small["rtt_p50_s"] == pytest.approx(0.020 + 0.036, abs=0.008)


def test_a_download_has_no_small_queue() -> None:
    """A server's link is fast; packets that wait at the access point are not in the sender's own queue."""
    plain, small = (upload(tcp, "down") for tcp in ({}, {"small_queue": "7.8125 ms"}))
    assert plain == small


def test_small_queues_do_not_shorten_queues_behind_the_first_hop() -> None:
    """Three hops of 200 m with ns-2's ranges: the last node does not hear the first, and frames forwarded by the second
    node collide with its ACKs. Without small queues the sender's own queue overflows, with them that of the next node.
    """

    def overflows(tcp: dict[str, Any]) -> list[int]:
        chain = {"layout": "chain", "chain": {"spacing": "200 m"}, "queue": {"limit": "50 packets"}}
        scenario = wifair.Scenario.from_dict(
            {
                "duration": "25 s",
                "warm_up": "10 s",
                "wlan": {"standard": "802.11g"},
                "space": {"mode": "ad-hoc", "profile": "ns2"},
                "stations": [{"name": "node", "count": 4, **chain}],
                "flows": [{"name": "f", "from": "node1", "to": "node4", "tcp": {"stack": "modern", **tcp}}],
            }
        )
        results = wifair.run(scenario, seeds=1, progress=False)
        return [int(drops) for drops in results.stations["queue_drops_overflow"]]

    sender, relay, *_ = overflows({})
    assert sender > relay
    sender, relay, *_ = overflows({"small_queue": "7.8125 ms"})
    assert sender < relay


@pytest.mark.parametrize(
    "changes",
    [
        {"wlan": {"standard": "802.11n"}},
        {"wlan": {"standard": "802.11g", "data_error": 0.3, "short_retry_limit": 2}},
        {"wlan": {"standard": "802.11g"}, "stations": [{"name": "sta", "queue": {"limit": "2 packets"}}]},
    ],
    ids=["aggregates", "losses", "drops at the queue"],
)
def test_a_transfer_ends_despite_lost_packets(changes: dict[str, Any]) -> None:
    """A lost packet has left the queue as well, so nothing waits for ever."""
    scenario = wifair.Scenario.from_dict(
        {
            "duration": "60 s",
            "servers": [{"name": "server", "delay": "10 ms"}],
            "stations": [{"name": "sta"}],
            "flows": [
                {
                    "name": "f",
                    "station": "sta",
                    "workload": "transfer",
                    "transfer": {"size": "500 kB"},
                    "tcp": {"stack": "modern", "small_queue": "1 ms"},
                }
            ],
            **changes,
        }
    )
    flow = wifair.run(scenario, seeds=1, progress=False).flows.to_dicts()[0]
    assert flow["received_bytes"] == 500_000


def test_autosized_bursts_leave_at_once() -> None:
    """BBR over 802.11n: at its rate a millisecond holds several segments. Bursts change when segments leave, and cost
    no goodput.
    """
    one, sized = (upload({"cc": "bbr", "tso_autosize": on}, standard="802.11n") for on in (False, True))
    assert one != sized
    assert sized["goodput_bps"] > 0.95 * one["goodput_bps"]


@pytest.mark.parametrize(("standard", "kernel"), [("802.11g", 2.14), ("802.11n", 4.55)])
def test_unpaced_bursts_are_as_long_as_those_of_a_kernel(standard: str, kernel: float, tmp_path: Path) -> None:
    """A kernel of Linux 6.18 (CUBIC) sent a download over this cell, emulated, in bursts of so many segments on average
    (counted by PSH). A sender that did not wait for more ACKs would have 2.07 over 802.11n too. Without bursts only the
    end of the data has PSH.
    """
    for on in (True, False):
        scenario = wifair.Scenario.from_dict(
            {
                "duration": "8 s",
                "wlan": {"standard": standard},
                "ap": {"queue": {"limit": "200 packets"}},
                "servers": [{"name": "server", "rate": "1 Gb/s", "delay": "10 ms"}],
                "stations": [{"name": "sta"}],
                "flows": [{"name": "down", "station": "sta", "direction": "down"}],
                "tcp": {"stack": "linux", "tso_autosize": on},
            }
        )
        folder = tmp_path / str(on)
        wifair.run(scenario, seeds=1, progress=False, pcap=folder)
        sender = max(
            wifair.read_capture(folder / "server.pcap").connections.to_dicts(), key=itemgetter("actual_data_pkts")
        )
        if on:
            assert sender["actual_data_pkts"] / sender["pushed_data_pkts"] == pytest.approx(kernel, rel=0.1)
        else:
            assert sender["pushed_data_pkts"] == 0

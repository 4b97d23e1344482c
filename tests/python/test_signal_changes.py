"""Stations that move, leave and come back: the signal-to-noise ratio of a station over time."""

from __future__ import annotations

import re

import pytest
import wifair

BASE = """
duration = "6 s"
[wlan]
standard = "802.11n"
mcs = 7
rate_adaptation = "ideal"
[[servers]]
name = "server"
rate = "1 Gb/s"
[[stations]]
name = "sta"
snr = "35 dB"
queue.limit = "1000 packets"
[[flows]]
name = "down"
station = "sta"
direction = "down"
transport = "udp"
udp.rate = "80 Mb/s"
"""


def goodput_mbps(
    changes: list[dict[str, str]], start_s: int, end_s: int, more: dict[str, object] | None = None
) -> float:
    """Goodput between two times of a run with these changes of the ratio."""
    keys: dict[str, object] = {"stations.snr_changes": changes, "warm_up": f"{start_s} s", "duration": f"{end_s} s"}
    run = wifair.run(wifair.Scenario.from_text(BASE).with_(keys | (more or {})), seeds=range(1, 4))
    return float(run.summary["goodput_bps"].mean) / 1e6


def received_until_2_s(changes: list[dict[str, str]]) -> int:
    """Bytes received in the first two seconds of a run."""
    scenario = wifair.Scenario.from_text(BASE).with_({"stations.snr_changes": changes})
    series = wifair.run(scenario, seeds=[1], series="100 ms").series
    assert series is not None
    return int(series["received_bytes"][series["time_s"] < 2.05].sum())


@pytest.mark.parametrize("snr", [6, 12, 18])
def test_a_station_that_moves_gets_what_one_that_stands_there_gets(snr: int) -> None:
    """By the same transmit modes as with that ratio from the start; before the change it is not affected."""
    moves = [{"at": "2 s", "to": f"{snr} dB"}]
    there = goodput_mbps([], 2, 6, {"stations.snr": f"{snr} dB"})
    assert goodput_mbps(moves, 3, 6) == pytest.approx(there, rel=0.02)
    assert received_until_2_s(moves) == received_until_2_s([])
    assert there < 0.8 * goodput_mbps([], 2, 6)


def test_a_station_that_leaves_gets_nothing_until_it_comes_back() -> None:
    leaves = [{"at": "2 s", "to": "-20 dB"}]
    comes_back = [*leaves, {"at": "4 s", "to": "35 dB"}]
    assert goodput_mbps(leaves, 2, 4) < 0.2  # at most what was on its way
    assert goodput_mbps(comes_back, 5, 6) == pytest.approx(goodput_mbps([], 2, 6), rel=0.02)


def test_what_is_sent_to_a_station_that_has_left_takes_air_from_the_others() -> None:
    """The access point goes on trying, at the lowest rate, and another station has the rest of the air. Control: one
    that keeps its ratio.
    """
    second = BASE.replace("[[flows]]", '[[stations]]\nname = "other"\nsnr = "35 dB"\n[[flows]]', 1)
    second += (
        '[[flows]]\nname = "other"\nstation = "other"\ndirection = "down"\ntransport = "udp"\nudp.rate = "80 Mb/s"\n'
    )

    def of_other(changes: list[dict[str, str]]) -> float:
        keys = {"stations.sta.snr_changes": changes, "warm_up": "3 s"}
        run = wifair.run(wifair.Scenario.from_text(second).with_(keys), seeds=range(1, 4))
        rows = zip(run.flows["name"].tolist(), run.flows["goodput_bps"].tolist(), strict=True)
        return float(sum(goodput for flow, goodput in rows if flow == "other")) / 3e6

    assert of_other([{"at": "2 s", "to": "-20 dB"}]) < 0.5 * of_other([])


@pytest.mark.parametrize("adaptation", ["fixed", "minstrel-ht", "ideal"])
def test_shortcuts_do_not_change_it(adaptation: str) -> None:
    walks = [{"at": "1 s", "to": "3 dB", "over": "2 s"}, {"at": "4 s", "to": "30 dB", "over": "1 s"}]
    keys = {"stations.snr_changes": walks, "wlan.rate_adaptation": adaptation}
    text = BASE.replace('transport = "udp"\nudp.rate = "80 Mb/s"\n', "")
    scenario = wifair.Scenario.from_text(text).with_(keys)
    fast, plain = (wifair.run(scenario, seeds=[1], fast_paths=on) for on in (True, False))
    assert fast.flows["goodput_bps"].tolist() == plain.flows["goodput_bps"].tolist()
    assert fast.summary["goodput_bps"].mean > 1e6


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stations.snr_changes": [{"at": "1 s", "to": "120 dB"}]}, "must be from -20 dB to 100 dB"),
        ({"stations.snr_changes": [{"at": "1 s"}]}, "`to` is missing"),
        (
            {"stations.snr_changes": [{"at": "1 s", "to": "9 dB", "over": "2 s"}, {"at": "2 s", "to": "20 dB"}]},
            "two changes of the ratio overlap",
        ),
        ({"stations.snr_changes": [{"at": "6 s", "to": "9 dB"}]}, "a change of `snr` begins after the end"),
        ({"space.propagation": "friis", "stations.snr_changes": [{"at": "1 s", "to": "9 dB"}]}, "`snr` with 802.11n"),
    ],
)
def test_changes_that_cannot_be_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(wifair.ScenarioError, match=re.escape(message)):
        wifair.Scenario.from_text(BASE).with_(changes)


def test_changes_need_a_ratio_at_the_start() -> None:
    without = BASE.replace('snr = "35 dB"', 'snr_changes = [{ at = "1 s", to = "9 dB" }]').replace('"ideal"', '"fixed"')
    with pytest.raises(wifair.ScenarioError, match=r"`snr_changes` without `snr`(.|\n)*write `snr`, the ratio at"):
        wifair.Scenario.from_text(without)

"""Values that can only be a slip are refused, and the message says what is allowed."""

from __future__ import annotations

import pytest
import wifair


@pytest.mark.parametrize(
    ("change", "allowed"),
    [
        ("wlan.slot=1 s", "above 0 and at most 1 ms"),
        ("ap.queue.limit=50000000000000000 packets", "from 1 to 100000000 packets"),
        ("servers.rate=1000000000 Mb/s", "at most 1000 Gb/s"),
        ("servers.rate=1 Tb/s", "use one of Mb/s, kb/s, b/s, Gb/s"),
        ("wlan.data_rate=5000000 Mb/s", "one of 1, 2, 5.5, 11 Mb/s"),
        ("wlan.basic_rate=1000 Mb/s", "11"),
        ("wlan.broadcast_rate=1000000000 Mb/s", "one of 1, 2, 5.5, 11 Mb/s"),
        ("wlan.dsss_basic_rate=1000 Mb/s", "one of 1, 2, 5.5, 11 Mb/s"),
        ("wlan.sifs=1 s", "at most 1 ms"),
        ("wlan.difs=1 s", "at least sifs and at most 3 ms"),
        ("wlan.signal_extension=1 s", "at most 1 ms"),
        ("wlan.nav_unit=1000000 s", "at most 1 ms"),
        ("servers.delay=1000000 s", "at most 1 h"),
        ("tcp.receive_window=1000000000000 packets", "from 1 B to 1 TiB, or 2^30 packets"),
        ("tcp.initial_window=1000000000 GB", "from 1 B to 1 TiB, or 2^30 packets"),
        ("tcp.initial_ssthresh=1000000000000 packets", "at most 2^30 packets or 1 TiB"),
        ("tcp.max_cwnd=1000000000000 packets", "from 1 packet to 2^30 packets, or 1 TiB"),
    ],
)
def test_nonsense_is_refused(text: str, change: str, allowed: str) -> None:
    with pytest.raises(wifair.ScenarioError) as caught:
        wifair.Scenario.from_text(text).with_(dict([change.split("=")]))
    assert allowed in str(caught.value)


def test_udp_at_a_petabit_is_refused(text: str) -> None:
    udp = text + 'transport = "udp"\nudp.rate = "1000000000 Mb/s"\n'
    with pytest.raises(wifair.ScenarioError, match="at most 1000 Gb/s"):
        wifair.Scenario.from_text(udp)


@pytest.mark.parametrize(
    ("key", "allowed"),
    [
        ('radio.sensitivity = "10000000000 dBm"', "from -200 dBm to 100 dBm"),
        ('radio.antenna_gain = "1000000 dB"', "from -100 dB to 100 dB"),
        ('reception.capture_threshold = "1000000 dB"', "from -100 dB to 100 dB"),
        ('ignored = "1000000 dBm"', "at most 100 dBm"),
        ("log-distance.exponent = 1e9", "above 0 and at most 10"),
        ('log-distance.reference_distance = "1000000 km"', "above 0 m and at most 1000 km"),
        ('log-distance.reference_loss = "1000000 dB"', "from 0 dB to 300 dB"),
        ('log-distance.shadowing = "1000000 dB"', "from 0 dB to 100 dB"),
    ],
)
def test_radio_levels_are_within_reason(text: str, key: str, allowed: str) -> None:
    with pytest.raises(wifair.ScenarioError, match=allowed):
        wifair.Scenario.from_text(f"{text}\n[space]\n{key}\n")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"wlan.cw_min": 20}, "`cw_min` is 20, which is not one less than a power of two"),
        ({"wlan.cw_max": 1000}, "511 or 1023; any other needs nonstandard_windows = true"),
        ({"stations.cw_min": 16}, "15 or 31; any other"),
        ({"ap.cw_min": 5}, "3 or 7; any other"),
        ({"wlan.standard": "802.11n", "wlan.edca.be.cw_min": 14}, "7 or 15; any other"),
    ],
)
def test_contention_windows_are_powers_of_two_less_one(text: str, change: dict[str, object], message: str) -> None:
    scenario = wifair.Scenario.from_text(text)
    with pytest.raises(wifair.ScenarioError) as caught:
        scenario.with_(change)
    assert message in str(caught.value)
    assert scenario.with_({**change, "wlan.nonstandard_windows": True}).hash != scenario.hash


def test_rates_outside_the_standard_need_to_be_allowed(text: str) -> None:
    scenario = wifair.Scenario.from_text(text)
    with pytest.raises(wifair.ScenarioError, match="any other needs nonstandard_rates = true"):
        scenario.with_({"wlan.data_rate": "7 Mb/s"})
    allowed = scenario.with_({"wlan.data_rate": "7 Mb/s", "wlan.nonstandard_rates": True})
    assert allowed.hash != scenario.hash

"""Values that can only be a slip are refused, with what is allowed."""

from __future__ import annotations

import pytest
import wifair


@pytest.mark.parametrize(
    ("change", "allowed"),
    [
        ("wlan.slot=1 s", "above 0 and at most 1 ms"),
        ("ap.queue.limit=50000000000000000 packets", "from 1 to 100000000 packets"),
        ("servers.rate=1000000000 Mb/s", "at most 1 Tb/s"),
        ("wlan.data_rate=5000000 Mb/s", "one of 1, 2, 5.5, 11 Mb/s"),
        ("wlan.basic_rate=1000 Mb/s", "11"),
    ],
)
def test_nonsense_is_refused(text: str, change: str, allowed: str) -> None:
    with pytest.raises(wifair.ScenarioError) as caught:
        wifair.Scenario.from_text(text).with_(dict([change.split("=")]))
    assert allowed in str(caught.value)


def test_udp_at_a_petabit_is_refused(text: str) -> None:
    udp = text + 'transport = "udp"\nudp.rate = "1000000000 Mb/s"\n'
    with pytest.raises(wifair.ScenarioError, match="at most 1 Tb/s"):
        wifair.Scenario.from_text(udp)


def test_levels_of_radios_are_within_reason(text: str) -> None:
    space = '\n[space]\nradio.sensitivity = "10000000000 dBm"\n'
    with pytest.raises(wifair.ScenarioError, match="from -200 dBm to 100 dBm"):
        wifair.Scenario.from_text(text + space)

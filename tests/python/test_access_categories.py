"""Access categories of flows, by name and by DSCP."""

from __future__ import annotations

import pytest
from wifair import Scenario, ScenarioError, run

SCENARIO = """
duration = "3 s"
warm_up = "1 s"
[wlan]
standard = "802.11n"
[[servers]]
name = "server"
delay = "5 ms"
[[stations]]
name = "sta"
count = 2
[[flows]]
name = "first"
station = "sta1"
[[flows]]
name = "second"
station = "sta2"
"""


def goodput(changes: dict[str, object]) -> list[float]:
    """Goodput of both flows."""
    return [float(bps) for bps in run(Scenario.from_text(SCENARIO).with_(changes), seeds=[1]).flows["goodput_bps"]]


@pytest.mark.parametrize(
    ("dscp", "mapping", "category"),
    [
        (46, "rfc8325", "voice"),  # EF, by RFC 8325, figure 1
        (46, "linux", "voice"),
        (46, "precedence", "video"),  # 101110: the three high bits are 5
        (8, "rfc8325", "background"),  # CS1
        (10, "rfc8325", "best-effort"),  # AF11
        (10, "precedence", "background"),  # 001010
        (50, "rfc8325", "best-effort"),  # no service class
        (50, "linux", "voice"),  # 110010
    ],
)
def test_dscp_selects_the_category(dscp: int, mapping: str, category: str) -> None:
    by_dscp = goodput({"flows.first.dscp": dscp, "wlan.dscp_mapping": mapping})
    assert by_dscp == goodput({"flows.first.category": category})


def test_default_category_is_best_effort() -> None:
    plain = goodput({})
    assert plain == goodput({"flows.first.category": "best-effort"}) == goodput({"flows.first.dscp": 0})
    voice = goodput({"flows.first.category": "voice"})
    assert voice[0] > plain[0]
    assert voice[1] < plain[1]


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ("dscp = 64", "from 0 to 63"),
        ('dscp = 46\ncategory = "voice"', "`category` and `dscp` exclude each other"),
        ('category = "gold"', "best-effort"),
    ],
)
def test_invalid_category_or_dscp_is_refused(change: str, part: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_text(f"{SCENARIO}{change}\n")
    assert part in str(caught.value)


def test_802_11g_has_no_categories() -> None:
    with pytest.raises(ScenarioError, match="dscp"):
        Scenario.from_text(SCENARIO.replace("802.11n", "802.11g") + "dscp = 46\n")


def test_an_internal_collision_is_a_failed_attempt() -> None:
    """IEEE Std 802.11-2016, 10.22.2.11.1.

    One station sends voice and best effort without pause. A Monte Carlo of its slots alone, 8 million exchanges long,
    gives 0.02597 frames of best effort for each of voice (standard error 0.0002), and 0.0233 if internal collisions
    only double the window, without a retry limit.
    """
    flows = "".join(
        f'[[flows]]\nname = "{name}"\nstation = "sta"\ncategory = "{name}"\ntransport = "udp"\nudp.rate = "60 Mb/s"\n'
        for name in ("voice", "best-effort")
    )
    text = (
        'duration = "60 s"\nseeds = "1..80"\n[wlan]\nstandard = "802.11n"\naggregation.max_ampdu = "0 B"\n'
        f'edca.vo.txop = "0 s"\n[[servers]]\nname = "server"\n[[stations]]\nname = "sta"\n{flows}'
    )
    results = run(Scenario.from_text(text))
    voice, best_effort = (results.flows["goodput_bps"][place::2].sum() for place in (0, 1))
    assert best_effort / voice == pytest.approx(0.02597, rel=0.03)
    assert results.flows["data_drops_retry_limit"].sum() > 0

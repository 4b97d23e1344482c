"""The performance anomaly: one station at 1 Mb/s among others at 11 Mb/s.

M. Heusse, F. Rousseau, G. Berger-Sabbatel and A. Duda, "Performance Anomaly of 802.11b", INFOCOM 2003: stations that
always have a frame to send are equally often on the air, whatever their rates, so that all get the slowest one's
throughput. With finite loads, a station that offers less than this share gets all it offers, and the others share what
is left of the air. Frames of 1500 bytes in all; the closed form is in frames per second, with

    T = DIFS + preamble + 8 * 1536 bits / rate + SIFS + ACK + contention                                     [us]

and, of n stations with a frame, contention and collisions as in equations 5, 8 and 9 of the paper, which approximate.
"""

from __future__ import annotations

import numpy as np
import pytest
from wifair import Scenario, run

PAYLOAD = 1472
FAST = 50 + 192 + np.ceil(8 * 1536 / 11) + 10 + 192 + 56
SLOW = 50 + 192 + 8 * 1536 + 10 + 192 + 112  # its ACKs are at 1 Mb/s, too
SEEDS = (1, 2, 3)

TEXT = """
duration = "62 s"
warm_up = "2 s"

[wlan]
standard = "802.11b"

[[servers]]
name = "server"
"""
GROUP = """
[[stations]]
name = "{name}"
count = {count}
data_rate = "{rate}"

[[flows]]
name = "{name}"
station = "{name}"
transport = "udp"
udp.rate = "{load} b/s"
udp.jitter = 0.5
start_spread = "1 s"
"""


def frames_per_s(groups: dict[str, tuple[int, str, float]]) -> dict[str, np.ndarray]:
    """What each station of each group gets: `groups` has the number, the rate, and the offered frames per second."""
    text = TEXT
    for name, (count, rate, load) in groups.items():
        text += GROUP.format(name=name, count=count, rate=rate, load=round(load * PAYLOAD * 8))
    flows = run(Scenario.from_text(text), seeds=SEEDS).flows
    each = {}
    for name in groups:
        mine = np.char.startswith(flows["name"], name)
        goodput = flows["goodput_bps"][mine].reshape(len(SEEDS), -1).mean(axis=0)
        each[name] = goodput / (8 * PAYLOAD)
    return each


FORM = 0.1
"""The closed form simplifies: collisions do not widen the window, and no backoff goes on from before."""


def saturated_share(fast: int, slow: int = 1, taken_us: float = 0.0) -> float:
    """Frames per second that each of so many saturated stations gets, when others take `taken_us` of each second."""
    n = fast + slow
    p_c = 1 - (1 - 1 / 32) ** (n - 1)
    contention = 20 * (1 + p_c) / (2 * n) * 31 / 2
    t_fast, t_slow = FAST + contention, SLOW + contention
    jam = (2 / n * t_slow + (1 - 2 / n) * t_fast) if slow else t_fast
    return float((1e6 - taken_us) / (fast * t_fast + slow * t_slow + p_c * jam * n))


def sampled(load: float) -> float:
    """Four relative standard deviations of how often a source fires, if its intervals vary uniformly by half."""
    frames = load * 60 * len(SEEDS)
    return float(4 * 0.5 / np.sqrt(3) / np.sqrt(frames))


@pytest.mark.parametrize("fast", [1, 4, 9])
def test_saturated_stations_all_get_the_share_of_the_slow_one(fast: int) -> None:
    got = frames_per_s({"fast": (fast, "11 Mb/s", 2000), "slow": (1, "1 Mb/s", 200)})
    each = np.array([*got["fast"], *got["slow"]])
    assert each.mean() == pytest.approx(saturated_share(fast), rel=FORM)
    # Equal chances: the number of frames is at most as random as a Poisson count.
    assert np.all(abs(each / each.mean() - 1) < 4 / np.sqrt(each.mean() * 60 * len(SEEDS)))
    alone = frames_per_s({"fast": (fast + 1, "11 Mb/s", 2000)})["fast"].sum()
    assert alone == pytest.approx((fast + 1) * saturated_share(fast + 1, slow=0), rel=FORM)
    # With the slow station the total is 0.77, 0.60 and 0.45 of that without it.
    assert each.sum() / alone == pytest.approx(saturated_share(fast) / saturated_share(fast + 1, slow=0), rel=FORM)


def test_light_loads_are_served_in_full() -> None:
    """Four stations at 60 frames a second and a slow one at 20 need three quarters of the air: each gets what it
    offers.
    """
    assert (4 * 60 * (FAST + 310) + 20 * (SLOW + 310)) / 1e6 < 0.8
    got = frames_per_s({"fast": (4, "11 Mb/s", 60), "slow": (1, "1 Mb/s", 20)})
    assert got["fast"] == pytest.approx(60, rel=sampled(60))
    assert got["slow"] == pytest.approx(20, rel=sampled(20))


def test_small_loads_are_served_in_full_and_the_others_share_the_rest() -> None:
    """Two fast stations offer 20 frames a second; two more and a slow one always have a frame."""
    got = frames_per_s({"light": (2, "11 Mb/s", 20), "heavy": (2, "11 Mb/s", 2000), "slow": (1, "1 Mb/s", 200)})
    share = saturated_share(2, taken_us=2 * 20 * FAST)
    assert share > 20
    assert got["light"] == pytest.approx(20, rel=sampled(20))
    assert np.mean([*got["heavy"], *got["slow"]]) == pytest.approx(share, rel=FORM)

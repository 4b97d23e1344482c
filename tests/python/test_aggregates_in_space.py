"""Aggregates with bit errors in space: they match a cell with the same error rates, and rate adaptation fits the
distance.
"""

from __future__ import annotations

import math
import re

import pytest
import wifair

CELL = """
duration = "4 s"
warm_up = "1 s"
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

# Noise of -95 dBm, 20 dBm of power: a gain of -90 dB leaves a signal-to-noise ratio of 25 dB.
SPACE = CELL.replace(
    "[[servers]]",
    """[space]
reception.spoils = "bits"
reception.capture_threshold = "-5 dB"
radio.sensitivity = "-105 dBm"
radio.carrier_sense = "-105 dBm"
[[space.paths]]
from = "ap"
to = "sta"
gain = "-90 dB"
[[servers]]""",
)


def goodput_mbps(text: str, changes: dict[str, object], seeds: int = 1) -> float:
    scenario = wifair.Scenario.from_text(text).with_(changes)
    return float(wifair.run(scenario, seeds=range(1, seeds + 1)).cells["goodput_bps"].mean()) / 1e6


def at_snr(snr: float) -> dict[str, object]:
    return {"space.paths.gain": f"{snr - 115} dB"}


@pytest.mark.parametrize(
    ("mcs", "snr", "survive"),
    # Published for 2000 bytes at 24 and 54 Mb/s (ns-3's ofdm-validation.cc, after Pei and Henderson, Boeing, 2010), to
    # three digits; HT MCS 3 and 6 have the same constellation and code.
    [(3, 13.0, 0.495), (6, 22.0, 0.410), (6, 23.0, 0.958)],
)
def test_noise_in_space_equals_the_same_losses_in_a_cell(mcs: int, snr: float, survive: float) -> None:
    loss = 1.0 - survive ** (1538 / 2000)
    own = {"wlan.mcs": mcs}
    in_space = goodput_mbps(SPACE, own | at_snr(snr), seeds=4)
    assert in_space == pytest.approx(goodput_mbps(CELL, own | {"wlan.data_error": loss}, seeds=4), rel=0.02)
    assert in_space == pytest.approx(goodput_mbps(CELL, own | {"stations.snr": f"{snr} dB"}, seeds=4), rel=0.01)


@pytest.mark.parametrize("mcs", [0, 7])
def test_space_without_noise_equals_the_cell(mcs: int) -> None:
    """Draw by draw: 28 MPDUs of 1472 bytes and their block ACK take 5518.5 us with MCS 7."""
    in_space = goodput_mbps(SPACE, {"wlan.mcs": mcs} | at_snr(60.0))
    assert in_space == goodput_mbps(CELL, {"wlan.mcs": mcs})
    if mcs == 7:
        assert in_space == pytest.approx(28 * 1472 * 8 / 5518.5, rel=0.002)


def test_width_and_streams_share_the_signal() -> None:
    """Twice the width has twice the noise, and two streams have half the power each: 3 dB more of SNR are needed.

    MCS 3 of one stream loses half of its MPDUs at 13 dB, so with 40 MHz, or as MCS 11 of two streams, at 16 dB.
    """
    for changes in ({"wlan.mcs": 3, "wlan.width": 40}, {"wlan.mcs": 11}):
        low, half, high = (goodput_mbps(SPACE, changes | at_snr(snr)) for snr in (15.0, 16.01, 17.5))
        assert low < 0.02 * high
        assert 0.4 < half / high < 0.75


def at_distance(metres: float, how: str, mcs: int = 7, **of_minstrel_ht: object) -> float:
    """Log-distance: of 115 dB above noise, 40.1 dB are lost at 1 m and 30 dB per tenfold distance: 14.9 dB are left at
    100 m.
    """
    space = SPACE[: SPACE.index("[[space.paths]]")] + SPACE[SPACE.index("[[servers]]") :]
    changes: dict[str, object] = {"stations.position": [f"{metres} m", "0 m"], "wlan.rate_adaptation": how}
    changes |= {f"wlan.minstrel-ht.{key}": value for key, value in of_minstrel_ht.items()}
    seconds = 14 if of_minstrel_ht else 2
    changes |= {"wlan.mcs": mcs, "duration": f"{2 * seconds} s", "warm_up": f"{seconds} s"}
    return goodput_mbps(space, changes)


@pytest.mark.parametrize(
    ("metres", "snr"),
    [(28.0, 31.5), (58.0, 22.0), (140.0, 10.5)],
)
def test_adaptation_gets_nearly_as_much_as_the_best_fixed_mode(metres: float, snr: float) -> None:
    """Far away the fastest mode carries nothing; adaptation gets nearly what the best constant mode gets there. The
    next test says where Minstrel-HT loses the rest.
    """
    fixed = [at_distance(metres, "fixed", mcs) for mcs in range(8)]
    best = max(fixed)
    assert snr == pytest.approx(74.9 - 30 * math.log10(metres), abs=0.1)
    assert (fixed[7] > 50.0) == (snr > 25.0)
    assert best > 5.0
    assert fixed[7] == best or fixed[7] < 0.5
    assert at_distance(metres, "ideal") == pytest.approx(best, rel=0.03)
    assert 0.9 * best < at_distance(metres, "minstrel-ht") < 1.01 * best


def test_what_minstrel_ht_loses() -> None:
    """Where the next faster mode loses half of its MPDUs, lucky samples, single MPDUs all, make it the best one for a
    while: the slower the filter, the more rarely. Where the next faster mode loses everything, it is the samples.
    """
    quick, usual, slow = (at_distance(58.0, "minstrel-ht", filter_period=period) for period in (4, 16, 64))
    assert quick < 0.95 * usual
    assert usual < 0.98 * slow
    often, seldom = (at_distance(140.0, "minstrel-ht", sample_interval=time) for time in ("5 ms", "60 ms"))
    assert often < 0.98 * seldom


def test_each_receiver_has_its_own_mode() -> None:
    """The access point sends to a near and a far station, to each in the mode that suits it: neither starves."""
    text = SPACE[: SPACE.index("[[space.paths]]")] + SPACE[SPACE.index("[[servers]]") : SPACE.index("[[stations]]")]
    for name, metres in (("near", 20), ("far", 120)):
        text += f'[[stations]]\nname = "{name}"\nposition = ["{metres} m", "0 m"]\n'
        text += f'[[flows]]\nname = "{name}"\nstation = "{name}"\ndirection = "down"\n'
        text += 'transport = "udp"\nudp.rate = "30 Mb/s"\n'
    text = text.replace("[wlan]", '[ap]\nqueue.discipline = "fq-codel"\n[wlan]')

    def by_flow(how: str) -> list[float]:
        scenario = wifair.Scenario.from_text(text).with_({"wlan.rate_adaptation": how})
        return [float(rate) / 1e6 for rate in wifair.run(scenario).flows["goodput_bps"]]

    fixed, minstrel, ideal = (by_flow(how) for how in ("fixed", "minstrel-ht", "ideal"))
    assert fixed[1] < 0.1
    assert min(ideal) > 5.0
    assert minstrel == pytest.approx(ideal, rel=0.1)


@pytest.mark.parametrize(("width", "snr"), [(20, 5.0), (20, 9.0), (40, 10.0), (40, 12.0)])
def test_ideal_adaptation_gives_no_less_than_a_slower_mode(width: int, snr: float) -> None:
    """LDPC is 6 to 8 dB better than BCC, which responses use: there are modes whose block ACKs are lost to noise."""
    own: dict[str, object] = {"wlan.standard": "802.11ax", "wlan.width": width, "wlan.coding": "ldpc"}
    noise_in_cell: dict[str, object] = {"stations.snr": f"{snr} dB"}
    for text, at in [(SPACE, at_snr(snr)), (CELL, noise_in_cell)]:
        ideal = goodput_mbps(text, own | at | {"wlan.rate_adaptation": "ideal"})
        slower = [goodput_mbps(text, own | at | {"wlan.mcs": mcs}) for mcs in range(5)]
        assert ideal > 0.99 * max(slower), (ideal, slower)


def test_ideal_adaptation_needs_bit_errors() -> None:
    message = "`rate_adaptation` with 802.11n in [space]"
    with pytest.raises(wifair.ScenarioError, match=re.escape(message)) as refused:
        wifair.Scenario.from_text(SPACE).with_({"space.reception.spoils": "threshold", "wlan.rate_adaptation": "ideal"})
    assert '"ideal" goes by bit errors; write spoils = "bits"' in str(refused.value)

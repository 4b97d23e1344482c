"""CF-End where not all stations hear each other: who waits, and what a timeline shows of it."""

from __future__ import annotations

import itertools

import pytest
import wifair

HIDDEN = """
duration = "2 s"
warm_up = "0.5 s"
[wlan]
standard = "802.11n"
mcs = 2
rts_threshold = "0 B"
cf_end = true
edca.be.txop = "3008 us"
[ap]
position = ["0 m", "0 m"]
[space]
radio.sensitivity = "-82 dBm"
radio.carrier_sense = "-82 dBm"
log-distance.exponent = 3.5
[[servers]]
name = "server"
[[stations]]
name = "west"
position = ["-40 m", "0 m"]
[[stations]]
name = "east"
position = ["40 m", "0 m"]
[[flows]]
name = "west"
station = "west"
transport = "udp"
udp.rate = "10 Mb/s"
[[flows]]
name = "east"
station = "east"
transport = "udp"
udp.rate = "10 Mb/s"
"""


def test_a_hidden_station_that_reads_no_cf_end_starves() -> None:
    """Each station gets a packet every 1.2 ms, and reserves 3 ms for it.

    The other one has read the CTS of the access point, which announces the 3 ms, and not the CF-End that releases them.
    So the holder sends its next packet before the other one's NAV ends, whatever their backoffs (10.22.2.9, note).
    Without CF-End each gets at least half of what it offers.
    """
    cell = wifair.Scenario.from_text(HIDDEN)
    goodput = wifair.run(cell, seeds=range(1, 6)).flows["goodput_bps"].reshape(5, 2)
    assert goodput.min(axis=1) == pytest.approx(0.0)
    assert goodput.max(axis=1) == pytest.approx(10e6, rel=0.01)
    without = wifair.run(cell.with_({"wlan.cf_end": False}), seeds=range(1, 6)).flows["goodput_bps"]
    assert (without > 5e6).all()


def test_an_access_point_that_repeats_the_cf_end_prevents_that() -> None:
    """Each station needs 10 Mb/s, and the channel has room for both if no time stays reserved: without CF-End they get
    more than 15 Mb/s together, although their RTS collide.
    """
    cell = wifair.Scenario.from_text(HIDDEN).with_({"wlan.repeat_cf_end": True})
    results = wifair.run(cell, seeds=range(1, 6), frames=True)
    assert (results.flows["goodput_bps"] > 5e6).all()
    assert results.frames is not None
    kinds = [(row["kind"], row["sender"], row["start_s"]) for row in results.frames.filter(seed=1).to_dicts()]
    ends = [(sender, start) for kind, sender, start in kinds if kind == "cf-end"]
    repeated = [start - before for (_, before), (sender, start) in itertools.pairwise(ends) if sender == "ap"]
    assert len(repeated) > 100
    assert repeated == pytest.approx([52e-6 + 16e-6] * len(repeated), abs=1e-9)  # CF-End at 6 Mb/s, and SIFS


def test_the_timeline_ends_a_nav_where_a_cf_end_is_read() -> None:
    """The other station reads the CF-End only if it hears the holder; it hears the access point either way."""
    pytest.importorskip("matplotlib")
    from matplotlib.patches import Rectangle  # noqa: PLC0415
    from wifair.figures import timeline  # noqa: PLC0415

    for metres, is_hidden in (("-40 m", True), ("39 m", False)):
        changes = {"stations[0].position": [metres, "0 m"], "flows[0].udp.rate": "1 kb/s"}
        results = wifair.run(wifair.Scenario.from_text(HIDDEN).with_(changes), frames=True)
        assert results.frames is not None
        rows = [row for row in results.frames.to_dicts() if row["start_s"] > 1.0]
        end = next(row for row in rows if row["kind"] == "cf-end" and row["sender"] == "east")["end_s"]
        figure = timeline.draw(results, start="1 s", end="1.01 s")
        bars = [patch for patch in figure.axes[0].patches if isinstance(patch, Rectangle)]
        navs = [bar for bar in bars if bar.get_hatch() == "/////"]
        after_ms = (end - 1.0) * 1e3 + 0.001
        is_covered = any(bar.get_x() < after_ms < bar.get_x() + bar.get_width() for bar in navs)
        assert is_covered == is_hidden, metres


TWO_CELLS = """
duration = "10 s"
warm_up = "0.1 s"
[wlan]
mcs = 2
cf_end = true
data_error = 0.1
edca.be.txop = "3008 us"
[ap]
count = 2
layout = "chain"
chain.spacing = "60 m"
[space]
radio.sensitivity = "-82 dBm"
radio.carrier_sense = "-82 dBm"
log-distance.exponent = 3.5
[[routers]]
name = "switch"
[[links]]
from = "ap"
to = "switch"
rate = "1 Gb/s"
[[servers]]
name = "server"
at = "switch"
"""
CELLS = {"a1": ("ap1", -30), "a2": ("ap1", 20), "b1": ("ap2", 40), "b2": ("ap2", 90)}


def cells(standard: str) -> wifair.Scenario:
    """Two cells on one channel."""
    text = TWO_CELLS.replace("[wlan]", f"[wlan]\nstandard = '{standard}'")
    for name, (ap, x) in CELLS.items():
        text += f"[[stations]]\nname = '{name}'\nap = '{ap}'\nposition = ['{x} m', '0 m']\n"
        text += f"[[flows]]\nname = '{name}'\nstation = '{name}'\ntransport = 'udp'\nudp.rate = '3 Mb/s'\n"
    return wifair.Scenario.from_text(text)


def early_starts(standard: str) -> int:
    """How often a station begins a TXOP although its own cell has reserved the channel, as data, requests and block
    ACKs that it has read say. Only a CF-End of its own cell ends that.
    """
    frames = wifair.run(cells(standard), frames=True).frames
    assert frames is not None
    cell = {name: ap for name, (ap, _) in CELLS.items()} | {"ap1": "ap1", "ap2": "ap2"}
    reserved, busy_until, early = dict.fromkeys(cell, 0.0), dict.fromkeys(cell, 0.0), 0
    for frame in sorted(frames.to_dicts(), key=lambda frame: frame["end_s"]):
        sender, receiver, end = frame["sender"], frame["receiver"], frame["end_s"]
        if frame["kind"] == "data" and frame["start_s"] > busy_until[sender] + 17e-6:
            early += frame["start_s"] < reserved[sender] - 1e-9
        for station in (sender, receiver):
            if station in cell:
                busy_until[station] = end
        for reader in frame["read_by"].split():
            if cell[reader] == cell[sender] and frame["kind"] == "cf-end":
                reserved[reader] = min(reserved[reader], end)
            elif cell[reader] == cell[sender] and frame["kind"] in ("data", "block-ack", "block-ack-request"):
                reserved[reader] = max(reserved[reader], end + frame["nav_s"])
    return early


def test_the_timeline_shows_both_navs_of_a_station_that_has_two() -> None:
    """From 802.11ax on frames of other BSSs set the basic NAV (802.11ax-2021, 26.2.4), and no CF-End of the own one
    ends it. Stations of 802.11n have one NAV.
    """
    pytest.importorskip("matplotlib")
    from matplotlib.patches import Rectangle  # noqa: PLC0415
    from wifair.figures import timeline  # noqa: PLC0415

    for standard, has_two in (("802.11ax", True), ("802.11n", False)):
        results = wifair.run(cells(standard).with_({"duration": "2 s"}), frames=True)
        figure = timeline.draw(results, start="1 s", end="1.02 s")
        legend = [text.get_text() for text in figure.legends[0].get_texts()]
        expected = [timeline.FIRST_NAV, timeline.BASIC_NAV] if has_two else [timeline.NAV]
        assert [label for label in legend if "NAV" in label] == expected
        bars = [patch for patch in figure.axes[0].patches if isinstance(patch, Rectangle)]
        rows = {round(bar.get_y() % 1, 2) for bar in bars if bar.get_y() % 1 > 0.5}
        assert rows == ({0.8, 0.7} if has_two else {0.8})
        assert results.frames is not None
        cell = {name: ap for name, (ap, _) in CELLS.items()} | {"ap1": "ap1", "ap2": "ap2"}
        for frame in results.frames.to_dicts():
            others = {name for name in frame["read_by"].split() if cell[name] != cell[frame["sender"]]}
            if frame["kind"] not in ("cts", "ack"):
                assert set(frame["inter_bss_at"].split()) == (others if has_two else set())


def test_a_cf_end_of_another_cell_ends_no_reservation_of_ones_own() -> None:
    assert early_starts("802.11ax") == 0
    assert early_starts("802.11n") > 5  # one NAV

"""CF-End where not all stations hear each other: who waits, and what a timeline shows of it."""

from __future__ import annotations

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


def test_the_timeline_ends_a_nav_where_a_cf_end_is_read() -> None:
    """The other station reads the CF-End only if it hears the holder; it hears the access point either way."""
    pytest.importorskip("matplotlib")
    from matplotlib.patches import Rectangle  # noqa: PLC0415
    from wifair.figures import timeline  # noqa: PLC0415

    for metres, is_hidden in (("-40 m", True), ("39 m", False)):
        changes = {"stations[0].position": [metres, "0 m"], "flows[0].udp.rate": "1 kb/s"}
        results = wifair.run(wifair.Scenario.from_text(HIDDEN).with_(changes), frames=True)
        assert results.frames is not None
        rows = [row for row in results.frames.records() if row["start_s"] > 1.0]
        end = next(row for row in rows if row["kind"] == "cf-end" and row["sender"] == "east")["end_s"]
        figure = timeline.draw(results, start="1 s", end="1.01 s")
        bars = [patch for patch in figure.axes[0].patches if isinstance(patch, Rectangle)]
        navs = [bar for bar in bars if bar.get_hatch() == "/////"]
        after_ms = (end - 1.0) * 1e3 + 0.001
        is_covered = any(bar.get_x() < after_ms < bar.get_x() + bar.get_width() for bar in navs)
        assert is_covered == is_hidden, metres

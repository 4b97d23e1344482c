"""How numbers are shown."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np
import pytest
import wifair
from wifair import gallery
from wifair._output import report
from wifair.optional.measure import report as measured
from wifair.reproduce import text
from wifair.scenario import toml
from wifair.statistics import Interval


@pytest.mark.parametrize(
    ("bps", "shown"),
    [
        (5_050_000, "5.05 Mb/s"),
        (999, "999 b/s"),
        (123e6, "123 Mb/s"),
        (9.6e9, "9.6 Gb/s"),
        (0, "0 b/s"),
        (math.nan, "-"),
    ],
)
def test_rates(bps: float, shown: str) -> None:
    assert report.rate(bps) == shown


def test_fairness_while_all_flows_are_active_is_shown_where_it_is_another_time() -> None:
    text = """
        duration = "10 s"
        warm_up = "1 s"
        wlan.standard = "802.11g"
        servers = [{ name = "server" }]
        stations = [{ name = "sta", count = 2 }]
        flows = [{ name = "a", station = "sta1" }, { name = "b", station = "sta2", start = "START" }]
    """

    def shown(start: str) -> list[str]:
        results = wifair.run(wifair.Scenario.from_text(text.replace("START", start)), seeds=[1])
        return [line for line in str(results).splitlines() if "while all flows are active" in line]

    assert shown("0.5 s") == shown("1.4 s") == []  # the whole of 9 s, and 96 % of it
    assert re.fullmatch(r" +[01]\.\d{3} while all flows are active \(4 s\)", shown("6 s")[0])


def test_times_and_counts() -> None:
    assert report.time(0.0123) == "12.3 ms"
    assert report.time(2.5) == "2.5 s"
    assert [report.time(s) for s in (0.9996, 1234.5, 7200)] == ["1 s", "1,234 s", "7,200 s"]  # it said 7.2e+03 s
    assert [report.amount(x) for x in (3.0, 3.25, 1234.5)] == ["3", "3.2", "1234"]
    assert report.percent(0.0123) == "1.2 %"
    assert report._ranges([1, 2, 3]) == "1..3"
    assert report._ranges([1, 5, 7]) == "1, 5, 7"


def test_no_power_of_ten_where_digits_are_legible() -> None:
    """A count of ACKs was 1.409e+04, beside a difference of -14089, and a column's goodput 4.03349e+06."""
    counts = (14089.4, 9999.4, 9999.6, 1234.5, 12.3456, 0.5, -14089.4, 9_999_999_999.0, 1e12)
    shown = ["14089", "9999", "10000", "1234", "12.35", "0.5", "-14089", "9999999999", "1e+12"]
    assert [report.figure_text("ap_drops_ack", Interval(count, math.nan)) for count in counts] == shown
    table = wifair.Columns({"goodput_bps": np.array([4033493.3, 999999.6, 0.25])})
    assert repr(table).split() == ["goodput_bps", "4033493", "1000000", "0.25"]
    assert [text.number(value) for value in (999.6, 12345.6, 1.234)] == ["1000", "12346", "1.23"]
    assert measured._size(1.5e6) == "1,500 kB"


@pytest.mark.parametrize(
    ("interval", "form", "shown"),
    [
        ((5.67e6, 20.8e3), report.rate, "5.670 \u00b1 0.021 Mb/s"),
        ((0.944, 0.0432), report.ratio, "0.944 \u00b1 0.043"),
        ((0.125, 0.05), report.percent, "12.5 \u00b1 5.0 %"),
        ((3e6, 0.0), report.rate, "3.000 \u00b1 0.000 Mb/s"),
        ((3e6, math.nan), report.rate, "3 Mb/s"),
    ],
)
def test_intervals_share_the_unit_of_the_mean(
    interval: tuple[float, float], form: Callable[[float], str], shown: str
) -> None:
    assert report.with_interval("x_db", Interval(*interval), form) == shown


def test_python_values_as_toml() -> None:
    table = {"a": 1, "b": True, "c": 0.5, "d": 'say "hi"\n', "e": {"f g": [1, "x"], "h": {}}, "none": None, "i": []}
    assert toml.document(table) == (
        'a = 1\nb = true\nc = 0.5\nd = "say \\"hi\\"\\n"\ne = { "f g" = [1, "x"], h = {} }\ni = []\n'
    )
    assert toml.document({"a.b": 1, "c": {"d.e-f": 2}, "g. h": 3}) == 'a.b = 1\nc = { d.e-f = 2 }\n"g. h" = 3\n'
    with pytest.raises(TypeError, match=r"e\.f\[1\] is a complex"):
        toml.document({"e": {"f": [1, 2j]}})


def test_the_shares_of_the_air_time_sum_to_one() -> None:
    """Where channels overlap, several frames on the air at once have a share of their own."""
    bonded = wifair.Scenario.from_text(gallery.example("bonded-channels").toml).with_({"duration": "2 s"})
    shown = str(wifair.run(bonded, seeds=[1]))
    air = next(line for line in shown.splitlines() if line.startswith("air time"))
    assert "spatial reuse" in air
    assert sum(map(float, re.findall(r"([\d.]+) %", air))) == pytest.approx(100, abs=0.3)


def test_datagrams_have_a_table_of_their_own() -> None:
    scenario = wifair.Scenario.from_text(gallery.example("four-categories").toml).with_(duration="5 s")
    results = wifair.run(scenario, seeds=[1])
    lines = repr(results).splitlines()
    head = next(place for place, line in enumerate(lines) if line.startswith("datagrams"))
    assert lines[head].split() == ["datagrams", "delay", "delay", "99", "%", "jitter", "lost", "MOS"]
    assert [line.split()[0] for line in lines[head + 1 : head + 3]] == ["call", "video"]
    call = next(line for line in lines if line.startswith("call"))
    assert set(call.split()[6:]) == {"-"}  # of TCP nothing is said
    assert "<th>MOS</th>" in results._repr_html_()


def test_what_is_known_of_no_flow_is_left_out() -> None:
    saturated = """
        name = "saturated"
        duration = "1 s"
        [wlan]
        standard = "802.11g"
        [[servers]]
        name = "server"
        [[stations]]
        name = "sta"
        [[flows]]
        name = "up"
        station = "sta"
        transport = "udp"
        udp.rate = "50 Mb/s"
    """
    lines = repr(wifair.run(wifair.Scenario.from_text(saturated))).splitlines()
    assert lines[2].split() == ["flow", "direction", "goodput", "share"]
    assert lines[5].startswith("datagrams")

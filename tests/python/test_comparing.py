"""Comparisons: intervals against worked examples, sources of every kind, and the command."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from command import wifair
from wifair import Comparison, Pcap, ResultsError, Scenario, compare, read_capture, read_results, run
from wifair.comparison import comparing
from wifair.statistics import paired_difference, welch_difference
from wifair.sweeps import query
from wifair.sweeps.summarising import averages

CAPTURE = Path(__file__).parents[1] / "data" / "captures" / "a_reno_down_rcv.pcap.gz"


def test_paired_difference_by_hand() -> None:
    # Differences 1, 3, 5: mean 3, standard deviation 2, t(0.975, 2) = 4.3027.
    mean, half = paired_difference([10, 20, 30], [11, 23, 35])
    assert mean == 3
    assert half == pytest.approx(4.30265 * 2 / math.sqrt(3), rel=1e-5)
    assert math.isnan(paired_difference([1], [2]).half_width)
    with pytest.raises(ValueError, match="1 values against 2"):
        paired_difference([1], [2, 3])


def test_a_large_ratio_is_no_power_of_ten() -> None:
    """It said "1.01e+03 times"."""
    shown = [comparing._relative(fraction) for fraction in (0.5, 130.0, 1011.3)]
    assert shown == ["+50.0 %", "131 times", "1,012 times"]


def test_welch_difference_by_hand() -> None:
    # The second does not vary, so the degrees of freedom are those of the first: two, and t =
    # 4.30265.
    mean, half = welch_difference([1, 2, 3], [5, 5, 5])
    assert mean == 3
    assert half == pytest.approx(4.30265 / math.sqrt(3), rel=1e-5)


def test_welch_with_equal_variances_has_the_pooled_degrees_of_freedom() -> None:
    # Equal numbers and variances: 2 (n - 1) = 4 degrees, t = 2.77645; variance of the difference 2/3.
    mean, half = welch_difference([1, 2, 3], [2, 3, 4])
    assert mean == 1
    assert half == pytest.approx(2.77645 * math.sqrt(2 / 3), rel=1e-5)
    assert welch_difference([1, 1, 1], [3, 3, 3]) == (2, 0)
    assert math.isnan(welch_difference([1, 2], [2, 3, 4]).half_width)


def test_a_scenario_does_not_differ_from_itself(file: Path) -> None:
    scenario = Scenario.from_file(file)
    comparison = compare(scenario, scenario.with_(name="again"), seeds=[1, 2, 3])
    assert comparison.names == ("two uploads", 'again, name="again"')
    assert len(comparison.differences) > 20
    for d in comparison.differences:
        assert (d.pairs, d.difference.mean, d.difference.half_width) == (3, 0, 0)
        assert not d.shown


def test_runs_are_paired_by_seed(file: Path) -> None:
    scenario = Scenario.from_file(file)
    a, b = run(scenario, seeds=[1, 2, 3]), run(scenario.with_({"stations.count": 4}), seeds=[3, 1, 7])
    (d,) = [d for d in compare(a, b, names=["two", "four"]).differences if d.figure == "jain_index"]
    assert (d.baseline, d.candidate, d.pairs) == ("two", "four", 2)
    of = [dict(zip(r.cells["seed"].tolist(), r.cells["jain_index"].tolist())) for r in (a, b)]
    assert d.difference.mean == pytest.approx(np.mean([of[1][seed] - of[0][seed] for seed in (1, 3)]))


def test_means_shown_differ_by_the_difference_shown(file: Path) -> None:
    scenario = Scenario.from_file(file)
    a, b = run(scenario, seeds=range(1, 6)), run(scenario.with_({"stations.count": 4}), seeds=range(3, 10))
    for d in compare(a, b).differences:
        assert d.second.mean - d.first.mean == pytest.approx(d.difference.mean, rel=1e-9, abs=1e-12), d.figure


def test_two_pairs_have_no_interval(file: Path) -> None:
    out, _ = wifair("compare", file, "--against", "stations.count=5", "--seeds", "1..2")
    assert "95 % intervals of" not in out
    assert out.splitlines()[-1].startswith("(no 95 % intervals:")


STARVING = """
name = "starving"
duration = "2 s"
warm_up = "1.7 s"
wlan.standard = "802.11g"
ap.queue.limit = "50 packets"
servers = [{ name = "server", delay = "10 ms" }]
stations = [{ name = "sta", count = 10 }]
flows = [
    { name = "up", station = "sta", direction = "up" },
    { name = "down", station = "sta", direction = "down", tcp.cc = "cubic" },
]
"""


def test_a_figure_that_some_seeds_lack_says_so() -> None:
    """Without downlink goodput there is no ratio. The mean of three seeds was once shown as that of six."""
    results = run(Scenario.from_text(STARVING), seeds=range(1, 9))
    known = int(np.sum(~np.isnan(results.cells["up_down_ratio"])))
    assert 0 < known < 8
    assert f"({known} of 8 seeds, the others have no downlink)" in repr(results)
    means = query.means(results.cells, [], ["up_down_ratio", "jain_index"])
    assert means["up_down_ratio_seeds"].tolist() == [known]
    assert means["jain_index_seeds"].tolist() == [8]
    table = averages(means, [], ["up_down_ratio", "jain_index"])
    assert f"({known})" in table
    assert "only n of the seeds" in table


def test_least_goodput_and_flows(file: Path) -> None:
    scenario = Scenario.from_file(file)
    results = run(scenario, seeds=[1, 2])
    comparison = compare(results, results, names=["a", "b"], flows=True)
    least = comparison.values("least_goodput_bps")["a"]
    for seed in (1, 2):
        assert least[seed] == results.flows.filter(seed=seed)["goodput_bps"].min()
    up1 = comparison.values("goodput_bps: up1")["b"]
    assert up1[2] == results.flows.filter(seed=2, name="up1")["goodput_bps"][0]


CALL = """
name = "call"
duration = "3 s"
warm_up = "1 s"
seeds = "1..3"
wlan.standard = "802.11n"
servers = [{ name = "server" }]
stations = [{ name = "phone" }, { name = "laptop", count = 2 }]
[[flows]]
name = "call"
station = "phone"
direction = "down"
transport = "udp"
udp.rate = "64 kb/s"
udp.payload = "160 B"
[[flows]]
name = "up"
station = "laptop"
"""


def rows_of(comparison: Comparison, *, everything: bool = False) -> dict[str, list[str]]:
    """Cells of each line of the only table, by its label."""
    lines = [re.split(r"  +", line) for line in comparison.text(everything=everything, width=200).splitlines()]
    return {line[0]: line[1:] for line in lines if len(line) > 1}


def test_flows_are_compared_by_what_their_transport_has() -> None:
    """Once flows were compared by goodput alone, so that a call that broke off looked as before."""
    a = run(Scenario.from_text(CALL))
    b = run(Scenario.from_text(CALL).with_({"flows.call.category": "voice"}))
    comparison = compare(a, b, names=["a", "b"], flows=True)
    for figure in ("goodput_bps", "owd_mean_s", "owd_p99_s", "jitter_s", "loss_fraction", "mos", "rtt_p95_s"):
        for name, results in (("a", a), ("b", b)):
            of_flow = results.flows.filter(name="up1" if figure.startswith("rtt") else "call")
            assert list(comparison.values(f"{figure}: {of_flow['name'][0]}")[name].values()) == of_flow[figure].tolist()
    up1 = a.flows.filter(name="up1")
    fractions = up1["retransmissions"] / up1["data_packets_sent"]
    assert list(comparison.values("retransmitted_fraction: up1")["a"].values()) == fractions.tolist()
    shown = rows_of(comparison)
    assert {"call: goodput", "call: delay", "call: delay 99 %", "call: MOS", "up1: RTT", "up1: RTT 95 %"} <= set(shown)
    # AIFSN 2 and CWmin 3 against 3 and 15 (IEEE Std 802.11-2016, table 9-137).
    assert shown["call: delay"][-1] == "lower"
    assert not {"call: RTT", "call: owd_p50_s", "up1: delay", "up1: MOS", "up1: lost"} & set(shown)
    assert {"call: owd_p50_s", "up2: delay 99 %", "up2: rtt_min_s"} <= set(rows_of(comparison, everything=True))


def test_figures_that_one_side_lacks_are_shown() -> None:
    """They were left out of the table, of `--all` and of JSON."""
    call = Scenario.from_text(CALL)
    comparison = compare(call, call.with_({"flows.call.transport": "tcp", "stations.laptop.count": 3}), flows=True)
    shown = rows_of(comparison)
    assert shown["call: MOS"][1:] == ["-", "-"]
    assert shown["call: RTT"][0::2] == ["-", "-"]
    assert not [label for label in shown if label.startswith("up3")]
    assert comparison.text().endswith("has the flow up3)")
    (mos,) = [row for row in comparison.to_dict()["differences"] if row["figure"] == "mos: call"]
    assert mos["baseline_mean"] > 1
    assert (mos["mean"], mos["difference"], mos["pairs"], mos["shown"]) == (None, None, 0, False)
    ways = compare(call.with_({"flows.call.direction": "up"}), call, names=["up", "down"])  # no ratio without downlink
    assert rows_of(ways)["uplink / downlink"][0::2] == ["-", "-"]
    assert "up_down_ratio" not in ways.telling()


def test_saved_results_are_the_same_tables(file: Path, tmp_path: Path) -> None:
    results = run(file, seeds=[1, 2], series="500 ms")
    results.save(tmp_path / "out", formats=["csv"])
    saved = read_results(tmp_path / "out")
    assert saved.seeds == (1, 2)
    assert saved.summary == results.summary
    assert saved.series is not None
    for name, table in results.tables.items():
        mine = getattr(saved, name)
        assert list(mine) == list(table)
        assert mine.about == table.about
        for key in table:
            np.testing.assert_array_equal(mine[key], table[key], err_msg=f"{name}.{key}")
    assert repr(saved).splitlines()[2:] == repr(results).splitlines()[2:]
    comparison = compare(results, saved)
    assert comparison.names == ("two uploads (1)", "two uploads (2)")
    assert not any(d.shown for d in comparison.differences)


@pytest.mark.parametrize("names", [("-A1", "-1_0"), ("007", "12"), ("1e5", "nan")])
def test_names_that_look_like_numbers_or_formulas_are_saved_as_they_are(names: tuple[str, str], tmp_path: Path) -> None:
    groups = "".join(
        f'[[stations]]\nname = "{name}"\n[[flows]]\nname = "{name}"\nstation = "{name}"\n' for name in names
    )
    results = run(
        Scenario.from_text(f'duration = "1 s"\nwlan.standard = "802.11g"\n[[servers]]\nname = "server"\n{groups}'),
        seeds=[1, 2],
    )
    results.save(tmp_path / "out", formats=["csv"])
    saved = read_results(tmp_path / "out")
    assert saved.flows["name"].tolist() == results.flows["name"].tolist() == [*names, *names]
    assert saved.stations["name"].tolist() == results.stations["name"].tolist()
    assert [d.shown for d in compare(results, saved, flows=True).differences if d.pairs != 2] == []
    assert not re.search(r"(^|,)[=+@-][^0-9,]", (tmp_path / "out" / "flows.csv").read_text(), re.MULTILINE)


def test_saved_results_in_parquet(file: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    results = run(file)
    results.save(tmp_path / "out", formats=["parquet"])
    np.testing.assert_array_equal(read_results(tmp_path / "out").flows["name"], results.flows["name"])


def test_damaged_results_are_an_error(file: Path, tmp_path: Path) -> None:
    run(file).save(tmp_path / "out", formats=["csv"])
    with pytest.raises(ResultsError, match="holds no results"):
        read_results(tmp_path)
    cells = tmp_path / "out" / "cells.csv"
    whole = cells.read_text()
    for was, now, why in (
        ("goodput_bps", "goodput", "cells.csv has no column goodput_bps"),
        ("\n1,", "\none,", "cells.csv has texts in column seed"),
    ):
        cells.write_text(whole.replace(was, now, 1))
        with pytest.raises(ResultsError, match=f"not complete, or was changed: {why}"):
            read_results(tmp_path / "out")
    cells.write_text(whole)
    (tmp_path / "out" / "flows.csv").write_text("seed,name\n1\n")
    with pytest.raises(ResultsError, match="not complete, or was changed"):
        read_results(tmp_path / "out")
    (tmp_path / "out" / "provenance.json").write_text("{")
    with pytest.raises(ResultsError, match="no JSON"):
        read_results(tmp_path / "out")


def test_a_capture_stands_beside_runs(file: Path) -> None:
    capture = read_capture(CAPTURE)
    comparison = compare(file, capture, seeds=[1, 2])
    assert comparison.names == ("two uploads", CAPTURE.name)
    (goodput,) = [d for d in comparison.differences if d.figure == "goodput_bps"]
    assert goodput.pairs == 0
    assert math.isnan(goodput.difference.half_width)
    assert goodput.second.mean == capture.cells["goodput_bps"][0]


def test_output_says_what_a_capture_lacks(file: Path, tmp_path: Path) -> None:
    """Its figures are those of TCP, and at the access point it sees only part of each round trip."""
    call = """
[[flows]]
name = "call"
station = "sta"
direction = "down"
transport = "udp"
udp.rate = "64 kb/s"
"""
    scenario = Scenario.from_text(file.read_text() + call)
    results = run(scenario, pcap=Pcap(tmp_path, at=("ap", "sta1"), snap=160))
    comparison = compare(results, read_capture(tmp_path / "ap-wire.pcap"), names=["run", "wire"])
    of_run, of_wire, point, agreement = comparison.text(width=400).splitlines()[-4:]
    assert of_run == "(run: all flows, 2 flows of datagrams among them)"
    assert of_wire == "(wire: TCP alone, without 2 flows of datagrams)"
    assert point.endswith(
        "2 of 2 flows, which had more to send than they could; this capture point does not show the"
        " RTT of the whole path)"
    )
    # Whatever the capture does not show agrees with nothing. The goodput of all flows includes the calls.
    assert agreement.startswith("(run and wire within 10 %: ")
    assert "RTT" not in agreement
    (rtt,) = [d for d in comparison.differences if d.figure == "rtt_mean_s"]
    assert not rtt.both
    (rtt,) = [d for d in compare(results, read_capture(tmp_path / "sta1.pcap")).differences if d.figure == "rtt_mean_s"]
    assert rtt.second.mean == pytest.approx(results.flows.filter(name="up1")["rtt_mean_s"][0], rel=0.1)


def test_the_command(file: Path, tmp_path: Path) -> None:
    out, err = wifair(
        *("compare", file, "--against", "stations.count=5", "--seeds", "1..3"),
        *("--figure", tmp_path / "f.png", "--csv", tmp_path / "d.csv"),
    )
    assert err == ""
    assert "stations.count=5" in out
    assert "95 % intervals of 3 pairs of equal seeds" in out
    assert (tmp_path / "f.png").stat().st_size > 5000
    assert (tmp_path / "d.csv").read_text().startswith("figure,baseline,candidate,")
    out, _ = wifair("compare", file, "--against", "flows.up.tcp.cc=vegas; ap.queue.limit=20 packets", "--json")
    document = json.loads(out)
    assert document["compared"][0]["seeds"] == list(range(1, 11))
    assert {row["candidate"] for row in document["differences"]} == {"flows.up.tcp.cc=vegas; ap.queue.limit=20 packets"}


def test_the_command_takes_folders_and_captures(file: Path, tmp_path: Path) -> None:
    wifair("run", file, "--seeds", "1..2", "--out", tmp_path / "out")
    out, _ = wifair("compare", tmp_path / "out", CAPTURE)
    assert CAPTURE.name in out
    assert "they need 3 repetitions or more" in out


def test_a_list_of_sources_is_refused(text: str) -> None:
    scenario = Scenario.from_text(text)
    with pytest.raises(
        TypeError, match=r"a list cannot be compared: give each source by itself, as in compare\(a, b\)"
    ):
        compare(cast("Scenario", [scenario, scenario]))


TWO_WAYS = """
duration = "1 s"
warm_up = "200 ms"
[wlan]
standard = "802.11n"
[ap]
queue.discipline = "fq-codel"
queue.limit = "100 packets"
[[servers]]
name = "server"
[[stations]]
name = "sta"
count = 4
[[flows]]
name = "down"
station = "sta"
direction = "down"
"""


def test_another_total_buffer_and_no_change_are_said() -> None:
    """A limit is that of each queue, and disciplines differ in the number of queues: 4 of 100, or one."""
    scenario = Scenario.from_text(TWO_WAYS)
    assert scenario.ap_queues == (4, "100 packets", (400, "packets"))

    def notes(*changes: str) -> str:
        other = scenario.with_(dict(change.split("=", 1) for change in changes))
        return compare(scenario, other, names=["a", "b"], seeds=[1, 2]).text(width=200)

    assert "(another buffer at the access point: a 100 packets for each of 4, b 100 packets for all)" in notes(
        "ap.queue.discipline=airtime"
    )
    same = notes("ap.queue.discipline=airtime", "ap.queue.limit=400 packets")
    assert "another buffer" not in same
    assert "nothing is changed" not in same
    assert "(b has the values of a: nothing is changed)" in notes("ap.queue.discipline=fq-codel")
    shared = scenario.with_({"ap.queue_limit_is_total": True})
    assert shared.ap_queues == (4, "25 packets", (100, "packets"))
    assert "limit 25 packets for each of 4" in repr(run(shared, seeds=[1]))

"""Explanations: known effects are found, and absent ones are not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.shell_completion import ShellComplete
from command import wifair
from wifair import Pcap, Scenario, explain, gallery, read_capture, run
from wifair.capture import _report as capture_report
from wifair.cli import main
from wifair.columns import Columns
from wifair.explaining import Explanation, Finding

LESSONS = Path(__file__).parents[2] / "lab" / "lessons"
CAPTURES = Path(__file__).parents[1] / "data" / "captures"


def example(name: str, **changes: object) -> Scenario:
    return Scenario.from_text(gallery.example(name).toml).with_({"duration": "30 s", **changes})


def topics(explanation: Explanation) -> dict[str, str]:
    return {finding.topic: finding.text for finding in explanation.findings}


def test_uploads_lose_acks_at_the_access_point() -> None:
    results = run(example("hot-spot"), seeds=[1], series="100 ms")
    found = topics(explain(results))
    dropped = results.cells["ap_drops_ack"][0]
    assert dropped > 100
    assert f"drops {dropped:,.0f} TCP ACKs" in found["lost ACKs"]
    assert "up, down" not in found
    assert "bad radio" not in found
    assert "hold" in found["limits"]


def test_both_directions_share_what_the_access_point_gets() -> None:
    both = gallery.example("hot-spot").toml + '\n[[flows]]\nname = "down"\nstation = "sta"\ndirection = "down"\n'
    explanation = explain(run(Scenario.from_text(both).with_(duration="30 s"), seeds=[1]))
    (finding,) = [one for one in explanation.findings if one.topic == "up, down"]
    ratio = finding.figures["per_flow_ratio"]
    assert ratio > 100
    assert f"{round(ratio, -1 - (ratio >= 1000)):.0f} times less" in finding.text  # it said 6.7e+02
    assert "ap.scheme.window=b-over-n" in finding.advice


def test_a_timeout_in_one_run_of_three_counts_in_that_run_only() -> None:
    """By hand: up1 has 1 Mb/s where it has a timeout, and five rows without one have (4 + 4 + 5 + 5 + 5) / 5."""
    results = run(example("hot-spot", duration="1 s", warm_up="0 s"), seeds=[1, 2, 3])
    first = results.flows["name"] == "up1"
    hit = first & (results.flows["seed"] == 1)
    goodput = np.where(hit, 1e6, np.where(first, 4e6, 5e6))
    windows = np.where(hit, 2.0, np.where(first, 8.0, 10.0))
    flows = {**results.flows, "timeouts": 1.0 * hit, "goodput_bps": goodput, "cwnd_mean": windows}
    kept = first | (results.flows["name"] == "up2")
    changed: Any = SimpleNamespace(
        cells=Columns({**results.cells, "ap_drops_ack": np.full(3, 9.0)}),
        flows=Columns({name: column[kept] for name, column in flows.items()}),
        stations=results.stations,
        series=None,
        scenario=results.scenario,
    )
    said = topics(explain(changed))
    assert said["timeouts"] == (
        "Retransmission timers expire 0.333 times per run: up1 0.333."
        " A flow gets 1 Mb/s on average in runs in which it has timeouts, 4.6 Mb/s in the others."
    )
    assert "the mean window is 2 segments where timers expired, 9.2 where none did" in said["lost ACKs"]


def test_another_queue_is_not_advised_without_queueing() -> None:
    cell = """
        duration = "10 s"
        wlan = { standard = "802.11b", data_error = 0.7 }
        servers = [{ name = "server" }]
        stations = [{ name = "sta" }]
        flows = [{ name = "call", station = "sta", transport = "udp", udp = { rate = "64 kb/s", payload = "160 B" } }]
    """
    results = run(Scenario.from_text(cell), seeds=[1])
    assert float(results.cells["ap_queue_mean_packets"][0]) < 1
    (calls,) = [one for one in explain(results).findings if one.topic == "calls"]
    assert calls.advice == ()


def test_errors_are_distinguished_from_collisions() -> None:
    found = topics(explain(run(example("weak-station"), seeds=[1, 2])))
    assert "ap" in found["bad radio"]
    found = topics(explain(run(example("hidden-nodes"), seeds=[1, 2])))
    assert "bad radio" not in found
    assert "hidden stations" in found["hidden"]
    assert "slow station" not in found  # all send at one rate, and those that collide were called slow


def test_fewer_stations_are_not_advised_against_errors() -> None:
    """A single station with mostly damaged frames: no other station could collide with it."""
    cell = """
        duration = "2 s"
        wlan = { standard = "802.11n", data_error = 0.6 }
        servers = [{ name = "server" }]
        stations = [{ name = "sta" }]
        flows = [{ name = "up", station = "sta", transport = "udp", udp.rate = "60 Mb/s" }]
    """
    said = topics(explain(run(Scenario.from_text(cell), seeds=[1])))["air"]
    assert "collisions 0.0 %" in said
    assert "frames with errors 5" in said
    assert "ewer stations" not in said


@pytest.mark.parametrize(
    "places", [{}, {"space": {}, "stations.position": ["1 m", "0 m"]}], ids=["no space", "one place"]
)
def test_no_hidden_stations_if_all_hear_each_other(places: dict[str, object]) -> None:
    """Stations with little to send collide twice as often as the access point here, although they hear it."""
    cell = """
        duration = "10 s"
        wlan.standard = "802.11ax"
        servers = [{ name = "server" }]
        stations = [{ name = "sta", count = 40 }]
        flows = [{ name = "up", station = "sta", direction = "up" }]
    """
    ratios = []
    for seed in range(1, 7):
        results = run(Scenario.from_text(cell).with_(places), seeds=[seed])
        shares = results.stations["collisions"] / results.stations["attempts"]
        busy = results.stations["attempts"] > 0.02 * results.stations["attempts"].sum()
        ratios.append(shares[busy].max() / shares[busy].min())
        assert "collisions" not in topics(explain(results))
    assert min(ratios) > 1.5
    assert max(ratios) > 2


def test_a_slow_station_is_found() -> None:
    slow = gallery.example("hot-spot").toml + (
        '\n[[stations]]\nname = "far"\ndata_rate = "1 Mb/s"\n\n[[flows]]\nname = "far"\nstation = "far"\n'
    )
    found = topics(explain(run(Scenario.from_text(slow).with_(duration="30 s"), seeds=[1])))
    assert "A frame of far takes" in found["slow station"]


DOWNLOADS = """
    duration = "10 s"
    wlan.standard = "{standard}"
    ap.queue = {{ discipline = "{discipline}", limit = "300 packets" }}
    servers = [{{ name = "server", delay = "10 ms" }}]
    stations = [{{ name = "fast", count = 3 }}, {{ name = "slow", mcs = {mcs} }}]
    flows = [
        {{ name = "down", station = "fast", direction = "down" }},
        {{ name = "slow", station = "slow", direction = "down" }},
    ]
"""


@pytest.mark.parametrize("standard", ["802.11n", "802.11ac"])
def test_a_slow_receiver_is_found(standard: str) -> None:
    """MCS 0 has a tenth of the rate of MCS 7 (IEEE Std 802.11-2016, 19.5 and 21.5), and aggregates have fewer MPDUs at
    the lower rate. A FIFO gives the slow station about as many packets as the others, and so most of the air.
    """
    scenario = Scenario.from_text(DOWNLOADS.format(standard=standard, discipline="fifo", mcs=0))
    results = run(scenario.with_({"wlan.mcs": 7}), seeds=[1])
    (finding,) = [one for one in explain(results).findings if one.topic == "slow receiver"]
    assert finding.text.startswith("Frames to slow take ")
    assert finding.advice == ("ap.queue.discipline=airtime",)
    to = dict(zip(results.stations["name"], results.stations["air_to_station_s"]))
    downloads = sum(air for name, air in to.items() if name != "ap")
    assert finding.figures["air_share"] == pytest.approx(to["slow"] / downloads)
    assert finding.figures["air_share"] > 0.5
    assert finding.figures["air_per_bit_ratio"] == pytest.approx(10, rel=0.25)
    sent = [results.stations[f"air_{part}_s"] for part in ("data", "control", "collided")]
    assert sum(column[list(to).index("ap")] for column in sent) == pytest.approx(downloads)
    assert sum(column.sum() for column in sent) == pytest.approx(sum(to.values()))


@pytest.mark.parametrize(("discipline", "mcs"), [("fifo", 7), ("airtime", 0)])
def test_no_slow_receiver_with_equal_rates_or_equal_air(discipline: str, mcs: int) -> None:
    """With equal rates nobody is slow, and a queue that shares air time leaves the slow station no more than others."""
    scenario = Scenario.from_text(DOWNLOADS.format(standard="802.11n", discipline=discipline, mcs=mcs))
    assert "slow receiver" not in topics(explain(run(scenario.with_({"wlan.mcs": 7}), seeds=[1])))


def test_a_lone_flow_on_a_wire_has_little_to_explain() -> None:
    found = topics(explain(run(example("high-speed-path", duration="2 s"))))
    assert set(found) <= {"goodput", "limits", "waiting"}


def test_a_capture() -> None:
    found = topics(explain(read_capture(CAPTURES / "a_reno_down_rcv.pcap.gz")))
    assert "gets 7.59 Mb/s" in found["goodput"]
    assert "congestion window 100.0 %" in found["limits"]


def test_a_flow_with_nothing_more_to_send_is_not_starved() -> None:
    found = topics(explain(read_capture(CAPTURES / "d_intermittent_ap.pcap.gz")))
    assert "10.10.9.2:5002>10.10.1.3:44358 gets less than a tenth" in found["modest"]
    assert "starved" not in found


def test_a_number_and_its_unit_stay_on_one_line() -> None:
    explanation = Explanation("a", [Finding("air", "Data takes 66.0 % of the time.", {})])
    assert explanation.text(19).splitlines()[2:] == ["air  Data takes", "     66.0 % of the", "     time."]


def test_the_command(tmp_path: Path, file: Path) -> None:
    out, err = wifair("explain", file, "--seeds", "1..2")
    assert err == ""
    assert "2 flows get" in out
    document = json.loads(wifair("explain", file, "--json")[0])
    assert document["findings"][0]["topic"] == "goodput"
    wifair("run", file, "--out", tmp_path / "out")
    assert "2 flows get" in wifair("explain", tmp_path / "out")[0]


@pytest.mark.parametrize(
    ("command", "start", "expected"),
    [("reproduce", "jun", "jung2016"), ("list", "c", "cc"), ("init", "hot", "hot-spot")],
)
def test_names_are_completed(command: str, start: str, expected: str) -> None:
    found = ShellComplete(main, {}, "wifair", "_WIFAIR_COMPLETE").get_completions([command], start)
    assert expected in [item.value for item in found]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str) -> None:
    assert "_WIFAIR_COMPLETE" in wifair("completion", shell)[0]


@pytest.mark.parametrize("with_upload", [False, True])
def test_datagrams_and_echoes_of_a_capture_are_explained(with_upload: bool, tmp_path: Path) -> None:
    flows = [
        {"name": "call", "station": "sta", "transport": "udp", "udp": {"rate": "64 kb/s", "payload": "160 B"}},
        {"name": "echo", "station": "sta", "workload": "ping"},
    ]
    cell = {
        "duration": "5 s",
        "wlan": {"standard": "802.11b"},
        "servers": [{"name": "server", "delay": "10 ms"}],
        "stations": [{"name": "sta"}],
        "flows": flows + ([{"name": "up", "station": "sta"}] if with_upload else []),
    }
    run(Scenario.from_dict(cell), seeds=[1], pcap=Pcap(tmp_path, at=("server",)))
    capture = read_capture(tmp_path / "server.pcap")
    found = topics(explain(capture))
    assert "1 flow of datagrams carries" in found["datagrams"]
    assert re.search(r"\(iperf2\) 6\d(\.\d)? kb/s", found["datagrams"])
    assert re.search(r"asks 10\.\S+ \d+ times.*, and waits [\d.]+ ms on average", found["echoes"])
    assert ("goodput" in found) == with_upload
    out, _ = wifair("explain", tmp_path / "server.pcap")
    assert out.count("datagrams") >= 1


def test_a_capture_of_unknown_protocols_has_nothing_to_explain(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pcap"
    empty.write_bytes(bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000"))
    _, err = wifair("explain", empty, code=2)
    assert "nothing to explain" in err


WINDOW_LIMITED = """
name = "window"
duration = "10 s"
[wlan]
standard = "802.11g"
[ap]
queue.limit = "50 packets"
[[servers]]
name = "server"
delay = "10 ms"
[[stations]]
name = "sta"
count = 2
[[flows]]
name = "up"
station = "sta"
direction = "up"
[[flows]]
name = "down"
station = "sta"
direction = "down"
"""


def test_explain_claims_only_what_a_capture_point_sees(tmp_path: Path) -> None:
    """TCP without timestamps: only the sender's capture shows the whole round trip, and which window was full."""
    results = run(Scenario.from_text(WINDOW_LIMITED), pcap=Pcap(tmp_path, at=("server", "sta1", "ap"), snap=160))
    assert "hold" in topics(explain(run(results.scenario, series="100 ms")))["limits"]
    truth = dict(zip(results.flows["direction"].tolist(), results.flows["rtt_mean_s"].tolist()))

    server = read_capture(tmp_path / "server.pcap")
    by_point = {row["rtt_point"]: row for row in server.flows.to_dicts()}
    assert set(by_point) == {"sender", "receiver"}
    # Output once said that uploads see no increase at all, grade A+, and that the congestion window
    # holds them back.
    assert by_point["receiver"]["bufferbloat_grade"] == ""
    assert by_point["receiver"]["window_hidden"]
    assert by_point["sender"]["rtt_path_mean_s"] == pytest.approx(truth["down"], rel=0.1)
    found = topics(explain(server))
    assert "of 10.32.0.1" in found["waiting"]
    assert "not to be told apart here" in found["limits"]
    assert "net/win" in repr(server)

    station = read_capture(tmp_path / "sta1.pcap")
    (up,) = [row for row in station.flows.to_dicts() if row["rtt_point"] == "sender"]
    assert up["rtt_path_mean_s"] == pytest.approx(truth["up"], rel=0.1)
    assert up["limited_by_receiver"] > 0.5
    assert not up["window_hidden"]

    wire = read_capture(tmp_path / "ap-wire.pcap")
    assert set(wire.flows["rtt_point"]) == {"between"}
    assert np.isnan(wire.flows["latency_increase_s"]).all()
    assert "waiting" not in topics(explain(wire))
    assert "from the capture point only" in repr(wire)


def test_a_single_timeout_is_singular() -> None:
    lesson = Path(__file__).parents[2] / "lab" / "lessons" / "bufferbloat.toml"
    scenario = Scenario.from_text(lesson.read_text())
    said = {}
    for seed in range(1, 7):
        results = run(scenario, seeds=[seed])
        said[int(results.flows["timeouts"].sum())] = topics(explain(results)).get("timeouts")
    assert 1 in said, said
    assert "timers expire once: film 1." in str(said[1])


def test_udp_flows_have_no_window_to_compare() -> None:
    results = run(Scenario.from_text(gallery.example("four-categories").toml), seeds=[1])
    told = topics(explain(results))
    assert "nan" not in str(told)
    assert "waits for its timer" not in str(told["lost ACKs"]) or results.flows["timeouts"].sum() > 0


def test_a_capture_of_many_flows_fits_80_columns_and_counts_all_that_starve(tmp_path: Path) -> None:
    text = gallery.example("hot-spot").toml
    text += """
[[flows]]
name = "call"
station = "sta"
direction = "down"
transport = "udp"
udp.rate = "64 kb/s"
"""
    scenario = Scenario.from_text(text).with_({"stations.count": 20, "duration": "30 s"})
    run(scenario, seeds=[1], pcap=Pcap(tmp_path, at=("server",), snap=160))
    capture = read_capture(tmp_path / "server.pcap")
    starved = int(capture.flows["starved"].sum())
    assert starved > 3
    shown = capture_report.text(capture, 80)
    assert f"               {starved - 3} more" in shown.splitlines()  # three were named, as if they were all
    assert max(map(len, shown.splitlines()[1:])) <= 80


def test_flows_that_ask_for_little_are_not_compared_with_uploads() -> None:
    """Of a call, a video and two uploads, it said that uplink flows get 1.6 times the goodput of downlink flows."""
    text = explain(run(example("four-categories", duration="5 s"), seeds=[1])).text(1000)
    assert "call and video get what they ask for; " in text
    assert "Jain's index of all is" in text
    assert "An uplink flow gets" not in text


@pytest.mark.parametrize("spread", ["0 s", "100 ms"])
def test_rates_of_flows_that_start_late_are_said_to_be_over_the_whole_run(spread: str) -> None:
    """Of two uploads, one of which starts when three quarters of the time are over, it only said that one gets most."""
    text = gallery.example("hot-spot").toml
    late = text + '\n[[flows]]\nname = "late"\nstation = "sta"\nstart = "8500 ms"\n'
    changes = {"duration": "10 s", "warm_up": "4 s", "stations.sta.count": 1, "flows.late.start_spread": spread}
    results = run(Scenario.from_text(late).with_(changes), seeds=[1, 2])
    (finding,) = [one for one in explain(results).findings if one.topic == "late"]
    rates = [float(results.flows["goodput_bps"][results.flows["name"] == "late"].mean()) * factor for factor in (1, 4)]
    assert finding.figures == {"goodput_bps": pytest.approx(rates[0]), "from_start_bps": pytest.approx(rates[1])}
    whole, since = (f"{rate / 1e3:.0f} kb/s" for rate in rates)
    assert finding.text == (
        f"late does not start before 8.5 s. It gets {since} from then on; {whole}, like all other figures of flows,"
        " is over the whole time from 4 s to 10 s."
    )
    assert "late" not in topics(explain(run(example("hot-spot", duration="6 s"), seeds=[1])))


DOWNLOAD = """
name = "download"
duration = "4 s"
warm_up = "1 s"

[wlan]
standard = "802.11ax"
width = 80

[ap]
queue.limit = "1000 packets"

[tcp]
stack = "modern"

[[servers]]
name = "internet"

[[stations]]
name = "sta"
queue.limit = "1000 packets"

[[flows]]
name = "down"
station = "sta"
direction = "down"
"""


def test_a_full_wire_is_found() -> None:
    """The air carries more than 500 Mb/s, a wired link 100 Mb/s unless its rate is given."""
    found = topics(explain(run(Scenario.from_text(DOWNLOAD))))
    assert "link of internet is full: downlink flows carry 9" in found["wire"]
    faster = Scenario.from_text(DOWNLOAD).with_({"servers.rate": "1 Gb/s"})
    assert "wire" not in topics(explain(run(faster)))
    video = DOWNLOAD + 'transport = "udp"\nudp.rate = "95 Mb/s"\n'
    assert "wire" not in topics(explain(run(Scenario.from_text(video))))  # it gets what it asks for


def test_the_wires_of_several_servers_are_compared_with_what_uses_them() -> None:
    two = DOWNLOAD.replace('name = "internet"', 'name = "internet"\ncount = 2\nrate = "50 Mb/s"')
    found = topics(explain(run(Scenario.from_text(two + 'server = "internet"\n'))))
    assert "links of internet1 and of internet2 are full" in found["wire"]
    found = topics(explain(run(Scenario.from_text(two + 'server = "internet1"\n'))))
    assert "link of internet1 is full" in found["wire"]  # the other one is idle


def test_acks_that_overflow_the_queue_of_a_station_are_found() -> None:
    """128 ACKs to an aggregate of 256 packets do not fit into a queue of 50."""
    faster = Scenario.from_text(DOWNLOAD).with_({"servers.rate": "1 Gb/s"})
    assert "lost ACKs" not in topics(explain(run(faster)))
    explanation = explain(run(faster.with_({"stations.queue.limit": "50 packets"})))
    assert "in one aggregate" in topics(explanation)["lost ACKs"]
    advice = [change for finding in explanation.findings for change in finding.advice]
    assert "stations.sta.queue.limit=1000 packets" in advice


def test_no_wire_carries_more_than_its_rate() -> None:
    """What waits behind a gap at the end of the warm-up is no goodput of the time after it: it said 106 Mb/s of 100."""
    text = DOWNLOAD.replace('warm_up = "1 s"', 'warm_up = "0.4 s"').replace('"4 s"', '"1.4 s"')
    results = run(Scenario.from_text(text + 'tcp.cc = "cubic"\n').with_({"servers.delay": "2 ms"}))
    assert results.cells["goodput_bps"][0] < 100e6
    (finding,) = [one for one in explain(results).findings if one.topic == "wire"]
    assert finding.figures["throughput_bps"] < finding.figures["link_bps"] == 100e6


TWO_WAYS = """
duration = "3 s"
warm_up = "1 s"
wlan = { standard = "802.11ax", mcs = 5 }
servers = [{ name = "server" }]
stations = [{ name = "sta", count = 2 }]
tcp.stack = "modern"
flows = [
  { name = "call", station = "sta1", transport = "udp", udp.rate = "1 Mb/s", udp.payload = "200 B" },
  { name = "up", station = "sta2" },
  { name = "down", station = "sta1", direction = "down" },
]
"""


def test_directions_are_not_blamed_for_priorities() -> None:
    """A download of background traffic gets less than an upload of best effort, whatever the directions."""
    said = topics(explain(run(Scenario.from_text(TWO_WAYS).with_({"flows.down.category": "background"}))))
    assert "priority" in said["up, down"]
    assert "access point" not in said["up, down"]


def test_an_access_point_that_sends_most_is_not_said_to_send_no_more_often() -> None:
    two = Scenario.from_text(TWO_WAYS).with_({"flows.down.count": 6, "flows.up.tcp.max_cwnd": "100 packets"})
    results = run(two)
    said = topics(explain(results))["up, down"]
    attempts = results.stations["attempts"].tolist()
    assert attempts[0] > 1.25 * max(attempts[1:])
    assert "less. The access point delivers" in said
    assert "no more often" not in said


def test_a_station_with_short_datagrams_is_not_compared_with_a_slow_one() -> None:
    """Both send at MCS 5; it said that the upload takes time from the call, whose frames have 200 bytes."""
    assert "slow station" not in topics(explain(run(Scenario.from_text(TWO_WAYS))))


def test_what_is_chosen_or_refused_is_not_advised() -> None:
    """It advised FQ-CoDel where FQ-CoDel was in use, and Minstrel for 802.11ax, which a scenario may not have."""

    def advice(scenario: Scenario) -> set[str]:
        return {change for finding in explain(run(scenario)).findings for change in finding.advice}

    slow = Scenario.from_text(DOWNLOAD).with_({"servers.rate": "1 Gb/s", "wlan.width": 20, "wlan.mcs": 0})
    assert "ap.queue.discipline=fq-codel" in advice(slow)
    assert "ap.queue.discipline=fq-codel" not in advice(slow.with_({"ap.queue.discipline": "fq-codel"}))

    weak = DOWNLOAD.replace('name = "sta"', 'name = "sta"\nposition = ["60 m", "0 m"]')
    weak += '[space]\nreception.spoils = "bits"\nradio.sensitivity = "-95 dBm"\nreception.capture_threshold = "0 dB"\n'
    known = advice(Scenario.from_text(weak).with_({"wlan.mcs": 11}))
    assert "wlan.rate_adaptation=minstrel-ht" in known
    assert "wlan.rate_adaptation=minstrel" not in known
    for change in known:
        Scenario.from_text(weak).with_(dict([change.split("=", 1)]))

"""Files of iperf3 and Flent become results like those of wifair, and Flent reads what wifair writes."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import wifair
from click.testing import CliRunner
from wifair.cli import main
from wifair.exceptions import ResultsError
from wifair.figures.run import _Run, draw
from wifair.figures.style import Look, save
from wifair.importers import read_flent, read_iperf3, write_flent
from wifair.metrics import jain_index
from wifair.results.from_folder import read_results

DATA = Path(__file__).parents[1] / "data" / "exchange"


def call(*arguments: object, code: int = 0) -> str:
    done = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert done.exit_code == code, done.output + done.stderr
    return done.stdout if code == 0 else done.stderr


def json_of(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((DATA / name).read_text())
    return document


def test_iperf3_streams_become_flows_with_the_receivers_goodput() -> None:
    found, document = read_iperf3(DATA / "3up.json"), json_of("3up.json")
    streams = document["end"]["streams"]
    assert found.flows["name"].tolist() == ["up1", "up2", "up3"]
    assert found.flows["direction"].tolist() == ["up"] * 3
    goodput = [stream["receiver"]["bits_per_second"] for stream in streams]
    assert found.flows["goodput_bps"].tolist() == goodput
    assert found.cells["goodput_bps"][0] == pytest.approx(document["end"]["sum_received"]["bits_per_second"], rel=1e-3)
    assert found.cells["jain_index"][0] == pytest.approx(sum(goodput) ** 2 / 3 / sum(g * g for g in goodput))
    assert found.cells["retransmissions"][0] == document["end"]["sum_sent"]["retransmits"]
    assert found.flows["rtt_mean_s"][0] == streams[0]["sender"]["mean_rtt"] / 1e6
    assert found.series is not None
    one = found.series.filter(flow="up2")
    own = [interval["streams"][1] for interval in document["intervals"]]
    assert one["goodput_bps"].tolist() == [sample["bits_per_second"] for sample in own]
    assert one["cwnd"].tolist() == [sample["snd_cwnd"] / 1448 for sample in own]
    assert np.isnan(found.flows["timeouts"]).all()


@pytest.mark.parametrize(
    ("name", "flows"),
    [
        ("2down.json", {"down1": "down", "down2": "down"}),
        ("bidir.json", {"up1": "up", "down1": "down"}),
        ("udp.json", {"up1": "up"}),
        ("server.json", {"up1": "up", "up2": "up"}),
    ],
)
def test_iperf3_directions_are_those_of_the_client(name: str, flows: dict[str, str]) -> None:
    found = read_iperf3(DATA / name)
    assert dict(zip(found.flows["name"].tolist(), found.flows["direction"].tolist())) == flows


def test_iperf3_has_round_trips_only_for_its_own_senders() -> None:
    flows = read_iperf3(DATA / "bidir.json").flows
    assert np.isnan(flows["rtt_mean_s"]).tolist() == [False, True]


def test_udp_goodput_is_what_arrived(tmp_path: Path) -> None:
    document = json_of("udp.json")
    udp = document["end"]["streams"][0]["udp"]
    udp["lost_packets"] = udp["packets"] // 4
    (tmp_path / "lossy.json").write_text(json.dumps(document))
    flows = read_iperf3(tmp_path / "lossy.json").flows
    assert flows["goodput_bps"][0] == pytest.approx(0.75 * udp["bits_per_second"], rel=1e-3)
    assert flows["throughput_bps"][0] == udp["bits_per_second"]
    assert flows["jitter_s"][0] == udp["jitter_ms"] / 1e3
    assert flows["loss_fraction"][0] == pytest.approx(0.25, rel=1e-3)


def test_udp_that_sent_nothing_got_nothing(tmp_path: Path) -> None:
    document = json_of("udp.json")
    document["end"]["streams"][0]["udp"] |= {"packets": 0, "lost_packets": 0, "bytes": 0, "bits_per_second": 0}
    (tmp_path / "silent.json").write_text(json.dumps(document))
    found = read_iperf3(tmp_path / "silent.json")
    assert (found.flows["goodput_bps"][0], found.flows["received_bytes"][0]) == (0, 0)
    assert np.isnan(found.flows["loss_fraction"][0])
    # The figure shows as starved what the table counts as starved.
    assert (found.cells["starved_fraction"][0], _Run(found, Look()).starved_here.tolist()) == (1, [True])


def test_no_ratio_without_downlink_goodput(tmp_path: Path) -> None:
    """The ratio is missing, as in simulated runs; it was once infinite."""
    document = json_of("bidir.json")
    assert read_iperf3(DATA / "bidir.json").cells["up_down_ratio"][0] == pytest.approx(10.02 / 8.51, rel=1e-2)
    document["end"]["streams"][1]["receiver"] |= {"bytes": 0, "bits_per_second": 0}
    (tmp_path / "silent.json").write_text(json.dumps(document))
    assert np.isnan(read_iperf3(tmp_path / "silent.json").cells["up_down_ratio"][0])


def test_several_files_become_repetitions() -> None:
    both = read_iperf3(DATA / "3up.json", DATA / "3up_again.json", name="uploads")
    assert both.seeds == (1, 2)
    assert len(both.flows) == 6
    each = [read_iperf3(DATA / name).cells["goodput_bps"][0] for name in ("3up.json", "3up_again.json")]
    assert both.summary["goodput_bps"].mean == pytest.approx(np.mean(each))
    assert "2 repetitions" in repr(both)


BOTH_ENDS = sorted(path.name.removesuffix(".client.json") for path in (DATA / "iperf3").glob("*.client.json"))


def _parts(path: Path) -> dict[str, Any]:
    """The document that iperf3 wrote at once, or as events."""
    text = path.read_text()
    if not text.startswith('{"event"'):
        document: dict[str, Any] = json.loads(text)
        return document
    found: dict[str, Any] = {"intervals": []}
    for line in text.splitlines():
        if not line.startswith('{"event"'):
            break
        event = json.loads(line)
        if event["event"] == "interval":
            found["intervals"].append(event["data"])
        else:
            found[event["event"]] = event["data"]
    return found


@pytest.mark.parametrize("name", BOTH_ENDS)
def test_what_arrived_is_what_the_receiving_end_counted(name: str) -> None:
    """The intervals of the end that receives a stream hold what arrived, whichever end's file is imported."""
    paths = {end: DATA / "iperf3" / f"{name}.{end}.json" for end in ("client", "server")}
    read = {end: read_iperf3(path) for end, path in paths.items()}
    arrived: dict[str, float] = {}
    for end, direction in (("server", "up"), ("client", "down")):
        totals: dict[int, float] = {}
        for interval in {str(one): one for one in _parts(paths[end])["intervals"]}.values():
            for one in interval["streams"]:
                if not one["sender"] and not one["omitted"]:
                    totals[one["socket"]] = totals.get(one["socket"], 0) + one["bytes"]
        arrived |= {f"{direction}{n}": size for n, size in enumerate(totals.values(), 1)}
    cut = {end for end, path in paths.items() if "error" in _parts(path)}
    for end, found in read.items():
        flows = found.flows
        assert set(flows["name"].tolist()) == arrived.keys()
        assert ("cut short" in found.scenario.summary) == (end in cut)
        udp = "UDP" in found.scenario.summary
        for flow, size in zip(flows["name"].tolist(), flows["received_bytes"].tolist()):
            receives = flow.startswith("up") == (end == "server")
            if udp and not receives and (end == "server" or end in cut):
                assert np.isnan(size)  # nobody told the sender
            elif end in cut or not receives:  # the sender of TCP counts what it wrote
                assert size == pytest.approx(arrived[flow], rel=0.5 if cut else 1e-3)
            else:
                assert size == arrived[flow]


def test_goodput_of_both_ends_agrees() -> None:
    """The clocks of the two ends start a little apart."""
    compared = 0
    for name in BOTH_ENDS:
        client, server = (read_iperf3(DATA / "iperf3" / f"{name}.{end}.json").flows for end in ("client", "server"))
        for one, other in zip(client["goodput_bps"].tolist(), server["goodput_bps"].tolist()):
            if not np.isnan([one, other]).any():
                assert one == pytest.approx(other, rel=0.12)
                compared += 1
    assert compared >= 14


def test_datagrams_behind_the_last_that_arrived_are_no_goodput() -> None:
    """65787 datagrams of 1400 bytes went up, the receiver saw 63842 numbers and missed 62633 of them: 1209 arrived."""
    flows = read_iperf3(DATA / "iperf3" / "312-lossybidir.client.json").flows
    assert flows["received_bytes"].tolist() == pytest.approx([1209 * 1400, 2544 * 1400])
    assert flows["lost_packets"].tolist() == [62633, 60095]


@pytest.mark.parametrize("name", ["3up.json", "bidir.json", "udp.json", "server.json"])
def test_a_stream_of_events_is_read_as_the_document(name: str, tmp_path: Path) -> None:
    document = json_of(name)
    events = [("start", document["start"]), *(("interval", one) for one in document["intervals"])]
    lines = [json.dumps({"event": event, "data": data}, separators=(",", ":")) for event, data in events]
    end = json.dumps({"event": "end", "data": document["end"]}, separators=(",", ":"))
    whole = read_iperf3(DATA / name)
    for text in ("\n".join([*lines, end]), "\n".join([*lines, end, json.dumps(document, indent=1)])):
        (tmp_path / "x.json").write_text(text)
        found = read_iperf3(tmp_path / "x.json")
        assert str(found.flows) == str(whole.flows)
        assert str(found.cells) == str(whole.cells)
    # A stream that was cut off in its last line has the intervals before.
    (tmp_path / "x.json").write_text("\n".join([*lines, end[: len(end) // 2]]))
    found = read_iperf3(tmp_path / "x.json")
    assert "cut short (its end is missing)" in found.scenario.summary
    assert found.flows["name"].tolist() == whole.flows["name"].tolist()


def test_each_test_that_a_server_wrote_is_a_repetition(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text((DATA / "3up.json").read_text() + "\n" + (DATA / "3up_again.json").read_text())
    found, apart = read_iperf3(tmp_path / "x.json"), read_iperf3(DATA / "3up.json", DATA / "3up_again.json")
    assert str(found.flows) == str(apart.flows)


CHILDREN = {
    "TCP upload BE::tcp_rtt": {"RUNNER": "NullRunner"},
    "TCP upload BE::tcp_cwnd": {},
    "TCP download BE2::tcp_delivery_rate": {},
    "cpu_stats_router::load": {},
    "qdisc_stats_router::sent_bytes": {"RUNNER": "NullRunner"},
    "VoIP::bitrate": {"UNITS": "Kbits/s"},
    "wifi_stats_ap::avg_aggr_size::sta": {"UNITS": "packets"},
    "HTTP latency": {"UNITS": "ms"},
    "Dash": {"UNITS": "Mbits/s", "RUNNER": "DashJsRunner"},
}


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_what_flent_samples_beside_a_runner_is_no_flow(version: int, tmp_path: Path) -> None:
    whole = read_flent(DATA / "rrul_be.flent.gz")
    document = json.loads(gzip.decompress((DATA / "rrul_be.flent.gz").read_bytes()))
    about = document["metadata"]["SERIES_META"]
    if version == 1:  # netperf-wrapper told neither runners nor units
        about.clear()
        del document["version"], document["raw_values"]
    else:
        document["version"] = version
    for name, more in CHILDREN.items():
        document["results"][name] = [67.0] * len(document["x_values"])
        if version > 1:
            about[name] = more
    (tmp_path / "x.flent").write_text(json.dumps(document))
    found = read_flent(tmp_path / "x.flent")
    assert found.flows["name"].tolist() == whole.flows["name"].tolist()
    assert found.cells["goodput_bps"][0] == pytest.approx(whole.cells["goodput_bps"][0], rel=0.2)
    windows = dict(zip(found.flows["name"].tolist(), found.flows["cwnd_mean"].tolist()))
    assert windows.pop("TCP upload BE") == 67.0
    assert np.isnan(list(windows.values())).all()
    upload = found.flows["name"].tolist().index("TCP upload BE")
    assert found.flows["rtt_p95_s"][upload] == pytest.approx(0.067)


def test_pings_of_netperf_were_rates_before_version_4(tmp_path: Path) -> None:
    document = json.loads(gzip.decompress((DATA / "rrul_be.flent.gz").read_bytes()))
    document["raw_values"] = {"Ping (ms) UDP BE1": [{"t": 1.0, "dur": 0.2, "val": 20.0}]}
    for version, expected in ((3, 1 / 20), (4, 20 / 1000)):
        document["version"] = version
        (tmp_path / "x.flent").write_text(json.dumps(document))
        assert read_flent(tmp_path / "x.flent").cells["ping_mean_s"][0] == pytest.approx(expected)


def test_flents_uploads_and_downloads_become_flows_without_its_sums() -> None:
    found = read_flent(DATA / "rrul_be.flent.gz")
    document = json.loads(gzip.decompress((DATA / "rrul_be.flent.gz").read_bytes()))
    about = document["metadata"]["SERIES_META"]
    names = found.flows["name"].tolist()
    assert names == [f"TCP {way} BE{number}" for way in ("download", "upload") for number in ("", "2", "3", "4")]
    assert found.flows["direction"].tolist() == ["down"] * 4 + ["up"] * 4
    for name, goodput in zip(names, found.flows["goodput_bps"]):
        assert goodput == pytest.approx(1e6 * about[name]["MEAN_VALUE"])
    # Flent's own totals: the sum of the flows.
    assert found.cells["goodput_bps"][0] == pytest.approx(1e6 * about["TCP totals"]["MEAN_VALUE"], rel=1e-6)
    assert found.cells["up_goodput_bps"][0] == pytest.approx(1e6 * about["TCP upload sum"]["MEAN_VALUE"], rel=1e-6)
    pings = [one["val"] for name in about if name.startswith("Ping") for one in document["raw_values"][name]]
    assert found.cells["ping_mean_s"][0] == pytest.approx(np.mean(pings) / 1e3)
    assert found.series is not None
    assert "Ping (ms) ICMP" in found.series["flow"]


def test_flents_flows_without_retransmissions_have_none_rather_than_an_unknown_number() -> None:
    # Flent writes the number of an upload as a text, that of a download as a number.
    assert read_flent(DATA / "rrul_be.flent.gz").flows["retransmissions"].tolist() == [0] * 8
    assert read_flent(DATA / "two_down.flent.gz").flows["retransmissions"].tolist() == [4, 0]


def test_imported_results_work_like_simulated_ones(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    shown = call("import", "iperf3", DATA / "3up.json", DATA / "3up_again.json", "--out", tmp_path / "measured")
    assert "up3" in shown
    saved = read_results(tmp_path / "measured")
    assert saved.RUN == "repetition"
    assert (
        saved.flows["goodput_bps"].tolist()
        == read_iperf3(DATA / "3up.json", DATA / "3up_again.json").flows["goodput_bps"].tolist()
    )
    flent = DATA / "three_up.flent.gz"
    compared = call(
        "compare", tmp_path / "measured", flent, "--csv", tmp_path / "c.csv", "--figure", tmp_path / "c.png"
    )
    assert "Jain's index" in compared
    assert "flows get" in call("explain", flent)
    for number, source in enumerate((saved, read_flent(DATA / "rrul_be.flent.gz"), read_iperf3(DATA / "udp.json"))):
        source_figure = tmp_path / f"{number}.png"
        save(draw(source), source_figure)
        assert source_figure.stat().st_size > 10_000
    # Measurements share no random numbers, so repetitions with equal numbers are not pairs.
    assert wifair.compare(str(tmp_path / "measured"), saved, names=["a", "b"]).differences[0].pairs == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ((DATA / "refused.json").read_text(), "unable to connect to server: Connection refused"),
        ("[ ID] Interval  Transfer  Bitrate", "run iperf3 with --json"),
        ("{}", "no `start` and `end`"),
        ("", "is no JSON"),
        ('{"event":"error","data":"unable to connect"}\n{"event":"end","data":{}}', "a failure of iperf3: unable to"),
        ('{"start": {}, "end": {}}', r'is not complete: at `end`, which is a table: it has no "streams"'),
        ((DATA / "3up.json").read_text().replace('"protocol"', '"was"'), r'which is a table: it has no "protocol"'),
        ((DATA / "3up.json").read_text()[:3000], "is no JSON"),
        (
            (DATA / "udp.json").read_text().replace('"lost_packets":', '"lost_packets": 1e9, "was":'),
            "goodput 0 is -",
        ),
    ],
)
def test_wrong_files_of_iperf3(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(text)
    said = call("import", "iperf3", tmp_path / "x.json", code=2)
    assert said.startswith("error: ")
    assert "x.json`" in said
    assert message in said


def test_wrong_files_of_flent(tmp_path: Path) -> None:
    whole = (DATA / "three_up.flent.gz").read_bytes()
    document = json.loads(gzip.decompress(whole))
    empty = {**document, "results": {"Ping (ms) ICMP": document["results"]["Ping (ms) ICMP"]}}
    short = {**document, "x_values": document["x_values"][1:]}
    for content, message in (
        (whole[: len(whole) // 2], "is no data file of Flent"),
        (b"hello", "is no data file of Flent"),
        (json.dumps({**document, "version": 9}).encode(), "version 9 of Flent's format"),
        (json.dumps(empty).encode(), "no upload or download with data"),
        (json.dumps(short).encode(), "is not complete"),
    ):
        (tmp_path / "x.flent").write_bytes(content)
        assert message in call("import", "flent", tmp_path / "x.flent", code=2)
    assert "no such file" in call("import", "flent", tmp_path / "none.flent", code=2).lower()
    with pytest.raises(ResultsError, match="other flows than"):
        read_flent(DATA / "three_up.flent.gz", DATA / "rrul_be.flent.gz")


SCENARIO = """
duration = "10 s"
warm_up = "2 s"
[wlan]
standard = "802.11b"
[[servers]]
name = "server"
delay = "5 ms"
[[stations]]
name = "sta"
count = 2
[[flows]]
name = "up"
station = "sta"
direction = "up"
"""
DOWN = '[[flows]]\nname = "down"\nstation = "sta1"\ndirection = "down"\n'


@pytest.mark.parametrize(("text", "test"), [(SCENARIO, "tcp_nup"), (SCENARIO + DOWN, "rrul_be_nflows")])
def test_an_export_to_flent_can_be_imported_again(text: str, test: str, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(text)
    call("run", tmp_path / "s.toml", "--seed", 3, "--series", "--series-step", "200 ms", "--out", tmp_path / "out")
    ours = read_results(tmp_path / "out")
    path = tmp_path / "x.flent.gz"
    call("export", "flent", tmp_path / "out", path)
    back = read_flent(path)
    assert sorted(back.flows["goodput_bps"]) == pytest.approx(sorted(ours.flows["goodput_bps"]))
    assert back.cells["jain_index"][0] == pytest.approx(float(jain_index(ours.flows["goodput_bps"])))
    document = json.loads(gzip.decompress(path.read_bytes()))
    assert document["metadata"]["NAME"] == test
    assert len(document["x_values"]) == 50
    assert "exists" in call("export", "flent", tmp_path / "out", path, code=2)
    call("export", "flent", tmp_path / "out", path, "--force")
    assert document == json.loads(gzip.decompress(path.read_bytes()))
    if shutil.which("flent") is not None:  # Flent itself reads the file and finds the same means
        done = subprocess.run(["flent", "-i", path, "-f", "summary"], capture_output=True, text=True, check=True)
        mean = ours.flows.filter(direction="up")["goodput_bps"].sum() / 1e6
        line = next(line for line in done.stdout.splitlines() if "TCP upload sum" in line)
        # Its mean is that of the samples, the warm-up included.
        assert float(line.split()[4]) == pytest.approx(mean, rel=0.1)


def test_export_needs_series_and_an_existing_seed(tmp_path: Path) -> None:
    results = wifair.run(wifair.Scenario.from_text(SCENARIO), seeds=[1])
    with pytest.raises(ValueError, match="run with --series"):
        write_flent(results, tmp_path / "x.flent")
    results = wifair.run(wifair.Scenario.from_text(SCENARIO), seeds=[1], series="1 s")
    with pytest.raises(ValueError, match="there is no seed 7: there are 1"):
        write_flent(results, tmp_path / "x.flent", seed=7)

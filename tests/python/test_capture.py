"""Captures from Python and from the command line: tables, files, exit codes, messages."""

from __future__ import annotations

import gzip
import html
import itertools
import json
import re
import struct
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import wifair
from wifair import gallery
from wifair.capture import _report as capture_report
from wifair.figures.inline import inline, once

COMMAND = [sys.executable, "-m", "wifair", "analyze"]
CAPTURES = Path(__file__).parents[1] / "data" / "captures"


def capture(name: str) -> Path:
    plain = CAPTURES / name
    return plain if plain.exists() else CAPTURES / f"{name}.gz"


def analyze(*args: object, code: int = 0, stdin: bytes | None = None, columns: int = 80) -> tuple[str, str]:
    done = subprocess.run(
        [*COMMAND, *map(str, args)],
        input=stdin,
        capture_output=True,
        timeout=120,
        check=False,
        env={"COLUMNS": str(columns), "PATH": "/usr/bin:/bin", "PYTHONIOENCODING": "utf-8"},
    )
    out, err = done.stdout.decode(), done.stderr.decode()
    assert done.returncode == code, err
    assert "Traceback" not in err
    return out, err


def reference(name: str) -> dict[str, object]:
    document: dict[str, object] = json.loads((CAPTURES / "reference" / f"{name}.json").read_text())
    return document


@pytest.mark.parametrize("columns", [80, 100, 200])
def test_the_table_fits_the_terminal(columns: int) -> None:
    for name in ("b_cubic_2up_ap.pcap", "o_radiotap_synth.pcap", "a_reno_down_snd.pcap"):
        out, err = analyze(capture(name), columns=columns)
        table = out.splitlines()[1:]  # the first line holds the name of the file, however long
        assert max(map(len, table)) <= columns
        assert err == ""
    assert re.search(r"^1 +10\.10\.9\.2:5001 +10\.10\.1\.2:36058 +8 MB +7\.61 Mb/s +37\.5 ms +58 +network$", out, re.M)


def test_a_receivers_capture_shows_the_round_trip_of_the_path_or_says_it_cannot() -> None:
    """Timestamp echoes give 35.6 ms; the receiver itself answers within 20 us."""
    out, _ = analyze(capture("a_reno_down_rcv.pcap"))
    assert re.search(r"7\.59 Mb/s +35\.6 ms +0 +network$", out, re.M)
    assert "close to the receiver" not in out
    out, _ = analyze(capture("s_no_sack_no_stamps.pcap"))  # no timestamps: the way back cannot be known
    assert "RTT of 1, 2, 3: from the capture point only, which is close to the receiver" in out


def test_json_has_tcptraces_figures_under_its_names() -> None:
    out, _ = analyze(capture("b_cubic_2up_ap.pcap"), "--json")
    ours, theirs = json.loads(out)["connections"], reference("b_cubic_2up_ap")["connections"]
    assert isinstance(theirs, list)
    assert len(ours) == len(theirs) == 2
    for mine, other in zip(ours, theirs):
        assert mine["host_a"] == other["host_a"]
        assert mine["elapsed_s"] == other["elapsed_s"]
        for side in ("a2b", "b2a"):
            for name, value in other[side].items():
                if not name.startswith("rtt_full_sz"):
                    assert mine[side][name] == value, (side, name)
            assert mine[side]["goodput_bps"] == pytest.approx(8 * mine[side]["throughput"], rel=1e-3, abs=8)


def test_several_captures_give_a_list() -> None:
    out, _ = analyze(capture("a_reno_down_snd.pcap"), capture("q_empty.pcap"), "--json")
    documents = json.loads(out)
    assert [len(document["connections"]) for document in documents] == [1, 0]
    assert documents[1]["fairness"]["jain"] is None


def test_standard_input_is_read_plain_and_compressed() -> None:
    packed = capture("e_loss_sack_snd.pcap").read_bytes()
    from_packed, _ = analyze("-", stdin=packed)
    assert from_packed.startswith("-: 3,736 packets, 5.45 s, 1 TCP connection")
    assert analyze("-", stdin=gzip.decompress(packed))[0] == from_packed


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        ("f_truncated.pcap", 1, "damaged at byte 342820: the file ends inside a packet: 31 of 96 bytes are there"),
        ("f_truncated_hdr.pcap", 1, "the file ends inside a record header: 7 of 16 bytes are there"),
        ("q_empty.pcap", 0, ""),
        ("q_zero.pcap", 2, "the file is empty"),
        ("README.md", 2, "not a capture: it starts with 23 20"),
        ("nothing.pcap", 2, "no such file or directory\n"),
    ],
)
def test_exit_codes(name: str, code: int, message: str) -> None:
    out, err = analyze(capture(name) if capture(name).exists() else CAPTURES / name, code=code)
    assert message in err
    assert bool(err) == bool(message)
    assert (code == 2) == (out == "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--from", "2"], '`2` has no unit: write "2 ms" or "2 us"'),
        (["--host", "1.2.3"], "host `1.2.3` is no IPv4 or IPv6 address"),
        (["--local", "10.0.0.0/33"], "as in 10.0.0.0/8"),
        (["--pause", "0 s"], "pause is not above 0"),
        (["--fair-share", "5"], "fair share: `5` has no unit"),
        (["--port", "70000"], "70000"),
        (["--packets"], "--packets needs --csv or --parquet"),
    ],
)
def test_wrong_options_say_what_to_write(options: list[str], message: str) -> None:
    _, err = analyze(capture("q_empty.pcap"), *options, code=2)
    assert message in err


def test_filters_leave_out_what_they_should() -> None:
    path = capture("d_intermittent_ap.pcap")
    one = wifair.read_capture(path, ports=[5002])
    assert one.flows["name"].tolist() == ["10.10.9.2:5002>10.10.1.3:44358"]
    assert len(wifair.read_capture(path, hosts=["10.10.1.3"]).flows) == 1
    assert len(wifair.read_capture(path, hosts=["2001:db8::1"]).flows) == 0
    early = wifair.read_capture(path, end="2 s", packets=True)
    assert early.packets is not None
    assert float(early.packets["time_s"].max()) <= 2.0
    late = wifair.read_capture(path, start="2 s", packets=True)
    assert late.packets is not None
    assert float(late.packets["time_s"].min()) >= 2.0
    whole = wifair.read_capture(path, packets=True)
    assert whole.packets is not None
    assert len(early.packets) + len(late.packets) == len(whole.packets)


def cut(path: Path, out: Path, start_s: float, end_s: float) -> None:
    """Write the packets between two times after the first one into a file of their own, as `editcap -A -B` does."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    nano = data[:4] == bytes.fromhex("4d3cb2a1")
    kept, at, first = [data[:24]], 24, None
    while at < len(data):
        seconds, fraction, length = struct.unpack_from("<III", data, at)
        time_ns = seconds * 1_000_000_000 + fraction * (1 if nano else 1000)
        first = time_ns if first is None else first
        if start_s * 1e9 <= time_ns - first <= end_s * 1e9:
            kept.append(data[at : at + 16 + length])
        at += 16 + length
    out.write_bytes(b"".join(kept))


def test_rates_and_activity_in_a_part_of_a_capture_are_those_of_a_file_with_only_that_part(tmp_path: Path) -> None:
    path = capture("b_cubic_2up_ap.pcap")
    cut(path, tmp_path / "part.pcap", 3.0, 5.0)
    local = ["10.10.1.0/24"]
    part = wifair.read_capture(tmp_path / "part.pcap", local=local)
    same = wifair.read_capture(path, start="3 s", end="5 s", local=local)
    assert same.flows["received_bytes"].tolist() == part.flows["received_bytes"].tolist()
    for name in ("goodput_bps", "up_goodput_bps", "throughput_bps"):
        # The part of the file begins with its first packet, up to a packet's time after 3 s.
        assert same.cells[name][0] == pytest.approx(part.cells[name][0], rel=0.005), name
    assert same.flows["active_s"] == pytest.approx(part.flows["active_s"], abs=0.005)
    assert same.flows["limited_by_unknown"] == pytest.approx(part.flows["limited_by_unknown"], abs=0.005)


def test_all_payload_of_a_capture_is_at_least_the_new_payload_and_over_the_same_time() -> None:
    for name in ("b_cubic_2up_ap.pcap", "d_intermittent_ap.pcap", "e_loss_sack_snd.pcap"):
        found = wifair.read_capture(capture(name))
        payload = sum(
            side[way]["actual_data_bytes"] for side in found.document["connections"] for way in ("a2b", "b2a")
        )
        assert found.cells["throughput_bps"][0] == pytest.approx(8 * payload / found.duration_s), name
        assert found.cells["throughput_bps"][0] >= found.cells["goodput_bps"][0], name


def test_tables_have_the_columns_of_a_simulated_run(text: str) -> None:
    found = wifair.read_capture(capture("d_intermittent_ap.pcap"), pause="500 ms", local=["10.10.1.0/24"])
    run = wifair.run(wifair.Scenario.from_text(text), series="100 ms")
    assert run.series is not None
    shared = {
        "flows": {"seed", "name", "direction", "goodput_bps", "throughput_bps", "received_bytes", "data_packets_sent"}
        | {"retransmissions", "timeouts", "cwnd_mean", "rtt_samples"}
        | {f"rtt_{which}_s" for which in ("mean", "min", "p50", "p95", "p99", "max")},
        "cells": {"seed", "goodput_bps", "throughput_bps", "jain_index", "up_down_ratio", "uplink_share"}
        | {"starved_fraction", "instantaneous_fairness", "instantaneous_fairness_acked", "timeouts"}
        | {"sessions_finished", "sessions_unfinished", "retransmissions"},
        "sessions": {"seed", "flow", "start_s", "length_bytes", "sent_after_s", "acked_after_s"},
        "series": {"seed", "time_s", "flow", "received_bytes", "goodput_bps"},
    }
    for name, columns in shared.items():
        assert columns <= set(found.tables[name]), name
        assert columns <= set(run.tables[name]), name
    assert set(found.flows["direction"].tolist()) == {"down"}
    assert found.cells["up_down_ratio"].tolist() == [0.0]
    assert len(found.sessions) == 9
    # Nine of ten bursts of 10 KB came apart; the first two ran together because of a loss.
    assert found.sessions["length_bytes"].tolist() == [20_000] + 8 * [10_000]
    for name, table in found.tables.items():
        assert set(table) == set(table.about), name


def test_packets_give_quantiles_and_rows() -> None:
    found = wifair.read_capture(capture("a_reno_down_snd.pcap"), packets=True)
    packets = found.packets
    assert packets is not None
    assert len(packets) == 8858
    again = packets["retransmitted_bytes"] > 0
    assert int(np.sum(again)) == 58
    assert set(packets["cause"][again].tolist()) == {"fast"}
    flow = found.flows.to_dicts()[0]
    times = np.sort(packets["rtt_s"][~np.isnan(packets["rtt_s"]) & (packets["direction"] == "a2b")])
    assert flow["rtt_p50_s"] == times[int(np.ceil(0.5 * len(times))) - 1]
    assert wifair.read_capture(capture("a_reno_down_snd.pcap")).packets is None


def test_wlan_stations_are_shown() -> None:
    found = wifair.read_capture(capture("o_radiotap_synth.pcap"))
    stations = found.stations
    assert stations["name"].tolist() == ["02:00:00:00:00:02", "02:00:00:00:00:01"]
    assert stations["access_point"].tolist() == [False, True]
    assert stations["signal_mean_dbm"].tolist() == [-45.0, -60.0]
    # Every frame of the file except the 20 broken ones; retries are counted by the retry bit, as in tshark.
    assert int(stations["attempts"].sum()) == 4055 - 20
    assert found.flows["direction"].tolist() == ["down"]
    # A data frame of 1,528 bytes at 11 Mb/s takes 192 us + 1111.3 us (IEEE 802.11-2020, 16.3), an ACK 192 us + 56 us.
    assert 1.5 < stations["airtime_s"][1] < 1.7


def test_folders_hold_all_tables(tmp_path: Path) -> None:
    out = tmp_path / "tables"
    analyze(capture("e_loss_sack_snd.pcap"), "--csv", out, "--packets", "-q")
    names = {path.name for path in out.iterdir()}
    assert {"connections.csv", "flows.csv", "packets.csv", "series.csv", "analysis.json", "provenance.json"} <= names
    packets = (out / "packets.csv").read_text().splitlines()
    assert len(packets) == 1 + 3736
    connections = (out / "connections.csv").read_text().splitlines()
    assert connections[0].startswith("id,host_a,host_b,")
    _, err = analyze(capture("e_loss_sack_snd.pcap"), "--csv", out, code=2)
    assert "--force" in err
    analyze(capture("e_loss_sack_snd.pcap"), "--csv", out, "--force")
    assert not (out / "packets.csv").exists()
    several = tmp_path / "several"
    analyze(capture("q_empty.pcap"), capture("e3_zero_window_snd.pcap"), "--csv", several)
    assert {path.name[:2] for path in several.iterdir()} == {"1_", "2_"}


def test_parquet_is_readable(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    analyze(capture("e_loss_sack_snd.pcap"), "--parquet", tmp_path / "tables")
    table = parquet.read_table(tmp_path / "tables" / "connections.parquet")
    assert table.num_rows == 2
    assert table.column("rexmt_data_pkts").to_pylist() == [0, 41]
    assert b"bit/s" in table.schema.field("goodput_bps").metadata[b"meaning"]


def test_figures_and_report_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    page = tmp_path / "report.html"
    name = capture("b_cubic_2up_ap.pcap")
    analyze(name, "--figure", tmp_path / "figures", "--format", "svg", "--format", "png", "--html", page)
    drawn = {path.name for path in (tmp_path / "figures").iterdir()}
    assert drawn == {f"{stem}.{form}" for stem in ("overview", "1_a2b", "2_a2b") for form in ("svg", "png")}
    for path in (tmp_path / "figures").glob("*.svg"):
        assert ET.parse(path).getroot().tag.endswith("svg")
    text = page.read_text()
    assert text.count("<svg") == 3
    # Nothing is loaded from elsewhere: the page works offline.
    assert not re.search(r"""(src|href)\s*=\s*["']https?:""", text)
    assert "Jain" in text
    assert "10.10.1.3:43884" in text
    _, err = analyze(name, "--html", page, code=2)
    assert "exists" in err


def test_report_has_the_verdict_on_top_and_every_flow_as_a_bar(tmp_path: Path) -> None:
    """The page of a capture of twenty uploads begins with who starves, in words; starved flows are red."""
    pytest.importorskip("matplotlib")
    wifair.run(
        wifair.Scenario.from_file(Path(wifair.__file__).parent / "gallery" / "hot-spot.toml").with_(
            {"stations.count": 20, "duration": "20 s"}
        ),
        seeds=[1],
        pcap=wifair.Pcap(tmp_path / "captures", at=("ap",), snap=160),
    )
    wired = str(tmp_path / "captures" / "ap-wire.pcap")
    page = tmp_path / "report.html"
    analyze(wired, "--html", page)
    found = wifair.read_capture(wired)
    starved = int(found.flows["starved"].sum())
    assert starved > 0
    text = page.read_text()
    assert len(text) < 1_200_000  # twelve figures of what a screen can show
    body = text[text.index("<body>") :]
    assert body.index(f"{starved} of {len(found.flows)} flows starve") < body.index("<table")
    assert body.count('<div class="bar"') == len(found.flows) - starved
    assert body.count('<div class="bar bad"') == starved
    assert re.search(r" [\d.]+\u00a0kb/s", body), "a number and its unit stay together"
    assert not re.search(r"&gt;[\d.]+:\d+\u00a0", body), "lines may end after a port: elsewhere they end in mid-word"
    widths = [float(width) for width in re.findall(r'class="bar(?: bad)?" style="width:([\d.]+)%', body)]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] == 100
    stations = {str(name).split(":")[0] for name in found.flows["name"]}
    assert all(f"<summary>{station}: 1 flow" in body for station in stations)
    assert 'content="width=device-width' in text
    assert "prefers-color-scheme: dark" in text
    assert body.count('<th scope="col"><button') >= 9


def test_xplot_files_are_written(tmp_path: Path) -> None:
    analyze(capture("e_loss_sack_snd.pcap"), "--xplot", tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        f"1_b2a_{graph}.xpl" for graph in ("tsg", "owin", "rtt", "tput")
    }
    for path in tmp_path.iterdir():
        lines = path.read_text().splitlines()
        assert (lines[0], lines[-1]) == ("timeval double", "go")


def test_the_same_capture_gives_the_same_bytes() -> None:
    assert analyze(capture("b_cubic_2up_ap.pcap"), "--json") == analyze(capture("b_cubic_2up_ap.pcap"), "--json")


def test_errors_have_the_classes_of_this_package(tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("#!/bin/sh\n")
    with pytest.raises(wifair.CaptureError, match="not a capture"):
        wifair.read_capture(other)
    with pytest.raises(FileNotFoundError):
        wifair.read_capture(tmp_path / "nothing")
    with pytest.raises(ValueError, match="packets=True"):
        wifair.read_capture(capture("q_empty.pcap")).xplot(tmp_path)


def test_a_folder_of_captures_is_not_a_capture_and_names_one(tmp_path: Path) -> None:
    folder = tmp_path / "captures"
    folder.mkdir()
    _, errors = analyze(folder, code=2)
    assert "is a directory\n" in errors
    (folder / "server.pcap").write_bytes(b"")
    (folder / "air.pcap").write_bytes(b"")
    _, errors = analyze(folder, code=2)
    assert f"is a directory; name a file in it, such as `{folder / 'air.pcap'}`" in errors


def test_a_wait_of_unknown_cause_is_not_attributed(tmp_path: Path) -> None:
    """At the server, the capture cannot tell why some uploads behind their own queue wait most of the time."""
    scenario = wifair.Scenario.from_text(gallery.example("hot-spot").toml).with_(
        {"stations.count": 20, "duration": "8 s"}
    )
    wifair.run(scenario, seeds=[1], pcap=wifair.Pcap(tmp_path, at=("server",), snap=160))
    found = wifair.read_capture(tmp_path / "server.pcap")
    shares = np.array(
        [found.flows[f"limited_by_{why}"] for why in ("unknown", "application", "receiver", "congestion")]
    )
    for row in range(len(found.flows)):
        if not np.isnan(shares[:, row]).any() and not found.flows["starved"][row]:
            unknown, *others = shares[:, row]
            assert (capture_report.limit(found, row) == "-") == (unknown > max(others))


def test_a_page_has_modes_and_aggregates_of_each_station_and_a_notebook_shows_the_text(tmp_path: Path) -> None:
    cell = """
        duration = "0.5 s"
        wlan = { standard = "802.11ax", band = "2.4 GHz" }
        servers = [{ name = "server" }]
        stations = [{ name = "new" }, { name = "old", standard = "802.11b" }]
        flows = [{ name = "up", station = "new" }, { name = "slow", station = "old" }]
    """
    wifair.run(wifair.Scenario.from_text(cell), seeds=[1], pcap=wifair.Pcap(tmp_path, at=("air",), snap=160))
    found = wifair.read_capture(tmp_path / "air.pcap", packets=True)
    rows = capture_report.aggregate_rows(found, most=10)
    assert len(rows) == 3  # titles, station, access point; the 802.11b station has no MCS
    found.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    table = page[page.index("<h2>Modes and aggregates</h2>") :].split("</table>")[0]
    for title in rows[0]:
        assert f">{title}" in table
    for row in rows[1:]:
        assert all(f">{cell}</td>" in table for cell in row), row
    shown = html.unescape(found._repr_html_().removeprefix("<pre>").removesuffix("</pre>"))
    assert shown == capture_report.text(found, 100)
    assert "no answer" in shown


@pytest.mark.parametrize(
    "wlan",
    [
        'standard = "802.11n", mcs = 31, width = 40, guard_interval = "400 ns"',
        'standard = "802.11n", mcs = 12, greenfield = true, guard_interval = "400 ns"',
        'standard = "802.11n", band = "2.4 GHz", aggregation.max_amsdu = "7935 B", data_error = 0.1',
        'standard = "802.11ac", mcs = 9, width = 160, streams = 8, guard_interval = "400 ns"',
        'standard = "802.11ac", mcs = 3, aggregation.max_ampdu = "0 B"',
        'standard = "802.11ax", band = "2.4 GHz", mcs = 7, ltf = 4, guard_interval = "3200 ns", data_error = 0.1',
        'standard = "802.11ax", mcs = 0, extended_range = 242, dcm = true',
        'standard = "802.11ax", mcs = 0, extended_range = 106',
    ],
)
def test_air_times_in_a_capture_are_those_of_the_run(wlan: str, tmp_path: Path) -> None:
    """The run takes them from its transmit modes, the analysis computes them from the fields of radiotap."""
    cell = f"""
        duration = "100 ms"
        wlan = {{ {wlan} }}
        servers = [{{ name = "server" }}]
        stations = [{{ name = "sta" }}]
        flows = [{{ name = "up", station = "sta", transport = "udp", udp.rate = "99 Mb/s" }}]
    """
    results = wifair.run(wifair.Scenario.from_text(cell), seeds=[1], pcap=wifair.Pcap(tmp_path, at=("air",), snap=160))
    sent, seen = results.stations, wifair.read_capture(tmp_path / "air.pcap").stations
    assert (list(sent["name"]), list(seen["access_point"])) == (["ap", "sta"], [False, False])
    assert seen["airtime_s"][0] == pytest.approx(sent["air_data_s"][1], rel=1e-9)
    assert seen["airtime_s"][1] == pytest.approx(sent["air_control_s"][1], rel=1e-9)  # responses


def test_an_ack_goes_on_reserving_the_txop(tmp_path: Path) -> None:
    """Its duration is that of the data minus SIFS and its own air time, 16 and 28 us (IEEE 802.11-2016, 9.2.5.7)."""
    cell = """
        duration = "20 ms"
        wlan = { standard = "802.11n", cf_end = true, aggregation.max_ampdu = "0 B", edca.be.txop = "2048 us" }
        servers = [{ name = "server" }]
        stations = [{ name = "sta" }]
        flows = [{ name = "up", station = "sta", transport = "udp", udp.rate = "30 Mb/s" }]
    """
    wifair.run(wifair.Scenario.from_text(cell), seeds=[1], pcap=wifair.Pcap(tmp_path, at=("air",)))
    file = (tmp_path / "air.pcap").read_bytes()
    order = "<" if file[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    frames, at = [], 24
    while at < len(file):
        length = struct.unpack_from(f"{order}I", file, at + 8)[0]
        radiotap = struct.unpack_from("<H", file, at + 18)[0]
        control, duration = struct.unpack_from("<HH", file, at + 16 + radiotap)
        frames.append((control & 0xFC, duration))
        at += 16 + length
    acks = [(before, ack) for (kind, before), (next_kind, ack) in itertools.pairwise(frames) if next_kind == 0xD4]
    assert len(acks) > 20
    assert all(ack == before - 16 - 28 for before, ack in acks)
    assert any(ack > 0 for _, ack in acks)


def test_a_cts_to_self_counts_for_its_sender(tmp_path: Path) -> None:
    """Beside a station of 802.11b, data of 802.11n follow a CTS-to-self. The run knows who sent which frame."""
    cell = """
        duration = "100 ms"
        wlan = { standard = "802.11n", band = "2.4 GHz" }
        servers = [{ name = "server" }]
        stations = [{ name = "sta" }, { name = "old", standard = "802.11b" }]
        flows = [{ name = "up", station = "sta", stop = "80 ms", transport = "udp", udp.rate = "20 Mb/s" }]
    """
    scenario = wifair.Scenario.from_text(cell)
    frames = wifair.run(scenario, seeds=[1], frames=True, pcap=wifair.Pcap(tmp_path, at=("air",), snap=160)).frames
    assert frames is not None
    seen = wifair.read_capture(tmp_path / "air.pcap").stations
    assert list(frames["kind"]).count("cts") > 10
    assert list(seen["attempts"]) == [list(frames["sender"]).count(name) for name in ("sta", "ap")]


@pytest.mark.parametrize("older", ["802.11n", "802.11b"])
def test_air_time_to_a_station_is_that_of_the_run(older: str, tmp_path: Path) -> None:
    """Data to a station, RTS or CTS-to-self before them, and its block ACKs; the run counts by exchange."""
    cell = f"""
        duration = "200 ms"
        wlan = {{ standard = "802.11n", band = "2.4 GHz", data_error = 0.1, rts_threshold = "3000 B" }}
        servers = [{{ name = "server" }}]
        stations = [{{ name = "fast" }}, {{ name = "slow", mcs = 0 }}, {{ name = "old", standard = "{older}" }}]
    """
    for station, rate in (("fast", 20), ("slow", 2), ("old", 1)):
        flow = (
            f'station = "{station}", direction = "down", stop = "180 ms", transport = "udp", udp.rate = "{rate} Mb/s"'
        )
        cell += f'[[flows]]\nname = "{station}"\n' + flow.replace(", ", "\n") + "\n"
    results = wifair.run(wifair.Scenario.from_text(cell), seeds=[1], pcap=wifair.Pcap(tmp_path, at=("air",), snap=160))
    sent, found = results.stations, wifair.read_capture(tmp_path / "air.pcap")
    assert sent["air_collided_s"].sum() == 0
    spent = sent["air_to_station_s"]
    seen = dict(zip(found.stations["name"], found.stations["airtime_to_station_s"], strict=True))
    assert sorted(seen.values()) == pytest.approx(sorted(spent), rel=1e-9)
    assert sum(seen.values()) == pytest.approx(found.stations["airtime_s"].sum(), rel=1e-9)
    shares = found.stations["airtime_to_station_share"]
    assert shares == pytest.approx(found.stations["airtime_to_station_s"] / found.stations["airtime_s"].sum())


@pytest.mark.parametrize("direction", ["down", "up"])
def test_a_cf_end_counts_for_the_receiver_of_the_txop_that_it_ends(direction: str, tmp_path: Path) -> None:
    """It is addressed to all, but belongs to the exchanges of its TXOP, as does its repetition by the access point."""
    cell = """
        duration = "200 ms"
        servers = [{ name = "server" }]
        stations = [{ name = "a" }, { name = "b" }]
        [wlan]
        standard = "802.11n"
        rts_threshold = "0 B"
        cf_end = true
        repeat_cf_end = true
        edca.be.txop = "2048 us"
    """
    # Where stations send, one begins after the other has ended, so that nothing collides.
    for station, start, stop in (("a", 0, 90), ("b", 0 if direction == "down" else 100, 190)):
        cell += f"""
            [[flows]]
            name = "{station}"
            station = "{station}"
            direction = "{direction}"
            start = "{start} ms"
            stop = "{stop} ms"
            transport = "udp"
            udp.rate = "10 Mb/s"
        """
    results = wifair.run(wifair.Scenario.from_text(cell), seeds=[1], pcap=wifair.Pcap(tmp_path, at=("air",), snap=160))
    sent, found = results.stations, wifair.read_capture(tmp_path / "air.pcap").stations
    assert sent["air_collided_s"].sum() == 0
    spent = sent["air_to_station_s"]
    assert sorted(found["airtime_to_station_s"]) == pytest.approx(sorted(spent), rel=1e-9)
    assert spent.sum() == pytest.approx(found["airtime_s"].sum(), rel=1e-9)


def test_what_takes_an_unknown_air_time_is_not_said_to_take_none(tmp_path: Path) -> None:
    """Radiotap of 802.11be frames that a run writes has no rate, so their air time is unknown, and not 0 ms."""
    cell = """
        duration = "50 ms"
        wlan = { standard = "802.11be" }
        servers = [{ name = "server" }]
        stations = [{ name = "sta" }]
        flows = [{ name = "up", station = "sta", transport = "udp", udp = { rate = "99 Mb/s" } }]
    """
    wifair.run(wifair.Scenario.from_text(cell), seeds=[1], pcap=wifair.Pcap(tmp_path, at=("air",), snap=160))
    found = wifair.read_capture(tmp_path / "air.pcap", packets=True)
    assert list(found.stations["airtime_s"] > 0) == [False, True]  # the station, and the block ACKs of its access point
    data = found.stations["data_frames"][0]
    assert list(found.stations["frames_without_rate"]) == [data, 0]
    shown = capture_report.text(found)
    assert f"air time without {data} frames of unknown rate" in shown
    name = str(found.stations["name"][0])
    rows = [re.split("  +", line) for line in shown.splitlines() if line.startswith(name)]
    assert rows[0][3:5] == ["-", "-"]
    (answers,) = [line for line in shown.splitlines() if line.startswith(str(found.stations["name"][1]))]
    assert "100.0 %" not in answers  # of the air time of all frames, most of which is unknown
    assert rows[1][1:6] == ["-"] * 5  # the mode
    assert float(rows[1][7]) > 2  # MPDUs in each A-MPDU
    found.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "of unknown rate" in page
    assert "Modes and aggregates" in page


def test_sessions_away_from_the_sender_come_with_a_warning() -> None:
    note = "away from the sender, a wait for a retransmission timer looks like a pause"
    between = wifair.read_capture(capture("d_intermittent_ap.pcap"), pause="500 ms")
    assert between.cells["sessions_finished"][0] > 0
    assert note in capture_report.text(between)
    assert note not in capture_report.text(wifair.read_capture(capture("a_reno_down_snd.pcap")))


def test_packets_left_out_are_counted_in_words() -> None:
    shown = capture_report._left_out
    assert shown(1, "frames without an IP packet") == "1 frame without an IP packet"
    assert shown(1, "fragments of incomplete IP packets") == "1 fragment of incomplete IP packets"
    assert shown(2, "encrypted 802.11 frames") == "2 encrypted 802.11 frames"
    assert shown(1, "IGMP") == "1 packet of IGMP"


def test_figures_of_a_page_share_their_glyphs_and_are_all_drawn() -> None:
    letter = '<path id="A-1" d="M0 0z" transform="scale(2)"/>'
    assert once(f"<svg>{letter}</svg><svg>{letter}<use/></svg>") == f"<svg>{letter}</svg><svg><use/></svg>"
    dots = "".join(
        f'<use xlink:href="#m1" x="{x}.25" y="2.5" style="fill: #0072b2; stroke: #0072b2"/>' for x in range(30)
    )
    path = inline(f'<?xml?><svg><path id="m1" d="M 0 0.5 C 0.13 0.5 0 0 0 0"/>{dots}</svg>'.encode())
    assert path.startswith("<svg>")
    assert path.count("h0") == 30
    assert "M0.2 2.5h0M1.2 2.5h0" in path
    assert (
        inline(f'<svg><path id="m1" d="M -1 -1 L 1 1"/>{dots}</svg>'.encode()).count("<use") == 30
    )  # no dots, crosses


def test_bulk_flows_behind_their_own_shaper_do_not_count_as_idle() -> None:
    """The interface's queue delays and drops packets before the capture point, which once seemed to see all that is
    sent.
    """
    flows = wifair.read_capture(CAPTURES.parent / "shaper" / "egress.pcap.gz").flows
    bulk = flows["received_bytes"] > 100_000
    assert bulk.sum() == 3
    assert not flows["had_no_more"][bulk].any()
    assert (flows["limited_by_application"][bulk] < 0.1).all()  # it was 0.8 to 0.9

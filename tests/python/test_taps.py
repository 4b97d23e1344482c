"""Captures and frame records that a run writes beside its results."""

from __future__ import annotations

import csv
import itertools
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import wifair
from command import started

WIFAIR = [sys.executable, "-m", "wifair"]
TEXT = """\
duration = "2 s"
warm_up = "0.5 s"
[wlan]
standard = "802.11b"
data_error = 0.1
rts_threshold = "1000 B"
[ap]
queue.limit = "15 packets"
[ap.scheme]
window = "b-over-n"
[[servers]]
name = "server"
delay = "10 ms"
[[stations]]
name = "sta"
count = 3
[[flows]]
name = "up"
station = "sta"
tcp.stack = "modern"
[[flows]]
name = "down"
station = "sta1"
direction = "down"
workload = "transfer"
transfer.size = "20 kB"
[[flows]]
name = "voice"
station = "sta2"
direction = "down"
transport = "udp"
udp.payload = "160 B"
udp.rate = "64 kb/s"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mix.toml"
    path.write_text(TEXT)
    return path


def run(*args: object, code: int = 0, **options: object) -> tuple[str, str]:
    command = [*WIFAIR, "run", *map(str, args)]
    done = subprocess.run(  # type: ignore[call-overload]
        command, capture_output=True, text=True, timeout=120, check=False, **options
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout, done.stderr


def test_captures_are_read_back(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "captures"
    run(file, "--pcap", folder, "--set", "warm_up=0 s")
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["air.pcap", "hosts", "server.pcap", "sta1.pcap", "sta2.pcap", "sta3.pcap"]
    assert "10.16.0.2 sta2\n" in (folder / "hosts").read_text()
    results = wifair.run(wifair.Scenario.from_file(file).with_(warm_up="0 s"))
    capture = wifair.read_capture(folder / "sta3.pcap")
    assert capture.flows["name"].tolist() == ["10.16.0.3:10002>10.32.0.1:5003"]
    third = results.flows.filter(name="up3")
    assert capture.flows["retransmissions"].tolist() == third["retransmissions"].tolist()


def test_seeds_have_folders_of_their_own(file: Path, tmp_path: Path) -> None:
    wifair.run(file, seeds=[3, 4], pcap=wifair.Pcap(tmp_path / "c", at=("sta1",), snap=160, format="pcapng"))
    files = [(tmp_path / "c" / f"seed-{seed}" / "sta1.pcapng").read_bytes() for seed in (3, 4)]
    assert files[0] != files[1]
    assert files[0][:4] == b"\x0a\x0d\x0d\x0a"


def test_captures_are_not_overwritten_unasked(file: Path, tmp_path: Path) -> None:
    run(file, "--pcap", tmp_path / "c", "--pcap-at", "server")
    before = (tmp_path / "c" / "server.pcap").read_bytes()
    _, err = run(file, "--pcap", tmp_path / "c", "--pcap-at", "server", code=2)
    assert re.search(r"error: `.*server.pcap` exists: choose another folder, or replace it with --force", err)
    run(file, "--pcap", tmp_path / "c", "--pcap-at", "server", "--force")
    assert (tmp_path / "c" / "server.pcap").read_bytes() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--pcap", "c", "--pcap-at", "serevr"], "no capture point `serevr`: did you mean `server`?"),
        (["--pcap-at", "air"], "need --pcap"),
        (["--from", "1 s"], "--from and --to need --frames or --timeline"),
        (["--frames", "x.txt"], "--frames writes .csv or .parquet"),
        (["--frames", "x.csv", "--from", "2"], "`2` has no unit"),
        (["--frames", "x.csv", "--from", "2 s", "--to", "1 s"], "--to 1 s is not after --from 2 s"),
        (["--frames", "x.csv", "--from", "99 s"], "no frames: 99 s is not before the end of the run at"),
    ],
)
def test_wrong_options_say_what_to_write(file: Path, tmp_path: Path, options: list[str], message: str) -> None:
    _, err = run(file, *options, code=2, cwd=tmp_path)
    assert message in err


def test_series_wants_a_time(file: Path) -> None:
    with pytest.raises(TypeError, match='series: True is no time between samples: write one, such as "100 ms"'):
        wifair.run(file, series=True)  # type: ignore[call-overload]


def test_a_full_disk_is_one_clear_error(file: Path, tmp_path: Path) -> None:
    def fill() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    _, err = run(file, "--pcap", tmp_path / "c", "--pcap-at", "air", code=2, preexec_fn=fill)
    assert re.fullmatch(r"error: cannot write `.*air\.pcap`: file too large\n", err)


def test_an_interrupted_run_keeps_its_captures_so_far(file: Path, tmp_path: Path) -> None:
    command = ["run", file, "--duration", "100000 s", "--pcap", "c", "--pcap-at", "sta1,air", "--pcap-snap", 160]
    air = tmp_path / "c" / ".air.pcap.partial"  # its name until it is complete
    with started(*command, cwd=tmp_path) as process:
        while not air.exists() or air.stat().st_size < 1_000_000:
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
    for name in ("air", "sta1"):
        capture = wifair.read_capture(tmp_path / "c" / f"{name}.pcap")
        assert capture.damage is None
        assert capture.duration_s > 1


needs_tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark")


@needs_tshark
def test_tshark_finds_nothing_wrong(file: Path, tmp_path: Path) -> None:
    wifair.run(file, pcap=wifair.Pcap(tmp_path / "c", at=("air", "ap", "hosts")))
    checks = [f"-o{name}.check_checksum:TRUE" for name in ("ip", "tcp", "udp", "wlan")]
    bad = " || ".join(
        ["_ws.malformed", "_ws.expert.severity == error", "wlan.fcs.status == 0", "wlan.fcs.status == 2"]
        + [f"{name}.checksum.status == {status}" for name in ("ip", "tcp", "udp") for status in (0, 2)]
    )
    paths = sorted((tmp_path / "c").glob("*.pcap"))
    assert len(paths) == 7
    for path in paths:
        # tshark checks the IP checksum of every packet; 2 would mean "not checked".
        shown = [*checks, "-Y", bad, "-T", "fields", "-e", "frame.number", "-e", "_ws.expert.message"]
        out = subprocess.run(["tshark", "-r", path, *shown], capture_output=True, text=True, timeout=60, check=True)
        assert out.stdout == "", path


@needs_tshark
def test_tshark_sees_retries_and_control_frames(file: Path, tmp_path: Path) -> None:
    wifair.run(file, pcap=wifair.Pcap(tmp_path / "c", at=("air",), snap=160), frames=True)

    def count(what: str) -> int:
        command = ["tshark", "-r", str(tmp_path / "c" / "air.pcap"), "-Y", what, "-T", "fields", "-e", "frame.number"]
        return len(subprocess.run(command, capture_output=True, timeout=60, check=True).stdout.split())

    frames = wifair.run(file, frames=True).frames
    assert frames is not None
    heard = frames["fate"] != "collision"
    for kind, code in {"rts": 0x1B, "cts": 0x1C, "ack": 0x1D, "data": 0x20}.items():
        assert count(f"wlan.fc.type_subtype == {code}") == np.sum((frames["kind"] == kind) & heard), kind
    assert count("wlan.fc.retry == 1") > 0


@pytest.mark.skipif(shutil.which("tcptrace") is None, reason="needs tcptrace")
def test_tcptrace_counts_what_the_run_counted(file: Path, tmp_path: Path) -> None:
    results = wifair.run(wifair.Scenario.from_file(file).with_(warm_up="0 s"), pcap=tmp_path / "c")
    for number in (1, 2, 3):
        path = tmp_path / "c" / f"sta{number}.pcap"
        done = subprocess.run(["tcptrace", "-l", path], capture_output=True, text=True, timeout=60, check=True)
        first = done.stdout.split("TCP connection 1:")[1].split("=====")[0]
        again = re.search(r"rexmt data pkts: +(\d+)", first)
        assert again is not None
        assert int(again[1]) == results.flows.filter(name=f"up{number}")["retransmissions"][0]
    assert "Truncated" not in done.stderr


def test_frames_are_spaced_as_the_standard_says(file: Path) -> None:
    """IEEE 802.11, 10.3.2: SIFS (10 us) from data to ACK, from RTS to CTS, from CTS to data."""
    frames = wifair.run(file, frames=True).frames
    assert frames is not None
    rows = frames.filter(fate="received").to_dicts()
    gaps: dict[tuple[object, object], set[float]] = {}
    for before, after in itertools.pairwise(rows):
        pair = (before["kind"], after["kind"])
        if before["sender"] == after["receiver"] and pair in {("rts", "cts"), ("cts", "data"), ("data", "ack")}:
            gap = float(after["start_s"]) - float(before["end_s"])
            gaps.setdefault(pair, set()).add(round(gap * 1e9))
    assert gaps == {pair: {10_000} for pair in [("rts", "cts"), ("cts", "data"), ("data", "ack")]}
    collided = frames.filter(fate="collision").to_dicts()
    starts = [row["start_s"] for row in collided]
    assert all(starts.count(start) >= 2 for start in starts), "nobody collides alone"


def test_frames_are_a_table_for_other_tools(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "frames.csv"
    run(file, "--frames", path, "--from", "1 s", "--to", "1.1 s")
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert len(rows) > 50
    assert {row["kind"] for row in rows} == {"data", "ack", "rts", "cts"}
    assert all(0.99 < float(row["start_s"]) < 1.1 for row in rows)
    assert {row["sender"] for row in rows} <= {"ap", "sta1", "sta2", "sta3"}


def test_the_timeline_has_a_lane_for_each_node(file: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "air.svg"
    run(file, "--timeline", path, "--from", "1 s", "--to", "1.05 s", env={**os.environ, "MPLBACKEND": "agg"})
    root = ET.parse(path).getroot()
    text = " ".join(element for element in root.itertext())
    comments = path.read_text()
    for word in ("ap", "sta1", "TCP data", "RTS", "backoff", "NAV", "time after 1000 ms"):
        assert f"<!-- {word}" in comments or word in text, word
    _, err = run(file, "--timeline", path, code=2)
    assert "exists" in err


AGGREGATES = """\
duration = "0.6 s"
warm_up = "0.1 s"
wlan = { standard = "802.11n", data_error = 0.1 }
servers = [{ name = "server", delay = "1 ms" }]
stations = [{ name = "sta", count = 2 }]
flows = [{ name = "up", station = "sta" }, { name = "down", station = "sta", direction = "down" }]
"""


def test_the_mpdus_of_an_aggregate_have_a_row_each(tmp_path: Path) -> None:
    """IEEE 802.11-2016, 9.7.1 and 10.24.7: one PPDU, sequence numbers in one window of 64, one block ACK."""
    path = tmp_path / "n.toml"
    path.write_text(AGGREGATES)
    frames = wifair.run(path, frames=True).frames
    assert frames is not None
    rows = frames.to_dicts()
    groups = {key: list(its) for key, its in itertools.groupby(rows, key=lambda row: row["ppdu"]) if key}
    assert len(groups) > 100
    partly = 0
    for its in groups.values():
        assert len({(row["sender"], row["receiver"], row["start_s"], row["end_s"]) for row in its}) == 1
        assert {row["mpdus"] for row in its} == {len(its)}
        assert all((row["sequence"] - its[0]["sequence"]) % 4096 < 64 for row in its)
        partly += len({row["fate"] for row in its}) == 2
    assert partly > 10
    answers = [row for row in rows if row["kind"] == "block-ack"]
    assert answers
    assert {(row["length_bytes"], row["ppdu"], row["mpdus"], row["msdus"]) for row in answers} == {(32, 0, 0, 0)}


def test_channel_and_number_tell_aggregates_apart() -> None:
    """Access points on channels 1 and 6 number their PPDUs independently; one A-MPDU has one sender and one start."""
    cell = """
        duration = "500 ms"
        wlan = { standard = "802.11n", band = "2.4 GHz" }
        ap = { count = 2, channels = [1, 6] }
        servers = [{ name = "server", at = "hub" }]
        routers = [{ name = "hub" }]
        links = [{ from = "hub", to = "ap1", rate = "1 Gb/s" }, { from = "hub", to = "ap2", rate = "1 Gb/s" }]
        stations = [{ name = "a", ap = "ap1" }, { name = "b", ap = "ap2" }]
        flows = [{ name = "a", station = "a" }, { name = "b", station = "b" }]
    """
    frames = wifair.run(wifair.Scenario.from_text(cell), frames=True).frames
    assert frames is not None
    rows = frames.to_dicts()
    channels = {"ap1": 1, "a": 1, "ap2": 6, "b": 6}
    assert all(row["channel"] == channels[row["sender"]] for row in rows)
    starts: dict[tuple[int, int], set[tuple[str, float]]] = {}
    for row in rows:
        if row["ppdu"]:
            starts.setdefault((row["channel"], row["ppdu"]), set()).add((row["sender"], row["start_s"]))
    assert all(len(its) == 1 for its in starts.values())
    assert len({number for _, number in starts}) < len(starts)


def test_the_timeline_draws_an_aggregate_once(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.patches import Rectangle  # noqa: PLC0415
    from wifair.figures import timeline  # noqa: PLC0415

    path = tmp_path / "n.toml"
    path.write_text(AGGREGATES)
    results = wifair.run(path, frames=True)
    assert results.frames is not None
    figure = timeline.draw(results, start="0.2 s", end="0.25 s")
    frames = results.frames
    inside = (frames["end_s"] > 0.2) & (frames["start_s"] < 0.25)
    rows = [row for row, shown in zip(frames.to_dicts(), inside) if shown]
    ppdus = {row["ppdu"] for row in rows if row["ppdu"]}
    alone = [row for row in rows if not row["ppdu"]]
    (axes,) = figure.axes
    bars = [patch for patch in axes.patches if isinstance(patch, Rectangle) and patch.get_height() == timeline.HEIGHT]
    frame_bars = [bar for bar in bars if not bar.get_hatch()]
    assert len(frame_bars) == len(ppdus) + len(alone)
    assert len(bars) - len(frame_bars) == sum(row["fate"] != "received" for row in rows)
    words = {text.get_text() for text in figure.legends[0].get_texts()}
    assert {"TCP data", "TCP ACK", "block ACK", "error", "retry"} <= words


def test_the_timeline_calls_datagrams_udp() -> None:
    pytest.importorskip("matplotlib")
    from wifair.figures import timeline  # noqa: PLC0415

    flow = {"name": "up", "station": "sta", "transport": "udp", "udp": {"rate": "1 Mb/s"}}
    scenario = {"duration": "0.2 s", "wlan": {"standard": "802.11g"}, "servers": [{"name": "server"}]}
    results = wifair.run({**scenario, "stations": [{"name": "sta"}], "flows": [flow]}, frames=True)
    figure = timeline.draw(results, start="0.1 s", end="0.2 s")
    words = {text.get_text() for text in figure.legends[0].get_texts()}
    assert "UDP data" in words
    assert "other packet" not in words


LATER = {
    "802.11n": ["wlan_radio.phy == 7", "radiotap.mcs.index == 7"],
    "802.11ac": ["wlan_radio.phy == 8", "radiotap.vht.mcs.0 == 8"],
    "802.11ax": ["radiotap.present.he == 1", "radiotap.he.data_3.data_mcs == 0xb"],
    "802.11be": ["wlan.fc.type_subtype == 0x28"],
}


@needs_tshark
@pytest.mark.parametrize(
    "standard", [pytest.param(name, marks=() if name == "802.11ax" else pytest.mark.slow) for name in LATER]
)
def test_tshark_reads_aggregates_and_block_acks(standard: str, tmp_path: Path) -> None:
    """For each MPDU, the bitmaps of block ACKs, as tshark reads them, agree with the run."""
    path = tmp_path / "n.toml"
    path.write_text(AGGREGATES.replace("802.11n", standard))
    results = wifair.run(path, pcap=wifair.Pcap(tmp_path / "c", at=("air",)), frames=True)
    assert results.frames is not None
    rows = [row for row in results.frames.to_dicts() if row["fate"] != "collision"]

    def fields(what: str, *names: str) -> list[list[str]]:
        shown = [word for name in names for word in ("-e", name)]
        command = ["tshark", "-r", str(tmp_path / "c" / "air.pcap"), "-o", "wlan.check_checksum:TRUE", "-Y", what]
        command += ["-T", "fields", *shown]
        out = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
        return [line.split("\t") for line in out.splitlines()]

    bad = (
        "_ws.malformed || _ws.expert.severity == error || wlan.fcs.status == 0"
        ' || _ws.expert.severity == "Warning" && !tcp.analysis.flags'
    )
    assert fields(bad, "frame.number", "_ws.expert.message") == []
    kinds = {"data": "0x28", "ack": "0x1d", "block-ack": "0x19", "block-ack-request": "0x18"}
    for kind, code in kinds.items():
        its = [row for row in rows if row["kind"] == kind]
        assert len(fields(f"wlan.fc.type_subtype == {code}", "frame.number")) == len(its), kind
        assert its or kind == "block-ack-request"
    for what in LATER[standard]:
        assert fields(f"wlan.fc.type_subtype == 0x28 && {what}", "frame.number"), what
    assert not fields("wlan.fc.type_subtype == 0x28 && radiotap.present.rate == 1", "frame.number")

    data = fields(
        "wlan.fc.type_subtype == 0x28", "wlan.seq", "wlan.qos.tid", "wlan.fc.retry", "radiotap.ampdu.reference"
    )
    its = [row for row in rows if row["kind"] == "data"]
    for (sequence, tid, retry, number), row in zip(data, its):
        assert (int(sequence), tid, retry in ("1", "True")) == (row["sequence"], "0", row["retry"] == 1)
        assert number == (str(int(row["ppdu"]) - 1) if row["ppdu"] else "")

    if standard == "802.11be":  # tshark up to 4.0 does not show bitmaps of 1024 bits
        assert {row[0] for row in fields("wlan.fc.type_subtype == 0x19", "wlan.fixed.ssc.fragment")} == {"10"}
        return
    # What the bitmap says about the preceding A-MPDU.
    answers = iter(fields("wlan.fc.type_subtype == 0x19", "wlan.fixed.ssc.sequence", "wlan.ba.bm"))
    aggregate: list[dict[str, object]] = []
    seen: set[object] = set()
    for row in rows:
        if row["kind"] == "block-ack":
            start, bitmap = next(answers)
            bits = int.from_bytes(bytes.fromhex(bitmap.replace(":", "")), "little")
            for mpdu in aggregate:
                got = bits >> ((int(mpdu["sequence"]) - int(start)) % 4096) & 1  # type: ignore[call-overload]
                assert got or mpdu["fate"] == "error"
                is_first = mpdu["retry"] == 0
                assert not (got and is_first and mpdu["fate"] == "error")
                seen.add((got, mpdu["fate"]))
            aggregate = []
        elif row["ppdu"]:
            aggregate = [*(one for one in aggregate if one["ppdu"] == row["ppdu"]), row]
    assert {(1, "received"), (0, "error")} <= seen


@needs_tshark
def test_packets_carry_the_dscp_of_their_flow(tmp_path: Path) -> None:
    """Expedited forwarding is 46, which RFC 8325 maps to voice: user priority 6."""
    path = tmp_path / "n.toml"
    path.write_text(AGGREGATES.replace('{ name = "up",', '{ name = "up", dscp = 46,'))
    wifair.run(path, pcap=wifair.Pcap(tmp_path / "c", at=("air",)))
    command = ["tshark", "-r", str(tmp_path / "c" / "air.pcap"), "-Y", "ip", "-T", "fields"]
    command += ["-e", "ip.dsfield.dscp", "-e", "wlan.qos.tid"]
    out = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    assert "46\t6" in out.splitlines()


def test_a_capture_of_aggregates_has_the_goodput_of_the_run(tmp_path: Path) -> None:
    path = tmp_path / "n.toml"
    path.write_text(AGGREGATES.replace('warm_up = "0.1 s"', 'warm_up = "0 s"').replace("0.6 s", "2 s"))
    results = wifair.run(path, pcap=wifair.Pcap(tmp_path / "c", at=("air",), snap=200))
    capture = wifair.read_capture(tmp_path / "c" / "air.pcap")
    assert capture.damage is None
    seen = {
        int(name.rsplit(":", 1)[1]): got for name, got in zip(capture.flows["name"], capture.flows["received_bytes"])
    }
    for port, got in enumerate(results.flows["received_bytes"].tolist(), 5001):
        assert got > 100_000
        # They differ by data that at the end are in transit, or received and not yet acknowledged: at most a
        # window.
        assert abs(int(seen[port]) - got) < 65_536


def test_agreements_are_set_up_before_the_first_aggregate(tmp_path: Path) -> None:
    """IEEE 802.11-2016, 10.24.2: request, ACK, response, ACK, then data, for each originator, recipient and category.

    An ADDBA frame has 37 bytes, at 24 Mb/s 20 us and four symbols; the first request needs no backoff.
    """
    path = tmp_path / "n.toml"
    text = AGGREGATES.replace("data_error = 0.1", 'data_error = 0.1, aggregation.agreements = "on-the-air"')
    path.write_text(text.replace('warm_up = "0.1 s"', 'warm_up = "0 s"'))
    results = wifair.run(path, frames=True, pcap=wifair.Pcap(tmp_path / "c", at=("air",)))
    assert results.frames is not None
    rows = [row for row in results.frames.to_dicts() if row["fate"] != "collision"]
    first = [(row["kind"], row["length_bytes"], round((row["end_s"] - row["start_s"]) * 1e6)) for row in rows[:2]]
    assert first == [("addba-request", 37, 36), ("ack", 14, 28)]
    agreed: set[tuple[str, str]] = set()
    for before, row in itertools.pairwise(rows):
        if before["kind"].startswith("addba") and before["fate"] == "received":
            assert (row["kind"], row["sender"], row["receiver"]) == ("ack", before["receiver"], before["sender"])
        if row["kind"] == "addba-response":
            agreed.add((row["receiver"], row["sender"]))
        assert not row["ppdu"] or (row["sender"], row["receiver"]) in agreed
        assert row["kind"] != "data" or (row["sender"], row["receiver"]) in agreed  # they wait
    assert agreed == {("ap", "sta1"), ("ap", "sta2"), ("sta1", "ap"), ("sta2", "ap")}
    kinds = [row["kind"] for row in rows]
    assert (kinds.count("addba-request"), kinds.count("addba-response")) == (4, 4)
    plain = wifair.run(wifair.Scenario.from_text(AGGREGATES))
    assert sum(results.flows["goodput_bps"]) == pytest.approx(sum(plain.flows["goodput_bps"]), rel=0.15)
    run(path, "--timeline", tmp_path / "air.svg", "--from", "0 s", "--to", "0.02 s")
    if shutil.which("tshark") is None:
        return
    command = ["tshark", "-r", str(tmp_path / "c" / "air.pcap"), "-o", "wlan.check_checksum:TRUE", "-T", "fields"]
    names = ["wlan.fixed.action_code", "wlan.fixed.baparams.tid", "wlan.fixed.baparams.buffersize", "frame.len"]
    shown = [word for name in names for word in ("-e", name)]
    bad = "_ws.malformed || _ws.expert.severity == error || wlan.fcs.status == 0"

    def lines(what: str) -> list[str]:
        whole = [*command, "-Y", what, *shown]
        return subprocess.run(whole, capture_output=True, text=True, timeout=60, check=True).stdout.splitlines()

    assert lines(bad) == []
    seen = [line.split("\t")[:3] for line in lines("wlan.fc.type_subtype == 0x0d && wlan.fixed.category_code == 3")]
    assert sorted(seen) == sorted([["0x00", "0x0000", "64"]] * 4 + [["0x01", "0x0000", "64"]] * 4)


def test_an_unused_agreement_is_ended(tmp_path: Path) -> None:
    """IEEE 802.11-2016, 10.24.5 and 11.5.4: without data in time the recipient sends DELBA, and data need another.

    A DELBA frame has 24 + 6 + 4 bytes, at 24 Mb/s 20 us and four symbols.
    """
    path = tmp_path / "n.toml"
    keys = 'aggregation = { agreements = "on-the-air", inactivity_timeout = "300 ms" }'
    path.write_text(f"""
duration = "1.2 s"
wlan = {{ standard = "802.11n", {keys} }}
servers = [{{ name = "server" }}]
stations = [{{ name = "sta" }}]
[[flows]]
name = "early"
station = "sta"
transport = "udp"
udp.rate = "40 Mb/s"
stop = "0.2 s"
[[flows]]
name = "late"
station = "sta"
transport = "udp"
udp.rate = "40 Mb/s"
start = "0.7 s"
""")
    results = wifair.run(path, frames=True, pcap=wifair.Pcap(tmp_path / "c", at=("air",)))
    assert results.frames is not None
    rows = results.frames.to_dicts()
    about = [row for row in rows if row["kind"].startswith(("addba", "delba"))]
    expected = [("addba-request", "sta"), ("addba-response", "ap")]
    assert [(row["kind"], row["sender"]) for row in about] == [*expected, ("delba", "ap"), *expected]
    end = about[2]
    assert (end["length_bytes"], round((end["end_s"] - end["start_s"]) * 1e6)) == (34, 36)
    last = max(row["end_s"] for row in rows if row["kind"] == "data" and row["end_s"] < end["start_s"])
    assert end["start_s"] - last == pytest.approx(0.3, abs=1e-4)
    assert about[3]["start_s"] >= 0.7
    assert all(flow > 0 for flow in results.flows["received_bytes"])
    lasting = path.read_text().replace(', inactivity_timeout = "300 ms"', "")
    others = wifair.run(wifair.Scenario.from_text(lasting), frames=True).frames
    assert others is not None
    kinds = [row["kind"] for row in others.to_dicts() if row["kind"].startswith(("addba", "delba"))]
    assert kinds == ["addba-request", "addba-response"]
    if shutil.which("tshark") is None:
        return
    names = ["action_code", "batimeout", "reason_code"]
    shown = [word for name in names for word in ("-e", f"wlan.fixed.{name}")]
    command = ["tshark", "-r", str(tmp_path / "c" / "air.pcap"), "-o", "wlan.check_checksum:TRUE"]
    what = "wlan.fc.type_subtype == 0x0d"
    out = subprocess.run(
        [*command, "-Y", what, "-T", "fields", *shown], capture_output=True, text=True, timeout=60, check=True
    )
    # 300 ms are 293 units of 1024 us; 39 is the reason "timeout".
    asked, answered = ["0x00", "0x0125", ""], ["0x01", "0x0125", ""]
    assert [line.split("\t") for line in out.stdout.splitlines()] == [
        asked,
        answered,
        ["0x02", "", "0x0027"],
        asked,
        answered,
    ]
    bad = [*command, "-Y", "_ws.malformed || _ws.expert.severity == error || wlan.fcs.status == 0"]
    assert subprocess.run(bad, capture_output=True, text=True, timeout=60, check=True).stdout == ""


def test_data_are_sent_singly_without_an_agreement(tmp_path: Path) -> None:
    """Most control frames are lost, ADDBA frames among them: there is no aggregate before a response has arrived."""
    path = tmp_path / "n.toml"
    path.write_text("""
duration = "1 s"
wlan = { standard = "802.11n", control_error = 0.7, aggregation.agreements = "on-the-air" }
servers = [{ name = "server" }]
stations = [{ name = "sta" }]
flows = [{ name = "f", station = "sta", direction = "down", transport = "udp", udp.rate = "5 Mb/s" }]
""")
    results = wifair.run(path, frames=True)
    assert results.frames is not None
    rows = results.frames.to_dicts()
    answered = [row["end_s"] for row in rows if row["kind"] == "addba-response" and row["fate"] == "received"]
    assert sum(row["kind"] == "addba-request" for row in rows) >= 2
    ppdus = [row["start_s"] for row in rows if row["ppdu"]]
    assert not ppdus or (answered and min(ppdus) > min(answered))
    assert results.flows["received_bytes"][0] > 0


@needs_tshark
@pytest.mark.parametrize("ampdu", ["0 B", "65535 B"])
def test_tshark_finds_every_packet_in_an_a_msdu(ampdu: str, tmp_path: Path) -> None:
    """IEEE 802.11-2016, 9.3.2.2.2: a subframe for each packet, padded to four bytes, behind one QoS header."""
    path = tmp_path / "n.toml"
    keys = f'0.1, aggregation = {{ max_amsdu = "7935 B", max_ampdu = "{ampdu}" }} }}'
    path.write_text(
        AGGREGATES.replace("0.1 }", keys).replace('warm_up = "0.1 s"', 'warm_up = "0 s"').replace("0.6 s", "1.5 s")
    )
    results = wifair.run(path, pcap=wifair.Pcap(tmp_path / "c", at=("air", "hosts")), frames=True)
    assert results.frames is not None
    air = tmp_path / "c" / "air.pcap"

    def fields(what: str, *names: str) -> list[list[str]]:
        shown = [word for name in names for word in ("-e", name)]
        checks = [f"{name}:TRUE" for name in ("wlan.check_checksum", "tcp.check_checksum", "ip.check_checksum")]
        command = ["tshark", "-r", str(air), *(word for check in checks for word in ("-o", check)), "-Y", what]
        out = subprocess.run(
            [*command, "-T", "fields", *shown], capture_output=True, text=True, timeout=60, check=True
        ).stdout
        return [line.split("\t") for line in out.splitlines()]

    bad = "_ws.malformed || _ws.expert.severity == error || wlan.fcs.status == 0 || tcp.checksum.status == 0"
    assert fields(bad, "frame.number", "_ws.expert.message") == []
    rows = [row for row in results.frames.to_dicts() if row["kind"] == "data" and row["fate"] != "collision"]
    data = fields("wlan.fc.type_subtype == 0x28", "wlan.qos.amsdupresent", "tcp.srcport", "wlan.seq", "frame.len")
    assert len(data) == len(rows)
    for (present, ports, sequence, _), row in zip(data, rows):
        assert (present in ("1", "True")) == (row["msdus"] > 1)
        assert len(ports.split(",")) == row["msdus"]
        assert int(sequence) == row["sequence"]
    several = [row["msdus"] for row in rows if row["msdus"] > 1]
    assert len(several) > 100
    assert max(several) > (3 if ampdu == "0 B" else 2)  # ACKs are short: 3839 bytes hold many

    capture = wifair.read_capture(air)
    assert capture.damage is None
    names = [int(str(name).rsplit(":", 1)[1]) for name in capture.flows["name"]]
    seen = dict(zip(names, capture.flows["received_bytes"]))
    for port, got in enumerate(results.flows["received_bytes"].tolist(), 5001):
        # They differ by data in transit at the end: at most a window of 64 MPDUs.
        assert got > 64 * 3839
        assert abs(int(seen[port]) - got) < 64 * 3839


def test_an_empty_time_is_explained(file: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    _, err = run(file, "--timeline", tmp_path / "a.png", "--from", "90 s", "--to", "90.1 s", code=2)
    assert "no frame from 90 s to 90.1 s" in err

"""Traces for other tools: qlog of captures, and mahimahi's of what a station could have got."""

from __future__ import annotations

import itertools
import json
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import wifair
from click.testing import CliRunner
from wifair import gallery
from wifair.cli import main

jsonschema = pytest.importorskip("jsonschema")

HEADER = {
    "type": "object",
    "required": ["packet_type", "packet_number"],
    "properties": {"packet_type": {"const": "1RTT"}, "packet_number": {"type": "integer", "minimum": 0}},
}
FRAME = {
    "oneOf": [
        {
            "type": "object",
            "required": ["frame_type", "stream_id", "offset", "length"],
            "properties": {
                "frame_type": {"const": "stream"},
                "stream_id": {"type": "integer", "minimum": 0},
                "offset": {"type": "integer", "minimum": 0},
                "length": {"type": "integer", "minimum": 1},
                "fin": {"type": "boolean"},
            },
            "additionalProperties": False,
        },
        {
            "type": "object",
            "required": ["frame_type"],
            "properties": {
                "frame_type": {"const": "ack"},
                "acked_ranges": {
                    "type": "array",
                    "minItems": 1,
                    "items": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "integer"}},
                },
            },
            "additionalProperties": False,
        },
    ]
}
PACKET = {
    "type": "object",
    "required": ["header"],
    "properties": {
        "header": HEADER,
        "frames": {"type": "array", "items": FRAME},
        "raw": {
            "type": "object",
            "properties": {"length": {"type": "integer"}, "payload_length": {"type": "integer"}},
            "additionalProperties": False,
        },
    },
    "additionalProperties": False,
}
LOST = {
    "type": "object",
    "properties": {"header": HEADER, "trigger": {"enum": ["reordering_threshold", "time_threshold", "pto_expired"]}},
    "additionalProperties": False,
}
METRICS = {
    "type": "object",
    "properties": {
        name: {"type": "number", "minimum": 0}
        for name in ("smoothed_rtt", "min_rtt", "latest_rtt", "rtt_variance", "bytes_in_flight", "congestion_window")
    },
    "additionalProperties": False,
}


def event(name: str, data: dict[str, Any]) -> dict[str, Any]:
    properties = {"time": {"type": "number"}, "name": {"const": name}, "data": data}
    return {"type": "object", "required": ["time", "name", "data"], "properties": properties}


# The parts of draft-ietf-quic-qlog-main-schema-02 (sections 3 and 3.4) and of draft-ietf-quic-qlog-quic-events-02
# (sections 5.5, 5.6, 6.4, 6.5 and appendix A) that are written.
QLOG = {
    "type": "object",
    "required": ["qlog_version", "traces"],
    "properties": {
        "qlog_version": {"const": "0.3"},
        "qlog_format": {"const": "JSON"},
        "traces": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["events"],
                "properties": {
                    "title": {"type": "string"},
                    "vantage_point": {
                        "type": "object",
                        "required": ["type"],
                        "properties": {
                            "name": {"type": "string"},
                            "type": {"enum": ["client", "server", "network", "unknown"]},
                        },
                        "additionalProperties": False,
                    },
                    "common_fields": {
                        "type": "object",
                        "properties": {
                            "protocol_type": {"type": "array", "items": {"type": "string"}, "minItems": 1},
                            "time_format": {"enum": ["absolute", "delta", "relative"]},
                            "reference_time": {"type": "number"},
                            "group_id": {"type": ["string", "integer"]},
                        },
                    },
                    "events": {
                        "type": "array",
                        "items": {
                            "oneOf": [
                                event("transport:packet_sent", PACKET),
                                event("transport:packet_received", PACKET),
                                event("recovery:packet_lost", LOST),
                                event("recovery:metrics_updated", METRICS),
                            ]
                        },
                    },
                },
                "additionalProperties": False,
            },
        },
    },
}


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A download that loses packets in a short queue, captured at its ends."""
    folder = tmp_path_factory.mktemp("captures")
    scenario = wifair.Scenario.from_dict(
        {
            "duration": "2 s",
            "wlan": {"standard": "802.11g"},
            "ap": {"queue": {"limit": "20 packets"}},
            "servers": [{"name": "server", "delay": "10 ms"}],
            "stations": [{"name": "sta"}],
            "flows": [{"name": "down", "station": "sta", "direction": "down", "tcp": {"stack": "modern"}}],
        }
    )
    wifair.run(scenario, seeds=[1], pcap=folder)
    return folder


def test_a_qlog_is_valid_and_says_what_the_capture_says(captures: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["export", "qlog", str(captures / "server.pcap"), str(tmp_path / "x.qlog")])
    assert done.exit_code == 0, done.output
    document = json.loads((tmp_path / "x.qlog").read_text())
    jsonschema.validate(document, QLOG)
    (trace,) = document["traces"]
    found = wifair.read_capture(captures / "server.pcap")
    flow = {name: found.tables["flows"][name][0] for name in ("data_packets_sent", "retransmissions", "rtt_min_s")}
    counts = Counter(one["name"] for one in trace["events"])
    assert counts["transport:packet_sent"] == flow["data_packets_sent"]
    assert flow["retransmissions"] > 5
    assert counts["recovery:packet_lost"] == flow["retransmissions"]
    times = [one["time"] for one in trace["events"]]
    assert times == sorted(times)
    sent, ended = set(), Counter[int]()
    for one in trace["events"]:
        data = one["data"]
        if one["name"] == "transport:packet_sent":
            sent.add(data["header"]["packet_number"])
        elif one["name"] == "recovery:packet_lost":
            ended[data["header"]["packet_number"]] += 1
        elif one["name"] == "transport:packet_received":
            for low, high in data["frames"][0]["acked_ranges"]:
                assert set(range(low, high + 1)) <= sent
                ended.update(number for number in range(low, high + 1) if number not in ended)
    assert sent == set(range(len(sent)))
    assert max(ended.values()) == 1, "a packet is lost once, or acknowledged"
    assert len(sent) - len(ended) < 100, "the window at the end"
    least = min(one["data"]["latest_rtt"] for one in trace["events"] if "latest_rtt" in one["data"])
    assert 0 <= least - 1e3 * flow["rtt_min_s"] < 1, "the least is that of the handshake"


def test_the_receiver_of_a_connection_is_told_apart(captures: Path, tmp_path: Path) -> None:
    wifair.write_qlog(wifair.read_capture(captures / "sta.pcap", packets=True), tmp_path / "x.qlog")
    document = json.loads((tmp_path / "x.qlog").read_text())
    jsonschema.validate(document, QLOG)
    assert document["traces"][0]["vantage_point"]["type"] == "client", "the sender of the data opened the connection"


def test_wrong_captures_are_named(captures: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="read without its packets"):
        wifair.write_qlog(wifair.read_capture(captures / "server.pcap"), tmp_path / "x.qlog")
    (tmp_path / "x.qlog").write_text("mine")
    done = CliRunner().invoke(main, ["export", "qlog", str(captures / "server.pcap"), str(tmp_path / "x.qlog")])
    assert done.exit_code == 2, done.output
    (tmp_path / "no.pcap").write_bytes((captures / "server.pcap").read_bytes()[:24])
    done = CliRunner().invoke(main, ["export", "qlog", str(tmp_path / "no.pcap"), str(tmp_path / "y.qlog")])
    assert done.exit_code == 2, done.output
    assert "no TCP connection with data" in done.stderr
    assert not (tmp_path / "y.qlog").exists()


def test_a_trace_for_mahimahi_is_what_a_saturated_run_carries(tmp_path: Path) -> None:
    text = gallery.example("cc-train").toml
    (tmp_path / "train.toml").write_text(text)
    out = tmp_path / "down"
    options = ["--station", "laptop", "--set", "flows.test.count=0", "--set", "duration=20 s"]
    options += ["--set", 'stations.laptop.snr_changes=[{at = "15 s", to = "-20 dB"}, {at = "16500 ms", to = "30 dB"}]']
    done = CliRunner().invoke(main, ["export", "mahimahi", str(tmp_path / "train.toml"), str(out), *options])
    assert done.exit_code == 0, done.output
    times = [int(line) for line in out.read_text().splitlines()]
    assert times == sorted(times)
    assert times[-1] < 15_000
    # From 15 to 16.5 s, which are 10 and 11.5 s of the trace, the laptop is out of reach.
    assert not [time for time in times if 10_200 < time < 11_500]
    document = tomllib.loads(text) | {"duration": "15 s"}
    document["stations"][0].pop("snr_changes")
    datagrams = {"transport": "udp", "udp": {"rate": "40 Mb/s", "payload": "1472 B"}}
    document["flows"][0] = {"name": "test", "station": "laptop", "direction": "down", **datagrams}
    changes = wifair.Scenario.from_dict(document)
    run = wifair.run(changes, seeds=[1])
    expected = float(run.flows["received_bytes"][run.flows["name"] == "test"][0]) / 1472
    assert len([time for time in times if time < 10_000]) == pytest.approx(expected, rel=0.03)


def test_a_trace_for_perfetto_has_each_ppdu_once_on_the_track_of_its_sender(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(gallery.example("cc-coffee-shop").toml)
    command = ["export", "perfetto", str(tmp_path / "s.toml"), str(tmp_path / "x.json"), "--from", "2 s", "--to"]
    done = CliRunner().invoke(main, [*command, "2100 ms", "--set", "duration=6 s"])
    assert done.exit_code == 0, done.output
    events = json.loads((tmp_path / "x.json").read_text())["traceEvents"]
    run = wifair.run(
        wifair.Scenario.from_file(tmp_path / "s.toml").with_({"duration": "6 s"}), seeds=[1], frames=("2 s", "2100 ms")
    )
    frames = run.tables["frames"]
    tracks = {one["tid"]: one["args"]["name"] for one in events if one["name"] == "thread_name"}
    ppdus = [one for one in events if one.get("cat") == "ppdu"]
    assert {(tracks[one["tid"]], one["ts"]) for one in ppdus} == {
        (sender, round(start * 1e9) / 1e3) for sender, start in zip(frames["sender"], frames["start_s"])
    }
    assert len(ppdus) == len(set(zip(frames["ppdu"], frames["sender"], frames["start_s"])))
    assert sum(one["args"]["bytes"] for one in ppdus) == frames["length_bytes"].sum()
    for track, station in tracks.items():
        slices = sorted(
            (one["ts"], one["ts"] + one["dur"]) for one in events if one["ph"] == "X" and one["tid"] == track
        )
        assert all(end <= start + 1e-3 for (_, end), (start, _) in itertools.pairwise(slices)), station
    assert {one["ph"] for one in events} == {"M", "X", "C"}
    assert any(one["name"] == "cwnd of test" for one in events)
    with pytest.raises(ValueError, match="no record of frames"):
        wifair.write_perfetto(
            wifair.run(wifair.Scenario.from_file(tmp_path / "s.toml").with_({"duration": "6 s"}), seeds=[1]),
            tmp_path / "y",
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--station", "nobody"], "no host 'nobody'"),
        (["--station", "laptop", "--server", "x"], "no host 'x'"),
        (["--station", "laptop", "--set", "duration=5 s", "--set", "warm_up=4999 ms"], ""),
    ],
)
def test_wrong_names_for_mahimahi(options: list[str], message: str, tmp_path: Path) -> None:
    (tmp_path / "train.toml").write_text(gallery.example("cc-deep-fifo").toml)
    done = CliRunner().invoke(main, ["export", "mahimahi", str(tmp_path / "train.toml"), str(tmp_path / "x"), *options])
    assert done.exit_code == 2, done.output
    assert message in done.stderr
    assert not (tmp_path / "x").exists()

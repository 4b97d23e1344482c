"""Reads what ``iperf3 --json`` and ``--json-stream`` wrote, at the client or at the server (iperf3 3.1 and newer).

What each end knows, as of iperf3 3.21: a client knows what was sent and what arrived in both directions, unless the
test was cut short. A server knows neither what arrived of its own streams nor what was sent of the others. Of a UDP
stream that it receives, ``end`` has the sender's bytes, or 0; its intervals have what arrived. When a test is cut
short, ``end`` divides all bytes by the time of the last whole interval, and that interval is listed twice.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from wifair._output.files import read_bounded
from wifair._output.words import counted, general, reason
from wifair.exceptions import ResultsError
from wifair.importers._located import complete
from wifair.importers.imported import FlowRow, ImportedFile, ImportedResults, repetitions_of


def read_iperf3(*paths: str | os.PathLike[str], name: str | None = None) -> ImportedResults:
    """Read JSON files of iperf3, each test of which becomes a repetition.

    Parameters
    ----------
    *paths : str or path
        Files that ``iperf3 --json`` or ``--json-stream`` wrote, with the same number of streams in the same directions.
    name : str, optional
        Name of the results; by default the name of the first file.

    Returns
    -------
    ImportedResults
        A flow for each stream: ``up1``, ``up2``, ``down1``, as the client sees it. Goodput is what the receiver
        counted; where only the sender's count is known, TCP's goodput is what was sent, and UDP's is NaN. Round-trip
        times and windows are known if the sender of the stream wrote the file.

    Raises
    ------
    ResultsError
        If a file cannot be read, is not output of iperf3, reports a failure before any traffic, or has other streams
        than the first.
    ValueError
        If there is no path.
    """
    if not paths:
        raise ValueError("no file of iperf3: expected at least one")
    texts = {str(path): _text(path) for path in paths}
    documents: dict[str, dict[str, Any]] = {}
    for path, text in texts.items():
        tests = _tests(path, text)
        documents |= {path if len(tests) == 1 else f"{path}, test {n}": one for n, one in enumerate(tests, 1)}
    nothing = "no stream: the test ended before one was open"
    repetitions = repetitions_of(documents, _repetition, "streams", nothing)
    first = next(iter(documents.values()))
    program = str(first["start"].get("version", "iperf3")).replace("iperf ", "iperf3 ")
    streams = counted(len(repetitions[0].flows), "stream")
    protocol, duration_s = complete(
        paths[0],
        first,
        lambda one: (one["start"]["test_start"]["protocol"], max(_seconds(one, stream) for stream in _ends(one))),
    )
    summary = f"{program}, {protocol}, {streams}, {general(duration_s)} s"
    short = [str(one["error"]) for one in documents.values() if one.get("error")]
    summary += f", cut short ({short[0]})" if short else ""
    label = name or Path(paths[0]).name.removesuffix(".json")
    sources = {Path(path).name: text for path, text in texts.items()}
    return ImportedResults(label, program, summary, duration_s, repetitions, sources)


def _text(path: str | os.PathLike[str]) -> str:
    try:
        return read_bounded(path).decode("utf-8", "surrogateescape")
    except OSError as error:
        raise ResultsError(f"cannot read `{path}`: {reason(error)}") from None
    except ValueError as error:
        raise ResultsError(f"cannot read `{path}`: {error}") from None


def _values(text: str) -> Iterator[Any]:
    """List the JSON values of a text: one, one for each test of a server, or one for each event of a stream."""
    at, decoder, end = 0, json.JSONDecoder(), len(text.rstrip())
    while not at or at < end:
        while at < end and text[at].isspace():
            at += 1
        try:
            value, at = decoder.raw_decode(text, at)
        except RecursionError:
            raise ValueError("its lists nest too deeply") from None
        yield value


def _tests(path: str, text: str) -> list[dict[str, Any]]:
    streamed = text.lstrip().startswith('{"event"')
    tests: list[Any] = []
    try:
        for value in _values(text):
            if streamed and isinstance(value, dict) and "event" in value:
                _add_event(tests, value["event"], value.get("data"))
            else:
                # --json-stream-full-output writes the whole document behind the events of the same test.
                tests[len(tests) - streamed :] = [value]
    except ValueError as error:
        if not (streamed and tests):  # a stream that was cut off inside a line has the events before
            again = "run iperf3 with --json or --json-stream"
            raise ResultsError(f"`{path}` is no JSON ({error}): {again}") from None
    for test in tests:
        if isinstance(test, dict) and test.get("intervals") and test.get("start") and "end" not in test:
            test |= {"error": test.get("error") or "its end is missing", "end": {"streams": []}}
        if isinstance(test, dict) and test.get("error") and not test.get("intervals"):
            raise ResultsError(f"`{path}` reports a failure of iperf3: {test['error']}")
        if not isinstance(test, dict) or not {"start", "end"} <= test.keys():
            raise ResultsError(f"`{path}` is no output of `iperf3 --json`: it has no `start` and `end`")
    return tests


def _add_event(tests: list[Any], event: str, data: Any) -> None:
    """Add an event of --json-stream to the last test, or to a new one."""
    if event == "start" or not tests or "end" in tests[-1]:
        tests.append({"intervals": []})
    if event == "interval":
        tests[-1]["intervals"].append(data)
    else:
        tests[-1][event] = data


def _ends(document: dict[str, Any]) -> list[dict[str, Any]]:
    """List what iperf3 found at the end of each stream; what it did not write because it was cut off is unknown."""
    streams: list[dict[str, Any]] = document["end"]["streams"]
    if streams or not document.get("error"):
        return streams
    udp = document["start"]["test_start"]["protocol"] == "UDP"
    sockets = {one["socket"]: one for interval in document["intervals"] for one in interval["streams"]}
    kinds = ("udp",) if udp else ("sender", "receiver")
    unknown = {"bytes": 0, "bits_per_second": 0, "packets": 0, "lost_packets": 0, "jitter_ms": math.nan, "seconds": 0}
    return [
        {kind: unknown | {"socket": socket, "sender": one.get("sender", True)} for kind in kinds}
        for socket, one in sockets.items()
    ]


def _repetition(document: dict[str, Any]) -> ImportedFile:
    start = document["start"]
    about = start.get("test_start") or {}
    at_server = "accepted_connection" in start
    # Whether this end learned what the other one counted.
    informed = not (at_server or document.get("error"))
    mss = float(start.get("tcp_mss_default") or start.get("tcp_mss") or math.nan)
    streams = [(stream, _intervals(document, stream)) for stream in _ends(document)]
    sent_here = [_sends_here(stream, intervals, about, at_server) for stream, intervals in streams]
    tail = (
        _tail(document["end"], [stream for (stream, _), sent in zip(streams, sent_here) if sent]) if informed else 0.0
    )
    flows: list[FlowRow] = []
    for (stream, intervals), sends_here in zip(streams, sent_here):
        direction = "up" if sends_here != at_server else "down"
        number = sum(flow.direction == direction for flow in flows) + 1
        samples = [_sample(one, mss) for one in intervals]
        seconds = _seconds(document, stream)
        if "udp" in stream:
            figures = _of_udp(document, stream, sends_here=sends_here, informed=informed, tail=tail)
        else:
            figures = _of_tcp(document, stream, sends_here=sends_here, informed=informed)
        for rate, size in (("goodput_bps", "received_bytes"), ("throughput_bps", "sent_bytes")):
            figures.setdefault(rate, 8 * figures[size] / seconds if seconds > 0 else math.nan)
        del figures["sent_bytes"]
        if sends_here and "udp" not in stream:
            figures |= _round_trips(stream["sender"], samples)
        flows.append(FlowRow(f"{direction}{number}", direction, figures, samples))
    return ImportedFile(flows, {}, [])


def _sends_here(
    stream: dict[str, Any], intervals: list[dict[str, Any]], about: dict[str, Any], at_server: bool
) -> bool:
    """Tell whether the end that wrote the file sent this stream."""
    known = [one["sender"] for one in (stream.get("udp") or stream["sender"], *intervals) if "sender" in one]
    return bool(known[0]) if known else bool(about.get("reverse")) == at_server


def _seconds(document: dict[str, Any], stream: dict[str, Any]) -> float:
    """How long a stream lasted; of a test cut short, until its last interval."""
    if document.get("error"):
        return max((float(one["end"]) for one in _intervals(document, stream)), default=0.0)
    return float(stream["udp" if "udp" in stream else "sender"]["seconds"])


def _of_tcp(document: dict[str, Any], stream: dict[str, Any], *, sends_here: bool, informed: bool) -> dict[str, float]:
    """Figures of a stream of TCP or SCTP; goodput is what was sent where only that is known."""
    sender, receiver = stream["sender"], stream["receiver"]
    if document.get("error"):
        here = sum(float(one["bytes"]) for one in _intervals(document, stream))
        figures = {"received_bytes": here, "sent_bytes": here if sends_here else math.nan}
    else:
        arrived = receiver if informed or not sends_here else sender
        figures = {"received_bytes": float(arrived["bytes"]), "goodput_bps": float(arrived["bits_per_second"])}
        known = informed or sends_here
        figures["sent_bytes"] = math.nan
        figures["throughput_bps"] = float(sender["bits_per_second"]) if known else math.nan
    figures["retransmissions"] = float(sender.get("retransmits", math.nan)) if informed or sends_here else math.nan
    return figures


def _of_udp(
    document: dict[str, Any], stream: dict[str, Any], *, sends_here: bool, informed: bool, tail: float
) -> dict[str, float]:
    """Bytes and datagrams of a UDP stream: what was sent and what arrived, NaN for what this end does not know."""
    udp, intervals = stream["udp"], _intervals(document, stream)
    here = sum(float(one["bytes"]) for one in intervals)
    if document.get("error"):
        packets, lost = (sum(float(one.get(key, 0)) for one in intervals) for key in ("packets", "lost_packets"))
    else:
        packets, lost = float(udp["packets"]), float(udp["lost_packets"])
    if sends_here:
        sent = here if document.get("error") else float(udp["bytes"])
        lost = lost if informed else math.nan
        received = sent * (1 - (lost + tail) / packets) if packets else 0.0 if informed else math.nan
    else:
        received = here
        sent = float(udp["bytes"]) if informed else math.nan
        if math.isnan(sent):
            sent = here * packets / (packets - lost) if packets > lost else math.nan
    return {
        "received_bytes": received,
        "sent_bytes": sent,
        "data_packets_sent": packets,
        "lost_packets": lost,
        "loss_fraction": lost / packets if packets else math.nan,
        "jitter_s": float(udp["jitter_ms"]) / 1e3 if informed or not sends_here else math.nan,
    }


def _tail(end: dict[str, Any], streams: list[dict[str, Any]]) -> float:
    """Datagrams of each of these UDP streams behind the last one that the receiver saw, which it counts as no loss."""
    seen = float((end.get("sum_received") or {}).get("packets") or math.nan)
    sent = sum(float(stream["udp"]["packets"]) for stream in streams if "udp" in stream)
    return max(sent - seen, 0.0) / len(streams) if sent and not math.isnan(seen) else 0.0


def _round_trips(sender: dict[str, Any], samples: list[dict[str, float]]) -> dict[str, float]:
    """Round-trip times and windows, which only the sender of a stream knows."""
    figures: dict[str, float] = {}
    for column, key in (("rtt_mean_s", "mean_rtt"), ("rtt_min_s", "min_rtt"), ("rtt_max_s", "max_rtt")):
        figures[column] = float(sender.get(key, math.nan)) / 1e6
    times = np.array([sample["srtt_s"] for sample in samples if "srtt_s" in sample])
    windows = [sample["cwnd"] for sample in samples if "cwnd" in sample]
    figures["rtt_samples"] = float(times.size)
    for percentile in (50, 95, 99):
        figures[f"rtt_p{percentile}_s"] = float(np.percentile(times, percentile)) if times.size else math.nan
    figures["cwnd_mean"] = float(np.mean(windows)) if windows else math.nan
    return figures


def _intervals(document: dict[str, Any], stream: dict[str, Any]) -> list[dict[str, Any]]:
    """Intervals of one stream without those of the warm-up (--omit), and each only once."""
    socket = (stream.get("udp") or stream["sender"])["socket"]
    mine = [one for interval in document["intervals"] for one in interval["streams"] if one["socket"] == socket]
    return list({(one["start"], one["end"]): one for one in mine if not one.get("omitted")}.values())


def _sample(one: dict[str, Any], mss: float) -> dict[str, float]:
    sample = {
        "time_s": float(one["end"]),
        "received_bytes": float(one["bytes"]),
        "goodput_bps": float(one["bits_per_second"]),
    }
    if "rtt" in one:
        sample["srtt_s"] = float(one["rtt"]) / 1e6
    if "snd_cwnd" in one:
        sample["cwnd"] = float(one["snd_cwnd"]) / mss
    return sample

"""Reads what ``iperf3 --json`` wrote, at the client or at the server (iperf3 3.1 and newer)."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from wifair.errors import ResultsError
from wifair.exchange.imported import FlowRow, ImportedFile, ImportedResults, complete, repetitions_of
from wifair.words import counted, general


def read_iperf3(*paths: str | os.PathLike[str], name: str | None = None) -> ImportedResults:
    """Read JSON files of iperf3, each of which becomes a repetition.

    Parameters
    ----------
    *paths : str or path
        Files that ``iperf3 --json`` wrote, with the same number of streams in the same directions.
    name : str, optional
        Name of the results; by default the name of the first file.

    Returns
    -------
    ImportedResults
        A flow for each stream: ``up1``, ``up2``, ``down1``, as the client sees it. Goodput is what the receiver
        counted. Round-trip times and windows are known if the sender of the stream wrote the file.

    Raises
    ------
    ResultsError
        If a file cannot be read, is not output of iperf3, reports a failure, or has other streams than the first.
    ValueError
        If there is no path.
    """
    if not paths:
        raise ValueError("no file of iperf3: expected at least one")
    texts = {str(path): _text(path) for path in paths}
    documents = {path: _document(path, text) for path, text in texts.items()}
    nothing = "no stream: the test ended before one was open"
    repetitions = repetitions_of(documents, _repetition, "streams", nothing)
    start, end = (documents[str(paths[0])][part] for part in ("start", "end"))
    program = str(start.get("version", "iperf3")).replace("iperf ", "iperf3 ")
    streams = counted(len(repetitions[0].flows), "stream")
    with complete(paths[0]):
        duration_s = max(float(one["sender" if "sender" in one else "udp"]["seconds"]) for one in end["streams"])
        summary = f"{program}, {start['test_start']['protocol']}, {streams}, {general(duration_s)} s"
    label = name or Path(paths[0]).name.removesuffix(".json")
    sources = {Path(path).name: text for path, text in texts.items()}
    return ImportedResults(label, program, summary, duration_s, repetitions, sources)


def _text(path: str | os.PathLike[str]) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise ResultsError(f"cannot read `{path}`: {error.strerror}") from None


def _document(path: str, text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise ResultsError(f"`{path}` is no JSON ({error}): run iperf3 with --json, once for each file") from None
    if not isinstance(document, dict) or not {"start", "end"} <= document.keys():
        raise ResultsError(f"`{path}` is no output of `iperf3 --json`: it has no `start` and `end`")
    if document.get("error"):
        raise ResultsError(f"`{path}` reports a failure of iperf3: {document['error']}")
    return document


def _repetition(document: dict[str, Any]) -> ImportedFile:
    start = document["start"]
    at_server = "accepted_connection" in start
    mss = float(start.get("tcp_mss_default") or start.get("tcp_mss") or math.nan)
    flows: list[FlowRow] = []
    for stream in document["end"]["streams"]:
        udp = stream.get("udp")
        sender = udp or stream["sender"]
        sends_here = bool(sender.get("sender", True)) if udp is None else not start["test_start"].get("reverse")
        if udp is not None and at_server:
            sends_here = not sends_here
        direction = "up" if sends_here != at_server else "down"
        number = sum(flow.direction == direction for flow in flows) + 1
        samples = _samples(document["intervals"], sender["socket"], mss)
        figures = _of_udp(udp) if udp is not None else _of_tcp(stream, samples, measured=sends_here)
        flows.append(FlowRow(f"{direction}{number}", direction, figures, samples))
    return ImportedFile(flows, {}, [])


def _of_tcp(stream: dict[str, Any], samples: list[dict[str, float]], *, measured: bool) -> dict[str, float]:
    """Figures of a TCP stream; round-trip times if its sender `measured` them here."""
    sender, receiver = stream["sender"], stream["receiver"]
    figures = {
        "goodput_bps": float(receiver["bits_per_second"]),
        "throughput_bps": float(sender["bits_per_second"]) or math.nan,  # a server does not know what was sent
        "received_bytes": float(receiver["bytes"]),
        "retransmissions": float(sender.get("retransmits", math.nan)),
    }
    if measured:
        for column, key in (("rtt_mean_s", "mean_rtt"), ("rtt_min_s", "min_rtt"), ("rtt_max_s", "max_rtt")):
            figures[column] = float(sender.get(key, math.nan)) / 1e6
        times = np.array([sample["srtt_s"] for sample in samples if "srtt_s" in sample])
        windows = [sample["cwnd"] for sample in samples if "cwnd" in sample]
        figures["rtt_samples"] = float(times.size)
        for percentile in (50, 95, 99):
            figures[f"rtt_p{percentile}_s"] = float(np.percentile(times, percentile)) if times.size else math.nan
        figures["cwnd_mean"] = float(np.mean(windows)) if windows else math.nan
    return figures


def _of_udp(udp: dict[str, Any]) -> dict[str, float]:
    """Figures of a UDP stream: what was sent, and the loss that the receiver reports."""
    packets, lost = float(udp["packets"]), float(udp["lost_packets"])
    arrived = 1 - lost / packets if packets else 0.0
    return {
        "goodput_bps": float(udp["bits_per_second"]) * arrived,
        "throughput_bps": float(udp["bits_per_second"]),
        "received_bytes": float(udp["bytes"]) * arrived,
        "data_packets_sent": packets,
        "lost_packets": lost,
        "loss_fraction": lost / packets if packets else math.nan,
        "jitter_s": float(udp["jitter_ms"]) / 1e3,
    }


def _samples(intervals: list[dict[str, Any]], socket: int, mss: float) -> list[dict[str, float]]:
    """Intervals of one stream, those of the warm-up (--omit) left out."""
    samples = []
    for interval in intervals:
        for one in interval["streams"]:
            if one["socket"] != socket or one.get("omitted"):
                continue
            sample = {
                "time_s": float(one["end"]),
                "received_bytes": float(one["bytes"]),
                "goodput_bps": float(one["bits_per_second"]),
            }
            if "rtt" in one:
                sample["srtt_s"] = float(one["rtt"]) / 1e6
            if "snd_cwnd" in one:
                sample["cwnd"] = float(one["snd_cwnd"]) / mss
            samples.append(sample)
    return samples

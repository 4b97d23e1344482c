"""Reads data files of Flent (``.flent``, ``.flent.gz``, ``.flent.bz2``; versions 1 to 4 of the format).

A file holds series: what the runners of a test measured (uploads, downloads, pings), what Flent computed from them
(sums, averages), and what it sampled beside them, under the name of the runner and a key (``TCP upload::1::tcp_rtt``,
``cpu_stats_router::load``). Source: ``flent/resultset.py`` and ``flent/tests`` of Flent 2.2.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from wifair._output.files import read_bounded
from wifair._output.words import counted, reason
from wifair.exceptions import ResultsError
from wifair.importers._located import complete
from wifair.importers.imported import FlowRow, ImportedFile, ImportedResults, repetitions_of

VERSIONS = (1, 2, 3, 4)
NO_FLOWS = (
    *("AverageRunner", "SmoothAverageRunner", "SumRunner", "DiffMinRunner", "FairnessRunner"),
    *("NullRunner", "DashJsRunner"),
)
"""Runners that compute from other series, that name a sample of another runner, or that report how a video is coded."""
COMPUTED_NAMES = (" avg", " sum", " total", " totals", " fairness")
TO_MBITS = {"Mbits/s": 1.0, "bits/s": 1e-6}
"""Units of goodput; before version 4 of the format, means of UDP flows of iperf were in bits/s."""


def read_flent(*paths: str | os.PathLike[str], name: str | None = None) -> ImportedResults:
    """Read data files of Flent, each of which becomes a repetition.

    Parameters
    ----------
    *paths : str or path
        Files that ``flent`` wrote, all of the same test.
    name : str, optional
        Name of the results; by default the title of the first file, or its test.

    Returns
    -------
    ImportedResults
        A flow for each upload and download, with its name in Flent, and with the congestion windows and round-trip
        times that Flent sampled. Series of pings are in `series` and, as mean and percentiles, in `cells`. Averages and
        sums that Flent computes, and all other samples, are left out.

    Raises
    ------
    ResultsError
        If a file cannot be read, is not a data file of Flent, has no flow with data, or has other flows than the first.
    ValueError
        If there is no path.
    """
    if not paths:
        raise ValueError("no file of Flent: expected at least one")
    documents = {str(path): _document(path) for path in paths}
    read = {path: document for path, (document, _) in documents.items()}
    repetitions = repetitions_of(read, _repetition, "flows", "no upload or download with data")
    metadata = documents[str(paths[0])][0]["metadata"]
    test, title = str(metadata.get("NAME") or "test"), str(metadata.get("TITLE") or "")
    length_s = complete(paths[0], documents[str(paths[0])][0], lambda one: float(one["metadata"].get("LENGTH") or 0))
    program = f"flent {metadata.get('FLENT_VERSION') or ''}".strip()
    summary = f"{program}, {test}, {counted(len(repetitions[0].flows), 'flow')}, {length_s:g} s"
    texts = {Path(path).name: text for path, (_, text) in documents.items()}
    return ImportedResults(name or title or test, program, summary, length_s, repetitions, texts)


def _document(path: str | os.PathLike[str]) -> tuple[dict[str, Any], str]:
    try:
        text = read_bounded(path).decode("utf-8")
        document = json.loads(text)
    except OSError as error:
        raise ResultsError(f"cannot read `{path}`: {reason(error)}") from None
    except RecursionError:
        raise ResultsError(f"`{path}` is no data file of Flent: its lists nest too deeply") from None
    except ValueError as error:
        raise ResultsError(f"`{path}` is no data file of Flent: {error}") from None
    if not isinstance(document, dict) or not {"metadata", "results", "x_values"} <= document.keys():
        raise ResultsError(f"`{path}` is no data file of Flent: it has no `metadata`, `results` and `x_values`")
    if document.get("version", 1) not in VERSIONS:
        raise ResultsError(f"`{path}` has version {document.get('version')} of Flent's format: expected 1 to 4")
    return document, text


def _repetition(document: dict[str, Any]) -> ImportedFile:
    metadata = document["metadata"].get("SERIES_META") or {}
    times = [float(time) for time in document["x_values"]]
    results = document["results"]

    def known(name: str) -> dict[float, float]:
        """Values by time, without those that are missing."""
        values = results.get(name) or [None] * len(times)
        if len(values) != len(times):
            raise ValueError(f"{len(values)} values of `{name}` at {len(times)} times")
        pairs = [(time, float(value)) for time, value in zip(times, values) if value is not None]
        return {time: value for time, value in pairs if not math.isnan(value)}

    flows: list[FlowRow] = []
    pings: dict[str, list[dict[str, float]]] = {}
    ping_s: list[float] = []
    for name in sorted(results):
        about = metadata.get(name) or {}
        if about.get("RUNNER") in NO_FLOWS or name.endswith(COMPUTED_NAMES):
            continue
        units = about.get("UNITS") or _units(name, results)
        if units == "ms" and "ping" in name.lower():
            pings[name] = [{"time_s": time, "srtt_s": value / 1e3} for time, value in known(name).items()]
            ping_s += _raw_pings(document, name)
        elif units in TO_MBITS and (values := known(name)):
            windows, rtts = known(f"{name}::tcp_cwnd"), known(f"{name}::tcp_rtt")
            flows.append(_flow(name, about, values, windows, rtts))
    return ImportedFile(flows, pings, ping_s)


def _units(name: str, results: dict[str, Any]) -> str:
    """Tell the units of a series whose file does not say them; empty for what belongs to another series."""
    parent, _, key = name.rpartition("::")
    if parent in results or key.startswith("tcp_"):
        return ""
    if "ping" in name.lower():
        return "ms"
    return "Mbits/s" if "upload" in name.lower() or "download" in name.lower() else ""


def _raw_pings(document: dict[str, Any], name: str) -> list[float]:
    """List each round-trip time of a ping [s]."""
    raw = (document.get("raw_values") or {}).get(name)
    raw = raw or ((document["metadata"].get("SERIES_META") or {}).get(name) or {}).get("RAW_VALUES") or []
    answers = [(one, float(one["val"])) for one in raw if one.get("val") is not None]
    # Before version 4 of the format, netperf's UDP pings are transactions per second.
    rates = document.get("version", 1) < 4 and "UDP" in name
    return [1 / value if rates and "dur" in one else value / 1e3 for one, value in answers if value > 0]


def _flow(
    name: str, about: dict[str, Any], values: dict[float, float], windows: dict[float, float], rtts: dict[float, float]
) -> FlowRow:
    samples = []
    first, second = (*values, math.nan)[:2]
    before = 0.0 if math.isnan(second) else 2 * first - second
    for time in sorted({*values, *windows, *rtts}):
        sample = {"time_s": time}
        if time in values:
            goodput = values[time] * 1e6
            sample |= {"goodput_bps": goodput, "received_bytes": round(max(goodput * (time - before) / 8, 0.0))}
            before = time
        if time in windows:
            sample["cwnd"] = windows[time]
        if time in rtts:
            sample["srtt_s"] = rtts[time] / 1e3
        samples.append(sample)
    # MEAN_VALUE is what the tool that Flent ran found over the whole test; it does not depend on the samples.
    reported = float(about.get("MEAN_VALUE") or 0) * TO_MBITS.get(about.get("UNITS") or "", 1.0)
    mean = (reported or sum(values.values()) / len(values)) * 1e6
    elapsed = float(about.get("ELAPSED_TIME") or math.nan)
    figures = {
        "goodput_bps": mean,
        "throughput_bps": mean if "BYTES_SENT" not in about else float(about["BYTES_SENT"]) * 8 / elapsed,
        "received_bytes": _number(about, "BYTES_RECVD"),
        "retransmissions": _number(about, "TCP_RETRANSMIT"),
        "cwnd_mean": sum(windows.values()) / len(windows) if windows else math.nan,
    }
    if rtts:
        times = np.array(list(rtts.values())) / 1e3
        figures |= {"rtt_mean_s": times.mean(), "rtt_min_s": times.min(), "rtt_max_s": times.max()}
        figures |= {f"rtt_p{share}_s": float(np.percentile(times, share)) for share in (50, 95, 99)}
        figures["rtt_samples"] = float(times.size)
    down = "download" in name.lower() or "TCP_MAERTS" in str(about.get("COMMAND", ""))
    return FlowRow(name, "down" if down else "up", figures, samples)


def _number(about: dict[str, Any], key: str) -> float:
    """Read a number, which may be a text; NaN if it is missing."""
    value = about.get(key)
    return math.nan if value in (None, "") else float(value)

"""Reads data files of Flent (``.flent``, ``.flent.gz``, ``.flent.bz2``; versions 3 and 4 of the format)."""

from __future__ import annotations

import bz2
import gzip
import json
import math
import os
import zlib
from pathlib import Path
from typing import Any

from wifair.errors import ResultsError
from wifair.exchange.imported import FlowRow, ImportedFile, ImportedResults, complete, repetitions_of
from wifair.words import counted

VERSIONS = (3, 4)
COMPUTED = ("AverageRunner", "SumRunner", "DiffMinRunner", "FairnessRunner")
"""Series that Flent computes from others."""
COMPUTED_NAMES = (" avg", " sum", " totals", "fairness")


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
        A flow for each upload and download, with its name in Flent. Series of pings are in `series` and, as mean
        and percentiles, in `cells`. Averages and sums that Flent computes are left out.

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
    with complete(paths[0]):
        length_s = float(metadata.get("LENGTH") or 0)
    program = f"flent {metadata.get('FLENT_VERSION') or ''}".strip()
    summary = f"{program}, {test}, {counted(len(repetitions[0].flows), 'flow')}, {length_s:g} s"
    texts = {Path(path).name: text for path, (_, text) in documents.items()}
    return ImportedResults(name or title or test, program, summary, length_s, repetitions, texts)


def _document(path: str | os.PathLike[str]) -> tuple[dict[str, Any], str]:
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise ResultsError(f"cannot read `{path}`: {error.strerror}") from None
    try:
        if raw.startswith(b"\x1f\x8b"):
            raw = gzip.decompress(raw)
        elif raw.startswith(b"BZh"):
            raw = bz2.decompress(raw)
        text = raw.decode("utf-8")
        document = json.loads(text)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise ResultsError(f"`{path}` is no data file of Flent: {error}") from None
    if not isinstance(document, dict) or not {"metadata", "results", "x_values"} <= document.keys():
        raise ResultsError(f"`{path}` is no data file of Flent: it has no `metadata`, `results` and `x_values`")
    if document.get("version") not in VERSIONS:
        raise ResultsError(f"`{path}` has version {document.get('version')} of Flent's format: expected 3 or 4")
    return document, text


def _repetition(document: dict[str, Any]) -> ImportedFile:
    metadata = document["metadata"].get("SERIES_META") or {}
    times = [float(time) for time in document["x_values"]]
    flows: list[FlowRow] = []
    pings: dict[str, list[dict[str, float]]] = {}
    ping_s: list[float] = []
    for name in sorted(document["results"]):
        about = metadata.get(name) or {}
        values = [math.nan if value is None else float(value) for value in document["results"][name]]
        if len(values) != len(times):
            raise ValueError(f"{len(values)} values of `{name}` at {len(times)} times")
        if about.get("RUNNER") in COMPUTED or any(end in name for end in COMPUTED_NAMES):
            continue
        known = [(time, value) for time, value in zip(times, values) if not math.isnan(value)]
        units = about.get("UNITS") or ("ms" if "ping" in name.lower() else "Mbits/s")
        if units == "ms":
            pings[name] = [{"time_s": time, "srtt_s": value / 1e3} for time, value in known]
            raw = document.get("raw_values", {}).get(name) or []
            ping_s += [float(one["val"]) / 1e3 for one in raw if one.get("val") is not None]
        elif units == "Mbits/s" and known:
            flows.append(_flow(name, about, known))
    return ImportedFile(flows, pings, ping_s)


def _flow(name: str, about: dict[str, Any], known: list[tuple[float, float]]) -> FlowRow:
    samples = []
    before = 2 * known[0][0] - known[1][0] if len(known) > 1 else 0.0
    for time, mbps in known:
        goodput = mbps * 1e6
        size = max(goodput * (time - before) / 8, 0.0)
        samples.append({"time_s": time, "goodput_bps": goodput, "received_bytes": round(size)})
        before = time
    # MEAN_VALUE is what the tool that Flent ran found over the whole test; it does not depend on the samples.
    mean = float(about.get("MEAN_VALUE") or sum(mbps for _, mbps in known) / len(known)) * 1e6
    elapsed = float(about.get("ELAPSED_TIME") or math.nan)
    figures = {
        "goodput_bps": mean,
        "throughput_bps": mean if "BYTES_SENT" not in about else float(about["BYTES_SENT"]) * 8 / elapsed,
        "received_bytes": _number(about, "BYTES_RECVD"),
        "retransmissions": _number(about, "TCP_RETRANSMIT"),
    }
    down = "download" in name.lower() or "TCP_MAERTS" in str(about.get("COMMAND", ""))
    return FlowRow(name, "down" if down else "up", figures, samples)


def _number(about: dict[str, Any], key: str) -> float:
    """Read a number, which may be a text; NaN if it is missing."""
    value = about.get(key)
    return math.nan if value in (None, "") else float(value)

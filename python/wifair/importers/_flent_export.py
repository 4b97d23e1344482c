"""Writes results as a data file of Flent (version 4 of its format), so that ``flent -i FILE`` plots them."""

from __future__ import annotations

import gzip
import json
import math
import os
from typing import Any

import numpy as np

from wifair._core import __version__
from wifair._output import files
from wifair.columns import Columns
from wifair.results.from_folder import SavedResults
from wifair.results.results import Results

FORMAT = 4
EPOCH = "1970-01-01T00:00:00.000000Z"
"""Start of every run: a simulation has no date, and the same run gives the same bytes."""


def write_flent(
    results: Results | SavedResults, path: str | os.PathLike[str], *, seed: int | None = None, force: bool = False
) -> None:
    """Write the series of one run as a data file of Flent.

    Uploads become ``TCP upload::1`` and so on, all other flows ``TCP download::1``, with averages and sums, as in
    Flent's own tests ``tcp_nup`` and ``tcp_ndown``, or ``rrul_be_nflows`` where flows go both ways. Flent
    chooses its plots by the name of the test. The smoothed round-trip time and the window of each flow are among the
    raw values, where Flent keeps them (``tcp_rtt`` [ms], ``tcp_cwnd`` [segments]).

    Parameters
    ----------
    results : Results or SavedResults
        Results with series, as from ``run(..., series="200 ms")``.
    path : str or path
        File to write; it is compressed with gzip if its name ends in ``.gz``.
    seed : int, optional
        Which run; the first by default.
    force : bool, default False
        Replace an existing file.

    Raises
    ------
    ValueError
        If there is no series, or no such seed.
    FileExistsError
        If the file exists, and `force` is not given.
    OSError
        If it cannot be written.
    """
    if results.series is None:
        raise ValueError("the results have no series over time: run with --series")
    chosen = results.seeds[0] if seed is None else seed
    if chosen not in results.seeds:
        raise ValueError(f"there is no {results.RUN} {chosen}: there are {', '.join(map(str, results.seeds))}")
    document = _document(results, results.series.filter(seed=chosen), results.flows.filter(seed=chosen))
    raw = json.dumps(document, indent=1, sort_keys=True, allow_nan=False).encode()
    files.refuse(path, force=force)
    files.write_bytes(path, gzip.compress(raw, mtime=0) if str(path).endswith(".gz") else raw)


def _document(results: Results | SavedResults, series: Columns, flows: Columns) -> dict[str, Any]:
    times = np.unique(series["time_s"])
    step_s = float(times[0]) if len(times) == 1 else float(np.median(np.diff(times)))
    values: dict[str, list[float | None]] = {}
    raw: dict[str, list[dict[str, float]]] = {}
    about: dict[str, dict[str, Any]] = {}
    counts = {"upload": 0, "download": 0}
    both = len({direction == "up" for direction in flows.to_list("direction")}) > 1
    mark = " BE" if both else ""
    for flow, direction, goodput in zip(*(flows.to_list(name) for name in ("name", "direction", "goodput_bps"))):
        way = "upload" if direction == "up" else "download"
        counts[way] += 1
        name = f"TCP {way}{mark}::{counts[way]}"
        one = series.filter(flow=flow)
        values[name] = _at(times, one["time_s"], one["goodput_bps"] / 1e6)
        raw[name] = _raw(one, step_s)
        about[name] = {"UNITS": "Mbits/s", "RUNNER": "NetperfDemoRunner", "MEAN_VALUE": goodput / 1e6, "FLOW": flow}
    for way in ("upload", "download"):
        if counts[way]:
            _computed(values, about, f"TCP {way}{mark}::", f"TCP {way}")
    if both:
        totals = zip(values["TCP upload sum"], values["TCP download sum"])
        values["TCP totals"] = [(up or 0.0) + (down or 0.0) for up, down in totals]
        about["TCP totals"] = {"UNITS": "Mbits/s", "RUNNER": "SumRunner"}
    test, streams = _test(counts)
    duration_s = results.scenario.duration_s
    metadata = {
        "NAME": test,
        "TITLE": results.scenario.name,
        "DATA_FILENAME": "",
        "FLENT_VERSION": "2.1.1",
        "NOTE": f"written by wifair {__version__}, scenario {results.scenario.hash}",
        "HOST": "server",
        "HOSTS": ["server"],
        "LOCAL_HOST": "wifair",
        "LENGTH": round(duration_s),
        "TOTAL_LENGTH": round(duration_s),
        "STEP_SIZE": step_s,
        "T0": EPOCH,
        "TIME": EPOCH,
        "IP_VERSION": 4,
        "TEST_PARAMETERS": streams,
        "SERIES_META": about,
        "REMOTE_METADATA": {},
        "FAILED_RUNNERS": 0,
    }
    return {
        "version": FORMAT,
        "metadata": metadata,
        "x_values": times.tolist(),
        "results": values,
        "raw_values": raw,
    }


def _test(counts: dict[str, int]) -> tuple[str, dict[str, str]]:
    """Name Flent's test with these flows, by whose name it knows how to plot, and its parameters."""
    if not counts["download"]:
        return "tcp_nup", {"upload_streams": str(counts["upload"])}
    if not counts["upload"]:
        return "tcp_ndown", {"download_streams": str(counts["download"])}
    return "rrul_be_nflows", {f"{way}_streams": str(number) for way, number in counts.items()}


def _computed(
    values: dict[str, list[float | None]], about: dict[str, dict[str, Any]], prefix: str, called: str
) -> None:
    """Add the sum and the average of the series whose names begin with `prefix`."""
    names = [name for name in values if name.startswith(prefix)]
    rows = list(zip(*(values[name] for name in names)))
    sums = [math.fsum(value or 0.0 for value in row) for row in rows]
    mean = math.fsum(float(about[name]["MEAN_VALUE"]) for name in names)
    for word, divisor, runner in (("sum", 1, "SumRunner"), ("avg", len(names), "AverageRunner")):
        values[f"{called} {word}"] = [total / divisor for total in sums]
        about[f"{called} {word}"] = {"UNITS": "Mbits/s", "RUNNER": runner, "MEAN_VALUE": mean / divisor}


def _at(times: Any, own: Any, values: Any) -> list[float | None]:
    """Values at the common times; None where the flow has none."""
    known = {float(time): float(value) for time, value in zip(own, values) if math.isfinite(value)}
    return [known.get(float(time)) for time in times]


def _raw(one: Columns, step_s: float) -> list[dict[str, float]]:
    rows = []
    for time, goodput, srtt, cwnd in zip(*(one.to_list(name) for name in ("time_s", "goodput_bps", "srtt_s", "cwnd"))):
        row = {"t": time, "dur": step_s, "val": goodput / 1e6}
        if math.isfinite(srtt):
            row["tcp_rtt"] = 1e3 * srtt
        if math.isfinite(cwnd):
            row["tcp_cwnd"] = cwnd
        rows.append(row)
    return rows

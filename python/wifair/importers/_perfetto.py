"""Writes a run as a trace for Perfetto's viewer: a track for each station, and counters.

Format: "Trace Event Format" (the JSON that Chrome's tracing and Perfetto read): complete events "X", counters "C" and
names of tracks "M"; times in microseconds.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from wifair._output.files import refuse, write_text
from wifair.results.results import Results

AIR, FLOWS = 1, 2
"""Numbers of the two groups of tracks."""


def write_perfetto(results: Results, path: str | os.PathLike[str], *, force: bool = False) -> int:
    """Write the frames of the first run, its windows and queues, as a trace that ui.perfetto.dev opens.

    Each station has a track with its PPDUs and backoffs; a PPDU shows its receiver, rate, MPDUs and what became of
    them. Sampled windows of flows and queues of access points are counters.

    Parameters
    ----------
    results : Results
        Of ``run(..., frames=True)``, or a part of the time; with ``series="100 ms"`` for the counters.
    path : path
        The file, as ``run.json``.
    force : bool, default False
        Replace it if it is there.

    Returns
    -------
    int
        Number of PPDUs.

    Raises
    ------
    ValueError
        If the run has no record of frames.
    """
    refuse(path, force=force)
    frames = results.tables.get("frames")
    if frames is None or not len(frames):
        raise ValueError("the run has no record of frames: run(..., frames=True)")
    seed = frames["seed"][0]
    tracks: dict[str, int] = {}
    events = [*_ppdus(results, seed, tracks), *_backoffs(results, seed, tracks)]
    count = len([event for event in events if event["cat"] == "ppdu"])
    shown = frames["start_s"][frames["seed"] == seed].min(), frames["end_s"][frames["seed"] == seed].max()
    events += _counters(results, seed, *shown)
    heads = [_named("process_name", AIR, 0, "air"), _named("process_name", FLOWS, 0, "flows and queues")]
    heads += [_named("thread_name", AIR, number, name) for name, number in tracks.items()]
    write_text(path, _parts([*heads, *events]))
    return count


def _parts(events: list[dict[str, Any]]) -> Iterator[str]:
    yield '{"displayTimeUnit": "ns", "traceEvents": [\n'
    for place, event in enumerate(events):
        yield ("" if place == 0 else ",\n") + json.dumps(event, allow_nan=False)
    yield "\n]}\n"


def _named(what: str, group: int, track: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": group, "tid": track, "args": {"name": name}}


def _ppdus(results: Results, seed: int, tracks: dict[str, int]) -> Iterator[dict[str, Any]]:
    frames = results.tables["frames"]
    mine = np.flatnonzero(frames["seed"] == seed)
    names = ("ppdu", "start_s", "end_s", "kind", "sender", "receiver", "rate_bps", "length_bytes", "retry", "fate")
    rows = list(zip(*(frames[name][mine].tolist() for name in names)))
    ppdus: dict[tuple[int, str, float], list[tuple[Any, ...]]] = {}
    for row in rows:
        ppdus.setdefault((row[0], row[4], row[1]), []).append(row)
    for (_, sender, start), parts in ppdus.items():
        _, _, end, kind, _, receiver, rate, *_ = parts[0]
        fates: dict[str, int] = {}
        for part in parts:
            fates[part[9]] = fates.get(part[9], 0) + 1
        lost = len(parts) - fates.get("received", 0)
        yield {
            "ph": "X",
            "cat": "ppdu",
            "name": f"{len(parts)} x {kind}" if len(parts) > 1 else kind,
            "pid": AIR,
            "tid": tracks.setdefault(sender, len(tracks) + 1),
            "ts": _us(start),
            "dur": _us(end) - _us(start),
            "args": {
                "to": receiver,
                "rate_mbps": rate / 1e6,
                "bytes": sum(part[7] for part in parts),
                "retries": sum(part[8] for part in parts),
                "not_received": lost,
                **fates,
            },
        }


def _backoffs(results: Results, seed: int, tracks: dict[str, int]) -> Iterator[dict[str, Any]]:
    backoffs = results.tables.get("backoffs")
    if backoffs is None:
        return
    mine = backoffs["seed"] == seed
    for station, start, end in zip(*(backoffs[name][mine].tolist() for name in ("station", "start_s", "end_s"))):
        yield {
            "ph": "X",
            "cat": "backoff",
            "name": "backoff",
            "pid": AIR,
            "tid": tracks.setdefault(station, len(tracks) + 1),
            "ts": _us(start),
            "dur": _us(end) - _us(start),
        }


def _counters(results: Results, seed: int, start_s: float, end_s: float) -> Iterator[dict[str, Any]]:
    for table, name, value, unit in (
        ("series", "flow", "cwnd", "segments"),
        ("queues", "medium", "packets", "packets"),
    ):
        samples = results.tables.get(table)
        if samples is None or not len(samples):
            continue
        within = (samples["seed"] == seed) & (samples["time_s"] >= start_s) & (samples["time_s"] <= end_s)
        for time_s, what, level in zip(*(samples[column][within].tolist() for column in ("time_s", name, value))):
            if math.isfinite(level):
                shown = f"queue of the access point, medium {what}" if table == "queues" else f"{value} of {what}"
                yield {"ph": "C", "name": shown, "pid": FLOWS, "tid": 0, "ts": _us(time_s), "args": {unit: level}}


def _us(time_s: float) -> float:
    """Convert to microseconds, exact to the nanosecond."""
    return round(time_s * 1e9) / 1e3

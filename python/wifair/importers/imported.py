"""Measurements of other programs as tables of results; NaN for what they do not report."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from wifair import metrics
from wifair._core import __version__
from wifair.columns import Columns, finite
from wifair.exceptions import ResultsError
from wifair.importers._located import complete
from wifair.results.from_folder import SavedResults

Document = TypeVar("Document")

NAN = math.nan
FLOWS = {
    "seed": "Number of the repetition.",
    "name": "Name of the flow.",
    "direction": "up or down, as the client sees it.",
    "goodput_bps": "Payload that arrived over the time of the test [bit/s].",
    "throughput_bps": "Payload that was sent over the time of the test, what was lost included [bit/s].",
    "received_bytes": "Payload that arrived [bytes].",
    "data_packets_sent": "Packets that were sent; unknown for TCP.",
    "retransmissions": "Segments that TCP sent again.",
    "timeouts": "Expiries of the retransmission timer; unknown.",
    "rtt_mean_s": "Mean of the kernel's smoothed round-trip time [s].",
    "rtt_min_s": "Shortest round-trip time [s].",
    "rtt_p50_s": "Median round-trip time [s].",
    "rtt_p95_s": "95th percentile of the round-trip time [s].",
    "rtt_p99_s": "99th percentile of the round-trip time [s].",
    "rtt_max_s": "Longest round-trip time [s].",
    "rtt_samples": "Number of samples of the round-trip time.",
    "cwnd_mean": "Mean congestion window of the samples [segments].",
    "lost_packets": "UDP datagrams that did not arrive; unknown for TCP.",
    "loss_fraction": "The same, over those sent.",
    "jitter_s": "UDP interarrival jitter (RFC 3550, section 6.4.1) [s].",
}
CELLS = {
    "seed": "Number of the repetition.",
    "goodput_bps": "Goodput of all flows [bit/s].",
    "throughput_bps": "Throughput of all flows [bit/s].",
    "jain_index": "Jain's index of the goodput of the flows.",
    "up_down_ratio": "Goodput of all uploads over that of all downloads; none without downlink goodput.",
    "uplink_share": "Part of the goodput that went up.",
    "up_goodput_bps": "Goodput of all uploads [bit/s].",
    "down_goodput_bps": "Goodput of all downloads [bit/s].",
    "starved_fraction": "Part of the flows that got less than a tenth of the mean.",
    "retransmissions": "Segments that TCP sent again.",
    "ping_mean_s": "Mean round-trip time of pings [s].",
    "ping_p50_s": "Median round-trip time of pings [s].",
    "ping_p95_s": "95th percentile of the round-trip time of pings [s].",
    "ping_p99_s": "99th percentile of the round-trip time of pings [s].",
}
SERIES = {
    "seed": "Number of the repetition.",
    "time_s": "End of the interval, since the start of the test [s].",
    "flow": "Name of the flow, or of the ping.",
    "cwnd": "Congestion window [segments].",
    "srtt_s": "Smoothed round-trip time of the flow, or round-trip time of the ping [s].",
    "received_bytes": "Payload since the sample before [bytes].",
    "goodput_bps": "Payload since the sample before [bit/s].",
}


class FlowRow(NamedTuple):
    """One flow of a repetition: its figures by the names of columns, and its samples over time."""

    name: str
    direction: str
    figures: Mapping[str, float]
    samples: Sequence[Mapping[str, float]]


class ImportedFile(NamedTuple):
    """One file: its flows, its pings over time, and round-trip times of pings [s]."""

    flows: Sequence[FlowRow]
    pings: Mapping[str, Sequence[Mapping[str, float]]]
    ping_s: Sequence[float]


class ImportedResults(SavedResults):
    """What another program measured, in the tables of `Results`; each file is a repetition.

    What the program does not report is NaN; there are no stations and no sessions.
    """

    RUN = "repetition"

    def __init__(
        self,
        name: str,
        program: str,
        summary: str,
        duration_s: float,
        repetitions: Sequence[ImportedFile],
        sources: Mapping[str, str],
    ) -> None:
        """`summary` says what was measured, `sources` are the files read, by their names."""
        self.version = __version__
        self.program = program
        self.seeds = tuple(range(1, len(repetitions) + 1))
        digest = hashlib.sha256("\0".join(sources.values()).encode("utf-8", "surrogateescape")).hexdigest()
        note = f"# Imported from {program}: {', '.join(sources)}.\n"
        self.scenario = SimpleNamespace(
            name=name,
            hash=digest,
            duration_s=duration_s,
            warm_up_s=0.0,
            summary=summary,
            toml=note,
            resolved=note,
            overrides=(),
        )
        numbered = list(zip(self.seeds, repetitions))
        flows = [(seed, flow) for seed, one in numbered for flow in one.flows]
        samples = [{"seed": seed, **sample} for seed, one in numbered for sample in _samples(one)]
        self.flows = _table(
            ({"seed": seed, "name": one.name, "direction": one.direction, **one.figures} for seed, one in flows), FLOWS
        )
        self.cells = _table(({"seed": seed, **_cell(one)} for seed, one in numbered), CELLS)
        self.series = _table(samples, SERIES) if samples else None
        self.stations = Columns({"seed": np.empty(0, dtype=np.uint64), "name": np.empty(0, dtype=np.str_)})
        self.sessions = Columns({"seed": np.empty(0, dtype=np.uint64), "flow": np.empty(0, dtype=np.str_)})
        self.queues = None

    @property
    def tables(self) -> dict[str, Columns]:
        """All tables, by name."""
        tables = {"flows": self.flows, "cells": self.cells, "stations": self.stations, "sessions": self.sessions}
        return tables | ({} if self.series is None else {"series": self.series})

    @property
    def sources(self) -> dict[str, str]:
        """Texts that say what was imported, by the names of files."""
        return {"scenario.toml": self.scenario.toml, "resolved.toml": self.scenario.resolved}

    def _origin(self) -> dict[str, Any]:
        scenario = self.scenario
        return {
            "version": self.version,
            "program": self.program,
            "run": self.RUN,
            "scenario": {
                "name": scenario.name,
                "hash": scenario.hash,
                "duration_s": scenario.duration_s,
                "summary": scenario.summary,
                "overrides": [],
            },
            "seeds": list(self.seeds),
        }

    def _summary(self) -> dict[str, Any]:
        return {
            name: {"mean": finite(interval.mean), "ci95": finite(interval.half_width)}
            for name, interval in self.summary.items()
        }

    def save(
        self, directory: str | os.PathLike[str], *, formats: Iterable[str] | None = None, force: bool = False
    ) -> None:
        """Write all tables into a new folder, which is read like one of ``wifair run --out``; see `Results.save`."""
        from wifair.results.folder import Folder  # noqa: PLC0415

        with Folder(directory, formats=formats, force=force) as folder:
            folder.write(self)


def repetitions_of(
    documents: Mapping[str, Document], read: Callable[[Document], ImportedFile], what: str, nothing: str
) -> list[ImportedFile]:
    """Read the repetition in each document.

    Parameters
    ----------
    documents : mapping
        Contents of the files by path.
    read : callable
        Reads one of them.
    what : str
        What the program calls its flows.
    nothing : str
        What a file without a flow has, for the message.

    Raises
    ------
    ResultsError
        If a document is not complete, has no flow, or has other flows than the first.
    """
    found: list[ImportedFile] = []
    for path, document in documents.items():
        found.append(complete(path, document, read))
        if not found[-1].flows:
            raise ResultsError(f"`{path}` has {nothing}")
        try:
            _cell(found[-1])  # refuses goodput that is no number
        except (ValueError, OverflowError) as error:
            raise ResultsError(f"`{path}` is not complete: {error}") from None
    first, *others = [[(flow.name, flow.direction) for flow in one.flows] for one in found]
    paths = list(documents)
    for path, shape in zip(paths[1:], others):
        if shape != first:
            raise ResultsError(f"`{path}` has other {what} than `{paths[0]}`: import it by itself")
    return found


def _table(rows: Iterable[Mapping[str, object]], about: Mapping[str, str]) -> Columns:
    """Make a table with the columns that `about` explains; NaN is for what a row does not have."""
    rows = list(rows)
    kinds: dict[str, Any] = {"seed": np.uint64, "name": np.str_, "direction": np.str_, "flow": np.str_}
    data = {name: np.array([row.get(name, NAN) for row in rows], kinds.get(name, np.float64)) for name in about}
    return Columns(data, about)


def _cell(repetition: ImportedFile) -> dict[str, float]:
    goodput = np.array([flow.figures["goodput_bps"] for flow in repetition.flows])
    upload = np.array([flow.direction == "up" for flow in repetition.flows])
    again = [flow.figures.get("retransmissions", NAN) for flow in repetition.flows]
    found = {"throughput_bps": float(sum(flow.figures.get("throughput_bps", NAN) for flow in repetition.flows))}
    if np.isnan(goodput).any():  # who sent UDP and was told nothing knows no goodput
        return found
    found |= {
        "goodput_bps": float(goodput.sum()),
        "jain_index": float(metrics.jain_index(goodput)),
        "up_goodput_bps": float(goodput[upload].sum()) if upload.any() else NAN,
        "down_goodput_bps": float(goodput[~upload].sum()) if not upload.all() else NAN,
        "starved_fraction": float(metrics.starved_fraction(goodput)),
        "retransmissions": float(np.nansum(again)) if not np.isnan(again).all() else NAN,
    }
    if upload.any() and not upload.all():
        if found["down_goodput_bps"] > 0:
            found["up_down_ratio"] = metrics.up_down_ratio(goodput, upload)
        found["uplink_share"] = metrics.uplink_share(goodput, upload)
    if repetition.ping_s:
        times = np.array(repetition.ping_s)
        found["ping_mean_s"] = float(times.mean())
        for percentile in (50, 95, 99):
            found[f"ping_p{percentile}_s"] = float(np.percentile(times, percentile))
    return found


def _samples(repetition: ImportedFile) -> Iterator[dict[str, object]]:
    """List the samples of flows and pings over time."""
    named = [(flow.name, flow.samples) for flow in repetition.flows] + list(repetition.pings.items())
    for name, samples in named:
        yield from ({"flow": name, **sample} for sample in samples)

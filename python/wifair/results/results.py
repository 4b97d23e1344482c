"""Results of a scenario over its seeds."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from wifair import _core
from wifair._output.files import json_parts
from wifair._output.report import html_tables, text
from wifair.columns import Columns, finite
from wifair.figures.drawable import Drawable
from wifair.figures.style import Look
from wifair.results._summary import Summary
from wifair.results.folder import Folder
from wifair.results.stacking import Gathered
from wifair.scenario.scenario import Scenario
from wifair.statistics import limits, mean_interval

FORMAT = 1
"""Version of the JSON: fields may be added within one, none is renamed or removed."""


class Results(Drawable):
    """What the runs of a scenario measured, from the end of the warm-up to the end of each run.

    Each table is a `wifair.Columns` whose first column is the seed.

    Attributes
    ----------
    scenario : Scenario
        What was simulated.
    seeds : tuple of int
        Seeds of the runs, in the order in which they were given.
    flows, cells, stations, sessions : Columns
        A row for each seed and flow; seed; seed and station; seed and transmission session.
    series, queues : Columns or None
        State of each flow and of each access point's queue over time, if requested.
    frames, backoffs : Columns or None
        Every frame on the air and every stretch of backoff, if requested.
    """

    RUN = "seed"
    """The noun for what distinguishes runs of a scenario."""
    _DERIVED: frozenset[str] = frozenset({"goodput_bps"})
    """Columns of the series that are not in the JSON."""
    _ran = ""
    """The hash of a scenario with classes as it was run: their sources may change."""

    def __init__(
        self, scenario: Scenario, outcomes: Iterable[_core.Outcome] | Gathered, *, series_step_s: float = math.nan
    ) -> None:
        """`outcomes` are what the core returned, one for each seed; `series_step_s` is the time between samples."""
        gathered = outcomes if isinstance(outcomes, Gathered) else Gathered(outcomes)
        self.scenario = scenario
        self._ran = scenario.hash if scenario._core.classes() else ""
        self._runs = tuple(gathered.runs)
        self.seeds = tuple(run.seed for run in gathered.runs)
        self.flows = gathered.table("flows")
        self.cells = gathered.table("cell")
        self.stations = gathered.table("stations")
        self.sessions = gathered.table("sessions")
        with_series = "series" in gathered
        self.series = _with_goodput(gathered.table("series"), series_step_s) if with_series else None
        self.queues = gathered.table("queues") if with_series else None
        with_frames = "frames" in gathered
        self.frames = gathered.table("frames") if with_frames else None
        self.backoffs = gathered.table("backoffs") if with_frames else None

    @property
    def tables(self) -> dict[str, Columns]:
        """All tables, by name."""
        tables = {"flows": self.flows, "cells": self.cells, "stations": self.stations, "sessions": self.sessions}
        if self.series is not None and self.queues is not None:
            tables |= {"series": self.series, "queues": self.queues}
        if self.frames is not None and self.backoffs is not None:
            tables |= {"frames": self.frames, "backoffs": self.backoffs}
        return tables

    @property
    def sources(self) -> dict[str, str]:
        """Texts that say what was run, by the names of files."""
        return {"scenario.toml": self.scenario.toml, "resolved.toml": self.scenario.resolved}

    @cached_property
    def summary(self) -> Summary:
        """Mean over the seeds and half width of the 95 % interval (Student t) of every figure of the cell."""
        return Summary({name: mean_interval(self.cells.to_list(name)) for name in self.cells if name != "seed"})

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain Python values, in the layout of ``wifair run --json``; None for missing values.

        Returns
        -------
        dict
            ``format`` (of this layout), ``version``, ``scenario`` (``name``, ``hash``, ``duration_s``,
            ``overrides``), ``seeds``, ``runs`` and ``summary``. Each run has ``seed``, ``measured_s``, ``events``,
            ``flows``, ``stations`` and ``sessions`` (a dict for each), ``cell``, and, if asked for, ``series`` and
            ``queues`` (lists by column). ``summary`` has ``mean``, ``ci95`` (half width of the 95 % interval), and
            ``low`` and ``high`` (its ends, within possible values) for every figure of ``cell``.
        """
        return {**self._origin(), "runs": list(self._run_dicts()), "summary": self._summary()}

    def _run_dicts(self) -> Iterator[dict[str, Any]]:
        """Give each run as plain Python values, one after the other."""
        tables = {name: columns.drop("seed") for name, columns in self._by_run().items()}
        for run in self._runs:
            parts = {name: columns.slice(*run.rows.get(name, (0, 0))) for name, columns in tables.items()}
            document: dict[str, Any] = {"seed": run.seed, "measured_s": run.measured_s, "events": run.events}
            document["cell"] = parts["cell"].to_dicts()[0]
            document |= {name: parts[name].to_dicts() for name in ("flows", "stations", "sessions")}
            for name in ("series", "queues"):
                if name in run.rows:
                    over_time = parts[name]
                    document[name] = {name: [finite(v) for v in over_time.to_list(name)] for name in over_time}
            yield document

    def _by_run(self) -> dict[str, Columns]:
        """Return the tables that are split by run, by the names of the core."""
        tables = {"cell": self.cells, "flows": self.flows, "stations": self.stations, "sessions": self.sessions}
        if self.series is not None and self.queues is not None:
            tables |= {"series": self.series.drop(*self._DERIVED), "queues": self.queues}
        return tables

    def _origin(self) -> dict[str, Any]:
        """Say what was run, by which version."""
        return {
            "format": FORMAT,
            "version": _core.__version__,
            "scenario": {
                "name": self.scenario.name,
                "hash": self._ran or self.scenario.hash,
                "duration_s": self.scenario.duration_s,
                "overrides": list(self.scenario.overrides),
            },
            "seeds": list(self.seeds),
        }

    def _summary(self) -> dict[str, Any]:
        return {
            name: {
                "mean": finite(interval.mean),
                "ci95": finite(interval.half_width),
                "low": finite(limits(name, interval)[0]),
                "high": finite(limits(name, interval)[1]),
            }
            for name, interval in self.summary.items()
        }

    def to_json(self) -> str:
        """Write the same as JSON text; the same results give the same bytes."""
        return "".join(self.json_parts())

    def json_parts(self) -> Iterator[str]:
        """Write the same text in parts, so that at most one run is in memory as text."""
        yield from json_parts({**self._origin(), "runs": self._run_dicts(), "summary": self._summary()})
        yield "\n"

    def save(
        self, directory: str | os.PathLike[str], *, formats: Iterable[str] | None = None, force: bool = False
    ) -> None:
        """Write all tables into a new folder, with scenario and provenance, so that they can be reproduced.

        Parameters
        ----------
        directory : str or path
            The folder to create. It appears only when it is complete.
        formats : iterable of {"csv", "parquet"}, optional
            CSV, and Parquet if pyarrow is installed, by default.
        force : bool, default False
            Replace a folder of earlier results.

        Raises
        ------
        FileExistsError
            If the folder is not empty, and `force` is not given or it does not hold results of this package.
        OSError
            If it cannot be written.
        ImportError
            If Parquet is requested and pyarrow is not installed.
        """
        with Folder(directory, formats=formats, force=force) as folder:
            folder.write(self)

    def with_series_of(self, sampled: Results) -> Results:
        """Return the same results with the series and queues of another run of the scenario.

        Parameters
        ----------
        sampled : Results
            A run with `series`, of the first of these seeds at least.

        Returns
        -------
        Results
            All tables of these results, `series` and `queues` of the others.
        """
        other = copy.copy(self)
        other.series, other.queues = sampled.series, sampled.queues
        return other

    def figure(
        self,
        *,
        title: str | None = None,
        labels: Mapping[str, str] | None = None,
        size: str | None = None,
        logy: bool = False,
    ) -> Any:
        """Draw who got how much: goodput of the flows over time and on average, windows, the AP's queue.

        Curves over time need `series`; without it only the goodput of each flow is drawn.

        Parameters
        ----------
        title : str, optional
            Title over the figure; by default it says what was run; none if empty.
        labels : mapping of str to str, optional
            Replacements for the names of flows or of ``goodput_bps``, ``time_s``, ``cwnd``, ``ap_queue_packets``.
        size : str, optional
            ``"one-column"``, ``"two-column"``, ``"16 cm"`` or ``"3.5 x 2.4 in"``.
        logy : bool, default False
            Goodput on a logarithmic scale.

        Returns
        -------
        matplotlib.figure.Figure
            Change it, show it in a notebook, or save it with ``savefig``; fonts are embedded.

        Raises
        ------
        ValueError
            If there is no flow, the size is invalid, or a label names nothing that is drawn.
        ImportError
            If matplotlib is not installed.
        """
        from wifair.figures.run import draw  # noqa: PLC0415

        return draw(self, Look.of(title, labels, size, logy))

    def __repr__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str:
        return html_tables(self)


class SampledResults(Results):
    """Results of a run with `series`: `series` and `queues` are never None.

    Attributes
    ----------
    series, queues : Columns
        State of each flow and of each access point's queue over time.
    """

    series: Columns
    queues: Columns


def _with_goodput(series: Columns, step_s: float) -> Columns:
    goodput = 8 * series["received_bytes"].astype(float) / step_s
    about = {**series.about, "goodput_bps": "New payload handed to the application since the sample before [bit/s]."}
    return Columns({**series, "goodput_bps": goodput}, about)

"""Results of a scenario over its seeds."""

from __future__ import annotations

import copy
import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

from wifair._core import __version__
from wifair.columns import Columns
from wifair.statistics import limits, mean_interval
from wifair.summary import Summary

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from wifair._core import Outcome, RawColumn, RawData
    from wifair.scenario import Scenario

__all__ = ["FORMAT", "Results", "SampledResults"]

FORMAT = 1
"""Version of the JSON: fields may be added within one, none is renamed or removed."""


class Results:
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
        State of each flow and of each access point's queue over time, if it was asked for.
    frames, backoffs : Columns or None
        Every frame on the air and every stretch of backoff, if they were asked for.
    """

    RUN = "seed"
    """What tells runs of the same scenario apart."""

    def __init__(self, scenario: Scenario, outcomes: Sequence[Outcome], *, series_step_s: float = math.nan) -> None:
        """`outcomes` are what the core returned, one for each seed; `series_step_s` is the time between samples."""
        self.scenario = scenario
        self._outcomes = tuple(outcomes)
        self.seeds = tuple(outcome["seed"] for outcome in outcomes)
        self.flows = self._table("flows")
        self.cells = self._table("cell")
        self.stations = self._table("stations")
        self.sessions = self._table("sessions")
        with_series = bool(outcomes) and outcomes[0]["series"] is not None
        self.series = _with_goodput(self._table("series"), series_step_s) if with_series else None
        self.queues = self._table("queues") if with_series else None
        with_frames = bool(outcomes) and outcomes[0].get("frames") is not None
        self.frames = self._table("frames") if with_frames else None
        self.backoffs = self._table("backoffs") if with_frames else None

    def _table(self, name: str) -> Columns:
        return _stack([(outcome["seed"], outcome[name] or []) for outcome in self._outcomes])  # type: ignore[literal-required]

    @property
    def tables(self) -> dict[str, Columns]:
        """All tables that there are, by name."""
        tables = {"flows": self.flows, "cells": self.cells, "stations": self.stations, "sessions": self.sessions}
        if self.series is not None and self.queues is not None:
            tables |= {"series": self.series, "queues": self.queues}
        if self.frames is not None and self.backoffs is not None:
            tables |= {"frames": self.frames, "backoffs": self.backoffs}
        return tables

    @property
    def sources(self) -> dict[str, str]:
        """Texts that say what was run, by the names of files."""
        return {"scenario.toml": self.scenario.text, "resolved.toml": self.scenario.resolved}

    @cached_property
    def summary(self) -> Summary:
        """Mean over the seeds and half width of the 95 % interval (Student t) of every figure of the cell."""
        return Summary({name: mean_interval(self.cells.to_list(name)) for name in self.cells if name != "seed"})

    def to_dict(self) -> dict[str, Any]:
        """As plain Python values, in the layout of ``wifair run --json``; None for what there is not.

        Returns
        -------
        dict
            ``format`` (of this layout), ``version``, ``scenario`` (``name``, ``hash``, ``duration_s``,
            ``overrides``), ``seeds``, ``runs`` and ``summary``. Each run has ``seed``, ``measured_s``, ``events``,
            ``flows``, ``stations`` and ``sessions`` (a dict for each), ``cell``, and, if asked for, ``series`` and
            ``queues`` (lists by column). ``summary`` has ``mean``, ``ci95`` (half width of the 95 % interval), and
            ``low`` and ``high`` (its ends, inside of what is possible) for every figure of ``cell``.
        """
        runs = [_run(outcome) for outcome in self._outcomes]
        return {**self._origin(), "runs": runs, "summary": self._summary()}

    def _origin(self) -> dict[str, Any]:
        """Say what was run, by which version."""
        return {
            "format": FORMAT,
            "version": __version__,
            "scenario": {
                "name": self.scenario.name,
                "hash": self.scenario.hash,
                "duration_s": self.scenario.duration_s,
                "overrides": list(self.scenario.overrides),
            },
            "seeds": list(self.seeds),
        }

    def _summary(self) -> dict[str, Any]:
        return {
            name: {
                "mean": _finite(interval.mean),
                "ci95": _finite(interval.half_width),
                "low": _finite(limits(name, interval)[0]),
                "high": _finite(limits(name, interval)[1]),
            }
            for name, interval in self.summary.items()
        }

    def to_json(self) -> str:
        """Write the same as JSON text; the same results give the same bytes."""
        import json  # noqa: PLC0415

        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def save(
        self, directory: str | os.PathLike[str], *, formats: Iterable[str] | None = None, force: bool = False
    ) -> None:
        """Write all tables into a new folder, with what it takes to get them again.

        Parameters
        ----------
        directory : str or path
            The folder to make. It appears when it is complete.
        formats : iterable of {"csv", "parquet"}, optional
            CSV, and Parquet too where pyarrow is installed, by default.
        force : bool, default False
            Replace a folder of earlier results.

        Raises
        ------
        FileExistsError
            If the folder is not empty, and is no result of this package or `force` is not given.
        OSError
            If it cannot be written.
        ImportError
            If Parquet is asked for and pyarrow is not installed.
        """
        from wifair.output import Folder  # noqa: PLC0415

        with Folder(directory, formats=formats, force=force) as folder:
            folder.write(self)

    def with_series_of(self, sampled: Results) -> Results:
        """Give the same results with the series and queues of another run of the same scenario.

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

        What goes over time needs `series`; without it only the goodput of each flow is drawn.

        Parameters
        ----------
        title : str, optional
            Title over the figure; what was run by default, none if empty.
        labels : mapping of str to str, optional
            Other texts, by the names of flows or of ``goodput_bps``, ``time_s``, ``cwnd``, ``ap_queue_packets``.
        size : str, optional
            ``"one-column"``, ``"two-column"``, ``"16 cm"`` or ``"3.5 x 2.4 in"``.
        logy : bool, default False
            Goodput on a logarithmic scale.

        Returns
        -------
        matplotlib.figure.Figure
            To be changed, shown in a notebook, or saved by its ``savefig``, with fonts embedded.

        Raises
        ------
        ValueError
            If there is no flow, the size is none, or a label names nothing that is drawn.
        ImportError
            If matplotlib is not installed.
        """
        from wifair.figures.run import draw  # noqa: PLC0415
        from wifair.figures.style import Look  # noqa: PLC0415

        return draw(self, Look.of(title, labels, size, logy))

    def save_figure(self, path: str | os.PathLike[str], **options: Any) -> Any:
        """Draw it into a file.

        Parameters
        ----------
        path : str or path
            The file, by whose end it is PNG, SVG or PDF. It is replaced if it is there.
        **options
            As for `figure`.

        Returns
        -------
        matplotlib.figure.Figure
            What was saved.

        Raises
        ------
        ValueError
            If its end is another, or an option is wrong.
        ImportError
            If matplotlib is not installed.
        OSError
            If the file cannot be written.
        """
        from wifair.figures.style import check, save  # noqa: PLC0415

        check(path)
        figure = self.figure(**options)
        save(figure, path)
        return figure

    def __repr__(self) -> str:
        from wifair.report import text  # noqa: PLC0415

        return text(self)

    def _repr_html_(self) -> str:
        from wifair.report import html_tables  # noqa: PLC0415

        return html_tables(self)


class SampledResults(Results):
    """Results of a run with `series`: what was sampled over time is there.

    Attributes
    ----------
    series, queues : Columns
        State of each flow and of each access point's queue over time.
    """

    series: Columns
    queues: Columns


def table(columns: Iterable[RawColumn]) -> Columns:
    """Make a table of what the core hands over."""
    columns = list(columns)
    return Columns({name: data for name, _, data in columns}, {name: meaning for name, meaning, _ in columns})


def _stack(tables: list[tuple[int, list[RawColumn]]]) -> Columns:
    """Tables of several seeds as one, the seed in front."""
    about = {"seed": "Seed of the run."}
    parts: dict[str, list[RawData]] = {"seed": []}
    for seed, columns in tables:
        rows = table(columns).rows
        parts["seed"].append(("<u8", seed.to_bytes(8, "little") * rows))
        for name, meaning, data in columns:
            about[name] = meaning
            parts.setdefault(name, []).append(data)
    return Columns({name: _joined(data) for name, data in parts.items() if data}, about)


def _joined(parts: list[RawData]) -> RawData:
    """Columns of the same kind as one; a column without rows may have come as numbers though others are texts."""
    texts = [text for part in parts if isinstance(part, list) for text in part]
    numbers = [part for part in parts if isinstance(part, tuple)]
    if texts or not numbers:
        return texts
    return numbers[0][0], b"".join(data for _, data in numbers)


def _with_goodput(series: Columns, step_s: float) -> Columns:
    goodput = 8 * series["received_bytes"].astype(float) / step_s
    about = {**series.about, "goodput_bps": "New payload handed to the application since the sample before [bit/s]."}
    return Columns({**series, "goodput_bps": goodput}, about)


def _run(outcome: Outcome) -> dict[str, Any]:
    run = {
        "seed": outcome["seed"],
        "measured_s": outcome["measured_s"],
        "events": outcome["events"],
        "cell": table(outcome["cell"]).records()[0],
        "flows": table(outcome["flows"]).records(),
        "stations": table(outcome["stations"]).records(),
        "sessions": table(outcome["sessions"]).records(),
    }
    for name in ("series", "queues"):
        columns: list[RawColumn] | None = outcome[name]
        if columns is not None:
            over_time = table(columns)
            run[name] = {name: [_finite(v) for v in over_time.to_list(name)] for name in over_time}
    return run


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value

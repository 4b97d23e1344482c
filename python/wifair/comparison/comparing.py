"""Comparison of scenarios, results, measurements and captures: differences with confidence intervals."""

from __future__ import annotations

import math
import os
import shutil
import textwrap
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from wifair._core import __version__
from wifair._output.files import json_text
from wifair._output.report import WIDE, figure_text, named
from wifair._output.streams import escape
from wifair._output.tables import aligned
from wifair._output.words import counted, general
from wifair.columns import Columns
from wifair.comparison._flow_figures import by_flow, figures_of_flows, flow_of, is_telling, label_of, only_in
from wifair.comparison.sources import Found, is_scenario, read
from wifair.figures.drawable import Drawable
from wifair.figures.style import Look
from wifair.results.from_folder import SavedResults
from wifair.results.results import Results
from wifair.scenario.scenario import Scenario, Source, scenario_of
from wifair.simulation.seeds import Seeding, read_seeds
from wifair.simulation.simulate import run
from wifair.statistics import NO_INTERVAL, Interval, limits, mean_interval, paired_difference, welch_difference

FORMAT = 1
DEFAULT_SEEDS = tuple(range(1, 11))

# The figures that are shown by default, and their names.
LABELS = {
    "goodput_bps": "goodput",
    "up_goodput_bps": "- uplink",
    "down_goodput_bps": "- downlink",
    "least_goodput_bps": "least of a flow",
    "jain_index": "Jain's index",
    "starved_fraction": "starved flows",
    "up_down_ratio": "uplink / downlink",
    "instantaneous_fairness": "instantaneous fairness",
    "rtt_mean_s": "RTT",
    "retransmitted_fraction": "retransmitted",
    "timeouts": "timeouts",
    "air_collision": "air time of collisions",
    "air_idle": "idle air",
    "ap_queue_mean_packets": "AP queue [packets]",
    "ap_drops_data": "data dropped at AP",
    "ap_drops_ack": "ACKs dropped at AP",
}
WAYS = ("up_goodput_bps", "down_goodput_bps")
ALIKE = 0.1
"""Relative difference up to which figures of a capture and of a run agree."""
MANY = 9.0
"""Larger relative differences are shown as multiples."""
PERCENT = ("air_", "starved_fraction", "retransmitted_fraction", "loss_fraction", "uplink_share")
ABOUT = {
    "figure": "Figure of the cell, or, behind a colon, of a flow.",
    "baseline": "Name of the first.",
    "candidate": "Name of the one that is held against it.",
    "baseline_mean": "Mean of the figure over the seeds of the first.",
    "baseline_ci95": "Half width of its 95 % interval (Student t).",
    "mean": "Mean of the figure over the seeds of the candidate.",
    "ci95": "Half width of its 95 % interval (Student t).",
    "difference": "Mean difference, candidate minus first.",
    "difference_ci95": "Half width of its 95 % interval: Student t of pairs of equal seeds, else Welch.",
    "relative": "Difference over the mean of the first.",
    "pairs": "Pairs of equal seeds; 0 where runs are independent, or one of the two lacks the figure.",
    "shown": "Whether the interval of the difference leaves out zero.",
}


class Difference(NamedTuple):
    """The difference between a candidate and the reference (the first source) in a figure; NaN if one lacks it."""

    figure: str
    baseline: str
    candidate: str
    first: Interval
    second: Interval
    difference: Interval
    pairs: int
    """Pairs of equal seeds; 0 where the values are independent."""

    @property
    def relative(self) -> float:
        """Difference over the mean of the first."""
        return self.difference.mean / self.first.mean if self.first.mean else math.nan

    @property
    def shown(self) -> bool:
        """Whether the interval of the difference leaves out zero."""
        mean, half = self.difference
        return not math.isnan(half) and abs(mean) > half

    @property
    def both(self) -> bool:
        """Whether both have the figure."""
        return not math.isnan(self.first.mean) and not math.isnan(self.second.mean)


class _Side:
    """A source of the comparison: a value of each figure for each seed."""

    def __init__(self, name: str, results: Found, *, flows: bool) -> None:
        self.name = name
        self.results = results
        self.paired = isinstance(results, (Results, SavedResults)) and results.RUN == "seed"
        """Whether equal seeds mean equal random numbers."""
        self.figures: dict[str, dict[int, float]] = {}
        seeds = [int(seed) for seed in results.cells["seed"]]
        for figure, column in results.cells.items():
            if figure != "seed":
                self.figures[figure] = dict(zip(seeds, map(float, column)))
        for seed in seeds:
            self._of_flows(seed, results.flows.filter(seed=seed), each=flows)

    def _of_flows(self, seed: int, flows: Columns, *, each: bool) -> None:
        """Compute figures from those of the flows."""
        if not len(flows):
            return
        sent = float(flows["data_packets_sent"].sum())
        # A capture point sees only part of a round trip, unless it is at the sender or there are timestamps.
        path = "rtt_path_mean_s" if "rtt_path_mean_s" in flows else "rtt_mean_s"
        # In a capture, only flows that had more to send than they could are like those of a run.
        alike = flows["competes"] if "competes" in flows and any(flows["competes"]) else np.ones(len(flows), dtype=bool)
        rtt = np.asarray(flows[path], dtype=np.float64)
        known = rtt[~np.isnan(rtt) & alike]
        found = {
            "least_goodput_bps": float(flows["goodput_bps"][alike].min()),
            "rtt_mean_s": float(known.mean()) if known.size else math.nan,
            "retransmitted_fraction": float(flows["retransmissions"].sum()) / sent if sent else math.nan,
        }
        if each:
            found |= figures_of_flows(flows)
        for figure, value in found.items():
            self.figures.setdefault(figure, {})[seed] = value

    def values(self, figure: str) -> dict[int, float]:
        """Values of a figure by seed; what is not a finite number is left out."""
        return {seed: v for seed, v in self.figures.get(figure, {}).items() if math.isfinite(v)}

    @cached_property
    def known(self) -> frozenset[str]:
        """Figures with a value for some seed."""
        return frozenset(figure for figure in self.figures if self.values(figure))

    @property
    def left_out(self) -> int:
        """Number of flows of datagrams in a capture, whose figures are those of TCP alone."""
        table = getattr(self.results, "datagrams", None)
        return 0 if table is None else len(table)

    @property
    def alike(self) -> list[str]:
        """What is compared of a capture with runs, if this is one."""
        flows = self.results.flows
        if "competes" not in flows or not len(flows):
            return []
        count = int(np.count_nonzero(flows["competes"]))
        said = f"{self.name}: Jain's index, starved flows, RTT and least goodput are those of {count} of"
        said += f" {counted(len(flows), 'flow')}, which had more to send than they could"
        if count and np.isnan(flows["rtt_path_mean_s"][flows["competes"]]).all():
            said += "; this capture point does not show the RTT of the whole path"
        return [f"({said})"]

    @property
    def datagrams(self) -> int:
        """Number of flows of datagrams in a run, whose figures are those of all flows."""
        flows = self.results.flows
        names = zip(flows["name"], flows["jitter_s"]) if "jitter_s" in flows else ()
        return len({name for name, jitter in names if not math.isnan(jitter)})

    @cached_property
    def flows(self) -> list[str]:
        """Names of the flows, if each is compared."""
        return list(dict.fromkeys(flow_of(figure) for figure in self.figures if flow_of(figure)))


class Comparison(Drawable):
    """Differences between the first source and each of the others.

    Attributes
    ----------
    names : tuple of str
        Names of the sources; the first is the reference.
    differences : list of Difference
        For each candidate, each figure that it or the reference has.
    """

    def __init__(self, found: list[tuple[str, Found]], *, flows: bool = False) -> None:
        """`found` are names and results; the first is the reference."""
        self._sides = [_Side(name, results, flows=flows) for name, results in found]
        self.names = tuple(side.name for side in self._sides)
        first = self._sides[0]
        # Figures that a candidate or the reference has, by candidate.
        self._known = {side.name: side.known | first.known for side in self._sides[1:]}
        self.differences = [
            difference
            for side in self._sides[1:]
            for figure in _ordered([*first.figures, *side.figures])
            if (difference := _difference(figure, first, side)) is not None
        ]

    @property
    def table(self) -> Columns:
        """A row for each candidate and figure."""
        rows = [
            {
                "figure": d.figure,
                "baseline": d.baseline,
                "candidate": d.candidate,
                "baseline_mean": d.first.mean,
                "baseline_ci95": d.first.half_width,
                "mean": d.second.mean,
                "ci95": d.second.half_width,
                "difference": d.difference.mean,
                "difference_ci95": d.difference.half_width,
                "relative": d.relative,
                "pairs": d.pairs,
                "shown": d.shown,
            }
            for d in self.differences
        ]
        return Columns.of_rows(rows, ABOUT)

    def values(self, figure: str) -> dict[str, dict[int, float]]:
        """Values of a figure by name and seed.

        Parameters
        ----------
        figure : str
            Its name, as in the table.

        Returns
        -------
        dict
            For each source its values by seed, without NaN; empty if it has no such figure.
        """
        return {side.name: side.values(figure) for side in self._sides}

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain Python values, in the layout of ``wifair compare --json``."""
        return {
            "format": FORMAT,
            "version": __version__,
            "compared": [
                {"name": side.name, "seeds": [int(seed) for seed in side.results.cells["seed"]]} for side in self._sides
            ],
            "differences": self.table.to_dicts(),
        }

    def to_json(self) -> str:
        """Write the same as JSON text."""
        return json_text(self.to_dict()) + "\n"

    def text(self, *, everything: bool = False, width: int | None = None) -> str:
        """Show the comparison as tables.

        Parameters
        ----------
        everything : bool, default False
            Show all figures instead of the most important ones.
        width : int, optional
            Maximum line width in characters, at least about 80; by default that of the terminal.

        Returns
        -------
        str
            A table for each source after the first.
        """
        room = width or shutil.get_terminal_size((WIDE, 24)).columns
        blocks = []
        for side in self._sides[1:]:
            first = self._sides[0]
            flows = {*first.flows} ^ {*side.flows}
            rows = [
                d
                for d in self.differences
                if d.candidate == side.name and flow_of(d.figure) not in flows and (everything or self._tells(d))
            ]
            blocks.append(_block(first.name, side.name, rows, room))
            for one in (first, side):
                if missing := [flow for flow in one.flows if flow in flows]:
                    blocks[-1] = "\n".join([blocks[-1], *textwrap.wrap(only_in(one.name, missing), room)])
        notes = self._set_up_notes()
        if any(side.left_out for side in self._sides):
            for side in self._sides:
                if side.left_out:
                    notes.append(f"({side.name}: TCP alone, without {counted(side.left_out, 'flow')} of datagrams)")
                elif side.datagrams:
                    notes.append(f"({side.name}: all flows, {counted(side.datagrams, 'flow')} of datagrams among them)")
        notes += [note for side in self._sides for note in side.alike]
        if any(side.alike for side in self._sides):
            notes += [self._agreement(side.name) for side in self._sides[1:]]
        blocks[-1] = "\n".join([blocks[-1], *(line for note in notes for line in textwrap.wrap(note, room))])
        return "\n\n".join(blocks)

    def _set_up_notes(self) -> list[str]:
        """Say where a candidate is the reference unchanged, or has another buffer at the access point."""
        run = [(side.name, getattr(side.results, "scenario", None)) for side in self._sides]
        (first, reference), *others = [(name, one if isinstance(one, Scenario) else None) for name, one in run]
        notes = []
        for name, scenario in others:
            if scenario is None or reference is None:
                continue
            own, other = reference.ap_queues, scenario.ap_queues
            if scenario.hash == reference.hash:
                notes.append(f"({name} has the values of {first}: nothing is changed)")
            elif own is not None and other is not None and own.total != other.total:
                notes.append(f"(another buffer at the access point: {first} {own}, {name} {other})")
        return notes

    def figure(
        self,
        *,
        title: str | None = None,
        labels: Mapping[str, str] | None = None,
        size: str | None = None,
        logy: bool = False,
    ) -> Any:
        """Draw the most important figures: a point for each seed, lines between equal seeds.

        Parameters
        ----------
        title : str, optional
            Title over the figure.
        labels : mapping of str to str, optional
            Replacements for the names of sources and figures.
        size : str, optional
            ``"one-column"``, ``"two-column"``, ``"16 cm"`` or ``"3.5 x 2.4 in"``.
        logy : bool, default False
            Logarithmic vertical axes; ratios always have one.

        Returns
        -------
        matplotlib.figure.Figure
            Change it, show it in a notebook, or save it with ``savefig``; fonts are embedded.

        Raises
        ------
        ValueError
            If the size is invalid, or a label names nothing that is drawn.
        ImportError
            If there is no matplotlib.
        """
        from wifair.figures.comparison import draw  # noqa: PLC0415

        return draw(self, Look.of(title, labels, size, logy))

    def _agreement(self, name: str) -> str:
        """Say which figures agree; a capture has no seeds, so that no interval tells."""
        known = [d for d in self.differences if d.candidate == name and d.both and d.figure in LABELS]
        known = [d for d in known if _is_something(d) and not math.isnan(d.relative)]
        agree = [LABELS[d.figure].removeprefix("- ") for d in known if abs(d.relative) <= ALIKE]
        differ = [LABELS[d.figure].removeprefix("- ") for d in known if abs(d.relative) > ALIKE]
        parts = [f"{what}: {', '.join(names)}" for what, names in (("agree", agree), ("differ", differ)) if names]
        return f"({self.names[0]} and {name} within {100 * ALIKE:.0f} %: {'; '.join(parts)})" if parts else ""

    def telling(self) -> list[str]:
        """List the figures that are shown unless all are asked for."""
        return list(dict.fromkeys(d.figure for d in self.differences if d.both and self._tells(d)))

    def _tells(self, d: Difference) -> bool:
        """Whether a figure is shown by default, and is not zero everywhere."""
        if d.figure in WAYS:  # with one direction, the goodput of the cell is enough
            return len({one.figure for one in self.differences if one.figure in WAYS and _is_something(one)}) > 1
        if flow_of(d.figure):
            return is_telling(d.figure, self._known[d.candidate]) and _is_something(d)
        return d.figure in LABELS and _is_something(d)

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.text())}</pre>"


def compare(
    *sources: Source | Found,
    seeds: Seeding | None = None,
    names: Iterable[str] | None = None,
    flows: bool = False,
    threads: int | None = None,
    progress: bool = False,
) -> Comparison:
    """Compare scenarios, results, measurements and captures with the first of them.

    Scenarios are run with the same seeds, so that chance affects all of them alike. Between runs of equal seeds,
    intervals are those of the paired differences; with a measurement or a capture, which has no seeds, they are
    Welch's.

    Parameters
    ----------
    *sources : Scenario, mapping, Results, SavedResults, Capture, or path
        Two or more. A path is a scenario file, a folder of ``wifair run --out`` or ``wifair measure run`` (which
        counts as one for each case), or a capture.
    seeds : int, str or iterable of int, optional
        Seeds of scenarios, as in ``"1..10"``; those of the first scenario by default, or 1 to 10 if it names only one.
    names : iterable of str, optional
        Names of the sources.
    flows : bool, default False
        Also compare the figures of flows of the same name.
    threads : int, optional
        Runs at the same time; all available cores by default.
    progress : bool, default False
        Show a progress bar on stderr.

    Returns
    -------
    Comparison
        Differences with 95 % intervals, as a table, text, JSON and figure.

    Raises
    ------
    ScenarioError, ResultsError
        If a source cannot be read.
    ValueError
        If there are fewer than two, or not as many names as sources.

    Examples
    --------
    >>> s = Scenario.from_file("hot-spot.toml")  # doctest: +SKIP
    >>> compare(s, s.with_({"ap.queue.discipline": "las"}))  # doctest: +SKIP
    """
    found: list[tuple[str, Found | Scenario]] = []
    for source in sources:
        found += _resolve(source)
    if len(found) < 2:
        raise ValueError(f"{len(found)} to compare: expected at least two")
    labels = list(names) if names is not None else distinct([name for name, _ in found])
    if len(labels) != len(found):
        raise ValueError(f"{len(labels)} names for {len(found)} sources")
    if len(set(labels)) < len(labels):
        raise ValueError("two names are equal: give each source its own")
    wanted = read_seeds(seeds) if seeds is not None else _seeds([one for _, one in found if isinstance(one, Scenario)])
    return Comparison(
        [
            (
                label,
                run(one, seeds=wanted, threads=threads, progress=progress) if isinstance(one, Scenario) else one,
            )
            for label, (_, one) in zip(labels, found)
        ],
        flows=flows,
    )


def _resolve(source: Any) -> list[tuple[str, Any]]:
    """Name and scenario or results of a source; several for a measurement."""
    if hasattr(source, "cells"):
        return [(named(source), source)]
    if isinstance(source, Scenario):
        return [(_title(source), source)]
    if isinstance(source, Mapping) or is_scenario(str(source)):
        scenario = scenario_of(source)
        return [(scenario.name, scenario)]
    if not isinstance(source, str | os.PathLike):
        raise TypeError(
            f"a {type(source).__name__} cannot be compared: give each source by itself, as in compare(a, b)"
        )
    return list(read(str(source)))


def _title(scenario: Scenario) -> str:
    """Name of a scenario, and what was changed in it."""
    return ", ".join([scenario.name, *scenario.overrides])


def distinct(names: list[str]) -> list[str]:
    """Append numbers to names that occur more than once.

    Parameters
    ----------
    names : list of str
        Names, in any order.

    Returns
    -------
    list of str
        As many: ``["fifo", "las", "fifo"]`` gives ``["fifo (1)", "las", "fifo (2)"]``.
    """
    return [f"{name} ({names[: i + 1].count(name)})" if names.count(name) > 1 else name for i, name in enumerate(names)]


def _seeds(scenarios: list[Scenario]) -> list[int]:
    if scenarios and len(scenarios[0].seeds) > 1:
        return list(scenarios[0].seeds)
    return list(DEFAULT_SEEDS)


def _ordered(figures: Iterable[str]) -> list[str]:
    """Put the most important figures first, and those of flows last."""
    figures = list(dict.fromkeys(figures))
    of_cell = [name for name in LABELS if name in figures]
    of_cell += [name for name in figures if name not in LABELS and not flow_of(name)]
    return of_cell + by_flow(name for name in figures if flow_of(name))


def _difference(figure: str, first: _Side, second: _Side) -> Difference | None:
    """Compute the difference in a figure: NaN if one side lacks the figure, None if both lack it."""
    a, b = first.values(figure), second.values(figure)
    if not a and not b:
        return None
    if not a or not b:
        means = mean_interval(a.values()), mean_interval(b.values())
        return Difference(figure, first.name, second.name, *means, Interval(math.nan, math.nan), 0)
    common = [seed for seed in a if seed in b] if first.paired and second.paired else []
    if len(common) > 1 or (len(a) == len(b) == len(common)):
        # The difference of the means is then the mean difference.
        a, b = ({seed: side[seed] for seed in common} for side in (a, b))
        difference = paired_difference(list(a.values()), list(b.values()))
    else:
        common = []
        difference = welch_difference(a.values(), b.values())
    means = mean_interval(a.values()), mean_interval(b.values())
    return Difference(figure, first.name, second.name, *means, difference, len(common))


def _is_something(d: Difference) -> bool:
    return any(side.mean != 0 and not math.isnan(side.mean) for side in (d.first, d.second))


def _cells(d: Difference, pairs: int, *, bare: bool, relative: bool) -> list[str]:
    """Return a row of the table: label, both values (only means if `bare`), difference, relative change, verdict.

    The label says so if fewer than `pairs` have the figure.
    """
    label = label_of(d.figure) if flow_of(d.figure) else LABELS.get(d.figure, d.figure)
    if d.pairs != pairs and d.both:
        label += f" ({counted(d.pairs, 'pair')})" if d.pairs else " (unpaired)"
    change = "" if math.isnan(d.relative) or not relative else _relative(d.relative)
    verdict = "" if not d.shown else "higher" if d.difference.mean > 0 else "lower"
    sides = [Interval(side.mean, math.nan) if bare else side for side in (d.first, d.second)]
    values = [figure_value(d.figure, side) for side in sides]
    return [label, *values, figure_value(d.figure, d.difference, signed=True), change, verdict]


def _block(baseline: str, candidate: str, rows: list[Difference], width: int) -> str:
    """Show a candidate beside the reference. Narrow tables use A and B, and omit intervals and relative changes."""
    above: list[str] = []
    pairs = max((d.pairs for d in rows), default=0)
    for short, bare, with_relative in (
        (False, False, True),
        (True, False, True),
        (True, True, True),
        (True, True, False),
    ):
        above = [f"A  {baseline}", f"B  {candidate}"] if short else []
        names = ("A", "B") if short else (baseline, candidate)
        cells = [["", *names, "difference", "", ""]]
        cells += [_cells(d, pairs, bare=bare, relative=with_relative) for d in rows]
        if sum(max(map(len, column)) + 2 for column in zip(*cells)) - 2 <= width:
            break
    lines = [*above, *aligned(cells, left=(0, 5))]
    if all(math.isnan(d.difference.half_width) for d in rows if d.both):
        return "\n".join([*lines, f"({NO_INTERVAL})"])
    if pairs > 1:
        basis = f"95 % intervals of {pairs} pairs of equal seeds"
    else:
        basis = "95 % intervals of independent runs (Welch)"
    note = f"({basis}; higher, lower: the interval leaves out zero)"
    return "\n".join([*lines, *textwrap.wrap(note, width)])


def _relative(fraction: float) -> str:
    return f"{100 * fraction:+.1f} %" if fraction < MANY else f"{general(1 + fraction)} times"


def figure_value(figure: str, interval: Interval, *, signed: bool = False) -> str:
    """Show a figure with its interval in its unit, and with a sign if it is a difference."""
    mean, half = interval
    if math.isnan(mean):
        return "-"
    sign = ("+" if mean > 0 else "\u2212" if mean < 0 else "") if signed else ""
    name = figure.partition(": ")[0]
    if name.startswith(PERCENT):
        low, high = limits(name, interval)
        shown_ends = [f"{100 * end:.2f}" for end in (low, high)]
        if math.isnan(half):
            width = ""
        elif signed or shown_ends == [f"{100 * end:.2f}" for end in (mean - half, mean + half)]:
            width = f" \u00b1 {100 * half:.2f}"
        else:
            width = f" ({' .. '.join(shown_ends)})"
        shown = f"{100 * abs(mean):.2f}{width} %"
    else:
        shown = figure_text(name, Interval(abs(mean), half), bounded=not signed)
    return sign + shown

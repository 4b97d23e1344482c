"""A run as a figure: who gets how much, when, and what the windows and the queue of the access point do."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from wifair import metrics
from wifair._output.report import rate
from wifair.figures._heat import MOST_NAMED, coarser, colour_scale, heat_map, name_rows
from wifair.figures._labels import quantity
from wifair.figures.style import (
    COLOURS,
    DIRECTIONS,
    STARVED,
    TWO_COLUMNS,
    Look,
    logarithmic,
    new_figure,
    plain,
    settings,
    thousands_apart,
)
from wifair.statistics import mean_interval

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from wifair._output.shown import ShownRun
    from wifair.columns import Columns

NARROW_IN = 5.0
"""Narrower figures have a narrower heat map, and shorter labels."""


def draw(results: ShownRun, look: Look | None = None) -> Any:
    """Draw results.

    With one flow this is its goodput over time; with several a heat map of theirs, beside it a bar for each with its
    95 % interval over the seeds, starved flows (below a tenth of the mean) in red. Windows of the flows that get most
    and least and the queue of the access point follow. What goes over time needs `series` and is of the first seed;
    without series only the bars are drawn.

    Parameters
    ----------
    results : Results or SavedResults
        What to draw.
    look : Look, optional
        What to change: title, labels, size, logarithmic goodput.

    Returns
    -------
    matplotlib.figure.Figure
        The figure; `wifair.figures.style.save` or its own ``savefig`` writes it.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If there is no flow, or a label names nothing that is drawn.
    """
    with settings():
        return _Run(results, look or Look()).figure()


class _Run:
    def __init__(self, results: ShownRun, look: Look) -> None:
        self.results, self.look = results, look
        seeds = len(results.seeds)
        count = len(results.flows) // seeds if seeds else 0
        if count == 0:
            raise ValueError("the results have no flow to draw")
        self.names = [str(name) for name in results.flows["name"][:count]]
        self.directions = [str(direction) for direction in results.flows["direction"][:count]]
        self.goodput = np.asarray(results.flows["goodput_bps"], dtype=np.float64).reshape(seeds, count)
        starved = self._starved()
        self.starved = starved.mean(axis=0)
        """Fraction of the runs in which each flow starves."""
        self.starved_here = starved[0]
        """Whether each flow starves in the run that is drawn over time."""
        look.check_labels([*self.names, "goodput_bps", "time_s", "cwnd", "srtt_s", "ap_queue_packets"])
        self.series = None if results.series is None else results.series.filter(seed=results.seeds[0])
        self.warm_up_s = results.scenario.warm_up_s
        self.narrow = (look.width_in or TWO_COLUMNS) < NARROW_IN
        self.unit = quantity("goodput_bps", float(self.goodput.max()))

    def _starved(self) -> NDArray[np.bool_]:
        """Return in which runs (rows) each flow (column) starves."""
        flows = self.results.flows
        if "starved" in flows:
            return np.asarray(flows["starved"], dtype=np.bool_).reshape(self.goodput.shape)
        return metrics.starved(self.goodput)

    def figure(self) -> Any:
        flows = len(self.names)
        below = self._below()
        heights = [min(max(0.16 * flows, 1.2), 4.2), *(height for height, _ in below)]
        figure = new_figure(self.look, height_in=sum(heights) + 0.35 * len(heights) + 0.35)
        if self.look.title is None:
            letters = int(15 * (self.look.width_in or TWO_COLUMNS))
            figure.suptitle(textwrap.fill(plain(self._title()), letters), x=0.01, ha="left")
        if self.series is None:
            self._bars(figure.subplots())
            return figure
        legend = None
        if flows == 1:
            axes = list(np.atleast_1d(figure.subplots(len(heights), 1, sharex=True, height_ratios=heights)))
            self._one(axes[0])
        else:
            wide = [1.9, 1.0] if self.narrow else [2.6, 1.0]
            grid = figure.add_gridspec(len(heights), 2, height_ratios=heights, width_ratios=wide)
            heat = figure.add_subplot(grid[0, 0])
            mesh = self._heat(heat)
            self._bars(figure.add_subplot(grid[0, 1], sharey=heat), named=False)
            colour_scale(figure, heat, mesh, self._goodput_label(), flows)
            axes = [heat, *(figure.add_subplot(grid[row, 0], sharex=heat) for row in range(1, len(heights)))]
            if below:
                legend = figure.add_subplot(grid[1, 1])
                legend.set_axis_off()
        for one, (_, draw_panel) in zip(axes[1:], below):
            draw_panel(one, legend)
        for one in axes[:-1]:
            one.tick_params(labelbottom=False)
        axes[-1].set_xlabel(self.look.label("time_s", "time [s]"))
        for one in axes:
            self._shade(one)
        return figure

    def _below(self) -> list[tuple[float, Callable[[Any, Any], None]]]:
        """List the panels below the goodput that have data: height [in], and the method that draws it."""
        panels: list[tuple[float, Callable[[Any, Any], None]]] = []
        if self.series is None:
            return panels
        if np.isfinite(self.series["cwnd"]).any():
            panels.append((1.1, self._windows))
        if set(self.series["flow"].tolist()) - set(self.names):
            panels.append((1.1, self._pings))
        if self.results.queues is not None and len(self.results.queues):
            panels.append((0.8, self._queue))
        return panels

    def _title(self) -> str:
        scenario, seeds = self.results.scenario, self.results.seeds
        text = f"{scenario.name}: {scenario.summary}"
        if len(seeds) > 1:
            text += f", {len(seeds)} seeds" + ("" if self.series is None else f" (over time: seed {seeds[0]})")
        return text

    def _goodput_label(self) -> str:
        return self.look.label("goodput_bps", self.unit.axis)

    def _shown_names(self) -> list[str]:
        return [self.look.label(name) for name in self.names]

    def _one(self, axes: Any) -> None:
        assert self.series is not None
        times, values = _bins(self.series, self.names)
        axes.stairs(values[0] * self.unit.scale, times, color=COLOURS[0], linewidth=1.0, baseline=None)
        axes.set(xlim=(0, times[-1]), ylabel=self._goodput_label())
        _from_zero(axes, logy=self.look.logy)

    def _heat(self, axes: Any) -> Any:
        from matplotlib.colors import LogNorm  # noqa: PLC0415

        assert self.series is not None
        times, values = _bins(self.series, self.names)
        mesh = heat_map(axes, times, values * self.unit.scale, self._shown_names(), self.starved_here.tolist())
        if self.look.logy:
            _, top = mesh.get_clim()
            mesh.set_norm(LogNorm(top / 1000, top, clip=True))
        return mesh

    def _bars(self, axes: Any, *, named: bool = True) -> None:
        """Draw a bar for each flow: mean over the seeds, 95 % interval, the seeds as points."""
        places = np.arange(len(self.names), dtype=np.float64)[::-1]  # the first flow is on top
        scale = self.unit.scale
        means = self.goodput.mean(axis=0) * scale
        ends = self.goodput.max(axis=0) * scale
        colours = [
            STARVED if starved == 1 else DIRECTIONS.get(direction, COLOURS[0])
            for starved, direction in zip(self.starved, self.directions)
        ]
        axes.barh(places, means, color=colours, height=0.75, alpha=0.9)
        if len(self.results.seeds) > 1:
            at = np.tile(places, len(self.results.seeds))
            axes.plot(self.goodput.ravel() * scale, at, ".", color="black", markersize=1.5, alpha=0.45, zorder=3)
            halves = np.array([mean_interval(column).half_width for column in self.goodput.T]) * scale
            if not np.isnan(halves).any():
                ends_of = np.vstack([np.minimum(halves, means), halves])  # goodput is not negative
                axes.errorbar(means, places, xerr=ends_of, fmt="none", color="black", elinewidth=0.8)
                ends = np.maximum(ends, means + halves)
        self._mean(axes)
        room = float(max(ends.max(), 1e-9))
        if len(self.names) <= MOST_NAMED:
            for place, end, starved, row in zip(places, ends, self.starved, range(len(places))):
                if starved > 0:
                    axes.text(end + 0.03 * room, place, self._verdict(row), color=STARVED, **_SMALL)
        if self.look.logy:
            logarithmic(axes, "x")
        else:
            axes.set_xlim(0, room * 1.04)
        axes.set_ylim(-0.5, len(self.names) - 0.5)
        if named:
            name_rows(axes, self._shown_names(), self.starved_here.tolist())
        else:
            axes.tick_params(labelleft=False)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.set_xlabel(self._goodput_label())
        self._legend(axes)

    def _mean(self, axes: Any) -> None:
        if len(self.names) > 1:
            mean = float(self.goodput.mean()) * self.unit.scale
            axes.axvline(mean, color="#555555", linewidth=0.7, linestyle="--", zorder=1)
            axes.text(mean, len(self.names) - 0.45, "mean", color="#555555", fontsize=6, ha="center", va="bottom")

    def _verdict(self, row: int) -> str:
        seeds = len(self.results.seeds)
        if seeds > 1:
            return f"starved in {self.starved[row] * seeds:.0f} of {seeds}"
        return "starved" if self.narrow else f"starved, {rate(float(self.goodput[0, row]))}"

    def _legend(self, axes: Any) -> None:
        kinds = list(dict.fromkeys(self.directions))
        if len(kinds) < 2:
            return
        from matplotlib.patches import Patch  # noqa: PLC0415

        handles = [Patch(color=DIRECTIONS.get(kind, COLOURS[0]), label=kind) for kind in kinds]
        # Above the bars and the word "mean".
        above = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 1.3}
        axes.legend(handles=handles, ncols=len(kinds), frameon=False, fontsize=6, **above)

    def _chosen(self) -> list[int]:
        """Choose the flows whose windows are drawn: those with the most and the least goodput, and one between."""
        assert self.series is not None
        first = self.goodput[0]
        with_windows = set(self.series["flow"][np.isfinite(self.series["cwnd"])].tolist())
        order = [int(i) for i in np.argsort(-first, kind="stable") if self.names[i] in with_windows]
        if len(order) <= 4:
            return order
        starved = [i for i in order if self.starved_here[i]]
        middle = starved[0] if starved and starved[0] not in (order[0], order[-1]) else order[len(order) // 2]
        return [order[0], middle, order[-1]]

    def _windows(self, axes: Any, legend: Any) -> None:
        assert self.series is not None
        for number, flow in enumerate(self._chosen()):
            name = self.names[flow]
            one = self.series.filter(flow=name)
            share = rate(float(self.goodput[0, flow]))
            label = self.look.label(name) + ("" if len(self.names) == 1 else f", {share}")
            colour = STARVED if self.starved_here[flow] and number > 0 else COLOURS[(0, 2, 4, 5)[number]]
            dashes = ("-", "-", "--", ":")[number]
            began = _first_in_use(one)
            times, windows = one["time_s"][began:], one["cwnd"][began:]
            axes.plot(times, windows, linewidth=0.9, label=label, color=colour, linestyle=dashes)
        axes.set_ylabel(self.look.label("cwnd", "cwnd [segments]"))
        _from_zero(axes, logy=False)
        _legend_beside(axes, legend, "cwnd of")

    def _pings(self, axes: Any, legend: Any) -> None:
        """Draw round-trip times of pings: names in the series that are not flows."""
        assert self.series is not None
        for number, name in enumerate(sorted(set(self.series["flow"].tolist()) - set(self.names))[: len(COLOURS)]):
            one = self.series.filter(flow=name)
            axes.plot(one["time_s"], one["srtt_s"] * 1e3, color=COLOURS[number], linewidth=0.8, label=plain(name))
        axes.set_ylabel(self.look.label("srtt_s", "RTT of pings [ms]"))
        _from_zero(axes, logy=False)
        if legend is None or not legend.get_legend():
            _legend_beside(axes, legend, "")

    def _queue(self, axes: Any, _: Any) -> None:
        assert self.results.queues is not None
        own = self.results.queues.filter(seed=self.results.seeds[0])
        for number, medium in enumerate(np.unique(own["medium"])[:4]):
            one = own.filter(medium=medium)
            axes.plot(one["time_s"], one["packets"], color="#444444" if number == 0 else COLOURS[number], linewidth=0.7)
        axes.set_ylabel(self.look.label("ap_queue_packets", "AP queue\n[packets]"))
        _from_zero(axes, logy=False)

    def _shade(self, axes: Any) -> None:
        """Shade the warm-up, which is not measured."""
        if self.warm_up_s > 0:
            for look in ({"facecolor": "white"}, {"facecolor": "none", "edgecolor": "#777777", "hatch": "////"}):
                axes.axvspan(0, self.warm_up_s, alpha=0.6, zorder=4, linewidth=0, **look)


_SMALL: dict[str, Any] = {
    "fontsize": 6,
    "va": "center",
    "ha": "left",
    "bbox": {"facecolor": "white", "edgecolor": "none", "pad": 0.6},
}


def _legend_beside(axes: Any, legend: Any, title: str) -> None:
    """Put the legend of `axes` into the empty panel beside it, if there is one."""
    if legend is not None:
        handles, labels = axes.get_legend_handles_labels()
        legend.legend(handles, labels, loc="lower left", title=title or None, title_fontsize=7)


def _bins(series: Columns, names: list[str]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute edges of time bins [s], and the goodput of each flow in each bin [bit/s]."""
    samples = [series.filter(flow=name) for name in names]
    longest = max(samples, key=len)
    edges = np.concatenate([[0.0], longest["time_s"]])
    middles = (edges[:-1] + edges[1:]) / 2
    values = np.zeros((len(names), len(middles)))
    for row, one in enumerate(samples):  # a sample covers the time before it; flows may be sampled at different times
        times, goodput = one["time_s"], one["goodput_bps"]
        if len(times):
            at = np.searchsorted(times, middles)
            first = times[0] - (times[1] - times[0] if len(times) > 1 else times[0])
            known = (at < len(times)) & (middles > first)
            values[row, known] = np.nan_to_num(goodput[at[known]])
    return coarser(edges, values)


def _first_in_use(series: Columns) -> int:
    """Find the sample from which on a window is in use.

    Before a flow starts its window is the initial one, and it has measured no round trip.
    """
    windows = series["cwnd"]
    used = (series["srtt_s"] > 0) | ((windows != windows[:1]) & np.isfinite(windows))
    return int(np.argmax(used))


def _from_zero(axes: Any, *, logy: bool) -> None:
    if logy:
        logarithmic(axes)
    else:
        axes.set_ylim(bottom=0)
        thousands_apart(axes)

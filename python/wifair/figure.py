"""A run as a figure: goodput of each flow, and congestion windows over time where they were sampled."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wifair.statistics import mean_interval

if TYPE_CHECKING:
    import os

    from wifair.comparing import Comparison
    from wifair.results import Results

__all__ = ["check", "save", "save_comparison"]

MOST_LINES = 8
MOST_PANELS = 12
MARKERS = "osD^vP*X"
UNITS = (("_bps", 1e-6, "Mb/s"), ("_s", 1e3, "ms"))
"""Endings of names, and the units in which they are drawn."""

# Colours that colour-blind readers can tell apart: M. Okabe and K. Ito, "Color universal design", 2008.
COLOURS = {"up": "#D55E00", "down": "#0072B2", "wired": "#009E73", "peer": "#CC79A7"}
LINES = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000"]


def check(path: str | os.PathLike[str]) -> None:
    """See, before what may take long, whether a figure could be drawn and `path` says as what.

    Parameters
    ----------
    path : str or path
        File to write, later.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If the ending is none that matplotlib knows.
    """
    kinds = _figure(1, 1).canvas.get_supported_filetypes()
    ending = Path(path).suffix
    if ending.lower().removeprefix(".") not in kinds:
        said = f"`{ending}` is no kind of figure" if ending else "what kind of figure?"
        raise ValueError(f"{said}: let `{path}` end in .png, .svg or .pdf")


def save(results: Results, path: str | os.PathLike[str]) -> None:
    """Draw results and save the figure; the ending of `path` says as what (PNG, SVG, PDF).

    Parameters
    ----------
    results : Results
        What to draw.
    path : str or path
        File to write.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If the ending is none that matplotlib knows.
    OSError
        If the file cannot be written.
    """
    panels = 1 if results.series is None else 2 if results.queues is None or not results.queues.rows else 3
    figure = _figure(7, (3.4, 5.0, 6.5)[panels - 1])
    axes = figure.subplots(panels, 1, squeeze=False)[:, 0]
    _goodput(axes[0], results)
    if panels > 1:
        _windows(axes[1], results)
    if panels > 2:
        _queue(axes[2], results)
    if panels > 1:
        axes[-1].set_xlabel("time [s]")
    figure.savefig(path, dpi=150)


def save_comparison(comparison: Comparison, path: str | os.PathLike[str]) -> None:
    """Draw a comparison: a panel for each telling figure, seeds as points, means with 95 % intervals.

    Parameters
    ----------
    comparison : Comparison
        What to draw.
    path : str or path
        File to write; its ending says as what (PNG, SVG, PDF).

    Raises
    ------
    ImportError, ValueError, OSError
        As `save`.
    """
    names = [name for name in comparison.telling() if ": " not in name][:MOST_PANELS]
    columns = min(4, max(len(names), 1))
    lines = -(-max(len(names), 1) // columns)
    figure = _figure(1.9 * columns, 1.6 * lines + 0.25 * len(comparison.names))
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    for axes, name in zip(panels, names):
        _panel(axes, comparison, name)
    for axes in panels[len(names) :]:
        axes.set_visible(False)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)


def _figure(width_in: float, height_in: float) -> Any:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        raise ImportError("figures need matplotlib: pip install 'wifair[plot]'") from None
    figure = Figure(figsize=(width_in, height_in), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _panel(axes: Any, comparison: Comparison, key: str) -> None:
    """One figure of all that is compared; what the same seeds gave is joined by lines."""
    from wifair.comparing import LABELS, PERCENT  # noqa: PLC0415

    scale, unit = next(
        ((factor, text) for end, factor, text in UNITS if key.endswith(end)),
        (100.0, "%") if key.startswith(PERCENT) else (1.0, ""),
    )
    values = comparison.values(key)
    for seed in dict.fromkeys(seed for found in values.values() for seed in found):
        row = [scale * found.get(seed, np.nan) for found in values.values()]
        axes.plot(row, ".-", color="#999999", linewidth=0.5, markersize=3, zorder=1)
    for at, (name, found) in enumerate(values.items()):
        mean, half = mean_interval(found.values())
        bar = 0.0 if np.isnan(half) else scale * half
        style = {"marker": MARKERS[at % len(MARKERS)], "color": LINES[at % len(LINES)]}
        axes.errorbar(at, scale * mean, bar, markersize=5, capsize=3, zorder=2, linestyle="none", label=name, **style)
    axes.set_xticks([])
    axes.set_xlim(-0.5, len(values) - 0.5)
    axes.set_ylabel(f"{LABELS[key]} [{unit}]" if unit else LABELS[key], fontsize=8)
    axes.tick_params(axis="y", labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)


def _goodput(axes: Any, results: Results) -> None:
    flows = len(results.flows["name"]) // len(results.seeds)
    names = results.flows["name"][:flows]
    directions = results.flows["direction"][:flows]
    values = np.asarray(results.flows["goodput_bps"]).reshape(-1, flows) / 1e6
    for direction in dict.fromkeys(directions.tolist()):
        which = np.flatnonzero(directions == direction)
        axes.bar(which, values[:, which].mean(axis=0), color=COLOURS[direction], label=f"{direction}", width=0.8)
    if len(results.seeds) > 1:  # every seed as a point
        at = np.tile(np.arange(flows), len(results.seeds))
        axes.plot(at, values.ravel(), ".", color="black", markersize=2.5, alpha=0.6, label="each seed")
    axes.set_ylabel("goodput [Mb/s]")
    axes.set_xlim(-0.6, flows - 0.4)
    if flows <= 25:
        axes.set_xticks(np.arange(flows), names, rotation=60 if flows > 8 else 0, ha="right" if flows > 8 else "center")
    else:
        axes.set_xlabel("flow")
    axes.legend(frameon=False, ncols=4, loc="lower left", bbox_to_anchor=(0, 1))
    axes.spines[["top", "right"]].set_visible(False)


def _windows(axes: Any, results: Results) -> None:
    assert results.series is not None
    series = results.series.where(seed=results.seeds[0])
    flows = list(dict.fromkeys(series["flow"].tolist()))
    for number, flow in enumerate(flows[:MOST_LINES]):
        one = series.where(flow=flow)
        axes.plot(one["time_s"], one["cwnd"], color=LINES[number], linewidth=0.8, label=str(flow))
    axes.set_ylabel("cwnd [segments]" if len(flows) <= MOST_LINES else f"cwnd of {MOST_LINES} flows [segments]")
    axes.legend(frameon=False, ncols=MOST_LINES, fontsize="x-small", loc="lower left", bbox_to_anchor=(0, 1))
    _plain(axes)


def _queue(axes: Any, results: Results) -> None:
    assert results.queues is not None
    one = results.queues.where(seed=results.seeds[0])
    axes.plot(one["time_s"], one["packets"], color=LINES[0], linewidth=0.8)
    axes.set_ylabel("AP queue [packets]")
    _plain(axes)


def _plain(axes: Any) -> None:
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)

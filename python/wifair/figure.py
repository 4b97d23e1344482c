"""A run as a figure: goodput of each flow, and congestion windows over time where they were sampled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import os

    from wifair.results import Results

__all__ = ["save"]

MOST_LINES = 8

# Colours that colour-blind readers can tell apart: M. Okabe and K. Ito, "Color universal design", 2008.
COLOURS = {"up": "#D55E00", "down": "#0072B2", "wired": "#009E73"}
LINES = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000"]


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
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        raise ImportError("figures need matplotlib: pip install 'wifair[plot]'") from None

    with_series = results.series is not None
    figure = Figure(figsize=(7, 6.5 if with_series else 3.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(3 if with_series else 1, 1, squeeze=False)[:, 0]
    _goodput(axes[0], results)
    if with_series:
        _over_time(axes[1], axes[2], results)
    figure.savefig(path, dpi=150)


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


def _over_time(windows: Any, queues: Any, results: Results) -> None:
    assert results.series is not None
    assert results.queues is not None
    seed = results.seeds[0]
    series = results.series.where(seed=seed)
    for number, flow in enumerate(dict.fromkeys(series["flow"].tolist())):
        if number == MOST_LINES:
            break
        one = series.where(flow=flow)
        windows.plot(one["time_s"], one["cwnd"], color=LINES[number], linewidth=0.8, label=str(flow))
    windows.set_ylabel("cwnd [segments]")
    windows.legend(frameon=False, ncols=4, fontsize="small")
    one = results.queues.where(seed=seed)
    queues.plot(one["time_s"], one["packets"], color=LINES[0], linewidth=0.8)
    queues.set_ylabel("AP queue [packets]")
    queues.set_xlabel("time [s]")
    for axes in (windows, queues):
        axes.set_ylim(bottom=0)
        axes.spines[["top", "right"]].set_visible(False)

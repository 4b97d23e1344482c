"""Goodput of many flows over time as a heat map: a row for each flow, names of starved ones in red."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wifair.figures.style import STARVED

MOST_NAMED = 40
"""The most flows that are named at the axis."""
MOST_BINS = 100
"""The most columns: more cannot be distinguished."""


def heat_map(
    axes: Any, edges: NDArray[np.float64], values: NDArray[np.float64], names: Sequence[str], starved: Sequence[bool]
) -> Any:
    """Draw rows of values over time, the first row on top.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Where to draw.
    edges : ndarray of float, shape (n_bins + 1,)
        Edges of the time bins [s].
    values : ndarray of float, shape (n_rows, n_bins)
        What the colours mean, in the unit of the scale; NaN where there is nothing.
    names : sequence of str
        Name of each row.
    starved : sequence of bool
        Rows whose names are red.

    Returns
    -------
    matplotlib.collections.QuadMesh
        What `colour_scale` takes.
    """
    rows = np.arange(len(names) + 1) - 0.5
    mesh = axes.pcolormesh(edges, rows, values[::-1], cmap="cividis", rasterized=True)
    # A quantile, because a single burst would make everything else dark.
    top = float(np.nanquantile(values[values > 0], 0.98)) if (values > 0).any() else 1.0
    mesh.set_clim(0, top)
    axes.set_xlim(0, edges[-1])
    axes.set_ylim(-0.5, len(names) - 0.5)
    name_rows(axes, names, starved)
    axes.spines[["top", "right", "left", "bottom"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return mesh


def name_rows(axes: Any, names: Sequence[str], starved: Sequence[bool]) -> None:
    """Write the names of rows at the vertical axis, the first on top; only their number if there are too many."""
    if len(names) > MOST_NAMED:
        axes.set_yticks([])
        axes.set_ylabel(f"{len(names)} flows")
        return
    axes.set_yticks(np.arange(len(names))[::-1], list(names), fontsize=7)
    for text, hungry in zip(axes.get_yticklabels(), starved):
        if hungry:
            text.set_color(STARVED)
            text.set_fontweight("bold")


def colour_scale(figure: Any, axes: Any, mesh: Any, label: str, rows: int) -> None:
    """Draw the colour scale of a heat map with `rows` above it, in one line with its label."""
    place = axes.inset_axes((0.55, 1.03, 0.45, 0.55 / max(rows, 8)))
    bar = figure.colorbar(mesh, cax=place, orientation="horizontal")
    place.xaxis.set_ticks_position("top")
    place.tick_params(labelsize=6, length=2, pad=1)
    bar.outline.set_visible(False)
    axes.text(0.53, 1.03, label, transform=axes.transAxes, fontsize=7, ha="right", va="bottom")


def coarser(edges: NDArray[np.float64], values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Merge time bins until there are at most `MOST_BINS`; values become means over time."""
    bins = values.shape[1]
    each = -(-bins // MOST_BINS)
    if each <= 1:
        return edges, values
    starts = np.arange(0, bins, each)
    widths = np.diff(edges)
    sums = np.add.reduceat(np.nan_to_num(values) * widths, starts, axis=1)
    return np.append(edges[starts], edges[-1]), sums / np.add.reduceat(widths, starts)

"""A comparison as a figure: a panel for each important quantity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wifair.figures._labels import quantity
from wifair.figures.style import COLOURS, MARKERS, TWO_COLUMNS, Look, new_figure, scale_for, settings
from wifair.statistics import Interval, limits, mean_interval

if TYPE_CHECKING:
    from wifair._output.shown import ShownComparison

MOST_PANELS = 12
PANEL_IN = 1.75


def draw(comparison: ShownComparison, look: Look | None = None) -> Any:
    """Draw a comparison: a panel for each important quantity, seeds as points, means with 95 % intervals.

    Parameters
    ----------
    comparison : Comparison
        What to draw.
    look : Look, optional
        What to change: title, labels, size, logarithmic axes. Ratios always have a logarithmic axis.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If a label names nothing that is drawn.
    """
    look = look or Look()
    names = [name for name in comparison.telling() if ": " not in name][:MOST_PANELS]
    look.check_labels([*comparison.names, *names])
    columns = min(max(int((look.width_in or TWO_COLUMNS) / PANEL_IN), 1), max(len(names), 1))
    lines = -(-max(len(names), 1) // columns)
    with settings():
        figure = new_figure(look, height_in=1.5 * lines + 0.2 * len(comparison.names) + 0.2)
        panels = figure.subplots(lines, columns, squeeze=False).ravel()
        for axes, name in zip(panels, names):
            _panel(axes, comparison, name, look)
        for axes in panels[len(names) :]:
            axes.set_visible(False)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left")
    return figure


def _panel(axes: Any, comparison: ShownComparison, key: str, look: Look) -> None:
    """Draw a quantity of all sources; lines join the values of equal seeds."""
    values = comparison.values(key)
    largest = max((value for found in values.values() for value in found.values()), default=0.0)
    drawn = quantity(key, largest)
    for seed in dict.fromkeys(seed for found in values.values() for seed in found):
        row = [drawn.scale * found.get(seed, np.nan) for found in values.values()]
        axes.plot(row, ".-", color="#aaaaaa", linewidth=0.5, markersize=3, zorder=1)
    for at, (name, found) in enumerate(values.items()):
        mean, half = mean_interval(found.values())
        ends = limits(key, Interval(mean, half))
        lower, upper = (0.0 if np.isnan(end) else drawn.scale * abs(end - mean) for end in ends)
        lower = min(lower, 0.99 * drawn.scale * mean) if mean > 0 else 0.0
        style = {"marker": MARKERS[at % len(MARKERS)], "color": COLOURS[at % len(COLOURS)], "linestyle": "none"}
        label = look.label(name)
        axes.errorbar(at, drawn.scale * mean, [[lower], [upper]], capsize=3, zorder=2, label=label, **style)
    axes.set(xticks=[], xlim=(-0.5, len(values) - 0.5), ylabel=look.label(key, drawn.axis))
    if largest > 0 and scale_for(axes, key, look):
        return
    if axes.get_ylim()[0] < 0 and min(min(found.values(), default=0.0) for found in values.values()) >= 0:
        axes.set_ylim(bottom=0)
        for line in axes.lines:  # so that a marker at zero is not cut in half
            line.set_clip_on(False)

"""Averages of a sweep as a figure: one line for each group, with 95 % intervals."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wifair import _core
from wifair.columns import Columns
from wifair.figures.labels import parameter, quantity
from wifair.figures.style import COLOURS, MARKERS, ONE_COLUMN, Look, new_figure, scale_for, settings

MOST_GROUPS = 40
"""The most lines that are legible."""
BESIDE = 0.4
"""Width of all groups at a text on the axis, where ticks are 1 apart."""
QUANTITY = re.compile(r"\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*(\S+)\s*")
UNSET = "not set"
"""Tick of points that do not set the parameter on the axis."""
MOST_TICKS = 12
"""The most values that each have a tick."""


def draw(columns: Columns, x: str, y: Sequence[str], by: Sequence[str], look: Look | None = None) -> Any:
    """Draw averages, one panel for each quantity.

    Parameters
    ----------
    columns : Columns
        What `means` gave, grouped by `x` and `by`.
    x : str
        Label on the axis: in numbers if it has some, else a place for each text.
    y : sequence of str
        Quantities.
    by : sequence of str
        Labels that tell lines apart.
    look : Look, optional
        What to change: title, labels, size, logarithmic vertical axes. Ratios always have a logarithmic axis.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If there are too many lines, or a label names nothing that is drawn.
    """
    look = look or Look()
    places, axis, ticks = _places(columns[x], look.label(x, parameter(x)))
    keys = list(zip(*(columns[name].tolist() for name in by))) if by else [()] * columns.rows
    groups = list(dict.fromkeys(keys)) or [()]
    if len(groups) > MOST_GROUPS:
        raise ValueError(f"{len(groups)} lines in one plot: choose fewer by a condition, or another --by")
    called = [", ".join(map(str, group)) for group in groups]
    look.check_labels([x, *y, *by, *called, *(ticks or [])])
    with settings():
        figure = new_figure(look, width_in=ONE_COLUMN, height_in=0.3 + 2.1 * len(y))
        panels = figure.subplots(len(y), 1, squeeze=False, sharex=True)[:, 0]
        for panel, name in zip(panels, y):
            drawn = quantity(name, float(np.nanmax(columns[name], initial=0.0)))
            for number, group in enumerate(groups):
                aside = (number - (len(groups) - 1) / 2) * BESIDE / len(groups) if ticks is not None else 0.0
                rows = np.array([row for row, key in enumerate(keys) if key == group], dtype=np.int64)
                rows = rows[np.argsort(places[rows], kind="stable")]
                mean, *ends = (columns[of][rows] * drawn.scale for of in (name, f"{name}_low", f"{name}_high"))
                half = [np.nan_to_num(np.abs(end - mean)) for end in ends]
                panel.errorbar(
                    places[rows] + aside,
                    mean,
                    half,
                    fmt=MARKERS[number % len(MARKERS)] + ("" if ticks is not None else _dashes(number)),
                    color=COLOURS[number % len(COLOURS)],
                    elinewidth=0.8,
                    label=look.label(called[number]),
                )
            panel.set_ylabel(look.label(name, drawn.axis))
            scale_for(panel, name, look)
        panels[-1].set_xlabel(axis)
        _ticks(panels[-1], places, ticks, look)
        if by:
            title = ", ".join(look.label(name, parameter(name)) for name in by)
            inside = panels[0].legend(loc="best", title=title, ncols=1 + len(groups) // 8, title_fontsize=7)
            if _covers(inside, panels[0]):
                handles, labels = panels[0].get_legend_handles_labels()
                inside.remove()
                figure.legend(handles, labels, loc="outside upper left", ncols=2, title=title, title_fontsize=7)
    return figure


def _dashes(number: int) -> str:
    """Choose the style of a line: another one each time that colours repeat."""
    return "-" if number < len(COLOURS) else "--" if number < 2 * len(COLOURS) else ":"


def _covers(legend: Any, panel: Any) -> bool:
    """Whether a legend covers a line of its panel, or is wider than the panel."""
    legend.figure.draw_without_rendering()
    box, room = legend.get_window_extent(), panel.get_window_extent()
    if box.x0 < room.x0 or box.x1 > room.x1:
        return True
    paths = (line.get_path().transformed(line.get_transform()) for line in panel.lines)
    return any(path.intersects_bbox(box, filled=False) for path in paths)


def _ticks(panel: Any, places: NDArray[np.float64], ticks: list[str] | None, look: Look) -> None:
    """Put ticks at the points, unless they would overlap."""
    if ticks is not None:
        long = sum(map(len, ticks)) > 40
        texts = [look.label(tick) for tick in ticks]
        panel.set_xticks(range(len(ticks)), texts, rotation=30 if long else 0, ha="right" if long else "center")
        panel.set_xlim(-0.5, len(ticks) - 0.5)
        return
    values = np.unique(places)
    span = float(np.ptp(values)) or 1.0
    if len(values) <= MOST_TICKS and (len(values) < 2 or float(np.diff(values).min()) > 0.04 * span):
        panel.set_xticks(values, [f"{value:g}" for value in values])


def _places(values: NDArray[Any], name: str) -> tuple[NDArray[np.float64], str, list[str] | None]:
    """Return the places of values on the axis, its label, and its ticks if the values are not numbers."""
    if values.dtype.kind in "if":
        return values.astype(np.float64), name, None
    texts = [str(value) or UNSET for value in values]
    matches = [QUANTITY.fullmatch(text) for text in texts]
    units = {match[2] for match in matches if match}
    if all(matches) and len(units) == 1:
        return np.array([float(match[1]) for match in matches if match]), f"{name} [{units.pop()}]", None
    numbers = [_core.number_of(text) for text in texts]
    if all(number is not None for number in numbers):
        return np.array(numbers, dtype=np.float64), name, None
    ticks = list(dict.fromkeys(texts))
    return np.array([ticks.index(text) for text in texts], dtype=np.float64), name, ticks

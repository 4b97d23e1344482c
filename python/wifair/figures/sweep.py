"""Averages of a sweep as a figure: one line for each group, with 95 % intervals."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wifair import _core
from wifair._output.words import counted
from wifair.columns import Columns
from wifair.figures._labels import parameter, quantity
from wifair.figures.style import COLOURS, MARKERS, ONE_COLUMN, TWO_COLUMNS, Look, new_figure, scale_for, settings

MOST_GROUPS = 40
"""The most lines that are legible."""
BESIDE = 0.4
"""Width of all groups at a text on the axis, where ticks are 1 apart."""
QUANTITY = re.compile(r"\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*(\S+)\s*")
UNSET = "not set"
"""Tick of points that do not set the parameter on the axis."""
MOST_TICKS = 12
"""The most values that each have a tick."""
MOST_INSIDE = 8
"""The most lines whose legend may stand inside of a panel."""
MOST_PANELS = 24
"""The most panels that are legible."""
ACROSS = 3
"""Panels beside each other, if there is one quantity."""
LEAST_USED = 0.2
"""The part of the figure that panels take at least."""


def draw(
    columns: Columns,
    x: str,
    y: Sequence[str],
    by: Sequence[str],
    look: Look | None = None,
    *,
    panels: str | None = None,
    logx: bool = False,
) -> Any:
    """Draw averages: a row of panels for each quantity, or several rows if there is one quantity in many panels.

    Parameters
    ----------
    columns : Columns
        What `means` gave, grouped by `x`, `by` and `panels`.
    x : str
        Label on the axis: in numbers if it has some, else a place for each text.
    y : sequence of str
        Quantities.
    by : sequence of str
        Labels that tell lines apart.
    look : Look, optional
        What to change: title, labels, size, logarithmic vertical axes. Ratios always have a logarithmic axis.
    panels : str, optional
        Label with a panel for each of its values.
    logx : bool, default False
        Logarithmic horizontal axis.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If there are too many lines or panels, they do not fit into the size asked for, a label names nothing that is
        drawn, or `logx` is for texts or for numbers that are not positive.
    """
    look = look or Look()
    places, axis, ticks = _places(columns[x], look.label(x, parameter(x)))
    if logx and (ticks is not None or float(np.nanmin(places, initial=np.inf)) <= 0):
        raise ValueError(f"`{x}` has no logarithmic axis: not all of its values are numbers above 0")
    keys = list(zip(*(columns[name].tolist() for name in by))) if by else [()] * len(columns)
    groups = list(dict.fromkeys(keys)) or [()]
    if len(groups) > MOST_GROUPS:
        raise ValueError(f"{len(groups)} lines in one plot: choose fewer by a condition, or another --by")
    shares = [str(value) for value in columns[panels].tolist()] if panels is not None else [""] * len(columns)
    parts = list(dict.fromkeys(shares)) or [""]
    if len(parts) > MOST_PANELS:
        raise ValueError(f"{len(parts)} panels: choose at most {MOST_PANELS} by a condition")
    called = [", ".join(map(str, group)) for group in groups]
    look.check_labels([x, *y, *by, *called, *(ticks or []), *([panels, *parts] if panels is not None else [])])
    across = len(parts) if len(y) > 1 else 2 if len(parts) == 4 else min(len(parts), ACROSS)
    rows_of_panels = len(y) if len(y) > 1 else -(-len(parts) // across)
    with settings():
        width_in = ONE_COLUMN if across == 1 else max(TWO_COLUMNS, 2.2 * across)
        figure = new_figure(look, width_in=width_in, height_in=0.3 + 2.1 * rows_of_panels)
        grid = figure.subplots(rows_of_panels, across, squeeze=False, sharex=True, sharey="row" if len(y) > 1 else True)
        cells = list(grid.flat)
        for place, (name, part) in enumerate((name, part) for name in y for part in parts):
            panel = cells[place]
            drawn = quantity(name, float(np.nanmax(columns[name], initial=0.0)))
            for number, group in enumerate(groups):
                aside = (number - (len(groups) - 1) / 2) * BESIDE / len(groups) if ticks is not None else 0.0
                here = [row for row, key in enumerate(keys) if key == group and shares[row] == part]
                rows = np.array(here, dtype=np.int64)
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
            if place % across == 0:
                panel.set_ylabel(look.label(name, drawn.axis))
            if panels is not None and place < len(parts):
                panel.set_title(f"{look.label(panels, parameter(panels))}: {look.label(part)}", fontsize=8)
            scale_for(panel, name, look)
        for empty in cells[len(parts) * len(y) :]:
            empty.set_visible(False)
        for bottom in cells[: len(parts) * len(y)][-across:]:
            bottom.set_xlabel(axis)
            bottom.xaxis.set_tick_params(labelbottom=True)
        if logx:
            cells[0].set_xscale("log")
            cells[0].xaxis.set_minor_formatter("")
        _ticks(cells[0], places, ticks, look)
        if by:
            _legend(figure, cells[0], [look.label(name, parameter(name)) for name in by], look)
    return figure


def _legend(figure: Any, panel: Any, names: Sequence[str], look: Look) -> None:
    """Say which line is which: in the panel if there is room, else to the right of all panels."""
    handles, labels = panel.get_legend_handles_labels()
    title = ", ".join(names)
    alone = sum(axes.get_visible() for axes in figure.axes) == 1
    if alone and len(labels) <= MOST_INSIDE:
        inside = panel.legend(loc="best", title=title, title_fontsize=7)
        if not _covers(inside, panel):
            return
        inside.remove()
    if look.width_in is None:
        figure.set_figwidth(figure.get_figwidth() + 0.45 + 0.055 * max(map(len, [title, *labels])))
    if look.height_in is None:
        figure.set_figheight(max(figure.get_figheight(), 0.5 + 0.16 * len(labels)))
    legend = figure.legend(handles, labels, loc="outside right upper", title=title, title_fontsize=7)
    figure.draw_without_rendering()
    visible = [axes.get_position() for axes in figure.axes if axes.get_visible()]
    used = sum(max(box.width, 0) * max(box.height, 0) for box in visible)
    if used < LEAST_USED or legend.get_window_extent().y0 < 0:
        raise ValueError(
            f"{len(labels)} lines in {counted(len(visible), 'panel')} do not fit into this size: choose a larger one"
        )


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

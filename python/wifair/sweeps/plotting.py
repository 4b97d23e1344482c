"""Averages of a sweep as a figure: one line for each group, with 95 % intervals."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from wifair import _core
from wifair.figure import LINES

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from wifair.columns import Columns

__all__ = ["plot"]

MOST_GROUPS = 40
"""More lines tell nobody anything."""
MARKERS = "os^DvP*X"
BESIDE = 0.4
"""Width that the groups take at a text on the axis, where a tick is 1 wide."""
QUANTITY = re.compile(r"\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*(\S+)\s*")
SCALES = (("_bps", 1e-6, "Mb/s"), ("_s", 1.0, "s"), ("_packets", 1.0, "packets"), ("_bytes", 1.0, "bytes"))


def plot(columns: Columns, path: str | os.PathLike[str], x: str, y: Sequence[str], by: Sequence[str]) -> None:
    """Draw averages, one panel for each figure, and save them; the ending of `path` says as what (PNG, SVG, PDF).

    Parameters
    ----------
    columns : Columns
        What `means` gave, grouped by `x` and `by`.
    path : str or path
        File to write.
    x : str
        Label on the axis: in numbers if it has some, else a place for each text.
    y : sequence of str
        Figures.
    by : sequence of str
        Labels that tell lines apart.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If there are too many lines, or the ending is none that matplotlib knows.
    OSError
        If the file cannot be written.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        raise ImportError("figures need matplotlib: pip install 'wifair[plot]'") from None

    places, axis, ticks = _places(columns[x], x)
    groups = list(dict.fromkeys(zip(*(columns[name].tolist() for name in by)))) if by else [()]
    if len(groups) > MOST_GROUPS:
        raise ValueError(f"{len(groups)} lines in one plot: choose fewer by a condition, or another --by")
    figure = Figure(figsize=(6, 0.6 + 2.8 * len(y)), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(len(y), 1, squeeze=False, sharex=True)[:, 0]
    for panel, name in zip(panels, y):
        scale, unit = next(((scale, unit) for end, scale, unit in SCALES if name.endswith(end)), (1.0, ""))
        for number, group in enumerate(groups):
            aside = (number - (len(groups) - 1) / 2) * BESIDE / len(groups) if ticks is not None else 0.0
            mask = np.ones(columns.rows, dtype=bool)
            for label, value in zip(by, group):
                mask &= np.asarray(columns[label] == value)
            label = ", ".join(map(str, group))
            _line(panel, columns, name, places + aside, mask, scale, number, label, joined=ticks is None)
        panel.set_ylabel(_title(name, unit))
        panel.spines[["top", "right"]].set_visible(False)
    panels[-1].set_xlabel(axis)
    if columns[x].dtype.kind == "i":
        panels[-1].xaxis.get_major_locator().set_params(integer=True)
    if ticks is not None:
        panels[-1].set_xticks(range(len(ticks)), ticks)
        panels[-1].set_xlim(-0.5, len(ticks) - 0.5)
    if by:
        panels[0].legend(title=", ".join(by), frameon=False, fontsize="small", ncols=1 + len(groups) // 8)
    figure.savefig(path, dpi=150)


def _line(
    panel: Any,
    columns: Columns,
    name: str,
    places: NDArray[np.float64],
    mask: NDArray[np.bool_],
    scale: float,
    number: int,
    label: str,
    *,
    joined: bool,
) -> None:
    order = np.argsort(places[mask], kind="stable")
    at = places[mask][order]
    mean = columns[name][mask][order] * scale
    half = np.nan_to_num(columns[f"{name}_ci95"][mask][order] * scale)
    style = "" if not joined else "-" if number < len(LINES) else "--" if number < 2 * len(LINES) else ":"
    panel.errorbar(
        at,
        mean,
        half,
        fmt=f"{MARKERS[number % len(MARKERS)]}{style}",
        color=LINES[number % len(LINES)],
        markersize=4,
        linewidth=1,
        elinewidth=0.8,
        capsize=2,
        label=label,
    )


def _places(values: NDArray[Any], name: str) -> tuple[NDArray[np.float64], str, list[str] | None]:
    """Where values stand on the axis, what that is called, and its ticks where the values are no numbers."""
    if values.dtype.kind in "if":
        return values.astype(np.float64), name, None
    texts = [str(value) for value in values]
    matches = [QUANTITY.fullmatch(text) for text in texts]
    units = {match[2] for match in matches if match}
    if all(matches) and len(units) == 1:
        return np.array([float(match[1]) for match in matches if match]), f"{name} [{units.pop()}]", None
    numbers = [_core.number_of(text) for text in texts]
    if all(number is not None for number in numbers):
        return np.array(numbers, dtype=np.float64), name, None
    ticks = list(dict.fromkeys(texts))
    return np.array([ticks.index(text) for text in texts], dtype=np.float64), name, ticks


def _title(name: str, unit: str) -> str:
    for end, _, _ in SCALES:
        name = name.removesuffix(end)
    return name.replace("_", " ").replace("jain ", "Jain's ") + (f" [{unit}]" if unit else "")

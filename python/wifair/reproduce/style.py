"""Style of figures: for print, one column wide, and legible to colour-blind readers."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from wifair._output import files
from wifair.figures.style import COLOURS, MARKERS, SAME_BYTES, settings
from wifair.reproduce._model import Experiment
from wifair.reproduce.table import Row, Table

T = TypeVar("T")

SHORT_NAMES = 30
"""The most letters of four names that fit into one row under a figure of one column."""
DASHES: Sequence[Any] = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), "-")

RC: Mapping[str, Any] = {
    "lines.linewidth": 1.1,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.linewidth": 0.4,
    "grid.color": "#dddddd",
}

PUBLISHED: dict[str, Any] = {
    "marker": "o",
    "color": "black",
    "markerfacecolor": "none",
    "linestyle": "none",
    "markersize": 7,
}
NS2: dict[str, Any] = {"marker": "x", "color": "black", "linestyle": "none", "markersize": 5, "markeredgewidth": 1}


def draw(experiment: Experiment, table: Table) -> Any:
    """Draw the figure of an experiment; None if it has none.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    if experiment.draw is None:
        return None
    from matplotlib.figure import Figure  # noqa: PLC0415

    with settings(**RC):
        figure = Figure(figsize=experiment.size, layout="constrained")
        experiment.draw(figure, table)
    return figure


def save(figure: Any, stem: Path, formats: Sequence[str]) -> None:
    """Save in formats such as ``svg``, the same figure with the same bytes each time."""
    import matplotlib as mpl  # noqa: PLC0415
    from matplotlib.backend_bases import get_registered_canvas_class  # noqa: PLC0415

    with settings(**RC, **{"svg.hashsalt": stem.name}):
        # `savefig` would draw everything twice for each format, the first time for the layout.
        figure.get_layout_engine().execute(figure)
        figure.set_layout_engine("none")
        for ending in formats:
            figure.set_dpi(mpl.rcParams["savefig.dpi"])  # those of SVG and PDF set their own
            canvas = get_registered_canvas_class(ending)(figure)  # imports the backend, which is slow for PDF
            drawn = io.BytesIO()
            getattr(canvas, f"print_{ending}")(drawn, metadata=SAME_BYTES[ending])
            files.write_bytes(stem.with_suffix(f".{ending}"), drawn.getvalue())


def svg_text(file: Path, prefix: str) -> str:
    """Read an SVG for embedding in a page: without XML declaration, and with IDs that are unique on the page."""
    text = file.read_text(encoding="utf-8")
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    plain = re.sub(r"[^\w-]", "-", prefix)
    return re.sub(r'(\bid="|xlink:href="#|url\(#)', rf"\g<1>{plain}-", text)


def panels(
    figure: Any, shown: Iterable[T], label: str, *, columns: int = 3, from_zero: bool = False, **options: Any
) -> Iterator[tuple[Any, T]]:
    """Draw panels side by side: yield the axes of each and what it shows, then add the legend below all of them.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        An empty figure.
    shown : iterable
        What the panels show, from the left.
    label : str
        Label of the vertical axis, at the leftmost panel.
    columns : int, default 3
        As for `legend_below`.
    from_zero : bool, default False
        Whether the vertical axis, which all panels share, begins at zero.
    **options
        Further options of `Figure.subplots`, such as ``sharey``.

    Yields
    ------
    axes, shown
        The axes of a panel, to be drawn into, and what it shows.
    """
    shown = list(shown)
    every = figure.subplots(1, len(shown), squeeze=False, **options)[0]
    yield from zip(every, shown)
    every[0].set_ylabel(label)
    if from_zero:
        every[0].set_ylim(bottom=0)
    legend_below(figure, *every, columns=columns)


def lines(
    axes: Any,
    table: Table,
    quantity: str,
    *,
    x: str,
    series: str,
    names: Mapping[Any, str] | None = None,
    order: Iterable[Any] | None = None,
    scale: float = 1.0,
) -> None:
    """Draw a line over label `x` for each value of label `series`, with 95 % intervals, published values and ns-2.

    `names` gives the names of series in the legend, `order` the series to draw, `scale` a factor of the values.
    """
    rows = table.where(quantity)
    known = rows.distinct(series)
    for group in known if order is None else order:
        if group not in known:
            continue
        number = known.index(group) % len(COLOURS)
        some = rows.where(**{series: group}).rows
        at = [row.labels[x] for row in some]
        axes.errorbar(
            at,
            [scale * row.estimate.mean for row in some],
            [scale * _half_width(row) for row in some],
            color=COLOURS[number],
            marker=MARKERS[number],
            linestyle=DASHES[number],
            elinewidth=0.8,
            label=(names or {}).get(group, str(group)),
        )
        _elsewhere(axes, at, some, scale, COLOURS[number])
    if all(isinstance(value, int) for value in rows.distinct(x)):
        axes.xaxis.get_major_locator().set_params(integer=True)


def bars(axes: Any, rows: Sequence[Row], at: Iterable[float], *, colour: str, label: str, width: float) -> None:
    """Draw a bar for each row, with 95 % intervals, published values and ns-2."""
    at = list(at)
    axes.bar(
        at,
        [row.estimate.mean for row in rows],
        width,
        yerr=[_half_width(row) for row in rows],
        color=colour,
        label=label,
        error_kw={"elinewidth": 0.8},
    )
    _elsewhere(axes, at, rows, 1.0, "black")


def grouped_bars(axes: Any, groups: Mapping[str, Sequence[Row]], *, width: float, step: float, first: int = 0) -> None:
    """Draw the first rows of all groups side by side at `first`, the second ones beside them, and so on.

    `groups` are rows by their name in the legend, `step` is the distance of neighbours, of which each is `width` wide.
    """
    for number, (name, rows) in enumerate(groups.items()):
        at = first + np.arange(len(rows)) + step * (number - (len(groups) - 1) / 2)
        bars(axes, rows, at, colour=COLOURS[number], label=name, width=width)


def curve(axes: Any, rows: Sequence[Row], **options: Any) -> None:
    """Draw the values of rows, one each, over their label `t`, with the options of `Axes.plot`."""
    axes.plot([row.labels["t"] for row in rows], [row.values[0] for row in rows], **options)


def _half_width(row: Row) -> float:
    """Half width of the interval of a row; 0 without one, so that none is drawn."""
    half = row.estimate.half_width
    return 0.0 if np.isnan(half) else half


def points(axes: Any, rows: Sequence[Row], at: Iterable[float]) -> None:
    """Draw every seed as a point."""
    for x, row in zip(at, rows):
        axes.plot([x] * len(row.values), row.values, ".", color="black", markersize=2, alpha=0.5)


def _elsewhere(axes: Any, at: Sequence[Any], rows: Sequence[Row], scale: float, colour: str) -> None:
    ns2 = [(x, scale * value) for x, row in zip(at, rows) for value in row.ns2]
    if ns2:
        axes.plot(*zip(*ns2), **{**NS2, "color": colour}, label="ns-2", zorder=3)
    published = [(x, scale * row.published) for x, row in zip(at, rows) if np.isfinite(row.published)]
    if published:
        axes.plot(*zip(*published), **{**PUBLISHED, "color": colour}, label="published", zorder=3)


def legend_below(figure: Any, *axes: Any, columns: int = 3) -> None:
    """Draw one legend for all axes below them, with each name once."""
    known: dict[str, Any] = {}
    for some in axes:
        for handle, label in zip(*some.get_legend_handles_labels()):
            known.setdefault(label, handle)
    if "ns-2" in known:  # crosses have the colours of the series
        from matplotlib.lines import Line2D  # noqa: PLC0415

        known["ns-2"] = Line2D([], [], **NS2)
    last = [label for label in ("ns-2", "published") if label in known]
    labels = [label for label in known if label not in last] + last
    if columns == 3 and len(labels) == 4:  # no name is alone in its row
        columns = 4 if sum(map(len, labels)) <= SHORT_NAMES else 2
    figure.legend([known[label] for label in labels], labels, loc="outside lower center", ncols=columns)

"""What all figures share: sizes of journal columns, embedded fonts, colours, and options of the user."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from wifair._output import files
from wifair._output.streams import printable
from wifair.figures._labels import RATIOS

ONE_COLUMN, TWO_COLUMNS = 3.5, 7.16
"""Widths [in] of a column and of a page in the journals of IEEE; those of ACM are about the same."""
LARGEST_IN = 40.0
LARGE = 10_000
SMALLEST_PLAIN, LARGEST_PLAIN = 1e-3, 1e5

# Colours that colour-blind readers can tell apart: M. Okabe and K. Ito, "Color universal design", 2008.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000"]
DIRECTIONS = {"up": "#E69F00", "down": "#0072B2", "wired": "#009E73", "peer": "#CC79A7"}
STARVED = "#D00000"
MARKERS = "os^DvP*X"

RC: Mapping[str, Any] = {
    # IEEE and ACM refuse Type 3 fonts, which are matplotlib's default: 42 embeds TrueType.
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "wifair",
    "savefig.dpi": 300,
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "figure.titlesize": 9,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "lines.linewidth": 1.0,
    "lines.markersize": 4,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "errorbar.capsize": 2,
}
SAME_BYTES: Mapping[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}
"""The formats of figures, with metadata to omit, so that equal figures have equal bytes."""

_SIZE = re.compile(r"\s*([\d.]+)\s*(?:x\s*([\d.]+)\s*)?(in|cm|mm)\s*")
_PER_INCH = {"in": 1.0, "cm": 2.54, "mm": 25.4}
_NAMED_SIZES = {"one-column": ONE_COLUMN, "two-column": TWO_COLUMNS}


@dataclass(frozen=True)
class Look:
    """Changes of a figure that the user asks for.

    Attributes
    ----------
    title : str or None
        Title over the figure; the figure's own by default, none if empty.
    labels : mapping of str to str
        Other texts for quantities, flows, lines and parameters, by the names that results give them.
    width_in, height_in : float or None
        Size of the figure [in]; by default that of the figure.
    logy : bool
        Whether the vertical axes are logarithmic.
    """

    title: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    width_in: float | None = None
    height_in: float | None = None
    logy: bool = False

    @staticmethod
    def of(
        title: str | None = None, labels: Mapping[str, str] | None = None, size: str | None = None, logy: bool = False
    ) -> Look:
        """Create from the values of options.

        Parameters
        ----------
        title : str, optional
            Title over the figure.
        labels : mapping of str to str, optional
            Texts by the names that they stand for.
        size : str, optional
            ``"one-column"``, ``"two-column"``, ``"16 cm"`` or ``"3.5 x 2.4 in"``.
        logy : bool, default False
            Logarithmic vertical axes.

        Raises
        ------
        ValueError
            If the size is none of these, or is not between 0 and 40 inches.
        """
        width, height = (None, None) if size is None else _size(size)
        return Look(title, dict(labels or {}), width, height, logy)

    def label(self, name: str, default: str | None = None) -> str:
        """Return the text for `name`: the user's, else `default`, else the name itself."""
        given = self.labels.get(name)
        return plain(name if default is None else default) if given is None else given

    def check_labels(self, known: Mapping[str, object] | set[str] | list[str]) -> None:
        """Refuse a label for something that the figure does not show.

        Raises
        ------
        ValueError
            With the names that it does show.
        """
        for name in self.labels:
            if name not in known:
                there = ", ".join(list(known)[:12])
                raise ValueError(f"label `{name}`: the figure shows nothing of that name; there are {there}")


def plain(text: str) -> str:
    """Make a text that may be somebody else's fit for a figure: characters that are seen, and no formulas."""
    return printable(text).replace("$", r"\$")


def _size(text: str) -> tuple[float, float | None]:
    if text.strip() in _NAMED_SIZES:
        return _NAMED_SIZES[text.strip()], None
    match = _SIZE.fullmatch(text)
    try:
        if match is None:
            raise ValueError
        width = float(match[1]) / _PER_INCH[match[3]]
        height = float(match[2]) / _PER_INCH[match[3]] if match[2] else None
    except ValueError:
        choices = "write one-column, two-column, '16 cm' or '3.5 x 2.4 in'"
        raise ValueError(f"`{text}` is not a size of a figure: {choices}") from None
    for value in (width, height):
        if value is not None and not 0.5 <= value <= LARGEST_IN:
            raise ValueError(f"size `{text}`: a figure is between 0.5 and {LARGEST_IN:g} inches wide and high")
    return width, height


def settings(**more: Any) -> Any:
    """Apply matplotlib's settings for our figures (a context manager)."""
    import matplotlib as mpl  # noqa: PLC0415

    values: Any = {**RC, **more}
    return mpl.rc_context(values)


def new_figure(look: Look, *, width_in: float = TWO_COLUMNS, height_in: float = 3.0) -> Any:
    """Make an empty figure that saves itself with embedded fonts, at 300 dpi, with the same bytes each time.

    Parameters
    ----------
    look : Look
        What the user asked for; its size goes before the defaults.
    width_in, height_in : float
        Default size [in].

    Returns
    -------
    matplotlib.figure.Figure
        Independent of pyplot: it needs no display and is not shown by itself.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    figure = _figure_class()(figsize=(look.width_in or width_in, look.height_in or height_in), layout="constrained")
    if look.title:
        figure.suptitle(look.title)
    return figure


def thousands_apart(axes: Any) -> None:
    """Write large ticks of the vertical axis as 400,000."""
    from matplotlib.ticker import ScalarFormatter  # noqa: PLC0415

    class Formatter(ScalarFormatter):
        def __call__(self, x: float, pos: int | None = None) -> str:
            return f"{x:,.0f}" if axes.get_ylim()[1] >= LARGE else super().__call__(x, pos)

    axes.yaxis.set_major_formatter(Formatter())


def logarithmic(axes: Any, axis: str = "y") -> None:
    """Make an axis logarithmic, with ticks such as 0.5 and 20 instead of small powers of ten."""
    from matplotlib.ticker import LogFormatterMathtext  # noqa: PLC0415

    class Formatter(LogFormatterMathtext):
        def __call__(self, x: float, pos: int | None = None) -> str:
            shown = super().__call__(x, pos)
            return f"{x:,g}" if shown and SMALLEST_PLAIN <= x < LARGEST_PLAIN else shown

    scaled = axes.yaxis if axis == "y" else axes.xaxis
    (axes.set_yscale if axis == "y" else axes.set_xscale)("log")
    scaled.set_major_formatter(Formatter())
    scaled.set_minor_formatter(Formatter())


def scale_for(axes: Any, name: str, look: Look) -> bool:
    """Make the vertical axis logarithmic for a ratio, with a line at 1, or if `look` says so. Returns whether it is."""
    if name in RATIOS:
        axes.axhline(1, color="#999999", linewidth=0.6, zorder=0)
    elif not look.logy:
        return False
    logarithmic(axes)
    return True


@cache
def _figure_class() -> Any:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        raise ImportError("figures need matplotlib: pip install 'wifair[plot]'") from None

    class PaperFigure(Figure):  # type: ignore[misc, unused-ignore]
        """A figure whose files journals accept, whatever the user's settings are."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            FigureCanvasAgg(self)

        def savefig(self, fname: Any, **kwargs: Any) -> None:
            ending = str(kwargs.get("format") or Path(str(fname)).suffix.removeprefix(".") or "png").lower()
            kwargs.setdefault("metadata", SAME_BYTES.get(ending))
            with settings():
                super().savefig(fname, **kwargs)

        def _repr_png_(self) -> bytes:
            out = io.BytesIO()
            self.savefig(out, format="png", dpi=144)
            return out.getvalue()

    return PaperFigure


def check(path: str | os.PathLike[str]) -> None:
    """Check, before long runs, that a figure can be drawn and saved in the format of the extension of `path`.

    Parameters
    ----------
    path : str or path
        File to write, later.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If the ending is none of ``.png``, ``.svg`` and ``.pdf``.
    """
    _figure_class()
    ending = Path(path).suffix
    if ending.lower().removeprefix(".") not in SAME_BYTES:
        said = f"`{ending}` is no kind of figure" if ending else "what kind of figure?"
        raise ValueError(f"{said}: let `{path}` end in .png, .svg or .pdf")


def save(figure: Any, path: str | os.PathLike[str]) -> None:
    """Save a figure in the format of the extension of `path`.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        What one of the functions of this package returned.
    path : str or path
        File to write; it is replaced if it is there.

    Raises
    ------
    ValueError
        If the ending is none of ``.png``, ``.svg`` and ``.pdf``.
    OSError
        If the file cannot be written.
    """
    check(path)
    drawn = io.BytesIO()  # because matplotlib's PDF writer hides the error of a full disk
    figure.savefig(drawn, format=Path(path).suffix[1:].lower())
    files.write_bytes(path, drawn.getvalue())

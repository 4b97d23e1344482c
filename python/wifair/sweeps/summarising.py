"""Averages of the runs of a sweep, as columns and as text."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from wifair._output.report import WIDE, figure_text
from wifair._output.tables import aligned
from wifair.columns import Columns
from wifair.statistics import FEWEST, NO_INTERVAL, Interval
from wifair.sweeps.query import means, name_of

SHOWN = ("goodput_bps", "jain_index")
"""Figures that are shown by default."""
NAMES = ("name", "direction")
"""Columns that tell flows apart in all runs."""
MOST_ROWS = 40
PARTLY = re.compile(r" \(\d+\)$")


def averages(columns: Columns, by: Sequence[str], figures: Sequence[str], rows: int = MOST_ROWS) -> str:
    """Format the result of `means`: a line for each group, with half widths of intervals."""
    shown = cells_of(columns, by, figures, rows)
    some = any(PARTLY.search(cell) for line in shown[1:] for cell in line[len(by) + 1 :])
    out = aligned(shown)
    if max(map(len, out)) > shutil.get_terminal_size((WIDE, 24)).columns:
        shown[0][: len(by)] = _ends(by, taken={"seeds", *figures})
        out = aligned(shown)
    if some:
        out.append("((n): only n of the seeds have the figure, and it is their mean)")
    if len(columns) and figures and int(columns["seeds"].max()) < FEWEST:
        out.append(f"({NO_INTERVAL})")
    if len(columns) > rows:
        out.append(f"... and {len(columns) - rows} more: --rows 0 shows all, --csv writes them")
    return "\n".join(out)


def cells_of(columns: Columns, by: Sequence[str], figures: Sequence[str], rows: int | None = None) -> list[list[str]]:
    """Write the result of `means` as cells below a head, each mean with the half width of its interval."""
    shown = [[*by, "seeds", *figures]]
    for row in range(min(len(columns), len(columns) if rows is None else rows)):
        cells = [str(columns[name][row]) for name in (*by, "seeds")]
        for name in figures:
            mean, half = float(columns[name][row]), float(columns[f"{name}_ci95"][row])
            of = int(columns[f"{name}_seeds"][row])
            missing = f" ({of})" if 0 < of < int(columns["seeds"][row]) else ""
            cells.append(figure_text(name, Interval(mean, half)) + missing)
        shown.append(cells)
    return shown


def _ends(names: Sequence[str], taken: set[str]) -> list[str]:
    """Shorten names to the fewest last parts that differ from each other and from the names `taken`."""
    parts = [name.split(".") for name in names]
    for kept in range(1, max(map(len, parts), default=1) + 1):
        short = [".".join(part[-kept:]) for part in parts]
        if len({*short, *taken}) == len(short) + len(taken):
            return short
    return list(names)


def summary_of(
    rows: Columns,
    parameters: Sequence[str],
    by: str | Sequence[str] | None,
    figures: str | Sequence[str] | None,
) -> Columns:
    """Average rows; see `SavedSweep.summary`."""
    default = [name for name in (*parameters, *NAMES) if name in rows]
    keys = default if by is None else _resolved(by, list(rows), "parameter")
    numbers = [name for name in rows if name not in (*default, *keys, "seed", "scenario") and _is_number(rows, name)]
    chosen = numbers if figures is None else _resolved(figures, list(rows), "figure")
    for name in chosen:
        if not _is_number(rows, name):
            raise ValueError(f"`{name}` is no number")
    return means(rows, keys, chosen)


def shown(path: Path, rows: Columns, parameters: Sequence[str], failed: int) -> str:
    """Show what a sweep found: the averages of the main figures at each point."""
    counts = f"{len(rows)} run{'s' * (len(rows) != 1)}" + (f", {failed} failed" if failed else "")
    if not len(rows):
        return f"{path}: {counts}"
    keys = [name for name in parameters if name in rows]
    table = averages(means(rows, keys, SHOWN), keys, SHOWN)
    return f"{table}\n({counts} in `{path}`; .summary() has all figures, .flows each flow)"


def _resolved(names: str | Sequence[str], known: Sequence[str], what: str) -> list[str]:
    return [name_of(name, known, what) for name in ([names] if isinstance(names, str) else names)]


def _is_number(rows: Columns, name: str) -> bool:
    return rows[name].dtype.kind in "iuf"

"""A reproduction as text for a terminal."""

from __future__ import annotations

import math
import shutil
import textwrap
from collections.abc import Sequence
from itertools import compress

import numpy as np

from wifair._output.words import cell, counted
from wifair.reproduce._claims import MEANINGS, VERDICTS
from wifair.reproduce._model import Experiment, Paper
from wifair.reproduce._session import Judged, Outcome, PaperOutcome
from wifair.reproduce.table import Row, Table
from wifair.statistics import limits

RANGE = "seeds from .. to"
WHY = "  why"


def text(outcome: Outcome, width: int | None = None) -> str:
    """Format results beside published values and ns-2 as tables of the width of the terminal, then the verdicts."""
    columns = width or shutil.get_terminal_size().columns
    parts = [_paper(paper, columns) for paper in outcome.papers]
    total = "\n".join(textwrap.fill(line, columns) for line in _total(outcome).splitlines())
    return "\n\n".join([*parts, total])


def _paper(outcome: PaperOutcome, width: int) -> str:
    paper = outcome.paper
    parts = []
    for key, table in outcome.tables.items():
        experiment = paper.experiment(key)
        rows = first_readings(paper, key, shown_rows(experiment, table))
        known = [row for row in rows if np.isfinite(row.published) or row.ns2]
        if known:
            parts.append(fitted(f"{paper.key}/{key}: {experiment.title}", compared(paper, known), width))
    if outcome.claims:
        claims = [_claim(judged) for judged in outcome.claims]
        shown = aligned(claims)
        if _width(shown) > width:
            heads = aligned([line[:2] for line in claims]).splitlines()
            shown = "\n".join(f"{head}\n{_below(says, width)}" for head, (_, _, says) in zip(heads, claims))
        parts.append(f"{paper.key}: claims\n\n{shown}")
    return "\n\n".join(parts)


def fitted(title: str, lines: Sequence[Sequence[str]], width: int) -> str:
    """Format what `compared` arranged under a title, in at most `width` columns if that is possible.

    In a table that is too wide reasons stand below their rows, what all rows share stands in the title, and at last the
    range over the seeds is left out.
    """
    shown = aligned(lines)
    if _width(shown) <= width:
        return f"{title}\n\n{shown}"
    head, *rows = ([*line] for line in lines)
    whys = [row.pop().strip() if head[-1] == WHY else "" for row in rows]
    del head[head.index(WHY) if WHY in head else len(head) :]
    names = [row[0].split(", ") for row in rows]
    shared = [part for part in names[0] if all(part in name for name in names)]
    for row, name in zip(rows, names):
        row[0] = ", ".join(part for part in name if part not in shared)
    if len({row[1] for row in rows}) == 1:
        shared.append(rows[0][1])
        for row in rows:
            row[1] = ""
    table = [head, *rows]
    if _width(aligned(table)) > width:
        place = head.index(RANGE)
        table = [[*line[:place], *line[place + 1 :]] for line in table]
    first, *others = aligned(table).splitlines()
    below = ["\n" + _below(why, width) if why else "" for why in whys]
    heading = textwrap.fill(title + (f" ({', '.join(shared)})" if shared else ""), width)
    return "\n".join([heading, "", first, *(line + why for line, why in zip(others, below))])


def _below(words: str, width: int) -> str:
    """Set text into lines of its own, below what it belongs to."""
    return textwrap.fill(words, max(width, 40), initial_indent="    ", subsequent_indent="    ")


def _width(table: str) -> int:
    return max(map(len, table.splitlines()))


def shown_rows(experiment: Experiment, table: Table) -> list[Row]:
    """Select the rows that tables show."""
    return [row for row in table.rows if not experiment.shown or row.quantity in experiment.shown]


def first_readings(paper: Paper, experiment: str, rows: Sequence[Row]) -> list[Row]:
    """Select the rows of the first reading of every open point, and those of ns-2."""
    first = {
        one.label: one.readings[0].value
        for one in paper.declared.open
        if one.label is not None and (not one.experiments or experiment in one.experiments)
    }
    return [
        row
        for row in rows
        if row.ns2
        or all(label not in row.labels or str(row.labels[label]) == str(value) for label, value in first.items())
    ]


def compared(paper: Paper, rows: Sequence[Row]) -> list[list[str]]:
    """Arrange rows beside published values and ns-2, as cells with a header."""
    with_published = any(np.isfinite(row.published) for row in rows)
    with_ns2 = any(row.ns2 for row in rows)
    with_why = any(row.why for row in rows)
    shown = [True, True, with_published, with_ns2, True, True, with_published, with_ns2, with_why]
    lines = [["", "", "published", "ns-2", "wifair", RANGE, "to paper", "to ns-2", WHY]]
    for row in rows:
        mean = row.estimate.mean
        ns2 = ", ".join(number(value) for value in row.ns2[:3]) + ", ..." * (len(row.ns2) > 3)
        line = [row.name, paper.units.get(row.quantity, row.quantity), number(row.published), ns2]
        line += [with_interval(row), _range(row)]
        line += [_change(mean, row.published), _change(mean, row.ns2_mean), f"  {row.why}"]
        lines.append(line)
    return [list(compress(line, shown)) for line in lines]


def _claim(judged: Judged) -> list[str]:
    verdict = judged.judgement.text
    marked = verdict.upper() if judged.verdict == "fails" else verdict
    specific = ", not specific" if judged.unspecific else ""
    return [marked + specific, judged.claim.id, judged.claim.says]


def _total(outcome: Outcome) -> str:
    verdicts = [judged.verdict for paper in outcome.papers for judged in paper.claims]
    counts = [f"{verdicts.count(verdict)} {verdict}" for verdict in VERDICTS if verdict in verdicts]
    effort = "quick: fewer seeds and points than with --full" if outcome.effort.value == "quick" else "full"
    line = f"{counted(len(verdicts), 'claim')}: {', '.join(counts)} ({effort}; {outcome.wall_s:.0f} s)"
    broken = [
        f"{paper.key}: {judged.claim.id} is recorded as holding, and does not" for paper, judged in outcome.broken()
    ]
    found = [verdict for verdict in VERDICTS if verdict in verdicts]
    meanings = ["A reading is one way to fill in what a paper leaves open."] if found else []
    meanings += [f"{verdict}: {MEANINGS[verdict]}" for verdict in found]
    return "\n".join([line, *meanings, *broken])


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Align cells in columns: text left, numbers right."""
    columns = list(zip(*lines))
    widths = [max(map(len, column)) for column in columns]
    right = [index >= 2 and len(columns) > 3 and not column[0].startswith("  ") for index, column in enumerate(columns)]
    return "\n".join(
        "  ".join(cell.rjust(w) if r else cell.ljust(w) for cell, w, r in zip(line, widths, right)).rstrip()
        for line in lines
    )


def with_interval(row: Row) -> str:
    """Format mean and half width with the digits that the half width justifies, or the ends within what is possible."""
    mean, half = row.estimate
    if not math.isfinite(mean) or not math.isfinite(half) or half == 0:
        return number(mean)
    decimals = min(max(1 - math.floor(math.log10(half)), 0), 4)
    ends = mean - half, mean + half
    possible = limits(row.quantity, row.estimate) if np.nanmin(row.values) >= 0 else ends
    shown = [f"{end:.{decimals}f}" for end in possible]
    if shown != [f"{end:.{decimals}f}" for end in ends]:
        return f"{mean:.{decimals}f} ({' .. '.join(shown)})"
    return f"{mean:.{decimals}f} \u00b1 {half:.{decimals}f}"


def number(value: float) -> str:
    """Format a number with three significant digits."""
    return "-" if math.isnan(value) else cell(value, 3)


def _range(row: Row) -> str:
    finite = row.values[np.isfinite(row.values)]
    if len(finite) < 2:
        return "-"
    return f"{number(float(finite.min()))} .. {number(float(finite.max()))}"


def _change(value: float, known: float) -> str:
    if not math.isfinite(known) or not math.isfinite(value) or known == 0:
        return "-"
    change = value / known - 1
    return f"{100 * change:+.1f} %" if abs(change) < 10 else f"x {number(value / known)}"

"""A reproduction as text for a terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from wifair.reproduce.claims import VERDICTS
from wifair.words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wifair.reproduce.model import Experiment, Paper
    from wifair.reproduce.session import Judged, Outcome, PaperOutcome
    from wifair.reproduce.table import Estimate, Row, Table

__all__ = ["aligned", "compared", "first_readings", "number", "shown_rows", "text", "with_interval"]


def text(outcome: Outcome) -> str:
    """Format results beside published values and ns-2 as tables, then the verdicts."""
    parts = [_paper(paper) for paper in outcome.papers]
    return "\n\n".join([*parts, _total(outcome)])


def _paper(outcome: PaperOutcome) -> str:
    paper = outcome.paper
    parts = []
    for key, table in outcome.tables.items():
        experiment = paper.experiment(key)
        rows = first_readings(paper, key, shown_rows(experiment, table))
        known = [row for row in rows if np.isfinite(row.published) or row.ns2]
        if known:
            parts.append(f"{paper.key}/{key}: {experiment.title}\n\n{aligned(compared(paper, known))}")
    if outcome.claims:
        parts.append(f"{paper.key}: claims\n\n{aligned([_claim(judged) for judged in outcome.claims])}")
    return "\n\n".join(parts)


def shown_rows(experiment: Experiment, table: Table) -> list[Row]:
    """Select the rows that tables show."""
    return [row for row in table.rows if not experiment.shown or row.quantity in experiment.shown]


def first_readings(paper: Paper, experiment: str, rows: Sequence[Row]) -> list[Row]:
    """Select the rows of the first reading of every open point."""
    first = {
        one.label: one.readings[0].value
        for one in paper.declared.open
        if one.label is not None and (not one.experiments or experiment in one.experiments)
    }
    return [
        row
        for row in rows
        if all(label not in row.labels or str(row.labels[label]) == str(value) for label, value in first.items())
    ]


def compared(paper: Paper, rows: Sequence[Row]) -> list[list[str]]:
    """Arrange rows beside published values and ns-2, as cells with a header."""
    with_published = any(np.isfinite(row.published) for row in rows)
    with_ns2 = any(row.ns2 for row in rows)
    head = ["", ""]
    head += ["published"] * with_published + ["ns-2"] * with_ns2 + ["wifair", "seeds from .. to"]
    head += ["to paper"] * with_published + ["to ns-2"] * with_ns2
    with_why = any(row.why for row in rows)
    head += ["  why"] * with_why
    lines = [head]
    for row in rows:
        line = [row.name, paper.units.get(row.quantity, row.quantity)]
        estimate = row.estimate
        line += [number(row.published)] * with_published
        line += [", ".join(number(value) for value in row.ns2[:3]) + ", ..." * (len(row.ns2) > 3)] * with_ns2
        line += [with_interval(estimate), _range(row)]
        line += [_change(estimate.mean, row.published)] * with_published
        line += [_change(estimate.mean, row.ns2_mean)] * with_ns2
        line += [f"  {row.why}"] * with_why
        lines.append(line)
    return lines


def _claim(judged: Judged) -> list[str]:
    verdict = judged.judgement.text
    marked = verdict.upper() if judged.verdict == "fails" else verdict
    control = judged.controlled
    specific = ", not specific" if control is not None and control.specific is False else ""
    return [marked + specific, judged.claim.id, judged.claim.says]


def _total(outcome: Outcome) -> str:
    verdicts = [judged.verdict for paper in outcome.papers for judged in paper.claims]
    counts = [f"{verdicts.count(verdict)} {verdict}" for verdict in VERDICTS if verdict in verdicts]
    effort = "quick: fewer seeds and shorter runs than with --full" if outcome.effort.value == "quick" else "full"
    line = f"{counted(len(verdicts), 'claim')}: {', '.join(counts)} ({effort}; {outcome.wall_s:.0f} s)"
    broken = [
        f"{paper.key}: {judged.claim.id} is recorded as holding, and does not" for paper, judged, _ in outcome.broken()
    ]
    return "\n".join([line, *broken])


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Align cells in columns: text left, numbers right."""
    columns = list(zip(*lines))
    widths = [max(map(len, column)) for column in columns]
    right = [index >= 2 and len(columns) > 3 and not column[0].startswith("  ") for index, column in enumerate(columns)]
    return "\n".join(
        "  ".join(cell.rjust(w) if r else cell.ljust(w) for cell, w, r in zip(line, widths, right)).rstrip()
        for line in lines
    )


def with_interval(estimate: Estimate) -> str:
    """Format mean and half width, with the digits that the half width justifies."""
    mean, half = estimate.mean, estimate.ci95
    if not math.isfinite(mean) or not math.isfinite(half) or half == 0:
        return number(mean)
    decimals = min(max(1 - math.floor(math.log10(half)), 0), 4)
    return f"{mean:.{decimals}f} \u00b1 {half:.{decimals}f}"


def number(value: float) -> str:
    """Format a number with three significant digits."""
    if math.isnan(value):
        return "-"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def _range(row: Row) -> str:
    finite = row.values[np.isfinite(row.values)]
    if len(finite) < 2:
        return "-"
    return f"{number(float(finite.min()))} .. {number(float(finite.max()))}"


def _change(value: float, known: float) -> str:
    if not math.isfinite(known) or not math.isfinite(value) or known == 0:
        return "-"
    change = value / known - 1
    return f"{100 * change:+.1f} %" if abs(change) < 10 else f"x {value / known:.3g}"

"""A reproduction as text for a terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from wifair.reproduce.claims import Claim, Judgement
    from wifair.reproduce.model import Experiment, Paper
    from wifair.reproduce.session import Outcome, PaperOutcome
    from wifair.reproduce.table import Estimate, Row, Table

__all__ = ["aligned", "compared", "measured", "shown_rows", "text"]

MARKS = {"holds": "holds", "fails": "FAILS", "other-reading": "other reading", "untestable": "untestable"}


def text(outcome: Outcome) -> str:
    """Tables of what is known from elsewhere beside what was measured, then the verdicts."""
    parts = [_paper(paper) for paper in outcome.papers]
    return "\n\n".join([*parts, _total(outcome)])


def _paper(outcome: PaperOutcome) -> str:
    paper = outcome.paper
    parts = []
    for key, table in outcome.tables.items():
        experiment = paper.experiment(key)
        rows = shown_rows(experiment, table)
        known = [row for row in rows if np.isfinite(row.published) or row.ns2]
        if known:
            parts.append(f"{paper.key}/{key}: {experiment.title}\n\n{aligned(compared(paper, known))}")
    if outcome.claims:
        parts.append(f"{paper.key}: claims\n\n{aligned(_claims(outcome.claims))}")
    return "\n\n".join(parts)


def shown_rows(experiment: Experiment, table: Table) -> list[Row]:
    """Rows that tables show."""
    return [row for row in table.rows if not experiment.shown or row.quantity in experiment.shown]


def compared(paper: Paper, rows: Sequence[Row]) -> list[list[str]]:
    """Rows beside what is known, as cells with a head."""
    with_published = any(np.isfinite(row.published) for row in rows)
    with_ns2 = any(row.ns2 for row in rows)
    head = ["", ""]
    head += ["published"] * with_published + ["ns-2"] * with_ns2 + ["wifair", "seeds from .. to"]
    head += ["to paper"] * with_published + ["to ns-2"] * with_ns2
    lines = [head]
    for row in rows:
        line = [row.name, paper.units.get(row.quantity, row.quantity)]
        estimate = row.estimate
        line += [_number(row.published)] * with_published
        line += [", ".join(_number(value) for value in row.ns2[:3]) + ", ..." * (len(row.ns2) > 3)] * with_ns2
        line += [with_interval(estimate), _range(row)]
        line += [_change(estimate.mean, row.published)] * with_published
        line += [_change(estimate.mean, row.ns2_mean)] * with_ns2
        lines.append(line)
    return lines


def _claims(claims: Iterable[tuple[Claim, Judgement]]) -> list[list[str]]:
    return [[MARKS[judgement.verdict], claim.id, claim.statement] for claim, judgement in claims]


def _total(outcome: Outcome) -> str:
    verdicts = [judgement.verdict for paper in outcome.papers for _, judgement in paper.claims]
    counts = [f"{verdicts.count(verdict)} {what}" for verdict, what in MARKS.items() if verdict in verdicts]
    effort = "quick: fewer seeds and shorter runs than with --full" if outcome.effort.value == "quick" else "full"
    line = f"{len(verdicts)} claims: {', '.join(counts).lower()} ({effort}; {outcome.wall_s:.0f} s)"
    broken = [f"{paper.key}: {claim.id} is recorded as holding, and does not" for paper, claim, _ in outcome.broken()]
    return "\n".join([line, *broken])


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Cells in columns: text to the left, numbers to the right."""
    columns = list(zip(*lines))
    widths = [max(map(len, column)) for column in columns]
    right = [index >= 2 and len(columns) > 3 for index in range(len(columns))]
    return "\n".join(
        "  ".join(cell.rjust(w) if r else cell.ljust(w) for cell, w, r in zip(line, widths, right)).rstrip()
        for line in lines
    )


def measured(judgement: Judgement) -> str:
    """Put what a claim was judged by into a line."""
    return ", ".join(f"{name} {with_interval(estimate)}" for name, estimate in judgement.measured.items())


def with_interval(estimate: Estimate) -> str:
    """Mean and half width, to as many digits as the half width gives sense to."""
    mean, half = estimate.mean, estimate.ci95
    if not math.isfinite(mean) or not math.isfinite(half) or half == 0:
        return _number(mean)
    decimals = min(max(1 - math.floor(math.log10(half)), 0), 4)
    return f"{mean:.{decimals}f} \u00b1 {half:.{decimals}f}"


def _number(value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def _range(row: Row) -> str:
    finite = row.values[np.isfinite(row.values)]
    if len(finite) < 2:
        return "-"
    return f"{_number(float(finite.min()))} .. {_number(float(finite.max()))}"


def _change(value: float, known: float) -> str:
    if not math.isfinite(known) or not math.isfinite(value) or known == 0:
        return "-"
    change = value / known - 1
    return f"{100 * change:+.1f} %" if abs(change) < 10 else f"x {value / known:.3g}"

"""Records the verdicts of a run in the `verdicts.csv` of each paper: ``python tests/validation/recording.py``.

A test compares later runs with them. ``--full`` records a full run; names select papers. The deviations of results from
published values and from ns-2 are recorded in `deviations.csv`. The README of a paper gets tables of both; with
``--readmes`` only the READMEs are rewritten, from the recorded files.
"""

from __future__ import annotations

import csv
import io
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from wifair.reproduce.claims import VERDICTS, Recorded
from wifair.reproduce.model import Paper
from wifair.reproduce.page import GENERATED
from wifair.reproduce.runner import default_store
from wifair.reproduce.session import KEYS, Outcome, PaperOutcome, load, reproduce
from wifair.reproduce.table import Row, read_records
from wifair.reproduce.text import first_readings

HEAD = "# What runs of this version said of each claim, with its mechanism and without; written by recording.py.\n"


def record(outcome: Outcome) -> None:
    """Write the verdicts of whole papers, and keep those recorded with the other effort."""
    for item in outcome.papers:
        recorded = {key: dict(some) for key, some in item.paper.recorded.items()}
        for judged in item.claims:
            without = judged.controlled.judgement if judged.controlled is not None else None
            found = Recorded(judged.alone.verdict, judged.alone.holding, without.verdict if without is not None else "")
            recorded.setdefault(judged.claim.id, {})[outcome.effort.value] = found
        rows = [
            (claim.id, effort, *found)
            for claim in item.paper.claims
            for effort, found in sorted(recorded.get(claim.id, {}).items())
        ]
        _write(item.paper.folder / "verdicts.csv", HEAD, ("claim", "effort", *Recorded._fields), rows)
        _record_deviations(item, outcome.effort.value)


def _write(path: Path, head: str, names: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows([names, *rows])
    path.write_text(head + out.getvalue(), encoding="utf-8")


class Deviations(NamedTuple):
    """Deviations of the rows of a quantity from published values or from ns-2."""

    experiment: str
    quantity: str
    effort: str
    source: str
    """``published`` or ``ns-2``."""
    rows: int
    median: float
    """Median of the absolute deviation, which is our value over theirs minus one."""
    greatest: float
    """The deviation farthest from zero, with its sign."""
    at: str
    """The row with that deviation."""


def deviations(paper: Paper) -> list[Deviations]:
    """Read the recorded deviations."""
    numbers = {"rows": int, "median": float, "greatest": float}
    return [
        Deviations(**{name: numbers.get(name, str)(value) for name, value in row.items()})
        for row in read_records(paper.folder / "deviations.csv")
    ]


def _record_deviations(item: PaperOutcome, effort: str) -> None:
    found = {
        (one.experiment, one.quantity, one.effort, one.source): one
        for one in deviations(item.paper)
        if one.effort != effort or one.experiment not in item.tables or one.experiment in item.only
    }
    for key, table in item.tables.items():
        for quantity in dict.fromkeys(row.quantity for row in table.rows):
            rows = first_readings(item.paper, key, table.of(quantity))
            found |= {one[:4]: one for one in _deviations(key, quantity, effort, rows)}
    order = [experiment.id for experiment in item.paper.experiments]
    every = sorted(found.values(), key=lambda one: (order.index(one.experiment), one.quantity, one.source, one.effort))
    if not every:
        return
    lines = [(*one[:5], f"{one.median:.4f}", f"{one.greatest:.4f}", one.at) for one in every]
    head = "# Results over what was published, and over ns-2, less one; written by recording.py.\n"
    _write(item.paper.folder / "deviations.csv", head, Deviations._fields, lines)


def _deviations(experiment: str, quantity: str, effort: str, rows: Sequence[Row]) -> Iterator[Deviations]:
    for source in ("published", "ns-2"):
        known = [(row, row.published if source == "published" else row.ns2_mean) for row in rows]
        parts = [(row.estimate.mean / value - 1, row.name) for row, value in known if math.isfinite(value) and value]
        parts = [(part, name) for part, name in parts if math.isfinite(part)]
        if parts:
            greatest, at = max(parts, key=lambda pair: abs(pair[0]))
            size = median(abs(part) for part, _ in parts)
            yield Deviations(experiment, quantity, effort, source, len(parts), size, greatest, at)


def _block(name: str, lines: Iterable[str]) -> str:
    return "\n".join([f"<!-- {name}: written by recording.py -->", *lines, f"<!-- end of {name} -->"]) + "\n"


def beside(paper: Paper) -> str:
    """Format the recorded deviations of a paper as Markdown; those of full runs take precedence."""
    every = deviations(paper)
    if not every:
        return _block("deviations", ["Nothing is recorded."])
    full = {one[:2] for one in every if one.effort == "full"}
    lines = ["| figure or table | quantity | beside | rows | median | greatest | where | runs |", "|---" * 8 + "|"]
    for one in every:
        if one.effort == "full" or one[:2] not in full:
            quantity = paper.units.get(one.quantity, one.quantity)
            greatest = f"{100 * one.greatest:+.1f} %" if one.greatest < 9 else f"x {one.greatest + 1:.0f}"
            cells = (one.experiment, quantity, one.source, str(one.rows), f"{100 * one.median:.1f} %", greatest)
            lines.append(f"| {' | '.join([*cells, one.at, one.effort])} |")
    return _block("deviations", lines)


def summary(paper: Paper) -> str:
    """Format the recorded verdicts of a paper as Markdown: the count of each verdict, and each claim."""
    counts = []
    for effort, words in (("quick", "Quick runs"), ("full", "Full runs")):
        found = [recorded[effort].verdict for recorded in paper.recorded.values() if effort in recorded]
        some = ", ".join(f"{found.count(verdict)} {verdict}" for verdict in VERDICTS if verdict in found)
        counts.append(f"- {words}, {len(found)} of {len(paper.claims)} claims: {some or 'none recorded'}.")
    lines = ["| claim | quick | full | without its mechanism |", "|---|---|---|---|"]
    for claim in paper.claims:
        recorded = paper.recorded.get(claim.id, {})
        of = len(paper.declared.readings(claim))
        cells = [_cell(recorded.get(effort), of) for effort in ("quick", "full")]
        last = recorded.get("full") or recorded.get("quick")
        lines.append(f"| {claim.says} | {' | '.join(cells)} | {(last and last.without) or '-'} |")
    return _block("verdicts", [*counts, "", *lines])


def _cell(recorded: Recorded | None, of: int) -> str:
    if recorded is None:
        return "-"
    many = of > 1 and recorded.verdict in ("holds", "partly", "depends", "fails")
    return f"{recorded.verdict}, {recorded.holding} of {of}" if many else recorded.verdict


def readme(paper: Paper) -> None:
    """Write the tables of verdicts and deviations into the README of a paper."""
    path = paper.folder / "README.md"
    text = path.read_text(encoding="utf-8")
    blocks = {"verdicts": summary, "deviations": beside}
    path.write_text(GENERATED.sub(lambda found: blocks[found[1]](paper), text), encoding="utf-8")


def main(arguments: list[str]) -> None:
    """Run the reproductions, and record them."""
    full = "--full" in arguments
    names = [name for name in arguments if not name.startswith("-")]
    if "--readmes" not in arguments:
        store = default_store() if full else None
        record(reproduce(names, full=full, controls=True, store=store, progress=True))
    for key in KEYS:
        paper = load(key)
        paper.__dict__.pop("recorded", None)  # read again
        readme(paper)


if __name__ == "__main__":
    main(sys.argv[1:])

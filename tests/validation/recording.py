"""Records what a run said in the folder of each paper: ``python tests/validation/recording.py``.

Verdicts go to `verdicts.csv`, with which a test compares later runs, claims with generic nulls to `nulls.csv`, claims
under each reading to `readings.csv`, means to `means.csv`, deviations from published values and from ns-2 to
`deviations.csv`. ``--full`` records a full run, ``--nulls`` the nulls, too; names select papers. ``--from FILE``
records a `reproduction.json`, and runs nothing. The README of a paper gets tables of all; ``--readmes`` only rewrites
the READMEs.
"""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from wifair.reproduce._claims import VERDICTS, Reading, Recorded
from wifair.reproduce._model import Paper
from wifair.reproduce._page import GENERATED
from wifair.reproduce._session import KEYS, load, reproduce
from wifair.reproduce._tallies import Tally, sentence
from wifair.reproduce.runner import default_store
from wifair.reproduce.table import Row, read_records
from wifair.reproduce.text import first_readings

HEAD = "# What runs of this version said of each claim, with its mechanism and without; written by recording.py.\n"


Document = Mapping[str, Any]


def record(document: Document) -> None:
    """Write what a reproduction of whole papers with controls says, and keep what is recorded with the other effort.

    `document` is the layout of `reproduction.json`.
    """
    effort = document["effort"]
    for item in document["papers"]:
        paper = load(item["key"])
        paper.__dict__.pop("recorded", None)  # read again
        if document["controls"]:
            _record_verdicts(paper, item, effort)
            _record_deviations(paper, item, effort)
            _record_readings(paper, item, effort)
            _record_means(paper, item, effort)
        if item["nulls"]:
            lines = [
                (claim.id, null, one["held"], one["still"], "yes" if one["touched"] else "no")
                for claim in paper.claims
                for null, one in item["nulls"].get(claim.id, {}).items()
            ]
            head = f"# Claims with generic nulls, in a {effort} run; written by recording.py.\n"
            _write(paper.folder / "nulls.csv", head, ("claim", "null", "held", "still", "touched"), lines)


def _record_verdicts(paper: Paper, item: Document, effort: str) -> None:
    recorded = {key: dict(some) for key, some in paper.recorded.items()}
    for claim in item["claims"]:
        found = Recorded(claim["verdict"], claim["holding"], claim["control"]["verdict"] or "")
        recorded.setdefault(claim["id"], {})[effort] = found
    rows = [
        (claim.id, effort, *found)
        for claim in paper.claims
        for effort, found in sorted(recorded.get(claim.id, {}).items())
    ]
    _write(paper.folder / "verdicts.csv", HEAD, ("claim", "effort", *Recorded._fields), rows)


READINGS = ("effort", "point", "reading", "holds", "fails", "undecided")


def _record_readings(paper: Paper, item: Document, effort: str) -> None:
    path = paper.folder / "readings.csv"
    others = [tuple(row[name] for name in READINGS) for row in read_records(path) if row["effort"] != effort]
    own = [
        (effort, point, one["reading"], one["holds"], one["fails"], one["undecided"])
        for point, every in item["readings"].items()
        for one in every
    ]
    head = "# How many claims hold under each reading; written by recording.py.\n"
    _write(path, head, READINGS, [*others, *own])


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


MEANS = ("experiment", "quantity", "at", "effort", "mean", "half_width")


def _record_means(paper: Paper, item: Document, effort: str) -> None:
    """Record what figures and tables show, so that a test can hold quick runs to full ones."""
    path = paper.folder / "means.csv"
    lines = [tuple(row[name] for name in MEANS) for row in read_records(path) if row["effort"] != effort]
    for one in item["experiments"]:
        shown = paper.experiment(one["id"]).shown
        pairs = [(_row(entry), entry) for entry in one["rows"] if not shown or entry["quantity"] in shown]
        taken = {id(row) for row in first_readings(paper, one["id"], [row for row, _ in pairs])}
        lines += [
            (one["id"], row.quantity, row.name, effort, f"{entry['value']:.6g}", f"{entry['ci95']:.3g}")
            for row, entry in pairs
            if id(row) in taken and entry["value"] is not None and entry["ci95"] is not None
        ]
    head = "# Means over the seeds with the half width of their 95 % intervals; written by recording.py.\n"
    _write(path, head, MEANS, lines)


def _row(entry: Document) -> Row:
    """Rebuild a row of a table, with its mean alone."""
    fixed = Row({}, "", np.empty(0)).to_dict()
    labels = {name: value for name, value in entry.items() if name not in fixed}
    value, published, ns2 = (math.nan if entry[name] is None else entry[name] for name in ("value", "published", "ns2"))
    return Row(labels, entry["quantity"], np.array([value]), published, [] if math.isnan(ns2) else [ns2])


def _record_deviations(paper: Paper, item: Document, effort: str) -> None:
    tables = {one["id"]: [_row(row) for row in one["rows"]] for one in item["experiments"] if one["whole"]}
    found = {
        (one.experiment, one.quantity, one.effort, one.source): one
        for one in deviations(paper)
        if one.effort != effort or one.experiment not in tables
    }
    for key, every in tables.items():
        for quantity in dict.fromkeys(row.quantity for row in every):
            rows = first_readings(paper, key, [row for row in every if row.quantity == quantity])
            found |= {one[:4]: one for one in _deviations(key, quantity, effort, rows)}
    order = [experiment.id for experiment in paper.experiments]
    every_one = sorted(
        found.values(), key=lambda one: (order.index(one.experiment), one.quantity, one.source, one.effort)
    )
    if not every_one:
        return
    lines = [(*one[:5], f"{one.median:.4f}", f"{one.greatest:.4f}", one.at) for one in every_one]
    head = "# Results over what was published, and over ns-2, less one; written by recording.py.\n"
    _write(paper.folder / "deviations.csv", head, Deviations._fields, lines)


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
    """Format the recorded verdicts of a paper as Markdown: one for each claim, of a full run if there is one."""
    chosen = {claim.id: _of_claim(paper, claim.id) for claim in paper.claims}
    counts = []
    for effort in ("full", "quick"):
        found = [recorded.verdict for of, recorded in chosen.values() if of == effort and recorded is not None]
        if found:
            some = ", ".join(f"{found.count(verdict)} {verdict}" for verdict in VERDICTS if verdict in found)
            counts.append(f"- {effort.capitalize()} runs, {len(found)} of {len(paper.claims)} claims: {some}.")
    lines = ["| claim | verdict | runs | without its mechanism |", "|---|---|---|---|"]
    for claim in paper.claims:
        effort, recorded = chosen[claim.id]
        cell = _cell(recorded, len(paper.declared.readings(claim)))
        lines.append(f"| {claim.says} | {cell} | {effort} | {(recorded and recorded.without) or '-'} |")
    return _block("verdicts", [*(counts or ["- None is recorded."]), "", *lines])


def _of_claim(paper: Paper, claim: str) -> tuple[str, Recorded | None]:
    by_effort = paper.recorded.get(claim, {})
    effort = next((one for one in ("full", "quick") if one in by_effort), "-")
    return effort, by_effort.get(effort)


def _cell(recorded: Recorded | None, of: int) -> str:
    if recorded is None:
        return "-"
    many = of > 1 and recorded.verdict in ("holds", "partly", "depends", "fails")
    return f"{recorded.verdict}, {recorded.holding} of {of}" if many else recorded.verdict


def _tally(point: str, reading: Reading, row: Mapping[str, str], *, shown: bool) -> Tally:
    holds, fails, undecided = (int(row[name]) for name in READINGS[3:])
    return Tally(point, reading.id, reading.says or reading.id, holds, fails, undecided, shown)


def by_reading(paper: Paper) -> str:
    """Format how many claims hold under each reading as Markdown, of full runs if there are any."""
    every = read_records(paper.folder / "readings.csv")
    effort = next((one for one in ("full", "quick") if any(row["effort"] == one for row in every)), "")
    lines = []
    for point in paper.declared.open:
        some = {row["reading"]: row for row in every if row["effort"] == effort and row["point"] == point.id}
        tallies = [
            _tally(point.id, one, some[one.id], shown=at == 0)
            for at, one in enumerate(point.readings)
            if one.id in some
        ]
        if not tallies:
            continue
        lines += [f"| {point.asks} ({effort} runs) | hold | do not | undecided |", "|---|---|---|---|"]
        lines += [f"| {one.says} | {one.holds} | {one.fails} | {one.undecided} |" for one in tallies]
        lines += ["", sentence(tallies), ""]
    return _block("readings", lines[:-1] or ["Nothing is recorded."])


def readme(paper: Paper) -> None:
    """Write the tables of verdicts and deviations into the README of a paper."""
    path = paper.folder / "README.md"
    text = path.read_text(encoding="utf-8")
    blocks = {"verdicts": summary, "deviations": beside, "readings": by_reading}
    path.write_text(GENERATED.sub(lambda found: blocks[found[1]](paper), text), encoding="utf-8")


def main(arguments: list[str]) -> None:
    """Run the reproductions, and record them."""
    full = "--full" in arguments
    names = [name for name in arguments if not name.startswith("-")]
    if "--from" in arguments:
        for name in names:
            record(json.loads(Path(name).read_text(encoding="utf-8")))
    elif "--readmes" not in arguments:
        store = default_store() if full else None
        nulls = "--nulls" in arguments
        record(reproduce(names, full=full, controls=True, nulls=nulls, store=store, progress=True).to_dict())
    for key in KEYS:
        paper = load(key)
        for cached in ("recorded", "nulls"):  # read again
            paper.__dict__.pop(cached, None)
        readme(paper)


if __name__ == "__main__":
    main(sys.argv[1:])

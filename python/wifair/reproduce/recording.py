"""Writes what a run says of each claim into `verdicts.csv` of its paper: ``python -m wifair.reproduce.recording``.

A test holds later runs against it. ``--full`` records a full run, names select papers. The README of a paper gets a
table of its verdicts, which ``--readmes`` alone writes anew from what is recorded.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from typing import TYPE_CHECKING

from wifair.reproduce.claims import VERDICTS, Recorded
from wifair.reproduce.runner import default_store
from wifair.reproduce.session import KEYS, load, reproduce

if TYPE_CHECKING:
    from wifair.reproduce.model import Paper
    from wifair.reproduce.session import Outcome

__all__ = ["READMES", "readme", "record", "summary"]

HEAD = "# What runs of this version said of each claim, with its mechanism and without; written by recording.py.\n"


def record(outcome: Outcome) -> None:
    """Write the verdicts of whole papers; those of the other effort stay."""
    for item in outcome.papers:
        recorded = {key: dict(some) for key, some in item.paper.recorded.items()}
        for judged in item.claims:
            without = judged.controlled.judgement if judged.controlled is not None else None
            found = Recorded(judged.alone.verdict, judged.alone.holding, without.verdict if without is not None else "")
            recorded.setdefault(judged.claim.id, {})[outcome.effort.value] = found
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(("claim", "effort", "verdict", "holding", "without"))
        for claim in item.paper.claims:
            for effort, found in sorted(recorded.get(claim.id, {}).items()):
                writer.writerow((claim.id, effort, *found))
        (item.paper.folder / "verdicts.csv").write_text(HEAD + out.getvalue(), encoding="utf-8")


BEGIN = "<!-- verdicts: written by recording.py -->"
END = "<!-- end of verdicts -->"
READMES = re.compile(f"{BEGIN}.*?{END}\n?", re.DOTALL)
"""The part of a README that is written here."""


def summary(paper: Paper) -> str:
    """Give the recorded verdicts of a paper as Markdown: how many of each, and each claim."""
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
    return "\n".join([BEGIN, *counts, "", *lines, END]) + "\n"


def _cell(recorded: Recorded | None, of: int) -> str:
    if recorded is None:
        return "-"
    many = of > 1 and recorded.verdict in ("holds", "partly", "depends", "fails")
    return f"{recorded.verdict}, {recorded.holding} of {of}" if many else recorded.verdict


def readme(paper: Paper) -> None:
    """Write the table of verdicts into the README."""
    path = paper.folder / "README.md"
    text = path.read_text(encoding="utf-8")
    path.write_text(READMES.sub(lambda _: summary(paper), text), encoding="utf-8")


def main(arguments: list[str]) -> None:
    """Run, and record."""
    full = "--full" in arguments
    names = [name for name in arguments if not name.startswith("-")]
    if "--readmes" not in arguments:
        _run(names, full)
    for key in KEYS:
        paper = load(key)
        paper.__dict__.pop("recorded", None)  # read anew
        readme(paper)


def _run(names: list[str], full: bool) -> None:
    record(reproduce(names, full=full, controls=True, store=default_store() if full else None, progress=True))


if __name__ == "__main__":
    main(sys.argv[1:])

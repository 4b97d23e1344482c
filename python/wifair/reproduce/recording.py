"""Writes what a run says of each claim into `verdicts.csv` of its paper: ``python -m wifair.reproduce.recording``.

A test holds later runs against it. ``--full`` records a full run, names select papers.
"""

from __future__ import annotations

import csv
import io
import sys
from typing import TYPE_CHECKING

from wifair.reproduce.claims import Recorded
from wifair.reproduce.runner import default_store
from wifair.reproduce.session import reproduce

if TYPE_CHECKING:
    from wifair.reproduce.session import Outcome

__all__ = ["record"]

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


def main(arguments: list[str]) -> None:
    """Run, and record."""
    full = "--full" in arguments
    names = [name for name in arguments if not name.startswith("-")]
    record(reproduce(names, full=full, controls=True, store=default_store() if full else None, progress=True))


if __name__ == "__main__":
    main(sys.argv[1:])

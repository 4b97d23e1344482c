"""Claims and facts about the run as plain values, for JSON."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wifair import _core
from wifair._core import __version__
from wifair.reproduce._criteria import possible
from wifair.reproduce.table import json_number
from wifair.sweeps import VERSION

if TYPE_CHECKING:
    from wifair.reproduce._claims import Claim
    from wifair.reproduce._judging import Judgement, Read
    from wifair.reproduce._predicates import RegionComparison
    from wifair.reproduce._session import Controlled, Judged


def about() -> dict[str, Any]:
    """Describe the software that produced the results, for those who repeat them."""
    return {
        "version": __version__,
        "sources": VERSION,
        "commit": _commit(),
        "compiler": _core.__compiler__,
        "date": datetime.now(tz=UTC).date().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "platform": platform.platform(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "command": " ".join(sys.argv[1:]),
    }


@cache
def _commit() -> str:
    """Get the commit of a checkout, with `+` if files are changed; an installed wheel has none."""
    root = Path(__file__).parents[3]
    if not (root / "Cargo.toml").is_file() or not (root / ".git").exists():
        return "none: an installed wheel"
    try:
        asked = [["git", "rev-parse", "HEAD"], ["git", "status", "--porcelain", "--untracked-files=no"]]
        commit, changed = (
            subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
            for command in asked
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown: git failed"
    return commit + ("+" if changed else "")


def claim_to_dict(judged: Judged) -> dict[str, Any]:
    """Convert a claim with its verdict, clauses, readings and control."""
    claim, judgement = judged.claim, judged.judgement
    return {
        "id": claim.id,
        "experiment": claim.experiment,
        "statement": claim.says,
        "source": claim.source,
        "verdict": judgement.verdict,
        "holding": judgement.holding,
        "ruled_out": judgement.ruled_out,
        "note": judgement.note,
        "verdict_of_full_runs": judged.in_full or None,
        "ruled_out_by_the_paper": [
            {"text": says, "verdict": one.verdict, "holding": one.holding, "readings": len(one.readings)}
            for says, one in judged.others
        ],
        "clauses": [_clause(claim, judgement, place) for place in range(len(claim.clauses))],
        "readings": [_reading(one) for one in judgement.readings],
        "control": _control(judged.controlled, claim.no_control),
    }


def _clause(claim: Claim, judgement: Judgement, place: int) -> dict[str, Any]:
    clause, tested = claim.clauses[place], judgement.first.tested[place]
    decisive = tested.decisive
    return {
        "text": clause.says,
        "criterion": clause.asks,
        "because": clause.because,
        "published": clause.published,
        "unit": clause.unit,
        **_measured(decisive, clause.rows),
        "at": decisive.at if decisive else None,
        "result": tested.result,
        "missing": tested.missing,
        "without_value": tested.lacking,
        "holds_in": judgement.holds_in(place),
        "points": [{"at": one.at, **_measured(one, clause.rows), "result": one.result} for one in tested.comparisons],
    }


def _measured(comparison: RegionComparison | None, rows: str) -> dict[str, Any]:
    if comparison is None:
        return {"measured": None, "interval": None}
    estimate, low, high = map(json_number, possible(comparison, rows))
    return {"measured": estimate, "interval": [low, high]}


def _reading(read: Read) -> dict[str, Any]:
    return {
        "text": read.says,
        "settings": {name: one.id for name, one in read.reading.items()},
        "result": read.result,
        "clauses": [one.result for one in read.tested],
    }


def _control(controlled: Controlled | None, reason: str) -> dict[str, Any]:
    if controlled is None:
        return {"mechanism": None, "null": None, "verdict": None, "specific": None, "reason": reason}
    control, judgement = controlled.control, controlled.judgement
    return {
        "mechanism": control.mechanism,
        "null": control.null,
        "verdict": judgement.verdict if judgement else None,
        "holding": judgement.holding if judgement else None,
        "readings": len(judgement.readings) if judgement else None,
        "specific": controlled.specific,
        "reason": controlled.reason,
    }

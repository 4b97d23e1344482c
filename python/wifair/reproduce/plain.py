"""Claims and facts about the run as plain values, for JSON."""

from __future__ import annotations

import platform
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wifair import _core
from wifair._core import __version__
from wifair.reproduce.table import json_number
from wifair.sweeps import VERSION

if TYPE_CHECKING:
    from wifair.reproduce.claims import Claim, Judgement, Read
    from wifair.reproduce.predicates import RegionComparison
    from wifair.reproduce.session import Controlled, Judged


def about() -> dict[str, Any]:
    """Describe the software that produced the results, for those who repeat them."""
    return {
        "version": __version__,
        "sources": VERSION,
        "commit": _commit(),
        "compiler": _core.__compiler__,
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
        "published": clause.published,
        "unit": clause.unit,
        **_measured(decisive),
        "at": decisive.at if decisive else None,
        "result": tested.result,
        "missing": tested.missing,
        "holds_in": judgement.holds_in(place),
        "points": [{"at": one.at, **_measured(one), "result": one.result} for one in tested.comparisons],
    }


def _measured(comparison: RegionComparison | None) -> dict[str, Any]:
    if comparison is None:
        return {"measured": None, "interval": None}
    estimate, low, high = map(json_number, comparison.bounds)
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

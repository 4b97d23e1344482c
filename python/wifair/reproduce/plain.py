"""Claims and facts about the run as plain values, for JSON."""

from __future__ import annotations

import math
import platform
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wifair import _core
from wifair._core import __version__
from wifair.sweeps import VERSION

if TYPE_CHECKING:
    from wifair.reproduce.claims import Clause, Judgement, Read
    from wifair.reproduce.predicates import Tested
    from wifair.reproduce.session import Controlled, Judged, Outcome

__all__ = ["about", "claim_to_dict"]


def about(_: Outcome) -> dict[str, Any]:
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
    first = judgement.readings[0] if judgement.readings else None
    return {
        "id": claim.id,
        "experiment": claim.experiment,
        "statement": claim.says,
        "source": claim.source,
        "verdict": judgement.verdict,
        "holding": judgement.holding,
        "ruled_out": judgement.ruled_out,
        "note": judgement.note,
        "clauses": [
            _clause(clause, first.tested[index] if first else None, judgement, index)
            for index, clause in enumerate(claim.clauses)
        ],
        "readings": [_reading(one) for one in judgement.readings],
        "control": _control(judged.controlled, claim.no_control),
    }


def _clause(clause: Clause, tested: Tested | None, judgement: Judgement, index: int) -> dict[str, Any]:
    decisive = tested.decisive if tested else None
    return {
        "text": clause.says,
        "criterion": clause.asks,
        "published": clause.published,
        "unit": clause.unit,
        "measured": _plain(decisive.bounds.estimate) if decisive else None,
        "interval": [_plain(decisive.bounds.low), _plain(decisive.bounds.high)] if decisive else None,
        "at": decisive.at if decisive else None,
        "result": tested.result if tested else "undecided",
        "missing": tested.missing if tested else "",
        "holds_in": sum(one.tested[index].result == "holds" for one in judgement.readings),
        "points": [
            {
                "at": one.at,
                "measured": _plain(one.bounds.estimate),
                "interval": [_plain(one.bounds.low), _plain(one.bounds.high)],
                "result": one.result,
            }
            for one in (tested.comparisons if tested else ())
        ],
    }


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


def _plain(value: float) -> float | None:
    return value + 0.0 if math.isfinite(value) else None

"""Claims of papers, and verdicts on them."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from wifair.reproduce.table import Estimate, Table

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Claim", "Judge", "Judgement", "Judges", "Verdict", "judged", "read_claims", "untestable"]

Verdict = Literal["holds", "fails", "other-reading", "untestable"]
VERDICTS = ("holds", "fails", "other-reading", "untestable")


@dataclass(frozen=True)
class Claim:
    """What a paper says, as recorded in `claims.toml`."""

    id: str
    """As in the ledger."""
    experiment: str
    """The experiment that it belongs to."""
    statement: str
    """In words of this project."""
    published: Mapping[str, Any]
    """Published values by name; empty if there are words only."""
    expect: Verdict
    """Verdict that this version is recorded to reach in a full run."""
    quick: Verdict
    """The same for a quick run."""
    needs: tuple[str, ...] = ()
    """Further experiments that it is judged by."""


def read_claims(path: Path) -> list[Claim]:
    """Read `claims.toml`."""
    claims = []
    for entry in tomllib.loads(path.read_text(encoding="utf-8"))["claim"]:
        expect = entry["expect"]
        claim = Claim(
            id=entry["id"],
            experiment=entry["experiment"],
            statement=entry["statement"],
            published=entry.get("published", {}),
            expect=expect,
            quick=entry.get("quick", expect),
            needs=tuple(entry.get("needs", ())),
        )
        if claim.expect not in VERDICTS or claim.quick not in VERDICTS:
            raise ValueError(f"{path}: claim `{claim.id}` expects no verdict: {claim.expect}, {claim.quick}")
        claims.append(claim)
    return claims


@dataclass(frozen=True)
class Judgement:
    """What the data say of a claim."""

    verdict: Verdict
    """Whether it holds."""
    reason: str
    """Why, in a sentence or two; the reading where there are several; the explanation where it fails."""
    measured: Mapping[str, Estimate] = field(default_factory=dict)
    """What it was judged by."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values: `measured` and `ci95` have the same names."""
        return {
            "verdict": self.verdict,
            "measured": {name: _plain(estimate.mean) for name, estimate in self.measured.items()},
            "ci95": {name: _plain(estimate.ci95) for name, estimate in self.measured.items()},
            "reason": self.reason,
        }


def judged(
    holds: bool, measured: Mapping[str, Estimate | float], reason: str, *, fails: str = "", reading: str = ""
) -> Judgement:
    """Judge from data.

    Parameters
    ----------
    holds : bool
        Whether the claim holds in its first reading.
    measured : mapping
        What it was judged by.
    reason : str
        How it was judged.
    fails : str, optional
        What to say instead if it does not hold.
    reading : str, optional
        If it does not hold: the reading, listed in the ledger, under which it does.
    """
    estimates = {k: v if isinstance(v, Estimate) else Estimate(float(v)) for k, v in measured.items()}
    if holds:
        return Judgement("holds", reason, estimates)
    if reading:
        return Judgement("other-reading", reading, estimates)
    return Judgement("fails", fails or reason, estimates)


def untestable(reason: str) -> Judgement:
    """Give the judgement that no simulation can give."""
    return Judgement("untestable", reason)


Judge = Callable[[Mapping[str, Table]], Judgement]
"""Judges a claim from the tables of the experiments by their ids."""


class Judges(dict[str, Judge]):
    """The functions that judge the claims of a paper: ``@judges("id")`` adds one."""

    def __call__(self, key: str) -> Callable[[Judge], Judge]:
        """Decorate the function that judges the claim with this id."""

        def add(judge: Judge) -> Judge:
            assert key not in self, f"claim {key} has two judges"
            self[key] = judge
            return judge

        return add


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None

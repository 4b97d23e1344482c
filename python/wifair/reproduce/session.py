"""One reproduction from selection to verdicts."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from wifair import papers
from wifair._core import __version__
from wifair.reproduce.claims import Claim, Judgement
from wifair.reproduce.model import Case, Effort, Experiment, Measured, Paper
from wifair.reproduce.runner import compute
from wifair.reproduce.table import Label, Row, Table

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

__all__ = ["KEYS", "Outcome", "PaperOutcome", "Selection", "load", "reproduce", "select"]

KEYS: tuple[str, ...] = papers.KEYS
"""Papers that there are."""

FORMAT = 1
"""Version of the JSON: fields may be added within one, none is renamed or removed."""


def load(key: str) -> Paper:
    """Import the paper with a key."""
    paper = import_module(f"wifair.papers.{key}").PAPER
    assert isinstance(paper, Paper)
    assert paper.key == key
    return paper


@dataclass(frozen=True)
class Selection:
    """A paper, and those of its experiments that were asked for."""

    paper: Paper
    experiments: tuple[str, ...]

    @property
    def claims(self) -> list[Claim]:
        """Claims on them."""
        return [claim for claim in self.paper.claims if claim.experiment in self.experiments]

    @property
    def needed(self) -> list[Experiment]:
        """The experiments, and further ones that claims on them need."""
        ids = {*self.experiments, *(key for claim in self.claims for key in claim.needs)}
        return [experiment for experiment in self.paper.experiments if experiment.id in ids]


def select(names: Sequence[str]) -> list[Selection]:
    """Read what to reproduce: ``PAPER`` or ``PAPER/EXPERIMENT`` each; everything if there is none.

    Raises
    ------
    LookupError
        If there is no such paper or experiment; the message says what there is.
    """
    chosen: dict[str, list[str] | None] = {}
    for name in names or KEYS:
        key, _, experiment = name.partition("/")
        if key not in KEYS:
            raise LookupError(f"no paper `{key}`: {_hint(key, KEYS)}")
        if not experiment:
            chosen[key] = None
        else:
            known = [item.id for item in load(key).experiments]
            if experiment not in known:
                raise LookupError(f"no experiment `{experiment}` in {key}: {_hint(experiment, known)}")
            if chosen.setdefault(key, []) is not None:
                chosen[key] = [*(chosen[key] or []), experiment]
    selections = []
    for key in sorted(chosen, key=KEYS.index):
        paper, wanted = load(key), chosen[key]
        ids = tuple(item.id for item in paper.experiments if wanted is None or item.id in wanted)
        selections.append(Selection(paper, ids))
    return selections


@dataclass
class PaperOutcome:
    """What came of a paper."""

    paper: Paper
    tables: dict[str, Table]
    """By experiment."""
    claims: list[tuple[Claim, Judgement]]
    cases: dict[str, list[Case]]
    """What was run, by experiment."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "key": self.paper.key,
            "title": self.paper.title,
            "experiments": [
                {
                    "id": key,
                    "title": self.paper.experiment(key).title,
                    "runs": sum(len(case.seeds) for case in self.cases[key]),
                    "rows": [row.to_dict() for row in table.rows],
                }
                for key, table in self.tables.items()
            ],
            "claims": [
                {
                    "id": claim.id,
                    "experiment": claim.experiment,
                    "statement": claim.statement,
                    "published": dict(claim.published),
                    **judgement.to_dict(),
                }
                for claim, judgement in self.claims
            ],
        }


@dataclass
class Outcome:
    """What came of all papers."""

    effort: Effort
    papers: list[PaperOutcome]
    wall_s: float = field(default=0.0)

    def changed(self) -> list[tuple[Paper, Claim, Judgement]]:
        """Claims whose verdict is another one than recorded."""
        return [
            (outcome.paper, claim, judgement)
            for outcome in self.papers
            for claim, judgement in outcome.claims
            if judgement.verdict != self.recorded(claim)
        ]

    def broken(self) -> list[tuple[Paper, Claim, Judgement]]:
        """Those among them that are recorded as holding."""
        return [change for change in self.changed() if self.recorded(change[1]) == "holds"]

    def recorded(self, claim: Claim) -> str:
        """Say which verdict this version is recorded to reach."""
        return str(self.effort.pick(claim.quick, claim.expect))

    def to_dict(self) -> dict[str, Any]:
        """As plain values, in the layout of ``wifair reproduce --json``."""
        return {
            "format": FORMAT,
            "version": __version__,
            "effort": self.effort.value,
            "papers": [outcome.to_dict() for outcome in self.papers],
        }


def reproduce(
    selection: Sequence[str] = (),
    *,
    full: bool = False,
    store: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> Outcome:
    """Reproduce papers.

    Parameters
    ----------
    selection : sequence of str
        ``PAPER`` or ``PAPER/EXPERIMENT`` each; everything if empty.
    full : bool, default False
        With the papers' durations and repetitions, or more; otherwise fewer and shorter runs.
    store : path, optional
        Where runs are kept, as those of sweeps are: what it has is not computed again. Without it they are not kept.
    threads : int, optional
        Runs at the same time; all cores by default.
    progress : bool, default False
        Show a progress bar on stderr.

    Returns
    -------
    Outcome
        Tables and verdicts of each paper.

    Raises
    ------
    LookupError
        If there is no such paper or experiment.
    Interrupted
        On Ctrl-C; with a store, a repetition goes on from there.
    StoreError
        If `store` is none.
    """
    began = time.monotonic()
    effort = Effort.FULL if full else Effort.QUICK
    selections = select(selection)
    cases = {
        chosen.paper.key: {experiment.id: list(experiment.cases(effort)) for experiment in chosen.needed}
        for chosen in selections
    }
    every = [case for experiments in cases.values() for some in experiments.values() for case in some]
    results = compute(every, store=store, threads=threads, progress=progress)
    outcomes = []
    for chosen in selections:
        paper = chosen.paper
        tables = {}
        for experiment in chosen.needed:
            table = Table(experiment.id)
            for case in cases[paper.key][experiment.id]:
                table.rows += [_row(case.labels, item) for item in experiment.measure(case, results[id(case)])]
            if experiment.compute is not None:
                table.rows += [_row(labels, item) for labels, item in experiment.compute()]
            table.put_beside(paper.published, paper.ns2)
            tables[experiment.id] = table
        claims = [(claim, paper.judges[claim.id](tables)) for claim in chosen.claims]
        shown = {key: tables[key] for key in chosen.experiments}
        outcomes.append(PaperOutcome(paper, shown, claims, cases[paper.key]))
    return Outcome(effort, outcomes, time.monotonic() - began)


def _row(labels: Mapping[str, Label], item: Measured) -> Row:
    values = np.asarray(list(item.values), dtype=np.float64)
    return Row({**labels, **item.labels}, item.quantity, values)


def _hint(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, n=1)
    return f"did you mean `{near[0]}`?" if near else f"there are {', '.join(known)}"

"""Claims of papers as data.

The `claims.toml` of a paper declares what the paper leaves open (with the possible readings), controls (a mechanism and
the null that replaces it), and claims. A claim consists of clauses, each a predicate on quantities of experiments.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from wifair.reproduce._criteria import criterion
from wifair.reproduce._expressions import experiments_of, may_select
from wifair.reproduce._predicates import expressions_in
from wifair.reproduce._reading import read_rows
from wifair.reproduce.table import Label

Verdict = Literal[
    "holds", "partly", "depends", "fails", "undecided", "full-only", "calibrated", "definition", "untestable"
]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
MEANINGS: dict[Verdict, str] = {
    "holds": "every part of the claim holds, in every reading",
    "partly": "a part of the claim fails in every reading, but another part holds in at least one",
    "depends": "the claim holds in some readings and fails in others",
    "fails": "a part of the claim fails in every reading, and no part holds in any",
    "undecided": "the intervals over these seeds are too wide to tell, although more seeds were tried",
    "full-only": "a quick run cannot show it; a full run judges it",
    "calibrated": "the value claimed is an input of the model",
    "definition": "the claim is true by definition; no run can contradict it",
    "untestable": "the model lacks what the claim is about",
}
"""What each verdict means; a reading is one way to fill in what the paper leaves open."""
LEVEL = 0.05
"""Error probability of a claim, divided among its clauses."""
GIVEN: tuple[Verdict, ...] = ("calibrated", "definition", "untestable")
"""Verdicts that are declared, because no run can decide the claim."""


@dataclass(frozen=True)
class Reading:
    """One reading of a point that a paper leaves open."""

    id: str
    says: str
    """The reading in words."""
    value: Label
    """Value of the label or the placeholder in this reading."""
    experiments: Sequence[str] = ()
    """Experiments that are run in this reading; all if empty."""


@dataclass(frozen=True)
class Open:
    """A point that a paper leaves open."""

    id: str
    asks: str
    """The question."""
    label: str | None = None
    """Label of the rows that distinguishes the readings; None if expressions have the placeholder ``{id}`` instead."""
    experiments: Sequence[str] = ()
    """Experiments whose rows have the label; all if empty."""
    readings: tuple[Reading, ...] = ()
    decided: str = ""
    """Where the paper decides the point, for the first reading; the others are shown, and have no effect on a verdict.
    Empty if it does not."""

    def fixed(self, reading: Reading) -> Open:
        """Decide the point for a reading."""
        return replace(self, readings=(reading,), decided=self.decided or "here")

    def touches(self, clauses: Sequence[Clause]) -> tuple[Reading, ...]:
        """Find the readings that can affect the clauses; none if the clauses do not depend on them."""
        if self.label is None:
            mark = f"{{{self.id}}}"
            named = any(mark in clause.rows or mark in str(clause.predicate) for clause in clauses)
            return self.readings if named else ()
        felt = {
            experiment
            for clause in clauses
            for experiment, given in clause.experiments.items()
            if self.label not in given and (not self.experiments or experiment in self.experiments)
        }
        if not felt:
            return ()
        return tuple(one for one in self.readings if not one.experiments or felt & set(one.experiments))


@dataclass(frozen=True)
class Clause:
    """A testable part of a claim."""

    says: str
    """The clause in words of this project."""
    rows: str
    """The expression that is tested; see `wifair.reproduce._expressions`."""
    predicate: Mapping[str, Any]
    """The predicate that it must satisfy; see `wifair.reproduce._predicates`."""
    published: Any = None
    """The published value; None if the paper gives none."""
    unit: str = ""
    calibrated: bool = False
    """Whether the value was used for calibration: it is shown, but has no effect on the verdict."""
    because: str = ""
    """Why the smallest effect or the margin is as large as it is."""

    @cached_property
    def experiments(self) -> dict[str, set[str]]:
        """Experiments that the clause needs, each with the labels that it fixes."""
        texts = [self.rows, *expressions_in(self.predicate)]
        return experiments_of(text.replace("{", "").replace("}", "") for text in texts)

    def may_use(
        self, experiment: str, case: Mapping[str, Label], bound: Mapping[str, Label], places: Mapping[str, Label]
    ) -> bool:
        """Whether the clause may need a case, given by its labels, in a reading as of `Claims.bound`."""
        rows, predicate = self.filled(places)
        return any(may_select(text, experiment, case, bound) for text in (rows, *expressions_in(predicate)))

    @property
    def asks(self) -> str:
        """The predicate in words."""
        return criterion(self.predicate, re.sub(r"[{}]", "", self.rows), self.unit)

    def filled(self, values: Mapping[str, Label]) -> tuple[str, dict[str, Any]]:
        """Fill the placeholders of a reading into expression and predicate."""
        return _filled(self.rows, values), {key: _filled(value, values) for key, value in self.predicate.items()}


def _filled(value: Any, values: Mapping[str, Label]) -> Any:
    """Fill the placeholders of a text, or of the texts of a list."""
    if isinstance(value, list):
        return [_filled(one, values) for one in value]
    if isinstance(value, str):
        for name, filling in values.items():
            value = value.replace(f"{{{name}}}", str(filling))
    return value


@dataclass(frozen=True)
class Control:
    """A mechanism, and the null that replaces it to test whether a claim depends on it."""

    id: str
    mechanism: str
    """The mechanism that the claim is about, in words."""
    null: str
    """What replaces the mechanism, in words."""
    relabel: Mapping[str, Mapping[str, Label]] = field(default_factory=dict)
    """Rows that replace others: a map of values for each label; ``experiment`` maps the experiment itself."""
    scale: float = 1.0
    """Factor of the rows that replace others."""
    where: Mapping[str, Label] = field(default_factory=dict)
    """Labels of the cases that are run again with `changes`; all cases if empty."""
    changes: Mapping[str, object] = field(default_factory=dict)
    """Settings of the null, by path in the scenario."""


@dataclass(frozen=True)
class Claim:
    """A claim of a paper, as declared in `claims.toml`."""

    id: str
    experiment: str
    """The experiment that the claim belongs to."""
    says: str
    """The claim in words of this project."""
    source: str
    """Where the paper makes the claim."""
    clauses: tuple[Clause, ...]
    control: str | None = None
    """ID of its control; None if there is none, for the reason in `no_control`."""
    no_control: str = ""
    given: Verdict | None = None
    """A declared verdict, one of `GIVEN`; None if runs decide."""
    because: str = ""
    """The reason for the declared verdict."""
    full_only: str = ""
    """Why quick runs cannot judge the claim; empty if they can."""
    not_specific: str = ""
    """What it means for the paper if the claim also holds with the null; empty if it has not done so."""
    no_flip: str = ""
    """Why it is right that the claim holds with each of the generic nulls, too; empty if one of them ends it."""

    @property
    def needs(self) -> set[str]:
        """Experiments that are needed to judge the claim."""
        return {self.experiment, *(key for clause in self.clauses for key in clause.experiments)}


@dataclass(frozen=True)
class Claims:
    """The contents of `claims.toml`."""

    claims: tuple[Claim, ...]
    open: tuple[Open, ...]
    controls: Mapping[str, Control]

    def readings(self, claim: Claim) -> list[dict[str, Reading]]:
        """Find all combinations of readings that affect a claim, by the ID of the open point; the first is shown."""
        if claim.id not in self._combined:
            felt = {
                one.id: readings[:1] if one.decided else readings
                for one in self.open
                if (readings := one.touches(claim.clauses))
            }
            self._combined[claim.id] = [dict(zip(felt, some)) for some in product(*felt.values())]
        return self._combined[claim.id]

    def others(self, claim: Claim) -> list[tuple[Reading, Claims]]:
        """List the readings that the paper rules out and that affect a claim, each with the claims so read."""
        return [
            (reading, replace(self, open=tuple(one.fixed(reading) if one is point else one for one in self.open)))
            for point in self.open
            if point.decided
            for reading in point.touches(claim.clauses)[1:]
        ]

    @cached_property
    def _combined(self) -> dict[str, list[dict[str, Reading]]]:
        return {}

    def may_use(
        self, claim: Claim, experiment: str, case: Mapping[str, Label], readings: Sequence[int] | None = None
    ) -> bool:
        """Whether a claim or its control may need a case, given by its experiment and labels.

        Parameters
        ----------
        claim : Claim
            The claim.
        experiment : str
            The experiment of the case.
        case : mapping
            Labels of the case.
        readings : sequence of int, optional
            Indices of the readings that matter; by default all.
        """
        every = self.readings(claim)
        relabel = self.controls[claim.control].relabel if claim.control is not None else {}
        swapped = [key for key, source in relabel.get("experiment", {}).items() if str(source) == experiment]
        wanted = [(one, case) for one in (experiment, *swapped)]
        for label, values in relabel.items():
            for value, source in values.items():
                if label != "experiment" and label in case and str(case[label]) == str(source):
                    own = type(case[label])(value)
                    wanted += [(one, {**case, label: own}) for one in (experiment, *swapped)]
        return any(
            clause.may_use(one, labels, *self.bound(reading))
            for one, labels in wanted
            if one in claim.needs
            for reading in (every if readings is None else [every[place] for place in readings])
            for clause in claim.clauses
        )

    def bound(self, reading: Mapping[str, Reading]) -> tuple[dict[str, Label], dict[str, Label]]:
        """Get the labels and placeholders of a combination."""
        labels: dict[str, Label] = {}
        places: dict[str, Label] = {}
        for one in self.open:
            if one.id in reading:
                if one.label is None:
                    places[one.id] = reading[one.id].value
                else:
                    labels[one.label] = reading[one.id].value
        return labels, places


class Recorded(NamedTuple):
    """The recorded verdict on a claim, from a run of this version."""

    verdict: str
    holding: int
    """Number of readings in which the claim holds."""
    without: str
    """Verdict without the mechanism; empty if there is no control."""


def read_recorded(path: Path) -> dict[str, dict[str, Recorded]]:
    """Read `verdicts.csv`: by claim and effort (``quick``, ``full``)."""
    recorded: dict[str, dict[str, Recorded]] = {}

    def take(row: dict[str, str]) -> None:
        found = Recorded(row["verdict"], int(row["holding"]), row["without"])
        recorded.setdefault(row["claim"], {})[row["effort"]] = found

    read_rows(path, ("claim", "effort", "verdict", "holding", "without"), take)
    return recorded

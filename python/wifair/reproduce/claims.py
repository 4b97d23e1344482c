"""Claims of papers as data, and verdicts on them.

The `claims.toml` of a paper declares what the paper leaves open (with the possible readings), controls (a mechanism and
the null that replaces it), and claims. A claim consists of clauses, each a predicate on quantities of experiments.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from wifair.reproduce.expressions import ExpressionError, experiments_of, may_select
from wifair.reproduce.predicates import Tested, check, compared_with, criterion
from wifair.reproduce.table import Label, Row, Table, read_records

Verdict = Literal["holds", "partly", "depends", "fails", "undecided", "calibrated", "definition", "untestable"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
MEANINGS: dict[Verdict, str] = {
    "holds": "every part of the claim holds, in every reading",
    "partly": "a part of the claim fails in every reading, but another part holds in at least one",
    "depends": "the claim holds in some readings and fails in others",
    "fails": "a part of the claim fails in every reading, and no part holds in any",
    "undecided": "the intervals are too wide to tell, or a quick run contradicts the recorded full run",
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
    """The expression that is tested; see `wifair.reproduce.expressions`."""
    predicate: Mapping[str, Any]
    """The predicate that it must satisfy; see `wifair.reproduce.predicates`."""
    published: Any = None
    """The published value; None if the paper gives none."""
    unit: str = ""
    calibrated: bool = False
    """Whether the value was used for calibration: it is shown, but has no effect on the verdict."""

    @cached_property
    def experiments(self) -> dict[str, set[str]]:
        """Experiments that the clause needs, each with the labels that it fixes."""
        texts = [self.rows, *compared_with(self.predicate)]
        return experiments_of(text.replace("{", "").replace("}", "") for text in texts)

    def may_use(
        self, experiment: str, case: Mapping[str, Label], bound: Mapping[str, Label], places: Mapping[str, Label]
    ) -> bool:
        """Whether the clause may need a case, given by its labels, in a reading as of `Claims.bound`."""
        rows, predicate = self.filled(places)
        return any(may_select(text, experiment, case, bound) for text in (rows, *compared_with(predicate)))

    @property
    def asks(self) -> str:
        """The predicate in words."""
        return criterion(self.predicate, self.unit)

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
            felt = {one.id: readings for one in self.open if (readings := one.touches(claim.clauses))}
            self._combined[claim.id] = [dict(zip(felt, some)) for some in product(*felt.values())]
        return self._combined[claim.id]

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


def read_claims(path: Path) -> Claims:
    """Read `claims.toml`."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    opens = tuple(
        Open(
            readings=tuple(Reading(**{"value": one["id"], **one}) for one in entry["reading"]),
            **{key: value for key, value in entry.items() if key != "reading"},
        )
        for entry in document.get("open", ())
    )
    controls = {entry["id"]: Control(**entry) for entry in document.get("control", ())}
    claims = tuple(_claim(entry, controls, path) for entry in document["claim"])
    return Claims(claims, opens, controls)


def _claim(entry: Mapping[str, Any], controls: Mapping[str, Control], path: Path) -> Claim:
    clauses = tuple(Clause(**{"says": entry["says"], **clause}) for clause in entry.get("clause", ()))
    control = entry.get("control")
    if control is not None and control not in controls:
        raise ExpressionError(f"{path}: {entry['id']}: no control `{control}`: there are {', '.join(controls)}")
    if (control is None) == ("no_control" not in entry):
        raise ExpressionError(f"{path}: {entry['id']}: expected either `control` or `no_control` with the reason")
    given = entry.get("given")
    if given is not None and given not in GIVEN:
        raise ExpressionError(f"{path}: {entry['id']}: `given` is `{given}`: expected one of {', '.join(GIVEN)}")
    return Claim(clauses=clauses, **{key: value for key, value in entry.items() if key != "clause"})


@dataclass(frozen=True)
class Read:
    """A claim judged in one combination of readings."""

    reading: Mapping[str, Reading]
    tested: tuple[Tested, ...]
    """The result of each clause."""
    counted: tuple[bool, ...]
    """Whether each clause counts; one with a calibrated value does not."""

    @cached_property
    def _results(self) -> list[str]:
        return [one.result for one, counts in zip(self.tested, self.counted) if counts]

    @property
    def result(self) -> Verdict:
        """The result of all clauses: `fails` if one fails and none holds, `partly` if one fails and another holds."""
        results = self._results
        if "fails" in results:
            return "partly" if "holds" in results else "fails"
        return "undecided" if "undecided" in results or not results else "holds"

    @property
    def rules_out(self) -> bool:
        """Whether at least one clause fails."""
        return "fails" in self._results

    def may_hold(self, shrink: float) -> bool:
        """Whether the claim may hold with more seeds; see `RegionComparison.may`."""
        return all(one.may("holds", shrink) for one, counts in zip(self.tested, self.counted) if counts)

    def may_rule_out(self, shrink: float) -> bool:
        """Whether a clause fails, or may with more seeds."""
        return any(one.may("fails", shrink) for one, counts in zip(self.tested, self.counted) if counts)

    def worth_more(self, shrink: float) -> dict[int, frozenset[int]]:
        """Find, for each clause, the comparisons that more seeds may decide and that could change the result."""
        if self.result not in ("undecided", "fails"):
            return {}
        can_hold = self.may_hold(shrink)
        found = {}
        for place, (one, counts) in enumerate(zip(self.tested, self.counted)):
            if counts and one.result == "undecided":
                holding = can_hold or (self.rules_out and one.may("holds", shrink))
                some = one.worth_more(shrink, holding=holding, failing=not self.rules_out)
                if some:
                    found[place] = some
        return found

    @property
    def says(self) -> str:
        """The reading in words."""
        return "; ".join(one.says for one in self.reading.values()) or "as printed"


Again = Mapping[tuple[int, int], frozenset[int]]
"""For each (reading, clause), the indices of the comparisons to repeat with more seeds."""


@dataclass(frozen=True)
class Judgement:
    """The verdict on a claim, with the results in all readings."""

    verdict: Verdict
    readings: tuple[Read, ...]
    note: str = ""
    """Why the claim is not judged."""

    @property
    def held(self) -> list[int]:
        """Indices of the readings in which the claim holds."""
        return [place for place, one in enumerate(self.readings) if one.result == "holds"]

    @property
    def holding(self) -> int:
        """Number of readings in which the claim holds."""
        return len(self.held)

    @property
    def ruled_out(self) -> int:
        """Number of readings in which a clause fails."""
        return sum(one.rules_out for one in self.readings)

    @property
    def counts(self) -> str:
        """In how many readings the claim holds, as text; empty if there is only one, or if the verdict is declared."""
        of = len(self.readings)
        if of < 2 or self.verdict in GIVEN:
            return ""
        if self.verdict == "undecided":
            return f"holds in {self.holding}, fails in {self.ruled_out} of {of}"
        if self.verdict == "partly":
            return f"as a whole in 0 of {of}"
        return f"{self.holding} of {of}"

    @property
    def first(self) -> Read:
        """The claim in the first combination of readings, which tables and pages show."""
        return self.readings[0]

    def holds_in(self, place: int) -> int:
        """Count the readings in which the clause at `place` holds."""
        return sum(one.tested[place].result == "holds" for one in self.readings)

    @property
    def text(self) -> str:
        """The verdict with its counts."""
        return f"{self.verdict} ({self.counts})" if self.counts else self.verdict

    def among(self, places: Sequence[int]) -> Judgement:
        """Judge by some of the readings only."""
        some = tuple(self.readings[place] for place in places)
        return Judgement(self.verdict if self.verdict in GIVEN else _verdict(some), some, self.note)

    def worth_more(self, shrink: float, readings: Iterable[int] | None = None) -> Again:
        """Find the comparisons for which more seeds may change the verdict, or the results in some readings.

        Parameters
        ----------
        shrink : float
            Width of intervals with the maximum number of seeds, over their present width.
        readings : iterable of int, optional
            Indices of the readings whose results matter; by default the verdict matters.

        Returns
        -------
        dict of (reading, clause) to indices of comparisons
            The comparisons to repeat with more seeds.
        """
        if readings is not None:
            return {
                (index, place): some
                for index in readings
                for place, some in self.readings[index].worth_more(shrink).items()
            }
        may_hold = [one.may_hold(shrink) for one in self.readings]
        may_rule_out = [one.may_rule_out(shrink) for one in self.readings]
        depends = any(may_hold) and any(may_rule_out) and len(self.readings) > 1
        if not (all(may_hold) or depends or all(may_rule_out)):
            return {}
        return self.worth_more(shrink, range(len(self.readings)))


NOT_RUN = Tested("undecided", (), (), "not run")
"""The result of a clause in a reading that is not judged."""


def judge(
    claims: Claims,
    claim: Claim,
    tables: Mapping[str, Table],
    *,
    looks: int = 1,
    before: Judgement | None = None,
    again: Again | None = None,
    seeds: int | None = None,
    only: Sequence[int] | None = None,
) -> Judgement:
    """Judge a claim in all its readings.

    Parameters
    ----------
    claims : Claims
        The declarations that contain the claim.
    claim : Claim
        The claim to judge.
    tables : mapping
        Tables by experiment.
    looks : int, default 1
        Number of looks at the data, with more seeds each time (sequential testing). Each look has an equal part of the
        error probability, so that all looks together err no more often than a single one would (Bonferroni).
    before : Judgement, optional
        The judgement of the previous look.
    again : mapping, optional
        The comparisons that have more seeds since then; all others keep their results.
    seeds : int, optional
        Number of seeds of those comparisons.
    only : sequence of int, optional
        Indices of the readings to judge; the others stay undecided. By default all.

    Returns
    -------
    Judgement
        ``holds`` if all clauses hold in all readings; ``depends`` if all clauses hold in at least one reading and a
        clause fails in another; if a clause fails in every reading, ``partly`` if in at least one of them another
        clause holds, else ``fails``; ``undecided`` otherwise.
    """
    counted = tuple(not clause.calibrated for clause in claim.clauses)
    level = LEVEL / max(sum(counted), 1) / looks
    reads = []
    for index, reading in enumerate(claims.readings(claim)):
        if only is not None and index not in only:
            reads.append(Read(reading, (NOT_RUN,) * len(claim.clauses), counted))
            continue
        known = before.readings[index] if before is not None else None
        labels, places = claims.bound(reading)
        tested = []
        for place, clause in enumerate(claim.clauses):
            asked = (again or {}).get((index, place), frozenset())
            if known is not None and not asked:
                tested.append(known.tested[place])
                continue
            rows, predicate = clause.filled(places)
            now = check(predicate, rows, tables, labels, level=level, seeds=seeds)
            tested.append(now if known is None else known.tested[place].updated(now, asked))
        reads.append(Read(reading, tuple(tested), counted))
    if claim.given is not None:
        return Judgement(claim.given, tuple(reads), claim.because)
    return Judgement(_verdict(reads), tuple(reads))


def _verdict(reads: Sequence[Read]) -> Verdict:
    results = [one.result for one in reads]
    holding, ruled_out = results.count("holds"), sum(one.rules_out for one in reads)
    if holding == len(results):
        return "holds"
    if holding and ruled_out:
        return "depends"
    if ruled_out == len(results):
        return "partly" if "partly" in results else "fails"
    return "undecided"


def with_null(control: Control, tables: Mapping[str, Table]) -> dict[str, Table]:
    """Replace the mechanism of a control by its null."""
    result = dict(tables)
    swapped = control.relabel.get("experiment", {})
    for key, source in swapped.items():
        if str(source) in tables:
            result[key] = Table(key, [_standing(row, row.labels, control.scale) for row in tables[str(source)].rows])
        else:
            result.pop(key, None)
    labels = {label: values for label, values in control.relabel.items() if label != "experiment"}
    if labels:
        result = {key: _relabelled(table, labels, control.scale) for key, table in result.items()}
    return result


def _standing(row: Row, labels: Mapping[str, Label], scale: float) -> Row:
    return Row(dict(labels), row.quantity, row.values * scale, row.published, row.ns2, row.seeds, row.case)


def _relabelled(table: Table, labels: Mapping[str, Mapping[str, Label]], scale: float) -> Table:
    def replaced(row: Row) -> bool:
        return any(str(row.labels.get(label)) in values for label, values in labels.items())

    rows = [row for row in table.rows if not replaced(row)]
    held = [(label, row.labels[label]) for row in table.rows for label in labels if label in row.labels]
    own = {(label, str(value)): value for label, value in held}
    for row in table.rows:
        for label, values in labels.items():
            for value, source in values.items():
                if str(row.labels.get(label)) == str(source):
                    wanted = own.get((label, value))
                    wanted = type(row.labels[label])(value) if wanted is None else wanted
                    rows.append(_standing(row, {**row.labels, label: wanted}, scale))
    return Table(table.experiment, rows)


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
    for row in read_records(path):
        found = Recorded(row["verdict"], int(row["holding"]), row["without"])
        recorded.setdefault(row["claim"], {})[row["effort"]] = found
    return recorded

"""Verdicts on claims: each clause in each reading, with more seeds until it is decided."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from wifair.reproduce._claims import GIVEN, LEVEL, Claim, Claims, Control, Reading, Verdict
from wifair.reproduce._predicates import Tested, check
from wifair.reproduce.table import Label, Row, Table


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
        return "; ".join(one.says for one in self.reading.values() if one.says) or "as printed"


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
        """Find the comparisons that more seeds may decide, and that matter for the result in a reading.

        A reading that no number of seeds decides does not keep the others from being decided.

        Parameters
        ----------
        shrink : float
            Width of intervals with the maximum number of seeds, over their present width.
        readings : iterable of int, optional
            Indices of the readings that matter; by default all.

        Returns
        -------
        dict of (reading, clause) to indices of comparisons
            The comparisons to repeat with more seeds.
        """
        return {
            (index, place): some
            for index in (range(len(self.readings)) if readings is None else readings)
            for place, some in self.readings[index].worth_more(shrink).items()
        }


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
    level = LEVEL / looks
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
            now = check(predicate, rows, tables, labels, level=level, clauses=max(sum(counted), 1), seeds=seeds)
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

"""One reproduction from selection to verdicts."""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np

from wifair.exceptions import Interrupted
from wifair.reproduce import _tallies as tallies
from wifair.reproduce._claims import Claim, Control
from wifair.reproduce._declaring import check_rows
from wifair.reproduce._judging import Again, Judgement, Read, judge, with_null
from wifair.reproduce._model import Case, Effort, Experiment, Measured, Paper
from wifair.reproduce._null_results import NullResult
from wifair.reproduce._nulls import NULLS, GenericNull, nulled
from wifair.reproduce._plain import about, claim_to_dict
from wifair.reproduce._selecting import KEYS, Selection, load, select
from wifair.reproduce.runner import Runner
from wifair.reproduce.table import Label, Row, Table

__all__ = ["FORMAT", "KEYS", "Outcome", "PaperOutcome", "load", "reproduce", "select"]

MOST_SIMULATED_S = 8000.0
"""No more seeds are run of a case for whose length this is not enough [s]: 40 of 200 s, 10 of 800 s."""
NOT_EXPLAINED = "not explained"
"""Stands for the reason of a row that is 5 % or more from a published value or from ns-2, if none was tested."""
IN_RANGE = "ns-2 is within the range of the seeds"
"""The reason of a row that is near its published value, if any, while every run of ns-2 is among its seeds."""
FORMAT = 3
"""Version of the JSON layout. Fields may be added within a version, but none is renamed or removed."""


@dataclass(frozen=True)
class Controlled:
    """The outcome of a claim's control run, without the mechanism."""

    control: Control
    judgement: Judgement | None
    """Judgement in the readings in which the claim holds with its mechanism, or in all; None if it was not run."""
    specific: bool | None
    """Whether the claim needs its mechanism; None if unknown, or if the claim holds in no reading."""
    held: bool | None = None
    """True if the claim holds in some reading with its mechanism; None if in none."""
    means: str = ""
    """What it means for the paper if the claim also holds with the null."""

    @property
    def reason(self) -> str:
        """The meaning of the outcome, in words."""
        if self.judgement is None:
            return "not run; `wifair reproduce --controls` runs it"
        if self.specific is None:
            return "" if self.held is None else "whether the claim needs its mechanism is undecided"
        if self.specific:
            smaller = (
                "the effect is significantly smaller" if self.judgement.verdict == "undecided" else "it does not hold"
            )
            return f"with {self.control.null}, {smaller}: the claim depends on {self.control.mechanism}"
        means = self.means or f"the observation is right, but no evidence for {self.control.mechanism}"
        return f"the claim also holds with {self.control.null}: {means}"


@dataclass(frozen=True)
class Judged:
    """A claim with its judgement."""

    claim: Claim
    judgement: Judgement
    controlled: Controlled | None
    """The control run; None if the claim has no control."""
    others: tuple[tuple[str, Judgement], ...] = ()
    """Readings that the paper rules out, in words, with the judgement on the claim so read; see `Open.decided`."""
    in_full: str = ""
    """The verdict that a full run of this version is recorded to have; empty if none is recorded, or in a full run."""

    @property
    def verdict(self) -> str:
        """The verdict."""
        return self.judgement.verdict

    @property
    def unspecific(self) -> bool:
        """Whether the claim also holds without its mechanism."""
        return self.controlled is not None and self.controlled.specific is False


@dataclass
class PaperOutcome:
    """The outcome of reproducing a paper."""

    paper: Paper
    tables: dict[str, Table]
    """Results by experiment."""
    claims: list[Judged]
    cases: dict[str, list[Case]]
    """Cases that were run, by experiment."""
    only: frozenset[str] = frozenset()
    """Experiments of which only the cases were run that the selected claims need."""
    nulls: dict[str, dict[str, NullResult]] = field(default_factory=dict)
    """Claims with generic nulls, by claim and null; empty if they were not run."""

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values."""
        return {
            "key": self.paper.key,
            **({} if self.paper.key in KEYS else {"folder": str(self.paper.folder)}),
            "title": self.paper.title,
            "experiments": [
                {
                    "id": key,
                    "title": self.paper.experiment(key).title,
                    "whole": key not in self.only,
                    "runs": sum(len(case.seeds) for case in self.cases[key]),
                    "cases": [
                        {"labels": dict(case.labels), "seeds": list(case.seeds), "scenario": case.scenario.hash}
                        for case in self.cases[key]
                    ],
                    "rows": [row.to_dict() for row in table.rows],
                }
                for key, table in self.tables.items()
            ],
            "claims": [claim_to_dict(judged) for judged in self.claims],
            "readings": tallies.to_dict(tallies.by_reading(self.paper.declared, self.claims)),
            "nulls": {
                claim: {null: result._asdict() for null, result in some.items()} for claim, some in self.nulls.items()
            },
        }


@dataclass
class Outcome:
    """The outcome of reproducing all selected papers."""

    effort: Effort
    controls: bool
    papers: list[PaperOutcome]
    wall_s: float = 0.0

    def broken(self) -> list[tuple[Paper, Judged]]:
        """Find the claims that are recorded as holding, with the same effort, but do not hold."""
        return [
            (outcome.paper, judged)
            for outcome in self.papers
            for judged in outcome.claims
            if (known := outcome.paper.recorded.get(judged.claim.id, {}).get(self.effort.value)) is not None
            and known.verdict == "holds"
            and judged.verdict not in ("holds", "undecided", "full-only")
        ]

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values, in the layout of ``wifair reproduce --json``."""
        return {
            "format": FORMAT,
            **about(),
            "effort": self.effort.value,
            "controls": self.controls,
            "papers": [outcome.to_dict() for outcome in self.papers],
        }


def reproduce(
    selection: Sequence[str] = (),
    *,
    full: bool = False,
    controls: bool = False,
    nulls: bool = False,
    store: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    progress: bool = False,
    done: Callable[[PaperOutcome], None] | None = None,
) -> Outcome:
    """Reproduce papers.

    Parameters
    ----------
    selection : sequence of str
        ``PAPER``, ``PAPER/EXPERIMENT`` or ``PAPER/CLAIM`` each; everything if empty. A path in place of ``PAPER``
        is the folder of a paper.
    full : bool, default False
        Whether to use the durations of the papers; otherwise there are fewer and shorter runs.
    controls : bool, default False
        Whether to judge each claim without its mechanism, too.
    nulls : bool, default False
        Whether to judge each claim that holds with each of the generic nulls, too; see `wifair.reproduce._nulls`.
    store : path, optional
        Store for runs, as for sweeps; runs in it are not repeated. Without it runs are not kept.
    threads : int, optional
        Number of runs at the same time; by default the number of cores.
    progress : bool, default False
        Show a progress bar on stderr.
    done : callable, optional
        Called with the outcome of each paper as soon as it is final; others may still run.

    Returns
    -------
    Outcome
        Tables and verdicts of each paper.

    Raises
    ------
    LookupError
        If there is no such paper, experiment or claim.
    PaperError
        If a paper declares something that does not exist.
    Interrupted
        On Ctrl-C; with a store, the next call resumes.
    StoreError
        If `store` is not a store.
    """
    began = time.monotonic()
    effort = Effort.FULL if full else Effort.QUICK
    selections = select(selection)
    works = [_PaperWork(chosen, effort, controls) for chosen in selections]
    finished: dict[_PaperWork, PaperOutcome] = {}
    # Figures are drawn while other papers run: papers with many come first.
    order = sorted(works, key=lambda work: -work.figures)
    try:
        # One paper is judged while the runs of others are executed.
        with Runner(store, threads=threads, progress=progress) as runner, ThreadPoolExecutor(1) as judges:
            for work in _followed(order, runner, judges):
                finished[work] = work.outcome()
                if done is not None and not nulls:
                    done(finished[work])
            if nulls:
                without = [one for work in works for null in NULLS if (one := _NullWork(work, null)).held]
                for null_work in _followed(without, runner, judges):
                    assert isinstance(null_work, _NullWork)
                    null_work.add_to(finished[null_work.of].nulls)
                if done is not None:
                    for work in works:
                        done(finished[work])
    except KeyboardInterrupt:
        raise Interrupted(None) from None
    return Outcome(effort, controls, [finished[work] for work in works], time.monotonic() - began)


def _followed(works: Sequence[_PaperWork], runner: Runner, judges: ThreadPoolExecutor) -> Iterator[_PaperWork]:
    """Run and judge papers until no claim needs more seeds, the first ones first; yields each when it is final."""
    judged: dict[Future[bool], _PaperWork] = {}
    rank = {work: place for place, work in enumerate(works)}
    for work in works:
        runner.start(work, work.todo(), rank[work])
    left = len(works)
    while left:
        complete = runner.finished()
        if isinstance(complete, _PaperWork):
            judged[judges.submit(complete.judge, runner)] = complete
        for future in [future for future in judged if future.done()]:
            work = judged.pop(future)
            if future.result():
                runner.start(work, work.todo(), rank[work])
            else:
                left -= 1
                yield work


class _Sequential:
    """Sequential judgement of a claim, with or without its mechanism: more and more seeds until it is decided.

    The result depends only on the claim's own rows, not on the other claims judged in the same run.
    """

    def __init__(self, work: _PaperWork, claim: Claim, control: Control | None) -> None:
        self.work, self.claim, self.control = work, claim, control
        self.look = -1
        self.judgement: Judgement | None = None
        self.again: Again = {}
        """The comparisons that wait for more seeds."""
        self.only: Sequence[int] | None = None
        """Indices of the readings to judge; all if None."""

    def judge(self) -> Judgement:
        """Judge the claim with the rows available now."""
        self.look += 1
        effort, declared = self.work.effort, self.work.chosen.paper.declared
        tables = self.work.tables_at(self.look, self.control)
        self.judgement = judge(
            declared,
            self.claim,
            tables,
            looks=effort.looks,
            before=self.judgement,
            again=self.again,
            seeds=effort.seeds_at(self.look),
            only=self.only,
        )
        self.again = {}
        return self.judgement

    def ask(self, readings: Iterable[int] | None = None) -> dict[int, int]:
        """Request more seeds where they may decide, in these readings. Returns their number by id of the scenario."""
        assert self.judgement is not None
        wanted: dict[int, int] = {}
        if self.look + 1 >= self.work.effort.looks:
            return wanted
        seeds = self.work.effort.seeds_at(self.look + 1)
        again = {}
        for (index, place), some in self.judgement.worth_more(self.work.effort.shrink(self.look), readings).items():
            comparisons = self.judgement.readings[index].tested[place].comparisons
            affordable = frozenset(at for at in some if self.work.affords(comparisons[at].cases, seeds))
            if affordable:
                again[index, place] = affordable
                wanted |= {scenario: seeds for at in affordable for scenario in comparisons[at].cases}
        self.again = again
        return wanted

    @property
    def waits(self) -> bool:
        """Whether the judgement waits for more seeds."""
        return bool(self.again)


class _PaperWork:
    """One paper while it is being reproduced."""

    def __init__(self, chosen: Selection, effort: Effort, controls: bool) -> None:
        self.chosen, self.effort, self.controls = chosen, effort, controls
        self.checked = False
        self.cases = {
            one.id: [case for case in one.cases(effort) if self._is_needed(one, case)] for one in chosen.needed
        }
        self.rows: dict[int, list[Row]] = {}
        self.kept: list[Case] = []
        self.seeds = {key: [case.seeds for case in cases] for key, cases in self.cases.items()}
        """The seeds with which each case is run at first."""
        self.nulls: dict[tuple[str, str, int], Case] = {}
        """By control, experiment and place in `cases`: the cases without the mechanism that are needed."""
        self.tables: dict[str, Table] = {}
        self.tables_without: dict[str, dict[str, Table]] = {}
        declared = chosen.paper.declared
        self.own = {claim.id: _Sequential(self, claim, None) for claim in chosen.claims}
        self.without = {
            claim.id: _Sequential(self, claim, declared.controls[claim.control])
            for claim in chosen.claims
            if claim.control is not None and controls
        }

    @property
    def figures(self) -> int:
        """Count the figures."""
        return sum(self.chosen.paper.experiment(key).draw is not None for key in self.chosen.experiments)

    def _is_needed(self, experiment: Experiment, case: Case) -> bool:
        """Whether to run a case: of experiments that were not selected themselves, only what the claims need."""
        if experiment.id in self.chosen.whole:
            return True
        declared = self.chosen.paper.declared
        return any(declared.may_use(claim, experiment.id, case.labels) for claim in self.chosen.claims)

    def _add_nulls(self, claim: Claim, control: Control, readings: Sequence[int]) -> bool:
        """Add the cases that the control of a claim needs in some readings. Returns whether any of them is new."""
        if not control.changes:
            return False
        declared, before = self.chosen.paper.declared, len(self.nulls)
        for key in claim.needs & set(self.cases):
            for place, case in enumerate(self.cases[key]):
                if (
                    (control.id, key, place) not in self.nulls
                    and all(str(case.labels.get(label)) == str(value) for label, value in control.where.items())
                    and declared.may_use(claim, key, case.labels, readings)
                ):
                    scenario = case.scenario.with_(dict(control.changes))
                    null = replace(case, scenario=scenario, seeds=self.seeds[key][place])
                    self.nulls[control.id, key, place] = null
        return len(self.nulls) > before

    def affords(self, scenarios: Iterable[int], seeds: int) -> bool:
        """Whether so many seeds of scenarios, given by their ids, are within `MOST_SIMULATED_S` for each."""
        return all(self._durations_s.get(one, 0.0) * seeds <= MOST_SIMULATED_S for one in scenarios)

    def todo(self) -> Iterable[Case]:
        """Find the cases that are not measured yet."""
        every = chain(*self.cases.values(), self.nulls.values())
        return [case for case in every if id(case) not in self.rows]

    def judge(self, runner: Runner) -> bool:
        """Measure, judge, and request more seeds where they may decide. Returns whether any were requested."""
        self._measure(runner)
        every = chain(*self.cases.values(), self.nulls.values())
        self._durations_s = {id(case.scenario): case.scenario.duration_s for case in every}
        if not self.checked:
            paper = self.chosen.paper
            check_rows(paper.folder / "claims.toml", paper.declared, self.tables, paper.vocabulary, self.chosen.claims)
            self.checked = True
        wanted: Counter[int] = Counter()
        added = False
        for claim in self.chosen.claims:
            own = self.own[claim.id]
            can_decide = not (claim.full_only and self.effort is Effort.QUICK)
            if own.look < 0 or own.waits:
                judgement = own.judge()
                if judgement.verdict == "undecided" and can_decide:
                    wanted |= own.ask()  # the larger number of each
            without = self.without.get(claim.id)
            if without is None or own.judgement is None or own.waits:
                continue
            # The control matters only where the claim holds with its mechanism.
            holding = own.judgement.held
            if without.look < 0:
                assert without.control is not None
                without.only = (holding or range(len(own.judgement.readings))) if can_decide else ()
                if self._add_nulls(claim, without.control, without.only):
                    added = True
                    continue
            if without.look < 0 or without.waits:
                without.judge()
                if can_decide and holding and _specific(own.judgement, without.judgement) is None:
                    wanted |= without.ask(holding)
        return self._more(wanted) or added

    def _measure(self, runner: Runner) -> None:
        same: dict[tuple[str, tuple[int, ...]], list[tuple[Experiment, Case]]] = defaultdict(list)
        for experiment in self.chosen.needed:
            nulls = [null for (_, key, _), null in self.nulls.items() if key == experiment.id]
            for case in [*self.cases[experiment.id], *nulls]:
                if id(case) not in self.rows:
                    self.kept.append(case)  # keep the object alive, so that its id stays unique
                    same[case.scenario.hash, case.seeds].append((experiment, case))
        for some in same.values():
            results = runner.results([case for _, case in some])
            for experiment, case in some:
                self.rows[id(case)] = [_row(case.labels, item, case) for item in experiment.measure(case, results)]
        self.tables = {one.id: self._table(one, self.cases[one.id]) for one in self.chosen.needed}
        self.tables_without = {}
        for control, key in dict.fromkeys(at[:2] for at in self.nulls):
            cases = [self.nulls.get((control, key, place), case) for place, case in enumerate(self.cases[key])]
            without = self.tables_without.setdefault(control, dict(self.tables))
            without[key] = self._table(self.chosen.paper.experiment(key), cases)
        self._at: dict[tuple[int, str], dict[str, Table]] = {}

    def tables_at(self, look: int, control: Control | None) -> dict[str, Table]:
        """Build the tables with the seeds of a look, without the mechanism if `control` is given."""
        key = (look, control.id if control is not None else "")
        if key not in self._at:
            tables = self.tables if control is None else self.tables_without.get(control.id, self.tables)
            seeds = self.effort.seeds_at(look)
            first = {one: table.first(seeds) for one, table in tables.items()}
            self._at[key] = first if control is None else with_null(control, first)
        return self._at[key]

    def _judged(self, claim: Claim) -> Judged:
        declared = self.chosen.paper.declared
        alone = self.own[claim.id].judgement
        assert alone is not None
        without = self.without[claim.id].judgement if claim.id in self.without else None
        if claim.given is None and self.effort is Effort.QUICK and claim.full_only:
            alone = Judgement("full-only", alone.readings, claim.full_only)
            without = None if without is None else Judgement("full-only", without.readings, claim.full_only)
        controlled = None
        if claim.control is not None:
            control = declared.controls[claim.control]
            specific = _specific(alone, without)
            if without is not None and alone.held:
                without = without.among(alone.held)
            controlled = Controlled(control, without, specific, alone.holding > 0 or None, claim.not_specific)
        full = self.chosen.paper.recorded.get(claim.id, {}).get(Effort.FULL.value)
        in_full = full.verdict if full is not None and self.effort is Effort.QUICK and claim.given is None else ""
        others = tuple(
            (reading.says, judge(claims, claim, self.tables, looks=self.effort.looks))
            for reading, claims in declared.others(claim)
        )
        return Judged(claim, alone, controlled, others, in_full)

    def _table(self, experiment: Experiment, cases: Iterable[Case]) -> Table:
        rows = [row for case in cases for row in self.rows[id(case)]]
        if experiment.compute is not None:
            rows += [_row(labels, item, None) for labels, item in experiment.compute()]
        table = Table(experiment.id, rows)
        paper = self.chosen.paper
        table.put_beside(paper.published, paper.ns2)
        for row in table.rows:
            if row.is_far:
                known = (one.text for one in paper.deviations if one.fits(experiment.id, row))
                row.why = next(known, IN_RANGE if row.has_ns2_in_range else NOT_EXPLAINED)
        return table

    def _more(self, wanted: Mapping[int, int]) -> bool:
        """Extend cases to the wanted numbers of seeds by scenario. Returns whether any claim waits for seeds."""

        def longer(case: Case) -> Case:
            seeds = wanted.get(id(case.scenario), 0)
            if len(case.seeds) >= seeds:
                return case
            return replace(case, seeds=tuple(range(case.seeds[0], case.seeds[0] + seeds)))

        for key, some in self.cases.items():
            self.cases[key] = [longer(case) for case in some]
        self.nulls = {at: longer(null) for at, null in self.nulls.items()}
        return any(one.waits for some in (self.own, self.without) for one in some.values())

    def outcome(self) -> PaperOutcome:
        tables = {key: self.tables[key] for key in self.chosen.experiments}
        claims = [self._judged(claim) for claim in self.chosen.claims]
        return PaperOutcome(self.chosen.paper, tables, claims, self.cases, self.chosen.only)


class _NullWork(_PaperWork):
    """The claims of a paper that hold, in the readings in which they do, with a generic null."""

    def __init__(self, work: _PaperWork, null: GenericNull) -> None:
        self.of, self.null = work, null
        self.held = {
            claim.id: held
            for claim in work.chosen.claims
            if claim.given is None
            and not (claim.full_only and work.effort is Effort.QUICK)
            and (judgement := work.own[claim.id].judgement) is not None
            and (held := judgement.held)
        }
        ids = tuple(one.id for one in work.chosen.needed)
        super().__init__(Selection(work.chosen.paper, ids, frozenset(ids), frozenset(self.held)), work.effort, False)
        self.touched: set[str] = set()
        for key, cases in self.cases.items():
            for place, case in enumerate(cases):
                new = nulled(case, null)
                if new is not case:
                    cases[place] = new
                    self.touched |= {one.id for one in self.chosen.claims if self._uses(one, key, case)}
        for claim, readings in self.held.items():
            self.own[claim].only = readings

    def _uses(self, claim: Claim, experiment: str, case: Case) -> bool:
        declared = self.chosen.paper.declared
        return experiment in claim.needs and declared.may_use(claim, experiment, case.labels, self.held[claim.id])

    def add_to(self, matrix: dict[str, dict[str, NullResult]]) -> None:
        """Add the results to those by claim and null."""
        for claim, held in self.held.items():
            judgement = self.own[claim].judgement
            assert judgement is not None
            still = len(set(held) & set(judgement.held))
            matrix.setdefault(claim, {})[self.null.id] = NullResult(len(held), still, claim in self.touched)


def _specific(judgement: Judgement, without: Judgement | None) -> bool | None:
    """Whether a claim needs its mechanism: it holds with the mechanism and does not hold without it.

    Without the mechanism a value is often exactly at the limit (a ratio of one, if the null makes both sides equal), so
    that no number of seeds decides. Then the claim needs its mechanism if the effect is significantly smaller without.
    """
    if without is None:
        return None
    pairs = [(one, other) for one, other in zip(judgement.readings, without.readings) if one.result == "holds"]
    if not pairs:
        return None
    if any(other.result == "holds" for _, other in pairs):
        return False
    return True if all(other.rules_out or _is_weaker(other, one) for one, other in pairs) else None


def _is_weaker(without: Read, held: Read) -> bool:
    """Whether the interval of an undecided comparison without the mechanism is disjoint from that with it."""
    return any(
        there.result == "undecided" and (there.bounds.high < here.bounds.low or here.bounds.high < there.bounds.low)
        for i, counts in enumerate(held.counted)
        if counts
        for here, there in zip(held.tested[i].comparisons, without.tested[i].comparisons)
    )


def _row(labels: Mapping[str, Label], item: Measured, case: Case | None) -> Row:
    values = np.asarray(list(item.values), dtype=np.float64)
    seeds = case.seeds[: len(values)] if case is not None and case.random else None
    return Row({**labels, **item.labels}, item.quantity, values, seeds=seeds, case=case)

"""One reproduction from selection to verdicts."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from wifair.reproduce.claims import Claim, Control, Judgement, judge, with_null
from wifair.reproduce.model import Case, Effort, Experiment, Measured, Paper
from wifair.reproduce.runner import Runner
from wifair.reproduce.table import Label, Row, Table

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["KEYS", "Outcome", "PaperOutcome", "Selection", "load", "reproduce", "select"]

KEYS: tuple[str, ...] = import_module("wifair.papers").KEYS
"""Papers that there are; they use this package, which finds them by name."""

FORMAT = 2
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
        ids = {*self.experiments, *(key for claim in self.claims for key in self._needed(claim))}
        return [experiment for experiment in self.paper.experiments if experiment.id in ids]

    def _needed(self, claim: Claim) -> set[str]:
        """Experiments of a claim and of its control."""
        control = self.paper.declared.controls.get(claim.control or "")
        others = control.relabel.get("experiment", {}) if control else {}
        return claim.needs | {str(source) for key, source in others.items() if key in claim.needs}


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


@dataclass(frozen=True)
class Controlled:
    """A claim without its mechanism."""

    control: Control
    judgement: Judgement | None
    """None if it was not run."""
    specific: bool | None
    """Whether it needs its mechanism; None if that is not known, or if it holds in no reading anyway."""
    held: bool | None = None
    """True if it holds in some reading with its mechanism; None if in none."""

    @property
    def reason(self) -> str:
        """What that means."""
        if self.judgement is None:
            return "not run: `wifair reproduce --controls` does"
        if self.specific is None:
            return "" if self.held is None else "it is not decided whether it needs its mechanism"
        if self.specific:
            return f"with {self.control.null} it does not hold: it is about {self.control.mechanism}"
        return (
            f"it holds as well with {self.control.null}: the observation is right, but no evidence for "
            f"{self.control.mechanism}"
        )


@dataclass(frozen=True)
class Judged:
    """A claim with all that was found of it."""

    claim: Claim
    judgement: Judgement
    controlled: Controlled | None
    """None if the sentence has no mechanism."""

    @property
    def verdict(self) -> str:
        """The verdict."""
        return self.judgement.verdict


@dataclass
class PaperOutcome:
    """What came of a paper."""

    paper: Paper
    tables: dict[str, Table]
    """By experiment."""
    claims: list[Judged]
    cases: dict[str, list[Case]]
    """What was run, by experiment."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        from wifair.reproduce.plain import claim_to_dict  # noqa: PLC0415

        return {
            "key": self.paper.key,
            "title": self.paper.title,
            "experiments": [
                {
                    "id": key,
                    "title": self.paper.experiment(key).title,
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
        }


@dataclass
class Outcome:
    """What came of all papers."""

    effort: Effort
    controls: bool
    papers: list[PaperOutcome]
    wall_s: float = field(default=0.0)

    def changed(self) -> list[tuple[Paper, Judged, str]]:
        """Claims of which this run says something else than what is recorded, and what that is."""
        found = []
        for outcome in self.papers:
            for judged in outcome.claims:
                recorded = outcome.paper.recorded.get(judged.claim.id)
                if recorded is None:
                    found.append((outcome.paper, judged, "nothing is recorded"))
                    continue
                # A quick run may not know, but must not know otherwise; a full one may know more than a quick one.
                if recorded.effort == "quick" and self.effort is Effort.FULL:
                    continue
                pairs = [(judged.verdict, recorded.verdict)]
                if judged.controlled is not None and judged.controlled.judgement is not None:
                    pairs.append((judged.controlled.judgement.verdict, recorded.without))
                for now, before in pairs:
                    if now != before and not (self.effort is Effort.QUICK and now == "undecided"):
                        found.append((outcome.paper, judged, f"recorded: {before}, now: {now}"))
        return found

    def broken(self) -> list[tuple[Paper, Judged, str]]:
        """Those that are recorded as holding, and do not."""
        return [
            change
            for change in self.changed()
            if (known := change[0].recorded.get(change[1].claim.id)) is not None
            and known.verdict == "holds"
            and change[1].verdict not in ("holds", "undecided")
        ]

    def to_dict(self) -> dict[str, Any]:
        """As plain values, in the layout of ``wifair reproduce --json``."""
        from wifair.reproduce.plain import about  # noqa: PLC0415

        return {
            "format": FORMAT,
            **about(self),
            "effort": self.effort.value,
            "controls": self.controls,
            "papers": [outcome.to_dict() for outcome in self.papers],
        }


MOST_SEEDS = {Effort.QUICK: 2, Effort.FULL: 3}
"""How many times as many seeds as at first an undecided claim gets at most."""


def reproduce(
    selection: Sequence[str] = (),
    *,
    full: bool = False,
    controls: bool = False,
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
    controls : bool, default False
        Judge each claim without its mechanism, too.
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
    runner = Runner(store, threads=threads, progress=progress)
    works = [_Work(chosen, effort, controls) for chosen in selections]
    for _ in range(ROUNDS):
        runner.run(case for work in works for case in work.todo())
        more = [work.judge(runner) for work in works]
        if not any(more):
            break
    return Outcome(effort, controls, [work.outcome() for work in works], time.monotonic() - began)


ROUNDS = 3
"""At first, then with twice, then with three times the seeds for what is undecided."""


class _Work:
    """One paper while it is being reproduced."""

    def __init__(self, chosen: Selection, effort: Effort, controls: bool) -> None:
        self.chosen, self.effort, self.controls = chosen, effort, controls
        self.cases = {one.id: list(one.cases(effort)) for one in chosen.needed}
        self.first = {id(case): len(case.seeds) for some in self.cases.values() for case in some}
        self.rows: dict[int, list[Row]] = {}
        self.kept: list[Case] = []
        self.nulls = self._nulls() if controls else {}
        self.claims: list[Judged] = []

    def _nulls(self) -> dict[str, dict[str, list[tuple[Case, Case]]]]:
        """By control and experiment: cases with the mechanism, and the same without."""
        found: dict[str, dict[str, list[tuple[Case, Case]]]] = {}
        declared = self.chosen.paper.declared
        for claim in self.chosen.claims:
            control = declared.controls.get(claim.control or "")
            if control is None or not control.changes:
                continue
            by_experiment = found.setdefault(control.id, {})
            for key in claim.needs:
                if key not in by_experiment and key in self.cases:
                    by_experiment[key] = [
                        (case, replace(case, scenario=case.scenario.with_(dict(control.changes))))
                        for case in self.cases[key]
                        if all(str(case.labels.get(label)) == str(value) for label, value in control.where.items())
                    ]
        return found

    def todo(self) -> Iterable[Case]:
        """Cases that are not measured yet."""
        every = [case for some in self.cases.values() for case in some]
        every += [null for some in self.nulls.values() for pairs in some.values() for _, null in pairs]
        return [case for case in every if id(case) not in self.rows]

    def judge(self, runner: Runner) -> bool:
        """Measure, judge, and ask for more seeds where they may decide; say whether it did."""
        for experiment in self.chosen.needed:
            nulls = [null for some in self.nulls.values() for _, null in some.get(experiment.id, ())]
            for case in [*self.cases[experiment.id], *nulls]:
                if id(case) not in self.rows:
                    self.kept.append(case)  # its id stays its own
                    results = runner.results(case)
                    self.rows[id(case)] = [_row(case.labels, item, case) for item in experiment.measure(case, results)]
        self.tables = {one.id: self._table(one, self.cases[one.id]) for one in self.chosen.needed}
        declared = self.chosen.paper.declared
        self.claims = []
        wanted: dict[int, Case] = {}
        for claim in self.chosen.claims:
            skipped = claim.full_only if self.effort is Effort.QUICK else ""
            judgement = judge(declared, claim, self.tables)
            if skipped and claim.given is None:
                judgement = Judgement("undecided", judgement.readings, skipped)
            elif judgement.verdict == "undecided":
                wanted |= {id(row.case): row.case for row in judgement.rows if row.case is not None}
            controlled = None
            if claim.control is not None:
                control = declared.controls[claim.control]
                without = judge(declared, claim, self._without(control)) if self.controls else None
                if without is not None and skipped:
                    without = Judgement("undecided", without.readings, skipped)
                controlled = Controlled(control, without, _specific(judgement, without), judgement.holding > 0 or None)
            self.claims.append(Judged(claim, judgement, controlled))
        return self._more({key for key, case in wanted.items() if case.random})

    def _without(self, control: Control) -> dict[str, Table]:
        tables = self.tables
        if control.changes:
            tables = dict(tables)
            for key, pairs in self.nulls.get(control.id, {}).items():
                instead = {id(case): null for case, null in pairs}
                experiment = self.chosen.paper.experiment(key)
                tables[key] = self._table(experiment, [instead.get(id(case), case) for case in self.cases[key]])
        return with_null(control, tables)

    def _table(self, experiment: Experiment, cases: Iterable[Case]) -> Table:
        rows = [row for case in cases for row in self.rows[id(case)]]
        if experiment.compute is not None:
            rows += [_row(labels, item, None) for labels, item in experiment.compute()]
        table = Table(experiment.id, rows)
        paper = self.chosen.paper
        table.put_beside(paper.published, paper.ns2)
        for row in table.rows:
            row.why = next((one.why for one in paper.deviations if one.fits(experiment.id, row) and row.is_far), "")
        return table

    def _more(self, wanted: set[int]) -> bool:
        """Give these cases more seeds; say whether there was one."""
        added = False

        def longer(case: Case) -> Case:
            nonlocal added
            first = self.first.get(id(case), len(case.seeds))
            most = first * MOST_SEEDS[self.effort]
            if id(case) not in wanted or len(case.seeds) >= most:
                return case
            added = True
            begin = case.seeds[0]
            more = replace(case, seeds=tuple(range(begin, begin + min(len(case.seeds) + first, most))))
            self.first[id(more)] = first
            return more

        for key, some in self.cases.items():
            self.cases[key] = [longer(case) for case in some]
        if added and self.nulls:
            self.nulls = self._nulls()
        return added

    def outcome(self) -> PaperOutcome:
        shown = {key: self.tables[key] for key in self.chosen.experiments}
        return PaperOutcome(self.chosen.paper, shown, self.claims, self.cases)


def _specific(judgement: Judgement, without: Judgement | None) -> bool | None:
    """Whether a claim needs its mechanism: where it holds, it does not hold without."""
    if without is None:
        return None
    pairs = [
        (one.result, other.rules_out, other.result)
        for one, other in zip(judgement.readings, without.readings)
        if one.result == "holds"
    ]
    if not pairs:
        return None
    if all(ruled_out for _, ruled_out, _ in pairs):
        return True
    return False if any(result == "holds" for _, _, result in pairs) else None


def _row(labels: Mapping[str, Label], item: Measured, case: Case | None) -> Row:
    values = np.asarray(list(item.values), dtype=np.float64)
    seeds = case.seeds[: len(values)] if case is not None and case.random else None
    return Row({**labels, **item.labels}, item.quantity, values, seeds=seeds, case=case)


def _hint(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, n=1)
    return f"did you mean `{near[0]}`?" if near else f"there are {', '.join(known)}"

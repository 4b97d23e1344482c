"""What a validation consists of: rows that stand beside other programs' results, each with a rule to be held to."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import numpy as np
import wifair
from numpy.typing import NDArray
from wifair.statistics import student_t_p_value, student_t_quantile

HERE = Path(__file__).parent
REFERENCE = HERE.parent / "data" / "reference"
SEEDS = range(1, 21)
NARROW = 0.01
"""For `Rule.T_TEST`: means this close agree, relative, however little seeds matter."""
LEVEL = 0.05
"""Share of comparisons by `Rule.T_TEST` that fail by chance alone, of all that fail (false discovery rate)."""
CUTOFF = 0.00219335
"""Comparisons by `Rule.T_TEST` differ with p up to this. Benjamini and Hochberg's step-up procedure finds it from all
of them; `make validate` compares, to 5 %."""

Values = NDArray[np.float64]


class Rule(Enum):
    """What makes a quantity agree with its references."""

    MEAN = "mean"
    """The means differ by no more than the tolerance, relative to the reference."""
    T_TEST = "t-test"
    """Runs on both sides may have the same mean: Student's t test with the variance of both sides together. Where the
    reference has a single run this is the prediction interval of our seeds. Or the means differ by no more than the
    tolerance: where seeds hardly matter the test asks for more than what two programs can be held to."""
    COUNT = "count"
    """The means differ by no more than the tolerance, in absolute terms."""
    ORDER = "order"
    """Neither is more than the tolerance times the other."""
    RATIO_ONE = "ratio"
    """Ours lies within the tolerance of 1, whatever the reference says."""
    SHOWN = "shown"
    """Nothing is asked: the reference depends on what is not modelled, or is shown for orientation."""


@dataclass(frozen=True)
class Comparison:
    """One quantity, ours by seed, theirs by program."""

    quantity: str
    ours: Values
    theirs: Mapping[str, Sequence[float]]
    rule: Rule
    tolerance: float = 0.0
    binding: bool = True
    """Whether it counts. What ns-2's own routing and address resolution took part in is looked at by the same rule, and
    counted apart."""

    @property
    def mean(self) -> float:
        """Of the seeds that have a value: an index of sessions has none where no session finished."""
        finite = self.ours[np.isfinite(self.ours)]
        return float(np.mean(finite)) if len(finite) else float("nan")

    @property
    def range(self) -> tuple[float, float]:
        finite = self.ours[np.isfinite(self.ours)]
        return (float(np.min(finite)), float(np.max(finite))) if len(finite) else (float("nan"), float("nan"))

    def their_mean(self, source: str) -> float:
        return float(np.mean(self.theirs[source]))

    def difference(self, source: str) -> float:
        """Ours over theirs, less one."""
        return self.mean / self.their_mean(source) - 1.0 if self.their_mean(source) else float("nan")

    def p_value(self, source: str) -> float:
        """The chance of means at least this far apart where both sides have the same."""
        return t_test(self.ours, self.theirs[source])[0]

    def visible(self, source: str) -> float:
        """The least difference that shows at 5 % in this comparison alone, relative to the reference."""
        theirs = abs(self.their_mean(source))
        return t_test(self.ours, self.theirs[source])[1] / theirs if theirs else float("nan")

    def agrees(self, source: str) -> bool:
        theirs = self.their_mean(source)
        match self.rule:
            case Rule.MEAN:
                return abs(self.difference(source)) <= self.tolerance
            case Rule.T_TEST:
                return self.p_value(source) > CUTOFF or abs(self.difference(source)) <= self.tolerance
            case Rule.COUNT:
                return abs(self.mean - theirs) <= self.tolerance
            case Rule.ORDER:
                return 1.0 / self.tolerance <= self.mean / theirs <= self.tolerance
            case Rule.RATIO_ONE:
                return abs(self.mean - 1.0) <= self.tolerance
            case Rule.SHOWN:
                return True


def t_test(ours: Values, theirs: Sequence[float]) -> tuple[float, float]:
    """Student's t test of two samples, variances pooled, two-sided: p, and the least distance with p of 5 %.

    With a single run on one side the distance is the half width of the other side's prediction interval.
    """
    samples = [np.asarray(side, dtype=float) for side in (ours, theirs)]
    samples = [side[np.isfinite(side)] for side in samples]
    sizes = [len(side) for side in samples]
    degrees = sum(sizes) - 2
    if min(sizes) == 0 or degrees < 1:
        return 0.0, float("nan")
    variance = sum(float(np.sum((side - side.mean()) ** 2)) for side in samples) / degrees
    error = math.sqrt(variance * sum(1 / size for size in sizes))
    distance = abs(float(samples[0].mean() - samples[1].mean()))
    if error == 0:
        return float(distance == 0), 0.0
    return student_t_p_value(distance / error, degrees), error * student_t_quantile(0.975, degrees)


def cutoff(p_values: Iterable[float], level: float = LEVEL) -> float:
    """The greatest p that differs, so that of those which do no more than `level` do by chance; 0 if none does.

    Y. Benjamini and Y. Hochberg, "Controlling the False Discovery Rate", J. R. Statist. Soc. B 57(1), 1995.
    """
    ranked = sorted(p_values)
    return max((p for rank, p in enumerate(ranked, start=1) if p <= level * rank / len(ranked)), default=0.0)


def as_many_by_chance(failed: int, tests: int, level: float = LEVEL) -> float:
    """Chance that at least `failed` of independent tests fail at `level` where nothing differs."""
    terms = (math.comb(tests, k) * level**k * (1 - level) ** (tests - k) for k in range(failed))
    return max(0.0, 1.0 - math.fsum(terms))


def sign_test(above: int, below: int) -> float:
    """Chance that signs are shared out this unevenly or more where either is as likely, two-sided."""
    signs = above + below
    tail = sum(math.comb(signs, fewer) for fewer in range(min(above, below) + 1)) / float(2**signs)
    return min(1.0, 2 * tail)


@dataclass(frozen=True)
class Row:
    """One scenario."""

    labels: Mapping[str, object]
    comparisons: tuple[Comparison, ...]
    reason: str = ""
    """Why it differs, where it is known to; empty where it must agree."""

    def outside(self) -> list[tuple[Comparison, str]]:
        """What does not agree and ought to."""
        binding = [one for one in self.comparisons if one.binding]
        return [(one, source) for one in binding for source in one.theirs if not one.agrees(source)]

    def one(self, quantity: str) -> Comparison | None:
        """The first comparison of a quantity."""
        return next((one for one in self.comparisons if one.quantity == quantity), None)

    def name(self) -> str:
        return " ".join(f"{key}={value}" for key, value in self.labels.items())


def by_t_test(rows: Iterable[Row]) -> list[tuple[Comparison, str]]:
    """Comparisons by `Rule.T_TEST` that bind, with their sources."""
    found = [one for row in rows for one in row.comparisons if one.rule is Rule.T_TEST and one.binding]
    return [(one, source) for one in found for source in one.theirs]


def signs(rows: Iterable[Row]) -> tuple[int, int]:
    """Count those in which ours is above its reference, and below."""
    differences = [one.mean - one.their_mean(source) for one, source in by_t_test(rows)]
    return sum(one > 0 for one in differences), sum(one < 0 for one in differences)


@dataclass(frozen=True)
class Case:
    """A scenario to run, and what to compare."""

    labels: Mapping[str, object]
    scenario: wifair.Scenario
    measure: Callable[[wifair.Results], Iterable[Comparison]]
    fast: bool = False
    """Whether it is part of the normal test suite."""
    reason: str = ""
    series: str | None = None

    def run(self, seeds: Iterable[int] = SEEDS) -> Row:
        results = wifair.run(self.scenario, seeds=list(seeds), series=self.series)
        return Row(self.labels, tuple(self.measure(results)), self.reason)


@dataclass(frozen=True)
class Section:
    """A group of rows of the same kind: a table, and a figure where there is one."""

    name: str
    title: str
    text: str
    cases: Callable[[], Iterator[Case]]
    levels: tuple[str, ...]
    """Quantities whose relative differences are drawn."""
    index: str = ""
    """The quantity whose range over the seeds is drawn."""


def read(name: str) -> list[dict[str, str]]:
    """Read a table of references."""
    with (REFERENCE / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def lookup(rows: Iterable[Mapping[str, str]], metric: str, **keys: object) -> list[float]:
    """Find the values of a metric, one for each run of the other program."""
    wanted = {key: str(value) for key, value in keys.items()}
    return [
        float(row["value"])
        for row in rows
        if row["metric"] == metric and all(row[key] == value for key, value in wanted.items())
    ]


def held(
    quantity: str,
    ours: Values,
    still: Sequence[float],
    recorded: Sequence[float],
    rule: Rule,
    tolerance: float = NARROW,
    source: str = "ns-2",
) -> Iterator[Comparison]:
    """Hold to ns-2 with known ways and addresses, where there are such runs; those with DSDV and ARP do not bind."""
    yield Comparison(quantity, ours, {source: still or recorded}, rule, tolerance)
    if still and recorded:
        yield Comparison(quantity, ours, {f"{source} with DSDV": recorded}, rule, tolerance, binding=False)


def goodput(results: wifair.Results) -> Values:
    """Aggregate of each seed, in Mb/s."""
    return np.asarray(results.cells["goodput_bps"], dtype=float) / 1e6


def starved(results: wifair.Results) -> Values:
    """Flows of each seed with less than a tenth of the mean."""
    flows = len(results.flows["name"]) / len(results.seeds)
    return np.asarray(results.cells["starved_fraction"], dtype=float) * flows

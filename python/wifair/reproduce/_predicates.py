"""The predicates of claims, each tested by confidence intervals.

A predicate consists of comparisons, each of a value with a region. A comparison holds if the whole interval lies in the
region, fails if the whole interval lies outside, and is undecided otherwise. A predicate holds if all its comparisons
hold, each tested at the level of the clause (an intersection-union test: R. L. Berger, Technometrics 24, 1982). It
fails if one comparison fails at that level divided by the number of comparisons (Bonferroni).

A predicate that compares results with each other has a smallest effect ``by``: a ratio above 1 must be above 1 + by, a
difference above 0 above by. A smaller effect counts as none, and no effect at all is decided, not at a limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from wifair._output.words import suggestion
from wifair.reproduce._expressions import (
    ExpressionError,
    LabelledValues,
    MissingRowsError,
    evaluate,
    is_difference,
    is_ratio,
    is_share,
)
from wifair.reproduce._intervals import Bounds, of_replicates, of_share
from wifair.reproduce.table import Label, Row, Table, labelled

Result = Literal["holds", "fails", "undecided"]


STANDARD_ERROR = 0.4
"""The standard error as a fraction of the half width of an interval, approximately."""


@dataclass(frozen=True)
class RegionComparison:
    """A comparison of a value with a region."""

    at: str
    """The point: ``n 4``, or ``n 4 / n 2`` for a ratio of two points."""
    bounds: Bounds
    """Estimate and the interval that decides: for `holds` at the level of the clause, otherwise the wider one that
    allows for many comparisons."""
    low: float
    """Lower end of the region."""
    high: float
    """Upper end of the region."""
    result: Result
    cases: frozenset[int] = frozenset()
    """The runs behind the value, as ids of their scenarios, without those that do not depend on the seed."""

    def may(self, wanted: Result, shrink: float) -> bool:
        """Whether the result may become `wanted` with an interval `shrink` times as wide as this one.

        The estimate is assumed to move by at most one standard error in the wanted direction. If the true value is at
        the limit, no number of seeds decides.
        """
        if self.result != "undecided":
            return self.result == wanted
        estimate, low, high = self.bounds
        if not (math.isfinite(low) and math.isfinite(high)) or shrink <= 0:
            return True  # too few seeds to tell
        room = min(estimate - self.low, self.high - estimate)  # negative outside the region
        needed = max(shrink - STANDARD_ERROR, 0.1) * (high - low) / 2
        return (room if wanted == "holds" else -room) > needed


@dataclass(frozen=True)
class Tested:
    """The result of a predicate."""

    result: Result
    comparisons: tuple[RegionComparison, ...]
    rows: tuple[Row, ...] = field(default=(), repr=False)
    """The rows that it was tested on."""
    missing: str = ""
    """The reason why the predicate could not be tested; empty if it was."""
    lacking: str = ""
    """Which rows have no value for some seeds; empty if all have. Such points stay undecided."""

    def may(self, wanted: Result, shrink: float) -> bool:
        """Whether the result may become `wanted` with more seeds; see `RegionComparison.may`."""
        some = all if wanted == "holds" else any
        return not self.missing and some(one.may(wanted, shrink) for one in self.comparisons)

    def worth_more(self, shrink: float, *, holding: bool, failing: bool) -> frozenset[int]:
        """Find the comparisons for which more seeds may decide the predicate.

        Parameters
        ----------
        shrink : float
            As for `may`.
        holding : bool
            Whether it matters if all comparisons hold.
        failing : bool
            Whether it matters if one comparison fails.

        Returns
        -------
        frozenset of int
            Indices of the comparisons.
        """
        return frozenset(
            place
            for place, one in enumerate(self.comparisons)
            if one.result == "undecided" and one.cases and (holding or (failing and one.may("fails", shrink)))
        )

    def updated(self, now: Tested, places: frozenset[int]) -> Tested:
        """Replace some comparisons by new ones; keep the others, which were decided or given up with fewer seeds."""
        if len(now.comparisons) != len(self.comparisons):
            return now
        pairs = enumerate(zip(self.comparisons, now.comparisons))
        comparisons = tuple(new if place in places else old for place, (old, new) in pairs)
        return Tested(_together(comparisons), comparisons, now.rows, now.missing, now.lacking)

    @property
    def decisive(self) -> RegionComparison | None:
        """The deciding comparison: one that fails, else an undecided one, else the one nearest to its limit."""
        for result in ("fails", "undecided", "holds"):
            some = [c for c in self.comparisons if c.result == result]
            if some:
                return min(some, key=_room)
        return None


def _room(comparison: RegionComparison) -> float:
    """Compute how far the estimate is inside its region, in units of the limit; negative outside."""
    estimate = comparison.bounds.estimate
    if math.isnan(estimate):
        return -math.inf
    scale = max(abs(x) for x in (comparison.low, comparison.high, estimate, 1e-300) if math.isfinite(x))
    return min(estimate - comparison.low, comparison.high - estimate) / scale


@dataclass(frozen=True)
class _Case:
    """A value before it is tested."""

    at: str
    theta: NDArray[np.float64]
    low: float = -math.inf
    high: float = math.inf
    ratio: bool = False
    share: bool = False
    cases: frozenset[int] = frozenset()


class _Cells(tuple[_Case, ...]):
    """Cases of which at least one must hold."""

    __slots__ = ()


CLOSED = 1e-8
"""Fraction by which a closed end of a region is moved outwards, so that the end itself is inside."""


def check(
    predicate: Mapping[str, Any],
    rows: str,
    tables: Mapping[str, Table],
    bound: Mapping[str, Label],
    *,
    level: float = 0.05,
    clauses: int = 1,
    seeds: int | None = None,
) -> Tested:
    """Test a predicate.

    Parameters
    ----------
    predicate : mapping
        A key of `KINDS` with its argument, and options: ``{"above": 1.6}``.
    rows : str
        The expression that is tested.
    tables, bound
        As for `wifair.reproduce._expressions.evaluate`.
    level : float, default 0.05
        Error probability of the claim.
    clauses : int, default 1
        Number of its clauses. A claim holds if all hold, each tested at `level`; it fails if one fails, each tested at
        `level` over their number.
    seeds : int, optional
        As for `evaluate`; comparisons that need rows with fewer seeds are undecided.

    Returns
    -------
    Tested
        The result; undecided if rows are missing.

    Raises
    ------
    ExpressionError
        If the predicate or the expression is invalid.
    """
    kind = kind_of(predicate)
    text = rows
    for other in compared_with(predicate):
        text = f"({rows}) {'-' if predicate.get('absolute') else '/'} ({other})"
    try:
        points = evaluate(text, tables, bound, seeds=seeds)
        cases: list[_Case | _Cells] = list(KINDS[kind](points, predicate, text))
        if cases and "disease" in predicate:
            sick = evaluate(str(predicate["disease"]), tables, bound, seeds=seeds)
            cases.append(_diseased(points, sick, predicate))
            points.rows += sick.rows
    except MissingRowsError as missing:
        return Tested("undecided", (), (), str(missing))
    if not cases:
        return Tested("undecided", (), tuple(points.rows), "too few points")
    tested = [
        _compared_any(case, level, level / len(cases) / clauses)
        if isinstance(case, _Cells)
        else _compared(case, level, level / len(cases) / clauses)
        for case in cases
    ]
    return Tested(_together(tested), tuple(tested), tuple(points.rows), lacking=_without_value(points.rows))


def _without_value(rows: Sequence[Row]) -> str:
    """Say how many values of the rows are NaN; empty if none is."""
    lacking = [(row, int(np.isnan(row.values).sum())) for row in rows]
    some = [f"{row.quantity} ({row.name or 'the only row'}): {n} of {len(row.values)} seeds" for row, n in lacking if n]
    return "no value: " + "; ".join(dict.fromkeys(some)) if some else ""


def compared_with(predicate: Mapping[str, Any]) -> list[str]:
    """Find the expression that a predicate ``same_as`` compares with; none if it compares points with each other."""
    other = predicate.get("same_as")
    return [other] if isinstance(other, str) and other != "each other" else []


def expressions_in(predicate: Mapping[str, Any]) -> list[str]:
    """Find all expressions in a predicate."""
    return [*compared_with(predicate), *([str(predicate["disease"])] if "disease" in predicate else [])]


def _diseased(points: LabelledValues, sick: LabelledValues, predicate: Mapping[str, Any]) -> _Cells:
    """Ask for a cell, one of those of `points`, in which the untreated value is outside the region of the cure."""
    low, high = region_of_cure(predicate)
    there = {label: {row.labels[label] for row in points.rows if label in row.labels} for label in sick.labels}
    cells = []
    for key, theta in sick.values.items():
        named = sick.named(key)
        if any(there[label] and value not in there[label] for label, value in named.items()):
            continue
        if not any(all(named.get(k, v) == v for k, v in points.named(own).items()) for own in points.values):
            continue
        above = math.isfinite(high) and (not math.isfinite(low) or theta[0] >= (low + high) / 2)
        ends = (high, math.inf) if above else (-math.inf, low)
        at = f"untreated{', ' if named else ''}{_at(sick, key)}"
        cells.append(_Case(at, theta, *ends, cases=sick.cases[key]))
    if not cells:
        raise MissingRowsError("no untreated cell to compare with")
    return _Cells(cells)


def region_of_cure(predicate: Mapping[str, Any]) -> tuple[float, float]:
    """Find the region that counts as fair: that of the predicate, or with ``same_as`` that in its option ``fair``."""
    if "fair" in predicate or "within" in predicate:
        low, high = (number(x) for x in predicate.get("fair", predicate.get("within")))
        return low, high
    return number(predicate.get("above", -math.inf)), number(predicate.get("below", math.inf))


def _compared_any(cells: _Cells, level: float, strict: float) -> RegionComparison:
    """Compare cells of which one must hold: the roles of the two levels are exchanged.

    The result is that of the cell farthest inside its region.
    """
    tested = [_compared(cell, level / len(cells), strict) for cell in cells]
    held = [one for one in tested if one.result == "holds"]
    best = max(held or tested, key=_room)
    if held or all(one.result == "fails" for one in tested):
        return best
    open_ = [one for one in tested if one.result == "undecided"]
    return replace(max(open_, key=_room), cases=frozenset[int]().union(*(one.cases for one in open_)))


def _together(comparisons: Sequence[RegionComparison]) -> Result:
    results = {comparison.result for comparison in comparisons}
    return "fails" if "fails" in results else "undecided" if "undecided" in results else "holds"


def kind_of(predicate: Mapping[str, Any]) -> str:
    """Get the key of `KINDS` that a predicate has.

    Raises
    ------
    ExpressionError
        If it has none, several, or an option that is unknown or does not belong to it.
    """
    kinds = [key for key in predicate if key in KINDS]
    for key in predicate:
        if key not in KINDS and key not in OPTIONS:
            known = [*KINDS, *OPTIONS]
            raise ExpressionError(f"no predicate or option `{key}`: {suggestion(key, known, words(known))}", key)
    if len(kinds) != 1:
        raise ExpressionError(f"expected one predicate of {', '.join(KINDS)}, not {len(kinds)}", *kinds[1:2])
    for key in predicate:
        if key in OPTIONS and kinds[0] not in OPTIONS[key]:
            raise ExpressionError(f"`{key}` does not belong to `{kinds[0]}`: it is for {', '.join(OPTIONS[key])}", key)
    return kinds[0]


def words(known: Iterable[object]) -> str:
    """List what exists, for a message."""
    return f"there are {', '.join(map(str, known))}"


def needs_effect(predicate: Mapping[str, Any], rows: str) -> bool:
    """Whether a predicate compares results with each other, so that it needs a smallest effect."""
    kind = kind_of(predicate)
    if kind in ("above", "below"):
        try:
            limit = float(predicate[kind])
        except (TypeError, ValueError):
            return False
        return (limit == 1 and is_ratio(rows)) or (limit == 0 and is_difference(rows))
    return kind in ("rises", "falls", "best_at", "ranks", "crosses")


def _effect(predicate: Mapping[str, Any]) -> float:
    if "by" not in predicate:
        raise ExpressionError(f"`{kind_of(predicate)}` compares results: it needs a smallest effect `by`")
    return number(predicate["by"])


def _compared(case: _Case, level: float, strict: float) -> RegionComparison:
    """Compare a value with its region: ``holds`` is tested at `level`, ``fails`` at `strict`.

    A wrong ``holds`` means that the value is beyond one end of the region. It cannot be beyond both, so each end of the
    interval may have error probability `level` (two one-sided tests: D. J. Schuirmann, J. Pharmacokinet. Biopharm.
    15(6), 1987). A wrong ``fails`` means that the value is inside; it may seem to be beyond either end, so with two
    ends the error probability is divided between them.
    """

    def bounds(alpha: float) -> Bounds:
        if case.share:
            if np.isnan(case.theta).any():
                return Bounds(math.nan, 0.0, 1.0)
            return of_share(int(case.theta.sum()), len(case.theta), 1 - alpha)
        return of_replicates(case.theta, 1 - alpha, ratio=case.ratio)

    ends = math.isfinite(case.low) + math.isfinite(case.high)
    narrow, wide = bounds(2 * level), bounds(2 * strict / max(ends, 1))
    # A value exactly at an open end is outside; differences within rounding errors do not count.
    scale = max((abs(x) for x in (case.low, case.high, narrow.estimate) if math.isfinite(x)), default=1.0)
    slack = 1e-9 * scale
    above = case.low == -math.inf or narrow.low > case.low + slack
    below = case.high == math.inf or narrow.high < case.high - slack
    if above and below and not math.isnan(narrow.estimate):
        return RegionComparison(case.at, narrow, case.low, case.high, "holds", case.cases)
    outside = wide.high <= case.low + slack or (case.high < math.inf and wide.low >= case.high - slack)
    result: Result = "fails" if outside else "undecided"
    return RegionComparison(case.at, wide, case.low, case.high, result, case.cases)


def _at(points: LabelledValues, key: tuple[Label, ...]) -> str:
    return ", ".join(labelled(label, value) for label, value in points.named(key).items())


def number(value: Any) -> float:
    """Read a threshold: a number, or a text that is a number once placeholders are filled in."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ExpressionError(f"`{value}` is no number", str(value)) from None


def _each(points: LabelledValues, low: float, high: float, rows: str) -> Iterator[_Case]:
    for key, theta in points.values.items():
        yield _Case(_at(points, key), theta, low, high, is_ratio(rows), is_share(rows), points.cases[key])


def _beyond(points: LabelledValues, predicate: Mapping[str, Any], rows: str) -> Iterator[_Case]:
    low, high = number(predicate.get("above", -math.inf)), number(predicate.get("below", math.inf))
    if needs_effect(predicate, rows):
        low, high = _moved(low, high, _effect(predicate), ratio=is_ratio(rows))
    yield from _each(points, low, high, rows)


def _moved(low: float, high: float, by: float, *, ratio: bool) -> tuple[float, float]:
    """Move the ends of a region inwards by a smallest effect, as a ratio or as a difference."""
    return (low * (1 + by), high / (1 + by)) if ratio else (low + by, high - by)


def _within(points: LabelledValues, predicate: Mapping[str, Any], rows: str) -> Iterator[_Case]:
    wanted = predicate["within"]
    if isinstance(wanted, Mapping):  # a fraction of the published value of each row
        part = number(wanted["of_published"])
        for key, theta in points.values.items():
            named = points.named(key)
            row = next(row for row in points.rows if all(row.labels.get(k) == v for k, v in named.items()))
            if math.isnan(row.published):
                raise ExpressionError(f"`{rows}`: no published value at {_at(points, key)}")
            low, high = row.published * (1 - part), row.published * (1 + part)
            yield _Case(_at(points, key), theta, low, high, cases=points.cases[key])
        return
    low, high = (number(x) for x in wanted)
    edge = CLOSED * max(abs(low), abs(high), 1e-6)
    yield from _each(points, low - edge, high + edge, rows)


def _same_as(points: LabelledValues, predicate: Mapping[str, Any], rows: str) -> Iterator[_Case]:
    """Compare points with each other, or the quotients (differences) from `check` with one (with zero)."""
    margin = number(predicate["margin"])
    if predicate["same_as"] == "each other":
        for a, b in combinations(points.values, 2):
            yield _pair(points, a, b, f"{_at(points, a)} / {_at(points, b)}", 1 / (1 + margin), 1 + margin)
    elif predicate.get("absolute"):
        yield from _each(points, -margin, margin, rows)
    else:
        yield from _each(points, 1 / (1 + margin), 1 + margin, rows)


Key = tuple["Label", ...]


def _pair(points: LabelledValues, a: Key, b: Key, at: str, low: float = 1.0, high: float = math.inf) -> _Case:
    """Compute the ratio of two values; if it is meaningless, the first value minus `low` times the second."""
    cases = points.cases[a] | points.cases[b]
    with np.errstate(divide="ignore", invalid="ignore"):
        x, y = np.broadcast_arrays(points.values[a], points.values[b])
        if (x > 0).all() and (y > 0).all():
            return _Case(at, x / y, low, high, ratio=True, cases=cases)
        difference = x - low * y
    return _Case(at.replace(" / ", f" - {low:g} * " if low != 1 else " - "), difference, 0.0, math.inf, cases=cases)


def _label(points: LabelledValues, predicate: Mapping[str, Any]) -> str | None:
    """Find the label that a predicate goes along: the one that it names, or the only one."""
    label = predicate.get("over")
    if label is None and len(points.labels) == 1:
        return points.labels[0]
    return str(label) if label in points.labels else None


def _trend(points: LabelledValues, predicate: Mapping[str, Any], _: str) -> Iterator[_Case]:
    """Compare all points along a label: each step, and the last point with the first.

    Each step has the smallest effect. With ``slack`` a step may go back by that part, and the smallest effect is that
    of the last point over the first.
    """
    rising = "rises" in predicate
    label = str(predicate["rises" if rising else "falls"])
    by, slack = _effect(predicate), predicate.get("slack")
    if label not in points.labels:
        return
    for rest, line in points.over(label).items():
        where = _where(points, label, rest)
        ends = line if rising else line[::-1]
        for (a, x), (b, y) in pairwise(ends):
            least = 1 + by if slack is None else 1 - number(slack)
            yield _pair(points, y, x, f"{label} {_short(b)} / {_short(a)}{where}", least)
        if slack is not None:
            (a, x), (b, y) = ends[0], ends[-1]
            yield _pair(points, y, x, f"{label} {_short(b)} / {_short(a)}{where}", 1 + by)


def _where(points: LabelledValues, label: str, rest: Key) -> str:
    others = [name for name in points.labels if name != label]
    return "".join(f", {labelled(name, value)}" for name, value in zip(others, rest))


def _short(value: Label) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _best_at(points: LabelledValues, predicate: Mapping[str, Any], _: str) -> Iterator[_Case]:
    wanted = predicate["best_at"]
    best = wanted if isinstance(wanted, list) else [wanted]
    label = _label(points, predicate)
    if label is None:
        return
    for line in points.over(label).values():
        keys = dict(line)
        for b in best:
            if b not in keys:
                raise MissingRowsError(f"no value at {label} {b}")
            for x, key in keys.items():
                if x not in best:
                    yield _pair(points, keys[b], key, f"{label} {_short(b)} / {_short(x)}", 1 + _effect(predicate))


def _crosses(points: LabelledValues, predicate: Mapping[str, Any], rows: str) -> Iterator[_Case]:
    label = _label(points, predicate)
    if label is None:
        return
    last, first = (number(x) for x in predicate["crosses"])
    level, by = number(predicate.get("level", 1.0)), _effect(predicate)
    for line in points.over(label).values():
        for x, key in line:
            low, high = (-math.inf, level / (1 + by)) if float(x) <= last else (level * (1 + by), math.inf)
            if float(x) <= last or float(x) >= first:
                theta, cases = points.values[key], points.cases[key]
                yield _Case(f"{label} {_short(x)}", theta, low, high, is_ratio(rows), cases=cases)


def _ranks(points: LabelledValues, predicate: Mapping[str, Any], _: str) -> Iterator[_Case]:
    order = predicate["ranks"]
    label = str(predicate["over"])
    if label not in points.labels:
        return
    for rest, line in points.over(label).items():
        keys = {str(x): key for x, key in line}
        where = _where(points, label, rest)
        for a, b in pairwise(str(x) for x in order):
            if a not in keys or b not in keys:
                raise MissingRowsError(f"no value at {label} {a} or {b}")
            yield _pair(points, keys[a], keys[b], f"{a} / {b}{where}", 1 + _effect(predicate))


KINDS: Mapping[str, Callable[..., Iterator[_Case]]] = {
    "above": _beyond,
    "below": _beyond,
    "within": _within,
    "same_as": _same_as,
    "rises": _trend,
    "falls": _trend,
    "best_at": _best_at,
    "crosses": _crosses,
    "ranks": _ranks,
}
"""Predicates by name."""
OPTIONS: Mapping[str, Sequence[str]] = {
    "by": ("above", "below", "rises", "falls", "best_at", "crosses", "ranks"),
    "over": ("best_at", "crosses", "ranks"),
    "margin": ("same_as",),
    "absolute": ("same_as",),
    "fair": ("same_as",),
    "slack": ("rises", "falls"),
    "level": ("crosses",),
    "disease": ("above", "below", "within", "same_as"),
}
"""Options of predicates, each with the predicates that it belongs to."""

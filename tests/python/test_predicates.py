"""Predicates of claims: rows for which each must hold, fail and be undecided, and the intervals behind them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from wifair.reproduce._criteria import criterion
from wifair.reproduce._expressions import ExpressionError, MissingRowsError, evaluate
from wifair.reproduce._intervals import of_replicates, of_share, replicates
from wifair.reproduce._predicates import KINDS, check
from wifair.reproduce.table import Row, Table
from wifair.statistics import beta_quantile, mean_interval, paired_difference

NOISE = np.array([-0.02, 0.01, 0.03, -0.03, 0.01])
SEEDS = (1, 2, 3, 4, 5)


def table(means: dict[float | str, float], noise: float = 1.0, label: str = "n", experiment: str = "e") -> Table:
    """A row for each value of a label; noise that differs from row to row."""
    rows = [
        Row({label: at}, "x", mean + noise * np.roll(NOISE, place), seeds=SEEDS)
        for place, (at, mean) in enumerate(means.items())
    ]
    return Table(experiment, rows)


def result(
    predicate: dict[str, object], means: dict[float | str, float], *, noise: float = 1.0, rows: str = "e.x"
) -> str:
    return check(predicate, rows, {"e": table(means, noise)}, {}).result


CASES = [
    ({"above": 1.0}, {1: 1.2, 2: 1.3}, {1: 1.2, 2: 0.7}, {1: 1.2, 2: 1.01}),
    ({"below": 1.0}, {1: 0.8, 2: 0.7}, {1: 0.8, 2: 1.3}, {1: 0.8, 2: 0.99}),
    ({"within": [0.8, 1.2]}, {1: 1.0, 2: 1.1}, {1: 1.0, 2: 1.4}, {1: 1.0, 2: 1.19}),
    ({"same_as": "each other", "margin": 0.1}, {1: 1.0, 2: 1.0}, {1: 1.0, 2: 1.4}, {1: 1.0, 2: 1.1}),
    ({"same_as": "e[n:1].x", "margin": 0.1}, {1: 1.0, 2: 1.0}, {1: 1.0, 2: 1.4}, {1: 1.0, 2: 1.1}),
    (
        {"same_as": "e[n:1].x", "margin": 0.2, "absolute": True},
        {1: 1.0, 2: 1.0},
        {1: 1.0, 2: 1.5},
        {1: 1.0, 2: 1.2},
    ),
    ({"rises": "n", "by": 0.05}, {1: 1.0, 2: 1.2, 3: 1.4}, {1: 1.0, 2: 1.4, 3: 1.2}, {1: 1.0, 2: 1.2, 3: 1.27}),
    (
        {"rises": "n", "slack": 0.1, "by": 0.05},
        {1: 1.0, 2: 1.3, 3: 1.29},
        {1: 1.0, 2: 1.5, 3: 1.2},
        {1: 1.0, 2: 1.33, 3: 1.2},
    ),
    ({"falls": "n", "by": 0.05}, {1: 1.4, 2: 1.2, 3: 1.0}, {1: 1.2, 2: 1.4, 3: 1.0}, {1: 1.4, 2: 1.06, 3: 1.0}),
    ({"best_at": 2, "by": 0.05}, {1: 1.0, 2: 1.3, 4: 1.1}, {1: 1.0, 2: 1.3, 4: 1.6}, {1: 1.0, 2: 1.3, 4: 1.23}),
    ({"best_at": [2, 4], "by": 0.05}, {1: 1.0, 2: 1.3, 4: 1.3}, {1: 1.5, 2: 1.3, 4: 1.3}, {1: 1.23, 2: 1.3, 4: 1.3}),
    (
        {"crosses": [1, 3], "level": 1.0, "by": 0.05},
        {1: 0.8, 2: 1.0, 3: 1.2},
        {1: 1.2, 2: 1.0, 3: 1.2},
        {1: 0.8, 2: 1.0, 3: 1.06},
    ),
    (
        {"ranks": ["3", "2", "1"], "over": "n", "by": 0.05},
        {1: 1.0, 2: 1.2, 3: 1.4},
        {1: 1.3, 2: 1.1, 3: 1.4},
        {1: 1.0, 2: 1.34, 3: 1.4},
    ),
]


@pytest.mark.parametrize(("predicate", "good", "bad", "near"), CASES, ids=lambda value: str(value)[:32])
def test_each_predicate_holds_fails_and_is_undecided(
    predicate: dict[str, object],
    good: dict[float | str, float],
    bad: dict[float | str, float],
    near: dict[float | str, float],
) -> None:
    rows = "e[n>1].x" if str(predicate.get("same_as", "")).startswith("e[") else "e.x"
    assert result(predicate, good, rows=rows) == "holds"
    assert result(predicate, bad, rows=rows) == "fails"
    assert result(predicate, near, rows=rows) == "undecided"
    # Too much noise decides nothing, and one seed says nothing about the noise.
    assert result(predicate, good, noise=1000.0, rows=rows) == "undecided"
    assert criterion(predicate, rows)


def test_every_predicate_has_a_case() -> None:
    assert {key for predicate, *_ in CASES for key in KINDS if key in str(predicate)} == set(KINDS)


def test_one_seed_decides_nothing_and_arithmetic_is_exact() -> None:
    one = {"e": Table("e", [Row({}, "x", np.array([5.0]), seeds=(1,))])}
    assert check({"above": 1}, "e.x", one, {}).result == "undecided"
    exact = {"e": Table("e", [Row({}, "x", np.array([5.0]))])}
    assert check({"above": 1}, "e.x", exact, {}).result == "holds"
    assert check({"above": 5}, "e.x", exact, {}).result == "fails"  # not above itself
    assert check({"within": [5, 5]}, "e.x", exact, {}).result == "holds"


def test_a_tie_is_not_a_lead() -> None:
    same = {"e": table({1: 1.0, 2: 1.0}, noise=0.0)}
    for predicate in ({"best_at": 2}, {"rises": "n"}, {"falls": "n"}, {"ranks": ["1", "2"], "over": "n"}):
        assert check({**predicate, "by": 0.05}, "e.x", same, {}).result == "fails", predicate
        assert check({**predicate, "by": 0.0}, "e.x", same, {}).result == "fails", predicate
    for limit in ("above", "below"):
        assert check({limit: 1, "by": 0.05}, "e[n:2].x / e[n:1].x", same, {}).result == "fails"
        assert check({limit: 0, "by": 0.0}, "e[n:2].x - e[n:1].x", same, {}).result == "fails"
    assert check({"same_as": "each other", "margin": 0.01}, "e.x", same, {}).result == "holds"


def test_an_effect_below_the_smallest_one_is_none() -> None:
    """A lead of 1.2 %, measured to a tenth of it, is not an effect of 5 %; one of 12 % is."""
    noise = 0.001 * NOISE
    for lead, verdict in ((0.012, "fails"), (0.12, "holds")):
        rows = [Row({"n": 1}, "x", 1.0 + noise, seeds=SEEDS), Row({"n": 2}, "x", 1.0 + lead + noise[::-1], seeds=SEEDS)]
        tables = {"e": Table("e", rows)}
        assert check({"above": 1, "by": 0.05}, "e[n:2].x / e[n:1].x", tables, {}).result == verdict
        assert check({"below": 1, "by": 0.05}, "e[n:1].x / e[n:2].x", tables, {}).result == verdict
        assert check({"above": 0, "by": 0.05}, "e[n:2].x - e[n:1].x", tables, {}).result == verdict
        assert check({"rises": "n", "by": 0.05}, "e.x", tables, {}).result == verdict
        assert check({"best_at": 2, "by": 0.05}, "e.x", tables, {}).result == verdict


@pytest.mark.parametrize(
    ("predicate", "rows"),
    [
        ({"above": 1}, "e[n:2].x / e[n:1].x"),
        ({"below": 0}, "e[n:2].x - e[n:1].x"),
        ({"above": 1}, "mean(e[n:2].x / e[n:1].x)"),
        ({"rises": "n"}, "e.x"),
        ({"falls": "n", "slack": 0.02}, "e.x"),
        ({"best_at": 1}, "e.x"),
        ({"crosses": [1, 2]}, "e.x"),
        ({"ranks": [1, 2], "over": "n"}, "e.x"),
    ],
)
def test_a_comparison_without_a_smallest_effect_is_refused(predicate: dict[str, object], rows: str) -> None:
    with pytest.raises(ExpressionError, match="needs a smallest effect `by`"):
        check(predicate, rows, {"e": table({1: 1.0, 2: 1.0})}, {})


def test_nothing_falls_where_all_is_one() -> None:
    """Jain's index with windows of two packets: 1 at every number of stations. Two points are enough to say so."""
    for stations in ((5, 20), (5, 10, 20, 40)):
        rows = [Row({"n": n}, "x", np.ones(5) - 1e-6 * np.roll(NOISE, n), seeds=SEEDS) for n in stations]
        falls = check({"falls": "n", "slack": 0.02, "by": 0.05}, "e.x", {"e": Table("e", rows)}, {})
        assert falls.result == "fails"
        assert len(falls.comparisons) == len(stations)  # each step, and the last over the first


def cells(cured: dict[int, float], sick: dict[int, float]) -> dict[str, Table]:
    rows = [
        Row({"scheme": scheme, "rtt": rtt}, "x", mean + 0.01 * np.roll(NOISE, rtt), seeds=SEEDS)
        for scheme, means in (("cured", cured), ("none", sick))
        for rtt, mean in means.items()
    ]
    return {"e": Table("e", rows)}


@pytest.mark.parametrize(
    ("predicate", "cured"),
    [
        ({"within": [0.8, 1.25]}, {20: 1.0, 100: 1.02}),
        ({"below": 1.25}, {20: 1.0, 100: 1.02}),
        ({"same_as": "each other", "margin": 0.2, "fair": [0.8, 1.25]}, {20: 1.0, 100: 1.02}),
    ],
)
def test_a_cure_is_fair_only_where_there_is_something_to_repair(
    predicate: dict[str, object], cured: dict[int, float]
) -> None:
    asked = {**predicate, "disease": "e[scheme:none].x"}
    rows = "e[scheme:cured].x"
    assert check(asked, rows, cells(cured, {20: 30.0, 100: 1.01}), {}).result == "holds"
    assert check(asked, rows, cells(cured, {20: 1.1, 100: 1.01}), {}).result == "fails"  # nothing to repair
    assert check(predicate, rows, cells(cured, {20: 1.1, 100: 1.01}), {}).result == "holds"
    assert check(asked, rows, cells({20: 2.0, 100: 1.0}, {20: 30.0, 100: 1.01}), {}).result == "fails"  # no cure
    # The disease has to be in one of the cells that the cure is judged in.
    elsewhere = "e[scheme:cured, rtt:100].x"
    assert check(asked, elsewhere, cells(cured, {20: 30.0, 100: 1.01}), {}).result != "holds"


def test_two_equally_unfair_schemes_are_not_fair() -> None:
    asked = {"same_as": "e[scheme:none].x", "margin": 0.25, "absolute": True}
    both = cells({20: 30.0, 100: 30.0}, {20: 30.0, 100: 30.0})
    assert check(asked, "e[scheme:cured].x", both, {}).result == "holds"
    cured = {"within": [0.8, 1.25], "disease": "e[scheme:none].x"}
    assert check(cured, "e[scheme:cured].x", both, {}).result == "fails"


def test_a_seed_without_a_value_is_not_left_out() -> None:
    rows = [Row({"n": 1}, "x", np.array([2.0, 2.1, math.nan, 2.0, 2.1]), seeds=SEEDS)]
    tested = check({"above": 1}, "e.x", {"e": Table("e", rows)}, {})
    assert tested.result == "undecided"
    assert tested.lacking == "no value: x (n 1): 1 of 5 seeds"
    assert np.isnan(replicates(np.array([1.0, math.nan]))).all()
    assert rows[0].to_dict()["undefined"] == 1


def test_pairing_decides_what_independent_runs_do_not() -> None:
    """Both vary by 10 from seed to seed, and the second is 0.1 above the first in each."""
    common = np.array([0.0, 10.0, 3.0, 7.0, 5.0])
    tiny = np.array([0.01, -0.01, 0.0, 0.01, -0.01])
    rows = [Row({"n": 1}, "x", common, seeds=SEEDS), Row({"n": 2}, "x", common + 0.1 + tiny, seeds=SEEDS)]
    assert check({"above": 0, "by": 0.05}, "e[n:2].x - e[n:1].x", {"e": Table("e", rows)}, {}).result == "holds"
    rows[1].seeds = (11, 12, 13, 14, 15)  # other seeds are no pairs, and with none in common nothing is known
    assert check({"above": 0, "by": 0.05}, "e[n:2].x - e[n:1].x", {"e": Table("e", rows)}, {}).result == "undecided"


def test_many_points_fail_less_easily() -> None:
    """A point that fails alone at 5 % is one of forty here: Bonferroni."""
    values = 1.0 - np.array([0.016, 0.004, 0.012, 0.002, 0.007])
    rows = [Row({"n": n}, "x", np.roll(NOISE, n) / 10 + 2.0, seeds=SEEDS) for n in range(39)]
    odd = Row({"n": 99}, "x", values, seeds=SEEDS)
    alone = check({"above": 1}, "e.x", {"e": Table("e", [odd])}, {})
    among = check({"above": 1}, "e.x", {"e": Table("e", [*rows, odd])}, {})
    assert (alone.result, among.result) == ("fails", "undecided")


def test_the_interval_of_a_mean_is_students() -> None:
    values = np.array([1.0, 2.0, 4.0, 8.0])
    mine, theirs = of_replicates(replicates(values), 0.95), mean_interval(values)
    assert mine.estimate == pytest.approx(theirs.mean)
    assert mine.high - mine.estimate == pytest.approx(theirs.half_width)
    other = np.array([2.0, 2.5, 5.5, 8.0])
    difference = of_replicates(replicates(other) - replicates(values), 0.95)
    assert difference.high - difference.estimate == pytest.approx(
        paired_difference(values.tolist(), other.tolist()).half_width
    )


def test_a_ratio_and_its_inverse_have_the_same_interval() -> None:
    a, b = replicates(np.array([1.0, 2.0, 1.5])), replicates(np.array([3.0, 4.0, 5.0]))
    one, other = of_replicates(a / b, 0.95, ratio=True), of_replicates(b / a, 0.95, ratio=True)
    assert one.low == pytest.approx(1 / other.high)
    assert one.high == pytest.approx(1 / other.low)


def test_infinite_ratios_stay_infinite() -> None:
    """No seed is dropped from a mean: downloads that get nothing make the ratio infinite."""
    assert replicates(np.array([1.0, math.inf])).tolist() == [math.inf, math.inf, 1.0]
    assert of_replicates(np.array([math.inf, math.inf, math.inf]), 0.95).low == math.inf
    nothing = {
        "e": Table("e", [Row({}, "up", np.ones(3), seeds=(1, 2, 3)), Row({}, "down", np.zeros(3), seeds=(1, 2, 3))])
    }
    assert check({"above": 2}, "e.up / e.down", nothing, {}).result == "holds"


def test_shares_are_binomial() -> None:
    """Clopper and Pearson (1934): 5 of 10 at 95 % is 0.187 to 0.813; 10 of 10 is 0.692 to 1."""
    assert of_share(5, 10, 0.95)[1:] == pytest.approx((0.1871, 0.8129), abs=1e-4)
    assert of_share(10, 10, 0.95)[1:] == pytest.approx((0.6915, 1.0), abs=1e-4)
    assert beta_quantile(0.5, 1, 3) == pytest.approx(1 - 0.5 ** (1 / 3))
    with pytest.raises(ValueError, match="shapes"):
        beta_quantile(0.5, 0, 1)
    rows = [Row({}, "x", np.array([0.0] * 9 + [1.0]), seeds=tuple(range(10)))]
    share = check({"above": 0.5}, "share(e.x < 0.5)", {"e": Table("e", rows)}, {})
    assert share.result == "holds"
    assert share.comparisons[0].bounds.estimate == 0.9


def test_expressions() -> None:
    rows = [
        Row({"tcp": tcp, "n": n, "setting": s}, "x", np.array([float(value)]))
        for s, offset in (("a", 0), ("b", 100))
        for tcp, n, value in (("reno", 2, 1 + offset), ("reno", 4, 2 + offset), ("vegas", 2, 6), ("vegas", 4, 8))
    ]
    tables = {"e": Table("e", rows)}

    def value(text: str, **bound: str) -> list[float]:
        return [float(v[0]) for v in evaluate(text, tables, bound or {"setting": "a"}).values.values()]

    assert value("e[tcp:vegas].x / e[tcp:reno].x") == [6.0, 4.0]
    assert value("e[vegas, n:4].x") == [8.0]
    assert value("e[tcp:reno].x", setting="b") == [101.0, 102.0]
    assert value("e[tcp:reno, setting:b, n>2].x") == [102.0]  # what it gives itself goes first
    assert value("max(e[tcp:vegas].x) - min(e[tcp:vegas].x)") == [2.0]
    assert value("mean(e.x, over=n)") == [1.5, 7.0]
    assert value("max(e[tcp:reno].x, e[tcp:vegas].x)") == [6.0, 8.0]
    assert value("mean(e.x > 1.5)") == [0.75]
    with pytest.raises(MissingRowsError):
        value("e[tcp:cubic].x")
    for wrong in ("e[tcp:reno].x +", "open('x')", "e", "__import__('os').x", "e[tcp:reno].x ** 2"):
        with pytest.raises((ExpressionError, MissingRowsError)):
            value(wrong)
    with pytest.raises(ExpressionError, match="no predicate or option `abov`: did you mean `above`"):
        check({"abov": 1}, "e.x", tables, {})
    with pytest.raises(ExpressionError, match="`slack` does not belong to `above`: it is for rises, falls"):
        check({"above": 1, "slack": 0.1}, "e.x", tables, {})

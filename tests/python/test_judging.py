"""Judging with more and more seeds: which seeds are requested, which verdicts are final, and what a control says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, cast

import numpy as np
import pytest
from wifair.reproduce import Case, Effort
from wifair.reproduce._claims import Claim, Claims, Clause, Open, Reading
from wifair.reproduce._intervals import Bounds
from wifair.reproduce._judging import Judgement, judge
from wifair.reproduce._predicates import RegionComparison, check
from wifair.reproduce._session import _specific
from wifair.reproduce.table import Row, Table

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from wifair.reproduce.table import Label
    from wifair.scenario.scenario import Scenario

SEEDS = (1, 2, 3, 4, 5)
NOISE = np.array([-0.2, 0.1, 0.3, -0.3, 0.1])
OPEN = Open("how", "how", "how", (), (Reading("a", "in one way", "a"), Reading("b", "in another way", "b")))


def claims(*rows: str) -> Claims:
    """A claim with a clause for each of these quantities: above 1."""
    clauses = tuple(Clause(f"{one} above 1", one, {"above": 1}) for one in rows)
    return Claims((Claim("c", "e", "It is above 1.", "", clauses, None, "none"),), (OPEN,), {})


def random_row(labels: dict[str, Label], quantity: str, values: NDArray[np.float64], seeds: int = 5) -> Row:
    """A row of a scenario of its own, with the first of these values."""
    chosen = tuple(range(1, seeds + 1))
    case = Case(labels, cast("Scenario", object()), chosen)
    return Row(labels, quantity, values[:seeds], seeds=chosen, case=case)


def judged(declared: Claims, a: float, b: float, *, noise: float = 1.0, other: float = 5.0) -> Judgement:
    """In reading `a` quantity x is about `a`, in reading `b` about `b`; quantity y is `other`, without noise."""
    rows = [random_row({"how": how}, "x", mean + noise * NOISE) for how, mean in (("a", a), ("b", b))]
    rows += [random_row({"how": how}, "y", other + 1e-3 * NOISE) for how in "ab"]
    return judge(declared, declared.claims[0], {"e": Table("e", rows)})


@pytest.mark.parametrize(
    ("estimate", "wanted", "may"),
    [
        (1.5, "holds", True),  # half of the interval is inside: with an interval half as wide all of it
        (1.05, "holds", False),  # at the limit: no number of seeds decides
        (1.5, "fails", False),
        (0.5, "fails", True),
        (0.95, "fails", False),
    ],
)
def test_a_value_at_its_limit_gets_no_more_seeds(estimate: float, wanted: Literal["holds", "fails"], may: bool) -> None:
    one = RegionComparison("", Bounds(estimate, estimate - 1, estimate + 1), 1.0, np.inf, "undecided")
    assert one.may(wanted, 0.6) is may


def test_one_seed_may_become_anything() -> None:
    one = RegionComparison("", Bounds(5.0, -np.inf, np.inf), 1.0, np.inf, "undecided")
    assert one.may("holds", 0.1)
    assert one.may("fails", 0.1)


ALL = frozenset({0})
"""The only comparison of a clause."""


def test_only_undecided_clauses_that_may_change_the_verdict_get_more_seeds() -> None:
    shrink = Effort.FULL.shrink(1)
    assert 0 < shrink < 1
    # Both readings may hold.
    assert judged(claims("e.x", "e.y"), 1.15, 1.18).worth_more(shrink) == {(0, 0): ALL, (1, 0): ALL}
    # One reading is at the limit, so it will neither hold nor fail; the other one may be decided all the same.
    assert judged(claims("e.x"), 1.18, 1.0).worth_more(shrink) == {(0, 0): ALL}
    assert judged(claims("e.x"), 3.0, 1.0).worth_more(shrink) == {}
    # One reading holds, the other may fail: the claim may depend on the reading.
    assert judged(claims("e.x"), 3.0, 0.8).worth_more(shrink) == {(1, 0): ALL}
    # One clause fails in both readings, the other may hold: the claim may hold in part.
    assert judged(claims("e.x", "e.y"), 1.2, 1.2, other=0.5).worth_more(shrink) == {(0, 0): ALL, (1, 0): ALL}


def test_decided_and_unrequested_clauses_stay_as_they_are() -> None:
    declared = claims("e.x")
    first = judged(declared, 3.0, 1.2)
    assert [one.result for one in first.readings] == ["holds", "undecided"]
    rows = [random_row({"how": how}, "x", 0.1 + 0.01 * NOISE) for how in "ab"]
    now = {"e": Table("e", rows)}
    again = judge(declared, declared.claims[0], now, before=first, again={(1, 0): ALL})
    assert [one.result for one in again.readings] == ["holds", "fails"]
    same = judge(declared, declared.claims[0], now, before=first)
    assert [one.result for one in same.readings] == ["holds", "undecided"]


def test_only_undecided_points_get_more_seeds() -> None:
    """Three points above 1, of which the second is undecided with three seeds: it alone gets the other two."""
    open_ = Open("how", "how", "how", (), (Reading("a", "in one way", "a"),))
    declared = Claims((Claim("c", "e", "", "", (Clause("", "e.x", {"above": 1}),), None, "none"),), (open_,), {})
    values = {1: 2.0 + 0.01 * NOISE, 2: 1.5 + np.array([-0.4, 0.4, 0.05, 0.05, -0.05]), 3: 3.0 + 0.01 * NOISE}
    rows = [random_row({"n": n}, "x", some, 3) for n, some in values.items()]
    claim = declared.claims[0]
    first = judge(declared, claim, {"e": Table("e", rows)}, looks=2, seeds=3)
    assert [one.result for one in first.readings[0].tested[0].comparisons] == ["holds", "undecided", "holds"]
    again = first.worth_more(0.4)
    assert again == {(0, 0): frozenset({1})}
    (wanted,) = first.readings[0].tested[0].comparisons[1].cases
    assert wanted == id(rows[1].case and rows[1].case.scenario)
    rows[1] = random_row({"n": 2}, "x", values[2])
    second = judge(declared, claim, {"e": Table("e", rows)}, looks=2, before=first, again=again, seeds=5)
    before, now = (one.readings[0].tested[0].comparisons for one in (first, second))
    assert now[0] == before[0]
    assert now[2] == before[2]
    assert now[1].bounds.estimate == pytest.approx(values[2].mean())
    assert second.verdict == "holds"


def test_a_claim_that_is_ruled_out_in_every_reading_does_not_hold() -> None:
    """Whatever the undecided clause would say, the claim does not hold, and none of its clauses is known to."""
    declared = claims("e.x", "e.y")
    out = judged(declared, 1.1, 1.1, other=0.5)
    assert [[one.result for one in read.tested] for read in out.readings] == [["undecided", "fails"]] * 2
    assert [read.result for read in out.readings] == ["fails", "fails"]
    assert out.verdict == "fails"
    # More seeds are still requested: one more clause that holds would make the claim hold in part.
    assert judged(declared, 1.2, 1.2, other=0.5).worth_more(Effort.FULL.shrink(1))
    assert judged(declared, 3.0, 1.1, other=0.5).verdict == "partly"


def test_the_error_rate_at_the_limit_is_the_declared_one() -> None:
    """A mean that is 1 is not above 1: of 4000 samples 5 % say so, 200 within four standard errors of 13.8."""
    draws = np.random.default_rng(7)
    results = [
        check({"above": 1}, "e.x", {"e": Table("e", [Row({}, "x", 1 + draws.normal(size=5), seeds=SEEDS)])}, {}).result
        for _ in range(4000)
    ]
    error = 4 * (4000 * 0.05 * 0.95) ** 0.5
    assert results.count("holds") == pytest.approx(200, abs=error)
    assert results.count("fails") == pytest.approx(200, abs=error)


def test_a_claim_depends_on_its_mechanism_if_the_effect_is_significantly_smaller_without() -> None:
    declared = claims("e.x")
    held = judged(declared, 3.0, 3.0)
    assert held.verdict == "holds"
    assert _specific(held, judged(declared, 2.0, 3.0)) is False  # holds without, too
    assert _specific(held, judged(declared, 0.1, 0.1)) is True  # fails without
    assert _specific(held, judged(declared, 1.0, 1.0)) is True  # at the limit, and far below what it was
    assert _specific(held, judged(declared, 2.0, 2.0, noise=9.0)) is None  # anything is possible
    assert _specific(judged(declared, 0.1, 0.1), held) is None  # it does not hold: nothing to explain


def test_the_printed_interval_is_the_one_that_decides() -> None:
    """Of forty points one is barely below 1. Alone it fails; among forty the interval that allows for all is wider."""
    values = 1.0 - np.array([0.016, 0.004, 0.012, 0.002, 0.007])
    rows = [Row({"n": n}, "x", 2.0 + 0.1 * np.roll(NOISE, n), seeds=SEEDS) for n in range(39)]
    odd = Row({"n": 99}, "x", values, seeds=SEEDS)
    for some in ([odd], [*rows, odd]):
        tested = check({"above": 1}, "e.x", {"e": Table("e", some)}, {})
        for one in tested.comparisons:
            inside, outside = one.bounds.low > one.low, one.bounds.high <= one.low
            assert one.result == ("holds" if inside else "fails" if outside else "undecided")


def test_what_the_paper_decides_is_shown_and_has_no_effect() -> None:
    """The claim holds by the paper's definition and fails by the other one: it holds."""
    point = replace(OPEN, decided="section 1")
    declared = replace(claims("e.x"), open=(point,))
    rows = [random_row({"how": how}, "x", mean + 0.01 * NOISE) for how, mean in (("a", 3.0), ("b", 0.1))]
    tables = {"e": Table("e", rows)}
    assert judge(declared, declared.claims[0], tables).verdict == "holds"
    ((reading, other),) = declared.others(declared.claims[0])
    assert reading.id == "b"
    assert judge(other, other.claims[0], tables).verdict == "fails"


def test_a_control_is_judged_where_the_claim_holds() -> None:
    """The claim holds in reading a alone, so without the mechanism reading b does not matter."""
    without = judged(claims("e.x"), 0.1, 3.0)
    assert without.verdict == "depends"
    assert without.among([0]).verdict == "fails"
    assert without.among([1]).verdict == "holds"


def test_labels_that_look_like_formulas_are_safe_in_spreadsheets() -> None:
    row = Row({"=setting": "@SUM(A1)", "level": -3, "n": "-3"}, "+x", np.array([-1.0]))
    head, cells = Table("e", [row]).to_csv().splitlines()
    assert head.startswith("'=setting,level,n,quantity,")
    assert cells.startswith("'@SUM(A1),-3,-3,'+x,-1.0,")

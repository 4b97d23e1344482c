"""Judging with more and more seeds: what is asked for, what stays decided, and what a control says."""

from __future__ import annotations

import numpy as np
import pytest
from wifair.reproduce import Effort
from wifair.reproduce.claims import Claim, Claims, Clause, Judgement, Open, Reading, judge
from wifair.reproduce.intervals import Bounds
from wifair.reproduce.predicates import Comparison
from wifair.reproduce.session import _specific
from wifair.reproduce.table import Row, Table

NOISE = np.array([-0.2, 0.1, 0.3, -0.3, 0.1])
OPEN = Open("how", "how", "how", (), (Reading("a", "in one way", "a"), Reading("b", "in another way", "b")))


def claims(*rows: str) -> Claims:
    """A claim with a clause for each of these: above 1."""
    clauses = tuple(Clause(f"{one} above 1", one, {"above": 1}) for one in rows)
    return Claims((Claim("c", "e", "It is above 1.", "", clauses, None, "none"),), (OPEN,), {})


def judged(declared: Claims, a: float, b: float, *, noise: float = 1.0, other: float = 5.0) -> Judgement:
    """In reading `a` quantity x is about `a`, in reading `b` about `b`; quantity y is `other`, without noise."""
    rows = [Row({"how": how}, "x", mean + noise * NOISE, seeds=(1, 2, 3, 4, 5)) for how, mean in (("a", a), ("b", b))]
    rows += [Row({"how": how}, "y", other + 1e-3 * NOISE, seeds=(1, 2, 3, 4, 5)) for how in "ab"]
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
def test_what_lies_at_the_limit_gets_no_more_seeds(estimate: float, wanted: str, may: bool) -> None:
    one = Comparison("", Bounds(estimate, estimate - 1, estimate + 1), 1.0, np.inf, "undecided")
    assert one.may(wanted, 0.6) is may  # type: ignore[arg-type]


def test_one_seed_may_become_anything() -> None:
    one = Comparison("", Bounds(5.0, -np.inf, np.inf), 1.0, np.inf, "undecided")
    assert one.may("holds", 0.1)
    assert one.may("fails", 0.1)


def test_only_undecided_clauses_that_may_change_the_verdict_get_more_seeds() -> None:
    shrink = Effort.FULL.shrink(0)
    assert 0 < shrink < 1
    # Both readings may hold.
    assert judged(claims("e.x", "e.y"), 1.2, 1.25).worth_more(shrink) == {(0, 0), (1, 0)}
    # One holds; the other is at the limit, so that it will neither hold nor fail.
    assert judged(claims("e.x"), 3.0, 1.0).worth_more(shrink) == set()
    # One holds, the other may fail: it may depend on the reading.
    assert judged(claims("e.x"), 3.0, 0.8).worth_more(shrink) == {(1, 0)}
    # A clause fails in both, the other may hold: it may hold in part.
    assert judged(claims("e.x", "e.y"), 1.2, 1.2, other=0.5).worth_more(shrink) == {(0, 0), (1, 0)}


def test_what_was_decided_stays_so_and_what_was_not_asked_for_too() -> None:
    declared = claims("e.x")
    first = judged(declared, 3.0, 1.2)
    assert [one.result for one in first.readings] == ["holds", "undecided"]
    rows = [Row({"how": how}, "x", 0.1 + 0.01 * NOISE, seeds=(1, 2, 3, 4, 5)) for how in "ab"]
    now = {"e": Table("e", rows)}
    again = judge(declared, declared.claims[0], now, before=first, again={(1, 0)})
    assert [one.result for one in again.readings] == ["holds", "fails"]
    same = judge(declared, declared.claims[0], now, before=first)
    assert [one.result for one in same.readings] == ["holds", "undecided"]


def test_a_claim_is_about_its_mechanism_if_the_effect_is_smaller_without_for_sure() -> None:
    declared = claims("e.x")
    held = judged(declared, 3.0, 3.0)
    assert held.verdict == "holds"
    assert _specific(held, judged(declared, 2.0, 3.0)) is False  # holds without, too
    assert _specific(held, judged(declared, 0.1, 0.1)) is True  # fails without
    assert _specific(held, judged(declared, 1.0, 1.0)) is True  # at the limit, and far below what it was
    assert _specific(held, judged(declared, 2.0, 2.0, noise=9.0)) is None  # anything is possible
    assert _specific(judged(declared, 0.1, 0.1), held) is None  # it does not hold: nothing to explain

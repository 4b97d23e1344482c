"""No claim is empty: each holds with some rows, and an edit makes it fail.

The rows are made up, one for each case of the experiments, and adjusted until all clauses hold. Then one is edited.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from wifair import reproduce
from wifair.reproduce import Effort
from wifair.reproduce import _session as session
from wifair.reproduce._claims import MEANINGS, VERDICTS, Claim, Claims
from wifair.reproduce._predicates import check, expressions_in
from wifair.reproduce.table import Row, Table

if TYPE_CHECKING:
    from wifair.reproduce._predicates import Tested

SEEDS = (1, 2, 3, 4, 5, 6, 7, 8)
NOISE = 1e-4 * np.array([-1.0, 2.0, 0.5, -2.0, 1.5, -0.5, 1.0, -1.5])
FACTORS = (0.01, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 1.02, 1.05, 1.1, 1.25, 1.4, 2.0, 3.0, 10.0, 100.0)
VALUES = (0.0, 0.005, 0.1, 0.5, 0.97, 0.999, 1.0, 2.0, 5.0, 60.0, 200.0, 450.0)
EXTRA: Mapping[str, tuple[tuple[str, tuple[object, ...]], ...]] = {
    "air_share": (("station", ("fast1", "fast2", "slow")),),
    "of_model": (("station", ("fast1", "fast2", "slow")),),
    "station_mbps": (("station", ("fast1", "fast2", "slow")),),
    "median_ms": (("station", ("fast", "slow")),),
    "received_mb": (("flow", ("up1", "up2", "down1", "down2")),),
    "flow_kbps": (("flow", ("one", "two", "three", "four", "up", "to_middle", "to_far")),),
    "response_s": (("percentile", (25, 45, 95, 99, 100)),),
    "throughput_kBps": (("host", ("ares", "apollo")),),
    "outstanding_mean_kB": (("host", ("ares", "apollo")),),
    "outstanding_cv": (("host", ("ares", "apollo")),),
}
"""Labels that measuring adds to those of the case."""


@cache
def cases(key: str, experiment: str) -> tuple[dict[str, Any], ...]:
    found = session.load(key).experiment(experiment)
    rows = [dict(case.labels) for case in found.cases(Effort.FULL)]
    if found.compute is not None and not rows:
        rows = [{**labels, **item.labels} for labels, item in found.compute()]
    return tuple(rows)


def bound(claims: Claims, claim: Claim) -> tuple[dict[str, Any], dict[str, Any]]:
    """Labels and placeholders of the first reading."""
    labels, places = claims.bound(claims.readings(claim)[0])
    return dict(labels), dict(places)


def rows_for(key: str, claim: Claim, labels: dict[str, Any], places: dict[str, Any]) -> dict[str, Table]:
    """Rows of value 1 for everything that the clauses name."""
    tables: dict[str, Table] = {}
    for clause in claim.clauses:
        text, predicate = clause.filled(places)
        text += " ".join(["", *expressions_in(predicate)])
        for experiment, quantity in set(re.findall(r"(\w+)(?:\[[^\]]*\])?\.([A-Za-z_]\w*)", text)):
            if experiment not in {one.id for one in session.load(key).experiments}:
                continue
            table = tables.setdefault(experiment, Table(experiment))
            known = {(str(row.labels), row.quantity) for row in table.rows}
            for of_case in cases(key, experiment):
                if any(label in of_case and str(of_case[label]) != str(value) for label, value in labels.items()):
                    continue
                for more in extra(quantity, of_case):
                    row_labels = {**of_case, **more}
                    if (str(row_labels), quantity) not in known:
                        known.add((str(row_labels), quantity))
                        table.rows.append(
                            Row(row_labels, quantity, 1.0 + np.roll(NOISE, len(table.rows) % 8), seeds=SEEDS)
                        )
    paper = session.load(key)
    for table in tables.values():
        table.put_beside(paper.published, [])
        for row in table.rows:
            if np.isfinite(row.published):
                row.values = row.values * row.published
    return tables


def extra(quantity: str, labels: Mapping[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{}]
    for label, values in EXTRA.get(quantity, ()):
        if label == "host" and "place" in labels:
            continue
        found = [{**one, label: value} for one in found for value in values]
    if quantity == "received_mb":
        found = [{**one, "way": str(one["flow"]).rstrip("0123456789")} for one in found]
    return found


def outcome_of(
    claim: Claim,
    tables: Mapping[str, Table],
    labels: dict[str, Any],
    places: dict[str, Any],
    *,
    before: list[Tested] | None = None,
    moved: Row | None = None,
) -> list[Tested]:
    """Test the clauses; if only one row has changed, only those that use it."""
    results = []
    for index, clause in enumerate(claim.clauses):
        if before is not None and not any(row is moved for row in before[index].rows):
            results.append(before[index])
            continue
        text, predicate = clause.filled(places)
        results.append(check(predicate, text, tables, labels))
    return results


def misses(results: list[Tested]) -> float:
    """How much is wrong: the comparisons that do not hold, and how far off they are."""
    total = 0.0
    for one in results:
        if not one.comparisons:
            total += 1e6
        for comparison in one.comparisons:
            if comparison.result != "holds":
                estimate = comparison.bounds.estimate
                off = max(comparison.low - estimate, estimate - comparison.high, 0.0)
                scale = max((abs(x) for x in (comparison.low, comparison.high) if np.isfinite(x)), default=1.0) or 1.0
                total += 1.0 + (min(off / scale, 1e3) / 1e3 if np.isfinite(off) else 1.0)
    return total


def settle(claim: Claim, tables: dict[str, Table], labels: dict[str, Any], places: dict[str, Any]) -> bool:
    """Move rows, one at a time, until every clause holds."""
    draws = np.random.default_rng(1)
    results = outcome_of(claim, tables, labels, places)
    best = misses(results)
    for _ in range(1500):
        if best == 0:
            return True
        wrong = [row for one in results if one.result != "holds" for row in one.rows]
        if not wrong:
            return False
        row = wrong[draws.integers(len(wrong))]
        before = row.values
        if draws.random() < 0.6:
            row.values = before * FACTORS[draws.integers(len(FACTORS))]
        else:
            row.values = VALUES[draws.integers(len(VALUES))] + (row.values - row.values.mean()) * 0.01
        now = outcome_of(claim, tables, labels, places, before=results, moved=row)
        if misses(now) <= best:
            best, results = misses(now), now
        else:
            row.values = before
    return best == 0


SLOW = ("las",)
"""Papers whose claims are not edited in every run of the tests: these take minutes."""
CLAIMS = [
    pytest.param(key, claim, id=f"{key}-{claim.id}", marks=[pytest.mark.slow] if key in SLOW else [])
    for key in reproduce.KEYS
    for claim in session.load(key).claims
    if claim.clauses and claim.given is None and claim.experiment != "calc_mu"
]


@pytest.mark.parametrize(("key", "claim"), CLAIMS)
def test_an_edit_flips_each_claim(key: str, claim: Claim) -> None:
    """One row is edited, or, where a median is judged, all rows with one label: no single row moves a median."""
    labels, places = bound(session.load(key).declared, claim)
    tables = rows_for(key, claim, labels, places)
    assert settle(claim, tables, labels, places), outcome_of(claim, tables, labels, places)
    settled = outcome_of(claim, tables, labels, places)
    rows = list({id(row): row for one in settled for row in one.rows}.values())
    edits = [[row] for row in rows]
    if any("median" in clause.rows for clause in claim.clauses):
        edits += [[row for row in rows if row.labels.get("discipline") == name] for name in ("LAS", "FIFO")]
    for some in edits:
        before = [row.values for row in some]
        for factor, offset in ((0.001, 0.0), (1000.0, 0.0), (1.0, 1e6)):
            for row, values in zip(some, before):
                row.values = values * factor + offset
            moved = some[0] if len(some) == 1 else None
            now = outcome_of(claim, tables, labels, places, before=settled if moved else None, moved=moved)
            if any(one.result == "fails" for one in now):
                return
        for row, values in zip(some, before):
            row.values = values
    pytest.fail("no edit makes it fail")


def test_the_meaning_of_each_verdict_is_said_where_it_is_counted_and_on_the_page() -> None:
    assert set(MEANINGS) == set(VERDICTS)
    page = (Path(__file__).parents[2] / "docs" / "tutorials" / "reproduce-a-paper.md").read_text(encoding="utf-8")
    for verdict, meaning in MEANINGS.items():
        assert f"| `{verdict}` | {meaning} |" in page


@pytest.mark.parametrize(("key", "claim"), CLAIMS)
def test_a_claim_that_holds_where_nothing_differs_says_that_nothing_changes(key: str, claim: Claim) -> None:
    """Every index, throughput and ratio is one, in all cases: nothing is unfair, and no scheme has anything to repair.

    Among them were: fairness that falls, schemes that are as fair as each other, two clients that get more than one.
    """
    declared = session.load(key).declared
    labels, places = bound(declared, claim)
    tables = rows_for(key, claim, labels, places)
    for table in tables.values():
        for row in table.rows:
            row.values = 1.0 + 0.01 * NOISE
    results = outcome_of(claim, tables, labels, places)
    compares = any(" / " in clause.rows or "same_as" in clause.predicate for clause in claim.clauses)
    if compares and all(one.result == "holds" for one in results):
        assert claim.no_flip or claim.no_control, claim.says

"""Predicates in words, and the values that are possible."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from wifair.reproduce._expressions import is_difference, is_ratio, is_share, selections
from wifair.reproduce._intervals import Bounds
from wifair.reproduce._predicates import RegionComparison, kind_of, needs_effect, region_of_cure
from wifair.statistics import possible_range


def criterion(predicate: Mapping[str, Any], rows: str, unit: str = "") -> str:
    """Describe a predicate on an expression in words, with its smallest effect."""
    text = _tested(predicate, rows, unit)
    if "disease" in predicate:
        low, high = region_of_cure(predicate)
        fair = (
            f"{low:g} to {high:g}"
            if low > -1e9 and high < 1e9
            else f"above {low:g}"
            if low > -1e9
            else f"below {high:g}"
        )
        text += f"; and in at least one of these cells the untreated value is not {fair}"
    return text


def _tested(predicate: Mapping[str, Any], rows: str, unit: str) -> str:  # noqa: PLR0911
    kind = kind_of(predicate)
    what = predicate[kind]
    tail = f" {unit}" if unit else ""
    least = f"by {_percent(predicate['by'])} at least" if "by" in predicate else ""
    if kind in ("above", "below"):
        if not needs_effect(predicate, rows):
            return f"{kind} {what}{tail}"
        size = least if is_ratio(rows) else f"by {predicate['by']}{tail} at least"
        return f"{'greater' if kind == 'above' else 'smaller'} {size if predicate['by'] else ''}".strip()
    if kind == "within":
        if isinstance(what, Mapping):
            return f"within {_percent(what['of_published'])} of the published value"
        return f"from {what[0]} to {what[1]}{tail}" if what[0] != what[1] else f"{what[0]}{tail}"
    if kind == "same_as":
        size = f"{predicate['margin']}{tail}" if predicate.get("absolute") else _percent(predicate["margin"])
        return f"all within {size} of each other" if what == "each other" else f"within {size} of each other"
    if kind in ("rises", "falls"):
        if "slack" not in predicate:
            return f"{kind} with {what}, at each step {least}"
        return f"{kind} with {what} from first to last {least}, and no step goes back by {_percent(predicate['slack'])}"
    if kind == "best_at":
        best = what if isinstance(what, list) else [what]
        return f"greatest at {' and '.join(map(str, best))}, {least}"
    if kind == "crosses":
        return f"below {predicate.get('level', 1)} up to {what[0]:g}, above it from {what[1]:g} on, {least}"
    return f"{' above '.join(map(str, what))}, {least}"


def _percent(part: Any) -> str:
    return f"{100 * float(part):g} %"


def possible(comparison: RegionComparison, rows: str) -> Bounds:
    """Cut an interval off at values that the tested expression cannot have.

    The cut interval covers the true value as often as the whole one, because the true value is possible.
    """
    text = rows.replace("{", "").replace("}", "")
    low, high = -math.inf, math.inf
    some = {possible_range(one.quantity) for one in selections(text)}
    if is_share(text):
        low, high = 0.0, 1.0
    elif " / " in comparison.at or is_ratio(text):
        low = 0.0
    elif " - " in comparison.at or is_difference(text):
        if some == {(0.0, 1.0)}:
            low, high = -1.0, 1.0
    elif len(some) == 1 and "*" not in text and "+" not in text:
        ((low, high),) = some
    estimate, least, most = comparison.bounds
    return Bounds(estimate, max(least, min(low, estimate)), min(most, max(high, estimate)))

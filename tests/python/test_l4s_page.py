"""docs/l4s-over-wifi.md: its numbers are those of the table, and its sharpest sentences hold with their controls."""

from __future__ import annotations

import csv
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
import wifair

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "l4s-over-wifi.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def sweep() -> ModuleType:
    spec = importlib.util.spec_from_file_location("draw_l4s", DOCS / "draw_l4s.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["draw_l4s"] = module
    spec.loader.exec_module(module)
    return module


def rounded(row: dict[str, str], quantity: str) -> set[str]:
    """A mean and its interval as the page may give them."""
    mean, half = float(row[quantity]), float(row[quantity + "_ci"])
    return {f"{mean:.{digits}f} ± {max(half, 10.0**-digits):.{digits}f}" for digits in (0, 1, 2)}


def test_numbers_are_those_of_the_table(sweep: ModuleType) -> None:
    with (DOCS / "l4s-over-wifi.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len({tuple(list(row.values())[:9]) for row in rows}) == sum(len(point.flows) for point in sweep.points())
    known = set().union(*(rounded(row, quantity) for row in rows for quantity in ("goodput_mbps", "owd_p99_ms")))
    told = re.findall(r"\d+(?:\.\d+)? ± \d+(?:\.\d+)?", PAGE)
    assert len(told) > 40
    assert [one for one in told if one not in known] == []


def share(sweep: ModuleType, **settings: object) -> float:
    """Prague's share beside CUBIC."""
    point = sweep.Point("together", ("prague", "cubic"), **settings)
    flows = wifair.run(wifair.Scenario.from_text(point.text), seeds=[1]).flows
    own = float(flows.filter(name="prague")["goodput_bps"].sum())
    return own / float(flows["goodput_bps"].sum())


def test_prague_starves_beside_cubic_only_where_aggregates_outlast_the_threshold(sweep: ModuleType) -> None:
    assert share(sweep, threshold_ms=1.0) < 0.02
    assert share(sweep, threshold_ms=0.0) > 0.4
    assert share(sweep, threshold_ms=20.0) > 0.4
    assert share(sweep, threshold_ms=1.0, aggregates=False) > 0.4
    assert share(sweep, threshold_ms=1.0, ppdu_ms=0.5) > 0.35

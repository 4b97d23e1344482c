"""The reproductions against ns-2 at the same settings."""

from __future__ import annotations

import pytest
from wifair.reproduce import Table, reproduce


def tables(*selection: str, full: bool = False) -> dict[str, Table]:
    (paper,) = reproduce(selection, full=full).papers
    return paper.tables


def test_all_cells_of_table_1_are_within_3_percent_of_ns2() -> None:
    rows = tables("jung2016/table1")["table1"].rows
    assert len(rows) == 16
    for row in rows:
        assert row.published > 0
        assert row.estimate.mean == pytest.approx(row.ns2_mean, rel=0.03), row


def test_default_unfairness_is_that_of_ns2() -> None:
    known = 0
    for name, table in tables("lee2007/fig2a", "lee2007/fig2b", "lee2007/fig3", full=True).items():
        for row in table.where("goodput_mbps").rows:
            for value in row.ns2:
                assert row.estimate.mean == pytest.approx(value, rel=0.05), (name, row)
                known += 1
        # Downloads starve beside as many uploads, and uploads starve each other (lee2007, sections 2.1 and 2.2).
        if name == "fig2b":
            assert table("up_down_ratio") > 50
        if name == "fig3":
            index = table.row("jain_index", starts="within 1 s")
            assert any(index.values.min() <= value <= index.values.max() for value in index.ns2)
    assert known >= 10

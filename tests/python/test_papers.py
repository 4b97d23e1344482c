"""The reproductions compared with ns-2 at the same settings."""

from __future__ import annotations

from pathlib import Path

import pytest
import wifair
from wifair.papers import oda2012
from wifair.reproduce import Table, reproduce
from wifair.reproduce.table import Known


def tables(*selection: str, full: bool = False) -> dict[str, Table]:
    (paper,) = reproduce(selection, full=full).papers
    return paper.tables


def test_all_cells_of_table_1_are_within_3_percent_of_ns2() -> None:
    rows = tables("jung2016/table1")["table1"].where(rts="TCP only").rows
    assert len(rows) == 16
    for row in rows:
        assert row.published > 0
        assert row.estimate.mean == pytest.approx(row.ns2_mean, rel=0.03), row


def test_default_unfairness_equals_that_of_ns2() -> None:
    known = 0
    for name, table in tables("lee2007/fig2a", "lee2007/fig2b", "lee2007/fig3", full=True).items():
        for row in table.where("goodput_mbps", setting="as printed").rows:
            for value in row.ns2:
                assert row.estimate.mean == pytest.approx(value, rel=0.05), (name, row)
                known += 1
        # Downloads starve beside the same number of uploads, and uploads starve each other (lee2007, sections
        # 2.1 and 2.2).
        if name == "fig2b":
            assert table("up_down_ratio", setting="as printed") > 50
        if name == "fig3":
            index = table.row("jain_index", starts="within 1 s", setting="as printed")
            assert any(index.values.min() <= value <= index.values.max() for value in index.ns2)
    assert known >= 10


def test_downloads_of_las_share_as_in_ns2() -> None:
    """Three downloads from 2, 50 and 150 ms away: ns-2's aggregates, and its indices where nothing is dropped.

    Where packets are dropped the index depends on the seed, and ns-2 has one.
    """
    table = tables("las/fig6_9", full=True)["fig6_9"]
    known = 0
    for quantity, tolerance in (("goodput_kbps", 0.05), ("jain_index", 0.02)):
        for row in table.where(quantity, discipline="FIFO").rows:
            if quantity == "jain_index" and table("drops", **row.labels) > 0:
                continue
            for value in row.ns2:
                assert row.estimate.mean == pytest.approx(value, rel=tolerance), row
                known += 1
    assert known >= 50


def test_uploads_of_oda2012_are_as_unfair_as_in_ns2() -> None:
    """20 NewReno uploads over 802.11g, 110 ms away, all buffers of 50 packets: ns-2's figures are within the range of
    wifair's seeds.
    """
    scenario = wifair.Scenario.from_file(Path(oda2012.__file__).parent / "uploads.toml")
    cells = wifair.run(scenario.with_({"tcp.cc": "newreno", "duration": "500 s"}), seeds=range(1, 21)).cells
    indices = [known.value for known in oda2012.PAPER.ns2 if is_newreno(known, "jain_index")]
    totals = [known.value for known in oda2012.PAPER.ns2 if is_newreno(known, "goodput_mbps")]
    assert len(indices) == len(totals) == 2
    assert cells["jain_index"].min() <= min(indices) <= max(indices) <= cells["jain_index"].max()
    assert totals == pytest.approx([cells["goodput_bps"].mean() / 1e6] * 2, rel=0.05)


def is_newreno(known: Known, quantity: str) -> bool:
    at = {"tcp": "newreno", "setting": "AP 50, 400 s", "n": "20"}
    return (known.experiment, known.quantity, known.labels) == ("fig2", quantity, at)

"""The reproductions against ns-2 at the same settings."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

PAPERS = Path(__file__).parents[2] / "papers"


def load(key: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"reproduce_{key}", PAPERS / key / "reproduce.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_all_cells_of_table_1_are_within_3_percent_of_ns2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jung = load("jung2016")
    cells = jung.run()
    assert len(cells) == 16
    for cell in cells:
        assert cell.measured == pytest.approx(cell.ns2, rel=0.03), cell
    jung.show(cells)
    assert capsys.readouterr().out.count("\n") == 19
    pytest.importorskip("matplotlib")
    jung.draw(cells, tmp_path / "table1.svg")
    again = (tmp_path / "table1.svg").read_bytes()
    jung.draw(cells, tmp_path / "table1.svg")
    assert (tmp_path / "table1.svg").read_bytes() == again


def test_default_unfairness_is_that_of_ns2(capsys: pytest.CaptureFixture[str]) -> None:
    lee = load("lee2007")
    results = lee.run()
    for row in lee.shared.expected(PAPERS / "lee2007"):
        goodput = results[row["experiment"]].summary["goodput_bps"].mean / 1e6
        assert goodput == pytest.approx(float(row["goodput_mbps"]), rel=0.05), row
    # Downloads starve beside as many uploads, and uploads starve each other (lee2007, sections 2.1 and 2.2).
    assert results["fig2b"].cells["up_down_ratio"].min() > 100
    assert results["fig3"].summary["starved_fraction"].mean > 1 / 14
    lee.show(results)
    assert "fig3: 14 up, 0 down" in capsys.readouterr().out

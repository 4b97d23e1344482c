"""The example in which every congestion control competes with every other."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "fairness_matrix.py"


def test_pairs_share_and_are_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "matrix.png"
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), "--algorithms", "reno", "vegas", "--seeds", "1", "--out", str(out)])
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    assert out.stat().st_size > 5_000
    lines = capsys.readouterr().out.splitlines()
    # Vegas yields to Reno (J. Mo et al., "Analysis and Comparison of TCP Reno and Vegas", 1999).
    assert lines[1].split()[0] == "reno"
    assert "vegas" in lines[2]


def test_every_algorithm_of_the_example_exists() -> None:
    listed = runpy.run_path(str(EXAMPLE))["ALGORITHMS"]
    assert len(set(listed)) == len(listed) >= 25

"""The analytical model of hoiland2017, by hand, and its figures."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from wifair.cli import main
from wifair.papers.hoiland2017.model import Sender, rates_mbps


def test_the_model_by_hand() -> None:
    """Two packets of 1500 B, each in 1544 B, at 7.2 Mb/s: 32 us + 8 * 2 * 1544 B / 7.2 = 3463.1 us.

    Between aggregates 34 + 16 + 16 + 8 * 58 / 7.2 + 68 = 198.4 us, so 24,000 bits take 3661.6 us: 6.555 Mb/s.
    """
    slow = Sender(2, 1500, 7.2)
    assert slow.data_us == pytest.approx(3463.11, abs=0.01)
    assert slow.alone_mbps == pytest.approx(6.5545, abs=0.001)
    assert rates_mbps([slow] * 3, is_fair=True) == pytest.approx([6.5545 / 3] * 3, abs=0.001)


def test_without_fairness_shares_follow_aggregates() -> None:
    """One packet at 144.4 Mb/s takes 32 + 85.5 = 117.5 us, two at 7.2 Mb/s 3463.1 us: 3.3 and 96.7 % of the air."""
    fast, slow = Sender(1, 1500, 144.4), Sender(2, 1500, 7.2)
    rates = rates_mbps([fast, slow], is_fair=False)
    assert rates[0] / fast.alone_mbps == pytest.approx(0.0328, abs=0.0001)
    assert rates[1] / slow.alone_mbps == pytest.approx(0.9672, abs=0.0001)


def test_a_figure_is_drawn_where_other_quantities_have_other_stations(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["reproduce", "hoiland2017/tcp", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert {path.name for path in (tmp_path / "out" / "hoiland2017").glob("*.svg")} == {"tcp.svg"}

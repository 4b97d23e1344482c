"""Student's t against published tables."""

from __future__ import annotations

import math

import numpy as np
import pytest
from wifair._output.report import figure_text
from wifair.columns import Columns
from wifair.statistics import Interval, limits, mean_interval, student_t_p_value, student_t_quantile
from wifair.sweeps.query import means

# Table of percentage points of the t distribution (E. S. Pearson and H. O. Hartley, Biometrika Tables, table 12).
TABLE = {
    1: (3.078, 6.314, 12.706, 63.657),
    2: (1.886, 2.920, 4.303, 9.925),
    3: (1.638, 2.353, 3.182, 5.841),
    4: (1.533, 2.132, 2.776, 4.604),
    5: (1.476, 2.015, 2.571, 4.032),
    9: (1.383, 1.833, 2.262, 3.250),
    10: (1.372, 1.812, 2.228, 3.169),
    19: (1.328, 1.729, 2.093, 2.861),
    30: (1.310, 1.697, 2.042, 2.750),
    60: (1.296, 1.671, 2.000, 2.660),
    120: (1.289, 1.658, 1.980, 2.617),
}


@pytest.mark.parametrize("degrees", TABLE)
def test_quantiles_of_the_published_table(degrees: int) -> None:
    for probability, expected in zip((0.9, 0.95, 0.975, 0.995), TABLE[degrees]):
        assert student_t_quantile(probability, degrees) == pytest.approx(expected, abs=5.01e-4)
        assert student_t_quantile(1 - probability, degrees) == pytest.approx(-expected, abs=5.01e-4)
        assert student_t_p_value(-expected, degrees) == pytest.approx(2 * (1 - probability), rel=2e-3)


def test_closed_forms() -> None:
    # One degree: the Cauchy distribution. Two degrees: (2p - 1) / sqrt(2 p (1 - p)).
    assert student_t_quantile(0.975, 1) == pytest.approx(math.tan(math.pi * 0.475), rel=1e-9)
    assert student_t_quantile(0.975, 2) == pytest.approx(0.95 / math.sqrt(2 * 0.975 * 0.025), rel=1e-9)
    # Very many degrees: the normal distribution.
    assert student_t_quantile(0.975, 1e7) == pytest.approx(1.959964, abs=1e-5)
    assert student_t_quantile(0.5, 3) == 0
    assert student_t_p_value(1.0, 1) == pytest.approx(0.5)
    assert student_t_p_value(0.0, 3) == 1.0
    with pytest.raises(ValueError, match="degrees of freedom are 0"):
        student_t_p_value(1.0, 0)
    with pytest.raises(ValueError, match="not a number"):
        student_t_p_value(float("nan"), 2)


def test_interval_of_worked_values() -> None:
    # Mean 5, variance 4 * (9 + 1 + 1 + 9) / (4 * 3): deviation sqrt(20 / 3); t(0.975, 3) = 3.182446.
    interval = mean_interval([2, 4, 6, 8])
    assert interval.mean == 5
    assert interval.half_width == pytest.approx(3.182446 * math.sqrt(20 / 3) / 2, rel=1e-6)


def test_interval_of_few_values() -> None:
    assert mean_interval([3.0])[0] == 3
    assert math.isnan(mean_interval([3.0]).half_width)
    assert math.isnan(mean_interval([]).mean)
    assert math.isnan(mean_interval([1.0, math.nan, 2.0]).half_width)
    assert mean_interval([1.0, math.nan, 1.0, 1.0]) == (1, 0)


def test_intervals_stay_within_possible_values() -> None:
    assert limits("jain_index", Interval(0.98, 0.2)) == pytest.approx((0.78, 1))
    assert limits("starved_fraction", Interval(0.05, 0.1)) == pytest.approx((0, 0.15))
    assert limits("goodput_bps: up1", Interval(1e6, 3e6)) == (0, 4e6)
    assert limits("signal_mean_dbm", Interval(-60, 3)) == (-63, -57)
    assert all(map(math.isnan, limits("jain_index", Interval(0.9, math.nan))))
    assert figure_text("jain_index", Interval(0.98, 0.2)) == "0.98 (0.78 .. 1.00)"
    assert figure_text("goodput_bps", Interval(98, 167)) == "98 (0 .. 265) b/s"
    assert figure_text("jain_index", Interval(0.99999, 0.00002)) == "1.0000 \u00b1 0.0000"  # nothing to see of it


def test_flows_of_a_run_count_as_one_value() -> None:
    # Two flows in each of three seeds: the means of the seeds are 2, 3 and 4, t(0.975, 2) = 4.3027.
    columns = Columns({"seed": np.array([1, 1, 2, 2, 3, 3]), "goodput_bps": np.array([0.0, 4, 1, 5, 2, 6])})
    table = means(columns, [], ["goodput_bps"])
    assert table["seeds"].tolist() == [3]
    assert table["goodput_bps"].tolist() == [3]
    assert table["goodput_bps_ci95"][0] == pytest.approx(4.3027 / math.sqrt(3), rel=1e-4)
    few = means(Columns({"seed": np.array([1, 1, 2, 2]), "x": np.array([0.0, 4, 1, 5])}), [], ["x"])
    assert np.isnan(few["x_ci95"]).all()


@pytest.mark.parametrize("arguments", [(0, 3), (1, 3), (0.9, 0)])
def test_bad_arguments(arguments: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match=r"expected a positive number|not between"):
        student_t_quantile(*arguments)

"""Fairness measures against values worked out by hand."""

from __future__ import annotations

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from wifair import metrics

goodputs = st.lists(st.just(0.0) | st.floats(1e-3, 1e10), min_size=1, max_size=20)


def test_jain_of_worked_examples() -> None:
    assert float(metrics.jain_index([1, 1, 1])) == 1
    assert float(metrics.jain_index([1, 0, 0, 0])) == 0.25
    # (1 + 2 + 3)^2 / (3 * (1 + 4 + 9)) = 36 / 42
    assert float(metrics.jain_index([1, 2, 3])) == pytest.approx(6 / 7)
    assert np.isnan(metrics.jain_index([0, 0]))


def test_jain_keeps_other_axes() -> None:
    runs = [[1, 1], [1, 0], [0, 0]]
    np.testing.assert_array_equal(metrics.jain_index(runs), [1, 0.5, np.nan])
    np.testing.assert_array_equal(metrics.jain_index(np.transpose(runs), axis=0), [1, 0.5, np.nan])


@given(goodputs)
def test_jain_is_between_1_over_n_and_1(x: list[float]) -> None:
    j = float(metrics.jain_index(x))
    if max(x) == 0:
        assert math.isnan(j)
    else:
        assert 1 / len(x) * (1 - 1e-12) <= j <= 1 + 1e-12


@given(goodputs, st.floats(1e-3, 1e3))
def test_jain_ignores_the_unit(x: list[float], factor: float) -> None:
    a, b = float(metrics.jain_index(x)), float(metrics.jain_index([factor * v for v in x]))
    assert a == pytest.approx(b, rel=1e-9, nan_ok=True)


@pytest.mark.parametrize(("bad", "message"), [([], "no flow"), ([1, -2], "goodput 1 is -2"), ([math.nan], "nan")])
def test_jain_names_the_bad_value(bad: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        metrics.jain_index(bad)


def test_jain_over_time_shows_alternation_that_the_total_hides() -> None:
    turns = [[10, 0], [0, 10]] * 3
    assert metrics.jain_over_time(turns).tolist() == [0.5] * 6
    assert metrics.jain_over_time(turns, window=2).tolist() == [1, 1, 1]
    assert len(metrics.jain_over_time(turns, window=4)) == 1
    with pytest.raises(ValueError, match="window of 7 bins: expected 1 to 6"):
        metrics.jain_over_time(turns, window=7)


def test_starved_fraction() -> None:
    # The mean is 2: below 0.2 starves.
    assert float(metrics.starved_fraction([5.6, 2.1, 0.2, 0.1])) == 0.25
    assert float(metrics.starved_fraction([0, 0])) == 1


def test_directions() -> None:
    assert metrics.up_down_ratio([4, 1, 1], [True, False, False]) == 2
    assert metrics.uplink_share([4, 1, 1], [True, False, False]) == pytest.approx(2 / 3)
    assert metrics.up_down_ratio([4, 0], [True, False]) == math.inf
    assert math.isnan(metrics.up_down_ratio([4, 1], [True, True]))
    assert math.isnan(metrics.uplink_share([0, 0], [True, False]))


def test_fair_share_of_the_paper() -> None:
    # jung2016: 4.96 and 6.88 Mb/s are 620 and 860 KB/s; a quarter of each is 155 and 215 KB/s.
    assert metrics.fair_share(4.96e6, 4) / 8e3 == pytest.approx(155)
    assert metrics.fair_share(6.88e6, 4) / 8e3 == pytest.approx(215)


def test_instantaneous_fairness_of_worked_sessions() -> None:
    # 10 kB at 155 KB/s ideally take 64.516 ms. Sessions of 64.516, 129.03 and 258.06 ms: ratios 1, 1/2, 1/4.
    ideal = 10e3 / 155e3
    r = metrics.instantaneous_fairness(
        10e3, [0, 10, 20], [ideal, 10 + 2 * ideal, 20 + 4 * ideal], fair_share_bps=metrics.fair_share(4.96e6, 4)
    )
    np.testing.assert_allclose(r.ratios, [1, 0.5, 0.25])
    assert r.index == pytest.approx(7 / 12)
    assert (r.finished, r.unfinished, r.instant) == (3, 0, 0)


def test_both_readings_of_finish_and_sessions_left_out() -> None:
    start, share = [0.0, 1.0, 2.0], 8e5  # 10 kB ideally take 0.1 s
    sent = metrics.instantaneous_fairness(10e3, start, [0.0, 1.1, math.nan], fair_share_bps=share)
    acked = metrics.instantaneous_fairness(10e3, start, [0.2, 1.4, math.inf], fair_share_bps=share)
    # The first session fitted into the window, so it was handed down in no time.
    assert sent.index == pytest.approx(1)
    assert (sent.finished, sent.instant, sent.unfinished) == (1, 1, 1)
    assert acked.index == pytest.approx(0.375)  # 0.1 / 0.2 and 0.1 / 0.4
    assert (acked.finished, acked.instant, acked.unfinished) == (2, 0, 1)
    assert acked.index_with_unfinished == pytest.approx(0.25)


def test_no_session_finished() -> None:
    r = metrics.instantaneous_fairness([1], [0], [math.nan], fair_share_bps=8)
    assert math.isnan(r.index)
    assert r.index_with_unfinished == 0


def test_instantaneous_fairness_names_the_bad_session() -> None:
    with pytest.raises(ValueError, match=r"session 1 finishes at 1\.0 s, before it starts at 2\.0 s"):
        metrics.instantaneous_fairness([1, 1], [0, 2], [1, 1], fair_share_bps=8)
    with pytest.raises(ValueError, match=r"length of session 0 is 0\.0"):
        metrics.instantaneous_fairness([0], [0], [1], fair_share_bps=8)


def test_completion_bound_of_the_paper() -> None:
    # jung2016: an index of 0.6 means 1.66 times the ideal time.
    ideal = float(metrics.completion_bound(1.0, 10e3, fair_share_bps=8e5))
    assert ideal == pytest.approx(0.1)
    assert float(metrics.completion_bound(0.6, 10e3, fair_share_bps=8e5)) / ideal == pytest.approx(1.6667, abs=1e-4)


def test_conditional_response_time() -> None:
    sizes = [5, 1, 4, 2, 3]
    times = [50, 10, math.nan, 20, 30]
    r = metrics.conditional_response_time(sizes, times, bins=2)
    # Sorted by size: 1, 2, 3 | 4, 5.
    assert r.percentile.tolist() == [60, 100]
    assert r.size_bytes.tolist() == [2, 4.5]
    assert r.mean_s.tolist() == [20, 50]
    assert r.finished.tolist() == [3, 1]
    assert r.unfinished.tolist() == [0, 1]
    assert len(metrics.conditional_response_time(sizes, times).mean_s) == 5


def test_packets_over_hops() -> None:
    assert metrics.packets_over_hops([10, 20, 30], [1, 2, 3]) == 140


def test_relative_fairness_bound() -> None:
    # Flow 0 leads by 0, 10, -5, -1: the lead moves by 15 within one interval.
    service = [[0, 0], [10, 0], [10, 15], [14, 15]]
    assert metrics.relative_fairness_bound(service) == 15
    # With weights 2 and 1 the leads are 0, 5, -10, -8.
    assert metrics.relative_fairness_bound(service, weights=[2, 1]) == 15
    # Flow 1 has nothing to send at first: only the last interval counts, from -5 to -1.
    both = [True, True]
    assert metrics.relative_fairness_bound(service, backlogged=[[True, False], [True, False], both]) == 4
    never = [[True, False], [False, True], [False, True]]
    assert math.isnan(metrics.relative_fairness_bound(service, backlogged=never))
    with pytest.raises(ValueError, match="service of flow 1 shrinks after time 0"):
        metrics.relative_fairness_bound([[0, 5], [1, 4]])


def test_gps() -> None:
    # Flow 0 takes 1 of its share of 2; what it leaves is shared 2 to 1.
    np.testing.assert_allclose(metrics.gps_rates([1, math.inf, math.inf], 10, weights=[1, 2, 1]), [1, 6, 3])
    np.testing.assert_allclose(metrics.gps_rates([1, 2], 10), [1, 2])
    np.testing.assert_allclose(metrics.gps_rates([0, math.inf], 10), [0, 10])
    np.testing.assert_allclose(metrics.ratio_to_gps([6, 2], 8), [1.5, 0.5])
    assert np.isnan(metrics.ratio_to_gps([0, 2], 8, demand_bps=[0, math.inf])[0])


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=10), st.floats(1, 1e9))
def test_gps_serves_what_it_can(demand: list[float], capacity: float) -> None:
    rates = metrics.gps_rates(demand, capacity)
    assert rates.sum() == pytest.approx(min(capacity, sum(demand)), rel=1e-9, abs=1e-6)
    assert (rates <= np.array(demand) * (1 + 1e-12) + 1e-12).all()


def test_variational_distance() -> None:
    assert float(metrics.variational_distance([1, 1])) == 0
    assert float(metrics.variational_distance([1, 0, 0, 0])) == 0.75
    # Shares 1/2, 1/3, 1/6 against 1/3: (1/6 + 0 + 1/6) / 2
    assert float(metrics.variational_distance([3, 2, 1])) == pytest.approx(1 / 6)


def test_shi_sethu_index() -> None:
    assert float(metrics.shi_sethu_index([1, 1, 1])) == 0
    assert float(metrics.shi_sethu_index([0, 0, 0, 1])) == 0.75
    # Differences of 1, 2, 4 over all ordered pairs: 2 * (1 + 3 + 2) / 9; over twice the mean 7/3: 2/7.
    assert float(metrics.shi_sethu_index([4, 1, 2])) == pytest.approx(2 / 7)
    assert float(metrics.shi_sethu_index([2, 1], weights=[2, 1])) == 0
    assert metrics.shi_sethu_index([[1, 3], [1, 1]], axis=0).tolist() == [0, 0.25]

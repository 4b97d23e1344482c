"""Mean and confidence interval over seeds, without scipy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

__all__ = [
    "FEWEST",
    "NO_INTERVAL",
    "Interval",
    "beta_quantile",
    "limits",
    "mean_interval",
    "paired_difference",
    "possible_range",
    "student_t_p_value",
    "student_t_quantile",
    "welch_difference",
]

FEWEST = 3
"""Repetitions that a confidence interval needs: with two, Student's factor is 12.7 and the width says nothing."""
NO_INTERVAL = f"no 95 % intervals: they need {FEWEST} repetitions or more, as with --seeds 1..10"
"""Why there is none."""


class Interval(NamedTuple):
    """A mean and the half width of its confidence interval; both in the unit of the values."""

    mean: float
    half_width: float


def possible_range(figure: str) -> tuple[float, float]:
    """Least and greatest possible value of a figure, by its name.

    Parameters
    ----------
    figure : str
        A name as in the tables, such as ``jain_index``; anything after a colon is ignored.

    Returns
    -------
    low, high : float
        0 and 1 for indices of Jain, fractions, shares and probabilities; otherwise 0 and infinity. Levels in dBm, and
        the R-factor have no least value.
    """
    name = figure.partition(":")[0]
    if name.endswith(("_dbm", "_db")):
        return -math.inf, math.inf
    if name.endswith("r_factor"):
        return -math.inf, 100.0
    if name.endswith("mos"):
        return 1.0, 5.0
    one = name.endswith(("_fraction", "_share", "_probability", "jain_index")) or name.startswith("jain_")
    return 0.0, 1.0 if one or (name.startswith("air_") and not name.endswith("_s")) else math.inf


def limits(figure: str, interval: Interval) -> tuple[float, float]:
    """Give the ends of an interval, cut off at impossible values of the figure.

    The cut interval covers the true mean as often as the whole one, because the true mean is a possible value.

    Parameters
    ----------
    figure : str
        What it is an interval of; see `possible_range`.
    interval : Interval
        Mean and half width.

    Returns
    -------
    low, high : float
        Both NaN if there is no interval.

    Examples
    --------
    >>> low, high = limits("jain_index", Interval(0.75, 0.5))
    >>> low, high
    (0.25, 1.0)
    """
    low, high = possible_range(figure)
    mean, half = interval
    if math.isnan(half):
        return math.nan, math.nan
    return max(mean - half, min(low, mean)), min(mean + half, max(high, mean))


def mean_interval(values: Iterable[float], *, confidence: float = 0.95) -> Interval:
    """Mean and Student-t confidence interval of independent values, one for each seed.

    Parameters
    ----------
    values : iterable of float
        One value for each seed; NaN and None are left out.
    confidence : float, default 0.95
        Probability that the interval covers the true mean, if the values are normal.

    Returns
    -------
    Interval
        Mean and half width. The mean of no value is NaN; the half width of fewer than three is NaN.

    Raises
    ------
    ValueError
        If `confidence` is not between 0 and 1.

    References
    ----------
    Student (W. S. Gosset), "The probable error of a mean", Biometrika 6(1), 1908.

    Examples
    --------
    >>> round(mean_interval([1.0, 2.0, 3.0]).half_width, 4)  # 4.3027 / sqrt(3)
    2.4841
    """
    x = [float(v) for v in values if v is not None and not math.isnan(v)]
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence} is not between 0 and 1")
    if not x:
        return Interval(math.nan, math.nan)
    mean = math.fsum(x) / len(x)
    if math.isinf(mean) or len(x) < FEWEST:
        return Interval(mean, math.nan)
    variance = math.fsum((v - mean) ** 2 for v in x) / (len(x) - 1)
    t = student_t_quantile((1 + confidence) / 2, len(x) - 1)
    return Interval(mean, t * math.sqrt(variance / len(x)))


def paired_difference(first: Sequence[float], second: Sequence[float], *, confidence: float = 0.95) -> Interval:
    """Mean of ``second - first`` and its Student-t confidence interval, pair by pair.

    Pairs that share their random numbers, as runs with the same seed do, differ less by chance than independent runs.

    Parameters
    ----------
    first, second : sequence of float
        Sequences of equal length, paired by position; pairs with NaN are left out.
    confidence : float, default 0.95
        Probability that the interval covers the true mean, if the differences are normal.

    Returns
    -------
    Interval
        Mean and half width. The mean of no pair is NaN; the half width of fewer than three is NaN.

    Raises
    ------
    ValueError
        If the lengths differ, or `confidence` is not between 0 and 1.

    References
    ----------
    A. M. Law, "Simulation Modeling and Analysis", 5th edition, 2015, section 10.2.1.

    Examples
    --------
    >>> paired_difference([10, 20, 30], [11, 22, 33]).mean
    2.0
    """
    if len(first) != len(second):
        raise ValueError(f"{len(first)} values against {len(second)}: expected pairs")
    return mean_interval((b - a for a, b in zip(first, second)), confidence=confidence)


def welch_difference(first: Iterable[float], second: Iterable[float], *, confidence: float = 0.95) -> Interval:
    """Difference of the means, ``second - first``, of independent values, and its confidence interval.

    The variances may differ, and so may the numbers of values.

    Parameters
    ----------
    first, second : iterable of float
        Values; NaN is left out.
    confidence : float, default 0.95
        Probability that the interval covers the true difference, if the values are normal.

    Returns
    -------
    Interval
        Difference and half width; the half width is NaN if one of them has fewer than three values.

    Raises
    ------
    ValueError
        If `confidence` is not between 0 and 1.

    References
    ----------
    B. L. Welch, "The generalization of 'Student's' problem when several different population variances are
    involved", Biometrika 34(1-2), 1947.

    Examples
    --------
    >>> round(welch_difference([1, 2, 3], [2, 3, 4]).half_width, 4)  # 2.7764 sqrt(2 / 3): four degrees of freedom
    2.267
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence} is not between 0 and 1")
    sides = [[float(v) for v in side if not math.isnan(v)] for side in (first, second)]
    means = [math.fsum(side) / len(side) if side else math.nan for side in sides]
    difference = means[1] - means[0]
    if min(map(len, sides)) < FEWEST or not math.isfinite(difference):
        return Interval(difference, math.nan)
    # Variance of each mean, and the degrees of freedom that Welch and Satterthwaite give their sum.
    errors = [
        math.fsum((v - mean) ** 2 for v in side) / (len(side) - 1) / len(side) for side, mean in zip(sides, means)
    ]
    total = math.fsum(errors)
    if total == 0:
        return Interval(difference, 0.0)
    degrees = total**2 / math.fsum(error**2 / (len(side) - 1) for error, side in zip(errors, sides))
    return Interval(difference, student_t_quantile((1 + confidence) / 2, degrees) * math.sqrt(total))


def student_t_quantile(probability: float, degrees: float) -> float:
    """Value that a Student-t variable exceeds with probability ``1 - probability``.

    Parameters
    ----------
    probability : float
        Between 0 and 1, both excluded.
    degrees : float
        Degrees of freedom, positive.

    Returns
    -------
    float
        The quantile, to about ten digits.

    Raises
    ------
    ValueError
        If an argument is out of its range.

    References
    ----------
    M. Abramowitz and I. A. Stegun, "Handbook of Mathematical Functions", 26.7.1 (distribution) and 26.5.8
    (continued fraction of the incomplete beta function).

    Examples
    --------
    >>> round(student_t_quantile(0.975, 9), 3)
    2.262
    """
    if not 0 < probability < 1:
        raise ValueError(f"probability {probability} is not between 0 and 1")
    if not degrees > 0:
        raise ValueError(f"{degrees} degrees of freedom: expected a positive number")
    if probability == 0.5:
        return 0.0
    if probability < 0.5:
        return -student_t_quantile(1 - probability, degrees)
    return _upper_t_quantile(probability, degrees)


@lru_cache(maxsize=4096)
def _upper_t_quantile(probability: float, degrees: float) -> float:
    """Remembered: a report asks for the same few quantiles at each of its rows."""
    # P(|T| > t) = I_x(v/2, 1/2) at x = v / (v + t^2), which falls with t.
    x = _inverse_incomplete_beta(2 * (1 - probability), degrees / 2, 0.5)
    return math.sqrt(degrees * (1 - x) / x) if x > 0 else math.inf


def student_t_p_value(t: float, degrees: float) -> float:
    """Probability that a Student-t variable is at least `t` away from zero, on either side.

    Parameters
    ----------
    t : float
        The statistic; its sign does not matter.
    degrees : float
        Degrees of freedom, positive.

    Returns
    -------
    float
        The two-sided p-value, in [0, 1].

    Raises
    ------
    ValueError
        If `degrees` is not positive, or `t` is not a number.

    References
    ----------
    M. Abramowitz and I. A. Stegun, "Handbook of Mathematical Functions", 26.7.1.

    Examples
    --------
    >>> round(student_t_p_value(2.776, 4), 3)
    0.05
    """
    if not degrees > 0:
        raise ValueError(f"degrees of freedom are {degrees}, expected more than 0")
    if math.isnan(t):
        raise ValueError("t is not a number")
    return _incomplete_beta(degrees / (degrees + t * t), degrees / 2, 0.5)


def beta_quantile(probability: float, a: float, b: float) -> float:
    """Value below which a beta variable lies with this probability.

    Parameters
    ----------
    probability : float
        Between 0 and 1, both excluded.
    a, b : float
        Shapes, positive.

    Returns
    -------
    float
        The quantile, to about twelve digits.

    Raises
    ------
    ValueError
        If an argument is out of its range.

    References
    ----------
    M. Abramowitz and I. A. Stegun, "Handbook of Mathematical Functions", 26.5.

    Examples
    --------
    >>> round(beta_quantile(0.5, 1, 3), 6)  # 1 - 0.5 ** (1 / 3)
    0.206299
    """
    if not 0 < probability < 1:
        raise ValueError(f"probability {probability} is not between 0 and 1")
    if not (a > 0 and b > 0):
        raise ValueError(f"shapes {a} and {b}: expected positive numbers")
    return _inverse_incomplete_beta(probability, a, b)


def _inverse_incomplete_beta(value: float, a: float, b: float) -> float:
    """Find x with I_x(a, b) = `value`, by halving an interval until no number is left in it."""
    low, high = 0.0, 1.0
    for _ in range(200):
        x = (low + high) / 2
        if _incomplete_beta(x, a, b) < value:
            low = x
        else:
            high = x
    return x


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """Regularised incomplete beta function I_x(a, b)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # where the fraction converges slowly, use the symmetry
        return 1 - _incomplete_beta(1 - x, b, a)
    log_factor = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    # Modified Lentz: the partial numerators of 26.5.8, first odd, then even.
    tiny = 1e-300
    c, d = 1.0, 1 / max(1 - (a + b) * x / (a + 1), tiny)
    fraction = d
    for m in range(1, 500):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 + numerator * d
            c = 1 + numerator / c
            d = 1 / (d if abs(d) > tiny else tiny)
            c = c if abs(c) > tiny else tiny
            fraction *= d * c
        if abs(d * c - 1) < 1e-15:
            break
    return math.exp(log_factor) * fraction / a

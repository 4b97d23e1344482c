"""Confidence intervals of estimates over seeds, for the predicates of claims.

An estimate is a function of means over seeds, such as a ratio of two means or a maximum of several. Its interval comes
from the jackknife over seeds, so that variation that runs of the same seed share cancels, as in a paired test.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wifair.statistics import beta_quantile, student_t_quantile


class Bounds(NamedTuple):
    """An estimate and the ends of its confidence interval, all in one unit."""

    estimate: float
    low: float
    high: float


_quantile = cache(student_t_quantile)
"""Cached, because the same few levels and numbers of seeds recur."""


def replicates(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the mean of all values, then the mean without each of them in turn; all NaN if one of them is NaN.

    Examples
    --------
    >>> replicates(np.array([1.0, 2.0, 6.0])).tolist()
    [3.0, 4.0, 3.5, 1.5]
    """
    count = len(values)
    if np.isnan(values).any() or not count:
        return np.full(count + 1, math.nan)
    total = values.sum()
    with np.errstate(invalid="ignore", divide="ignore"):
        without = (total - values) / (count - 1)
    if np.isinf(total):  # infinity minus infinity is NaN: compute each sum separately
        without = np.array([np.delete(values, i).sum() for i in range(count)]) / (count - 1)
    return np.concatenate(([total / count], without))


def of_replicates(theta: NDArray[np.float64], confidence: float, *, ratio: bool = False) -> Bounds:
    """Compute the interval of an estimate from its jackknife replicates.

    Parameters
    ----------
    theta : array
        The estimate from all seeds, then without each seed in turn. A single value is exact: nothing in it is random.
    confidence : float
        Probability that the interval covers the true value.
    ratio : bool, default False
        Whether to compute on a logarithmic scale, so that the inverse of a ratio has the inverse interval.

    Returns
    -------
    Bounds
        Infinitely wide if there is only one seed, or if a value is not finite.

    References
    ----------
    J. W. Tukey, "Bias and confidence in not-quite large samples", Annals of Mathematical Statistics 29, 1958.
    """
    estimate = float(theta[0])
    if math.isnan(estimate):
        return Bounds(math.nan, -math.inf, math.inf)
    if len(theta) == 1:
        return Bounds(estimate, estimate, estimate)
    seeds = len(theta) - 1
    if np.isinf(theta).all() and (theta == theta[0]).all():
        return Bounds(estimate, estimate, estimate)
    if seeds < 2 or not np.isfinite(theta).all():
        return Bounds(estimate, -math.inf, math.inf)
    logarithmic = ratio and bool((theta > 0).all())
    x = np.log(theta) if logarithmic else theta
    # The standard error of the jackknife is that of the mean of its pseudo-values.
    error = math.sqrt((seeds - 1) / seeds * float(((x[1:] - x[1:].mean()) ** 2).sum()))
    half = _quantile((1 + confidence) / 2, seeds - 1) * error
    if logarithmic:
        return Bounds(estimate, estimate * math.exp(-min(half, 700.0)), estimate * math.exp(min(half, 700.0)))
    return Bounds(estimate, estimate - half, estimate + half)


def of_share(successes: int, trials: int, confidence: float) -> Bounds:
    """Compute the interval of a probability from a number of successes in independent trials.

    References
    ----------
    C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial",
    Biometrika 26(4), 1934.

    Examples
    --------
    >>> [round(x, 4) for x in of_share(5, 10, 0.95)]
    [0.5, 0.1871, 0.8129]
    """
    if trials == 0:
        return Bounds(math.nan, 0.0, 1.0)
    tail = (1 - confidence) / 2
    low = 0.0 if successes == 0 else beta_quantile(tail, successes, trials - successes + 1)
    high = 1.0 if successes == trials else beta_quantile(1 - tail, successes + 1, trials - successes)
    return Bounds(successes / trials, low, high)

"""Instantaneous fairness: how long transmission sessions take, relative to the time that a fair share would need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wifair import _core

Floats = NDArray[np.float64]


def fair_share(capacity_bps: float, nodes: int) -> float:
    """Effective fair share of a node: equation 1 of jung2016, ``rho * B / N``.

    Parameters
    ----------
    capacity_bps : float
        The most that all users get together, ``rho * B`` [bit/s]. jung2016 takes the best aggregate of its Table 1:
        4.96 Mb/s for downloads, 6.88 Mb/s for uploads.
    nodes : int
        Number of nodes, those that pause included.

    Returns
    -------
    float
        Share of one node [bit/s].

    Raises
    ------
    ValueError
        If the capacity is not positive, or there is no node.

    Examples
    --------
    >>> fair_share(4.96e6, 4) / 8  # the paper's 155 KB/s
    155000.0
    """
    if not capacity_bps > 0:
        raise ValueError(f"capacity {capacity_bps} bit/s is not positive")
    if nodes < 1:
        raise ValueError(f"{nodes} nodes: at least one shares")
    return capacity_bps / nodes


@dataclass(frozen=True)
class FinishRatios:
    """Instantaneous fairness of transmission sessions."""

    index: float
    """Equation 3: mean ratio of the sessions that finished; NaN if none did."""
    ratios: Floats
    """Equation 2 for each session: ideal over real finish time; 0 if it never finished, NaN if it took no time."""
    finished: int
    """Sessions in the mean."""
    unfinished: int
    """Sessions that never finished. The index leaves them out, and so flatters starvation."""
    instant: int
    """Sessions that took no time: their last segment fitted into the open window. Left out too."""

    @property
    def index_with_unfinished(self) -> float:
        """The same mean with a ratio of 0 for each session that never finished."""
        counted = self.finished + self.unfinished
        return float(np.nansum(self.ratios)) / counted if counted else float("nan")


def instantaneous_fairness(
    length_bytes: ArrayLike, start_s: ArrayLike, finish_s: ArrayLike, *, fair_share_bps: ArrayLike
) -> FinishRatios:
    """Index of instantaneous fairness: ideal over real finish time, averaged over sessions (jung2016, eq. 1 to 3).

    The paper measures the finish at the sender, which allows two readings: when the last segment is first sent, or
    when the last byte is acknowledged. Pass the times of either; for 10 kB they differ by a factor of 1.3 to 2.

    Parameters
    ----------
    length_bytes : array_like of float, shape (n_sessions,)
        Bytes of each session.
    start_s : array_like of float, shape (n_sessions,)
        When each began [s].
    finish_s : array_like of float, shape (n_sessions,)
        When each finished [s]; NaN or infinite if it did not.
    fair_share_bps : array_like of float, broadcast against the sessions
        Equation 1, from `fair_share` [bit/s].

    Returns
    -------
    FinishRatios
        The index, the ratio of each session, and the sessions left out. 1 is ideal; above 1 a session got more than
        its share.

    Raises
    ------
    ValueError
        If a length or share is not positive, a session ends before it starts, or the shapes do not fit.

    References
    ----------
    jung2016, section 3.3, equations 1 to 3.

    Examples
    --------
    >>> r = instantaneous_fairness([10e3, 10e3, 10e3], [0, 10, 20], [0.1, 10.2, np.nan], fair_share_bps=8e5)
    >>> round(r.index, 6), r.unfinished
    (0.75, 1)
    """
    length, start, finish, share = np.broadcast_arrays(
        *(np.atleast_1d(np.asarray(a, dtype=np.float64)) for a in (length_bytes, start_s, finish_s, fair_share_bps))
    )
    for name, values in (("length", length), ("fair share", share)):
        bad = ~(values > 0)
        if bad.any():
            at = int(np.argmax(bad))
            raise ValueError(f"{name} of session {at} is {values[at]}: expected a positive number")
    real = np.where(np.isfinite(finish), finish - start, np.inf)
    if (real < 0).any():
        at = int(np.argmax(real < 0))
        raise ValueError(f"session {at} finishes at {finish[at]} s, before it starts at {start[at]} s")
    index, ratios, finished = _core.finish_ratios(list(zip(length.tolist(), real.tolist(), (share / 8).tolist())))
    unfinished, instant = np.isinf(real), real == 0
    return FinishRatios(
        index=index,
        ratios=np.array([0.0 if never else np.nan if r is None else r for r, never in zip(ratios, unfinished)]),
        finished=finished,
        unfinished=int(unfinished.sum()),
        instant=int(instant.sum()),
    )


def completion_bound(index: ArrayLike, length_bytes: ArrayLike, *, fair_share_bps: ArrayLike) -> Floats:
    """Estimated time to finish a session at a known index: ideal time over IF (jung2016, section 3.3).

    The paper reads 1/IF as the factor by which a session takes longer than ideal. IF is a mean of ratios, so this is
    an estimate, not a bound: the mean of the factors themselves is at least as large.

    Parameters
    ----------
    index : array_like of float
        Index of instantaneous fairness, positive.
    length_bytes : array_like of float
        Bytes of the session.
    fair_share_bps : array_like of float
        Equation 1, from `fair_share` [bit/s].

    Returns
    -------
    ndarray of float
        Seconds.

    Raises
    ------
    ValueError
        If an index or share is not positive.

    Examples
    --------
    >>> float(completion_bound(0.5, 10e3, fair_share_bps=8e5))
    0.2
    """
    i, share = (np.asarray(a, dtype=np.float64) for a in (index, fair_share_bps))
    if not (i > 0).all():
        raise ValueError(f"index {i[~(i > 0)].flat[0]} is not positive")
    if not (share > 0).all():
        raise ValueError(f"fair share {share[~(share > 0)].flat[0]} bit/s is not positive")
    return np.asarray(8 * np.asarray(length_bytes, dtype=np.float64) / share / i)

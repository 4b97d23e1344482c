"""Fairness measures on plain arrays, for simulated, captured and measured results alike.

Goodputs are in bit/s, sizes in bytes, times in seconds. Functions over flows take the axis that holds them and keep
the others, so one call serves a single run, all seeds, or every time bin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wifair import _core
from wifair.metrics._latency import bufferbloat_grade, call_quality
from wifair.metrics._sessions import FinishRatios, completion_bound, fair_share, instantaneous_fairness

Floats = NDArray[np.float64]

__all__ = [
    "FinishRatios",
    "ResponseTimes",
    "bufferbloat_grade",
    "call_quality",
    "completion_bound",
    "conditional_response_time",
    "fair_share",
    "gps_rates",
    "instantaneous_fairness",
    "jain_index",
    "jain_over_time",
    "packets_over_hops",
    "ratio_to_gps",
    "relative_fairness_bound",
    "shi_sethu_index",
    "starved",
    "starved_fraction",
    "up_down_ratio",
    "uplink_share",
    "variational_distance",
]


def jain_index(goodput_bps: ArrayLike, *, axis: int = -1) -> Floats:
    """Jain's fairness index: 1 when all flows get the same, 1/n when one flow gets everything.

    Parameters
    ----------
    goodput_bps : array_like of float, shape (..., n_flows)
        Goodput of each flow [bit/s], non-negative.
    axis : int, default -1
        The axis that holds the flows.

    Returns
    -------
    ndarray of float, shape (...)
        ``(sum x)**2 / (n * sum x**2)``, in [1/n, 1]; NaN where every goodput is zero.

    Raises
    ------
    ValueError
        If there is no flow, or a goodput is negative or not finite; the message gives its index and value.

    References
    ----------
    R. Jain, D.-M. Chiu and W. Hawe, DEC Research Report TR-301, 1984.

    Examples
    --------
    >>> float(jain_index([3e6, 3e6, 0.0, 0.0]))
    0.5
    """
    x = np.moveaxis(_non_negative(goodput_bps, "goodput", axis), axis, -1)
    return np.array(_core.jain_index(x.reshape(-1, x.shape[-1]).tolist())).reshape(x.shape[:-1])


def jain_over_time(received_bytes: ArrayLike, *, window: int = 1) -> Floats:
    """Jain's index in each time window: short-term fairness of throughput.

    Parameters
    ----------
    received_bytes : array_like of float, shape (n_bins, n_flows)
        What each flow received in each bin of time.
    window : int, default 1
        Bins in a window. Windows do not overlap; leftover bins at the end are not used.

    Returns
    -------
    ndarray of float, shape (n_bins // window,)
        Jain's index over the flows in each window; NaN where nobody received anything.

    Raises
    ------
    ValueError
        If the array does not have two axes, `window` is below 1 or above the number of bins, or a value is negative.

    References
    ----------
    The sliding-window method of C. E. Koksal, H. Kassab and H. Balakrishnan, "An analysis of short-term fairness in
    wireless media access protocols", ACM SIGMETRICS 2000, with adjacent windows.

    Examples
    --------
    >>> jain_over_time([[10, 0], [0, 10], [5, 5], [5, 5]]).tolist()
    [0.5, 0.5, 1.0, 1.0]
    >>> jain_over_time([[10, 0], [0, 10], [5, 5], [5, 5]], window=2).tolist()
    [1.0, 1.0]
    """
    x = _non_negative(received_bytes, "received bytes", -1)
    if x.ndim != 2:
        raise ValueError(f"received_bytes has {x.ndim} axes: expected (n_bins, n_flows)")
    if not 1 <= window <= len(x):
        raise ValueError(f"window of {window} bins: expected 1 to {len(x)}")
    windows = len(x) // window
    return jain_index(x[: windows * window].reshape(windows, window, -1).sum(axis=1))


def starved(
    goodput_bps: ArrayLike,
    *,
    asked_bps: ArrayLike | None = None,
    active_s: ArrayLike | None = None,
    below: float = 0.1,
    axis: int = -1,
) -> NDArray[np.bool_]:
    """Which flows get less than a tenth of their max-min fair share.

    Max-min fairness divides what the flows got together: the share of a flow is what it asked for, or less, namely
    as much in each second of its activity as every other flow gets that asked for more. If all flows are always
    active and ask for more than they get, the share is the mean.

    Parameters
    ----------
    goodput_bps : array_like of float, shape (..., n_flows)
        Goodput of each flow [bit/s], non-negative.
    asked_bps : array_like of float, optional
        What each flow asked for [bit/s], of a shape that can be broadcast; infinite (the default) for flows that
        always had more to send.
    active_s : array_like of float, optional
        How long each flow was active [s], of a shape that can be broadcast; by default all equally long.
    below : float, default 0.1
        A flow starves when its goodput is below this fraction of its share.
    axis : int, default -1
        The axis that holds the flows.

    Returns
    -------
    ndarray of bool, shape (..., n_flows)
        With flows on the same axis. A flow that asked for something and got nothing always starves, a flow that
        asked for nothing never does.

    Raises
    ------
    ValueError
        If there is no flow, a goodput is negative, or the shapes do not fit.

    References
    ----------
    D. Bertsekas and R. Gallager, "Data Networks", 2nd edition, 1992, section 6.5.2, for max-min fairness.

    Examples
    --------
    >>> starved([20e6, 63e3, 3e3], asked_bps=[float("inf"), 64e3, 64e3]).tolist()  # a download and two calls
    [False, False, True]
    """
    got = _non_negative(goodput_bps, "goodput", axis)
    columns = np.broadcast_arrays(
        got,
        np.inf if asked_bps is None else np.asarray(asked_bps, dtype=np.float64),
        1.0 if active_s is None else np.asarray(active_s, dtype=np.float64),
    )
    if columns[0].shape != got.shape:
        raise ValueError(f"goodputs have shape {got.shape}, what was asked for or the times {columns[0].shape}")
    flows = np.stack([np.moveaxis(column, axis, -1) for column in columns], axis=-1)
    rows = [
        [(got, asked, active) for got, asked, active in row] for row in flows.reshape(-1, *flows.shape[-2:]).tolist()
    ]
    found = np.array(_core.starved(rows, below), dtype=np.bool_).reshape(flows.shape[:-1])
    return np.moveaxis(found, -1, axis)


def starved_fraction(
    goodput_bps: ArrayLike, *, asked_bps: ArrayLike | None = None, below: float = 0.1, axis: int = -1
) -> Floats:
    """Fraction of flows that starve; see `starved`.

    Parameters
    ----------
    goodput_bps : array_like of float, shape (..., n_flows)
        Goodput of each flow [bit/s], non-negative.
    asked_bps : array_like of float, optional
        What each flow asked for [bit/s]; by default more than it got.
    below : float, default 0.1
        A flow starves when its goodput is below this fraction of its share.
    axis : int, default -1
        The axis that holds the flows.

    Returns
    -------
    ndarray of float, shape (...)
        Between 0 and 1; 1 where every goodput is zero.

    Raises
    ------
    ValueError
        If there is no flow, a goodput is negative, or the shapes do not fit.

    Examples
    --------
    >>> float(starved_fraction([4e6, 4e6, 0.1e6, 0.0]))
    0.5
    """
    return np.asarray(starved(goodput_bps, asked_bps=asked_bps, below=below, axis=axis).mean(axis=axis))


def up_down_ratio(goodput_bps: ArrayLike, upload: ArrayLike) -> float:
    """Goodput of all uploads over that of all downloads: 1 is fair between the directions.

    Parameters
    ----------
    goodput_bps : array_like of float, shape (n_flows,)
        Goodput of each flow [bit/s], non-negative.
    upload : array_like of bool, shape (n_flows,)
        Which flows go from a station to the access point.

    Returns
    -------
    float
        The ratio; infinite if downloads got nothing, NaN if there is no upload or no download.

    Raises
    ------
    ValueError
        If the shapes differ, or a goodput is negative.

    References
    ----------
    The ratio that lee2007 plots; see `uplink_share` for the other reading.

    Examples
    --------
    >>> up_down_ratio([3e6, 1e6, 1e6], [True, False, False])
    1.5
    """
    x, up = _directions(goodput_bps, upload)
    if up.all() or not up.any():
        return float("nan")
    down = float(x[~up].sum())
    uplink = float(x[up].sum())
    if down == 0:
        return float("inf") if uplink > 0 else float("nan")
    return uplink / down


def uplink_share(goodput_bps: ArrayLike, upload: ArrayLike) -> float:
    """Share of the uploads in the goodput of all flows.

    Parameters
    ----------
    goodput_bps : array_like of float, shape (n_flows,)
        Goodput of each flow [bit/s], non-negative.
    upload : array_like of bool, shape (n_flows,)
        Which flows go from a station to the access point.

    Returns
    -------
    float
        Between 0 and 1; NaN if nothing was received.

    Raises
    ------
    ValueError
        If the shapes differ, or a goodput is negative.

    Examples
    --------
    >>> uplink_share([3e6, 1e6], [True, False])
    0.75
    """
    x, up = _directions(goodput_bps, upload)
    total = float(x.sum())
    return float(x[up].sum()) / total if total > 0 else float("nan")


@dataclass(frozen=True)
class ResponseTimes:
    """Response time by size of transfer."""

    percentile: Floats
    """Upper end of each bin of sizes, in percent of all transfers."""
    size_bytes: Floats
    """Mean size in each bin."""
    mean_s: Floats
    """Mean response time of those that finished; NaN where none did."""
    finished: NDArray[np.int64]
    """Transfers in the mean, by bin."""
    unfinished: NDArray[np.int64]
    """Transfers that never finished, by bin."""


def conditional_response_time(size_bytes: ArrayLike, response_s: ArrayLike, *, bins: int = 100) -> ResponseTimes:
    """Mean response time of transfers by the percentile of their size (las, section 6.2.1).

    Parameters
    ----------
    size_bytes : array_like of float, shape (n,)
        Bytes of each transfer.
    response_s : array_like of float, shape (n,)
        From the first request to the last byte at the receiver [s]; NaN or infinite if it never came.
    bins : int, default 100
        Bins with (nearly) equal numbers of transfers, from the smallest sizes to the largest. Equal sizes
        keep their order and may fall into neighbouring bins.

    Returns
    -------
    ResponseTimes
        One value for each bin. There are never more bins than transfers.

    Raises
    ------
    ValueError
        If there is no transfer, the shapes differ, a size or time is negative, or `bins` is below 1.

    References
    ----------
    las, sections 6.2.1 and 6.2.2, which plot it for the grid and for the WLAN.

    Examples
    --------
    >>> r = conditional_response_time([1e3, 9e3, 2e3, 8e3], [0.1, 0.9, 0.3, np.inf], bins=2)
    >>> r.mean_s.tolist(), r.unfinished.tolist()
    ([0.2, 0.9], [0, 1])
    """
    size = _non_negative(size_bytes, "size", -1)
    time = np.asarray(response_s, dtype=np.float64)
    if size.shape != time.shape or size.ndim != 1:
        raise ValueError(f"sizes have shape {size.shape}, times {time.shape}: expected one axis of equal length")
    if bins < 1:
        raise ValueError(f"{bins} bins: expected at least 1")
    if (time < 0).any():
        at = int(np.argmax(time < 0))
        raise ValueError(f"response time {at} is negative: {time[at]} s")
    order = np.argsort(size, kind="stable")
    parts = np.array_split(order, min(bins, len(order)))
    ended = np.isfinite(time)
    done = [part[ended[part]] for part in parts]
    return ResponseTimes(
        percentile=100 * np.cumsum([len(part) for part in parts]) / len(order),
        size_bytes=np.array([size[part].mean() for part in parts]),
        mean_s=np.array([time[part].mean() if len(part) else np.nan for part in done]),
        finished=np.array([len(part) for part in done], dtype=np.int64),
        unfinished=np.array([len(part) - len(d) for part, d in zip(parts, done)], dtype=np.int64),
    )


def packets_over_hops(packets: ArrayLike, hops: ArrayLike) -> int:
    """Count data packets over all hops: a packet delivered over three hops counts three (las, section 5).

    Parameters
    ----------
    packets : array_like of int, shape (n_flows,)
        Data packets of each flow that reached their destination.
    hops : array_like of int, shape (n_flows,)
        Hops from its source to its destination.

    Returns
    -------
    int
        The sum of packets times hops. In a one-hop network it is the number of packets.

    Raises
    ------
    ValueError
        If the shapes differ or a number is negative.

    Examples
    --------
    >>> packets_over_hops([100, 10], [1, 3])
    130
    """
    p, h = np.asarray(packets), np.asarray(hops)
    if p.shape != h.shape:
        raise ValueError(f"packets have shape {p.shape}, hops {h.shape}: expected the same")
    if (p < 0).any() or (h < 0).any():
        raise ValueError("packets and hops cannot be negative")
    return int((p * h).sum())


def relative_fairness_bound(
    service_bytes: ArrayLike, *, weights: ArrayLike | None = None, backlogged: ArrayLike | None = None
) -> float:
    """Relative fairness bound: the largest difference of normalised service of two flows in any interval.

    Only intervals in which both flows are backlogged throughout count.

    Parameters
    ----------
    service_bytes : array_like of float, shape (n_times, n_flows)
        Cumulative bytes served to each flow up to each time.
    weights : array_like of float, shape (n_flows,), optional
        Weight of each flow; all 1 by default.
    backlogged : array_like of bool, shape (n_times - 1, n_flows), optional
        Whether a flow was backlogged between one time and the next; always, by default.

    Returns
    -------
    float
        Bytes per unit of weight; 0 is the fluid ideal. NaN if no two flows are ever backlogged together.

    Raises
    ------
    ValueError
        If there are fewer than two flows or times, service shrinks, a weight is not positive, or shapes do not fit.

    References
    ----------
    S. J. Golestani, "A self-clocked fair queueing scheme for broadband applications", IEEE INFOCOM 1994.

    Examples
    --------
    >>> relative_fairness_bound([[0, 0], [10, 0], [10, 10], [20, 10]])
    10.0
    """
    s = _cumulative(service_bytes)
    w = _weights(weights, s.shape[1])
    active = np.ones((len(s) - 1, s.shape[1]), dtype=bool) if backlogged is None else np.asarray(backlogged, dtype=bool)
    if active.shape != (len(s) - 1, s.shape[1]):
        raise ValueError(f"backlogged has shape {active.shape}: expected {(len(s) - 1, s.shape[1])}")
    normalised = s / w
    worst = float("nan")
    for i in range(s.shape[1]):
        for j in range(i):
            lead = normalised[:, i] - normalised[:, j]
            for begin, end in _runs(active[:, i] & active[:, j]):
                worst = float(np.fmax(worst, np.ptp(lead[begin : end + 1])))
    return worst


def gps_rates(demand_bps: ArrayLike, capacity_bps: float, *, weights: ArrayLike | None = None) -> Floats:
    """Rates of generalised processor sharing: weighted fair shares; what one flow leaves goes to the others.

    Parameters
    ----------
    demand_bps : array_like of float, shape (n_flows,)
        Demand of each flow [bit/s]; infinite for a flow that is always backlogged.
    capacity_bps : float
        Capacity that all flows share [bit/s].
    weights : array_like of float, shape (n_flows,), optional
        Weight of each flow; all 1 by default.

    Returns
    -------
    ndarray of float, shape (n_flows,)
        Rate of each flow [bit/s]; the rates sum to the smaller of capacity and demand.

    Raises
    ------
    ValueError
        If a demand is negative, the capacity or a weight is not positive, or there is no flow.

    References
    ----------
    A. K. Parekh and R. G. Gallager, "A generalized processor sharing approach to flow control in integrated services
    networks: the single-node case", IEEE/ACM Transactions on Networking 1(3), 1993.

    Examples
    --------
    >>> gps_rates([1e6, np.inf, np.inf], 7e6).tolist()
    [1000000.0, 3000000.0, 3000000.0]
    """
    demand = np.atleast_1d(np.asarray(demand_bps, dtype=np.float64))
    if demand.size == 0:
        raise ValueError("no flow")
    if not (demand >= 0).all():
        at = int(np.argmax(~(demand >= 0)))
        raise ValueError(f"demand of flow {at} is {demand[at]} bit/s: expected 0 or more")
    if not 0 < capacity_bps < np.inf:
        raise ValueError(f"capacity {capacity_bps} bit/s is not positive and finite")
    w = _weights(weights, len(demand))
    rates = np.zeros_like(demand)
    left, waiting = float(capacity_bps), demand > 0
    while waiting.any():
        share = left * w / w[waiting].sum()
        content = waiting & (demand <= share)
        if not content.any():
            rates[waiting] = share[waiting]
            break
        rates[content] = demand[content]
        left -= float(demand[content].sum())
        waiting &= ~content
    return rates


def ratio_to_gps(
    goodput_bps: ArrayLike,
    capacity_bps: float,
    *,
    demand_bps: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> Floats:
    """Goodput of each flow over what generalised processor sharing would give it.

    Parameters
    ----------
    goodput_bps : array_like of float, shape (n_flows,)
        Goodput of each flow [bit/s], non-negative.
    capacity_bps : float
        Capacity that all flows share [bit/s].
    demand_bps : array_like of float, shape (n_flows,), optional
        Demand of each flow [bit/s]; always backlogged by default.
    weights : array_like of float, shape (n_flows,), optional
        Weight of each flow; all 1 by default.

    Returns
    -------
    ndarray of float, shape (n_flows,)
        1 is the ideal; NaN for a flow without demand.

    Raises
    ------
    ValueError
        As `gps_rates`, or if a goodput is negative.

    Examples
    --------
    >>> ratio_to_gps([3e6, 1e6], 4e6).tolist()
    [1.5, 0.5]
    """
    x = _non_negative(goodput_bps, "goodput", -1)
    demand = np.full(x.shape, np.inf) if demand_bps is None else demand_bps
    ideal = gps_rates(demand, capacity_bps, weights=weights)
    return np.asarray(np.divide(x, ideal, out=np.full(x.shape, np.nan), where=ideal > 0))


def variational_distance(goodput_bps: ArrayLike, *, axis: int = -1) -> Floats:
    """Distance of the shares from the uniform distribution: 0 if all get the same, 1 - 1/n if one gets all.

    Parameters
    ----------
    goodput_bps : array_like of float, shape (..., n_flows)
        Goodput, or bytes in each bin of time, of each flow; non-negative. With bins on another axis, the result is
        the distance in each bin: its mean shows short-term, the distance of the sums long-term fairness.
    axis : int, default -1
        The axis that holds the flows.

    Returns
    -------
    ndarray of float, shape (...)
        ``sum |x_i / sum x - 1/n| / 2``; NaN where every goodput is zero.

    Raises
    ------
    ValueError
        If there is no flow, or a goodput is negative.

    References
    ----------
    After J. Deng, Y. S. Han and B. Liang, "Fairness index based on variational distance", IEEE GLOBECOM 2009, which
    jung2016 cites; the distance is that of probability theory, not scaled further.

    Examples
    --------
    >>> float(variational_distance([3e6, 1e6]))
    0.25
    """
    x = _non_negative(goodput_bps, "goodput", axis)
    total = x.sum(axis=axis, keepdims=True)
    share = np.divide(x, total, out=np.full_like(x, np.nan), where=total > 0)
    return np.asarray(np.abs(share - 1 / x.shape[axis]).sum(axis=axis) / 2)


def shi_sethu_index(service_bytes: ArrayLike, *, weights: ArrayLike | None = None, axis: int = -1) -> Floats:
    """Gini index of the normalised service of the flows at each instant: 0 is fair, (n - 1)/n if one flow gets all.

    Parameters
    ----------
    service_bytes : array_like of float, shape (..., n_flows)
        Bytes that each flow was served, non-negative; with instants on another axis, cumulative up to each.
    weights : array_like of float, shape (n_flows,), optional
        Weight of each flow; all 1 by default.
    axis : int, default -1
        The axis that holds the flows.

    Returns
    -------
    ndarray of float, shape (...)
        Mean absolute difference of all pairs over twice the mean; NaN where nobody was served.

    Raises
    ------
    ValueError
        If there is no flow, service is negative, or a weight is not positive.

    References
    ----------
    After H. Shi and H. Sethu, "An evaluation of timestamp-based packet schedulers using a novel measure of
    instantaneous fairness", IEEE IPCCC 2003, who take the Gini index from economics; here service counts from the
    start of the record, and every flow is taken as backlogged.

    Examples
    --------
    >>> shi_sethu_index([[1, 1], [3, 1]]).tolist()
    [0.0, 0.25]
    """
    x = np.moveaxis(_non_negative(service_bytes, "service", axis), axis, -1)
    n = x.shape[-1]
    x = np.sort(x / _weights(weights, n), axis=-1)
    total = x.sum(axis=-1)
    rank = 2 * np.arange(1, n + 1) - n - 1  # the sum of all differences, from sorted values
    nan = np.full(total.shape, np.nan)
    return np.asarray(np.divide((rank * x).sum(axis=-1), n * total, out=nan, where=total > 0))


def _non_negative(values: ArrayLike, name: str, axis: int) -> Floats:
    x = np.atleast_1d(np.asarray(values, dtype=np.float64))
    if x.shape[axis] == 0:
        raise ValueError("no flow")
    bad = ~((x >= 0) & np.isfinite(x))
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(f"{name} {at[0] if len(at) == 1 else at} is {x[at]}: expected a finite number, 0 or more")
    return x


def _directions(goodput_bps: ArrayLike, upload: ArrayLike) -> tuple[Floats, NDArray[np.bool_]]:
    x = _non_negative(goodput_bps, "goodput", -1)
    up = np.atleast_1d(np.asarray(upload, dtype=bool))
    if x.shape != up.shape:
        raise ValueError(f"goodputs have shape {x.shape}, directions {up.shape}: expected the same")
    return x, up


def _weights(weights: ArrayLike | None, flows: int) -> Floats:
    w = np.ones(flows) if weights is None else np.asarray(weights, dtype=np.float64)
    if w.shape != (flows,):
        raise ValueError(f"{w.size} weights for {flows} flows")
    if not ((w > 0) & np.isfinite(w)).all():
        raise ValueError(f"weight {w[~((w > 0) & np.isfinite(w))][0]} is not positive and finite")
    return w


def _cumulative(service_bytes: ArrayLike) -> Floats:
    s = np.asarray(service_bytes, dtype=np.float64)
    if s.ndim != 2 or s.shape[0] < 2 or s.shape[1] < 2:
        raise ValueError(f"service has shape {s.shape}: expected (n_times, n_flows), at least two of each")
    if (np.diff(s, axis=0) < 0).any():
        time, flow = (int(i) for i in np.argwhere(np.diff(s, axis=0) < 0)[0])
        raise ValueError(f"service of flow {flow} shrinks after time {time}: expected cumulative bytes")
    return s


def _runs(mask: NDArray[np.bool_]) -> Sequence[tuple[int, int]]:
    """Begin and end of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False]))))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist()))

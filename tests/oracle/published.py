"""Windows after given ACKs or a loss by the published formulas of congestion controls, beside ns-3's own tests.

The cases are those of ns-3's unit tests (``src/internet/test/tcp-*-test.cc``). ``formula`` is worked out here from
the paper or RFC, in fractions of segments; ``ns3`` is what ns-3 asserts: it
counts whole segments or whole bytes.
``python tests/oracle/regenerate.py published`` writes ``crates/tcp/src/cc/published.csv``, to which the core is held.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple


class Row(NamedTuple):
    """A case; windows in segments, times in milliseconds."""

    control: str
    event: str
    """`ack`: the window after `acked` segments by one ACK; `loss`: the threshold after a loss."""
    cwnd: float
    ssthresh: float
    base_ms: float
    rtt_ms: float
    acked: float
    state: float
    """BIC: W_max; YeAH: rho, the rounds of slow mode that mean competition; Illinois: samples in the round, the
    first at base_ms; H-TCP: milliseconds beyond the first second after a loss."""
    formula: float
    ns3: float
    difference: str


SAME = ""
WHOLE = "ns-3 counts whole segments"
INFINITE = 1e9


def bic(cwnd: float, w_max: float, acked: float) -> float:
    """Xu, Harfoush and Rhee 2004 with the constants of their module: 4, 16, 20, and 14 segments."""
    if cwnd <= 14:
        per_round = 1.0
    elif cwnd < w_max:
        distance = (w_max - cwnd) / 4
        per_round = 16.0 if distance > 16 else distance if distance > 1 else 4 / 20
    elif cwnd < w_max + 4:
        per_round = 4 / 20
    else:
        per_round = min((cwnd - w_max) / 3, 16.0) if cwnd < w_max + 48 else 16.0
    return cwnd + acked * per_round / cwnd


def hybla(cwnd: float, ssthresh: float, rtt_ms: float) -> float:
    """Caini and Firrincieli 2004, equation 5, with ns-3's reference of 50 ms."""
    rho = max(rtt_ms / 50, 1)
    return cwnd + (2**rho - 1 if cwnd < ssthresh else rho**2 / cwnd)


def yeah(cwnd: float, base_ms: float, rtt_ms: float, acked: float) -> float:
    """Baiocchi, Castellani and Vacirca 2007: alpha = 80, phi = 8, gamma = 1; Scalable's growth in whole segments."""
    grown = cwnd + acked / min(cwnd, 100)
    queue = grown * (rtt_ms - base_ms) / rtt_ms
    return grown - min(queue, grown / 2) if queue > 80 else grown


def yeah_loss(cwnd: float, base_ms: float, rtt_ms: float, competes: bool) -> float:
    """YeAH: a loss reduces the window by the queue, at least an eighth and at most a half; by a half beside Reno."""
    queue = cwnd * (rtt_ms - base_ms) / rtt_ms
    return cwnd - (cwnd / 2 if competes else max(min(queue, cwnd / 2), cwnd / 8))


def illinois(
    cwnd: float, ssthresh: float, samples: float, base_ms: float, rtt_ms: float, acked: float
) -> Iterator[float]:
    """Liu, Basar and Srikant 2008, section 3: window after the ACKs, and threshold after a loss then."""
    longest = rtt_ms - base_ms
    mean = longest * (samples - 1) / samples
    d1, d2, d3 = longest / 100, longest / 10, 8 * longest / 10
    if mean <= d1:
        alpha = 10.0
    else:
        k1 = (longest - d1) * 0.3 * 10 / (10 - 0.3)
        k2 = (longest - d1) * 0.3 / (10 - 0.3) - d1
        alpha = k1 / (k2 + mean)
    beta = 1 / 8 if mean <= d2 else 1 / 2 if mean >= d3 else 1 / 8 + 3 / 8 * (mean - d2) / (d3 - d2)
    after = cwnd + (acked if cwnd < ssthresh else acked * alpha / cwnd)
    yield after
    yield (1 - beta) * after


def rows() -> Iterator[Row]:
    """All cases."""
    none = (0.0, 0.0)
    for cwnd, w_max, acked, ns3 in (
        (10, 0, 11, 11), (10, 0, 8, 10), (18, 90, 5, 19), (18, 20, 24, 19),
        (19, 83, 2, 20), (15, 13, 19, 16), (22, 16, 9, 22), (65, 16, 2, 65),
    ):  # fmt: skip
        smooth = "ns-3 spreads the last four segments over 5 rounds, the authors' module over 20"
        why = smooth if (cwnd, w_max) in ((18, 20), (15, 13)) else WHOLE
        yield Row("bic", "ack", cwnd, 9, *none, acked, w_max, bic(cwnd, w_max, acked), ns3, why)
    yield Row("bic", "loss", 5, 9, *none, 0, 10, 2.5, 2.5, SAME)
    yield Row("bic", "loss", 15, 9, *none, 0, 10, 15 * 819 / 1024, 12, "ns-3 keeps 0.8, the authors' module 819/1024")

    for rtt in (55, 100, 750):
        # In bytes: 500 a segment.
        in_bytes = (1000 + math.floor((2 ** (rtt / 50) - 1) * 500)) / 500
        yield Row(
            "hybla",
            "ack",
            2,
            INFINITE,
            rtt,
            rtt,
            1,
            0,
            hybla(2, INFINITE, rtt),
            in_bytes,
            SAME if in_bytes % 1 == 0 else "bytes",
        )
    for rtt in (550, 100, 750):
        exact = hybla(2, 1, rtt)
        yield Row("hybla", "ack", 2, 1, rtt, rtt, 1, 0, exact, exact, "ns-3 asks for no more than this")

    yield Row("ledbat", "ack", 2, INFINITE, 1, 3, 2, 0, 2 + 0.98 * 2 / 2, (2892 + 1417) / 1446, "bytes")
    yield Row("ledbat", "ack", 2, INFINITE, 1, 199, 2, 0, 2, 2, SAME)

    yield Row("yeah", "ack", 20, 25, 100, 105, 1, 0, 21, 21, SAME)
    yield Row("yeah", "ack", 30, 25, 100, 105, 30, 0, yeah(30, 100, 105, 30), 31, SAME)
    yield Row("yeah", "ack", 40, 30, 100, 120, 1, 0, yeah(40, 100, 120, 1), 40, WHOLE)
    yield Row("yeah", "ack", 100, 70, 100, 600, 1, 0, yeah(100, 100, 600, 1), 50, WHOLE)
    yield Row("yeah", "loss", 40, 30, 100, 120, 0, 0, yeah_loss(40, 100, 120, competes=True), 20, SAME)
    yield Row("yeah", "loss", 57, 42, 100, 200, 0, 2, yeah_loss(57, 100, 200, competes=False), 29, WHOLE)

    bytes_added = "ns-3 adds alpha bytes a round, and one segment's growth for any number of acknowledged ones"
    # Leith and Shorten 2004: alpha is 1 within a second of the last loss and grows from then on; 2 (1 - beta) is 1.
    for cwnd, acked, late, theirs in ((38, 38, 0, 20383 / 536), (38, 100, 0.099, 40), (53, 50, 0.499, 76671 / 1446)):
        alpha = 1 + 10 * late + late**2 / 4
        yield Row("htcp", "ack", cwnd, 2, 80, 100, acked, 1000 * late, cwnd + acked * alpha / cwnd, theirs, bytes_added)

    above = "ns-3 has Linux's table: Reno's growth below 50 segments here, in whole segments"
    for cwnd, acked, ns3 in ((38, 38, 39), (38, 100, 40), (53, 50, 54)):
        # Kelly 2003: 0.01 a segment.
        yield Row("scalable", "ack", cwnd, 2, *none, acked, 0, cwnd + 0.01 * acked, ns3, above)
    for cwnd in (38, 100, 40):
        kept = 7 / 8 * cwnd
        yield Row("scalable", "loss", cwnd, 2, *none, 0, 0, kept, math.floor(kept), SAME if kept % 1 == 0 else WHOLE)

    # Brakmo and Peterson 1995: with alpha 2, beta 4, gamma 1 the window grows by one below 2 segments of backlog and
    # falls by one above 4. When slow start ends it is the whole segments that the path holds, and one (Linux's module).
    rounded = "ns-3 rounds what the path holds down, so that a backlog of 1.65 counts as 2"
    for cwnd, ssthresh, rtt, ns3, why in (
        (38, 40, 106, 36, SAME), (5, 10, 118, 6, SAME), (60, 40, 206, 59, SAME), (15, 10, 106, 16, SAME),
        (20, 10, 109, 20, rounded),
    ):  # fmt: skip
        queued = cwnd * (1 - 100 / rtt)
        if cwnd < ssthresh:
            after = math.floor(cwnd * 100 / rtt) + 1 if queued > 1 else cwnd + 1
        else:
            after = cwnd + 1 if queued < 2 else cwnd - 1 if queued > 4 else cwnd
        yield Row("vegas", "ack", cwnd, ssthresh, 100, rtt, 1, 0, after, ns3, why)

    # RFC 5681 with RFC 3465's count of bytes: slow start, then a segment for each window.
    yield Row("linux", "ack", 2, INFINITE, *none, 7, 0, 9, 9, SAME)
    yield Row("linux", "ack", 1, 2, *none, 6, 0, 4, 4, SAME)

    for cwnd, ssthresh, samples, rtt, acked, both in (
        (38, 40, 2, 105, 2, (39, 27)), (60, 40, 2, 100, 2, (60, 52)), (38, 40, 5, 110, 2, (39, 19)),
        (40, 38, 2, 105, 55, (41, 29)),
    ):  # fmt: skip
        grown, threshold = illinois(cwnd, ssthresh, samples, 100, rtt, acked)
        slow = (
            "ns-3's slow start adds one segment an ACK"
            if cwnd < ssthresh
            else "ns-3 counts whole segments and milliseconds"
        )
        yield Row("illinois", "ack", cwnd, ssthresh, 100, rtt, acked, samples, grown, both[0], slow)
        yield Row("illinois", "loss", cwnd, ssthresh, 100, rtt, acked, samples, threshold, both[1], slow)

    # Fu and Liew 2003: below beta = 3 segments of backlog Reno's growth and 4/5 after a loss, else half of either.
    for cwnd, ssthresh, rtt, kept in ((38, 40, 100, 0.8), (30, 20, 106, 0.8), (60, 40, 106, 0.5)):
        growth = 1 if cwnd < ssthresh else (1 if kept == 0.8 else 0.5) / cwnd
        size = 1446 if cwnd == 38 else 536
        bytes_after = cwnd * size + (size if cwnd < ssthresh else size * size // (cwnd * size))
        yield Row(
            "veno",
            "ack",
            cwnd,
            ssthresh,
            100,
            rtt,
            1,
            0,
            cwnd + growth,
            bytes_after / size,
            "bytes; growth every other round",
        )
        yield Row("veno", "loss", cwnd, ssthresh, 100, rtt, 0, 0, kept * cwnd, kept * cwnd, SAME)

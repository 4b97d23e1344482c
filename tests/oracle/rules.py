"""Published rules of congestion controls that respond to loss and marks; see `traces.py`."""

from __future__ import annotations

import math
from typing import NamedTuple

INFINITE = math.inf


class Ack(NamedTuple):
    """An ACK; times in seconds, sizes in segments."""

    now: float
    una: int
    nxt: int
    segments: int
    rtt: float | None
    srtt: float
    min_rtt: float
    duplicate: bool
    in_recovery: bool
    limited: bool
    marked: bool
    lost: int


class Control:
    """Window and threshold; slow start below the threshold."""

    def __init__(self, cwnd: float, ssthresh: float) -> None:
        self.cwnd, self.ssthresh = cwnd, ssthresh
        self.before = (cwnd, ssthresh)
        self.flight = 0.0

    def set(self, cwnd: float) -> None:
        """A window is at least one segment."""
        self.cwnd = max(cwnd, 1.0)

    def grow(self, segments: float, per_round: float) -> None:
        """RFC 5681, section 3.1."""
        self.set(self.cwnd + (segments if self.cwnd < self.ssthresh else per_round * segments / self.cwnd))

    def cut(self, threshold: float, to_one: bool = False) -> None:
        """After a loss the window is the threshold, at least two segments; after a timeout one segment."""
        self.before = (self.cwnd, self.ssthresh)
        self.ssthresh = max(threshold, 2.0)
        self.cwnd = 1.0 if to_one else self.ssthresh

    def on_ack(self, ack: Ack) -> None:
        raise NotImplementedError

    def kept(self) -> float:
        """The threshold after a loss: half the flight by default."""
        return self.flight / 2

    def on_loss(self) -> None:
        self.cut(self.kept())

    def on_rto(self) -> None:
        self.cut(self.kept(), to_one=True)

    def on_mark(self) -> None:
        self.on_loss()

    def on_recovery_exit(self, at_most: float) -> None:
        self.cwnd = min(self.cwnd, max(at_most, 1.0))

    def on_pause(self, at_most: float) -> None:
        self.cwnd = min(self.cwnd, max(at_most, 1.0))

    def on_spurious(self) -> None:
        """RFC 4015."""
        self.cwnd, self.ssthresh = max(self.cwnd, self.before[0]), max(self.ssthresh, self.before[1])


class Round:
    """A round trip ends with the first ACK beyond what was sent when it began."""

    def __init__(self) -> None:
        self.end = 0

    def over(self, ack: Ack) -> bool:
        if ack.una <= self.end:
            return False
        self.end = ack.nxt
        return True


class Reno(Control):
    """RFC 5681."""

    def on_ack(self, ack: Ack) -> None:
        if not ack.in_recovery and ack.limited:
            self.grow(ack.segments, 1)


class Scalable(Control):
    """Kelly 2003: 0.01 a segment, an eighth off; Reno up to 16 segments."""

    def on_ack(self, ack: Ack) -> None:
        if ack.in_recovery or not ack.limited:
            return
        if self.cwnd < self.ssthresh or self.cwnd <= 16:
            self.grow(ack.segments, 1)
        else:
            self.cwnd += 0.01 * ack.segments

    def kept(self) -> float:
        return self.cwnd / 2 if self.cwnd <= 16 else self.cwnd * 7 / 8


class HighSpeed(Control):
    """RFC 3649, section 5, on the exact line through (1e-3, 38) and (1e-7, 83000), as in its appendix B."""

    def __init__(self, cwnd: float, ssthresh: float) -> None:
        super().__init__(cwnd, ssthresh)
        self.a, self.at = 1.0, 0.0

    @staticmethod
    def b(w: float) -> float:
        if w <= 38:
            return 0.5
        return (0.1 - 0.5) * (math.log(w) - math.log(38)) / (math.log(83000) - math.log(38)) + 0.5

    def growth(self, w: float) -> float:
        if w <= 38:
            return 1.0
        slope = (math.log(1e-7) - math.log(1e-3)) / (math.log(83000) - math.log(38))
        p = math.exp(math.log(1e-3) + slope * (math.log(w) - math.log(38)))
        return max(w**2 * p * 2 * self.b(w) / (2 - self.b(w)), 1.0)

    def on_ack(self, ack: Ack) -> None:
        if ack.in_recovery or not ack.limited:
            return
        if abs(self.cwnd - self.at) > self.at / 100:
            self.a, self.at = self.growth(self.cwnd), self.cwnd
        self.grow(ack.segments, self.a)

    def kept(self) -> float:
        return (1 - self.b(self.cwnd)) * self.cwnd


class Bic(Control):
    """Xu, Harfoush and Rhee 2004, with the constants of their module."""

    def __init__(self, cwnd: float, ssthresh: float) -> None:
        super().__init__(cwnd, ssthresh)
        self.w_max, self.lost = 0.0, False

    def per_round(self) -> float:
        w = self.cwnd
        if w <= 14:
            return 1.0
        if w < self.w_max:
            d = (self.w_max - w) / 4
            step = 16.0 if d > 16 else d if d > 1 else 4 / 20
        elif w < self.w_max + 4:
            step = 4 / 20
        else:
            step = (w - self.w_max) / 3 if w < self.w_max + 48 else 16.0
        return step if self.lost else max(step, w / 20)

    def on_ack(self, ack: Ack) -> None:
        if not ack.in_recovery and ack.limited:
            self.grow(ack.segments, self.per_round())

    def kept(self) -> float:
        w, keep = self.cwnd, 819 / 1024
        self.w_max = w * (1 + keep) / 2 if w < self.w_max else w
        self.lost = True
        return w / 2 if w <= 14 else keep * w

    def on_rto(self) -> None:
        self.cut(self.kept(), to_one=True)
        self.w_max, self.lost = 0.0, False


class Cubic(Control):
    """RFC 9438, section 4."""

    C, BETA = 0.4, 0.7

    def __init__(self, cwnd: float, ssthresh: float) -> None:
        super().__init__(cwnd, ssthresh)
        self.w_max, self.prior = 0.0, INFINITE
        self.begin: float | None = None
        self.k = self.w_est = 0.0
        self.level = True
        self.paused: float | None = None
        self.undo: tuple[float, float, float | None, float, float] = (0.0, INFINITE, None, 0.0, 0.0)

    def on_ack(self, ack: Ack) -> None:
        if not ack.limited:
            self.paused = ack.now if self.paused is None else self.paused
            return
        if self.paused is not None and self.begin is not None:
            self.begin += ack.now - self.paused
            self.paused = None
        elif self.paused is not None:
            self.paused = None
        if ack.in_recovery or not ack.segments:
            return
        if self.cwnd < self.ssthresh:
            self.cwnd += ack.segments
            return
        if self.begin is None:
            if self.level or self.w_max < self.cwnd:
                self.w_max = self.cwnd
            self.level = False
            self.begin, self.w_est = ack.now, self.cwnd
            self.k = ((self.w_max - self.cwnd) / self.C) ** (1 / 3)
        t = ack.now - self.begin
        w = self.cwnd
        ahead = self.C * (t + ack.srtt - self.k) ** 3 + self.w_max
        alpha = 3 * (1 - self.BETA) / (1 + self.BETA) if self.w_est < self.prior else 1.0
        self.w_est += alpha * ack.segments / w
        if self.C * (t - self.k) ** 3 + self.w_max < self.w_est:
            self.set(max(self.w_est, w))
        else:
            self.set(w + (min(max(ahead, w), 1.5 * w) - w) / w * ack.segments)

    def congestion(self) -> None:
        self.undo = (self.w_max, self.prior, self.begin, self.k, self.w_est)
        self.w_max = self.cwnd * (1 + self.BETA) / 2 if self.cwnd < self.w_max else self.cwnd
        self.prior, self.begin = self.cwnd, None

    def on_loss(self) -> None:
        self.congestion()
        self.cut(self.BETA * min(self.flight, self.cwnd))
        self.level = False

    def on_rto(self) -> None:
        self.congestion()
        self.cut(self.BETA * min(self.flight, self.cwnd), to_one=True)
        self.level = True

    def on_pause(self, at_most: float) -> None:
        super().on_pause(at_most)
        self.begin = None

    def on_spurious(self) -> None:
        super().on_spurious()
        self.w_max, self.prior, self.begin, self.k, self.w_est = self.undo


class Dctcp(Control):
    """RFC 8257, section 3.3: g = 1/16, alpha starts at 1."""

    def __init__(self, cwnd: float, ssthresh: float) -> None:
        super().__init__(cwnd, ssthresh)
        self.round, self.alpha = Round(), 1.0
        self.acked = self.marked = 0

    def on_ack(self, ack: Ack) -> None:
        self.acked += ack.segments
        self.marked += ack.segments if ack.marked else 0
        if self.round.over(ack) and self.acked:
            self.alpha += (self.marked / self.acked - self.alpha) / 16
            self.acked = self.marked = 0
        if not ack.in_recovery and ack.limited and not ack.marked:
            self.grow(ack.segments, 1)

    def on_mark(self) -> None:
        self.cut(self.cwnd * (1 - self.alpha / 2))

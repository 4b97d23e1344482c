"""Published rules of congestion controls that respond to delay or to measured bandwidth; see `traces.py`."""

from __future__ import annotations

import math

from rules import INFINITE, Ack, Control, Round


def queued(cwnd: float, base: float, rtt: float) -> float:
    """Segments in the queue: what exceeds the path's own cwnd * base / rtt."""
    return cwnd - cwnd * base / rtt


class Timed(Control):
    """A control that looks at the RTTs of each round."""

    def __init__(self, cwnd: float, ssthresh: float) -> None:
        super().__init__(cwnd, ssthresh)
        self.round, self.base, self.last = Round(), INFINITE, 0.0
        self.rtts: list[float] = []

    def sample(self, ack: Ack) -> None:
        if ack.rtt is not None:
            self.base, self.last = min(self.base, ack.rtt), ack.rtt
            self.rtts.append(ack.rtt)


class Hybla(Timed):
    """Caini and Firrincieli 2004, equation 5, with a reference of 25 ms."""

    def on_ack(self, ack: Ack) -> None:
        self.sample(ack)
        if ack.in_recovery or not ack.limited:
            return
        rho = max(self.base / 0.025, 1) if self.base < INFINITE else 1
        if self.cwnd < self.ssthresh:
            self.set(min(self.cwnd + (2**rho - 1) * ack.segments, self.ssthresh))
        else:
            self.cwnd += rho**2 * ack.segments / self.cwnd


class Veno(Timed):
    """Fu and Liew 2003: from 3 queued segments on, half of Reno's growth and half the window after a loss."""

    congested = True

    def on_ack(self, ack: Ack) -> None:
        self.sample(ack)
        if self.round.over(ack):
            if self.rtts:
                self.congested = queued(self.cwnd, self.base, min(self.rtts)) >= 3
            self.rtts = []
        if not ack.in_recovery and ack.limited:
            self.grow(ack.segments, 0.5 if self.congested else 1)

    def on_loss(self) -> None:
        self.cut((0.5 if self.congested else 0.8) * min(self.flight, self.cwnd))

    def on_rto(self) -> None:
        self.cut(self.flight / 2, to_one=True)


class Illinois(Timed):
    """Liu, Basar and Srikant 2008, section 3, with the values of their table; Reno below 15 segments."""

    alpha, beta, longest, above, low = 10.0, 0.5, 0.0, False, 0

    def decide(self) -> None:
        if self.cwnd < 15:
            self.alpha, self.beta = 1.0, 0.5
            return
        if not self.rtts:
            return
        da, dm = sum(self.rtts) / len(self.rtts) - self.base, self.longest - self.base
        d1, d2, d3 = dm / 100, dm / 10, 8 * dm / 10
        if da > d1:
            self.above = True
            k1 = (dm - d1) * 0.3 * 10 / (10 - 0.3)
            k2 = (dm - d1) * 0.3 / (10 - 0.3) - d1
            self.alpha = k1 / (k2 + da)
        else:
            self.low += self.above
            if not self.above or self.low == 5:
                self.alpha, self.above, self.low = 10.0, False, 0
        self.beta = 1 / 8 if da <= d2 else 1 / 2 if da >= d3 else 1 / 8 + 3 / 8 * (da - d2) / (d3 - d2)

    def on_ack(self, ack: Ack) -> None:
        self.sample(ack)
        self.longest = max(self.longest, self.last)
        if self.round.over(ack):
            self.decide()
            self.rtts = []
        if not ack.in_recovery and ack.limited:
            self.grow(ack.segments, self.alpha)

    def kept(self) -> float:
        return (1 - self.beta) * self.cwnd

    def on_rto(self) -> None:
        super().on_rto()
        self.alpha, self.beta, self.above, self.low, self.rtts = 1.0, 0.5, False, 0, []


class Yeah(Timed):
    """Baiocchi, Castellani and Vacirca 2007: Q_max 80, phi 8, gamma 1, rho 16, zeta 50."""

    queue, reno, slow, fast = 0.0, 2.0, 0, 0

    def decide(self) -> None:
        rtt = min(self.rtts)
        self.queue = queued(self.cwnd, self.base, rtt)
        if self.queue <= 80 and (rtt - self.base) / self.base <= 1 / 8:
            self.slow, self.fast = 0, self.fast + 1
            if self.fast > 50:
                self.reno, self.fast = 2.0, 0
            return
        if self.queue > 80 and self.cwnd > self.reno:
            self.cwnd = self.ssthresh = max(self.cwnd - min(self.queue, self.cwnd / 2), self.reno)
        self.reno = max(self.cwnd / 2, 2.0) if self.reno <= 2 else self.reno + 1
        self.slow += 1

    def on_ack(self, ack: Ack) -> None:
        self.sample(ack)
        if ack.in_recovery or not ack.limited:
            return
        fast = self.cwnd >= self.ssthresh and self.slow == 0
        self.grow(ack.segments, max(self.cwnd / 100, 1.0) if fast else 1)
        if self.round.over(ack):
            if len(self.rtts) >= 3:
                self.decide()
            self.rtts = []

    def kept(self) -> float:
        half = max(self.cwnd / 2, 2.0)
        off = max(min(self.queue, half), self.cwnd / 8) if self.slow < 16 else half
        self.fast, self.reno = 0, max(self.reno / 2, 2.0)
        return self.cwnd - off


class Htcp(Timed):
    """Leith and Shorten 2004; draft-leith-tcp-htcp-06, section 3."""

    def __init__(self, cwnd: float, ssthresh: float) -> None:
        super().__init__(cwnd, ssthresh)
        self.beta, self.alpha = 0.5, 1.0
        self.lost_at: float | None = None
        self.longest, self.longest_before = 0.0, 0.0
        self.began, self.arrived = 0.0, 0
        self.throughput, self.throughput_before = 0.0, 0.0
        self.now = 0.0

    def on_ack(self, ack: Ack) -> None:
        self.now = ack.now
        self.sample(ack)
        self.arrived += ack.segments
        if not ack.in_recovery:
            self.longest = max(self.longest, self.last)
        if self.lost_at is None:
            self.lost_at = ack.now
        if self.round.over(ack):
            if ack.now > self.began:
                self.throughput = self.arrived / (ack.now - self.began)
            self.began, self.arrived = ack.now, 0
            late = max(ack.now - self.lost_at - 1, 0.0)
            self.alpha = 2 * (1 - self.beta) * (1 + 10 * late + (late / 2) ** 2)
        if not ack.in_recovery and ack.limited:
            self.grow(ack.segments, self.alpha)

    def kept(self) -> float:
        longest = max(self.longest, self.longest_before)
        self.beta = 0.5
        before = self.throughput_before
        if before > 0 and longest > 0 and abs(self.throughput - before) <= before / 5:
            self.beta = min(max(self.base / longest, 0.5), 0.8)
        self.throughput_before = self.throughput
        self.longest, self.longest_before = 0.0, self.longest
        self.lost_at = self.now
        self.alpha = 2 * (1 - self.beta)
        return self.beta * self.cwnd

    def on_rto(self) -> None:
        self.cut(self.kept(), to_one=True)
        self.lost_at = None


class Fast(Timed):
    """Wei et al. 2006, equation 4: alpha 20, gamma 1/2; the RTT is averaged with the weight min(3/w, 1/4)."""

    average = 0.0

    def on_ack(self, ack: Ack) -> None:
        self.sample(ack)
        if ack.rtt is not None:
            weight = min(3 / self.cwnd, 0.25) if self.average else 1.0
            self.average += weight * (ack.rtt - self.average)
        if self.round.over(ack) and not ack.in_recovery and ack.limited and self.average:
            w, rtt = self.cwnd, max(self.average, self.base)
            self.set(min(2 * w, w / 2 + (self.base / rtt * w + 20) / 2))

    def kept(self) -> float:
        return self.cwnd / 2


class Vegas(Timed):
    """Brakmo and Peterson 1995: alpha 1, beta 3, gamma 1; a change of one segment a round, slow start every other."""

    add, doubling = 1.0, True

    def decide(self, ack: Ack) -> None:
        if not self.rtts:
            return
        # The time is of the first segment that the ACK acknowledges; since it was sent, all in flight were.
        flight = ack.nxt - ack.una + ack.segments
        diff = max((min(self.cwnd, flight) / self.base - flight / self.last) * self.base, 0.0)
        if self.cwnd < self.ssthresh:
            self.doubling = not self.doubling
            self.add = 1.0 if self.doubling else 0.0
            if self.doubling and diff > 1:
                self.add, self.ssthresh = 0.0, 2.0
        else:
            self.add = 1 / self.cwnd if diff < 1 else 0.0
            if diff > 3:
                self.set(max(self.cwnd - 1, 2.0))

    def on_ack(self, ack: Ack) -> None:
        self.sample(ack)
        if ack.duplicate:
            return
        if self.round.over(ack):
            if not ack.in_recovery:
                self.decide(ack)
            self.rtts = []
        if not ack.in_recovery and ack.limited:
            if self.add == 1.0 and self.cwnd >= self.ssthresh:
                self.add = 0.0
            self.cwnd += self.add * ack.segments

    def on_loss(self) -> None:
        window = min(self.cwnd, max(self.flight, 2.0))
        self.cut(2.0 if window <= 3 else 3 / 4 * window)
        self.ssthresh, self.add = 2.0, 0.0

    def on_rto(self) -> None:
        self.cut(self.flight / 2)
        self.cwnd, self.doubling, self.add = 2.0, True, 1.0


class VegasLinux(Timed):
    """Linux, tcp_vegas: the smallest RTT of a round with three samples or more, divided by the base; alpha 1, beta 3,
    gamma 1. Otherwise Reno."""

    def decide(self, ack: Ack) -> None:
        slow = self.cwnd < self.ssthresh
        if len(self.rtts) <= 2:
            if not slow and ack.limited:
                self.grow(ack.segments, 1)
            return
        rtt = min(self.rtts)
        diff = self.cwnd * (rtt - self.base) / self.base
        if slow and diff > 1:
            self.cwnd = max(min(self.cwnd, math.floor(self.cwnd * self.base / rtt) + 1), 2.0)
            self.ssthresh = max(min(self.ssthresh, self.cwnd - 1), 2.0)
        elif not slow and diff > 3:
            self.cwnd = max(self.cwnd - 1, 2.0)
            self.ssthresh = max(min(self.ssthresh, self.cwnd - 1), 2.0)
        elif not slow and diff < 1:
            self.cwnd += 1

    def on_ack(self, ack: Ack) -> None:
        self.sample(ack)
        if ack.duplicate:
            return
        if self.round.over(ack):
            if not ack.in_recovery:
                self.decide(ack)
            self.rtts = []
        if not ack.in_recovery and ack.limited and self.cwnd < self.ssthresh:
            self.cwnd += ack.segments

    def on_loss(self) -> None:
        self.cut(self.cwnd / 2)


class Compound(Timed):
    """Tan et al. 2006 as given by Oda et al. 2012, equations 1 to 6: beta 1/2, alpha 1/8, k 0.8, gamma 30, zeta 1."""

    def __init__(self, cwnd: float, ssthresh: float) -> None:
        super().__init__(cwnd, ssthresh)
        self.reno, self.delay, self.delay_before = cwnd, 0.0, 0.0
        self.fresh, self.sent = True, 0.0

    def sum(self, reno: float, delay: float) -> None:
        self.reno, self.delay = max(reno, 1.0), delay
        self.cwnd = self.reno + self.delay

    def on_ack(self, ack: Ack) -> None:
        self.sample(ack)
        if ack.duplicate or ack.in_recovery:
            return
        begins = True
        if self.fresh:
            self.fresh, self.round.end = False, ack.nxt
        elif self.round.over(ack):
            if self.cwnd >= self.ssthresh and ack.limited and self.rtts:
                rtt = sum(self.rtts) / len(self.rtts)
                diff = queued(self.sent, self.base, rtt)
                if diff < 30:
                    self.sum(self.reno, self.delay + max(self.sent**0.8 / 8 - 1, 0.0))
                else:
                    self.sum(self.reno, max(self.delay - diff, 0.0))
        else:
            begins = False
        if begins:
            self.rtts, self.sent = [], float(ack.nxt - ack.una + ack.segments)
        if ack.limited:
            slow = self.cwnd < self.ssthresh
            self.sum(self.reno + (ack.segments if slow else ack.segments / self.cwnd), self.delay)

    def on_loss(self) -> None:
        self.before, self.delay_before = (self.reno, self.ssthresh), self.delay
        half = self.cwnd / 2
        self.ssthresh = max(half, 2.0)
        self.sum(self.reno / 2, max(half - self.reno / 2, 0.0))
        self.fresh = True

    def on_rto(self) -> None:
        self.before, self.delay_before = (self.reno, self.ssthresh), self.delay
        self.ssthresh = max(self.cwnd / 2, 2.0)
        self.sum(1.0, 0.0)
        self.fresh = True

    def limit(self, at_most: float) -> None:
        over = max(self.cwnd - max(at_most, 1.0), 0.0)
        delay = min(over, self.delay)
        self.sum(self.reno - (over - delay), self.delay - delay)

    def on_recovery_exit(self, at_most: float) -> None:
        self.limit(at_most)

    def on_pause(self, at_most: float) -> None:
        self.limit(at_most)
        self.fresh = True

    def on_spurious(self) -> None:
        self.ssthresh = max(self.ssthresh, self.before[1])
        self.sum(max(self.reno, self.before[0]), max(self.delay, self.delay_before))


class Arrivals:
    """Mascolo et al. 2001, section 2: a duplicate reports a segment, so a later ACK for several counts one fewer."""

    def __init__(self) -> None:
        self.reported = 0

    def count(self, ack: Ack) -> int:
        if ack.duplicate:
            self.reported += 1
            return 1
        if ack.segments <= 1:
            return ack.segments
        if self.reported >= ack.segments:
            self.reported -= ack.segments
            return 1
        news, self.reported = ack.segments - self.reported, 0
        return news


class Westwood(Timed):
    """Mascolo et al. 2001: Tustin's filter of each sample, tau 0.5 s; a sample of zero after each 0.25 s of silence."""

    def __init__(self, cwnd: float, ssthresh: float) -> None:
        super().__init__(cwnd, ssthresh)
        self.arrivals, self.since = Arrivals(), -1.0
        self.rate = self.sampled = 0.0
        self.pending, self.pipe = 0, 2.0

    def filter(self, sample: float, delta: float) -> None:
        a = (1 - delta) / (1 + delta)  # 2 tau = 1 s
        self.rate = a * self.rate + (1 - a) * (sample + self.sampled) / 2
        self.sampled = sample

    def on_ack(self, ack: Ack) -> None:
        self.pending += self.arrivals.count(ack)
        if self.since < 0:
            self.since, self.pending = ack.now, 0
        elif ack.now > self.since:
            delta, self.since = ack.now - self.since, ack.now
            silences = 0
            while delta > 0.25 and silences < 64:
                self.filter(0.0, 0.25)
                delta -= 0.25
                silences += 1
            delta = min(delta, 0.25)
            self.filter(self.pending / delta, delta)
            self.pending = 0
        if ack.min_rtt < INFINITE:
            self.pipe = self.rate * ack.min_rtt
        if not ack.in_recovery and ack.limited:
            self.grow(ack.segments, 1)

    def on_loss(self) -> None:
        cwnd = self.cwnd
        self.cut(self.pipe)
        self.cwnd = min(self.cwnd, cwnd)

    def on_rto(self) -> None:
        self.cut(self.pipe, to_one=True)


class Bandwidth:
    """Grieco and Mascolo 2004: a sample a round, of which a tenth counts."""

    def __init__(self) -> None:
        self.arrivals, self.round = Arrivals(), Round()
        self.since, self.sum, self.rate = -1.0, 0, 0.0

    def add(self, ack: Ack) -> None:
        self.sum += self.arrivals.count(ack)
        over = self.round.over(ack)
        if self.since < 0:
            self.since, self.sum = ack.now, 0
        elif over and ack.now > self.since:
            self.rate += (self.sum / (ack.now - self.since) - self.rate) / 10
            self.since, self.sum = ack.now, 0


class WestwoodPlus(Timed):
    """Grieco and Mascolo 2004."""

    def __init__(self, cwnd: float, ssthresh: float) -> None:
        super().__init__(cwnd, ssthresh)
        self.bandwidth, self.pipe = Bandwidth(), 2.0

    def on_ack(self, ack: Ack) -> None:
        self.bandwidth.add(ack)
        if ack.min_rtt < INFINITE:
            self.pipe = self.bandwidth.rate * ack.min_rtt
        if not ack.in_recovery and ack.limited:
            self.grow(ack.segments, 1)

    def kept(self) -> float:
        return self.pipe


class WestwoodPlusLinux(Control):
    """Linux, tcp_westwood: a sample after more than an RTT and 50 ms, two filters of 7/8; a loss halves the window, and
    the end of recovery sets it to bandwidth times smallest RTT, which a timeout measures anew."""

    def __init__(self, cwnd: float, ssthresh: float) -> None:
        super().__init__(cwnd, ssthresh)
        self.arrivals, self.since, self.sum = Arrivals(), -1.0, 0
        self.inner = self.outer = 0.0
        self.least, self.pipe = INFINITE, 2.0

    def on_ack(self, ack: Ack) -> None:
        if self.since < 0:
            self.since = ack.now
        rtt = ack.srtt if ack.rtt is None else ack.rtt
        if round(1e9 * (ack.now - self.since)) > max(round(1e9 * rtt), 50_000_000):
            sample = self.sum / (ack.now - self.since)
            if self.inner == self.outer == 0:
                self.inner = self.outer = sample
            else:
                self.inner = self.inner * 7 / 8 + sample / 8
                self.outer = self.outer * 7 / 8 + self.inner / 8
            self.since, self.sum = ack.now, 0
        self.sum += self.arrivals.count(ack)
        if ack.rtt is not None:
            self.least = min(self.least, ack.rtt)
        if self.least < INFINITE:
            self.pipe = max(float(math.floor(self.outer * self.least)), 2.0)
        if not ack.in_recovery and ack.limited:
            self.grow(ack.segments, 1)

    def on_loss(self) -> None:
        self.cut(float(math.floor(self.cwnd / 2)))

    def on_rto(self) -> None:
        self.cut(self.pipe, to_one=True)
        self.least = INFINITE

    def on_recovery_exit(self, at_most: float) -> None:
        self.cwnd = self.ssthresh = self.pipe
        super().on_recovery_exit(at_most)


class Fusion(Timed):
    """Kaneko et al. 2007: D_min 4 ms, D_inc 1 ms; the RTT is the smallest of the last round."""

    def __init__(self, cwnd: float, ssthresh: float) -> None:
        super().__init__(cwnd, ssthresh)
        self.bandwidth, self.reno, self.rtt = Bandwidth(), 0.0, 0.0

    def on_ack(self, ack: Ack) -> None:
        self.bandwidth.add(ack)
        self.sample(ack)
        if self.round.over(ack):
            self.rtt = min(self.rtts, default=self.rtt)
            self.rtts = []
        if ack.in_recovery or not ack.limited:
            return
        w = self.cwnd
        if w < self.ssthresh:
            self.cwnd = self.reno = w + ack.segments
            return
        self.reno += ack.segments / w
        if self.rtt > 0:
            diff, alpha = queued(w, self.base, self.rtt), max(w * 0.004 / self.rtt, 1.0)
            if diff < alpha:
                self.cwnd += max(self.bandwidth.rate * 0.001, 1.0) * ack.segments / w
            elif diff > 3 * alpha:
                self.set(w - (diff - alpha) * ack.segments / w)
        self.cwnd = max(self.cwnd, self.reno)

    def kept(self) -> float:
        return max(self.base / self.last * self.cwnd if self.last else 0.0, self.cwnd / 2)

    def on_loss(self) -> None:
        self.cut(self.kept())
        self.reno = self.cwnd

    def on_rto(self) -> None:
        self.cut(self.kept(), to_one=True)
        self.reno = 1.0


class Areno(Timed):
    """Shimonishi, Hama and Murase 2006: M 10 Mb/s, A 10, a 0.85."""

    def __init__(self, cwnd: float, ssthresh: float) -> None:
        super().__init__(cwnd, ssthresh)
        self.bandwidth, self.probe, self.at_loss = Bandwidth(), 0.0, 0.0

    def c(self) -> float:
        if self.at_loss <= self.base or self.last <= self.base:
            return 0.0
        return min((self.last - self.base) / (self.at_loss - self.base), 1.0)

    def on_ack(self, ack: Ack) -> None:
        self.bandwidth.add(ack)
        self.sample(ack)
        if ack.in_recovery or not ack.limited:
            return
        if self.cwnd < self.ssthresh:
            self.cwnd += ack.segments
            return
        most = self.bandwidth.rate * 8000 / 10e6
        e = math.exp(-10)
        b = 2 * most * (1 / 10 - (1 / 10 + 1) * e)
        g = 1 - 2 * most * (1 / 10 - (1 / 10 + 1 / 2) * e)
        c = self.c()
        grown = most * math.exp(-10 * c) + b * c + g
        probe = min(self.probe, self.cwnd)
        reno = self.cwnd - probe + ack.segments / self.cwnd
        self.probe = max(probe + grown * ack.segments / self.cwnd, 0.0)
        self.set(reno + self.probe)

    def kept(self) -> float:
        if self.last:
            self.at_loss = 0.85 * self.at_loss + 0.15 * self.last if self.at_loss else self.last
        self.probe = 0.0
        return self.cwnd / (1 + self.c())


class Ledbat(Control):
    """RFC 6817, section 2.4.2: target 100 ms, gain 1, the last four delays, minima of ten minutes."""

    def __init__(self, cwnd: float, ssthresh: float) -> None:
        super().__init__(cwnd, ssthresh)
        self.current: list[float] = []
        self.minutes: dict[int, float] = {}

    def on_ack(self, ack: Ack) -> None:
        if ack.rtt is not None:
            minute = int(ack.now // 60)
            self.minutes[minute] = min(self.minutes.get(minute, INFINITE), ack.rtt)
            self.minutes = {m: delay for m, delay in self.minutes.items() if m > minute - 10}
            self.current = [*self.current, ack.rtt][-4:]
        if ack.in_recovery or not ack.segments or not self.current:
            return
        off_target = (0.1 - max(min(self.current) - min(self.minutes.values()), 0.0)) / 0.1
        grown = self.cwnd + off_target * ack.segments / self.cwnd
        most = max(ack.nxt - ack.una + ack.segments + 1, self.cwnd)
        self.set(max(min(grown, most), min(2.0, self.cwnd)))

    def on_loss(self) -> None:
        self.cut(max(self.cwnd / 2, 2.0))

    def on_rto(self) -> None:
        self.cut(self.cwnd / 2, to_one=True)

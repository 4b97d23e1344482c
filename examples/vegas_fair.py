"""Vegas-Fair in Python: a congestion control of your own, and a run that compares it with wifair's own.

Source: Y.-J. Jung and C. Y. Park, "Instantaneous Fairness of TCP in Heterogeneous Traffic Wireless LAN Environments",
2016, Fig. 5, on the Vegas of ns-2. Run it as ``python examples/vegas_fair.py``.
"""

from __future__ import annotations

import math

import wifair


class VegasFair(wifair.CongestionControl):
    wants_fine_timer = True  # Vegas looks at its timer at duplicate ACKs
    alpha, beta, gamma, pause_ns, intro_length = 1.0, 3.0, 1.0, 1_000_000_000, 5000
    base, rtt_sum, rtts, end, increment, doubling = math.inf, 0.0, 0, 0, 1.0, True
    ended_ns, last_ns, session, raised = -1, -1_000_000_000, 0, False

    def on_send(self, payload: int, end: int) -> None:
        paused = self.now_ns - self.last_ns >= self.pause_ns
        self.last_ns, self.session = self.now_ns, payload + (0 if paused else self.session)
        self.raised = paused or (self.raised and self.session < self.intro_length)

    def on_ack(self, ack: wifair.Ack) -> None:
        transit = (ack.nxt - ack.una) / ack.mss + 1.0
        if ack.una > self.end:  # the first segment of the last round trip is acknowledged
            if not ack.in_recovery:
                self.decide((ack.nxt - self.end) / ack.mss, transit)
            self.end, self.rtt_sum, self.rtts, self.ended_ns = ack.nxt, 0.0, 0, self.now_ns
        if ack.segments and ack.window_limited and not ack.in_recovery:
            if self.increment >= 1.0 and self.cwnd >= self.ssthresh:
                self.increment = 0.0
            if self.cwnd - transit <= 2.0:
                self.cwnd += self.increment * ack.segments
        if ack.rtt_s:
            self.base = min(self.base, ack.rtt_s)
            self.rtt_sum, self.rtts = self.rtt_sum + ack.rtt_s, self.rtts + 1

    def decide(self, sent: float, transit: float) -> None:
        slow_start = self.cwnd < self.ssthresh
        if slow_start:  # the window doubles every other round trip
            self.doubling = not self.doubling
            self.increment = float(self.doubling)
        if self.rtts or 0 <= self.ended_ns < self.now_ns:
            # Without a sample it is the time since the last decision.
            rtt = self.rtt_sum / self.rtts if self.rtts else (self.now_ns - self.ended_ns) * 1e-9
            self.base = rtt if sent <= 1.0 else self.base
            queued = math.floor((transit / self.base - sent / rtt) * self.base + 0.5)
            if slow_start and self.doubling and queued > self.gamma:
                self.increment, self.ssthresh, self.cwnd = 0.0, 2.0, max(self.cwnd * 0.875, 2.0)
            elif not slow_start and queued > self.beta + 2 * self.raised:
                self.increment, self.cwnd = 0.0, max(self.cwnd - 1.0, 2.0)
            elif not slow_start:
                self.increment = 1.0 / self.cwnd if queued < self.alpha + self.raised else 0.0

    def on_loss(self, in_flight: float) -> None:
        window = min(self.cwnd, max(in_flight, 2.0))
        self.cwnd = math.floor(window) - math.floor(window) // 4 if window > 3.0 else 2.0
        self.ssthresh = 2.0

    def on_timeout(self, in_flight: float) -> None:
        self.cwnd, self.ssthresh = 2.0, max(2.0, math.floor(in_flight / 2.0))

    def on_idle_restart(self, at_most: float) -> None:
        self.on_timeout(self.cwnd)


SCENARIO = {
    "name": "a stream beside intermittent traffic",
    "duration": "60 s",
    "wlan": {"standard": "802.11b"},
    "servers": [{"name": "server", "delay": "20 ms"}],
    "stations": [{"name": "sta", "count": 4}],
    "tcp": {"stack": "ns2", "recovery": "reno", "receive_window": "50 packets", "cc": VegasFair},
    "flows": [
        {"name": "up", "station": "sta", "server": "server", "direction": "up"},
        {
            "name": "short",
            "station": "sta",
            "server": "server",
            "direction": "up",
            "workload": "periodic",
            "periodic": {"length": "20 kB", "period": "5 s"},
        },
    ],
}


def main() -> None:
    """Run both and show that their results are equal."""
    mine = wifair.Scenario.from_dict(SCENARIO)
    built_in = mine.with_({"flows.tcp.cc": "vegas-fair"})
    for name, scenario in (("in Python", mine), ("built in", built_in)):
        flows = wifair.run(scenario, seeds=[1]).flows
        print(f"{name:9}", *(f"{goodput / 1e6:.6f}" for goodput in flows["goodput_bps"]), "Mb/s")


if __name__ == "__main__":
    main()

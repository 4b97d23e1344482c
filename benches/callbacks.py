"""What a call of a user's own class costs: the goal is 3 microseconds of CPU time.

`python benches/callbacks.py`: runs with a congestion control in Python that does nothing and one whose `on_send` does
nothing take turns; the difference of their CPU times, over the calls.
"""

from __future__ import annotations

import statistics
import time

import wifair

SCENARIO = wifair.Scenario.from_dict(
    {
        "duration": "60 s",
        "wlan": {"standard": "802.11g"},
        "servers": [{"name": "server"}],
        "stations": [{"name": "sta", "count": 2}],
        "flows": [{"name": "up", "station": "sta"}],
    }
)
ROUNDS = 7


class Plain(wifair.CongestionControl):
    """Without a method of its own."""


class Idle(wifair.CongestionControl):
    """A call for each segment that is sent."""

    calls = 0

    def on_send(self, payload: int, end: int) -> None:
        """Count the call: a part of what is measured."""
        Idle.calls += payload > 0 and end > 0


def cpu_s(control: type[wifair.CongestionControl]) -> float:
    """CPU time of a run [s]."""
    began = time.process_time()
    wifair.run(SCENARIO.with_({"flows.tcp.cc": control}), seeds=[1], threads=1)
    return time.process_time() - began


def main() -> None:
    """Measure, and print the median and the spread."""
    cpu_s(Idle)
    costs = []
    for _ in range(ROUNDS):
        Idle.calls = 0
        without, with_calls = cpu_s(Plain), cpu_s(Idle)
        costs.append((with_calls - without) / Idle.calls * 1e6)
    print(
        f"{Idle.calls} calls of on_send: {statistics.median(costs):.2f} us each ({min(costs):.2f} to {max(costs):.2f})"
    )


if __name__ == "__main__":
    main()

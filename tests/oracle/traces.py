"""Windows of congestion controls along scripted connections, from their published rules.

Each class of `rules` and `rules_by_delay` states one control as its paper or RFC does, in plain floating-point segments
and seconds. A script of ACKs, losses, timeouts, marks and pauses drives it; a generator of pseudorandom numbers, the
same here and in the core's test, makes the script. ``python tests/oracle/regenerate.py traces`` writes
``crates/tcp/src/cc/traces.csv``: the window and the threshold after every fourth event, to which the core is held.

Details that a paper leaves open are those that ``docs/congestion-controls.md`` and the module's first comment state,
such as: no growth in recovery or on an unused window, a threshold of at least two segments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import rules
import rules_by_delay as delay
from rules import INFINITE, Ack, Control

EVENTS = 480
STEP = 4
STARTS = ((10.0, INFINITE, 200), (100.0, 50.0, 200), (30.0, 300.0, 1000))
"""Initial window and threshold of the three connections of each control, in segments; events for three losses."""


class Numbers:
    """D. Knuth's 64-bit linear congruential generator (MMIX), upper bits."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def below(self, n: int) -> int:
        """The next number, below `n`."""
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % n


CONTROLS: dict[str, Callable[[float, float], Control]] = {
    "newreno": rules.Reno,
    "scalable": rules.Scalable,
    "highspeed": rules.HighSpeed,
    "bic": rules.Bic,
    "cubic": rules.Cubic,
    "hybla": delay.Hybla,
    "veno": delay.Veno,
    "illinois": delay.Illinois,
    "yeah": delay.Yeah,
    "htcp": delay.Htcp,
    "fast": delay.Fast,
    "vegas": delay.Vegas,
    "vegas-linux": delay.VegasLinux,
    "compound": delay.Compound,
    "westwood": delay.Westwood,
    "westwood-plus": delay.WestwoodPlus,
    "westwood-plus-linux": delay.WestwoodPlusLinux,
    "fusion": delay.Fusion,
    "areno": delay.Areno,
    "ledbat": delay.Ledbat,
    "dctcp": rules.Dctcp,
}


def play(control: Control, seed: int, rarity: int) -> Iterator[tuple[float, float]]:
    """Window and threshold after each event of the script that `seed` gives."""
    numbers = Numbers(seed)
    below = numbers.below
    now_ms, una, nxt, recover = 1, 0, 10, 0
    base_ms, phase, srtt, least = 40, 0, 0.0, INFINITE
    for event in range(EVENTS):
        if event % 40 == 0:
            phase = below(5)
        now_ms += 200 + below(1200) if below(30) == 0 else below(12)
        kind = below(rarity)
        control.flight = float(nxt - una)
        if kind < 3:
            control.on_loss()
            recover = nxt
        elif kind == 3:
            control.on_rto()
            recover = 0
        elif kind == 4:
            control.on_pause(float(1 + below(40)))
        elif kind == 5:
            control.on_spurious()
        elif kind < 8:
            control.on_mark()
        else:
            duplicate = below(12) == 0
            segments = 0 if duplicate else min(1 + below(8), nxt - una)
            extra = [0, below(4), (0, 5, 10, 20)[below(4)], 30 + below(60), below(90)][phase]
            rtt = None if below(10) == 0 else (base_ms + extra) / 1000
            limited, marked, lost = below(9) != 0, below(25) == 0, int(below(15) == 0)
            if rtt is not None:
                least = min(least, rtt)
                srtt = srtt + (rtt - srtt) / 8 if srtt else rtt
            una += segments
            nxt = max(nxt, una + 1, una + math.floor(control.cwnd))
            now = now_ms / 1000
            control.on_ack(
                Ack(now, una, nxt, segments, rtt, srtt, least, duplicate, recover > 0, limited, marked, lost)
            )
            if 0 < recover <= una:
                control.on_recovery_exit(float(nxt - una) if below(2) else INFINITE)
                recover = 0
        yield control.cwnd, control.ssthresh


def rows() -> Iterator[tuple[str, int, float, float]]:
    """Control, connection, window and threshold after every fourth event."""
    for name, control in CONTROLS.items():
        for connection, (cwnd, ssthresh, rarity) in enumerate(STARTS):
            for event, state in enumerate(play(control(cwnd, ssthresh), 1 + connection, rarity)):
                if event % STEP == STEP - 1:
                    yield (name, connection, *state)

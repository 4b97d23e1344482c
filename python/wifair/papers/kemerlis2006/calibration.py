"""Calibration of kemerlis2006, on published values of a single client only.

The testbed had properties that the paper does not give. Three of them are fitted here, each to one published value, so
that these three values are inputs, not predictions:

| parameter | fitted to |
|---|---|
| rate of control frames, one of 802.11b's four | downlink at location A |
| attenuation of the path to location B | downlink at B over that at A |
| attenuation of the path from location B | uplink at B |

Bit errors are random, so longer frames are lost more often. In the reading "loss per frame" the parameter is not the
attenuation but the probability that a data frame is lost, whatever its length. In the readings "on/off" it is the
fraction of the time in which the link is down and loses every frame.

Nothing is fitted to two clients: those are predicted. ``python -m wifair.papers.kemerlis2006`` computes
`calibration.csv` again, which the experiments read.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from wifair.reproduce.table import read_records
from wifair.scenario.scenario import Scenario
from wifair.simulation.simulate import run

HERE = Path(__file__).parent
FILE = HERE / "calibration.csv"
SEEDS = tuple(range(1, 11))

Changes = Mapping[str, object]

PUBLISHED = {"A down": 647_822.0, "B down": 474_680.0, "B up": 341_243.0}
"""Throughput of a single client without RTS [bytes/s], from the text."""

CONTROL: Mapping[str, Changes] = {
    rate: {"wlan.basic_rate": rate} for rate in ("1 Mb/s", "2 Mb/s", "5.5 Mb/s", "11 Mb/s")
}
"""Rates of control frames. At 1 Mb/s a frame has the long preamble whatever is set (IEEE Std 802.11-2016, 16.2.2.3)."""

PER_FRAME_RADIO: Changes = {"space.reception.spoils": "threshold", "space.reception.capture_threshold": "4 dB"}
CYCLES_S: Mapping[str, float] = {"20 ms": 0.02, "200 ms": 0.2, "2 s": 2.0}
"""Mean time from one outage to the next in the readings "on/off" [s]: from about a tenth of a round-trip time up."""

READINGS: Mapping[str, Changes] = {
    "taken": {},
    "loss per frame": PER_FRAME_RADIO,
    **{f"on/off {cycle}": PER_FRAME_RADIO for cycle in CYCLES_S},
    "2 Mb/s": CONTROL["2 Mb/s"],
    "4 tries": {"wlan.short_retry_limit": 4},
    "3 tries": {"wlan.short_retry_limit": 3, "wlan.long_retry_limit": 3},
}
"""Readings of open points that affect a single client: the one taken, then others, each calibrated separately."""


class Calibrated(NamedTuple):
    """Fitted parameters, and the throughput that they give."""

    reading: str
    """The reading, one of `READINGS`."""
    control: str
    """Rate of control frames."""
    down: float
    """Path to location B: attenuation [dB], loss probability of a data frame, or fraction of the time down."""
    up: float
    """The same for the path from location B."""
    a_down: float
    """Downlink throughput of a single client at A [bytes/s]."""
    b_down: float
    """Downlink throughput at B [bytes/s]."""
    b_up: float
    """Uplink throughput at B [bytes/s]."""

    @property
    def weak(self) -> dict[str, object]:
        """Get the changes for Apollo at location B."""
        far: dict[str, object] = {"space.paths[0].gain": "-111 dB", "space.paths[1].gain": "-111 dB"}
        if self.reading == PER_FRAME:
            return {**far, "stations.apollo.data_error_down": self.down, "stations.apollo.data_error_up": self.up}
        if self.reading.startswith(ON_OFF):
            cycle_s = CYCLES_S[self.reading.removeprefix(ON_OFF)]
            for direction, part in (("down", self.down), ("up", self.up)):
                for state, share in (("up", 1 - part), ("down", part)):
                    far[f"stations.apollo.outage_{direction}.{state}"] = f"{max(cycle_s * share, 1e-6):.9f} s"
            return far
        return {"space.paths[0].gain": f"-{self.up:g} dB", "space.paths[1].gain": f"-{self.down:g} dB"}


PER_FRAME, ON_OFF = "loss per frame", "on/off "


def throughput(changes: Changes) -> float:
    """Measure the throughput of a single client [bytes/s], mean over the seeds."""
    sessions = run(Scenario.from_file(HERE / "single.toml").with_(changes), seeds=SEEDS).sessions
    rates = sessions["length_bytes"] / sessions["acked_after_s"]
    return float(np.nan_to_num(rates).mean())  # NaN if the transfer does not finish


def calibrate(reading: str = "taken") -> Calibrated:
    """Find the parameters of a reading."""
    given = READINGS[reading]
    if "wlan.basic_rate" in given:
        control = str(given["wlan.basic_rate"])
    else:
        found = {rate: throughput({**given, **changes}) for rate, changes in CONTROL.items()}
        control = min(found, key=lambda rate: abs(found[rate] - PUBLISHED["A down"]))
    changes = {**given, **CONTROL[control]}
    a_down = throughput(changes)

    def at_b(down: float, up: float, direction: str) -> float:
        errors = Calibrated(reading, control, down, up, 0, 0, 0).weak
        return throughput({**changes, **errors, "flows.direction": direction})

    # TCP's ACKs go the other way, so each parameter affects both directions, but one more than the other.
    low, high, step = SCALES[reading == PER_FRAME or reading.startswith(ON_OFF)]
    down = up = (low + high) / 2
    ratio = PUBLISHED["B down"] / PUBLISHED["A down"]
    for _ in range(ROUNDS):
        down = _falls_to(ratio * a_down, partial(at_b, up=up, direction="down"), low, high, step)
        up = _falls_to(PUBLISHED["B up"], partial(at_b, down, direction="up"), low, high, step)
    return Calibrated(reading, control, down, up, a_down, at_b(down, up, "down"), at_b(down, up, "up"))


ROUNDS = 4
SCALES = {True: (0.0, 0.9, 0.005), False: (107.0, 111.0, 0.01)}
"""Least and greatest parameter and search step, by whether it is a probability or fraction of time.

One step is 1 to 2 % of throughput, about the error of a mean of ten runs.
"""


def _falls_to(wanted: float, function: Callable[[float], float], least: float, most: float, unit: float) -> float:
    """Find the parameter, a whole number of steps, at which a decreasing function is nearest to a value."""
    low, high = 0, round((most - least) / unit)
    known: dict[int, float] = {}

    def at(step: int) -> float:
        if step not in known:
            known[step] = function(round(least + step * unit, 6))
        return known[step]

    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if at(middle) > wanted else (low, middle)
    return round(least + min((low, high), key=lambda step: abs(at(step) - wanted)) * unit, 6)


@cache
def calibrated(reading: str = "taken") -> Calibrated:
    """Read the result of `calibrate` from `calibration.csv`."""
    for row in read_records(FILE):
        if row["reading"] == reading:
            return Calibrated(reading, row["control"], *(float(row[name]) for name in Calibrated._fields[2:]))
    raise LookupError(f"{FILE.name} has no reading `{reading}`")


def main(keep: Container[str] = ()) -> None:
    """Write `calibration.csv`; the readings in `keep` are not computed again."""
    lines = [
        "# Written by calibration.py. Attenuations [dB]; with loss per frame probabilities, with on/off parts of time.",
        "# Throughput in bytes/s.",
        ",".join(Calibrated._fields),
    ]
    for reading in READINGS:
        found = calibrated(reading) if reading in keep else calibrate(reading)
        figures = (*found[:2], *(f"{p:g}" for p in found[2:4]), *(f"{x:.0f}" for x in found[4:]))
        lines.append(",".join(figures))
        print(lines[-1], flush=True)
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")

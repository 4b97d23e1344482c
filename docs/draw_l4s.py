"""Runs the sweep of docs/l4s-over-wifi.md, writes its table and draws its figures: ``python docs/draw_l4s.py``.

``--quick`` runs two seeds instead of five, ``--draw`` draws from the table that is there.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import wifair
from wifair.statistics import mean_interval

DOCS = Path(__file__).parent
TABLE = DOCS / "l4s-over-wifi.csv"
FIGURES = DOCS / "figures"

CELL = """
duration = "12 s"
warm_up = "4 s"
[wlan]
standard = "802.11ax"
band = "5 GHz"
width = 20
mcs = 7
aggregation.max_ppdu_time = "{ppdu_ms} ms"
{wlan}
[ap]
queue.limit = "8192 packets"
queue_limit_is_total = true
queue.discipline = "{discipline}"
{queue}
[[servers]]
name = "server"
rate = "10 Gb/s"
delay = "10 ms"
[tcp]
stack = "linux"
gro = true
"""

STATION = """
[[stations]]
name = "{station}"
count = {stations}
"""

FLOW = """
[[flows]]
name = "{name}"
station = "{station}"
direction = "down"
start_spread = "200 ms"
tcp = {tcp}
"""

CONTROLS = {
    "prague": '{ cc = "prague" }',
    "bbr3": '{ cc = "bbr3", ecn = true, accurate_ecn = "both", bbr3.ecn = true }',
    "bbr3-no-ecn": '{ cc = "bbr3" }',
    "cubic-ecn": '{ cc = "cubic", ecn = true }',
    "cubic": '{ cc = "cubic" }',
}
THRESHOLDS_MS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
PPDUS_MS = (0.5, 1.0, 2.0, 5.4)
STATIONS = (1, 2, 5, 10, 20)


NAMES = {
    "prague": "TCP Prague",
    "bbr3": "BBRv3 with ECN",
    "bbr3-no-ecn": "BBRv3",
    "cubic": "CUBIC",
    "cubic-ecn": "CUBIC, ECN",
}

COLUMNS: tuple[tuple[str, str, float, Callable[..., float]], ...] = (
    ("goodput_mbps", "goodput_bps", 1e-6, np.sum),
    ("owd_mean_ms", "owd_mean_s", 1e3, np.mean),
    ("owd_p99_ms", "owd_p99_s", 1e3, np.mean),
)
"""Columns of the table, of the flows, units, and what becomes of several flows."""


@dataclass(frozen=True)
class Point:
    """A cell: which part of the page it belongs to, and its settings."""

    part: str
    flows: tuple[str, ...]
    threshold_ms: float = 0.0
    """0 for none."""
    ppdu_ms: float = 5.4
    stations: int = 1
    discipline: str = "airtime"
    aggregates: bool = True
    apart: bool = False
    """Whether each congestion control has a station of its own."""

    @property
    def text(self) -> str:
        """The scenario."""
        threshold = f"{self.threshold_ms:g} ms"
        match self.discipline:
            case "airtime" if self.threshold_ms:
                queue = f'queue.airtime.ce_threshold = "{threshold}"'
            case "dualpi2":
                queue = f'queue.dualpi2.step = "{threshold}"'
            case _:
                queue = ""
        wlan = "" if self.aggregates else 'aggregation.max_ampdu = "0 B"'
        text = CELL.format(ppdu_ms=self.ppdu_ms, wlan=wlan, discipline=self.discipline, queue=queue)
        stations = [f"at-{name}" if self.apart else "station" for name in self.flows]
        for station in dict.fromkeys(stations):
            text += STATION.format(station=station, stations=self.stations)
        for name, station in zip(self.flows, stations, strict=True):
            text += FLOW.format(name=name, station=station, tcp=CONTROLS[name])
        return text


def points() -> Iterator[Point]:
    """All cells of the page. Controls: without aggregates, with Linux's queues as they are, with shorter PPDUs."""
    for name in ("prague", "bbr3"):
        for threshold, ppdu in product(THRESHOLDS_MS, PPDUS_MS):
            yield Point("threshold", (name,), threshold, ppdu)
        yield from (Point("no aggregates", (name,), threshold, aggregates=False) for threshold in THRESHOLDS_MS)
    for name in CONTROLS:
        yield from (Point("no threshold", (name,), ppdu_ms=ppdu) for ppdu in PPDUS_MS)
        yield Point("no aggregates", (name,), aggregates=False)
    for name, stations in product(CONTROLS, STATIONS):
        thresholds = (1.0, 5.0, 0.0) if name in ("prague", "bbr3") else (0.0,)
        yield from (Point("stations", (name,), threshold, stations=stations) for threshold in thresholds)
    for other, threshold in product(("cubic-ecn", "cubic", "bbr3"), (1.0, 5.0, 20.0)):
        yield Point("together", ("prague", other), threshold)
        yield Point("together", ("prague", other), threshold, apart=True)
        yield Point("together", ("prague", other), threshold, discipline="dualpi2")
    for apart, ppdu in product((False, True), PPDUS_MS[:-1]):
        yield Point("together", ("prague", "cubic"), 1.0, ppdu, apart=apart)
    for apart in (False, True):
        yield Point("together", ("prague", "cubic"), apart=apart)
        yield Point("together", ("prague", "cubic"), 1.0, aggregates=False, apart=apart)
    yield from (Point("together", ("bbr3", "cubic"), threshold) for threshold in (1.0, 0.0))


def measure(point: Point, seeds: list[int]) -> Iterator[dict[str, object]]:
    """Give a row for each congestion control: means over its flows, with 95 % intervals over the seeds."""
    results = wifair.run(wifair.Scenario.from_text(point.text), seeds=seeds)
    flows = results.flows
    names = np.array([str(name) for name in flows["name"]])
    for name in point.flows:
        own = np.array([re.fullmatch(rf"{name}(-?\d+)?", one) is not None for one in names])
        row: dict[str, object] = {
            "part": point.part, "control": name, "beside": " ".join(other for other in point.flows if other != name),
            "discipline": point.discipline, "threshold_ms": point.threshold_ms, "ppdu_ms": point.ppdu_ms,
            "stations": point.stations, "aggregates": point.aggregates, "apart": point.apart,
        }  # fmt: skip
        for column, source, unit, reduce in COLUMNS:
            by_seed = [unit * float(reduce(flows[source][own & (flows["seed"] == seed)])) for seed in seeds]
            interval = mean_interval(by_seed)
            row[column] = f"{interval.mean:.4g}"
            row[column + "_ci"] = f"{interval.half_width:.2g}"
        yield row


def run(seeds: list[int]) -> None:
    """Run all cells and write the table."""
    every = list(points())
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer: csv.DictWriter[str] | None = None
        for number, point in enumerate(every, start=1):
            for row in measure(point, seeds):
                if writer is None:
                    writer = csv.DictWriter(file, list(row), lineterminator="\n")
                    writer.writeheader()
                writer.writerow(row)
            print(f"\r{number} of {len(every)} cells", end="", flush=True)
    print()


def table() -> list[dict[str, str]]:
    """Read the rows of the table."""
    with TABLE.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def draw() -> None:
    """Goodput and the 99th percentile of the one-way delay over the threshold, a line for each PPDU limit."""
    rows = table()
    figure, axes = plt.subplots(2, 2, figsize=(8, 6), sharex=True, sharey="row", layout="constrained")
    for column, name in enumerate(("prague", "bbr3")):
        for row, (quantity, label) in enumerate(
            (("goodput_mbps", "Goodput [Mb/s]"), ("owd_p99_ms", "One-way delay, 99 % [ms]"))
        ):
            axis = axes[row][column]
            for ppdu in PPDUS_MS:
                chosen = [one for one in rows if one["part"] == "threshold" and one["control"] == name]
                chosen = [one for one in chosen if float(one["ppdu_ms"]) == ppdu]
                thresholds, values, errors = (
                    [float(one[key]) for one in chosen] for key in ("threshold_ms", quantity, quantity + "_ci")
                )
                axis.errorbar(thresholds, values, errors, marker="o", ms=3, lw=1, label=f"{ppdu:g} ms")
            for control, style in (("cubic", ":"), ("cubic-ecn", "--")):
                level = [one for one in rows if one["part"] == "no threshold" and one["control"] == control]
                level = [one for one in level if float(one["ppdu_ms"]) == PPDUS_MS[-1]]
                if level:
                    axis.axhline(
                        float(level[0][quantity]), color="0.4", ls=style, lw=1, label=f"{NAMES[control]}, 5.4 ms"
                    )
            axis.set_xscale("log")
            axis.set_xticks(THRESHOLDS_MS, [f"{threshold:g}" for threshold in THRESHOLDS_MS])
            axis.minorticks_off()
            axis.set_ylim(bottom=0)
            if column == 0:
                axis.set_ylabel(label)
            if row == 0:
                axis.set_title(NAMES[name])
            else:
                axis.set_xlabel("Marking threshold [ms]")
    axes[0][0].legend(title="Longest PPDU", fontsize=8)
    figure.savefig(FIGURES / "l4s-threshold.svg")
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
    for axis, (quantity, label) in zip(
        axes, (("goodput_mbps", "Goodput of all [Mb/s]"), ("owd_p99_ms", "One-way delay, 99 % [ms]")), strict=True
    ):
        for name, threshold in (("prague", 1.0), ("prague", 5.0), ("bbr3", 5.0), ("cubic-ecn", 0.0), ("cubic", 0.0)):
            chosen = [one for one in rows if one["part"] == "stations" and one["control"] == name]
            chosen = [one for one in chosen if float(one["threshold_ms"]) == threshold]
            count, values, errors = (
                [float(one[key]) for one in chosen] for key in ("stations", quantity, quantity + "_ci")
            )
            label_of = f"{NAMES[name]}, {threshold:g} ms" if threshold else NAMES[name]
            axis.errorbar(count, values, errors, marker="o", ms=3, lw=1, label=label_of)
        axis.set(xlabel="Stations", ylabel=label, xscale="log", ylim=(0, None), xticks=STATIONS, xticklabels=STATIONS)
        axis.minorticks_off()
    axes[0].legend(fontsize=8)
    figure.savefig(FIGURES / "l4s-stations.svg")


if __name__ == "__main__":
    if "--draw" not in sys.argv:
        run([1, 2] if "--quick" in sys.argv else [1, 2, 3, 4, 5])
    draw()

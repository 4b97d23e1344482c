"""Congestion controls in the scenarios for their tests: `wifair congestion`."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wifair import gallery
from wifair._output.files import json_text
from wifair._output.tables import aligned
from wifair.columns import finite
from wifair.scenario.scenario import Scenario
from wifair.simulation.simulate import run
from wifair.statistics import Interval, mean_interval

if TYPE_CHECKING:
    from wifair.columns import Columns

REFERENCES = ("cubic", "bbr3", "reno", "prague")
"""The congestion controls that are run if none is named."""

FLOW = "test"
"""The flow whose congestion control is tested."""


class CongestionRow(NamedTuple):
    """What a congestion control did in a scenario; means over the seeds with 95 % intervals."""

    scenario: str
    """Name in the gallery."""
    cc: str
    """The congestion control."""
    seeds: int
    """Number of seeds."""
    goodput_mbps: Interval
    """Goodput of the tested flow [Mb/s]."""
    rtt_mean_ms: Interval
    """Mean round-trip time of its segments [ms]."""
    rtt_p95_ms: Interval
    """95th percentile of it [ms]."""
    retransmitted_percent: Interval
    """Retransmissions per data packet sent [%]."""
    others_mbps: Interval
    """Goodput of all other flows together [Mb/s]; NaN without any."""


class CongestionTable:
    """Rows of `CongestionRow`, by scenario."""

    def __init__(self, rows: Sequence[CongestionRow]) -> None:
        self.rows = tuple(rows)

    def __repr__(self) -> str:
        head = ["scenario", "cc", "goodput [Mb/s]", "RTT mean [ms]", "RTT 95 % [ms]", "resent [%]", "others [Mb/s]"]
        lines = [head]
        before = ""
        for row in self.rows:
            figures = [_shown(value) for value in row[3:]]
            lines.append([row.scenario if row.scenario != before else "", row.cc, *figures])
            before = row.scenario
        return "\n".join(aligned(lines, left=range(2)))

    def to_csv(self) -> str:
        """Write all rows as CSV, with the half widths of the intervals."""
        out = io.StringIO()
        names = CongestionRow._fields
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([*names[:3], *(part for name in names[3:] for part in (name, f"{name}_half_width"))])
        writer.writerows([*row[:3], *(part for value in row[3:] for part in value)] for row in self.rows)
        return out.getvalue()

    def to_json(self) -> str:
        """Write all rows as JSON: each figure is its mean and the half width of its interval."""
        rows = []
        for row in self.rows:
            figures = zip(row._fields[3:], row[3:])
            shown = {name: {key: finite(value) for key, value in one._asdict().items()} for name, one in figures}
            rows.append({**row._asdict(), **shown})
        return json_text({"rows": rows})


def _shown(value: Interval) -> str:
    if math.isnan(value.mean):
        return "-"
    digits = 0 if value.mean >= 100 else 1 if value.mean >= 10 else 2
    few = math.isnan(value.half_width)
    return f"{value.mean:.{digits}f}" + ("" if few else f" ± {value.half_width:.{digits}f}")


def congestion(
    algorithms: Iterable[str | type] = REFERENCES,
    *,
    scenarios: Iterable[str] = gallery.CONGESTION,
    seeds: Sequence[int] | None = None,
    threads: int | None = None,
    told: Callable[[str], object] = lambda _: None,
) -> CongestionTable:
    """Run congestion controls in the scenarios for their tests.

    Parameters
    ----------
    algorithms : iterable of str or type
        Names as of `tcp.cc`, ``module:Class`` of your own, or such classes.
    scenarios : iterable of str
        Names of the gallery; all eight by default.
    seeds : sequence of int, optional
        As the scenarios say by default: 1 to 10.
    threads : int, optional
        Runs at the same time; all cores by default.
    told : callable, optional
        Is called with a line before each scenario.

    Returns
    -------
    CongestionTable
        One row for each scenario and congestion control.

    Raises
    ------
    ScenarioError
        If there is no such congestion control.
    KeyError
        If there is no such scenario.
    """
    given = list(algorithms)
    rows = []
    for name in scenarios:
        base = Scenario.from_text(gallery.example(name).toml)
        for algorithm in given:
            shown = algorithm if isinstance(algorithm, str) else algorithm.__qualname__
            told(f"{name}: {shown}")
            results = run(base.with_({f"flows.{FLOW}.tcp.cc": algorithm}), seeds=seeds, threads=threads)
            rows.append(_row(name, shown, results.flows))
    return CongestionTable(rows)


def _row(scenario: str, cc: str, flows: Columns) -> CongestionRow:
    """Sum up the flows of all seeds."""
    is_tested = flows["name"] == FLOW
    others: dict[int, float] = {}
    for seed, goodput in zip(flows["seed"][~is_tested], flows["goodput_bps"][~is_tested]):
        others[int(seed)] = others.get(int(seed), 0.0) + float(goodput) / 1e6
    sent = np.maximum(flows["data_packets_sent"][is_tested], 1)
    return CongestionRow(
        scenario,
        cc,
        int(is_tested.sum()),
        mean_interval(flows["goodput_bps"][is_tested] / 1e6),
        mean_interval(flows["rtt_mean_s"][is_tested] * 1e3),
        mean_interval(flows["rtt_p95_s"][is_tested] * 1e3),
        mean_interval(100.0 * flows["retransmissions"][is_tested] / sent),
        mean_interval(others.values()),
    )

"""A measurement as text for a terminal, and as a figure."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from wifair._output.report import NOTHING, amount, percent, rate, ratio, time, with_interval
from wifair._output.tables import aligned
from wifair._output.words import general
from wifair.figures.style import COLOURS, DIRECTIONS, Look, new_figure, save, settings
from wifair.statistics import Interval, mean_interval

if TYPE_CHECKING:
    from wifair.optional.measure.results import CaseResults, Measurement


def text(measurement: Measurement) -> str:
    """Show all cases in one table, a row for each flow: means over the repetitions with 95 % intervals."""
    plan = measurement.plan
    runs = sum(len(results.seeds) for results in measurement.cases.values())
    lines = [f"{plan.name}: {runs} of {len(plan.cases) * plan.repetitions} repetitions"]
    if measurement.cases:
        lines += ["", *aligned(_rows(measurement), left=range(3))]
    lines += _starts(measurement)
    lines += _radios(measurement)
    lines += _captured(measurement)
    # The last attempt of each repetition that never got a result.
    unmended = (row for row in measurement.failures if not _mended(measurement, row))
    missing = list({(row["case"], row["repetition"]): row for row in unmended}.values())
    if missing:
        lines += ["", "failed:"]
        lines += [f"  {row['case']}, repetition {row['repetition']}: {row['reason']}" for row in missing[-10:]]
    return "\n".join(lines)


def radio(results: CaseResults) -> list[str]:
    """Describe signal, noise, rate and retries of the wireless stations of a case."""
    stations = results.stations
    if "name" not in stations or not len(stations):
        return []
    lines = []
    for name in dict.fromkeys(stations["name"].tolist()):
        mine = stations.filter(name=name)
        mean = {key: mean_interval(mine[key].tolist()).mean for key in mine if key not in ("seed", "name")}
        parts = []
        if not math.isnan(mean["signal_dbm"]):
            parts.append(f"signal {mean['signal_dbm']:.0f} dBm")
        if not math.isnan(mean["noise_dbm"]):
            parts.append(f"noise {mean['noise_dbm']:.0f} dBm")
        if not math.isnan(mean["tx_rate_bps"]):
            parts.append(f"sends at {rate(mean['tx_rate_bps'])}")
        if mean["attempts"] > 0:
            parts.append(f"{percent(mean['retries'] / mean['attempts'])} of its frames are retries")
        lines.append(f"{name}: {', '.join(parts)}")
    return lines


def save_figure(
    measurement: Measurement,
    path: str | os.PathLike[str],
    *,
    case: str | None = None,
    title: str | None = None,
    labels: Mapping[str, str] | None = None,
    size: str | None = None,
    logy: bool = False,
) -> Any:
    """Draw goodput of all cases, or windows and outstanding data of one case over time. Saves and returns the figure.

    Options are those of the other figures: a title, texts by the names of flows (``case: flow`` where all cases are
    drawn) or of ``goodput_bps``, ``cwnd``, ``unacked_bytes`` and ``time_s``, a size, a logarithmic scale of values.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    ValueError
        If an option is wrong, or a label names nothing that is drawn.
    KeyError
        If there is no such case.
    """
    look = Look.of(title, labels, size, logy)
    with settings():
        if case is None:
            figure = new_figure(look, height_in=1.0 + 0.22 * len(measurement.table))
            _all_cases(figure.subplots(), measurement, look)
        else:
            figure = new_figure(look, height_in=4.5)
            _over_time(figure.subplots(2, 1, sharex=True), measurement.cases[case], look)
    save(figure, path)
    return figure


def _all_cases(axes: Any, measurement: Measurement, look: Look) -> None:
    table = measurement.table
    at = np.arange(len(table))[::-1]
    errors = np.nan_to_num(table["goodput_ci95_bps"]) / 1e6
    colours = [DIRECTIONS[str(direction)] for direction in table["direction"]]
    axes.barh(at, table["goodput_bps"] / 1e6, xerr=errors, color=colours, height=0.7, ecolor="#444444")
    names = [f"{case}: {flow}" for case, flow in zip(table["case"].tolist(), table["flow"].tolist())]
    look.check_labels([*names, "goodput_bps"])
    axes.set_yticks(at, [look.label(name) for name in names], fontsize="small")
    axes.set_xlabel(look.label("goodput_bps", "goodput [Mb/s], mean and 95 % interval"))
    if look.logy:
        axes.set_xscale("log")
    else:
        axes.set_xlim(left=0)


def _over_time(axes: Any, results: CaseResults, look: Look) -> None:
    assert results.series is not None
    series = results.series.filter(seed=results.seeds[0])
    flows = list(dict.fromkeys(series["flow"].tolist()))
    look.check_labels([*flows, "unacked_bytes", "cwnd", "time_s"])
    for number, flow in enumerate(flows[: len(COLOURS)]):
        one, label = series.filter(flow=flow), look.label(flow)
        axes[0].plot(one["time_s"], one["unacked_bytes"] / 1e3, color=COLOURS[number], linewidth=0.8, label=label)
        axes[1].plot(one["time_s"], one["cwnd"], color=COLOURS[number], linewidth=0.8)
    axes[0].set_ylabel(look.label("unacked_bytes", "outstanding data [kB]"))
    axes[0].legend(loc="best", frameon=False, fontsize="small")
    axes[1].set_ylabel(look.label("cwnd", "cwnd [segments]"))
    axes[1].set_xlabel(look.label("time_s", f"time [s], repetition {results.seeds[0]} of {results.case.name}"))
    for each in axes:
        if look.logy:
            each.set_yscale("log")
        else:
            each.set_ylim(bottom=0)


def _rows(measurement: Measurement) -> list[list[str]]:
    heads = ["case", "flow", "direction", "goodput", "share", "loss", "RTT mean", "outstanding", "resent", "timeouts"]
    rows = [[*heads, "Jain", "least/most"]]
    table = measurement.table
    previous = None
    for values in zip(*map(table.to_list, table)):
        row = dict(zip(table, values))
        case = row["case"]
        first = case != previous
        previous = case
        results = measurement.cases[case]
        competing = len(results.case.flows) > 1
        loss = measurement.loss(case, row["flow"])
        rows.append(
            [
                case if first else "",
                row["flow"],
                row["direction"],
                with_interval("goodput_bps", Interval(row["goodput_bps"], row["goodput_ci95_bps"]), rate),
                percent(row["share"]) if competing else NOTHING,
                with_interval("loss_fraction", loss, percent) if competing else NOTHING,
                time(row["rtt_mean_s"]),
                _size(row["outstanding_mean_bytes"]),
                amount(row["retransmissions"]),
                amount(row["timeouts"]),
                with_interval("jain_index", results.summary["jain_index"], ratio) if competing and first else "",
                with_interval("least_share", measurement.ratio(case), ratio) if competing and first else "",
            ]
        )
    return rows


def _starts(measurement: Measurement) -> list[str]:
    """Say how far apart flows started at worst."""
    cells = [results.cells for results in measurement.cases.values()]
    late = max((float(np.nanmax(table["late_s"])) for table in cells), default=math.nan)
    error = max((float(np.nanmax(table["clock_error_s"])) for table in cells), default=math.nan)
    return [] if math.isnan(late) else ["", f"starts: at most {time(late)} late, clocks known to {time(error)}"]


def _radios(measurement: Measurement) -> list[str]:
    lines = []
    for name, results in measurement.cases.items():
        lines += [f"  {name}: {line}" for line in radio(results)]
    return ["", "radio:", *lines] if lines else []


def _captured(measurement: Measurement) -> list[str]:
    """Show figures of captures at the senders beside those of the kernel."""
    captured = measurement.captured
    rows = [["case", "flow", "resent", "(kernel)", "RTT mean", "(kernel)", "outstanding max", "(kernel)"]]
    for name, results in measurement.cases.items():
        for flow in results.case.flows:
            seen = captured.filter(case=name, flow=flow.name, at_sender=True) if len(captured) else captured
            if not len(seen):
                continue
            own = results.flows.filter(name=flow.name)
            cells = [name, flow.name]
            for column, form in (("retransmissions", amount), ("rtt_mean_s", time), ("outstanding_max_bytes", _size)):
                cells += [form(mean_interval(table.to_list(column)).mean) for table in (seen, own)]
            rows.append(cells)
    return ["", "captures at the senders:", *aligned(rows, left=range(2))] if len(rows) > 1 else []


def _mended(measurement: Measurement, row: dict[str, Any]) -> bool:
    results = measurement.cases.get(row["case"])
    return results is not None and row["repetition"] in results.seeds


def _size(size: float) -> str:
    return NOTHING if math.isnan(size) else f"{general(size / 1e3)} kB"

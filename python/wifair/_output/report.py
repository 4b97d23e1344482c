"""Results as text for a terminal: tables of flows and stations, the cell in a few lines, bars."""

from __future__ import annotations

import math
import re
import shutil
import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from wifair._output.streams import escape
from wifair._output.tables import aligned, html_rows, left_out
from wifair._output.words import KEPT, cell, counted, general, together
from wifair.statistics import FEWEST, NO_INTERVAL, Interval, limits, mean_interval

if TYPE_CHECKING:
    from wifair._output.shown import ShownRun

MOST_ROWS = 40
NOTHING = "-"
CATEGORIES = ("voice", "video", "best effort", "background")
PART = 0.95
"""All flows are active for less than this part of the measured time where that is shown."""
WIDE = 240
"""Width of a line if that of the output is unknown."""
NARROWER: tuple[dict[str, str], ...] = (
    {"direction": "dir.", "retransmitted": "retrans."},
    {"RTT 95 %": "", "RTT mean": "RTT"},
    {"cwnd": ""},
    {"share": ""},
)
"""Replacements of column heads, applied step by step to a table that is too wide; empty heads drop the column."""


def named(source: object) -> str:
    """Give a scenario, results or a capture a name: that of the scenario, or of the capture's file."""
    scenario: Any = getattr(source, "scenario", source)
    return str(scenario.name)


def text(results: ShownRun, width: int | None = None) -> str:
    """Show the flows as a table (means over the seeds), datagrams as another, then the cell with 95 % intervals.

    The table fits `width` characters, by default those of the terminal, if there is one.
    """
    if not results.seeds:
        return "no run finished"
    room = width or shutil.get_terminal_size((WIDE, 24)).columns
    cell = [line for pair in _cell(results) for line in _wrapped(pair, room)]
    tables = (_table(columns, room) for columns in (_flow_columns(results), _datagram_columns(results)))
    rows = (line for table in tables if table for line in [*table, ""])
    return "\n".join([*_wrapped(_title(results), room), "", *rows, *cell])


def html_tables(results: ShownRun) -> str:
    """Show the same as HTML, for notebooks."""
    if not results.seeds:
        return "<p>no run finished</p>"
    tables = "".join(
        _html_table(columns) for columns in (_flow_columns(results), _datagram_columns(results)) if columns
    )
    figures = html_rows(_cell_pairs(results), titled=True)
    return f"<b>{escape(_title(results))}</b>{tables}<table>{figures}</table>" + (
        f"<p>({NO_INTERVAL})</p>" if 1 < len(results.seeds) < FEWEST else ""
    )


def _html_table(columns: list[tuple[str, list[str]]]) -> str:
    heads = "".join(f"<th>{escape(head)}</th>" for head, _ in columns)
    body = html_rows(zip(*(cells[:MOST_ROWS] for _, cells in columns)))
    more = "".join(f"<p>{escape(line)}</p>" for line in _left_out(len(columns[0][1])))
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>{more}"


def _wrapped(line: str, width: int) -> list[str]:
    """Break a long line; further lines begin below its value."""
    if len(line) <= width:
        return [line]
    label = re.match(r".*?  +(?=\S)", line)
    indent = " " * (label.end() if label else 0)
    broken = textwrap.wrap(
        together(line), width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return [one.replace(KEPT, " ") for one in broken]


def figure_text(name: str, interval: Interval, *, bounded: bool = True) -> str:
    """Show a figure with its interval, in the unit at the end of its name; a difference is not `bounded`."""
    form = rate if name.endswith("_bps") else time if name.endswith("_s") else _general
    return with_interval(name if bounded else "difference_db", interval, form)


def bars(results: ShownRun, width: int = 80) -> str:
    """Goodput of each flow as a bar, mean over the seeds, longest possible at `width` columns."""
    names, goodput = _by_flow(results, "goodput_bps")
    names, goodput = names[:MOST_ROWS], goodput[:MOST_ROWS]
    numbers = [rate(value) for value in goodput]
    label, number = max(map(len, names)), max(map(len, numbers))
    room = max(width - label - number - 4, 10)
    peak = max(goodput) or 1.0
    lines = ["goodput"]
    for name, value, shown in zip(names, goodput, numbers):
        eighths = round(8 * room * value / peak)
        bar = "\u2588" * (eighths // 8) + " \u258f\u258e\u258d\u258c\u258b\u258a\u2589"[eighths % 8].strip()
        lines.append(f"{name:<{label}}  {shown:>{number}}  {bar}")
    return "\n".join([*lines, *_left_out(len(_by_flow(results, "goodput_bps")[0]))])


def stations(results: ShownRun, width: int = WIDE) -> str:
    """Show what each station and access point has sent and how much air it has taken, as means over the seeds."""
    return "\n".join(_table(_station_columns(results), width, "more station"))


def _station_columns(results: ShownRun) -> list[tuple[str, list[str]]]:
    """Head and cells of each column of the table of stations; those that are nothing for all are left out."""
    names = results.stations.to_list("name")[: len(results.stations) // len(results.seeds)]

    def mean(*columns: str) -> list[float]:
        parts = [_means(results.stations.to_list(column), len(names)) for column in columns]
        return [sum(values) for values in zip(*parts)]

    frames, mpdus, ppdus, ended = mean("attempts"), mean("mpdus"), mean("ppdus"), mean("delivered", "given_up")
    again = [
        repeated / sent if sent else (1 - done / tried if tried else math.nan)
        for repeated, sent, done, tried in zip(mean("mpdu_retries"), mpdus, ended, frames)
    ]
    each = [sent / heard if heard else math.nan for sent, heard in zip(mpdus, ppdus)]
    air = mean("air_data_s", "air_control_s", "air_collided_s")
    to_it, whole = mean("air_to_station_s"), sum(air) or math.nan
    columns = [
        ("station", names),
        ("frames", [amount(value) for value in frames]),
        ("MPDUs each", [amount(value) for value in each] if any(value > 1 for value in each) else []),
        ("retries", [percent(value) for value in again]),
        ("given up", _unless_zero(mean("given_up"))),
        ("dropped", _unless_zero(mean("queue_drops_overflow", "queue_drops_early", "lifetime_drops", "late_drops"))),
        ("air time", [time(value) for value in air]),
        ("of all", [percent(value / whole) for value in air]),
        ("to it", [percent(value / whole) for value in to_it]),
    ]
    by_category = [(name, mean(f"air_{name.replace(' ', '_')}_s")) for name in CATEGORIES]
    if sum(any(values) for _, values in by_category) > 1:
        columns += [
            (name, [time(value or math.nan) for value in values]) for name, values in by_category if any(values)
        ]
    return [(head, cells) for head, cells in columns if cells]


def _unless_zero(values: list[float]) -> list[str]:
    return [amount(value) for value in values] if any(values) else []


def _title(results: ShownRun) -> str:
    scenario, seeds = results.scenario, results.seeds
    noun = results.RUN
    which = f"{noun} {seeds[0]}" if len(seeds) == 1 else f"{len(seeds)} {noun}s ({_ranges(seeds)})"
    return f"{scenario.name}: {scenario.summary}, {which}"


def _flow_columns(results: ShownRun) -> list[tuple[str, list[str]]]:
    """Head and cells of each column of the table of flows; those of which nothing is known are left out."""
    names, goodput = _by_flow(results, "goodput_bps")
    total = sum(goodput)
    datagrams = set(_datagram_flows(results))
    columns = [
        ("flow", names),
        ("direction", results.flows.to_list("direction")[: len(names)]),
        ("goodput", [rate(value) for value in goodput]),
        ("share", [percent(value / total) if total else NOTHING for value in goodput]),
    ]
    shown: tuple[tuple[str, str, Callable[[float], str]], ...] = (
        ("RTT mean", "rtt_mean_s", time),
        ("RTT 95 %", "rtt_p95_s", time),
        ("cwnd", "cwnd_mean", amount),
        ("retransmitted", "retransmissions", amount),
        ("timeouts", "timeouts", amount),
    )
    for head, column, form in shown:
        values = _by_flow(results, column)[1]
        cells = [NOTHING if row in datagrams else form(value) for row, value in enumerate(values)]
        columns += [(head, cells)] if set(cells) != {NOTHING} else []
    return columns


def _datagram_flows(results: ShownRun) -> list[int]:
    """Places of the flows of datagrams that have arrived, of which TCP's figures are not known."""
    if "mos" not in results.flows:
        return []
    return [place for place, mos in enumerate(_by_flow(results, "mos")[1]) if not math.isnan(mos)]


def _datagram_columns(results: ShownRun) -> list[tuple[str, list[str]]]:
    """Head and cells of each column of the table of datagrams; none without datagrams."""
    places = _datagram_flows(results)
    if not places:
        return []
    names = _by_flow(results, "mos")[0]
    shown: tuple[tuple[str, str, Callable[[float], str]], ...] = (
        ("delay", "owd_mean_s", time),
        ("delay 99 %", "owd_p99_s", time),
        ("jitter", "jitter_s", time),
        ("lost", "loss_fraction", percent),
        ("MOS", "mos", lambda value: f"{value:.2f}"),
    )
    columns = [(head, form, _by_flow(results, column)[1]) for head, column, form in shown]
    return [
        ("datagrams", [names[place] for place in places]),
        *((head, [form(values[place]) for place in places]) for head, form, values in columns),
    ]


def _table(columns: list[tuple[str, list[str]]], width: int, what: str = "more flow") -> list[str]:
    if not columns:
        return []
    count = len(columns[0][1])
    rows = [[head, *cells[:MOST_ROWS]] for head, cells in columns]
    for narrower in NARROWER:  # until the table fits
        if sum(max(map(len, row)) + 2 for row in rows) - 2 <= width:
            break
        rows = [row for row in ([narrower.get(row[0], row[0]), *row[1:]] for row in rows) if row[0]]
    words = range(2) if "direction" in dict(columns) else range(1)
    return [*aligned(list(zip(*rows)), left=words), *_left_out(count, what)]


def _left_out(count: int, what: str = "more flow") -> list[str]:
    return left_out(count - MOST_ROWS, what, "--json or --out has all")


def _cell(results: ShownRun) -> list[str]:
    why = [f"({NO_INTERVAL})"] if 1 < len(results.seeds) < FEWEST else []
    return [*aligned(_cell_pairs(results), left=range(2)), *why]


def _cell_pairs(results: ShownRun) -> list[tuple[str, str]]:
    """List the shown figures of the cell: label and text."""
    summary = results.summary

    def figure(name: str, form: Callable[[float], str]) -> str:
        return with_interval(name, summary[name], form) if name in summary else NOTHING

    lines = [
        ("goodput", figure("goodput_bps", rate)),
        *_ways(results, figure),
        ("Jain's index", figure("jain_index", ratio)),
        *_overlap(results, figure),
        ("starved flows", figure("starved_fraction", percent)),
    ]
    if not _none(summary.get("up_down_ratio")):
        known, runs = sum(map(math.isfinite, results.cells.to_list("up_down_ratio"))), len(results.seeds)
        part = f" ({known} of {counted(runs, results.RUN)}, the others have no downlink)" if known < runs else ""
        lines.append(("uplink / downlink", figure("up_down_ratio", ratio) + part))
    if not _none(summary.get("instantaneous_fairness")):
        lines.append(("instantaneous fairness", figure("instantaneous_fairness", ratio)))
    air = [
        (label, summary[name].mean)
        for label, name in (
            ("data", "air_data"),
            ("ACK", "air_ack"),
            ("RTS/CTS", "air_rts_cts"),
            ("collisions", "air_collision"),
            ("errors", "air_error"),
            ("spatial reuse", "air_reuse"),
            ("idle", "air_idle"),
        )
        if name in summary and not math.isnan(summary[name].mean) and (summary[name].mean > 0 or label == "collisions")
    ]
    if air:
        lines.append(("air time", ", ".join(f"{label} {percent(share)}" for label, share in air)))
    if not _none(summary.get("ap_queue_mean_packets")):
        queue = (
            f"mean {amount(summary['ap_queue_mean_packets'].mean)} packets, "
            f"most {amount(summary['ap_queue_max_packets'].mean)}, "
            f"full {percent(summary['ap_queue_full_fraction'].mean)} of the time, "
            f"dropped {amount(summary['ap_drops_data'].mean)} data and {amount(summary['ap_drops_ack'].mean)} ACKs"
        )
        queues = getattr(results.scenario, "ap_queues", None)
        lines.append(("AP queue", queue if queues is None else f"{queue}, limit {queues}"))
    return lines


def _overlap(results: ShownRun, figure: Callable[[str, Callable[[float], str]], str]) -> list[tuple[str, str]]:
    """Jain's index while all flows are active, where that is well below the measured time."""
    length = results.summary.get("overlap_s")
    measured = results.scenario.duration_s - results.scenario.warm_up_s
    if length is None or not 0 < length.mean < PART * measured or len(results.flows) <= len(results.seeds):
        return []
    return [("", f"{figure('overlap_jain_index', ratio)} while all flows are active ({time(length.mean)})")]


def _ways(results: ShownRun, figure: Callable[[str, Callable[[float], str]], str]) -> list[tuple[str, str]]:
    """Goodput of uploads and of downloads, where there are both."""
    if not {"up", "down"} <= set(results.flows.to_list("direction")):
        return []
    return [("- uplink", figure("up_goodput_bps", rate)), ("- downlink", figure("down_goodput_bps", rate))]


def _by_flow(results: ShownRun, column: str) -> tuple[list[str], list[float]]:
    """Names of the flows, and the mean of a column over the seeds for each."""
    flows = len(results.flows) // len(results.seeds)
    return results.flows.to_list("name")[:flows], _means(results.flows.to_list(column), flows)


def _means(values: list[Any], rows: int) -> list[float]:
    """Mean over the seeds for each of the rows that every seed has."""
    return [mean_interval(values[row::rows]).mean for row in range(rows)]


def _ranges(seeds: Sequence[int]) -> str:
    """Write seeds briefly: 1..10, or the first few."""
    if list(seeds) == list(range(seeds[0], seeds[0] + len(seeds))):
        return f"{seeds[0]}..{seeds[-1]}"
    shown = ", ".join(map(str, seeds[:5]))
    return shown + ", ..." if len(seeds) > 5 else shown


def _none(interval: Interval | None) -> bool:
    return interval is None or math.isnan(interval.mean)


def with_interval(name: str, interval: Interval, form: Callable[[float], str]) -> str:
    """Format mean and half width in one unit, with the digits that the half width justifies.

    An interval that exceeds the possible range of the figure is given by its ends instead of the half width.
    """
    mean, half = interval
    if math.isnan(mean) or math.isnan(half):
        return form(mean)
    units = {rate: _rate_unit(mean), percent: ("%", 0.01), time: ("ms", 1e-3) if mean < 1 else ("s", 1.0)}
    unit, size = units.get(form, ("", 1.0))
    decimals = 3 if half == 0 else min(max(1 - math.floor(math.log10(half / size)), 0), 4)
    low, high = limits(name, interval)
    shown = [f"{end / size:.{decimals}f}" for end in (low, high)]
    if shown != [f"{end / size:.{decimals}f}" for end in (mean - half, mean + half)]:
        return f"{mean / size:.{decimals}f} ({' .. '.join(shown)}) {unit}".rstrip()
    return f"{mean / size:.{decimals}f} \u00b1 {half / size:.{decimals}f} {unit}".rstrip()


def rate(bps: float) -> str:
    """Show a rate in bit/s."""
    if math.isnan(bps):
        return NOTHING
    unit, size = _rate_unit(bps)
    return f"{bps / size:.3g} {unit}" if bps < 100 * size else f"{bps / size:.0f} {unit}"


def _rate_unit(bps: float) -> tuple[str, float]:
    units = (("Gb/s", 1e9), ("Mb/s", 1e6), ("kb/s", 1e3))
    return next(((unit, size) for unit, size in units if bps >= size), ("b/s", 1.0))


def time(seconds: float) -> str:
    """Show a time in seconds."""
    if math.isnan(seconds):
        return NOTHING
    if 0 < seconds < 1e-4:
        return f"{1e6 * seconds:.3g} µs"
    return f"{general(1e3 * seconds)} ms" if seconds < 0.9995 else f"{general(seconds)} s"


def percent(fraction: float) -> str:
    """Show a fraction in percent."""
    return NOTHING if math.isnan(fraction) else f"{100 * fraction:.1f} %"


def _general(value: float) -> str:
    return NOTHING if math.isnan(value) else cell(value, 4)


def ratio(value: float) -> str:
    """Show a ratio or an index."""
    return NOTHING if math.isnan(value) else f"{value:.3f}"


def amount(value: float) -> str:
    """Show a count, or the mean of counts."""
    if math.isnan(value):
        return NOTHING
    return f"{value:.0f}" if value == round(value) or value >= 1000 else f"{value:.1f}"

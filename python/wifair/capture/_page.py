"""A capture as an HTML page that works offline: the verdict in words, all flows as bars, each station, each flow."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.resources import files
from itertools import repeat
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from wifair._output.report import NOTHING, percent, rate, ratio, time
from wifair._output.streams import escape
from wifair._output.words import KEPT, size
from wifair.capture._report import aggregate_rows, air_time, head, limit, round_trip_s, transmitter, unknown_air_time
from wifair.explaining import explain

if TYPE_CHECKING:
    from wifair._output.shown import ShownCapture
    from wifair.columns import Columns
    from wifair.explaining import Finding

VERDICT = ("starved", "close", "never began", "modest", "goodput")
"""Topics of `wifair.explain` that say who got what; they come first."""

Cell = tuple[str, float | None]
"""The text of a cell, and the number for sorting, if any."""


def page(capture: ShownCapture) -> str:
    """Write the report as one HTML page, with figures as SVG inside.

    Parameters
    ----------
    capture : Capture
        What was captured; its segments (``packets=True``) are needed for the figures of each flow.

    Returns
    -------
    str
        The page, which loads nothing from elsewhere.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    from wifair._core import __version__  # noqa: PLC0415
    from wifair.figures.capture import flow_svg, overview_svg, shown_flows  # noqa: PLC0415
    from wifair.figures.inline import once  # noqa: PLC0415

    first, *notes = head(capture)
    has_any = len(capture.flows) or len(capture.datagrams) or len(capture.echoes)
    findings = explain(cast("Any", capture)).findings if has_any else []
    body = [_verdict(capture, findings), f'<p class="note">{escape(first)}</p>']
    if capture.damage is not None:
        body.append(f'<p class="damage">{escape(capture.damage)}: what came before is analysed.</p>')
    if notes:
        body.append('<ul class="note">' + "".join(f"<li>{escape(note)}</li>" for note in notes) + "</ul>")
    if len(capture.flows):
        body += ["<h2>Who got how much</h2>", _bars(capture), overview_svg(capture)]
        body += ["<h2>What happened, and why</h2>", _findings(findings)]
        body += ["<h2>Flows</h2>", _flow_table(capture)]
        body += ["<h2>Stations</h2>", *_hosts(capture)]
    if len(capture.datagrams):
        body += ["<h2>Datagrams</h2>", _datagrams(capture)]
    if len(capture.echoes):
        body += ["<h2>Echoes</h2>", _echoes(capture)]
    if len(capture.stations):
        body += ["<h2>Transmitters on the air</h2>", _transmitters(capture)]
        if len(aggregate_rows(capture, most=1)) > 1:
            body += ["<h2>Modes and aggregates</h2>", _aggregates(capture)]
    shown = shown_flows(capture)
    if shown:
        body.append("<h2>Each flow over time</h2>")
        if len(shown) < len(capture.flows):
            body.append(f'<p class="note">The {len(shown)} flows with the most bytes of {len(capture.flows)}.</p>')
    for flow in shown:
        title = f"{flow['from']} \u2192 {flow['to']}"
        body += [f"<h3>{escape(title)}</h3>", flow_svg(capture, flow), _all_figures(capture, flow)]
    title = escape(f"Capture {capture.path}")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>\n{_file('page.css')}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
        + once("\n".join(body))
        + f"\n<p><small>wifair {__version__}</small></p>\n<script>\n{_file('page.js')}</script>\n"
        + "</body>\n</html>\n"
    )


@cache
def _file(name: str) -> str:
    return (files("wifair.capture") / name).read_text(encoding="utf-8")


def _verdict(capture: ShownCapture, findings: Sequence[Finding]) -> str:
    """Say in words who got what, starved flows first."""
    if not findings:
        return '<div class="verdict"><p>Nothing in this capture carried data.</p></div>'
    count = int(np.count_nonzero(capture.flows["starved"]))
    flows = len(capture.flows)
    lead = ""
    if flows > 1:
        lead = (
            f"{count} of {flows} flows {'starve' if count > 1 else 'starves'}."
            if count
            else f"None of the {flows} flows starves."
        )
    topics = VERDICT if flows else [finding.topic for finding in findings]
    said = [finding.text for topic in topics for finding in findings if finding.topic == topic]
    paragraphs = ([f"<p><strong>{lead}</strong></p>"] if lead else []) + [
        f"<p>{escape(_kept(text))}</p>" for text in said
    ]
    bad = " bad" if count else ""
    return f'<div class="verdict{bad}">{"".join(paragraphs)}</div>'


def _kept(text: str) -> str:
    """Keep numbers and their units in one line. The port at the end of the name of a flow is no such number."""
    return re.sub(r"(?<!\S)([\d.,]+) (?=[^\s\d])", rf"\1{KEPT}", text)


def _findings(findings: Sequence[Finding]) -> str:
    rows = "".join(
        f"<tr><td><strong>{escape(one.topic)}</strong></td><td>{escape(_kept(one.text))}</td></tr>"
        for one in findings
        if one.topic not in VERDICT
    )
    return f'<table class="words">{rows}</table>'


def _bars(capture: ShownCapture) -> str:
    """Goodput of every flow as a bar, the largest first, starved ones in red."""
    flows = capture.flows
    goodput = np.nan_to_num(flows["goodput_bps"])
    top = float(goodput.max()) or 1.0
    parts = []
    for row in (int(i) for i in np.argsort(-goodput, kind="stable")):
        bad = " bad" if flows["starved"][row] else ""
        shown = rate(float(goodput[row])) + (", starved" if bad else "")
        parts.append(
            f'<div class="{bad.strip()}">{escape(_arrow(str(flows["name"][row])))}</div>'
            f'<div class="track"><div class="bar{bad}" style="width:{100 * goodput[row] / top:.2f}%"></div></div>'
            f'<div class="{bad.strip()}">{shown}</div>'
        )
    index = ratio(float(capture.cells["jain_index"][0]))
    return f'<div class="bars">{"".join(parts)}</div>\n<p class="note">Jain\'s index: {index}.</p>'


def _flow_table(capture: ShownCapture) -> str:
    titles = ["flow", "start", "duration", "bytes", "goodput", "RTT", "sent again", "timeouts", "limited by"]
    rows = ([(_arrow(name), None), *_figures_of(capture, row)] for row, name in enumerate(capture.flows["name"]))
    return _table(titles, rows, capture.flows["starved"])


def _figures_of(capture: ShownCapture, row: int) -> list[Cell]:
    connection = _connection(capture, row)
    origin = capture.document["capture"]["start_ns"] or 0
    start, elapsed = (connection["first_packet_ns"] - origin) / 1e9, float(connection["elapsed_s"])
    rtt = round_trip_s(capture, row)
    return [
        (time(start), start),
        (time(elapsed), elapsed),
        *_cells(capture.flows, row, received_bytes=size, goodput_bps=rate),
        (time(rtt), rtt),
        *_cells(capture.flows, row, retransmissions=_whole, timeouts=_whole),
        (limit(capture, row), None),
    ]


def _hosts(capture: ShownCapture) -> list[str]:
    """Give a table for each station: its addresses, and its flows with start and duration."""
    own: dict[str, list[int]] = {}
    for row in range(len(capture.flows)):
        own.setdefault(_station(capture, row), []).append(row)
    out = []
    titles = ["peer", "port", "direction", "start", "duration", "bytes", "goodput", "RTT", "sent again", "timeouts"]
    titles.append("limited by")
    for host, rows in own.items():
        flows = capture.flows
        total = int(sum(int(flows["received_bytes"][row]) for row in rows))
        starved = sum(bool(flows["starved"][row]) for row in rows)
        said = f"{host}: {len(rows)} flow{'s' if len(rows) > 1 else ''}, {size(total)}"
        said += f", {starved} starved" if starved else ""
        cells = []
        for row in rows:
            sender, receiver = str(flows["name"][row]).split(">")
            sends = _host(sender) == host
            peer, port = (receiver, sender) if sends else (sender, receiver)
            way = "sends" if sends else "receives"
            cells.append([(peer, None), (port.rpartition(":")[2], None), (way, None), *_figures_of(capture, row)])
        inner = _table(titles, cells, [bool(flows["starved"][row]) for row in rows])
        unfolded = " open" if len(own) <= 8 or starved else ""
        out.append(f"<details{unfolded}><summary>{escape(said)}</summary>{inner}</details>")
    return out


def _station(capture: ShownCapture, row: int) -> str:
    """Address of the end that is the station: the local one if it is known, else the one that opened the connection."""
    sender, receiver = str(capture.flows["name"][row]).split(">")
    way = str(capture.flows["direction"][row])
    if way == "up":
        return _host(sender)
    if way == "down":
        return _host(receiver)
    return _host(str(_connection(capture, row)["host_a"]))


def _connection(capture: ShownCapture, row: int) -> dict[str, Any]:
    found: dict[str, Any] = capture.document["connections"][int(capture.flows["connection"][row]) - 1]
    return found


def _host(endpoint: str) -> str:
    """Remove the port from an endpoint."""
    return endpoint.rpartition(":")[0].strip("[]")


def _transmitters(capture: ShownCapture) -> str:
    stations = capture.stations
    titles = ["address", "frames", "data frames", "retries", "air time", "share of air time", "share to it", "signal"]
    rows = []
    for row in sorted(range(len(stations)), key=lambda row: -float(stations["airtime_s"][row])):
        figures = _cells(stations, row, attempts=_whole, data_frames=_whole, retry_fraction=percent)
        names = ("airtime_s", "airtime_share", "airtime_to_station_share")
        for name, shown in zip(names, air_time(stations, row), strict=True):
            figures.append((shown, float(stations[name][row])))
        figures += _cells(stations, row, signal_mean_dbm=_dbm)
        rows.append([(transmitter(stations, row), None), *figures])
    return _table(titles, rows) + "".join(f"<p>{said}</p>" for said in unknown_air_time(stations))


def _aggregates(capture: ShownCapture) -> str:
    titles, *rows = aggregate_rows(capture, len(capture.stations))
    figures = [[(cell, _leading(cell) if at else None) for at, cell in enumerate(row)] for row in rows]
    return _table(titles, figures)


def _leading(cell: str) -> float:
    """Return the number at the beginning of a cell, for sorting."""
    return math.nan if cell == NOTHING else float(cell.split(maxsplit=1)[0])


def _datagrams(capture: ShownCapture) -> str:
    table = capture.datagrams
    titles = ["flow", "kind", "packets", "bytes", "duration", "rate", "lost", "jitter", "longest gap", "MOS"]
    rows = []
    for row in sorted(range(len(table)), key=lambda row: -int(table["bytes"][row])):
        shown = _cells(
            table,
            row,
            packets=_whole,
            bytes=size,
            duration_s=time,
            rate_bps=rate,
            loss_fraction=percent,
            jitter_s=time,
            longest_gap_s=time,
            mos=_score,
        )
        name = f"{table['from'][row]} \u2192 {table['to'][row]}"
        rows.append([(name, None), (str(table["kind"][row]), None), *shown])
    return _table(titles, rows)


def _echoes(capture: ShownCapture) -> str:
    table = capture.echoes
    titles = ["from", "to", "requests", "lost", "RTT least", "RTT mean", "RTT most"]
    times = {f"rtt_{which}_s": time for which in ("min", "mean", "max")}
    rows = [
        [
            (str(table["from"][row]), None),
            (str(table["to"][row]), None),
            *_cells(table, row, requests=_whole, loss_fraction=percent, **times),
        ]
        for row in range(len(table))
    ]
    return _table(titles, rows)


def _cells(table: Columns, row: int, **forms: Callable[[float], str]) -> list[Cell]:
    """Format the figures of a row that `forms` names, each with its function."""
    return [(form(value), value) for name, form in forms.items() for value in (float(table[name][row]),)]


def _whole(value: float) -> str:
    return f"{value:.0f}"


def _dbm(value: float) -> str:
    return NOTHING if math.isnan(value) else f"{value:.0f} dBm"


def _score(value: float) -> str:
    return NOTHING if math.isnan(value) else f"{value:.1f}"


def _table(titles: Sequence[str], rows: Iterable[Sequence[Cell]], marked: Iterable[bool] = repeat(False)) -> str:
    """Make a table that is sorted by a click on a title; marked rows are red."""
    lines = []
    for row, mark in zip(rows, marked):
        cells = []
        for text, number in row:
            value = "" if number is None or math.isnan(number) else f' data-value="{number:.12g}"'
            cells.append(f"<td{value}>{escape(text)}</td>")
        style = ' class="starved"' if mark else ""
        lines.append(f"<tr{style}>{''.join(cells)}</tr>")
    titled = "".join(f'<th scope="col"><button type="button">{escape(title)}</button></th>' for title in titles)
    return (
        f'<div class="scroll"><table class="sortable"><thead><tr>{titled}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _arrow(name: str) -> str:
    return name.replace(">", " \u2192 ")


def _all_figures(capture: ShownCapture, flow: dict[str, Any]) -> str:
    """Every figure of a direction, folded away, with its meaning."""
    about = capture.connections.about
    side = capture.document["connections"][flow["connection"] - 1][flow["direction"]]
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td>{escape('' if value is None else str(value))}</td>"
        f'<td style="text-align:left">{escape(about.get(name, ""))}</td></tr>'
        for name, value in side.items()
    )
    return f'<details><summary>All figures</summary><div class="scroll"><table>{rows}</table></div></details>'

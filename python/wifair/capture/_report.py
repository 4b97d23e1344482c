"""A capture as text for a terminal."""

from __future__ import annotations

import math
import re
import shutil
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from wifair._output.report import NOTHING, percent, rate, ratio, time
from wifair._output.tables import aligned, left_out
from wifair._output.words import counted, size

if TYPE_CHECKING:
    from wifair._output.shown import ShownCapture
    from wifair.columns import Columns

MOST_FLOWS = 40
FEW_UNKNOWN = 0.01
"""Shares of air time leave out at most this part of the frames."""
MOST_STATIONS = 20
NARROW = 15
"""The least width of an endpoint of datagrams."""
NARROWEST = 21
"""The least width of an endpoint: enough for 255.255.255.255:65535, so that no IPv4 endpoint is shortened."""


def text(capture: ShownCapture, width: int | None = None) -> str:
    """Show the flows as a table as wide as the terminal, then the fairness and the air."""
    columns = width or shutil.get_terminal_size().columns
    parts = ["\n".join(head(capture))]
    if len(capture.flows):
        parts += ["\n".join(_flows(capture, columns)), "\n".join(aligned(_fairness(capture), left=range(2)))]
    if len(capture.datagrams):
        parts.append("\n".join(_datagrams(capture, columns)))
    if len(capture.echoes):
        parts.append("\n".join(_echoes(capture)))
    if len(capture.stations):
        parts.append("\n".join(_stations(capture)))
        aggregates = aggregate_rows(capture, MOST_STATIONS)
        if len(aggregates) > 1:
            parts.append("\n".join(aligned(aggregates, left=range(1))))
    others = capture.document["not_analysed"]
    if others:
        line = "not analysed: " + ", ".join(_left_out(count, name) for name, count in others.items())
        parts.append(textwrap.fill(line, columns, subsequent_indent="  "))
    return "\n\n".join(parts)


def head(capture: ShownCapture) -> list[str]:
    """List what was captured, and what was left out and why."""
    counts, wlan = capture.document["capture"], capture.document.get("wlan", {})
    packets = counted(counts["packets"], "packet")
    connections = counted(len(capture.document["connections"]), "TCP connection")
    lines = [f"{capture.path}: {packets}, {time(capture.duration_s)}, {connections}"]
    notes = [
        (counts["copies_dropped"], "packet", "left out as a copy (--keep-copies counts all)"),
        (wlan.get("retry_copies_dropped", 0), "frame", "left out that arrived a second time"),
        (
            wlan.get("captured_twice_dropped", 0),
            "frame",
            "left out that the file contains again at the same time (--keep-copies counts all)",
        ),
        (wlan.get("bad_fcs", 0), "frame", "with a wrong check sequence left out"),
        (wlan.get("protected", 0), "encrypted frame", ""),
        (wlan.get("frames_without_sender", 0), "frame", "of unknown sender, such as ACKs, in no row and no air time"),
        (counts["other_connections"], "smaller connection", "counted together (--connections tells more apart)"),
        (counts["filtered"], "packet", "left out by the filter"),
        (counts["back_in_time"], "packet", "out of the order of time"),
        (counts["short"] + counts["malformed"], "packet", "too short or contradictory"),
        (counts["unknown_link"], "packet", "of links that are not understood"),
        (sum(i["dropped"] or 0 for i in counts["interfaces"]), "packet", "lost while capturing: figures are too low"),
    ]
    lines += [f"{counted(count, what)} {rest}".rstrip() for count, what, rest in notes if count]
    return lines


def _flows(capture: ShownCapture, width: int) -> list[str]:
    flows = capture.flows
    order: Sequence[int] = range(len(flows))
    if len(flows) > MOST_FLOWS:  # show the largest ones, in the order of the capture
        largest = sorted(order, key=lambda row: -int(flows["received_bytes"][row]))[:MOST_FLOWS]
        order = sorted(largest)
    ends = [str(flows["name"][row]).split(">") for row in order]
    cells = [
        ("#", [str(flows["connection"][row]) for row in order]),
        ("bytes", [size(int(flows["received_bytes"][row])) for row in order]),
        ("goodput", [rate(float(flows["goodput_bps"][row])) for row in order]),
        ("RTT", [time(round_trip_s(capture, row)) for row in order]),
        ("again", [str(flows["retransmissions"][row]) for row in order]),
        ("limit", [limit(capture, row) for row in order]),
    ]
    columns = [[head, *values] for head, values in cells]
    widths = [max(map(len, column)) for column in columns]
    room = max((width - sum(widths) - 2 * (len(widths) + 1)) // 2, NARROWEST)
    names = [["from", *(end[0] for end in ends)], ["to", *(end[1] for end in ends)]]
    spans = [min(max(map(len, column)), room) for column in names]
    if sum(widths) + sum(spans) + 2 * (len(widths) + 1) > width:  # without bytes
        del columns[1]
    names = [[_short(name, room) for name in column] for column in names]
    number, *rest = columns
    lines = aligned(list(zip(number, *names, *rest)), left=range(1, 3))
    lines += left_out(len(flows) - MOST_FLOWS, "smaller flow", "--json or --csv has all")
    partial = [row for row in order if math.isnan(flows["rtt_path_mean_s"][row])]
    for point, where in (("receiver", ", which is close to the receiver"), ("between", " to the receiver and back")):
        near = [row for row in partial if flows["rtt_point"][row] == point]
        numbers = ", ".join(str(flows["connection"][row]) for row in near if not math.isnan(flows["rtt_mean_s"][row]))
        if numbers:
            said = f"RTT of {numbers}: from the capture point only{where}"
            lines += textwrap.wrap(said, width, subsequent_indent="  ")
    return lines


def _datagrams(capture: ShownCapture, width: int) -> list[str]:
    table = capture.datagrams
    order = sorted(range(len(table)), key=lambda row: -int(table["bytes"][row]))
    rows = [["from", "to", "kind", "packets", "rate", "lost", "jitter", "gap", "RTT"]]
    rows += [
        [
            *(str(table[name][row]) for name in ("from", "to", "kind", "packets")),
            rate(float(table["rate_bps"][row])),
            percent(float(table["loss_fraction"][row])),
            *(time(float(table[name][row])) for name in ("jitter_s", "longest_gap_s", "spin_rtt_mean_s")),
        ]
        for row in order[:MOST_FLOWS]
    ]
    if all(row[-1] == NOTHING for row in rows[1:]):
        rows = [row[:-1] for row in rows]

    def taken() -> int:
        return sum(max(map(len, column)) + 2 for column in list(zip(*rows))[2:])

    if width - taken() - 2 < 2 * NARROW:  # without gaps
        rows = [[*row[:7], *row[8:]] for row in rows]
    room = max((width - taken() - 2) // 2, NARROW)
    rows = [[_short(row[0], room), _short(row[1], room), *row[2:]] for row in rows]
    more = left_out(len(table) - MOST_FLOWS, "smaller flow", "--json has all")
    return [*aligned(rows, left=range(3)), *more]


def _echoes(capture: ShownCapture) -> list[str]:
    table = capture.echoes
    rows = [["echo from", "to", "requests", "lost", "RTT min", "mean", "max"]]
    for row in range(min(len(table), MOST_FLOWS)):
        times = [time(float(table[f"rtt_{which}_s"][row])) for which in ("min", "mean", "max")]
        lost = percent(float(table["loss_fraction"][row]))
        rows.append([str(table["from"][row]), str(table["to"][row]), str(table["requests"][row]), lost, *times])
    return [*aligned(rows, left=range(2)), *left_out(len(table) - MOST_FLOWS, "more pair", "--json has all")]


def round_trip_s(capture: ShownCapture, row: int) -> float:
    """Mean round-trip time to show [s]: that of the whole path where the capture point is at the receiver, if known."""
    flows = capture.flows
    path = float(flows["rtt_path_mean_s"][row])
    at_receiver = flows["rtt_point"][row] == "receiver" and not math.isnan(path)
    return path if at_receiver else float(flows["rtt_mean_s"][row])


def limit(capture: ShownCapture, row: int) -> str:
    """Say what limited the sender most of the time, or what its direction is for if it carries no data."""
    role = str(capture.flows["role"][row])
    if role != "data":
        return role
    shares = {
        name: float(capture.flows[f"limited_by_{full}"][row])
        for name, full in (
            ("app", "application"),
            ("window", "receiver"),
            ("network", "congestion"),
            (NOTHING, "unknown"),
        )
    }
    if bool(capture.flows["starved"][row]):
        return "starved"
    best = max(shares, key=lambda name: 0 if math.isnan(shares[name]) else shares[name])
    if best == "network" and capture.flows["window_hidden"][row]:
        return "net/win"
    return NOTHING if math.isnan(shares[best]) else best


def _fairness(capture: ShownCapture) -> list[tuple[str, str]]:
    fairness, cell = capture.document["fairness"], capture.cells
    lines = [("goodput", rate(float(cell["goodput_bps"][0])))]
    if fairness["uplink_bytes"] is not None:
        lines.append(("- uplink", f"{rate(float(cell['up_goodput_bps'][0]))}, {size(fairness['uplink_bytes'])}"))
        lines.append(("- downlink", f"{rate(float(cell['down_goodput_bps'][0]))}, {size(fairness['downlink_bytes'])}"))
    competing = int(np.count_nonzero(capture.flows["competes"]))
    lines += _jain(fairness, float(cell["jain_index"][0]), competing, len(capture.flows))
    starved = [flow for flow in fairness["flows"] if flow["starved"]]
    if starved:
        more = [f"{len(starved) - 3} more"] if len(starved) > 3 else []
        names = [f"{flow['from']} > {flow['to']}" for flow in starved[:3]]
        lines += zip(("starved flows", *[""] * len(starved)), [*names, *more])
    near = sum(flow["near_threshold"] for flow in fairness["flows"])
    if near:
        shown = "is" if near == 1 else "are"
        label = "" if starved else "starved flows"
        lines.append((label, f"{counted(near, 'flow')} {shown} close to the threshold, see wifair explain"))
    if fairness["attempts"]:
        shown = f"{counted(len(fairness['attempts']), 'connection')} without data after repeated SYNs"
        lines.append(("never began", shown))
    sessions = fairness["sessions"]
    if sessions["count"]:
        sent, acked = (
            ratio(math.nan if index is None else index)
            for index in (sessions["instantaneous_fairness_sent"], sessions["instantaneous_fairness_acked"])
        )
        lines.append(("sessions", f"{sessions['count']}, instantaneous fairness {sent}"))
        lines.append(("", f"{acked} if a session lasts until its last ACK"))
        if set(capture.flows["rtt_point"]) != {"sender"}:
            lines.append(("", "away from the sender, a wait for a retransmission timer looks like a pause"))
    return lines


def _jain(fairness: dict[str, Any], index: float, competing: int, flows: int) -> list[tuple[str, str]]:
    """Show Jain's index, and of how many flows it is where others do not count."""
    if not competing:
        return [("Jain's index", "- (no flow had more to send than it could)")]
    of = "" if competing == flows else f" of {competing} of {flows} flows: those that had more to send than they could"
    lines = [("Jain's index", ratio(index) + of)]
    if fairness["jain_overlap"] is not None and competing > 1:
        who = "flows" if competing == flows else "of them"
        lines.append(
            ("", f"{ratio(fairness['jain_overlap'])} while all {who} are active ({time(fairness['overlap_s'])})")
        )
    return lines


def _stations(capture: ShownCapture) -> list[str]:
    stations = capture.stations
    largest = sorted(range(len(stations)), key=lambda row: -float(stations["airtime_s"][row]))
    rows = [["station", "frames", "retries", "air time", "of all", "to it", "signal"]]
    for row in largest[:MOST_STATIONS]:
        signal = float(stations["signal_mean_dbm"][row])
        rows.append(
            [
                transmitter(stations, row),
                str(stations["attempts"][row]),
                percent(float(stations["retry_fraction"][row])),
                *air_time(stations, row),
                NOTHING if math.isnan(signal) else f"{signal:.0f} dBm",
            ]
        )
    more = left_out(len(stations) - MOST_STATIONS, "more station", "--json or --csv has all")
    return [*aligned(rows, left=range(1)), *more, *unknown_air_time(stations)]


def air_time(stations: Columns, row: int) -> tuple[str, str, str]:
    """Show the air time of a station, its share, and the share of exchanges that others begin with the station.

    Each is shown as far as the rates of its frames and of all frames are known.
    """
    unknown, frames = stations["frames_without_rate"], stations["attempts"]
    are_known = unknown.sum() <= FEW_UNKNOWN * frames.sum()
    of_all, to_it = (
        percent(float(stations[name][row])) if are_known else NOTHING
        for name in ("airtime_share", "airtime_to_station_share")
    )
    if unknown[row] == frames[row]:
        return NOTHING, NOTHING, to_it
    more = "> " if unknown[row] > FEW_UNKNOWN * frames[row] else ""
    return more + time(float(stations["airtime_s"][row])), of_all, to_it


def unknown_air_time(stations: Columns) -> list[str]:
    """Say how many frames the air times leave out, if any."""
    frames = int(stations["frames_without_rate"].sum())
    return [f"air time without {counted(frames, 'frame')} of unknown rate"] if frames else []


def transmitter(stations: Columns, row: int) -> str:
    """Return the name of a transmitter, marked if it is an access point."""
    return str(stations["name"][row]) + (" (AP)" if stations["access_point"][row] else "")


def aggregate_rows(capture: ShownCapture, most: int) -> list[list[str]]:
    """Give titles, then modes and aggregates of at most `most` stations that send at an MCS or in A-MPDUs.

    The busiest come first. The mode is that of most of their frames at an MCS, if any is known.
    """
    stations = capture.stations
    largest = sorted(range(len(stations)), key=lambda row: -float(stations["airtime_s"][row]))
    rows = [["station", "MCS", "streams", "width", "GI", "of frames", "A-MPDUs", "MPDUs each", "most", "no answer"]]
    has_mcs = ~np.isnan(stations["mcs"]) | (stations["aggregates"] > 0)
    for row in [row for row in largest if has_mcs[row]][:most]:
        mcs, streams, width, guard = (
            float(stations[name][row]) for name in ("mcs", "streams", "width_mhz", "guard_interval_ns")
        )
        mean, sent = float(stations["mpdus_per_aggregate"][row]), int(stations["aggregates"][row])
        heard = sent - int(stations["aggregates_to_unheard"][row])
        lost = percent(int(stations["aggregates_unanswered"][row]) / heard) if heard else NOTHING
        rows.append(
            [
                transmitter(stations, row),
                NOTHING if math.isnan(mcs) else f"{mcs:.0f}",
                NOTHING if math.isnan(mcs) else f"{streams:.0f}",
                NOTHING if math.isnan(width) else f"{width:.0f} MHz",
                NOTHING if math.isnan(mcs) else f"{guard:.0f} ns",
                percent(float(stations["mode_share"][row])),
                str(sent),
                NOTHING if math.isnan(mean) else f"{mean:.1f}",
                str(stations["largest_aggregate"][row]) if sent else NOTHING,
                lost,
            ]
        )
    return rows


def _left_out(count: int, name: str) -> str:
    """Say how many packets were not analysed; `name` is a protocol, or a plural such as "fragments"."""
    found = re.match(r"(.*?\b(?:frame|packet|fragment|datagram))s\b(.*)", name)
    return counted(count, found[1]) + found[2] if found else counted(count, "packet") + f" of {name}"


def _short(name: str, room: int) -> str:
    """Replace the middle of a name that is too long; its ends tell hosts and ports apart."""
    if len(name) <= room:
        return name
    tail = (room - 1) * 2 // 3
    return name[: room - 1 - tail] + "\u2026" + name[-tail:]

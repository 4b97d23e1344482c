"""Converts the reports of both ends of each flow to figures, in the columns of a simulated run.

Goodput is measured while all flows are active, after the warm-up: what a flow gets after another has finished says
nothing about sharing. Each flow's own time and goodput, as ttcp and the papers give them, are further columns. Figures
that only a simulator knows are NaN.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wifair import _core, metrics
from wifair.optional.measure.errors import MeasureError
from wifair.optional.measure.flow import Flow
from wifair.optional.measure.plan import PlanCase

NAN = math.nan

MEASURED = {
    "data_packets_sent": "Data packets handed down by the sender, retransmissions included, over the whole transfer.",
    "retransmissions": "Segments that TCP sent again, over the whole transfer.",
    "timeouts": "Expiries of the retransmission timer, over the whole transfer; needs Linux 6.7.",
    "rtt_mean_s": "Mean of the kernel's smoothed round-trip time [s].",
    "rtt_min_s": "Shortest round-trip time that the kernel measured [s].",
    "rtt_p50_s": "Median of the kernel's smoothed round-trip time [s].",
    "rtt_p95_s": "95th percentile of the kernel's smoothed round-trip time [s].",
    "rtt_p99_s": "99th percentile of the kernel's smoothed round-trip time [s].",
    "rtt_max_s": "Longest smoothed round-trip time [s].",
    "rtt_samples": "Number of times the kernel was asked for its round-trip time.",
    "attempts": "Frames sent, retries included, as the driver counts them.",
    "delivered": "Frames acknowledged, as the driver counts them.",
    "given_up": "Frames given up at a retry limit, as the driver counts them.",
}
"""Meanings that differ from those of a simulated run."""

FLOW_EXTRA = {
    "station": "Name of the station.",
    "transport": "tcp or udp.",
    "cc": "Congestion control of the sender's kernel.",
    "mss_bytes": "Payload of a full segment, as the connection agreed.",
    "transfer_s": "From its first byte at the sender to its last at the receiver [s].",
    "transfer_goodput_bps": "All its data over that time, as ttcp gives it [bit/s].",
    "transfer_bytes": "All its data [bytes].",
    "late_s": "How late it began [s].",
    "outstanding_mean_bytes": "Mean of what was sent and not acknowledged, over time [bytes].",
    "outstanding_max_bytes": "Most that was sent and not acknowledged [bytes].",
    "delivery_rate_p50_bps": "Median of the kernel's estimate of the delivery rate [bit/s].",
    "sender_calls": "Calls of send.",
    "receiver_calls": "Calls of receive.",
    "sender_cpu_s": "CPU time of the sending thread [s].",
    "receiver_cpu_s": "CPU time of the receiving thread [s].",
    "lost_datagrams": "UDP datagrams that did not arrive.",
    "overflowed_datagrams": "Those of them that found the receiver's socket buffer full: its host was too slow.",
}
CELL_EXTRA = {
    "weakest_over_strongest": "Goodput of the flow that gets least over that of the one that gets most, by the means.",
    "late_s": "How late the last flow began, as far as the clocks tell [s].",
    "clock_error_s": "Largest possible error between the clocks of a station and the server [s].",
}
STATION_EXTRA = {
    "signal_dbm": "Mean signal level [dBm].",
    "noise_dbm": "Mean noise level [dBm].",
    "tx_rate_bps": "Mean rate of frames that the station sent [bit/s].",
    "rx_rate_bps": "Mean rate of frames that it received [bit/s].",
    "retries": "Frames sent again, as the driver counts them.",
}
SERIES = {
    "time_s": "Time of the sample [s].",
    "flow": "Name of the flow.",
    "cwnd": "Congestion window [segments].",
    "dwnd": "The part of it that delay drives [segments]; unknown.",
    "ssthresh": "Slow-start threshold [segments]; infinite at first.",
    "srtt_s": "Smoothed round-trip time [s].",
    "received_bytes": "New payload handed to the application since the sample before [bytes].",
    "arrived_bytes": "All payload that arrived since the sample before, duplicates included [bytes]; unknown.",
    "ap_drops": "Packets of the flow dropped by the access point's queue since the sample before; unknown.",
    "goodput_bps": "New payload handed to the application since the sample before [bit/s].",
    "unacked_bytes": "Sent and not acknowledged [bytes].",
    "notsent_bytes": "In the send buffer and not sent [bytes].",
    "retransmissions": "Segments sent again since the start.",
    "rto_s": "Retransmission timeout [s].",
    "delivery_rate_bps": "The kernel's estimate of the delivery rate [bit/s].",
}


def window(case: PlanCase, flows: Mapping[str, Any], warm_up_s: float) -> tuple[float, float]:
    """Find the time in which all flows were active [s]; if there is none, from the first start to the last end."""
    starts, ends = [], []
    for flow in case.flows:
        starts.append(float(flows[flow.name]["sender"]["started_s"]))
        last_s = float(flows[flow.name]["receiver"]["last_s"])
        nominal = flow.start_s + flow.span_s if flow.span_s is not None and flow.size is None else NAN
        ends.append(last_s if math.isnan(nominal) else nominal)
    begin, end = max(*starts, warm_up_s), min(ends)
    return (begin, end) if end > begin else (min(starts), max(ends))


def outcome(case: PlanCase, row: Mapping[str, Any], *, warm_up_s: float, capacity_bps: float) -> _core.Outcome:
    """Compute all figures of a repetition, in the form in which the core returns those of a run.

    `capacity_bps` is the best goodput of all stations together; NaN if unknown.

    Raises
    ------
    MeasureError
        If the journal does not hold what it should.
    """
    try:
        return _outcome(case, row, warm_up_s, capacity_bps)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise MeasureError(f"the journal has a damaged repetition of `{case.name}`: {error!r}") from None


def _outcome(case: PlanCase, row: Mapping[str, Any], warm_up_s: float, capacity_bps: float) -> _core.Outcome:
    begin, end = window(case, row["flows"], warm_up_s)
    flows = [_flow(flow, row["flows"][flow.name], begin, end) for flow in case.flows]
    sessions = [figures for flow in case.flows for figures in _sessions(flow, row["flows"][flow.name])]
    names = _core.figure_names()
    return {
        "seed": row["repetition"],
        "measured_s": end - begin,
        "events": 0,
        "flows": _columns(names[0], FLOW_EXTRA, flows),
        "cell": _columns(names[1], CELL_EXTRA, [_cell(case, row, flows, sessions, capacity_bps)]),
        "stations": _columns(names[2], STATION_EXTRA, _stations(case, row)),
        "sessions": _columns(names[3], {}, [s for s in sessions if s["start_s"] >= warm_up_s]),
        "series": _series(case, row["flows"]),
        "queues": [("time_s", "Time of the sample [s].", ("<f8", b""))],
        "frames": None,
        "backoffs": None,
    }


def _flow(flow: Flow, ends: Mapping[str, Any], begin: float, end: float) -> dict[str, Any]:
    sender, receiver = ends["sender"], ends["receiver"]
    progress = receiver["progress"]
    times, counts = np.asarray(progress["time_s"], float), np.asarray(progress["bytes"], float)
    received = float(np.diff(np.interp([begin, end], times, counts, left=0.0))[0])
    transfer_s = receiver["last_s"] - sender["started_s"]
    span = end - begin
    figures = {
        "name": flow.name,
        "direction": flow.direction,
        "goodput_bps": 8 * received / span,
        "received_bytes": round(received),
        "station": flow.station,
        "transport": flow.transport,
        "cc": sender.get("cc", ""),
        "transfer_s": transfer_s,
        "transfer_goodput_bps": 8 * receiver["received"] / transfer_s,
        "transfer_bytes": receiver["received"],
        "late_s": sender["started_s"] - flow.start_s,
        "sender_calls": sender["calls"],
        "receiver_calls": receiver["calls"],
        "sender_cpu_s": sender["cpu_user_s"] + sender["cpu_system_s"],
        "receiver_cpu_s": receiver["cpu_user_s"] + receiver["cpu_system_s"],
    }
    if flow.transport == "udp":
        copies = receiver["duplicates"]
        figures |= {
            "throughput_bps": figures["goodput_bps"] * (1 + copies / receiver["datagrams"]),
            "data_packets_sent": sender["datagrams"],
            "lost_datagrams": sender["datagrams"] - receiver["datagrams"],
            "overflowed_datagrams": _number(receiver.get("overflowed")),
            "jitter_s": receiver["jitter_s"],
            "mss_bytes": flow.payload,
        }
        return figures
    figures |= {
        "data_packets_sent": _number(sender.get("data_segs_out")),
        "retransmissions": _number(sender.get("total_retrans")),
        "timeouts": _number(sender.get("total_rto")),
        "mss_bytes": _number(sender.get("mss")),
        "rtt_min_s": _number(sender.get("min_rtt_s")),
    }
    series = {name: _array(values) for name, values in sender.get("series", {}).items()}
    if not series or not len(series["time_s"]):
        return figures
    inside = (series["time_s"] >= begin) & (series["time_s"] <= end)
    if not inside.any():
        return figures
    rtt = series["srtt_s"][inside]
    rtt = rtt[~np.isnan(rtt)]
    if len(rtt):
        figures |= {"rtt_mean_s": rtt.mean(), "rtt_max_s": rtt.max(), "rtt_samples": len(rtt)}
        for percent in (50, 95, 99):
            figures[f"rtt_p{percent}_s"] = np.percentile(rtt, percent)
    weights = _weights(series["time_s"][inside], end)
    figures |= {
        "cwnd_mean": np.average(series["cwnd"][inside], weights=weights),
        "outstanding_mean_bytes": np.average(series["unacked_bytes"][inside], weights=weights),
        "outstanding_max_bytes": series["unacked_bytes"][inside].max(),
        "delivery_rate_p50_bps": np.nanmedian(series["delivery_rate_bps"][inside]),
    }
    return figures


def _weights(times: NDArray[np.float64], end: float) -> NDArray[np.float64]:
    """Compute how long each sample is valid: until the next one."""
    return np.maximum(np.diff(np.append(times, end)), 1e-9)


def _sessions(flow: Flow, ends: Mapping[str, Any]) -> list[dict[str, Any]]:
    rows = ends["sender"].get("sessions", [])
    progress = ends["receiver"]["progress"]
    times, counts = np.asarray(progress["time_s"], float), np.asarray(progress["bytes"], float)
    figures = []
    total = 0
    for session in rows:
        total += session["size"]
        at = int(np.searchsorted(counts, total))
        figures.append(
            {
                "flow": flow.name,
                "start_s": session["start_s"],
                "length_bytes": session["size"],
                "sent_after_s": _number(session.get("sent_after_s")),
                "received_after_s": times[at] - session["start_s"] if at < len(times) else NAN,
                "acked_after_s": _number(session.get("acked_after_s")),
            }
        )
    return figures


def _cell(
    case: PlanCase,
    row: Mapping[str, Any],
    flows: Sequence[dict[str, Any]],
    sessions: list[dict[str, Any]],
    capacity: float,
) -> dict[str, Any]:
    goodput = [flow["goodput_bps"] for flow in flows]
    upload = [flow["direction"] == "up" for flow in flows]
    errors = [float(clock["error_s"]) for clock in row["clocks"].values()]
    cell: dict[str, Any] = {
        "goodput_bps": sum(goodput),
        "throughput_bps": sum(flow.get("throughput_bps", NAN) for flow in flows),
        "jain_index": metrics.jain_index(goodput),
        "starved_fraction": metrics.starved_fraction(goodput),
        "timeouts": sum(flow.get("timeouts", 0) for flow in flows),
        "retransmissions": sum(flow.get("retransmissions", 0) for flow in flows),
        "weakest_over_strongest": min(goodput) / max(goodput) if max(goodput) > 0 else NAN,
        "late_s": row["late_s"],
        "clock_error_s": max(errors, default=NAN),
    }
    if any(upload) and sum(rate for rate, is_up in zip(goodput, upload) if not is_up) > 0:
        cell["up_down_ratio"] = metrics.up_down_ratio(goodput, upload)
    if sum(goodput) > 0:
        cell["uplink_share"] = metrics.uplink_share(goodput, upload)
    finished = [session for session in sessions if not math.isnan(session["acked_after_s"])]
    cell |= {"sessions_finished": len(finished), "sessions_unfinished": len(sessions) - len(finished)}
    if sessions and capacity > 0:
        share = metrics.fair_share(capacity, len({flow.station for flow in case.flows}))
        for name, after in (("", "sent_after_s"), ("_acked", "acked_after_s")):
            index = metrics.instantaneous_fairness(
                [session["length_bytes"] for session in sessions],
                [session["start_s"] for session in sessions],
                [session["start_s"] + session[after] for session in sessions],
                fair_share_bps=share,
            )
            cell[f"instantaneous_fairness{name}"] = index.index
    return cell


def _stations(case: PlanCase, row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Summarise the radios: means of levels and rates during the transfer, increases of counters over it."""
    figures = []
    for name in dict.fromkeys(flow.station for flow in case.flows):
        looks = row["hosts"].get(name, {}).get("radio", [])
        if not looks:
            continue
        during = [look for look in looks if look["time_s"] >= 0] or looks

        def mean(key: str, during: list[dict[str, Any]] = during) -> float:
            values = [float(look[key]) for look in during if key in look]
            return sum(values) / len(values) if values else NAN

        def grown(key: str, looks: list[dict[str, Any]] = looks) -> float:
            values = [float(look[key]) for look in looks if key in look]
            return values[-1] - values[0] if len(values) > 1 else NAN

        packets, failed = grown("tx_packets"), grown("tx_failed")
        retries = grown("tx_retries")
        if math.isnan(retries):
            retries = grown("wext_retries")
        figures.append(
            {
                "name": name,
                "attempts": packets + retries,
                "delivered": packets - failed,
                "given_up": failed,
                "retries": retries,
                **{key: mean(key) for key in ("signal_dbm", "noise_dbm", "tx_rate_bps", "rx_rate_bps")},
            }
        )
    return figures


def _series(case: PlanCase, flows: Mapping[str, Any]) -> list[_core.RawColumn]:
    columns: dict[str, list[Any]] = {name: [] for name in SERIES}
    for flow in case.flows:
        series = flows[flow.name]["sender"].get("series")
        if not series or not series["time_s"]:
            continue
        progress = flows[flow.name]["receiver"]["progress"]
        times = np.asarray(series["time_s"], float)
        total = np.interp(times, np.asarray(progress["time_s"], float), np.asarray(progress["bytes"], float), left=0.0)
        received = np.diff(total, prepend=0.0)
        spans = np.diff(times, prepend=flow.start_s)
        goodput = np.divide(8 * received, spans, out=np.zeros_like(received), where=spans > 0)
        ssthresh = np.array([math.inf if value is None else value for value in series["ssthresh"]], float)
        columns["flow"] += [flow.name] * len(times)
        known = {"time_s": times, "received_bytes": received, "goodput_bps": goodput, "ssthresh": ssthresh}
        known |= dict.fromkeys(("dwnd", "arrived_bytes", "ap_drops"), np.full(len(times), NAN))
        for name in SERIES:
            if name != "flow":
                columns[name] += (known[name] if name in known else _array(series[name])).tolist()
    return [(name, about, _raw(columns[name], text=name == "flow")) for name, about in SERIES.items()]


def _columns(
    names: Sequence[tuple[str, str]], extra: Mapping[str, str], rows: Sequence[Mapping[str, Any]]
) -> list[_core.RawColumn]:
    columns: list[_core.RawColumn] = []
    for name, about in [*names, *extra.items()]:
        text = name in ("name", "direction", "flow", "station", "transport", "cc", "bufferbloat_grade")
        values = [row.get(name, "" if text else NAN) for row in rows]
        columns.append((name, MEASURED.get(name, about), _raw(values, text=text)))
    return columns


def _raw(values: Sequence[Any], *, text: bool) -> Any:
    if text:
        return [str(value) for value in values]
    return ("<f8", np.asarray(values, dtype="<f8").tobytes())


def _array(values: Sequence[Any]) -> NDArray[np.float64]:
    return np.array([NAN if value is None else value for value in values], dtype=np.float64)


def _number(value: Any) -> float:
    return NAN if value is None else float(value)

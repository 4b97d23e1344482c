"""What is lost, and what waits."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from wifair.latency import bufferbloat_grade
from wifair.report import percent, rate, time
from wifair.words import counted, general, often

from .records import FEW, Finding, Records, chosen, each_run, listed, some

MANY_ACKS = 0.05
"""Dropped ACKs are told from this part of the data packets on."""
NEAR_S = 1e-3
"""Round-trip times below this are those of a capture at the receiver: they say nothing."""


def dropped_acks(r: Records) -> Iterator[Finding]:
    """Tell what ACKs dropped at the access point mean."""
    dropped = r.cell.get("ap_drops_ack", 0.0)
    if not dropped or math.isnan(dropped):
        return
    full = r.cell["ap_queue_full_fraction"]
    text = (
        f"The access point drops {counted(dropped, 'TCP ACK')}{each_run(r)}: its queue is full {percent(full)} of the"
        " time. ACKs are cumulative, so a sender with a large window hardly notices"
    )
    figures = {"ap_drops_ack": dropped, "ap_queue_full_fraction": full}
    windows = np.asarray(r.raw["cwnd_mean"], dtype=np.float64)
    known = np.isfinite(windows)  # flows of datagrams have none
    windows, hit = windows[known], r.raw["timeouts"][known] > 0
    if hit.any() and not hit.all():
        text += (
            f"; one with a small window may lose all of them and waits for its timer: the mean window is"
            f" {general(windows[hit].mean())} segments where timers expired, {general(windows[~hit].mean())} where none"
            " did"
        )
        figures |= {"cwnd_with_timeouts": windows[hit].mean(), "cwnd_without": windows[~hit].mean()}
    elif hit.any():
        text += "; one that has lost its window may lose all of them, and waits for its timer"
    yield Finding(
        "lost ACKs",
        text + ".",
        figures,
        ("ap.queue.discipline=las", "ap.scheme.window=b-over-n", "ap.queue.discipline=dual"),
    )


def acks_dropped_at_stations(r: Records) -> Iterator[Finding]:
    """ACKs of downloads; a few may be lost wherever a queue overflows."""
    if "ack_drops_station_queue" not in r.flows:
        return
    dropped, sent = r.flows["ack_drops_station_queue"], r.flows["data_packets_sent"]
    many = [int(i) for i in np.argsort(-dropped, kind="stable") if dropped[i] > MANY_ACKS * sent[i]]
    if not many:
        return
    parts = [f"{general(dropped[i])} of {r.flows.names[i]}" for i in many[:FEW]]
    more = f", and of {counted(len(many) - FEW, 'more flow')}" if len(many) > FEW else ""
    receivers = [r.group("flows", r.flows.names[i]).get("station", "") for i in many]
    groups = sorted({str(r.group("stations", station).get("name", "")) for station in receivers} - {""})
    text = f"TCP ACKs dropped in stations' queues{each_run(r)}: {', '.join(parts)}{more}"
    stations = r.stations
    if stations is not None and "mpdus" in stations and stations["mpdus"].sum() > 2 * stations["ppdus"].sum():
        text += ". What arrives in one aggregate is acknowledged at once, with more packets than these queues hold"
    yield Finding(
        "lost ACKs",
        text + ".",
        {"ack_drops_station_queue": float(dropped.sum())},
        tuple(f"stations.{group}.queue.limit=1000 packets" for group in groups),
    )


def dropped_data(r: Records) -> Iterator[Finding]:
    """Tell where data packets were lost."""
    places = {
        "data_drops_ap_queue": "in the access point's queue",
        "data_drops_station_queue": "in stations' queues",
        "data_drops_link_queue": "in queues of wired links",
        "data_drops_retry_limit": "at the MAC's retry limit",
        "data_drops_ap_scheme": "by a scheme of the access point",
        "data_drops_lifetime": "by the MAC, as their lifetime was over",
        "data_drops_late": "by receivers that had stopped waiting for them",
    }
    found = {column: float(r.flows[column].sum()) for column in places if column in r.flows}
    found = {column: count for column, count in found.items() if count > 0}
    if not found:
        return
    parts = [f"{general(count)} {places[column]}" for column, count in sorted(found.items(), key=lambda item: -item[1])]
    text = f"Lost data packets{each_run(r)}: {listed(parts)}."
    worst = max(found, key=lambda column: found[column])
    lost = r.flows[worst]
    if len(lost) > 1 and lost.max() > 2 * max(lost.mean(), 1):
        text += f" {r.flows.names[int(np.argmax(lost))]} loses most, {general(lost.max())}."
    yield Finding("lost data", text, found)


def timeouts(r: Records) -> Iterator[Finding]:
    """Tell whose retransmission timers expired."""
    timeouts = r.flows["timeouts"]
    total = float(timeouts.sum())
    if not total > 0:  # none, or nobody knows
        return
    ranked = [int(i) for i in np.argsort(-timeouts, kind="stable") if timeouts[i] > 0]
    parts = [f"{r.flows.names[i]} {general(timeouts[i])}" for i in ranked[:FEW]]
    more = f", and {counted(len(ranked) - FEW, 'more flow')}" if len(ranked) > FEW else ""
    text = f"Retransmission timers expire {often(total)}{each_run(r)}: {', '.join(parts)}{more}."
    goodput = np.asarray(r.raw["goodput_bps"], dtype=np.float64)
    known = np.isfinite(r.raw["timeouts"]) & np.isfinite(goodput)
    goodput, hit = goodput[known], r.raw["timeouts"][known] > 0  # in each run: a flow may have timeouts in some only
    if hit.any() and not hit.all() and goodput[~hit].mean() > 1.1 * goodput[hit].mean():
        of, those = rate(float(goodput[hit].mean())), rate(float(goodput[~hit].mean()))
        if r.runs == 1:
            text += f" Flows with timeouts get {of} on average, those without {those}."
        else:
            text += f" A flow gets {of} on average in runs in which it has timeouts, {those} in the others."
    yield Finding("timeouts", text, {"timeouts": total})


def waiting(r: Records) -> Iterator[Finding]:
    """Tell how long packets waited in queues."""
    mean, least = r.flows["rtt_mean_s"], r.flows["rtt_min_s"]
    if "rtt_path_mean_s" in r.flows:  # a capture: only round trips of the whole path say what waits in queues
        mean, least = r.flows["rtt_path_mean_s"], r.flows["rtt_idle_s"]
    known = ~np.isnan(mean) & ~np.isnan(least)
    if not known.any():
        return
    average, base = float(mean[known].mean()), float(least[known].mean())
    if average < 2 * base or average < NEAR_S:
        return
    queue = r.cell.get("ap_queue_mean_packets", math.nan)
    partial = "rtt_path_mean_s" in r.flows and not known.all()
    whose = f" of {some(chosen(r.flows.names, known))}" if partial else ""
    text = f"Round trips{whose} take {time(average)} on average, the shortest take {time(base)}"
    text += ": the rest is waiting in queues"
    if not math.isnan(queue) and queue > 1:
        text += f". The access point's holds {queue:.1f} packets on average"
    if "latency_increase_s" in r.flows:
        increase = r.flows["latency_increase_s"][known]
        grade = bufferbloat_grade(float(np.nanmean(increase))) if not np.isnan(increase).all() else None
        if grade:
            text += f". Tests of bufferbloat would give this a grade of {grade}"
    yield Finding(
        "waiting",
        text + ".",
        {"rtt_mean_s": average, "rtt_min_s": base, "ap_queue_mean_packets": queue},
        ("ap.scheme.window=b-over-n", "ap.queue.discipline=fq-codel") if queue > 10 else (),
    )

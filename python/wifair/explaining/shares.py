"""Who gets how much, and what limits it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np

from wifair import metrics
from wifair.report import percent, rate
from wifair.words import counted, general

from .records import STARVED, Finding, Records, chosen, each_run, seconds, some

EITHER = "congestion or receive window (not to be told apart here)"
MORE_OFTEN = 1.2
"""The access point sends more often than each station if it does so by this factor."""
LATE = 0.05
"""A flow is late if it starts after this part of the measured time."""


def shares(r: Records) -> Iterator[Finding]:
    """Tell what flows got, and which of them starved."""
    names, goodput = r.flows.names, r.flows["goodput_bps"]
    total = r.cell["goodput_bps"]
    runs = f" (means of {r.runs} runs)" if r.runs > 1 else ""
    if len(names) == 1:
        yield Finding("goodput", f"{names[0]} gets {rate(goodput[0])}{runs}.", {"goodput_bps": total})
        return
    text = f"{len(names)} flows get {rate(total)} together{runs}"
    sated = chosen(names, r.sated)
    hungry = np.flatnonzero(~r.sated)
    if sated and hungry.size:
        text += f". {some(sated)} {'get what they ask' if len(sated) > 1 else 'gets what it asks'} for; "
    else:
        text += ": " if hungry.size else ", all that they ask for"
    if hungry.size == 1:
        text += f"{names[hungry[0]]} gets {rate(goodput[hungry[0]])}"
    elif hungry.size:
        most, least = hungry[np.argmax(goodput[hungry])], hungry[np.argmin(goodput[hungry])]
        if goodput[most] > 1.1 * max(goodput[least], 1e-9):
            first = f"of the others, {names[most]} gets" if sated else names[most]
            text += f"{first} most with {rate(goodput[most])}, {names[least]} least with {rate(goodput[least])}"
        else:
            text += f"{'the others get' if sated else 'all get'} about the same"
    jain = r.cell.get("jain_index", math.nan)
    if not math.isnan(jain):
        text += f". Jain's index{' of all' if sated and hungry.size else ''} is {jain:.3f}"
    yield Finding("goodput", text + ".", {"goodput_bps": total, "jain_index": jain})

    yield from _starved(r)


def late(r: Records) -> Iterator[Finding]:
    """Tell flows that start well after the warm-up: their rates are means over a time in which they were absent."""
    begin, end = (seconds(r.scenario.get(key, "")) for key in ("warm_up", "duration"))
    starts = np.array([seconds(r.group("flows", flow).get("start", "")) for flow in r.flows.names])
    which = starts > begin + LATE * (end - begin)
    if not which.any():
        return
    names = chosen(r.flows.names, which)
    whole = float(r.flows["goodput_bps"][which].mean())
    since = float((r.flows["goodput_bps"][which] * (end - begin) / (end - starts[which])).mean())
    several = len(names) > 1
    yield Finding(
        "late",
        f"{some(names)} {'do' if several else 'does'} not start before {general(starts[which].min())} s."
        f" {'They get' if several else 'It gets'} {rate(since)}{' each on average' if several else ''} from then on;"
        f" {rate(whole)}, like all other figures of flows, is over the whole time from {general(begin)} s to"
        f" {general(end)} s.",
        {"goodput_bps": whole, "from_start_bps": since},
    )


def _starved(r: Records) -> Iterator[Finding]:
    """Tell starved flows from those that had no more to send, or were there for a short time only."""
    names = [str(name) for name in r.raw["name"]]
    goodput = np.asarray(r.raw["goodput_bps"], dtype=np.float64)
    if "starved" in r.raw:
        starved = np.asarray(r.raw["starved"], dtype=np.bool_)
    else:  # a measurement, or results of an earlier version
        starved = np.concatenate([metrics.starved(goodput[r.raw["seed"] == seed]) for seed in np.unique(r.raw["seed"])])
    times = Counter(chosen(names, starved))
    if times:
        parts = [
            some([name for name, count in times.items() if count == runs])
            + (f" in {runs} of {r.runs} runs" if r.runs > 1 else "")
            for runs in sorted(set(times.values()), reverse=True)
        ]
        text = f"Less than a tenth of an equal share goes to {', '.join(parts)}."
        if "unsure" in r.raw:
            doubtful = chosen(names, starved & r.raw["unsure"])
            if doubtful:
                text += (
                    f" The capture was not taken at the sender of {some(doubtful)}, and does not show whether"
                    f" {'they' if len(doubtful) > 1 else 'it'} had more to send: it is taken to be so."
                )
        yield Finding("starved", text, {"starved_fraction": float(starved.mean())})
    if "near_threshold" in r.raw:
        near = chosen(names, r.raw["near_threshold"])
        if near:
            text = (
                f"{some(near)} {'are' if len(near) > 1 else 'is'} close to a tenth of an equal share: captures taken"
                " elsewhere, which count what has arrived there, may differ on whether"
                f" {'they starve' if len(near) > 1 else 'it starves'}."
            )
            yield Finding("close", text, {"near_threshold": float(len(near))})
    if "had_no_more" not in r.raw:
        return
    competes = np.asarray(r.raw["competes"], dtype=np.bool_)
    if not competes.any():
        return
    little = (goodput < STARVED * goodput[competes].mean()) & ~starved & (np.asarray(r.raw["role"]) == "data")
    done = np.asarray(r.raw["had_no_more"], dtype=np.bool_)
    for which, why in (
        (little & done, "had no more to send"),
        (little & ~done, "not for the time that they were there"),
    ):
        modest = chosen(names, which)
        if modest:
            gets = "get" if len(modest) > 1 else "gets"
            reason = why if len(modest) > 1 else why.replace("they were", "it was")
            yield Finding(
                "modest",
                f"{some(modest)} {gets} less than a tenth of the mean, but {reason}.",
                {"starved_fraction": float(starved.mean())},
            )


def directions(r: Records) -> Iterator[Finding]:
    """Compare uplink and downlink flows that always had something to send."""
    if not r.cell_has("up_down_ratio", "uplink_share"):
        return
    directions = np.array(r.flows.text("direction"))
    goodput = r.flows["goodput_bps"]
    up, down = (goodput[(directions == way) & r.persistent] for way in ("up", "down"))
    if not up.size or not down.size or not down.sum():
        return
    ratio = float(up.mean() / down.mean())
    text = f"An uplink flow gets {rate(float(up.mean()))} on average, a downlink flow {rate(float(down.mean()))}"
    figures = {"up_bps": float(up.sum()), "down_bps": float(down.sum()), "per_flow_ratio": ratio}
    if 1 / 1.1 < ratio < 1.1:
        yield Finding("up, down", text + ": about the same.", figures)
        return
    text += f", {float(f'{max(ratio, 1 / ratio):.2g}'):.15g} times {'less' if ratio > 1 else 'more'}."
    advice: tuple[str, ...] = ()
    if r.marks("up") != r.marks("down"):
        text += " They differ in `category` or `dscp`, and so in priority: not the direction alone decides."
    elif ratio > 1 and r.stations is not None and "delivered" in r.stations and "ap" in r.stations.names:
        delivered, attempts = r.stations["delivered"], r.stations["attempts"]
        which = r.stations.names.index("ap")
        ap = float(delivered[which] / delivered.sum())
        often = attempts[which] > MORE_OFTEN * np.delete(attempts, which).max()
        text += f" The access point delivers {percent(ap)} of all frames"
        text += ", and" if often else ": it gets the air no more often than each station, and"
        text += " all downloads and the ACKs of all uploads have to share that."
        figures["access_point_frames"] = ap
        advice = ("ap.scheme.window=b-over-n", "ap.scheme.window=wmax-over-n", "ap.queue.discipline=las")
    yield Finding("up, down", text, figures, advice)


def limits(r: Records) -> Iterator[Finding]:
    """Tell what kept flows from sending more."""
    if "limited_by_receiver" in r.flows:  # a capture
        hidden, window = r.flows["window_hidden"] > 0, r.flows["limited_by_congestion"]
        reasons = {
            "application": r.flows["limited_by_application"],
            "receive window": r.flows["limited_by_receiver"],
            "congestion window": np.where(hidden, 0, window),
            EITHER: np.where(hidden, window, 0),
            "not to be seen here": r.flows["limited_by_unknown"],
        }
        mean = {name: float(np.nanmean(share)) for name, share in reasons.items() if not np.isnan(share).all()}
        rare = (EITHER, "not to be seen here", *(["congestion window"] if hidden.all() else []))
        mean = {name: share for name, share in mean.items() if share > 0 or name not in rare}
        if mean:
            parts = [f"{name} {percent(share)}" for name, share in mean.items()]
            yield Finding("limits", f"What keeps flows from sending, by time: {', '.join(parts)}.", mean)
        return
    if r.series is None or not r.scenario:
        return
    at_bound: dict[str, float] = {}
    for flow in r.flows.names:
        bound = r.window(flow)
        cwnd = np.asarray(r.series["cwnd"][r.series["flow"] == flow], dtype=np.float64)
        if not math.isnan(bound) and cwnd.size:
            at_bound[flow] = float(np.mean(cwnd >= math.floor(bound) - 0.01))
    held = {flow: share for flow, share in at_bound.items() if share > 0.5}
    if held:
        who = "all flows" if 1 < len(held) == len(r.flows.names) else some(list(held))
        share = sum(held.values()) / len(held)
        yield Finding(
            "limits",
            f"The receive window (or `max_cwnd`) holds {who} back:"
            f" {'their congestion windows are' if len(held) > 1 else 'its congestion window is'} at it"
            f" {percent(share)} of the time.",
            {"share_at_bound": share},
        )
    elif at_bound:
        yield Finding(
            "limits",
            "Congestion control, not the receive window, decides how much flows send: no window is at its bound for"
            " half of the time.",
            {"share_at_bound": sum(at_bound.values()) / len(at_bound)},
        )


def sessions(r: Records) -> Iterator[Finding]:
    """Tell how fair the times of sessions were."""
    if not r.cell_has("instantaneous_fairness"):
        return
    index, late = r.cell["instantaneous_fairness"], r.cell["sessions_unfinished"]
    done = r.cell["sessions_finished"]
    finished, unfinished = counted(done, "transmission session"), general(late)
    text = f"{finished} finish{'' if finished.endswith('s') else 'es'}{each_run(r)}"
    text += f", {unfinished} {'does' if unfinished == '1' else 'do'} not. Their instantaneous fairness is"
    text += f" {index:.3f}: 1 is a session that takes no longer than with an equal share of the capacity."
    if "rtt_point" in r.raw and set(r.raw["rtt_point"]) != {"sender"}:
        text += " Away from the sender, a wait for a retransmission timer looks like a pause between sessions."
    yield Finding("sessions", text, {"instantaneous_fairness": index, "sessions_unfinished": late})

"""What happened in a run or in a capture and why, in plain words, each sentence with its numbers.

Nothing is guessed: every finding rests on the records, and says which figures show it.
"""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wifair import metrics
from wifair._core import __version__
from wifair.columns import Columns, finite
from wifair.files import json_text
from wifair.latency import bufferbloat_grade
from wifair.report import named, percent, rate, time
from wifair.statistics import mean_interval
from wifair.words import KEPT, counted, general, often, together

if TYPE_CHECKING:
    from wifair.sources import Found

FORMAT = 1
STARVED = 0.1
"""A flow below this part of the mean goodput is looked at: it is starved, or asked for little."""
SATED = 0.95
"""A flow that gets this part of what it asks for has got it; the rest is under way, or lost."""
SATISFIED = 70
"""Below this R-factor many users are dissatisfied (ITU-T G.109)."""
FEW = 6
"""Names that a sentence lists."""
EITHER = "congestion or receive window (not to be told apart here)"
NEAR_S = 1e-3
"""Round-trip times below this are those of a capture at the receiver: they say nothing."""


class Finding(NamedTuple):
    """One thing that happened."""

    topic: str
    """A word or two: what it is about."""
    text: str
    """What happened and why."""
    figures: dict[str, float]
    """The numbers it rests on, units in the names."""
    advice: tuple[str, ...] = ()
    """Changes of the scenario that may help, as behind ``wifair compare FILE --against``."""


@dataclass(eq=False, repr=False)
class Explanation:
    """Findings, the most important first."""

    name: str
    """What is explained."""
    findings: list[Finding]
    """What was found."""

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain Python values, in the layout of ``wifair explain --json``."""
        return {
            "format": FORMAT,
            "version": __version__,
            "name": self.name,
            "findings": [
                one._asdict()
                | {"figures": {name: finite(value) for name, value in one.figures.items()}, "advice": list(one.advice)}
                for one in self.findings
            ],
        }

    def to_json(self) -> str:
        """Write the same as JSON text."""
        return json_text(self.to_dict()) + "\n"

    def text(self, width: int = 100) -> str:
        """Show the findings, a paragraph each.

        Parameters
        ----------
        width : int, default 100
            Maximum line width in characters.

        Returns
        -------
        str
            The name, then the findings, each after its topic.
        """
        import textwrap  # noqa: PLC0415

        label = max((len(one.topic) for one in self.findings), default=0) + 2
        lines = [self.name, ""]
        for one in self.findings:
            lines += textwrap.wrap(
                together(one.text),
                width,
                initial_indent=one.topic.ljust(label),
                subsequent_indent=" " * label,
                break_on_hyphens=False,
            )
        advice = list(dict.fromkeys(change for one in self.findings for change in one.advice))
        if advice:
            lines += ["", "What may help; `wifair compare FILE --against CHANGE` shows whether it does:"]
            lines += [f"  {change}" for change in advice]
        return "\n".join(lines).replace(KEPT, " ")

    def __repr__(self) -> str:
        return self.text()


def explain(results: Found) -> Explanation:
    """Explain what happened and why, from the records.

    Parameters
    ----------
    results : Results, SavedResults or Capture
        What to explain. Results with a series (``run(..., series="100 ms")``) also show what limits each flow.

    Returns
    -------
    Explanation
        Findings with their numbers, and as text.

    Raises
    ------
    ValueError
        If there is no run, and no flow, datagram or echo.

    Examples
    --------
    >>> explain(run("hot_spot.toml", series="100 ms"))  # doctest: +SKIP
    """
    others: list[Finding] = []
    for name, tell in (("attempts", _attempts), ("datagrams", _datagrams), ("echoes", _echoes)):
        table: Columns | None = getattr(results, name, None)  # only captures have them
        if table is not None and table.rows:
            others += tell(table)
    if not results.cells.rows or not results.flows.rows:
        if not others:
            raise ValueError("nothing to explain: there is no flow with data, no datagram, no echo")
        return Explanation(named(results), others)
    records = _Records(results)
    rules: tuple[Callable[[_Records], Iterator[Finding]], ...] = (
        _shares,
        _directions,
        _dropped_acks,
        _dropped_data,
        _timeouts,
        _waiting,
        _calls,
        _limits,
        _sessions,
        _radio,
        _slow_stations,
        _air,
    )
    return Explanation(named(results), [finding for rule in rules for finding in rule(records)] + others)


class _Records:
    """Means over the seeds, by name."""

    def __init__(self, results: Found) -> None:
        self.cell = {
            name: mean_interval(column.tolist()).mean for name, column in results.cells.items() if name != "seed"
        }
        self.runs = results.cells.rows
        self.flows = _Means(results.flows)
        self.stations = _Means(results.stations) if results.stations.rows else None
        self.series = results.series
        self.raw = results.flows
        scenario = getattr(results, "scenario", None)
        self.scenario = _parsed(getattr(scenario, "resolved", ""))
        self.sated = self._sated()
        """Whether each flow is known to have got what it asked for."""
        workloads = [self.group("flows", flow).get("workload", "persistent") for flow in self.flows.names]
        self.persistent = np.array([workload == "persistent" for workload in workloads]) & ~self.sated
        """Whether each flow always had something to send, as far as is known."""

    def _sated(self) -> NDArray[np.bool_]:
        goodput = self.flows["goodput_bps"]
        if "asked_bps" not in self.flows or "mos" not in self.flows:  # a capture, or a measurement
            return np.zeros(len(goodput), dtype=np.bool_)
        # A session of TCP may be the slower the less it gets, and another follow later. Datagrams do not wait.
        cannot_wait = np.isfinite(self.flows["mos"]) | (goodput < STARVED * goodput.mean())
        sated: NDArray[np.bool_] = cannot_wait & (goodput >= SATED * self.flows["asked_bps"])
        return sated

    def cell_has(self, *names: str) -> bool:
        return all(name in self.cell and not math.isnan(self.cell[name]) for name in names)

    def group(self, kind: str, name: str) -> dict[str, Any]:
        """Find the table of the scenario, of `kind` flows or stations, that `name` comes from; empty if unknown."""
        for group in self.scenario.get(kind, []):
            rest = name.removeprefix(group["name"]).replace("-", "")
            if name.startswith(group["name"]) and (not rest or rest.isdigit()):
                found: dict[str, Any] = group
                return found
        return {}

    def window(self, flow: str) -> float:
        """Least of receive window and bound of the congestion window of a flow [segments]; NaN if unknown."""
        tcp = self.group("flows", flow).get("tcp", {})
        bounds = [_segments(tcp[key], tcp) for key in ("receive_window", "max_cwnd") if key in tcp]
        return min(bounds, default=math.nan)

    def uploads(self, station: str) -> bool:
        """Whether the station is known to have data to send at any time."""
        name = self.group("stations", station).get("name")
        flows = [flow for flow in self.scenario.get("flows", []) if flow.get("direction", "up") == "up"]
        return name is not None and any(
            flow.get("station") in (name, station) and flow.get("workload") == "persistent" for flow in flows
        )


class _Means:
    """Columns of a table that has a row for each seed and name, as means over the seeds."""

    def __init__(self, table: Columns) -> None:
        self._table = table
        self.names = list(dict.fromkeys(map(str, table["name"])))
        self._which = [np.flatnonzero(table["name"] == name) for name in self.names]

    def __contains__(self, column: str) -> bool:
        return column in self._table

    def __getitem__(self, column: str) -> NDArray[np.float64]:
        values = np.asarray(self._table[column], dtype=np.float64)
        return np.array([mean_interval(values[rows].tolist()).mean for rows in self._which])

    def text(self, column: str) -> list[str]:
        """Get a column that is the same in all runs."""
        return [str(self._table[column][rows[0]]) for rows in self._which]


def _parsed(resolved: str) -> dict[str, Any]:
    try:
        return tomllib.loads(resolved)
    except tomllib.TOMLDecodeError:  # a measurement's plan is JSON
        return {}


def _segments(limit: str, tcp: dict[str, Any]) -> float:
    number, _, unit = limit.partition(" ")
    if unit.startswith("packet"):
        return float(number)
    scale = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}[unit]
    return float(number) * scale / float(tcp["mss"].partition(" ")[0])


def _shares(r: _Records) -> Iterator[Finding]:
    names, goodput = r.flows.names, r.flows["goodput_bps"]
    total = r.cell["goodput_bps"]
    runs = f" (means of {r.runs} runs)" if r.runs > 1 else ""
    if len(names) == 1:
        yield Finding("goodput", f"{names[0]} gets {rate(goodput[0])}{runs}.", {"goodput_bps": total})
        return
    text = f"{len(names)} flows get {rate(total)} together{runs}"
    sated = _chosen(names, r.sated)
    hungry = np.flatnonzero(~r.sated)
    if sated and hungry.size:
        text += f". {_some(sated)} {'get what they ask' if len(sated) > 1 else 'gets what it asks'} for; "
    else:
        text += ": " if hungry.size else ", all that they ask for"
    if hungry.size == 1:
        text += f"{names[hungry[0]]} gets {rate(goodput[hungry[0]])}"
    elif hungry.size:
        most, least = hungry[np.argmax(goodput[hungry])], hungry[np.argmin(goodput[hungry])]
        if goodput[most] > 1.1 * max(goodput[least], 1e-9):
            whose = "of the others, " if sated else ""
            text += f"{whose}{names[most]} most with {rate(goodput[most])}, {names[least]} least with"
            text += f" {rate(goodput[least])}"
        else:
            text += f"{'the others get' if sated else 'all get'} about the same"
    jain = r.cell.get("jain_index", math.nan)
    if not math.isnan(jain):
        text += f". Jain's index{' of all' if sated and hungry.size else ''} is {jain:.3f}"
    yield Finding("goodput", text + ".", {"goodput_bps": total, "jain_index": jain})

    yield from _starved(r)


def _starved(r: _Records) -> Iterator[Finding]:
    """Tell starved flows from those that had no more to send, or were there for a short time only."""
    names = [str(name) for name in r.raw["name"]]
    goodput = np.asarray(r.raw["goodput_bps"], dtype=np.float64)
    if "starved" in r.raw:
        starved = np.asarray(r.raw["starved"], dtype=np.bool_)
    else:  # a measurement, or results of an earlier version
        starved = np.concatenate([metrics.starved(goodput[r.raw["seed"] == seed]) for seed in np.unique(r.raw["seed"])])
    times = Counter(_chosen(names, starved))
    if times:
        parts = [
            _some([name for name, count in times.items() if count == runs])
            + (f" in {runs} of {r.runs} runs" if r.runs > 1 else "")
            for runs in sorted(set(times.values()), reverse=True)
        ]
        text = f"Less than a tenth of an equal share goes to {', '.join(parts)}."
        if "unsure" in r.raw:
            doubtful = _chosen(names, starved & r.raw["unsure"])
            if doubtful:
                text += (
                    f" The capture was not taken at the sender of {_some(doubtful)}, and does not show whether"
                    f" {'they' if len(doubtful) > 1 else 'it'} had more to send: it is taken to be so."
                )
        yield Finding("starved", text, {"starved_fraction": float(starved.mean())})
    if "near_threshold" in r.raw:
        near = _chosen(names, r.raw["near_threshold"])
        if near:
            text = (
                f"{_some(near)} {'are' if len(near) > 1 else 'is'} close to a tenth of an equal share: captures taken"
                " elsewhere, which count what has arrived there, may differ on whether"
                f" {'they starve' if len(near) > 1 else 'it starves'}."
            )
            yield Finding("close", text, {"near_threshold": float(len(near))})
    if "had_no_more" not in r.raw:
        return
    little = (goodput < STARVED * goodput.mean()) & ~starved
    done = np.asarray(r.raw["had_no_more"], dtype=np.bool_)
    for which, why in (
        (little & done, "had no more to send"),
        (little & ~done, "not for the time that they were there"),
    ):
        modest = _chosen(names, which)
        if modest:
            gets = "get" if len(modest) > 1 else "gets"
            reason = why if len(modest) > 1 else why.replace("they were", "it was")
            yield Finding(
                "modest",
                f"{_some(modest)} {gets} less than a tenth of the mean, but {reason}.",
                {"starved_fraction": float(starved.mean())},
            )


def _directions(r: _Records) -> Iterator[Finding]:
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
    if ratio > 1 and r.stations is not None and "delivered" in r.stations and "ap" in r.stations.names:
        delivered = r.stations["delivered"]
        ap = float(delivered[r.stations.names.index("ap")] / delivered.sum())
        text += (
            f" The access point delivers {percent(ap)} of all frames: it gets the air no more often than each"
            f" station, and all downloads and the ACKs of all uploads have to share that."
        )
        figures["access_point_frames"] = ap
        advice = ("ap.scheme.window=b-over-n", "ap.scheme.window=wmax-over-n", "ap.queue.discipline=las")
    yield Finding("up, down", text, figures, advice)


def _dropped_acks(r: _Records) -> Iterator[Finding]:
    dropped = r.cell.get("ap_drops_ack", 0.0)
    if not dropped or math.isnan(dropped):
        return
    full = r.cell["ap_queue_full_fraction"]
    text = (
        f"The access point drops {counted(dropped, 'TCP ACK')}{_each(r)}: its queue is full {percent(full)} of the"
        " time. ACKs are cumulative, so a sender with a large window hardly notices"
    )
    figures = {"ap_drops_ack": dropped, "ap_queue_full_fraction": full}
    windows, timeouts = r.flows["cwnd_mean"], r.flows["timeouts"]
    known = np.isfinite(windows)  # flows of datagrams have none
    windows, hit = windows[known], timeouts[known] > 0
    if hit.any() and not hit.all():
        text += (
            f"; one with a small window may lose all of them and waits for its timer: the mean window is"
            f" {windows[hit].mean():.3g} segments where timers expired, {windows[~hit].mean():.3g} where none did"
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


def _dropped_data(r: _Records) -> Iterator[Finding]:
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
    text = f"Lost data packets{_each(r)}: {_list(parts)}."
    worst = max(found, key=lambda column: found[column])
    lost = r.flows[worst]
    if len(lost) > 1 and lost.max() > 2 * max(lost.mean(), 1):
        text += f" {r.flows.names[int(np.argmax(lost))]} loses most, {general(lost.max())}."
    yield Finding("lost data", text, found)


def _timeouts(r: _Records) -> Iterator[Finding]:
    timeouts = r.flows["timeouts"]
    total = float(timeouts.sum())
    if not total > 0:  # none, or nobody knows
        return
    ranked = [int(i) for i in np.argsort(-timeouts, kind="stable") if timeouts[i] > 0]
    parts = [f"{r.flows.names[i]} {general(timeouts[i])}" for i in ranked[:FEW]]
    more = f", and {counted(len(ranked) - FEW, 'more flow')}" if len(ranked) > FEW else ""
    text = f"Retransmission timers expire {often(total)}{_each(r)}: {', '.join(parts)}{more}."
    goodput = r.flows["goodput_bps"]
    hit = timeouts > 0
    if hit.any() and not hit.all() and goodput[~hit].mean() > 1.1 * goodput[hit].mean():
        text += (
            f" Flows with timeouts get {rate(float(goodput[hit].mean()))} on average,"
            f" those without {rate(float(goodput[~hit].mean()))}."
        )
    yield Finding("timeouts", text, {"timeouts": total})


def _waiting(r: _Records) -> Iterator[Finding]:
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
    whose = f" of {_some(_chosen(r.flows.names, known))}" if partial else ""
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


def _calls(r: _Records) -> Iterator[Finding]:
    """How datagrams would sound as a call, where that is not good."""
    if "r_factor" not in r.flows:
        return
    # Another discipline helps where packets wait at the access point.
    advice = ("ap.queue.discipline=fq-codel",) if r.cell.get("ap_queue_mean_packets", math.nan) > 1 else ()
    yield from _bad_calls(r.flows, r.flows.names, advice)


def _bad_calls(table: Columns | _Means, names: list[str], advice: tuple[str, ...] = ()) -> Iterator[Finding]:
    """Say why the worst call sounds bad, and how many more do."""
    rating = table["r_factor"]
    bad = [int(i) for i in np.argsort(rating, kind="stable") if rating[i] < SATISFIED]
    if not bad:
        return
    worst, *others = bad
    figures = {name: float(table[name][worst]) for name in ("mos", "r_factor", "loss_fraction", "owd_p99_s")}
    text = (
        f"As a call, {names[worst]} would sound bad: a mean opinion score of {figures['mos']:.1f} (R-factor"
        f" {figures['r_factor']:.0f}), for {percent(figures['loss_fraction'])} of its datagrams are lost and one in a"
        f" hundred takes {time(figures['owd_p99_s'])} or more"
    )
    if others:
        has = "has" if len(others) == 1 else "have"
        text += f"; {counted(len(others), 'more flow')} {has} an R-factor below {SATISFIED}"
    yield Finding("calls", text + ".", figures, advice)


def _attempts(table: Columns) -> Iterator[Finding]:
    """Name the connections of a capture that never carried data."""
    for is_answered in (True, False):
        rows = np.flatnonzero((table["answers"] > 0) == is_answered)
        if not rows.size:
            continue
        text = f"{_some([str(name) for name in table['name'][rows]])} never carried data, after"
        text += f" {counted(float(np.sum(table['syns'][rows])), 'SYN')}"
        text += (
            f" and {counted(float(np.sum(table['answers'][rows])), 'answer')}, of which none got through: starved."
            if is_answered
            else " without an answer here: answers were lost on their way to this point, or nobody was there to answer."
        )
        yield Finding("never began", text, {"connections": float(rows.size)})


def _datagrams(table: Columns) -> Iterator[Finding]:
    """Tell of the flows of datagrams in a capture."""
    order = sorted(range(table.rows), key=lambda row: -int(table["bytes"][row]))
    parts = []
    for row in order[:FEW]:
        name = f"{table['from'][row]} > {table['to'][row]} ({table['kind'][row]})"
        parts.append(f"{name} {rate(float(table['rate_bps'][row]))}")
        lost = float(table["loss_fraction"][row])
        if lost > 0:
            parts[-1] += f", of which {percent(lost)} lost"
    more = f"; {counted(len(order) - FEW, 'smaller one')}" if len(order) > FEW else ""
    total = float(np.sum(table["bytes"]))
    text = (
        f"{counted(len(order), 'flow')} of datagrams carr{'ies' if len(order) == 1 else 'y'}: {'; '.join(parts)}{more}."
    )
    if np.isnan(table["loss_fraction"]).all():
        text += " They have no numbers that are known here, so losses cannot be told."
    yield Finding("datagrams", text, {"flows": float(len(order)), "bytes": total})
    yield from _bad_calls(table, [f"{source} > {target}" for source, target in zip(table["from"], table["to"])])


def _echoes(table: Columns) -> Iterator[Finding]:
    """Tell of the echoes in a capture."""
    parts = []
    for row in range(min(table.rows, FEW)):
        lost, mean = float(table["loss_fraction"][row]), float(table["rtt_mean_s"][row])
        part = f"{table['from'][row]} asks {table['to'][row]} {often(int(table['requests'][row]))}"
        part += f", {percent(lost)} without a reply" if lost > 0 else ""
        parts.append(part + (f", and waits {time(mean)} on average" if not math.isnan(mean) else ""))
    more = f"; {counted(table.rows - FEW, 'more pair')}" if table.rows > FEW else ""
    figures = {
        "rtt_mean_s": float(np.nanmean(table["rtt_mean_s"])) if not np.isnan(table["rtt_mean_s"]).all() else math.nan
    }
    yield Finding("echoes", f"Echoes (ping): {'; '.join(parts)}{more}.", figures)


def _limits(r: _Records) -> Iterator[Finding]:
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
        who = "all flows" if 1 < len(held) == len(r.flows.names) else _some(list(held))
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


def _sessions(r: _Records) -> Iterator[Finding]:
    if not r.cell_has("instantaneous_fairness"):
        return
    index, late = r.cell["instantaneous_fairness"], r.cell["sessions_unfinished"]
    done = r.cell["sessions_finished"]
    finished, unfinished = counted(done, "transmission session"), general(late)
    text = f"{finished} finish{'' if finished.endswith('s') else 'es'}{_each(r)}"
    text += f", {unfinished} {'does' if unfinished == '1' else 'do'} not. Their instantaneous fairness is"
    text += f" {index:.3f}: 1 is a session that takes no longer than with an equal share of the capacity."
    if "rtt_point" in r.raw and set(r.raw["rtt_point"]) != {"sender"}:
        text += " Away from the sender, a wait for a retransmission timer looks like a pause between sessions."
    yield Finding("sessions", text, {"instantaneous_fairness": index, "sessions_unfinished": late})


def _radio(r: _Records) -> Iterator[Finding]:
    if r.stations is None or "errors" not in r.stations:
        return
    attempts, errors, given_up = (r.stations[name] for name in ("attempts", "errors", "given_up"))
    share = errors / np.maximum(attempts, 1)
    bad = [int(i) for i in np.argsort(-share, kind="stable") if share[i] > 0.02]
    if bad:
        parts = [f"{r.stations.names[i]} {percent(float(share[i]))}" for i in bad[:FEW]]
        yield Finding(
            "bad radio",
            f"Transmission attempts that fail because of errors, not collisions: {', '.join(parts)}."
            f" The MAC retries them, and gives up {counted(float(given_up[bad].sum()), 'frame')}{_each(r)}.",
            {f"errors_{r.stations.names[i]}": float(share[i]) for i in bad},
            ("wlan.rate_adaptation=minstrel",) if "space" in r.scenario else (),
        )
    if "space" not in r.scenario:
        return  # where all stations hear each other, those that rarely send may also collide more often
    collisions = r.stations["collisions"] / np.maximum(attempts, 1)
    busy = attempts > 0.02 * attempts.sum()
    if busy.sum() > 1:
        most, least = collisions[busy].max(), collisions[busy].min()
        if most > 0.1 and most > 2 * least:
            names = np.array(r.stations.names)[busy]
            yield Finding(
                "collisions",
                f"{percent(float(most))} of the attempts of {names[int(np.argmax(collisions[busy]))]} collide,"
                f" but only {percent(float(least))} of those of {names[int(np.argmin(collisions[busy]))]}:"
                " hidden stations or the capture effect cause this.",
                {"collisions_most": float(most), "collisions_least": float(least)},
                ("wlan.rts_threshold=0 B",),
            )


def _slow_stations(r: _Records) -> Iterator[Finding]:
    if r.stations is None or "air_data_s" not in r.stations:
        return
    delivered = r.stations["delivered"]
    air = r.stations["air_data_s"] + r.stations["air_collided_s"]
    used = (delivered > 0.02 * max(delivered.sum(), 1)) & [r.uploads(name) for name in r.stations.names]
    if used.sum() < 2:
        return
    each = air[used] / delivered[used]
    names = np.array(r.stations.names)[used]
    slow, fast = int(np.argmax(each)), int(np.argmin(each))
    if each[slow] > 2 * each[fast]:
        yield Finding(
            "slow station",
            f"A frame of {names[slow]} takes {1e3 * each[slow]:.2f} ms of air, one of {names[fast]}"
            f" {1e3 * each[fast]:.2f} ms. Channel access is fair in frames, so the slow one takes time from all.",
            {"air_per_frame_slow_s": float(each[slow]), "air_per_frame_fast_s": float(each[fast])},
            ("ap.queue.discipline=airtime",),
        )


def _air(r: _Records) -> Iterator[Finding]:
    if not r.cell_has("air_idle", "air_collision"):
        return
    idle, collided, spoilt = r.cell["air_idle"], r.cell["air_collision"], r.cell.get("air_error", 0.0)
    text = (
        f"Data takes {percent(r.cell['air_data'])} of the time on the air, collisions {percent(collided)},"
        f" frames with errors {percent(spoilt)}; {percent(idle)} is idle"
    )
    if idle > 0.3:
        text += ". So much idle air means that the flows have nothing to send or may not: look at windows and workloads"
    elif collided + spoilt > 0.15:
        cause = "Fewer stations that contend at a time, or RTS/CTS," if collided >= spoilt else "Lower rates"
        text += f". {cause} would waste less"
    figures = {"air_idle": idle, "air_collision": collided, "air_error": spoilt, "air_data": r.cell["air_data"]}
    yield Finding("air", text + ".", figures)


def _each(r: _Records) -> str:
    return " per run" if r.runs > 1 else ""


def _chosen(names: list[str], which: NDArray[np.bool_]) -> list[str]:
    return [name for name, is_it in zip(names, which) if is_it]


def _some(names: list[str]) -> str:
    return _list(names) if len(names) <= FEW + 1 else f"{', '.join(names[:FEW])} and {len(names) - FEW} more"


def _list(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"

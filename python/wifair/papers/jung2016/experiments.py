"""Experiments of jung2016: scenarios, measured quantities and figures. The README gives the readings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from wifair import metrics
from wifair.reproduce import Case, Cases, Effort, Experiment, Measured, Paper, Table, scenarios_of, style
from wifair.results.results import Results

HERE = Path(__file__).parent
_file = scenarios_of(HERE)

NODES = (2, 4, 6, 8, 10)
QUICK_NODES = (2, 4, 10)
LENGTHS = (5_000, 10_000, 50_000, 100_000, 500_000)
"""Lengths of sessions [bytes]; the text names 10, 50 and 500 kB, the points of the figures are not available."""
QUICK_LENGTHS = (10_000, 50_000, 500_000)
"""Fewer lengths for quick runs, which leaves time for more seeds."""

TCPS: Mapping[str, Mapping[str, object]] = {
    "reno": {"tcp.cc": "reno"},
    "vegas": {"tcp.cc": "vegas", "tcp.vegas.variant": "ns2", "tcp.limited_transmit": "off"},
    "westwood": {"tcp.cc": "westwood"},
    "reno-maxwin10": {"tcp.cc": "reno", "tcp.max_cwnd": "10 packets"},
    "vegas-fair": {"tcp.cc": "vegas-fair"},
    "westwood-plus": {"tcp.cc": "westwood-plus", "tcp.sack": True},
    "westwood-nr": {"tcp.cc": "westwood-nr"},
    "linux": {"tcp.cc": "linux", "tcp.sack": True},
}
NAMES = {
    "reno": "Reno",
    "vegas": "Vegas",
    "westwood": "Westwood",
    "reno-maxwin10": "Reno-MaxWin10",
    "vegas-fair": "Vegas-Fair",
    "westwood-plus": "Westwood+",
    "westwood-nr": "Westwood-NR",
    "linux": "Reno of Linux",
}

SETTINGS: Mapping[str, Mapping[str, object]] = {
    "ns-2": {},
    "window 1000": {"tcp.receive_window": "1000 packets"},
    "restart": {"tcp.idle_restart": "rfc5681", "tcp.initial_window": "1 packet"},
    "no restart": {"tcp.idle_restart": "never"},
    "queue 100": {"ap.queue.limit": "99 packets"},
}
"""Readings of what the paper leaves open: first the one taken, then others."""
INDEXED = tuple(setting for setting in SETTINGS if setting != "no restart")
"""Readings in which IF is defined: without a restart sessions of 10 kB are sent at once, and take no time."""

BASES = {"down": 4.96e6, "up": 6.88e6}
"""rho B of equation 1 [bit/s]: the best values of TCP in Table 1."""
UDP_BASES = {"down": 7.84e6, "up": 9.04e6}
"""The same from the values of UDP [bit/s], which has no ACKs: another reading."""
RTS = {
    "TCP only": {},
    "never": {"wlan.rts_threshold": "2347 B"},
    "always": {"wlan.rts_threshold": "0 B"},
}
"""Readings of whether Table 1 was measured with RTS/CTS: first the one that fits best, then others."""


def _durations(effort: Effort) -> dict[str, object]:
    """Choose duration and warm-up, which the paper does not give."""
    return {"duration": effort.pick("60 s", "120 s")}


# Table 1


def _table1(effort: Effort) -> Iterator[Case]:
    for rts, transport, direction, n in product(RTS, ("udp", "tcp"), ("down", "up"), (1, 2, 4, 8)):
        changes: dict[str, object] = {"stations.count": n, "flows.direction": direction, **RTS[rts]}
        if transport == "udp":
            changes["flows.udp.payload"] = "1520 B" if direction == "up" else "1500 B"
        labels: dict[str, Any] = {"transport": transport, "direction": direction, "n": n, "rts": rts}
        file = "table1_udp.toml" if transport == "udp" else "table1.toml"
        yield Case(labels, _file(file).with_(changes), effort.seeds)


def _goodput(_: Case, results: Results) -> Iterator[Measured]:
    yield Measured("goodput_mbps", results.cells["goodput_bps"] / 1e6)


def _draw_table1(figure: Any, table: Table) -> None:
    cells = product(("udp", "tcp"), ("down", "up"))
    for axes, (transport, direction) in style.panels(figure, cells, "aggregate throughput [Mb/s]", sharey=True):
        rows = table.where("goodput_mbps", transport=transport, direction=direction, rts="TCP only").rows
        style.bars(axes, rows, range(len(rows)), colour="#56B4E9", label="wifair", width=0.7)
        axes.set_xticks(range(len(rows)), [str(row.labels["n"]) for row in rows])
        axes.set(title=f"{transport.upper()} {direction}load", xlabel="nodes")


# Persistent and intermittent nodes

LOADS = ("reno", "vegas", "westwood")
ADJUSTED = ("reno", "reno-maxwin10", "vegas", "vegas-fair")
INTRODUCTIONS = (0, 5_000, 20_000, 50_000)
"""Lengths of introductions [bytes]; 0 stands for Vegas."""


def _case(effort: Effort, direction: str, tcp: str, labels: Mapping[str, int], *, setting: str = "ns-2") -> Case:
    """Make a case with `n` nodes (default 4) and sessions of `length` bytes (default 10 000)."""
    changes: dict[str, object] = {
        **TCPS[tcp],
        **SETTINGS[setting],
        "stations.count": labels.get("n", 4) // 2,
        "flows.direction": direction,
        "fair_share_base": f"{BASES[direction] / 1e6} Mb/s",
        "flows.short.periodic.length": f"{labels.get('length', 10_000)} B",
        **_durations(effort),
    }
    return Case({"setting": setting, "tcp": tcp, **labels}, _file("mixed.toml").with_(changes), effort.seeds)


def _by_nodes(effort: Effort, direction: str, tcps: Iterable[str], settings: Iterable[str] = INDEXED) -> Iterator[Case]:
    for setting, tcp, n in product(settings, tcps, effort.pick(QUICK_NODES, NODES)):
        yield _case(effort, direction, tcp, {"n": n}, setting=setting)


def _others(effort: Effort) -> Iterator[Case]:
    yield from _by_nodes(effort, "down", effort.pick(QUICK_OTHERS, OTHERS))


def _adjustments(effort: Effort) -> Iterator[Case]:
    """Make the cases of Fig. 6a, and some with longer introductions and sessions, where Vegas-Fair and Vegas differ."""
    yield from _by_nodes(effort, "down", ADJUSTED)
    for length in (10_000, 100_000):
        for intro in INTRODUCTIONS:
            labels = {"n": 10, "length": length, "intro": intro}
            tcp = "vegas-fair" if intro else "vegas"
            case = _case(effort, "down", tcp, labels)
            changes = {"tcp.vegas-fair.intro_length": f"{intro} B"} if intro else {}
            new = {**case.labels, "setting": "introduction"}
            yield replace(case, labels=new, scenario=case.scenario.with_(changes))


def _by_length(effort: Effort, direction: str) -> Iterator[Case]:
    for setting, tcp, length in product(INDEXED, LOADS, effort.pick(QUICK_LENGTHS, LENGTHS)):
        yield _case(effort, direction, tcp, {"length": length}, setting=setting)


FINISHES = {"if_sent": "sent_after_s", "if_acked": "acked_after_s"}
"""Readings of the index, with the column of the finish time."""


def _index(results: Results, seed: int, column: str, shares: Mapping[str, float]) -> float:
    """Compute IF over the sessions that finish (equation 3), by the fair share of flows whose names begin so [bit/s].

    If none finishes the index is undefined; then it is that of sessions that all finish as the run ends, which no
    longer run can exceed for them.
    """
    sessions = results.sessions.filter(seed=seed)
    share = np.empty(len(sessions["start_s"]))
    for begin, one in shares.items():
        share[np.char.startswith(sessions["flow"], begin)] = one
    finish = sessions["start_s"] + sessions[column]
    if not np.isfinite(finish).any():
        finish = np.full(len(share), results.scenario.duration_s)
    length, start = sessions["length_bytes"], sessions["start_s"]
    return metrics.instantaneous_fairness(length, start, finish, fair_share_bps=share).index


def _fairness(case: Case, results: Results) -> Iterator[Measured]:
    cells = results.cells
    direction = str(results.flows["direction"][0])
    scale = BASES[direction] / UDP_BASES[direction]  # the index is inversely proportional to the share
    share = metrics.fair_share(BASES[direction], int(case.labels.get("n", 4)))
    for quantity, column in FINISHES.items():
        index = np.array([_index(results, seed, column, {"": share}) for seed in results.seeds])
        yield Measured(quantity, index)
        yield Measured(f"{quantity}_udp", index * scale)
    finished, unfinished = cells["sessions_finished"].astype(float), cells["sessions_unfinished"].astype(float)
    yield Measured("unfinished", 100 * unfinished / np.maximum(finished + unfinished, 1))
    yield Measured("slowdown", [_slowdown(case, results, seed) for seed in results.seeds])
    yield Measured("ap_queue", cells["ap_queue_mean_packets"])
    yield Measured("goodput_mbps", cells["goodput_bps"] / 1e6)


def _slowdown(case: Case, results: Results, seed: int) -> float:
    """Compute the mean of real over ideal finish times, up to the last segment sent."""
    sessions = results.sessions.filter(seed=seed)
    direction = str(results.flows["direction"][0])
    share = metrics.fair_share(BASES[direction], int(case.labels.get("n", 4)))
    ideal = 8 * sessions["length_bytes"].astype(float) / share
    ratio = sessions["sent_after_s"] / ideal
    return float(np.nanmean(ratio)) if np.isfinite(ratio).any() else float("nan")


def _throughput(_: Case, results: Results) -> Iterator[Measured]:
    yield Measured("goodput_mbps", results.cells["goodput_bps"] / 1e6)
    names = results.flows["name"]
    windows = [
        results.flows["cwnd_mean"][(results.flows["seed"] == seed) & np.char.startswith(names, "endless")].mean()
        for seed in results.seeds
    ]
    yield Measured("cwnd", windows)


def _draw_index(figure: Any, table: Table, x: str, tcps: Iterable[str]) -> None:
    taken = table.where(setting="ns-2")
    finishes = {"if_sent": "last segment sent", "if_acked": "last byte acknowledged"}
    shown = style.panels(figure, finishes, "instantaneous fairness index IF", columns=5, sharey=True)
    for axes, quantity in shown:
        style.lines(axes, taken, quantity, x=x, series="tcp", names=NAMES, order=tcps)
        axes.set(title=f"finish: {finishes[quantity]}", ylim=(0, None))
        if x == "length":
            axes.set_xlabel("session length [kB]")
            axes.set_xscale("log")
            axes.set_xticks(LENGTHS, [f"{length // 1000}" for length in LENGTHS])
            axes.set_xticks([], minor=True)
        else:
            axes.set(xlabel="nodes", xticks=NODES)


def _draw_goodput(figure: Any, table: Table, tcps: Iterable[str]) -> None:
    axes = figure.subplots()
    style.lines(axes, table.where(setting="ns-2"), "goodput_mbps", x="n", series="tcp", names=NAMES, order=tcps)
    axes.set(xlabel="nodes", xticks=NODES, ylabel="aggregate goodput [Mb/s]", ylim=(0, 7))
    style.legend_below(figure, axes)


# Both ways


def _both(effort: Effort) -> Iterator[Case]:
    for setting, tcp, n in product(INDEXED, LOADS, (4, 8)):
        changes = {**TCPS[tcp], **SETTINGS[setting], "stations.count": n // 4, **_durations(effort)}
        yield Case({"setting": setting, "tcp": tcp, "n": n}, _file("both.toml").with_(changes), effort.seeds)


def _both_fairness(case: Case, results: Results) -> Iterator[Measured]:
    """Compare each session with the share of its own direction."""
    n = int(case.labels["n"])
    for (quantity, column), (base, bases) in product(FINISHES.items(), (("", BASES), ("_udp", UDP_BASES))):
        shares = {f"short_{way}": metrics.fair_share(bases[way], n) for way in ("up", "down")}
        yield Measured(f"{quantity}{base}", [_index(results, seed, column, shares) for seed in results.seeds])


def _draw_both(figure: Any, table: Table) -> None:
    axes = figure.subplots()
    rows = {NAMES[tcp]: table.where("if_sent", tcp=tcp, setting="ns-2").rows for tcp in LOADS}
    style.grouped_bars(axes, rows, width=0.22, step=0.25)
    axes.set_xticks([0, 1], ["4", "8"])
    axes.set(ylim=(0, None), xlabel="nodes", ylabel="IF, last segment sent")
    style.legend_below(figure, axes)


OTHERS = ("reno", "westwood", "westwood-plus", "westwood-nr", "linux")
QUICK_OTHERS = ("reno", "westwood", "westwood-nr", "linux")
"""The congestion controls that a claim names."""


def _indices(key: str, title: str, cases: Cases, x: str, tcps: Iterable[str] = LOADS, note: str = "") -> Experiment:
    """Make an experiment on the index IF of some TCPs, by both readings of when a session finishes."""
    shown = ("if_sent", "if_acked", "unfinished")
    return Experiment(key, title, cases, _fairness, partial(_draw_index, x=x, tcps=tcps), (6.9, 2.9), shown, note)


def _goodputs(key: str, title: str, direction: str, tcps: Iterable[str], shown: tuple[str, ...]) -> Experiment:
    """Make an experiment on the aggregate goodput of some TCPs over the number of nodes."""
    cases = partial(_by_nodes, direction=direction, tcps=tcps, settings=SETTINGS)
    return Experiment(key, title, cases, _throughput, partial(_draw_goodput, tcps=tcps), shown=shown)


PAPER = Paper(
    HERE,
    (
        Experiment(
            "table1", "Aggregate throughput by transport, direction and nodes", _table1, _goodput,
            _draw_table1, (6.9, 2.6),
        ),
        _indices("fig2a", "IF of downloads over nodes", partial(_by_nodes, direction="down", tcps=LOADS), "n"),
        _indices(
            "fig2b", "IF of downloads over session length, 4 nodes", partial(_by_length, direction="down"), "length",
        ),
        _indices("fig3a", "IF of uploads over nodes", partial(_by_nodes, direction="up", tcps=LOADS), "n"),
        _indices("fig3b", "IF of uploads over session length, 4 nodes", partial(_by_length, direction="up"), "length"),
        _goodputs("fig4a", "Aggregate goodput of downloads over nodes", "down", LOADS, ("goodput_mbps", "cwnd")),
        _goodputs("fig4b", "Aggregate goodput of uploads over nodes", "up", LOADS, ("goodput_mbps",)),
        _indices("fig6a", "IF of the two adjustments, downloads", _adjustments, "n", ADJUSTED),
        _goodputs("fig6b", "Aggregate goodput of the adjustments, uploads", "up", ADJUSTED, ("goodput_mbps",)),
        Experiment(
            "bidir", "IF with traffic both ways", _both, _both_fairness, _draw_both,
            note="The paper mentions the experiment but shows no data.",
        ),
        _indices(
            "other_tcps", "IF of downloads with other TCPs", _others, "n", OTHERS,
            "The paper mentions the experiment but shows no data. The points of ns-2 are those of its Westwood+.",
        ),
    ),
)  # fmt: skip

"""Experiments of oda2012: scenarios, measured quantities and figures. The README gives the readings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from wifair.figures.style import COLOURS
from wifair.reproduce import Case, Effort, Experiment, Measured, Paper, Table, scenarios_of, style
from wifair.results.results import Results

HERE = Path(__file__).parent
_file = scenarios_of(HERE)

PLUS: Mapping[str, str] = {"ctcp+ eq 7": "multiplicative", "ctcp+ eq 8": "linear", "ctcp+ eq 9": "hold"}
"""Compound TCP+ by its function f."""
MODULE = "ns-2's module"
"""Compound as in ns-2: whole segments, k = 3/4, SACK and timestamps."""
TCPS: Mapping[str, Mapping[str, object]] = {
    "ctcp": {"tcp.cc": "compound"},
    **{name: {"tcp.cc": "compound-plus", "tcp.compound-plus.function": f} for name, f in PLUS.items()},
    "newreno": {"tcp.cc": "newreno"},
    MODULE: {"tcp.cc": "compound", "tcp.compound.arithmetic": "ns2", "tcp.sack": True, "tcp.timestamps": True},
}
NAMES = {
    "ctcp": "CTCP",
    "ctcp+ eq 7": "CTCP+, eq. 7",
    "ctcp+ eq 8": "CTCP+, eq. 8",
    "ctcp+ eq 9": "CTCP+, eq. 9",
    "newreno": "NewReno",
    MODULE: "CTCP, ns-2's module",
}
WITHIN_1_S = {"flows.start_spread": "1 s"}


def _ap(packets: int) -> dict[str, object]:
    """Set the buffer of the access point; a queue of ns-2 holds one less than its limit."""
    return {"ap.queue.limit": f"{packets - 1} packets"}


def _all(packets: int) -> dict[str, object]:
    return {**_ap(packets), "stations.queue.limit": f"{packets - 1} packets"}


GUARD: Mapping[str, object] = {"tcp.compound-plus.guard": True}
SETTINGS: Mapping[str, Mapping[str, object]] = {
    "AP 50": {},
    "AP 100": _ap(100),
    "AP 200": _ap(200),
    "AP 600": {**_ap(600), **WITHIN_1_S},
    "AP 1000": {**_ap(1000), **WITHIN_1_S},
    "stations 1000": {"stations.queue.limit": "1000 packets"},
    "all 200": _all(200),
    "ssthresh 10000": {"tcp.initial_ssthresh": "10000 packets"},
    "standard MAC": {"wlan.profile": "standard", "wlan.signal_extension": "0 s"},
    "AP 50, guard": GUARD,
    "AP 600, guard": {**_ap(600), **WITHIN_1_S, **GUARD},
}
"""Readings: buffers and MAC of ns-2, then others. The paper gives neither the buffers nor when flows start."""
NS2: Mapping[str, Mapping[str, object]] = {
    "AP 50, 400 s": {"duration": "500 s"},
    "all 200, 400 s": {**_all(200), "duration": "500 s"},
}
"""The settings of the runs of ns-2, which measure for 400 s."""
WINDOWS = tuple(setting for setting in SETTINGS if "guard" not in setting)
"""The settings that differ for CTCP."""
LIMITS = {
    setting: next((int(word.rstrip(",")) for word in setting.split() if word[0].isdigit()), 50)
    for setting in (*SETTINGS, *NS2)
} | {"stations 1000": 50, "ssthresh 10000": 50}
"""Buffer of the access point [packets]."""
NODES = (2, 5, 10, 20, 40)
"""Numbers of stations; the points of Fig. 6 are not available."""
QUICK_NODES = (5, 20)
"""Those of quick runs, and of settings that are not drawn."""
DRAWN = ("AP 50", "AP 600", "AP 50, guard", "AP 600, guard")
NS2_NODES = (2, 5, 15, 20)
BUFFERS = {"0.1": 0.1, "0.5": 0.5, "0.75": 0.75, "1": 1.0}
"""Buffers of the high-speed path, in bandwidth-delay products."""
BASE_S = 0.22
PACKET, PAYLOAD = 1500, 1460


def _case(
    effort: Effort, tcp: str, setting: str, n: int, seeds: int | None = None,
    labels: Mapping[str, Any] | None = None, series: str | None = None,
) -> Case:  # fmt: skip
    changes = {**TCPS[tcp], **{**SETTINGS, **NS2}[setting], "stations.count": n}
    if tcp not in PLUS:
        changes.pop("tcp.compound-plus.guard", None)  # no effect; without it, runs are shared with other cases
    chosen = effort.seeds if seeds is None else tuple(range(1, seeds + 1))
    shown: Mapping[str, Any] = {"tcp": tcp, "setting": setting, "n": n}
    return Case(shown if labels is None else labels, _file("uploads.toml").with_(changes), chosen, series)


def _cell(case: Case, results: Results) -> Iterator[Measured]:
    cells, flows, shape = results.cells, results.flows, (len(results.seeds), -1)
    goodput = flows["goodput_bps"].reshape(shape)
    rtt, samples = flows["rtt_mean_s"].reshape(shape), flows["rtt_samples"].reshape(shape)
    mean = goodput.mean(axis=1)
    yield Measured("jain_index", cells["jain_index"])
    yield Measured("rtt_s", np.nansum(rtt * samples, axis=1) / samples.sum(axis=1))
    yield Measured("rtt_flow_s", np.nanmean(rtt, axis=1))
    yield Measured("goodput_mbps", cells["goodput_bps"] / 1e6)
    yield Measured("least", goodput.min(axis=1) / mean)
    yield Measured("most", goodput.max(axis=1) / mean)
    yield Measured("timeouts", cells["timeouts"])
    yield Measured("ap_queue_share", cells["ap_queue_mean_packets"] / (LIMITS[str(case.labels["setting"])] - 1))
    yield Measured("ap_drops", cells["ap_drops_ack"] + cells["ap_drops_data"])


# Fig. 2: throughput of each connection


def _fig2(effort: Effort) -> Iterator[Case]:
    for tcp, setting in product(("ctcp", "newreno"), WINDOWS):
        yield _case(effort, tcp, setting, 20)
    if effort is Effort.FULL:
        for tcp, setting in product(("newreno", MODULE), NS2):
            yield _case(effort, tcp, setting, 20, _ns2_seeds(setting, 20))


def _access(effort: Effort) -> Iterator[Case]:
    for setting in ("AP 50", "standard MAC"):
        shorter = effort.pick({"duration": "20 s", "warm_up": "2 s"}, {})
        yield Case({"setting": setting}, _file("access.toml").with_({**SETTINGS[setting], **shorter}), effort.seeds)


def _share(_: Case, results: Results) -> Iterator[Measured]:
    delivered = results.stations["delivered"].reshape(len(results.seeds), -1).astype(float)
    ap = (results.stations["name"].reshape(delivered.shape) == "ap").astype(float)
    yield Measured("ap_share", (delivered * ap).sum(axis=1) / delivered.sum(axis=1))


def _ranks(case: Case, results: Results) -> Iterator[Measured]:
    yield from _cell(case, results)
    goodput = results.flows["goodput_bps"].reshape(len(results.seeds), -1)
    ranked = -np.sort(-goodput, axis=1) * PACKET / PAYLOAD / 1e6
    for rank in range(ranked.shape[1]):
        yield Measured("throughput_mbps", ranked[:, rank], {"rank": rank + 1})


def _draw_fig2(figure: Any, table: Table) -> None:
    axes = figure.subplots()
    fair = table("goodput_mbps", tcp="ctcp", setting="AP 50", n=20) * PACKET / PAYLOAD / 20
    some = table.where(tcp="ctcp", setting=["AP 50", "AP 600"])
    names = {setting: f"CTCP, {setting} packets" for setting in SETTINGS}
    style.lines(axes, some, "throughput_mbps", x="rank", series="setting", names=names)
    axes.axhline(fair, color="black", linewidth=0.8, linestyle=":", label="fair share")
    axes.set(xlabel="connection, by throughput", xticks=[1, 5, 10, 15, 20])
    axes.set(ylabel="throughput [Mb/s]", ylim=(0, None))
    style.legend_below(figure, axes, columns=2)


# Fig. 3 to 5: windows and queue over time


def _over_time(effort: Effort, n: int, step: str) -> Iterator[Case]:
    for setting in WINDOWS:
        yield _case(effort, "ctcp", setting, n, labels={"setting": setting}, series=step)


def _windows(case: Case, results: Results) -> Iterator[Measured]:
    """Measure the windows of the fastest flow of each run, and for the first run over time, one point per second."""
    series = results.series
    assert series is not None
    begin = results.scenario.warm_up_s
    found: dict[str, list[float]] = defaultdict(list)
    for seed in results.seeds:
        flows = results.flows.filter(seed=seed)
        fastest = str(flows["name"][int(np.argmax(flows["goodput_bps"]))])
        own = series.filter(seed=seed, flow=fastest)
        late = own["time_s"] > begin
        dwnd = np.nan_to_num(own["dwnd"])  # a TCP without a delay window has NaN
        found["zero_share"].append((dwnd[late] < ZERO).mean())
        loss_window = (own["cwnd"] - dwnd)[late]
        found["loss_window_cv"].append(loss_window.std() / loss_window.mean())
        every = series.filter(seed=seed)
        shape = (-1, len(flows["name"]))
        drops = every["ap_drops"].reshape(shape).sum(axis=1)
        at = (drops > 0) & (every["time_s"].reshape(shape)[:, 0] > begin)
        zero = np.asarray((np.nan_to_num(every["dwnd"]).reshape(shape) < ZERO).all(axis=1))
        found["overflow_zero"].append(zero[at].mean() if at.any() else np.nan)
        found["overflows"].append(at.sum())
        if seed != results.seeds[0]:
            continue
        second = np.floor(own["time_s"]).astype(int)
        for t in np.unique(second):
            here = np.flatnonzero(second == t)
            yield Measured("cwnd", [own["cwnd"][here[0]] - dwnd[here[0]]], {"t": int(t)})
            yield Measured("dwnd", [dwnd[here[0]]], {"t": int(t)})
            yield Measured("overflow", [float(drops[here].sum())], {"t": int(t)})
    for quantity, values in found.items():
        yield Measured(quantity, values)
    yield from _cell(case, results)


def _queue(case: Case, results: Results) -> Iterator[Measured]:
    queues = results.queues
    assert queues is not None
    yield from _cell(case, results)
    own = queues.filter(seed=results.seeds[0])
    for t, packets in zip(own["time_s"][::5].tolist(), own["packets"][::5].tolist()):
        yield Measured("queue_packets", [packets], {"t": t})


ZERO = 1e-9


def _draw_windows(figure: Any, table: Table) -> None:
    for axes, setting in style.panels(figure, ("AP 50", "AP 600"), "window [packets]", columns=4):
        t = [row.labels["t"] for row in table.where("cwnd", setting=setting).rows]
        cwnd, dwnd, overflow = (
            np.array([row.values[0] for row in table.where(quantity, setting=setting).rows])
            for quantity in ("cwnd", "dwnd", "overflow")
        )
        axes.plot(t, cwnd + dwnd, color=COLOURS[2], linewidth=1.6, label="sending window")
        axes.plot(t, cwnd, color=COLOURS[0], linewidth=0.8, label="loss window")
        axes.plot(t, dwnd, color=COLOURS[1], linewidth=0.8, label="delay window")
        full = np.array(t)[overflow > 0]
        top = float((cwnd + dwnd)[1:].max())
        axes.plot(full, np.full(len(full), 1.06 * top), "|", color="black", markersize=3, label="AP buffer overflows")
        axes.set(ylim=(0, 1.12 * top), title=f"{setting} packets", xlabel="time [s]")


def _draw_queue(figure: Any, table: Table) -> None:
    axes = figure.subplots()
    shown = [setting for setting in ("AP 50", "AP 200", "AP 600") if setting in table.distinct("setting")]
    for number, setting in enumerate(shown):
        rows = table.where("queue_packets", setting=setting).rows
        style.curve(axes, rows, color=COLOURS[number], linewidth=0.8, label=f"{setting} packets")
    axes.set(yscale="log", xlabel="time [s]", ylabel="packets in the AP buffer")
    style.legend_below(figure, axes)


# Fig. 6: over the number of connections


def _fig6(effort: Effort) -> Iterator[Case]:
    for setting in SETTINGS:
        nodes = NODES if effort is Effort.FULL and setting in DRAWN else QUICK_NODES
        for n, tcp in product(nodes, ("ctcp", *PLUS, "newreno")):
            yield _case(effort, tcp, setting, n)
    if effort is Effort.QUICK:
        return
    for tcp, (setting, n) in product(
        ("newreno", MODULE), [*product(("AP 50, 400 s",), NS2_NODES), ("all 200, 400 s", 20)]
    ):
        yield _case(effort, tcp, setting, n, _ns2_seeds(setting, n))


def _ns2_seeds(setting: str, n: int) -> int:
    """Choose more seeds where the index depends on them."""
    return 20 if n == 20 and setting.startswith("AP") else 3


def _draw_fig6(figure: Any, table: Table, quantity: str, label: str, top: float | None = None) -> None:
    titles = {"AP 50": "AP buffer 50", "AP 600": "AP buffer 600", "AP 600, guard": "600, guarded rule"}
    for axes, setting in style.panels(figure, titles, label, columns=6, from_zero=True, sharey=True):
        order = ["ctcp", *PLUS, *(["newreno"] if setting == "AP 50" else [])]
        some = table.where(setting=setting)
        style.lines(axes, some, quantity, x="n", series="tcp", names=NAMES, order=order)
        axes.set(title=titles[setting], xlabel="connections")
        if top is not None:
            axes.set_ylim(top=top)
        if quantity == "rtt_s":
            axes.axhline(BASE_S, color="black", linewidth=0.8, linestyle=":", label="220 ms")


def _over_n(
    key: str, title: str, quantity: str, label: str, shown: tuple[str, ...], top: float | None = None
) -> Experiment:
    """Make an experiment on a quantity over the number of connections."""
    draw = partial(_draw_fig6, quantity=quantity, label=label, top=top)
    return Experiment(key, title, _fig6, _cell, draw, TWO, shown)


# Fig. 8: the high-speed path

RATES = {"10 Gb/s": 10e9, "1 Gb/s": 1e9, "100 Mb/s": 100e6}


def _fig8(effort: Effort) -> Iterator[Case]:
    """Make cases on the path of the paper, and on slower paths for comparison with ns-2 and for quick runs."""
    tcps = ("ctcp", "ctcp+ eq 8")
    if effort is Effort.FULL:
        runs = [("10 Gb/s", tcp, buffer) for tcp in tcps for buffer in BUFFERS]
        runs += [("1 Gb/s", MODULE, "1"), ("100 Mb/s", MODULE, "1")]
    else:
        runs = [("100 Mb/s", tcp, buffer) for tcp in tcps for buffer in ("0.75", "1")]
    for rate, tcp, buffer in runs:
        packets = round(RATES[rate] * BASE_S / 8 / PACKET * BUFFERS[buffer])
        changes = {
            **TCPS[tcp], "servers.rate": rate, "servers.sender.queue.limit": f"{packets} packets",
            "tcp.sack": True, "tcp.timestamps": True,
        }  # fmt: skip
        labels = {"tcp": tcp, "rate": rate, "buffer": buffer}
        yield Case(labels, _file("high_speed.toml").with_(changes), (1,), series="1 s", random=False)


def _throughput(case: Case, results: Results) -> Iterator[Measured]:
    series = results.series
    assert series is not None
    capacity = RATES[str(case.labels["rate"])]
    rate = 8 * series["arrived_bytes"].astype(float) * PACKET / PAYLOAD
    top = int(np.argmax(rate[:6]))
    yield Measured("peak_share", [rate[top] / capacity])
    yield Measured("dip_share", [rate[top + 1 : top + 4].min() / rate[top]])
    yield Measured("late_share", [rate[80:].mean() / capacity])
    yield Measured("mean_mbps", [rate.mean() / 1e6])
    for t, value in zip(series["time_s"].tolist(), rate.tolist()):
        yield Measured("rate_gbps", [value / 1e9], {"t": t})


def _draw_fig8(figure: Any, table: Table) -> None:
    rates = sorted(table.distinct("rate"), key=lambda rate: -RATES[rate])
    for axes, buffer in style.panels(figure, ("0.75", "1"), "throughput [Gb/s]"):
        for number, tcp in enumerate(("ctcp", "ctcp+ eq 8")):
            rows = table.where("rate_gbps", tcp=tcp, rate=rates[0], buffer=buffer).rows
            look = {"color": COLOURS[number], "linestyle": style.DASHES[number], "linewidth": 1.8 - 0.9 * number}
            style.curve(axes, rows, label=NAMES[tcp], **look)
        axes.set(title=f"{rates[0]}, buffer {buffer} BDP", xlabel="time [s]", ylim=(0, None))


# Coexistence

PAIRS = (
    ("newreno", "newreno"),
    ("newreno", "ctcp"),
    *(("newreno", tcp) for tcp in PLUS),
    ("ctcp", "ctcp"),
    *(("ctcp", tcp) for tcp in PLUS),
)


def _coexist(effort: Effort) -> Iterator[Case]:
    for setting in effort.pick(("AP 50",), SETTINGS):
        for one, other in PAIRS:
            if ("eq 7" in other or "eq 9" in other) and setting != "AP 50":
                continue
            changes: dict[str, object] = {**SETTINGS[setting]}
            changes.pop("tcp.compound-plus.guard", None)
            if "guard" in setting and other in PLUS:
                changes["flows.by_other.tcp.compound-plus.guard"] = True
            for group, tcp in (("by_one", one), ("by_other", other)):
                for key, value in TCPS[tcp].items():
                    changes[f"flows.{group}.{key}"] = value
            labels = {"one": one, "other": other, "setting": setting}
            yield Case(labels, _file("coexist.toml").with_(changes), effort.pick((1,), effort.seeds))


def _shares(_: Case, results: Results) -> Iterator[Measured]:
    goodput = results.flows["goodput_bps"].reshape(len(results.seeds), 2, -1).mean(axis=2) / 1e6
    yield Measured("one_mbps", goodput[:, 0])
    yield Measured("other_mbps", goodput[:, 1])


def _draw_coexist(figure: Any, table: Table) -> None:
    settings = [setting for setting in ("AP 50", "AP 600") if setting in table.distinct("setting")]
    short = {"newreno": "NewReno", "ctcp": "CTCP", **{name: name.replace("ctcp", "").strip() for name in PLUS}}
    panels = style.panels(figure, settings, "goodput of a flow [Mb/s]", from_zero=True, sharey=True)
    for axes, setting in panels:
        first, other = (table.where(quantity, setting=setting).rows for quantity in ("one_mbps", "other_mbps"))
        style.grouped_bars(axes, {"first ten": first, "other ten": other}, width=0.36, step=0.4)
        pairs = [f"{short[str(row.labels['one'])]} | {short[str(row.labels['other'])]}" for row in first]
        axes.set_xticks(range(len(pairs)), pairs, rotation=60, ha="right", fontsize=6)
        axes.set_title(f"{setting} packets")


TWO = (6.9, 2.7)

PAPER = Paper(
    HERE,
    (
        Experiment(
            "fig2", "Throughput of each of 20 CTCP uploads, in decreasing order", _fig2, _ranks, _draw_fig2,
            shown=("goodput_mbps", "jain_index", "least", "most", "rtt_s", "timeouts", "ap_queue_share"),
        ),
        Experiment(
            "access", "Accesses that the access point wins, saturated with UDP both ways", _access, _share,
            shown=("ap_share",),
        ),
        Experiment(
            "fig3", "Windows of the fastest CTCP connection", partial(_over_time, n=20, step="200 ms"), _windows,
            _draw_windows, TWO, ("zero_share", "jain_index", "rtt_s"),
        ),
        Experiment(
            "fig4", "Packets in the access point's buffer under CTCP", partial(_over_time, n=20, step="200 ms"), _queue,
            _draw_queue, shown=("ap_queue_share", "ap_drops"),
        ),
        Experiment(
            "fig5", "Windows and buffer overflows with two stations", partial(_over_time, n=2, step="20 ms"), _windows,
            _draw_windows, TWO, ("overflow_zero", "overflows", "zero_share"),
        ),
        _over_n(
            "fig6a", "Fairness over the number of connections", "jain_index", "fairness index",
            ("jain_index", "least", "timeouts"), 1.05,
        ),
        _over_n(
            "fig6b", "Average round-trip time over the number of connections", "rtt_s", "average RTT [s]",
            ("rtt_s", "rtt_flow_s"),
        ),
        _over_n(
            "fig6c", "Total throughput over the number of connections", "goodput_mbps", "total goodput [Mb/s]",
            ("goodput_mbps",), 28,
        ),
        Experiment(
            "fig8", "Throughput over a high-speed path", _fig8, _throughput, _draw_fig8, TWO,
            ("peak_share", "dip_share", "late_share", "mean_mbps"),
            note="A quick run has a path of 100 Mb/s, as an illustration; claims are judged at 10 Gb/s.",
        ),
        Experiment(
            "coexist", "CTCP+ beside NewReno and CTCP", _coexist, _shares, _draw_coexist, (6.9, 3.3),
            note="Ten uploads of each; the paper reasons about it and shows no data. A quick run has one of eleven "
            "settings and one seed, for a look.",
        ),
    ),
)  # fmt: skip

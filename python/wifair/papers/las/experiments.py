"""Experiments of las: scenarios, measured quantities and figures. The README gives the readings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wifair import metrics
from wifair.reproduce import Case, Effort, Experiment, Measured, Paper, Table, scenarios_of, style
from wifair.results.results import Results
from wifair.scenario.scenario import Scenario

HERE = Path(__file__).parent
_file = scenarios_of(HERE)

DRAWN: Mapping[int | str, str] = {"150 m, DSDV": "DSDV", 150: "static"}
"""The chains of the figures, with the names of their routes: the paper's, and those that always exist."""
CHAINS: Mapping[int | str, Mapping[str, object]] = {
    150: {"stations.chain.spacing": "150 m"},
    200: {"stations.chain.spacing": "200 m"},
    "150 m, an ACK for each": {"stations.chain.spacing": "150 m", "tcp.delayed_ack": False},
    "150 m, DSDV": {
        "stations.chain.spacing": "150 m", "routing.protocol": "dsdv",
        "flows.start": "60 s", "warm_up": "70 s", "duration": "170 s",
    },
}  # fmt: skip
"""Readings of the chains: distance, delayed ACKs, routes. With DSDV flows begin after a minute."""
WINDOWS = (1, 2, 5, 10, 20, 30, 50)
BUFFERS = (20, 50, 100, 200)
WLAN_WINDOWS = (10, 15, 20, 25, 30, 40, 50)
WLAN_BUFFERS = (20, 50, 100, 150, 200)
"""Buffers [kbytes], which equals the number of segments."""
DISCIPLINES: Mapping[str, Mapping[str, object]] = {
    "FIFO": {"queue.discipline": "fifo"},
    "LAS": {"queue.discipline": "las"},
    "LAS, naive ACK": {"queue.discipline": "las", "queue.las.ack": "size"},
}
BOTH = ("FIFO", "LAS")
HOPS = {"one": 1, "two": 2, "three": 3, "four": 4}
"""Hops of the flows of a chain."""
SEGMENT = 1000
"""Payload of a segment [bytes]."""
UDP_RATES = (0.5, 1.0, 2.0, 5.0)
LOADS = {"0.5": 4.2, "0.7": 5.8, "0.9": 7.5}
"""Loads of the grid as fractions of its 2.0 Mb/s under FIFO, with the transfers (mean 30 kbytes) per second."""
COVS = (1, 2, 5)
WEB_LOADS = {"0.6": 46.0, "0.8": 35.0, "0.9": 31.0}
"""Loads as fractions of 3.9 Mb/s, with the time between the sessions of a client at a server [s]."""
OPEN, CUT = "0.8, open loop", "0.8, open loop, Pareto cut off"
"""Objects at random times, which wait for no earlier one; and with sizes whose sample has the CoV that is asked."""
MEAN, SIZES, SHAPE = 30_000, 1000, 1.1
"""Mean size of an object [bytes]; number of sizes and shape of a Pareto distribution that is cut off."""
PERCENTILES = (*range(5, 100, 5), 99, 100)
"""Upper ends of the bins of sizes."""


def _queue(where: str, discipline: str, buffer: int) -> dict[str, object]:
    """Set discipline and buffer, in segments; a queue of ns-2 holds one less than its limit."""
    keys = {f"{where}.{key}": value for key, value in DISCIPLINES[discipline].items()}
    return {**keys, f"{where}.queue.limit": f"{buffer - 1} packets"}


def _window(packets: int) -> dict[str, object]:
    return {"tcp.receive_window": f"{packets} packets"}


def _case(effort: Effort, file: str, labels: Mapping[str, Any], changes: Mapping[str, object]) -> Case:
    shorter = effort.pick({"duration": "100 s" if "routing.protocol" in changes else "50 s"}, {})
    return Case(labels, _file(file).with_({**changes, **shorter}), effort.seeds)


def _flows(_: Case, results: Results) -> Iterator[Measured]:
    """Measure all flows.

    In `packets_ps` a packet that arrives counts once for each hop of its way; in `packets_air_ps` each hop that a
    packet makes counts, although it may be lost later.
    """
    cells, flows = results.cells, results.flows
    shape = (len(results.seeds), -1)
    names = flows["name"].reshape(shape)[0].tolist()
    scenario = results.scenario
    yield Measured("goodput_kbps", cells["goodput_bps"] / 1e3)
    yield Measured("throughput_kbps", cells["throughput_bps"] / 1e3)
    hops = flows["data_air_hops"].reshape(shape).sum(axis=1)
    yield Measured("packets_air_ps", hops / (scenario.duration_s - scenario.warm_up_s))
    yield Measured("jain_index", cells["jain_index"])
    drops = flows["data_drops_station_queue"] + flows["data_drops_ap_queue"]
    yield Measured("drops", drops.reshape(shape).sum(axis=1))
    goodput = flows["goodput_bps"].reshape(shape) / 1e3
    yield Measured("packets_ps", goodput @ [HOPS.get(name, 1) for name in names] * 1e3 / 8 / SEGMENT)
    for index, name in enumerate(names):
        yield Measured("flow_kbps", goodput[:, index], {"flow": name})


# Chains


def _chain(effort: Effort) -> Iterator[Case]:
    points = list(product(effort.pick((2, 10, 50), WINDOWS), effort.pick((20, 200), BUFFERS)))
    points += [(50, b) for b in (50, 400) if (50, b) not in points]
    for chain, discipline, (window, buffer) in product(CHAINS, BOTH, points):
        yield _chain_case(effort, "chain.toml", chain, discipline, window, buffer)


def _chain_case(effort: Effort, file: str, chain: int | str, discipline: str, window: int, buffer: int) -> Case:
    changes = {**_queue("stations", discipline, buffer), **CHAINS[chain], **_window(window)}
    labels = {"discipline": discipline, "spacing": chain, "window": window, "buffer": buffer}
    return _case(effort, file, labels, changes)


def _hidden(effort: Effort) -> Iterator[Case]:
    windows, buffers = effort.pick((10, 50), (2, 5, 10, 20, 50)), effort.pick((20, 200), (20, 50, 200))
    for chain, discipline, window, buffer in product(CHAINS, BOTH, windows, buffers):
        yield _chain_case(effort, "chain_hidden.toml", chain, discipline, window, buffer)


def _udp(effort: Effort) -> Iterator[Case]:
    for chain, discipline, rate in product(CHAINS, BOTH, UDP_RATES):
        rates = {f"flows.{flow}.udp.rate": f"{rate} Mb/s" for flow in ("one", "two")}
        labels = {"discipline": discipline, "spacing": chain, "rate": rate}
        yield _case(effort, "chain_udp.toml", labels, {**_queue("stations", discipline, 50), **CHAINS[chain], **rates})


def _surfaces(row: Any, table: Table, buffers: Iterable[int], top_mbps: float, place: str = "") -> None:
    """Draw throughput under LAS and FIFO, then fairness: over the window, with a line for each buffer."""
    for (quantity, discipline), axes in zip(product(("throughput_kbps", "jain_index"), ("LAS", "FIFO")), row):
        scale, top = (1e-3, top_mbps) if quantity == "throughput_kbps" else (1.0, 1.05)
        some = table.where(discipline=discipline)
        names = {b: f"buffer {b} kB" for b in buffers}
        style.lines(axes, some, quantity, x="window", series="buffer", order=buffers, names=names, scale=scale)
        axes.set(xlabel="window [kB]", ylim=(0, top), title=discipline + place)
    row[0].set_ylabel("throughput [Mb/s]")
    row[2].set_ylabel("fairness index")


def _draw_chain(figure: Any, table: Table) -> None:
    panels = figure.subplots(2, 4)
    for row, (spacing, routes) in zip(panels, DRAWN.items()):
        _surfaces(row, table.where(spacing=spacing), BUFFERS, 3.2, f", {routes}")
    style.legend_below(figure, *panels.flat, columns=5)


PLACES = {"one": "to node 1", "two": "to node 2", "three": "to node 3", "four": "to node 4"}


def _draw_goodputs(
    figure: Any, shown: Mapping[str, Table], x: str, label: str, names: Mapping[str, str], columns: int = 3
) -> None:
    """Draw tables, by the titles of their panels: the goodput of each flow over label `x`."""
    panels = style.panels(figure, shown.items(), "goodput [Mb/s]", columns=columns, from_zero=True, sharey=True)
    for axes, (title, some) in panels:
        style.lines(axes, some, "flow_kbps", x=x, series="flow", names=names, scale=1e-3)
        axes.set(title=title, xlabel=label)


def _draw_hidden(figure: Any, table: Table) -> None:
    buffer = 50 if 50 in table.distinct("buffer") else 200
    shown = {
        f"{discipline}, {routes}, {buffer} kB": table.where(discipline=discipline, spacing=spacing, buffer=buffer)
        for (spacing, routes), discipline in product(DRAWN.items(), BOTH)
    }
    _draw_goodputs(figure, shown, "window", "window [kB]", PLACES, columns=5)


def _draw_udp(figure: Any, table: Table) -> None:
    names = {"one": "UDP, 1 hop", "two": "UDP, 2 hops", "three": "TCP, 3 hops"}
    shown = {f"{discipline}, DSDV": table.where(discipline=discipline, spacing="150 m, DSDV") for discipline in BOTH}
    _draw_goodputs(figure, shown, "rate", "rate of each UDP flow [Mb/s]", names, columns=4)


# WLAN


def _wlan(effort: Effort) -> Iterator[Case]:
    windows, buffers = effort.pick((10, 30, 50), WLAN_WINDOWS), effort.pick((20, 200), WLAN_BUFFERS)
    for discipline, window, buffer in product(BOTH, windows, buffers):
        labels = {"discipline": discipline, "window": window, "buffer": buffer}
        yield _case(effort, "wlan.toml", labels, {**_queue("ap", discipline, buffer), **_window(window)})


def _updown(effort: Effort) -> Iterator[Case]:
    windows, buffers = effort.pick((30, 50), (10, 20, 30, 40, 50)), effort.pick((20, 200), BUFFERS)
    for upload, discipline, window, buffer in product(("near", "far"), DISCIPLINES, windows, buffers):
        changes = {**_queue("ap", discipline, buffer), **_window(window)}
        if upload == "far":
            changes |= {"flows.up.server": "far", "flows.to_far.server": "near"}
        labels = {"discipline": discipline, "upload": upload, "window": window, "buffer": buffer}
        yield _case(effort, "updown.toml", labels, changes)


def _draw_wlan(figure: Any, table: Table) -> None:
    panels = figure.subplots(1, 4)
    _surfaces(panels, table, WLAN_BUFFERS, 4.6)
    for axes in panels[2:]:
        axes.axhline(0.9, color="black", linewidth=0.6, linestyle=":")
    style.legend_below(figure, *panels, columns=6)


def _draw_updown(figure: Any, table: Table) -> None:
    names = {"up": "upload, 2 ms", "to_middle": "download, 50 ms", "to_far": "download, 150 ms"}
    shown = {one: table.where(discipline=one, upload="near", buffer=200) for one in DISCIPLINES}
    _draw_goodputs(figure, shown, "window", "window [kB]", names)


# Response times

WARM_UP_S = 40


@cache
def _grid_file(rate: float, mean_kb: int) -> Scenario:
    """Make a scenario with transfers between all pairs, `rate` per second."""
    interval = 240 / rate
    pairs = [(a, b) for a in range(1, 17) for b in range(1, 17) if a != b]
    flows = "\n".join(
        f'[[flows]]\nname = "f{a}_{b}"\nfrom = "node{a}"\nto = "node{b}"\nworkload = "poisson"\n'
        f'poisson.interval = "{interval:.6f} s"\npoisson.size = "{mean_kb} kB"\npoisson.law = "exponential"\n'
        for a, b in pairs
    )
    return Scenario.from_text(f"{(HERE / 'grid.toml').read_text(encoding='utf-8')}\n{flows}")


def _grid(effort: Effort) -> Iterator[Case]:
    shorter = effort.pick({"duration": "110 s"}, {})
    loads: dict[str, tuple[float, int]] = {load: (rate, 30) for load, rate in LOADS.items()}
    if effort is Effort.FULL:
        loads["as in ns-2"] = (1.5, 100)
    for load, (rate, mean_kb) in loads.items():
        for discipline in BOTH:
            changes = {**_queue("stations", discipline, 103), **shorter}
            scenario = _grid_file(rate, mean_kb).with_(changes)
            yield Case({"discipline": discipline, "load": load}, scenario, effort.seeds)


@cache
def cut_pareto(cov: float) -> tuple[int, ...]:
    """Compute sizes at equal steps of a Pareto distribution that is cut off where they have this CoV [bytes].

    Without a cut, half of the variance of a CoV of 5 lies in objects so rare that no run has them.
    """
    step = (np.arange(SIZES) + 0.5) / SIZES

    def sizes(end: float) -> NDArray[np.float64]:
        """Compute sizes in units of the least, up to `end`."""
        return np.asarray((1 - step * (1 - end**-SHAPE)) ** (-1 / SHAPE))

    low, high = 1.0, 1e9
    for _ in range(100):
        middle = (low * high) ** 0.5
        found = sizes(middle)
        low, high = (low, middle) if found.std() / found.mean() > cov else (middle, high)
    found = sizes(low)
    return tuple(int(size) for size in np.rint(MEAN * found / found.mean()))


def _web_changes(offered: str, cov: int) -> dict[str, object]:
    """Set when objects are asked for, and how large they are."""
    kind = "poisson" if offered in (OPEN, CUT) else "web"
    law = "exponential" if cov == 1 else "empirical" if offered == CUT else "pareto"
    sizes: dict[str, object] = {"law": law, "size": f"{MEAN} B"}
    if law == "pareto":
        sizes["pareto.cov"] = cov
    if law == "empirical":
        sizes = {"law": law, "empirical.list": [f"{size} B" for size in cut_pareto(cov)]}
    interval = WEB_LOADS[offered[:3]]
    pages = {"session_interval": f"{interval} s", "pages": 5, "objects": 3, "think_time": "100 ms"}
    times = {"interval": f"{interval / 15:.6f} s"} if kind == "poisson" else {**pages, "object_interval": "100 ms"}
    return {"flows.workload": kind, **{f"flows.{kind}.{key}": value for key, value in {**times, **sizes}.items()}}


def _web(effort: Effort) -> Iterator[Case]:
    """Make the cases; in quick runs only those of the figure, because few transfers decide no claim."""
    shorter = effort.pick({"duration": "110 s"}, {})
    for offered, cov, discipline in product(effort.pick(("0.8", CUT), (*WEB_LOADS, OPEN, CUT)), COVS, BOTH):
        labels: dict[str, Any] = {"discipline": discipline, "cov": cov, "offered": offered}
        changes = {**_queue("ap", discipline, 100), **_web_changes(offered, cov), **shorter}
        yield Case(labels, _file("web.toml").with_(changes), effort.seeds)


def _responses(_: Case, results: Results) -> Iterator[Measured]:
    """Compute mean response times by percentile of the size for each seed, without transfers of the last 20 s.

    A transfer that has not finished counts with the time until the end of the run, which underestimates it.
    """
    by_seed, deciles = [], []
    others: dict[str, list[float]] = defaultdict(list)
    end = results.scenario.duration_s - 20
    for seed in results.seeds:
        sessions = results.sessions.filter(seed=seed)
        early = sessions["start_s"].astype(float) < end
        size = sessions["length_bytes"].astype(float)[early]
        took = sessions["received_after_s"].astype(float)[early]
        others["transfers"].append(len(size))
        others["unfinished"].append(np.isnan(took).sum())
        others["cov"].append(size.std() / size.mean())
        others["load_kbps"].append(8e-3 * size.sum() / (end - WARM_UP_S))
        waited = results.scenario.duration_s - sessions["start_s"].astype(float)[early]
        took = np.where(np.isnan(took), waited, took)
        hundred = metrics.conditional_response_time(size, took, bins=100)
        weight = hundred.finished * np.nan_to_num(hundred.mean_s)
        edges = [np.searchsorted(hundred.percentile, p - 1e-9) + 1 for p in PERCENTILES]
        begins = [0, *edges[:-1]]
        by_seed.append([weight[a:b].sum() / max(hundred.finished[a:b].sum(), 1) for a, b in zip(begins, edges)])
        deciles.append(metrics.conditional_response_time(size, took, bins=10).mean_s)
    for index, percentile in enumerate(PERCENTILES):
        yield Measured("response_s", [values[index] for values in by_seed], {"percentile": percentile})
    for index in range(10):
        yield Measured("decile_s", [values[index] for values in deciles], {"decile": index + 1})
    for quantity, values in others.items():
        yield Measured(quantity, values)


def _draw_responses(figure: Any, shown: Mapping[str, Table]) -> None:
    """Draw tables by the titles of their panels, three in a row: mean response times over the percentile of sizes."""
    rows = figure.subplots(len(shown) // 3, 3, sharex=True, sharey="row", squeeze=False)
    for axes, (title, some) in zip(rows.flat, shown.items(), strict=True):
        style.lines(axes, some, "response_s", x="percentile", series="discipline", order=BOTH)
        axes.set(yscale="log", title=title)
    least = min(row.estimate.mean for some in shown.values() for row in some.of("response_s"))
    for row in rows:  # the axes are logarithmic, so that an interval may go beyond them
        row[0].set(ylabel="mean response time [s]", ylim=(least / 3, None))
    for axes in rows[-1]:
        axes.set_xlabel("percentile of sizes")
    style.legend_below(figure, *rows.flat)


def _draw_grid(figure: Any, table: Table) -> None:
    """Draw a panel for each load; its title has that of the sample, too."""
    shown = {}
    for load in LOADS:
        some = table.where(load=load)
        if some.rows:
            mbps = some("load_kbps", discipline="FIFO") / 1e3
            shown[f"load {load}: here {mbps:.2f} Mb/s"] = some
    _draw_responses(figure, shown)


def _draw_web(figure: Any, table: Table) -> None:
    """Draw a panel for each CoV of the distribution; its title has CoV and load of the sample."""
    shown = {}
    for offered, cov in product(("0.8", CUT), COVS):
        some = table.where(cov=cov, offered=offered)
        here, kbps = (some(quantity, discipline="FIFO") for quantity in ("cov", "load_kbps"))
        shown[f"{'pages' if offered == '0.8' else 'open loop'}: CoV {here:.1f}, {kbps / 1e3:.1f} Mb/s"] = some
    _draw_responses(figure, shown)


WIDE = (6.9, 2.7)
ALL = ("flow_kbps", "goodput_kbps", "packets_ps", "jain_index")

PAPER = Paper(
    HERE,
    (
        Experiment(
            "fig2_5", "Chain of four: throughput and fairness over window and buffer", _chain, _flows, _draw_chain,
            (6.9, 4.6), ("throughput_kbps", "packets_ps", "jain_index"),
        ),
        Experiment("chain_udp", "Chain of four: two UDP flows against a TCP flow", _udp, _flows, _draw_udp, WIDE, ALL),
        Experiment(
            "chain_hidden", "Chain of five, the last hidden from the first", _hidden, _flows, _draw_hidden,
            (6.9, 2.6), ALL,
        ),
        Experiment(
            "fig6_9", "WLAN, downloads: throughput and fairness over window and buffer", _wlan, _flows, _draw_wlan,
            (6.9, 2.7), ("throughput_kbps", "goodput_kbps", "jain_index"),
        ),
        Experiment(
            "wlan_updown", "WLAN, an upload and two downloads", _updown, _flows, _draw_updown, WIDE,
            ("flow_kbps", "goodput_kbps", "jain_index"),
        ),
        Experiment(
            "fig10", "Grid: response time over the percentile of sizes", _grid, _responses, _draw_grid, WIDE,
            ("response_s", "transfers", "unfinished", "load_kbps"),
        ),
        Experiment(
            "fig11", "WLAN, web pages: service time over the percentile of sizes", _web, _responses, _draw_web,
            (6.9, 4.6), ("response_s", "transfers", "unfinished", "cov", "load_kbps"),
        ),
    ),
)  # fmt: skip

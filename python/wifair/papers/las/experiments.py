"""Experiments of las: scenarios, measured quantities and figures. The README gives the readings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wifair import metrics
from wifair.reproduce import Case, Effort, Experiment, Measured, style
from wifair.scenario import Scenario

if TYPE_CHECKING:
    from wifair.reproduce import Table
    from wifair.results import Results

__all__ = ["COVS", "EXPERIMENTS", "LOADS", "PERCENTILES", "SPACINGS", "UNITS"]

HERE = Path(__file__).parent

SPACINGS = (150, 200)
"""Distance of neighbours in a chain [m]: the reading taken, at which four nodes sense each other, and another."""
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
UDP_RATES = (0.5, 1.0, 2.0, 5.0)
LOADS = {"0.5": 4.2, "0.7": 5.8, "0.9": 7.5}
"""Loads of the grid as fractions of its 2.0 Mb/s under FIFO, with the transfers (mean 30 kbytes) per second."""
COVS = (1, 2, 5)
WEB_LOADS = {"0.6": 46.0, "0.8": 35.0, "0.9": 31.0}
"""Loads as fractions of 3.9 Mb/s, with the time between the sessions of a client at a server [s]."""
PERCENTILES = (*range(5, 100, 5), 99, 100)
"""Upper ends of the bins of sizes."""

UNITS = {
    "goodput_kbps": "goodput [kb/s]",
    "flow_kbps": "goodput of this flow [kb/s]",
    "throughput_kbps": "throughput, duplicates included [kb/s]",
    "packets_ps": "data packets over all hops [1/s]",
    "jain_index": "fairness index",
    "drops": "data packets dropped by queues",
    "response_s": "mean response time [s]",
    "decile_s": "mean response time in this tenth of the sizes [s]",
    "transfers": "transfers",
    "unfinished": "transfers not finished",
    "cov": "coefficient of variation of the sizes",
    "load_kbps": "offered load [kb/s]",
}


@cache
def _file(name: str) -> Scenario:
    return Scenario.from_file(HERE / name)


def _queue(where: str, discipline: str, buffer: int) -> dict[str, object]:
    """Set discipline and buffer, in segments; a queue of ns-2 holds one less than its limit."""
    keys = {f"{where}.{key}": value for key, value in DISCIPLINES[discipline].items()}
    return {**keys, f"{where}.queue.limit": f"{buffer - 1} packets"}


def _case(effort: Effort, file: str, labels: Mapping[str, Any], changes: Mapping[str, object]) -> Case:
    shorter = effort.pick({"duration": "100 s" if "routing.protocol" in changes else "50 s"}, {})
    return Case(labels, _file(file).with_({**changes, **shorter}), effort.seeds)


def _flows(_: Case, results: Results) -> Iterator[Measured]:
    """Measure all flows; in `packets_ps` a packet counts once for each hop."""
    cells, flows = results.cells, results.flows
    shape = (len(results.seeds), -1)
    names = flows["name"].reshape(shape)[0].tolist()
    scenario = results.scenario
    yield Measured("goodput_kbps", cells["goodput_bps"] / 1e3)
    yield Measured("throughput_kbps", cells["throughput_bps"] / 1e3)
    hops = flows["data_air_hops"].reshape(shape).sum(axis=1)
    yield Measured("packets_ps", hops / (scenario.duration_s - scenario.warm_up_s))
    yield Measured("jain_index", cells["jain_index"])
    drops = flows["data_drops_station_queue"] + flows["data_drops_ap_queue"]
    yield Measured("drops", drops.reshape(shape).sum(axis=1))
    goodput = flows["goodput_bps"].reshape(shape) / 1e3
    for index, name in enumerate(names):
        yield Measured("flow_kbps", goodput[:, index], {"flow": name})


# Chains


def _chain(effort: Effort) -> Iterator[Case]:
    for chain in CHAINS:
        for discipline in BOTH:
            points = [(w, b) for w in effort.pick((2, 10, 50), WINDOWS) for b in effort.pick((20, 200), BUFFERS)]
            points += [(50, b) for b in (50, 400) if (50, b) not in points]
            for window, buffer in points:
                yield _chain_case(effort, "chain.toml", chain, discipline, window, buffer)


def _chain_case(effort: Effort, file: str, chain: int | str, discipline: str, window: int, buffer: int) -> Case:
    changes = {
        **_queue("stations", discipline, buffer), **CHAINS[chain], "tcp.receive_window": f"{window} packets"
    }  # fmt: skip
    labels = {"discipline": discipline, "spacing": chain, "window": window, "buffer": buffer}
    return _case(effort, file, labels, changes)


def _hidden(effort: Effort) -> Iterator[Case]:
    for chain in CHAINS:
        for discipline in BOTH:
            for window in effort.pick((10, 50), (2, 5, 10, 20, 50)):
                for buffer in effort.pick((20, 200), (20, 50, 200)):
                    yield _chain_case(effort, "chain_hidden.toml", chain, discipline, window, buffer)


def _udp(effort: Effort) -> Iterator[Case]:
    for chain in CHAINS:
        for discipline in BOTH:
            for rate in UDP_RATES:
                changes = {
                    **_queue("stations", discipline, 50), **CHAINS[chain],
                    "flows.one.udp.rate": f"{rate} Mb/s",
                    "flows.two.udp.rate": f"{rate} Mb/s",
                }  # fmt: skip
                labels = {"discipline": discipline, "spacing": chain, "rate": rate}
                yield _case(effort, "chain_udp.toml", labels, changes)


def _surface(axes: Any, table: Table, quantity: str, buffers: Iterable[int]) -> None:
    """Draw lines over the window, one for each buffer."""
    style.lines(
        axes, table, quantity, x="window", series="buffer", order=list(buffers),
        names={b: f"buffer {b} kB" for b in (*WLAN_BUFFERS, *BUFFERS)}, scale=1e-3 if "kbps" in quantity else 1.0,
    )  # fmt: skip
    axes.set_xlabel("window [kB]")


def _draw_chain(figure: Any, table: Table) -> None:
    panels = figure.subplots(2, 4)
    buffers = [b for b in BUFFERS if b in table.distinct("buffer")]
    for row, spacing in zip(panels, SPACINGS):
        for column, (discipline, quantity) in enumerate(
            (("LAS", "throughput_kbps"), ("FIFO", "throughput_kbps"), ("LAS", "jain_index"), ("FIFO", "jain_index"))
        ):
            axes = row[column]
            some = table.where(discipline=discipline, spacing=spacing)
            _surface(axes, some, quantity, buffers)
            axes.set_ylim(0, 3.2 if column < 2 else 1.05)
            axes.set_title(f"{discipline}, {spacing} m")
        row[0].set_ylabel("throughput [Mb/s]")
        row[2].set_ylabel("fairness index")
    style.legend_below(figure, *panels.flat, columns=5)


PLACES = {"one": "to node 1", "two": "to node 2", "three": "to node 3", "four": "to node 4"}


def _draw_hidden(figure: Any, table: Table) -> None:
    panels = figure.subplots(1, 4, sharey=True)
    buffer = 50 if 50 in table.distinct("buffer") else 200
    for axes, (discipline, spacing) in zip(panels, ((d, s) for s in SPACINGS for d in BOTH)):
        some = table.where(discipline=discipline, spacing=spacing, buffer=buffer)
        style.lines(axes, some, "flow_kbps", x="window", series="flow", names=PLACES, scale=1e-3)
        axes.set_title(f"{discipline}, {spacing} m, {buffer} kB")
        axes.set_xlabel("window [kB]")
    panels[0].set_ylim(bottom=0)
    panels[0].set_ylabel("goodput [Mb/s]")
    style.legend_below(figure, *panels, columns=5)


def _draw_udp(figure: Any, table: Table) -> None:
    panels = figure.subplots(1, 2, sharey=True)
    names = {"one": "UDP, 1 hop", "two": "UDP, 2 hops", "three": "TCP, 3 hops"}
    for axes, discipline in zip(panels, BOTH):
        some = table.where(discipline=discipline, spacing=150)
        style.lines(axes, some, "flow_kbps", x="rate", series="flow", names=names, scale=1e-3)
        axes.set_title(f"{discipline}, 150 m")
        axes.set_xlabel("rate of each UDP flow [Mb/s]")
    panels[0].set_ylim(bottom=0)
    panels[0].set_ylabel("goodput [Mb/s]")
    style.legend_below(figure, *panels, columns=4)


# WLAN


def _wlan(effort: Effort) -> Iterator[Case]:
    for discipline in BOTH:
        for window in effort.pick((10, 30, 50), WLAN_WINDOWS):
            for buffer in effort.pick((20, 200), WLAN_BUFFERS):
                changes = {**_queue("ap", discipline, buffer), "tcp.receive_window": f"{window} packets"}
                labels = {"discipline": discipline, "window": window, "buffer": buffer}
                yield _case(effort, "wlan.toml", labels, changes)


def _updown(effort: Effort) -> Iterator[Case]:
    for upload in ("near", "far"):
        for discipline in DISCIPLINES:
            for window in effort.pick((30, 50), (10, 20, 30, 40, 50)):
                for buffer in effort.pick((20, 200), BUFFERS):
                    changes = {**_queue("ap", discipline, buffer), "tcp.receive_window": f"{window} packets"}
                    if upload == "far":
                        changes |= {"flows.up.server": "far", "flows.to_far.server": "near"}
                    labels = {"discipline": discipline, "upload": upload, "window": window, "buffer": buffer}
                    yield _case(effort, "updown.toml", labels, changes)


def _draw_wlan(figure: Any, table: Table) -> None:
    panels = figure.subplots(1, 4)
    buffers = [b for b in WLAN_BUFFERS if b in table.distinct("buffer")]
    for column, (discipline, quantity) in enumerate(
        (("LAS", "throughput_kbps"), ("FIFO", "throughput_kbps"), ("LAS", "jain_index"), ("FIFO", "jain_index"))
    ):
        axes = panels[column]
        _surface(axes, table.where(discipline=discipline), quantity, buffers)
        axes.set_ylim(0, 4.6 if column < 2 else 1.05)
        axes.set_title(discipline)
        if column >= 2:
            axes.axhline(0.9, color="black", linewidth=0.6, linestyle=":")
    panels[0].set_ylabel("throughput [Mb/s]")
    panels[2].set_ylabel("fairness index")
    style.legend_below(figure, *panels, columns=6)


def _draw_updown(figure: Any, table: Table) -> None:
    panels = figure.subplots(1, 3, sharey=True)
    names = {"up": "upload, 2 ms", "to_middle": "download, 50 ms", "to_far": "download, 150 ms"}
    for axes, discipline in zip(panels, DISCIPLINES):
        some = table.where(discipline=discipline, upload="near", buffer=200)
        style.lines(axes, some, "flow_kbps", x="window", series="flow", names=names, scale=1e-3)
        axes.set_title(discipline)
        axes.set_xlabel("window [kB]")
    panels[0].set_ylim(bottom=0)
    panels[0].set_ylabel("goodput [Mb/s]")
    style.legend_below(figure, *panels)


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


def _web(effort: Effort) -> Iterator[Case]:
    """Make the cases; in quick runs only those of the figure, because few transfers decide no claim."""
    shorter = effort.pick({"duration": "110 s"}, {})
    points = [(cov, load) for load in WEB_LOADS for cov in COVS if effort is Effort.FULL or load == "0.8"]
    for cov, load in points:
        law = {"flows.web.law": "exponential"} if cov == 1 else {"flows.web.law": "pareto", "flows.web.pareto.cov": cov}
        for discipline in BOTH:
            changes = {
                **_queue("ap", discipline, 100), **law, **shorter,
                "flows.web.session_interval": f"{WEB_LOADS[load]} s",
            }  # fmt: skip
            labels: dict[str, Any] = {"discipline": discipline, "cov": cov, "offered": load}
            yield Case(labels, _file("web.toml").with_(changes), effort.seeds)


def _responses(_: Case, results: Results) -> Iterator[Measured]:
    """Compute mean response times by percentile of the size for each seed, without transfers of the last 20 s.

    A transfer that has not finished counts with the time until the end of the run, which underestimates it.
    """
    by_seed, deciles, counts, unfinished, covs, loads = [], [], [], [], [], []
    end = results.scenario.duration_s - 20
    for seed in results.seeds:
        sessions = results.sessions.where(seed=seed)
        early = sessions["start_s"].astype(float) < end
        size = sessions["length_bytes"].astype(float)[early]
        took = sessions["received_after_s"].astype(float)[early]
        unfinished.append(float(np.isnan(took).sum()))
        waited = results.scenario.duration_s - sessions["start_s"].astype(float)[early]
        took = np.where(np.isnan(took), waited, took)
        hundred = metrics.conditional_response_time(size, took, bins=100)
        weight = hundred.finished * np.nan_to_num(hundred.mean_s)
        edges = [np.searchsorted(hundred.percentile, p - 1e-9) + 1 for p in PERCENTILES]
        begins = [0, *edges[:-1]]
        by_seed.append([weight[a:b].sum() / max(hundred.finished[a:b].sum(), 1) for a, b in zip(begins, edges)])
        deciles.append(metrics.conditional_response_time(size, took, bins=10).mean_s)
        counts.append(len(size))
        covs.append(size.std() / size.mean())
        loads.append(8e-3 * size.sum() / (end - WARM_UP_S))
    for index, percentile in enumerate(PERCENTILES):
        yield Measured("response_s", [values[index] for values in by_seed], {"percentile": percentile})
    for index in range(10):
        yield Measured("decile_s", [values[index] for values in deciles], {"decile": index + 1})
    yield Measured("transfers", counts)
    yield Measured("unfinished", unfinished)
    yield Measured("cov", covs)
    yield Measured("load_kbps", loads)


def _draw_responses(figure: Any, table: Table, panels: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
    panels = list(panels)
    every = figure.subplots(1, len(panels), squeeze=False)[0]
    for axes, (title, only) in zip(every, panels):
        style.lines(axes, table.where(**only), "response_s", x="percentile", series="discipline", order=list(BOTH))
        axes.set_yscale("log")
        axes.set_title(title)
        axes.set_xlabel("percentile of sizes")
    every[0].set_ylabel("mean response time [s]")
    style.legend_below(figure, *every)


def _draw_grid(figure: Any, table: Table) -> None:
    shown = [load for load in LOADS if load in table.distinct("load")]
    _draw_responses(figure, table, [(_realised_load(table, load), {"load": load}) for load in shown])


def _realised_load(table: Table, load: str) -> str:
    """Label with the nominal load and the load of the sample."""
    return f"load {load}: here {table('load_kbps', discipline='FIFO', load=load).mean / 1e3:.2f} Mb/s"


def _draw_web(figure: Any, table: Table) -> None:
    _draw_responses(figure, table, [(_realised(table, cov), {"cov": cov, "offered": "0.8"}) for cov in COVS])


def _realised(table: Table, cov: int) -> str:
    """Label with the CoV of the distribution, and CoV and load of the sample."""
    at: dict[str, Any] = {"discipline": "FIFO", "cov": cov, "offered": "0.8"}
    return f"CoV {cov}: here {table('cov', **at).mean:.1f}, {table('load_kbps', **at).mean / 1e3:.1f} Mb/s"


WIDE = (6.9, 2.7)
ALL = ("flow_kbps", "goodput_kbps", "packets_ps", "jain_index")

EXPERIMENTS = (
    Experiment(
        "fig2_5", "Chain of four: throughput and fairness over window and buffer", _chain, _flows, _draw_chain,
        (6.9, 4.6), ("throughput_kbps", "packets_ps", "jain_index"),
    ),
    Experiment("chain_udp", "Chain of four: two UDP flows against a TCP flow", _udp, _flows, _draw_udp, WIDE, ALL),
    Experiment(
        "chain_hidden", "Chain of five, the last hidden from the first", _hidden, _flows, _draw_hidden, (6.9, 2.6), ALL
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
        "fig11", "WLAN, web pages: service time over the percentile of sizes", _web, _responses, _draw_web, WIDE,
        ("response_s", "transfers", "unfinished", "cov", "load_kbps"),
    ),
)  # fmt: skip
"""All experiments, in the paper's order."""

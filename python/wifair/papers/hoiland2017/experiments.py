"""Experiments of hoiland2017: scenarios, measured quantities and figures. The README gives the readings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from wifair.figures.style import COLOURS
from wifair.metrics import jain_index
from wifair.papers.hoiland2017.model import Sender, rates_mbps
from wifair.reproduce import Case, Effort, Experiment, Measured, Paper, Table, scenarios_of, style
from wifair.results.results import Results

HERE = Path(__file__).parent
_file = scenarios_of(HERE)

_QUEUE = "ap.queue.linux-wifi."
SETUPS: Mapping[str, Mapping[str, object]] = {
    "FIFO": {"ap.device": "fifo"},
    "FQ-CoDel": {"ap.device": "fifo", "ap.queue.limit": "10240 packets", f"{_QUEUE}upper": "fq-codel"},
    "FQ-MAC": {f"{_QUEUE}airtime_fairness": False},
    "airtime": {},
}
"""The four set-ups of section 4: qdiscs above ath9k's queues, then queues in mac80211 without and with rounds."""
STATIONS = ("fast1", "fast2", "slow")
AGGREGATES = {"fast": Sender(32, 1500, 144.4), "slow": Sender(2, 1500, 7.2)}
"""The longest aggregates of ath9k: 32 packets, 4 ms."""


def _with(effort: Effort, name: str, setup: str, changes: Mapping[str, object] | None = None, **labels: Any) -> Case:
    shorter = effort.pick({"duration": "12 s", "warm_up": "3 s"}, {})
    seeds = effort.pick(effort.seeds[:3], effort.seeds)
    scenario = _file(name).with_({**SETUPS[setup], **shorter, **(changes or {})})
    return Case({"setup": setup, **labels}, scenario, seeds)


def _by_setup(name: str, setups: tuple[str, ...] = tuple(SETUPS)) -> Any:
    def cases(effort: Effort) -> Iterator[Case]:
        for setup in setups:
            yield _with(effort, name, setup)

    return cases


def _air(results: Results) -> dict[str, np.ndarray]:
    """Air time of the exchanges to and from each station, over that of all."""
    shape = (len(results.seeds), -1)
    stations = results.stations
    names = stations["name"].reshape(shape)[0]
    to = stations["air_to_station_s"].reshape(shape)
    own = ("air_data_s", "air_control_s", "air_collided_s")
    from_ = np.sum([stations[column].reshape(shape) for column in own], axis=0)
    used = {str(name): to[:, i] + from_[:, i] for i, name in enumerate(names) if name != "ap"}
    total = sum(used.values())
    return {name: air / total for name, air in used.items()}


def _flow(results: Results, name: str, quantity: str) -> np.ndarray:
    return np.asarray(results.flows.filter(name=name)[quantity])


def _three(_: Case, results: Results) -> Iterator[Measured]:
    air = _air(results)
    for station in STATIONS:
        yield Measured("station_mbps", _flow(results, station, "goodput_bps") / 1e6, {"station": station})
        yield Measured("air_share", air[station], {"station": station})
    goodput = np.array([_flow(results, station, "goodput_bps") for station in STATIONS])
    yield Measured("total_mbps", goodput.sum(axis=0) / 1e6)
    yield Measured("jain_air", jain_index(np.array([air[station] for station in STATIONS]), axis=0))


def _datagrams(case: Case, results: Results) -> Iterator[Measured]:
    yield from _three(case, results)
    senders = [AGGREGATES["slow" if station == "slow" else "fast"] for station in STATIONS]
    rates = rates_mbps(senders, is_fair=case.labels["setup"] == "airtime")
    for station, rate in zip(STATIONS, rates):
        yield Measured("of_model", _flow(results, station, "goodput_bps") / 1e6 / rate, {"station": station})


def _latency(results: Results, flow: str, **labels: str) -> Iterator[Measured]:
    for quantity, column in (("median_ms", "rtt_p50_s"), ("p95_ms", "rtt_p95_s"), ("p99_ms", "rtt_p99_s")):
        yield Measured(quantity, _flow(results, flow, column) * 1e3, labels)


def _downloads(case: Case, results: Results) -> Iterator[Measured]:
    yield from _three(case, results)
    for station in ("fast", "slow"):
        yield from _latency(results, f"ping-{station}", station=station)


def _sparse(effort: Effort) -> Iterator[Case]:
    for joins, load in product(("first", "last"), ("tcp", "udp")):
        udp = {f"flows.{flow}.transport": "udp" for flow in ("fast", "slow")}
        udp |= {f"flows.{flow}.udp.rate": "80 Mb/s" for flow in ("fast", "slow")}
        changes = {f"{_QUEUE}sparse_stations": joins, **(udp if load == "udp" else {})}
        yield _with(effort, "sparse.toml", "airtime", changes, joins=joins, load=load)


def _ping(_: Case, results: Results) -> Iterator[Measured]:
    yield from _latency(results, "echo")


def _thirty(effort: Effort) -> Iterator[Case]:
    for setup in ("FQ-CoDel", "FQ-MAC", "airtime"):
        yield _with(effort, "thirty.toml", setup, effort.pick({"duration": "12 s", "warm_up": "4 s"}, {}))


def _many(_: Case, results: Results) -> Iterator[Measured]:
    yield Measured("total_mbps", results.cells["goodput_bps"] / 1e6)
    yield Measured("slow_air_share", _air(results)["slow"])
    yield from _latency(results, "echo")


def _calls(effort: Effort) -> Iterator[Case]:
    for setup, category in product(SETUPS, ("best-effort", "voice")):
        yield _with(effort, "voice.toml", setup, {"flows.call.category": category}, category=category)


def _call(_: Case, results: Results) -> Iterator[Measured]:
    yield Measured("mos", _flow(results, "call", "mos"))
    bulk = [_flow(results, name, "goodput_bps") for name in ("fast1", "fast2", "slow")]
    yield Measured("total_mbps", np.sum(bulk, axis=0) / 1e6)


def _pages(_: Case, results: Results) -> Iterator[Measured]:
    sessions = results.sessions
    assert sessions is not None
    least = results.scenario.duration_s  # a page that is not there at the end counts as long as the run
    pages = (sessions.filter(seed=seed, flow="page")["acked_after_s"] for seed in results.seeds)
    yield Measured("page_s", np.array([np.median(np.nan_to_num(times, nan=least)) for times in pages]))


def _bars(quantity: str, label: str, series: str | None = None, *, log: bool = False) -> Any:
    def draw(figure: Any, table: Table) -> None:
        axes = figure.subplots()
        measured = table.where(quantity)
        setups = [setup for setup in SETUPS if setup in measured.distinct("setup")]
        groups = list(measured.distinct(series)) if series else [None]
        width = 0.8 / len(groups)
        for number, group in enumerate(groups):
            where: dict[str, Any] = {} if group is None else {str(series): group}
            cells = [measured.where(quantity, setup=setup, **where).rows for setup in setups]
            means = [np.mean(rows[0].values) if rows else np.nan for rows in cells]
            places = np.arange(len(setups)) + (number - (len(groups) - 1) / 2) * width
            axes.bar(places, means, width, color=COLOURS[number], label=group)
        axes.set(xticks=range(len(setups)), xticklabels=setups, ylabel=label)
        if log:
            axes.set_yscale("log")
        if series:
            style.legend_below(figure, axes, columns=len(groups))

    return draw


PAPER = Paper(
    HERE,
    (
        Experiment(
            "udp", "Datagrams to three stations", _by_setup("datagrams.toml"), _datagrams,
            _bars("air_share", "share of the air", "station"),
            shown=("station_mbps", "air_share", "total_mbps", "jain_air", "of_model"),
        ),
        Experiment(
            "tcp", "Downloads to three stations, and latency under load", _by_setup("cell.toml"), _downloads,
            _bars("median_ms", "median round-trip time [ms]", "station", log=True),
            shown=("station_mbps", "air_share", "total_mbps", "jain_air", "median_ms", "p95_ms", "p99_ms"),
        ),
        Experiment("sparse", "A station that only answers echoes", _sparse, _ping,
                   shown=("median_ms", "p95_ms", "p99_ms")),
        Experiment(
            "thirty", "Thirty stations, one at 1 Mb/s", _thirty, _many, _bars("total_mbps", "all flows [Mb/s]"),
            shown=("total_mbps", "slow_air_share", "median_ms", "p95_ms", "p99_ms"),
        ),
        Experiment("voice", "A call to the slow station", _calls, _call, _bars("mos", "mean opinion score", "category"),
                   shown=("mos", "total_mbps")),
        Experiment("web", "Pages of 3 MB to a fast station", _by_setup("web.toml"), _pages,
                   _bars("page_s", "time of a page [s]", log=True), shown=("page_s",)),
    ),
)  # fmt: skip

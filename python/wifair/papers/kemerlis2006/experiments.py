"""Experiments of kemerlis2006: scenarios, measured quantities and figures. The README gives the readings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache, partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wifair.capture.capture import read_capture
from wifair.figures.style import COLOURS
from wifair.papers.kemerlis2006.calibration import CONTROL, READINGS, calibrated
from wifair.reproduce import Case, Effort, Experiment, Measured, Paper, Table, scenarios_of, style
from wifair.results.results import Results
from wifair.scenario.scenario import Scenario
from wifair.simulation.simulate import cores, run
from wifair.simulation.taps import Pcap

HERE = Path(__file__).parent
_file = scenarios_of(HERE)

RTS = {"off": "2346 B", "on": "200 B"}
CELLS = [(direction, rts) for rts in RTS for direction in ("down", "up")]
QUEUES = (100, 50, 30, 20, 10)
"""Buffers of the access point [packets]; the paper does not give it."""
ASYMMETRIES = (0.02, 0.05, 0.1)
"""Probabilities that a frame from location A is lost, while frames to A never are."""
MISSES = (0.02, 0.05, 0.1, 0.5, 1.0)
"""Probabilities that a client does not sense a frame of the other one; by default it senses every frame."""
MISS = "space.paths[3].miss"
QUICK_SIZE = "5242880 B"
"""Transfers of quick runs: a third of the paper's 15 MB."""
STEP_S = 0.5
"""Time between samples [s]; the throughput while both clients send is computed over whole sampling steps."""
GRID_S = 0.02
OVER_TIME = {"4 tries": "4 tries", "taken": "7 tries"}
"""Settings for which outstanding data is drawn over time."""
SHOWN_SETTING = "4 tries"
"""The setting of the other figures: under it most claims hold. It was found by trying all, so it predicts nothing."""
BINS_S = 0.25
"""Outstanding data is sampled at this interval, and drawn from minimum to maximum in each bin [s]."""


class _Setting(NamedTuple):
    """A reading of points that the paper leaves open."""

    calibration: str = "taken"
    """The one of `READINGS` whose calibration it uses."""
    everywhere: Mapping[str, object] = {}
    """Changes in every case."""
    apart: Mapping[str, object] = {}
    """Changes where the clients are at different locations."""
    at_a: float = 0.0
    """Fraction of the frames from location A that is lost."""


SETTINGS: Mapping[str, _Setting] = {
    **{reading: _Setting(reading) for reading in READINGS},
    "AP queue 50": _Setting(everywhere={"ap.queue.limit": "50 packets"}),
    "no capture": _Setting(apart={"space.reception.capture": "none"}),
    **{f"unnoticed {miss:g}": _Setting(apart={MISS: miss}) for miss in MISSES},
    **{f"lossy uplink {error:g}": _Setting(at_a=error) for error in ASYMMETRIES},
}
"""Readings that differ from `taken` in one point each."""


Labels = Mapping[str, str | int | float]
AT_A: Labels = {"place": "A", "direction": "down", "rts": "off"}
"""Labels of a download at location A without RTS."""


def _case(
    effort: Effort,
    labels: Labels,
    file: str,
    changes: Mapping[str, object],
    *,
    setting: str = "taken",
    series: bool = False,
) -> Case:
    """Make a case of labels `direction`, `rts` and, for a single client, `place`."""
    chosen = SETTINGS.get(setting, _Setting())
    found = calibrated(chosen.calibration)
    given = READINGS[chosen.calibration]
    if file == "together.toml":  # all stations hear each other
        given = {path: value for path, value in given.items() if not path.startswith("space.")}
    new = {**given, **CONTROL[found.control], "wlan.rts_threshold": RTS[str(labels["rts"])], **chosen.everywhere}
    if file == "apart.toml" or labels.get("place") == "B":
        new |= found.weak
    if file == "apart.toml":
        new |= chosen.apart
    if chosen.at_a and labels.get("place") != "B":
        new["stations.ares.data_error_up" if file == "apart.toml" else "stations.data_error_up"] = chosen.at_a
    shorter = effort.pick({"flows.transfer.size": QUICK_SIZE}, {})
    new |= {"flows.direction": labels["direction"], **shorter, **changes}
    step = f"{STEP_S:g} s" if series else None
    return Case({"setting": setting, **labels}, _file(file).with_(new), effort.seeds, step)


# A single client


def _single(effort: Effort) -> Iterator[Case]:
    for setting, place, (direction, rts) in product(SETTINGS, "AB", CELLS):
        labels: Labels = {"place": place, "direction": direction, "rts": rts}
        yield _case(effort, labels, "single.toml", {}, setting=setting)
    each = {"tcp.delayed_ack": False, **CONTROL["2 Mb/s"]}
    yield _case(effort, AT_A, "single.toml", each, setting="an ACK per segment, 2 Mb/s")
    long = {"wlan.preamble": "long", **CONTROL["2 Mb/s"]}
    yield _case(effort, AT_A, "single.toml", long, setting="long preamble, 2 Mb/s")


def _wire(effort: Effort) -> Iterator[Case]:
    """Make downloads at A without RTS, by AP queue and rate of the wired link."""
    for queue, wire in product(QUEUES, (10, 100)):
        changes = {"ap.queue.limit": f"{queue} packets", "servers.rate": f"{wire} Mb/s"}
        yield replace(_case(effort, AT_A, "single.toml", changes), labels={"queue": queue, "wire": wire})


def _measure_single(_: Case, results: Results) -> Iterator[Measured]:
    yield Measured("throughput_kBps", _own(results, "apollo"))
    for quantity in ("retransmissions", "timeouts"):
        yield Measured(quantity, results.flows[quantity])
    yield Measured("ap_drops", _ap_drops(results))


def _own(results: Results, flow: str) -> NDArray[np.float64]:
    """Compute bytes over the time of the transfer [kB/s], as tcptrace does."""
    sessions = results.sessions.filter(flow=flow)
    return np.asarray(sessions["length_bytes"] / sessions["acked_after_s"] / 1e3)


def _ap_drops(results: Results) -> list[int]:
    return [int(results.flows.filter(seed=seed)["data_drops_ap_queue"].sum()) for seed in results.seeds]


LINKS = {"down": "downlink", "up": "uplink"}
PLACES = {"A": "location A", "B": "location B"}
HOSTS = {"ares": "Ares", "apollo": "Apollo"}


def _draw_throughput(
    figure: Any, table: Table, x: str, ticks: Mapping[str, str], group: str, names: Mapping[str, str]
) -> None:
    """Draw bars without and with RTS: at each value of label `x` one for each value of label `group`."""
    for axes, rts in style.panels(figure, RTS, "throughput [kB/s]", sharey=True):
        taken = table.where("throughput_kBps", setting=SHOWN_SETTING, rts=rts)
        rows = {names[one]: [taken.row("throughput_kBps", **{x: at, group: one}) for at in ticks] for one in names}
        style.grouped_bars(axes, rows, width=0.32, step=0.36)
        axes.set_xticks(range(len(ticks)), ticks.values())
        axes.set(title=f"RTS/CTS {rts}", ylim=(0, None))


_draw_pair = partial(_draw_throughput, x="direction", ticks=LINKS, group="host", names=HOSTS)


# Two clients


def _pairs(effort: Effort, file: str) -> Iterator[Case]:
    for setting, (direction, rts) in product(SETTINGS, CELLS):
        yield _case(effort, {"direction": direction, "rts": rts}, file, {}, setting=setting, series=True)


def _apart(effort: Effort) -> Iterator[Case]:
    yield from _pairs(effort, "apart.toml")
    for rts in RTS:  # the remedy that the paper names
        labels = {"direction": "down", "rts": rts}
        cap = {"ap.scheme.client": "rate-cap"}
        yield _case(effort, labels, "apart.toml", cap, setting="rate cap", series=True)


def _overlapped(results: Results) -> dict[str, NDArray[np.float64]]:
    """Measure the throughput of each client while both send [kB/s], one value for each seed."""
    assert results.series is not None
    values: dict[str, list[float]] = {host: [] for host in HOSTS}
    for seed in results.seeds:
        sessions = results.sessions.filter(seed=seed)
        begin = float(sessions["start_s"].max())
        end = float(np.nanmin(sessions["start_s"] + sessions["acked_after_s"]))
        series = results.series.filter(seed=seed)
        for host in HOSTS:
            own = series.filter(flow=host)
            inside = (own["time_s"] - STEP_S >= begin) & (own["time_s"] <= end)
            values[host].append(float(own["received_bytes"][inside].sum() / (STEP_S * inside.sum()) / 1e3))
    return {host: np.array(list_) for host, list_ in values.items()}


def _measure_pair(_: Case, results: Results) -> Iterator[Measured]:
    """Measure by the paper's definition, over each client's own transfer time, and while both send."""
    own = {host: _own(results, host) for host in HOSTS}
    for suffix, values in (("", own), ("_both", _overlapped(results))):
        for host in HOSTS:
            yield Measured(f"throughput{suffix}_kBps", values[host], {"host": host})
        yield Measured(f"apollo_over_ares{suffix}", values["apollo"] / values["ares"])
        yield Measured(f"total{suffix}_kBps", values["apollo"] + values["ares"])
    for host in HOSTS:
        flows = results.flows.filter(name=host)
        for quantity in ("retransmissions", "timeouts"):
            yield Measured(quantity, flows[quantity], {"host": host})
    yield Measured("ap_drops", _ap_drops(results))


# Outstanding data, from captures at the sender


def _outstanding_single(effort: Effort) -> Iterator[Case]:
    for setting, place in product((*READINGS, "AP queue 50"), "AB"):
        yield _case(effort, {**AT_A, "place": place}, "single.toml", {}, setting=setting)


def _outstanding_pair(effort: Effort) -> Iterator[Case]:
    for setting in SETTINGS:
        yield _case(effort, {"direction": "down", "rts": "off"}, "apart.toml", {}, setting=setting)


class _Outstanding(NamedTuple):
    """Results of a capture for the data to a host."""

    time_s: NDArray[np.float64]
    """Times since the first packet of the connection, evenly spaced [s]."""
    kb: NDArray[np.float64]
    """Outstanding data at these times [kB]."""
    mean_kb: float
    """Mean over the duration of the connection [kB]."""
    reductions: int
    """Number of recoveries and timeouts."""
    duration_s: float
    """Duration of the connection [s]."""


def _captured(case: Case, seed: int) -> dict[str, _Outstanding]:
    """Capture at the wired host, once for each run, and analyse as ``wifair analyze`` does. Returns results by peer."""
    key = (case.scenario.hash, seed)
    if key not in _CAPTURED:
        _CAPTURED[key] = _capture(case.scenario, seed)
    return _CAPTURED[key]


_CAPTURED: dict[tuple[str, int], dict[str, _Outstanding]] = {}
"""Cache by scenario and seed, because a case with more seeds includes the earlier ones."""


def _capture(scenario: Scenario, seed: int) -> dict[str, _Outstanding]:
    with TemporaryDirectory() as folder:
        run(scenario, seeds=[seed], threads=1, pcap=Pcap(folder, at=("zeus",), snap=160))
        capture = read_capture(Path(folder) / "zeus.pcap", packets=True)
        names = dict(line.split() for line in (Path(folder) / "hosts").read_text(encoding="utf-8").splitlines())
    packets = capture.packets
    assert packets is not None
    found = {}
    for connection in capture.connections.filter(direction="a2b").to_dicts():
        rows = packets.filter(connection=connection["id"])
        begin = float(rows["time_s"][0])
        duration_s = float(rows["time_s"][-1]) - begin
        grid = np.arange(GRID_S, duration_s, GRID_S)
        last = np.searchsorted(rows["time_s"], begin + grid, side="right") - 1
        kb = rows["outstanding_bytes"][last] / 1e3
        reductions = int(str(connection["fast_recoveries"])) + int(str(connection["timeouts"]))
        mean = float(str(connection["outstanding_mean_bytes"])) / 1e3
        host = names[str(connection["host_b"]).rsplit(":", 1)[0]]
        found[host] = _Outstanding(grid, kb, mean, reductions, duration_s)
    return found


def _measure_outstanding(case: Case, results: Results) -> Iterator[Measured]:
    with ThreadPoolExecutor(cores()) as pool:
        captured = list(pool.map(partial(_captured, case), results.seeds))
    for host in sorted(captured[0], reverse=True):
        label = {} if "place" in case.labels else {"host": host}
        each = [capture[host] for capture in captured]
        # Leave out the first slow start, and the end, when no new data is sent.
        settled = [one.kb[(one.time_s > 1.0) & (one.time_s < one.duration_s - 1.0)] for one in each]
        yield Measured("outstanding_mean_kB", [one.mean_kb for one in each], label)
        # Subtract the first value, so that a constant has a standard deviation of exactly zero.
        yield Measured("outstanding_cv", [(kb - kb[0]).std() / kb.mean() for kb in settled], label)
        yield Measured("reductions_per_s", [one.reductions / one.duration_s for one in each], label)
        if case.labels["setting"] not in OVER_TIME:
            continue
        for start in np.arange(0.0, each[0].duration_s - BINS_S, BINS_S):
            of = each[0].kb[(each[0].time_s > start) & (each[0].time_s <= start + BINS_S)]
            yield Measured("outstanding_kB", [of.min()], {**label, "time_s": start, "edge": "least"})
            yield Measured("outstanding_kB", [of.max()], {**label, "time_s": start, "edge": "greatest"})


# Exchanging the clients


@cache
def _swapped(name: str) -> Scenario:
    """Exchange Ares and Apollo; the random streams belong to the names."""
    text = (HERE / name).read_text(encoding="utf-8")
    names = {"ares": "apollo", "apollo": "ares"}
    return Scenario.from_text(re.sub("ares|apollo", lambda found: names[found[0]], text), name=name)


def _swap(effort: Effort) -> Iterator[Case]:
    for (place, file), direction in product((("A", "together.toml"), ("B", "apart.toml")), ("down", "up")):
        labels = {"direction": direction, "rts": "off", "apollo_at": place}
        case = _case(effort, labels, file, {})
        yield replace(case, labels={**case.labels, "swapped": "no"})
        changes = [("with_", change.replace("apollo", "ares")) for change in case.scenario.overrides]
        swapped = Scenario(_swapped(file).toml, name=file, overrides=changes)
        seeds = tuple(seed + 1000 for seed in case.seeds)
        yield Case({**case.labels, "swapped": "yes"}, swapped, seeds)


def _measure_swap(case: Case, results: Results) -> Iterator[Measured]:
    """Measure by role: the client that is first in the file is always at A."""
    first, second = HOSTS if case.labels["swapped"] == "no" else reversed(HOSTS)
    yield Measured("throughput_kBps", _own(results, first), {"role": "at A"})
    yield Measured("throughput_kBps", _own(results, second), {"role": f"the other, at {case.labels['apollo_at']}"})


TWO = (6.9, 2.7)
SHOWN = (
    "throughput_kBps", "apollo_over_ares", "total_kBps",
    "throughput_both_kBps", "apollo_over_ares_both", "total_both_kBps", "ap_drops",
)  # fmt: skip
OUTSTANDING = ("outstanding_mean_kB", "outstanding_cv", "reductions_per_s")


CAPTURED = (
    "From captures at the wired host, analysed as by `wifair analyze`: minimum to maximum in each quarter of a second. "
    "Above with four attempts per frame, below with the standard's seven, calibrated separately."
)


def _draw_outstanding(figure: Any, table: Table, series: str, panels: Mapping[str, str]) -> None:
    """Draw a panel for each of `panels` and each setting, from minimum to maximum in each quarter of a second."""
    every = figure.subplots(len(OVER_TIME), len(panels), sharex=True, sharey=True)
    for row, (setting, name) in zip(every, OVER_TIME.items()):
        for axes, (value, title) in zip(row, panels.items()):
            rows = table.where("outstanding_kB", setting=setting, **{series: value})
            least, greatest = (rows.where(edge=edge).rows for edge in ("least", "greatest"))
            time_s = [float(r.labels["time_s"]) for r in least]
            low, high = ([float(r.values[0]) for r in some] for some in (least, greatest))
            axes.fill_between(time_s, low, high, step="post", color=COLOURS[0], linewidth=0.6)
            axes.set(title=f"{title}, {name}", ylim=(0, 75))
    for axes in every[-1]:
        axes.set_xlabel("time [s]")
    for axes in every[:, 0]:
        axes.set_ylabel("outstanding [kB]")


PAPER = Paper(
    HERE,
    (
        Experiment(
            "fig1", "Throughput of a single client", _single, _measure_single,
            partial(_draw_throughput, x="place", ticks=PLACES, group="direction", names=LINKS), TWO,
            ("throughput_kBps", "ap_drops"),
            note="Three numbers are inputs, for three constants: the downlink at A, that at B over it, and the uplink "
            "at B, all without RTS.",
        ),
        Experiment(
            "wire", "A single download at A, by AP queue and rate of the wire", _wire, _measure_single,
            shown=("throughput_kBps", "ap_drops"),
        ),
        Experiment(
            "fig2", "Outstanding data of a single client, downlink, RTS off", _outstanding_single, _measure_outstanding,
            partial(_draw_outstanding, series="place", panels=PLACES), (6.9, 3.6), OUTSTANDING, CAPTURED,
        ),
        Experiment(
            "fig3_left", "Throughput of two clients, both at A", partial(_pairs, file="together.toml"), _measure_pair,
            _draw_pair, TWO, SHOWN,
        ),
        Experiment(
            "fig3_right", "Throughput of two clients, Ares at A and Apollo at B",
            _apart, _measure_pair, _draw_pair, TWO, SHOWN,
            note="Nothing is fitted here. Throughput over each client's own transfer time, as in section II.C; the "
            "published uplink of Ares follows from that of Apollo and the ratio.",
        ),
        Experiment(
            "fig4", "Outstanding data of two clients, downlink, RTS off", _outstanding_pair, _measure_outstanding,
            partial(_draw_outstanding, series="host", panels={"ares": "to Ares, at A", "apollo": "to Apollo, at B"}),
            (6.9, 3.6), OUTSTANDING, CAPTURED,
        ),
        Experiment(
            "role_swap", "Ares and Apollo exchanged", _swap, _measure_swap, shown=("throughput_kBps",),
            note="Random streams belong to the names, so the differences show the effect of chance.",
        ),
    ),
)  # fmt: skip

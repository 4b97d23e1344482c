"""Experiments of lee2007: scenarios, measured quantities and figures. The README gives the readings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from wifair.reproduce import Case, Cases, Effort, Experiment, Measured, Paper, Table, scenarios_of, style
from wifair.results.results import Results

HERE = Path(__file__).parent
_file = scenarios_of(HERE)

SCHEMES: Mapping[str, Mapping[str, object]] = {
    "default": {},
    "B/n": {"ap.scheme.window": "b-over-n", "ap.scheme.b-over-n.buffer": "100 packets"},
    "Wmax/n": {"ap.scheme.window": "wmax-over-n", "ap.scheme.wmax-over-n.buffer": "100 packets"},
}
"""B is 100 packets, although ns-2's queue with a limit of 100 holds only 99."""
SETTINGS: Mapping[str, Mapping[str, object]] = {
    "as printed": {},
    "delayed ACK": {"tcp.delayed_ack": True},
    "window 20": {"tcp.receive_window": "20 packets"},
}
"""Readings of points left open in every figure, first the one taken: windows of 60 packets, undelayed ACKs."""
RTTS = (20, 50, 100, 200, 300, 400, 500, 600, 800, 1000)
"""Round-trip times of the wired links [ms]; the points of the paper's figures are not available."""
QUICK_RTTS = (20, 100, 300, 600, 800, 1000)
STATIONS = (2, 4, 6, 8, 10, 12, 14, 16, 20)
"""Numbers of stations, half of them senders; the points of the paper's figures are not available."""
QUICK_STATIONS = (4, 8, 12, 16, 20)
NS2_STATIONS = (8, 16)
"""Numbers of stations in the runs of ns-2 with 200 ms one way."""
STARTS = {"within 1 s": "1 s", "together": "0 s", "within 10 s": "10 s"}
"""Spread of start times in Fig. 3: the reading taken, then others."""
ERRORS = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4)
"""Frame error rates; the text names 0.2."""
QUICK_ERRORS = (0.0, 0.1, 0.2)
"""Fewer error rates for quick runs, because runs with errors take the most time."""


def _cases(effort: Effort, labels: Mapping[str, Any], file: str, changes: Mapping[str, object]) -> Iterator[Case]:
    """Make the cases of one point, one for each setting. Quick runs last as long, because starvation takes its time."""
    for setting, more in SETTINGS.items():
        scenario = _file(file).with_({**changes, **more})
        yield Case({"setting": setting, **labels}, scenario, effort.seeds)


def _changes(scheme: str, rtt_ms: float = 100) -> dict[str, object]:
    """Set the scheme and the round-trip time of the wired links, which is a parameter of Wmax/n."""
    told = {"ap.scheme.wmax-over-n.rtt": "given", "ap.scheme.wmax-over-n.given_rtt": f"{rtt_ms:g} ms"}
    return {**SCHEMES[scheme], **(told if scheme == "Wmax/n" else {}), "servers.delay": f"{rtt_ms / 2:g} ms"}


def _cell(case: Case, results: Results) -> Iterator[Measured]:
    cells, flows = results.cells, results.flows
    shape = (len(results.seeds), -1)
    received = flows["received_bytes"].reshape(shape) / 1e6
    up = flows["direction"].reshape(shape)[0] == "up"
    up_mb, down_mb = received[:, up].sum(axis=1), received[:, ~up].sum(axis=1)
    yield Measured("goodput_mbps", cells["goodput_bps"] / 1e6)
    yield Measured("total_mb", received.sum(axis=1))
    yield Measured("up_mb", up_mb)
    yield Measured("down_mb", down_mb)
    yield Measured("jain_index", cells["jain_index"])
    if up.any() and not up.all():
        # The ratio is infinite if downloads get nothing.
        with np.errstate(divide="ignore"):
            yield Measured("up_down_ratio", up_mb / down_mb)
        yield Measured("down_share", down_mb / (up_mb + down_mb))
    if case.labels.get("scheme") == "B/n" and "rtt" in case.labels:
        # Equation 1: each flow has floor(B / n) packets of 8000 bit in flight.
        flows_n = received.shape[1]
        rate = flows_n * (100 // flows_n) * 8000 / (float(case.labels["rtt"]) / 1e3)
        yield Measured("of_eq1", cells["goodput_bps"] / rate)
    yield Measured("uplink_share", cells["uplink_share"])
    yield Measured("starved", cells["starved_fraction"] * len(results.flows["name"]) / len(results.seeds))


def _flows(case: Case, results: Results) -> Iterator[Measured]:
    yield from _cell(case, results)
    flows = results.flows
    shape = (len(results.seeds), -1)
    received = flows["received_bytes"].reshape(shape)
    least = received.argmin(axis=1)
    yield Measured("least_share", received.min(axis=1) / received.mean(axis=1))
    yield Measured("least_timeouts", flows["timeouts"].reshape(shape)[np.arange(shape[0]), least])
    for name, way in {name: name.rstrip("0123456789") for name in flows["name"].tolist()}.items():
        yield Measured("received_mb", flows.filter(name=name)["received_bytes"] / 1e6, {"flow": name, "way": way})


# Fig. 2, 3 and 12: bytes of each flow


def _fig2(effort: Effort, uplinks: Iterable[int]) -> Iterator[Case]:
    for up in uplinks:
        file = "default.toml" if up else "downloads.toml"
        changes: dict[str, object] = {"stations.sender.count": up} if up else {}
        yield from _cases(effort, {"uplinks": up}, file, changes)


def _fig3(effort: Effort) -> Iterator[Case]:
    for starts, spread in STARTS.items():
        yield from _cases(effort, {"starts": starts}, "uploads.toml", {"flows.start_spread": spread})


def _fig12(effort: Effort) -> Iterator[Case]:
    for rtt, scheme in product((100, 800), SCHEMES):
        yield from _cases(effort, {"scheme": scheme, "rtt": rtt}, "uploads.toml", _changes(scheme, rtt))


def _draw_flows(figure: Any, table: Table) -> None:
    axes = figure.subplots()
    taken = table.where("received_mb", setting="as printed").rows
    rows = [row for row in taken if row.labels.get("uplinks") != 0 and row.labels.get("starts") in (None, "within 1 s")]
    for way, colour in (("up", "#E69F00"), ("down", "#56B4E9")):
        at = [index for index, row in enumerate(rows) if row.labels["way"] == way]
        if at:
            style.bars(axes, [rows[index] for index in at], at, colour=colour, label=f"{way}link", width=0.7)
    style.points(axes, rows, range(len(rows)))
    axes.set_xticks(range(len(rows)), [str(index + 1) for index in range(len(rows))])
    axes.set(xlabel="flow", ylabel="received bytes [MB]", ylim=(0, None))
    style.legend_below(figure, axes)


def _draw_fig12(figure: Any, table: Table) -> None:
    for axes, rtt in style.panels(figure, (100, 800), "received bytes [MB]"):
        taken = table.where("received_mb", rtt=rtt, setting="as printed")
        rows = {scheme: taken.where(scheme=scheme).rows for scheme in SCHEMES}
        style.grouped_bars(axes, rows, width=0.26, step=0.28, first=1)
        axes.set(xticks=range(1, 15), xlabel="flow", title=f"RTT {rtt} ms", ylim=(0, None))


# Fig. 4 to 11: ratio and total


def _by_rtt(effort: Effort, schemes: Iterable[str]) -> Iterator[Case]:
    for scheme, rtt in product(schemes, effort.pick(QUICK_RTTS, RTTS)):
        yield from _cases(effort, {"scheme": scheme, "rtt": rtt}, "default.toml", _changes(scheme, rtt))


def _by_stations(effort: Effort) -> Iterator[Case]:
    """Make cases at the stated 50 ms one way; in full runs also at 200 ms, for which there are runs of ns-2."""
    for rtt in effort.pick((100,), (100, 400)):
        for scheme in SCHEMES:
            for stations in effort.pick(QUICK_STATIONS, STATIONS) if rtt == 100 else NS2_STATIONS:
                changes = {**_changes(scheme, rtt), "stations.count": stations // 2}
                labels = {"scheme": scheme, "stations": stations, "rtt": rtt}
                yield from _cases(effort, labels, "default.toml", changes)


def _by_error(effort: Effort) -> Iterator[Case]:
    for frames, scheme, error in product(("data", "all"), SCHEMES, effort.pick(QUICK_ERRORS, ERRORS)):
        changes = {**_changes(scheme), "wlan.data_error": error}
        if frames == "all":
            changes["wlan.control_error"] = error
        labels = {"scheme": scheme, "error": error, "frames": frames}
        yield from _cases(effort, labels, "default.toml", changes)


ALONG: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "rtt": ("round-trip time of the wires [ms]", {}),
    "stations": ("stations", {"rtt": 100}),
    "error": ("probability of frame error", {"frames": "data"}),
}
"""By the label on the horizontal axis: what is written there, and labels of the rows that are drawn."""


def _ratio(key: str, title: str, cases: Cases, x: str) -> Experiment:
    draw = partial(_lines, quantity="up_down_ratio", x=x)
    return Experiment(key, title, cases, _cell, draw, shown=("up_down_ratio",))


def _total(key: str, title: str, cases: Cases, x: str) -> Experiment:
    draw = partial(_lines, quantity="total_mb", x=x)
    return Experiment(key, title, cases, _cell, draw, shown=("total_mb", "goodput_mbps"))


def _lines(figure: Any, table: Table, quantity: str, x: str) -> None:
    """Draw a line for each scheme."""
    axes = figure.subplots()
    label, only = ALONG[x]
    style.lines(axes, table.where(setting="as printed", **only), quantity, x=x, series="scheme")
    axes.set_xlabel(label)
    if x == "stations":
        axes.set_xticks(STATIONS)
    if quantity == "up_down_ratio":
        axes.set(ylabel="uplink / downlink throughput", yscale="log")
        axes.axhline(1, color="black", linewidth=0.6)
    else:
        axes.set(ylabel="total received bytes [MB]", ylim=(0, None))
    style.legend_below(figure, axes)


# The calculation of mu: Table 1 of the paper

SLOT, TAU, PREAMBLE, PHY, DIFS, SIFS, CW_MIN = 20.0, 1.0, 144.0, 48.0, 50.0, 10.0, 31.0
MAC, MAC_ACK, RTS, CTS, DATA, HEADER = 68, 38, 44, 38, 1040, 40
DATA_RATE, CONTROL_RATE = 11.0, 2.0


def _exchange(payload: float, *, backoff: float, tau: float) -> float:
    """Compute equations 5 and 6 [us]: RTS, CTS, a data frame with `payload` bytes in the MAC frame, ACK."""
    plcp = PREAMBLE + PHY + tau
    control = sum(8 * length / CONTROL_RATE for length in (RTS, CTS, MAC_ACK))
    return backoff + DIFS + 4 * plcp + 3 * SIFS + control + 8 * (MAC + payload) / DATA_RATE


def service_times() -> dict[str, tuple[float, float]]:
    """Compute the times of a data packet and of its ACK [us], by reading of equations 4 to 7."""
    cw = CW_MIN * SLOT / 2
    return {
        "as printed": (_exchange(HEADER + DATA, backoff=cw, tau=0), _exchange(HEADER, backoff=cw, tau=0)),
        "header counted once": (_exchange(DATA, backoff=cw, tau=0), _exchange(HEADER, backoff=cw, tau=0)),
        "one backoff of 16 slots, tau per frame": (
            _exchange(DATA, backoff=32 * SLOT / 2, tau=TAU),
            _exchange(HEADER, backoff=0, tau=TAU),
        ),
    }


def _calculate() -> Iterator[tuple[Mapping[str, Any], Measured]]:
    for reading, (data, ack) in service_times().items():
        yield {"reading": reading, "part": "data"}, Measured("time_us", [data])
        yield {"reading": reading, "part": "ACK"}, Measured("time_us", [ack])
        yield {"reading": reading, "part": "sum"}, Measured("time_us", [data + ack])
        yield {"reading": reading, "part": "mu"}, Measured("mu_mbps", [8 * DATA / (data + ack)])
    yield {"reading": "published 3868 us", "part": "mu"}, Measured("mu_mbps", [8 * DATA / 3868])
    for rtt in (100, 200, 400, 800):
        yield {"reading": "published 3868 us", "part": f"RTT {rtt} ms"}, Measured("wmax_packets", [100 + rtt / 3.868])


WHOLE = ("goodput_mbps", "jain_index", "up_down_ratio", "starved")
BOTH = ("default", "B/n")

PAPER = Paper(
    HERE,
    (
        Experiment(
            "fig2a", "4 downlink flows and 1 uplink flow", partial(_fig2, uplinks=(0, 1)), _flows, _draw_flows,
            shown=WHOLE,
        ),
        Experiment(
            "fig2b", "4 downlink and 4 uplink flows", partial(_fig2, uplinks=(4,)), _flows, _draw_flows, shown=WHOLE,
        ),
        Experiment("fig3", "14 uplink flows, no scheme", _fig3, _flows, _draw_flows, shown=WHOLE),
        _ratio("fig4", "Uplink / downlink over RTT, default and B/n", partial(_by_rtt, schemes=BOTH), "rtt"),
        _total("fig5", "Total over RTT, default and B/n", partial(_by_rtt, schemes=BOTH), "rtt"),
        _ratio("fig6", "Uplink / downlink over RTT", partial(_by_rtt, schemes=SCHEMES), "rtt"),
        _total("fig7", "Total over RTT", partial(_by_rtt, schemes=SCHEMES), "rtt"),
        _ratio("fig8", "Uplink / downlink over stations", _by_stations, "stations"),
        _total("fig9", "Total over stations", _by_stations, "stations"),
        _ratio("fig10", "Uplink / downlink over error rate", _by_error, "error"),
        _total("fig11", "Total over error rate", _by_error, "error"),
        Experiment(
            "fig12", "Bytes of each of 14 uplink flows by scheme", _fig12, _flows, _draw_fig12, (6.9, 2.9),
            ("goodput_mbps", "jain_index", "starved"),
        ),
        Experiment("calc_mu", "Calculation of mu and Wmax", lambda _: (), _cell, compute=_calculate),
    ),
)  # fmt: skip

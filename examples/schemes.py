"""Every queue and access-point scheme in one table and one figure.

The cell: n stations with 802.11b at 11 Mb/s, an upload and a download each, a server 10 ms away, 100 packets at the
access point. Beside that each is put to the test of what its source says it improves: in that cell, and if the source
speaks of traffic or of a network that the cell lacks, in one that has it; with FIFO in its place on the same seeds.
Run it as ``python examples/schemes.py [--full] [FOLDER]``; it writes ``schemes.md`` and ``schemes.svg`` there.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import wifair
from wifair.metrics import jain_index
from wifair.statistics import mean_interval
from wifair.sweeps import Request, compute
from wifair.sweeps.runs import Runs
from wifair.sweeps.store import Label

Table = Mapping[str, Any]
Rows = Mapping[str, np.ndarray[Any, Any]]

CELL: dict[str, Any] = {
    "name": "schemes",
    "wlan": {"standard": "802.11b", "data_rate": "11 Mb/s"},
    "ap": {"queue": {"limit": "100 packets"}},
    "servers": [{"name": "server", "delay": "10 ms", "queue": {"limit": "1000 packets"}}],
    "stations": [{"name": "sta", "queue": {"limit": "100 packets"}}],
    "tcp": {"receive_window": "60 packets"},
    "flows": [
        {"name": "up", "station": "sta", "server": "server", "direction": "up", "start_spread": "1 s"},
        {"name": "down", "station": "sta", "server": "server", "direction": "down", "start_spread": "1 s"},
    ],
}


def datagrams(name: str, station: str, rate: str, payload: str) -> dict[str, Any]:
    """Describe a UDP flow towards a station."""
    udp = {"rate": rate, "payload": payload}
    ends = {"station": station, "server": "server", "direction": "down"}
    return {"name": name, **ends, "transport": "udp", "udp": udp}


def with_voice() -> dict[str, Any]:
    """Add a telephone call towards one more station: 64 kb/s in packets of 160 B."""
    call = datagrams("call", "phone", "64 kb/s", "160 B")
    return {**CELL, "stations": [*CELL["stations"], {"name": "phone"}], "flows": [*CELL["flows"], call]}


def with_flood() -> dict[str, Any]:
    """Leave out the uploads, and add a UDP flow to one more station that exceeds the capacity of the channel."""
    flood = datagrams("flood", "greedy", "8 Mb/s", "1000 B")
    return {**CELL, "stations": [*CELL["stations"], {"name": "greedy"}], "flows": [CELL["flows"][1], flood]}


def with_short() -> dict[str, Any]:
    """Add a station that fetches 20 kB each second, on a connection of its own each time."""
    short = {
        "name": "short",
        "station": "reader",
        "server": "server",
        "direction": "down",
        "workload": "periodic",
        "periodic": {"length": "20 kB", "period": "1 s", "connection": "new"},
    }
    return {**CELL, "stations": [*CELL["stations"], {"name": "reader"}], "flows": [*CELL["flows"], short]}


def with_slow() -> dict[str, Any]:
    """Set one of the downloading stations to 1 Mb/s."""
    down = {"name": "down", "station": "sta", "server": "server", "direction": "down", "start_spread": "1 s"}
    far = {"name": "far", "station": "slow", "server": "server", "direction": "down", "start_spread": "1 s"}
    slow = {"name": "slow", "data_rate": "1 Mb/s"}
    return {**CELL, "stations": [*CELL["stations"], slow], "flows": [down, far]}


def with_distances() -> dict[str, Any]:
    """Use three downloads, from 2, 50 and 150 ms away, each to its own station."""
    names = {"near": "2 ms", "middle": "50 ms", "far": "150 ms"}
    servers = [{"name": name, "delay": delay, "queue": {"limit": "1000 packets"}} for name, delay in names.items()]
    stations = [{"name": f"to-{name}"} for name in names]
    flows = [{"name": name, "station": f"to-{name}", "server": name, "direction": "down"} for name in names]
    return {**CELL, "servers": servers, "stations": stations, "flows": flows}


def chain() -> dict[str, Any]:
    """Use a chain of seven nodes and one connection from end to end."""
    nodes = {"name": "node", "count": 7, "layout": "chain"}
    return {
        "name": "chain",
        "wlan": {"standard": "802.11b"},
        "space": {"mode": "ad-hoc", "profile": "ns2"},
        "stations": [nodes],
        "flows": [{"name": "far", "from": "node1", "to": "node7"}],
    }


def ratio(run: Rows) -> float:
    """Goodput of uploads over that of downloads."""
    goodput, direction = run["goodput_bps"], run["direction"]
    return float(goodput[direction == "up"].sum() / max(goodput[direction == "down"].sum(), 1.0))


def balance(run: Rows) -> float:
    """Take the smaller of the ratio and its inverse: 1 if uploads and downloads get the same."""
    up_down = ratio(run)
    return min(up_down, 1.0 / max(up_down, 1e-9))


def jain_up(run: Rows) -> float:
    """Jain's index of the uploads."""
    return float(jain_index(run["goodput_bps"][run["direction"] == "up"]))


def jain(run: Rows) -> float:
    """Jain's index of all flows."""
    return float(jain_index(run["goodput_bps"]))


def goodput(run: Rows) -> float:
    """Goodput of all flows [Mb/s]."""
    return float(run["goodput_bps"].sum() / 1e6)


def rtt(run: Rows) -> float:
    """Mean round-trip time of the flows [ms]."""
    known = run["rtt_mean_s"][~np.isnan(run["rtt_mean_s"])]
    return float(known.mean() * 1e3) if len(known) else float("nan")


def waiting(run: Rows) -> float:
    """Mean length of the access point's queue [packets]."""
    return float(run["ap_queue_mean_packets"][0])


def voice(run: Rows) -> float:
    """Share of the call that arrives."""
    return float(run["goodput_bps"][run["name"] == "call"][0] / 64e3)


def short(run: Rows) -> float:
    """Share of the 20 kB each second that arrives in time."""
    return float(run["goodput_bps"][np.char.startswith(run["name"].astype(str), "short")].sum() / 160e3)


class Claim(NamedTuple):
    """What a source says a scheme improves, and where that is tested.

    The figure is looked at in the shared cell of five stations wherever it exists there. If the source speaks of
    traffic or of a network that the shared cell does not have, it is looked at again in a cell that has it.
    """

    scheme: str
    """Which scheme."""
    says: str
    """What the source says, in our words."""
    title: str
    """What the figure is."""
    figure: Callable[[Rows], float]
    named: str = ""
    """Traffic or network that the source names and the shared cell lacks."""
    cell: Callable[[], dict[str, Any]] | None = None
    """The cell that has it."""
    better: int = 1
    """1 if more is better, -1 if less is."""
    shared: bool = True
    """Whether the figure exists in the shared cell."""


SCHEMES: dict[str, dict[str, Any]] = {
    "fifo": {},
    **{
        name: {"queue.discipline": name}
        for name in (
            "las",
            "sjf",
            "red",
            "codel",
            "fq-codel",
            "drr",
            "scfq",
            "per-flow",
            "dual",
            "vq-red",
            "spm",
            "paced",
            "contention-red",
            "airtime",
        )
    },
    **{name: {"scheme.window": name} for name in ("b-over-n", "wmax-over-n", "by-rtt")},
    **{name: {"scheme.uplink": name} for name in ("rate-limit", "buffer-drop")},
    "rate-cap": {"scheme.client": "rate-cap", "scheme.rate-cap.rate": "500 kb/s"},
    **{name: {"scheme.access": name} for name in ("edca", "dynamic-cw", "dynamic-edca")},
}

JAIN, BALANCE, CALL = "Jain, all flows", "smaller of up/down and down/up", "share of the call that arrives"
WAITING, GOODPUT = "waiting at the access point [packets]", "goodput [Mb/s]"
SLOW, FLOOD, FAR = (
    "a station at 1 Mb/s, downloads",
    "a UDP flow of 8 Mb/s, downloads",
    "servers at 2, 50, 150 ms, downloads",
)
PHONE, CHAIN, PAGES = "a call", "a chain of 7", "20 kB a second"

CLAIMS = [
    Claim("las", "flows get the same, up or down, near or far", JAIN, jain, FAR, with_distances),
    Claim("sjf", "multimedia, in short packets, goes ahead", CALL, voice, PHONE, with_voice, shared=False),
    Claim("red", "the mean queue is short", WAITING, waiting, better=-1),
    Claim("codel", "packets do not wait long", WAITING, waiting, better=-1),
    Claim("fq-codel", "packets do not wait long", WAITING, waiting, better=-1),
    Claim(
        "fq-codel", "flows of little traffic are kept apart from others", CALL, voice, PHONE, with_voice, shared=False
    ),
    Claim("drr", "flows get the same, however much one sends", JAIN, jain, FLOOD, with_flood),
    Claim("scfq", "flows get the same, however much one sends", JAIN, jain, FLOOD, with_flood),
    Claim("per-flow", "flows get the same", JAIN, jain),
    Claim("dual", "uploads and downloads get the same", BALANCE, balance),
    Claim("vq-red", "flows get the same", JAIN, jain),
    Claim("spm", "short flows get through", "share of the 20 kB in time", short, PAGES, with_short, shared=False),
    Claim("paced", "less contention between hidden nodes, so more gets through", GOODPUT, goodput, CHAIN, chain),
    Claim("contention-red", "more gets through over several hops", GOODPUT, goodput, CHAIN, chain),
    Claim("airtime", "a slow station does not slow the others", GOODPUT, goodput, SLOW, with_slow),
    Claim("b-over-n", "uploads and downloads get the same", BALANCE, balance),
    Claim("wmax-over-n", "uploads and downloads get the same", BALANCE, balance),
    Claim("by-rtt", "uploads and downloads get the same", BALANCE, balance),
    Claim("rate-limit", "uploads and downloads get the same", BALANCE, balance),
    Claim("buffer-drop", "uploads and downloads get the same", BALANCE, balance),
    Claim("rate-cap", "clients near and far get the same", JAIN, jain, SLOW, with_slow),
    Claim("edca", "uploads get the same", "Jain, uploads", jain_up),
    Claim("edca", "uploads and downloads get the same", BALANCE, balance),
    Claim("dynamic-cw", "uploads and downloads get the same", BALANCE, balance),
    Claim("dynamic-edca", "uploads and downloads get the same", BALANCE, balance),
    Claim("dynamic-edca", "real-time traffic is kept", CALL, voice, PHONE, with_voice, shared=False),
]

STATIONS = 5
"""Stations of the shared cell in the table of claims."""

MOST = 10_000
"""Ratios above this, where downloads get next to nothing, are shown as "above"."""

FIGURES = {"up/down": ratio, "Jain, uploads": jain_up, "goodput [Mb/s]": goodput, "RTT [ms]": rtt}


def scenario(cell: dict[str, Any], stations: int, scheme: Mapping[str, Any], time_s: int) -> wifair.Scenario:
    """Make the scenario of a scheme; on a chain its queue is that of every node."""
    base = wifair.Scenario.from_dict({**cell, "duration": f"{time_s} s", "warm_up": f"{time_s // 4} s"})
    owner = "stations" if "space" in cell else "ap"
    changes: dict[str, Any] = {f"{owner}.{key}": value for key, value in scheme.items()}
    if any(group["name"] == "sta" for group in cell["stations"]):
        changes["stations.sta.count"] = stations
    return base.with_(changes)


def rows(runs: Runs) -> list[tuple[dict[str, Any], Rows]]:
    """Flows of each run with its labels, in the order of the requests."""
    flows, figures = runs.flows, runs.figures
    labels = ("part", "scheme", "stations", "seed")
    found: dict[tuple[Any, ...], list[int]] = {}
    for index, key in enumerate(zip(*(flows[name].tolist() for name in labels))):
        found.setdefault(key, []).append(index)
    lengths = dict(zip(zip(*(figures[name].tolist() for name in labels)), figures["ap_queue_mean_packets"]))
    names = ("name", "direction", "goodput_bps", "rtt_mean_s")
    return [
        (
            dict(zip(labels, key)),
            {**{name: flows[name][index] for name in names}, "ap_queue_mean_packets": np.array([lengths[key]])},
        )
        for key, index in found.items()
    ]


def simulate(stations: list[int], seeds: range, time_s: int, store: Path) -> list[tuple[dict[str, Any], Rows]]:
    """Run everything, or read what the store has."""
    requests = []

    def ask(cell: dict[str, Any], count: int, name: str, part: str) -> None:
        for seed in seeds:
            labels: dict[str, Label] = {"part": part, "scheme": name, "stations": count}
            requests.append(Request(scenario(cell, count, SCHEMES[name], time_s), seed, labels))

    for name in SCHEMES:
        for count in sorted({*stations, STATIONS}):
            ask(CELL, count, name, "")
    cells = {claim.named: claim.cell for claim in CLAIMS if claim.cell is not None}
    for part, make in cells.items():
        for name in dict.fromkeys(["fifo", *(claim.scheme for claim in CLAIMS if claim.named == part)]):
            ask(make(), STATIONS, name, part)
    runs = compute(requests, store)
    for failure in runs.failures:
        raise SystemExit(f"{failure.labels}: {failure.message}")
    return rows(runs)


def verdict(pairs: list[tuple[float, float]], better: int) -> str:
    """Means without and with the scheme, and whether the 95 % interval of the differences excludes zero."""
    differences = [better * (with_ - without) for without, with_ in pairs]
    mean, half = mean_interval(differences)
    word = "yes" if mean - half > 0 else "no: worse" if mean + half < 0 else "no difference"
    without, with_ = np.mean(pairs, axis=0)
    return f"{without:.3g} | {with_:.3g} | {word}"


def paired(done: list[tuple[dict[str, Any], Rows]], claim: Claim, part: str) -> list[tuple[float, float]]:
    """Figures of a claim without and with its scheme, seed by seed."""
    found: dict[int, dict[str, float]] = {}
    for labels, run in done:
        if labels["part"] == part and labels["stations"] == STATIONS and labels["scheme"] in ("fifo", claim.scheme):
            found.setdefault(labels["seed"], {})[labels["scheme"]] = claim.figure(run)
    return [(of["fifo"], of[claim.scheme]) for of in found.values()]


def table(done: list[tuple[dict[str, Any], Rows]], stations: list[int]) -> str:
    """Write the table in Markdown."""
    lines = []
    for title, figure in FIGURES.items():
        lines += [f"## {title}", "", "| scheme | " + " | ".join(f"n = {n}" for n in stations) + " |"]
        lines.append("| --- |" + " ---: |" * len(stations))
        for name in SCHEMES:
            values = [value(done, name, count, figure) for count in stations]
            cells = [f"{x:.3g}" if x < 1000 else f"{x:.0f}" if x < MOST else f"above {MOST}" for x in values]
            lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
        lines.append("")
    lines += ["## What their sources say they improve", ""]
    head = ["scheme", "its source says", "figure", "shared cell: FIFO", "with it", "improves it"]
    lines += ["| " + " | ".join([*head, "with what the source names", "FIFO", "with it", "improves it"]) + " |"]
    lines += ["| --- | --- | --- | ---: | ---: | --- | --- | ---: | ---: | --- |"]
    for claim in CLAIMS:
        shared = verdict(paired(done, claim, ""), claim.better) if claim.shared else "- | - | -"
        own = (
            f"{claim.named} | {verdict(paired(done, claim, claim.named), claim.better)}"
            if claim.cell
            else "- | - | - | -"
        )
        lines.append(f"| `{claim.scheme}` | {claim.says} | {claim.title} | {shared} | {own} |")
    return "\n".join(lines) + "\n"


def value(done: list[tuple[dict[str, Any], Rows]], scheme: str, count: int, figure: Callable[[Rows], float]) -> float:
    """Average a figure over the seeds."""
    wanted = {"part": "", "scheme": scheme, "stations": count}
    return float(np.mean([figure(run) for labels, run in done if wanted.items() <= labels.items()]))


def draw(done: list[tuple[dict[str, Any], Rows]], stations: list[int], path: Path) -> None:
    """Draw a row for each scheme, a panel for each figure, a mark for each number of stations."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    picture = Figure(figsize=(11, 7.5), layout="constrained")
    FigureCanvasSVG(picture)
    panels = picture.subplots(1, len(FIGURES), sharey=True)
    names = list(SCHEMES)
    for panel, (title, figure) in zip(panels, FIGURES.items()):
        for shade, count in enumerate(stations):
            x = [min(value(done, name, count, figure), MOST) for name in names]
            tone = str(0.75 * (1 - shade / max(len(stations) - 1, 1)))
            panel.plot(x, range(len(names)), "o", color=tone, label=f"n = {count}", markersize=5, alpha=0.9)
        panel.set_title(title)
        panel.grid(alpha=0.3)
        if figure in (ratio, rtt):
            panel.set_xscale("log")
            panel.minorticks_off()
        if figure is ratio:
            panel.axvline(1.0, color="#D55E00", linewidth=0.8)
            panel.set_xlim(0.05, 2 * MOST)
        if figure is rtt:
            ticks = [100, 200, 500, 1000, 2000, 5000]
            panel.set_xticks(ticks, [str(tick) for tick in ticks])
    panels[0].set_yticks(range(len(names)), names)
    panels[0].invert_yaxis()
    handles, labels = panels[0].get_legend_handles_labels()
    picture.legend(handles, labels, loc="outside lower center", ncols=len(stations), frameon=False)
    picture.savefig(path, metadata={"Date": None})


def main(folder: str = ".", *, full: bool = False) -> str:
    """Write table and figure; quick unless `full`."""
    stations, seeds, time_s = ([1, 2, 5, 10, 20], range(1, 6), 60) if full else ([1, 4], range(1, 3), 8)
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    done = simulate(stations, seeds, time_s, out / "schemes.store")
    text = table(done, stations)
    (out / "schemes.md").write_text(text, encoding="utf-8")
    draw(done, stations, out / "schemes.svg")
    return text


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("folder", nargs="?", default=".", help="where to write the table and the figure")
    parser.add_argument("--full", action="store_true", help="more stations and seeds, and longer runs")
    given = parser.parse_args()
    print(main(given.folder, full=given.full))

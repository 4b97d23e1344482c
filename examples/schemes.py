"""Every queue and scheme of the access point in one table and one figure.

The cell: n stations with 802.11b at 11 Mb/s, an upload and a download each, a server 10 ms away, 100 packets at the
access point. Beside that each is put to the test of what its source says it improves, in a cell where that shows,
with FIFO in its place on the same seeds. Run it as ``python examples/schemes.py [--full] [FOLDER]``; it writes
``schemes.md`` and ``schemes.svg`` there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import wifair
from wifair.metrics import jain_index
from wifair.statistics import mean_interval
from wifair.sweeps import Request, compute
from wifair.sweeps.reading import Runs
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


def with_voice() -> dict[str, Any]:
    """Add a telephone call towards one more station: 64 kb/s in packets of 160 B."""
    call = {
        "name": "call",
        "station": "phone",
        "server": "server",
        "direction": "down",
        "transport": "udp",
        "udp": {"rate": "64 kb/s", "payload": "160 B"},
    }
    return {**CELL, "stations": [*CELL["stations"], {"name": "phone"}], "flows": [*CELL["flows"], call]}


def downloads_with_voice() -> dict[str, Any]:
    """Leave the uploads out: their ACKs are shorter still."""
    cell = with_voice()
    return {**cell, "flows": cell["flows"][1:]}


def downloads() -> dict[str, Any]:
    """Leave the uploads out: then everything waits at the access point."""
    return {**CELL, "flows": CELL["flows"][1:]}


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
    """Put one of the stations of downloads at 1 Mb/s."""
    down = {"name": "down", "station": "sta", "server": "server", "direction": "down", "start_spread": "1 s"}
    far = {"name": "far", "station": "slow", "server": "server", "direction": "down", "start_spread": "1 s"}
    slow = {"name": "slow", "data_rate": "1 Mb/s"}
    return {**CELL, "stations": [*CELL["stations"], slow], "flows": [down, far]}


def with_distances() -> dict[str, Any]:
    """Take three downloads, from 2, 50 and 150 ms away, each to a station of its own."""
    names = {"near": "2 ms", "middle": "50 ms", "far": "150 ms"}
    servers = [{"name": name, "delay": delay, "queue": {"limit": "1000 packets"}} for name, delay in names.items()]
    stations = [{"name": f"to-{name}"} for name in names]
    flows = [{"name": name, "station": f"to-{name}", "server": name, "direction": "down"} for name in names]
    return {**CELL, "servers": servers, "stations": stations, "flows": flows}


def chain() -> dict[str, Any]:
    """Take a chain of seven nodes and one connection from end to end."""
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
    """Take the smaller of the ratio and its inverse: 1 where uploads and downloads get the same."""
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


def voice(run: Rows) -> float:
    """Share of the call that arrives."""
    return float(run["goodput_bps"][run["name"] == "call"][0] / 64e3)


def short(run: Rows) -> float:
    """Share of the 20 kB each second that arrives in time."""
    return float(run["goodput_bps"][np.char.startswith(run["name"].astype(str), "short")].sum() / 160e3)


class Claim(NamedTuple):
    """What a source says a scheme improves."""

    what: str
    figure: Callable[[Rows], float]
    cell: Callable[[], dict[str, Any]] = lambda: CELL
    stations: int = 5
    better: int = 1
    """1 if more is better, -1 if less is."""


EQUAL = Claim("up and down get the same", balance)
FLOWS = Claim("flows get the same (Jain)", jain)
DISTANCES = Claim("distance does not matter (Jain)", jain, with_distances, 0)
DELAY = Claim("shorter round trips of downloads (ms)", rtt, downloads, better=-1)
CALLS = Claim("a call gets through", voice, with_voice)
CHAIN = Claim("more over a chain of 7 (Mb/s)", goodput, chain, 0)
SHORT = Claim("short flows get through", short, with_short)

SCHEMES: dict[str, tuple[dict[str, Any], Claim | None]] = {
    "fifo": ({}, None),
    "las": ({"queue.discipline": "las"}, DISTANCES),
    "sjf": ({"queue.discipline": "sjf"}, Claim("a call gets through downloads", voice, downloads_with_voice)),
    "red": ({"queue.discipline": "red"}, DELAY),
    "codel": ({"queue.discipline": "codel"}, DELAY),
    "fq-codel": ({"queue.discipline": "fq-codel"}, DELAY),
    "drr": ({"queue.discipline": "drr"}, DISTANCES),
    "scfq": ({"queue.discipline": "scfq"}, DISTANCES),
    "per-flow": ({"queue.discipline": "per-flow"}, FLOWS),
    "dual": ({"queue.discipline": "dual"}, EQUAL),
    "vq-red": ({"queue.discipline": "vq-red"}, FLOWS),
    "spm": ({"queue.discipline": "spm"}, SHORT),
    "paced": ({"queue.discipline": "paced"}, CHAIN),
    "contention-red": ({"queue.discipline": "contention-red"}, CHAIN),
    "airtime": (
        {"queue.discipline": "airtime"},
        Claim("a slow station slows nobody (Mb/s)", goodput, with_slow),
    ),
    "b-over-n": ({"scheme.window": "b-over-n"}, EQUAL),
    "wmax-over-n": ({"scheme.window": "wmax-over-n"}, EQUAL),
    "by-rtt": ({"scheme.window": "by-rtt"}, EQUAL),
    "rate-limit": ({"scheme.uplink": "rate-limit"}, EQUAL),
    "buffer-drop": ({"scheme.uplink": "buffer-drop"}, EQUAL),
    "rate-cap": (
        {"scheme.client": "rate-cap", "scheme.rate-cap.rate": "500 kb/s"},
        Claim("clients near and far get the same (Jain)", jain, with_slow),
    ),
    "edca": ({"scheme.access": "edca"}, Claim("20 uploads get the same (Jain)", jain_up, stations=20)),
    "dynamic-cw": ({"scheme.access": "dynamic-cw"}, EQUAL),
    "dynamic-edca": ({"scheme.access": "dynamic-edca"}, CALLS),
}

MOST = 10_000
"""Ratios above this, where downloads get next to nothing, are not told apart."""

FIGURES = {"up/down": ratio, "Jain, uploads": jain_up, "goodput [Mb/s]": goodput, "RTT [ms]": rtt}


def scenario(cell: dict[str, Any], stations: int, scheme: Mapping[str, Any], time_s: int) -> wifair.Scenario:
    """Make the scenario of a scheme; on a chain its queue is that of every node."""
    base = wifair.Scenario.from_dict({**cell, "duration": f"{time_s} s", "warm_up": f"{time_s // 4} s"})
    owner = "stations" if "space" in cell else "ap"
    changes: dict[str, Any] = {f"{owner}.{key}": value for key, value in scheme.items()}
    if stations:
        changes["stations.sta.count"] = stations
    return base.with_(changes)


def rows(runs: Runs) -> list[tuple[dict[str, Any], Rows]]:
    """Flows of each run with its labels, in the order of the requests."""
    flows = runs.flows
    keys = [flows[name] for name in ("part", "scheme", "stations", "seed")]
    found: dict[tuple[Any, ...], list[int]] = {}
    for index, key in enumerate(zip(*(column.tolist() for column in keys))):
        found.setdefault(key, []).append(index)
    names = ("name", "direction", "goodput_bps", "rtt_mean_s")
    return [
        (dict(zip(("part", "scheme", "stations", "seed"), key)), {name: flows[name][index] for name in names})
        for key, index in found.items()
    ]


def simulate(stations: list[int], seeds: range, time_s: int, store: Path) -> list[tuple[dict[str, Any], Rows]]:
    """Run everything, or read what the store has."""
    requests = []
    for name, (scheme, claim) in SCHEMES.items():
        for seed in seeds:
            for count in stations:
                labels: dict[str, Label] = {"part": "cell", "scheme": name, "stations": count}
                requests.append(Request(scenario(CELL, count, scheme, time_s), seed, labels))
            if claim is not None:
                for part, used in (("with", scheme), ("without", {})):
                    labels = {"part": part, "scheme": name, "stations": claim.stations}
                    requests.append(Request(scenario(claim.cell(), claim.stations, used, time_s), seed, labels))
    runs = compute(requests, store)
    for failure in runs.failures:
        raise SystemExit(f"{failure.labels}: {failure.message}")
    return rows(runs)


def verdict(pairs: list[tuple[float, float]], better: int) -> tuple[float, float, str]:
    """Means without and with, and whether the 95 % interval of the differences leaves out zero."""
    differences = [better * (with_ - without) for without, with_ in pairs]
    mean, half = mean_interval(differences)
    word = "yes" if mean - half > 0 else "no: worse" if mean + half < 0 else "no difference"
    return float(np.mean([pair[0] for pair in pairs])), float(np.mean([pair[1] for pair in pairs])), word


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
    lines += ["| scheme | claim | with FIFO | with it | improves it |", "| --- | --- | ---: | ---: | --- |"]
    for name, (_, claim) in SCHEMES.items():
        if claim is None:
            continue
        found: dict[int, dict[str, float]] = {}
        for labels, run in done:
            if labels["scheme"] == name and labels["part"] != "cell":
                found.setdefault(labels["seed"], {})[labels["part"]] = claim.figure(run)
        without, with_, word = verdict([(pair["without"], pair["with"]) for pair in found.values()], claim.better)
        lines.append(f"| `{name}` | {claim.what} | {without:.3g} | {with_:.3g} | {word} |")
    return "\n".join(lines) + "\n"


def value(done: list[tuple[dict[str, Any], Rows]], scheme: str, count: int, figure: Callable[[Rows], float]) -> float:
    """Average a figure over the seeds."""
    wanted = {"part": "cell", "scheme": scheme, "stations": count}
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
    arguments = [argument for argument in sys.argv[1:] if argument != "--full"]
    print(main(*arguments[:1], full="--full" in sys.argv))

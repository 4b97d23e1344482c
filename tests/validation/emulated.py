"""The TCP of the running kernel over the emulated cell beside the simulated one, as in docs/emulate.md.

    sudo .venv/bin/python tests/validation/emulated.py                 all rows, about ten minutes, in real time
    sudo .venv/bin/python tests/validation/emulated.py --only bbr      rows whose name has this
    sudo .venv/bin/python tests/validation/emulated.py --set flows.up.tcp.bbr.variant=draft --only 'bbr 4 up'

It makes network namespaces of its own, and is no part of `make validate`: what it finds depends on the kernel.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import click
import numpy as np
from wifair import Scenario, run
from wifair.emulation.beside import carried_by_the_kernel
from wifair.metrics import jain_index

NAMES = {"cubic": "CUBIC", "reno": "Reno", "bbr": "BBR"}
WAYS = {"up": ("up",), "down": ("down",), "both": ("up", "down")}
SERIES_STEP_S = 0.1
"""The smoothed round-trip time is sampled so often, in the kernel as in the simulation."""
ROWS = tuple(
    (cc, stations, way) for cc, most in (("cubic", 8), ("reno", 8), ("bbr", 8)) for stations in (1, 2, 4, 8)
    if stations <= most for way in WAYS
)  # fmt: skip


def scenario(cc: str, stations: int, way: str, seconds: float) -> str:
    """Write the cell: 802.11g, a server behind 10 ms, 100 packets at the access point."""
    lines = [f'duration = "{2 + seconds} s"', 'warm_up = "2 s"', '[wlan]\nstandard = "802.11g"']
    lines += ['[ap]\nqueue.limit = "100 packets"', '[[servers]]\nname = "server"\ndelay = "10 ms"']
    lines += [f'[[stations]]\nname = "sta"\ncount = {stations}']
    for direction in WAYS[way]:
        lines += [f'[[flows]]\nname = "{direction}"\nstation = "sta"\ndirection = "{direction}"']
        lines += [f'tcp.stack = "linux"\ntcp.cc = "{cc}"']
    return "\n".join(lines) + "\n"


@dataclass
class Found:
    """What a side found, a value for each seed."""

    goodput_mbps: list[float]
    rtt_ms: list[float]
    retransmitted: list[float]
    jain: list[float]


def by_seed(goodput: np.ndarray, rtt: np.ndarray, retransmitted: np.ndarray, sent: np.ndarray) -> Found:
    """Sum up columns of shape (seeds, flows)."""
    return Found(
        list(goodput.sum(1) / 1e6), list(np.nanmean(rtt, 1) * 1e3), list(retransmitted.sum(1) / sent.sum(1) * 100),
        list(jain_index(goodput)),
    )  # fmt: skip


def simulated(cell: Scenario, seeds: list[int]) -> Found:
    """Simulate the cell."""
    results = run(cell, seeds=seeds, series=f"{SERIES_STEP_S} s", progress=False)
    flows, series = results.flows, results.series
    count = len(flows["name"]) // len(seeds)
    rtt = []
    for seed in seeds:
        for name in flows["name"][:count]:
            chosen = (series["seed"] == seed) & (series["flow"] == name) & (series["time_s"] >= cell.warm_up_s)
            values = series["srtt_s"][chosen]
            rtt.append(np.nanmean(values) if np.isfinite(values).any() else np.nan)
    shape = (len(seeds), count)
    columns = (flows["goodput_bps"], np.array(rtt), flows["retransmissions"], flows["data_packets_sent"])
    return by_seed(*(np.asarray(column, float).reshape(shape) for column in columns))


def emulated(cell: Scenario, seeds: list[int]) -> Found:
    """Let the kernel carry the flows."""
    flows = carried_by_the_kernel(cell, seeds, lambda text: click.echo(f"  note: {text}", err=True)).flows
    names = ("goodput_bps", "rtt_mean_s", "retransmissions", "data_packets_sent")
    return by_seed(*(np.asarray(flows[name], float).reshape(len(seeds), -1) for name in names))


def rows(only: tuple[str, ...]) -> Iterator[tuple[str, int, str]]:
    """The rows whose name has one of these texts."""
    for cc, stations, way in ROWS:
        if not only or any(text in f"{cc} {stations} {way}" for text in only):
            yield cc, stations, way


@click.command(help=__doc__.partition("\n")[0] if __doc__ else None)
@click.option("--only", multiple=True, help="Rows whose name has this text, as 'bbr 4 up'.")
@click.option("--set", "changes", multiple=True, help="Change a parameter of all cells, on both sides.")
@click.option("--seconds", default=12.0, show_default=True, help="Time that is measured.")
@click.option("--emulations", default=1, show_default=True, help="Emulations of each row, in real time.")
@click.option("--seeds", default=40, show_default=True, help="Simulated runs of each row.")
@click.option("--simulated-only", is_flag=True, help="Leave the kernel out.")
def main(
    only: tuple[str, ...], changes: tuple[str, ...], seconds: float, emulations: int, seeds: int, simulated_only: bool
) -> None:
    """Print the table."""
    click.echo(f"Linux {platform.release()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}", err=True)
    head = ("congestion control", "stations", "flows", "goodput, kernel / simulated [Mb/s]", "RTT [ms]")
    click.echo("| " + " | ".join((*head, "retransmitted [%]", "Jain's index")) + " |")
    click.echo("|" + "---|" * 7)
    for cc, stations, way in rows(only):
        begin = time.monotonic()
        text = scenario(cc, stations, way, seconds)
        cell = Scenario(text, name=f"{cc} {stations} {way}", overrides=[("--set", change) for change in changes])
        ours = simulated(cell, list(range(1, seeds + 1)))
        theirs = ours if simulated_only else emulated(cell, list(range(1, emulations + 1)))

        def pair(name: str, digits: int, ours: Found = ours, theirs: Found = theirs) -> str:
            kernel, model = (np.array(getattr(side, name)) for side in (theirs, ours))
            spread = f" ± {model.std(ddof=1):.{digits}f}" if len(model) > 1 else ""
            return f"{kernel.mean():.{digits}f} / {model.mean():.{digits}f}{spread}"

        cells = [NAMES[cc], str(stations), way, pair("goodput_mbps", 2), pair("rtt_ms", 1), pair("retransmitted", 2)]
        click.echo("| " + " | ".join([*cells, pair("jain", 3)]) + " |")
        sys.stdout.flush()
        click.echo(f"  {time.monotonic() - begin:.0f} s, load {os.getloadavg()[0]:.1f}", err=True)


if __name__ == "__main__":
    main()

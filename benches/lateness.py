"""How late packets of real programs leave the emulated cell, and what that takes: the table of docs/emulate.md.

    sudo .venv/bin/python benches/lateness.py                    all cells, a minute, in real time
    sudo .venv/bin/python benches/lateness.py --only 802.11n     cells whose name has this

Programs send by the TCP of this kernel, in network namespaces that `wifair` makes. Percentiles are over all packets of
an emulation, its start and its end included; packets a second over the time from the first to the last; the processor's
share is that of `wifair` without the programs, over the same time. The goals: at 5,000 packets a second 99 % within
200 us and half a core, at 20,000 packets a second 99 % within 1 ms.
"""

from __future__ import annotations

import os
import platform
import tempfile
import threading
import time
from pathlib import Path

import click
from wifair import Scenario, _core
from wifair.emulation.running import emulate
from wifair.emulation.traffic import commands, start_together
from wifair.exceptions import EmulationError

CELLS = {
    "802.11g, eight stations that upload by TCP": 'standard = "802.11g"|8|up|1 Gb/s',
    "802.11n at 65 Mb/s, eight stations that upload 40 Mb/s by TCP": 'standard = "802.11n"\nmcs = 7|8|up|40 Mb/s',
    "802.11ax, 80 MHz, two streams, four stations that download 200 Mb/s by TCP": (
        'standard = "802.11ax"\nwidth = 80\nstreams = 2\nmcs = 11|4|down|200 Mb/s'
    ),
    "802.11ax, 80 MHz, two streams, four stations that download by TCP": (
        'standard = "802.11ax"\nwidth = 80\nstreams = 2\nmcs = 11|4|down|10 Gb/s'
    ),
}
"""What [wlan] has, stations, direction, and the rate of the server's link."""
PREPARATION_S = 60.0


def scenario(cell: str, seconds: float) -> Scenario:
    """Write a cell, whose duration leaves room for programs to start."""
    wlan, stations, direction, rate = cell.split("|")
    return Scenario.from_text(
        f'duration = "{seconds + PREPARATION_S} s"\nwarm_up = "0 s"\n[wlan]\n{wlan}\n'
        f'[ap]\nqueue.limit = "1000 packets"\n[[servers]]\nname = "server"\ndelay = "10 ms"\nrate = "{rate}"\n'
        f'[[stations]]\nname = "sta"\ncount = {stations}\n'
        f'[[flows]]\nname = "{direction}"\nstation = "sta"\ndirection = "{direction}"\n'
        'tcp.cc = "cubic"\ntcp.stack = "modern"\n'
    )


def measured(cell: Scenario, seconds: float) -> list[str]:
    """Let the kernel carry the flows of a cell for so long: packets a second, lateness, share of a processor."""
    core = _core.Emulation(cell._core, 1, flows=False)
    stations = frozenset(name for name, _, _, is_station in core.hosts() if is_station)
    flows = core.flows()
    with tempfile.TemporaryDirectory(prefix="wifair-") as folder:
        _, programs = commands(flows, stations, Path(folder), seconds)
        until_s = time.monotonic() + PREPARATION_S
        threading.Thread(target=start_together, args=(Path(folder), len(flows), until_s), daemon=True).start()
        cpu_s, wall_s = time.process_time(), time.monotonic()
        done = emulate(
            cell, programs, flows=False, at_once=True, say=lambda text: click.echo(f"  note: {text}", err=True)
        )
        cpu_s, wall_s = time.process_time() - cpu_s, time.monotonic() - wall_s
    if done.ended != "commands":
        raise click.ClickException(f"the emulation ended early: {done.ended}")
    late = done.packets["lateness"]
    times = " / ".join(f"{late[name] * 1e6:.0f}" for name in ("median_s", "p99_s", "worst_s"))
    seen = done.connections.document["connections"]
    begin_s = min(one["first_packet_ns"] for one in seen) / 1e9
    lasts_s = max(one["first_packet_ns"] / 1e9 + one["elapsed_s"] for one in seen) - begin_s
    click.echo(f"  {wall_s:.0f} s, {cpu_s:.1f} s of processor time, load {os.getloadavg()[0]:.1f}", err=True)
    return [f"{done.packets['delivered'] / lasts_s:,.0f}", times, f"{cpu_s / lasts_s:.2f}"]


@click.command(help=(__doc__ or "").partition("\n")[0])
@click.option("--only", multiple=True, help="Cells whose name has this text.")
@click.option("--seconds", default=12.0, show_default=True, help="Time for which programs send.")
def main(only: tuple[str, ...], seconds: float) -> None:
    """Print the table."""
    click.echo(f"Linux {platform.release()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}", err=True)
    click.echo("| what | packets a second | late by, median / 99 % / worst [us] | processor |")
    click.echo("|---|---|---|---|")
    for name, cell in CELLS.items():
        if not only or any(text in name for text in only):
            try:
                row = measured(scenario(cell, seconds), seconds)
            except EmulationError as error:
                raise click.ClickException(str(error)) from None
            click.echo(f"| {' | '.join([name, *row])} |")


if __name__ == "__main__":
    main()

"""Writes what a station could have sent or got as a trace for mahimahi's `mm-link`.

Format: R. Netravali et al., Mahimahi, USENIX ATC 2015, section 3: a line for each packet of 1500 bytes that the link
could have delivered, with the millisecond in which it could.
"""

from __future__ import annotations

import os
from typing import Literal

from wifair._output.files import refuse, write_text
from wifair.scenario.scenario import Source, scenario_of
from wifair.simulation.link import Link

AHEAD = 2000
"""Datagrams that are kept under way, so that the sender always has more: on wires and in queues together."""
PAYLOAD = 1472
"""With its headers a datagram has 1500 bytes."""


def write_mahimahi(
    scenario: Source,
    path: str | os.PathLike[str],
    *,
    station: str,
    server: str | None = None,
    direction: Literal["up", "down"] = "down",
    seed: int = 1,
    force: bool = False,
) -> int:
    """Write when a link could have delivered packets between a station and a server that always have more to send.

    The flows of the scenario run meanwhile. Time zero of the trace is the end of the scenario's `warm_up`.

    Parameters
    ----------
    scenario : Scenario, path or mapping
        The network.
    path : path
        The file.
    station : str
        The station.
    server : str, optional
        The server; the first one by default.
    direction : {"up", "down"}
        From the station, or to it.
    seed : int, default 1
        Seed of the run.
    force : bool, default False
        Replace the file if it is there.

    Returns
    -------
    int
        Number of packets.

    Raises
    ------
    ScenarioError
        If the scenario is wrong.
    LinkError
        If there is no such station or server.
    ValueError
        If no packet is delivered.
    """
    refuse(path, force=force)
    made = scenario_of(scenario, for_programs=True)
    link = Link(made, seed=seed)
    ends = (station, server or link.hosts[made._core.stations])
    source, destination = ends if direction == "up" else ends[::-1]
    delivered: list[int] = []
    while True:
        for _ in range(AHEAD - link.in_flight):
            link.offer(link.now_s, source, destination, PAYLOAD)
            if link.poll_loss() is not None:
                break  # the first queue is full
        next_s = link.next_event_s()
        if next_s >= link.end_s:
            break
        link.advance(next_s)
        while (one := link.poll_delivery()) is not None:
            if one.time_s >= made.warm_up_s:
                delivered.append(int(1e3 * (one.time_s - made.warm_up_s)))
        while link.poll_loss() is not None:
            pass
    if not delivered or delivered[-1] == 0:
        raise ValueError(f"nothing is delivered from {source} to {destination} after the warm-up")
    write_text(path, "".join(f"{time}\n" for time in delivered))
    return len(delivered)

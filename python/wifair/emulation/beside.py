"""Results of a scenario whose flows the kernel carries over the emulated cell, for comparison with the simulation."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from wifair import _core
from wifair.emulation.running import emulate
from wifair.emulation.traffic import commands, figures, start_together
from wifair.exceptions import EmulationError
from wifair.importers.imported import ImportedFile, ImportedResults
from wifair.scenario.scenario import Scenario

PREPARATION_S = 60.0
"""Time within which all programs have started [s]."""
AFTER_S = 5.0


def carried_by_the_kernel(
    scenario: Scenario, seeds: Sequence[int], say: Callable[[str], None] = lambda _: None
) -> ImportedResults:
    """Carry the flows of a scenario with this kernel's TCP and UDP over the emulated cell, once for each seed.

    Parameters
    ----------
    scenario : Scenario
        What to emulate, in real time; all flows must be persistent.
    seeds : sequence of int
        Seeds of the simulated air.
    say : callable, optional
        Called with a text for each condition that may spoil the result.

    Returns
    -------
    ImportedResults
        Goodput, smoothed round-trip time and retransmissions of each flow after the warm-up, as the sender's kernel
        reports them.

    Raises
    ------
    EmulationError
        If the system does not permit it, or cannot carry a flow.
    """
    repetitions = []
    warm_up_s, lasts_s = scenario._core.warm_up_s, scenario.duration_s
    for seed in seeds:
        core = _core.Emulation(scenario._core, seed, flows=False)
        flows, hosts = core.flows(), core.hosts()
        stations = frozenset(name for name, _, _, is_station in hosts if is_station)
        longer = scenario._changed([("--emulated", f"duration={lasts_s + PREPARATION_S + AFTER_S} s")])
        with tempfile.TemporaryDirectory(prefix="wifair-") as folder:
            carried, programs = commands(flows, stations, Path(folder), lasts_s)
            until_s = time.monotonic() + PREPARATION_S
            starter = threading.Thread(target=start_together, args=(Path(folder), len(flows), until_s), daemon=True)
            starter.start()
            done = emulate(longer, programs, seed=seed, flows=False, say=say, at_once=True)
            failed = next((one for one in done.commands if one["status"]), None)
            if failed is not None:
                raise EmulationError(f"`{failed['command']}` at {failed['host']} ended with status {failed['status']}")
            if done.ended != "commands":
                raise EmulationError(f"the emulation of seed {seed} ended early: {done.ended}")
            late = done.packets["lateness"]
            if late["seconds_behind"]:
                say(f"seed {seed}: the machine did not keep up for {late['seconds_behind']} s")
            repetitions.append(ImportedFile([figures(one, warm_up_s) for one in carried], {}, []))
    sources = {"scenario.toml": scenario.resolved}
    summary = f"{scenario.name}: the kernel's TCP over the emulated cell"
    return ImportedResults(f"{scenario.name}, emulated", "wifair emulate", summary, lasts_s, repetitions, sources)

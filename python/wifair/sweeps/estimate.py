"""Estimates how long a sweep takes, from finished runs or from the beginning of some of its runs."""

from __future__ import annotations

import threading
import time

from wifair import _core
from wifair.scenario.scenario import Scenario
from wifair.simulation import memory
from wifair.sweeps.store import Store
from wifair.sweeps.sweeping import Sweep

LOOKS = 8
LOOK_S = 0.25


def estimate(sweep: Sweep, missing: dict[str, int], store: Store | None) -> float | None:
    """Estimate the time on one core [s].

    Parameters
    ----------
    sweep : Sweep
        The sweep.
    missing : dict of str to int
        Number of runs to do, by scenario.
    store : Store, optional
        Where times of earlier runs may be.

    Returns
    -------
    float or None
        Sum of the times of all runs; None if a look would run classes of the user's, which an estimate does not.
    """
    if not missing:
        return 0.0
    times = []
    for scenario in _some(list(missing)):
        known = store.wall_s(scenario) if store is not None else None
        if known is None:
            one = sweep.of(scenario)
            if one._core.classes():
                continue
            known = _look(one, sweep.seeds[0])
        times.append(known)
    if not times:
        return None
    return sum(times) / len(times) * sum(missing.values())


def fitting(sweep: Sweep, slots: int, *, step_ns: int | None) -> int:
    """Reduce `slots` to the number of runs that fit into memory at once, by estimates for some points.

    Raises
    ------
    TooLargeError
        If not even one does.
    """
    for scenario in _some(sweep.scenarios):
        slots = memory.check(memory.estimate(sweep.of(scenario), step_ns=step_ns), slots)
    return slots


def _some(scenarios: list[str]) -> list[str]:
    """Choose the first, the last and some between."""
    count = min(LOOKS, len(scenarios))
    looks = [scenarios[index * (len(scenarios) - 1) // max(count - 1, 1)] for index in range(count)]
    return list(dict.fromkeys(looks))


def _look(scenario: Scenario, seed: int) -> float:
    """Extrapolate the time of a run [s] from the simulated time after `LOOK_S`."""
    control = _core.Control()
    thread = threading.Thread(target=scenario._core.run, args=(seed, None, control), daemon=True)
    began = time.perf_counter()
    thread.start()
    thread.join(LOOK_S)
    took, simulated = time.perf_counter() - began, control.simulated_s
    over = not thread.is_alive()
    control.stop()
    thread.join()
    if over or simulated <= 0:
        return took
    return took * scenario.duration_s / simulated

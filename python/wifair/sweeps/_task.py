"""A run as a task for any worker: scenario, seed and version in, columns out."""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from wifair import _core
from wifair.exceptions import WifairError
from wifair.extensions import live_code
from wifair.extensions.interrupting import limited
from wifair.scenario.scenario import Scenario
from wifair.simulation import memory
from wifair.sweeps.own_figures import Metrics

VERSION = f"{_core.__version__}+{_core.__source__}"
"""The version and the hash of the core's sources: results depend on these, the scenario and the seed."""


class OtherWorkerError(WifairError, RuntimeError):
    """A worker of another version, or with other sources of the user's classes, whose results would differ."""


class Computed(NamedTuple):
    """The outcome of a run."""

    outcome: _core.Outcome | None
    """Its results; None if it failed or was stopped."""
    message: str | None
    """The reason of a failure."""
    wall_s: float
    """Real time that it took [s]."""
    host: str
    """The host that executed it."""


class Task(NamedTuple):
    """A run for a worker in another process, perhaps on another machine."""

    text: str
    """The scenario with all defaults filled in."""
    scenario: str
    """Its hash."""
    seed: int
    """Seed."""
    tables: tuple[str, ...]
    """Requested tables besides that of the cell."""
    step_ns: int | None
    """Time between samples."""
    version: str
    """The version that must compute it."""
    limit_s: float | None = None
    """Real time that it may take [s]."""
    metrics: Metrics | None = None
    """Figures of the user's own."""


def perform(task: Task) -> Computed:
    """Execute a task. It depends on nothing else, so any engine may execute it anywhere, and more than once."""
    if task.version != VERSION:
        raise OtherWorkerError(f"a worker has wifair {VERSION}, this is {task.version}: install the same on both")
    scenario = _parse(task.text)
    require_same(scenario, task.scenario)  # a wrong one need not be run
    done = simulate(
        scenario, task.seed, task.tables, task.step_ns, _core.Control(memory.for_each(1)), task.limit_s, task.metrics
    )
    require_same(scenario, task.scenario)  # and its classes may have been loaded only now
    return done


def require_same(scenario: Scenario, expected: str) -> None:
    """Refuse what has run, or would run, if it is not the scenario with the hash `expected`.

    Raises
    ------
    OtherWorkerError
        If it is another one: the source of a class has changed.
    """
    named = [name for name, _ in scenario._core.classes()]
    if named and any(map(live_code.of, named)):
        return  # what such a class refers to may change as it runs
    if scenario.hash == expected:
        return
    why = f"the source of {' or '.join(named)} is not what was asked for: restart the workers" if named else ""
    raise OtherWorkerError(f"scenario {expected[:12]} is another one here{f', since {why}' if why else ''}")


def simulate(
    scenario: Scenario,
    seed: int,
    tables: Sequence[str],
    step_ns: int | None,
    control: _core.Control,
    limit_s: float | None = None,
    metrics: Metrics | None = None,
) -> Computed:
    """Execute a run; a failure is an outcome, too."""
    began = time.perf_counter()
    outcome: _core.Outcome | None = None
    message = None
    try:
        with limited(control, limit_s) as expired:
            outcome = scenario._core.run(seed, step_ns, control)
    except BaseException as error:
        message = _describe(error)
    if outcome is None and expired.is_set():
        message = f"it took longer than the time limit of {limit_s:g} s" + (f": {message}" if message else "")
    if outcome is not None and metrics is not None:
        try:
            outcome["metrics"] = metrics.columns(scenario, outcome, step_ns)
        except ValueError as error:
            outcome, message = None, str(error)
    if outcome is not None:
        for name in ("flows", "stations", "sessions", "series", "queues"):
            if name not in tables:
                outcome[name] = []
    return Computed(outcome, message, time.perf_counter() - began, _host())


def _describe(error: BaseException) -> str:
    name = type(error).__name__
    return str(error) if name == "PanicException" else f"{name}: {error}"


@lru_cache(maxsize=64)
def _parse(text: str) -> Scenario:
    return Scenario.from_text(text)


@lru_cache(maxsize=1)
def _host() -> str:
    return socket.gethostname()

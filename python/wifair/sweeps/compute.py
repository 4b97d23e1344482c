"""Results of any list of runs: read from a store if it has them, otherwise computed and added to it."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from typing import NamedTuple

from wifair import _core
from wifair.scenario.scenario import Scenario
from wifair.simulation.simulate import cores
from wifair.sweeps.engines import Engine, Given, Threads
from wifair.sweeps.runs import Runs
from wifair.sweeps.store import MOST_SEED, Kept, Key, Label, Store
from wifair.sweeps.work import Progress, Work

TABLES = ("flows", "stations", "sessions")
"""Tables that can be kept of each run, besides the figures of its cell."""


class Request(NamedTuple):
    """A requested run."""

    scenario: Scenario
    """The scenario to simulate."""
    seed: int
    """The seed of the run."""
    labels: Mapping[str, Label] = {}
    """Names and values under which results show the run, such as paths of parameters."""


def compute(
    requests: Iterable[Request | tuple[Scenario, int] | tuple[Scenario, int, Mapping[str, Label]]],
    store: Store | str | os.PathLike[str],
    *,
    tables: Iterable[str] = ("flows",),
    series: str | None = None,
    executor: Executor | None = None,
    threads: int | None = None,
    time_limit: str | None = None,
    progress: Callable[[Progress], object] | None = None,
) -> Runs:
    """Get the results of runs: those in the store are read, the others are computed and added to it.

    After any interruption the same call continues where it stopped.

    Parameters
    ----------
    requests : iterable of Request or tuple
        Scenario, seed and labels of each run, in the order of the results. A run may occur several times, with
        different labels.
    store : Store or path
        Where results are kept; a path is opened, or created if it does not exist.
    tables : iterable of {"flows", "stations", "sessions"}, default ("flows",)
        Tables to keep of each run, besides the figures of its cell.
    series : str, optional
        Also keep ``series`` and ``queues``, sampled at this interval: ``"100 ms"``.
    executor : concurrent.futures.Executor, optional
        Where to compute: processes, a Dask cluster (``client.get_executor()``), MPI. By default threads, which use
        all cores since runs do not hold Python's lock.
    threads : int, optional
        Number of those threads; all available cores by default.
    time_limit : str, optional
        Maximum time of a run, as in ``"10 min"``: a run that takes longer is stopped, and counts as failed.
    progress : callable, optional
        Called repeatedly with a `Progress`, which is the same object each time.

    Returns
    -------
    Runs
        Columns in the order of the requests, and the runs that failed.

    Raises
    ------
    ValueError
        If a seed is not between 0 and 2**63 - 1, a table is unknown, or `series` is no duration.
    StoreError
        If the path is not a store.
    StoppedError
        If it cannot go on: the disk is full, or the workers are gone.
    Interrupted
        On Ctrl-C.

    Examples
    --------
    >>> runs = compute([(scenario, seed) for seed in range(1, 11)], "results")  # doctest: +SKIP
    >>> runs.figures["jain_index"].mean()  # doctest: +SKIP
    0.97
    """
    wanted = [request if isinstance(request, Request) else Request(*request) for request in requests]
    for request in wanted:
        if not 0 <= request.seed <= MOST_SEED:
            raise ValueError(f"seed {request.seed} is not between 0 and 2**63 - 1")
    keys: list[Key] = []
    hashes: dict[int, str] = {}  # once each: a class of a notebook may change what it refers to
    for request in wanted:
        if id(request.scenario) not in hashes:
            request.scenario._require_unchanged()
            hashes[id(request.scenario)] = request.scenario.hash
        keys.append(Key(hashes[id(request.scenario)], request.seed))
    kept, step_ns = kept_of(tables, series)
    with ExitStack() as stack:
        if not isinstance(store, Store):
            store = stack.enter_context(Store(store))
        points = {(key.scenario, tuple(sorted(r.labels.items()))): r.labels for key, r in zip(keys, wanted)}
        store.add_points((scenario, labels) for (scenario, _), labels in points.items())
        engine = engine_of(executor, threads, time_limit)
        stack.callback(engine.close)
        Work(store, _Fixed(keys, wanted), engine, kept=kept, step_ns=step_ns, report=progress).run()
        return Runs(store.path, [(key, r.labels) for key, r in zip(keys, wanted)], [name for name, _ in kept])


def kept_of(tables: Iterable[str], series: str | None) -> tuple[list[Kept], int | None]:
    """Return the tables to keep, and the time between samples [ns]; see `compute`."""
    kept = []
    for name in dict.fromkeys(tables):
        if name not in TABLES:
            raise ValueError(f"table `{name}`: expected {', '.join(TABLES)}")
        kept.append(Kept(name))
    if series is None:
        return kept, None
    step_ns = _core.sample_step(series)
    return [*kept, Kept("series", f"{step_ns} ns"), Kept("queues", f"{step_ns} ns")], step_ns


def engine_of(executor: Executor | None, threads: int | None, time_limit: str | None = None) -> Engine:
    """Choose the engine; see `compute`."""
    limit_s = limit_of(time_limit)
    if executor is not None:
        if threads is not None:
            raise ValueError("either an executor or a number of threads")
        return Given(executor, limit_s)
    if threads is not None and threads < 1:
        raise ValueError(f"{threads} threads: expected at least 1")
    return Threads(threads if threads is not None else cores(), limit_s)


def limit_of(time_limit: str | None) -> float | None:
    """Read the time that a run may take [s]; see `compute`."""
    return None if time_limit is None else _core.time_of_run("time limit", time_limit) / 1e9


class _Fixed:
    """A source of runs that are all known from the start."""

    def __init__(self, keys: Sequence[Key], requests: Sequence[Request]) -> None:
        self._scenarios = {key.scenario: request.scenario for key, request in zip(keys, requests)}
        self._keys = deque(dict.fromkeys(keys))
        self.total = len(self._keys)

    def take(self) -> Key | None:
        return self._keys.popleft() if self._keys else None

    def finished(self, key: Key) -> None:
        pass

    def scenario(self, key: Key) -> Scenario:
        return self._scenarios[key.scenario]

"""Executes the runs of all cases, each run only once however many experiments need it.

Without a store, results stay in memory. With a store, they are read from it case by case; runs in the store are not
repeated, and an interrupted reproduction can be resumed.
"""

from __future__ import annotations

import heapq
import os
import threading
import time
from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wifair import _core
from wifair._output.progress import ProgressBar
from wifair.columns import Columns
from wifair.exceptions import RunError
from wifair.reproduce._model import Case
from wifair.results.results import Results
from wifair.scenario.scenario import Scenario
from wifair.simulation.simulate import cores
from wifair.sweeps import VERSION, Progress, Runs, Store
from wifair.sweeps import compute as compute_into
from wifair.sweeps.compute import TABLES
from wifair.sweeps.store import Key

POLL_S = 0.05


class _Key(NamedTuple):
    scenario: str
    seed: int
    step_ns: int | None


def default_store() -> Path:
    """Get the default folder for results, in the user's cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wifair"
    return cache / "reproduce"


def other_versions(store: str | os.PathLike[str]) -> dict[str, int]:
    """Count the runs of other versions in a store; such runs are neither used nor changed.

    Parameters
    ----------
    store : path
        The store; it need not exist.

    Returns
    -------
    dict of str to int
        Number of finished runs by version; empty if there is no store.

    Raises
    ------
    StoreError
        If `store` is not a store.
    """
    if not (Path(store) / "runs.sqlite").is_file():
        return {}
    with Store(store) as opened:
        return {version: runs for version, runs in opened.versions().items() if version != VERSION}


class Runner:
    """Executes the runs of cases, each only once however many cases need it.

    Cases are given in batches. Without a store the runs of all batches are executed together, so that no thread waits
    for the last run of a batch.

    Parameters
    ----------
    store : path, optional
        Store for the results. Without it they stay in memory.
    threads : int, optional
        Number of runs at the same time; by default the number of cores.
    progress : bool, default False
        Show a progress bar on stderr.
    """

    def __init__(
        self, store: str | os.PathLike[str] | None = None, *, threads: int | None = None, progress: bool = False
    ) -> None:
        self.path = None if store is None else Path(store)
        self.threads, self.progress = threads, progress
        self._pool = _Pool(threads or cores(), progress)
        self._batches: list[tuple[int, int, Hashable, list[Case]]] = []
        """A heap of the batches that wait for the store."""
        self._started = 0
        self._steps: dict[str, int] = {}
        """Time between samples of each scenario for which a case needs a series; other cases use the same runs."""
        self._read: dict[int, Results] = {}

    def start(self, name: Hashable, cases: Iterable[Case], rank: int = 0) -> None:
        """Begin to run a batch of cases; those of a lower rank come first."""
        cases = list(cases)
        if self.path is not None:
            heapq.heappush(self._batches, (rank, self._started, name, cases))
            self._started += 1
            return
        self._steps |= {case.scenario.hash: _core.sample_step(case.series) for case in cases if case.series}
        self._pool.add(name, {key: case.scenario for case in cases for key in self._keys(case)}, rank)

    def finished(self) -> Hashable | None:
        """Wait a moment for a batch to be complete, and return its name; None if there is none yet.

        Raises
        ------
        RunError
            If a run fails, which is a bug in wifair.
        """
        if self.path is None:
            return self._pool.finished()
        if not self._batches:
            time.sleep(POLL_S)
            return None
        *_, name, cases = heapq.heappop(self._batches)
        _compute_into(cases, self.path, self.threads, self.progress)
        self._read |= _read(cases, self.path)
        return name

    def results(self, cases: Sequence[Case]) -> Results:
        """Take the results of cases that have the scenario and the seeds in common.

        With a store they can be taken only once, because keeping all of them would fill the memory.
        """
        if self.path is not None:
            found = [self._read.pop(id(case)) for case in cases]
            return next((results for results in found if results.series is not None), found[0])
        keys = self._keys(cases[0])
        step_s = (keys[0].step_ns or 0) / 1e9
        outcomes = [self._pool.outcomes[key] for key in keys]
        return Results(cases[0].scenario, outcomes, series_step_s=step_s)

    def _keys(self, case: Case) -> list[_Key]:
        scenario = case.scenario.hash
        return [_Key(scenario, seed, self._steps.get(scenario)) for seed in case.seeds]

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.close()


class _Pool:
    """Threads that execute runs, and keep the results in memory."""

    def __init__(self, threads: int, progress: bool) -> None:
        self.outcomes: dict[_Key, _core.Outcome] = {}
        self._executor = ThreadPoolExecutor(threads)
        self._todo: list[tuple[int, float, int, _Key, Scenario]] = []
        """A heap. The longest runs of a rank go first, so that none of them is left to a single thread at the end."""
        self._known: set[_Key] = set()
        self._missing: dict[Hashable, set[_Key]] = {}
        """The runs that each batch waits for."""
        self._complete: deque[Hashable] = deque()
        self._failure: tuple[str, int, BaseException] | None = None
        self._changed = threading.Condition()
        self._control = _core.Control()
        self._bar = ProgressBar.counting(progress, 0, "simulated s")

    def add(self, name: Hashable, wanted: Mapping[_Key, Scenario], rank: int) -> None:
        with self._changed:
            self._missing[name] = {key for key in wanted if key not in self.outcomes}
            for key in self._missing[name] - self._known:
                self._known.add(key)
                self._bar.more(wanted[key].duration_s)
                heapq.heappush(self._todo, (rank, -wanted[key].duration_s, len(self._known), key, wanted[key]))
                self._executor.submit(self._run_first)
            if not self._missing[name]:
                self._complete.append(name)
            self._changed.notify_all()

    def finished(self) -> Hashable | None:
        with self._changed:
            if not self._complete and self._failure is None:
                self._changed.wait(POLL_S)
            self._bar.show(self._control.simulated_s)
            if self._failure is not None:
                name, seed, error = self._failure
                raise RunError(f"{name} failed with seed {seed}: {error}", seed) from error
            return self._complete.popleft() if self._complete else None

    def close(self) -> None:
        """Stop all runs."""
        self._executor.shutdown(wait=False, cancel_futures=True)
        self._control.stop()
        self._executor.shutdown()
        self._bar.close()

    def _run_first(self) -> None:
        """Execute the first run of the heap, which has one for each call."""
        with self._changed:
            *_, key, scenario = heapq.heappop(self._todo)
        try:
            outcome = scenario._core.run(key.seed, key.step_ns, self._control)
        except BaseException as error:
            with self._changed:
                self._failure = (repr(scenario), key.seed, error)
                self._changed.notify_all()
            return
        if outcome is None:
            return
        with self._changed:
            self.outcomes[key] = outcome
            for name in [name for name, missing in self._missing.items() if key in missing]:
                self._missing[name].remove(key)
                if not self._missing[name]:
                    del self._missing[name]
                    self._complete.append(name)
                    self._changed.notify_all()


def _compute_into(cases: list[Case], path: Path, threads: int | None, progress: bool) -> None:
    """Execute the runs that are not in the store."""
    by_step: dict[str | None, list[Case]] = defaultdict(list)
    for case in cases:
        by_step[case.series].append(case)
    total = len({(case.scenario.hash, seed) for case in cases for seed in case.seeds})
    done: set[Key] = set()
    with Store(path) as store, ProgressBar.counting(progress, total, "runs") as bar:
        # Runs with series go first, because other cases can use them, too.
        for step in sorted(by_step, key=lambda step: step is None):
            requests = {Key(case.scenario.hash, seed): case.scenario for case in by_step[step] for seed in case.seeds}

            def show(now: Progress, earlier: int = len(done)) -> None:
                bar.show(earlier + now.done)

            done |= requests.keys()
            runs = compute_into(
                [(scenario, key.seed) for key, scenario in requests.items()],
                store,
                tables=TABLES,
                series=step,
                threads=threads,
                progress=show,
            )
            for failure in runs.failures:
                name = requests[Key(failure.scenario, failure.seed)].name
                raise RunError(f"{name} failed with seed {failure.seed}: {failure.message}", failure.seed)


def _read(cases: list[Case], path: Path) -> dict[int, Results]:
    """Read the results of cases, by their ids; all at once, because each query scans the whole store."""
    found: dict[int, Results] = {}
    for with_series in (False, True):
        some = [case for case in cases if (case.series is not None) is with_series]
        names = ["runs", *TABLES, *(("series", "queues") if with_series else ())]
        wanted = [(Key(case.scenario.hash, seed), {PLACE: at}) for at, case in enumerate(some) for seed in case.seeds]
        runs = Runs(path, wanted, names[1:])
        tables = {name: runs.table(name) for name in names} if some else {}
        ends = {name: np.searchsorted(table[PLACE], np.arange(len(some) + 1)) for name, table in tables.items()}
        for at, case in enumerate(some):
            own = {name: _part(table, ends[name][at : at + 2]) for name, table in tables.items()}
            found[id(case)] = _Read(case, own)
    return found


PLACE = "place of the case"
"""Label that assigns runs to cases while they are read."""


def _part(table: Columns, ends: NDArray[np.int64]) -> Columns:
    return table.drop(PLACE, "scenario").slice(int(ends[0]), int(ends[1] - ends[0]))


class _Read(Results):
    """Results read from a store."""

    def __init__(self, case: Case, tables: Mapping[str, Columns]) -> None:
        self.scenario = case.scenario
        self.seeds = case.seeds
        self._runs = ()
        self.cells = tables["runs"]
        self.flows, self.stations, self.sessions = (tables[name] for name in ("flows", "stations", "sessions"))
        self.series, self.queues = tables.get("series"), tables.get("queues")

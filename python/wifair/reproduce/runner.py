"""Executes the runs of all cases, each run only once however many experiments need it.

Without a store, results stay in memory. With a store, they are read from it case by case; runs in the store are not
repeated, and an interrupted reproduction can be resumed.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wifair import _core
from wifair.errors import Interrupted, RunError
from wifair.results import Results
from wifair.simulate import cores
from wifair.sweeps import VERSION, Progress, Runs, Store
from wifair.sweeps import compute as compute_into
from wifair.sweeps.compute import TABLES
from wifair.sweeps.store import Key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from wifair._core import Outcome
    from wifair.columns import Columns
    from wifair.reproduce.model import Case
    from wifair.scenario import Scenario

__all__ = ["Runner", "default_store", "other_versions"]

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
        self._outcomes: dict[_Key, Outcome] = {}
        self._steps: dict[str, int] = {}
        """Time between samples of each scenario for which a case needs a series; other cases use the same runs."""
        self._read: dict[int, Results] = {}

    def run(self, cases: Iterable[Case]) -> None:
        """Run cases.

        Raises
        ------
        Interrupted
            On Ctrl-C.
        RunError
            If a run fails, which is a bug in wifair.
        """
        cases = list(cases)
        if self.path is not None:
            _compute_into(cases, self.path, self.threads, self.progress)
            self._read |= _read(cases, self.path)
            return
        self._steps |= {case.scenario.hash: _core.sample_step(case.series) for case in cases if case.series}
        wanted = {key: case.scenario for case in cases for key in self._keys(case) if key not in self._outcomes}
        if wanted:
            self._outcomes |= _run(wanted, self.threads or cores(), self.progress)

    def results(self, case: Case) -> Results:
        """Take the results of a case; with a store only once, because keeping all of them would fill the memory."""
        if self.path is not None:
            return self._read.pop(id(case))
        keys = self._keys(case)
        step_s = (keys[0].step_ns or 0) / 1e9
        return Results(case.scenario, [self._outcomes[key] for key in keys], series_step_s=step_s)

    def _keys(self, case: Case) -> list[_Key]:
        scenario = case.scenario.hash
        return [_Key(scenario, seed, self._steps.get(scenario)) for seed in case.seeds]


def _run(wanted: dict[_Key, Scenario], threads: int, progress: bool) -> dict[_Key, Outcome]:
    # The longest runs go first, so that none of them is left to a single thread at the end.
    todo = iter(sorted(wanted.items(), key=lambda item: -item[1].duration_s))
    control = _core.Control()
    outcomes: dict[_Key, Outcome] = {}
    failures: list[tuple[_Key, BaseException]] = []
    lock = threading.Lock()

    def loop() -> None:
        while True:
            with lock:
                key, scenario = next(todo, (None, None)) if not failures else (None, None)
            if key is None or scenario is None:
                return
            try:
                outcome = scenario._core.run(key.seed, key.step_ns, control)
            except BaseException as error:
                control.stop()
                with lock:
                    failures.append((key, error))
                return
            if outcome is None:
                return
            outcomes[key] = outcome

    workers = [threading.Thread(target=loop, daemon=True) for _ in range(min(threads, len(wanted)))]
    for worker in workers:
        worker.start()
    try:
        with _Bar(progress, sum(scenario.duration_s for scenario in wanted.values())) as bar:
            for worker in workers:
                while worker.is_alive():
                    worker.join(POLL_S)
                    bar.show(control.simulated_s)
    except KeyboardInterrupt:
        control.stop()
        for worker in workers:
            worker.join()
        raise Interrupted(None) from None
    if failures:
        key, error = failures[0]
        raise RunError(f"{wanted[key]!r} failed with seed {key.seed}: {error}", key.seed) from error
    return outcomes


def _show(bar: _Bar, before: int, now: Progress) -> None:
    """Show the progress of a step, after the `before` runs of earlier steps."""
    bar.show(before + now.done)


def _compute_into(cases: list[Case], path: Path, threads: int | None, progress: bool) -> None:
    """Execute the runs that are not in the store."""
    by_step: dict[str | None, list[Case]] = defaultdict(list)
    for case in cases:
        by_step[case.series].append(case)
    total = len({(case.scenario.hash, seed) for case in cases for seed in case.seeds})
    done: set[Key] = set()
    with Store(path) as store, _Bar(progress, total, "runs") as bar:
        # Runs with series go first, because other cases can use them, too.
        for step in sorted(by_step, key=lambda step: step is None):
            requests = {Key(case.scenario.hash, seed): case.scenario for case in by_step[step] for seed in case.seeds}
            before = len(done)
            done |= requests.keys()
            runs = compute_into(
                [(scenario, key.seed) for key, scenario in requests.items()],
                store,
                tables=TABLES,
                series=step,
                threads=threads,
                progress=partial(_show, bar, before),
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
    return table.without((PLACE, "scenario")).part(int(ends[0]), int(ends[1]))


class _Read(Results):
    """Results read from a store."""

    def __init__(self, case: Case, tables: Mapping[str, Columns]) -> None:
        self.scenario = case.scenario
        self.seeds = case.seeds
        self._runs = ()
        self.cells = tables["runs"]
        self.flows, self.stations, self.sessions = (tables[name] for name in ("flows", "stations", "sessions"))
        self.series, self.queues = tables.get("series"), tables.get("queues")


class _Bar:
    """A progress bar, shown only if stderr is a terminal."""

    def __init__(self, wanted: bool, total: float, unit: str = "simulated s") -> None:
        self._bar: Any = None
        if wanted and sys.stderr.isatty():
            from tqdm import tqdm  # noqa: PLC0415

            form = f"{{l_bar}}{{bar}}| {{n:.0f}}/{{total:.0f}} {unit}, {{remaining}} left"
            self._bar = tqdm(total=total, file=sys.stderr, leave=False, bar_format=form)

    def show(self, done: float) -> None:
        if self._bar is not None:
            self._bar.update(done - self._bar.n)

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

"""Runs a scenario, on all cores."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Mapping
from typing import TypedDict, Unpack, overload

from wifair import _core
from wifair._output.progress import ProgressBar
from wifair.exceptions import ExtensionError, Interrupted, RunError, ScenarioError, TooLargeError
from wifair.extensions.interrupting import GRACE_S, end_python
from wifair.results.results import Results, SampledResults
from wifair.results.stacking import Gathered
from wifair.scenario.scenario import Scenario, Source, scenario_of
from wifair.simulation import memory
from wifair.simulation.seeds import Seeding, read_seeds
from wifair.simulation.taps import Pcap, plan_taps

POLL_S = 0.05
MOST_SAMPLES = 100_000_000
"""The most samples of all flows in a run; each takes about 100 bytes."""


class _Options(TypedDict, total=False):
    seeds: Seeding | None
    threads: int | None
    progress: bool
    pcap: Pcap | str | os.PathLike[str] | None
    frames: bool | tuple[str, str | None]
    fast_paths: bool
    any_memory: bool


@overload
def run(scenario: Source, *, series: str, **options: Unpack[_Options]) -> SampledResults: ...


@overload
def run(scenario: Source, *, series: str | None = None, **options: Unpack[_Options]) -> Results: ...


def run(
    scenario: Source,
    *,
    seeds: Seeding | None = None,
    threads: int | None = None,
    series: str | None = None,
    progress: bool = False,
    pcap: Pcap | str | os.PathLike[str] | None = None,
    frames: bool | tuple[str, str | None] = False,
    fast_paths: bool = True,
    any_memory: bool = False,
) -> Results:
    """Simulate a scenario, once for each seed.

    A run is a function of scenario, seed and version: neither the number of threads nor other seeds change it.

    Parameters
    ----------
    scenario : Scenario, path or mapping
        What to simulate; a path is read as by `Scenario.from_file`, a mapping as by `Scenario.from_dict`.
    seeds : int, str or iterable of int, optional
        Distinct non-negative seeds, or a text as after ``--seeds``, such as ``"1..3"``. By default those of the
        scenario, or 1.
    threads : int, optional
        Runs at the same time; all available cores by default.
    series : str, optional
        Also sample the state of flows and queues at this interval: ``"100 ms"``.
    progress : bool, default False
        Show a progress bar on stderr.
    pcap : Pcap or path, optional
        Also write captures into this folder; a `wifair.Pcap` chooses capture points and format.
    frames : bool or (str, str), default False
        Also keep a record of every frame and backoff in ``results.frames`` and ``results.backoffs``; with a pair of
        times as in ``("5 s", "5.02 s")`` of those between.
    fast_paths : bool, default True
        Let the core take shortcuts that change no result. Without them the model runs alone, which takes longer; only
        ``events``, which counts steps of the program, may differ.
    any_memory : bool, default False
        Start even if a run is estimated to need more memory than is free. It ends with an error before it takes all.

    Returns
    -------
    Results
        Columns over seeds, flows, stations and sessions, and means with intervals.

    Raises
    ------
    ScenarioError
        If the scenario is wrong.
    ValueError
        If there is no seed, one comes twice or is negative, `threads` is below 1, `series` is no duration or
        so short that there would be more than a hundred million samples, or there is no such capture point.
    OSError
        If a capture cannot be written; no capture of that run is then left.
    ExtensionError
        If a class of your own raises an exception. If it does with several seeds, this is the first of them in order.
    TooLargeError
        If a run would need, or is about to need, more memory than is free. The message names the key that causes it.
    RunError
        If a run fails, which is a bug.
    Interrupted
        On Ctrl-C; its ``results`` are those of the seeds that had finished. Captures hold what had been simulated.

    Examples
    --------
    >>> results = run("hot-spot.toml", seeds=range(1, 11))  # doctest: +SKIP
    >>> results.summary["jain_index"]  # doctest: +SKIP
    Interval(mean=0.93, half_width=0.02)
    """
    scenario = scenario_of(scenario)
    scenario._require_unchanged()
    numbers = read_seeds(scenario.seeds if seeds is None else seeds)
    workers = threads if threads is not None else cores()
    if workers < 1:
        raise ValueError(f"{workers} threads: expected at least 1")
    if series is not None and not isinstance(series, str):
        raise TypeError(f'series: {series!r} is no time between samples: write one, such as "100 ms"')
    step_ns = _core.sample_step(series) if series is not None else None
    if step_ns is not None and scenario.duration_s * 1e9 / step_ns * scenario._core.flows > MOST_SAMPLES:
        raise ScenarioError(
            f"time between samples: {series} gives more than {MOST_SAMPLES:,} samples of all flows in a run"
        )

    def results(gathered: Gathered) -> Results:
        kind = Results if step_ns is None else SampledResults
        return kind(scenario, gathered, series_step_s=(step_ns or 0) / 1e9)

    taps = plan_taps(scenario, numbers, pcap, frames)
    workers = min(workers, len(numbers))
    first, last = taps[numbers[0]]["frames_ns"] or (0, 0)
    needed = memory.estimate(scenario, step_ns=step_ns, frames_ns=last - first)
    if not any_memory:
        workers = memory.check(needed, workers)
    if progress:
        memory.announce(needed, len(numbers))
    work = _SeedRuns(scenario, numbers, step_ns, taps, threads=workers, fast_paths=fast_paths)
    try:
        total_s = scenario.duration_s * len(numbers)
        with ProgressBar.counting(progress, total_s, "simulated s", desc="setting up") as bar:
            while not work.wait(POLL_S):
                failure = work.failure
                note = f"seed {failure[0]} failed; waiting for those before it" if failure is not None else ""
                bar.show(work.simulated_s, note)
    except KeyboardInterrupt:
        failure = work.failure
        work.end()
        if failure is None:
            done = work.gathered()
            raise Interrupted(results(done) if done.runs else None) from None
    else:
        failure = work.failure
    if failure is not None:
        seed, error = failure
        if isinstance(error, (ExtensionError, OSError, ScenarioError, TooLargeError)):
            raise error
        raise RunError(f"the run with seed {seed} failed: {error}", seed) from error
    return results(work.gathered())


class _SeedRuns:
    """Runs that threads take one after the other. If some fail, `failure` is that of the first seed in their order.

    Only the main thread is interrupted by Ctrl-C, and it waits on a bare lock: `concurrent.futures.wait` takes the
    locks of all futures, and may leave some of them taken.
    """

    def __init__(
        self,
        scenario: Scenario,
        seeds: list[int],
        step_ns: int | None,
        taps: Mapping[int, _core.Taps],
        *,
        threads: int,
        fast_paths: bool,
    ) -> None:
        self.failure: tuple[int, BaseException] | None = None
        self._run = functools.partial(scenario._core.run, fast_paths=fast_paths)
        self._step_ns = step_ns
        self._taps = taps
        self._memory_bytes = memory.for_each(threads)
        self._has_classes = bool(scenario._core.classes())
        self._controls: dict[int, _core.Control] = {}
        """Controls of the current runs, by their place in the order."""
        self._next = 0
        self._stopped = False
        self._done_s = 0.0
        self._order = seeds
        self._taken = 0
        self._early: dict[int, _core.Outcome] = {}
        """Outcomes that wait for earlier seeds to finish."""
        self._gathered = Gathered()
        self._lock = threading.Lock()
        self._over = threading.Lock()
        self._over.acquire()
        self._active = threads
        self._threads = [
            threading.Thread(target=self._loop, name=f"wifair-{number}", daemon=True) for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def wait(self, timeout_s: float) -> bool:
        """Wait for all runs to end, at most so long. Returns whether they have."""
        return self._over.acquire(timeout=timeout_s)

    @property
    def simulated_s(self) -> float:
        """Simulated time of all runs together [s]."""
        with self._lock:
            return self._done_s + sum(control.simulated_s for control in self._controls.values())

    def end(self) -> None:
        """End all runs, even those that are in a method of the user's."""
        with self._lock:
            self._stopped = True
            for control in self._controls.values():
                control.stop()
        if self.wait(GRACE_S) or not self._has_classes:
            return  # threads that build a large scenario stop later
        for _ in range(2):
            for thread in self._threads:
                end_python(thread.ident)
            if self.wait(GRACE_S):
                return

    def gathered(self) -> Gathered:
        """Return the outcomes of finished runs, in the order of the seeds."""
        with self._lock:
            for seed in self._order[self._taken :]:
                if seed in self._early:
                    self._gathered.add(self._early.pop(seed))
            return self._gathered

    def _take(self, seed: int, outcome: _core.Outcome) -> None:
        """Append an outcome in the order of the seeds, as columns, which take much less memory."""
        with self._lock:
            self._early[seed] = outcome
            while self._taken < len(self._order) and self._order[self._taken] in self._early:
                self._gathered.add(self._early.pop(self._order[self._taken]))
                self._taken += 1

    def _fail(self, place: int, error: BaseException) -> None:
        """Keep the failure unless one is earlier in the order. Runs before it go on, because they may fail as well."""
        with self._lock:
            if self.failure is None or place < self._order.index(self.failure[0]):
                self.failure = (self._order[place], error)
            for later, control in self._controls.items():
                if later > place:
                    control.stop()

    def _loop(self) -> None:
        while True:
            with self._lock:
                place = self._next
                if self._stopped or self.failure is not None or place == len(self._order):
                    break
                self._next += 1
                control = self._controls[place] = _core.Control(self._memory_bytes)
            seed = self._order[place]
            try:
                outcome = self._run(seed, self._step_ns, control, self._taps[seed])
            except BaseException as error:
                self._fail(place, error)
                break
            finally:
                with self._lock:
                    self._done_s += self._controls.pop(place).simulated_s
            if outcome is None:
                break
            self._take(seed, outcome)
        with self._lock:
            self._active -= 1
            last = self._active == 0
        if last:
            self._over.release()


def cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

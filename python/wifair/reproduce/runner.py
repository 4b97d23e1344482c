"""Does the runs of all cases at once, each run only once however many experiments want it."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, NamedTuple

from wifair import _core
from wifair.errors import Interrupted, RunError
from wifair.results import Results
from wifair.simulate import cores

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wifair._core import Outcome
    from wifair.reproduce.model import Case
    from wifair.scenario import Scenario

__all__ = ["compute"]

POLL_S = 0.05


class _Key(NamedTuple):
    scenario: str
    seed: int
    step_ns: int | None


def compute(cases: Iterable[Case], *, threads: int | None = None, progress: bool = False) -> dict[int, Results]:
    """Run all cases.

    Parameters
    ----------
    cases : iterable of Case
        What to run; runs that several of them share are done once.
    threads : int, optional
        Runs at the same time; all cores by default.
    progress : bool, default False
        Show a progress bar on stderr.

    Returns
    -------
    dict
        Results by ``id`` of the case.

    Raises
    ------
    Interrupted
        On Ctrl-C.
    RunError
        If a run fails, which is a bug.
    """
    cases = list(cases)
    wanted: dict[_Key, Scenario] = {}
    keys: dict[int, list[_Key]] = {}
    for case in cases:
        step_ns = _core.sample_step(case.series) if case.series else None
        keys[id(case)] = [_Key(case.scenario.hash, seed, step_ns) for seed in case.seeds]
        wanted |= dict.fromkeys(keys[id(case)], case.scenario)
    outcomes = _run(wanted, threads or cores(), progress)
    return {
        id(case): Results(
            case.scenario,
            [outcomes[key] for key in keys[id(case)]],
            series_step_s=(keys[id(case)][0].step_ns or 0) / 1e9,
        )
        for case in cases
    }


def _run(wanted: dict[_Key, Scenario], threads: int, progress: bool) -> dict[_Key, Outcome]:
    # The longest first, so that no thread is left alone with one at the end.
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


class _Bar:
    """A progress bar in simulated seconds; where stderr is no terminal, nothing."""

    def __init__(self, wanted: bool, total_s: float) -> None:
        self._bar = None
        if wanted and sys.stderr.isatty():
            from tqdm import tqdm  # noqa: PLC0415

            form = "{l_bar}{bar}| {n:.0f}/{total:.0f} simulated s, {remaining} left"
            self._bar = tqdm(total=total_s, file=sys.stderr, leave=False, bar_format=form)

    def show(self, simulated_s: float) -> None:
        if self._bar is not None:
            self._bar.update(simulated_s - self._bar.n)

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

"""Computes the runs that a store lacks, in a loop: claim, submit, record."""

from __future__ import annotations

import math
import queue
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Future
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import NamedTuple, Protocol

from wifair.exceptions import Interrupted, StoppedError
from wifair.scenario.scenario import Scenario
from wifair.sweeps._task import Computed, OtherWorkerError
from wifair.sweeps.engines import Engine
from wifair.sweeps.store import Kept, Key, Store, values_of

TICK_S = 0.1
SLOTS_S = 1.0
"""Time between requests for the number of slots of the engine [s]."""
ELSEWHERE_S = 1.0
"""Time between checks of runs that other processes compute [s]."""
MOST_DEATHS = 3
"""A run has failed when its worker has died so often; after the first time it is executed alone."""


class Finished(NamedTuple):
    """A run that has just been written to the store."""

    key: Key
    """The run."""
    failed: bool
    """Whether it failed."""
    figures: dict[str, float]
    """Figures of its cell."""


@dataclass
class Progress:
    """The progress of runs."""

    total: int
    """Requested runs, as far as they are known now."""
    found: int = 0
    """Runs that were in the store or that other processes computed."""
    computed: int = 0
    """Runs that this process computed, including failed ones."""
    failed: int = 0
    """Runs that failed."""
    elapsed_s: float = 0.0
    """Time since the beginning [s]."""
    latest: tuple[Finished, ...] = ()
    """Runs written since the last report."""

    @property
    def done(self) -> int:
        """Runs that are done."""
        return self.found + self.computed

    @property
    def rate_per_s(self) -> float:
        """Runs computed per second; 0 before the first."""
        return self.computed / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def left_s(self) -> float | None:
        """Time left at the present rate [s]; None before the first run."""
        return (self.total - self.done) / self.rate_per_s if self.rate_per_s > 0 else None


class Source(Protocol):
    """Supplies the runs to compute."""

    def take(self) -> Key | None:
        """Return the next run; None if there is none at present."""

    def finished(self, key: Key) -> None:
        """Take note that a run is in the store; more runs may follow from that."""

    def scenario(self, key: Key) -> Scenario:
        """Create the scenario of a run."""

    @property
    def total(self) -> int:
        """Number of runs, as far as it is known now."""


class Work:
    """Computes the runs of a source that a store lacks."""

    def __init__(
        self,
        store: Store,
        source: Source,
        engine: Engine,
        *,
        kept: Sequence[Kept] = (),
        step_ns: int | None = None,
        report: Callable[[Progress], object] | None = None,
    ) -> None:
        """`kept` are the tables to keep; `report` is called now and then."""
        self.progress = Progress(source.total)
        self._store = store
        self._source = source
        self._engine = engine
        self._kept = tuple(kept)
        self._tables = tuple(name for name, _ in kept)
        self._step_ns = step_ns
        self._report = report
        # Not a SimpleQueue: its `get` never returns if a signal arrives when the timeout is over (CPython 3.11).
        self._arrived: queue.Queue[tuple[Key, Future[Computed]]] = queue.Queue()
        self._active: dict[Key, Future[Computed]] = {}
        self._ready: deque[Key] = deque()
        self._elsewhere: deque[Key] = deque()
        self._looked = 0.0
        self._known = store.done(self._kept)
        self._suspects: deque[Key] = deque()
        self._deaths: dict[Key, int] = {}
        self._slots = 0
        self._counted = -math.inf
        self._began = time.monotonic()
        self._latest: list[Finished] = []

    def run(self) -> Progress:
        """Compute until nothing is left.

        Raises
        ------
        Interrupted
            On Ctrl-C.
        StoppedError
            If it cannot go on: the disk is full, the workers have gone.
        """
        with _interruptible() as interrupted:
            try:
                while not interrupted.is_set():
                    self._fill()
                    if not (self._active or self._elsewhere or self._suspects):
                        break
                    self._take_in(TICK_S)
                    self._store.heartbeat()
                    self._tell()
                else:
                    self._interrupt()
            finally:
                self._abandon()
        self._tell()
        return self.progress

    def _fill(self) -> None:
        """Submit runs up to twice the slots of the engine."""
        if self._suspects:
            if not self._active:
                self._submit(self._suspects.popleft())
            return
        if time.monotonic() - self._counted > SLOTS_S:
            self._counted = time.monotonic()
            self._slots = self._engine.slots
        room = 2 * self._slots - len(self._active)
        if room < max(self._slots // 2, 1):
            return
        self._look_elsewhere()
        while room > 0:
            keys = list(self._next(room))
            if not keys:
                return
            mine, done, busy = self._store.claim(keys, self._source.scenario, self._kept)
            self._elsewhere.extend(busy)
            for key in done:
                self._found(key)
            for key in mine:
                self._submit(key)
            room -= len(mine)

    def _next(self, count: int) -> Iterator[Key]:
        while count > 0:
            key = self._ready.popleft() if self._ready else self._source.take()
            if key is None:
                return
            if key in self._known:
                self._found(key)
            else:
                count -= 1
                yield key

    def _look_elsewhere(self) -> None:
        """From time to time, check whether other processes have finished their runs or have died."""
        if self._elsewhere and time.monotonic() - self._looked > ELSEWHERE_S:
            self._looked = time.monotonic()
            self._ready.extend(self._elsewhere)
            self._elsewhere.clear()

    def _found(self, key: Key) -> None:
        self.progress.found += 1
        self._source.finished(key)

    def _submit(self, key: Key) -> None:
        try:
            future = self._engine.submit(self._source.scenario(key), key, self._tables, self._step_ns)
        except BrokenExecutor as error:
            future = Future()
            future.set_exception(error)
        except RuntimeError as error:  # the executor was shut down
            raise StoppedError(f"the executor takes no more runs: {error}") from error
        self._active[key] = future
        future.add_done_callback(lambda done: self._arrived.put((key, done)))

    def _take_in(self, timeout_s: float) -> None:
        """Wait for results, and write all that have arrived."""
        try:
            arrived = [self._arrived.get(timeout=timeout_s)]
        except queue.Empty:
            return
        while not self._arrived.empty():
            arrived.append(self._arrived.get())
        results: list[tuple[Key, Computed]] = []
        died: list[tuple[Key, BaseException]] = []
        for key, future in arrived:
            if self._active.pop(key, None) is not future:
                continue
            error = CancelledError() if future.cancelled() else future.exception()
            if error is None:
                results.append((key, future.result()))
            elif isinstance(error, (BrokenExecutor, CancelledError)):
                died.append((key, error))
            elif isinstance(error, OtherWorkerError):
                self._write(results)
                raise StoppedError(str(error)) from error
            else:  # the engine has given the run up
                message = f"{type(error).__name__}: {error}"
                results.append((key, Computed(None, message, 0.0, "")))
        self._write(results)
        if died:
            self._recover(died)

    def _write(self, results: Iterable[tuple[Key, Computed]]) -> None:
        """Write results to the store, then report them."""
        over = [(key, computed) for key, computed in results if computed.outcome or computed.message is not None]
        if not over:
            return
        self._store.record(over, self._kept)
        for key, computed in over:
            failed = computed.outcome is None
            self.progress.computed += 1
            self.progress.failed += failed
            self._latest.append(Finished(key, failed, _figures(computed)))
            self._source.finished(key)

    def _recover(self, died: list[tuple[Key, BaseException]]) -> None:
        """Repeat the runs that were active when workers died.

        It is unknown which of them was the cause, so each is repeated alone, and fails after `MOST_DEATHS`.
        """
        died += [(key, CancelledError()) for key in self._active]
        self._active.clear()
        if not self._engine.restart():
            error = died[0][1]
            what = str(error) or "it was cancelled"
            raise StoppedError(f"the executor broke: {what}; repeat the command to go on") from error
        given_up: list[tuple[Key, Computed]] = []
        for key, _ in died:
            self._deaths[key] = self._deaths.get(key, 0) + 1
            if self._deaths[key] < MOST_DEATHS:
                self._suspects.append(key)
            else:
                message = "its worker died each time: out of memory, or killed"
                given_up.append((key, Computed(None, message, 0.0, "")))
        self._write(given_up)

    def _interrupt(self) -> None:
        """Stop active runs, and write those that have finished."""
        self._engine.stop()
        for future in self._active.values():
            future.cancel()
        while not self._arrived.empty():
            key, future = self._arrived.get()
            if self._active.pop(key, None) is future and not future.cancelled() and future.exception() is None:
                self._write([(key, future.result())])
        raise Interrupted

    def _abandon(self) -> None:
        for future in self._active.values():
            future.cancel()
        if self._active:
            self._engine.stop()

    def _tell(self) -> None:
        self.progress.total = self._source.total
        self.progress.elapsed_s = time.monotonic() - self._began
        self.progress.latest = tuple(self._latest)
        self._latest.clear()
        if self._report is not None:
            self._report(self.progress)


@contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """Turn Ctrl-C into an event that is checked between steps: an exception could leave a lock held."""
    interrupted = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield interrupted
        return

    def wish(number: int, frame: FrameType | None) -> None:
        if interrupted.is_set():
            signal.default_int_handler(number, frame)
        interrupted.set()

    before = signal.signal(signal.SIGINT, wish)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, before)


def _figures(computed: Computed) -> dict[str, float]:
    return {} if computed.outcome is None else values_of(computed.outcome["cell"])

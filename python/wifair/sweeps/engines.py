"""Engines, which execute runs: threads, processes, or any executor of `concurrent.futures`."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import wait
from typing import Any, Protocol

from wifair import _core
from wifair.exceptions import StoppedError
from wifair.extensions.interrupting import GRACE_S, end_python
from wifair.scenario.scenario import Scenario
from wifair.simulation import memory
from wifair.sweeps._task import VERSION, Computed, Task, perform, require_same, simulate
from wifair.sweeps.own_figures import Metrics
from wifair.sweeps.store import Key

UNKNOWN_SLOTS = 32
"""Assumed number of simultaneous runs of an executor that does not tell its number of workers."""


WORKERS_S = 120.0
"""How long a Dask cluster may have no workers [s]."""
RETRY_S = 0.5


class Engine(Protocol):
    """Executes runs, several at the same time, in any order."""

    @property
    def slots(self) -> int:
        """Number of runs at the same time."""

    def submit(self, scenario: Scenario, key: Key, tables: tuple[str, ...], step_ns: int | None) -> Future[Computed]:
        """Begin a run, whose scenario must have the hash of `key` at the end, too."""

    def measure(self, metrics: Metrics) -> None:
        """Also compute these figures of each run; raise ValueError if the workers could not."""

    def restart(self) -> bool:
        """Replace workers that have died; return whether the engine can go on."""

    def stop(self) -> None:
        """End the current runs soon."""

    def close(self) -> None:
        """Release threads, processes and the like."""


class Threads:
    """Threads of this process, because runs do not hold the GIL.

    They are daemons: a user's method that never returns does not keep the process alive.
    """

    def __init__(self, slots: int, limit_s: float | None = None) -> None:
        """`slots` threads; a run may take `limit_s`."""
        self.slots = slots
        self._limit_s = limit_s
        self._metrics: Metrics | None = None
        self._tasks: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._controls: set[_core.Control] = set()
        self._stopped = False
        self._threads = [
            threading.Thread(target=self._loop, name=f"wifair-{number}", daemon=True) for number in range(slots)
        ]
        for thread in self._threads:
            thread.start()

    def _loop(self) -> None:
        while (task := self._tasks.get()) is not None:
            with suppress(KeyboardInterrupt):  # raised for a run that has ended in the meantime
                task()

    def submit(self, scenario: Scenario, key: Key, tables: tuple[str, ...], step_ns: int | None) -> Future[Computed]:
        """Begin a run, whose scenario must have the hash of `key` at the end, too."""
        future: Future[Computed] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            control = _core.Control(memory.for_each(self.slots))
            self._controls.add(control)
            try:
                if self._stopped:
                    control.stop()
                done = simulate(scenario, key.seed, tables, step_ns, control, self._limit_s, self._metrics)
                require_same(scenario, key.scenario)
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(done)
            finally:
                self._controls.discard(control)

        self._tasks.put(work)
        return future

    def measure(self, metrics: Metrics) -> None:
        """Also compute these figures of each run."""
        self._metrics = metrics

    def restart(self) -> bool:
        """Return False: threads do not die."""
        return False

    def stop(self) -> None:
        """End the current runs within milliseconds."""
        self._stopped = True
        for control in list(self._controls):
            control.stop()

    def close(self) -> None:
        """End the threads, if necessary by an exception in a user's method."""
        self.stop()
        for _ in self._threads:
            self._tasks.put(None)
        self._join()
        for thread in self._threads:
            if thread.is_alive():
                end_python(thread.ident)
        self._join()

    def _join(self) -> None:
        until = time.monotonic() + GRACE_S
        for thread in self._threads:
            thread.join(max(until - time.monotonic(), 0.0))


class Given:
    """An executor that belongs to the caller."""

    def __init__(self, executor: Executor, limit_s: float | None = None) -> None:
        """Use `executor`; a run may take `limit_s`."""
        self._executor = executor
        self._client: Any = getattr(executor, "_client", None)
        """The client of dask.distributed that the executor belongs to, if any."""
        self._limit_s = limit_s
        self._metrics: Metrics | None = None
        self._alone_since: float | None = None

    @property
    def slots(self) -> int:
        """Number of workers at present, as far as it is known."""
        if self._client is not None:  # its cluster grows and shrinks
            return max(sum(self._workers().values()), UNKNOWN_SLOTS)  # a cluster without tasks would never grow
        return int(getattr(self._executor, "_max_workers", 0)) or UNKNOWN_SLOTS

    def submit(self, scenario: Scenario, key: Key, tables: tuple[str, ...], step_ns: int | None) -> Future[Computed]:
        """Begin a run, whose scenario must have the hash of `key` at the end, too."""
        named = scenario._core.classes()
        if named and not isinstance(self._executor, ThreadPoolExecutor):
            from wifair.extensions.class_sources import require_as_loaded  # noqa: PLC0415
            from wifair.extensions.extending import require_importable  # noqa: PLC0415

            names = [name for name, _ in named]
            require_importable(names)
            require_as_loaded(names, scenario._folder)
        task = Task(scenario.resolved, key.scenario, key.seed, tables, step_ns, VERSION, self._limit_s, self._metrics)
        return self._executor.submit(perform, task)

    def measure(self, metrics: Metrics) -> None:
        """Also compute these figures of each run; raise ValueError if other processes could not."""
        if self._client is None and not isinstance(self._executor, ThreadPoolExecutor):  # Dask sends any function
            metrics.require_picklable()
        self._metrics = metrics

    def _workers(self) -> dict[str, int]:
        """Get the cores of each worker; raise `StoppedError` when there has been none for `WORKERS_S`."""
        workers: dict[str, int] = {}
        with suppress(OSError, TimeoutError):  # the scheduler may come back, too
            workers = self._client.ncores()
        now = time.monotonic()
        self._alone_since = None if workers else self._alone_since or now
        if self._alone_since is not None and now - self._alone_since > WORKERS_S:
            raise StoppedError(f"the Dask cluster has had no worker for {WORKERS_S:g} s; repeat the command to go on")
        return workers

    def restart(self) -> bool:
        """Wait for workers of a Dask cluster to come back; other executors cannot be restarted."""
        until = time.monotonic() + WORKERS_S
        while self._client is not None and time.monotonic() < until:
            if self._client.status not in ("running", "connecting"):
                break
            with suppress(OSError, TimeoutError):
                if self._client.ncores():
                    return True
            time.sleep(RETRY_S)
        return False

    def stop(self) -> None:
        """Do nothing: the current runs go on to their end, but nobody waits for them."""

    def close(self) -> None:
        """Do nothing: the executor belongs to the caller."""


class Processes(Given):
    """Processes of this machine, replaced when they die."""

    def __init__(self, slots: int, limit_s: float | None = None) -> None:
        """`slots` processes; a run may take `limit_s`."""
        self._slots = slots
        super().__init__(self._make(), limit_s)

    @property
    def slots(self) -> int:
        """Processes."""
        return self._slots

    def _make(self) -> ProcessPoolExecutor:
        # A forked process would inherit locks that threads of this process hold.
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self._slots, mp_context=context, initializer=_begin_worker)

    def restart(self) -> bool:
        """Replace the workers."""
        self.stop()
        self._executor = self._make()
        return True

    def close(self) -> None:
        """End the processes."""
        self.stop()

    def stop(self) -> None:
        """End the processes."""
        processes = dict(getattr(self._executor, "_processes", None) or {})
        self._executor.shutdown(wait=False, cancel_futures=True)
        for process in processes.values():
            with suppress(OSError, ValueError, AttributeError):
                process.kill()


def _begin_worker() -> None:
    """Ignore Ctrl-C, which the parent handles, and exit when the parent has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()

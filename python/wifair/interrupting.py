"""Ends Python code in other threads: methods of users' classes that do not return."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from wifair import _core

GRACE_S = 0.3
"""A run that is asked to stop does so within milliseconds, unless it is in a method of the user's."""


def end_python(thread: int | None) -> None:
    """Raise `KeyboardInterrupt` in what Python code the thread of this number is in; nothing if it is in none."""
    if thread is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt))


class Limit:
    """Whether the time of a run is over."""

    def __init__(self) -> None:
        """Begin with time left."""
        self.expired = False


@contextmanager
def limited(control: _core.Control, limit_s: float | None) -> Iterator[Limit]:
    """Stop the run of this thread, also within a method of the user's, when `limit_s` are over."""
    limit = Limit()
    if limit_s is None:
        yield limit
        return
    over = threading.Event()
    thread = threading.get_ident()

    def watch() -> None:
        if over.wait(limit_s):
            return
        limit.expired = True
        control.stop()
        while not over.wait(GRACE_S):
            end_python(thread)

    watcher = threading.Thread(target=watch, name="wifair-limit", daemon=True)
    watcher.start()
    try:
        yield limit
    finally:
        over.set()
        watcher.join()

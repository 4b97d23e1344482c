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


@contextmanager
def limited(control: _core.Control, limit_s: float | None) -> Iterator[threading.Event]:
    """Stop the run of this thread after `limit_s`, even in a method of the user's. Yields an event that is set then."""
    expired = threading.Event()
    if limit_s is None:
        yield expired
        return
    over = threading.Event()
    thread = threading.get_ident()

    def watch() -> None:
        if over.wait(limit_s):
            return
        expired.set()
        control.stop()
        while not over.wait(GRACE_S):
            end_python(thread)

    watcher = threading.Thread(target=watch, name="wifair-limit", daemon=True)
    watcher.start()
    try:
        yield expired
    finally:
        over.set()
        watcher.join()

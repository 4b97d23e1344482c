"""What can go wrong."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = [
    "CaptureError",
    "EmulationError",
    "ExtensionError",
    "Interrupted",
    "Problem",
    "ResultsError",
    "RunError",
    "ScenarioError",
    "StoppedError",
    "StoreError",
    "TooLargeError",
    "WifairError",
]


class WifairError(Exception):
    """Base of all errors of this package."""

    exit_code = 2
    """Exit code of the command that it ends: 2 for what the user can put right, 1 for what failed while it ran."""


class Problem(NamedTuple):
    """One thing that is wrong with a scenario."""

    message: str
    """What is wrong."""
    path: str | None
    """The file it is in."""
    line: int | None
    """Line of the file, from 1."""
    key: str | None
    """The key it concerns."""


class ScenarioError(WifairError, ValueError):
    """A scenario that cannot be run. Its text shows every problem with its line."""

    def __init__(self, text: str, problems: tuple[Problem, ...] = ()) -> None:
        """`text` is what is shown; `problems` are the parts of it."""
        super().__init__(text)
        self.problems = tuple(Problem(*problem) for problem in problems)
        first = self.problems[0] if self.problems else Problem(text, None, None, None)
        self.path = first.path
        self.line = first.line
        self.key = first.key

    def __reduce__(self) -> tuple[type[ScenarioError], tuple[str, tuple[Problem, ...]]]:
        return type(self), (str(self), self.problems)


class EmulationError(WifairError, RuntimeError):
    """An emulation that cannot start: the system does not permit it, or a command names no host."""


class CaptureError(WifairError, ValueError):
    """A file that is not a capture."""


class ResultsError(WifairError, ValueError):
    """A folder without results, or a file that holds neither results nor a capture nor a scenario."""


class RunError(WifairError, RuntimeError):
    """A run that failed, which is a bug in wifair; `seed` says which run."""

    exit_code = 1

    def __init__(self, text: str, seed: int) -> None:
        """`text` is what happened in the run of `seed`."""
        super().__init__(text)
        self.seed = seed

    def __reduce__(self) -> tuple[type[RunError], tuple[str, int]]:
        return type(self), (str(self), self.seed)


class ExtensionError(WifairError, RuntimeError):
    """A class of the user's own raised an exception in a run, which is its ``__cause__``."""

    exit_code = 1

    def __init__(self, text: str, method: str, place: str, time_s: float, seed: int) -> None:
        """Say that `method`, as in ``Class.method``, of `place` raised at `time_s` in the run of `seed`."""
        super().__init__(text)
        self.method = method
        self.place = place
        self.time_s = time_s
        self.seed = seed

    def __reduce__(self) -> tuple[type[ExtensionError], tuple[str, str, str, float, int]]:
        return type(self), (str(self), self.method, self.place, self.time_s, self.seed)


class StoreError(WifairError, ValueError):
    """A folder that is not a store, or a store in another format."""


class StoppedError(WifairError, RuntimeError):
    """Runs that cannot go on: the disk is full, or the workers are gone. Finished runs are in the store."""

    exit_code = 1


class TooLargeError(WifairError, MemoryError):
    """A run that would need, or needs, more memory than there is."""

    @classmethod
    def of_run(cls, held_bytes: int, now_s: float) -> TooLargeError:
        """Say that a run was ended because it held so much."""
        return cls(
            f"the run was ended at {now_s:.6g} s: it held {held_bytes / 1e9:.3g} GB, and would soon have held more than"
            " is free; shorten `duration`, or let less happen at once"
        )


INTERRUPTION = "interrupted"
"""What `Capture.damage` says after Ctrl-C."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during `wifair.run`; `results` holds the seeds that had finished, None if none had.

    During `wifair.read_capture`, `capture` is what was read so far.

    During a sweep they are None: finished runs are in the store.
    """

    def __init__(self, results: Any = None, capture: Any = None) -> None:
        """`results` of the seeds that had finished."""
        super().__init__("interrupted")
        self.results = results
        self.capture = capture

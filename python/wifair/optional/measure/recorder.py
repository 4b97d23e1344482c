"""Records of bounded size over time, however long a transfer takes."""

from __future__ import annotations

from typing import Any

MOST_SAMPLES = 8000


class Recorder:
    """Rows of figures, at most one each `step_s`. When there are too many, half are dropped and the step doubles."""

    def __init__(self, names: tuple[str, ...], step_s: float) -> None:
        """`names` of the columns; the first is ``time_s``."""
        self.names = names
        self.step_s = step_s
        self.rows: list[tuple[Any, ...]] = []
        self._next_s = float("-inf")

    def wants(self, time_s: float) -> bool:
        """Whether to add a row at this time."""
        return time_s >= self._next_s

    def add(self, *row: Any) -> None:
        """Add a row, which begins with its time."""
        self.rows.append(row)
        self._next_s = row[0] + self.step_s
        if len(self.rows) > MOST_SAMPLES:
            del self.rows[1::2]
            self.step_s *= 2

    def columns(self) -> dict[str, list[Any]]:
        """Return the rows as lists by column."""
        rows = list(self.rows)  # another thread may add one
        return {name: [row[index] for row in rows] for index, name in enumerate(self.names)}

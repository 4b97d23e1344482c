"""Curves over time that stay small however long a transfer takes."""

from __future__ import annotations

from typing import Any

MOST_SAMPLES = 8000


class Recorder:
    """Rows of figures, one each `step_s` at most; of too many, every second one goes and the step doubles."""

    def __init__(self, names: tuple[str, ...], step_s: float) -> None:
        """`names` of the columns; the first is ``time_s``."""
        self.names = names
        self.step_s = step_s
        self.rows: list[tuple[Any, ...]] = []
        self._next_s = float("-inf")

    def wants(self, time_s: float) -> bool:
        """Whether a row at this time is to be kept."""
        return time_s >= self._next_s

    def add(self, *row: Any) -> None:
        """Keep a row; its time comes first."""
        self.rows.append(row)
        self._next_s = row[0] + self.step_s
        if len(self.rows) > MOST_SAMPLES:
            del self.rows[1::2]
            self.step_s *= 2

    def columns(self) -> dict[str, list[Any]]:
        """Give the rows as lists by column."""
        rows = list(self.rows)  # another thread may add one meanwhile
        return {name: [row[index] for row in rows] for index, name in enumerate(self.names)}

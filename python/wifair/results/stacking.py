"""Results of several runs in common tables: rows of each run are appended to the same columns, to save memory."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import NamedTuple

from wifair import _core
from wifair.columns import Columns

TABLES = ("flows", "cell", "stations", "sessions", "series", "queues", "frames", "backoffs")


class Run(NamedTuple):
    """What tells a run apart, and where its rows are."""

    seed: int
    measured_s: float
    events: int
    rows: dict[str, tuple[int, int]]
    """First row of each table, and their number."""


class _Column:
    """A column that grows: numbers as bytes, or texts."""

    def __init__(self, about: str) -> None:
        self.about = about
        self.kind = ""
        self.numbers = bytearray()
        self.texts: list[str] = []

    def add(self, data: _core.RawData) -> None:
        # A column without rows may come as numbers though others are texts.
        if isinstance(data, list):
            self.texts += map(sys.intern, data)
        else:
            if data[1] or not self.kind:
                self.kind = data[0]
            self.numbers += data[1]

    def data(self) -> _core.RawData:
        return self.texts if self.texts or not self.kind else (self.kind, bytes(self.numbers))


class Gathered:
    """Tables that grow run by run."""

    def __init__(self, outcomes: Iterable[_core.Outcome] = (), *, tables: Iterable[str] = TABLES) -> None:
        """Take in `outcomes`; of each run only these `tables` are kept."""
        self.runs: list[Run] = []
        self._wanted = tuple(tables)
        self._columns: dict[str, dict[str, _Column]] = {}
        self._rows: dict[str, int] = {}
        for outcome in outcomes:
            self.add(outcome)

    def add(self, outcome: _core.Outcome) -> None:
        """Take in a run."""
        rows = {}
        for name in self._wanted:
            columns: list[_core.RawColumn] | None = outcome.get(name)  # type: ignore[assignment]
            if columns is None:
                continue
            offset = self._rows.get(name, 0)
            length = self._add_table(name, outcome["seed"], columns)
            rows[name] = (offset, length)
            self._rows[name] = offset + length
        self.runs.append(Run(outcome["seed"], outcome["measured_s"], outcome["events"], rows))

    def _add_table(self, name: str, seed: int, columns: list[_core.RawColumn]) -> int:
        table = self._columns.setdefault(name, {"seed": _Column("Seed of the run.")})
        for column, about, data in columns:
            table.setdefault(column, _Column(about)).add(data)
        count = len(Columns({column: data for column, _, data in columns[:1]}))
        table["seed"].add(("<u8", seed.to_bytes(8, "little") * count))
        return count

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    def table(self, name: str) -> Columns:
        """Rows of all runs, with the seed as the first column. Without runs it is the only column."""
        columns = self._columns.get(name, {"seed": _Column("Seed of the run.")})
        about = {column: growing.about for column, growing in columns.items()}
        return Columns({column: growing.data() for column, growing in columns.items()}, about)

"""Results of an experiment, beside published values and values of ns-2."""

from __future__ import annotations

import csv
import io
import math
from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from wifair.columns import safe_text
from wifair.reproduce._reading import read_rows
from wifair.statistics import Interval, mean_interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from wifair.reproduce._model import Case

Label = str | int | float


@dataclass(frozen=True)
class Known:
    """A published value or a value of ns-2: a row of `expected.csv` or `ns2.csv`."""

    experiment: str
    quantity: str
    labels: dict[str, str]
    value: float
    source: str


def read_records(path: Path) -> list[dict[str, str]]:
    """Read the rows of a CSV file with comments behind ``#``; none if there is no such file."""
    return read_rows(path, (), dict)


def read_known(path: Path) -> list[Known]:
    """Read a CSV file with columns ``experiment``, ``quantity``, ``value``, ``source``; all others are labels."""
    fixed = ("experiment", "quantity", "value", "source", "seed")

    def known(row: dict[str, str]) -> Known:
        labels = {name: value for name, value in row.items() if name not in fixed and value}
        return Known(row["experiment"], row["quantity"], labels, float(row["value"]), row["source"])

    return read_rows(path, ("experiment", "quantity", "value", "source"), known)


@dataclass
class Row:
    """A quantity at a point of an experiment."""

    labels: dict[str, Label]
    quantity: str
    values: NDArray[np.float64]
    """One value for each seed."""
    published: float = math.nan
    ns2: list[float] = field(default_factory=list)
    """Values from runs of ns-2 with the same settings."""
    seeds: tuple[int, ...] | None = None
    """Seeds of the values; None if nothing in them is random."""
    case: Case | None = field(default=None, repr=False, compare=False)
    """The case that was run; None if the values were computed without a run."""
    why: str = ""
    """Why the row is far from published values or ns-2, if known."""

    def first(self, seeds: int) -> Row:
        """Keep the first seeds."""
        if self.seeds is None or len(self.seeds) <= seeds:
            return self
        return replace(self, values=self.values[:seeds], seeds=self.seeds[:seeds])

    def has(self, labels: Mapping[str, object]) -> bool:
        """Whether the row has all these labels; a list stands for any of its values."""
        return all(
            str(self.labels.get(name)) in map(str, value if isinstance(value, list) else [value])
            for name, value in labels.items()
        )

    @property
    def estimate(self) -> Interval:
        """Mean over the seeds that have a value, with the half width of its 95 % interval; see `undefined`."""
        return mean_interval(self.values.tolist())

    @property
    def ns2_mean(self) -> float:
        """Mean of the runs of ns-2; NaN if there are none."""
        return float(np.mean(self.ns2)) if self.ns2 else math.nan

    @property
    def is_far(self) -> bool:
        """Whether the mean deviates by 5 % or more from the published value or from ns-2."""
        known = [x for x in (self.published, self.ns2_mean) if np.isfinite(x) and x != 0]
        return any(abs(self.estimate.mean / x - 1) >= 0.05 for x in known)

    @property
    def has_ns2_in_range(self) -> bool:
        """Whether there are runs of ns-2, all within the range of the seeds, and no published value that is far."""
        if not self.ns2 or not len(self.values) or replace(self, ns2=[]).is_far:
            return False
        return bool(self.values.min() <= min(self.ns2) and max(self.ns2) <= self.values.max())

    @property
    def name(self) -> str:
        """The labels as short text."""
        return ", ".join(labelled(label, value) for label, value in self.labels.items())

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values, with None for missing ones."""
        finite = self.values[np.isfinite(self.values)]
        estimate = self.estimate
        return {
            **self.labels,
            "quantity": self.quantity,
            "value": json_number(estimate.mean),
            "ci95": json_number(estimate.half_width),
            "min": json_number(float(finite.min(initial=math.inf))),
            "max": json_number(float(finite.max(initial=-math.inf))),
            "seeds": len(self.values),
            "undefined": int(np.isnan(self.values).sum()),
            "published": json_number(self.published),
            "ns2": json_number(self.ns2_mean),
            "ns2_runs": len(self.ns2),
            "why": self.why,
        }


class Table:
    """All rows of an experiment."""

    def __init__(self, experiment: str, rows: Iterable[Row] = ()) -> None:
        """Hold `rows` of `experiment`, in the order in which they are shown."""
        self.experiment = experiment
        self.rows = list(rows)

    @cached_property
    def _by_quantity(self) -> dict[str, list[Row]]:
        found: dict[str, list[Row]] = defaultdict(list)
        for row in self.rows:
            found[row.quantity].append(row)
        return found

    def of(self, quantity: str) -> list[Row]:
        """Get the rows with this quantity."""
        return self._by_quantity.get(quantity, [])

    def first(self, seeds: int) -> Table:
        """Keep the first seeds of each row."""
        return Table(self.experiment, [row.first(seeds) for row in self.rows])

    def where(self, quantity: str | None = None, **labels: Label | list[Label]) -> Table:
        """Get the rows with this quantity and these labels; see `Row.has`."""
        some = self.rows if quantity is None else self.of(quantity)
        return Table(self.experiment, [row for row in some if row.has(labels)])

    def row(self, quantity: str, **labels: Label) -> Row:
        """Look up the one row with this quantity and these labels.

        Raises
        ------
        LookupError
            If there is none or more than one.
        """
        rows = self.where(quantity, **labels).rows
        if len(rows) != 1:
            raise LookupError(f"{self.experiment}: {len(rows)} rows with {quantity} and {labels}")
        return rows[0]

    def __call__(self, quantity: str, **labels: Label) -> float:
        """Get the mean of the row that `row` finds."""
        return self.row(quantity, **labels).estimate.mean

    def distinct(self, label: str) -> list[Any]:
        """Get the values of a label, in order of appearance."""
        return list(dict.fromkeys(row.labels[label] for row in self.rows if label in row.labels))

    @property
    def label_names(self) -> list[str]:
        """Names of all labels."""
        return list(dict.fromkeys(name for row in self.rows for name in row.labels))

    def put_beside(self, published: Iterable[Known], ns2: Iterable[Known]) -> None:
        """Attach published values and values of ns-2 to the rows."""
        for row in self.rows:
            row.published, row.ns2 = math.nan, []
        for known in published:
            for row in self._known(known):
                row.published = known.value
        for known in ns2:
            for row in self._known(known):
                row.ns2.append(known.value)

    def _known(self, known: Known) -> list[Row]:
        """Find the rows that a known value belongs to."""
        some = self.of(known.quantity) if known.experiment == self.experiment else ()
        return [row for row in some if row.has(known.labels)]

    def to_csv(self) -> str:
        """Convert to CSV, with a column for each label."""
        records = [row.to_dict() for row in self.rows]
        names = [*self.label_names, *(Row({}, "", np.empty(0)).to_dict())]
        out = io.StringIO()
        writer = csv.DictWriter(out, names, restval="", lineterminator="\n")
        writer.writerow({name: safe_text(name) for name in names})
        for record in records:  # an empty cell stands for None
            writer.writerow({name: safe_text(v) if isinstance(v, str) else v for name, v in record.items()})
        return out.getvalue()


def labelled(label: str, value: Label) -> str:
    """Write a label for readers: a text alone, a number behind the name of its label."""
    return value if isinstance(value, str) else f"{label} {value:g}"


def json_number(value: float) -> float | None:
    """Convert a number for JSON, which has neither NaN nor infinity; negative zero becomes zero."""
    return value + 0.0 if math.isfinite(value) else None

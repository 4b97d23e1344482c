"""Results of an experiment, beside published values and values of ns-2."""

from __future__ import annotations

import csv
import io
import math
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from wifair.columns import safe_text
from wifair.statistics import mean_interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from wifair.reproduce.model import Case

__all__ = ["Estimate", "Known", "Label", "Row", "Table", "read_known"]

Label = str | int | float


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds with the half width of its 95 % confidence interval; NaN if there is none.

    Arithmetic propagates the errors, assumed independent and small against the means (Gauss).

    Examples
    --------
    >>> Estimate(4.0, 0.3) - Estimate(1.0, 0.4)
    Estimate(mean=3.0, ci95=0.5)
    """

    mean: float
    ci95: float = math.nan

    @classmethod
    def of(cls, values: Iterable[float]) -> Estimate:
        """Estimate the mean of values, one for each seed."""
        interval = mean_interval(values)
        return cls(interval.mean, interval.half_width)

    def __add__(self, other: Estimate | float) -> Estimate:
        o = _estimate(other)
        return Estimate(self.mean + o.mean, math.hypot(self.ci95, o.ci95))

    def __sub__(self, other: Estimate | float) -> Estimate:
        o = _estimate(other)
        return Estimate(self.mean - o.mean, math.hypot(self.ci95, o.ci95))

    def __mul__(self, other: Estimate | float) -> Estimate:
        o = _estimate(other)
        return Estimate(self.mean * o.mean, math.hypot(self.ci95 * o.mean, o.ci95 * self.mean))

    def __truediv__(self, other: Estimate | float) -> Estimate:
        o = _estimate(other)
        if o.mean == 0:
            return Estimate(math.inf if self.mean else math.nan)
        ratio = self.mean / o.mean
        return Estimate(ratio, math.hypot(self.ci95 / o.mean, ratio * o.ci95 / o.mean))

    def __lt__(self, other: Estimate | float) -> bool:
        return self.mean < _estimate(other).mean

    def __le__(self, other: Estimate | float) -> bool:
        return self.mean <= _estimate(other).mean

    def __gt__(self, other: Estimate | float) -> bool:
        return self.mean > _estimate(other).mean

    def __ge__(self, other: Estimate | float) -> bool:
        return self.mean >= _estimate(other).mean

    def __float__(self) -> float:
        return self.mean


def _estimate(value: Estimate | float) -> Estimate:
    return value if isinstance(value, Estimate) else Estimate(float(value), 0.0)


@dataclass(frozen=True)
class Known:
    """A published value or a value of ns-2: a row of `expected.csv` or `ns2.csv`."""

    experiment: str
    quantity: str
    labels: dict[str, str]
    value: float
    source: str

    def fits(self, experiment: str, row: Row) -> bool:
        """Whether the value belongs to `row` of `experiment`."""
        if self.experiment != experiment or self.quantity != row.quantity:
            return False
        return all(str(row.labels.get(name)) == value for name, value in self.labels.items())


def read_known(path: Path) -> list[Known]:
    """Read a CSV file with columns ``experiment``, ``quantity``, ``value``, ``source``; all others are labels."""
    if not path.is_file():
        return []
    fixed = ("experiment", "quantity", "value", "source", "seed")
    with path.open(encoding="utf-8") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return [
            Known(
                row["experiment"],
                row["quantity"],
                {name: value for name, value in row.items() if name not in fixed and value},
                float(row["value"]),
                row["source"],
            )
            for row in rows
        ]


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

    @property
    def estimate(self) -> Estimate:
        """Mean over the seeds."""
        return Estimate.of(self.values.tolist())

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
    def name(self) -> str:
        """The labels as short text."""
        return ", ".join(f"{value}" if isinstance(value, str) else f"{k} {value:g}" for k, value in self.labels.items())

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values, with None for missing ones."""
        finite = self.values[np.isfinite(self.values)]
        estimate = self.estimate
        return {
            **self.labels,
            "quantity": self.quantity,
            "value": _plain(estimate.mean),
            "ci95": _plain(estimate.ci95),
            "min": float(finite.min()) + 0.0 if len(finite) else None,
            "max": float(finite.max()) + 0.0 if len(finite) else None,
            "seeds": len(self.values),
            "published": _plain(self.published),
            "ns2": _plain(self.ns2_mean),
            "ns2_runs": len(self.ns2),
        }


class Table:
    """All rows of an experiment."""

    def __init__(self, experiment: str, rows: Iterable[Row] = ()) -> None:
        """Hold `rows` of `experiment`, in the order in which they are shown."""
        self.experiment = experiment
        self.rows = list(rows)
        self._by_quantity: tuple[int, dict[str, list[Row]]] = (0, {})

    def of(self, quantity: str) -> list[Row]:
        """Get the rows with this quantity."""
        if self._by_quantity[0] != len(self.rows):  # rows were added
            found: dict[str, list[Row]] = defaultdict(list)
            for row in self.rows:
                found[row.quantity].append(row)
            self._by_quantity = (len(self.rows), dict(found))
        return self._by_quantity[1].get(quantity, [])

    def first(self, seeds: int) -> Table:
        """Keep the first seeds of each row."""
        return Table(self.experiment, [row.first(seeds) for row in self.rows])

    def where(self, quantity: str | None = None, **labels: Label) -> Table:
        """Get the rows with this quantity and these labels."""
        some = self.rows if quantity is None else self.of(quantity)
        rows = [row for row in some if all(row.labels.get(name) == value for name, value in labels.items())]
        return Table(self.experiment, rows)

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

    def __call__(self, quantity: str, **labels: Label) -> Estimate:
        """Get the mean of the row that `row` finds."""
        return self.row(quantity, **labels).estimate

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
            for row in self.of(known.quantity):
                if known.fits(self.experiment, row):
                    row.published = known.value
        for known in ns2:
            if known.experiment == self.experiment:
                for row in self.of(known.quantity):
                    if known.fits(self.experiment, row):
                        row.ns2.append(known.value)

    def to_csv(self) -> str:
        """Convert to CSV, with a column for each label."""
        records = [row.to_dict() for row in self.rows]
        names = [*self.label_names, *(Row({}, "", np.empty(0)).to_dict())]
        out = io.StringIO()
        writer = csv.DictWriter(out, names, restval="", lineterminator="\n")
        writer.writerow({name: safe_text(name) for name in names})
        writer.writerows({name: _cell(value) for name, value in record.items()} for record in records)
        return out.getvalue()


def named(labels: Mapping[str, Label]) -> str:
    """Format labels for a file name."""
    return "-".join(str(value).replace("/", "") for value in labels.values())


def _cell(value: Label | None) -> Label:
    return "" if value is None else safe_text(value) if isinstance(value, str) else value


def _plain(value: float) -> float | None:
    return value + 0.0 if math.isfinite(value) else None  # no negative zero

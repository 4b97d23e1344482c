"""What a reproduction is made of: papers, experiments, cases."""

from __future__ import annotations

import enum
import math
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from wifair.reproduce.claims import Claim, Claims, Recorded, read_claims, read_recorded
from wifair.reproduce.table import Known, Label, Table, read_known
from wifair.statistics import student_t_quantile

if TYPE_CHECKING:
    from pathlib import Path

    from wifair.reproduce.table import Row
    from wifair.results import Results
    from wifair.scenario import Scenario

__all__ = ["Case", "Deviation", "Draw", "Effort", "Experiment", "Measure", "Measured", "Paper"]


class Effort(enum.Enum):
    """How much is run."""

    QUICK = "quick"
    """Fewer seeds and shorter runs: a look within seconds."""
    FULL = "full"
    """Durations of the paper, and more seeds."""

    def pick(self, quick: Any, full: Any) -> Any:
        """One or the other."""
        return quick if self is Effort.QUICK else full

    @property
    def seeds(self) -> tuple[int, ...]:
        """Seeds that every case is run with at first."""
        return tuple(range(1, self.seeds_at(0) + 1))

    def seeds_at(self, look: int) -> int:
        """Count the seeds at a look at the data."""
        return SEEDS[self.value][look]

    @cache
    def shrink(self, look: int) -> float:
        """How wide intervals are at the last look, about, over how wide they are at this one."""
        now, last = self.seeds_at(look), self.seeds_at(self.looks - 1)
        quantiles = student_t_quantile(0.99, last - 1) / student_t_quantile(0.99, now - 1)
        return quantiles * math.sqrt(now / last)

    @property
    def looks(self) -> int:
        """How often a claim is looked at, as long as it is undecided and more seeds may decide."""
        return len(SEEDS[self.value])


SEEDS: Mapping[str, tuple[int, ...]] = {"quick": (3, 6, 12), "full": (5, 10, 20)}
"""Seeds at each look at the data."""


@dataclass(frozen=True)
class Case:
    """A point of an experiment: a scenario that is run with each of the seeds."""

    labels: Mapping[str, Label]
    """What is varied here, by the names that rows and figures show."""
    scenario: Scenario
    """What is run."""
    seeds: tuple[int, ...]
    """With which seeds."""
    series: str | None = None
    """Time between samples, where series are wanted: ``"100 ms"``; one only for each scenario."""
    random: bool = True
    """Whether seeds matter; where they do not, one run says it all."""


class Measured(NamedTuple):
    """A quantity of a case."""

    quantity: str
    """Its name, with the unit: ``goodput_mbps``."""
    values: Iterable[float]
    """One for each seed."""
    labels: Mapping[str, Label] = {}
    """More labels, where a case gives several rows of the quantity."""


Measure = Callable[[Case, "Results"], Iterator[Measured]]
"""Reduces the results of a case."""
Draw = Callable[[Any, Table], None]
"""Draws into a figure of matplotlib."""


@dataclass(frozen=True)
class Experiment:
    """An experiment of a paper."""

    id: str
    """Key of the experiment, as in ``claims.toml``: ``fig2a``."""
    title: str
    """What it shows."""
    cases: Callable[[Effort], Iterable[Case]]
    """What is run."""
    measure: Measure
    """What is measured in each case."""
    draw: Draw | None = None
    """The figure, as the paper would draw it; None if a table says it all."""
    size: tuple[float, float] = (3.5, 2.6)
    """Width and height of the figure [inch]."""
    shown: tuple[str, ...] = ()
    """Quantities that tables on screen and page show; all if empty. CSV and JSON have all in any case."""
    note: str = ""
    """What a reader must know to read it: settings, and where it departs."""
    compute: Callable[[], Iterable[tuple[Mapping[str, Label], Measured]]] | None = None
    """Rows that come from arithmetic and from no run."""


@dataclass(frozen=True)
class Deviation:
    """Why rows are far from what is known elsewhere."""

    experiment: str
    quantity: str
    where: Mapping[str, Label | list[Label]]
    """Labels of the rows; one of several, where there is a list."""
    why: str

    def fits(self, experiment: str, row: Row) -> bool:
        """Whether it is about this row."""
        return (self.experiment, self.quantity) == (experiment, row.quantity) and all(
            str(row.labels.get(label)) in ([str(v) for v in value] if isinstance(value, list) else [str(value)])
            for label, value in self.where.items()
        )


@dataclass(frozen=True)
class Paper:
    """A paper: experiments, claims, and what is known from elsewhere."""

    key: str
    """Key of the paper: ``jung2016``."""
    title: str
    """Authors, title, year."""
    folder: Path
    """Where its files lie: scenarios, `expected.csv`, `ns2.csv`, `claims.toml`, `verdicts.csv`, `README.md`."""
    experiments: tuple[Experiment, ...]
    """All of them, in the paper's order."""
    units: Mapping[str, str] = field(default_factory=dict)
    """What tables and axes call the quantities: ``{"goodput_mbps": "aggregate goodput [Mb/s]"}``."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What readers call the labels with numbers: ``{"n": "nodes"}``."""

    def experiment(self, key: str) -> Experiment:
        """Look up an experiment by its id; `LookupError` if there is none."""
        for experiment in self.experiments:
            if experiment.id == key:
                return experiment
        raise LookupError(f"{self.key} has no experiment `{key}`")

    @cached_property
    def declared(self) -> Claims:
        """What `claims.toml` declares: claims, what is left open, controls."""
        return read_claims(self.folder / "claims.toml")

    @property
    def claims(self) -> tuple[Claim, ...]:
        """All claims, in the order of `claims.toml`."""
        return self.declared.claims

    @cached_property
    def recorded(self) -> dict[str, dict[str, Recorded]]:
        """What runs of this version said of each claim, by effort."""
        return read_recorded(self.folder / "verdicts.csv")

    @cached_property
    def published(self) -> list[Known]:
        """Published values."""
        return read_known(self.folder / "expected.csv")

    @cached_property
    def ns2(self) -> list[Known]:
        """Values of ns-2."""
        return read_known(self.folder / "ns2.csv")

    @cached_property
    def deviations(self) -> list[Deviation]:
        """Why some values are far from published ones, or from those of ns-2."""
        path = self.folder / "deviations.toml"
        if not path.is_file():
            return []
        entries = tomllib.loads(path.read_text(encoding="utf-8"))["deviation"]
        return [Deviation(**entry) for entry in entries]

    def scenarios(self) -> list[Path]:
        """Scenario files."""
        return sorted(self.folder.glob("*.toml"), key=lambda path: path.name)

"""The data model of a reproduction: papers, experiments, cases."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from wifair.reproduce._claims import Claim, Claims, Recorded, read_recorded
from wifair.reproduce._declaring import Vocabulary, read_claims
from wifair.reproduce._null_results import NullResult, read_nulls
from wifair.reproduce._reading import read_toml
from wifair.reproduce.table import Known, Label, Row, Table, read_known
from wifair.results.results import Results
from wifair.scenario.scenario import Scenario
from wifair.statistics import student_t_quantile


class Effort(enum.Enum):
    """How much of a paper is run."""

    QUICK = "quick"
    """Fewer seeds and shorter runs."""
    FULL = "full"
    """The durations of the paper, and more seeds."""

    def pick(self, quick: Any, full: Any) -> Any:
        """Choose between two values by effort."""
        return quick if self is Effort.QUICK else full

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds with which every case is run at first."""
        return tuple(range(1, self.seeds_at(0) + 1))

    def seeds_at(self, look: int) -> int:
        """Count the seeds at a look at the data."""
        return SEEDS[self.value][look]

    @cache
    def shrink(self, look: int) -> float:
        """Approximate the width of intervals at the last look over their width at this one; 0 at the first look.

        After the first look an interval says little about its width with more seeds.
        """
        if look == 0:
            return 0.0
        now, last = self.seeds_at(look), self.seeds_at(self.looks - 1)
        quantiles = student_t_quantile(0.99, last - 1) / student_t_quantile(0.99, now - 1)
        return quantiles * math.sqrt(now / last)

    @property
    def looks(self) -> int:
        """The most looks at a claim, of which each after the first has more seeds."""
        return len(SEEDS[self.value])


SEEDS: Mapping[str, tuple[int, ...]] = {"quick": (4, 8, 16), "full": (5, 10, 20, 40)}
"""Number of seeds at each look at the data."""


def scenarios_of(folder: Path) -> Callable[[str], Scenario]:
    """Make a function that reads a scenario of `folder` by its name, once for all cases that begin from it."""
    return cache(lambda name: Scenario.from_file(folder / name))


@dataclass(frozen=True)
class Case:
    """A point of an experiment: a scenario, and the seeds that it is run with."""

    labels: Mapping[str, Label]
    """The varied parameters, by the names that rows and figures show."""
    scenario: Scenario
    """The scenario that is run."""
    seeds: tuple[int, ...]
    """The seeds that it is run with."""
    series: str | None = None
    """Time between samples if a series is needed, such as ``"100 ms"``; the same for all cases of a scenario."""
    random: bool = True
    """Whether results depend on the seed; if not, one run is enough."""


class Measured(NamedTuple):
    """A quantity of a case."""

    quantity: str
    """Its name, with the unit: ``goodput_mbps``."""
    values: Iterable[float]
    """One value for each seed."""
    labels: Mapping[str, Label] = {}
    """Further labels, if a case gives several rows of the quantity."""


Cases = Callable[[Effort], Iterable[Case]]
"""Makes the cases of an experiment."""
Measure = Callable[[Case, "Results"], Iterator[Measured]]
"""Computes the measured quantities from the results of a case."""
Draw = Callable[[Any, Table], None]
"""Draws a table into a figure of matplotlib."""


@dataclass(frozen=True)
class Experiment:
    """An experiment of a paper."""

    id: str
    """Key of the experiment, as in ``claims.toml``: ``fig2a``."""
    title: str
    """What the experiment shows."""
    cases: Cases
    """The cases that are run."""
    measure: Measure
    """The quantities measured in each case."""
    draw: Draw | None = None
    """The figure, drawn as in the paper; None if a table is enough."""
    size: tuple[float, float] = (3.5, 2.6)
    """Width and height of the figure [inch]."""
    shown: tuple[str, ...] = ()
    """Quantities shown in tables on the terminal and on pages; all if empty. CSV and JSON always have all."""
    note: str = ""
    """What a reader needs to know: settings, and departures from the paper."""
    compute: Callable[[], Iterable[tuple[Mapping[str, Label], Measured]]] | None = None
    """Rows that are computed without a run."""


@dataclass(frozen=True)
class Deviation:
    """The reason why rows are far from published values or from ns-2."""

    experiment: str
    quantity: str
    where: Mapping[str, Label | list[Label]]
    """Labels of the rows, as for `Row.has`."""
    why: str
    tested: str
    """The experiment that tested the reason."""

    @property
    def text(self) -> str:
        """The reason, with the experiment that tested it."""
        return f"{self.why} (tested: {self.tested})"

    def fits(self, experiment: str, row: Row) -> bool:
        """Whether the deviation applies to a row."""
        return (self.experiment, self.quantity) == (experiment, row.quantity) and row.has(self.where)


@dataclass(frozen=True)
class Paper:
    """A paper: experiments, claims, published values, and values of ns-2."""

    folder: Path
    """Folder of its files: `paper.toml`, `claims.toml`, scenarios, `expected.csv`, `ns2.csv`, `verdicts.csv`, ..."""
    experiments: tuple[Experiment, ...]
    """All experiments, in the paper's order."""

    @property
    def key(self) -> str:
        """Key of the paper: ``jung2016``."""
        return self.folder.name

    @cached_property
    def _about(self) -> dict[str, Any]:
        return read_toml(self.folder / "paper.toml", {"title": str, "units": dict})

    @property
    def title(self) -> str:
        """Authors, title, year."""
        return str(self._about["title"])

    @property
    def cite(self) -> str:
        """Authors and year, in short."""
        return str(self._about.get("cite", self.title))

    @property
    def defined(self) -> Mapping[str, str]:
        """How the paper defines quantities, and where."""
        return dict(self._about.get("defined", {}))

    @property
    def units(self) -> Mapping[str, str]:
        """Names of quantities in tables and on axes: ``{"goodput_mbps": "aggregate goodput [Mb/s]"}``."""
        return dict(self._about["units"])

    @property
    def names(self) -> Mapping[str, str]:
        """Names of numeric labels for readers: ``{"n": "nodes"}``."""
        return dict(self._about.get("names", {}))

    def experiment(self, key: str) -> Experiment:
        """Look up an experiment by its id; `LookupError` if there is none."""
        for experiment in self.experiments:
            if experiment.id == key:
                return experiment
        raise LookupError(f"{self.key} has no experiment `{key}`")

    @cached_property
    def declared(self) -> Claims:
        """The declarations in `claims.toml`: claims, open points, controls.

        Raises
        ------
        PaperError
            If something in the file is wrong.
        """
        return read_claims(self.folder / "claims.toml", self.vocabulary)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The names that claims may use."""
        cases = {
            one.id: [
                *(case.labels for effort in Effort for case in one.cases(effort)),
                *({**labels, **item.labels} for labels, item in (one.compute() if one.compute is not None else ())),
            ]
            for one in self.experiments
        }
        return Vocabulary(cases, tuple(self.units))

    @property
    def claims(self) -> tuple[Claim, ...]:
        """All claims, in the order of `claims.toml`."""
        return self.declared.claims

    @cached_property
    def recorded(self) -> dict[str, dict[str, Recorded]]:
        """The recorded verdicts on each claim, by effort."""
        return read_recorded(self.folder / "verdicts.csv")

    @property
    def words(self) -> Mapping[str, str]:
        """Values of labels in words: ``{"off": "RTS off"}``."""
        return dict(self._about.get("words", {}))

    @cached_property
    def nulls(self) -> dict[str, dict[str, NullResult]]:
        """The recorded results with generic nulls, by claim and null."""
        return read_nulls(self.folder / "nulls.csv")

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
        """The reasons why some values are far from published ones or from ns-2."""
        path = self.folder / "deviations.toml"
        if not path.is_file():
            return []
        entries = read_toml(path, {"deviation": list})["deviation"]
        return [Deviation(**entry) for entry in entries]

"""`wifair.sweep`: a scenario over parameters and seeds."""

from __future__ import annotations

import math
import os
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, TypedDict, Unpack

from wifair import _core
from wifair.scenario import toml
from wifair.scenario.scenario import Scenario, Source, scenario_of
from wifair.simulation.seeds import Seeding, read_seeds
from wifair.statistics import FEWEST, mean_interval
from wifair.sweeps.compute import engine_of, kept_of
from wifair.sweeps.engines import Engine
from wifair.sweeps.own_figures import TABLE, Metric, Metrics, metrics_of
from wifair.sweeps.points import Axes, Points, listed_of, options_of
from wifair.sweeps.runs import Runs
from wifair.sweeps.store import MOST_SEED, Kept, Key, Label, Store
from wifair.sweeps.work import Progress, Work

GROWTH = 4
"""A point whose interval is too wide gets a quarter more seeds."""


class Shard(NamedTuple):
    """A share of a sweep: `number`, from 1, of so many."""

    number: int
    """Number of the share, from 1."""
    of: int
    """Number of shares."""

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read ``I/N``.

        Raises
        ------
        ValueError
            If it is not that, with I between 1 and N.
        """
        number, slash, count = text.partition("/")
        try:
            shard = cls(int(number), int(count))
        except ValueError:
            shard = cls(0, 0)
        if not slash or not 1 <= shard.number <= shard.of:
            raise ValueError(f"`{text}` is no shard: write I/N, as in 1/4 ... 4/4")
        return shard

    def has(self, index: int) -> bool:
        """Whether item `index`, from 0, belongs to the share."""
        return index % self.of == self.number - 1


WHOLE = Shard(1, 1)


class Sweep:
    """The runs of a sweep, all checked: points times seeds.

    Attributes
    ----------
    points : Points
        The points.
    seeds : list of int
        Seeds of each point, or the first of them where `rules` ask for more.
    rules : list of tuple
        When a point has enough seeds.
    """

    def __init__(
        self,
        points: Points,
        seeds: Seeding | None = None,
        *,
        rules: Iterable[_core.Rule] = (),
        shard: Shard = WHOLE,
    ) -> None:
        """See `sweep`; the scenario says what is not given."""
        base = points.base
        self.points = points
        self.seeds = read_seeds(base.seeds if seeds is None else seeds, bound=MOST_SEED + 1)
        self.rules = list(rules) or base._core.stop_when
        self.most_seeds = base._core.most_seeds
        self.shard = shard
        if self.rules and len(self.seeds) < FEWEST:
            few = "1 seed is" if len(self.seeds) == 1 else f"{len(self.seeds)} seeds are"
            raise ValueError(f"{few} too few to stop by an interval: begin with {FEWEST} at least")
        if self.rules and len(self.seeds) > self.most_seeds:
            raise ValueError(f"{len(self.seeds)} seeds, but at most {self.most_seeds} are allowed")
        self._first: dict[str, int] = {}
        for index, scenario in enumerate(points.hashes):
            self._first.setdefault(scenario, index)

    @property
    def scenarios(self) -> list[str]:
        """Hashes of the scenarios, each once, in the order of their first points."""
        return list(self._first)

    def runs(self) -> Iterator[Key]:
        """List the initial runs: all points with the first seed, then with the second, ...

        So a part of the sweep resembles the whole, and its rate tells how long the rest takes.
        """
        of_point = bool(self.rules)  # the process that decides on more seeds must know all runs of the point
        number = 0
        for seed in self.seeds:
            for place, scenario in enumerate(self._first):
                if self.shard.has(place if of_point else number):
                    yield Key(scenario, seed)
                number += 1

    def count(self) -> int:
        """Count the initial runs."""
        return sum(1 for _ in self.runs())

    def of(self, scenario: str) -> Scenario:
        """Create the scenario with this hash."""
        return self.points.scenario(self._first[scenario])

    def place(self, scenario: str) -> int:
        """Return the number of the first point whose scenario has this hash."""
        return self._first[scenario]

    def labels(self, scenario: str) -> dict[str, Label]:
        """Return the labels of the first point whose scenario has this hash."""
        return self.points.labels(self._first[scenario])

    def labelled(self) -> Iterator[tuple[str, dict[str, Label]]]:
        """List hashes and labels of all points."""
        return ((scenario, self.points.labels(index)) for index, scenario in enumerate(self.points.hashes))

    def following(self, count: int) -> list[int]:
        """List the seeds to add to the first `count` of a point."""
        more = min(max(count // GROWTH, 1), self.most_seeds - count)
        return self.seeds_of(count + more)[count:]

    def seeds_of(self, count: int) -> list[int]:
        """List the first `count` seeds of a point."""
        further = max(self.seeds) + 1
        return [*self.seeds, *range(further, further + count - len(self.seeds))][:count]


class SweepSource:
    """Supplies the runs of a sweep, with more seeds for points whose interval is too wide."""

    def __init__(self, sweep: Sweep, store: Store) -> None:
        """Supply the runs of `sweep`, whose results go into `store`."""
        self._sweep = sweep
        self._store = store
        self._keys = sweep.runs()
        self._more: deque[Key] = deque()
        self._begun: dict[str, int] = {}
        self._open: dict[str, int] = {}
        self.wide: set[str] = set()
        self.total = sweep.count()
        self._scenario = lru_cache(maxsize=256)(sweep.of)
        if sweep.rules:
            for place, scenario in enumerate(sweep.scenarios):
                if sweep.shard.has(place):
                    self._begun[scenario] = self._open[scenario] = len(sweep.seeds)

    def take(self) -> Key | None:
        """Return the next run."""
        if self._more:
            return self._more.popleft()
        return next(self._keys, None)

    def scenario(self, key: Key) -> Scenario:
        """Create the scenario of a run."""
        return self._scenario(key.scenario)

    def finished(self, key: Key) -> None:
        """Take note that a run has finished or failed."""
        scenario = key.scenario
        if scenario not in self._open:
            return
        self._open[scenario] -= 1
        if self._open[scenario] > 0:
            return
        count = self._begun[scenario]
        if self._enough(scenario, count):
            return
        more = self._sweep.following(count)
        if not more:
            self.wide.add(scenario)
            return
        self._begun[scenario] += len(more)
        self._open[scenario] = len(more)
        self.total += len(more)
        self._more += [Key(scenario, seed) for seed in more]

    def _enough(self, scenario: str, count: int) -> bool:
        """Whether all rules hold for the first `count` seeds; other seeds in the store do not count."""
        seeds = set(self._sweep.seeds_of(count))
        figures = [rule[1] for rule in self._sweep.rules]
        values = [row[1:] for row in self._store.values(scenario, figures) if row[0] in seeds]
        return all(
            _holds([row[i] for row in values], limit, relative)
            for i, (_, _, limit, relative) in enumerate(self._sweep.rules)
        )

    def wanted(self) -> list[tuple[Key, dict[str, Label]]]:
        """List all requested runs with their labels, in the order of points and seeds."""
        mine = None if self._open or self._sweep.shard == WHOLE else set(self._sweep.runs())
        wanted = []
        for index, scenario in enumerate(self._sweep.points.hashes):
            seeds = self._sweep.seeds
            if self._sweep.rules:
                seeds = self._sweep.seeds_of(self._begun[scenario]) if scenario in self._begun else []
            keys = [Key(scenario, seed) for seed in seeds]
            if mine is not None:
                keys = [key for key in keys if key in mine]
            if keys:
                labels = self._sweep.points.labels(index)
                wanted += [(key, labels) for key in keys]
        return wanted


class SweepOptions(TypedDict, total=False):
    """What `sweep` takes besides the points, the seeds and the store; each has a default.

    Attributes
    ----------
    samples : int
        How often to draw the parameters that have a distribution.
    design : str
        How samples are drawn: ``latin-hypercube`` (default) or ``random``.
    sample_seed : int
        Seed of the samples; 1 by default.
    most_seeds : int
        Maximum number of seeds of a point, for ``stop_when``.
    tables : iterable of str
        Tables of each run to keep; see `wifair.sweeps.compute`, as for all that follow.
    series : str
        Time between samples of the series to keep.
    executor : Executor
        Where runs are executed.
    threads : int
        Number of threads.
    time_limit : str
        The longest CPU time of a run.
    shard : str or pair of int
        Only this share of the runs: ``"1/4"`` to ``"4/4"``.
    """

    samples: int | None
    design: str | None
    sample_seed: int | None
    most_seeds: int | None
    tables: Iterable[str] | None
    series: str | None
    executor: Executor | None
    threads: int | None
    time_limit: str | None
    shard: str | tuple[int, int] | None


def sweep(
    scenario: Source,
    *,
    vary: Axes | Iterable[str] | None = None,
    points: Iterable[Mapping[str, object]] | None = None,
    seeds: Seeding | None = None,
    stop_when: str | Iterable[str] | None = None,
    out: Store | str | os.PathLike[str] | None = None,
    metrics: Mapping[str, Metric] | None = None,
    progress: Callable[[Progress], object] | None = None,
    **options: Unpack[SweepOptions],
) -> Runs:
    """Simulate a scenario for all combinations of parameters, each with several seeds.

    Runs that the store `out` already has are not computed again, no matter in which order or on which machine they
    were computed.

    Parameters
    ----------
    scenario : Scenario, path or mapping
        What to simulate. Its ``[sweep]`` is used for everything not given here.
    vary : mapping or iterable of str, optional
        By path: a list of values; a text as after ``--vary`` (``"2..20:2"``, ``"reno, vegas"``,
        ``"uniform(1 ms, 9 ms)"``, ``"{2 * stations.count} packets"``); or a function that computes the value from the
        others of the point. Several span a grid. A tuple of paths takes a list of tuples whose values go together. A
        list of texts holds ``PATH = VALUES`` each.
    points : iterable of mapping, optional
        Listed points, by path; each is combined with every point of the grid.
    seeds : int, str or iterable of int, optional
        Seeds of each point, as in ``"1..10"``; those of the scenario by default.
    stop_when : str or iterable of str, optional
        Add seeds until ``"ci(jain_index) < 0.01"`` holds, or ``"ci(goodput_bps) < 5 %"``: the half width of the 95 %
        interval of the mean. If there are several rules, all must hold.
    out : Store or path, optional
        The store; by default a temporary one.
    metrics : mapping of str to callable, optional
        Figures of your own: a function for each name. It gets the `Results` of one run, with all tables (``series``
        only if asked for), and returns a number, which becomes a column of `Runs.figures`. Runs in the store that lack
        one of them, or have it from another function of that name, are computed again.
    progress : callable, optional
        See `wifair.sweeps.compute`.
    **options
        Of `SweepOptions`: ``samples``, ``design``, ``sample_seed``, ``most_seeds``, ``tables``, ``series``,
        ``executor``, ``threads``, ``time_limit``, ``shard``.

    Returns
    -------
    Runs
        A row for each point and seed, which begins with the varied parameters, and the failed runs.

    Raises
    ------
    ScenarioError
        If the scenario, or one of the points, cannot be run.
    ValueError
        If an argument is invalid, or would change nothing.
    StoreError, StoppedError, Interrupted
        See `wifair.sweeps.compute`.

    Examples
    --------
    >>> runs = sweep(
    ...     "hot-spot.toml",
    ...     vary={"stations.count": [2, 8, 20], "flows.tcp.cc": ["reno", "vegas"]},
    ...     seeds=range(1, 11),
    ...     out="results",
    ... )  # doctest: +SKIP
    >>> runs.summary(by="flows.tcp.cc")["jain_index"]  # doctest: +SKIP
    """
    unknown = sorted(set(options) - set(SweepOptions.__annotations__))
    if unknown:
        raise TypeError(f"sweep has no argument `{unknown[0]}`")
    given = {name: options.get(name) for name in ("samples", "design", "sample_seed", "most_seeds")}
    settings = [(name, f"sweep.{name}={toml.value(value, name)}") for name, value in given.items() if value is not None]
    tables, series, shard = options.get("tables"), options.get("series"), options.get("shard")
    base = scenario_of(scenario)._changed(settings)
    axes, dependent = options_of(vary or {})
    texts = [stop_when] if isinstance(stop_when, str) else list(stop_when or [])
    asked = Sweep(
        Points(base, axes, listed_of(points or []), dependent),
        seeds,
        rules=[_core.stop_rule("stop_when", text) for text in texts],
        shard=Shard.parse(shard) if isinstance(shard, str) else Shard(*shard) if shard else WHOLE,
    )
    if not asked.points.drawn and (given["design"] is not None or given["sample_seed"] is not None):
        raise ValueError("`design` and `sample_seed` change nothing: no parameter has a distribution")
    if not asked.rules and given["most_seeds"] is not None:
        raise ValueError("`most_seeds` changes nothing without `stop_when`")
    kept = list(base._core.tables if tables is None else tables)
    kept_of(kept, series)  # report wrong arguments before the store is created
    own = metrics_of(metrics or {})
    with ExitStack() as stack:
        temporary = out is None
        if out is None:
            out = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wifair-sweep-"))) / "store"
        store = out if isinstance(out, Store) else stack.enter_context(Store(out))
        engine = engine_of(options.get("executor"), options.get("threads"), options.get("time_limit"))
        stack.callback(engine.close)
        runs = run_sweep(asked, store, engine, kept, series, progress, own)
        if temporary:
            runs.load()
        return runs


def run_sweep(
    asked: Sweep,
    store: Store,
    engine: Engine,
    tables: Iterable[str],
    series: str | None,
    report: Callable[[Progress], object] | None,
    metrics: Metrics | None = None,
) -> Runs:
    """Compute the runs of a sweep that the store lacks."""
    kept, step_ns = kept_of(tables, series)
    if metrics is not None:
        engine.measure(metrics)
        kept.append(Kept(TABLE, metrics.detail))
    store.add_points(asked.labelled())
    source = SweepSource(asked, store)
    Work(store, source, engine, kept=kept, step_ns=step_ns, report=report).run()
    return Runs(store.path, source.wanted(), [name for name, _ in kept], wide=len(source.wide))


def _holds(values: list[float | None], limit: float, relative: bool) -> bool:
    known = [value for value in values if value is not None]
    if not known:
        return True  # the figure does not exist here, even with more seeds
    mean, half = mean_interval(known)
    return half <= (limit * abs(mean) if relative else limit) and not math.isnan(half)

"""Queries of a store: selected runs, and averages by group."""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wifair import _core
from wifair.columns import Columns
from wifair.statistics import FEWEST, Interval, limits, student_t_quantile
from wifair.sweeps._reading import ABOUT, chunks, fetch
from wifair.sweeps.own_figures import TABLE
from wifair.sweeps.schema import quoted
from wifair.sweeps.store import Store

CONDITION = re.compile(r"\s*([^<>=!]+?)\s*(<=|>=|!=|==?|<|>)\s*([^<>=!].*?)\s*", re.S)

MOST_SHOWN = 12
"""The most names in a message."""

PROVENANCE = ("scenario", "seed", "version", "finished", "host", "wall_s", "measured_s", "events")
"""Columns of a run that conditions may use besides labels and figures."""

SHORT_HASH = 12
"""Digits of a scenario's hash in tables and conditions."""


MEANINGS = {
    "ci95": "Half width of the 95 % interval of the mean over the seeds (Student t).",
    "low": "Lower end of the interval, not below what is possible.",
    "high": "Upper end of the interval, not above what is possible.",
    "seeds": "Number of seeds that have the figure.",
}
"""Meanings of the columns beside a mean, by the endings of their names."""


class Condition(NamedTuple):
    """A condition on a run: ``stations.count >= 4`` or ``flows.tcp.cc = reno, vegas``."""

    name: str
    """Label, figure or other column."""
    operator: str
    """One of ``= != < <= > >=``."""
    values: tuple[str, ...]
    """The values to compare with; ``=`` and ``!=`` take several."""

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Read a condition.

        Raises
        ------
        ValueError
            If it is none.
        """
        match = CONDITION.fullmatch(text)
        if match is None:
            raise ValueError(f"`{text}` is no condition: write it as in stations.count>=4 or flows.tcp.cc=reno,vegas")
        operator = "=" if match[2] == "==" else match[2]
        values = tuple(value.strip() for value in match[3].split(","))
        if len(values) > 1 and operator not in ("=", "!="):
            raise ValueError(f"`{text}` compares with several values: only = and != do that")
        return cls(match[1], operator, values)

    def sql(self, column: str) -> tuple[str, list[object]]:
        """Convert to SQL. Numbers and quantities are compared as numbers, other values as texts."""
        parts: list[str] = []
        values: list[object] = []
        for value in self.values:
            number = _core.number_of(value)
            if number is not None:
                parts.append(f"number_of({column}) {self.operator} ?")
                values.append(number)
            else:
                parts.append(f"{column} {self.operator} ?")
                values.append(value)
        return "(" + (" AND " if self.operator == "!=" else " OR ").join(parts) + ")", values


def version_of(store: Store, conditions: Sequence[Condition]) -> tuple[str | None, list[str]]:
    """Choose the version whose runs are shown, and list the others. It is None if a condition selects versions."""
    versions = list(store.versions())
    if any(condition.name == "version" for condition in conditions):
        return None, []
    return (versions[-1] if versions else None), versions[:-1]


def scenarios_differ(
    store: Store,
    labels: Sequence[str],
    where: Iterable[Condition] = (),
    table: str = "runs",
    version: str | None = None,
) -> bool:
    """Whether runs of different scenarios agree in all `labels`, because the scenario itself was changed."""
    question = ask(store, where=where, table=table, columns=[*labels, "scenario"], version=version)
    groups = f"GROUP BY {', '.join(map(quoted, labels))}" if labels else ""
    counts = f"SELECT count(DISTINCT scenario) AS scenarios FROM ({question.query}) {groups}"
    query = f"SELECT 1 FROM ({counts}) WHERE scenarios > 1 LIMIT 1"
    with store.reading():
        return _prepared(store).execute(query, question.values).fetchone() is not None


def name_of(name: str, known: Sequence[str], what: str, store: Store | None = None) -> str:
    """Find the column with a name, or the only one whose name ends or begins with it.

    Raises
    ------
    ValueError
        If there is none, or more than one; it names the tables of the store that have one.
    """
    near = _near(name, known)
    if len(near) == 1:
        return near[0]
    if near:
        raise ValueError(f"{what} `{name}` could be {' or '.join(near)}")
    elsewhere = [(table, _near(name, _own(store, table))) for table in store.tables()] if store is not None else []
    places = [
        f"--table {table} has {'it' if found == [name] else ', '.join(found[:MOST_SHOWN])}"
        for table, found in elsewhere
        if found
    ]
    if places:
        raise ValueError(f"no {what} `{name}`, but {' and '.join(places)}")
    words = {word: other for other in known for word in (other.partition("_")[0], other.rpartition(".")[2], other)}
    close = get_close_matches(name, words, n=1, cutoff=0.75)
    if close:
        raise ValueError(f"no {what} `{name}`: did you mean `{words[close[0]]}`?")
    shown = ", ".join(known[:MOST_SHOWN]) + (", ..." if len(known) > MOST_SHOWN else "")
    raise ValueError(f"no {what} `{name}`: {f'there are {shown}' if known else 'there are none'}")


def _near(name: str, known: Sequence[str]) -> list[str]:
    """Find the columns that a name stands for."""
    if name in known:
        return [name]
    ends = [other for other in known if other.endswith(f".{name}")]
    return ends or [other for other in known if other.startswith(name)]


def _own(store: Store, table: str) -> list[str]:
    """List the columns that a table adds to labels and seed."""
    own = store.figures() if table == "runs" else []
    return own + [name for name in store.columns(TABLE if table == "runs" else table) if name != "run"]


class Question(NamedTuple):
    """A query for rows of a store; see `ask`."""

    names: list[str]
    """Columns."""
    query: str
    """The query in SQL."""
    values: list[object]
    """Parameters of the query."""
    about: dict[str, str]
    """What the columns mean."""
    tables: tuple[str, ...]
    """Tables that it reads."""


def ask(
    store: Store,
    *,
    where: Iterable[Condition] = (),
    table: str = "runs",
    columns: Sequence[str] | None = None,
    version: str | None = None,
) -> Question:
    """Ask for rows of finished runs, in the order of points and seeds.

    Parameters
    ----------
    store : Store
        Where from.
    where : iterable of Condition
        What must hold.
    table : str, default "runs"
        ``runs`` for the figures of each run, or a table that was kept, such as ``flows``.
    columns : sequence of str, optional
        Which labels, ``seed`` and figures; all by default.
    version : str, optional
        Which version of wifair; all by default.

    Returns
    -------
    Question
        For `select` or `stream`.

    Raises
    ------
    ValueError
        If a name is unknown.
    """
    labels = store.labels()
    own = _own(store, table)
    if not own and table != "runs":
        raise ValueError(f"table `{table}` was not kept in `{store.path}`")
    place = {name: f"r.{quoted(name)}" for name in (*PROVENANCE, *store.figures())}
    place["scenario"] = f"substr(r.scenario, 1, {SHORT_HASH})"
    place |= {name: f"t.{quoted(name)}" for name in own if table != "runs" or name not in place}
    place = {**{name: f"p.{quoted(name)}" for name in labels if name not in place}, **place}
    known = list(place)
    names = [*(name for name in labels if place[name][0] == "p"), "seed", *own] if columns is None else list(columns)
    names = list(dict.fromkeys(name_of(name, known, "column", store) for name in names))
    test = "r.status = 'done'"
    values: list[object] = []
    if version is not None:
        test += " AND r.version = ?"
        values.append(version)
    for condition in where:
        name = name_of(condition.name, known, "column", store)
        short = tuple(value.lower()[:SHORT_HASH] for value in condition.values)
        part, given = (condition._replace(values=short) if name == "scenario" else condition).sql(place[name])
        test += f" AND {part}"
        values += given
    joined = "FROM points p JOIN runs r ON r.scenario = p.scenario"
    order = "p.point, r.seed"
    tables: tuple[str, ...] = (table,)
    if table != "runs":
        joined += f" JOIN {quoted(table)} t ON t.run = r.run"
        order += ", t.rowid"
    elif store.columns(TABLE):
        joined += f" LEFT JOIN {TABLE} t ON t.run = r.run"
        tables += (TABLE,)
    selected = ", ".join(f"{place[name]} AS {quoted(name)}" for name in names)
    query = f"SELECT {selected} {joined} WHERE {test} ORDER BY {order}"
    return Question(names, query, values, {**ABOUT, **store.meanings(TABLE), **store.meanings(table)}, tables)


def select(store: Store, question: Question | None = None) -> Columns:
    """Execute a query; by default it selects all runs."""
    asked = question or ask(store)
    store.verify(asked.tables)
    with store.reading():
        return Columns(fetch(_prepared(store), asked.query, asked.values, asked.names), asked.about)


def stream(store: Store, question: Question) -> Iterator[Columns]:
    """Execute a query in parts, for results that are too large for memory."""
    store.verify(question.tables)
    with store.reading():
        for part in chunks(_prepared(store), question.query, question.values, question.names):
            yield Columns(part, question.about)


def _prepared(store: Store) -> sqlite3.Connection:
    store._db.create_function("number_of", 1, _number_of, deterministic=True)
    return store._db


def means(columns: Columns, by: Sequence[str], figures: Sequence[str]) -> Columns:
    """Average figures over the rows that agree in `by`: within each seed first, then over the seeds.

    Rows of one seed are not independent: the flows of a run share its air, and runs of equal seeds share their random
    numbers. So a seed counts once in an interval, however many rows it has.

    Parameters
    ----------
    columns : Columns
        Rows, as of `select`, with their ``seed``; without one each row counts as a seed.
    by : sequence of str
        Columns that tell groups apart; groups come in the order of their first rows.
    figures : sequence of str
        What to average; NaN is left out.

    Returns
    -------
    Columns
        The columns `by`, ``seeds`` (their number), and for each figure its mean, the half width of the 95 % interval
        (Student t) as ``NAME_ci95``, its ends, inside of what is possible, as ``NAME_low`` and ``NAME_high`` (NaN with
        fewer than three seeds), and the number of seeds that have the figure as ``NAME_seeds``.
    """
    group, first = _groups([columns[name] for name in by], len(columns))
    count = len(first)
    out: dict[str, NDArray[Any]] = {name: columns[name][first] for name in by}
    about = {name: columns.about[name] for name in by if name in columns.about}
    seeds = columns["seed"] if "seed" in columns else np.arange(len(columns))
    of_seed, first_of_seed = _groups([group, seeds], len(columns))
    group_of = group[first_of_seed]
    out["seeds"] = np.bincount(group_of, minlength=count)
    about["seeds"] = "Number of seeds: an average within each, then over them."
    for name in figures:
        values = columns[name].astype(np.float64)
        known = ~np.isnan(values)
        with np.errstate(divide="ignore", invalid="ignore"):
            rows = np.bincount(of_seed[known], minlength=len(group_of))
            within = np.bincount(of_seed[known], weights=values[known], minlength=len(group_of)) / rows
            of, x = group_of[rows > 0], within[rows > 0]
            n = np.bincount(of, minlength=count)
            mean = np.bincount(of, weights=x, minlength=count) / n
            variance = np.bincount(of, weights=(x - mean[of]) ** 2, minlength=count) / (n - 1)
            half = _t975(n) * np.sqrt(variance / n)
        ends = [limits(name, Interval(*one)) for one in zip(mean.tolist(), half.tolist())]
        low, high = np.array(ends, dtype=np.float64).reshape(-1, 2).T
        out |= {name: mean, f"{name}_ci95": half, f"{name}_low": low, f"{name}_high": high, f"{name}_seeds": n}
        about[name] = f"Mean of: {columns.about.get(name, name)}"
        about |= {f"{name}_{ending}": meaning for ending, meaning in MEANINGS.items()}
    return Columns(out, about)


def _groups(keys: Sequence[NDArray[Any]], rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Group rows with equal keys. Returns the group of each row, numbered by first rows, and the first row of each."""
    code = np.zeros(rows, dtype=np.int64)
    for key in keys:
        values, inverse = np.unique(key, return_inverse=True)  # NaN equals NaN here
        code = code * len(values) + inverse
        code = np.unique(code, return_inverse=True)[1]
    _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse], np.sort(first)


def _t975(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    table = {n: student_t_quantile(0.975, n - 1) if n >= FEWEST else math.nan for n in set(counts.tolist())}
    return np.array([table[n] for n in counts.tolist()], dtype=np.float64)


def _number_of(value: object) -> float | None:
    if isinstance(value, (int, float)):
        return float(value)
    return _core.number_of(value) if isinstance(value, str) else None

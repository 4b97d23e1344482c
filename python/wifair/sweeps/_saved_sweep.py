"""`wifair.read_sweep`: the results of a sweep, read from its store."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from wifair._output.streams import escape
from wifair.columns import Columns
from wifair.exceptions import StoreError
from wifair.sweeps._reading import Failure
from wifair.sweeps.query import Condition, ask, scenarios_differ, select, version_of
from wifair.sweeps.store import Store
from wifair.sweeps.summarising import shown, summary_of


class SavedSweep:
    """The finished runs of a store, as tables.

    Attributes
    ----------
    path : Path
        The store.
    parameters : list of str
        What was varied; also ``scenario``, if the scenario was changed between sweeps into the same store.
    """

    def __init__(self, path: Path, where: Sequence[str] = ()) -> None:
        """`path` is the store; see `read_sweep`."""
        self.path = path
        self._where = [Condition.parse(text) for text in where]
        with Store(path, create=False) as store:
            self._version, _ = version_of(store, self._where)
            labels = set(store.labels())
            names = ask(store, where=self._where, version=self._version).names
            self.parameters = [name for name in names if name in labels]
            if scenarios_differ(store, self.parameters, self._where, "runs", self._version):
                self.parameters.append("scenario")
            self._names = store.tables()
        self._read: dict[str, Columns] = {}

    @property
    def runs(self) -> Columns:
        """A row for each finished run: what was varied, its ``seed``, and all figures of its cell."""
        return self.table("runs")

    @property
    def flows(self) -> Columns:
        """A row for each run and flow, which begins with what was varied and the ``seed``."""
        return self.table("flows")

    @property
    def tables(self) -> dict[str, Columns]:
        """The tables that were kept of the runs, by name."""
        return {name: self.table(name) for name in self._names if name not in ("runs", "metrics")}

    def table(self, name: str) -> Columns:
        """Read a table.

        Parameters
        ----------
        name : str
            ``runs``, or a table that was kept: ``flows``, ``stations``, ...

        Returns
        -------
        Columns
            Its rows, in the order of points and seeds.

        Raises
        ------
        KeyError
            If it was not kept.
        """
        if name not in self._names:
            raise KeyError(f"table {name!r} was not kept: there are {', '.join(self._names)}")
        if name not in self._read:
            with Store(self.path, create=False) as store:
                asked = ask(store, where=self._where, table=name, version=self._version)
                columns = [*self.parameters, *(one for one in asked.names if one not in self.parameters)]
                self._read[name] = select(
                    store, ask(store, where=self._where, table=name, columns=columns, version=self._version)
                )
        return self._read[name]

    @cached_property
    def failures(self) -> list[Failure]:
        """The runs that failed."""
        with Store(self.path, create=False) as store:
            found = store.failures(self._version)
        return [Failure(scenario, seed, labels, message) for scenario, seed, labels, message in found]

    def summary(
        self, by: str | Sequence[str] | None = None, figures: str | Sequence[str] | None = None, *, table: str = "runs"
    ) -> Columns:
        """Average figures over the seeds, with 95 % intervals (Student t).

        Parameters
        ----------
        by : str or sequence of str, optional
            What tells the rows apart; the mean is over all else. By default each parameter, and of flows their names.
            Names may be shortened: ``cc`` for ``flows.tcp.cc``.
        figures : str or sequence of str, optional
            What to average; all numbers by default.
        table : str, default "runs"
            Where the figures are: ``runs``, or ``flows`` and the like.

        Returns
        -------
        Columns
            The columns `by`, ``seeds``, and for each figure its mean, ``NAME_ci95`` (half width of the interval),
            ``NAME_low`` and ``NAME_high`` (its ends, within possible values), ``NAME_seeds``. Rows of one seed are not
            independent, so each seed counts once.

        Raises
        ------
        ValueError
            If a name is unknown or could be several; it names them.
        KeyError
            If the table was not kept.

        Examples
        --------
        >>> read_sweep("study").summary(by="flows.tcp.cc", figures="jain_index")  # doctest: +SKIP
        """
        return summary_of(self.table(table), self.parameters, by, figures)

    def __repr__(self) -> str:
        return shown(self.path, self.runs, self.parameters, len(self.failures))

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def read_sweep(store: str | os.PathLike[str], *, where: str | Sequence[str] = ()) -> SavedSweep:
    """Read the results of a sweep, while it runs or later.

    Parameters
    ----------
    store : str or path
        The folder that `sweep` or ``wifair sweep --out`` wrote.
    where : str or sequence of str, optional
        Conditions on the runs, as in ``"stations.count>=4"`` or ``"flows.tcp.cc=reno,vegas"``; all must hold.

    Returns
    -------
    SavedSweep
        Tables of the finished runs, of the version of wifair that was used last; ``where="version=..."`` selects
        another one.

    Raises
    ------
    StoreError
        If it is no store, or damaged.
    ValueError
        If a condition is none, or names an unknown column.

    Examples
    --------
    >>> sweep = read_sweep("study")  # doctest: +SKIP
    >>> sweep.summary(by="stations.count")["jain_index"]  # doctest: +SKIP
    """
    path = Path(os.path.normpath(store))
    if (path / "provenance.json").exists():
        raise StoreError(f"`{path}` is a folder of `wifair run --out`: read it with wifair.read_results")
    return SavedSweep(path, [where] if isinstance(where, str) else list(where))

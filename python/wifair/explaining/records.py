"""What explanations rest on: the figures of results and captures, as means over the seeds."""

from __future__ import annotations

import math
import tomllib
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wifair.columns import Columns
from wifair.statistics import mean_interval

if TYPE_CHECKING:
    from wifair.sources import Found

STARVED = 0.1
"""A flow below this part of the mean goodput is looked at: it is starved, or asked for little."""
SATED = 0.95
"""A flow that gets this part of what it asks for has got it; the rest is under way, or lost."""
FEW = 6
"""Names that a sentence lists."""


class Finding(NamedTuple):
    """One thing that happened."""

    topic: str
    """A word or two: what it is about."""
    text: str
    """What happened and why."""
    figures: dict[str, float]
    """The numbers it rests on, units in the names."""
    advice: tuple[str, ...] = ()
    """Changes of the scenario that may help, as behind ``wifair compare FILE --against``."""


class Records:
    """Means over the seeds, by name."""

    def __init__(self, results: Found) -> None:
        self.cell = {
            name: mean_interval(column.tolist()).mean for name, column in results.cells.items() if name != "seed"
        }
        self.runs = results.cells.rows
        self.flows = Means(results.flows)
        self.stations = Means(results.stations) if results.stations.rows else None
        self.series = results.series
        self.raw = results.flows
        self.source: object = getattr(results, "scenario", None)
        self.resolved: str = getattr(self.source, "resolved", "")
        """The scenario with all defaults, as text; empty if there is none."""
        self.scenario = _parsed(self.resolved)
        self.sated = self._sated()
        """Whether each flow is known to have got what it asked for."""
        workloads = [self.group("flows", flow).get("workload", "persistent") for flow in self.flows.names]
        self.persistent = np.array([workload == "persistent" for workload in workloads]) & ~self.sated
        """Whether each flow always had something to send, as far as is known."""

    def _sated(self) -> NDArray[np.bool_]:
        goodput = self.flows["goodput_bps"]
        if "asked_bps" not in self.flows or "mos" not in self.flows:  # a capture, or a measurement
            return np.zeros(len(goodput), dtype=np.bool_)
        # A session of TCP may be the slower the less it gets, and another follow later. Datagrams do not wait.
        cannot_wait = np.isfinite(self.flows["mos"]) | (goodput < STARVED * goodput.mean())
        sated: NDArray[np.bool_] = cannot_wait & (goodput >= SATED * self.flows["asked_bps"])
        return sated

    def cell_has(self, *names: str) -> bool:
        """Whether these figures of the cell are known."""
        return all(name in self.cell and not math.isnan(self.cell[name]) for name in names)

    def group(self, kind: str, name: str) -> dict[str, Any]:
        """Find the table of the scenario, of `kind` flows or stations, that `name` comes from; empty if unknown."""
        for group in self.scenario.get(kind, []):
            rest = name.removeprefix(group["name"]).replace("-", "")
            if name.startswith(group["name"]) and (not rest or rest.isdigit()):
                found: dict[str, Any] = group
                return found
        return {}

    def window(self, flow: str) -> float:
        """Least of receive window and bound of the congestion window of a flow [segments]; NaN if unknown."""
        tcp = self.group("flows", flow).get("tcp", {})
        bounds = [_segments(tcp[key], tcp) for key in ("receive_window", "max_cwnd") if key in tcp]
        return min(bounds, default=math.nan)

    def uploads(self, station: str) -> bool:
        """Whether the station is known to have data to send at any time."""
        name = self.group("stations", station).get("name")
        groups = [self.group("flows", flow) for flow in self.flows.names]
        return name is not None and any(
            group.get("station") in (name, station) and group.get("direction", "up") == "up" and persistent
            for group, persistent in zip(groups, self.persistent)
        )

    def marks(self, direction: str) -> set[tuple[object, object]]:
        """Access categories and code points of the persistent flows in a direction, as the scenario has them."""
        groups = [
            self.group("flows", flow)
            for flow, way, persistent in zip(self.flows.names, self.flows.text("direction"), self.persistent)
            if way == direction and persistent
        ]
        return {(group.get("category"), group.get("dscp")) for group in groups}

    def receiver(self, flow: str) -> str:
        """Find the station that a downlink flow is for; empty if unknown."""
        group = self.group("flows", flow)
        station = group.get("to", group.get("station", ""))
        member = station + flow.removeprefix(group.get("name", "")).partition("-")[0]
        names = [] if self.stations is None else self.stations.names
        return next((name for name in (station, member) if name in names), "")


class Means:
    """Columns of a table that has a row for each seed and name, as means over the seeds."""

    def __init__(self, table: Columns) -> None:
        self._table = table
        self.names = list(dict.fromkeys(map(str, table["name"])))
        self._which = [np.flatnonzero(table["name"] == name) for name in self.names]

    def __contains__(self, column: str) -> bool:
        return column in self._table

    def __getitem__(self, column: str) -> NDArray[np.float64]:
        values = np.asarray(self._table[column], dtype=np.float64)
        return np.array([mean_interval(values[rows].tolist()).mean for rows in self._which])

    def text(self, column: str) -> list[str]:
        """Get a column that is the same in all runs."""
        return [str(self._table[column][rows[0]]) for rows in self._which]


def _parsed(resolved: str) -> dict[str, Any]:
    try:
        return tomllib.loads(resolved)
    except tomllib.TOMLDecodeError:  # a measurement's plan is JSON
        return {}


def _segments(limit: str, tcp: dict[str, Any]) -> float:
    number, _, unit = limit.partition(" ")
    if unit.startswith("packet"):
        return float(number)
    scale = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}[unit]
    return float(number) * scale / float(tcp["mss"].partition(" ")[0])


def seconds(duration: str) -> float:
    """Read a duration as resolved scenarios have it; NaN if there is none."""
    number, _, unit = duration.partition(" ")
    scale = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
    return float(number) * scale[unit] if unit in scale else math.nan


def each_run(r: Records) -> str:
    """Say that a number is a mean over several runs."""
    return " per run" if r.runs > 1 else ""


def chosen(names: list[str], which: NDArray[np.bool_]) -> list[str]:
    """Names for which something is true."""
    return [name for name, is_it in zip(names, which) if is_it]


def some(names: list[str]) -> str:
    """List names, or the first few."""
    return listed(names) if len(names) <= FEW + 1 else f"{', '.join(names[:FEW])} and {len(names) - FEW} more"


def listed(parts: list[str]) -> str:
    """List parts of a sentence."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"

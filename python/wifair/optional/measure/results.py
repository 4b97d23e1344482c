"""Results of a measurement: a case corresponds to a scenario, a repetition to a seed."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from wifair._output import files
from wifair._output.files import json_text
from wifair._output.words import counted
from wifair.capture.capture import read_capture
from wifair.columns import Columns
from wifair.exceptions import ResultsError
from wifair.optional.measure import journal
from wifair.optional.measure.coordinator import slug
from wifair.optional.measure.errors import MeasureError
from wifair.optional.measure.figures import outcome
from wifair.optional.measure.plan import Plan, PlanCase
from wifair.results.folder import Folder
from wifair.results.results import Results
from wifair.results.stacking import Gathered
from wifair.scenario.scenario import Scenario
from wifair.statistics import Interval, mean_interval

CAPTURED = {
    "received_bytes": "unique_bytes_sent",
    "data_packets_sent": "actual_data_pkts",
    "retransmissions": "rexmt_data_pkts",
    "timeouts": "timeouts",
    "rtt_mean_s": "rtt_mean_s",
    "outstanding_max_bytes": "outstanding_max_bytes",
}
"""Figures of `wifair analyze`, by the names of the corresponding figures of the kernel."""


class CaseResults(Results):
    """Results of the repetitions of a case, usable wherever results of a scenario are.

    ``seeds`` are the numbers of the repetitions.
    """

    RUN = "repetition"
    _DERIVED = frozenset()

    def __init__(self, plan: Plan, case: PlanCase, rows: list[dict[str, Any]], *, capacity_bps: float) -> None:
        """`rows` are rows of the journal, one for each repetition."""
        rows = sorted(rows, key=lambda row: row["repetition"])
        outcomes = [outcome(case, row, warm_up_s=plan.warm_up_s, capacity_bps=capacity_bps) for row in rows]
        self.case = case
        self.captures = {
            (row["repetition"], host): str(part["capture"]["file"])
            for row in rows
            for host, part in row["hosts"].items()
            if "file" in part.get("capture", {})
        }
        """Files of captured packets in the folder of the measurement, by repetition and host."""
        self.ports = {(row["repetition"], name): row["flows"][name]["port"] for row in rows for name in row["flows"]}
        """The server's port of each flow, by repetition and name."""
        gathered = Gathered(outcomes)
        super().__init__(cast("Scenario", _as_scenario(plan, case, outcomes)), gathered)
        self.series = gathered.table("series")

    @property
    def sources(self) -> dict[str, str]:
        """Texts that say what was measured, by the names of files."""
        return {"plan.toml": self.scenario.toml, "plan.json": self.scenario.resolved}

    def goodput(self, flow: str) -> dict[int, float]:
        """Goodput of a flow by repetition [bit/s]."""
        rows = self.flows.filter(name=flow)
        return dict(zip(rows["seed"].tolist(), rows["goodput_bps"].tolist()))


def _as_scenario(plan: Plan, case: PlanCase, outcomes: list[Any]) -> SimpleNamespace:
    """Create what `Results` needs to know instead of a scenario."""
    stations = len({flow.station for flow in case.flows})
    rts = f", RTS threshold {case.rts_threshold} B" if case.rts_threshold is not None else ""
    summary = f"measured, {counted(stations, 'station')}, {counted(len(case.flows), 'flow')}{rts}"
    if case.place:
        summary += f", {case.place}"
    return SimpleNamespace(
        name=case.name,
        hash=plan.hash,
        duration_s=float(np.mean([o["measured_s"] for o in outcomes])) if outcomes else math.nan,
        warm_up_s=0.0,
        overrides=(),
        toml=plan.text,
        resolved=plan.resolved,
        summary=summary,
        _core=SimpleNamespace(summary=summary, classes=list),
    )


class Measurement:
    """All results of a plan so far.

    Attributes
    ----------
    plan : Plan
        What is measured.
    cases : dict of str to CaseResults
        Results of the cases that have any, by their names.
    failures : list of dict
        Repetitions that failed: ``case``, ``repetition``, ``reason``.
    hosts : dict
        What is known of the hosts.
    notes : list of str
        What the hosts had to say before the measurement.
    """

    def __init__(self, rows: list[dict[str, Any]], folder: Path | None = None) -> None:
        """`rows` are those of a journal; `folder` has the captures."""
        self.folder = folder
        try:
            self.plan = Plan._resolved(rows[0]["resolved"], rows[0]["text"])
        except (KeyError, TypeError, ValueError, IndexError):
            raise MeasureError("the journal does not say what was measured") from None
        self.command = rows[0].get("command")
        self.version = str(rows[0].get("version"))
        self.failures: list[dict[str, Any]] = []
        self.hosts: dict[str, Any] = {}
        self.notes: list[str] = []
        self.cases: dict[str, CaseResults] = {}
        self._captures: dict[str, Columns] = {}
        try:
            self._take(rows[1:])
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise MeasureError(f"the journal is damaged, or of another version of wifair: {error!r}") from None

    def _take(self, rows: list[dict[str, Any]]) -> None:
        """Sort the rows of the journal, and create the results of each case."""
        done: dict[int, dict[int, dict[str, Any]]] = {}
        for row in rows:
            if row.get("kind") == "repetition":
                done.setdefault(row["case"], {})[row["repetition"]] = row
            elif row.get("kind") == "failed":
                self.failures.append({**row, "case": self.plan.cases[row["case"]].name})
            elif row.get("kind") == "hosts":
                self.hosts, self.notes = row["hosts"], row["notes"]
        # Cases with one flow come first, because other cases may take their capacity from them.
        for index in sorted(done, key=lambda index: len(self.plan.cases[index].flows)):
            case = self.plan.cases[index]
            found = list(done[index].values())
            self.cases[case.name] = CaseResults(self.plan, case, found, capacity_bps=self._capacity(case))
        self.cases = {case.name: self.cases[case.name] for case in self.plan.cases if case.name in self.cases}

    @classmethod
    def from_folder(cls, folder: str | os.PathLike[str]) -> Measurement:
        """Read a folder that ``wifair measure run`` wrote; it may still be writing.

        Raises
        ------
        MeasureError
            If it holds no measurement.
        """
        return cls(journal.read(Path(folder)), Path(folder))

    def _capacity(self, case: PlanCase) -> float:
        """Find the best goodput of all stations together: that of the plan, else the best of a station alone."""
        if case.capacity_bps is not None:
            return float(case.capacity_bps)
        alone = [self._alone(case, number) for number in range(len(case.flows))]
        return max((mean_interval(found.values()).mean for found in alone if found), default=math.nan)

    def _alone(self, case: PlanCase, number: int) -> dict[int, float]:
        """Goodput of a flow's station alone, by repetition."""
        index = case.alone[number]
        results = self.cases.get(self.plan.cases[index].name) if index is not None else None
        return results.goodput(results.case.flows[0].name) if results is not None else {}

    def loss(self, case: str, flow: str) -> Interval:
        """Share of its goodput that a flow loses in competition, compared with running alone.

        Each repetition is compared with that of the same number, which was run at about the same time.

        Returns
        -------
        Interval
            Mean and half width of the 95 % interval; NaN where nothing was run alone.
        """
        results = self.cases[case]
        number = [flow.name for flow in results.case.flows].index(flow)
        alone = self._alone(results.case, number)
        mine = results.goodput(flow)
        return mean_interval(1 - mine[k] / alone[k] for k in mine if alone.get(k, 0) > 0)

    @cached_property
    def table(self) -> Columns:
        """A row for each flow of each case: means over the repetitions, and half widths of 95 % intervals."""
        about = {
            "case": "Name of the case.",
            "place": "How the stations were placed.",
            "rts_threshold": "RTS threshold that was set [bytes].",
            "flow": "Name of the flow.",
            "direction": "Way of the data seen from the station.",
            "repetitions": "Repetitions with a result.",
            "goodput_bps": "Goodput while all flows were active [bit/s].",
            "goodput_ci95_bps": "Half width of its 95 % interval [bit/s].",
            "transfer_goodput_bps": "All data of the flow over its own time [bit/s].",
            "share": "Share of the case's goodput.",
            "alone_bps": "Goodput of the station alone [bit/s].",
            "loss": "Share of that which is lost in competition.",
            "loss_ci95": "Half width of its 95 % interval.",
            "rtt_mean_s": "Mean of the smoothed round-trip time [s].",
            "retransmissions": "Segments that TCP sent again, in one repetition.",
            "timeouts": "Expiries of the retransmission timer, in one repetition.",
            "outstanding_mean_bytes": "Mean of what was sent and not acknowledged [bytes].",
            "jain_index": "Jain's index of the case.",
            "weakest_over_strongest": "Least goodput over most.",
        }
        rows: list[dict[str, Any]] = []
        for name, results in self.cases.items():
            total = results.summary["goodput_bps"].mean
            for number, flow in enumerate(results.case.flows):
                mine = results.flows.filter(name=flow.name)
                goodput = mean_interval(mine["goodput_bps"].tolist())
                loss = self.loss(name, flow.name)
                values: dict[str, Any] = {
                    "case": name,
                    "place": results.case.place,
                    "rts_threshold": _nan(results.case.rts_threshold),
                    "flow": flow.name,
                    "direction": flow.direction,
                    "repetitions": len(results.seeds),
                    "goodput_bps": goodput.mean,
                    "goodput_ci95_bps": goodput.half_width,
                    "share": goodput.mean / total if total else math.nan,
                    "alone_bps": mean_interval(self._alone(results.case, number).values()).mean,
                    "loss": loss.mean,
                    "loss_ci95": loss.half_width,
                    "jain_index": results.summary["jain_index"].mean,
                    "weakest_over_strongest": self.ratio(name).mean,
                }
                for key in (
                    "transfer_goodput_bps",
                    "rtt_mean_s",
                    "retransmissions",
                    "timeouts",
                    "outstanding_mean_bytes",
                ):
                    values[key] = mean_interval(mine[key].tolist()).mean
                rows.append(values)
        return Columns.of_rows(rows, about)

    @cached_property
    def captured(self) -> Columns:
        """Figures of the captured packets: a row for each flow, repetition and host that captured.

        Retransmissions, round-trip times and outstanding data are meaningful only at the sender.
        """
        about = {
            "case": "Name of the case.",
            "repetition": "Number of the repetition.",
            "flow": "Name of the flow.",
            "host": "Where the packets were captured.",
            "at_sender": "Whether that is where the data came from.",
            "received_bytes": "New payload, with the token of 48 (upload) or 32 bytes before the start [bytes].",
            "data_packets_sent": "Segments with data, retransmissions and the token included.",
            "retransmissions": "Segments seen a second time.",
            "timeouts": "Retransmissions that only a timeout explains.",
            "rtt_mean_s": "Mean time from a segment to its ACK [s].",
            "outstanding_max_bytes": "Most that was sent and not acknowledged [bytes].",
        }
        rows: list[dict[str, Any]] = []
        for name, results in self.cases.items():
            for (repetition, host), file in results.captures.items():
                for flow in results.case.flows:
                    found = self._in_capture(file, flow.direction, results.ports[repetition, flow.name])
                    if found is None or host not in (flow.station, "server"):
                        continue
                    sender = flow.station if flow.direction == "up" else "server"
                    keys = {"case": name, "repetition": repetition, "flow": flow.name, "host": host}
                    rows.append({**keys, "at_sender": host == sender, **found})
        return Columns.of_rows(rows, about)

    def _in_capture(self, file: str, direction: str, port: int) -> dict[str, float] | None:
        """Figures of the flow with this port of the server; None if the capture does not have it."""
        sides = self._read_capture(file)
        for row in range(len(sides)):
            forward = sides["direction"][row] == "a2b"
            source, target = (
                str(sides[end][row]) for end in (("host_a", "host_b") if forward else ("host_b", "host_a"))
            )
            if (source if direction == "down" else target).endswith(f":{port}"):
                return {name: float(sides[figure][row]) for name, figure in CAPTURED.items()}
        return None

    def _read_capture(self, file: str) -> Columns:
        if file not in self._captures:
            assert self.folder is not None
            self._captures[file] = read_capture(self.folder / file).connections
        return self._captures[file]

    def ratio(self, case: str) -> Interval:
        """Goodput of the weakest flow over that of the strongest, which are chosen by their means."""
        results = self.cases[case]
        found = [results.goodput(flow.name) for flow in results.case.flows]
        means = [mean_interval(values.values()).mean for values in found]
        weak, strong = found[int(np.argmin(means))], found[int(np.argmax(means))]
        return mean_interval(weak[k] / strong[k] for k in weak if strong.get(k, 0) > 0)

    def save(self, folder: str | os.PathLike[str], *, formats: Iterable[str] | None = None) -> None:
        """Write the tables of all cases, each in its folder as ``wifair run --out`` would, and one table of all.

        Tables of earlier repetitions are replaced.

        Raises
        ------
        OSError
            If they cannot be written.
        """
        base = Path(folder)
        for name, results in self.cases.items():
            with Folder(files.below(base, "cases", self._slugs[name]), formats=formats, force=True) as out:
                out.write(results, command=self.command)
        files.write_text(files.below(base, "table.csv"), self.table.to_csv())
        if len(self.captured):
            files.write_text(files.below(base, "captured.csv"), self.captured.to_csv())

    @cached_property
    def _slugs(self) -> dict[str, str]:
        """Different folder names for all cases."""
        found: dict[str, str] = {}
        for case in self.plan.cases:
            name = slug(case.name)
            while name in found.values():
                name += "-"
            found[case.name] = name
        return found

    def to_dict(self) -> dict[str, Any]:
        """As plain Python values; each of ``cases`` in the layout of ``wifair run --json``."""
        return {
            "format": journal.FORMAT,
            "version": self.version,
            "plan": {"name": self.plan.name, "hash": self.plan.hash, "repetitions": self.plan.repetitions},
            "hosts": self.hosts,
            "notes": self.notes,
            "failures": self.failures,
            "table": self.table.to_dicts(),
            "cases": {name: results.to_dict() for name, results in self.cases.items()},
        }

    def to_json(self) -> str:
        """Write the same as JSON text."""
        return json_text(self.to_dict()) + "\n"

    def __repr__(self) -> str:
        from wifair.optional.measure.report import text  # noqa: PLC0415

        return text(self)


def cases_in(folder: Path) -> dict[str, CaseResults]:
    """Read the results of each case of the measurement in a folder.

    Raises
    ------
    ResultsError
        If it holds no measurement, or one without a result.
    """
    try:
        cases = Measurement.from_folder(folder).cases
    except MeasureError:
        raise ResultsError(
            f"`{folder}` holds neither results of `wifair run --out` nor a measurement of `wifair measure run`"
        ) from None
    if not cases:
        raise ResultsError(f"the measurement in `{folder}` has no result yet")
    return cases


def _nan(value: int | None) -> float:
    return math.nan if value is None else float(value)

"""A plan: what is measured, how often and in which order. The Rust core parses it like a scenario."""

from __future__ import annotations

import hashlib
import json
import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from wifair import _core
from wifair.exceptions import ScenarioError
from wifair.optional.measure import fields
from wifair.optional.measure.errors import MeasureError, ProtocolError
from wifair.optional.measure.flow import Flow, Limits
from wifair.scenario.scenario import read_source

LARGEST = 1 << 20


@dataclass(frozen=True)
class PlanCase:
    """Flows that run at the same time."""

    name: str
    place: str
    """How the stations are placed."""
    rts_threshold: int | None
    """RTS threshold to set at the stations [bytes]."""
    capacity_bps: float | None
    """Best goodput of all stations together [bit/s]."""
    flows: tuple[Flow, ...]
    alone: tuple[int | None, ...]
    """For each flow, the index of the case in which its station runs alone."""


@dataclass(frozen=True)
class Plan:
    """A plan of a measurement, all names resolved."""

    name: str
    description: str
    repetitions: int
    order: str
    seed: int
    pause_s: float
    sample_s: float
    timeout_s: float
    warm_up_s: float
    stations: tuple[str, ...]
    cases: tuple[PlanCase, ...]
    text: str
    """The file as it was given."""
    resolved: str
    """As JSON, overrides and defaults filled in; equal plans have equal texts."""

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], *, overrides: Sequence[str] = ()) -> Plan:
        """Read a plan.

        Parameters
        ----------
        path : str or path
            A TOML file; ``"-"`` is standard input.
        overrides : sequence of str, optional
            ``PATH=VALUE`` each, as behind ``--set``.

        Raises
        ------
        ScenarioError
            If it cannot be read or is wrong; the message shows all problems with their lines.
        """
        name, data, _ = read_source(path, LARGEST)
        if len(data) > LARGEST:
            raise ScenarioError(f"error: `{name}` is larger than {LARGEST} bytes\n")
        return cls.from_text(data, name=name, overrides=overrides)

    @classmethod
    def from_text(cls, text: str | bytes, *, name: str = "<text>", overrides: Sequence[str] = ()) -> Plan:
        """Read a plan from its text; messages call it `name`.

        Raises
        ------
        ScenarioError
            If it is wrong; the message shows all problems with their lines.
        """
        data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
        resolved = _core.measure_plan(name, data, [("--set", change) for change in overrides])
        return cls._resolved(resolved, data.decode("utf-8", "replace"))

    @classmethod
    def _resolved(cls, resolved: str, text: str) -> Plan:
        data = json.loads(resolved)
        try:
            cases = tuple(_case(part) for part in data["cases"])
        except ProtocolError as error:
            raise MeasureError(f"the plan is beyond what a host takes part in: {error}") from None
        data |= {"stations": tuple(data["stations"]), "cases": cases}
        return cls(**data, text=text, resolved=resolved)

    @property
    def hash(self) -> str:
        """SHA-256 of `resolved`, in hexadecimal."""
        return hashlib.sha256(self.resolved.encode()).hexdigest()

    def schedule(self) -> Iterator[tuple[int, int]]:
        """List pairs of a case and a repetition (from 1) in the order of execution, place by place."""
        for place in dict.fromkeys(case.place for case in self.cases):
            here = [index for index, case in enumerate(self.cases) if case.place == place]
            if self.order == "sequential":
                yield from ((case, repetition) for case in here for repetition in range(1, self.repetitions + 1))
                continue
            for repetition in range(1, self.repetitions + 1):
                row = list(here)
                if self.order == "random":
                    random.Random(f"{self.seed}/{place}/{repetition}").shuffle(row)
                yield from ((case, repetition) for case in row)

    def task(self, *, capture: bool) -> dict[str, Any]:
        """Create the message that describes the plan to the server."""
        cases: list[dict[str, Any]] = []
        for case in self.cases:
            part: dict[str, Any] = {"flows": [flow.to_dict() for flow in case.flows]}
            if case.rts_threshold is not None:
                part["rts_threshold"] = case.rts_threshold
            cases.append(part)
        return {
            "type": "plan",
            "name": "".join(c for c in self.name if c.isprintable())[:200],
            "cases": cases,
            "runs": 2 * len(cases) * self.repetitions,
            "timeout_s": self.timeout_s,
            "sample_s": self.sample_s,
            "capture": capture,
        }


def _case(part: dict[str, Any]) -> PlanCase:
    return PlanCase(
        name=part["name"],
        place=part["place"],
        rts_threshold=part.get("rts_threshold"),
        capacity_bps=part.get("capacity_bps"),
        flows=tuple(Flow.from_dict(flow, Limits()) for flow in fields.records(part, "flows", most=256)),
        alone=tuple(flow.get("alone") for flow in part["flows"]),
    )

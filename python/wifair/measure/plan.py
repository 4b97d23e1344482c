"""A plan: what is measured, how often and in which order. The Rust core reads it, as it reads scenarios."""

from __future__ import annotations

import hashlib
import json
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wifair import _core
from wifair.errors import ScenarioError
from wifair.measure import fields
from wifair.measure.errors import MeasureError, ProtocolError
from wifair.measure.flow import Flow, Limits

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

__all__ = ["Plan", "PlanCase"]

LARGEST = 1 << 20


@dataclass(frozen=True)
class PlanCase:
    """Flows that run at the same time."""

    name: str
    place: str
    """How the stations are placed."""
    rts_threshold: int | None
    """To set at the stations [bytes]."""
    capacity_bps: float | None
    """What all stations together get at best [bit/s]."""
    flows: tuple[Flow, ...]
    alone: tuple[int | None, ...]
    """For each flow the index of the case in which its station runs alone."""


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
        name = "<stdin>" if str(path) == "-" else str(path)
        try:
            if str(path) == "-":
                if sys.stdin is None:
                    raise ValueError("standard input is closed")
                data = sys.stdin.buffer.read(LARGEST + 1)
            else:
                with Path(path).open("rb") as file:
                    data = file.read(LARGEST + 1)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ScenarioError(f"error: cannot read `{name}`: {reason[0].lower()}{reason[1:]}\n") from None
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
        return cls(
            name=data["name"],
            description=data["description"],
            repetitions=data["repetitions"],
            order=data["order"],
            seed=data["seed"],
            pause_s=data["pause_s"],
            sample_s=data["sample_s"],
            timeout_s=data["timeout_s"],
            warm_up_s=data["warm_up_s"],
            stations=tuple(data["stations"]),
            cases=cases,
            text=text,
            resolved=resolved,
        )

    @property
    def hash(self) -> str:
        """SHA-256 of `resolved`, in hexadecimal."""
        return hashlib.sha256(self.resolved.encode()).hexdigest()

    def schedule(self) -> Iterator[tuple[int, int]]:
        """Pairs of a case and a repetition (from 1), in the order in which they are run; place after place."""
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
        """Make what the server gets of it."""
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

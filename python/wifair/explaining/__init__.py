"""What happened in a run or in a capture and why, in plain words, each sentence with its numbers.

Nothing is guessed: every finding rests on the records, and says which figures show it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wifair._core import __version__
from wifair.columns import Columns, finite
from wifair.errors import ScenarioError
from wifair.files import json_text
from wifair.report import named
from wifair.scenario import Scenario
from wifair.words import KEPT, together

from . import air, datagrams, losses, shares
from .records import Finding, Records

if TYPE_CHECKING:
    from wifair.sources import Found

__all__ = ["Explanation", "Finding", "explain"]

FORMAT = 1


@dataclass(eq=False, repr=False)
class Explanation:
    """Findings, the most important first."""

    name: str
    """What is explained."""
    findings: list[Finding]
    """What was found."""

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain Python values, in the layout of ``wifair explain --json``."""
        return {
            "format": FORMAT,
            "version": __version__,
            "name": self.name,
            "findings": [
                one._asdict()
                | {"figures": {name: finite(value) for name, value in one.figures.items()}, "advice": list(one.advice)}
                for one in self.findings
            ],
        }

    def to_json(self) -> str:
        """Write the same as JSON text."""
        return json_text(self.to_dict()) + "\n"

    def text(self, width: int = 100) -> str:
        """Show the findings, a paragraph each.

        Parameters
        ----------
        width : int, default 100
            Maximum line width in characters.

        Returns
        -------
        str
            The name, then the findings, each after its topic.
        """
        import textwrap  # noqa: PLC0415

        label = max((len(one.topic) for one in self.findings), default=0) + 2
        lines = [self.name, ""]
        for one in self.findings:
            lines += textwrap.wrap(
                together(one.text),
                width,
                initial_indent=one.topic.ljust(label),
                subsequent_indent=" " * label,
                break_on_hyphens=False,
            )
        advice = list(dict.fromkeys(change for one in self.findings for change in one.advice))
        if advice:
            lines += ["", "What may help; `wifair compare FILE --against CHANGE` shows whether it does:"]
            lines += [f"  {change}" for change in advice]
        return "\n".join(lines).replace(KEPT, " ")

    def __repr__(self) -> str:
        return self.text()


def explain(results: Found) -> Explanation:
    """Explain what happened and why, from the records.

    Parameters
    ----------
    results : Results, SavedResults or Capture
        What to explain. Results with a series (``run(..., series="100 ms")``) also show what limits each flow.

    Returns
    -------
    Explanation
        Findings with their numbers, and as text.

    Raises
    ------
    ValueError
        If there is no run, and no flow, datagram or echo.

    Examples
    --------
    >>> explain(run("hot-spot.toml", series="100 ms"))  # doctest: +SKIP
    """
    others: list[Finding] = []
    for name, tell in (
        ("attempts", datagrams.attempts),
        ("datagrams", datagrams.datagrams),
        ("echoes", datagrams.echoes),
    ):
        table: Columns | None = getattr(results, name, None)  # only captures have them
        if table is not None and table.rows:
            others += tell(table)
    if not results.cells.rows or not results.flows.rows:
        if not others:
            raise ValueError("nothing to explain: there is no flow with data, no datagram, no echo")
        return Explanation(named(results), others)
    records = Records(results)
    rules: tuple[Callable[[Records], Iterator[Finding]], ...] = (
        shares.shares,
        shares.late,
        shares.directions,
        losses.dropped_acks,
        losses.acks_dropped_at_stations,
        losses.dropped_data,
        losses.timeouts,
        losses.waiting,
        datagrams.calls,
        air.wires,
        shares.limits,
        shares.sessions,
        air.radio,
        air.slow_stations,
        air.slow_receivers,
        air.air,
    )
    findings = [finding for rule in rules for finding in rule(records)]
    return Explanation(named(results), [*_advised(records, findings), *others])


def _advised(records: Records, findings: list[Finding]) -> Iterator[Finding]:
    """Leave out advice that the scenario follows already, or would refuse."""
    scenario = records.source if isinstance(records.source, Scenario) else None
    if scenario is None and records.resolved:
        with contextlib.suppress(ValueError):  # a measurement's plan, or another version's scenario
            scenario = Scenario.from_text(records.resolved)
    for one in findings:
        yield one if scenario is None else one._replace(advice=tuple(c for c in one.advice if _helps(scenario, c)))


def _helps(scenario: Scenario, change: str) -> bool:
    try:
        return scenario.with_(dict([change.split("=", 1)])).resolved != scenario.resolved
    except ScenarioError:
        return False

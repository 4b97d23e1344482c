"""What happened in a run or in a capture and why, in plain words, each sentence with its numbers.

The sentences are those of the core (``crates/explain``): nothing is guessed, every finding rests on records, and none
is given whose figures contradict it.
"""

from __future__ import annotations

import json
import math
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from wifair import _core
from wifair._output.files import json_text
from wifair._output.report import named
from wifair._output.words import KEPT, together
from wifair.columns import finite
from wifair.exceptions import ScenarioError
from wifair.scenario.scenario import Scenario

from .tables import handed_over

if TYPE_CHECKING:
    from wifair.comparison.sources import Found

__all__ = ["Explanation", "Finding", "explain"]

FORMAT = 1


class Finding(NamedTuple):
    """One thing that happened."""

    topic: str
    """A word or two: what it is about."""
    text: str
    """What happened and why."""
    figures: dict[str, float]
    """The numbers it rests on, units in the names; NaN where one is not known."""
    advice: tuple[str, ...] = ()
    """Changes of the scenario that may help; `what_helps` tries them."""
    rule: str = ""
    """The rule that found it."""
    conditions: tuple[dict[str, Any], ...] = ()
    """What its numbers must be like for it to be true: ``figure``, ``is`` (at least, at most) and ``bound``."""
    about: tuple[str, ...] = ()
    """The flows or stations that it names as those concerned."""


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
            "version": _core.__version__,
            "name": self.name,
            "findings": [
                {name: list(value) if isinstance(value, tuple) else value for name, value in one._asdict().items()}
                | {"figures": {name: finite(value) for name, value in one.figures.items()}}
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
        if any(one.advice for one in self.findings):
            lines += ["", "`wifair explain FILE --try` runs what may help, and says what does."]
        return "\n".join(lines).replace(KEPT, " ")

    def __repr__(self) -> str:
        return self.text()


def explain(results: Found) -> Explanation:
    """Explain what happened and why, from the records.

    Parameters
    ----------
    results : Results, SavedResults or Capture
        What to explain.

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
    >>> explain(run("hot-spot.toml"))  # doctest: +SKIP
    """
    tables = handed_over(results)
    if not any(rows for _, rows in tables):
        raise ValueError("nothing to explain: there is no flow with data, no datagram, no echo")
    scenario = _scenario(results)
    seeds = [int(seed) for seed in results.cells["seed"]] if len(results.cells) else []
    core = None if scenario is None else scenario._core
    found: list[dict[str, Any]] = json.loads(_core.explain(tables, core, seeds))
    return Explanation(named(results), [_finding(one) for one in found])


def _finding(one: dict[str, Any]) -> Finding:
    lists = {name: tuple(one[name]) for name in ("advice", "conditions", "about")}
    figures = {name: math.nan if value is None else float(value) for name, value in one["figures"].items()}
    return Finding(one["topic"], one["text"], figures, rule=one["rule"], **lists)


def _scenario(results: Found) -> Scenario | None:
    """Give the scenario of results, if they have one that this version reads."""
    source: object = getattr(results, "scenario", None)
    if isinstance(source, Scenario):
        return source
    resolved = getattr(source, "resolved", "")
    if not resolved:
        return None
    try:
        return Scenario.from_text(resolved)
    except ScenarioError:  # a measurement's plan, or another version's scenario
        return None

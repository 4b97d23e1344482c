"""What helps a scenario: changes, each tried over pairs of equal seeds."""

from __future__ import annotations

import json
import shutil
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wifair import _core
from wifair._output.files import json_text
from wifair._output.tables import aligned
from wifair.scenario.scenario import scenario_of
from wifair.simulation.seeds import Seeding, read_seeds
from wifair.simulation.simulate import run

from .tables import handed_over

if TYPE_CHECKING:
    from wifair.scenario.scenario import Source

FORMAT = 1
DEFAULT_SEEDS = tuple(range(1, 11))


@dataclass(eq=False, repr=False)
class WhatHelps:
    """What was tried, what it did to fairness, goodput and latency, and what was left out."""

    name: str
    """Name of the scenario."""
    pairs: int
    """Pairs of equal seeds."""
    tried: list[dict[str, Any]]
    """A dict for each change: ``change`` and ``figures``, in which ``jain_index``, ``goodput_bps`` and ``latency_s``
    have ``mean``, ``difference``, ``difference_ci95`` and ``is``: better, worse, or not shown."""
    left_out: list[dict[str, str]]
    """Changes that were not tried, each with ``why``."""
    rows: list[list[str]]

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain Python values, in the layout of ``wifair explain --try --json``."""
        return {
            "format": FORMAT,
            "version": _core.__version__,
            "name": self.name,
            "pairs": self.pairs,
            "tried": self.tried,
            "left_out": self.left_out,
        }

    def to_json(self) -> str:
        """Write the same as JSON text."""
        return json_text(self.to_dict()) + "\n"

    def text(self, width: int | None = None) -> str:
        """Show what was tried as a table, what helps first.

        Parameters
        ----------
        width : int, optional
            Maximum width of lines below the table; by default that of the terminal.

        Returns
        -------
        str
            A line for each change: differences from the scenario as it is, and what they mean.
        """
        room = width or min(max(shutil.get_terminal_size().columns, 60), 110)
        note = (
            f"(differences, means of {self.pairs} pairs of equal seeds; helps, costs: the 95 % interval leaves out"
            " zero; latency: round trips, or one way for datagrams)"
        )
        if any("(outline)" in row[0] for row in self.rows):
            note = note[:-1] + "; outline: the source leaves details open)"
        lines = [f"What helps {self.name}?", "", *aligned(self.rows, left=(0, 4)), *textwrap.wrap(note, room)]
        if self.left_out:
            lines += ["", "Left out:"]
            lines += [
                line
                for one in self.left_out
                for line in textwrap.wrap(
                    f"{one['change']}: {one['why']}", room, initial_indent="  ", subsequent_indent="    "
                )
            ]
        return "\n".join(line.rstrip() for line in lines)

    def __repr__(self) -> str:
        return self.text()


def what_helps(
    scenario: Source, *, seeds: Seeding | None = None, threads: int | None = None, progress: bool = False
) -> WhatHelps:
    """Try what may help a scenario: what explanations advise, and what access points of today can do.

    Each change is run over the same seeds as the scenario itself. It helps fairness (Jain's index), goodput or latency
    if the 95 % interval of the paired differences leaves out zero.

    Parameters
    ----------
    scenario : Scenario, path or mapping
        What to help.
    seeds : int, str or iterable of int, optional
        At least three distinct seeds; 1 to 10 by default.
    threads : int, optional
        Runs at the same time; all available cores by default.
    progress : bool, default False
        Show progress bars on stderr.

    Returns
    -------
    WhatHelps
        What was tried and what was left out, as data and as text.

    Raises
    ------
    ScenarioError
        If the scenario is wrong.
    ValueError
        If there are fewer than three seeds.

    Examples
    --------
    >>> what_helps("hot-spot.toml")  # doctest: +SKIP
    """
    checked = scenario_of(scenario)
    numbers = read_seeds(DEFAULT_SEEDS if seeds is None else seeds)
    if len(numbers) < 3:
        raise ValueError(f"{len(numbers)} seeds: intervals need at least 3, as in --seeds 1..10")
    first = run(checked, seeds=numbers, threads=threads, progress=progress)
    trial = _core.Trial(checked._core, handed_over(first), list(numbers))
    arms = [handed_over(first)]
    for changes in trial.changes[1:]:
        changed = checked._changed([("--try", change) for change in changes])
        arms.append(handed_over(run(changed, seeds=numbers, threads=threads, progress=progress)))
    found = json.loads(trial.report(arms))
    return WhatHelps(checked.name, found["pairs"], found["tried"], found["left_out"], found["lines"])

"""What generic nulls did to claims: results, and the recorded ones."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from wifair.reproduce._reading import read_rows


class NullResult(NamedTuple):
    """A claim with a generic null."""

    held: int
    """Number of readings in which the claim holds without the null, all of which are judged with it."""
    still: int
    """Number of those in which it holds with the null, too."""
    touched: bool
    """Whether the null changes a scenario that the claim needs."""


def read_nulls(path: Path) -> dict[str, dict[str, NullResult]]:
    """Read `nulls.csv`: by claim and null."""
    found: dict[str, dict[str, NullResult]] = {}

    def take(row: dict[str, str]) -> None:
        result = NullResult(int(row["held"]), int(row["still"]), row["touched"] == "yes")
        found.setdefault(row["claim"], {})[row["null"]] = result

    read_rows(path, ("claim", "null", "held", "still", "touched"), take)
    return found

"""What the reproductions share: expected values, tables, figures."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

OUT = Path(__file__).parent.parent / "out"


def expected(folder: Path) -> list[dict[str, str]]:
    """Read the published values, and ns-2's beside them."""
    with (folder / "expected.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table, the first column to the left, the others to the right."""
    lines = [list(heads), *map(list, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(heads))]
    for line in lines:
        cells = [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:]))]
        print("  ".join(cells).rstrip())


def progress(items: Sequence[T], what: str) -> Iterator[T]:
    """Go through `items` with a bar on stderr, or a line where that is no terminal."""
    from tqdm import tqdm  # noqa: PLC0415

    if not sys.stderr.isatty():
        print(f"{what}: {len(items)} cases", file=sys.stderr)
    yield from tqdm(items, desc=what, leave=False, disable=not sys.stderr.isatty())


def save(figure: Any, path: Path) -> None:
    """Save a figure of matplotlib, with the same bytes each time."""
    import matplotlib as mpl  # noqa: PLC0415

    path.parent.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": path.stem}):
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=150)


def shown(path: Path) -> str:
    """Shorten a path for a reader who is in the checkout."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)

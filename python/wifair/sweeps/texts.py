"""The progress of a sweep on a terminal."""

from __future__ import annotations

import math
import shutil
import sys
import time

from wifair._output.report import figure_text
from wifair._output.streams import write_codes
from wifair._output.tables import aligned
from wifair.statistics import Interval
from wifair.sweeps.store import Label
from wifair.sweeps.summarising import SHOWN
from wifair.sweeps.sweeping import Sweep
from wifair.sweeps.work import Progress

LIVE_ROWS = 10
LIVE_EVERY_S = 0.2


def duration_text(seconds: float) -> str:
    """Format a time in a suitable unit: 40 s, 3 min, 2.5 h, 4 days; at least a second."""
    seconds = max(seconds, 1.0)
    for unit, size in (("s", 1.0), ("min", 60.0), ("h", 3600.0)):
        if seconds < 100 * size:
            value = seconds / size
            return f"{value:.0f} {unit}" if unit == "s" or value >= 10 else f"{value:.1f} {unit}"
    return f"{seconds / 86400:.0f} days"


class Display:
    """Shows a progress bar and the latest points on a terminal, and nothing elsewhere."""

    def __init__(self, sweep: Sweep, wanted: bool) -> None:
        """Show the progress of `sweep` if it is `wanted` and stderr is a terminal."""
        self._on = wanted and sys.stderr.isatty()
        self._sweep = sweep
        self._drawn = 0
        self._next = 0.0
        self._sums: dict[str, tuple[int, int, float, float]] = {}  # runs, failures, goodput and Jain's index

    def report(self, progress: Progress) -> None:
        """Take note of finished runs, and redraw at most every `LIVE_EVERY_S`."""
        if not self._on:
            return
        for run in progress.latest:
            done, failed, goodput, jain = self._sums.pop(run.key.scenario, (0, 0, 0.0, 0.0))
            self._sums[run.key.scenario] = (
                done + 1,
                failed + run.failed,
                goodput + run.figures.get("goodput_bps", 0.0),
                jain + run.figures.get("jain_index", 0.0),
            )
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + LIVE_EVERY_S
            self._draw(progress)

    def close(self) -> None:
        """Remove it from the terminal."""
        if self._drawn:
            write_codes(f"\x1b[{self._drawn}F\x1b[J")
            sys.stderr.flush()
            self._drawn = 0

    def _draw(self, progress: Progress) -> None:
        from tqdm import tqdm  # noqa: PLC0415

        width = shutil.get_terminal_size().columns
        failed = f", {progress.failed} failed" if progress.failed else ""
        bar = tqdm.format_meter(
            progress.done,
            max(progress.total, 1),
            progress.elapsed_s,
            ncols=width - 1,
            unit="run",
            rate=progress.rate_per_s or None,
            initial=progress.found,
            postfix=f"{progress.found} found{failed}",
        )
        block = [*self._table(), bar]
        self.close()
        sys.stderr.write("".join(line[: width - 1] + "\n" for line in block))
        sys.stderr.flush()
        self._drawn = len(block)

    def _table(self) -> list[str]:
        latest = sorted(list(self._sums.items())[-LIVE_ROWS:], key=lambda item: self._sweep.place(item[0]))
        if not latest:
            return []
        names = self._sweep.points.paths
        rows = [[*names, "seeds", *SHOWN]]
        for scenario, (done, failed, goodput, jain) in latest:
            labels: dict[str, Label] = self._sweep.labels(scenario)
            good = done - failed
            means = [Interval(x / good if good else math.nan, math.nan) for x in (goodput, jain)]
            cells = [str(labels.get(name, "")) for name in names]
            figures = [figure_text(name, mean) for name, mean in zip(SHOWN, means)]
            rows.append([*cells, f"{done}" + (f" ({failed} failed)" if failed else ""), *figures])
        return aligned(rows)

"""Times in tables are the nearest numbers to whole nanoseconds: 0.3, not 0.30000000000000004."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import wifair

if TYPE_CHECKING:
    from pathlib import Path

    from wifair.columns import Columns

PAGES = """
duration = "5 s"
wlan.standard = "802.11b"
[[servers]]
name = "server"
delay = "10 ms"
[[stations]]
name = "sta"
count = 2
[[flows]]
name = "up"
station = "sta"
workload = "poisson"
poisson.interval = "300 ms"
poisson.size = "20 kB"
"""


def almost_whole(table: Columns) -> dict[str, float]:
    """Find a value of each column that is nearly a whole number of nanoseconds, but not the number nearest to it."""
    found = {}
    for name, column in table.items():
        if name.endswith("_s"):
            for value in np.asarray(column, dtype=np.float64).ravel().tolist():
                if math.isfinite(value) and 0 < abs(round(value, 9) - value) <= 4 * math.ulp(value):
                    found[name] = value
    return found


def test_times_of_a_run_and_of_its_captures_are_rounded_once(tmp_path: Path) -> None:
    scenario = wifair.Scenario.from_text(PAGES)
    run = wifair.run(scenario, seeds=[1], series="100 ms", frames=True, pcap=wifair.Pcap(tmp_path, at=("server",)))
    tables = {**run.tables, "frames": run.frames, "backoffs": run.backoffs}
    capture = wifair.read_capture(tmp_path / "server.pcap", packets=True)
    tables |= {f"capture's {name}": table for name, table in capture.tables.items()}
    assert sum(len(table) for table in tables.values() if table is not None) > 1000
    wrong = {name: almost_whole(table) for name, table in tables.items() if table is not None}
    assert {name: found for name, found in wrong.items() if found} == {}

"""Many runs: parameters times schemes times seeds, on one core or a cluster, kept in a store.

`wifair.sweep` varies parameters of a scenario. It is built on `compute`, which gives the results of any list of runs,
from a `Store` if it has them.
"""

from __future__ import annotations

from wifair.sweeps._reading import Failure
from wifair.sweeps._saved_sweep import SavedSweep, read_sweep
from wifair.sweeps._task import VERSION
from wifair.sweeps.compute import Request, compute
from wifair.sweeps.runs import Runs
from wifair.sweeps.store import Key, Store
from wifair.sweeps.sweeping import SweepOptions, sweep
from wifair.sweeps.work import Finished, Progress

__all__ = [
    "VERSION",
    "Failure",
    "Finished",
    "Key",
    "Progress",
    "Request",
    "Runs",
    "SavedSweep",
    "Store",
    "SweepOptions",
    "compute",
    "read_sweep",
    "sweep",
]

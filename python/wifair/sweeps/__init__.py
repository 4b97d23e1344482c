"""Many runs: parameters times schemes times seeds, on one core or a cluster, kept in a store.

`wifair.sweep` varies parameters of a scenario. It is built on `compute`, which gives the results of any list of runs,
from a `Store` if it has them.
"""

from __future__ import annotations

from wifair.sweeps.compute import Request, compute
from wifair.sweeps.reading import Failure
from wifair.sweeps.runs import Runs
from wifair.sweeps.saved_sweep import SavedSweep, read_sweep
from wifair.sweeps.store import Key, Store
from wifair.sweeps.sweeping import sweep
from wifair.sweeps.task import VERSION
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
    "compute",
    "read_sweep",
    "sweep",
]

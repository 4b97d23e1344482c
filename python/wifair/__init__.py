"""Packet-level simulation of TCP over 802.11 wireless LANs: who gets what, why, and how fair it is.

Examples
--------
>>> import wifair
>>> scenario = wifair.Scenario.from_text('''
... duration = "2 s"
... [wlan]
... standard = "802.11b"
... [[servers]]
... name = "server"
... [[stations]]
... name = "sta"
... count = 2
... [[flows]]
... name = "up"
... station = "sta"
... server = "server"
... direction = "up"
... ''')
>>> results = wifair.run(scenario.with_(duration="4 s"), seeds=[1, 2])
>>> results.flows["goodput_bps"].shape
(4,)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from wifair import loaded
from wifair._core import __version__
from wifair.errors import (
    CaptureError,
    ExtensionError,
    Interrupted,
    ResultsError,
    RunError,
    ScenarioError,
    StoppedError,
    StoreError,
    TooLargeError,
    WifairError,
)

if TYPE_CHECKING:
    from wifair import metrics, statistics, sweeps
    from wifair._core import Ack, CongestionControl, Packet, QueueDiscipline
    from wifair.capture import Capture, read_capture
    from wifair.columns import Columns
    from wifair.comparing import Comparison, compare
    from wifair.exchange import ImportedResults, read_flent, read_iperf3, write_flent
    from wifair.exchange_time import Airtime, AirtimeError, airtime, airtime_table
    from wifair.explaining import Explanation, explain
    from wifair.explaining.helping import WhatHelps, what_helps
    from wifair.laboratory import lab
    from wifair.results import Results, SampledResults
    from wifair.saved import SavedResults, read_results
    from wifair.scenario import Scenario
    from wifair.simulate import run
    from wifair.sweeps import SavedSweep, Store, read_sweep, sweep
    from wifair.taps import Pcap

__all__ = [
    "Ack",
    "Airtime",
    "AirtimeError",
    "Capture",
    "CaptureError",
    "Columns",
    "Comparison",
    "CongestionControl",
    "Explanation",
    "ExtensionError",
    "ImportedResults",
    "Interrupted",
    "Packet",
    "Pcap",
    "QueueDiscipline",
    "Results",
    "ResultsError",
    "RunError",
    "SampledResults",
    "SavedResults",
    "SavedSweep",
    "Scenario",
    "ScenarioError",
    "StoppedError",
    "Store",
    "StoreError",
    "TooLargeError",
    "WhatHelps",
    "WifairError",
    "__version__",
    "airtime",
    "airtime_table",
    "compare",
    "explain",
    "lab",
    "metrics",
    "read_capture",
    "read_flent",
    "read_iperf3",
    "read_results",
    "read_sweep",
    "run",
    "statistics",
    "sweep",
    "sweeps",
    "what_helps",
    "write_flent",
]

loaded.watch()

# Imported when first used: the command answers `--help` without numpy.
_LAZY = {
    "wifair._core": ("Ack", "CongestionControl", "Packet", "QueueDiscipline"),
    "wifair.capture": ("Capture", "read_capture"),
    "wifair.columns": ("Columns",),
    "wifair.comparing": ("Comparison", "compare"),
    "wifair.exchange": ("ImportedResults", "read_flent", "read_iperf3", "write_flent"),
    "wifair.exchange_time": ("Airtime", "AirtimeError", "airtime", "airtime_table"),
    "wifair.explaining": ("Explanation", "explain"),
    "wifair.explaining.helping": ("WhatHelps", "what_helps"),
    "wifair.laboratory": ("lab",),
    "wifair.results": ("Results", "SampledResults"),
    "wifair.saved": ("SavedResults", "read_results"),
    "wifair.scenario": ("Scenario",),
    "wifair.simulate": ("run",),
    "wifair.sweeps": ("SavedSweep", "Store", "read_sweep", "sweep"),
    "wifair.taps": ("Pcap",),
}
_HOMES = {name: module for module, names in _LAZY.items() for name in names}
_MODULES = ("metrics", "statistics", "sweeps")


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"wifair.{name}")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'wifair' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__

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

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from wifair import _moved
from wifair._core import __version__
from wifair.exceptions import (
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
from wifair.extensions import loaded

if TYPE_CHECKING:
    from wifair import metrics, statistics, sweeps
    from wifair._airtime import Airtime, AirtimeError, AirtimeOptions, airtime, airtime_table
    from wifair._core import Ack, CongestionControl, Packet, QueueDiscipline
    from wifair.capture.capture import Capture, read_capture
    from wifair.columns import Columns
    from wifair.comparison.comparing import Comparison, compare
    from wifair.explaining import Explanation, explain
    from wifair.explaining.helping import WhatHelps, what_helps
    from wifair.importers import (
        ImportedResults,
        read_flent,
        read_iperf3,
        write_flent,
        write_mahimahi,
        write_perfetto,
        write_qlog,
    )
    from wifair.laboratory import lab
    from wifair.results.from_folder import SavedResults, read_results
    from wifair.results.results import Results, SampledResults
    from wifair.scenario.scenario import Scenario
    from wifair.simulation.link import Delivery, Link, LinkError, LinkLoss
    from wifair.simulation.simulate import run
    from wifair.simulation.taps import Pcap
    from wifair.sweeps import SavedSweep, Store, read_sweep, sweep

__all__ = [
    "Ack",
    "Airtime",
    "AirtimeError",
    "AirtimeOptions",
    "Capture",
    "CaptureError",
    "Columns",
    "Comparison",
    "CongestionControl",
    "Delivery",
    "Explanation",
    "ExtensionError",
    "ImportedResults",
    "Interrupted",
    "Link",
    "LinkError",
    "LinkLoss",
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
    "write_mahimahi",
    "write_perfetto",
    "write_qlog",
]

loaded.watch()
sys.meta_path.append(_moved.FINDER)

# Imported when first used: the command answers `--help` without numpy.
_LAZY = {
    "wifair._core": ("Ack", "CongestionControl", "Packet", "QueueDiscipline"),
    "wifair.capture.capture": ("Capture", "read_capture"),
    "wifair.columns": ("Columns",),
    "wifair.comparison.comparing": ("Comparison", "compare"),
    "wifair.importers": (
        "ImportedResults",
        "read_flent",
        "read_iperf3",
        "write_flent",
        "write_mahimahi",
        "write_perfetto",
        "write_qlog",
    ),
    "wifair._airtime": ("Airtime", "AirtimeError", "AirtimeOptions", "airtime", "airtime_table"),
    "wifair.explaining": ("Explanation", "explain"),
    "wifair.explaining.helping": ("WhatHelps", "what_helps"),
    "wifair.laboratory": ("lab",),
    "wifair.results.results": ("Results", "SampledResults"),
    "wifair.results.from_folder": ("SavedResults", "read_results"),
    "wifair.scenario.scenario": ("Scenario",),
    "wifair.simulation.simulate": ("run",),
    "wifair.sweeps": ("SavedSweep", "Store", "read_sweep", "sweep"),
    "wifair.simulation.link": ("Delivery", "Link", "LinkError", "LinkLoss"),
    "wifair.simulation.taps": ("Pcap",),
}
_HOMES = {name: module for module, names in _LAZY.items() for name in names}
_MODULES = ("metrics", "statistics", "sweeps")


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"wifair.{name}")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise _moved.missing("wifair", name)


def __dir__() -> list[str]:
    return __all__

"""Formats of other programs: reads iperf3 and Flent into tables like a run's, writes for others."""

from __future__ import annotations

from wifair.importers._flent import read_flent
from wifair.importers._flent_export import write_flent
from wifair.importers._iperf3 import read_iperf3
from wifair.importers._mahimahi import write_mahimahi
from wifair.importers._perfetto import write_perfetto
from wifair.importers._qlog import write_qlog
from wifair.importers.imported import ImportedResults

__all__ = [
    "ImportedResults",
    "read_flent",
    "read_iperf3",
    "write_flent",
    "write_mahimahi",
    "write_perfetto",
    "write_qlog",
]

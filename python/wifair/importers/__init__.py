"""Results of other programs: reads those of iperf3 and Flent into tables like a run's, and writes runs for Flent."""

from __future__ import annotations

from wifair.importers._flent import read_flent
from wifair.importers._flent_export import write_flent
from wifair.importers._iperf3 import read_iperf3
from wifair.importers.imported import ImportedResults

__all__ = ["ImportedResults", "read_flent", "read_iperf3", "write_flent"]

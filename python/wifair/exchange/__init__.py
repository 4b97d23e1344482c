"""Results of other programs: reads those of iperf3 and Flent into tables like a run's, and writes runs for Flent."""

from __future__ import annotations

from wifair.exchange.flent import read_flent
from wifair.exchange.flent_export import write_flent
from wifair.exchange.imported import ImportedResults
from wifair.exchange.iperf3 import read_iperf3

__all__ = ["ImportedResults", "read_flent", "read_iperf3", "write_flent"]

"""Results of other programs: iperf3 and Flent are read into our tables, and ours are written for Flent."""

from __future__ import annotations

from wifair.exchange.flent import read_flent
from wifair.exchange.flent_export import write_flent
from wifair.exchange.imported import ImportedResults
from wifair.exchange.iperf3 import read_iperf3

__all__ = ["ImportedResults", "read_flent", "read_iperf3", "write_flent"]

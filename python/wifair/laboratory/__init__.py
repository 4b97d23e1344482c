"""The lab: the simulator as a web page, from a local server or as static files."""

from __future__ import annotations

from wifair.laboratory._notebook import LabView, lab
from wifair.laboratory.export import export
from wifair.laboratory.server import LabServer

__all__ = ["LabServer", "LabView", "export", "lab"]

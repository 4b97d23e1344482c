"""Emulation: real programs over the simulated air, in real time."""

from wifair.emulation._programs import Command
from wifair.emulation.running import Emulated, emulate, replay

__all__ = ["Command", "Emulated", "emulate", "replay"]

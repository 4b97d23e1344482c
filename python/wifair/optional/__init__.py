"""Optional parts, each a folder: the rest of the package works without it, and asks for it only by name."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType


def has(part: str) -> bool:
    """Whether a part is installed."""
    return find_spec(f"{__name__}.{part}") is not None


def module(part: str, name: str) -> ModuleType | None:
    """Import a module of a part; None if the part is not installed."""
    return import_module(f"{__name__}.{part}.{name}") if has(part) else None

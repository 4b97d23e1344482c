"""Modules that exist only on POSIX systems; None elsewhere."""

from __future__ import annotations

from types import ModuleType

fcntl: ModuleType | None
resource: ModuleType | None
try:
    import fcntl
    import resource
except ImportError:
    fcntl = resource = None

__all__ = ["fcntl", "resource"]

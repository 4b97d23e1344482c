"""Names that modules had before, each with what replaced it: an import of the old name says the new one."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import TYPE_CHECKING

# Public names are imported from `wifair` itself, wherever they are defined.
MODULES = {
    "wifair.capture_report": "wifair.Capture.report",
    "wifair.comparing": "wifair.compare",
    "wifair.errors": "wifair.exceptions",
    "wifair.exchange": "wifair.importers",
    "wifair.exchange_time": "wifair.airtime",
    "wifair.extending": "wifair.extensions.extending",
    "wifair.files": "wifair._output.files",
    "wifair.finishing": "wifair.metrics",
    "wifair.keys": "wifair.scenario.keys",
    "wifair.latency": "wifair.metrics",
    "wifair.measure": "wifair.optional.measure",
    "wifair.output": "wifair.results.folder",
    "wifair.report": "wifair._output.report",
    "wifair.saved": "wifair.read_results",
    "wifair.seeds": "wifair.simulation.seeds",
    "wifair.simulate": "wifair.run",
    "wifair.sources": "wifair.comparison.sources",
    "wifair.streams": "wifair._output.streams",
    "wifair.tables": "wifair._output.tables",
    "wifair.taps": "wifair.Pcap",
    "wifair.words": "wifair._output.words",
}
NAMES = {
    "wifair.capture": ("Capture", "read_capture"),
    "wifair.results": ("Results", "SampledResults"),
    "wifair.scenario": ("Scenario",),
}

ATTRIBUTES = {
    "Columns": {
        "part": "slice(offset, length)",
        "records": "to_dicts()",
        "rows": "len(table)",
        "values": "dict(table).values()",
        "where": "filter(NAME=VALUE)",
        "without": "drop(*names)",
    },
    "LabView": {"text": "toml"},
    "Scenario": {"text": "toml"},
}


class Renamed:
    """A class whose attributes in `ATTRIBUTES` have other names now."""

    if not TYPE_CHECKING:  # otherwise every name would be an attribute for type checkers

        def __getattr__(self, name: str) -> object:
            kind = type(self).__name__
            moved = _now(ATTRIBUTES.get(kind, {}).get(name))
            raise AttributeError(f"{kind!r} object has no attribute {name!r}{moved}")


class _MovedModules(MetaPathFinder):
    """Asked last, for modules that nothing else has found."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        del path, target
        if name in MODULES:
            raise ModuleNotFoundError(f"`{name}` is now `{MODULES[name]}`")


FINDER = _MovedModules()


def missing(module: str, name: str) -> AttributeError:
    """Write the error of a name that `module` does not have, with where it is now.

    Raises
    ------
    ImportError
        If it is a name of `wifair` that the module had before: raised here, for ``from MODULE import NAME`` shows it.
    """
    if name in NAMES.get(module, ()):
        raise ImportError(f"`{module}.{name}` is now `wifair.{name}`")
    moved = _now(MODULES.get(f"{module}.{name}"))
    return AttributeError(f"module {module!r} has no attribute {name!r}{moved}")


def _now(new: str | None) -> str:
    return f": it is now `{new}`" if new else ""

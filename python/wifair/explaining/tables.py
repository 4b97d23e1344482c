"""Results and captures as the core takes them: tables of names and numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from wifair._core import RawData
    from wifair.columns import Columns
    from wifair.comparison.sources import Found

CoreTable: TypeAlias = "tuple[str, list[tuple[str, RawData]]]"
OF_CAPTURES = ("attempts", "datagrams", "echoes")


def handed_over(results: Found) -> list[CoreTable]:
    """Give the tables that explanations rest on; none for an empty table."""
    tables: dict[str, Columns | None] = {name: getattr(results, name, None) for name in OF_CAPTURES}
    if len(results.cells) and len(results.flows):
        tables |= {"flows": results.flows, "cells": results.cells, "stations": results.stations}
    handed = [(name, _columns(table)) for name, table in tables.items() if table is not None and len(table)]
    connections = getattr(results, "document", {}).get("connections")
    if connections is not None:
        closed = np.array([_zero_windows(connections, flow) for flow in results.flows.to_dicts()], dtype=np.float64)
        handed = [
            (name, [*columns, ("zero_windows", _column(closed))] if name == "flows" else columns)
            for name, columns in handed
        ]
    return handed


def _columns(table: Columns) -> list[tuple[str, RawData]]:
    return [(name, _column(table[name])) for name in table]


def _column(column: np.ndarray[Any, Any]) -> RawData:
    if column.dtype.kind in "fiub":
        return "<f8", column.astype("<f8").tobytes()
    return ["" if value is None else str(value) for value in column.tolist()]


def _zero_windows(connections: list[dict[str, Any]], flow: dict[str, Any]) -> float:
    """Count how often the receiver of a flow of a capture closed its window."""
    connection = connections[int(flow["connection"]) - 1]
    return float(connection["b2a" if flow["side"] == "a2b" else "a2b"]["zero_win_adv"])

"""Python values as TOML, as much as a scenario needs."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

BARE = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")
"""A key without quotes; dots in it lead into tables, as in a file."""


def document(table: Mapping[str, object]) -> str:
    """Write a table as a TOML document: a line for each key, tables inline."""
    return "".join(f"{key(k)} = {value(v, k)}\n" for k, v in table.items() if v is not None)


def key(name: object) -> str:
    """Write a key, quoted where it must be."""
    if not isinstance(name, str):
        raise TypeError(f"key {name!r} is not a string")
    return name if BARE.fullmatch(name) else text(name)


def text(string: str) -> str:
    """Write a basic string: JSON's escapes are TOML's, but for DEL and surrogates."""
    import json  # noqa: PLC0415

    return json.dumps(string, ensure_ascii=False).replace("\x7f", "\\u007f")


def value(item: object, at: str) -> str:
    """Write a value; `at` names it in the error."""
    if hasattr(item, "item") and not isinstance(item, (Mapping, type)):  # numpy's scalars
        item = item.item()
    if isinstance(item, type):
        from wifair.extensions.extending import name_of  # noqa: PLC0415

        item = name_of(item)
    match item:
        case bool():
            return "true" if item else "false"
        case int():
            return str(item)
        case float():
            return repr(item) if math.isfinite(item) else str(item)
        case str():
            return text(item)
        case Mapping():
            parts = [f"{key(k)} = {value(v, f'{at}.{k}')}" for k, v in item.items() if v is not None]
            return "{ " + ", ".join(parts) + " }" if parts else "{}"
        case list() | tuple():
            return "[" + ", ".join(value(v, f"{at}[{i}]") for i, v in enumerate(item)) + "]"
    raise TypeError(f"{at} is a {type(item).__name__}: expected a string, number, bool, list or dict")

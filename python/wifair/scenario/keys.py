"""The keys of scenarios, read from the reference that the core writes."""

from __future__ import annotations

import re
import textwrap
from functools import cache
from typing import NamedTuple

from wifair import _core
from wifair._output.words import suggestion

HEADING = re.compile(r"^#{2,6} (.+)$", re.M)
ROW = re.compile(r"^\| `([^`]+)` \| (.*?) \| (.*?) \| (.*) \|$", re.M)
SAME = re.compile(r"The same keys as `\[*([\w.-]+)\]*`")
WIDTH = 100


class KeyEntry(NamedTuple):
    """A key of a table."""

    path: str
    """Where it stands, as in ``wlan.cw_min``."""
    takes: str
    """What it takes."""
    default: str
    """What it is if absent; empty for a table."""
    sets: str
    """What it sets."""


class KeyTable(NamedTuple):
    """A table of keys."""

    path: str
    """Where it stands; empty for the scenario itself."""
    about: str
    """What it is for, and what its values mean."""
    keys: list[KeyEntry]
    """Its keys."""


@cache
def tables() -> dict[str, KeyTable]:
    """Get all tables by their paths."""
    parts = HEADING.split(_core.reference())
    found = {}
    for heading, body in zip(parts[1::2], parts[2::2]):
        path = heading.strip("`[]") if "`" in heading else ""
        keys = [
            KeyEntry(f"{path}.{row[1]}" if path else row[1], *(row[place].replace("\\|", "|") for place in (2, 3, 4)))
            for row in ROW.finditer(body)
        ]
        about = "\n\n".join(block for block in body.strip().split("\n\n") if not block.startswith("| "))
        found[path] = KeyTable(path, about, keys)
    return found


def described(name: str, width: int = WIDTH) -> str:
    """Describe a key, or a table with its keys.

    Raises
    ------
    LookupError
        If there is none; the message proposes the nearest one.
    """
    name = name.strip("[]")
    known = tables()
    table = known.get(name)
    if table is not None:
        same = SAME.search(table.about)
        entries = [
            key._replace(path=f"{name}.{key.path.rpartition('.')[2]}")
            for key in (known[same[1]] if same and same[1] in known else table).keys
        ]
        return "\n\n".join([_filled(f"[{name}]: {table.about}", width), *(_entry(key, width) for key in entries)])
    for path in [name, *(f"{other.path}.{name.rpartition('.')[2]}" for other in _like(name))]:
        for key in (key for other in known.values() for key in other.keys if key.path == path):
            return _entry(key._replace(path=name), width)
    ends = [key for other in known.values() for key in other.keys if key.path.endswith(f".{name}")]
    if ends:
        return "\n\n".join(_entry(key, width) for key in ends)
    paths = [*filter(None, known), *(key.path for other in known.values() for key in other.keys)]
    hint = suggestion(name, paths, "`wifair schema --markdown` has all")
    raise LookupError(f"no key or table `{name}`: {hint}")


def _like(name: str) -> list[KeyTable]:
    """Find the tables like that of a key, such as ``ap.queue`` for ``stations.queue.limit``."""
    last = name.rpartition(".")[0].rpartition(".")[2]
    return [table for table in tables().values() if last and table.path.rpartition(".")[2] == last]


def _entry(key: KeyEntry, width: int) -> str:
    parts = [
        part
        for part in (
            key.takes,
            f"by default {key.default}" if key.default not in ("", "none", "required") else key.default,
        )
        if part
    ]
    text = textwrap.fill(f"{key.sets}", width, initial_indent="    ", subsequent_indent="    ")
    head = textwrap.fill(f"{key.path}: {'; '.join(parts)}".replace("`", ""), width, subsequent_indent="    ")
    return f"{head}\n{text}".replace("`", "")


def _filled(text: str, width: int) -> str:
    return "\n".join(
        textwrap.fill(line, width, subsequent_indent="  " if line.startswith("- ") else "")
        for line in text.splitlines()
    )

"""Reads the data files of a paper's folder, which may be a stranger's: an error names the file and the line."""

from __future__ import annotations

import csv
import re
import tomllib
from typing import TYPE_CHECKING, Any, TypeVar

from wifair._output import files
from wifair.reproduce._places import PaperError, in_short

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from pathlib import Path

Made = TypeVar("Made")
LARGEST = 20_000_000
"""The largest data file of a paper [B]."""


def read_text(path: Path) -> str:
    """Read a text in UTF-8.

    Raises
    ------
    PaperError
        If it is none, is no regular file, is too large, or cannot be read.
    """
    try:
        data = files.read_regular(path, LARGEST)
        return data.decode("utf-8").replace("\r\n", "\n")
    except OSError as error:
        raise PaperError(f"error: cannot read the file: {error.strerror}\n  --> {in_short(path)}:1") from None
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise PaperError(f"error: a byte that is not UTF-8\n  --> {in_short(path)}:{line}") from None


def read_toml(path: Path, needed: Mapping[str, type] | None = None) -> dict[str, Any]:
    """Read a document.

    Parameters
    ----------
    path : path
        The file.
    needed : mapping of str to type, optional
        Keys that it must have, with their types.

    Raises
    ------
    PaperError
        As from `read_text`, or if it is not TOML, or lacks a key.
    """
    text = read_text(path)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = int(found[1]) if (found := re.search(r"line (\d+)", str(error))) else len(text.splitlines())
        said = str(error).partition(" (at")[0]
        raise PaperError(f"error: {said[:1].lower()}{said[1:]}\n  --> {in_short(path)}:{line}") from None
    except RecursionError:
        deepest = max(enumerate(text.splitlines(), 1), key=lambda line: line[1].count("[") + line[1].count("{"))[0]
        raise PaperError(f"error: values nested too deeply\n  --> {in_short(path)}:{deepest}") from None
    for key, kind in (needed or {}).items():
        if not isinstance(document.get(key), kind):
            what = "a text" if kind is str else "a table" if kind is dict else "a list of tables"
            raise PaperError(f"error: `{key}` must be {what}\n  --> {in_short(path)}:1")
    return document


def read_rows(path: Path, columns: Collection[str], make: Callable[[dict[str, str]], Made]) -> list[Made]:
    """Read the rows of a CSV file with comments behind ``#``; none if there is no such file.

    Parameters
    ----------
    path : path
        The file.
    columns : collection of str
        Columns that it must have.
    make : callable
        Makes something of a row; a ValueError of it is the row's.

    Raises
    ------
    PaperError
        As from `read_text`, or if a column is missing, a row is too long or too short, or a value is wrong.
    """
    if not path.exists():
        return []
    lines = read_text(path).splitlines(keepends=True)
    numbers = [number for number, line in enumerate(lines, 1) if not line.startswith("#")]
    reader = csv.reader(lines[number - 1] for number in numbers)
    head: list[str] = []
    found = []

    def wrong(what: object) -> PaperError:
        line = numbers[min(max(reader.line_num, 1), len(numbers)) - 1] if numbers else 1
        return PaperError(f"error: {what}\n  --> {in_short(path)}:{line}")

    try:
        for fields in reader:
            if not head:
                head = fields
                if missing := [name for name in columns if name not in head]:
                    raise wrong(f"there is no column `{missing[0]}`")
            elif fields:
                if len(fields) != len(head):
                    raise wrong(f"{len(fields)} values for {len(head)} columns")
                try:
                    found.append(make(dict(zip(head, fields, strict=True))))
                except ValueError as error:
                    raise wrong(error) from None
    except csv.Error as error:
        raise wrong(error) from None
    return found

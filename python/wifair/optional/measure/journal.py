"""The journal of a measurement: a line of JSON for each repetition, written to disk before the next one begins.

A crash, a full disk or a power cut loses at most the current repetition. An incomplete last line is removed when the
journal is opened again.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from wifair._output.files import read_regular, sync
from wifair._output.words import reason
from wifair.optional.measure.errors import MeasureError
from wifair.optional.measure.posix import fcntl

FORMAT = 1
NAME = "journal.jsonl"


def read(folder: Path) -> list[dict[str, Any]]:
    """Read all complete lines of a journal; the first one describes the plan.

    Raises
    ------
    MeasureError
        If there is none, or it is none.
    """
    try:
        return _lines(read_regular(folder / NAME))[0]
    except FileNotFoundError:
        raise MeasureError(f"`{folder}` holds no measurement") from None
    except OSError as error:
        raise MeasureError(f"cannot read `{folder / NAME}`: {reason(error)}") from None


class Journal:
    """A journal that is being written, locked against other writers."""

    def __init__(self, folder: Path, head: dict[str, Any], *, resume: bool) -> None:
        """Create the folder and a journal that begins with `head`, or continue one of the same plan.

        Raises
        ------
        MeasureError
            If the folder holds something else, another plan, or cannot be written.
        """
        self.path = folder / NAME
        self.rows: list[dict[str, Any]] = []
        head = {"kind": "plan", "format": FORMAT, **head}
        try:
            if not resume and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
                what = "a measurement: go on with --resume, or choose another folder"
                held = what if self.path.exists() else "other files: choose another folder"
                raise MeasureError(f"`{folder}` holds {held}")
            folder.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("r+b" if self.path.exists() else "x+b", buffering=0)
        except OSError as error:
            raise MeasureError(f"cannot write `{folder}`: {reason(error)}") from None
        try:
            self._lock()
            self._open(head, folder)
        except BaseException:
            self._file.close()
            raise

    def _lock(self) -> None:
        if fcntl is not None:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise MeasureError(f"`{self.path}` is being written by another wifair") from None

    def _open(self, head: dict[str, Any], folder: Path) -> None:
        self.rows, self._size = _lines(self._file.read())
        self._file.truncate(self._size)
        self._file.seek(self._size)
        if not self.rows:
            self.add(head)
            sync(folder)
        elif self.rows[0].get("hash") != head["hash"]:
            raise MeasureError(f"`{folder}` holds a measurement of another plan")

    def add(self, row: dict[str, Any]) -> None:
        """Add a line; it is on the disk when this returns.

        Raises
        ------
        MeasureError
            If it cannot be written; all earlier lines are kept.
        """
        line = json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        try:
            written = 0
            while written < len(line):
                written += self._file.write(line[written:]) or 0
            os.fsync(self._file.fileno())
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(self._size)
                self._file.seek(self._size)
            kept = sum(row.get("kind") == "repetition" for row in self.rows)
            raise MeasureError(
                f"cannot write `{self.path}`: {reason(error)}; {kept} finished repetitions are kept there"
            ) from None
        self._size += len(line)
        self.rows.append(row)

    def close(self) -> None:
        """Close the file, which unlocks it."""
        self._file.close()


def _lines(data: bytes) -> tuple[list[dict[str, Any]], int]:
    """Parse the complete lines; also return where the last one ends."""
    rows: list[dict[str, Any]] = []
    end = 0
    while (stop := data.find(b"\n", end)) >= 0:
        try:
            row = json.loads(data[end:stop])
        except ValueError:
            row = None
        if not isinstance(row, dict) or (not rows and row.get("kind") != "plan"):
            if not rows:
                raise MeasureError("the journal does not begin as one of wifair")
            break
        rows.append(row)
        end = stop + 1
    if rows and rows[0].get("format") != FORMAT:
        raise MeasureError(f"a journal of format {rows[0].get('format')}: this version reads format {FORMAT}")
    return rows, end

"""A folder of results: tables, and the data needed to reproduce them. It appears when it is complete."""

from __future__ import annotations

import errno
import importlib.util
import itertools
import json
import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wifair._core import __version__
from wifair._output import files

if TYPE_CHECKING:
    from wifair._output.shown import ShownCapture, WrittenRun
    from wifair.columns import Columns

PROVENANCE = "provenance.json"
FORMATS = ("csv", "parquet")


class Folder:
    """A folder that is filled under a temporary name and renamed when it is complete.

    It is created before the runs, so that a folder that cannot be written is an error at once.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, formats: Iterable[str] | None = None, force: bool = False
    ) -> None:
        """See `Results.save`."""
        self.path = Path(path)
        self.formats = tuple(formats) if formats is not None else FORMATS if _has_pyarrow() else FORMATS[:1]
        for name in self.formats:
            if name not in FORMATS:
                raise ValueError(f"format `{name}`: expected {' or '.join(FORMATS)}")
        if "parquet" in self.formats:
            need_pyarrow()
        self._replace = _may_replace(self.path, force)
        parent = self.path.absolute().parent
        try:
            parent.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(parent)) from None
        self._mounted = self.path.is_mount()  # as in a container: only its contents can be replaced
        with files.named(self.path):
            place = self.path if self._mounted else parent
            self._work = Path(tempfile.mkdtemp(prefix=f".{self.path.name[:50]}.", suffix=files.PARTIAL, dir=place))

    def write(self, results: WrittenRun, *, command: str | None = None) -> None:
        """Fill the folder with the tables of `results`."""
        with files.named(self.path):
            for name, text in results.sources.items():
                files.below(self._work, name).write_text(text, encoding="utf-8")
            texts = {name: columns.texts for name, columns in results.tables.items()}
            self._write_tables(results.tables, {**results._origin(), "command": command}, {"texts": texts})
            self._write_json("summary.json", results._summary())

    def write_capture(self, capture: ShownCapture, *, command: str | None = None) -> None:
        """Fill the folder with the tables of `capture`, and its JSON."""
        with files.named(self.path):
            files.write_text(files.below(self._work, "analysis.json"), itertools.chain(capture.json_parts(), "\n"))
            origin = {"version": __version__, "capture": capture.path, "damage": capture.damage, "command": command}
            self._write_tables(capture.tables, origin, {})

    def _write_tables(self, tables: dict[str, Columns], origin: dict[str, Any], more: dict[str, Any]) -> None:
        """Write the tables, and their provenance: `origin`, what the columns mean, and `more`."""
        for name, columns in tables.items():
            for form in self.formats:
                write_table(columns, files.below(self._work, f"{name}.{form}"))
        about = {name: columns.about for name, columns in tables.items()}
        self._write_json(PROVENANCE, {**origin, "columns": about, **more})

    def _write_json(self, name: str, document: object) -> None:
        text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
        # Bytes of file names that are not UTF-8 become \udcXX, which JSON can express.
        files.below(self._work, name).write_bytes(text.encode("utf-8", "backslashreplace"))

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None and any(self._work.iterdir()):
                with files.named(self.path):
                    self._publish()
        finally:
            shutil.rmtree(self._work, ignore_errors=True)

    def _publish(self) -> None:
        self._work.chmod(0o777 & ~files.umask())
        for path in self._work.iterdir():
            files.sync(path)
        files.sync(self._work)
        if self._mounted:
            self._move()
        elif self._replace:
            old = self._work.with_suffix(".old")
            self.path.rename(old)
            try:
                self._work.rename(self.path)
            except BaseException:
                old.rename(self.path)
                raise
            shutil.rmtree(old, ignore_errors=True)
        else:
            self._work.rename(self.path)  # onto nothing, or onto an empty folder
        files.sync(self.path.absolute().parent)

    def _move(self) -> None:
        """Replace the files of the folder one by one; the provenance, which marks it as results, comes last."""
        for path in self.path.iterdir():
            if path != self._work:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        for path in sorted(self._work.iterdir(), key=lambda path: path.name == PROVENANCE):
            path.rename(self.path / path.name)


def write_table(columns: Columns, path: str | os.PathLike[str]) -> None:
    """Write a table as CSV or Parquet, depending on the extension of `path`."""
    if Path(path).suffix == ".csv":
        files.write_text(path, columns.to_csv())
        return
    need_pyarrow()
    from pyarrow import parquet  # noqa: PLC0415

    with files.replacing(path) as work, work.open("wb") as file:  # pyarrow's own paths are UTF-8 only
        parquet.write_table(columns.to_arrow(), file)


def _has_pyarrow() -> bool:
    return importlib.util.find_spec("pyarrow") is not None


def need_pyarrow() -> None:
    """Raise `ImportError` with a remedy if pyarrow is not installed."""
    if not _has_pyarrow():
        raise ImportError("Parquet needs pyarrow: pip install 'wifair[parquet]'")


def _may_replace(path: Path, force: bool) -> bool:
    """Whether a folder exists that must be replaced; raises an error if it must not be."""
    if not path.exists() and not path.is_symlink():
        return False
    if not path.is_dir():
        raise FileExistsError(f"`{path}` is a file: choose another folder")
    if not any(path.iterdir()):
        return False
    if not (path / PROVENANCE).is_file():
        raise FileExistsError(f"`{path}` holds other files: choose another folder")
    if not force:
        raise FileExistsError(f"`{path}` holds results: choose another folder, or replace them with --force")
    return True

"""Writes the report of a reproduction as a folder: pages that need no network, figures, tables, scenarios."""

from __future__ import annotations

import csv
import errno
import io
import os
import re
import shutil
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from wifair._output import files
from wifair.columns import safe_text
from wifair.reproduce import _page as page
from wifair.reproduce import style
from wifair.reproduce._model import Case, Effort
from wifair.reproduce._session import Outcome, PaperOutcome

MARK = "reproduction.json"
STAGE = ".partial-"
"""Beginning of the name of the folder where a report is written until it is complete."""


class Report:
    """A report in the making: figures and tables of a paper are written while other papers still run.

    Until `finish`, an earlier report in the folder stays as it is.

    Parameters
    ----------
    directory : str or path
        The folder; an earlier report in it is updated, paper by paper.
    effort : Effort
        The effort of the reproduction.

    Raises
    ------
    FileExistsError
        If the folder contains other files.
    OSError
        If it cannot be written.
    """

    def __init__(self, directory: str | os.PathLike[str], effort: Effort) -> None:
        self.folder, self.effort = prepare(directory), effort
        self._stage = TemporaryDirectory(prefix=STAGE, dir=self.folder)
        self._painter = ThreadPoolExecutor(1)  # one, because matplotlib keeps its settings for the whole process
        self._parts: dict[str, Future[list[str]]] = {}
        """The experiments that have a figure, by paper."""

    def add(self, item: PaperOutcome) -> None:
        """Begin to write the files of a paper."""
        own = files.below(self._staged, item.paper.key)
        texts = {key: self._painter.submit(_experiment, item, key, own, self.effort) for key in item.tables}
        self._parts[item.paper.key] = self._painter.submit(self._page, item, texts)

    def _page(self, item: PaperOutcome, texts: Mapping[str, Future[str | None]]) -> list[str]:
        """Write the page of a paper; return the experiments that have a figure."""
        figures = {name: text for name, future in texts.items() if (text := future.result()) is not None}
        _write(files.below(self._staged, item.paper.key, "claims.csv"), _claims(item))
        scenarios = {name: _names(cases) for name, cases in item.cases.items()}
        _write(files.below(self._staged, f"{item.paper.key}.html"), page.paper(self.effort, item, figures, scenarios))
        return list(figures)

    def finish(self, outcome: Outcome) -> None:
        """Write the rest, and put all in its place.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        drawn = {key: future.result() for key, future in self._parts.items()}
        _write(files.below(self._staged, "index.html"), page.index(outcome, drawn))
        _write(files.below(self._staged, MARK), files.json_text(outcome.to_dict()) + "\n")
        for new in sorted(self._staged.iterdir(), key=lambda path: path.name != MARK):  # the mark goes first
            old = self.folder / new.name
            if old.is_dir():
                shutil.rmtree(old)
            new.replace(old)
        files.sync(self.folder)

    @property
    def _staged(self) -> Path:
        return Path(self._stage.name)

    def __enter__(self) -> Report:
        return self

    def __exit__(self, *_: object) -> None:
        self._painter.shutdown(cancel_futures=True)
        self._stage.cleanup()


def prepare(directory: str | os.PathLike[str], *, force: bool = True) -> Path:
    """Create the folder of a report, and check that it is writable, before the runs start.

    Parameters
    ----------
    directory : str or path
        The folder.
    force : bool, default True
        Whether an existing report may be updated.

    Returns
    -------
    Path
        The folder, which now exists.

    Raises
    ------
    FileExistsError
        If it is a file, contains other files, or contains a report and `force` is false.
    OSError
        If it cannot be written.
    """
    folder = Path(directory)
    if (folder.exists() or folder.is_symlink()) and not folder.is_dir():
        raise FileExistsError(f"`{folder}` is a file: choose another folder")
    others = folder.is_dir() and any(not path.name.startswith(STAGE) for path in folder.iterdir())
    if others and not (folder / MARK).is_file():
        raise FileExistsError(f"`{folder}` holds other files: choose another folder")
    if not force and (folder / MARK).is_file():
        raise FileExistsError(f"`{folder}` holds a report: choose another folder, or update it with --force")
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
    return folder


def _experiment(item: PaperOutcome, key: str, own: Path, effort: Effort) -> str | None:
    """Write table, scenarios and figure of an experiment; return the figure as SVG, None if there is none.

    Of an experiment that was not run as a whole there is no figure.
    """
    experiment, table = item.paper.experiment(key), item.tables[key]
    _write(files.below(own, f"{key}.csv"), table.to_csv())
    _scenarios(item.cases[key], own, key)
    if key in item.only:
        return None
    try:
        figure = style.draw(experiment, table)
    except ImportError:
        return None
    if figure is None:
        return None
    style.save(figure, files.below(own, key), page.formats(effort))
    return style.svg_text(own / f"{key}.svg", f"{item.paper.key}-{key}")


def _claims(item: PaperOutcome) -> str:
    """Write one line for each claim."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("claim", "verdict", "holding", "ruled_out", "readings", "statement"))
    for judged in item.claims:
        found = judged.judgement
        counts = (found.holding, found.ruled_out, len(found.readings))
        writer.writerow((judged.claim.id, found.verdict, *counts, safe_text(judged.claim.says)))
    return out.getvalue()


def _scenarios(cases: list[Case], own: Path, key: str) -> None:
    """Write the complete scenario of each case, for `wifair run`."""
    for case, name in zip(cases, _names(cases), strict=True):
        seeds = f"{case.seeds[0]}..{case.seeds[-1]}" if len(case.seeds) > 1 else str(case.seeds[0])
        head = f"# wifair run {name} --seeds {seeds}\n"
        _write(files.below(own, "scenarios", key, name), head + case.scenario.resolved)


def _names(cases: list[Case]) -> list[str]:
    """Name the file of each case's scenario by its labels, as far as they are fit for a name."""
    names: list[str] = []
    for case in cases:
        labels = (str(value).replace("/", "") for value in case.labels.values())
        name = re.sub(r"[^\w.+=,:()-]+", "-", "-".join(labels)).strip("-") or "scenario"
        while f"{name}.toml" in names:
            name += "-"
        names.append(f"{name}.toml")
    return names


def _write(path: Path, text: str) -> None:
    """Write a file of the folder that appears as a whole: none of its files needs to be safe on the disk by itself."""
    path.write_text(text, encoding="utf-8", newline="")

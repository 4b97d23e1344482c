"""Writes the report of a reproduction as a folder: pages that need no network, figures, tables, scenarios."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from wifair import files
from wifair.reproduce import page, style
from wifair.reproduce.table import named

if TYPE_CHECKING:
    from wifair.reproduce.model import Case
    from wifair.reproduce.session import Outcome, PaperOutcome

__all__ = ["prepare", "write"]

MARK = "reproduction.json"


def write(outcome: Outcome, directory: str | os.PathLike[str]) -> None:
    """Write the report.

    Parameters
    ----------
    outcome : Outcome
        What to report.
    directory : str or path
        The folder; an earlier report in it is updated, paper by paper.

    Raises
    ------
    FileExistsError
        If the folder contains other files.
    OSError
        If it cannot be written.
    """
    folder = prepare(directory)
    files.write_text(folder / MARK, _json(outcome.to_dict()))
    figures = {paper.paper.key: _paper(outcome, paper, folder) for paper in outcome.papers}
    files.write_text(folder / "index.html", page.index(outcome, figures))


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
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"`{folder}` is a file: choose another folder")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MARK).is_file():
        raise FileExistsError(f"`{folder}` holds other files: choose another folder")
    if not force and (folder / MARK).is_file():
        raise FileExistsError(f"`{folder}` holds a report: choose another folder, or update it with --force")
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
    return folder


def _paper(outcome: Outcome, paper: PaperOutcome, folder: Path) -> list[str]:
    """Write the files of a paper; return the experiments that have a figure."""
    own = folder / paper.paper.key
    if own.is_dir():
        shutil.rmtree(own)
    own.mkdir()
    figures: dict[str, str] = {}
    for key, table in paper.tables.items():
        files.write_text(own / f"{key}.csv", table.to_csv())
        try:
            figure = style.draw(paper.paper.experiment(key), table)
        except ImportError:
            continue
        if figure is not None:
            style.save(figure, own / key)
            figures[key] = style.svg_text(own / f"{key}.svg", f"{paper.paper.key}-{key}")
    scenarios = {key: _scenarios(cases, own / "scenarios" / key) for key, cases in paper.cases.items()}
    text = page.paper(outcome, paper, figures, scenarios)
    files.write_text(folder / f"{paper.paper.key}.html", text)
    return list(figures)


def _scenarios(cases: list[Case], folder: Path) -> list[str]:
    """Write the complete scenario of each case, for `wifair run`; return the names of the files."""
    names = []
    for case in cases:
        folder.mkdir(parents=True, exist_ok=True)
        name = f"{named(case.labels) or 'scenario'}.toml".replace(" ", "-")
        seeds = f"{case.seeds[0]}..{case.seeds[-1]}" if len(case.seeds) > 1 else str(case.seeds[0])
        head = f"# wifair run {name} --seeds {seeds}\n"
        files.write_text(folder / name, head + case.scenario.resolved)
        names.append(name)
    return names


def _json(document: object) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

"""What can be compared and explained: scenarios, results in folders, measurements, captures."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from wifair import optional
from wifair._output.words import reason
from wifair.capture.capture import Capture, read_capture
from wifair.exceptions import CaptureError, ResultsError
from wifair.importers import read_flent, read_iperf3
from wifair.results.folder import PROVENANCE
from wifair.results.from_folder import SavedResults, read_results
from wifair.results.results import Results

Found: TypeAlias = Results | SavedResults | Capture

"""The module that reads folders of `wifair measure run`; loaded by name, as nothing imports the testbed."""


def is_scenario(path: str) -> bool:
    """Whether a path is taken for a scenario, which has to be run first."""
    return path == "-" or Path(path).suffix == ".toml"


def is_store(path: str) -> bool:
    """Whether a path is the store of a sweep."""
    from wifair.sweeps.schema import FILE  # noqa: PLC0415

    return (Path(path) / FILE).is_file()


def read(path: str) -> list[tuple[str, Found]]:
    """Read what is there already: results, a measurement (one for each case), a capture, a file of iperf3 or Flent.

    Returns
    -------
    list of (str, results)
        Name and results of each.

    Raises
    ------
    ResultsError
        If it is none of them, or cannot be read.
    """
    place = Path(path)
    if not place.exists():
        raise ResultsError(f"cannot read `{path}`: there is no such file or folder")
    if place.is_dir():
        return _folder(place)
    imported = _imported(place)
    if imported is not None:
        return [(imported.scenario.name, imported)]
    try:
        return [(place.name, read_capture(path))]
    except CaptureError as error:
        raise ResultsError(f"`{path}` is neither a scenario (.toml) nor a capture: {error}") from None
    except OSError as error:
        raise ResultsError(f"cannot read `{path}`: {reason(error)}") from None


def _imported(place: Path) -> SavedResults | None:
    """Read a file of another program, told by its ending; None if it is none."""
    name = place.name.lower()
    if name.endswith((".flent", ".flent.gz", ".flent.bz2")):
        return read_flent(place)
    return read_iperf3(place) if name.endswith(".json") else None


def _folder(place: Path) -> list[tuple[str, Found]]:
    if (place / PROVENANCE).exists():
        found = read_results(place)
        return [(place.name or found.scenario.name, found)]
    if is_store(str(place)):
        raise ResultsError(f"`{place}` is the store of a sweep: `wifair results {place}` shows it")
    measured = optional.module("measure", "results")
    if measured is None:
        raise ResultsError(f"`{place}` has no results: {PROVENANCE} is missing")
    cases: dict[str, Results] = measured.cases_in(place)
    return [(f"{place.name}: {name}", results) for name, results in cases.items()]

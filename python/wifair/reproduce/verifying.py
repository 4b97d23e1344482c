"""Reruns the reproduction recorded in a `reproduction.json`, and lists differences: ``wifair reproduce --verify``."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from wifair._output.files import read_regular
from wifair.reproduce._session import FORMAT, load, reproduce

Entry = dict[str, Any]


class RecordError(ValueError):
    """A file that is not a record of a reproduction, or has another layout."""


def read_record(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a `reproduction.json`.

    Raises
    ------
    RecordError
        If the file is not a record.
    OSError
        If it cannot be read.
    """
    try:
        document = json.loads(read_regular(path).decode("utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise RecordError(f"`{path}` is no JSON: {error}") from None
    if not isinstance(document, dict) or not {"format", "effort", "papers"} <= document.keys():
        raise RecordError(
            f"`{path}` records no reproduction: `wifair reproduce --out DIR` writes DIR/reproduction.json"
        )
    if document["format"] != FORMAT:
        raise RecordError(
            f"`{path}` has layout {document['format']}, of version {document.get('version', 'unknown')}; this version "
            f"reads layout {FORMAT}: install that version, or record again"
        )
    return document


def verify(path: str | os.PathLike[str], *, threads: int | None = None, progress: bool = False) -> list[str]:
    """Rerun the reproduction that a file records.

    Parameters
    ----------
    path : path
        A `reproduction.json`.
    threads : int, optional
        Number of runs at the same time; by default the number of cores.
    progress : bool, default False
        Show a progress bar on stderr.

    Returns
    -------
    list of str
        One line for each difference; empty if there is none.

    Raises
    ------
    RecordError
        If the file is not a record of a reproduction, or has another layout.
    LookupError
        If it names a paper or experiment that this version does not have.
    """
    document = read_record(path)
    selection = [
        f"{paper['key']}/{one['id']}" for paper in document["papers"] for one in paper["experiments"] if _whole(one)
    ]
    for paper in document["papers"]:
        own = {claim.id: claim.experiment for claim in load(paper["key"]).claims}
        part = {one["id"] for one in paper["experiments"] if not _whole(one)}
        selection += [f"{paper['key']}/{one['id']}" for one in paper["claims"] if own.get(one["id"]) in part]
    outcome = reproduce(
        selection,
        full=document["effort"] == "full",
        controls=bool(document.get("controls")),
        threads=threads,
        progress=progress,
    )
    return list(differences(document, outcome.to_dict()))


def _whole(experiment: Mapping[str, Any]) -> bool:
    """Whether all cases of an experiment were run, not only those that some of its claims need."""
    return bool(experiment.get("whole", True))


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """List the differences between two reproductions."""
    for name in ("version", "sources"):
        if before.get(name) != now[name]:
            yield f"{name}: {before.get(name)} before, {now[name]} now"
    papers = {paper["key"]: paper for paper in now["papers"]}
    for paper in before["papers"]:
        new = papers[paper["key"]]
        experiments = {one["id"]: one for one in new["experiments"]}
        for one in paper["experiments"]:
            yield from _experiment(f"{paper['key']}/{one['id']}", one, experiments[one["id"]])
        claims = {claim["id"]: claim for claim in new["claims"]}
        for claim in paper["claims"]:
            other = claims.get(claim["id"])
            if other is None:
                yield f"{paper['key']}: claim {claim['id']} is missing now"
            elif other["verdict"] != claim["verdict"]:
                yield f"{paper['key']}: claim {claim['id']}: {claim['verdict']} before, {other['verdict']} now"


def _experiment(name: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for key, case, new in _pairs(before["cases"], now["cases"], lambda case: case["labels"]):
        if new is None:
            yield f"{name}: {key} is no longer run"
        elif new["scenario"] != case["scenario"]:
            yield f"{name}: {key} has another scenario"
        elif new["seeds"] != case["seeds"]:
            yield f"{name}: {key} has other seeds"
    values = ("value", "ci95", "min", "max", "seeds")
    others = {*values, "published", "ns2", "ns2_runs"}
    for key, row, new in _pairs(before["rows"], now["rows"], lambda row: {k: row[k] for k in row if k not in others}):
        if new is None:
            yield f"{name}: row {key} is missing now"
        elif any(new[k] != row[k] for k in values):
            yield f"{name}: {key}: {row['value']} before, {new['value']} now"


def _pairs(
    before: list[Entry], now: list[Entry], labels: Callable[[Entry], Entry]
) -> Iterator[tuple[str, Entry, Entry | None]]:
    """Find for each entry, by its labels, the one that it is now."""
    new = {json.dumps(labels(one), sort_keys=True): one for one in now}
    for one in before:
        key = json.dumps(labels(one), sort_keys=True)
        yield key, one, new.get(key)

"""`wifair check`, `wifair schema` and `wifair list`."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Callable
from typing import NamedTuple

import click

from wifair import _core
from wifair._output.streams import write_data
from wifair._output.words import suggestion
from wifair.cli.common import WRONG, echo_json, fail, refuse_unused
from wifair.exceptions import ScenarioError
from wifair.scenario import keys
from wifair.scenario.scenario import Scenario
from wifair.simulation import memory

WIDEST = 100


class Item(NamedTuple):
    """Something to choose."""

    key: str
    """The key that chooses it."""
    name: str
    """How it is written."""
    summary: str
    """What it is, in a line."""
    source: str | None
    """Where it comes from."""
    outline: bool
    """Whether the source gives an outline only."""


@click.command(name="check")
@click.argument("file", type=click.Path(allow_dash=True))
@click.option("--set", "changes", multiple=True, metavar="PATH=VALUE", help="Change a parameter; may be repeated.")
@click.option("--resolved", is_flag=True, help="Print the scenario with all defaults filled in.")
@click.option("--json", "as_json", is_flag=True, help="Print the problems as JSON.")
def check_command(file: str, changes: tuple[str, ...], resolved: bool, as_json: bool) -> None:
    """Check the scenario in FILE (- is standard input) without running it.

    All problems are shown together, each with its line. The exit code is 2 if there is one.

    \b
    Examples:
      wifair check hot-spot.toml
      wifair check hot-spot.toml --set stations.count=20 --resolved
    """  # noqa: D301
    try:
        scenario = Scenario.from_file(file, overrides=changes)
    except ScenarioError as error:
        if not as_json:
            raise
        problems = error.problems or ({"message": str(error), "path": None, "line": None, "key": None},)
        echo_json({"ok": False, "problems": [p if isinstance(p, dict) else p._asdict() for p in problems]})
        sys.exit(WRONG)
    if as_json:
        echo_json({"ok": True, "problems": [], "name": scenario.name, "hash": scenario.hash})
    elif resolved:
        write_data(scenario.resolved)
    else:
        click.echo(f"{file}: ok: {scenario.summary}")
        click.echo(f"a run takes {memory.estimate(scenario)}")


@click.command(name="schema")
@click.argument("key", required=False)
@click.option("--markdown", is_flag=True, help="Print the reference of all keys in Markdown instead.")
def schema_command(key: str | None, markdown: bool) -> None:
    """Print the JSON Schema of scenario files, for completion in editors; with KEY describe one key or table.

    \b
    Examples:
      wifair schema ap.queue
      wifair schema wlan.cw_min
      wifair schema > wifair.schema.json
    A scenario that begins with `#:schema wifair.schema.json` is then completed and checked while you type.
    """  # noqa: D301
    if key is None:
        click.echo(_core.reference() if markdown else _core.schema())
        return
    refuse_unused(["markdown"], "prints all keys: leave out KEY")
    try:
        click.echo(keys.described(key))
    except LookupError as error:
        fail(str(error.args[0]))


def _complete(_context: click.Context, _parameter: click.Parameter, start: str) -> list[str]:
    ends = dict.fromkeys(key.rpartition(".")[2] for key, *_ in _core.catalogue())
    return [end for end in ends if end.startswith(start)]


@click.command(name="list")
@click.argument("kind", required=False, shell_complete=_complete)
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def list_command(kind: str | None, as_json: bool) -> None:
    """List what can be chosen in a scenario: congestion controls, queues, standards and so on.

    KIND is a key or its end, as in `cc` or `queue.discipline`, what keys are in, as in `queues`, or the name of one
    thing, as in `vegas`. What is known from an outline only, so that details had to be guessed, is marked.

    \b
    Examples:
      wifair list
      wifair list cc
      wifair list queues
      wifair list vegas
    """  # noqa: D301
    entries = [Item(*item) for item in _core.catalogue()]
    paths = list(dict.fromkeys(entry.key for entry in entries))
    if kind is not None:
        found = _chosen(entries, kind)
        if not found:
            words = {entry.key.rpartition(".")[2] for entry in entries}
            known = [*words, *paths, *(entry.name for entry in entries)]
            hint = suggestion(kind, known, f"there are {', '.join(sorted(words))}")
            fail(f"nothing to choose at `{kind}`: {hint}")
        entries = found
        paths = [path for path in paths if any(entry.key == path for entry in entries)]
    if as_json:
        echo_json([entry._asdict() for entry in entries if entry.key in paths])
        return
    for number, path in enumerate(paths):
        if number:
            click.echo()
        _show(path, [entry for entry in entries if entry.key == path])


def _chosen(entries: list[Item], kind: str) -> list[Item]:
    """Find the items that `kind` means: of a key or its end, of a name, or of a table of keys (singular or plural)."""
    part = kind.lower().removesuffix("s")
    meanings: tuple[Callable[[Item], bool], ...] = (
        lambda entry: entry.key == kind or entry.key.endswith(f".{kind}"),
        lambda entry: entry.name == kind,
        lambda entry: entry.key.split(".")[-2:-1] == [part],
    )
    for means in meanings:
        found = [entry for entry in entries if means(entry)]
        if found:
            return found
    return []


def _show(path: str, entries: list[Item]) -> None:
    click.echo(path)
    width = max(len(entry.name) for entry in entries)
    room = min(shutil.get_terminal_size((WIDEST, 24)).columns, WIDEST)
    for entry in entries:
        text = entry.summary.rstrip(".")
        marks = [entry.source] if entry.source else []
        marks += ["outline only"] if entry.outline else []
        text += f" [{'; '.join(marks)}]" if marks else ""
        indent = " " * (width + 4)
        lines = textwrap.wrap(text, room, initial_indent=indent, subsequent_indent=indent) or [indent]
        click.echo(f"  {entry.name:<{width}}  {lines[0].strip()}")
        for line in lines[1:]:
            click.echo(line)

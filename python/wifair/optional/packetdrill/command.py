"""`wifair packetdrill`."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import click

from wifair import _core
from wifair._output.files import require_regular
from wifair._output.words import counted, reason
from wifair.cli.common import FAILED, WRONG, complain, echo_json

VERDICTS = ("pass", "differs", "unsupported", "error")


@click.command(name="packetdrill")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--tolerance_usecs",
    "--tolerance-usecs",
    "tolerance_us",
    metavar="N",
    type=click.IntRange(1, 1_000_000_000),
    help="How early or late a segment may be; by default as the script says, or 4000 and an eighth of the wait.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the verdicts as JSON.")
def packetdrill_command(files: tuple[str, ...], tolerance_us: int | None, as_json: bool) -> None:
    """Run packetdrill scripts against the TCP of the simulator, with the stack `modern`, and say where it differs.

    A folder stands for all scripts in it (`*.pkt`). No command of a script is executed: shell commands are recognised
    by their text, and code between %{ and }% can only compute and compare. The exit code is 0 if all scripts pass, 1 if
    one differs or needs something unsupported, 2 if one is malformed.

    \b
    Examples:
      wifair packetdrill handshake.pkt
      wifair packetdrill packetdrill/gtests/net/tcp/sack --json
    """  # noqa: D301
    paths = [path for file in files for path in _scripts(file)]
    rows = [_verdict(path, tolerance_us) for path in paths]
    counts = Counter(str(row["verdict"]) for row in rows)
    total = {verdict: counts[verdict] for verdict in VERDICTS}
    if as_json:
        echo_json({"scripts": rows, "total": total})
    else:
        for row in rows:
            if row["verdict"] != "error":
                line = f":{row['line']}" if row["line"] else ""
                why = f": {row['reason']}" if row["reason"] else ""
                click.echo(f"{row['verdict']:<12}{row['file']}{line}{why}")
        if counts["error"] < len(rows):
            verdicts = ", ".join(f"{n} {verdict}" for verdict, n in total.items() if n)
            click.echo(f"{counted(len(rows), 'script')}: {verdicts}")
    for row in rows:
        if row["verdict"] == "error":
            place = f":{row['line']}:{row['column']}" if row["line"] else ""
            complain(f"{row['file']}{place}: {row['reason']}")
    sys.exit(WRONG if counts["error"] else 0 if counts["pass"] == len(rows) else FAILED)


def _scripts(file: str) -> list[Path]:
    path = Path(file)
    if not path.is_dir():
        return [path]
    found = sorted(path.rglob("*.pkt"))
    if not found:
        raise click.UsageError(f"no scripts (*.pkt) in the folder `{file}`")
    return found


def _verdict(path: Path, tolerance_us: int | None) -> dict[str, object]:
    try:
        require_regular(path)
        verdict, line, column, why = _core.packetdrill(str(path), tolerance_us)
    except OSError as error:
        verdict, line, column, why = "error", None, None, f"cannot read it: {reason(error)}"
    return {"file": str(path), "verdict": verdict, "line": line, "column": column, "reason": why}

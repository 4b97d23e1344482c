"""The command `wifair`.

Exit codes: 0 all went well, 1 a run failed or a capture is damaged, 2 wrong usage, scenario or file, 130 Ctrl-C.
Results go to stdout, everything else to stderr.
"""

from __future__ import annotations

import re
import sys
from importlib import import_module
from typing import Any

import click

from wifair import __version__, optional
from wifair._output.streams import plain_streams
from wifair._output.words import suggestion
from wifair.cli.common import guarded, occupy_closed_streams, refuse_twice

# Name, module and summary of each command: only the one that is called is imported.
COMMANDS = {
    "init": ("wifair.cli.init", "Write a commented scenario to start from."),
    "check": ("wifair.cli.describe", "Check a scenario without running it."),
    "run": ("wifair.cli.run", "Simulate a scenario and show who got what."),
    "lab": ("wifair.cli.lab", "Open the simulator in a web page, live."),
    "explain": ("wifair.cli.explain", "Say in words what happened in a run or a capture, and why."),
    "compare": ("wifair.cli.compare", "Show how scenarios, results or captures differ, with intervals."),
    "congestion": ("wifair.cli.congestion", "Test congestion controls in eight scenarios of Wi-Fi."),
    "sweep": ("wifair.cli.sweep", "Simulate a scenario for many parameters and seeds."),
    "results": ("wifair.cli.results", "Show, filter, plot, export and merge what sweeps computed."),
    "analyze": ("wifair.cli.analyze", "Analyse packet captures: who got what, why, and how fair it was."),
    "measure": ("wifair.optional.measure.command", "Measure on a real network what a scenario describes."),
    "emulate": ("wifair.cli.emulate", "Let real programs communicate over the simulated air, in real time."),
    "bpf": ("wifair.cli.bpf", "Load congestion controls of papers into the running kernel."),
    "import": ("wifair.cli.import_export", "Read results of iperf3 or Flent into our tables."),
    "export": ("wifair.cli.import_export", "Write results for another program: Flent."),
    "reproduce": ("wifair.cli.reproduce", "Rerun papers: their figures, and a verdict on each of their claims."),
    "airtime": ("wifair.cli.airtime", "Say how long a frame and its exchange take on the air."),
    "packetdrill": ("wifair.optional.packetdrill.command", "Run packetdrill scripts against the simulator's TCP."),
    "list": ("wifair.cli.describe", "List what can be chosen in a scenario, each with its source."),
    "schema": ("wifair.cli.describe", "Print the JSON Schema of scenario files."),
    "completion": ("wifair.cli.completion", "Print a script that completes commands and options in a shell."),
}


OPTIONAL = ("measure", "packetdrill")


def _installed() -> dict[str, tuple[str, str]]:
    return {name: about for name, about in COMMANDS.items() if name not in OPTIONAL or optional.has(name)}


class _Commands(click.Group):
    """Commands that are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_installed())

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        if name not in _installed():
            return None
        module = import_module(COMMANDS[name][0])
        command = getattr(module, f"{name}_command")
        assert isinstance(command, click.Command)
        refuse_twice(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _installed() and not args[0].startswith("-"):
            hint = suggestion(args[0], _installed())
            ctx.fail(f"no command `{args[0]}`" + (f": {hint}" if hint else ""))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in _installed().items()])

    def main(self, *args: Any, **more: Any) -> Any:
        occupy_closed_streams()

        def run() -> Any:
            out = sys.stdout
            try:
                return super(_Commands, self).main(*args, **more)
            except SystemExit:
                if sys.stdout is not out:  # click replaces it when the reader of help has ended, and says 1
                    raise BrokenPipeError from None
                sys.stdout.flush()  # here a full disk is still an error
                raise

        with plain_streams():
            return guarded(run)  # help, too, can meet a full disk

    def invoke(self, ctx: click.Context) -> object:
        try:
            return guarded(lambda: super(_Commands, self).invoke(ctx))
        except click.UsageError as error:
            change = re.fullmatch(r"Got unexpected extra arguments? \((\S+=.*)\)", error.message)
            if change:
                option = "--vary" if error.ctx is not None and error.ctx.info_name == "sweep" else "--set"
                hint = f"`{change[1]}` is no file: to change a key, write {option} '{change[1]}'"
                raise click.UsageError(hint, error.ctx) from None
            raise


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "--version", prog_name="wifair", message="%(prog)s %(version)s")
def main() -> None:
    """Simulate TCP over 802.11 wireless LANs: who gets what, why, and how fair it is.

    \b
    Examples:
      wifair init hot-spot
      wifair run hot-spot.toml --set stations.count=20 --seeds 1..10
      wifair explain hot-spot.toml
      wifair analyze capture.pcapng
      wifair list cc
    """  # noqa: D301 (click's mark for text that is not refilled)

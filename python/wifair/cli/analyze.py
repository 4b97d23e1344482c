"""`wifair analyze`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from wifair._output.files import refuse_filled
from wifair._output.words import reason
from wifair.capture.capture import Capture, read_capture
from wifair.cli.common import (
    FAILED,
    INTERRUPTED,
    WRONG,
    check_file,
    command_line,
    complain,
    echo_parts,
    fail,
    figure_options,
    results_folder,
    trying,
)
from wifair.exceptions import INTERRUPTION, CaptureError, Interrupted


@click.command(name="analyze")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(allow_dash=True))
@click.option("--host", "hosts", multiple=True, metavar="ADDRESS", help="Only from or to this host; may be repeated.")
@click.option(
    "--port",
    "ports",
    multiple=True,
    metavar="PORT",
    type=click.IntRange(0, 65535),
    help="Only from or to this port; may be repeated.",
)
@click.option(
    "--from", "start", metavar="TIME", help="Leave out packets before this time after the first one, as in '10 s'."
)
@click.option("--to", "end", metavar="TIME", help="Leave out packets after this time, counted from the first one.")
@click.option("--bin", metavar="TIME", help="Width of the time bins; 100 ms or more by default.")
@click.option("--pause", metavar="TIME", default="1 s", show_default=True, help="Pause that ends a session.")
@click.option("--fair-share", metavar="RATE", help="What each flow ought to get; measured by default.")
@click.option("--local", multiple=True, metavar="NETWORK", help="Network of the stations, as in 192.168.1.0/24.")
@click.option(
    "--connections",
    type=click.IntRange(min=1),
    default=10_000,
    show_default=True,
    metavar="N",
    help="Tell the N largest connections apart; count the others together.",
)
@click.option("--keep-copies", is_flag=True, help="Count packets again that are captured more than once.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON instead of the table.")
@click.option("--csv", "csv_dir", metavar="DIR", type=click.Path(), help="Write all tables into a folder, as CSV.")
@click.option("--parquet", "parquet_dir", metavar="DIR", type=click.Path(), help="The same as Parquet.")
@click.option("--packets", is_flag=True, help="Also a row for each segment in these folders.")
@click.option("--figure", "figure_dir", metavar="DIR", type=click.Path(), help="Draw goodput, fairness, each flow.")
@click.option(
    "--format",
    "formats",
    type=click.Choice(["png", "svg", "pdf"]),
    multiple=True,
    help="Format of the figures; png by default.",
)
@figure_options("--figure", "figure_dir")
@click.option("--html", "html_file", metavar="FILE", type=click.Path(), help="Write a report that works offline.")
@click.option("--xplot", "xplot_dir", metavar="DIR", type=click.Path(), help="Write graphs for xplot.org.")
@click.option("--force", is_flag=True, help="Replace files and results that are there.")
@click.option("--quiet", "-q", is_flag=True, help="No progress on stderr.")
def analyze_command(
    files: tuple[str, ...],
    as_json: bool,
    csv_dir: str | None,
    parquet_dir: str | None,
    packets: bool,
    figure_dir: str | None,
    formats: tuple[str, ...],
    look: dict[str, Any],
    html_file: str | None,
    xplot_dir: str | None,
    force: bool,
    quiet: bool,
    **filters: Any,
) -> None:
    """Analyse the captures in FILE... (- is standard input): who got what, why, and how fair it was.

    Reads pcap and pcapng, plain or compressed with gzip or zstd, of any length, with Ethernet, raw IP, Linux cooked,
    loopback or 802.11 frames (plain, radiotap, PPI, Prism, AVS). The exit code is 1 if a file is damaged (everything
    before the damage is analysed), 2 if it is not a capture.

    \b
    Examples:
      wifair analyze capture.pcapng
      wifair analyze capture.pcapng --html report.html
      wifair analyze monitor.pcap.gz --host 192.168.1.7 --json
      wifair analyze a.pcap b.pcap --csv tables --figure figures
      tcpdump -w - tcp | wifair analyze -
    """  # noqa: D301
    if packets and not (csv_dir or parquet_dir):
        raise click.UsageError("--packets needs --csv or --parquet to put the rows into")
    if formats and not figure_dir:
        raise click.UsageError("--format needs --figure")
    if len(files) > 1 and html_file:
        raise click.UsageError("--html takes one capture")
    if files.count("-") > 1:
        raise click.UsageError("standard input can be read once")
    _check_targets(html_file, [figure_dir, xplot_dir], force)
    filters |= {"packets": packets or bool(figure_dir or html_file or xplot_dir), "progress": not quiet}
    code, documents = 0, 0
    for number, file in enumerate(files):
        inside = f"{number + 1}_{'stdin' if file == '-' else Path(file).name}" if len(files) > 1 else ""
        with ExitStack() as stack:
            wanted = ((csv_dir, "csv"), (parquet_dir, "parquet"))
            tables = [
                stack.enter_context(results_folder(Path(to) / inside, [form], force=force))
                for to, form in wanted
                if to is not None
            ]
            capture = _read(file, filters)
            if capture is None:
                code = WRONG
                continue
            for folder in tables:
                folder.write_capture(capture, command=command_line())
            _draw(capture, figure_dir, {"formats": formats or ("png",), **look}, html_file, xplot_dir, inside)
        if as_json:
            # One file and one connection at a time, so that the whole JSON is never in memory.
            echo_parts(_json(capture, documents, single=len(files) == 1))
            documents += 1
        else:
            click.echo(("\n" if number else "") + repr(capture))
        if capture.damage is not None:
            complain(f"{file}: {capture.damage}; what came before is analysed")
            code = max(code, FAILED)
        if capture.damage == INTERRUPTION:
            code = INTERRUPTED
            break
    if as_json and documents and len(files) > 1:
        click.echo("\n]")
    sys.exit(code)


def _json(capture: Capture, before: int, *, single: bool) -> Iterator[str]:
    """Write the JSON of a capture. Unless it is the only one, it is an entry of a list and follows `before` others."""
    if single:
        yield from capture.json_parts()
        yield "\n"
    else:
        yield ",\n " if before else "[\n "
        yield from capture.json_parts(1)


def _read(file: str, filters: dict[str, Any]) -> Capture | None:
    """Analyse a file; complain and return None if it cannot be."""
    try:
        return read_capture(file, **filters)
    except Interrupted as interruption:
        if interruption.capture is None:
            raise
        part: Capture = interruption.capture
        return part
    except CaptureError as error:
        complain(f"{file}: {error}")
    except IsADirectoryError as error:
        found = sorted(path for path in Path(file).glob("*.pcap*") if path.is_file())
        remedy = f"; name a file in it, such as `{found[0]}`" if found else ""
        complain(f"cannot read `{file}`: {reason(error)}{remedy}")
    except OSError as error:
        complain(f"cannot read `{file}`: {reason(error)}")
    except ValueError as error:  # a wrong option, which fails for every file
        fail(str(error))
    return None


def _check_targets(html_file: str | None, directories: list[str | None], force: bool) -> None:
    if html_file is not None:
        check_file(html_file, force=force)
    for directory in directories:
        if directory is not None:
            refuse_filled(directory, force=force)


def _draw(
    capture: Capture,
    figure_dir: str | None,
    look: dict[str, Any],
    html_file: str | None,
    xplot_dir: str | None,
    inside: str,
) -> None:
    for folder, draw in ((figure_dir, lambda target: capture.plot(target, **look)), (xplot_dir, capture.xplot)):
        if folder is not None:
            target = str(Path(folder) / inside)
            with trying("write", target):
                draw(target)
    if html_file is not None:
        with trying("write", html_file):
            capture.report(html_file)

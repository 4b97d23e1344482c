"""`wifair lab`."""

from __future__ import annotations

import threading
import webbrowser

import click

from wifair import Scenario
from wifair._output.words import reason
from wifair.cli.common import FAILED, fail, trying
from wifair.laboratory import page
from wifair.laboratory.export import export
from wifair.laboratory.server import LabServer


@click.command(name="lab")
@click.argument("source", metavar="[SCENARIO|LINK]", required=False, type=click.Path(allow_dash=True))
@click.option("--set", "changes", multiple=True, metavar="PATH=VALUE", help="Change a parameter; may be repeated.")
@click.option("--lesson", metavar="NAME", help="Open a lesson of the page, as `uploads`.")
@click.option("--no-browser", is_flag=True, help="Print the address only.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port on 127.0.0.1; a free one by default.")
@click.option("--export", "folder", type=click.Path(file_okay=False), metavar="DIR", help="Write the page as files.")
@click.option("--force", is_flag=True, help="Let --export replace files.")
def lab_command(
    source: str | None,
    changes: tuple[str, ...],
    lesson: str | None,
    no_browser: bool,
    port: int,
    folder: str | None,
    force: bool,
) -> None:
    """Open the simulator in a web page: move a control, and all curves follow.

    The page comes from a server on this machine that nobody else can reach; Ctrl-C ends it. --export writes the same
    page as files for any web server; the browser then computes everything.

    \b
    Examples:
      wifair lab
      wifair lab hot-spot.toml
      wifair lab '#s=...'                        a link that Share has copied
      wifair lab hot-spot.toml --export site/
    """  # noqa: D301
    if changes and source is None:
        raise click.UsageError("--set changes a scenario: name its file, too")
    if source is not None and lesson is not None:
        raise click.UsageError("a page begins with a scenario or with a lesson")
    if force and folder is None:
        raise click.UsageError("--force goes with --export")
    if lesson is not None and lesson not in page.lessons():
        raise click.UsageError(f"no lesson `{lesson}`: choose one of {', '.join(page.lessons())}")
    link = page.link_in(source or "")
    if link:
        _check_link(link, alone=not changes and folder is None)
    start = page.Start(lesson=lesson)
    if source is not None and not link:
        start = page.Start.of(Scenario.from_file(source, overrides=changes))
    if folder is not None:
        if no_browser or port:
            raise click.UsageError("--export serves nothing: leave out --port and --no-browser")
        with trying("write into", folder):
            try:
                click.echo(str(export(folder, start, force=force)[0]))
            except ImportError as error:
                fail(str(error), FAILED)
        return
    try:
        server = LabServer(start, port=port)
    except OSError as error:
        fail(f"cannot listen at port {port}: {reason(error)}")
    with server:
        click.echo(f"{server.url}{link}")
        click.echo("Ctrl-C ends it", err=True)
        if not no_browser:
            webbrowser.open(f"{server.url}{link}")
        threading.Event().wait()


def _check_link(link: str, *, alone: bool) -> None:
    """Leave with an error if a link cannot be opened."""
    if not alone:
        raise click.UsageError("a link holds the whole state: --set and --export are for scenarios")
    if not page.is_whole(link):
        fail("the link is damaged or incomplete: ask for it again")

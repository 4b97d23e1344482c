"""`wifair measure`: serve, join, run, report, secret."""

from __future__ import annotations

import asyncio
import ipaddress
import platform
import re
import signal
import sys
import time
from collections.abc import Coroutine
from contextlib import closing, suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import click

from wifair._output.streams import write_data
from wifair._output.words import counted, reason
from wifair.cli.common import (
    FAILED,
    INTERRUPTED,
    check_figure,
    command_line,
    fail,
    figure_options,
    refuse_unused,
    trying,
)
from wifair.exceptions import ScenarioError
from wifair.optional.measure import secret as secrets
from wifair.optional.measure.coordinator import Coordinator
from wifair.optional.measure.errors import MeasureError, Refused
from wifair.optional.measure.flow import Limits
from wifair.optional.measure.journal import Journal
from wifair.optional.measure.plan import Plan
from wifair.optional.measure.report import save_figure
from wifair.optional.measure.results import Measurement
from wifair.optional.measure.server import Server, Timing
from wifair.optional.measure.station import Station
from wifair.optional.measure.wire import NAME, PORT

SECRET = click.option(
    "--secret-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=f"File of the shared secret; ${secrets.ENVIRONMENT} or the one of `wifair measure secret` by default.",
)


@click.group(name="measure")
def measure_command() -> None:
    """Measure on a real network what a scenario describes, with the same tables.

    A computer on the wire behind the access point is the server, stations join it, and one of them (or any other host)
    runs a plan. All share a secret: make it once with `wifair measure secret`, and copy the file.

    \b
    Examples:
      wifair measure serve --listen 192.168.1.10         # behind the access point
      wifair measure join 192.168.1.10 --name apollo     # on a station
      wifair measure run plan.toml --server 192.168.1.10 --as ares --out study
    """  # noqa: D301


@measure_command.command(name="secret")
@click.argument("file", type=click.Path(path_type=Path), required=False)
def secret_command(file: Path | None) -> None:
    """Make a new secret.

    It goes into FILE, by default where the other commands look for it.
    """
    path = file or secrets.default_path()
    secrets.create(path)
    home = Path.home()
    shown = Path("~", path.relative_to(home)) if path.is_relative_to(home) else path
    click.echo(f"made a secret in {shown}: copy it to every host, readable by its owner only", err=True)


@measure_command.command(name="serve")
@click.option("--listen", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Own address to listen on.")
@click.option("--port", default=PORT, show_default=True, type=click.IntRange(0, 65535), help="Port; 0 chooses one.")
@click.option("--data-ports", metavar="A-B", help="Ports of the transfers, for firewalls; any by default.")
@click.option("--max-flows", default=256, show_default=True, type=click.IntRange(1, 4096), help="Flows at a time.")
@click.option(
    "--max-size",
    default=1_000_000,
    show_default=True,
    type=click.IntRange(1),
    metavar="MB",
    help="Most data of one flow.",
)
@click.option(
    "--max-duration",
    default=86_400,
    show_default=True,
    type=click.IntRange(1, 86_400),
    metavar="SECONDS",
    help="Time of one repetition.",
)
@click.option(
    "--dead-after",
    default=60.0,
    show_default=True,
    type=click.FloatRange(1, 3600),
    metavar="SECONDS",
    help="Silence after which a station is taken for dead.",
)
@SECRET
def serve_command(
    listen: str,
    port: int,
    data_ports: str | None,
    max_flows: int,
    max_size: int,
    max_duration: int,
    dead_after: float,
    secret_file: Path | None,
) -> None:
    """Serve measurements until Ctrl-C.

    Runs on the host behind the access point. It listens only on loopback unless --listen names an address, and serves
    only those who know the secret.
    """
    ports = _ports(data_ports)
    limits = Limits(flows=max_flows, size=max_size * 1_000_000, duration_s=float(max_duration))
    key = secrets.load(secret_file)

    async def serve() -> None:
        timing = Timing(dead_s=dead_after, prepare_s=min(30.0, dead_after), grace_s=min(15.0, dead_after / 4))
        server = Server(key, limits=limits, timing=timing, data_ports=ports, log=_log)
        try:
            bound = await server.start(listen, port)
        except OSError as error:
            raise MeasureError(f"cannot listen on {listen}:{port}: {reason(error)}") from None
        here = " (this computer only: --listen ADDRESS for others)" if _is_loopback(listen) else ""
        _log(f"listening on {listen}:{bound}{here}; Ctrl-C ends it")
        try:
            await asyncio.Event().wait()
        finally:
            await server.close()

    _run(serve(), ended="ended")


@measure_command.command(name="join")
@click.argument("server", metavar="HOST[:PORT]")
@click.option("--name", metavar="NAME", help="What plans call this station; the name of this computer by default.")
@click.option("--source", metavar="ADDRESS", help="Own address to use, if the computer has several.")
@SECRET
def join_command(server: str, name: str | None, source: str | None, secret_file: Path | None) -> None:
    """Take part in measurements as a station, until Ctrl-C."""
    host, port = _address(server)
    station = _name(name or platform.node())
    key = secrets.load(secret_file)
    _run(Station(key, host, port, name=station, source=source, log=_log).run(), ended="ended")


@measure_command.command(name="run")
@click.argument("file", type=click.Path(allow_dash=True))
@click.option("--server", default="127.0.0.1", show_default=True, metavar="HOST[:PORT]", help="Where `serve` runs.")
@click.option("--as", "stations", multiple=True, metavar="NAME", help="This computer is that station; may be repeated.")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="DIR", help="Folder of the results; NAME-measured by default."
)
@click.option("--resume", is_flag=True, help="Go on with what --out holds: only what is missing is run.")
@click.option("--capture", is_flag=True, help="Also capture the packets at both ends (tcpdump or dumpcap).")
@click.option("--case", "wanted", multiple=True, metavar="PATTERN", help="Only cases of this name, as in 'one*'.")
@click.option("--set", "changes", multiple=True, metavar="PATH=VALUE", help="Change a parameter; may be repeated.")
@click.option(
    "--wait",
    default=60.0,
    show_default=True,
    type=click.FloatRange(0),
    metavar="SECONDS",
    help="How long to wait for stations.",
)
@click.option("--source", metavar="ADDRESS", help="Own address to use, if the computer has several.")
@click.option("--yes", is_flag=True, help="Do not ask before the stations are placed anew.")
@click.option("--check", "only_check", is_flag=True, help="Show what would be run, and run nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print all results as JSON instead of the table.")
@click.option("--quiet", "-q", is_flag=True, help="No progress on stderr.")
@SECRET
def run_command(
    file: str,
    server: str,
    stations: tuple[str, ...],
    out: Path | None,
    resume: bool,
    capture: bool,
    wanted: tuple[str, ...],
    changes: tuple[str, ...],
    wait: float,
    source: str | None,
    yes: bool,
    only_check: bool,
    as_json: bool,
    quiet: bool,
    secret_file: Path | None,
) -> None:
    """Run the plan in FILE, and show who got what.

    Every repetition is on disk before the next one begins: after a crash or Ctrl-C, --resume runs what is missing.

    \b
    Examples:
      wifair measure run plan.toml --server 192.168.1.10 --as ares
      wifair measure run plan.toml --server 192.168.1.10 --as ares --case 'one*' --set repetitions=3
      wifair measure run plan.toml --server 192.168.1.10 --as ares --out study --resume
    """  # noqa: D301
    address = _address(server)
    try:
        plan = Plan.from_file(file, overrides=changes)
    except ScenarioError as error:
        if {"flows", "wlan"} & {problem.key for problem in error.problems}:
            fail(f"`{file}` is a scenario, for `wifair run`: what is measured is a plan, with [[cases]]")
        raise
    for name in stations:
        if name not in plan.stations:
            fail(f"--as {name}: the plan has {', '.join(plan.stations)}")
    cases = _cases(plan, wanted)
    if only_check:
        refuse_unused(["as_json", "out", "resume"], "changes nothing of --check")
        _show(plan, cases)
        return
    places = {plan.cases[index].place for index in cases}
    if len(places) > 1 and not yes and not _somebody_is_there():
        fail(f"the plan has {len(places)} places and nobody to ask: run each with --case, or all with --yes")
    folder = out or Path(f"{re.sub(r'[^A-Za-z0-9_.-]+', '-', plan.name)}-measured")
    key = secrets.load(secret_file)
    with closing(Journal(folder, Coordinator.head(plan, command_line()), resume=resume)) as journal:
        coordinator = Coordinator(
            plan,
            journal,
            folder,
            capture=capture,
            wait_s=wait,
            cases=cases,
            log=_log,
            ask=None if yes or not _somebody_is_there() else _ask,
            progress=_ignore if quiet else _progress,
        )
        # The only station of a plan is this computer, unless another one has joined under its name.
        only = not stations and len(plan.stations) == 1
        log = _ignore if quiet else _log
        names = plan.stations if only else stations
        own = [Station(key, *address, name=name, source=source, log=log) for name in names]
        try:
            done = bool(_run(_measure(coordinator, key, address, own, is_only=only)))
        except MeasureError as error:
            if not any(row.get("kind") == "repetition" for row in journal.rows):
                raise
            _log(f"error: {error}")
            done = False
    _tables(folder, as_json)
    if not done:
        sys.exit(FAILED)


async def _measure(
    coordinator: Coordinator, key: bytes, address: tuple[str, int], own: list[Station], *, is_only: bool
) -> bool:
    """Run a plan, with the stations `own` on this computer, unless the only station has joined from another one."""

    async def join(station: Station) -> None:
        try:
            await station.run()
        except Refused:
            if not is_only:
                raise
            station.joined.set()  # by another computer
        await asyncio.Event().wait()

    async def coordinate() -> bool:
        """Run the plan when the stations on this computer have joined; `--wait` applies to those on other computers."""
        for station in own:
            await station.joined.wait()
        return await coordinator.run(key, *address, _name(platform.node()))

    here = [asyncio.create_task(join(station)) for station in own]
    run = asyncio.create_task(coordinate())
    try:
        await asyncio.wait([run, *here], return_when=asyncio.FIRST_COMPLETED)
        for task in here:
            if task.done():
                task.result()
        return await run
    finally:
        run.cancel()
        for task in here:
            task.cancel()
        await asyncio.gather(run, *here, return_exceptions=True)


@measure_command.command(name="report")
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--case", metavar="NAME", help="Show this case as `wifair run` shows a scenario.")
@click.option("--json", "as_json", is_flag=True, help="Print all results as JSON instead of the table.")
@click.option("--figure", type=click.Path(path_type=Path), metavar="FILE", help="Draw a figure: .png, .svg or .pdf.")
@figure_options("--figure", "figure")
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
def report_command(
    folder: Path,
    case: str | None,
    as_json: bool,
    figure: Path | None,
    force: bool,
    look: dict[str, Any],
) -> None:
    """Show what a measurement found.

    The measurement may still be running, or may have been interrupted.
    """
    if figure is not None:
        check_figure(str(figure), force=force)
    measurement = Measurement.from_folder(folder)
    if case is not None and case not in measurement.cases:
        raise MeasureError(f"no results of `{case}`: there are {', '.join(measurement.cases) or 'none'}")
    if figure is not None:
        with trying("write", figure):
            try:
                save_figure(measurement, figure, case=case, **look)
            except (ImportError, ValueError) as error:
                fail(f"cannot draw `{figure}`: {error}")
    shown = measurement if case is None else measurement.cases[case]
    write_data(shown.to_json().rstrip("\n") + "\n") if as_json else click.echo(repr(shown))


def _tables(folder: Path, as_json: bool) -> None:
    """Write and show what there is so far."""
    measurement = Measurement.from_folder(folder)
    write_data(measurement.to_json().rstrip("\n") + "\n") if as_json else click.echo(repr(measurement))
    try:
        measurement.save(folder)
    except OSError as error:
        raise MeasureError(f"cannot write the tables into `{folder}`: {reason(error)}; the journal is kept") from None
    click.echo(f"tables are in {folder}", err=True)


def _cases(plan: Plan, wanted: tuple[str, ...]) -> list[int]:
    """Find the indices of the cases whose names match a pattern."""
    every = list(range(len(plan.cases)))
    if not wanted:
        return every
    for pattern in wanted:
        if not any(fnmatch(case.name, pattern) for case in plan.cases):
            fail(f"--case {pattern}: there are {', '.join(case.name for case in plan.cases)}")
    return [index for index in every if any(fnmatch(plan.cases[index].name, pattern) for pattern in wanted)]


def _show(plan: Plan, cases: list[int]) -> None:
    click.echo(
        f"{plan.name}: {counted(len(cases), 'case')}, {counted(plan.repetitions, 'repetition')} each, {plan.order}"
    )
    for index in cases:
        case = plan.cases[index]
        flows = ", ".join(f"{flow.name} {flow.direction}" for flow in case.flows[:8])
        more = f" and {len(case.flows) - 8} more" if len(case.flows) > 8 else ""
        rts = "" if case.rts_threshold is None else f"; RTS threshold {case.rts_threshold} B"
        click.echo(f"  {case.name}: {flows}{more}{rts}{'; ' + case.place if case.place else ''}")


def _somebody_is_there() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


async def _ask(place: str) -> None:
    """Wait for a line on the terminal."""
    click.echo(f"now: {place}. Press Enter when that is so. ", err=True, nl=False)
    loop = asyncio.get_running_loop()
    pressed = loop.create_future()

    def take() -> None:
        sys.stdin.readline()
        if not pressed.done():
            pressed.set_result(None)

    loop.add_reader(sys.stdin, take)
    try:
        await pressed
    finally:
        loop.remove_reader(sys.stdin)


def _run(work: Coroutine[Any, Any, Any], *, ended: str = "interrupted: what was finished is kept") -> Any:
    """Run until done. SIGTERM acts like Ctrl-C: settings of the host are restored."""

    async def until_told() -> Any:
        task = asyncio.current_task()
        assert task is not None
        with suppress(NotImplementedError):
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await work

    try:
        return asyncio.run(until_told())
    except (asyncio.CancelledError, KeyboardInterrupt):
        click.echo(ended, err=True)
        sys.exit(INTERRUPTED)


def _address(text: str) -> tuple[str, int]:
    """HOST, HOST:PORT, [IPV6] or [IPV6]:PORT."""
    with suppress(ValueError):
        return str(ipaddress.IPv6Address(text)), PORT
    found = re.fullmatch(r"(?:\[([\w:.%]+)\]|([^:\[\]]+))(?::(\d{1,5}))?", text)
    if found is None or int(found.group(3) or PORT) >= 1 << 16:
        fail(f"`{text}` is no HOST or HOST:PORT")
    return found.group(1) or found.group(2), int(found.group(3) or PORT)


def _ports(text: str | None) -> range | None:
    if text is None:
        return None
    found = re.fullmatch(r"(\d{1,5})-(\d{1,5})", text)
    if found is None or not 1024 <= int(found.group(1)) <= int(found.group(2)) < 1 << 16:
        fail(f"--data-ports {text}: write two ports from 1024 on, as in 5011-5060")
    return range(int(found.group(1)), int(found.group(2)) + 1)


def _name(text: str) -> str:
    if not NAME.fullmatch(text):
        fail(f"`{text}` is no name of a station: write letters, digits, ., - and _, at most 60")
    return text


def _is_loopback(address: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(address).is_loopback
    return address == "localhost"


def _log(line: str) -> None:
    click.echo(f"{time.strftime('%H:%M:%S')} {line}", err=True)


def _progress(done: int, total: int, what: str) -> None:
    if what:
        _log(f"[{done + 1}/{total}] {what}")


def _ignore(*_: object) -> None:
    """Say nothing."""

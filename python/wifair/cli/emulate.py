"""`wifair emulate`."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import Any

import click

from wifair._output.streams import write_data
from wifair._output.words import counted
from wifair.cli.common import (
    FAILED,
    INTERRUPTED,
    Seeds,
    check_file,
    check_frames,
    echo_json,
    fail,
    overrides_of,
    pcap_options,
    refuse_others,
    refuse_same,
    results_folder,
    trying,
)
from wifair.emulation import Command, Emulated, emulate
from wifair.emulation.namespaces import Namespaces, check_privileges, clean
from wifair.emulation.report import text_of, warnings_of
from wifair.results.folder import write_table
from wifair.scenario.scenario import Scenario
from wifair.simulation.taps import Pcap, plan_taps


@click.command(name="emulate")
@click.argument("file", required=False, type=click.Path(allow_dash=True))
@click.option(
    "--exec",
    "programs",
    nargs=2,
    multiple=True,
    metavar="NODE COMMAND",
    help="Run a shell command at a station or server; may be repeated, they start in this order.",
)
@click.option(
    "--serve",
    "servers",
    nargs=2,
    multiple=True,
    metavar="NODE COMMAND",
    help="The same for a command that has no end of its own; these start first.",
)
@click.option("--no-flows", is_flag=True, help="Leave the simulated flows of the scenario out.")
@click.option("--seed", type=Seeds(), metavar="N", help="Seed of the simulated side; by default as FILE says, or 1.")
@click.option("--duration", metavar="TIME", help="Longest duration, as in '100 s'.")
@click.option("--set", "changes", multiple=True, metavar="PATH=VALUE", help="Change a parameter; may be repeated.")
@click.option("--json", "as_json", is_flag=True, help="Print all results as JSON; programs then write to stderr.")
@click.option("--out", metavar="DIR", type=click.Path(), help="Write all columns of the simulated side into a folder.")
@click.option("--series", is_flag=True, help="Also sample the simulated flows and the AP queue every 100 ms.")
@pcap_options("air,stations,servers", "Bytes kept of each packet.")
@click.option("--frames", metavar="FILE", type=click.Path(), help="Write every frame of the air: .csv or .parquet.")
@click.option("--record", metavar="FILE", type=click.Path(), help="Record all packets, to be replayed.")
@click.option("--replay", metavar="FILE", type=click.Path(), help="Replay a recording in pure simulation.")
@click.option("--strict", is_flag=True, help="Stop when the machine does not keep up.")
@click.option("--clean", is_flag=True, help="Remove what emulations left behind that were killed.")
@click.option("--force", is_flag=True, help="Replace files and results that are there.")
@click.option("--quiet", "-q", is_flag=True, help="No notes on stderr.")
def emulate_command(
    file: str | None,
    programs: tuple[tuple[str, str], ...],
    servers: tuple[tuple[str, str], ...],
    no_flows: bool,
    seed: list[int] | None,
    duration: str | None,
    changes: tuple[str, ...],
    as_json: bool,
    out: str | None,
    series: bool,
    frames: str | None,
    record: str | None,
    replay: str | None,
    strict: bool,
    clean: bool,
    force: bool,
    quiet: bool,
    captures: Pcap | None,
) -> None:
    """Let real programs communicate over the simulated cell in FILE, in real time (Linux).

    Each station and server becomes a network namespace; packets that programs send there contend on the simulated air.
    The emulation ends when all commands have ended, when the duration of the scenario is over, or on Ctrl-C. A command
    that listens on a port of its choice is a server, and is not waited for.

    \b
    Examples:
      sudo wifair emulate hot-spot.toml --exec server 'iperf3 -s' --exec sta1 'iperf3 -c server'
      sudo wifair emulate hot-spot.toml --no-flows --exec sta1 'ping -c 10 server'
      sudo wifair emulate hot-spot.toml                       # prints how to enter each node, and keeps running
      sudo wifair emulate hot-spot.toml --exec sta1 ./client --json --pcap captures > results.json
      sudo wifair emulate hot-spot.toml --exec sta1 ./client --record packets.rec
      wifair emulate --replay packets.rec
      sudo wifair emulate --clean
    """  # noqa: D301
    if not sys.platform.startswith("linux"):
        fail("emulation needs Linux: network namespaces and TUN devices")
    given = {"FILE": file is not None, "--replay": replay is not None, "--clean": clean}
    if sum(given.values()) != 1:
        raise click.UsageError("give FILE, or --replay FILE, or --clean")
    if clean:
        refuse_others(["clean"], "--clean")
        _clean()
    elif replay is not None:
        refuse_others(["replay", "as_json", "quiet"], "--replay")
        _replay(replay, as_json=as_json)
    else:
        assert file is not None
        scenario = Scenario.from_file(file, overrides=overrides_of(changes, duration), for_programs=True)
        refuse_same(record=record, frames=frames, out=out, pcap=None if captures is None else str(captures.folder))
        if record is not None:
            check_file(record, force=force)
        if frames is not None:
            check_frames(frames, force=force)
        commands = [Command(host, text, serves=True) for host, text in servers]
        commands += [Command(host, text) for host, text in programs]
        options = {"flows": not no_flows, "strict": strict, "record": record}
        with ExitStack() as stack:
            folder = None if out is None else stack.enter_context(results_folder(out, force=force))
            emulated = _run(scenario, commands, seed, captures, frames, options, series, as_json, quiet)
            with trying("write"):
                if frames is not None:
                    assert emulated.results.frames is not None
                    write_table(emulated.results.frames, frames)
                if folder is not None:
                    folder.write(emulated.results)
        _show(emulated, as_json=as_json, quiet=quiet)


def _run(
    scenario: Scenario,
    commands: list[Command],
    seed: list[int] | None,
    captures: Pcap | None,
    frames: str | None,
    options: dict[str, Any],
    series: bool,
    as_json: bool,
    quiet: bool,
) -> Emulated:
    seeds = seed or list(scenario.seeds)[:1]
    if len(seeds) != 1:
        raise click.UsageError("an emulation has one seed")

    def ready(namespaces: Namespaces) -> None:
        if quiet:
            return
        if commands:
            hosts = ", ".join(f"{host.name} {host.v4}" for host in namespaces.hosts)
            click.echo(f"emulating {scenario.name}: {hosts}", err=True)
            return
        width = max(len(host.name) for host in namespaces.hosts)
        for index, host in enumerate(namespaces.hosts):
            click.echo(f"{host.name:{width}}  {host.v4:12}  sudo {namespaces.entering(index)}", err=True)
        click.echo(f"Ctrl-C ends it, at the latest {scenario.duration_s:g} s from now", err=True)

    with trying("write"):
        taps = plan_taps(scenario, seeds, captures, frames is not None)[seeds[0]]
        return emulate(
            scenario,
            commands,
            seed=seeds[0],
            taps=taps,
            series_step_ns=100_000_000 if series else None,
            output=sys.stderr.fileno() if as_json else None,
            ready=ready,
            say=(lambda _: None) if quiet else (lambda text: click.echo(f"note: {text}", err=True)),
            **options,
        )


def _show(emulated: Emulated, *, as_json: bool, quiet: bool) -> None:
    write_data(emulated.to_json().rstrip("\n") + "\n") if as_json else click.echo(text_of(emulated))
    if not quiet:
        for warning in warnings_of(emulated):
            click.echo(f"warning: {warning}", err=True)
    failed = [one for one in emulated.commands if one["status"]]
    for one in failed:
        status = one["status"]
        how = f"ended with status {status}" if status > 0 else f"was ended by signal {-status}"
        click.echo(f"error: `{one['command']}` at {one['host']} {how}", err=True)
    if emulated.ended == "interrupted" and emulated.commands:
        sys.exit(INTERRUPTED)
    if emulated.ended == "behind":
        fail("the machine did not keep up with the emulation", FAILED)
    if failed:
        sys.exit(FAILED)


def _clean() -> None:
    check_privileges()
    removed = clean()
    click.echo("".join(f"removed {name}\n" for name in removed) or "nothing was left behind\n", nl=False)


def _replay(path: str, *, as_json: bool) -> None:
    from wifair.emulation import replay as again  # noqa: PLC0415

    with trying("read", path):
        emulated, compared = again(path)
    if as_json:
        echo_json({**emulated.to_dict(), "replay": compared})
    else:
        click.echo(text_of(emulated))
        cut = " The recording is cut off." if compared["is_cut"] else ""
        replayed = counted(compared["put_in"], "packet")
        click.echo(f"{replayed} replayed, {compared['same']} arrived or were lost as recorded.{cut}")
    if compared["differs_at_s"] is not None:
        fail(f"from {compared['differs_at_s']:.6f} s on packets fare otherwise than recorded", FAILED)

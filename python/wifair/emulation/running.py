"""Runs an emulation of a scenario with commands, and replays recordings."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from wifair import _core
from wifair._output.files import json_text, require_regular
from wifair._output.words import suggestion
from wifair.capture.capture import Capture
from wifair.emulation._programs import Command, Programs
from wifair.emulation.namespaces import NamespaceHost, Namespaces, check_privileges, clean
from wifair.exceptions import EmulationError
from wifair.results.results import Results, SampledResults
from wifair.scenario.scenario import Scenario

POLL_S = 0.02
LINGER_S = 0.3
"""Time from the end of the last command until the servers are stopped, so that they can finish their output [s]."""
MTU = 1500
PRIORITY = 50


@dataclass
class Emulated:
    """The results of an emulation.

    Attributes
    ----------
    results : Results
        Results of the simulation: simulated flows, stations, the cell.
    connections : Capture
        Connections of real programs as seen at the access points.
    packets : dict
        Packets of real programs: ``sent``, ``delivered``, ``under_way`` (in transit at the end), ``marked``,
        ``windows_changed``, ``lost`` by location, ``refused`` by reason, ``time_s`` (length of the emulation), and
        ``lateness``.
    commands : list of dict
        ``host``, ``command``, and ``status``: None for commands that were stopped with the emulation.
    ended : str
        Why it ended: ``"commands"`` (all ended), ``"over"`` (the duration), ``"interrupted"``, ``"behind"`` (strict),
        or ``"replayed"``.
    notes : list of str
        What the system did not permit.
    addresses : dict
        Host name of each address.
    """

    results: Results
    connections: Capture
    packets: dict[str, Any]
    commands: list[dict[str, Any]]
    ended: str
    notes: list[str]
    addresses: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain values: the layout of ``wifair run --json``, with ``connections`` and ``emulation``."""
        emulation = {
            "ended": self.ended,
            "commands": self.commands,
            "notes": self.notes,
            "hosts": self.addresses,
            **self.packets,
        }
        connections = self.connections.document
        return {
            **self.results.to_dict(),
            "connections": connections["connections"],
            "datagrams": connections.get("datagrams", []),
            "echoes": connections.get("echoes", []),
            "emulation": emulation,
        }

    def to_json(self) -> str:
        """Write the same as JSON text."""
        return json_text(self.to_dict()) + "\n"


def emulate(
    scenario: Scenario,
    commands: Sequence[Command] = (),
    *,
    seed: int | None = None,
    flows: bool = True,
    strict: bool = False,
    taps: _core.Taps | None = None,
    series_step_ns: int | None = None,
    record: str | None = None,
    output: int | None = None,
    at_once: bool = False,
    ready: Callable[[Namespaces], None] | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Emulated:
    """Connect real programs over the simulated cell, in real time.

    Parameters
    ----------
    scenario : Scenario
        The cell. Each station and server becomes a network namespace with a TUN device.
    commands : sequence of Command
        What to run at hosts. The emulation ends when all commands other than servers have ended, or after the
        scenario's duration.
    seed : int, optional
        Seed of the simulation; that of the scenario by default.
    flows : bool, default True
        Whether the scenario's own flows are simulated as well.
    strict : bool, default False
        Whether to end when the machine does not keep up.
    taps : Taps, optional
        Captures and records of frames, as returned by `wifair.simulation.taps.plan_taps`.
    series_step_ns : int, optional
        Time between samples of the simulation [ns].
    record : str, optional
        A file in which to record packets; `replay` reads it.
    output : int, optional
        File descriptor of the commands' standard output; that of this program by default.
    at_once : bool, default False
        Whether to start all commands at once, not each after the previous one listens, sends a packet, or ends.
    ready : callable, optional
        Called with the namespaces when they have been created.
    say : callable, optional
        Called with a text for each thing that the system does not permit.

    Returns
    -------
    Emulated
        The results, also after Ctrl-C: ``ended`` is then ``"interrupted"``.

    Raises
    ------
    EmulationError
        If the system does not permit it, or a command names no host.
    OSError
        If a file cannot be written.
    """
    check_privileges()
    clean()
    seed = scenario.seeds[0] if seed is None else seed
    try:
        core = _core.Emulation(
            scenario._core,
            seed,
            flows,
            series_step_ns,
            taps,
            (record, about(scenario, seed, flows=flows)) if record else None,
        )
    except ValueError as error:
        raise EmulationError(str(error)) from None
    hosts = [NamespaceHost(*row) for row in core.hosts()]
    _check_hosts(hosts, commands)
    namespaces = Namespaces(hosts)
    notes: list[str] = []

    def note(text: str) -> None:
        notes.append(text)
        say(text)

    programs = Programs(namespaces, output=output)
    ended = ""
    with _terminated_as_interrupted():
        try:
            namespaces.make()
            _begin(core, namespaces, strict, note)
            if ready is not None:
                ready(namespaces)
            for command in commands:
                programs.start(command, core.sent, wait=not at_once)
            while core.is_running():
                time.sleep(POLL_S)
                if commands and programs.poll():
                    ended = "commands"
                    time.sleep(LINGER_S)
                    break
        except KeyboardInterrupt:
            ended = "interrupted"
        finally:
            with _uninterrupted():
                programs.stop()
                core.stop()
                namespaces.remove()
    if not core.has_begun():
        raise KeyboardInterrupt
    why = core.join()
    return _emulated(core, scenario, series_step_ns, programs.report(), ended or why, notes, hosts)


def _begin(core: _core.Emulation, namespaces: Namespaces, strict: bool, note: Callable[[str], None]) -> None:
    """Make the TUN devices, and start the thread that follows the clock."""
    for index, host in enumerate(namespaces.hosts):
        try:
            device = "wifi0" if host.is_station else "eth0"
            core.open(str(namespaces.path(index)), device)
            namespaces.bring_up(index, device, MTU)
        except OSError as error:
            raise EmulationError(f"no TUN device for `{host.name}`: {os.strerror(error.errno or 0)}") from None
    if not _core.lock_memory():
        note("memory could not be locked: paging may make packets late")
    thread = core.start(strict)
    try:
        os.sched_setscheduler(thread, os.SCHED_FIFO, os.sched_param(PRIORITY))
    except OSError:
        note("no real-time priority: other programs may make packets late")


def _emulated(
    core: _core.Emulation,
    scenario: Scenario,
    series_step_ns: int | None,
    commands: list[dict[str, Any]],
    ended: str,
    notes: list[str],
    hosts: list[NamespaceHost],
) -> Emulated:
    outcome, connections, packets = core.results()
    kind = Results if series_step_ns is None else SampledResults
    results = kind(scenario, [outcome], series_step_s=(series_step_ns or 0) / 1e9)
    addresses = {address: host.name for host in hosts for address in (host.v4, host.v6)}
    return Emulated(results, Capture(connections, "emulated"), packets, commands, ended, notes, addresses)


def about(scenario: Scenario, seed: int, *, flows: bool) -> str:
    """Write the line that describes a recording."""
    facts = {"version": _core.__version__, "source": _core.__source__, "seed": seed, "flows": flows}
    return json.dumps({**facts, "scenario": scenario.resolved}, ensure_ascii=False)


def replay(path: str) -> tuple[Emulated, dict[str, Any]]:
    """Replay a recording in pure simulation: the same packets at the same simulated times.

    Parameters
    ----------
    path : str
        A recording of `emulate`.

    Returns
    -------
    Emulated
        The results.
    dict
        ``put_in`` and ``same`` (numbers of packets), ``differs_at_s`` (None if every packet's fate equals the recorded
        one), ``is_cut`` (whether the recording is truncated), ``version``.

    Raises
    ------
    EmulationError
        If the file is not a recording, or is damaged.
    OSError
        If it cannot be read.
    """
    try:
        require_regular(path)
        facts = json.loads(_core.recording_about(path))
        scenario = Scenario(facts["scenario"], for_programs=True)
        core = _core.Emulation(scenario._core, facts["seed"], facts["flows"])
        hosts = [NamespaceHost(*row) for row in core.hosts()]
        put_in, same, differs_at_ns, is_cut = core.replay(path)
    except (ValueError, KeyError, TypeError) as error:
        raise EmulationError(f"cannot replay `{path}`: {error}") from None
    comparison = {
        "put_in": put_in,
        "same": same,
        "differs_at_s": None if differs_at_ns is None else differs_at_ns / 1e9,
        "is_cut": is_cut,
        "version": facts["version"],
    }
    return _emulated(core, scenario, None, [], "replayed", [], hosts), comparison


def _check_hosts(hosts: list[NamespaceHost], commands: Sequence[Command]) -> None:
    names = [host.name for host in hosts]
    for command in commands:
        if command.host not in names:
            hint = suggestion(command.host, names, f"there are {', '.join(names)}")
            raise EmulationError(f"no station or server `{command.host}`: {hint}")


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """Treat SIGTERM and SIGHUP as Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Block signals during the removal of namespaces."""
    numbers = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        with suppress(KeyboardInterrupt):
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        sys.stderr.flush()

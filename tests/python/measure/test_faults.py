"""Faults during a measurement: the rest of the plan completes, or there is one clear error; nothing is lost."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from testbed import COMMAND, SECRET, SERVER, Testbed
from wifair.optional.measure.coordinator import Coordinator
from wifair.optional.measure.errors import MeasureError
from wifair.optional.measure.journal import Journal
from wifair.optional.measure.plan import Plan
from wifair.optional.measure.results import Measurement
from wifair.optional.measure.server import Server, Timing
from wifair.optional.measure.station import Station

pytestmark = pytest.mark.alone

STATIONS = "[[stations]]\nname = 'sta1'\n[[stations]]\nname = 'sta2'\n"
# Long enough to break it in the middle: 1 MB at 20 Mb/s.
ONE = f"""
repetitions = 2
pause = "20 ms"
transfer.size = "1 MB"
{STATIONS}
[[cases]]
name = "sta1 alone"
directions = ["up"]
flows = [{{ station = "sta1" }}]
"""
PLAN = f"""{ONE}
[[cases]]
name = "both"
directions = ["down"]
flows = [{{ station = "sta1" }}, {{ station = "sta2" }}]
"""


def test_a_station_that_dies_during_a_transfer(testbed: Callable[..., Testbed]) -> None:
    network = testbed()
    network.serve()
    station = network.join("sta2")
    run = network.start_run("sta1", PLAN, "--as", "sta1", "--wait", "0.5")
    run.wait_for("both, 1 of 2")
    time.sleep(0.6)
    station.interrupt(signal.SIGKILL)
    run.end(1)
    rows = network.journal()
    done = {(row["case"], row["repetition"]) for row in rows if row["kind"] == "repetition"}
    assert {(0, 1), (0, 2)} <= done, "the other case completes"
    reasons = [row["reason"] for row in rows if row["kind"] == "failed"]
    assert reasons
    assert any("sta2" in reason for reason in reasons)
    # It comes back, and only what is missing is run.
    network.join("sta2")
    network.run("sta1", PLAN, "--as", "sta1", "--resume")
    measurement = Measurement.from_folder(network.folder / "out")
    assert [results.seeds for results in measurement.cases.values()] == [(1, 2), (1, 2)]
    assert "failed:" not in repr(measurement)


def test_a_lost_server_and_a_new_one(testbed: Callable[..., Testbed]) -> None:
    network = testbed(stations=1)
    server = network.serve()
    plan = ONE
    run = network.start_run("sta1", plan)
    run.wait_for("2 of 2")
    server.interrupt(signal.SIGKILL)
    run.end(1)
    assert run.said.count("error: ") == 1
    assert "lost the server" in run.said
    assert "--resume" in run.said
    assert "1 of 2 repetitions" in run.printed
    network.serve()
    again = network.run("sta1", plan, "--resume")
    assert "1 of 2 repetitions are there already" in again.said
    assert Measurement.from_folder(network.folder / "out").cases["sta1 alone"].seeds == (1, 2)


def test_a_link_that_goes_silent(testbed: Callable[..., Testbed]) -> None:
    """When a cable is pulled, nobody closes the connections: timeouts must detect it."""
    network = testbed()
    network.serve("--dead-after", "4")
    network.join("sta2")
    run = network.start_run(
        "sta1", PLAN + "\n", "--as", "sta1", "--wait", "0", "--set", "timeout=2s", "--set", "repetitions=1"
    )
    run.wait_for("[2/2] both")
    network.sh("sta2", "ip link set eth0 down")
    run.end(1)
    assert "sta1 alone" in repr(Measurement.from_folder(network.folder / "out"))
    [first, *_] = [row["reason"] for row in network.journal() if row["kind"] == "failed"]
    assert "longer than 2 s" in first or "sta2" in first


def test_ctrl_c_keeps_finished_repetitions(testbed: Callable[..., Testbed]) -> None:
    network = testbed(stations=1)
    network.serve()
    plan = ONE
    run = network.start_run("sta1", plan)
    run.wait_for("2 of 2")
    run.interrupt()
    run.end(130)
    assert [row["repetition"] for row in network.journal() if row["kind"] == "repetition"] == [1]
    report = network.start("sta1", "report", str(network.folder / "out"), name="report")
    report.end(0)
    assert "1 of 2 repetitions" in report.printed


def test_two_plans_at_once(testbed: Callable[..., Testbed]) -> None:
    network = testbed(stations=1)
    network.serve()
    # Long enough for the second plan to begin meanwhile, even on a slow computer.
    first = network.start_run("sta1", ONE.replace('pause = "20 ms"', 'pause = "6 s"'))
    first.wait_for("1 of 2")
    second = network.run("server", ONE, "--as", "sta1", out="second", code=1)
    assert second.said.count("error: ") == 1
    assert "busy with a plan" in second.said or "is there already" in second.said
    first.end(0)


def test_a_wrong_secret_ends_with_one_error(testbed: Callable[..., Testbed]) -> None:
    network = testbed(stations=1)
    server = network.serve()
    wrong = {"WIFAIR_SECRET": "not what the server has"}
    station = network.start("sta1", "join", SERVER, "--name", "sta1", environment=wrong)
    station.end(1)
    assert station.said.strip().endswith(f"error: {SERVER}:5010: wrong secret")
    server.wait_for("closed a connection from 10.77.1.2: wrong secret")
    assert SECRET not in server.said
    assert wrong["WIFAIR_SECRET"] not in server.said + station.said


def test_garbage_during_a_plan_does_no_harm(testbed: Callable[..., Testbed]) -> None:
    network = testbed()
    server = network.serve("--data-ports", "5011-5012")
    run = network.start_run("sta1", ONE, "--as", "sta1")
    run.wait_for("1 of 2")
    garbage = "import os, socket\nfor port in 3 * [5010, 5011, 5012]:\n"
    garbage += f"  try:\n    s = socket.create_connection(('{SERVER}', port), 1)\n    s.sendall(os.urandom(5000))\n"
    garbage += "  except OSError:\n    pass\n"
    (network.folder / "garbage.py").write_text(garbage)
    network.sh("sta2", f"{sys.executable} {network.folder / 'garbage.py'}")
    run.end(0)
    assert "closed a connection from 10.77.1.3: not the protocol of wifair measure" in server.said


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs util-linux")
def test_a_full_disk_keeps_finished_repetitions(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    # Each repetition takes some 6 kB of the journal: the disk is full before the tenth of them.
    plan.write_text("""
        repetitions = 100
        pause = "0 s"
        sample = "1 ms"
        transfer = { duration = "100 ms", send_buffer = "20 kB" }
        stations = [{ name = "a" }]
        cases = [{ name = "c", flows = [{ station = "a", direction = "up" }] }]
    """)
    small = tmp_path / "small"
    small.mkdir()
    script = f"""
        ip link set lo up
        mount -t tmpfs -o size=64k none {small}
        {" ".join(COMMAND)} serve --port 5010 2> {tmp_path}/serve.log & server=$!
        until grep -q listening {tmp_path}/serve.log; do sleep 0.05; done
        code=0; {" ".join(COMMAND)} run {plan} --out {small}/out > {tmp_path}/out.txt 2> {tmp_path}/err.txt || code=$?
        kill $server; wait $server || true
        cp {small}/out/journal.jsonl {tmp_path}/journal.jsonl
        exit $code
    """
    done = subprocess.run(
        ["unshare", "--map-root-user", "--mount", "--net", "sh", "-ec", script],
        env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "WIFAIR_SECRET": SECRET, "HOME": str(tmp_path)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    said = (tmp_path / "err.txt").read_text()
    assert done.returncode == 1, done.stderr + said
    assert "no space left on device" in said
    rows = [json.loads(line) for line in (tmp_path / "journal.jsonl").read_text().splitlines()]
    kept = sum(row["kind"] == "repetition" for row in rows)
    assert kept >= 1
    assert f"{kept} finished repetitions are kept" in said
    assert Measurement(rows).cases["c"].seeds == tuple(range(1, kept + 1))


def in_process(
    tmp_path: Path, text: str, stations: int, *, address: str = "127.0.0.1", **options: Any
) -> tuple[Measurement, list[str]]:
    """Run a plan with server and stations in this process, over the loopback interface."""
    log: list[str] = []

    async def run() -> None:
        key = SECRET.encode()
        server = Server(key, log=log.append)
        port = await server.start(address, 0)
        members = [Station(key, address, port, name=f"sta{n + 1}") for n in range(stations)]
        tasks = [asyncio.create_task(member.run()) for member in members]
        plan = Plan.from_text(text)
        journal = Journal(tmp_path / "out", Coordinator.head(plan, None), resume=False)
        try:
            async with asyncio.timeout(120):
                assert await Coordinator(plan, journal, tmp_path / "out", **options).run(key, address, port, "me")
        finally:
            journal.close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await server.close()

    asyncio.run(run())
    return Measurement.from_folder(tmp_path / "out"), log


def test_ipv6(tmp_path: Path) -> None:
    text = """
        repetitions = 1
        transfer.size = "100 kB"
        stations = [{ name = "sta1" }]
        [[cases]]
        name = "mixed"
        [[cases.flows]]
        station = "sta1"
        name = "tcp"
        direction = "down"
        [[cases.flows]]
        station = "sta1"
        name = "udp"
        direction = "down"
        transport = "udp"
        rate = "8 Mb/s"
    """
    measurement, _ = in_process(tmp_path, text, 1, address="::1")
    flows = measurement.cases["mixed"].flows
    assert flows["transfer_bytes"][0] == 100_000
    # 100 kB are 68 datagrams of 1472 B, rounded.
    assert flows["data_packets_sent"][1] == 68


def test_fifty_stations_on_one_machine(tmp_path: Path) -> None:
    text = """
        repetitions = 2
        pause = "10 ms"
        transfer.size = "200 kB"
        [[stations]]
        name = "sta"
        count = 50
        [[cases]]
        name = "all"
        directions = ["up", "down"]
        flows = [{ station = "sta" }]
    """
    measurement, log = in_process(tmp_path, text, 50)
    for results in measurement.cases.values():
        assert len(results.flows) == 2 * 50
        assert (results.flows["transfer_bytes"] == 200_000).all()
        assert len(set(results.flows["station"])) == 50
    assert not measurement.failures
    assert not [line for line in log if "closed" in line]


@pytest.mark.slow
def test_fifty_stations_as_separate_processes(testbed: Callable[..., Testbed]) -> None:
    network = testbed(stations=50, rate="100mbit", limit=400_000)
    network.serve()
    members = [network.start(station, "join", SERVER, "--name", station) for station in network.stations]
    for member in members:
        member.wait_for("joined", seconds=60)
    plan = (
        "repetitions = 2\ntransfer.size = '500 kB'\n[[stations]]\nname = 'sta'\ncount = 50\n[[cases]]\nname = 'all'\n"
    )
    network.run("server", plan + "directions = ['up', 'down']\nflows = [{ station = 'sta' }]\n")
    measurement = Measurement.from_folder(network.folder / "out")
    assert [len(results.flows) for results in measurement.cases.values()] == [100, 100]


def test_a_truncated_journal_loses_only_its_last_line(tmp_path: Path) -> None:
    plan = Plan.from_text(PLAN)
    folder = tmp_path / "out"
    journal = Journal(folder, Coordinator.head(plan, None), resume=False)
    journal.add({"kind": "failed", "case": 0, "repetition": 1, "attempt": 1, "reason": "x"})
    with pytest.raises(MeasureError, match="another wifair"):
        Journal(folder, Coordinator.head(plan, None), resume=True)
    journal.close()
    with journal.path.open("ab") as file:
        file.write(b'{"kind": "repetition", "case": 0, "rep')
    assert len(Measurement.from_folder(folder).failures) == 1
    again = Journal(folder, Coordinator.head(plan, None), resume=True)
    again.add({"kind": "failed", "case": 0, "repetition": 2, "attempt": 1, "reason": "y"})
    again.close()
    assert [row["reason"] for row in Measurement.from_folder(folder).failures] == ["x", "y"]
    with pytest.raises(MeasureError, match="go on with --resume"):
        Journal(folder, Coordinator.head(plan, None), resume=False)
    with pytest.raises(MeasureError, match="another plan"):
        Journal(folder, Coordinator.head(Plan.from_text("seed = 7\n" + PLAN), None), resume=True)


def test_a_repetition_without_its_station_does_not_count(tmp_path: Path) -> None:
    with pytest.raises(MeasureError, match="not there: `sta2`"):
        in_process(tmp_path, PLAN, 1, wait_s=0.0)


def test_a_port_without_a_listener_is_named() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    station = Station(SECRET.encode(), "127.0.0.1", port, name="a", timing=Timing())
    with pytest.raises(MeasureError, match=f"cannot reach 127.0.0.1:{port}: .*refused.*serve"):
        asyncio.run(station.run())

"""Measurements in a network of namespaces: results are what the token bucket allows.

No computer makes the bucket faster, so figures have tight upper bounds. Lower bounds are wide: other programs on this
computer, or on the host of this guest, may delay packets, sometimes in every repetition.
"""

from __future__ import annotations

import math
import os
import platform
import pty
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import wifair
from click.testing import CliRunner
from testbed import ETHERNET, SERVER, Testbed, records
from wifair.cli import main
from wifair.optional.measure import journal
from wifair.optional.measure.report import text
from wifair.optional.measure.results import Measurement

pytestmark = pytest.mark.alone

RATE = 25e6
BURST = 8000
SIZE = 1_000_000
# Ethernet 14, IPv4 20, TCP 20 and timestamps 12 bytes for every 1448 of data.
WIRE = (1448 + 52 + ETHERNET) / 1448

STATIONS = "[[stations]]\nname = 'sta1'\n[[stations]]\nname = 'sta2'\n"
PLAN = f"""
name = "bucket"
pause = "20 ms"
sample = "10 ms"
transfer.size = "{SIZE} B"
{STATIONS}
[[cases]]
name = "one"
directions = ["up", "down"]
flows = [{{ station = "sta1" }}]
[[cases]]
name = "two"
directions = ["up", "down"]
flows = [{{ station = "sta1" }}, {{ station = "sta2" }}]
"""


@pytest.fixture(scope="module")
def repetitions(pytestconfig: pytest.Config) -> int:
    return 5 if pytestconfig.getoption("--slow") else 3


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory, repetitions: int) -> Iterator[Measurement]:
    network = Testbed(tmp_path_factory.mktemp("bucket"), rate=f"{RATE / 1e6:.0f}mbit", burst=BURST)
    try:
        network.serve()
        network.join("sta2")
        run = network.run("sta1", PLAN, "--as", "sta1", "--set", f"repetitions={repetitions}")
        assert "not wireless" in run.said
        yield Measurement.from_folder(network.folder / "out")
    finally:
        network.close()


def test_every_repetition_of_every_case_has_a_result(measured: Measurement, repetitions: int) -> None:
    assert list(measured.cases) == ["one, up", "one, down", "two, up", "two, down"]
    assert all(results.seeds == tuple(range(1, repetitions + 1)) for results in measured.cases.values())
    assert not measured.failures


@pytest.mark.parametrize("case", ["one, up", "one, down"])
def test_goodput_alone_is_what_the_bucket_allows(measured: Measurement, case: str) -> None:
    flows = measured.cases[case].flows
    # The bucket is full at first; everything beyond that passes at its rate. Packets that its queue drops never pass.
    allowed = 8 * SIZE / (8 * (SIZE * WIRE - BURST) / RATE)
    assert 0.5 * allowed <= flows["transfer_goodput_bps"].max() <= 1.02 * allowed


@pytest.mark.parametrize("case", ["two, up", "two, down"])
def test_goodput_in_competition_adds_up_to_what_the_bucket_allows(measured: Measurement, case: str) -> None:
    cells = measured.cases[case].cells
    # Measured until the first of the two has finished; the burst counts once, over at least half of all data.
    allowed = RATE / WIRE * (1 + BURST / (SIZE * WIRE))
    assert 0.5 * allowed <= cells["goodput_bps"].max() <= 1.02 * allowed


def test_all_data_arrives_and_windows_are_known(measured: Measurement) -> None:
    for results in measured.cases.values():
        flows = results.flows
        assert (flows["transfer_bytes"] == SIZE).all()
        assert (flows["cc"] == "reno").all()
        assert (flows["mss_bytes"] == 1448).all()
        assert (flows["cwnd_mean"] > 1).all()
        # The bucket's queue of 60 kB adds up to 19 ms, and a busy computer adds more.
        assert (flows["rtt_mean_s"] > 0).all()
        assert flows["rtt_max_s"].min() < 8 * (60_000 + BURST) / RATE + 0.1
        assert (flows["outstanding_max_bytes"] > 1448).all()


def test_flows_start_together_as_far_as_clocks_tell(measured: Measurement, repetitions: int) -> None:
    for results in measured.cases.values():
        assert (results.cells["clock_error_s"] < 0.5).all()
        assert (results.cells["late_s"] < 0.5).all()
    # All namespaces share one clock, so any offset is an error, and must lie within the reported bound.
    assert measured.folder is not None
    clocks = [clock for row in journal.read(measured.folder) for clock in row.get("clocks", {}).values()]
    assert len(clocks) == repetitions * (1 + 1 + 2 + 2)
    assert all(abs(clock["offset_s"]) <= clock["error_s"] for clock in clocks)


def test_the_same_columns_as_a_simulated_run(measured: Measurement) -> None:
    scenario = "duration='2 s'\n[wlan]\nstandard='802.11b'\n[[servers]]\nname='s'\n[[stations]]\nname='a'\n"
    flow = "[[flows]]\nname='up'\nstation='a'\nserver='s'\ndirection='up'\n"
    simulated = wifair.run(wifair.Scenario.from_text(scenario + flow), series="100 ms")
    results = measured.cases["two, up"]
    for name, columns in simulated.tables.items():
        if name != "queues":
            assert set(columns) <= set(results.tables[name]), name
    assert set(simulated.summary) <= set(results.summary)
    assert set(simulated.to_dict()) == set(results.to_dict())
    assert "Jain's index" in repr(results)


def test_the_report_has_a_row_for_each_flow(measured: Measurement, repetitions: int, tmp_path: Path) -> None:
    shown = text(measured)
    assert shown.startswith(f"bucket: {4 * repetitions} of {4 * repetitions} repetitions")
    assert [line.split("  ")[0] for line in shown.splitlines()[3:9] if line[0] != " "] == list(measured.cases)
    loss = measured.loss("two, up", "sta1")
    own = measured.cases["two, up"].flows.filter(name="sta1")["goodput_bps"]
    alone = measured.cases["one, up"].flows["goodput_bps"]
    assert loss.mean == pytest.approx(float(np.mean(1 - own / alone)))
    assert math.isnan(measured.loss("two, up", "sta2").mean), "sta2 never ran alone"
    measured.save(tmp_path, formats=["csv"])
    assert (tmp_path / "table.csv").read_text().count("\n") == 1 + 6
    header = (tmp_path / "cases" / "two-up" / "flows.csv").read_text().splitlines()[0]
    assert header.startswith("seed,name,direction,goodput_bps")


def test_a_figure_of_a_report_is_replaced_with_force_only(measured: Measurement, tmp_path: Path) -> None:
    figure = tmp_path / "report.png"
    command = ["measure", "report", str(measured.folder), "--figure", str(figure)]
    figure.write_text("of somebody else")
    refused = CliRunner().invoke(main, command)
    assert (refused.exit_code, "--force" in refused.stderr) == (2, True), refused.output
    assert figure.read_text() == "of somebody else"
    assert CliRunner().invoke(main, [*command, "--force"]).exit_code == 0
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_the_same_network_simulated_agrees(measured: Measurement) -> None:
    """One table of both. The simulated link has the bucket's rate and queue, with Linux's TCP and the Ethernet header
    counted.
    """
    scenario = wifair.Scenario.from_text(f"""
        duration = "5 s"
        warm_up = "2 s"
        [[routers]]
        name = "r"
        [[servers]]
        name = "server"
        rate = "1 Gb/s"
        at = "r"
        [[servers]]
        name = "sta1"
        rate = "{RATE / 1e6} Mb/s"
        at = "r"
        queue.limit = "60 kB"
        [[flows]]
        name = "up"
        from = "sta1"
        to = "server"
        tcp = {{ stack = "modern", cc = "newreno", mss = "1448 B", header = "66 B", count_options = false }}
    """)
    simulated = wifair.run(scenario)
    comparison = wifair.compare(measured.cases["one, up"], simulated)
    assert {"goodput_bps", "rtt_mean_s"} <= set(comparison.telling())
    goodput_bps = simulated.summary["goodput_bps"].mean
    assert goodput_bps == pytest.approx(RATE / WIRE, rel=0.01)
    assert 0.5 * goodput_bps <= measured.cases["one, up"].cells["goodput_bps"].max() <= 1.03 * goodput_bps


TOKEN = 48
"""Payload of the largest token that the ends of a connection show each other first [bytes]; data come in more."""


def _captured(network: Testbed, name: str) -> list[tuple[float, bytes]]:
    with (network.folder / "out" / name).open("rb") as file:
        return records(file)


def _tcp(packet: bytes) -> tuple[int, int, int]:
    """Sequence number, ACK and bytes of payload, of which a capture may have none."""
    header = 4 * (packet[0] & 15)
    tcp = packet[header:]
    size = int.from_bytes(packet[2:4], "big") - header - 4 * (tcp[12] >> 4)
    return int.from_bytes(tcp[4:8], "big"), int.from_bytes(tcp[8:12], "big"), size


def _is_fin(packet: bytes) -> bool:
    return bool(packet[4 * (packet[0] & 15) + 13] & 1)


def test_tcp_info_agrees_with_the_capture_at_the_sender(testbed: Callable[..., Testbed]) -> None:
    network = testbed()
    network.serve()
    plan = "repetitions = 1\nsample = '5 ms'\ntransfer.size = '1 MB'\n[[stations]]\nname = 'sta1'\n"
    plan += "[[cases]]\nname = 'one'\ndirections = ['up', 'down']\nflows = [{ station = 'sta1' }]\n"
    network.run("sta1", plan, "--capture")
    measurement = Measurement.from_folder(network.folder / "out")
    for case, sender, receiver in (("one, up", "sta1", "server"), ("one, down", "server", "sta1")):
        results = measurement.cases[case]
        source = bytes(map(int, SERVER.split("."))) if sender == "server" else bytes([10, 77, 1, 2])
        sent, resent, highest, outstanding, acked = 0, 0, None, 0, None
        began_s, begin = math.nan, 0
        for time_s, packet in _captured(network, results.captures[1, sender]):
            sequence, ack, size = _tcp(packet)
            if packet[12:16] != source:
                acked = ack
                continue
            if size <= TOKEN:
                continue
            if sent == 0:
                began_s, begin = time_s, sequence
            sent += 1
            resent += highest is not None and (sequence - highest) % 2**32 >= 2**31
            if highest is None or (sequence + size - highest) % 2**32 < 2**31:
                highest = (sequence + size) % 2**32
            if acked is not None:
                outstanding = max(outstanding, (highest - acked) % 2**32)
        flow = results.flows.to_dicts()[0]
        assert flow["data_packets_sent"] == sent
        assert flow["retransmissions"] == resent
        assert 0 < flow["outstanding_max_bytes"] <= outstanding
        assert results.to_dict()["runs"][0]["series"]["unacked_bytes"]
        # From the first byte sent to the last one that was missing at the receiver. The receiver reads that one between
        # its arrival and the FIN with which it answers, however long the computer holds it up. The sender reads its
        # clock right before it sends: only a hold-up at this instant could use up the 50 ms. Clocks are known to
        # `clock_error_s`, and Linux slews the clock of captures by at most 500 ppm.
        missing, ended_s, closed_s = bytearray(b"1" * SIZE), math.nan, math.nan
        for time_s, packet in _captured(network, results.captures[1, receiver]):
            sequence, _, size = _tcp(packet)
            at = (sequence - begin) % 2**32
            if packet[12:16] != source:
                closed_s = time_s if math.isnan(closed_s) and _is_fin(packet) else closed_s
            elif size > TOKEN and any(missing[at : at + size]):
                missing[at : at + size] = bytes(size)
                ended_s = time_s
        assert not any(missing)
        error_s = results.cells["clock_error_s"][0] + 500e-6 * flow["transfer_s"]
        spent_s = flow["transfer_s"] - (ended_s - began_s)
        assert -error_s <= spent_s < closed_s - ended_s + error_s + 0.05
        assert flow["transfer_goodput_bps"] == pytest.approx(8 * SIZE / flow["transfer_s"], rel=1e-12)
        # `wifair analyze` must agree; station and server first send each other a token, of 48 and 32 bytes.
        analysed = measurement.captured.filter(case=case, at_sender=True).to_dicts()[0]
        assert analysed["received_bytes"] == 1_000_000 + (48 if case == "one, up" else 32)
        assert analysed["data_packets_sent"] == sent + 1
        assert analysed["retransmissions"] == resent
        # The kernel smooths, and its samples are 5 ms apart.
        assert analysed["rtt_mean_s"] == pytest.approx(flow["rtt_mean_s"], rel=0.25)
        assert analysed["outstanding_max_bytes"] == pytest.approx(outstanding, rel=0.1)
    assert "captures at the senders:" in text(measurement)


def test_a_plan_can_be_run_on_the_server_itself(testbed: Callable[..., Testbed]) -> None:
    """Data uses the address at which its station has joined, not that of whoever runs the plan."""
    network = testbed(stations=1)
    network.serve("--listen", "0.0.0.0")
    network.join("sta1")
    plan = """
        repetitions = 1
        transfer.size = "100 kB"
        stations = [{ name = "sta1" }]
        [[cases]]
        name = "one"
        directions = ["up", "down"]
        flows = [{ station = "sta1" }]
    """
    network.run("server", plan, "--server", "127.0.0.1")
    lines = network.journal()
    about = next(line["hosts"] for line in lines if "hosts" in line)
    assert about["server"]["interface"] == "eth0"
    measurement = Measurement.from_folder(network.folder / "out")
    assert [case.flows["transfer_bytes"][0] for case in measurement.cases.values()] == [100_000, 100_000]


def test_sessions_udp_and_a_mixture_of_directions(testbed: Callable[..., Testbed]) -> None:
    network = testbed(rate="40mbit")
    network.serve()
    network.join("sta2")
    plan = f"""
        repetitions = 2
        pause = "10 ms"
        capacity = "30 Mb/s"
        {STATIONS}
        [[cases]]
        name = "mixed"
        [[cases.flows]]
        station = "sta1"
        name = "web"
        direction = "down"
        sessions = {{ size = "20 kB", every = "100 ms", count = 8 }}
        [[cases.flows]]
        station = "sta2"
        name = "voice"
        direction = "up"
        transport = "udp"
        rate = "2 Mb/s"
        payload = "500 B"
        duration = "800 ms"
        [[cases.flows]]
        station = "sta2"
        name = "bulk"
        direction = "up"
        duration = "800 ms"
    """
    network.run("sta1", plan, "--as", "sta1")
    results = Measurement.from_folder(network.folder / "out").cases["mixed"]
    voice = results.flows.filter(name="voice")
    # 2 Mb/s in datagrams of 500 B: one each 2 ms.
    assert (voice["data_packets_sent"] == 400).all()
    assert (voice["lost_datagrams"] >= 0).all()
    sessions = results.sessions
    assert len(sessions) == 2 * 8
    assert (sessions["sent_after_s"] <= sessions["acked_after_s"]).all()
    # On the wire 20 kB take at least 4.2 ms, less the burst.
    assert (sessions["acked_after_s"] > 8 * (20_000 * WIRE - BURST) / 40e6).all()
    assert (results.cells["sessions_finished"] == 8).all()
    # Equation 1 of jung2016: 30 Mb/s for two stations, so 20 kB take ideally 10.67 ms.
    ideal = 8 * 20_000 / 15e6
    expected = [float(np.mean(ideal / sessions.filter(seed=seed)["acked_after_s"])) for seed in results.seeds]
    assert results.cells["instantaneous_fairness_acked"] == pytest.approx(expected)
    assert (results.cells["up_down_ratio"] > 1).all()


def test_without_root_in_a_user_namespace(testbed: Callable[..., Testbed]) -> None:
    network = testbed(user_namespace=True, stations=1)
    network.serve()
    plan = "repetitions = 1\ntransfer.size = '200 kB'\n[[stations]]\nname = 'sta1'\n"
    plan += "[[cases]]\nname = 'one'\nflows = [{ station = 'sta1', direction = 'down', mss = '536 B', cc = 'cubic',"
    plan += " send_buffer = '30 kB', receive_buffer = '20 kB' }]\n"
    network.run("sta1", plan)
    flow = Measurement.from_folder(network.folder / "out").cases["one"].flows.to_dicts()[0]
    assert flow["transfer_bytes"] == 200_000
    assert flow["cc"] == "cubic"
    assert flow["mss_bytes"] == 536 - 12  # less the timestamps
    ends = network.journal()[-1]["flows"]["sta1"]
    # Linux doubles the requested size, for its own bookkeeping (man 7 socket).
    assert (ends["sender"]["send_buffer"], ends["receiver"]["receive_buffer"]) == (60_000, 40_000)


def test_a_change_of_place_waits_for_a_key(testbed: Callable[..., Testbed]) -> None:
    network = testbed(stations=1)
    network.serve()
    plan = "repetitions = 1\npause = '0 s'\ntransfer.size = '50 kB'\n[[stations]]\nname = 'sta1'\n"
    for place in ("near", "far"):
        plan += f"[[cases]]\nname = '{place}'\nplace = 'sta1 {place}'\n"
        plan += "flows = [{ station = 'sta1', direction = 'up' }]\n"
    keyboard, terminal = pty.openpty()
    try:
        run = network.start_run("sta1", plan, stdin=terminal)
        for number, place in enumerate(("near", "far")):
            run.wait_for(f"now: sta1 {place}. Press Enter when that is so.")
            time.sleep(0.2)
            assert f"[{number + 1}/2]" not in run.said
            os.write(keyboard, b"\n")
            run.wait_for(f"[{number + 1}/2] {place}")
        run.end(0)
    finally:
        os.close(keyboard)
        os.close(terminal)


IW = """#!/bin/sh
state={state}
echo "$@" >> $state.calls
case "$1 $2 $3 $4" in
  "dev "*" info ") printf 'Interface wlan0\\n\\twiphy 7\\n';;
  "dev "*" link ") printf 'Connected to 00:11:22:33:44:55 (on wlan0)\\n\\tfreq: 2412\\n\\tsignal: -91 dBm\\n';;
  "dev "*" station dump")
    printf 'Station 00:11:22:33:44:55 (on wlan0)\\n\\ttx packets:\\t%s\\n\\ttx retries:\\t%s\\n' \\
      $(wc -l < $state.calls) $(wc -l < $state.calls);;
  "phy#7 info  ") printf 'Wiphy phy7\\n\\tRTS threshold: %s\\n' $(cat $state);;
  "phy#7 set rts "*) if [ "$4" = off ]; then echo 2347 > $state; else echo "$4" > $state; fi;;
  *) exit 1;;
esac
"""


@pytest.mark.parametrize("end", ["by itself", "Ctrl-C", "kill -9"])
def test_the_rts_threshold_is_set_and_restored(testbed: Callable[..., Testbed], end: str) -> None:
    network = testbed(stations=1)
    network.serve()
    tools = network.folder / "bin"
    tools.mkdir()
    state = network.folder / "rts"
    state.write_text("2000\n")
    (tools / "iw").write_text(IW.format(state=state))
    (tools / "iw").chmod(0o755)
    environment = {"PATH": f"{tools}:/usr/bin:/bin:/usr/sbin:/sbin"}
    station = network.start("sta1", "join", SERVER, "--name", "sta1", environment=environment)
    station.wait_for("joined")
    seconds = "0.3" if end == "by itself" else "5"
    plan = f"""
        repetitions = 1
        pause = "0 s"
        transfer.duration = "{seconds} s"
        [[stations]]
        name = "sta1"
        [[cases]]
        name = "one"
        directions = ["up"]
        rts_thresholds = ["2346 B", "200 B"]
        flows = [{{ station = "sta1" }}]
    """
    if end == "by itself":
        network.run("server", plan)
        calls = (network.folder / "rts.calls").read_text()
        # Tried once beforehand; then set and restored for each repetition.
        assert [line.split()[-1] for line in calls.splitlines() if " set rts " in line][-4:] == [
            "2346",
            "2000",
            "200",
            "2000",
        ]
        stations = Measurement.from_folder(network.folder / "out").cases["one, RTS 200 B"].stations.to_dicts()
        assert stations[0]["signal_dbm"] == -91
        assert stations[0]["retries"] > 0
    else:
        run = network.start_run("server", plan)
        run.wait_for("[1/2]")
        for _ in range(500):
            if state.read_text() == "2346\n":
                break
            signal.sigtimedwait([], 0.02)
        assert state.read_text() == "2346\n"
        station.interrupt(signal.SIGINT if end == "Ctrl-C" else signal.SIGKILL)
        station.popen.wait(20)
        if end == "kill -9":
            assert state.read_text() == "2346\n"
            again = network.start("sta1", "join", SERVER, "--name", "sta1", name="again", environment=environment)
            again.wait_for("joined")
    assert state.read_text() == "2000\n"


def test_timeouts_are_counted_when_nothing_gets_through(testbed: Callable[..., Testbed]) -> None:
    """All packets are lost for a second: Linux's timer of at least 200 ms expires and backs off, so 2 to 4 times."""
    network = testbed(stations=1)
    network.serve()
    plan = "repetitions = 1\ntransfer.duration = '2 s'\n[[stations]]\nname = 'sta1'\n"
    plan += "[[cases]]\nname = 'one'\nflows = [{ station = 'sta1', direction = 'up' }]\n"
    run = network.start_run("sta1", plan)
    run.wait_for("[1/1]")
    time.sleep(1.0)
    hole = f"ip route {{}} blackhole {SERVER}/32"
    network.sh("router", hole.format("add"), "sleep 1", hole.format("del"))
    run.end(0)
    flow = Measurement.from_folder(network.folder / "out").cases["one"].flows.to_dicts()[0]
    release = tuple(int(part) for part in platform.release().split(".")[:2])
    if release >= (6, 7):
        assert 2 <= flow["timeouts"] <= 4
    assert flow["retransmissions"] > 0

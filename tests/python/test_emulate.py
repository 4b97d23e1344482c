"""Real programs over simulated Wi-Fi, in network namespaces made by the tests, all with a time limit."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command import COMMAND
from emulating import CELL, WHY_NOT, wifair
from wifair import Scenario

pytestmark = [pytest.mark.alone, pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT or "emulation works here")]

ECHO = """
import socket, sys
listener = socket.create_server(("", 4000))
while True:
    peer, _ = listener.accept()
    while data := peer.recv(65536):
        peer.sendall(data)
"""

TALK = """
import socket, sys, time
peer = socket.create_connection(("server", 4000), timeout=10)
begin = time.monotonic()
peer.sendall(b"x" * 1000)
got = 0
while got < 1000:
    got += len(peer.recv(65536))
print(f"took {time.monotonic() - begin:.6f}")
"""


@pytest.fixture
def cell(tmp_path: Path) -> Path:
    (tmp_path / "cell.toml").write_text(CELL)
    (tmp_path / "echo.py").write_text(ECHO)
    (tmp_path / "talk.py").write_text(TALK)
    return tmp_path


def _left() -> list[str]:
    """Everything that emulations have left on this machine."""
    found = subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True).stdout.split("\n")
    names = [line.split()[0] for line in found if line.startswith("wifair-")]
    return names + [str(path) for path in (*Path("/run/wifair").glob("*"), *Path("/etc/netns").glob("wifair-*"))]


def _mine(left: list[str], pid: int) -> list[str]:
    return [name for name in left if f"wifair-{pid}-" in name or f"/{pid}-" in name]


def test_programs_communicate_and_nothing_is_left(cell: Path) -> None:
    python = sys.executable
    run = subprocess.Popen(
        [*COMMAND, "emulate", "cell.toml", "--no-flows", "--json", "--record", "packets.rec"]
        + ["--pcap", "captures", "--pcap-at", "ap,sta1,server"]
        + ["--exec", "server", f"{python} echo.py", "--exec", "sta1", f"{python} talk.py > {cell}/said"],
        cwd=cell,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    out, err = run.communicate(timeout=120)
    assert run.returncode == 0, err
    # Round trip: at least twice the 10 ms of the wired link.
    assert float((cell / "said").read_text().split()[1]) > 0.020
    document = json.loads(out)
    emulation = document["emulation"]
    assert emulation["ended"] == "commands"
    assert [one["status"] for one in emulation["commands"]] == [None, 0]
    (connection,) = document["connections"]
    assert connection["a2b"]["unique_bytes_sent"] == connection["b2a"]["unique_bytes_sent"] == 1000
    lost, refused = (sum(emulation[name].values()) for name in ("lost", "refused"))
    assert emulation["sent"] == emulation["delivered"] + lost + refused + emulation["under_way"]
    assert emulation["lateness"]["packets"] == emulation["delivered"]
    assert {path.name for path in (cell / "captures").iterdir()} == {
        *("ap-air.pcap", "ap-wire.pcap", "sta1.pcap", "server.pcap", "hosts")
    }
    assert not _mine(_left(), run.pid)
    from wifair import read_capture  # noqa: PLC0415

    for file in ("ap-air", "sta1", "server"):
        (flow, _) = read_capture(cell / "captures" / f"{file}.pcap").connections["unique_bytes_sent"]
        assert flow == 1000, file

    again = wifair("emulate", "--replay", "packets.rec", "--json", cwd=cell)
    assert again.returncode == 0, again.stderr
    replayed = json.loads(again.stdout)
    assert replayed["replay"]["differs_at_s"] is None
    assert replayed["replay"]["put_in"] == emulation["sent"] - refused
    assert replayed["replay"]["same"] == emulation["delivered"] + lost
    assert replayed["connections"] == document["connections"]


def test_an_emulation_refuses_to_replace_files_before_it_begins(cell: Path) -> None:
    outputs = {"--out": "results", "--pcap": "captures", "--frames": "frames.csv", "--record": "packets.rec"}
    command = ["emulate", "cell.toml", "--no-flows", "--quiet", "--exec", "sta1", "date +%N > ran; ping -q -c 1 server"]

    def held() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in sorted(cell.rglob("*")) if path.is_file()}

    everything = [word for option in outputs.items() for word in option]
    assert wifair(*command, *everything, cwd=cell).returncode == 0
    before = held()
    for option in outputs.items():
        refused = wifair(*command, *option, cwd=cell)
        assert (refused.returncode, "--force" in refused.stderr) == (2, True), (option, refused.stderr)
        assert held() == before, option
    for option in (("--frames", "frames.txt"), ("--out", "cell.toml")):
        refused = wifair(*command, *option, cwd=cell)
        assert refused.returncode == 2, (option, refused.stderr)
        assert held() == before, option
    forced = wifair(*command, *everything, "--force", cwd=cell)
    assert forced.returncode == 0, forced.stderr
    assert held().keys() == before.keys()
    assert held() != before, "another ping has other times"


def test_simulated_flows_contend_with_real_ones(cell: Path) -> None:
    said = wifair("emulate", "cell.toml", "--json", "--exec", "sta1", "ping -q -c 5 -i 0.2 server", cwd=cell)
    assert said.returncode == 0, said.stderr
    document = json.loads(said.stdout)
    assert {flow["name"] for flow in document["runs"][0]["flows"]} == {"up1", "up2"}
    assert all(flow["goodput_bps"] > 1e6 for flow in document["runs"][0]["flows"])
    assert document["emulation"]["delivered"] == 10


def test_other_networks_cannot_be_reached(cell: Path) -> None:
    """Only the hosts can be reached: there is no other route, name server or device."""
    checks = [
        "test $(ls /sys/class/net /proc/sys/net/ipv4/conf | grep -c .) -gt 0",
        "ip -o link | grep -v -e ' lo:' -e ' wifi0:' && exit 1",
        "ip route get 8.8.8.8 && exit 1",
        "ip -6 route get 2001:4860:4860::8888 && exit 1",
        "getent hosts example.org && exit 1",
        "test \"$(getent ahostsv4 server | head -1 | cut -d' ' -f1)\" = 10.32.0.1",
        # A packet to an unused address of the same network is refused, and counted.
        "ping -c 1 -W 1 10.99.0.1 && exit 1; true",
    ]
    (cell / "check.sh").write_text("\n".join(f"({check}) || [ $? = 1 ] || exit 9" for check in checks[:1]) + "\n")
    script = "set -x\n" + "\n".join(
        f"if {check.removesuffix(' && exit 1')}; then exit 9; fi"
        if check.endswith("&& exit 1")
        else f"({check}) || exit 8"
        for check in checks[1:]
    )
    (cell / "check.sh").write_text(script + "\n")
    said = wifair("emulate", "cell.toml", "--no-flows", "--json", "--exec", "sta1", "sh check.sh", cwd=cell)
    assert said.returncode == 0, said.stderr
    assert json.loads(said.stdout)["emulation"]["refused"]["unknown_destination"] >= 1


def test_a_failing_command_is_reported(cell: Path) -> None:
    said = wifair("emulate", "cell.toml", "--no-flows", "--exec", "sta1", "exit 3", cwd=cell)
    assert said.returncode == 1
    assert "`exit 3` at sta1 ended with status 3" in said.stderr
    assert "Jain" not in said.stdout, "without simulated flows there is nothing to say of them"


def test_unknown_hosts_are_reported(cell: Path) -> None:
    said = wifair("emulate", "cell.toml", "--exec", "sta3", "true", cwd=cell)
    assert (said.returncode, "no station or server `sta3`: did you mean `sta" in said.stderr) == (2, True)


def _start(cell: Path) -> subprocess.Popen[str]:
    """Start an emulation that runs until it is stopped, and wait until its hosts exist."""
    command = [*COMMAND, "emulate", "cell.toml", "--exec", "sta1", "sleep 1000"]
    run = subprocess.Popen(command, cwd=cell, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 60
    while time.monotonic() < until and run.poll() is None:
        names = [name for name in _mine(_left(), run.pid) if name.startswith("wifair-")]
        pids = [
            subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=False) for name in names
        ]
        if any(done.stdout for done in pids):
            return run
        time.sleep(0.05)
    raise AssertionError(f"it did not begin: {run.communicate()}")


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_nothing_is_left_after_a_signal(cell: Path, signum: signal.Signals) -> None:
    run = _start(cell)
    run.send_signal(signum)
    run.communicate(timeout=60)
    assert run.returncode == 130
    assert not _mine(_left(), run.pid)


def test_the_next_start_removes_the_remains_of_a_killed_one(cell: Path) -> None:
    run = _start(cell)
    run.kill()
    run.communicate(timeout=60)  # its programs die with it: nobody holds its output
    assert _mine(_left(), run.pid)
    # Namespaces of others stay, even under such a name.
    other = f"wifair-{run.pid}-ffff-mine"
    subprocess.run(["ip", "netns", "add", other], check=True)
    try:
        said = wifair("emulate", "--clean")
        assert said.returncode == 0, said.stderr
        assert f"removed wifair-{run.pid}-" in said.stdout
        assert _mine(_left(), run.pid) == [other]
    finally:
        subprocess.run(["ip", "netns", "delete", other], check=True)


def test_a_device_that_vanishes_cuts_off_its_host_only(cell: Path) -> None:
    said = wifair(
        *("emulate", "cell.toml", "--no-flows", "--json"),
        *("--exec", "sta2", "sleep 0.5; ip link delete wifi0; sleep 1.5"),
        *("--exec", "sta1", "sleep 1; ping -q -c 5 -i 0.2 server"),
        cwd=cell,
    )
    assert said.returncode == 0, said.stderr
    emulation = json.loads(said.stdout)["emulation"]
    assert emulation["lateness"]["devices_vanished"] == 1
    assert emulation["delivered"] >= 10


def test_a_flood_is_bounded(cell: Path) -> None:
    flood = (
        "import socket, time\n"
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "until = time.monotonic() + 1.5\n"
        "while time.monotonic() < until:\n    s.sendto(bytes(1400), ('server', 9))\n"
    )
    (cell / "flood.py").write_text(flood)
    said = wifair(
        "emulate", "cell.toml", "--no-flows", "--json", "--exec", "sta1", f"{sys.executable} flood.py", cwd=cell
    )
    assert said.returncode == 0, said.stderr
    emulation = json.loads(said.stdout)["emulation"]
    assert emulation["lost"]["station_queue"] > 100
    assert emulation["under_way"] < 2000


def test_a_recording_of_another_scenario_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.rec").write_text('wifair emulation 1\n{"seed": 1}\n')
    said = wifair("emulate", "--replay", "bad.rec", cwd=tmp_path)
    assert (said.returncode, "cannot replay `bad.rec`" in said.stderr) == (2, True)


def test_options_that_change_nothing_are_refused(tmp_path: Path) -> None:
    for use in (["--replay", "x.rec"], ["--clean"]):
        said = wifair("emulate", *use, "--set", "stations.count=2", cwd=tmp_path)
        assert (said.returncode, f"--set changes nothing of {use[0]}" in said.stderr) == (2, True)


def test_the_hosts_of_a_scenario() -> None:
    from wifair import _core  # noqa: PLC0415

    core = _core.Emulation(Scenario(CELL)._core, 1, flows=False)
    assert core.hosts() == [
        ("sta1", "10.16.0.1", "fd77:6966:6169:7200::a10:1", True),
        ("sta2", "10.16.0.2", "fd77:6966:6169:7200::a10:2", True),
        ("server", "10.32.0.1", "fd77:6966:6169:7200::a20:1", False),
    ]


@pytest.mark.skipif(shutil.which("setpriv") is None or os.geteuid() != 0, reason="needs root to give privileges up")
def test_without_privileges_one_line_names_the_remedy(cell: Path) -> None:
    cell.chmod(0o755)
    (cell / "cell.toml").chmod(0o644)
    said = subprocess.run(
        ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *COMMAND, "emulate", "cell.toml"],
        cwd=cell,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert said.returncode == 2, said.stderr
    assert "unshare --map-root-user --net --mount wifair emulate" in said.stderr
    assert said.stderr.count("\n") == 1

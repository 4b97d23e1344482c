"""Emulation when something is wrong, missing or not permitted, in namespaces made by the tests."""

from __future__ import annotations

import csv
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import COMMAND
from emulating import CELL, WHY_NOT, wifair

pytestmark = [pytest.mark.alone, pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT or "emulation works here")]

WITHOUT_FLOWS = CELL.partition("[[flows]]")[0]
REAL_TCP = Path(__file__).parent.parent / "support" / "real_tcp.py"

NOISE = """
import socket, struct, subprocess
def run(text):
    return subprocess.run(text, shell=True, capture_output=True).returncode
run("ip link set wifi0 mtu 9000; ip route add 224.0.0.0/4 dev wifi0")
datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for group in ("224.0.0.251", "239.1.2.3"):
    datagrams.sendto(b"who is there", (group, 5353))           # 2 multicast
datagrams.sendto(bytes(8000), ("server", 9))                   # 1 too long
datagrams.sendto(b"hello", ("10.200.0.7", 9))                  # 1 unknown
if run("test -e /proc/net/if_inet6") == 0:
    six = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    six.sendto(b"hello", ("ff02::1", 9, 0, socket.if_nametoindex("wifi0")))  # 1 multicast
else:
    datagrams.sendto(b"who is there", ("224.0.0.251", 5353))
raw = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0x0003)
def inject(data, kind=0x0800):
    raw.sendto(data, ("wifi0", kind))
inject(bytes([0x45]))                                          # 4 malformed
inject(bytes.fromhex("ffffffff"))
inject(bytes.fromhex("4500ffff00000000401100000a1000010a200001"))
inject(bytes.fromhex("6000000000ff1140") + bytes(8), 0x86dd)
head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 28, 0, 0, 64, 17, 0, bytes([10, 16, 0, 2]), bytes([10, 32, 0, 1]))
inject(head + struct.pack("!HHHH", 9, 9, 8, 0))                # 1 with the address of another station
"""


@pytest.fixture
def cell(tmp_path: Path) -> Path:
    (tmp_path / "cell.toml").write_text(CELL)
    (tmp_path / "bare.toml").write_text(WITHOUT_FLOWS)
    (tmp_path / "noise.py").write_text(NOISE)
    return tmp_path


def test_refused_packets_are_counted_and_the_emulation_continues(cell: Path) -> None:
    """Multicast, jumbo, malformed and forged packets sent by a kernel are refused; then a ping arrives."""
    said = wifair(
        *("emulate", "bare.toml", "--json"),
        *("--exec", "sta1", f"{sys.executable} noise.py && sleep 0.3 && ping -q -c 3 -i 0.2 server"),
        cwd=cell,
    )
    assert said.returncode == 0, said.stderr
    emulation = json.loads(said.stdout)["emulation"]
    refused = emulation["refused"]
    assert refused["multicast"] == 3, refused
    assert refused["too_long"] == refused["unknown_destination"] == refused["foreign_source"] == 1, refused
    assert refused["malformed"] == 4, refused
    assert emulation["delivered"] == 6
    assert emulation["sent"] == 6 + sum(refused.values())


def test_a_scenario_without_flows_can_be_emulated_but_not_run(cell: Path) -> None:
    """It can be emulated, recorded and replayed; `run` says that it would simulate nothing."""
    said = wifair(
        *("emulate", "bare.toml", "--json", "--record", "packets.rec", "--exec", "sta1", "ping -q -c 4 -i 0.2 sta2"),
        cwd=cell,
    )
    assert said.returncode == 0, said.stderr
    document = json.loads(said.stdout)
    assert document["runs"][0]["flows"] == []
    assert document["emulation"]["delivered"] == 8
    again = wifair("emulate", "--replay", "packets.rec", "--json", cwd=cell)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["replay"]["same"] == 8
    run = wifair("run", "bare.toml", cwd=cell)
    assert run.returncode == 2
    assert "a scenario without flows" in run.stderr


def test_records_of_real_packets(cell: Path) -> None:
    """Frames, series and results: each real packet is in the frames once for each transmission, here ten times."""
    said = wifair(
        *("emulate", "cell.toml", "--json", "--series", "--frames", "frames.csv", "--out", "results"),
        *("--exec", "sta1", "ping -q -c 5 -i 0.2 -s 777 server"),
        cwd=cell,
    )
    assert said.returncode == 0, said.stderr
    assert json.loads(said.stdout)["emulation"]["delivered"] == 10
    with (cell / "frames.csv").open() as file:
        frames = list(csv.DictReader(file))
    sizes = [frame for frame in frames if frame["kind"] == "data" and frame["length_bytes"] == str(777 + 8 + 20 + 36)]
    delivered = [frame for frame in sizes if frame["fate"] == "received"]
    assert len(delivered) == 10, sizes
    assert {frame["sender"] for frame in delivered} == {"sta1", "ap"}
    written = {path.name for path in (cell / "results").iterdir()}
    assert any("series" in name for name in written), written
    assert any("flows" in name for name in written), written


def _frozen(cell: Path, *options: str) -> tuple[int, str, str]:
    """Emulate a transfer, and freeze the process for half a second in the middle."""
    python = shlex.join([sys.executable, "-S", "-E", str(REAL_TCP)])
    command = [*COMMAND, "emulate", "bare.toml", *options]
    command += ["--exec", "server", f"{python} serve 4001 drain"]
    command += ["--exec", "sta1", f"touch began; {python} bulk server 4001 drain 4 reno report"]
    run = subprocess.Popen(command, cwd=cell, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 60
    while not (cell / "began").exists() and time.monotonic() < until and run.poll() is None:
        time.sleep(0.05)
    time.sleep(1.5)
    run.send_signal(signal.SIGSTOP)
    time.sleep(0.5)
    run.send_signal(signal.SIGCONT)
    out, err = run.communicate(timeout=60)
    return run.returncode, out, err


def test_a_late_emulation_says_so_and_a_strict_one_ends(cell: Path) -> None:
    status, out, err = _frozen(cell, "--json")
    assert status == 0, err
    assert "the machine did not keep up" in err
    emulation = json.loads(out)["emulation"]
    assert emulation["ended"] == "commands"
    assert emulation["lateness"]["seconds_behind"] >= 1
    assert emulation["lateness"]["worst_s"] > 0.1
    (cell / "began").unlink()
    status, out, err = _frozen(cell, "--json", "--strict")
    assert status == 1, err
    assert err.count("error: the machine did not keep up with the emulation") == 1
    assert json.loads(out)["emulation"]["ended"] == "behind"


NOBODY = 65534
"""The user and the group without any rights."""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder in which any user may write."""
    with tempfile.TemporaryDirectory(prefix="wifair-test-") as name:
        Path(name).chmod(0o777)
        (Path(name) / "cell.toml").write_text(WITHOUT_FLOWS)
        yield Path(name)


def as_nobody(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a user without any privileges; any exit code is accepted.

    If Python lies in a home directory that is closed to others, an open one takes its place, in a mount namespace of
    its own.
    """
    home = Path(sys.base_prefix).parts[:2]
    closed = Path(*home) if Path(*home).stat().st_mode & 0o5 != 0o5 else None
    opening = (
        'mkdir -p x; mount --bind "$1" x; mount -t tmpfs -o mode=755 tmpfs "$0"; mkdir -p "$1"; mount --bind x "$1"; '
    )
    script = (opening if closed else "") + f'shift; exec setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups "$@"'
    places = [str(closed or "/"), str(Path(sys.base_prefix).resolve())]
    done = ["unshare", "--mount", "sh", "-ec", script, *places, *command]
    return subprocess.run(done, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
def test_a_user_without_privileges_emulates_in_a_user_namespace(open_folder: Path) -> None:
    own = ["unshare", "--map-root-user", "--net", "--mount"]
    probe = as_nobody(open_folder, *own, sys.executable, "-c", "import wifair")
    if probe.returncode:
        pytest.skip(f"no user namespaces here: {probe.stderr.strip().splitlines()[-1:]}")
    python = shlex.join([sys.executable, "-S", "-E", str(REAL_TCP)])
    said = as_nobody(
        open_folder,
        *(*own, *COMMAND, "emulate", "cell.toml", "--json"),
        *("--exec", "server", f"{python} serve 4001 drain"),
        *("--exec", "sta1", f"{python} bulk server.v6 4001 drain 2 reno report && ping -q -c 2 -i 0.2 sta2"),
    )
    assert said.returncode == 0, said.stderr
    document: dict[str, Any] = json.loads(said.stdout)
    assert json.loads((open_folder / "report").read_text())["sent_bps"] > 5e6
    assert document["emulation"]["notes"], "it has no real-time priority, and says so"
    assert not [left for left in Path("/run/wifair").glob("*") if left.stat().st_uid == NOBODY]
    # Without the namespace one line says what to do.
    said = as_nobody(open_folder, *COMMAND, "emulate", "cell.toml", "--exec", "sta1", "true")
    assert said.returncode == 2
    assert said.stderr.count("\n") == 1
    assert "unshare --map-root-user --net --mount wifair emulate" in said.stderr


def test_a_kernel_queue_holds_packets_that_the_device_cannot_take(cell: Path) -> None:
    """A thousand connections at once, each refused by the other host: every packet is accounted for, and nothing is
    left.
    """
    (cell / "storm.py").write_text(
        "import socket\n"
        "for port in range(20000, 21000):\n"
        "    s = socket.socket(); s.setblocking(False)\n"
        "    try: s.connect(('10.32.0.1', port))\n"
        "    except OSError: pass\n"
    )
    said = wifair("emulate", "bare.toml", "--json", "--exec", "sta1", f"{sys.executable} storm.py; sleep 2", cwd=cell)
    assert said.returncode == 0, said.stderr
    emulation = json.loads(said.stdout)["emulation"]
    lost, refused = (sum(emulation[name].values()) for name in ("lost", "refused"))
    assert emulation["sent"] == emulation["delivered"] + lost + refused + emulation["under_way"]
    assert emulation["sent"] >= 1000


@pytest.mark.skipif(shutil.which("tcpdump") is None, reason="needs tcpdump")
def test_packets_do_not_leave_the_emulation(cell: Path) -> None:
    """While programs communicate, the host's own interfaces carry none of their packets."""
    watch = subprocess.Popen(
        ["tcpdump", "-nni", "any", "-c", "1", "net 10.16.0.0/12 or net 10.32.0.0/12 or net fd77:6966::/32"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert watch.stderr is not None
        assert any("listening on" in line for line in watch.stderr)
        said = wifair(
            *("emulate", "bare.toml", "--exec", "sta1", "ping -q -c 3 -i 0.2 server; ping -q -c 2 -i 0.2 sta2.v6"),
            cwd=cell,
        )
        assert said.returncode == 0, said.stderr
        assert watch.poll() is None, watch.communicate()
    finally:
        watch.kill()
        watch.communicate()

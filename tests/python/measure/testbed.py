"""A small network on this computer: stations, a router whose token buckets are the bottleneck, and a server.

Each host is a network namespace that a waiting shell keeps alive. However a test ends, the shells then read the end of
their input, and everything is gone. Without root, all of it lives in a user namespace.

    sta1, sta2, ... 10.77.1.x --- bridge, router --- 10.77.2.2 server
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

SERVER = "10.77.2.2"
COMMAND = [sys.executable, "-m", "wifair", "measure"]
ETHERNET = 14
SECRET = "a secret that only these tests know"


class Testbed:
    """The network; both token buckets have this `rate`, a queue of `limit` bytes and a depth of `burst`."""

    __test__ = False

    def __init__(
        self,
        folder: Path,
        *,
        stations: int = 2,
        rate: str = "20mbit",
        burst: int = 8000,
        limit: int = 60_000,
        user_namespace: bool | None = None,
    ) -> None:
        missing = [tool for tool in ("ip", "tc", "unshare", "nsenter") if shutil.which(tool) is None]
        if missing:
            raise RuntimeError(f"the testbed needs {', '.join(missing)}: install iproute2 and util-linux")
        self.folder = folder
        self.folder.mkdir(parents=True, exist_ok=True)
        self._user = os.geteuid() != 0 if user_namespace is None else user_namespace
        self._shells: dict[str, subprocess.Popen[bytes]] = {}
        self._started: list[subprocess.Popen[bytes]] = []
        self.stations = [f"sta{number}" for number in range(1, stations + 1)]
        try:
            for host in ("router", "server", *self.stations):
                self._add(host)
            self._connect(rate, burst, limit)
        except BaseException:
            self.close()
            raise

    def _add(self, host: str) -> None:
        shell = ["sh", "-c", "echo ready; read line"]
        if not self._user:
            command = ["unshare", "--net", *shell]
        elif not self._shells:
            command = ["unshare", "--user", "--map-root-user", "--net", *shell]
        else:
            command = [*self._inside("router", net=False), "unshare", "--net", *shell]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
        assert process.stdout is not None
        assert process.stderr is not None
        self._shells[host] = process
        if process.stdout.readline() != b"ready\n":
            raise RuntimeError(f"no network namespaces here: {process.stderr.read().decode().strip()}")

    def _inside(self, host: str, *, net: bool = True) -> list[str]:
        target = ["nsenter", "--target", str(self._shells[host].pid)]
        target += ["--user", "--preserve-credentials"] if self._user else []
        return [*target, *(["--net"] if net else []), "--"]

    def _connect(self, rate: str, burst: int, limit: int) -> None:
        pids = {host: shell.pid for host, shell in self._shells.items()}
        link = "ip link add {0} netns {1} type veth peer name {2} netns {3}"
        bucket = f"tc qdisc add dev {{0}} root tbf rate {rate} burst {burst} limit {limit}"
        router = ["ip link add br0 type bridge", "ip addr add 10.77.1.1/24 dev br0", "ip link set br0 up"]
        router += [link.format("wire", pids["router"], "eth0", pids["server"])]
        for station in self.stations:
            router += [link.format(station, pids["router"], "eth0", pids[station])]
            router += [f"ip link set {station} master br0 up"]
        router += ["ip addr add 10.77.2.1/24 dev wire", "ip link set wire up", "sysctl -qw net.ipv4.ip_forward=1"]
        self.sh("router", *router, bucket.format("br0"), bucket.format("wire"))
        # Packets of one segment each, so that the bucket sees what a wire would.
        up = ["ip link set lo up", "ip link set eth0 gso_max_segs 1 up", "sysctl -qw net.ipv4.tcp_no_metrics_save=1"]
        up += ["sysctl -qw net.ipv4.tcp_congestion_control=reno"]
        self.sh("server", *up, f"ip addr add {SERVER}/24 dev eth0", "ip route add default via 10.77.2.1")
        for number, station in enumerate(self.stations, start=2):
            address = f"ip addr add 10.77.1.{number}/24 dev eth0"
            self.sh(station, *up, address, "ip route add default via 10.77.1.1")

    def sh(self, host: str, *commands: str) -> str:
        """Run shell commands on a host; the first that fails raises."""
        done = subprocess.run(
            [*self._inside(host), "sh", "-ec", "\n".join(commands)],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{host}: {done.stderr.strip()}")
        return done.stdout

    def start(
        self,
        host: str,
        *arguments: str,
        name: str | None = None,
        environment: dict[str, str] | None = None,
        stdin: int | None = None,
    ) -> Process:
        """Start `wifair measure ...` on a host."""
        process = Process(self._inside(host), arguments, self.folder / f"{name or host}.log", environment or {}, stdin)
        self._started.append(process.popen)
        return process

    def serve(self, *arguments: str) -> Process:
        """Start the server, and wait until it listens."""
        listen = () if "--listen" in arguments else ("--listen", SERVER)
        process = self.start("server", "serve", *listen, *arguments)
        process.wait_for("listening on")
        return process

    def join(self, station: str) -> Process:
        """Start a station, and wait until it has joined."""
        process = self.start(station, "join", SERVER, "--name", station)
        process.wait_for("joined")
        return process

    def run(self, host: str, plan: str, *arguments: str, out: str = "out", code: int = 0) -> Process:
        """Run a plan to its end, on a host."""
        process = self.start_run(host, plan, *arguments, out=out)
        process.end(code)
        return process

    def start_run(self, host: str, plan: str, *arguments: str, out: str = "out", stdin: int | None = None) -> Process:
        """Start to run a plan."""
        file = self.folder / f"{out}.toml"
        file.write_text(plan, encoding="utf-8")
        where = ["--out", str(self.folder / out)]
        where += [] if "--server" in arguments else ["--server", SERVER]
        return self.start(host, "run", str(file), *where, *arguments, name=f"run-{out}", stdin=stdin)

    def journal(self, out: str = "out") -> list[dict[str, Any]]:
        """Lines of a journal."""
        return [json.loads(line) for line in (self.folder / out / "journal.jsonl").read_text().splitlines()]

    def close(self) -> None:
        """End everything that was started here."""
        for process in [*self._started, *self._shells.values()]:
            if process.poll() is None:
                process.terminate() if process in self._started else process.stdin and process.stdin.close()
        for process in [*self._started, *self._shells.values()]:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()


class Process:
    """A command of wifair that is running; its stdout and stderr go into files."""

    def __init__(
        self, inside: list[str], arguments: tuple[str, ...], log: Path, environment: dict[str, str], stdin: int | None
    ) -> None:
        self.log = log
        self.output = log.with_suffix(".out")
        settings = {**os.environ, "WIFAIR_SECRET": SECRET, "HOME": str(log.parent), **environment}
        with log.open("wb") as err, self.output.open("wb") as out:
            self.popen = subprocess.Popen(
                [*inside, *COMMAND, *arguments],
                stdin=subprocess.DEVNULL if stdin is None else stdin,
                stdout=out,
                stderr=err,
                env=settings,
            )

    @property
    def said(self) -> str:
        """What it has written to stderr so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    @property
    def printed(self) -> str:
        """What it has written to stdout so far."""
        return self.output.read_text(encoding="utf-8", errors="replace")

    def wait_for(self, text: str, *, count: int = 1, seconds: float = 20) -> None:
        """Wait until it has written something this many times."""
        end = time.monotonic() + seconds
        while self.said.count(text) < count:
            if self.popen.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"did not say {text!r}:\n{self.said}")
            time.sleep(0.02)

    def end(self, code: int, *, seconds: float = 60) -> None:
        """Wait for it to end with this exit code."""
        self.popen.wait(seconds)
        assert self.popen.returncode == code, (
            f"exit code {self.popen.returncode}, not {code}:\n{self.said}\n{self.printed}"
        )

    def interrupt(self, number: int = signal.SIGINT) -> None:
        """Send a signal to the command; nsenter has replaced itself by it."""
        self.popen.send_signal(number)


NANOSECONDS = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}
"""Of one unit in the fraction of a second in a pcap file, by its magic number."""


def records(file: IO[bytes]) -> list[tuple[float, bytes]]:
    """Packets of a pcap file of this machine's byte order: time [s], and bytes from the IP header on."""
    data = file.read()
    unit = NANOSECONDS[int.from_bytes(data[:4], sys.byteorder)]
    found, at = [], 24
    while at + 16 <= len(data):
        second, fraction, size = (int.from_bytes(data[at + k : at + k + 4], sys.byteorder) for k in (0, 4, 8))
        found.append((second + unit * fraction / 1e9, data[at + 16 + ETHERNET : at + 16 + size]))
        at += 16 + size
    return found

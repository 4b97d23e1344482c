"""Network namespaces of an emulation: created, registered, and removed, even after the program was killed.

Namespaces are listed in ``/run/wifair/ID/owner.json``, with the process that owns them, before they are created. A
later start, or ``wifair emulate --clean``, removes those whose process has ended.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from wifair.exceptions import EmulationError

STATE = Path("/run/wifair")
NETNS = Path("/run/netns")
ETC_NETNS = Path("/etc/netns")
PREFIX = "wifair-"
MARKER = "# made by wifair emulate"
NEEDED = {12: "CAP_NET_ADMIN", 21: "CAP_SYS_ADMIN"}
TOOLS = {"ip": "iproute2", "nsenter": "util-linux", "unshare": "util-linux", "setpriv": "util-linux"}


class NamespaceHost(NamedTuple):
    """A station or server."""

    name: str
    v4: str
    v6: str
    is_station: bool


def check_privileges() -> None:
    """Check that the required programs, devices and privileges are available.

    Raises
    ------
    EmulationError
        If one is missing; the message names the remedy.
    """
    missing = next((tool for tool in TOOLS if shutil.which(tool) is None), None)
    if missing is not None:
        raise EmulationError(f"no program `{missing}`: install the package {TOOLS[missing]}")
    if not Path("/dev/net/tun").exists():
        raise EmulationError("no /dev/net/tun: load the driver with `modprobe tun`")
    status = Path("/proc/self/status").read_text(encoding="ascii")
    effective = int(next(line.split()[1] for line in status.splitlines() if line.startswith("CapEff:")), 16)
    if any(not effective >> bit & 1 for bit in NEEDED):
        raise EmulationError(
            "network namespaces and TUN devices need privileges: run `sudo wifair emulate ...`, "
            "or `unshare --map-root-user --net --mount wifair emulate ...`"
        )
    if not os.access("/run", os.W_OK) and _is_in_user_namespace():
        # Mount a private /run, which is visible only in this mount namespace and ends with it.
        _run(["mount", "-t", "tmpfs", "tmpfs", "/run"])


def _is_in_user_namespace() -> bool:
    return Path("/proc/self/uid_map").read_text(encoding="ascii").split() != ["0", "0", "4294967295"]


def _run(command: Sequence[str], *, text: str | None = None) -> str:
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EmulationError(f"`{' '.join(command)}` failed: {error}") from None
    if done.returncode:
        raise EmulationError(f"`{' '.join(command)}` failed: {done.stderr.strip() or done.returncode}")
    return done.stdout


def process_stat(pid: int) -> list[str] | None:
    """Fields of /proc/PID/stat from the state on; None for a process that does not exist or is dead."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return None if not fields or fields[0] in "ZX" else fields


def _started(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; None if it does not exist or is dead."""
    fields = process_stat(pid)
    return None if fields is None else int(fields[19])


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


class Namespaces:
    """One network namespace for each host, in the order of the hosts."""

    def __init__(self, hosts: Iterable[NamespaceHost]) -> None:
        """Choose names for the namespaces of `hosts`; `make` creates them."""
        self.hosts = tuple(hosts)
        self.id = f"{os.getpid()}-{secrets.token_hex(2)}"
        self.names = tuple(f"{PREFIX}{self.id}-{_file_name(host.name, at)}" for at, host in enumerate(self.hosts))
        self.folder = STATE / self.id
        self.has_v6 = Path("/proc/sys/net/ipv6").exists()
        self._etc = False

    def path(self, index: int) -> Path:
        """Get the file of a host's namespace."""
        return NETNS / self.names[index]

    def make(self) -> None:
        """Create all namespaces, without links between them.

        Raises
        ------
        EmulationError
            If the system does not permit it; the namespaces created so far are removed.
        """
        owner = {"pid": os.getpid(), "started": _started(os.getpid()), "boot": _boot(), "namespaces": list(self.names)}
        STATE.mkdir(mode=0o755, parents=True, exist_ok=True)
        draft = STATE / f".{self.id}"
        draft.mkdir()
        (draft / "owner.json").write_text(json.dumps(owner), encoding="ascii")
        (draft / "hosts").write_text(self.hosts_file(), encoding="utf-8")
        (draft / "resolv.conf").write_text(f"{MARKER}: there is no name server\n", encoding="ascii")
        draft.rename(self.folder)
        try:
            for name in self.names:
                _run(["ip", "netns", "add", name])
            self._etc = self._write_etc()
            for name in self.names:
                _run(["nsenter", f"--net={NETNS / name}", "sh", "-c", SETTINGS])
        except BaseException:
            self.remove()
            raise

    def bring_up(self, index: int, device: str, mtu: int) -> None:
        """Give the device of a host its addresses and its MTU, and bring it up.

        Raises
        ------
        EmulationError
            If the system refuses.
        """
        host = self.hosts[index]
        lines = [f"address add {host.v4}/8 dev {device}", f"link set {device} mtu {mtu} up"]
        if self.has_v6:
            lines.insert(1, f"address add {host.v6}/64 dev {device}")
        _run(["nsenter", f"--net={self.path(index)}", "ip", "-batch", "-"], text="\n".join(lines) + "\n")

    def hosts_file(self) -> str:
        """Write the text of /etc/hosts: NAME is the name of a host's IPv4 address, NAME.v6 of its IPv6 address."""
        lines = [MARKER, "127.0.0.1 localhost", "::1 localhost"]
        lines += [f"{host.v4} {host.name}" for host in self.hosts]
        lines += [f"{host.v6} {host.name}.v6" for host in self.hosts if self.has_v6]
        return "\n".join(lines) + "\n"

    def _write_etc(self) -> bool:
        """Write the files that ``ip netns exec`` mounts over those in /etc. Returns whether that was permitted."""
        try:
            for name in self.names:
                (ETC_NETNS / name).mkdir(parents=True)
                for file in ("hosts", "resolv.conf"):
                    shutil.copy(self.folder / file, ETC_NETNS / name / file)
        except OSError:
            return False
        return True

    def command(self, index: int, command: str) -> list[str]:
        """Get the arguments that run a shell command at a host, in the caller's folder.

        The command runs in a separate process namespace, so that it and all its children die with the caller.
        """
        hosts, resolv = str(self.folder / "hosts"), str(self.folder / "resolv.conf")
        dies = ["setpriv", "--pdeathsig", "KILL", "nsenter", f"--net={self.path(index)}"]
        alone = ["unshare", "--mount", "--propagation", "slave", "--pid", "--fork", "--kill-child"]
        return [*dies, *alone, "sh", "-c", BIND, hosts, resolv, command]

    def entering(self, index: int) -> str:
        """Get the command with which a user opens a shell at a host."""
        if self._etc:
            return f"ip netns exec {self.names[index]} bash"
        parent = os.getpid()
        return f"nsenter --target {parent} --user --mount --preserve-credentials nsenter --net={self.path(index)} bash"

    def remove(self) -> None:
        """Remove all namespaces, and kill the programs that still run there."""
        _remove(self.folder, self.id, self.names)


SETTINGS = """
ip link set lo up
for file in conf/all/accept_dad conf/default/accept_dad conf/default/router_solicitations conf/default/autoconf; do
  if [ -e /proc/sys/net/ipv6/$file ]; then echo 0 > /proc/sys/net/ipv6/$file; fi
done
if [ -e /proc/sys/net/ipv6/conf/default/addr_gen_mode ]; then echo 1 > /proc/sys/net/ipv6/conf/default/addr_gen_mode; fi
"""
"""Disables duplicate address detection, router solicitations and link-local addresses: no other node is on the link."""

BIND = """
mount --bind "$0" /etc/hosts
if [ -e /etc/resolv.conf ]; then mount --bind "$1" /etc/resolv.conf; fi
exec sh -c "$2"
"""


def _file_name(name: str, index: int) -> str:
    is_plain = name.isascii() and all(c.isalnum() or c in "-_." for c in name)
    return name if is_plain and len(name) <= 64 else f"host{index}"


def clean() -> list[str]:
    """Remove the namespaces of emulations whose process has ended.

    Returns
    -------
    list of str
        Names of the namespaces that were removed.
    """
    removed: list[str] = []
    for folder in sorted(STATE.glob("*")) if STATE.is_dir() else []:
        try:
            owner = json.loads((folder / "owner.json").read_text(encoding="ascii"))
            pid, started, boot = int(owner["pid"]), owner["started"], str(owner["boot"])
            # Accept only names that this program would give, with the ID of this folder.
            names = [str(name) for name in owner["namespaces"] if str(name).startswith(f"{PREFIX}{folder.name}-")]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if boot == _boot() and _started(pid) == started:
            continue
        removed += [name for name in names if (NETNS / name).exists()]
        _remove(folder, folder.name, names)
    return removed


def _remove(folder: Path, own: str, names: Iterable[str]) -> None:
    for name in names:
        assert name.startswith(f"{PREFIX}{own}-"), "an emulation removes only its own namespaces"
        if (NETNS / name).exists():
            with suppress(EmulationError):
                for pid in _run(["ip", "netns", "pids", name]).split():
                    with suppress(OSError):
                        os.kill(int(pid), signal.SIGKILL)
            with suppress(EmulationError):
                _run(["ip", "netns", "delete", name])
        hosts = ETC_NETNS / name / "hosts"
        with suppress(OSError):
            if hosts.read_text(encoding="utf-8").startswith(MARKER):
                shutil.rmtree(hosts.parent)
    shutil.rmtree(folder, ignore_errors=True)
    for empty in (STATE, ETC_NETNS):
        with suppress(OSError):
            empty.rmdir()

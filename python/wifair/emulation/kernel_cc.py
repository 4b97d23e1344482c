"""Congestion controls of papers for the running kernel: compiled from C, and loaded as BPF struct_ops."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from wifair._output.words import suggestion
from wifair.exceptions import EmulationError

SOURCES = Path(__file__).parent.parent / "bpf"
PACKAGES = {"clang": "clang", "bpftool": "bpftool"}
ALLOWED = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


def available() -> dict[str, str]:
    """List the congestion controls that can be loaded: each name, with the kernel's name for it."""
    return {path.stem.replace("_", "-"): path.stem for path in sorted(SOURCES.glob("*.c"))}


def loaded() -> set[str]:
    """Names of the congestion controls of `available` that are loaded now."""
    has = set(ALLOWED.read_text(encoding="ascii").split()) if ALLOWED.exists() else set()
    return {name for name, kernel in available().items() if kernel in has}


def load(name: str) -> str:
    """Compile and load a congestion control; it stays loaded until `unload` or a reboot.

    Parameters
    ----------
    name : str
        One of `available`.

    Returns
    -------
    str
        The kernel's name for it.

    Raises
    ------
    EmulationError
        If there is no such congestion control, or the kernel, a missing program or missing privileges prevent it; the
        message names the remedy.
    """
    kernel = _kernel_name(name)
    if name in loaded():
        return kernel
    if not Path("/sys/kernel/btf/vmlinux").exists():
        raise EmulationError(
            f"this kernel ({platform.release()}) has no BTF: it needs CONFIG_DEBUG_INFO_BTF, from 5.6 on"
        )
    _check_programs()
    with tempfile.TemporaryDirectory(prefix="wifair-") as folder:
        target = Path(folder) / f"{kernel}.o"
        include = f"-I/usr/include/{platform.machine()}-linux-gnu"  # Debian's place of the kernel headers
        flags = ["-O2", "-g", "-Wall", "-target", "bpf", include]
        compiled = _run(["clang", *flags, "-c", str(SOURCES / f"{kernel}.c"), "-o", str(target)])
        if compiled.returncode:
            hint = ": install the package libbpf-dev" if "bpf/bpf_" in compiled.stderr else f":\n{compiled.stderr}"
            raise EmulationError(f"clang cannot compile `{kernel}.c`{hint}")
        done = _run(["bpftool", "struct_ops", "register", str(target)])
    if done.returncode or name not in loaded():
        said = (done.stderr or done.stdout).strip().splitlines() or ["it says nothing"]
        if "Operation not permitted" in done.stderr:
            raise EmulationError(f"loading `{name}` needs privileges: run `sudo wifair bpf load {name}`")
        raise EmulationError(f"the kernel refuses `{name}`: {said[-1]}")
    return kernel


def unload(name: str) -> None:
    """Unload a congestion control from the kernel; connections that use it keep it until they end.

    Raises
    ------
    EmulationError
        If there is no such congestion control, or the system does not permit it.
    """
    kernel = _kernel_name(name)
    if name not in loaded():
        return
    _check_programs()
    done = _run(["bpftool", "struct_ops", "unregister", "name", kernel])
    if done.returncode or not re.search("Unregistered", done.stdout + done.stderr):
        said = (done.stderr or done.stdout).strip().splitlines() or ["it says nothing"]
        raise EmulationError(f"cannot unload `{name}`: {said[-1]}")


def _kernel_name(name: str) -> str:
    known = available()
    if name not in known:
        hint = suggestion(name, known, f"there are {', '.join(known)}")
        raise EmulationError(f"no congestion control `{name}` for the kernel: {hint}")
    return known[name]


def _check_programs() -> None:
    for program, package in PACKAGES.items():
        if shutil.which(program) is None:
            raise EmulationError(f"no program `{program}`: install the package {package}")


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)

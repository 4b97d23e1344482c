"""Shared by the tests of emulation: whether it works here, a small scenario, the command."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from command import COMMAND
from wifair.exceptions import EmulationError

CELL = """
name = "two stations"
duration = "20 s"
warm_up = "0 s"
[wlan]
standard = "802.11g"
[[servers]]
name = "server"
delay = "10 ms"
[[stations]]
name = "sta"
count = 2
[[flows]]
name = "up"
station = "sta"
"""


def _why_not() -> str:
    if not sys.platform.startswith("linux"):
        return "needs Linux"
    from wifair.emulation.namespaces import check_privileges  # noqa: PLC0415

    try:
        check_privileges()
    except EmulationError as error:
        return str(error)
    missing = [tool for tool in ("ip", "ping", "unshare") if shutil.which(tool) is None]
    if missing:
        return f"needs {', '.join(missing)}: apt-get install iproute2 iputils-ping util-linux"
    probe = subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False)
    return "" if probe.returncode == 0 else "no network namespaces here"


WHY_NOT = _why_not()


def wifair(*args: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Call the command; any exit code is accepted."""
    return subprocess.run([*COMMAND, *args], cwd=cwd, capture_output=True, text=True, timeout=120, check=False)

"""Calls the command as a user would."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

COMMAND = [sys.executable, "-m", "wifair"]


def wifair(*args: object, stdin: str | None = None, code: int = 0, cwd: Path | None = None) -> tuple[str, str]:
    """Call the command; its stdout and stderr."""
    done = subprocess.run(
        [*COMMAND, *map(str, args)], input=stdin, capture_output=True, text=True, cwd=cwd, timeout=60, check=False
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout, done.stderr

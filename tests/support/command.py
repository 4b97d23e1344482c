"""Calls the command as a user would."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

COMMAND = [sys.executable, "-m", "wifair"]


def wifair(*args: object, stdin: str | None = None, code: int = 0, cwd: Path | None = None) -> tuple[str, str]:
    """Call the command; returns stdout and stderr."""
    done = subprocess.run(
        [*COMMAND, *map(str, args)], input=stdin, capture_output=True, text=True, cwd=cwd, timeout=60, check=False
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout, done.stderr


@contextmanager
def started(*args: object, cwd: Path | None = None) -> Iterator[subprocess.Popen[str]]:
    """Start the command; no process is left behind, whatever the test finds."""
    # Tests that run in the background ignore Ctrl-C, and child processes would inherit that.
    with subprocess.Popen(
        [*COMMAND, *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    ) as process:
        try:
            yield process
        finally:
            process.kill()

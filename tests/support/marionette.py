"""Drives Firefox by its own remote protocol, Marionette: JSON messages over TCP, without a program in between."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Any, Self

__all__ = ["FIREFOX", "Firefox"]

FIREFOX = next(filter(None, map(shutil.which, ("firefox-esr", "firefox"))), None)
START_S = 60.0


class Firefox:
    """A Firefox without a window, with a profile of its own; use it in a `with` statement."""

    def __init__(self, profile: Path, *, width: int = 1600, height: int = 1200) -> None:
        """Start it; `profile` is an empty folder."""
        assert FIREFOX is not None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        settings = {
            "marionette.port": port,
            "app.update.enabled": False,
            "browser.shell.checkDefaultBrowser": False,
            "datareporting.policy.dataSubmissionEnabled": False,
            "network.captive-portal-service.enabled": False,
            "network.connectivity-service.enabled": False,
            "toolkit.telemetry.server": "",
        }
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in settings.items()]
        (profile / "user.js").write_text("".join(lines), encoding="utf-8")
        size = ["--width", str(width), "--height", str(height)]
        command = [FIREFOX, "--headless", "--marionette", "--no-remote", "--profile", str(profile), *size]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._count = 0
        try:
            self._socket = self._connect(port)
            self._file = self._socket.makefile("rb")
            self._receive()  # says who it is
            self.command("WebDriver:NewSession", capabilities={})
            self.command("WebDriver:SetTimeouts", script=120_000, pageLoad=120_000)
        except BaseException:
            self._process.kill()
            self._process.wait()
            raise

    def _connect(self, port: int) -> socket.socket:
        until = time.monotonic() + START_S
        while True:
            try:
                return socket.create_connection(("127.0.0.1", port), timeout=180)
            except OSError:
                if time.monotonic() > until or self._process.poll() is not None:
                    raise
                time.sleep(0.2)

    def _receive(self) -> Any:
        size = b""
        while (byte := self._file.read(1)) != b":":
            assert byte.isdigit(), "Firefox ended"
            size += byte
        return json.loads(self._file.read(int(size)))

    def command(self, name: str, **parameters: object) -> Any:
        """Call a command of the protocol and return its result."""
        self._count += 1
        message = json.dumps([0, self._count, name, parameters]).encode()
        self._socket.sendall(str(len(message)).encode() + b":" + message)
        _, _, error, result = self._receive()
        assert error is None, error
        return result

    def open(self, url: str) -> None:
        """Load a page."""
        self.command("WebDriver:Navigate", url=url)

    def run(self, script: str) -> Any:
        """Run the body of a function in the page and return its value; a promise is awaited."""
        return self.command("WebDriver:ExecuteScript", script=script, args=[], newSandbox=False, sandbox=None)["value"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.command("Marionette:Quit", flags=["eForceQuit"])
            self._process.wait(20)
        except (OSError, AssertionError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        finally:
            self._socket.close()

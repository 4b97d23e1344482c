"""Figures of the radio: signal, noise, rates and retries; and the RTS threshold.

Read from `iw` (nl80211) where it is installed, else from ``/proc/net/wireless``. Names carry the unit; what a driver
does not report is missing.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import re
import shutil
import socket
import struct
import subprocess
from pathlib import Path

from wifair.optional.measure.errors import MeasureError
from wifair.optional.measure.posix import fcntl

PROC = Path("/proc/net/wireless")
SIOCGIFADDR = 0x8915
RTS_OFF = 2347
"""A threshold that no frame reaches; IEEE 802.11-2020, dot11RTSThreshold."""
TIMEOUT_S = 5.0

NUMBERS = {
    "signal": ("signal_dbm", 1.0),
    "signal avg": ("signal_avg_dbm", 1.0),
    "tx packets": ("tx_packets", 1.0),
    "tx retries": ("tx_retries", 1.0),
    "tx failed": ("tx_failed", 1.0),
    "rx packets": ("rx_packets", 1.0),
    "rx drop misc": ("rx_drop_misc", 1.0),
    "beacon loss": ("beacon_loss", 1.0),
    "freq": ("frequency_hz", 1e6),
    "noise": ("noise_dbm", 1.0),
    "channel active time": ("air_active_s", 1e-3),
    "channel busy time": ("air_busy_s", 1e-3),
    "channel transmit time": ("air_transmit_s", 1e-3),
    "channel receive time": ("air_receive_s", 1e-3),
}
"""Names and scales of the numbers that `iw` prints."""
RATES = {"tx bitrate": "tx_rate_bps", "rx bitrate": "rx_rate_bps"}


def interface_of(address: str) -> str | None:
    """Name of the network interface that has an IP address."""
    if ":" in address:
        wanted = socket.inet_pton(socket.AF_INET6, address.split("%", maxsplit=1)[0]).hex()
        with contextlib.suppress(OSError):
            for line in Path("/proc/net/if_inet6").read_text(encoding="ascii").splitlines():
                parts = line.split()
                if parts[0] == wanted:
                    return parts[5]
        return None
    if fcntl is None:
        return None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            with contextlib.suppress(OSError):
                request = struct.pack("256s", name.encode()[:15])
                answer = fcntl.ioctl(probe, SIOCGIFADDR, request)
                if socket.inet_ntoa(answer[20:24]) == address:
                    return name
    return None


class Radio:
    """The radio of an interface."""

    def __init__(self, interface: str | None) -> None:
        """`interface` may be None or not a radio; then there are no figures."""
        self.interface = interface or ""
        self._iw = shutil.which("iw", path=search_path())
        self.phy: str | None = None
        self.present = self._look()

    def _look(self) -> bool:
        if not self.interface:
            return False
        if self._iw is not None:
            about = _run([self._iw, "dev", self.interface, "info"])
            if about is not None:
                found = re.search(r"^\s*wiphy (\d+)", about, re.MULTILINE)
                self.phy = f"phy#{found.group(1)}" if found else None
                return True
        return bool(parse_proc(_read(PROC), self.interface))

    def snapshot(self) -> dict[str, float]:
        """Get the present figures; for an access point, means over its stations, and sums of their counters."""
        if not self.present:
            return {}
        figures = parse_proc(_read(PROC), self.interface)
        if self._iw is not None:
            figures |= parse_survey(_run([self._iw, "dev", self.interface, "survey", "dump"]) or "")
            figures |= parse_link(_run([self._iw, "dev", self.interface, "link"]) or "")
            figures |= parse_stations(_run([self._iw, "dev", self.interface, "station", "dump"]) or "")
        return figures

    def rts_threshold(self) -> int | None:
        """Get the RTS threshold [bytes]; `RTS_OFF` if it is off, None if it is unknown."""
        if self._iw is None or self.phy is None:
            return None
        about = _run([self._iw, self.phy, "info"])
        if about is None:
            return None
        found = re.search(r"RTS threshold:\s*(\d+)", about)
        return min(int(found.group(1)), RTS_OFF) if found else RTS_OFF

    def set_rts_threshold(self, threshold: int) -> None:
        """Set it; the radio must be present.

        Raises
        ------
        MeasureError
            If that is not possible.
        """
        if self._iw is None or self.phy is None:
            raise MeasureError("the RTS threshold needs `iw`: install it")
        value = "off" if threshold >= RTS_OFF else str(threshold)
        try:
            done = subprocess.run(
                [self._iw, self.phy, "set", "rts", value], capture_output=True, timeout=TIMEOUT_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise MeasureError(f"cannot set the RTS threshold: {error}") from None
        if done.returncode != 0:
            why = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise MeasureError(f"cannot set the RTS threshold: {why[0] if why else 'iw failed'}")


class RtsThreshold:
    """The RTS threshold of a radio, which is restored in any case.

    The old value is written to a file before it is changed. It is restored by `restore`, at the end of Python,
    or, after a crash, when the next such object is created for the same radio.
    """

    def __init__(self, radio: Radio, folder: Path | None = None) -> None:
        """`folder` is for the file with the old value."""
        self.radio = radio
        base = os.environ.get("XDG_STATE_HOME") or str(Path("~/.local/state").expanduser())
        self._note = (folder or Path(base) / "wifair") / f"rts-{(radio.phy or 'none').replace('#', '')}.json"
        self._before = self._left_over()
        self.restore()

    def set(self, threshold: int) -> None:
        """Set it.

        Raises
        ------
        MeasureError
            If it cannot be set, or the old value cannot be told or written down.
        """
        if self._before is None:
            before = self.radio.rts_threshold()
            if before is None:
                raise MeasureError("cannot read the RTS threshold: it stays as it is")
            try:
                self._note.parent.mkdir(parents=True, exist_ok=True)
                self._note.write_text(json.dumps({"phy": self.radio.phy, "rts_threshold": before}), encoding="ascii")
            except OSError as error:
                raise MeasureError(f"cannot write down the RTS threshold: {error.strerror}") from None
            self._before = before
            atexit.register(self.restore)
        self.radio.set_rts_threshold(threshold)

    def restore(self) -> None:
        """Restore the old value, if it was changed."""
        if self._before is None:
            return
        self.radio.set_rts_threshold(self._before)
        self._before = None
        self._note.unlink(missing_ok=True)
        atexit.unregister(self.restore)

    def _left_over(self) -> int | None:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            note = json.loads(self._note.read_text(encoding="ascii"))
            if note["phy"] == self.radio.phy and self.radio.present:
                return int(note["rts_threshold"])
        return None


def parse_stations(text: str) -> dict[str, float]:
    """Parse ``iw dev IF station dump``: means of levels and rates over the stations, sums of counters."""
    stations = [_figures(part) for part in re.split(r"^Station ", text, flags=re.MULTILINE)[1:]]
    names = list(dict.fromkeys(name for station in stations for name in station))
    figures = {}
    for name in names:
        values = [station[name] for station in stations if name in station]
        level = name.endswith(("_dbm", "_bps"))
        figures[name] = sum(values) / len(values) if level else sum(values)
    return figures


def parse_link(text: str) -> dict[str, float]:
    """Parse ``iw dev IF link``: signal, rate and frequency of the connection to the access point."""
    return _figures(text)


def parse_survey(text: str) -> dict[str, float]:
    """Parse ``iw dev IF survey dump``: noise and air time of the channel in use."""
    in_use = (part for part in text.split("Survey data from")[1:] if "[in use]" in part)
    return _figures(next(in_use, ""))


def parse_proc(text: str, interface: str) -> dict[str, float]:
    """Parse ``/proc/net/wireless``: link quality, levels, retries. A level of -256 dBm means unknown."""
    for line in text.splitlines()[2:]:
        name, _, rest = line.partition(":")
        values = rest.split()
        if name.strip() != interface or len(values) < 10:
            continue
        try:
            quality, level, noise = (float(value) for value in values[1:4])
            figures = {"link_quality": quality, "wext_retries": float(values[7]), "missed_beacons": float(values[9])}
        except ValueError:
            return {}
        # Old drivers report levels as a byte, with 256 added.
        for key, value in (("signal_dbm", level), ("noise_dbm", noise)):
            dbm = value - 256 if value > 63 else value
            if -255 < dbm < 64:
                figures[key] = dbm
        return figures
    return {}


def _figures(text: str) -> dict[str, float]:
    """Read the lines of `iw` that give a rate or one of the `NUMBERS`."""
    figures = {}
    for line in text.splitlines():
        key, _, value = line.strip().partition(":")
        found = re.match(r"\s*(-?\d+(?:\.\d+)?)", value)
        if found and key in NUMBERS:
            name, scale = NUMBERS[key]
            figures[name] = scale * float(found.group(1))
        elif found and key in RATES:
            figures[RATES[key]] = _rate(value)
    return figures


def _rate(value: str) -> float:
    found = re.match(r"\s*(\d+(?:\.\d+)?) ([MG])Bit/s", value)
    return float(found.group(1)) * (1e6 if found.group(2) == "M" else 1e9) if found else 0.0


def search_path() -> str:
    """Return the search path with the folders of `iw` and `tcpdump`, which that of plain users often lacks."""
    return os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin", "/sbin"])


def _run(command: list[str]) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""

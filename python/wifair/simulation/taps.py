"""What a run records besides its results: captures, and records of every frame."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from wifair import _core
from wifair.scenario.scenario import Scenario

WHOLE_PACKETS = 262_144

WholeRun = ("0 s", None)
"""Frames from the start to the end."""


@dataclass(frozen=True)
class Pcap:
    """Captures of a run.

    Attributes
    ----------
    folder : str or path
        Folder of the files, one for each capture point, and ``hosts`` with the names of addresses. With several seeds
        each has a folder ``seed-N`` in it.
    at : tuple of str
        Capture points: ``"air"`` (a sniffer that hears what any station could read), ``"ap"`` (its radio and its
        wires), ``"hosts"`` (the ends of all flows), ``"stations"``, ``"servers"``, ``"routers"``, and names of nodes or
        of groups of them. If empty, the air and the hosts.
    snap : int
        Bytes that are kept of each packet; 160 hold all headers but those inside an A-MSDU.
    format : {"pcap", "pcapng"}
        File format; timestamps are in nanoseconds.
    force : bool
        Replace files of the same name.
    """

    folder: str | os.PathLike[str]
    at: tuple[str, ...] = ()
    snap: int = WHOLE_PACKETS
    format: str = "pcap"
    force: bool = False

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if self.format not in ("pcap", "pcapng"):
            raise ValueError(f"format `{self.format}`: expected pcap or pcapng")
        if not 1 <= self.snap <= WHOLE_PACKETS:
            raise ValueError(f"snap length {self.snap}: expected 1 to {WHOLE_PACKETS} bytes; 160 hold all headers")


def plan_taps(
    scenario: Scenario,
    seeds: list[int],
    pcap: Pcap | str | os.PathLike[str] | None,
    frames: bool | tuple[str, str | None],
) -> dict[int, _core.Taps]:
    """Determine what the run of each seed records; raise an error for what cannot be recorded."""
    if isinstance(pcap, str | os.PathLike):
        pcap = Pcap(pcap)
    span = WholeRun if frames is True else frames
    frames_ns = None
    if span:
        first, last = span
        end_ns = round(scenario.duration_s * 1e9)
        frames_ns = (
            _core.time_of_run("start of the frames", first),
            end_ns if last is None else _core.time_of_run("end of the frames", last),
        )
        if frames_ns[0] >= frames_ns[1]:
            end = f"the end of the run at {scenario.duration_s:g} s" if last is None else last
            raise ValueError(f"no frames: {first} is not before {end}; begin earlier, or end later")
    if pcap is not None:
        scenario._core.capture_points(pcap.at)

    def taps(seed: int) -> _core.Taps:
        request: _core.CaptureRequest | None = None
        if pcap is not None:
            folder = Path(pcap.folder) / f"seed-{seed}" if len(seeds) > 1 else Path(pcap.folder)
            request = {
                "folder": str(folder),
                "points": list(pcap.at),
                "snap": pcap.snap,
                "pcapng": pcap.format == "pcapng",
                "force": pcap.force,
            }
        return {"pcap": request, "frames_ns": frames_ns}

    return {seed: taps(seed) for seed in seeds}

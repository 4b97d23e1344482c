"""A queue for the access point in Python, compared with FIFO over the number of stations.

Each station has a line of its own, and stations take turns; a full buffer drops the last packet of the longest line.
So the ACKs of an upload no longer wait behind the data of downloads. Run it as ``python examples/station_turns.py``.
"""

from __future__ import annotations

from collections import deque

import wifair
from wifair.sweeps.query import means


class StationTurns(wifair.QueueDiscipline):
    def __init__(self) -> None:
        self.lines: dict[int, deque[wifair.Packet]] = {}
        self.turns: deque[int] = deque()  # stations that have packets, the next one first

    def enqueue(self, packet: wifair.Packet) -> None:
        line = self.lines.setdefault(packet.station, deque())
        if not line:
            self.turns.append(packet.station)
        line.append(packet)
        if not self.fits(packet):
            longest = max(self.lines.values(), key=len)
            self.drop(longest.pop())
            self.turns = deque(station for station in self.turns if self.lines[station])

    def dequeue(self) -> wifair.Packet | None:
        if not self.turns:
            return None
        station = self.turns.popleft()
        packet = self.lines[station].popleft()
        if self.lines[station]:
            self.turns.append(station)
        return packet


SCENARIO = {
    "name": "an upload and a download at each station",
    "duration": "20 s",
    "warm_up": "5 s",
    "wlan": {"standard": "802.11g"},
    "ap": {"queue": {"limit": "100 packets"}},
    "servers": [{"name": "server", "delay": "10 ms"}],
    "stations": [{"name": "sta", "count": 5}],
    "flows": [
        {"name": "up", "station": "sta", "server": "server", "direction": "up"},
        {"name": "down", "station": "sta", "server": "server", "direction": "down"},
    ],
}


def main(stations: str = "5..50:15", seeds: range = range(1, 6)) -> None:
    """Print means with half widths of their 95 % intervals."""
    runs = wifair.sweep(
        SCENARIO,
        vary={"stations.count": stations, "ap.queue.discipline": ["fifo", StationTurns]},
        seeds=seeds,
    )
    figures = ["jain_index", "goodput_bps"]
    table = means(runs.figures, ["stations.count", "ap.queue.discipline"], figures)
    print(table)


if __name__ == "__main__":
    main()

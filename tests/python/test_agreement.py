"""A run, its captures at all points, and `explain` agree on who starves."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import wifair
from wifair import metrics

if TYPE_CHECKING:
    from wifair.capture import Capture

POINTS = ("air", "ap", "server", "sta")
DOUBTFUL = 2.0
"""A flow within this factor of the bound is left out: a capture counts what was sent or what came, from its first packet
to its last, and so differs a little from what the application got in the measured time."""


def drawn(number: int) -> wifair.Scenario:
    """Draw a cell with uploads, and some downloads, transfers and calls."""
    draw = random.Random(number)
    flows = [{"name": "up", "station": "sta", "tcp.cc": draw.choice(["reno", "newreno", "cubic"])}]
    if draw.random() < 0.5:
        flows.append({"name": "down", "station": "sta1", "direction": "down", "count": draw.randint(1, 4)})
    if draw.random() < 0.4:
        flows.append({"name": "web", "station": "sta2", "direction": "down", "workload": "periodic",
                      "periodic.length": "20 kB", "periodic.period": "1 s"})
    if draw.random() < 0.4:
        flows.append({"name": "mail", "station": "sta1", "workload": "transfer", "transfer.size": "100 kB",
                      "start": "2 s"})
    stack = draw.choice(["ns2", "modern", "modern"])
    return wifair.Scenario.from_dict({
        "name": f"drawn {number}", "duration": "15 s",
        "wlan": {"standard": draw.choice(["802.11b", "802.11b", "802.11g"])},
        "ap": {"queue.limit": f"{draw.choice([10, 20, 50, 100])} packets"},
        "servers": [{"name": "server", "delay": f"{draw.choice([2, 10, 30])} ms"}],
        "stations": [{"name": "sta", "count": draw.randint(2, 20)}],
        "flows": [{**flow, "tcp.stack": stack} for flow in flows],
    })

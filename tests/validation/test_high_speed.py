"""oda2012, Fig. 8: one connection over 10 Gb/s and 220 ms, 183,333 packets in flight: what comes out, in what memory.

ns-2 does not come to the end of its first recovery. What a run costs in CPU time is shown by `make bench`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCENARIO = Path(__file__).parents[2] / "benches" / "scenarios" / "high_speed.toml"
PACKETS = 183_333
"""10 Gb/s times 220 ms, in packets of 1500 bytes: the bandwidth-delay product."""
CAPACITY_BPS = 10e9 * 1460 / 1500

# The peak memory of this program alone: on Linux `getrusage` includes that of its parent before the start.
RUN = """
import json, re, resource, sys, wifair
from pathlib import Path
scenario = wifair.Scenario.from_file(sys.argv[1]).with_({"tcp.cc": sys.argv[2], "links.queue.limit": sys.argv[3]})
series = wifair.run(scenario, series="1 s").series
status = Path("/proc/self/status")
if status.exists():
    memory_mb = int(re.search(r"VmHWM:\\s*(\\d+) kB", status.read_text())[1]) / 1024
else:
    memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)
print(json.dumps([series["goodput_bps"].tolist(), memory_mb]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("buffer", [0.1, 0.5, 1.0])
def test_fig_8_has_the_curve_of_the_paper_in_300_mb(buffer: float) -> None:
    """Slow start, a fall, the way back, and from 80 s on the full rate; nobody can tell Compound from Compound+."""
    means = []
    for cc in ("compound", "compound-plus"):
        command = [sys.executable, "-c", RUN, str(SCENARIO), cc, f"{round(buffer * PACKETS)} packets"]
        goodput, memory_mb = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
        assert memory_mb < 300
        assert len(goodput) == 100
        assert sum(goodput[80:]) / 20 == pytest.approx(CAPACITY_BPS, rel=0.05)
        # Data behind a gap is handed over at once, so a single second may exceed the capacity; all together do not.
        means.append(sum(goodput) / 100)
        assert 0.8 * CAPACITY_BPS < means[-1] < CAPACITY_BPS
    assert means[0] == pytest.approx(means[1], rel=0.01)

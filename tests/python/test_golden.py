"""Golden results from the release build, on one thread and on two: the same bytes as from the development build."""

from __future__ import annotations

from pathlib import Path

import pytest
import wifair

FOLDER = Path(__file__).parent.parent / "golden"
COLUMNS = ("received_bytes", "retransmissions", "timeouts", "data_packets_sent")


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.toml")), ids=lambda path: path.stem)
def test_results_are_those_that_were_looked_at(path: Path, threads: int) -> None:
    flows = wifair.run(wifair.Scenario.from_file(path), threads=threads).flows
    columns = [flows[column] for column in ("seed", "name", *COLUMNS)]
    lines = [" ".join(map(str, row)) for row in zip(*columns, strict=True)]
    heads = " ".join(("seed", "flow", *COLUMNS))
    assert "\n".join([heads, *lines, ""]) == path.with_suffix(".txt").read_text()

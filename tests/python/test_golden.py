"""Golden results from the release build, on one thread and on two: the same bytes as from the development build."""

from __future__ import annotations

from pathlib import Path

import pytest
import wifair

FOLDER = Path(__file__).parent.parent / "golden"
COLUMNS = ("received_bytes", "retransmissions", "timeouts", "data_packets_sent")


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.toml")), ids=lambda path: path.stem)
def test_results_equal_the_accepted_ones(path: Path, threads: int) -> None:
    results = wifair.run(wifair.Scenario.from_file(path), threads=threads)
    columns = [results.flows[column] for column in ("seed", "name", *COLUMNS)]
    rows = list(zip(*columns, strict=True))
    lines = []
    for cell in results.cells.to_dicts():
        seed, jain, starved = cell["seed"], cell["jain_index"], cell["starved_fraction"]
        lines.append(f"{seed} = jain_index {jain:.6f} starved_fraction {starved:.6f}")
        lines += [" ".join(map(str, row)) for row in rows if row[0] == seed]
    heads = " ".join(("seed", "flow", *COLUMNS))
    assert "\n".join([heads, *lines, ""]) == path.with_suffix(".txt").read_text()

"""A regression test of speed that noise does not affect: instructions for each simulated frame, or for each packet
delivered in aggregates or by wires alone, counted by callgrind.

`python benches/instructions.py` compares with `instructions.json` and fails where more than 5 % were added;
`--write` records what is counted. The counts are those of a compiler: with another one they are shown, and not judged.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
RECORD = HERE / "instructions.json"
TOLERANCE = 0.05
DOWN = 'flows.direction="down"'
# Scenario, the payload of a packet where these are counted instead of frames, the simulated seconds of the longer run,
# and keys to set. A second of 10 Gb/s has some 300,000 packets.
SCENARIOS: dict[str, tuple[str, int | None, int, *tuple[str, ...]]] = {
    "eight uploads": ("uploads.toml", None, 25),
    "twenty saturated": ("saturated.toml", None, 25),
    "chain of five": ("chain.toml", None, 25),
    "aggregates": ("aggregates.toml", 1472, 25),
    "aggregates of TCP": ("aggregates-tcp.toml", 1460, 25),
    "downloads": ("aggregates-tcp.toml", 1460, 25, DOWN),
    "uploads, GRO": ("aggregates-tcp.toml", 1460, 25, "tcp.gro=true"),
    "downloads, GRO": ("aggregates-tcp.toml", 1460, 25, DOWN, "tcp.gro=true"),
    "10 Gb/s": ("high_speed.toml", 1460, 10),
}
SHORT_S = 5


def output(*command: str) -> str:
    """What a command prints, on either channel."""
    return subprocess.run(command, cwd=HERE.parent, check=True, text=True, capture_output=True).stdout.strip()


def release_example(name: str) -> str:
    """Build an example of `wifair-sim` as it is released; its path."""
    output("cargo", "build", "--quiet", "--locked", "--release", "-p", "wifair-sim", "--example", name)
    target = json.loads(output("cargo", "metadata", "--format-version=1", "--no-deps"))["target_directory"]
    return str(Path(target, "release", "examples", name))


def collected(command: list[str], folder: str) -> tuple[int, str]:
    """Instructions of a command that is run in a folder, and what it prints."""
    tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/callgrind.out"]
    # With random hashes Python's instructions vary from run to run.
    fixed = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run([*tool, *command], cwd=folder, check=True, text=True, capture_output=True, env=fixed)
    found = re.search(r"Collected : (\d+)", done.stderr)
    assert found is not None, done.stderr
    return int(found[1]), done.stdout


def count(program: str, file: str, duration_s: float, payload: int | None, *changes: str) -> tuple[int, float]:
    """Instructions and frames of a run, or packets of this payload that were received."""
    with tempfile.TemporaryDirectory() as folder:
        command = [program, str(HERE / "scenarios" / file), f'duration="{duration_s} s"', *changes]
        instructions, printed = collected(command, folder)
    frames = re.search(rf"{'frames' if payload is None else 'received'} (\d+)", printed)
    assert frames is not None, printed
    return instructions, int(frames[1]) / (payload or 1)


def per_frame(program: str, file: str, payload: int | None, long_s: int, *changes: str) -> float:
    """Instructions a frame or packet, without those of the start."""
    (short, few), (long, many) = (count(program, file, end_s, payload, *changes) for end_s in (SHORT_S, long_s))
    return (long - short) / (many - few)


def main() -> int:
    """Count, compare, and say what became of it."""
    if shutil.which("valgrind") is None:
        print("error: valgrind is not installed (Debian package valgrind)", file=sys.stderr)
        return 2
    program = release_example("run")
    compiler = output("rustc", "--version")
    now = {name: round(per_frame(program, *arguments), 1) for name, arguments in SCENARIOS.items()}
    if "--write" in sys.argv:
        RECORD.write_text(json.dumps({"compiler": compiler, "instructions_per_frame": now}, indent=2) + "\n")
    record = json.loads(RECORD.read_text())
    judged = compiler == record["compiler"]
    slower = []
    for name, value in now.items():
        then = record["instructions_per_frame"].get(name)
        if then is None:
            print(f"{name:<18} {value:8.1f} instructions, not recorded")
            continue
        change = value / then - 1
        what = "frame" if SCENARIOS[name][1] is None else "packet"
        print(f"{name:<18} {value:8.1f} instructions a {what}, recorded {then:8.1f} ({change:+.1%})")
        if change > TOLERANCE:
            slower.append(name)
    if not judged:
        print(f"counted with {compiler}, recorded with {record['compiler']}: not judged")
        return 0
    if slower:
        print(f"error: more than {TOLERANCE:.0%} slower: {', '.join(slower)}", file=sys.stderr)
        print(
            "gain it back, or write what it is for into the commit and run `make instructions-record`", file=sys.stderr
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

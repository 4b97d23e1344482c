"""What wifair is for, in one screen each: who starves in a hot spot, what a cure does, and a paper's table rerun.

``make demo`` runs it; FOLDER gets the figures and the report: ``python examples/demo.py FOLDER``.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import wifair
from wifair import gallery
from wifair._output.report import rate

CURE = "ap.queue.discipline=las"
WIDTH = 24
BLOCK = "\u2588"


def main(folder: Path) -> None:
    """Run the three parts; each ends with what it showed."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "hot-spot.toml"
    file.write_text(gallery.example("hot-spot").toml, encoding="utf-8")
    scenario = wifair.Scenario.from_file(file)
    cured = scenario.with_(dict([CURE.split("=")]))
    before, after = (wifair.run(one, series="500 ms") for one in (scenario, cured))
    title(f"1. Twenty stations upload through one access point for {scenario.duration_s:g} s: who gets what?")
    print(picture(before, after))
    print(f"\n{words(before, after)}")
    ten = wifair.compare(scenario, cured, seeds=range(1, 11), names=["first come, first served", "LAS"])
    starve = [100 * float(np.mean(list(values.values()))) for values in ten.values("starved_fraction").values()]
    print(f"In ten runs with other random numbers {starve[0]:.0f} % of them starve, and with LAS {starve[1]:.0f} %.")
    before.save_figure(folder / "starvation.png")
    ten.save_figure(folder / "cure.png")

    title("2. Is that right? A table of a paper (Jung and Park, 2016), and what ns-2 says, beside wifair")
    sys.stdout.flush()
    paper = folder / "paper"
    subprocess.run(
        [sys.executable, "-m", "wifair", "reproduce", "jung2016/table1", "--out", paper, "--force"], check=True
    )

    title("3. Go on")
    rows = [
        (f"{folder}/starvation.png", "part 1 as a figure over time"),
        (f"{folder}/cure.png", "the ten runs with and without LAS, with intervals"),
        (f"{command()} explain {file}", "why they starve, in words"),
        (f"{command()} compare {file} --against {CURE}", "the cure in numbers"),
        (f"{command()} lab", "the same in a web page: move a control, and every curve follows"),
    ]
    print("\n".join(f"{what}\n    {about}" for what, about in rows))


def picture(before: wifair.Results, after: wifair.Results) -> str:
    """Draw the goodput of each flow without and with the cure as bars."""
    flows = list(
        zip(before.flows["name"], before.flows["starved"], before.flows["goodput_bps"], after.flows["goodput_bps"])
    )
    most = max(max(first, second) for *_, first, second in flows)
    lines = [f"{'':17}{'first come, first served':<{WIDTH + 12}}least attained service (LAS)"]
    for name, starves, *both in flows:
        left, right = (f"{rate(goodput):>9}  {BLOCK * round(WIDTH * goodput / most):<{WIDTH}}" for goodput in both)
        lines.append(f"{name:<6}{left.rstrip() + '  starves' if starves else left:<{WIDTH + 13}} {right}".rstrip())
    return "\n".join(lines)


def words(before: wifair.Results, after: wifair.Results) -> str:
    """Say what the picture shows, with the figures of these runs."""
    starved, still = (int(results.flows["starved"].sum()) for results in (before, after))
    goodput, cured = (results.summary["goodput_bps"].mean for results in (before, after))
    full, dropped = (before.summary[name].mean for name in ("ap_queue_full_fraction", "ap_drops_ack"))
    sentences = (
        f"{starved} of {len(before.flows['name'])} uploads starve: they get less than a tenth of an equal share.",
        f"The access point's queue was full {100 * full:.0f} % of the time, and dropped {dropped:,.0f} TCP ACKs.",
        "A sender with a large window does not miss them, because the next ACK acknowledges the same bytes; one with a",
        "small window waits for its timer, and begins again with one segment.",
        "Least attained service (LAS) sends first the packets of the flow that has had least so far.",
        f"With it {still or 'no'} upload{'s' * (still > 1)} starve{'s' * (still < 2)}; the goodput of all together",
        f"changes by {100 * (cured / goodput - 1):+.1f} %.",
    )
    return textwrap.fill(" ".join(sentences), 100)


def title(text: str) -> None:
    """Print a heading."""
    print(f"\n{text}\n{'-' * len(text)}\n")


def command() -> str:
    """How the command is called from here."""
    return ".venv/bin/wifair" if Path(".venv/bin/wifair").exists() else "wifair"


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))

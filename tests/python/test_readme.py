"""The README's commands and code run as printed."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"
RECORD = (README.parent / "benches" / "results.md").read_text(encoding="utf-8")
VALIDATION = (README.parent / "docs" / "validation.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README.read_text(encoding="utf-8"), re.M | re.S)


def blocks(language: str) -> list[str]:
    return [text for kind, text in BLOCKS if kind == language]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the scenario of the README, as `wifair init` writes it."""
    (scenario,) = blocks("toml")
    (tmp_path / "hot-spot.toml").write_text(scenario)
    return tmp_path


def commands() -> list[str]:
    lines = "".join(blocks("sh")).splitlines()
    lines = [line for line in lines if line.startswith(".venv/bin/wifair ") and " init " not in line]
    return [line.split("#")[0].strip() for line in lines]


def test_there_are_commands() -> None:
    assert len(commands()) >= 4


@pytest.mark.parametrize("command", commands())
def test_commands(command: str, folder: Path) -> None:
    if "--figure" in command:
        pytest.importorskip("matplotlib")
    arguments = shlex.split(command)[1:]
    done = subprocess.run(
        [sys.executable, "-m", "wifair", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_python(folder: Path) -> None:
    code = "\n".join(line for line in "".join(blocks("python")).splitlines() if "to_polars" not in line)
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Interval") == 6


def test_figures_of_the_first_screen_are_those_of_the_record() -> None:
    """Speeds are those of benches/results.md, comparisons of docs/validation.md, counts of the code."""
    from wifair import _core  # noqa: PLC0415

    readme = README.read_text(encoding="utf-8")
    rows = {row.split("|")[1].strip(): row.split("|") for row in RECORD.splitlines() if row.startswith("| 802.11b")}
    for flows, hundred in (("8", "13,000"), ("200", None)):
        row = rows[f"802.11b, {flows} NewReno uploads"]
        own, ns2, ns3 = (float(row[column].split("(")[0].replace(",", "")) for column in (2, 5, 7))
        assert f"{_near(ns2)}" in readme
        assert f"{_near(ns3)}" in readme
        assert hundred is None or (hundred in readme and abs(float(hundred.replace(",", "")) - own) < 0.05 * own)
    agreed = re.search(r"Of (\d+) comparisons with a criterion (\d+) agree", VALIDATION)
    assert agreed is not None
    assert f"Of {agreed[1]} comparisons" in readme
    assert f"{agreed[2]} agree" in readme
    chosen = [(path, name) for path, name, *_ in _core.catalogue() if name not in ("none", "python")]
    controls = sum(path == "tcp.cc" for path, _ in chosen)
    schemes = ("ap.queue.discipline", "ap.scheme.window", "ap.scheme.uplink", "ap.scheme.client", "ap.scheme.access")
    points = sum(path in schemes for path, _ in chosen)
    assert f"{controls} congestion controls" in readme
    assert f"{points} queues and schemes" in readme


def _near(ratio: float) -> str:
    """Rounded as in the README: to the hundred from a thousand on, to the thousand from ten thousand on."""
    if ratio < 1000:
        return f"{ratio:.0f}"
    digits = -3 if ratio >= 10_000 else -2
    return f"{round(ratio, digits):,.0f}"


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", README.read_text(encoding="utf-8")):
        assert (README.parent / target).exists(), target

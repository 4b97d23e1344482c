"""Runs what documentation shows, block by block, in one folder.

- ``toml`` and ``python`` blocks whose first line is a comment with a file name are written under it;
- ``sh`` blocks are run;
- ``console`` blocks are run line by line (`$ `), and what they print must be what the page shows, where a line of
  `...` stands for any number of lines;
- other ``python`` blocks are run, all of a page one after the other in one process;
- other languages are left alone, and so is a block behind ``<!-- not run: reason -->``.

With WIFAIR_BLESS=1 the outputs of a page are replaced by those that were found.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

BLOCK = re.compile(r"(<!-- not run: (?P<why>[^>]+) -->\n+)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.M | re.S)
NAMED = re.compile(r"# (?P<name>[\w-]+\.(toml|py))\n")
ROOT = Path(__file__).parents[2]
TIMEOUT_S = 900  # a bound for what hangs, far beyond what any command takes on a busy machine


class Block(NamedTuple):
    """A block of a page: its language, its text, where its text begins, and why it is not run."""

    kind: str
    text: str
    start: int
    why: str | None


def blocks(page: Path) -> list[Block]:
    """All blocks of a page."""
    found = BLOCK.finditer(page.read_text(encoding="utf-8"))
    return [Block(match["kind"], match["text"], match.start("text"), match["why"]) for match in found]


class Runner:
    """Runs the blocks of a page in a folder."""

    def __init__(self, page: Path, folder: Path) -> None:
        self.page = page
        self.folder = folder
        self.python = ""
        binaries = Path(sys.executable).parent
        self.environment = {
            **os.environ,
            "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder),
            "COLUMNS": "100",
            "MPLBACKEND": "Agg",
            "NO_COLOR": "1",
        }
        for name in ("tests", "examples"):
            (folder / name).symlink_to(ROOT / name)

    def run(self) -> None:
        """Run the page; an AssertionError names the first difference from the page."""
        replaced = self.page.read_text(encoding="utf-8")
        changes: list[tuple[Block, str]] = []
        for block in blocks(self.page):
            named = NAMED.match(block.text)
            if block.why is not None:
                continue
            if named is not None:
                (self.folder / named["name"]).write_text(block.text, encoding="utf-8")
            elif block.kind == "sh":
                self._shell(block.text)
            elif block.kind == "console":
                changes.append((block, self._console(block.text)))
            elif block.kind == "python":
                self.python += block.text
        if self.python:
            self._call([sys.executable, "-c", self.python])
        if _blessing():
            for block, text in reversed(changes):
                end = block.start + len(block.text)
                replaced = replaced[: block.start] + text + replaced[end:]
            self.page.write_text(replaced, encoding="utf-8")

    def _shell(self, text: str) -> str:
        return self._call(["bash", "-e", "-c", text])

    def _console(self, text: str) -> str:
        """Run the commands, and compare their output with the page."""
        shown = ""
        for part in re.split(r"^(?=\$ )", text, flags=re.M):
            if not part:
                continue
            line, _, expected = part.partition("\n")
            found = self._shell(line.removeprefix("$ "))
            shown += f"{line}\n{_elided(expected, found)}"
            if not _blessing():
                assert _matches(expected, found), f"{self.page}: {line} now prints\n{found}"
        return shown

    def _call(self, command: list[str]) -> str:
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, f"{self.page}: {command[-1]}\n{done.stderr}"
        return done.stdout


def _blessing() -> bool:
    return bool(os.environ.get("WIFAIR_BLESS"))


def _matches(expected: str, found: str) -> bool:
    parts = [re.escape(part) for part in re.split(r"^\.\.\.\n", expected, flags=re.M)]
    return re.fullmatch("(?:.*\n)*?".join(parts), found) is not None


def _elided(expected: str, found: str) -> str:
    """The full output, or the output with the page's elision if both ends are still there."""
    return expected if _matches(expected, found) else found

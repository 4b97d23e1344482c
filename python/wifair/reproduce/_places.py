"""Where things are in a TOML file of a paper, and errors that show them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from wifair.exceptions import Problem, WifairError

HEADER = re.compile(r"^\s*\[\[?\s*([\w.]+)\s*\]\]?")


class PaperError(WifairError, ValueError):
    """A folder that declares no valid paper. Its text shows every problem with its file and line."""

    def __init__(self, text: str, problems: tuple[Problem, ...] = ()) -> None:
        """`text` is what is shown; `problems` are the parts of it."""
        super().__init__(text)
        self.problems = problems
        first = problems[0] if problems else Problem(text, None, None, None)
        self.path, self.line, self.key = first.path, first.line, first.key


def in_short(path: Path) -> Path:
    """Write a path as seen from the working directory, if it lies in it."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


@dataclass(frozen=True)
class TomlTable:
    """A table of the file: the lines from its header to the next one."""

    name: str
    """Name in the header: ``claim.clause``."""
    begin: int
    """Line of the header, from 0."""
    end: int
    """Line after the last one."""


class Places:
    """Finds tables and keys in a file, and collects what is wrong with them.

    Parameters
    ----------
    path : path
        The file.
    text : str
        Its contents.
    """

    def __init__(self, path: Path, text: str) -> None:
        self.path, self.text = path, text
        self._lines = self.text.splitlines()
        starts = [(at, found[1]) for at, line in enumerate(self._lines) if (found := HEADER.match(line))]
        ends = [at for at, _ in starts[1:]] + [len(self._lines)]
        self.tables = [TomlTable(name, at, end) for (at, name), end in zip(starts, ends)]
        self.problems: list[tuple[str, Problem]] = []

    def table(self, name: str, place: int) -> TomlTable | None:
        """Find the table with this name and place among those of the name."""
        some = [table for table in self.tables if table.name == name]
        return some[place] if place < len(some) else None

    def clause(self, claim: int, place: int) -> TomlTable | None:
        """Find the clause at `place` of the claim at `claim`."""
        seen = -1
        for table in self.tables:
            seen += table.name == "claim"
            if seen == claim and table.name == "claim.clause":
                if place == 0:
                    return table
                place -= 1
        return None

    def wrong(self, message: str, table: TomlTable | None, key: str = "", word: str = "", hint: str = "") -> None:
        """Note a problem at `word` in the value of `key`, or at the key, or at the header of the table.

        `hint` says what to write instead.
        """
        line, column, width = self._find(table, key, word)
        shown = f"error: {message}\n  --> {in_short(self.path)}:{line + 1}:{column + 1}"
        if line < len(self._lines):
            gutter = f"{line + 1} | "
            mark = " " * (len(gutter) - 2) + "| " + " " * column + "^" * max(width, 1)
            shown += f"\n{gutter}{self._lines[line]}\n{mark}{' ' + hint if hint else ''}"
        elif hint:
            shown += f"\n  {hint}"
        self.problems.append((shown, Problem(f"{message}: {hint}" if hint else message, str(self.path), line + 1, key)))

    def _find(self, table: TomlTable | None, key: str, word: str) -> tuple[int, int, int]:
        if table is None:
            table = TomlTable("", 0, len(self._lines))
        begin, end = table.begin, table.end
        if key:
            heads = re.compile(rf"^\s*(?:{re.escape(key)})\b[\s.=]")
            begin = next((at for at in range(table.begin, table.end) if heads.match(self._lines[at])), table.begin)
            if not word:
                column = max(self._lines[begin].find(key), 0) if begin < len(self._lines) else 0
                return begin, column, len(key)
        if word:
            whole = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])")
            for at in range(begin, end):
                first = self._lines[at].find("=") + 1 if at == begin and key else 0
                if found := whole.search(self._lines[at], first):
                    return at, found.start(), len(word)
        return begin, 0, len(self._lines[begin]) if begin < len(self._lines) else 1

    def stop(self) -> None:
        """Raise what was noted.

        Raises
        ------
        PaperError
            If anything was.
        """
        if self.problems:
            texts = "\n\n".join(dict.fromkeys(text for text, _ in self.problems))
            raise PaperError(texts, tuple(problem for _, problem in self.problems))

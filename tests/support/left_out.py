"""Which tests this computer leaves out, for want of which tool: ``python tests/support/left_out.py FILE`` prints it.

`tests/conftest.py` adds a line to the file named by WIFAIR_LEFT_OUT for each skipped test that is not merely slow.
"""

from __future__ import annotations

import ast
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

FILE = "WIFAIR_LEFT_OUT"


def note(reports: list[Any]) -> None:
    """Add the reason of each skipped test, with the number of tests behind it."""
    if FILE not in os.environ:
        return
    lines = []
    files = set()  # each worker reports those that it could not collect
    for report in reports:
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if hasattr(report, "when") and report.when != "collect":
            tests = 1
        else:
            tests = 0 if report.nodeid in files else _functions(Path(report.nodeid))
            files.add(report.nodeid)
        if tests and not reason.startswith("slow"):
            lines.append(f"{tests}\t{reason}\n")
    with Path(os.environ[FILE]).open("a", encoding="utf-8") as file:
        file.writelines(lines)


def _functions(path: Path) -> int:
    """Count the test functions of a file that was skipped whole; one of them may be several tests."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return sum(isinstance(part, ast.FunctionDef) and part.name.startswith("test_") for part in body)


def text(lines: list[str]) -> str:
    """Sum up what `note` wrote, most tests first."""
    count: Counter[str] = Counter()
    for line in lines:
        tests, reason = line.rstrip("\n").split("\t", 1)
        count[reason] += int(tests)
    if not count:
        return "All tests could run on this computer."
    total = sum(count.values())
    rows = "".join(f"\n  {tests:>4}  {reason}" for reason, tests in count.most_common())
    return f"At least {total} test{'s' * (total > 1)} could not run on this computer:{rows}"


if __name__ == "__main__":
    found = Path(sys.argv[1])
    print(text(found.read_text(encoding="utf-8").splitlines() if found.exists() else []))

"""Writes the list of all crates compiled into the extension, with versions and licences: `make licences`."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
TARGET = HERE / "python" / "wifair" / "LICENCES.txt"
HEAD = """\
Compiled into wifair's extension module, beside wifair itself (MIT OR Apache-2.0).
Made by tests/licences.py from Cargo.lock. Crate, version, licence, source.

"""
PAGE = """
In the page of the laboratory (`wifair lab`), from lab/package-lock.json:

"""


def listing() -> str:
    """Make the text."""
    tree = ["cargo", "tree", "--locked", "-p", "wifair-py", "-e", "normal", "--prefix", "none", "-f", "{p}"]
    used = subprocess.run(tree, cwd=HERE, capture_output=True, text=True, check=True).stdout
    wanted = {tuple(line.split()[:2]) for line in used.splitlines() if line and "(/" not in line}
    data = subprocess.run(
        ["cargo", "metadata", "--locked", "--format-version", "1"], cwd=HERE, capture_output=True, text=True, check=True
    ).stdout
    rows = [
        f"{package['name']} {package['version']}  {package['license']}  {package['repository'] or ''}".rstrip()
        for package in json.loads(data)["packages"]
        if (package["name"], f"v{package['version']}") in wanted and package["source"]
    ]
    return HEAD + "\n".join(sorted(rows)) + "\n" + PAGE + "\n".join(_of_page()) + "\n"


def _of_page() -> list[str]:
    lock = json.loads((HERE / "lab" / "package-lock.json").read_text(encoding="utf-8"))
    return [
        f"{path.removeprefix('node_modules/')} {package['version']}  {package['license']}"
        for path, package in sorted(lock["packages"].items())
        if path and not package.get("dev") and not package.get("optional")
    ]


if __name__ == "__main__":
    TARGET.write_text(listing(), encoding="utf-8")

"""Checks licences and advisories of all dependencies, or says in a line what could not be checked: `make licences`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent


def of_crates(advisories: str | None) -> int:
    """Run cargo-deny, with the clone of an advisory database if one is given."""
    if shutil.which("cargo-deny") is None:
        print("crates: not checked, cargo-deny is not installed")
        return 0
    checks = ["bans", "licenses", "sources"]
    config = (HERE / "deny.toml").read_text(encoding="utf-8")
    if advisories is None:
        print("crates: advisories not checked: make licences ADVISORIES=path of a clone of the RustSec database")
    else:
        where = json.dumps(Path(advisories).resolve().as_uri())
        # cargo-deny looks for a database in a folder of this path, whose name it makes of the address.
        config = config.replace("[advisories]", f"[advisories]\ndb-urls = [{where}]", 1)
        checks.append("advisories")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "deny.toml"
        file.write_text(config, encoding="utf-8")
        return subprocess.run(["cargo", "deny", "check", "--config", file, *checks], cwd=HERE, check=False).returncode


def of_page() -> int:
    """Run `npm audit`, where a registry answers it."""
    if shutil.which("npm") is None:
        print("page: not checked, npm is not installed")
        return 0
    done = subprocess.run(
        ["npm", "audit", "--json"], cwd=HERE / "lab", capture_output=True, text=True, timeout=120, check=False
    )
    try:
        found = json.loads(done.stdout)["metadata"]["vulnerabilities"]
    except (ValueError, KeyError, TypeError):
        print("page: advisories not checked, no registry answers `npm audit`")
        return 0
    print(f"page: {found['total']} advisories")
    return int(found["total"] > 0)


if __name__ == "__main__":
    sys.exit(max(of_crates(sys.argv[1] if len(sys.argv) > 1 else None), of_page()))

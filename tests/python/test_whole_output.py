"""What a command prints is whole or an error, and has no codes that a foreign text brings along."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
import wifair
from click.testing import CliRunner
from wifair._output.streams import HIDDEN
from wifair.cli import main
from wifair.sweeps import checksums, compute
from wifair.sweeps.schema import FILE

FULL = Path("/dev/full")
TESTS = Path(__file__).parents[1]
SCRIPTS = TESTS.parent / "crates" / "packetdrill" / "tests" / "scripts"
pytestmark = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")


@pytest.fixture(scope="module")
def folder(text: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("outputs")
    (path / "s.toml").write_text(text)
    scenario = wifair.Scenario.from_text(text)
    compute([(scenario, seed, {"label": f"n{seed}"}) for seed in range(1, 31)], path / "out")
    wifair.run(scenario, series="100 ms").save(path / "saved")
    wifair.run(scenario, pcap=path / "pcap")
    for name in ("3up.json", "three_up.flent.gz"):
        shutil.copy(TESTS / "data" / "exchange" / name, path)
    shutil.copy(SCRIPTS / "rfc2018_a_gap_is_reported.pkt", path / "passes.pkt")
    return path


COMMANDS = [
    "--help",
    "--version",
    "list",
    "list cc",
    "schema",
    "schema --markdown",
    "completion bash",
    "init",
    "check s.toml",
    "check s.toml --resolved",
    "check s.toml --json",
    "run s.toml --quiet",
    "run s.toml --quiet --json",
    "explain s.toml",
    "compare saved saved",
    "compare saved saved --json",
    "sweep s.toml --vary stations.count=1,2 --dry-run",
    "results out",
    "results out --csv -",
    "results out --table flows --csv -",
    "results out --runs --json",
    "results out --verify",
    "results out --failed",
    "analyze pcap/server.pcap",
    "analyze pcap/server.pcap --json",
    "analyze pcap/server.pcap pcap/air.pcap --json",
    "explain saved",
    "explain pcap/server.pcap",
    "airtime --help",
    "airtime --standard 802.11g --psdu 1536 --rate 54Mb/s",
    "reproduce --help",
    "packetdrill passes.pkt",
    "packetdrill passes.pkt --json",
    "import iperf3 3up.json",
    "import flent three_up.flent.gz",
    "export --help",
    "measure --help",
    "measure run --help",
    "emulate --help",
    "lab --help",
    "bpf --help",
]


def wifair_command(command: str, *, unbuffered: bool) -> tuple[list[str], dict[str, str]]:
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"} if unbuffered else {**os.environ}
    return [sys.executable, "-m", "wifair", *command.split()], environment


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_is_an_error(command: str, folder: Path) -> None:
    for unbuffered in (False, True):
        arguments, environment = wifair_command(command, unbuffered=unbuffered)
        with FULL.open("w") as full:
            done = subprocess.run(
                arguments,
                cwd=folder,
                env=environment,
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                timeout=60,
                check=False,
            )
        assert done.returncode == 1, (command, done.returncode, done.stderr)
        assert "error: cannot write to standard output: no space left on device" in done.stderr, done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_a_closed_pipe_ends_every_command_quietly(command: str, folder: Path) -> None:
    arguments, environment = wifair_command(command, unbuffered=False)
    process = subprocess.Popen(
        arguments, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    with process.stderr:
        said = process.stderr.read()
    assert (process.wait(timeout=60), said) == (0, ""), command


LONG = ("results out --runs --json", "results out --table flows --csv -", "schema", "run s.toml --quiet --json")


@pytest.mark.parametrize("command", LONG)
def test_a_slow_reader_gets_all_and_a_closed_pipe_ends_quietly(command: str, folder: Path) -> None:
    arguments, environment = wifair_command(command, unbuffered=False)
    right = subprocess.check_output(arguments, cwd=folder, env=environment, timeout=60)
    assert len(right) > 4096
    for unbuffered in (False, True):
        arguments, environment = wifair_command(command, unbuffered=unbuffered)
        reader, writer = os.pipe()
        os.set_blocking(writer, False)  # as some parents leave it
        process = subprocess.Popen(arguments, cwd=folder, env=environment, stdout=writer, stderr=subprocess.PIPE)
        os.close(writer)
        got = b""
        time.sleep(0.3)
        while part := os.read(reader, 3000):
            got += part
        os.close(reader)
        _, said = process.communicate(timeout=60)
        assert (process.returncode, said) == (0, b"")
        assert got == right

        process = subprocess.Popen(
            arguments, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        with process.stderr:
            assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 0


def test_a_limit_on_the_size_of_files_is_an_error(folder: Path, tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    for unbuffered in (False, True):
        arguments, environment = wifair_command("schema", unbuffered=unbuffered)
        with (tmp_path / "out.csv").open("wb") as out:
            done = subprocess.run(
                arguments,
                cwd=folder,
                env=environment,
                stdout=out,
                stderr=subprocess.PIPE,
                text=True,
                timeout=60,
                check=False,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
            )
        assert done.returncode == 1, done.stderr
        assert "cannot write to standard output: file too large" in done.stderr
        assert (tmp_path / "out.csv").stat().st_size == 1000


HOSTILE = "\x1b]0;owned\x07\x1b[2Jx\u202ey\u2066z\x9b31m\r\nline"


@pytest.fixture
def hostile(text: str, tmp_path: Path) -> Path:
    """A store whose labels, messages and names are a stranger's."""
    store = tmp_path / "store"
    scenario = wifair.Scenario.from_text(text)
    compute([(scenario, seed, {HOSTILE: HOSTILE}) for seed in (1, 2, 3)], store)
    with closing(sqlite3.connect(store / FILE)) as db, db:
        db.execute("UPDATE runs SET status = 'failed', message = ? WHERE seed = 3", (HOSTILE,))
        db.execute("UPDATE runs SET version = ? WHERE seed = 2", (HOSTILE,))
        for (run,) in db.execute("SELECT run FROM runs").fetchall():
            checksums.seal_run(db, run, ["flows"])
    return store


@pytest.mark.parametrize(
    "more",
    [
        [],
        ["--failed"],
        ["--runs"],
        ["--verify"],
        ["--group", HOSTILE],
        ["--where", f"version={HOSTILE}"],
        ["--where", f"{HOSTILE}x=1"],
        ["--show", HOSTILE],
        ["--table", HOSTILE],
        ["--scenario", HOSTILE],
    ],
)
def test_texts_of_a_foreign_store_have_no_codes(hostile: Path, more: list[str]) -> None:
    answer = CliRunner().invoke(main, ["results", str(hostile), *more])
    for said in (answer.stdout, answer.stderr):
        assert not HIDDEN.search(said), (more, said)
    assert answer.stdout + answer.stderr


def test_data_of_a_foreign_store_is_exact(hostile: Path) -> None:
    answer = CliRunner().invoke(main, ["results", str(hostile), "--runs", "--json"])
    assert json.loads(answer.stdout)[0][HOSTILE] == HOSTILE
    assert HOSTILE.encode() in CliRunner().invoke(main, ["results", str(hostile), "--csv", "-"]).stdout_bytes


@pytest.mark.parametrize(
    "arguments",
    [[HOSTILE], ["run", HOSTILE], ["check", HOSTILE], ["results", HOSTILE], ["results", "merge", "a", HOSTILE],
     ["analyze", HOSTILE], ["compare", HOSTILE, "x"], ["explain", HOSTILE], ["import", "flent", HOSTILE],
     ["import", "iperf3", HOSTILE], ["packetdrill", HOSTILE], ["init", HOSTILE], ["list", HOSTILE],
     ["sweep", HOSTILE, "--out", HOSTILE], ["export", "flent", HOSTILE, "x.flent"], ["lab", HOSTILE],
     ["measure", "run", HOSTILE], ["reproduce", HOSTILE]],
)  # fmt: skip
def test_messages_about_hostile_arguments_have_no_codes(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = CliRunner().invoke(main, arguments)
    assert answer.exit_code == 2, answer.output
    assert not HIDDEN.search(answer.stdout + answer.stderr), answer.output
    assert not any(tmp_path.iterdir())


def test_pages_and_notebooks_escape_a_hostile_name(hostile: Path, text: str) -> None:
    markup = "<script>alert(1)</script>"
    scenario = wifair.Scenario.from_text(text).with_({"name": markup, "description": markup})
    results = wifair.run(scenario)
    for shown in (scenario._repr_html_(), results._repr_html_()):
        assert markup not in shown
    with wifair.Store(hostile, create=False) as store:
        assert "\x1b" not in repr(store)

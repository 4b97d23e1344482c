"""What a command prints is whole or an error, and has no codes that a foreign text brings along."""

from __future__ import annotations

import fcntl
import json
import os
import re
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
from emulating import CELL, WHY_NOT
from emulating import wifair as emulate
from wifair._output.streams import HIDDEN
from wifair.cli import main
from wifair.sweeps import checksums, compute
from wifair.sweeps.schema import FILE

FULL = Path("/dev/full")
F_SETPIPE_SZ = 1031  # of Linux
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
    (path / "cell.toml").write_text(CELL)
    if not WHY_NOT:
        told = emulate("emulate", "cell.toml", "--no-flows", "--quiet", "--record", "packets.rec", "--exec", "sta1",
                       "ping -c 2 -i 0.1 server", cwd=path)  # fmt: skip
        assert told.returncode == 0, told.stderr
    measure_at(path)
    shutil.copy(SCRIPTS / "rfc2018_a_gap_is_reported.pkt", path / "passes.pkt")
    return path


def measure_at(path: Path) -> None:
    """Measure a transfer over the loopback interface into the folder `measured`."""
    (path / "secret").write_text("a secret that only these tests know")
    (path / "secret").chmod(0o600)
    (path / "plan.toml").write_text(PLAN)
    command = [sys.executable, "-m", "wifair", "measure"]
    secret = ["--secret-file", "secret"]
    server = subprocess.Popen(
        [*command, "serve", "--port", "0", *secret], cwd=path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert server.stderr is not None
    try:
        port = next(found[1] for line in server.stderr if (found := re.search(r"127\.0\.0\.1:(\d+)", line)))
        address = ["--server", f"127.0.0.1:{port}"]
        run = [*command, "run", "plan.toml", *address, "--as", "sta1", "--out", "measured", "--quiet", *secret]
        done = subprocess.run(run, cwd=path, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
    finally:
        server.terminate()
        server.communicate(timeout=20)


PLAN = """
repetitions = 2
pause = "20 ms"
transfer.size = "100 kB"
[[stations]]
name = "sta1"
[[cases]]
name = "one"
directions = ["up"]
flows = [{ station = "sta1" }]
"""

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
    "measure run plan.toml --check",
    "measure report measured",
    "measure report measured --json",
    "measure report measured --case one",
    "emulate --help",
    "emulate --clean",
    *(["emulate --replay packets.rec", "emulate --replay packets.rec --json"] if not WHY_NOT else []),
    "lab --help",
    "bpf --help",
    "bpf list",
    "congestion reno --scenario cc-rate-falls-by-half --seeds 1 --quiet",
    "congestion reno --scenario cc-rate-falls-by-half --seeds 1 --quiet --json",
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


def test_a_lab_that_cannot_print_its_address_ends(folder: Path) -> None:
    arguments, environment = wifair_command("lab s.toml --no-browser", unbuffered=False)
    with FULL.open("w") as full:
        done = subprocess.run(
            arguments, cwd=folder, env=environment, stdout=full, stderr=subprocess.PIPE, timeout=60, check=False
        )
    assert done.returncode == 1
    assert b"cannot write to standard output" in done.stderr


LONG = ("results out --runs --json", "results out --table flows --csv -", "schema", "run s.toml --quiet --json")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_slow_reader_gets_all(command: str, folder: Path) -> None:
    arguments, environment = wifair_command(command, unbuffered=False)
    right = subprocess.check_output(arguments, cwd=folder, env=environment, timeout=60)
    assert len(right) > 4096 or command not in LONG
    for unbuffered in (False, True) if command in LONG else (True,):
        arguments, environment = wifair_command(command, unbuffered=unbuffered)
        reader, writer = os.pipe()
        fcntl.fcntl(writer, F_SETPIPE_SZ, 4096)
        os.set_blocking(writer, False)  # as some parents leave it
        process = subprocess.Popen(arguments, cwd=folder, env=environment, stdout=writer, stderr=subprocess.PIPE)
        os.close(writer)
        got = b""
        time.sleep(0.3)
        while part := os.read(reader, 1500):
            got += part
            time.sleep(0.001)
        os.close(reader)
        process.communicate(timeout=60)
        assert process.returncode == 0
        assert got == right


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

"""A damaged store gives the same figures, or an error that names the runs; never other figures, never a traceback."""

from __future__ import annotations

import csv
import io
import os
import random
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import zlib
from contextlib import closing
from pathlib import Path

import pytest
import wifair
from click.testing import CliRunner, Result
from wifair.cli import main
from wifair.sweeps import checksums, compute
from wifair.sweeps.schema import FILE

FLIPS = 300


@pytest.fixture(scope="module")
def whole(text: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of 16 runs in two points, with two tables."""
    out = tmp_path_factory.mktemp("whole") / "out"
    scenario = wifair.Scenario.from_text(text)
    compute(
        [
            (scenario.with_({"stations.count": count}), seed, {"stations.count": count, "name": f"n{count}"})
            for count in (1, 2)
            for seed in range(1, 9)
        ],
        out,
        tables=["flows", "stations"],
    )
    return out


def results(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["results", *map(str, arguments)])


QUESTIONS = (["--csv", "-"], ["--table", "flows", "--csv", "-"], ["--where", "count=2", "--runs", "--json"])


def answers(store: Path) -> list[Result]:
    return [results(store, *question) for question in QUESTIONS]


def copied(whole: Path, to: Path) -> Path:
    shutil.copytree(whole, to)
    return to


def test_a_flipped_bit_changes_no_figure(whole: Path, tmp_path: Path) -> None:
    right = [answer.stdout for answer in answers(whole)]
    assert all(len(text) > 500 for text in right)
    original = (whole / FILE).read_bytes()
    store = copied(whole, tmp_path / "store")
    rng = random.Random(23)
    noticed = 0
    for bit in rng.sample(range(8 * len(original)), FLIPS):
        for path in store.iterdir():
            path.unlink()
        damaged = bytearray(original)
        damaged[bit // 8] ^= 1 << bit % 8
        (store / FILE).write_bytes(damaged)
        for expected, answer in zip(right, answers(store)):
            if answer.exit_code == 0:
                assert answer.stdout == expected, f"bit {bit} changed figures without a word"
            else:
                assert isinstance(answer.exception, SystemExit), f"bit {bit}: {answer.exception!r}"
                assert answer.stderr.startswith("error: ") or "error: " in answer.stderr, bit
                noticed += 1
    assert noticed > FLIPS / 10, "some bits must matter"


def edit(store: Path, statement: str) -> None:
    with closing(sqlite3.connect(store / FILE)) as db, db:
        db.execute(statement)


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("UPDATE runs SET goodput_bps = goodput_bps + 1 WHERE seed = 3", "with seed 3"),
        ("UPDATE runs SET seed = 99 WHERE seed = 3", "with seed 99"),
        ("DELETE FROM runs WHERE seed = 3", "it has 14 rows, and 16 were written"),
        ("UPDATE flows SET goodput_bps = 0 WHERE run = 5", "its rows in flows"),
        ("DELETE FROM flows WHERE run = 5", "its rows in flows"),
        ('UPDATE points SET "stations.count" = 7 WHERE point = 1', "point 1 of the sweep"),
    ],
)
def test_a_change_is_named_and_repaired(whole: Path, tmp_path: Path, text: str, statement: str, says: str) -> None:
    right = [answer.stdout for answer in answers(whole)]
    store = copied(whole, tmp_path / "store")
    edit(store, statement)
    table = ["--table", "flows"] if "flows" in statement else []
    refused = results(store, *table)
    assert (refused.exit_code, says in refused.stderr) == (2, True), refused.stderr
    assert "--repair" in refused.stderr
    verified = results(store, "--verify")
    assert (verified.exit_code, says in verified.stdout) == (1, True), verified.output
    repaired = results(store, "--repair")
    assert (repaired.exit_code, says in repaired.stdout) == (0, True), repaired.output
    assert results(store, "--verify").exit_code == 0
    assert (store / f"{FILE}.damaged1").exists()

    scenario = wifair.Scenario.from_text(text)
    wanted = [
        (scenario.with_({"stations.count": count}), seed, {"stations.count": count, "name": f"n{count}"})
        for count in (1, 2)
        for seed in range(1, 9)
    ]
    compute(wanted, store, tables=["flows", "stations"])
    if "points" not in statement:  # a point that comes again is the last one
        assert [answer.stdout for answer in answers(store)] == right
    assert results(store, "--verify").exit_code == 0


@pytest.mark.parametrize(
    "statement",
    [
        # A flipped bit in the head of a record changes the type of a value.
        "UPDATE runs SET checksum = x'ff' WHERE seed = 1",
        "UPDATE points SET checksum = 'a'",
        "UPDATE kept SET name = x'ff' WHERE name = 'flows'",
        "UPDATE kept SET checksum = x'00', rows = 1.5",
        "UPDATE sums SET total = 'x'",
        # Only the meanings of columns are damaged: values are intact, and stay.
        "UPDATE meanings SET meaning = 'x' WHERE name = 'goodput_bps'",
        "UPDATE meanings SET name = 'x' WHERE name = 'goodput_bps' AND source = 'runs'",
        "DELETE FROM meanings WHERE name = 'goodput_bps'",
        *(
            f"DROP TABLE {name}"
            for name in ("runs", "points", "flows", "kept", "sums", "owners", "claims", "scenarios")
        ),
    ],
)
def test_any_damage_is_found_and_repaired(whole: Path, tmp_path: Path, text: str, statement: str) -> None:
    right = [answer.stdout for answer in answers(whole)]
    store = copied(whole, tmp_path / "store")
    edit(store, statement)
    for expected, answer in zip(right, answers(store)):
        assert answer.exit_code == 2 or answer.stdout == expected
        assert isinstance(answer.exception, SystemExit | None), answer.exception
    verified = results(store, "--verify")
    assert (verified.exit_code, "damaged: " in verified.stdout) == (1, True), verified.output
    repaired = results(store, "--repair")
    assert repaired.exit_code == 0, repaired.output
    assert results(store, "--verify").exit_code == 0
    with closing(sqlite3.connect(store / FILE)) as db:  # other programs read this view
        assert db.execute("SELECT count(*) FROM results").fetchone()[0] <= 16
    scenario = wifair.Scenario.from_text(text)
    wanted = [
        (scenario.with_({"stations.count": count}), seed, {"stations.count": count, "name": f"n{count}"})
        for count in (1, 2)
        for seed in range(1, 9)
    ]
    compute(wanted, store, tables=["flows", "stations"])
    assert [answer.stdout for answer in answers(store)] == right


def test_an_empty_column_with_an_uncertain_name_is_dropped(whole: Path, tmp_path: Path) -> None:
    """For a column without values, only the table of meanings confirms its name."""
    store = copied(whole, tmp_path / "store")
    edit(store, "DROP TABLE meanings")
    assert results(store, "--csv", "-").exit_code == 2
    assert results(store, "--repair").exit_code == 0
    assert results(store, "--verify").exit_code == 0
    before, after = (list(csv.DictReader(io.StringIO(answers(one)[0].stdout))) for one in (whole, store))
    kept = after[0].keys()
    assert [{name: row[name] for name in kept} for row in before] == after
    assert not [row for row in before for name in row.keys() - kept if row[name]]


def test_a_damaged_store_is_not_continued(whole: Path, tmp_path: Path, text: str) -> None:
    store = copied(whole, tmp_path / "store")
    edit(store, "UPDATE runs SET status = 'done', goodput_bps = 1 WHERE seed = 2")
    with pytest.raises(wifair.StoreError, match="with seed 2"):
        compute([(wifair.Scenario.from_text(text), 1)], store)


@pytest.mark.parametrize("part", [0.0, 0.3, 0.7, 0.999])
def test_a_truncated_store_is_called_truncated(whole: Path, tmp_path: Path, part: float) -> None:
    store = copied(whole, tmp_path / "store")
    size = (store / FILE).stat().st_size
    os.truncate(store / FILE, int(part * size))
    answer = results(store)
    assert answer.exit_code == 2
    if part:
        assert f"is truncated: it has {int(part * size)} of {size} bytes" in answer.stderr
    else:
        assert "is empty" in answer.stderr
    repaired = results(store, "--repair")
    assert repaired.exit_code in (0, 2)
    assert isinstance(repaired.exception, SystemExit | None), repaired.exception
    if part == 0.999:  # only the last page is missing: SQLite read nothing of such a file
        assert re.search(r": [1-9]\d* runs?", repaired.output), repaired.output
    if repaired.exit_code == 0:
        verified = results(store, "--verify")
        assert verified.exit_code == 0, repaired.output + verified.output


@pytest.mark.parametrize("size", [1, 15, 16, 99])
def test_a_store_cut_in_its_header_is_truncated(whole: Path, tmp_path: Path, size: int) -> None:
    store = copied(whole, tmp_path / "store")
    os.truncate(store / FILE, size)
    for question in ([], ["--verify"]):
        answer = results(store, *question)
        assert (answer.exit_code, f"is truncated: it has {size} bytes" in answer.stderr) == (2, True), answer.stderr
    assert results(store, "--repair").exit_code == 2
    assert (store / FILE).stat().st_size == size


def test_repair_adds_missing_checksums(whole: Path, tmp_path: Path) -> None:
    store = copied(whole, tmp_path / "store")
    right = [answer.stdout for answer in answers(store)]
    with closing(sqlite3.connect(store / FILE)) as db, db:
        db.execute("DROP VIEW results")
        for table in ("runs", "points", "scenarios", "meanings", "kept"):
            db.execute(f"ALTER TABLE {table} DROP COLUMN checksum")
        db.execute("ALTER TABLE kept DROP COLUMN rows")
        db.execute("DROP TABLE sums")
        db.execute("PRAGMA user_version = 1")
    assert "has no checksums" in results(store).stderr
    assert results(store, "--repair").exit_code == 0
    assert [answer.stdout for answer in answers(store)] == right


def test_a_store_that_cannot_be_written_can_be_read(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = [answer.stdout for answer in answers(whole)]
    store = copied(whole, tmp_path / "store")
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)  # noqa: ARG005
    before = sorted(path.name for path in store.iterdir())
    assert [answer.stdout for answer in answers(store)] == right
    assert results(store, "--verify").exit_code == 0
    assert sorted(path.name for path in store.iterdir()) == before, "reading writes nothing"


def without_rights(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run `wifair results` as a user who is bound by file permissions: root may do anything."""
    bound = ["setpriv", "--inh-caps=-all", "--bounding-set=-dac_override,-dac_read_search,-fowner", "--"]
    if os.geteuid() != 0:
        bound = []
    elif not shutil.which("setpriv") or subprocess.run([*bound, "true"], capture_output=True, check=False).returncode:
        pytest.skip("the superuser may write everything, and nothing here takes that right away")
    command = [*bound, sys.executable, "-m", "wifair", "results", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_a_store_of_another_user_is_merged_and_not_repaired(whole: Path, tmp_path: Path) -> None:
    store = copied(whole, tmp_path / "store")
    store.chmod(0o555)
    (store / FILE).chmod(0o444)
    try:
        merged = without_rights("merge", tmp_path / "all", store)
        assert (merged.returncode, "16 runs" in merged.stderr) == (0, True), merged.stderr
        assert [answer.stdout for answer in answers(tmp_path / "all")] == [answer.stdout for answer in answers(whole)]
        refused = without_rights(store, "--repair")
        assert refused.returncode == 2
        assert refused.stderr == f"error: cannot repair `{store}`: it cannot be written\n"
    finally:
        store.chmod(0o755)
    assert [path.name for path in store.iterdir()] == [FILE]


def test_merging_changes_nothing_in_the_source(whole: Path, tmp_path: Path) -> None:
    store = copied(whole, tmp_path / "store")
    before = (store / FILE).read_bytes()
    assert results("merge", tmp_path / "all", store).exit_code == 0
    assert (store / FILE).read_bytes() == before


def test_an_unreadable_log_is_not_ignored(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = copied(whole, tmp_path / "store")
    (store / f"{FILE}-wal").write_bytes(b"x" * 100)
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and not str(path).endswith("-shm"))
    answer = results(store)
    assert answer.exit_code == 2
    assert "has runs that are not in `runs.sqlite` yet" in answer.stderr


def test_the_checksum_is_the_same_on_every_python() -> None:
    def text(of: str) -> bytes:
        return b"u" + struct.pack("<i", len(of.encode())) + of.encode()

    row = ("näme", 3, -(1 << 40), 0.1, None, "", b"\x00")
    # marshal's format 2: a list, then names and values; whole numbers above 32 bits have digits of 15 bits.
    plain = b"[" + struct.pack("<i", 12) + text("a") + text("näme") + text("b") + b"i" + struct.pack("<i", 3)
    plain += text("c") + b"l" + struct.pack("<iHHH", -3, 0, 0, 1 << 10) + text("d") + b"g" + struct.pack("<d", 0.1)
    plain += text("f") + text("") + text("g") + b"s" + struct.pack("<i", 1) + b"\x00"
    assert checksums.digest("abcdefg", row) == zlib.crc32(plain)

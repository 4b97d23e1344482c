"""One rule for everything that is written: existing files are replaced only with --force; files appear whole or not at
all.
"""

from __future__ import annotations

import errno
import os
import re
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest
import wifair
from click.testing import CliRunner, Result
from wifair._output import files
from wifair.cli import main
from wifair.sweeps import compute

pytest.importorskip("matplotlib")

OTHER = "of somebody else"
EXCHANGE = Path(__file__).parents[1] / "data" / "exchange"


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def store(text: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("store") / "out"
    scenario = wifair.Scenario.from_text(text)
    compute([(scenario, seed, {"n": seed % 2}) for seed in (1, 2, 3, 4)], out)
    return out


@pytest.fixture(scope="module")
def capture(text: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("capture")
    wifair.run(wifair.Scenario.from_text(text), pcap=wifair.Pcap(folder, at=("server",)))
    return folder / "server.pcap"


RUN = ("run", "{file}", "--quiet")
COMMANDS = {
    "run --figure": (*RUN, "--figure", "{out}.png"),
    "run --frames": (*RUN, "--frames", "{out}.csv"),
    "run --timeline": (*RUN, "--timeline", "{out}.svg"),
    "run --out": (*RUN, "--out", "{out}"),
    "run --pcap": (*RUN, "--pcap", "{out}", "--pcap-at", "server"),
    "results --csv": ("results", "{store}", "--csv", "{out}.csv"),
    "results --figure": ("results", "{store}", "--x", "n", "--y", "jain", "--figure", "{out}.png"),
    "compare --csv": ("compare", "{file}", "{file}", "--seeds", "1..2", "--csv", "{out}.csv"),
    "compare --figure": ("compare", "{file}", "{file}", "--seeds", "1..2", "--figure", "{out}.png"),
    "analyze --html": ("analyze", "{capture}", "--html", "{out}.html"),
    "analyze --csv": ("analyze", "{capture}", "--csv", "{out}"),
    "analyze --figure": ("analyze", "{capture}", "--figure", "{out}"),
    "analyze --xplot": ("analyze", "{capture}", "--xplot", "{out}"),
    "results --parquet": ("results", "{store}", "--parquet", "{out}.parquet"),
    "analyze --parquet": ("analyze", "{capture}", "--parquet", "{out}"),
    "import iperf3 --out": ("import", "iperf3", "{exchange}/3up.json", "--out", "{out}"),
    "import iperf3 --figure": ("import", "iperf3", "{exchange}/3up.json", "--figure", "{out}.png"),
    "import flent --figure": ("import", "flent", "{exchange}/three_up.flent.gz", "--figure", "{out}.pdf"),
    "export flent": ("export", "flent", "{results}", "{out}.flent"),
    "reproduce --out": ("reproduce", "lee2007/calc_215", "--quiet", "--out", "{out}"),
    "init": ("init", "hot-spot", "{out}.toml"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_existing_files_are_replaced_only_with_force(
    name: str, file: Path, store: Path, capture: Path, tmp_path: Path
) -> None:
    if "parquet" in name:
        pytest.importorskip("pyarrow")
    words = {"file": file, "store": store, "capture": capture, "exchange": EXCHANGE, "out": tmp_path / "made" / "out"}
    if name == "export flent":
        words["results"] = tmp_path / "results"
        assert call("run", file, "--quiet", "--series", "--out", words["results"]).exit_code == 0
    (tmp_path / "made").mkdir()
    command = [word.format(**words) for word in COMMANDS[name]]

    def made() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in sorted((tmp_path / "made").rglob("*")) if path.is_file()}

    first = call(*command)
    assert first.exit_code == 0, first.output
    before = made()
    assert before
    assert not [path for path in before if "partial" in path]
    for path in before:
        if not name.endswith(("--out", "analyze --csv", "analyze --parquet")):  # these have a folder of their own
            Path(path).write_text(OTHER)
    held = made()
    refused = call(*command)
    assert refused.exit_code == 2, refused.output
    assert "exist" in refused.stderr or "holds" in refused.stderr
    assert "--force" in refused.stderr
    assert made() == held, "nothing is touched"
    forced = call(*command, "--force")
    assert forced.exit_code == 0, forced.output
    assert made().keys() == before.keys()
    assert OTHER.encode() not in made().values()


@pytest.mark.parametrize(
    ("first", "second"),
    [("--timeline", "--figure"), ("--out", "--pcap"), ("--frames", "--figure"), ("--out", "--timeline")],
)
def test_two_options_do_not_write_the_same_file(first: str, second: str, file: Path, tmp_path: Path) -> None:
    made = tmp_path / ("x.csv" if first == "--frames" else "x.svg")
    refused = call(
        *(file if word == "{file}" else word for word in RUN), first, made, second, f"{made.parent}/./{made.name}"
    )
    assert refused.exit_code == 2, refused.output
    assert f"{second} and {first} both write" in refused.stderr or f"{first} and {second} both write" in refused.stderr
    assert not made.exists()


def targets(suffix: str, folder: Path) -> dict[str, tuple[Path, str]]:
    """Paths that cannot be written, and the error for each."""
    (folder / f"folder{suffix}").mkdir(exist_ok=True)
    (folder / f"folder{suffix}" / "other").write_text("x")
    (folder / f"file{suffix}").write_text("x")
    loop = folder / f"loop{suffix}"
    loop.symlink_to(loop.name)
    return {
        "no folder": (folder / "none" / f"x{suffix}", "no such file or directory"),
        "a folder": (folder / f"folder{suffix}", "is a directory|holds"),
        "a file": (folder / f"file{suffix}", "exists|is a file"),
        "below a file": (folder / f"file{suffix}" / f"x{suffix}", "not a directory|is a file"),
        "a long name": (folder / f"{'n' * 300}{suffix}", "name too long"),
        "a loop": (loop, "levels of symbolic links|is a file|exists"),
        "not writable": (Path(f"/proc/x{suffix}"), "no such file|permission|not permitted|read-only"),
        "a full device": (Path("/dev/full"), "no space left"),
        "a full disk": (folder / "full" / f"x{suffix}", "too large|disk I/O error|disk is full"),
    }


@contextmanager
def full_disk() -> Iterator[None]:
    """Let no file grow by a byte: the error differs from that of a full disk, but takes the same path."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc and /dev/full")
@pytest.mark.parametrize("name", [*COMMANDS, "sweep --out", "results merge"])
def test_an_unwritable_path_is_one_clear_error(
    name: str, file: Path, store: Path, capture: Path, tmp_path: Path
) -> None:
    if "parquet" in name:
        pytest.importorskip("pyarrow")
    line = {
        "sweep --out": ("sweep", "{file}", "--seeds", "1..2", "--out", "{out}"),
        "results merge": ("results", "merge", "{out}", "{store}"),
        **COMMANDS,
    }[name]
    suffix = next(word.removeprefix("{out}") for word in line if word.startswith("{out}"))
    words = {"file": file, "store": store, "capture": capture, "exchange": EXCHANGE}
    if name == "export flent":
        words["results"] = tmp_path / "results"
        assert call("run", file, "--quiet", "--series", "--out", words["results"]).exit_code == 0
    (tmp_path / "there" / "full").mkdir(parents=True)
    for kind, (target, says) in targets(suffix, tmp_path / "there").items():
        if "{out}" in line and kind in ("no folder", "a folder", "a full device"):  # is made, is taken, is a file
            continue
        command = [word.replace("{out}" + suffix, str(target)).format(**words) for word in line]
        before = [path for path in tmp_path.rglob("*") if not path.is_dir()]
        with full_disk() if kind == "a full disk" else nullcontext():
            done = call(*command)
        assert done.exit_code == 2, (kind, done.output, done.exception)
        *_, last = done.stderr.splitlines()
        assert last.lower().startswith("error: "), (kind, done.stderr)
        ending = kind == "a full device" and re.search("ending|end in|writes .csv|reads .flent", last)
        assert ending or re.search(says, last), (kind, last)
        made = [path for path in tmp_path.rglob("*") if not path.is_dir() and path not in before]
        assert not [path for path in made if path.name != "runs.sqlite" or path.stat().st_size > 0], kind


def test_a_mount_point_is_filled(tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container's folder cannot be replaced, but its files can."""
    out = tmp_path / "out"
    out.mkdir()
    kept = out.stat().st_ino
    monkeypatch.setattr(Path, "is_mount", lambda path: path == out)
    assert call("run", file, "--quiet", "--out", out).exit_code == 0
    first = sorted(path.name for path in out.iterdir())
    assert "provenance.json" in first
    assert not any("partial" in one for one in first)
    assert call("run", file, "--quiet", "--out", out).exit_code == 2
    (out / "old").mkdir()
    assert call("run", file, "--quiet", "--out", out, "--force").exit_code == 0
    assert sorted(path.name for path in out.iterdir()) == first
    assert out.stat().st_ino == kept


def test_results_stay_if_they_cannot_be_replaced(tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    assert call("run", file, "--quiet", "--out", out).exit_code == 0
    rename = Path.rename

    def renamed(path: Path, target: Path) -> Path:
        if path.name.endswith(".partial") and target == out:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path), None, str(target))
        return rename(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", renamed)
        done = call("run", file, "--quiet", "--out", out, "--force", "--seed", "7")
    assert done.exit_code == 2
    assert f"`{out}`: input/output error" in done.stderr
    assert (out / "provenance.json").is_file()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".out")] == []


def _half(path: Path) -> None:
    with files.replacing(path) as work:
        work.write_text("half")
        raise KeyboardInterrupt


@pytest.mark.parametrize("there", [True, False])
def test_a_file_appears_whole_or_not_at_all(tmp_path: Path, there: bool) -> None:
    path = tmp_path / "table.csv"
    if there:
        path.write_text("before")

    def parts() -> Iterator[str]:
        yield "half"
        raise KeyboardInterrupt

    writers: list[Callable[[Path], None]] = [_half, lambda path: files.write_text(path, parts())]
    for write in writers:
        with pytest.raises(KeyboardInterrupt):
            write(path)
        assert [p.name for p in tmp_path.iterdir()] == (["table.csv"] if there else [])
        assert not there or path.read_text() == "before"


def test_a_file_is_on_disk_before_it_is_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda handle: steps.append("sync"))  # noqa: ARG005
    replace = Path.replace

    def renamed(path: Path, target: Path) -> Path:
        steps.append("rename")
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", renamed)
    files.write_text(tmp_path / "a", "text")
    assert steps == ["sync", "rename", "sync"]
    assert (tmp_path / "a").read_text() == "text"


def test_links_modes_and_pipes_are_preserved(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.write_text("before")
    real.chmod(0o640)
    (tmp_path / "link").symlink_to(real)
    files.write_text(tmp_path / "link", "after")
    assert (tmp_path / "link").is_symlink()
    assert (real.read_text(), real.stat().st_mode & 0o777) == ("after", 0o640)
    files.write_text("/dev/null", "gone")
    assert not Path("/dev/null").is_file()
    with pytest.raises(FileNotFoundError, match="none/a"):
        files.write_text(tmp_path / "none" / "a", "text")

"""One rule for all that is written: what exists is not replaced without --force; files appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import wifair
from click.testing import CliRunner, Result
from wifair import files
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
    "results --plot": ("results", "{store}", "--x", "n", "--y", "jain", "--plot", "{out}.png"),
    "compare --csv": ("compare", "{file}", "{file}", "--seeds", "1..2", "--csv", "{out}.csv"),
    "compare --figure": ("compare", "{file}", "{file}", "--seeds", "1..2", "--figure", "{out}.png"),
    "analyze --html": ("analyze", "{capture}", "--html", "{out}.html"),
    "analyze --csv": ("analyze", "{capture}", "--csv", "{out}"),
    "analyze --plot": ("analyze", "{capture}", "--plot", "{out}"),
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
def test_what_exists_is_replaced_with_force_only(
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


def _half(path: Path) -> None:
    with files.replacing(path) as work:
        work.write_text("half")
        raise KeyboardInterrupt


@pytest.mark.parametrize("there", [True, False])
def test_a_file_is_whole_or_not_there(tmp_path: Path, there: bool) -> None:
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


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_links_modes_and_pipes_stay_what_they_are(tmp_path: Path) -> None:
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

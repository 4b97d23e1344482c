"""Pages, figures and folders of files show a stranger's names as text, and are written where they were asked for."""

from __future__ import annotations

import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, cast
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import wifair
from click.testing import CliRunner
from wifair._output import files
from wifair._output.streams import HIDDEN
from wifair.cli import main
from wifair.columns import Columns
from wifair.figures import comparison, run, style, sweep
from wifair.optional.measure.coordinator import slug
from wifair.reproduce._claims import Claims
from wifair.reproduce._model import Case, Effort, Experiment, Paper
from wifair.reproduce._session import Outcome, PaperOutcome
from wifair.reproduce.report import Report
from wifair.reproduce.table import Row, Table
from wifair.sweeps import compute

NAMES = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg onload=alert(1)>",
    "&lt;b&gt;",
    "../x",
    "a\x1b[31mb\x07",
    "a\u202eb\u2066c",
    "$\\frac$ and $\\undefined{x$",
    "--><script>alert(1)</script><!--",
    "]]><script>alert(1)</script>",
)
FILES = tuple(name.replace("/", "") for name in NAMES)


class Walker(HTMLParser):
    """Collects what a browser would run or load."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.scripts: list[str] = []
        self.suspicious: list[str] = []
        self.text = ""
        self._script = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at an element and its attributes."""
        self._script = tag == "script"
        for name, value in attrs:
            loads = name in {"src", "href", "xlink:href"} and re.match(r"\s*(javascript|data|http|//)", value or "")
            if name.startswith("on") or loads or (tag == "img" and name == "src" and value == "x"):
                self.suspicious.append(f"{tag} {name}={value}")
        if tag in {"iframe", "object", "embed", "base", "form"}:
            self.suspicious.append(tag)

    def handle_endtag(self, _: str) -> None:
        """Leave a script."""
        self._script = False

    def handle_data(self, data: str) -> None:
        """Tell scripts from texts."""
        if self._script:
            self.scripts.append(data)
        else:
            self.text += data


def walked(html: str, scripts: int) -> str:
    """Check a page that has so many scripts of its own; return its texts."""
    walker = Walker()
    walker.feed(html)
    walker.close()
    assert not walker.suspicious
    assert len(walker.scripts) == scripts
    assert not any("alert(1)" in script for script in walker.scripts)
    assert not HIDDEN.search(html), HIDDEN.findall(html)
    return walker.text


def walked_svg(path: Path) -> None:
    """Check a figure: it is XML, runs nothing, loads nothing."""
    text = path.read_text()
    assert not HIDDEN.search(text)
    for element in ET.fromstring(text).iter():
        assert not str(element.tag).endswith("}script"), path
        assert not any(name.startswith("on") for name in element.attrib), path
        for name, value in element.attrib.items():
            assert not name.endswith("href") or value.startswith("#"), value


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory, text: str) -> Path:
    folder = tmp_path_factory.mktemp("captured")
    wifair.run(wifair.Scenario.from_text(text), pcap=folder)
    return folder / "server.pcap"


@pytest.mark.parametrize("name", FILES)
def test_a_capture_page_shows_the_name_of_a_file_as_text(name: str, capture: Path, tmp_path: Path) -> None:
    shutil.copy(capture, tmp_path / name)
    # A file that is cut off has a page with the error, too.
    (tmp_path / name).write_bytes(capture.read_bytes()[:200_003])
    out, figures = tmp_path / "page.html", tmp_path / "figures"
    arguments = [str(tmp_path / name), "--html", str(out)]
    if name == FILES[0]:
        arguments += ["--figure", str(figures), "--format", "svg"]
    answer = CliRunner().invoke(main, ["analyze", *arguments])
    assert answer.exit_code == 1, answer.output
    assert HIDDEN.sub("\ufffd", name) in walked(out.read_text(), 1)
    for drawn in figures.glob("*.svg"):
        walked_svg(drawn)


def a_paper(folder: Path, text: str) -> PaperOutcome:
    """A paper whose every text is hostile, with an experiment that is computed."""
    every = "".join(NAMES)
    folder.mkdir()
    said = every.replace("\\", "\\\\").replace('"', '\\"').replace("\x1b", "\\u001b").replace("\x07", "\\u0007")
    (folder / "paper.toml").write_text(
        f'title = "{said}"\nintro = "{said}"\n[units]\nq = "{said}"\n[names]\nn = "{said}"\n'
    )
    (folder / "README.md").write_text("\n\n".join([f"# {every}", every, f"| a | b |\n|---|---|\n| {every} | x |"]))
    scenario = wifair.Scenario.from_text(text)
    cases = [Case({"x": name}, scenario, (1,)) for name in NAMES]

    def draw(figure: Any, _: Table) -> None:
        for at, name in enumerate(NAMES):
            figure.add_subplot(len(NAMES), 1, at + 1).set_title(style.plain(name))

    experiment = Experiment("e", every, cast(Any, lambda _: cases), cast(Any, None), draw, (4.0, 16.0), note=every)
    rows = [Row({"x": name, "n": 3}, "q", np.array([1.0, 1.1]), 2.0, seeds=(1, 2), why=every) for name in NAMES]
    paper = Paper(folder, (experiment,))
    paper.__dict__["declared"] = Claims((), (), {})  # what is declared is checked when it is read
    return PaperOutcome(paper, {"e": Table("e", rows)}, [], {"e": cases})


def test_a_report_of_a_paper_shows_its_texts_as_text(tmp_path: Path, text: str) -> None:
    item = a_paper(tmp_path / '"><img src=x onerror=alert(1)>', text)
    with Report(tmp_path / "report", Effort.QUICK) as report:
        report.add(item)
        report.finish(Outcome(Effort.QUICK, controls=False, papers=[item]))
    pages = sorted((tmp_path / "report").glob("*.html"))
    assert len(pages) == 2
    for path in pages:
        assert HIDDEN.sub("\ufffd", "".join(NAMES[:7])) in walked(path.read_text(), 1)
    own = tmp_path / "report" / item.paper.key
    walked_svg(own / "e.svg")
    scenarios = [path.name for path in (own / "scenarios" / "e").iterdir()]
    assert len(scenarios) == len(NAMES)
    assert all(re.fullmatch(r"[\w.+=,:()-]+", name) for name in scenarios)
    assert {path.name for path in tmp_path.iterdir()} == {item.paper.key, "report"}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_a_file_below_a_folder_leads_nowhere_else(name: str, tmp_path: Path) -> None:
    for part in (name, "..", ".", "", "/etc/passwd", "a\\b", "a\nb", "\x00"):
        if re.fullmatch(r"[^/\\\x00-\x1f\u202e]+", part) and part not in {"..", "."}:
            assert files.below(tmp_path, part).parent == tmp_path
            continue
        for parts in ((part,), ("sub", part), (part, "sub")):
            with pytest.raises(ValueError, match="is no name of a file below"):
                files.below(tmp_path, *parts)
    assert (tmp_path / slug(name)).parent == tmp_path


def test_a_link_below_a_folder_is_refused(tmp_path: Path, capture: Path) -> None:
    folder, outside = tmp_path / "folder", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (folder / "sub").symlink_to(outside)
    with pytest.raises(OSError, match="it is a link"):
        files.below(folder, "sub", "file")
    (folder / "overview.svg").symlink_to(outside / "precious")
    command = ["analyze", str(capture), "--figure", str(folder), "--format", "svg", "--force"]
    answer = CliRunner().invoke(main, command)
    assert (answer.exit_code, "it is a link: remove it" in answer.stderr) == (2, True), answer.output
    assert not any(outside.iterdir())


def test_figures_show_names_as_text(tmp_path: Path, text: str) -> None:
    count = len(NAMES)
    columns = Columns(
        {
            "x": np.array([1.0, 2.0] * count),
            "by": np.array([name for name in NAMES for _ in "ab"], dtype=np.str_),
            "part": np.array(["$\\frac$\x1b<script>"] * 2 * count, dtype=np.str_),
            **{f"jain_index{end}": np.full(2 * count, 0.5) for end in ("", "_low", "_high")},
        }
    )
    style.save(sweep.draw(columns, "x", ["jain_index"], ["by"]), tmp_path / "lines.svg")
    style.save(sweep.draw(columns, "by", ["jain_index"], ["x"], panels="part"), tmp_path / "ticks.svg")
    scenario = wifair.Scenario.from_text(text).with_({"name": NAMES[0] + NAMES[7].replace("$\\", "$")})
    style.save(run.draw(wifair.run(scenario)), tmp_path / "run.svg")
    compared = wifair.compare(scenario, scenario.with_({"name": NAMES[1]}))
    style.save(comparison.draw(compared), tmp_path / "comparison.svg")
    drawn = sorted(tmp_path.glob("*.svg"))
    assert len(drawn) == 4
    for path in drawn:
        walked_svg(path)


def test_a_figure_of_a_foreign_store_is_drawn(tmp_path: Path, text: str) -> None:
    scenario = wifair.Scenario.from_text(text)
    points = [(scenario, seed, {"label": name}) for name in (NAMES[0], NAMES[5], NAMES[7]) for seed in (1, 2)]
    compute(points, tmp_path / "store")
    command = ["results", str(tmp_path / "store"), "--x", "label", "--y", "jain_index", "--figure"]
    answer = CliRunner().invoke(main, [*command, str(tmp_path / "store.svg")])
    assert answer.exit_code == 0, answer.output
    walked_svg(tmp_path / "store.svg")

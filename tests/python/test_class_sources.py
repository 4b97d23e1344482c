"""A store never mixes versions of a class of the user's: the hash is of what runs."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest
import wifair
from wifair.sweeps import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

SCENARIO = """\
duration = "2 s"
wlan.standard = "802.11g"
[[servers]]
name = "server"
delay = "20 ms"
[[stations]]
name = "sta"
[[flows]]
name = "up"
station = "sta"
tcp.cc = "mine_cc:Window"
"""

MINE = """\
import wifair

class Window(wifair.CongestionControl):
    def on_ack(self, ack):
        self.cwnd = {window}

    def on_loss(self, loss):
        pass
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "s.toml").write_text(SCENARIO)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in [name for name in sys.modules if name.endswith("_cc")]:
        del sys.modules[name]


def goodput(folder: Path, store: str) -> float:
    return float(wifair.sweep(folder / "s.toml", seeds=[1], out=folder / store, threads=1).figures["goodput_bps"][0])


def in_new_process(folder: Path, store: str) -> float:
    code = f"import wifair; print(wifair.sweep('s.toml', seeds=[1], out={store!r}).figures['goodput_bps'][0])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=60, check=True
    )
    return float(done.stdout)


def test_a_class_that_is_edited_after_its_import_is_refused(folder: Path) -> None:
    mine = folder / "mine_cc.py"
    mine.write_text(MINE.format(window=2))
    old = goodput(folder, "out")
    mine.write_text(MINE.format(window=9))  # as long, and within the same second
    with pytest.raises(wifair.ScenarioError, match=r"mine_cc\.py` has changed since `mine_cc` was imported"):
        goodput(folder, "out")
    with pytest.raises(wifair.ScenarioError, match=r"mine_cc\.py` has changed"):
        wifair.run(folder / "s.toml")
    new = in_new_process(folder, "out")
    assert new > 2 * old
    assert in_new_process(folder, "other") == new
    with Store(folder / "out", create=False) as store:
        assert store.count() == 2
    importlib.reload(sys.modules["mine_cc"])
    assert goodput(folder, "out") == new
    mine.write_text(MINE.format(window=2))
    assert in_new_process(folder, "out") == old, "the first version has its own figures still"


def test_helpers_anywhere_are_part_of_the_hash(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    sys.path.append(str(elsewhere))
    try:
        (elsewhere / "far_cc").mkdir()
        (elsewhere / "far_cc" / "__init__.py").write_text("")
        (elsewhere / "far_cc" / "deep_cc.py").write_text("SIZE = 2\n")
        (folder / "mine_cc.py").write_text("from far_cc.deep_cc import SIZE\n" + MINE.format(window="SIZE"))
        found = [wifair.Scenario.from_file(folder / "s.toml").hash]
        (elsewhere / "far_cc" / "deep_cc.py").write_text("SIZE = 9\n")
        found.append(wifair.Scenario.from_file(folder / "s.toml").hash)
        (elsewhere / "far_cc" / "__init__.py").write_text("x = 1\n")
        found.append(wifair.Scenario.from_file(folder / "s.toml").hash)
        assert len(set(found)) == 3
        assert "far_cc" not in sys.modules
        new = goodput(folder, "out")

        helper = elsewhere / "far_cc" / "deep_cc.py"
        helper.write_text("SIZE = 3\n")
        with pytest.raises(wifair.ScenarioError, match=r"deep_cc\.py` has changed"):
            goodput(folder, "out")
        importlib.reload(sys.modules["far_cc.deep_cc"])
        with pytest.raises(wifair.ScenarioError, match="`mine_cc` still has what it imported"):
            goodput(folder, "out")
        importlib.reload(sys.modules["mine_cc"])
        assert goodput(folder, "out") != new
    finally:
        sys.path.remove(str(elsewhere))


def test_installed_packages_count_by_their_version(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from wifair.extensions import class_sources  # noqa: PLC0415

    (folder / "mine_cc.py").write_text("import json\nimport numpy\n" + MINE.format(window=2))
    before = wifair.Scenario.from_file(folder / "s.toml").hash
    assert wifair.Scenario.from_file(folder / "s.toml").hash == before
    monkeypatch.setattr(class_sources, "_version", lambda top: f"other {top}")
    assert wifair.Scenario.from_file(folder / "s.toml").hash != before


def test_a_module_imported_before_wifair_and_edited_is_refused(folder: Path) -> None:
    (folder / "helper_cc.py").write_text("SIZE = 2\n")
    (folder / "mine_cc.py").write_text("from helper_cc import SIZE\n" + MINE.format(window="SIZE"))
    code = """\
        import pathlib
        import helper_cc
        import wifair
        pathlib.Path("helper_cc.py").write_text("SIZE = 9\\n# edited\\n")
        try:
            wifair.run("s.toml")
        except wifair.ScenarioError as error:
            print(error)
        """
    done = subprocess.run(
        [sys.executable, "-c", dedent(code)], cwd=folder, capture_output=True, text=True, timeout=60, check=True
    )
    assert "helper_cc.py` has changed since `helper_cc` was imported" in done.stdout


def test_processes_that_load_an_edited_class_are_refused(folder: Path) -> None:
    from concurrent.futures import Future, ThreadPoolExecutor  # noqa: PLC0415

    mine = folder / "mine_cc.py"
    mine.write_text(MINE.format(window=2))

    class Late(ThreadPoolExecutor):
        def submit(self, *arguments: Any, **more: Any) -> Future[Any]:
            mine.write_text(MINE.format(window=9))
            return super().submit(*arguments, **more)

    with Late(1) as executor, pytest.raises(wifair.StoppedError, match="the source of mine_cc:Window is not what was"):
        wifair.sweep(folder / "s.toml", seeds=[1], out=folder / "out", executor=executor)
    with Store(folder / "out", create=False) as store:
        assert store.count() == 0


NOTEBOOK = """\
    import sys, json
    import wifair
    SIZE = {size}
    def size():
        return SIZE + {more}
    class Window(wifair.CongestionControl):
        def on_ack(self, ack):
            self.cwnd = size()
        def on_loss(self, loss):
            pass
    s = wifair.Scenario.from_file("s.toml").with_({{"flows.tcp.cc": Window}})
    first = s.hash
    run = wifair.run(s)
    SIZE += 1
    print(json.dumps([first, s.hash, run.to_dict()["scenario"]["hash"]]))
    """


def test_what_a_class_of_a_notebook_refers_to_is_part_of_the_hash(folder: Path) -> None:
    (folder / "mine_cc.py").write_text(MINE.format(window=2))

    def hashes(size: int, more: int) -> list[str]:
        text = dedent(NOTEBOOK).format(size=size, more=more)
        done = subprocess.run(
            [sys.executable, "-i"],
            input=text.replace("\nclass", "\n\nclass")
            .replace("\ns =", "\n\ns =")
            .replace("\nclass Window", "\nclass Window"),
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        return [str(one) for one in json.loads(done.stdout)]

    one, later, ran = hashes(2, 0)
    assert one == ran != later
    assert hashes(2, 0)[0] == one, "the same code has the same hash in another session"
    assert hashes(3, 0)[0] == later, "and so have the same values"
    assert len({one, later, hashes(2, 1)[0]}) == 3


def test_classes_of_a_function_are_told_apart_by_its_arguments(folder: Path) -> None:
    (folder / "mine_cc.py").write_text(MINE.format(window=2))

    def make(window: int) -> type[wifair.CongestionControl]:
        class Window(wifair.CongestionControl):
            def on_ack(self, ack: wifair.Ack) -> None:  # noqa: ARG002
                self.cwnd = window

            def on_loss(self, loss: Any) -> None:
                pass

        return Window

    base = wifair.Scenario.from_file(folder / "s.toml")
    small, large, again = (base.with_({"flows.tcp.cc": make(window)}) for window in (2, 9, 2))
    assert small.hash == again.hash != large.hash
    got = [float(wifair.run(one).cells["goodput_bps"][0]) for one in (small, large, again)]
    assert got[0] == got[2] < got[1] / 2


def test_a_class_that_its_module_no_longer_has_is_refused(folder: Path) -> None:
    (folder / "mine_cc.py").write_text(MINE.format(window=2))
    old = importlib.import_module("mine_cc").Window
    importlib.reload(sys.modules["mine_cc"])
    with pytest.raises(wifair.ScenarioError, match="`Window` is not the class that `mine_cc` has now"):
        wifair.Scenario.from_file(folder / "s.toml").with_({"flows.tcp.cc": old})


TUNED = """\
import wifair

GAIN = 2
TABLE = {"gain": 2}
calls = 0

def gain():
    return GAIN

""" + MINE.format(window="gain() + TABLE['gain'] + self.more").removeprefix("import wifair\n\n").replace(
    "    def on_ack(self, ack):\n",
    "    more = 1\n\n    def on_ack(self, ack):\n        global calls\n        calls += 1\n",
)


def test_values_set_on_a_module_from_outside_are_part_of_the_hash(folder: Path) -> None:
    (folder / "mine_cc.py").write_text(TUNED)
    base = wifair.Scenario.from_file(folder / "s.toml")
    unloaded = base.hash
    old = goodput(folder, "out")
    mine: Any = importlib.import_module("mine_cc")
    assert mine.calls > 0
    assert base.hash == unloaded, "what the module counts itself does not matter"
    found = {unloaded}
    mine.GAIN = 9
    found.add(base.hash)
    assert goodput(folder, "out") > 2 * old
    mine.GAIN = 2
    assert base.hash == unloaded
    assert goodput(folder, "out") == old, "and it was not computed under another's hash"
    mine.TABLE["gain"] = 9
    found.add(base.hash)
    mine.TABLE["gain"] = 2
    mine.Window.more = 9
    found.add(base.hash)
    mine.Window.more = 1
    whole = mine.gain
    mine.gain = lambda: 9
    found.add(base.hash)
    mine.gain = whole
    assert base.hash == unloaded
    assert len(found) == 5
    with Store(folder / "out", create=False) as store:
        assert store.count() == 2


def test_a_module_with_an_alias_of_numpys_arrays_is_loaded(folder: Path) -> None:
    """``NDArray[np.float64]`` hands on the methods of arrays, and is none."""
    alias = "import numpy as np\nfrom numpy.typing import NDArray\nValues = NDArray[np.float64]\n"
    (folder / "mine_cc.py").write_text(alias + MINE.format(window=2))
    before = wifair.Scenario.from_file(folder / "s.toml").hash
    importlib.import_module("mine_cc")
    assert wifair.Scenario.from_file(folder / "s.toml").hash == before


def test_values_set_from_outside_do_not_reach_other_processes(folder: Path) -> None:
    (folder / "mine_cc.py").write_text(TUNED)
    mine: Any = importlib.import_module("mine_cc")
    mine.Window.more = 9
    match = r"`mine_cc\.Window\.more` was set after `mine_cc` was loaded"
    with ProcessPoolExecutor(1) as executor, pytest.raises(wifair.ScenarioError, match=match):
        wifair.sweep(folder / "s.toml", seeds=[1, 2], out=folder / "out", executor=executor)


def test_values_of_a_module_imported_before_wifair_are_part_of_the_hash(folder: Path) -> None:
    (folder / "helper_cc.py").write_text("SIZE = 2\n")
    (folder / "mine_cc.py").write_text("import helper_cc\n" + MINE.format(window="helper_cc.SIZE"))
    code = """\
        import helper_cc
        import wifair
        s = wifair.Scenario.from_file("s.toml")
        before = s.hash
        wifair.run(s)
        assert s.hash == before
        helper_cc.SIZE = 9
        assert s.hash != before
        """
    subprocess.run([sys.executable, "-c", dedent(code)], cwd=folder, timeout=60, check=True)

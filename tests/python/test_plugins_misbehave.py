"""User classes that misbehave: named errors, an end by Ctrl-C, a time limit; reading a scenario runs no code."""

from __future__ import annotations

import _thread
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
import wifair
from click.testing import CliRunner
from wifair.cli import main
from wifair.sweeps import Key, Store, compute
from wifair.sweeps.compute import _Fixed
from wifair.sweeps.engines import Threads
from wifair.sweeps.work import Work


@pytest.fixture
def scenario(text: str) -> wifair.Scenario:
    return wifair.Scenario.from_text(text)


def control(body: str) -> type:
    space: dict[str, type] = {}
    exec(f"import wifair\nclass Bad(wifair.CongestionControl):\n    {body}\n", space)
    return space["Bad"]


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("-3", "cwnd is -3: it must be above 0 and at most 2**30 segments"),
        ("0", "cwnd is 0: it must be above 0"),
        ("1e12", "cwnd is 1000000000000: it must be above 0 and at most 2**30 segments"),
        ("float('inf')", "cwnd is inf: it must be a finite number of segments"),
    ],
)
def test_an_impossible_window_is_an_error(scenario: wifair.Scenario, value: str, says: str) -> None:
    bad = control(f"def on_ack(self, ack): self.cwnd = {value}")
    with pytest.raises(wifair.ExtensionError) as caught:
        wifair.run(scenario.with_({"flows.up.tcp.cc": bad}))
    assert says in str(caught.value)
    assert (caught.value.method, caught.value.place) == ("Bad.on_ack", "flow up1")
    assert caught.value.time_s > 0
    worse = control("def on_ack(self, ack): self.ssthresh = -1")
    with pytest.raises(wifair.ExtensionError, match=r"Bad.on_ack of flow up\d raised .* ssthresh is -1"):
        wifair.run(scenario.with_({"flows.up.tcp.cc": worse}))


class Hoard(wifair.QueueDiscipline):
    """Never gives a packet back."""

    def __init__(self) -> None:
        self.held: list[wifair.Packet] = []

    def enqueue(self, packet: wifair.Packet) -> None:
        if self.fits(packet):
            self.held.append(packet)
        else:
            self.drop(packet)

    def dequeue(self) -> None:
        return None


class Overfull(Hoard):
    """Keeps more than its limit."""

    def enqueue(self, packet: wifair.Packet) -> None:
        self.held.append(packet)


@pytest.mark.parametrize("until", ["float('inf')", "float('-inf')", "float('nan')", "1e300", "3700.0"])
def test_a_queue_over_its_limit_is_an_error(scenario: wifair.Scenario, until: str) -> None:
    space: dict[str, Any] = {"Hoard": Hoard}
    exec(f"class Late(Hoard):\n    def dequeue(self): self.ready_s = {until}", space)
    with pytest.raises(wifair.ExtensionError, match=r"ready_s is .*: it must be a time, at most 3600 s after"):
        wifair.run(scenario.with_({"ap.queue.discipline": space["Late"]}))


def test_a_module_that_exits_when_it_is_imported(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "leaves.py").write_text("import sys\nsys.exit('no licence')\n")
    monkeypatch.syspath_prepend(tmp_path)
    scenario = wifair.Scenario.from_text(text).with_({"flows.up.tcp.cc": "leaves:X"})
    with pytest.raises(wifair.ScenarioError, match="cannot import `leaves`: SystemExit: no licence"):
        wifair.run(scenario)


def test_a_queue_that_never_gives_packets_back(scenario: wifair.Scenario) -> None:
    with pytest.raises(wifair.ExtensionError) as caught:
        wifair.run(scenario.with_({"ap.queue.discipline": Hoard, "duration": "20 s"}))
    assert "dequeue has given nothing for 1 s though" in str(caught.value)
    assert caught.value.method == "Hoard.dequeue"
    with pytest.raises(wifair.ExtensionError, match="its limit is 2 packets: drop some"):
        wifair.run(scenario.with_({"ap.queue.discipline": Overfull, "ap.queue.limit": "2 packets"}))


SPIN = """\
import time
import wifair
print("imported", flush=True)


class Spin(wifair.CongestionControl):
    def on_ack(self, ack):
        while True:
            pass


class Sleep(wifair.CongestionControl):
    def on_ack(self, ack):
        time.sleep(100)
"""


@pytest.fixture
def spinning(file: Path, tmp_path: Path) -> Path:
    (tmp_path / "side.py").write_text(SPIN)
    path = tmp_path / "spin.toml"
    path.write_text(file.read_text() + 'tcp.cc = "side:Spin"\n')
    return path


@pytest.mark.alone
@pytest.mark.parametrize("name", ["Spin", "Sleep"])
@pytest.mark.parametrize("command", ["run", "sweep"])
def test_the_first_ctrl_c_ends_a_method_that_does_not_return(
    spinning: Path, tmp_path: Path, command: str, name: str
) -> None:
    spinning.write_text(spinning.read_text().replace("side:Spin", f"side:{name}"))
    arguments = ["sweep", spinning, "--out", tmp_path / "out"] if command == "sweep" else ["run", spinning]
    process = subprocess.Popen(
        [sys.executable, "-m", "wifair", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "imported\n"
    time.sleep(0.5)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    assert "interrupted" in err
    assert "Traceback" not in err
    assert time.monotonic() - began < 5  # about one second, on a computer with nothing else to do


def test_waiting_for_runs_ends_if_the_signal_is_handled_late(tmp_path: Path) -> None:
    """As when the thread that handles Ctrl-C gets Python's lock late, because a method does not return."""
    with Store(tmp_path / "out") as store:
        engine = Threads(1)
        work = Work(store, _Fixed([], []), engine)
        late = threading.Timer(30.0, lambda: work._arrived.put((Key("", 0), Future())))
        before = signal.signal(signal.SIGALRM, lambda *_: time.sleep(0.3))
        late.start()
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            work._take_in(0.2)
            assert late.is_alive()
        finally:
            late.cancel()
            signal.signal(signal.SIGALRM, before)
            engine.close()


def test_the_lowest_failing_seed_is_reported(scenario: wifair.Scenario) -> None:
    """Not the one that fails first by the clock: here that is another seed, whose thread the first one waits for."""
    others = threading.Event()

    class Late(wifair.CongestionControl):
        def on_ack(self, ack: wifair.Ack) -> None:
            if threading.current_thread().name == "wifair-0":
                others.wait(20)
                time.sleep(0.1)
            others.set()
            raise ValueError(f"always, as at {ack.segments} segments")

    for seeds in ([1, 2], [7, 3]):
        others.clear()
        with pytest.raises(wifair.ExtensionError) as caught:
            wifair.run(scenario.with_({"flows.up.tcp.cc": Late}), seeds=seeds, threads=2)
        assert caught.value.seed == seeds[0]


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_while_earlier_seeds_still_run_reports_the_failure(scenario: wifair.Scenario) -> None:
    press = threading.Timer(0.5, _thread.interrupt_main)

    class Slow(wifair.CongestionControl):
        def on_ack(self, ack: wifair.Ack) -> None:
            if threading.current_thread().name == "wifair-1":
                press.start()
                raise ValueError(f"the later one, of {ack.segments} segments")
            time.sleep(0.01)

    with pytest.raises(wifair.ExtensionError, match="the later one"):
        wifair.run(scenario.with_({"flows.up.tcp.cc": Slow, "duration": "3000 s"}), seeds=[1, 2], threads=2)
    press.cancel()


@pytest.mark.alone
def test_a_run_over_its_time_limit_has_failed(scenario: wifair.Scenario, tmp_path: Path) -> None:
    spin = control("def on_ack(self, ack):\n        while True: pass")
    endless = scenario.with_({"duration": "10000000 s"})
    runs = [(scenario, 1), (scenario.with_({"flows.up.tcp.cc": spin}), 1), (endless, 1)]
    began = time.monotonic()
    done = compute(runs, tmp_path / "out", threads=3, time_limit="1 s")
    assert time.monotonic() - began < 10
    assert done.figures["seed"].tolist() == [1]
    assert [failure.message.partition(": ")[0] for failure in done.failures] == [
        "it took longer than the time limit of 1 s"
    ] * 2
    with Store(tmp_path / "out") as store:
        assert (store.count(), store.count("failed")) == (1, 2)


def test_reading_runs_no_code_of_the_user(spinning: Path, tmp_path: Path) -> None:
    def call(*arguments: str | Path) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "wifair", *map(str, arguments)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    dry = call("sweep", spinning, "--vary", "stations.count=1,2", "--dry-run")
    assert "imported" not in dry
    assert "is not known" in dry
    assert "imported" not in call("check", spinning, "--json")
    assert "imported" not in call("check", spinning, "--resolved")
    assert "imported" not in call("schema")
    (tmp_path / "out").mkdir()
    with Store(tmp_path / "out"):
        pass
    assert "imported" not in call("results", tmp_path / "out", "--failed")


def test_a_changed_source_changes_the_scenario_hash(spinning: Path, tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("STEP = 1\n")
    (tmp_path / "side.py").write_text("import wifair\nfrom helper import STEP\n" + SPIN)
    before = wifair.Scenario.from_file(spinning).hash
    assert wifair.Scenario.from_file(spinning).hash == before
    (tmp_path / "helper.py").write_text("STEP = 2\n")
    changed = wifair.Scenario.from_file(spinning).hash
    assert changed != before, "what the module imports from beside it counts"
    (tmp_path / "side.py").write_text(SPIN + "\n")
    assert wifair.Scenario.from_file(spinning).hash not in (before, changed)


def test_a_missing_module_is_named(spinning: Path, tmp_path: Path) -> None:
    (tmp_path / "side.py").unlink()
    answer = CliRunner().invoke(main, ["sweep", str(spinning), "--vary", "stations.count=1,2", "--dry-run"])
    assert answer.exit_code == 2
    assert "cannot import `side`" in answer.stderr

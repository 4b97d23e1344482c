"""User classes: congestion controls and queues in Python, in runs, sweeps and other processes."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import deque
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, ClassVar

import pytest
import wifair

EXAMPLES = Path(__file__).parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))

from station_turns import SCENARIO as CELL  # noqa: E402
from station_turns import StationTurns  # noqa: E402
from vegas_fair import SCENARIO  # noqa: E402


@pytest.fixture
def scenario(text: str) -> wifair.Scenario:
    return wifair.Scenario.from_text(text)


def tables(results: wifair.Results) -> list[str]:
    """Everything that runs measured, as text: equal texts are equal bytes."""
    parts = [results.cells, results.flows, results.stations, results.sessions, results.series]
    return [part.to_csv() for part in parts if part is not None]


def same(one: wifair.Scenario, other: wifair.Scenario, seeds: Any = (1, 2)) -> None:
    assert tables(wifair.run(one, seeds=seeds, series="100 ms")) == tables(
        wifair.run(other, seeds=seeds, series="100 ms")
    )


class Reno(wifair.CongestionControl):
    """RFC 5681, written out."""

    increase = 1.0
    wants_every_rtt = False  # Karn's algorithm is enough

    def on_ack(self, ack: wifair.Ack) -> None:
        if ack.window_limited and not ack.in_recovery:
            self.cwnd += ack.segments if self.cwnd < self.ssthresh else self.increase * ack.segments / self.cwnd

    def on_loss(self, in_flight: float) -> None:
        self.cwnd = self.ssthresh = max(in_flight / 2, 2.0)

    def on_timeout(self, in_flight: float) -> None:
        self.on_loss(in_flight)
        self.cwnd = 1.0


class Plain(wifair.CongestionControl):
    """Overrides nothing."""

    wants_every_rtt = False


class Fifo(wifair.QueueDiscipline):
    """Drop-tail."""

    def __init__(self) -> None:
        self.line: deque[wifair.Packet] = deque()

    def enqueue(self, packet: wifair.Packet) -> None:
        if self.fits(packet):
            self.line.append(packet)
        else:
            self.drop(packet)

    def dequeue(self) -> wifair.Packet | None:
        return self.line.popleft() if self.line else None


class Marking(Fifo):
    """Marks each packet that finds another one in the queue, on arrival or on departure."""

    marks = 0
    late = False

    def enqueue(self, packet: wifair.Packet) -> None:
        super().enqueue(packet)
        if not self.late and len(self.line) > 1 and packet.mark():
            Marking.marks += 1

    def dequeue(self) -> wifair.Packet | None:
        packet = super().dequeue()
        if self.late and packet is not None and self.line and packet.mark():
            Marking.marks += 1
        return packet


class MarkingLate(Marking):
    late = True


@pytest.mark.parametrize("discipline", [Marking, MarkingLate])
def test_marks_by_a_class_are_counted(discipline: type[Marking]) -> None:
    Marking.marks = 0
    cell = {"duration": "5 s", "wlan": {"standard": "802.11b"}, "stations": [{"name": "sta"}]}
    flow = {"name": "f", "station": "sta", "direction": "down", "tcp": {"ecn": True}}
    servers = [{"name": "server", "delay": "5 ms"}]
    marking = wifair.Scenario.from_dict({**cell, "servers": servers, "flows": [flow]})
    results = wifair.run(marking.with_({"ap.queue.discipline": discipline, "ap.queue.limit": "30 packets"}), seeds=1)
    assert sum(row["queue_marks"] for row in results.stations.to_dicts()) == Marking.marks > 0


class MarkThenDrop(Fifo):
    """Marks the fortieth segment and drops the one that follows the next."""

    count = 0

    def enqueue(self, packet: wifair.Packet) -> None:
        self.count += packet.payload > 0
        if self.count == 40:
            packet.mark()
        if self.count == 42:
            self.count += 1
            self.drop(packet)
        else:
            super().enqueue(packet)


class Halving(Plain):
    """Notes what it is told; a mark is answered like a loss."""

    told: ClassVar[list[str]] = []

    def on_loss(self, in_flight: float) -> None:
        Halving.told.append("loss")
        super().on_loss(in_flight)


class Gentle(Halving):
    def on_ecn(self, in_flight: float) -> None:
        Halving.told.append("mark")
        self.cwnd = 0.9 * in_flight


class Ignoring(Halving):
    def on_ecn(self, _: float) -> None:
        Halving.told.append("mark")


class Counting(Gentle):
    wants_mark_per_packet = True


@pytest.mark.parametrize(
    ("control", "told"),
    [
        (Halving, ["loss"]),  # at the mark
        (Gentle, ["mark"]),
        (Ignoring, ["mark", "loss"]),
        (Counting, ["mark", "loss"]),  # RFC 8257, section 3.5
    ],
)
def test_a_mark_and_a_loss_of_one_window_reduce_once(control: type[Halving], told: list[str]) -> None:
    """RFC 3168, section 6.1.2: unless the class leaves the window as it is at a mark, or wants each mark."""
    Halving.told = []
    cell = {"duration": "3 s", "wlan": {"standard": "802.11g"}, "stations": [{"name": "sta"}]}
    tcp = {"ecn": True, "sack": True, "receive_window": "20 packets", "cc": control}
    flow = {"name": "f", "station": "sta", "direction": "down", "tcp": tcp}
    servers = [{"name": "server", "delay": "20 ms"}]
    scenario = wifair.Scenario.from_dict({**cell, "servers": servers, "flows": [flow]})
    results = wifair.run(scenario.with_({"ap.queue.discipline": MarkThenDrop}), seeds=1)
    assert (Halving.told, results.flows.to_dicts()[0]["retransmissions"] > 0) == (told, True)


def test_vegas_fair_in_python_gives_the_same_bytes() -> None:
    mine = wifair.Scenario.from_dict(SCENARIO)
    same(mine, mine.with_({"flows.tcp.cc": "vegas-fair"}))
    lossy = mine.with_({"wlan.data_error": 0.3, "duration": "20 s"})
    same(lossy, lossy.with_({"flows.tcp.cc": "vegas-fair"}))


@pytest.mark.parametrize("stack", ["ns2", "rfc", "modern"])
def test_reno_in_python_gives_the_same_bytes(scenario: wifair.Scenario, stack: str) -> None:
    base = scenario.with_({"flows.tcp.stack": stack, "wlan.data_error": 0.2, "wlan.short_retry_limit": 2})
    for mine in (Reno, Plain):
        same(base.with_({"flows.tcp.cc": mine}), base.with_({"flows.tcp.cc": "newreno"}))


@pytest.mark.parametrize("limit", ["5 packets", "9 kB"])
def test_fifo_in_python_gives_the_same_bytes_everywhere(scenario: wifair.Scenario, limit: str) -> None:
    base = scenario.with_({"ap.queue.limit": limit, "flows.direction": "down"})
    for owner in ("ap", "stations", "servers"):
        same(base.with_({f"{owner}.queue.discipline": Fifo}), base)


@pytest.mark.parametrize("space", ["", '[[space.paths]]\nfrom = "ap"\nto = "sta"\ngain = "-60 dB"\n'])
def test_a_fifo_in_python_gives_the_same_bytes_without_shortcuts(text: str, space: str) -> None:
    base = wifair.Scenario.from_text(text + space)
    mine = base.with_({"stations.queue.discipline": Fifo})
    assert tables(wifair.run(mine, fast_paths=False)) == tables(wifair.run(base))
    assert tables(wifair.run(mine, frames=True)) == tables(wifair.run(base))


def test_a_fifo_in_python_serves_a_station_with_two_categories(scenario: wifair.Scenario) -> None:
    base = scenario.with_({"ap.scheme.access": "edca"})
    same(base.with_({"stations.queue.discipline": Fifo}), base)


def test_a_class_is_named_in_files_overrides_and_sweeps(scenario: wifair.Scenario) -> None:
    name = f"{Reno.__module__}:Reno"
    by_class = scenario.with_({"flows.up.tcp.cc": Reno})
    by_name = scenario.with_({"flows.up.tcp.cc": name})
    by_table = scenario.with_({"flows.up.tcp.cc": "python", "flows.up.tcp.python.class": name})
    assert by_class == by_name == by_table
    assert by_class.hash == by_name.hash != scenario.hash
    again = wifair.Scenario.from_text(by_class.resolved)
    assert again.hash == by_class.hash
    faster = by_class.with_({"flows.up.tcp.python.parameters.increase": 3.0})
    assert faster.hash != by_class.hash
    runs = wifair.sweep(scenario, vary={"flows.tcp.cc": ["reno", Reno]}, seeds=[1])
    assert runs.figures["flows.tcp.cc"].tolist() == ["reno", name]
    steady = by_class.with_({"flows.up.tcp.initial_ssthresh": "2 packets"})  # no slow start
    swept = wifair.sweep(steady, vary={"flows.up.tcp.python.parameters.increase": [1.0, 3.0]}, seeds=[1])
    assert len(set(swept.figures["goodput_bps"].tolist())) == 2


def test_parameters_reach_attributes_or_init(scenario: wifair.Scenario) -> None:
    seen: list[tuple[Any, ...]] = []

    class Own(wifair.CongestionControl):
        def __init__(self, name: str, numbers: list[float], flag: bool = False) -> None:
            seen.append((name, numbers, flag, self.cwnd, self.mss))

    set_ = {"parameters": {"name": "x", "numbers": [1, 2.5], "flag": True}}
    wifair.run(scenario.with_({"flows.up.tcp.cc": Own, "flows.up.tcp.python": {**set_}}), seeds=[1])
    assert seen == [("x", [1, 2.5], True, 3.0, 1460.0)] * 2  # RFC 5681, section 3.1: three segments of 1460 B
    wrong = scenario.with_({"flows.up.tcp.cc": Reno, "flows.up.tcp.python.parameters.incraese": 2.0})
    with pytest.raises(wifair.ExtensionError, match=r"Reno has no parameter `incraese`"):
        wifair.run(wrong, seeds=[1])


class Late(Reno):
    """Fails some time after the start."""

    def on_ack(self, ack: wifair.Ack) -> None:
        super().on_ack(ack)
        if ack.now_s > 1.5:
            raise KeyError("lost")


def test_an_exception_stops_the_run_and_names_class_method_flow_and_time(scenario: wifair.Scenario) -> None:
    with pytest.raises(wifair.ExtensionError) as caught:
        wifair.run(scenario.with_({"flows.up.tcp.cc": Late}), seeds=[7])
    error = caught.value
    text = str(error)
    assert text.startswith("Late.on_ack of flow up")
    first, place, line = text.splitlines()
    assert first.endswith("s of the run with seed 7: 'lost'")
    assert re.fullmatch(r"  --> .*test_extending\.py:\d+, in on_ack", place)
    assert line.endswith(' | raise KeyError("lost")')
    assert "raised KeyError at 1.50" in text
    assert (error.method, error.seed) == ("Late.on_ack", 7)
    assert 1.5 < error.time_s < 1.6
    assert isinstance(error.__cause__, KeyError)
    assert error.__cause__.__traceback__ is not None
    runs = wifair.sweep(scenario, vary={"flows.tcp.cc": ["reno", Late]}, seeds=[1])
    assert [failure.message.partition(" of ")[0] for failure in runs.failures] == ["ExtensionError: Late.on_ack"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("def on_ack(self, ack): self.cwnd = float('nan')", "cwnd is NaN: it must be a finite number of segments"),
        ("def on_ack(self, ack): self.ssthresh = float('nan')", "ssthresh is nan"),
        ("def on_ack(self, ack): self.cwnd = -1.0", "cwnd is -1: it must be above 0"),
        ("def on_akc(self, ack): pass", "nothing calls or reads `on_akc` of Bad: did you mean `on_ack`?"),
        ("wants_rate_sample = True", "did you mean `wants_rate_samples`?"),
        ("def on_ack(self, ack): self.pacing_rate_bps = 0.0", "pacing_rate_bps must be above 0, or None"),
        ("def on_ack(self): pass", "takes 1 positional argument but 2 were given"),
        ("def __init__(self): raise OSError('no')", r"\.__init__ of flow up1? raised OSError at 0.000000 s"),
    ],
)
def test_invalid_windows_of_a_congestion_control_are_refused(
    scenario: wifair.Scenario, body: str, message: str
) -> None:
    space: dict[str, Any] = {"wifair": wifair, "__name__": __name__}
    exec(f"class Bad(wifair.CongestionControl):\n    {body}\n", space)
    with pytest.raises((wifair.ExtensionError, wifair.ScenarioError), match=message):
        wifair.run(scenario.with_({"flows.tcp.cc": space["Bad"]}), seeds=[1])


@pytest.mark.parametrize(
    ("enqueue", "dequeue", "message"),
    [
        ("self.last = packet", "return 5", "dequeue gave a int: expected a packet, or None"),
        ("self.last = packet", "return self.last", "which is not in this queue"),
        ("self.drop(packet); self.drop(packet)", "return None", "is not in this queue"),
        ("self.ready_s = float('nan')", "return None", "ready_s is nan"),
        ("raise ValueError", "return None", r"enqueue of the queue of ap raised ValueError at \d"),
    ],
)
def test_invalid_actions_of_a_queue_are_refused(
    scenario: wifair.Scenario, enqueue: str, dequeue: str, message: str
) -> None:
    space: dict[str, Any] = {"wifair": wifair, "__name__": __name__}
    body = f"def enqueue(self, packet): {enqueue}\n    def dequeue(self): {dequeue}"
    exec(f"class Bad(wifair.QueueDiscipline):\n    {body}\n", space)
    with pytest.raises(wifair.ExtensionError, match=message):
        wifair.run(scenario.with_({"ap.queue.discipline": space["Bad"]}), seeds=[1])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_module:A", "cannot import `no_such_module`: No module named 'no_such_module'"),
        ("mine.py:A", "No module named 'mine': write the name of the module, `mine`"),
        ("os:Nothing", "module `os` has no class `Nothing`"),
        ("collections:deque", "`collections:deque` is no subclass of wifair.CongestionControl"),
        (f"{__name__}:Fifo", "is no subclass of wifair.CongestionControl"),
        (":A", "unknown cc `:A`"),
    ],
)
def test_an_unusable_class_is_refused(scenario: wifair.Scenario, name: str, message: str) -> None:
    with pytest.raises(wifair.ScenarioError, match=message):
        wifair.run(scenario.with_({"flows.up.tcp.cc": name}), seeds=[1])


def test_reading_a_scenario_runs_no_code(scenario: wifair.Scenario, tmp_path: Path) -> None:
    (tmp_path / "trap.py").write_text("raise SystemExit('it ran')\n")
    file = tmp_path / "trap.toml"
    file.write_text(scenario.with_({"flows.up.tcp.cc": "trap:Trap"}).resolved)
    assert "trap:Trap" in wifair.Scenario.from_file(file).resolved


def test_the_command_finds_a_class_beside_the_scenario(scenario: wifair.Scenario, tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("import wifair\n\n\nclass Mine(wifair.CongestionControl):\n    pass\n")
    file = tmp_path / "mine.toml"
    file.write_text(scenario.with_({"flows.up.tcp.cc": "beside:Mine"}).resolved)
    command = [sys.executable, "-m", "wifair", "run", str(file), "--seeds", "1", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
    assert done.returncode == 0, done.stderr


def test_runs_do_not_depend_on_threads_or_processes(scenario: wifair.Scenario) -> None:
    mine = scenario.with_({"flows.up.tcp.cc": Reno, "ap.queue.discipline": Fifo, "duration": "2 s"})
    one, four = (tables(wifair.run(mine, seeds=range(1, 5), threads=threads)) for threads in (1, 4))
    assert one == four
    by_threads = wifair.sweep(mine, vary={"stations.count": [1, 2]}, seeds=[1, 2], threads=2)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        by_processes = wifair.sweep(mine, vary={"stations.count": [1, 2]}, seeds=[1, 2], executor=pool)
    assert not by_processes.failures
    assert by_processes.figures.to_csv() == by_threads.figures.to_csv()


def test_classes_that_other_processes_cannot_find_are_refused(scenario: wifair.Scenario) -> None:
    class Local(wifair.CongestionControl):
        pass

    mine = scenario.with_({"flows.up.tcp.cc": Local, "duration": "2 s"})
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
        pytest.raises(wifair.ScenarioError, match=r"other processes cannot find `.*Local`: it was defined in a func"),
    ):
        wifair.sweep(mine, seeds=[1], executor=pool)
    with ThreadPoolExecutor(2) as threads:
        assert not wifair.sweep(mine, seeds=[1], executor=threads).failures


class Draws(wifair.CongestionControl):
    """Each connection draws its own random numbers."""

    drawn: list[float] = []  # noqa: RUF012

    def __init__(self) -> None:
        Draws.drawn.append(self.random.random())


def test_random_numbers_follow_the_seed_alone(scenario: wifair.Scenario) -> None:
    drawn = []
    for seed in (1, 1, 2):
        Draws.drawn.clear()
        wifair.run(scenario.with_({"flows.up.tcp.cc": Draws, "duration": "2 s"}), seeds=[seed])
        drawn.append(tuple(Draws.drawn))
    assert drawn[0] == drawn[1] != drawn[2]
    assert drawn[0][0] != drawn[0][1]


def test_a_test_can_make_the_arguments_of_callbacks() -> None:
    cc = Reno()
    assert (cc.cwnd, cc.ssthresh) == (2.0, float("inf"))
    cc.on_ack(wifair.Ack(una=1000, nxt=3000, rtt_s=0.1))
    assert cc.cwnd == 3.0  # slow start: one segment more
    queue = StationTurns()
    queue.enqueue(wifair.Packet(station=3, flow=1))
    assert queue.dequeue() is not None
    with pytest.raises(ValueError, match="kind `video`: expected data, ack, udp, routing, icmp"):
        wifair.Packet(kind="video")  # type: ignore[arg-type]


def test_a_queue_that_holds_packets_back_is_asked_again(scenario: wifair.Scenario) -> None:
    class Paced(Fifo):
        """One packet each 10 ms."""

        next_s = 0.0

        def dequeue(self) -> wifair.Packet | None:
            if self.now_s < self.next_s:
                self.ready_s = self.next_s
                return None
            self.ready_s, self.next_s = 0.0, self.now_s + 0.01
            return super().dequeue()

    down = scenario.with_({"flows.direction": "down", "ap.queue.discipline": Paced, "duration": "6 s"})
    goodput = wifair.run(down, seeds=[1]).cells["goodput_bps"][0]
    # At most 100 packets of 1460 B a second.
    assert 0.9 * 1.168e6 < goodput <= 1.168e6 * 1.01


def test_the_new_queue_shares_among_uploads_and_downloads() -> None:
    """With five stations it makes no difference: over twelve seeds the index changes by -0.002 +- 0.009."""
    cell = wifair.Scenario.from_dict(CELL).with_({"duration": "10 s", "stations.count": 20})
    both = [wifair.run(cell.with_({"ap.queue.discipline": d}), seeds=[1, 2, 3]).cells for d in ("fifo", StationTurns)]
    fifo, turns = (cells["jain_index"] for cells in both)
    assert (turns > fifo).all()


def test_a_class_beside_its_scenario_is_found_by_all_threads_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One thread adds the folder to the path just after another has failed to find the class there."""
    from wifair.extensions import extending  # noqa: PLC0415

    (tmp_path / "beside_at_once.py").write_text("VALUE = 1\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    tries = []

    def find(name: str) -> object:
        tries.append(name)
        if len(tries) == 1:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return "found"

    monkeypatch.setattr("importlib.import_module", find)
    assert extending._import("beside_at_once", str(tmp_path)) == "found"

"""What access-point queues and schemes do to the kernel's TCP, each compared with a control without it."""

from __future__ import annotations

import json
import shlex
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import pytest
from emulating import WHY_NOT
from wifair import Scenario

pytestmark = [pytest.mark.alone, pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT or "emulation works here")]

SCRIPT = Path(__file__).parent.parent / "support" / "real_tcp.py"

CELL: dict[str, Any] = {
    "name": "a cell for real programs",
    "duration": "60 s",
    "warm_up": "0 s",
    "wlan": {"standard": "802.11g"},
    "servers": [{"name": "server", "delay": "5 ms"}],
    "stations": [{"name": "sta", "count": 4}],
}


class Seen(NamedTuple):
    """What programs reported, by file name, and what the emulation counted."""

    reports: dict[str, Any]
    packets: dict[str, Any]


class Cell:
    """An emulation in preparation: programs are added, then it runs."""

    def __init__(self, folder: Path, ap: dict[str, Any], **more: Any) -> None:
        from wifair.scenario import toml  # noqa: PLC0415

        self.folder = folder
        self.scenario = Scenario(toml.document({**CELL, "ap": ap, **more}), for_programs=True)
        self.servers: dict[tuple[str, int, str], None] = {}
        self.clients: list[tuple[str, str, bool]] = []

    def bulk(
        self,
        host: str,
        peer: str,
        kind: str,
        seconds: float,
        name: str,
        *,
        v6: bool = False,
        ecn: bool = False,
        dscp: int = 0,
    ) -> None:
        """Let `host` connect to `peer`, and send (`drain`), receive (`flood`), or both."""
        port = {"drain": 4001, "flood": 4002, "both": 4003}[kind]
        self.servers[(peer, port, kind)] = None
        address = f"{peer}.v6" if v6 else peer
        text = shlex.join(
            [*_python(), "bulk", address, str(port), kind, str(seconds), "reno", str(self.folder / name), str(dscp)]
        )
        self.clients.append((host, f"{self._ready(peer, port)} {text}", ecn))

    def fetch(self, host: str, peer: str, count: int, name: str) -> None:
        """Let `host` fetch pages."""
        self.servers[(peer, 4004, "pages")] = None
        text = shlex.join([*_python(), "fetch", peer, "4004", str(count), str(self.folder / name)])
        self.clients.append((host, f"sleep 1; {self._ready(peer, 4004)} {text}", False))

    def _ready(self, host: str, port: int) -> str:
        (self.folder / "ready").mkdir(exist_ok=True)
        return f"READY={shlex.quote(str(self.folder / 'ready' / f'{host}-{port}'))}"

    def run(self, **options: Any) -> Seen:
        """Emulate."""
        from wifair.emulation import Command, emulate  # noqa: PLC0415

        ecn = any(wanted for _, _, wanted in self.clients)
        allow = "echo 1 > /proc/sys/net/ipv4/tcp_ecn; " if ecn else ""
        serving = [
            Command(
                host,
                f"{allow}{self._ready(host, port)} {shlex.join([*_python(), 'serve', str(port), kind])}",
                serves=True,
            )
            for host, port, kind in self.servers
        ]
        commands = serving + [Command(host, allow + text) for host, text, _ in self.clients]
        done = emulate(self.scenario, commands, flows=False, at_once=True, **options)
        assert [one["status"] for one in done.commands if one["status"]] == [], done.commands
        assert done.ended == "commands"
        reports = {path.name: json.loads(path.read_text()) for path in self.folder.iterdir() if path.is_file()}
        return Seen(reports, done.packets)


def _python() -> list[str]:
    return [sys.executable, "-S", "-E", str(SCRIPT)]


def jain(values: list[float]) -> float:
    return sum(values) ** 2 / (len(values) * sum(value * value for value in values))


def folder(base: Path, name: str) -> Path:
    made = base / name
    made.mkdir()
    return made


def test_short_transfers_pass_a_long_one_with_las_and_fq_codel(tmp_path: Path) -> None:
    """A download fills the access point's queue. With FIFO every page waits behind it; with LAS and with FQ-CoDel none
    does. FQ-CoDel also keeps the queue of the download short, which LAS does not.
    """
    pages, queue = {}, {}
    for discipline in ("fifo", "las", "fq-codel"):
        cell = Cell(folder(tmp_path, discipline), {"queue": {"discipline": discipline, "limit": "200 packets"}})
        cell.bulk("sta1", "server", "flood", 4, "bulk")
        cell.fetch("sta2", "server", 8, "pages")
        # The server is the sender, so its kernel knows the round trip: ask it too.
        cell.bulk("server", "sta3", "drain", 4, "down")
        seen = cell.run()
        pages[discipline], queue[discipline] = median(seen.reports["pages"]), seen.reports["down"]["srtt_ms"]
        assert seen.reports["bulk"]["received_bps"] + seen.reports["down"]["sent_bps"] > 12e6, "the air is in use"
    assert pages["las"] < 0.6 * pages["fifo"], pages
    assert pages["fq-codel"] < 0.6 * pages["fifo"], pages
    assert queue["fq-codel"] < 0.6 * min(queue["fifo"], queue["las"]), queue


def test_airtime_fairness_acts_on_real_tcp(tmp_path: Path) -> None:
    """Downloads to a station at 54 Mb/s and one at 6 Mb/s. With FIFO goodput is equal (the anomaly of M. Heusse et al.,
    2003). With equal airtime the fast station gets several times as much: alone they would get 26 and 4.9 Mb/s, by
    hand. Each has four connections, because the goodput of a single one over four seconds varies by chance.
    """
    ratio = {}
    stations = [{"name": "fast"}, {"name": "slow", "data_rate": "6 Mb/s"}]
    for discipline in ("fifo", "airtime"):
        queue = {"discipline": discipline, "limit": "100 packets"}
        cell = Cell(folder(tmp_path, discipline), {"queue": queue}, stations=stations)
        for station in ("fast", "slow"):
            for number in range(4):
                cell.bulk("server", station, "drain", 4, f"{station}{number}")
        seen = cell.run().reports
        fast, slow = (sum(seen[f"{name}{number}"]["sent_bps"] for number in range(4)) for name in ("fast", "slow"))
        ratio[discipline] = fast / slow
    assert 0.5 < ratio["fifo"] < 2.0, ratio
    assert 3.0 < ratio["airtime"] < 10.0, ratio


@pytest.mark.parametrize(
    ("v6", "names"),
    [
        pytest.param(False, ["none", "b-over-n"], id="ipv4"),
        pytest.param(True, ["b-over-n"], id="ipv6"),
        pytest.param(False, ["none", "b-over-n", "wmax-over-n"], id="all, ipv4", marks=pytest.mark.slow),
        pytest.param(True, ["none", "b-over-n", "wmax-over-n"], id="all, ipv6", marks=pytest.mark.slow),
    ],
)
def test_windows_of_real_acks_are_rewritten(tmp_path: Path, v6: bool, names: list[str]) -> None:
    """Two uploads and two downloads share a buffer of 30 packets: the downloads starve (Pilosof et al., 2003). With B/n
    each sender's kernel is offered 7 segments, the buffer drops nothing, and all get about the same. Wmax/n with a
    given path of 100 ms and a service time of 1 ms offers (30 + 100) / 4 = 32.
    """
    schemes: dict[str, dict[str, Any]] = {
        "none": {},
        "b-over-n": {"scheme": {"window": "b-over-n"}},
        "wmax-over-n": {
            "scheme": {
                "window": "wmax-over-n",
                "wmax-over-n": {"rtt": "given", "given_rtt": "100 ms", "mu": "given", "service_time": "1 ms"},
            }
        },
    }
    found = {}
    for name in names:
        cell = Cell(folder(tmp_path, name), {"queue": {"limit": "30 packets"}, **schemes[name]})
        cell.bulk("sta1", "server", "drain", 4, "up1", v6=v6)
        cell.bulk("sta2", "server", "drain", 4, "up2", v6=v6)
        cell.bulk("server", "sta3", "drain", 4, "down1", v6=v6)
        cell.bulk("server", "sta4", "drain", 4, "down2", v6=v6)
        found[name] = seen = cell.run()
        assert all(one["kernel"]["TcpInCsumErrors"] == 0 for one in seen.reports.values())
        share = {"b-over-n": 30 // 4, "wmax-over-n": (30 + 100) // 4}.get(name)
        for one in seen.reports.values():
            assert one["mss"] == (1428 if v6 else 1448)
            scale = one["send_scale"]
            if share is None:
                assert one["send_window"] > 40 * one["mss"], "as the receiver offers"
            else:
                # Only while all four flows run; before and after there are fewer.
                assert share * one["mss"] >> scale << scale in one["windows"], "what the kernel of the sender read"
    goodputs = {name: [one["sent_bps"] for one in seen.reports.values()] for name, seen in found.items()}
    assert found["b-over-n"].packets["windows_changed"] > 1000
    assert found["b-over-n"].packets["lost"]["ap_queue"] == 0
    assert jain(goodputs["b-over-n"]) > 0.9, goodputs
    if "none" not in found:
        return
    assert found["none"].packets["windows_changed"] == 0
    assert found["none"].packets["lost"]["ap_queue"] > 0
    assert jain(goodputs["none"]) < jain(goodputs["b-over-n"]) - 0.1, goodputs


def test_both_windows_of_a_connection_are_rewritten(tmp_path: Path) -> None:
    """A connection with bulk data both ways: ACKs are piggybacked on data, and their windows are rewritten too."""
    for scheme in ({}, {"scheme": {"window": "b-over-n"}}):
        cell = Cell(folder(tmp_path, "with" if scheme else "without"), {"queue": {"limit": "20 packets"}, **scheme})
        cell.bulk("sta1", "server", "both", 3, "both")
        seen = cell.run(record=str(tmp_path / "packets.rec"))
        one = seen.reports["both"]
        assert one["sent_bps"] > 2e6
        assert one["received_bps"] > 2e6
        offered = _windows(tmp_path / "packets.rec")
        if scheme:
            assert one["send_window"] <= 20 * 1448
            assert all(max(windows[len(windows) // 2 :]) <= 20 * 1448 for windows in offered.values()), offered
        else:
            assert all(max(windows) > 40 * 1448 for windows in offered.values())


def _windows(recording: Path) -> dict[bytes, list[int]]:
    """Windows in bytes of the segments that arrived, by sender; the layout is that of the recorder."""
    data = recording.read_bytes()
    place = data.index(b"\n", data.index(b"\n") + 1) + 1
    scales: dict[bytes, int] = {}
    windows: dict[bytes, list[int]] = {}
    while place < len(data):
        kind, _, _, length, _ = struct.unpack_from("<BBHIQ", data, place)
        packet = data[place + 16 : place + 16 + length]
        place += 16 + length
        if kind != 2 or len(packet) < 40 or packet[9] != 6:
            continue
        head, source = packet[20:], packet[12:16]
        if head[13] & 2:
            options = head[20 : (head[12] >> 4) * 4]
            while options and options[0]:
                size = 1 if options[0] == 1 else options[1]
                if options[0] == 3:
                    scales[source] = options[2]
                options = options[size:]
        elif not head[13] & 4:
            (window,) = struct.unpack_from("!H", head, 14)
            windows.setdefault(source, []).append(window << scales[source])
    return windows


@pytest.mark.parametrize("v6", [False, True], ids=["ipv4", "ipv6"])
def test_congestion_marks_reach_the_kernel(tmp_path: Path, v6: bool) -> None:
    """CoDel marks packets that wait long if they are ECN-capable, and the kernels of both ends count the marks. It
    drops the packets of other senders.
    """
    queue = {"discipline": "codel", "limit": "200 packets"}
    for ecn in (True, False):
        made = folder(tmp_path, f"ecn-{ecn}")
        cell = Cell(made, {"queue": queue})
        # The station's kernel counts marked downlink packets; the upload's report has that count. The beginning
        # is left out, because slow start overruns the whole queue.
        cell.bulk("server", "sta1", "drain", 4, "down", v6=v6, ecn=ecn)
        cell.bulk("sta1", "server", "drain", 4, "up", v6=v6, ecn=ecn)
        seen = cell.run()
        down, up = seen.reports["down"], seen.reports["up"]
        marked = up["kernel"]["Ip6InCEPkts" if v6 else "IpExtInCEPkts"]
        if ecn:
            assert down["delivered_ce"] > 0, "the sender's kernel learnt of marks"
            assert 0 < marked <= seen.packets["marked"]
            assert down["late_retransmissions"] == 0
        else:
            assert marked == seen.packets["marked"] == down["delivered_ce"] == 0
            assert down["late_retransmissions"] > 0


@pytest.mark.skipif(shutil.which("tcpdump") is None, reason="needs tcpdump")
@pytest.mark.parametrize("v6", [False, True], ids=["ipv4", "ipv6"])
def test_tcpdump_finds_every_checksum_right(tmp_path: Path, v6: bool) -> None:
    """tcpdump reads the capture at a station, whose ACKs the access point has changed."""
    from wifair.simulation.taps import WHOLE_PACKETS, Pcap, plan_taps  # noqa: PLC0415

    cell = Cell(folder(tmp_path, "reports"), {"queue": {"limit": "20 packets"}, "scheme": {"window": "b-over-n"}})
    cell.bulk("sta1", "server", "drain", 2, "up", v6=v6)
    pcap = Pcap(str(tmp_path / "captures"), ("sta1",), WHOLE_PACKETS, "pcap", force=False)
    seen = cell.run(taps=plan_taps(cell.scenario, [1], pcap, frames=False)[1])
    assert seen.packets["windows_changed"] > 100
    command = ["tcpdump", "-nnvvr", str(tmp_path / "captures" / "sta1.pcap"), "tcp"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "incorrect" not in text
    assert "bad cksum" not in text
    assert text.count("(correct)") > 100


def test_the_dscp_of_real_packets_chooses_their_category(tmp_path: Path) -> None:
    """With 802.11n two uploads get the same while both are best effort. If one is marked as voice (46, RFC 8325) and
    the other as background (8), the first gets nearly everything.
    """
    ratio = {}
    for name, first, second in (("same", 0, 0), ("marked", 46, 8)):
        cell = Cell(folder(tmp_path, name), {}, wlan={"standard": "802.11n", "mcs": 1})
        cell.bulk("sta1", "server", "drain", 4, "first", dscp=first)
        cell.bulk("sta2", "server", "drain", 4, "second", dscp=second)
        seen = cell.run().reports
        ratio[name] = seen["first"]["sent_bps"] / max(1.0, seen["second"]["sent_bps"])
    assert 1 / 3 < ratio["same"] < 3, ratio
    assert ratio["marked"] > 3 * ratio["same"], ratio


@pytest.mark.parametrize("protocol", ["static", "dsdv"])
def test_real_packets_go_over_several_hops(protocol: str) -> None:
    """In a chain of four stations, each in range of its neighbours only, the inner ones forward real packets."""
    from wifair.emulation import Command, emulate  # noqa: PLC0415
    from wifair.scenario import toml  # noqa: PLC0415
    from wifair.simulation.taps import plan_taps  # noqa: PLC0415

    chain: dict[str, Any] = {
        "name": "chain",
        "duration": "60 s",
        "warm_up": "0 s",
        "wlan": {"standard": "802.11b"},
        "space": {"mode": "ad-hoc", "profile": "ns2"},
        "routing": {"protocol": protocol},
        "stations": [{"name": "node", "count": 4, "layout": "chain"}],
    }
    scenario = Scenario(toml.document(chain), for_programs=True)
    # DSDV first has to learn the route.
    wait = "sleep 1; until ping -q -c 1 -W 1 node4; do sleep 0.2; done; " if protocol == "dsdv" else ""
    command = Command("node1", f"{wait}ping -q -c 5 -i 0.2 -s 777 node4.v6")
    done = emulate(scenario, [command], taps=plan_taps(scenario, [1], None, frames=True)[1])
    assert [one["status"] for one in done.commands] == [0]
    frames = done.results.frames
    assert frames is not None
    size = 777 + 8 + 40 + 36
    chosen = (frames["kind"] == "data") & (frames["length_bytes"] == size) & (frames["fate"] == "received")
    counts = [int((chosen & (frames["sender"] == f"node{n}")).sum()) for n in (1, 2, 3, 4)]
    assert counts == [5, 10, 10, 5], counts

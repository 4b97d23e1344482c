"""Parts of a measurement, each against values known in advance."""

from __future__ import annotations

import math
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import wifair
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from testbed import SECRET
from wifair._kernel_tcp import FIELDS, TcpInfo, kernel_has, parse_tcp_info, tcp_info
from wifair.cli import main
from wifair.optional.measure import wireless
from wifair.optional.measure.clock import Ping, skew
from wifair.optional.measure.figures import outcome, window
from wifair.optional.measure.plan import Plan
from wifair.optional.measure.recorder import MOST_SAMPLES, Recorder
from wifair.optional.measure.results import Measurement
from wifair.optional.measure.wireless import Radio, interface_of

EXAMPLE = Path(__file__).parents[3] / "examples" / "measure" / "kemerlis2006.toml"


@given(st.floats(-1e6, 1e6), st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=9))
def test_the_true_offset_lies_within_the_error(offset: float, delays: list[tuple[float, float]]) -> None:
    pings = [
        Ping(10.0 * n, 10.0 * n + there + offset, 10.0 * n + there + back) for n, (there, back) in enumerate(delays)
    ]
    found = skew(pings)
    assert abs(found.offset_s - offset) <= found.error_s + 1e-6
    assert found.round_trip_s == pytest.approx(min(there + back for there, back in delays), abs=1e-6)


def test_no_answer_gives_no_offset() -> None:
    with pytest.raises(ValueError, match="no ping"):
        skew([])


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_offsets_of_tcp_info_equal_those_of_the_system_header(tmp_path: Path) -> None:
    header = Path("/usr/include/linux/tcp.h")
    if not header.exists():
        pytest.skip("needs the kernel's headers")
    known = [name for name in FIELDS if f"tcpi_{name};" in header.read_text()]
    assert len(known) >= 12
    lines = "".join(
        f'printf("{name} %zu %zu\\n", offsetof(struct tcp_info, tcpi_{name}), sizeof(i.tcpi_{name}));' for name in known
    )
    head = "#include <stddef.h>\n#include <stdio.h>\n#include <linux/tcp.h>\n"
    source = f"{head}int main(void) {{ struct tcp_info i; {lines} return 0; }}\n"
    (tmp_path / "a.c").write_text(source)
    subprocess.run(["cc", "a.c", "-o", "a"], cwd=tmp_path, check=True)
    printed = subprocess.run([tmp_path / "a"], capture_output=True, text=True, check=True).stdout
    sizes = {"B": 1, "H": 2, "I": 4, "Q": 8}
    for line in printed.splitlines():
        name, offset, size = line.split()
        assert (int(offset), int(size)) == (FIELDS[name][0], sizes[FIELDS[name][1]]), name


def test_an_older_kernel_gives_fewer_fields() -> None:
    data = bytes(range(232))
    info = parse_tcp_info(data)
    assert info["snd_cwnd"] == int.from_bytes(data[80:84], "little")
    assert info["total_rto"] is None
    assert parse_tcp_info(data[:104])["bytes_acked"] is None
    with pytest.raises(ValueError, match="103 bytes"):
        parse_tcp_info(data[:103])


def test_tcp_info_of_a_connection_of_this_host() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        peer, _ = server.accept()
        with peer:
            client.sendall(b"x" * 1000)
            assert len(peer.recv(1000)) == 1000
            info: TcpInfo = {}
            for _ in range(100):
                info = tcp_info(client) or {}
                if info["bytes_acked"]:
                    break
                time.sleep(0.01)
            assert info["bytes_acked"] in (1000, 1001)  # the SYN counts on some kernels
            assert info["data_segs_out"] == 1
            assert info["total_retrans"] == 0
    assert tcp_info(client) is None, "a closed socket has none"
    assert kernel_has("reno")
    assert not kernel_has("no-such-cc")


def test_columns_have_equal_length_while_rows_are_added() -> None:
    recorder = Recorder(("time_s", "bytes"), 0.001)

    class Row(tuple[float, int]):
        def __getitem__(self, index: Any) -> Any:  # another thread gets its turn here
            recorder.add(2.0, 2)
            return super().__getitem__(index)

    recorder.rows.append(Row((1.0, 1)))
    assert recorder.columns() == {"time_s": [1.0], "bytes": [1]}


def test_curves_stay_small_and_keep_their_shape() -> None:
    recorder = Recorder(("time_s", "bytes"), 0.001)
    for number in range(100_000):
        if recorder.wants(number / 1000):
            recorder.add(number / 1000, 5 * number)
    columns = recorder.columns()
    assert MOST_SAMPLES / 2 <= len(columns["time_s"]) <= MOST_SAMPLES
    assert columns["bytes"] == [round(5000 * time_s) for time_s in columns["time_s"]]


def test_output_of_iw_and_proc_is_parsed() -> None:
    station = """Station 00:40:96:11:22:33 (on wlan0)
\tinactive time:\t12 ms
\ttx packets:\t120
\ttx retries:\t30
\ttx failed:\t2
\tsignal:  \t-42 [-45, -44] dBm
\ttx bitrate:\t11.0 MBit/s
\trx bitrate:\t1.2 GBit/s
Station 00:40:96:11:22:44 (on wlan0)
\ttx packets:\t80
\tsignal:  \t-62 dBm
"""
    assert wireless.parse_stations(station) == {
        "tx_packets": 200,
        "tx_retries": 30,
        "tx_failed": 2,
        "signal_dbm": -52,
        "tx_rate_bps": 11e6,
        "rx_rate_bps": 1.2e9,
    }
    link = "Connected to 00:40:96:11:22:33 (on wlan0)\n\tfreq: 2412.0\n\tsignal: -91 dBm\n\ttx bitrate: 5.5 MBit/s\n"
    assert wireless.parse_link(link) == {"frequency_hz": 2.412e9, "signal_dbm": -91, "tx_rate_bps": 5.5e6}
    assert wireless.parse_link("Not connected.\n") == {}
    survey = "Survey data from wlan0\n\tfrequency:\t2407 MHz\n\tnoise:\t-80 dBm\n"
    survey += (
        "Survey data from wlan0\n\tfrequency:\t2412 MHz [in use]\n\tnoise:\t\t-96 dBm\n\tchannel busy time:\t250 ms\n"
    )
    assert wireless.parse_survey(survey) == {"noise_dbm": -96, "air_busy_s": 0.25}
    head = "Inter-| sta-|   Quality        |   Discarded packets               | Missed | WE\n"
    head += " face | tus | link level noise |  nwid  crypt   frag  retry   misc | beacon | 22\n"
    row = " wlan0: 0000   64.  -46.  -256        0      0      0      7      0        3\n"
    found = wireless.parse_proc(head + row, "wlan0")
    assert found == {"link_quality": 64, "wext_retries": 7, "missed_beacons": 3, "signal_dbm": -46}
    # Drivers before 2007 added 256 to their levels: 254 and 160 are the -2 and -96 dBm of kemerlis2006, location A.
    old = wireless.parse_proc(head + row.replace("-46.  -256", "254.  160."), "wlan0")
    assert (old["signal_dbm"], old["noise_dbm"]) == (-2, -96)
    assert wireless.parse_proc(head + row, "wlan1") == {}


@given(st.text())
def test_any_output_of_tools_is_parsed_without_error(text: str) -> None:
    for parse in (wireless.parse_stations, wireless.parse_link, wireless.parse_survey):
        parse("Station x\nSurvey data from [in use]\n" + text)
    wireless.parse_proc("\n\n" + text, "wlan0")


def test_the_loopback_interface_is_not_wireless() -> None:
    assert interface_of("127.0.0.1") == "lo"
    assert interface_of("192.0.2.77") is None
    radio = Radio("lo")
    assert not radio.present
    assert radio.snapshot() == {}


TWO = """
repetitions = 3
{order}
transfer.size = "1 kB"
stations = [{{ name = "a" }}]
[[cases]]
name = "x"
place = "here"
directions = ["up", "down"]
flows = [{{ station = "a" }}]
[[cases]]
name = "y"
place = "there"
directions = ["up"]
flows = [{{ station = "a" }}]
"""


def test_schedules_run_every_repetition_place_by_place() -> None:
    interleaved = list(Plan.from_text(TWO.format(order="")).schedule())
    assert interleaved == [(0, 1), (1, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 1), (2, 2), (2, 3)]
    sequential = list(Plan.from_text(TWO.format(order="order = 'sequential'")).schedule())
    assert sequential == [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)]
    orders = set()
    for seed in range(60):
        schedule = list(Plan.from_text(TWO.format(order=f"order = 'random'\nseed = {seed}")).schedule())
        assert sorted(schedule) == sequential
        assert [repetition for _, repetition in schedule] == [1, 1, 2, 2, 3, 3, 1, 2, 3]
        orders.add(tuple(schedule))
    assert len(orders) == 8, "all ways to order two cases in three repetitions"


def test_the_study_of_kemerlis2006_can_be_run() -> None:
    plan = Plan.from_file(EXAMPLE)
    assert len(list(plan.schedule())) == 16 * 5
    assert plan.stations == ("ares", "apollo")
    result = CliRunner().invoke(main, ["measure", "run", str(EXAMPLE), "--check", "--case", "A and B*"])
    assert result.exit_code == 0
    assert result.output.splitlines()[1] == (
        "  A and B, up, RTS 2346 B: ares up, apollo up; RTS threshold 2346 B; ares at A, apollo at B"
    )
    result = CliRunner().invoke(main, ["measure", "run", str(EXAMPLE), "--check", "--json"])
    assert (result.exit_code, "--json changes nothing of --check" in result.output) == (2, True)


def ends(first_s: float, last_s: float, size: int, *, started_s: float = 0.0) -> dict[str, Any]:
    """A flow that receives at a constant rate."""
    common = {"calls": 1, "cpu_user_s": 0.0, "cpu_system_s": 0.0}
    progress = {"time_s": [first_s, last_s], "bytes": [0, size]}
    return {
        "port": 5011,
        "sender": {"started_s": started_s, "written": size, **common},
        "receiver": {"first_s": first_s, "last_s": last_s, "received": size, "progress": progress, **common},
    }


def test_flows_are_measured_while_all_are_active() -> None:
    """By hand: `a` gets 1 MB in 0 to 4 s, `b` 1 MB in 1 to 3 s: from 1 to 3 s 2 Mb/s and 4 Mb/s."""
    plan = Plan.from_text("""
        transfer.size = "1 MB"
        stations = [{ name = "a" }, { name = "b" }]
        cases = [{ name = "c", flows = [
            { station = "a", direction = "up" }, { station = "b", direction = "down", start = "1 s" }] }]
    """)
    case = plan.cases[0]
    flows = {"a": ends(0.0, 4.0, 10**6), "b": ends(1.0, 3.0, 10**6, started_s=1.0)}
    assert window(case, flows, 0.0) == (1.0, 3.0)
    assert window(case, flows, 2.5) == (2.5, 3.0)
    row = {"repetition": 1, "clocks": {"a": {"error_s": 0.001}, "b": {"error_s": 0.003}}, "late_s": 0.0, "hosts": {}}
    found = outcome(case, {**row, "flows": flows}, warm_up_s=0.0, capacity_bps=math.nan)
    columns = {name: data for name, _, data in found["flows"]}
    assert found["measured_s"] == 2.0
    assert _numbers(columns["goodput_bps"]) == pytest.approx([2e6, 4e6])
    assert _numbers(columns["received_bytes"]) == pytest.approx([5e5, 1e6])
    assert _numbers(columns["transfer_goodput_bps"]) == pytest.approx([2e6, 4e6])
    cell = {name: _numbers(data)[0] for name, _, data in found["cell"]}
    assert cell["goodput_bps"] == pytest.approx(6e6)
    assert cell["jain_index"] == pytest.approx((2 + 4) ** 2 / (2 * (2**2 + 4**2)))
    assert cell["up_down_ratio"] == pytest.approx(0.5)
    assert cell["weakest_over_strongest"] == pytest.approx(0.5)
    assert cell["clock_error_s"] == 0.003
    assert math.isnan(cell["air_data"]), "only a simulator knows"


def _numbers(data: Any) -> list[float]:
    import numpy as np  # noqa: PLC0415

    return list(np.frombuffer(data[1], dtype=data[0]).tolist())


def test_a_damaged_journal_is_detected() -> None:
    plan = Plan.from_text(TWO.format(order=""))
    with pytest.raises(wifair.WifairError, match="damaged repetition of `x, up`"):
        outcome(plan.cases[0], {"repetition": 1, "flows": {}}, warm_up_s=0.0, capacity_bps=math.nan)


def test_a_journal_of_another_version_is_named() -> None:
    plan = Plan.from_text(TWO.format(order=""))
    head = {"kind": "plan", "format": 1, "resolved": plan.resolved, "text": plan.text}
    for row in ({"kind": "failed", "case": 99}, {"kind": "repetition", "case": 0, "repetition": 1, "flows": []}):
        with pytest.raises(wifair.WifairError, match="damaged"):
            Measurement([head, row])
    with pytest.raises(wifair.WifairError, match="does not say what was measured"):
        Measurement([{"kind": "plan"}])


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["run", "no-such-plan.toml"], 2, "cannot read `no-such-plan.toml`"),
        (["run", "{plan}", "--as", "zeus"], 2, "--as zeus: the plan has ares, apollo"),
        (["run", "{plan}", "--case", "z*"], 2, "--case z*: there are one at A, up"),
        (["run", "{plan}", "--set", "repetitions=0"], 2, "must be from 1 to 1000"),
        (["run", "{plan}"], 2, "2 places and nobody to ask"),
        (["run", "{plan}", "--yes", "--server", "a:b:c:d"], 2, "`a:b:c:d` is no HOST or HOST:PORT"),
        (["join", "localhost", "--name", "a b"], 2, "`a b` is no name of a station"),
        (["join", "127.0.0.1:1", "--name", "a"], 1, "cannot reach 127.0.0.1:1: connection refused"),
        (["serve", "--data-ports", "80-90"], 2, "--data-ports 80-90"),
        (["serve", "--listen", "192.0.2.1"], 1, "cannot listen on 192.0.2.1:5010: "),
        (["report", "{tmp}"], 1, "holds no measurement"),
    ],
)
def test_wrong_use_has_one_clear_message(
    arguments: list[str], code: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WIFAIR_SECRET", SECRET)
    monkeypatch.chdir(tmp_path)
    filled = [argument.format(plan=EXAMPLE, tmp=tmp_path) for argument in arguments]
    result = CliRunner().invoke(main, ["measure", *filled])
    assert result.exit_code == code, result.output
    assert said in result.output
    assert result.output.count("error: ") == 1
    assert "Traceback" not in result.output

"""Fuzzing without a fuzzer: hostile inputs for every reader, made from a seed, for so many seconds of CPU time each.

    python fuzz/run.py                      # every target for a minute
    python fuzz/run.py scenario --seconds 1800 --seed 7
    python fuzz/run.py scenario --seconds 1800 --seed 7 --first 2000    # go on where an earlier call stopped
    python fuzz/run.py scenario --only 7:1234   # a finding again

A finding is any exception but the documented ones, a broken invariant, or an input that takes far too long. It is
printed with the target, seed and number that make it again; the exit code is then 1.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import random
import resource
import struct
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import made
import wifair
from made import told
from wifair import _core
from wifair.importers import read_flent, read_iperf3
from wifair.optional.measure import wire
from wifair.optional.measure.errors import MeasureError
from wifair.optional.measure.flow import Flow, Limits
from wifair.optional.measure.server import MeasurementTask

HERE = Path(__file__).parent
LONGEST_S = 20.0
"""An input that takes more CPU time is a finding."""

MOST_GROWTH_KB = 100_000
"""So much more memory, a packed capture may make the process take [kB]."""

CONTROLS = ("reno", "cubic", "vegas", "westwood-plus", "bbr", "compound", "newreno", "tahoe")
QUEUES = ("fifo", "las", "red", "codel", "fq-codel", "drr", "scfq")
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style><svg onload=alert(1)>",
    "a" * 300,
    "\u202e\u0000x",
    "=1+1",
    "]]>",
    "&lt;b&gt;",
)


def scenario_table(rng: random.Random) -> dict[str, Any]:
    """Make a scenario past the parser: small enough to run, odd enough to matter."""
    standard = rng.choice(("802.11b", "802.11g", "802.11a", "802.11n", "802.11ac", "802.11ax"))
    modern = standard[6:] in ("n", "ac", "ax")
    wlan: dict[str, Any] = {"standard": standard, "short_retry_limit": rng.choice((1, 2, 7))}
    if rng.random() < 0.2:
        wlan["data_error"] = rng.choice((0.01, 0.3, 1.0))
    if rng.random() < 0.2:
        wlan["rts_threshold"] = rng.choice(("0 B", "500 B"))
    servers = [{"name": "server", "delay": f"{rng.choice((0, 1, 5, 80))} ms"}]
    groups: list[dict[str, Any]] = [
        {"name": f"g{n}", "count": rng.choice((1, 1, 2, 3, 7))} for n in range(rng.randint(1, 3))
    ]
    for group in groups:
        if rng.random() < 0.2:
            group["data_error_up"] = rng.choice((0.0, 0.1, 0.5, 1.0))
        if rng.random() < 0.2 and not modern:
            group["cw_min"] = rng.choice((1, 7, 15, 31))
    flows = [flow_table(rng, n, rng.choice(groups)["name"]) for n in range(rng.randint(1, 4))]
    return {
        "duration": f"{rng.choice((200, 500, 1500))} ms",
        "warm_up": f"{rng.choice((0, 0, 50, 100))} ms",
        "wlan": wlan,
        "ap": {
            "queue": {
                "limit": rng.choice(("1 packet", "2 packets", "50 packets", "3 kB", "100 kB")),
                "discipline": rng.choice(QUEUES),
            }
        },
        "servers": servers,
        "stations": groups,
        "flows": flows,
    }


def flow_table(rng: random.Random, number: int, station: str) -> dict[str, Any]:
    """Make a group of flows."""
    flow: dict[str, Any] = {
        "name": f"f{number}",
        "station": station,
        "server": "server",
        "direction": rng.choice(("up", "down")),
    }
    if rng.random() < 0.3:
        udp = {"rate": f"{rng.choice((1, 100, 2000, 20000))} kb/s", "payload": f"{rng.choice((100, 1472))} B"}
        return flow | {"transport": "udp", "udp": udp}
    flow["tcp"] = {"cc": rng.choice(CONTROLS), "mss": f"{rng.choice((100, 536, 1000, 1460))} B"}
    if rng.random() < 0.3:
        flow["tcp"]["receive_window"] = f"{rng.choice((1, 2, 20, 400))} packets"
    if rng.random() < 0.2:
        flow["tcp"]["stack"] = rng.choice(("ns2", "rfc", "modern"))
    match rng.randrange(6):
        case 0:
            flow |= {"workload": "transfer", "transfer": {"size": f"{rng.choice((1, 1461, 30000))} B"}}
        case 1:
            poisson = {"interval": f"{rng.choice((1, 20))} ms", "size": f"{rng.choice((1, 5000))} B"}
            flow |= {"workload": "poisson", "poisson": {**poisson, "connection": rng.choice(("new", "keep"))}}
        case 2:
            flow |= {"workload": "periodic", "periodic": {"period": "30 ms", "length": f"{rng.choice((1, 9000))} B"}}
        case 3:
            flow |= {"workload": "web", "web": {"think_time": f"{rng.choice((0, 30))} ms", "size": "9 kB"}}
        case _:
            pass
    return flow


REFUSED = {"scenario": 0}
"""Made-up scenarios that are none: few, or else nothing is tried."""


def scenario(rng: random.Random) -> None:
    """Run a scenario, and look at what always holds."""
    try:
        made = wifair.Scenario.from_dict(scenario_table(rng))
    except wifair.ScenarioError as error:
        told(error)
        REFUSED["scenario"] += 1
        return
    seed = rng.randrange(1 << 40)
    results = wifair.run(made, seeds=seed, threads=1, progress=False, series="50 ms", frames=True)
    holds(made, results)
    again = wifair.run(made, seeds=seed, threads=1, progress=False, series="50 ms")
    plain = wifair.run(made, seeds=seed, threads=1, progress=False, series="50 ms", fast_paths=False)
    for other, what in ((again, "being watched"), (plain, "shortcuts")):
        for name, column in results.flows.items():
            same = [str(value) for value in column.tolist()] == [str(value) for value in other.flows[name].tolist()]
            assert same, f"{what} changes `{name}`"


def holds(made: wifair.Scenario, results: wifair.Results) -> None:
    """See that a run conserves packets, bytes and time."""
    cell = results.cells.to_dicts()[0]
    jain = cell["jain_index"]
    assert jain is None or 0 < jain <= 1 + 1e-12, f"Jain's index is {jain}"
    air = {name: cell[name] for name in cell if name.startswith("air_")}
    assert all(part is None or -1e-12 <= part <= 1 + 1e-12 for part in air.values()), f"parts of the air time are {air}"
    total = sum(part or 0.0 for part in air.values())
    assert abs(total - 1) < 1e-9, f"parts of the air time sum to {total}: {air}"
    measured_s = made.duration_s - made._core.warm_up_s
    for flow in results.flows.to_dicts():
        flow_holds(flow, measured_s, whole=made._core.warm_up_s == 0)
    for station in results.stations.to_dicts():
        assert station["delivered"] + station["given_up"] <= 1024 * (station["attempts"] + 1), station
        assert station["air_data_s"] <= measured_s * (1 + 1e-9), station
    if results.series is not None and len(results.series):
        times = results.series["time_s"].tolist()
        assert times == sorted(times), "time goes forward"
        assert max(times) <= made.duration_s + 1e-9, "no sample after the end"
        sampled: dict[str, int] = {}
        for row in results.series.to_dicts():
            sampled[row["flow"]] = sampled.get(row["flow"], 0) + row["received_bytes"]
        for flow in results.flows.to_dicts():
            if made._core.warm_up_s == 0:
                assert sampled.get(flow["name"], 0) <= flow["received_bytes"], "samples are of what was received"
    frames_hold(made, results)


def flow_holds(flow: dict[str, Any], measured_s: float, *, whole: bool) -> None:
    """See that a flow conserves packets and bytes; `whole`: all of the run was measured."""
    lost = sum(count for name, count in flow.items() if name.startswith("data_drops_"))
    sent, got = flow["data_packets_sent"], flow["received_bytes"]
    assert flow["goodput_bps"] >= 0, flow
    assert got <= flow["throughput_bps"] * measured_s / 8 + 1_000_000 * (not whole) + 1, (
        "new bytes are of those that came"
    )
    if whole:
        fraction = flow["loss_fraction"]
        arrived = round(lost / fraction - lost) if fraction else 0
        assert lost + arrived <= sent, f"{flow['name']}: {sent} sent, {arrived} arrived, {lost} lost"
        assert flow["retransmissions"] <= sent, flow
        assert got == 0 or sent > lost, flow
    for kind in ("rtt", "owd"):
        points = [flow[f"{kind}_{name}_s"] for name in ("idle", "p50", "p95", "p99", "max")]
        if None not in points:
            in_order = all(a <= b * (1 + 1 / 32) + 1e-9 for a, b in itertools.pairwise(points))
            assert in_order, f"{kind} of {flow['name']}: {points}"


def frames_hold(made: wifair.Scenario, results: wifair.Results) -> None:
    """See that frames go forward in time, and that of those that were received no two overlap: all hear all here."""
    assert results.frames is not None
    last, of_ppdu = 0.0, 0
    for frame in results.frames.to_dicts():
        assert 0 <= frame["start_s"] <= frame["end_s"], frame
        if frame["fate"] != "received":
            continue
        if not (frame["ppdu"] and frame["ppdu"] == of_ppdu):
            assert frame["start_s"] >= last - 1e-12, f"overlaps one that ends at {last}: {frame}"
        last, of_ppdu = max(last, frame["end_s"]), frame["ppdu"]
    assert last <= made.duration_s + 1.0


def round_trip(rng: random.Random) -> None:
    """Write a scenario as TOML with all defaults, and read it again: the same scenario."""
    try:
        made = wifair.Scenario.from_dict(scenario_table(rng))
    except wifair.ScenarioError:
        return
    again = wifair.Scenario.from_text(made.resolved)
    assert again.resolved == made.resolved
    assert again.hash == made.hash
    text = bytearray(made.resolved.encode())
    for _ in range(rng.randint(1, 6)):
        mutate(rng, text)
    try:
        wifair.Scenario.from_text(text.decode("utf-8", "replace"))
    except wifair.ScenarioError as error:
        told(error)


def mutate(rng: random.Random, data: bytearray) -> None:
    """Change a few bytes somewhere."""
    if not data:
        return
    at = rng.randrange(len(data))
    match rng.randrange(6):
        case 0:
            data[at] ^= 1 << rng.randrange(8)
        case 1:
            del data[at : at + rng.randint(1, 30)]
        case 2:
            data[at:at] = rng.randbytes(rng.randint(1, 8))
        case 3:
            data[at : at + 4] = struct.pack("<I", rng.choice((0, 1, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF)))
        case 4:
            other = rng.randrange(len(data))
            data[at:at] = data[other : other + rng.randint(1, 200)]
        case _:
            data[at : at + 1] = rng.choice((b"9", b"-", b'"', b"[", b"=", b"e9", b"\n", b"0.", b"..", b",", b"{", b"*"))


EXPRESSIONS = (
    "stations.count=2..20:2",
    "stations.g0.count=1..64:*2",
    "flows.tcp.cc=reno,vegas",
    "servers.delay=uniform(1 ms, 9 ms)",
    "servers.delay=loguniform(1 ms, 100 ms)",
    "ap.queue.limit={2 * stations.count + 1} packets",
    "ap.queue.limit=10..100 packets:10",
    "stations.count=2,4; ap.queue.limit=20 packets,40 packets",
    "stations.count=integers(1, 5)",
    "flows.tcp.cc=choice(reno, cubic)",
)


def expressions(rng: random.Random) -> None:
    """Vary parameters by texts that are nearly right."""
    from wifair.sweeps.points import Points  # noqa: PLC0415

    base = wifair.Scenario.from_dict(
        {
            "duration": "1 s",
            "wlan": {"standard": "802.11g"},
            "sweep": {"samples": 3},
            "servers": [{"name": "server"}],
            "stations": [{"name": "g0"}],
            "flows": [{"name": "f", "station": "g0", "server": "server", "direction": "up"}],
        }
    )
    text = bytearray(rng.choice(EXPRESSIONS).encode())
    for _ in range(rng.randint(0, 4)):
        mutate(rng, text)
    try:
        points = Points(base, [("--vary", text.decode("utf-8", "replace"))], [])
        assert len(points) >= 0
    except (wifair.ScenarioError, ValueError) as error:
        told(error)


def captures(rng: random.Random) -> None:
    """Analyse damaged captures with everything on, plain and packed."""
    corpus = sorted((HERE / "corpus" / "capture_file").iterdir())
    data = bytearray(rng.choice(corpus).read_bytes())
    for _ in range(rng.randint(1, 10)):
        mutate(rng, data)
    if rng.random() < 0.2:
        data = bytearray(gzip.compress(bytes(data), 1))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.pcap"
        path.write_bytes(data)
        try:
            found = wifair.read_capture(path, packets=rng.random() < 0.5, connections=rng.choice((1, 3, 10_000)))
        except (wifair.CaptureError, OSError) as error:
            told(error)
            return
        json.loads(found.to_json())
        assert repr(found)
        for table in found.tables.values():
            table.to_csv()


def zstd(size: int, rng: random.Random) -> bytes:
    """Make a zstd frame of zeros: blocks of one byte that is repeated (RFC 8878, sections 3.1.1 and 3.1.1.2)."""
    claimed = rng.choice((size, 0, (1 << 64) - 1))  # the header may lie about the size
    frame = struct.pack("<IBBQ", 0xFD2FB528, 0b1100_0000, rng.choice((0x48, 0x68, 0xFF)), claimed)
    left = size
    while left > 0:
        block = min(left, 1 << 17)
        left -= block
        head = (left <= 0) | 1 << 1 | block << 3
        frame += head.to_bytes(3, "little") + b"\0"
    return frame


def bombs(rng: random.Random) -> None:
    """Unpack little data that becomes much: memory stays small, and it ends by an error or a result."""
    size = rng.choice((1 << 16, 1 << 20, 1 << 24, 1 << 26))
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, rng.choice((1, 101, 127)))
    record = struct.pack("<IIII", 1, 1, *rng.choice(((60, 60), (65535, 65535), (0x7FFFFFFF, 1), (0, 0)))) + bytes(60)
    start = head + record * rng.randint(0, 3)
    if rng.random() < 0.5:
        # A frame with the head as it is, in a raw block, and one of zeros behind it.
        raw = struct.pack("<IBB", 0xFD2FB528, 0, 0x48) + (1 | len(start) << 3).to_bytes(3, "little") + start
        packed, end = raw + zstd(size, rng), ".zst"
    else:
        packed, end = gzip.compress(start + bytes(min(size, 1 << 24)), 9), ".gz"
        if rng.random() < 0.3:
            packed = gzip.compress(packed, 9)
    if rng.random() < 0.3:
        packed = packed[: rng.randrange(len(packed))]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"x.pcap{end}"
        path.write_bytes(packed)
        try:
            wifair.read_capture(path)
        except (wifair.CaptureError, OSError) as error:
            told(error)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < MOST_GROWTH_KB, f"{len(packed)} bytes took {grown} kB of memory"


def any_json(rng: random.Random, depth: int = 3) -> Any:  # noqa: PLR0911
    """Make some JSON."""
    kind = rng.randrange(8 if depth else 6)
    match kind:
        case 0:
            return rng.choice((None, True, False))
        case 1:
            return rng.choice((0, -1, 1 << 70, -(1 << 63), 5, 1000))
        case 2:
            return rng.choice((0.5, -1e300, 1e308, 1e-9))
        case 3 | 4:
            return rng.choice(("", "a", "up", "tcp", *HOSTILE))
        case 5:
            return rng.random()
        case 6:
            return [any_json(rng, depth - 1) for _ in range(rng.randrange(4))]
    names = ("flows", "name", "station", "direction", "size", "start_s", "cases", "runs", "timeout_s", "type")
    return {rng.choice(names): any_json(rng, depth - 1) for _ in range(rng.randrange(5))}


FLOW = {"name": "f", "station": "a", "direction": "up", "transport": "tcp", "start_s": 0.0, "size": 1000}
PLAN = {"name": "p", "cases": [{"flows": [FLOW]}], "runs": 4, "timeout_s": 5.0, "sample_s": 0.05, "capture": False}


def messages(rng: random.Random) -> None:
    """Say odd things to a measurement's hosts."""
    change = any_json(rng)
    change = change if isinstance(change, dict) else {}
    for make in (
        lambda: Flow.from_dict({**FLOW, **change}, Limits()),
        lambda: MeasurementTask.from_dict({**PLAN, **change}, Limits()),
    ):
        try:
            make()
        except MeasureError as error:
            told(error)
    payload = bytearray(json.dumps({**PLAN, "x": change}).encode())
    for _ in range(rng.randint(0, 5)):
        mutate(rng, payload)
    try:
        assert isinstance(wire.decode(bytes(payload)), dict)
    except MeasureError as error:
        told(error)


def pages(rng: random.Random) -> None:
    """Write pages and figures with hostile names: no text becomes an element."""
    from html.parser import HTMLParser  # noqa: PLC0415

    class Elements(HTMLParser):
        found: list[str]

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            names = {name for name, _ in attrs}
            assert not any(name.startswith("on") for name in names), f"an element `{tag}` with {names}"
            assert tag != "img" or not any(value == "x" for _, value in attrs)

    corpus = sorted((HERE / "corpus" / "capture_file").iterdir())
    with tempfile.TemporaryDirectory() as folder:
        name = rng.choice([text for text in HOSTILE if "/" not in text and "\0" not in text])[:200]
        path = Path(folder) / f"{name}.pcap"
        path.write_bytes(rng.choice(corpus).read_bytes())
        try:
            found = wifair.read_capture(path, packets=True)
        except wifair.CaptureError:
            return
        found.report(Path(folder) / "page.html")
        text = (Path(folder) / "page.html").read_text(encoding="utf-8")
        Elements().feed(text)
        assert "alert(1)</script>" not in text


EXCHANGE = HERE.parent / "tests" / "data" / "exchange"


def changed(rng: random.Random, value: Any) -> Any:
    """Change a few of the values of some JSON."""
    if rng.random() < 0.03:
        return rng.choice((None, -1, 0, 1e308, float("nan"), "", "12", [], {}, [value], True, *HOSTILE))
    if isinstance(value, dict):
        return {name: changed(rng, one) for name, one in value.items() if rng.random() > 0.01}
    return [changed(rng, one) for one in value] if isinstance(value, list) else value


def imports(rng: random.Random) -> None:
    """Import changed results of iperf3, streamed ones too, and Flent, and use them as simulated ones."""
    source = rng.choice(sorted(path for path in EXCHANGE.iterdir() if ".json" in path.name or ".flent" in path.name))
    data = source.read_bytes()
    data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    flent = ".flent" in source.name
    try:
        if rng.random() < 0.7:
            lines = data.splitlines() if data.startswith(b'{"event"') else [data]
            if rng.random() < 0.2:
                rng.shuffle(lines)
            data = b"\n".join(json.dumps(changed(rng, json.loads(line))).encode() for line in lines)
    except ValueError:  # several documents in one file
        pass
    text = bytearray(data)
    for _ in range(rng.choice((0, 0, 1, 4))):
        mutate(rng, text)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"x{'.flent' if flent else '.json'}"
        path.write_bytes(gzip.compress(text, 1) if rng.random() < 0.2 else text)
        try:
            found = (read_flent if flent else read_iperf3)(path)
            found.save(Path(folder) / "saved", formats=["csv"])
        except wifair.ResultsError as error:
            told(error)
            return
        assert repr(found)
        again = wifair.read_results(Path(folder) / "saved")
        assert again.flows["name"].tolist() == found.flows["name"].tolist()
        for shown in (found, again):
            wifair.explain(shown)


def checksum(data: bytes) -> int:
    """Compute the checksum of IPv4."""
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def ipv4(rng: random.Random, protocol: int, body: bytes, place: int = 0) -> bytes:
    """Make a header of IPv4 and what follows, sometimes as a fragment."""
    more = rng.choice((0, 0, 0, 0x2000, 0x2000 | rng.randrange(0x1FFF)))
    ends = bytes([10, 0, place & 3, 1]), bytes([10, 0, place & 3, 2])
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(body), place, more, 64, protocol, 0) + b"".join(ends)
    return head[:10] + struct.pack(">H", checksum(head)) + head[12:] + body


def packet(rng: random.Random, place: int) -> tuple[int, bytes]:
    """Make a type of Ethernet and a packet: TCP in IPv4, perhaps in IPv4 again, perhaps behind labels of MPLS."""
    flags, size = rng.choice((2, 0x12, 0x10, 0x18, 0x11, 4)), rng.choice((0, 0, 1, 1448))
    segment = struct.pack(">HHIIBBHHH", 5000, 80, place * 1448, place, 5 << 4, flags, 65535, 0, 0) + bytes(size)
    inner = ipv4(rng, rng.choice((6, 6, 6, 17, 1)), segment, place)
    for _ in range(rng.choice((0, 0, 1, 2, 30))):
        inner = ipv4(rng, 4, inner, place)
    labels = rng.choice((0, 0, 1, 3, 40))
    stack = b"".join(struct.pack(">I", 16 << 12 | (at == labels - 1) << 8 | 64) for at in range(labels))
    return (0x8847 if labels else 0x0800), stack + inner


def radio(rng: random.Random, link: int, frame: bytes) -> bytes:
    """Put a header of radiotap (127), PPI (192), Prism (119) or AVS (163) before an 802.11 frame."""
    match link:
        case 127:
            return struct.pack("<BBHI", 0, 0, 9, 1 << 1) + bytes([rng.choice((0, 0x10, 0x50))]) + frame
        case 192:
            field = struct.pack("<HH", rng.choice((2, 3, 4, 99)), 20) + rng.randbytes(20)
            return struct.pack("<BBHI", 0, rng.choice((0, 1)), 8 + len(field), 105) + field + frame
        case 119:
            items = b"".join(struct.pack("<IHHI", 0x10044 + 0x10000 * at, 0, 4, rng.randrange(200)) for at in range(10))
            return struct.pack("<II16s", 0x44, 24 + len(items), b"wlan0") + items + frame
        case 163:
            return struct.pack(">II", 0x80211001, 64) + rng.randbytes(56) + frame
    return frame


def links(rng: random.Random) -> None:
    """Analyse made captures of each kind of link: mesh, tunnels, labels and fragments, then damage them."""
    link = rng.choice((1, 101, 105, 113, 119, 127, 163, 192))
    records = []
    for place in range(rng.randint(1, 40)):
        kind, data = packet(rng, place)
        addresses = b"\2\0\0\0\0\1\2\0\0\0\0\2"
        if link == 1:
            data = addresses + struct.pack(">H", kind) + data
        elif link == 113:
            data = struct.pack(">HHH8sH", 0, 1, 6, addresses[:8], kind) + data
        elif link != 101:
            to_ds = rng.choice((0, 1, 2, 3))
            head = struct.pack("<BBH", 0x88, to_ds, 0) + addresses + b"\2\0\0\0\0\3" + struct.pack("<H", place << 4)
            head += (addresses[:6] if to_ds == 3 else b"") + struct.pack("<H", rng.choice((0, 0x80, 0x100)))
            mesh = rng.choice(
                (b"", struct.pack("<BBI", rng.randrange(4), 31, place) + rng.randbytes(rng.choice((0, 6, 12))))
            )
            data = radio(rng, link, head + mesh + b"\xaa\xaa\3\0\0\0" + struct.pack(">H", kind) + data)
        keep = len(data) if rng.random() < 0.9 else rng.randrange(len(data) + 1)
        records.append(struct.pack("<IIII", place // 10, place % 10 * 1000, keep, len(data)) + data[:keep])
    text = bytearray(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link) + b"".join(records))
    for _ in range(rng.choice((0, 0, 1, 5))):
        mutate(rng, text)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.pcap"
        path.write_bytes(text)
        try:
            found = wifair.read_capture(path, packets=True)
        except wifair.CaptureError as error:
            told(error)
            return
        json.loads(found.to_json())
        assert repr(found)


CLASS = b"""import math
from . import beside
from helper import Base
class Mine(Base):
    def on_ack(self, ack): return math.inf
"""


def classes(rng: random.Random) -> None:
    """Hash damaged sources of classes: the same twice, and another after a change."""
    from wifair.extensions.class_sources import digest  # noqa: PLC0415

    source = bytearray(CLASS * rng.choice((1, 1, 50)))
    for _ in range(rng.randint(0, 6)):
        mutate(rng, source)
    if rng.random() < 0.05:
        source += b"(" * 5_000 + b"#\xff"
    with tempfile.TemporaryDirectory() as folder:
        module = f"fuzz_mine_{rng.randrange(1 << 40)}"
        path = Path(folder) / f"{module}.py"
        path.write_bytes(source)
        (Path(folder) / "helper.py").write_text("class Base: pass\nimport " + module)
        try:
            first = digest([f"{module}:Mine"], folder)
            assert digest([f"{module}:Mine"], folder) == first
            path.write_bytes(bytes(source) + b"#")
            assert digest([f"{module}:Mine"], folder) != first
        except wifair.ScenarioError as error:
            told(error)


def scripts(rng: random.Random) -> None:
    """Play damaged packetdrill scripts, lines of several mixed."""
    corpus = sorted((HERE.parent / "crates" / "packetdrill" / "tests" / "scripts").glob("*.pkt"))
    lines = rng.choice(corpus).read_bytes().splitlines(keepends=True)
    if rng.random() < 0.4:
        other = rng.choice(corpus).read_bytes().splitlines(keepends=True)
        lines[rng.randrange(len(lines) + 1) :] = other[rng.randrange(len(other)) :]
    text = bytearray(b"".join(lines))
    for _ in range(rng.randint(0, 4)):
        mutate(rng, text)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.pkt"
        path.write_bytes(text)
        verdict, line, _, why = _core.packetdrill(str(path), None)
        assert verdict in ("pass", "differs", "unsupported", "error")
        assert verdict == "pass" or why
        assert line is None or 1 <= line <= text.count(b"\n") + text.count(b"\r") + 1


TARGETS: dict[str, Callable[[random.Random], None]] = {
    "scenario": scenario,
    "round-trip": round_trip,
    "expressions": expressions,
    "captures": captures,
    "bombs": bombs,
    "messages": messages,
    "pages": pages,
    "imports": imports,
    "links": links,
    "classes": classes,
    "scripts": scripts,
    "twins": made.twins(scenario_table),
    "explanations": made.explanations(scenario_table),
    "offers": made.offers(scenario_table),
    "airtimes": made.airtimes,
    "papers": lambda rng: made.papers(rng, mutate),
}


def once(target: str, seed: int, number: int) -> str | None:
    """Try one input; returns what is wrong."""
    began = time.process_time()  # the computer may be busy with other things
    try:
        TARGETS[target](random.Random(f"{target}/{seed}/{number}"))
    except KeyboardInterrupt:
        raise
    except BaseException:  # also the panics of Rust
        return traceback.format_exc()
    took = time.process_time() - began
    return f"took {took:.0f} s" if took > LONGEST_S else None


def fuzz(
    target: str, seconds: float, seed: int, first: int = 0, most: int = 1 << 60
) -> tuple[int, list[tuple[int, str]]]:
    """Try inputs for so much CPU time, beginning with number `first`; returns how many, and the findings."""
    until = time.process_time() + seconds
    findings = []
    count = 0
    while count < most and time.process_time() < until:
        wrong = once(target, seed, first + count)
        if wrong is not None:
            findings.append((first + count, wrong))
        count += 1
    return count, findings


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=float, default=60.0, help="of CPU time, for each target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, metavar="NUMBER", help="begin with this input")
    parser.add_argument("--only", metavar="SEED:NUMBER", help="one input again")
    given = parser.parse_args()
    unknown = [name for name in given.targets if name not in TARGETS]
    if unknown:
        parser.error(f"no target `{unknown[0]}`: there are {', '.join(TARGETS)}")
    code = 0
    for target in given.targets or TARGETS:
        if given.only:
            seed, number = map(int, given.only.split(":"))
            wrong = once(target, seed, number)
            print(f"{target} {given.only}: {wrong or 'nothing wrong'}")
            code |= wrong is not None
            continue
        count, findings = fuzz(target, given.seconds, given.seed, given.first)
        print(
            f"{target:<12} {count:>8} inputs in {given.seconds:g} s of CPU time, {len(findings)} findings", flush=True
        )
        for number, wrong in findings[:5]:
            print(f"  again with: python fuzz/run.py {target} --only {given.seed}:{number}\n{wrong}")
        code |= bool(findings)
    return code


if __name__ == "__main__":
    assert _core.__version__
    sys.exit(main())

"""No key of a scenario is silently ignored: changing it changes results in some circumstances.

Every key of the schema is set to other valid values, in one scenario after the other, until a result differs. A key
that belongs to a choice, as `tcp.vegas.alpha` to `tcp.cc`, is tried with that choice. CIRCUMSTANCES lists what else
some keys need.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from wifair import Scenario, ScenarioError, _core

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

AIR = """
duration = "4 s"
warm_up = "500 ms"
wlan.standard = "802.11b"
"""
UP = """
[[flows]]
name = "up"
station = "sta"
"""
DOWN = """
[[flows]]
name = "down"
station = "sta"
direction = "down"
"""
SERVER = """
[[servers]]
name = "server"
delay = "10 ms"
rate = "20 Mb/s"
"""
STATIONS = """
[[stations]]
name = "sta"
count = 3
"""
CELL = f"""{AIR}
wlan.data_error = 0.03
ap.queue.limit = "20 packets"
{SERVER}{STATIONS}{UP}{DOWN}"""
WIRED = """
duration = "10 s"
[[routers]]
name = "r1"
[[routers]]
name = "r2"
[[servers]]
name = "a"
at = "r1"
[[servers]]
name = "b"
at = "r2"
delay = "10 ms"
[[links]]
from = "r1"
to = "r2"
rate = "10 Mb/s"
delay = "10 ms"
queue.limit = "30 packets"
[[flows]]
name = "x"
from = "a"
to = "b"
count = 2
start_spread = "100 ms"
tcp.receive_window = "1 MB"
"""
LONG = WIRED.replace("10 s", "60 s").replace("10 Mb/s", "40 Mb/s").replace("30 packets", "150 packets")
CATEGORIES = f"""
duration = "3 s"
warm_up = "500 ms"
wlan.standard = "802.11n"
wlan.data_error = 0.3
wlan.control_error = 0.05
{SERVER.replace("20 Mb/s", "1 Gb/s")}{STATIONS}""" + "".join(
    f"""
[[flows]]
name = "{way}-{category}"
station = "sta"
direction = "{way}"
transport = "udp"
udp.rate = "1 Mb/s"
category = "{category}"
"""
    for way in ("up", "down")
    for category in ("voice", "video", "best-effort", "background")
)
SCENARIOS = {
    "cell": CELL,
    "categories": CATEGORIES,
    "ns2": CELL.replace("[[servers]]", 'tcp.stack = "ns2"\ntcp.receive_window = "100 packets"\n[[servers]]').replace(
        "wlan.data_error",
        'wlan.profile = "ns2"\nwlan.rts_threshold = "0 B"\nwlan.control_error = 0.02\nwlan.data_error',
    ),
    "g": CELL.replace("802.11b", "802.11g"),
    "modern": CELL.replace("[[servers]]", 'tcp.stack = "modern"\ntcp.ecn = true\n[[servers]]'),
    "downloads": f"""{AIR}
ap.queue.limit = "40 packets"
tcp.stack = "modern"
tcp.ecn = true
{SERVER}{STATIONS}{DOWN}count = 3
""",
    "wired": WIRED,
    "marks": WIRED.replace('"30 packets"', '"60 packets"\nqueue.mark_above = "20 packets"').replace(
        "tcp.receive_window", "tcp.ecn = true\ntcp.receive_window"
    ),
    "long": LONG,
    "space": f"""{AIR.replace("802.11b", "802.11g")}
wlan.rate_adaptation = "minstrel"
space.reception.spoils = "bits"
space.fading = "nakagami"
{SERVER}{STATIONS}
layout = "circle"
circle.radius = "40 m"
{UP}{DOWN}""",
    "hidden": f"""{AIR}
space.profile = "ns2"
space.fading = "nakagami"
{SERVER}
[[stations]]
name = "west"
position = ["-200 m", "0 m"]
[[stations]]
name = "east"
position = ["200 m", "0 m"]
[[stations]]
name = "sta"
position = ["100 m", "20 m"]
[[flows]]
name = "far"
station = "west"
[[flows]]
name = "farther"
station = "east"
{DOWN}""",
    "mixed": f"""{AIR.replace("802.11b", "802.11g")}
{SERVER}{STATIONS}
[[stations]]
name = "old"
dsss_only = true
{UP}
[[flows]]
name = "older"
station = "old"
[space]
fading = "none"
""",
    "mesh": """
duration = "20 s"
wlan.standard = "802.11b"
space.mode = "ad-hoc"
space.profile = "ns2"
routing.protocol = "dsdv"
routing.dsdv.interval = "3 s"
[[stations]]
name = "node"
count = 9
layout = "grid"
grid.spacing = "180 m"
queue.limit = "5 packets"
[[flows]]
name = "a"
from = "node1"
to = "node9"
[[flows]]
name = "b"
from = "node3"
to = "node7"
""",
    "campus": f"""{AIR}
space.fading = "none"
ap.count = 2
ap.channels = [1, 6]
ap.layout = "chain"
ap.chain.spacing = "40 m"
[[servers]]
name = "server"
at = "hub"
[[routers]]
name = "hub"
[[links]]
from = "hub"
to = "ap1"
rate = "100 Mb/s"
[[links]]
from = "hub"
to = "ap2"
rate = "100 Mb/s"
{STATIONS}
layout = "chain"
chain.spacing = "10 m"
{UP}""",
}

# Names, sweeps of a scenario, and the number of its runs: they do not affect a single run.
LABELS = re.compile(r"name|description|seeds|sweep\..*")
# Names that refer to another table, and keys that occur only in lists of tables: other tests change them.
LINKS = re.compile(
    r"(ap|servers|stations|routers|flows)\.name|links\.(from|to)|servers\.at|stations\.ap|flows\.(station|server|from|to)"
    r"|space\.paths\..*|flows\.sessions\.list\..*|flows\.trace\.(file|list)|space\.mode|(ap|stations)\.position|ap\.channels"
)

PERIODIC = {"flows.workload": "periodic", "flows.periodic.length": "30 kB", "flows.periodic.period": "1500 ms"}
PAUSES = PERIODIC | {"flows.periodic.length": "2 MB", "flows.periodic.period": "8 s"}
SIZES = {"flows.workload": "poisson", "flows.poisson.interval": "300 ms"}
POISSON = SIZES | {"flows.poisson.size": "20 kB"}
PAGES = {"flows.workload": "web", "flows.web.session_interval": "400 ms"}
WEB = PAGES | {"flows.web.size": "10 kB"}
UDP = {"flows.transport": "udp", "flows.udp.rate": "2 Mb/s"}
BURSTS = UDP | {"flows.workload": "on-off", "flows.on-off.on": "100 ms", "flows.on-off.off": "200 ms"}
SESSIONS = {
    "flows.workload": "sessions",
    "flows.sessions.list": [{"start": "0 s", "length": "10 kB"}, {"start": "50 ms", "length": "50 kB"}],
}
TRACE = {"flows.workload": "trace", "flows.trace.list": [[0, 10_000], [0.05, 50_000]]}
WMAX = {"ap.scheme.window": "wmax-over-n"}
SHORT = {
    "flows.workload": "sessions",
    "flows.sessions.list": [{"start": f"{i} ms", "length": "200 B"} for i in range(1, 50)],
}
BONDED = {"space.overlapping_channels": True, "wlan.standard": "802.11ac", "ap.channels": [36, 40]}
STANDARDS = {letters: {"wlan.standard": f"802.11{letters}"} for letters in ("n", "ac", "ax")}
LIMIT = {"ap.scheme.uplink": "rate-limit", "ap.scheme.rate-limit.rate": "1 Mb/s"}
RED = {"X.discipline": "red", "X.limit": "60 kB", "X.red.min_threshold": "4 kB", "X.red.max_threshold": "20 kB"}

# Values that need other keys, and those keys.
TOGETHER: dict[tuple[str, str], dict[str, Any]] = {
    ("flows.transport", "udp"): UDP,
    ("flows.workload", "transfer"): {"flows.workload": "transfer", "flows.transfer.size": "100 kB"},
    ("ap.scheme.rate-limit.mode", "static"): LIMIT | {"ap.scheme.rate-limit.mode": "static"},
}
# Keys, the scenario in which they have an effect, what else is set there, and values if the type does not suggest
# them.
CIRCUMSTANCES: list[tuple[str, str, dict[str, Any], list[Any]]] = [
    ("fair_share_base", "cell", PERIODIC, []),
    (r"(flows\.)?tcp\.fin", "cell", POISSON, []),
    (r"(flows\.)?tcp\.idle_restart", "long", PAUSES, []),
    (r"(flows\.)?tcp\.ecn", "downloads", {"ap.queue.discipline": "codel"}, []),
    (r"(flows\.)?tcp\.pacing_burst", "cell", {"tcp.pacing": True}, [10]),
    (r"(flows\.)?tcp\.tso_autosize", "wired", {"tcp.pacing": True}, [True]),
    (r"(flows\.)?tcp\.nagle", "cell", SHORT, []),
    # Timeouts, the spurious ones among them, and timeouts of flows that found a queue when they began.
    (r"(flows\.)?tcp\.f_rto", "modern", {"ap.queue.limit": "5 packets", "wlan.data_error": 0.3}, []),
    (r"(flows\.)?tcp\.eifel", "modern", {"tcp.min_rto": "1 ms"}, []),
    (r"(flows\.)?tcp\.compound(-plus)?\.reset_base", "modern", {"flows.start_spread": "2 s"}, []),
    (r"(flows\.)?tcp\.gro", "categories", {}, [True]),
    (r"(flows\.)?tcp\.gro_flush_timeout", "downloads", {"tcp.gro": True}, []),
    (r"(flows\.)?tcp\.vegas-fair\..*", "cell", PERIODIC, []),
    (r"flows\.transport", "cell", {}, ["udp"]),
    (r"wlan\.aggregation\.reorder_timeout", "categories", {}, ["1 us"]),
    (
        r"wlan\.aggregation\.inactivity_timeout",
        "categories",
        {"wlan.aggregation.agreements": "on-the-air"},
        ["1 ms", "50 ms"],
    ),
    (r"wlan\.aggregation\.max_amsdu", "categories", {}, ["3839 B"]),
    (r"wlan\.aggregation\.count_in_flight", "categories", {"stations.queue.limit": "4 packets"}, [True]),
    (r"wlan\.aggregation\.min_start_spacing", "cell", STANDARDS["n"], ["16 us"]),
    (r"wlan\.aggregation\..*", "categories", {}, []),
    (r"wlan\.width", "categories", {}, [40]),
    (r"(wlan|stations)\.streams", "categories", STANDARDS["ac"], [2]),
    (r"space\.overlapping_channels", "campus", {"ap.channels": [1, 2], "ap.chain.spacing": "10 m"}, []),
    (r"ap\.widths", "campus", BONDED, [[40]]),
    (r"wlan\.bandwidth", "campus", BONDED | {"ap.widths": [40, 20], "ap.chain.spacing": "10 m"}, ["static"]),
    (r"wlan\.guard_interval", "categories", {}, ["400 ns"]),
    (r"wlan\.ltf", "categories", STANDARDS["ax"], [1]),
    (r"wlan\.dcm", "categories", STANDARDS["ax"] | {"wlan.mcs": 0}, [True]),
    (
        r"wlan\.ldpc_extra_symbol",
        "categories",
        STANDARDS["ax"] | {"wlan.width": 80, "wlan.mcs": 9, "wlan.streams": 2},
        [True],
    ),
    (r"wlan\.packet_padding", "categories", STANDARDS["ax"], ["16 us"]),
    (r"wlan\.coding", "cell", STANDARDS["n"] | {"wlan.mcs": 0}, ["bcc", "ldpc"]),
    (r"(ap|stations)\.cw_max", "cell", {"wlan.data_error": 0.3}, [31, 63]),
    (r"(wlan|ap|stations)\.edca\.(be|bk)\.cw_max", "categories", {"wlan.control_error": 0.5}, [15]),
    (
        r"stations\.snr_changes\..*",
        "categories",
        {"stations.snr": "30 dB", "stations.snr_changes": [{"at": "500 ms", "to": "10 dB", "over": "100 ms"}]},
        ["300 ms", "5 dB"],
    ),
    *(
        (
            rf"stations\.moves\.{key}",
            "space",
            {"stations.moves": [{"at": "500 ms", "to": ["60 m", "0 m"], "over": "100 ms"}]},
            [value],
        )
        for key, value in (("at", "900 ms"), ("to", ["9 m", "0 m"]), ("over", "2 s"))
    ),
    (r"stations\.standard", "cell", {"wlan.standard": "802.11n"}, ["802.11a"]),
    (r"stations\.width", "cell", {"wlan.standard": "802.11n", "wlan.width": 40}, [20]),
    (r"stations\.edca\.vi\.burst", "categories", {"flows.udp.rate": "5 Mb/s"}, [10]),
    *(
        (
            rf"stations\.{outage}\..*",
            "space",
            {f"stations.{outage}.up": "100 ms", f"stations.{outage}.down": "20 ms"},
            ["50 ms"],
        )
        for outage in ("outage_up", "outage_down")
    ),
    (r"wlan\.repeat_cf_end", "categories", {"wlan.cf_end": True}, [True]),
    (r"wlan\.protect_by_rts", "categories", {"wlan.band": "2.4 GHz", "wlan.protection": "2 Mb/s"}, [True]),
    (r"(wlan|ap|stations)\.edca\..*", "categories", {}, []),
    *(
        (rf"(wlan|ap|stations)\.edca\.{short}\..*", "categories", {"flows.category": category}, [])
        for short, category in (("vo", "voice"), ("vi", "video"), ("be", "best-effort"), ("bk", "background"))
    ),
    (r"wlan\.extended_range", "cell", {"wlan.standard": "802.11ax", "wlan.mcs": 0}, [242]),
    (r"flows\.category", "cell", {"wlan.standard": "802.11n"}, ["voice"]),
    (r"flows\.dscp", "cell", {"wlan.standard": "802.11n"}, [46]),
    (r"wlan\.dscp_mapping", "cell", {"wlan.standard": "802.11n", "flows.dscp": 46}, ["precedence"]),
    (r"flows\.udp\..*", "cell", UDP, []),
    (r"flows\.transfer\.size", "cell", {"flows.workload": "transfer", "flows.transfer.size": "100 kB"}, []),
    (r"flows\.workload", "cell", {}, ["transfer"]),
    (r"flows\.stop", "cell", {}, ["1 s"]),
    (r"flows\.sessions\.connection", "cell", SESSIONS, []),
    (r"flows\.periodic\..*", "cell", PERIODIC, []),
    (
        r"flows\.poisson\.empirical\.list",
        "cell",
        SIZES | {"flows.poisson.empirical.list": ["1 kB"]},
        [["10 kB", "40 kB"]],
    ),
    (r"flows\.poisson\..*", "cell", POISSON, []),
    (r"flows\.web\.empirical\.list", "cell", PAGES | {"flows.web.empirical.list": ["1 kB"]}, [["10 kB", "40 kB"]]),
    (r"flows\.web\..*", "cell", WEB, []),
    (r"flows\.on-off\..*", "cell", BURSTS, []),
    (r"flows\.trace\.connection", "cell", TRACE, []),
    (
        r"ap\.scheme\.wmax-over-n\.given_rtt",
        "cell",
        WMAX | {"ap.scheme.wmax-over-n.rtt": "given", "ap.scheme.wmax-over-n.given_rtt": "30 ms"},
        [],
    ),
    (r"ap\.scheme\.wmax-over-n\.ping_every", "cell", WMAX | {"ap.scheme.wmax-over-n.rtt": "ping"}, []),
    (
        r"ap\.scheme\.wmax-over-n\.service_time",
        "cell",
        WMAX | {"ap.scheme.wmax-over-n.mu": "given", "ap.scheme.wmax-over-n.service_time": "2 ms"},
        [],
    ),
    (r"ap\.scheme\.rate-limit\.mode", "cell", {"ap.scheme.uplink": "rate-limit"}, ["static"]),
    (r"(flows\.)?tcp\.westwood-plus\.tick", "wired", {"tcp.westwood-plus.filter": "linux"}, []),
    (r"ap\.scheme\.rate-limit\.rate", "cell", LIMIT | {"ap.scheme.rate-limit.mode": "static"}, []),
    (r"ap\.scheme\.dynamic-edca\.real_time\..*", "cell", UDP, []),
    (r"ap\.queue\.contention-red\.ecn", "downloads", {"wlan.data_error": 0.2}, []),
    (r"ap\.queue\.(red|fq-codel|vq-red|airtime)\.ecn", "downloads", {}, []),
    (r"ap\.queue\.(codel|fq-codel|airtime)\.ce_threshold", "downloads", {"tcp.cc": "prague"}, ["1 ms"]),
    *(
        (rf"ap\.queue\.{name}\.ce_threshold_on", "downloads", {f"ap.queue.{name}.ce_threshold": "1 ms"}, ["any"])
        for name in ("codel", "fq-codel", "airtime")
    ),
    (r"(flows\.)?tcp\.prague\.rtt_transition", "marks", {"tcp.prague.rtt_target": "100 ms"}, [0, 1000]),
    (r"ap\.queue\.fq-pie\.bytemode", "modern", {"ap.queue.fq-pie.target": "1 ms", "ap.queue.limit": "300 packets"}, []),
    (
        r"ap\.queue\.red\.full_packet",
        "downloads",
        {key.replace("X", "ap.queue"): value for key, value in RED.items()},
        [],
    ),
    (r"ap\.queue\.routing_first", "cell", WMAX | {"ap.scheme.wmax-over-n.rtt": "ping"}, []),
    (r"stations\.queue\.routing_first", "mesh", {"routing.dsdv.priority": False}, []),
    (
        r"ap\.grid\.columns",
        "campus",
        {"ap.layout": "grid", "ap.channels": [1], "ap.grid.columns": 2, "stations.chain.spacing": "40 m"},
        [1],
    ),
    (r"ap\.(chain|grid|circle|random)\..*", "campus", {"ap.channels": [1]}, []),
    (r"ap\.count", "campus", {}, [2]),
    ("wlan.use_protection", "mixed", {}, []),
    ("space.gains", "hidden", {}, [[["-80 dB"] * 4] * 4]),
    (r"wlan\.nav_reset", "hidden", {"wlan.rts_threshold": "0 B"}, []),
    (
        r"wlan\.dsss_basic_rate",
        "space",
        {"wlan.rate_adaptation": "fixed", "stations.dsss_only": True, "stations.data_rate": "11 Mb/s"},
        [],
    ),
    (r"wlan\.aarf\.most_successes", "space", {"duration": "20 s", "stations.circle.radius": "60 m"}, [10, 20]),
    (r"stations\.aarf\.most_successes", "space", {"duration": "20 s", "stations.circle.radius": "60 m"}, [10, 20]),
    (r"routing\.protocol", "mesh", {}, ["static"]),
    (r"routing\.dsdv\.limit", "mesh", {"routing.dsdv.entry": "60 B"}, ["150 B", "300 B"]),
]
# Keys that the Rust tests cover, because their effect takes more than a few seconds, or more than a scenario, to
# show. Keys that only allow other keys more values: test_limits.py.
ELSEWHERE = re.compile(
    r"wlan\.nonstandard_(rates|windows)|routing\.dsdv\.link_feedback|ap\.count|(flows\.)?tcp\.ctcp-tube\.reset_base"
    r"|(flows\.)?tcp\.vegas-fair\.(alpha|beta)_increment|(ap|servers|links)\.queue\.routing_first"
    r"|ap\.queue\.linux-wifi\.[\w-]+|ap\.device|stations\.(device|airtime_weight|airtime_shared)"  # tests in Rust
)

Key = tuple[str, dict[str, Any], dict[str, Any]]


def keys(table: dict[str, Any], path: str = "", chosen: dict[str, Any] | None = None) -> Iterator[Key]:
    """Every key of the schema, its schema entry, and the choices that its table belongs to."""
    chosen = chosen or {}
    fields: dict[str, dict[str, Any]] = table["properties"]
    choices: dict[str, str] = {}
    for key, field in fields.items():  # `tcp.reno` belongs to `tcp.cc`, though `tcp.recovery` has a choice of that name
        for choice in field.get("oneOf", ()):
            choices.setdefault(choice.get("const"), key)
    for key, field in fields.items():
        inner = field["items"] if field.get("type") == "array" else field
        if inner.get("type") == "object" and "properties" not in inner:
            continue  # parameters of a class of the user's own
        if inner.get("type") == "object":
            of_choice = {path + choices[key]: key} if key in choices else {}
            yield from keys(inner, f"{path}{key}.", chosen | of_choice)
        else:
            yield path + key, field, chosen


# Tables like `ap.queue` and `tcp` in other places, read by the same code; and user classes.
COPIES = re.compile(r"(servers|links|stations)\.queue\..*|flows\.tcp\.[\w-]+\..*|.*\.python\..*")
KEYS = {
    path: (field, chosen)
    for path, field, chosen in keys(json.loads(_core.schema()))
    if not any(left_out.fullmatch(path) for left_out in (LABELS, LINKS, COPIES))
}
SAMPLES = {
    "packets": ["5 packets", "2 packets", "10 packets", "30 packets"],
    "Mb": ["1 Mb/s", "2 Mb/s", "6 Mb/s", "11 Mb/s"],
    "ms": ["20 ms", "1 s", "200 ms", "1 ms", "100 us"],
    "dBm": ["-80 dBm", "-70 dBm", "15 dBm"],
    "dB": ["3 dB", "30 dB"],
    "kB": ["3000 B", "200 B", "20 kB"],
    "km": ["20 m", "300 m"],
}


def values(field: dict[str, Any]) -> list[Any]:
    """Values of a key that differ from its default."""
    found = re.search(r"Default: ([^\n(]*)", field.get("description", ""))
    default = json.loads(found[1]) if found else None
    if "oneOf" in field:
        return [choice["const"] for choice in field["oneOf"] if choice.get("const", default) != default]
    kind = field.get("type")
    if kind == "boolean":
        return [not default, default] if found else [True, False]  # the default may depend on the stack
    if kind in ("integer", "number"):
        start = default if default is not None else 3
        near = [start * 2, start + 1, start / 2, start * 10, start / 10, 0, 1, 0.3, 0.9, 50]
        return [int(x) if kind == "integer" else float(x) for x in near]
    if kind != "string" or "pattern" not in field:
        return []
    around = []
    if default is not None:
        number, unit = default.split(" ")
        steps = (10, -10, 3) if unit.startswith("dB") else ()
        factors = () if steps else (2, 0.5, 10, 0.1)
        around = [f"{float(number) + step:g} {unit}" for step in steps] + [
            f"{float(number) * f:g} {unit}" for f in factors
        ]
    return around + next(texts for unit, texts in SAMPLES.items() if unit in field["pattern"])


def results(scenario: Scenario) -> str:
    outcome = scenario._core.run(1, None, _core.Control())
    assert outcome is not None
    return repr([outcome[table] for table in ("flows", "cell", "stations", "sessions")])


@cache
def reference(name: str, settings: str) -> tuple[Scenario, str] | None:
    """A scenario with further settings, as JSON, and its results; None if it cannot have them."""
    try:
        scenario = Scenario.from_text(SCENARIOS[name]).with_(json.loads(settings))
    except ScenarioError:
        return None
    return scenario, results(scenario)


def shows(path: str, name: str, settings: dict[str, Any], candidates: list[Any]) -> bool:
    """Whether a value of the key at `path` gives other results."""
    known = reference(name, json.dumps(settings))
    if known is None:
        return False
    for value in candidates:
        more = TOGETHER.get((path, str(value)), {path: value})
        try:
            changed = known[0].with_(more)
        except ScenarioError:
            continue
        if results(changed) != known[1]:
            return True
    return False


def has_effect(path: str) -> bool:
    field, chosen = KEYS[path]
    for keys_, name, settings, candidates in CIRCUMSTANCES:
        if re.fullmatch(keys_, path) and shows(path, name, chosen | settings, candidates or values(field)):
            return True
    return any(shows(path, name, chosen, values(field)) for name in SCENARIOS)


def test_most_of_the_schema_is_tried() -> None:
    assert len([path for path in KEYS if not ELSEWHERE.fullmatch(path)]) > 350


@pytest.mark.parametrize("path", sorted(KEYS)[::29])
def test_a_key_is_not_ignored(path: str) -> None:
    assert ELSEWHERE.fullmatch(path) or has_effect(path)


@pytest.mark.slow
def test_no_key_is_ignored() -> None:
    ignored = [path for path in KEYS if not ELSEWHERE.fullmatch(path) and not has_effect(path)]
    assert ignored == []


def test_a_trace_that_cannot_be_read_is_told_in_words(tmp_path: Path) -> None:
    """It said "No such file or directory (os error 2)"."""
    file = tmp_path / "a.toml"
    file.write_text(
        'duration = "2 s"\nwlan.standard = "802.11b"\nservers = [{ name = "far" }]\nstations = [{ name = "sta" }]\n'
        'flows = [{ name = "up", station = "sta", workload = "trace", trace.file = "none.csv" }]\n'
    )
    with pytest.raises(ScenarioError, match=r"\^ no such file or directory$"):
        Scenario.from_file(file)

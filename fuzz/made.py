"""Targets for what is made of inputs: scenarios of captures, explanations, air times, claims of papers."""

from __future__ import annotations

import math
import random
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import wifair
from wifair._airtime import AirtimeError, airtime
from wifair.capture.twin import scenario_text
from wifair.explaining import explain
from wifair.reproduce._declaring import read_claims
from wifair.reproduce._places import PaperError

HERE = Path(__file__).parent
SHORT_S = 10.0
"""Longer scenarios of captures are not run [s]."""
PAPERS = Path(wifair.__file__).parent / "papers"


def told(error: Exception) -> None:
    """See that an error says something."""
    if not str(error):
        raise AssertionError(f"{type(error).__name__} says nothing")


def records(data: bytes) -> tuple[bytes, list[bytes]]:
    """Split a capture of this machine's byte order into its header and its records."""
    found, at = [], 24
    while at < len(data):
        end = at + 16 + int.from_bytes(data[at + 8 : at + 12], "little")
        found.append(data[at:end])
        at = end
    return data[:24], found


def twins(scenario: Callable[[random.Random], dict[str, Any]]) -> Callable[[random.Random], None]:
    """Make scenarios of damaged captures of random runs: what is written can be read and run."""

    def target(rng: random.Random) -> None:
        made = wifair.Scenario.from_dict(scenario(rng))
        with tempfile.TemporaryDirectory() as folder:
            wifair.run(made, seeds=[rng.randrange(1 << 30)], pcap=folder)
            path = rng.choice(sorted(Path(folder).glob("*.pcap*")))
            head, found = records(path.read_bytes())
            for _ in range(rng.choice((0, 1, 20))):
                if found:
                    at = rng.randrange(len(found))
                    match rng.randrange(4):
                        case 0:
                            del found[at]
                        case 1:
                            found.insert(at, rng.choice(found))
                        case 2:
                            del found[at:]
                        case _:
                            record = bytearray(found[at])
                            record[rng.randrange(len(record))] ^= 1 << rng.randrange(8)
                            found[at] = bytes(record)
            path.write_bytes(head + b"".join(found))
            try:
                text = scenario_text(wifair.read_capture(path, packets=True))
            except (ValueError, wifair.CaptureError) as error:
                told(error)
                return
        twin = wifair.Scenario.from_text(text)
        if twin.duration_s < SHORT_S:
            assert wifair.run(twin, seeds=[1]).cells["goodput_bps"][0] >= 0

    return target


def explanations(scenario: Callable[[random.Random], dict[str, Any]]) -> Callable[[random.Random], None]:
    """Explain random runs: each finding's own conditions hold, and saved results are explained alike."""

    def target(rng: random.Random) -> None:
        results = wifair.run(wifair.Scenario.from_dict(scenario(rng)), seeds=[rng.randrange(1 << 30)], series="50 ms")
        found = explain(results)
        for finding in found.findings:
            assert finding.text
            for condition in finding.conditions:
                value, bound = finding.figures[condition["figure"]], condition["bound"]
                holds = value >= bound if condition["is"] == "at least" else value <= bound
                assert holds or math.isnan(value), (finding, condition)
        with tempfile.TemporaryDirectory() as folder:
            results.save(Path(folder) / "saved")
            again = explain(wifair.read_results(Path(folder) / "saved"))
        assert [one.text for one in again.findings] == [one.text for one in found.findings]

    return target


def offers(scenario: Callable[[random.Random], dict[str, Any]]) -> Callable[[random.Random], None]:
    """Offer random datagrams to a link: each ends once, and the same offers end alike; wrong ones change nothing."""

    def ends(rng: random.Random, table: dict[str, Any]) -> list[tuple[Any, ...]]:
        link = wifair.Link(table, seed=rng.randrange(1 << 64))
        good = 0
        for _ in range(rng.randint(1, 100)):
            at = link.now_s + rng.choice((0.0, 1e-9, 1e-4, 0.01, -1e-3, 1e9, math.nan))
            ends = rng.choice(link.hosts), rng.choice((*link.hosts, "nobody"))
            payload = rng.choice((0, 1, 1472, 1473, rng.randbytes(rng.randrange(1500)), -1))
            ecn: Any = rng.choice(("not-ect", "ect0", "ect1", "ce", "x"))
            try:
                number = link.offer(at, *ends, payload, ecn=ecn, dscp=rng.choice((0, 46, 64)), flow=rng.randrange(3))
            except wifair.LinkError as error:
                told(error)
                continue
            assert number == good
            good += 1
            if rng.random() < 0.2:
                link.advance(min(link.next_event_s(), link.end_s))
        link.advance(link.end_s)
        now = link.snapshot()
        arrived, lost = [*iter(link.poll_delivery, None)], [*iter(link.poll_loss, None)]
        assert (now.offered, now.delivered, now.lost) == (good, len(arrived), len(lost))
        assert good == len(arrived) + len(lost) + link.in_flight
        numbers = [one.number for one in (*arrived, *lost)]
        assert len(set(numbers)) == len(numbers)
        assert [one.time_s for one in arrived] == sorted(one.time_s for one in arrived)
        return [*arrived, *lost]

    def target(rng: random.Random) -> None:
        table, seed = scenario(rng), rng.random()
        assert ends(random.Random(seed), table) == ends(random.Random(seed), table)

    return target


def airtimes(rng: random.Random) -> None:
    """Ask for air times of one and many users: an error, or a duration that a longer PSDU does not shorten."""

    def odd(usual: tuple[Any, ...], *unusual: Any) -> Any:
        return rng.choice(usual if rng.random() < 0.97 else unusual)

    width = rng.choice((20, 40, 80, 160))
    units = [f"{tones}.{at}" for tones, most in ((26, 9), (52, 4), (106, 2)) for at in range(1, most * width // 20 + 1)]
    units += [f"242.{at}" for at in range(1, width // 20 + 1)]
    length = odd((1, 14, 100, 1538, 4000, 60_000), 65_535, 6_500_631, -1, 1 << 40)
    users = [
        {
            "ru": odd((rng.choice(units),), "0", "106.9", "x", "996"),
            "mcs": odd((0, 3, 7, 9, 11), -1, 12, 14),
            "streams": odd((1, 1, 2), 0, 8, 9),
            "psdu_length": length,
        }
        for _ in range(rng.randint(1, 3))
    ]
    kind = rng.choice(("su", "mu", "mu", "tb"))
    asked: dict[str, Any] = {
        "standard": odd(("802.11ax", "802.11be"), "802.11n", "802.11g"),
        "width": odd((width,), 320, 0),
        "guard_interval": odd((None, "1.6 us", "3.2 us"), "800 ns", "1 s"),
        "ltf": odd((None,), 1, 2, 4, 3),
        "sequence": odd((None, "none"), "bar", "mu-bar", "aggregated-mu-bar", "basic-trigger", "bsrp"),
        "format": kind,
    }
    if kind == "su":
        asked |= {"mcs": odd((0, 3, 7, 11), -1, 14), "streams": odd((1, 2), 0, 9), "psdu_length": length}
        asked["sequence"] = odd((None,), "bar")
    else:
        asked["users"] = users
    if kind == "mu":
        asked |= {"sig_b_mcs": odd((None, 0, 1, 3), 6), "sig_b_dcm": rng.random() < 0.1}
    try:
        answer = airtime(**asked)
    except AirtimeError as error:
        told(error)
        return
    assert answer.duration_ns > 0
    assert repr(answer)
    if kind == "su":
        longer = {**asked, "psdu_length": length + 1}
    else:
        longer = {**asked, "users": [{**user, "psdu_length": length + 1} for user in users]}
    try:
        assert airtime(**longer).duration_ns >= answer.duration_ns, asked
    except AirtimeError as error:
        told(error)


def papers(rng: random.Random, mutate: Callable[[random.Random, bytearray], None]) -> None:
    """Read damaged claims of papers: an error with its line, or claims."""
    data = bytearray(rng.choice(sorted(PAPERS.glob("*/claims.toml"))).read_bytes())
    for _ in range(rng.randint(1, 6)):
        if rng.random() < 0.3:
            mutate(rng, data)
            continue
        lines = data.splitlines(keepends=True)
        first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
        lines[first], lines[second] = lines[second], lines[first]
        data = bytearray(b"".join(lines))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "claims.toml"
        path.write_bytes(data)
        try:
            read_claims(path)
        except PaperError as error:
            if f"{path.name}:" not in str(error):
                raise AssertionError(str(error)) from None
            return
    tomllib.loads(data.decode())

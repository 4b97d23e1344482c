"""Judges of the claims of oda2012.

Each follows the ledger's expression, first at the reading taken (buffers of 50 packets, the rules as printed), then in
the others: other buffers, and the guarded rule of Compound TCP+.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise

import numpy as np

from wifair.papers.oda2012.experiments import BASE_S, BUFFERS, GUARDED, PLUS, RATES, SATURATED, SETTINGS
from wifair.reproduce import Estimate, Judgement, Judges, Table, judged

__all__ = ["judges"]

judges = Judges()

Tables = Mapping[str, Table]
Numbers = Mapping[str, Estimate]
EQ7, EQ8, EQ9 = PLUS
MAIN = "AP 50"


class _Fig6:
    """Fig. 6 in one setting: `x(quantity, tcp)` gives the values by the number of stations."""

    def __init__(self, table: Table, setting: str) -> None:
        self.table = table
        self.setting = setting

    def __call__(self, quantity: str, tcp: str) -> dict[int, Estimate]:
        setting = self.setting if tcp in PLUS else self.setting.removesuffix(", guard")
        rows = self.table.where(quantity, tcp=tcp, setting=setting).rows
        return {int(row.labels["n"]): row.estimate for row in rows}

    @property
    def nodes(self) -> list[int]:
        """Numbers of stations that all of them were run with."""
        return sorted(set.intersection(*(set(self("jain_index", tcp)) for tcp in ("ctcp", *PLUS))))


Test = Callable[[_Fig6], tuple[bool, Numbers]]


def _in_settings(table: Table, test: Test, reason: str, fails: str) -> Judgement:
    """At the reading taken; then with other buffers and the guard."""
    holds, measured = test(_Fig6(table, MAIN))
    if holds:
        return judged(True, measured, reason)
    others = {}
    for setting in (*GUARDED.values(), *(s for s in SETTINGS if s not in (MAIN, "all 200"))):
        case = _Fig6(table, setting)
        if 20 in case.nodes:
            others[setting] = test(case)
    holding = {setting: numbers for setting, (good, numbers) in others.items() if good}
    if holding:
        measured = {**measured, **{f"{k}; {s}": v for s, numbers in holding.items() for k, v in numbers.items()}}
        where = "; ".join(holding)
        return judged(False, measured, reason, reading=f"{reason} Holds with {where}. At 50 packets: {fails}")
    if "AP 600, guard" in others:
        measured = {**measured, **{f"{k}; AP 600, guard": v for k, v in others["AP 600, guard"][1].items()}}
    return judged(False, measured, reason, fails=f"{reason} {fails}")


def _in_settings_at_least(table: Table, quantity: str, least: float) -> tuple[dict[str, Estimate], list[str]]:
    """Get a quantity by setting, and the settings in which it is `least` or more."""
    values = {str(setting): table(quantity, setting=setting) for setting in table.distinct("setting")}
    return values, [setting for setting, value in values.items() if value.mean >= least]


def _at(values: Mapping[int, Estimate], nodes: Iterable[int]) -> list[Estimate]:
    return [values[n] for n in nodes if n in values]


TRAPPED = (
    "Flows below 13.5 packets are trapped (alpha swnd^k < 1: no delay window, so no growth), and with a queue of 50 a "
    "flow must have more than 100 packets before Diff reaches gamma = 30, so those who lead are not slowed down."
)


# Fig. 2 to 5


@judges("f2_unfair")
def _unfair(tables: Tables) -> Judgement:
    def share(setting: str) -> float:
        most, least, jain = (
            tables["fig2"].row(q, tcp="ctcp", setting=setting, n=20).values for q in ("most", "least", "jain_index")
        )
        return float(np.mean((most >= 1.5) & (least <= 0.2) & (jain <= 0.9)))

    numbers = {q: tables["fig2"](q, tcp="ctcp", setting=MAIN, n=20) for q in ("most", "least", "jain_index")}
    part = share(MAIN)
    return judged(
        part > 0.5,
        {**numbers, "share of runs": part},
        "In most runs the greatest flow has at least 1.5 times the mean, the least at most a fifth of it, and Jain's "
        "index is at most 0.9.",
    )


@judges("access_prob")
def _access(tables: Tables) -> Judgement:
    share, in_ns2 = (tables["fig2"]("ap_share", tcp=tcp, setting=MAIN, n=20) for tcp in SATURATED)
    return judged(
        abs(share.mean - 1 / 21) <= 0.5 / 21,
        {"share of the AP": share, "1/21": 1 / 21, "as in ns-2": in_ns2},
        "Frames of the AP over all frames, saturated with UDP in both directions, within half of 1/21. In ns-2, whose "
        "NAV counts whole microseconds, bystanders resume later than sender and receiver, and the AP is one of these "
        "in every exchange: it wins far more often.",
    )


@judges("f3_dwnd_zero")
def _dwnd_zero(tables: Tables) -> Judgement:
    share, holding = _in_settings_at_least(tables["fig3"], "zero_share", 0.95)
    return judged(
        MAIN in holding,
        share,
        "dwnd is zero in at least 95 % of the samples after 100 s.",
        reading=f"With {', '.join(holding)} packets dwnd is zero in at least 95 % of the samples after 100 s. With 50 "
        "the queue of the AP adds only 60 ms to 220, so that the fastest flow, with some 70 packets, reckons with 16 "
        "packets in the queue: below gamma = 30 the delay window grows."
        if holding
        else "",
    )


@judges("f3_sawtooth")
def _sawtooth(tables: Tables) -> Judgement:
    def at(setting: str) -> tuple[bool, Numbers]:
        jain = [tables["fig2"]("jain_index", tcp=tcp, setting=setting, n=20) for tcp in ("ctcp", "newreno")]
        total = [tables["fig2"]("goodput_mbps", tcp=tcp, setting=setting, n=20) for tcp in ("ctcp", "newreno")]
        gap, ratio = jain[0] - jain[1], total[0] / total[1]
        good = abs(gap.mean) <= 0.1 and abs(ratio.mean - 1) <= 0.1
        return good, {"index of CTCP - NewReno": gap, "total of CTCP / NewReno": ratio}

    settings = [row.labels["setting"] for row in tables["fig2"].where("jain_index", tcp="newreno").rows]
    holds, measured = at(MAIN)
    others = [str(s) for s in settings if s != MAIN and at(str(s))[0]]
    return judged(
        holds,
        measured,
        "Indices differ by at most 0.1, totals by at most 10 %.",
        reading=f"Indices differ by at most 0.1 and totals by at most 10 % with {', '.join(others)}." if others else "",
    )


@judges("f4_full")
def _full(tables: Tables) -> Judgement:
    table = tables["fig4"]
    share = {str(setting): table("ap_queue_share", setting=setting) for setting in table.distinct("setting")}
    drops = table("ap_drops", setting=MAIN)
    return judged(
        share[MAIN].mean >= 0.9 and drops.mean > 0,
        {**share, "drops": drops},
        "Mean queue after 100 s at least 0.9 of the buffer, and packets are dropped.",
    )


@judges("f5_dwnd_before_overflow")
def _before_overflow(tables: Tables) -> Judgement:
    share, holding = _in_settings_at_least(tables["fig5"], "overflow_zero", 0.95)
    return judged(
        MAIN in holding,
        share,
        "At 95 % of the overflows after 100 s dwnd is zero in both flows.",
        reading=f"Holds with {', '.join(holding)}: the buffer must be large enough for Diff to reach gamma before it "
        "overflows."
        if holding
        else "",
    )


# Fig. 6


@judges("f6a_few_equal")
def _few_equal(tables: Tables) -> Judgement:
    def test(x: _Fig6) -> tuple[bool, Numbers]:
        few = [n for n in x.nodes if n <= 5]
        gaps = {f"{tcp}, n{n}": x("jain_index", tcp)[n] - x("jain_index", "ctcp")[n] for tcp in PLUS for n in few}
        return bool(few) and all(abs(gap.mean) <= 0.1 for gap in gaps.values()), gaps

    return _in_settings(
        tables["fig6a"], test, "Indices of CTCP+ and CTCP differ by at most 0.1 up to five stations.",
        "An index differs by more.",
    )  # fmt: skip


@judges("f6a_ctcp_falls")
def _ctcp_falls(tables: Tables) -> Judgement:
    def test(x: _Fig6) -> tuple[bool, Numbers]:
        jain = x("jain_index", "ctcp")
        most = max(jain)
        shown = {f"n{n}": jain[n] for n in jain}
        if not {5, 20} <= set(jain):
            return False, shown
        return jain[5].mean > jain[20].mean > jain[most].mean - 0.02, shown

    return _in_settings(
        tables["fig6a"], test, "Falls from 5 to 20 stations and does not rise to the most (0.02 allowed).",
        "It does not fall throughout.",
    )  # fmt: skip


@judges("f6a_plus_high")
def _plus_high(tables: Tables) -> Judgement:
    def test(x: _Fig6) -> tuple[bool, Numbers]:
        seven, eight, ctcp = (x("jain_index", tcp) for tcp in (EQ7, EQ8, "ctcp"))
        least = min(*seven.values(), *eight.values())
        lead = eight[20] - ctcp[20]
        # One number of stations says nothing of "stays".
        holds = len(x.nodes) > 1 and least.mean >= 0.9 and lead.mean > 0.05
        numbers = {"least": least, "eq 7, n20": seven[20], "eq 8, n20": eight[20], "ctcp, n20": ctcp[20]}
        return holds, numbers

    return _in_settings(
        tables["fig6a"], test,
        "Equations 7 and 8 at least 0.9 at every number of stations, and 8 above CTCP by more than 0.05 at 20.",
        f"CTCP+ is less fair than CTCP. {TRAPPED} With a buffer of 600 packets, gamma for each of 20 flows, and the "
        "guard, both lead over CTCP everywhere and have at least 0.93 up to 30 stations; but with 40, whose queues of "
        "30 packets each overflow it, equation 7 has 0.90. Flows that start late take the others' queue for part of "
        "their base RTT, too.",
    )  # fmt: skip


@judges("f6a_eq9_worse")
def _eq9_worse(tables: Tables) -> Judgement:
    def test(x: _Fig6) -> tuple[bool, Numbers]:
        seven, eight, nine, ctcp = (x("jain_index", tcp) for tcp in (EQ7, EQ8, EQ9, "ctcp"))
        many = [n for n in x.nodes if n >= 20]
        below = all(nine[n] < min(seven[n], eight[n]) for n in many)
        falls = all(nine[b] <= nine[a] for a, b in pairwise(x.nodes))
        holds = len(x.nodes) > 1 and below and falls and nine[20] >= ctcp[20]
        return holds, {
            "eq 7, n20": seven[20], "eq 8, n20": eight[20], "eq 9, n20": nine[20], "ctcp, n20": ctcp[20],
        }  # fmt: skip

    return _in_settings(
        tables["fig6a"], test,
        "Equation 9 below 7 and 8 from 20 stations on, never rising with the stations, and not below CTCP at 20.",
        f"Equation 9 is near 8 and, as both, less fair than CTCP. {TRAPPED} With a buffer of 600 "
        "packets and the guard it "
        "is below both and above CTCP at 20 and 40 stations, but not at 30, where all three are "
        "within their intervals.",
    )  # fmt: skip


@judges("fi_range")
def _range(tables: Tables) -> Judgement:
    rows = tables["fig6a"].where("jain_index").rows
    every = np.concatenate([row.values for row in rows])
    over = min(float(row.values.min()) * int(row.labels["n"]) for row in rows)
    return judged(
        over >= 1 and float(every.max()) <= 1,
        {"greatest": float(every.max()), "least index times n": over},
        "Every index between 1/n and 1. (Zero is never reached: the lower limit is 1/n.)",
    )


@judges("f6b_rtt")
def _rtt(tables: Tables) -> Judgement:
    def test(x: _Fig6) -> tuple[bool, Numbers]:
        queueing = {
            f"{tcp}, n{n}": (x("rtt_s", tcp)[n] - BASE_S) / (x("rtt_s", "ctcp")[n] - BASE_S)
            for tcp in (EQ7, EQ8)
            for n in x.nodes
            if n >= 10
        }
        return bool(queueing) and all(ratio.mean <= 0.5 for ratio in queueing.values()), queueing

    return _in_settings(
        tables["fig6b"], test,
        "Queueing delay (RTT less 220 ms) of equations 7 and 8 at most half of CTCP's from ten stations on.",
        "The buffer stays full under CTCP+ too, so the queueing delay is nearly the same.",
    )  # fmt: skip


@judges("f6b_ctcp_high")
def _ctcp_high(tables: Tables) -> Judgement:
    def test(x: _Fig6) -> tuple[bool, Numbers]:
        rtt = x("rtt_s", "ctcp")[20]
        return rtt.mean >= 2 * BASE_S, {"RTT of CTCP [s], n20": rtt}

    return _in_settings(
        tables["fig6b"], test, "At least twice 220 ms at 20 stations.",
        "a full buffer of 50 ACKs adds no more than 60 ms. ns-2 agrees (0.31 s; 0.50 s with 200 packets).",
    )  # fmt: skip


@judges("f6c_lower")
def _lower(tables: Tables) -> Judgement:
    def test(x: _Fig6) -> tuple[bool, Numbers]:
        ratios = {
            f"{tcp}, n{n}": x("goodput_mbps", tcp)[n] / x("goodput_mbps", "ctcp")[n] for tcp in PLUS for n in x.nodes
        }
        eight = x("goodput_mbps", EQ8)[20] / x("goodput_mbps", "ctcp")[20]
        holds = all(r.mean <= 1.01 for r in ratios.values()) and eight.mean < 1
        return holds, {"greatest ratio": max(ratios.values()), "eq 8 / ctcp, n20": eight}

    return _in_settings(
        tables["fig6c"], test, "CTCP+ at most 1.01 of CTCP at every number of stations, equation 8 below it at 20.",
        "a function carries more at some number of stations: with two stations CTCP halves its window at losses that "
        "CTCP+ avoids.",
    )  # fmt: skip


@judges("f6c_eq7_lowest")
def _eq7_lowest(tables: Tables) -> Judgement:
    def test(x: _Fig6) -> tuple[bool, Numbers]:
        ratios = {}
        for n in x.nodes:
            if n >= 10:
                seven, eight, nine = (x("goodput_mbps", tcp)[n] for tcp in PLUS)
                ratios[f"eq 7 / least other, n{n}"] = seven / min(eight, nine)
        return bool(ratios) and all(r.mean <= 1 for r in ratios.values()), ratios

    return _in_settings(
        tables["fig6c"], test, "Equation 7 at most as much as 8 and 9 from ten stations on.", "It is not the lowest."
    )


@judges("f6_eq8_best")
def _eq8_best(tables: Tables) -> Judgement:
    def test(x: _Fig6) -> tuple[bool, Numbers]:
        jain = {tcp: x("jain_index", tcp)[20] for tcp in PLUS}
        total = {tcp: x("goodput_mbps", tcp)[20] for tcp in PLUS}
        score = {tcp: jain[tcp] * total[tcp] for tcp in PLUS}
        holds = jain[EQ8] >= jain[EQ9] and total[EQ8] >= total[EQ7] and max(score.values()) == score[EQ8]
        return holds, {f"index times Mb/s, {tcp}": value for tcp, value in score.items()}

    return _in_settings(
        tables["fig6c"], test,
        "At 20 stations equation 8 is at least as fair as 9, carries at least as much as 7, and has the greatest "
        "product of index and total. (With buffers of 50 packets all are unfair, and the products are within their "
        "intervals; with 600 and the guard too.)",
        "Equation 7 is fairer, and the totals are nearly the same.",
    )  # fmt: skip


# Fig. 8


def _paths(table: Table) -> list[tuple[str, str]]:
    """Rate and buffer of the paths with both, the fastest first."""
    fastest = max(table.distinct("rate"), key=lambda rate: RATES[rate])
    return [(fastest, b) for b in BUFFERS if table.where(rate=fastest, buffer=b).rows]


def _on_paths(table: Table, test: Callable[[str, str, str], tuple[bool, Numbers]], reason: str) -> Judgement:
    """Judge by the buffer that suits best, since the paper gives none: with it the claim must hold for both TCPs."""
    measured: dict[str, Estimate] = {}
    holding = []
    for rate, buffer in _paths(table):
        results = [test(rate, buffer, tcp) for tcp in ("ctcp", EQ8)]
        for tcp, (_, numbers) in zip(("ctcp", EQ8), results):
            measured |= {f"{name}, {tcp}, {buffer} BDP": value for name, value in numbers.items()}
        if all(good for good, _ in results):
            holding.append(f"{buffer} BDP")
    rate = _paths(table)[0][0]
    return judged(bool(holding), measured, f"{reason} Path of {rate}, buffer {', '.join(holding)}.", fails=reason)


@judges("f8_slow_start")
def _slow_start(tables: Tables) -> Judgement:
    table = tables["fig8"]

    def test(rate: str, buffer: str, tcp: str) -> tuple[bool, Numbers]:
        peak, dip = (table(q, tcp=tcp, rate=rate, buffer=buffer) for q in ("peak_share", "dip_share"))
        return peak.mean >= 0.9 and dip.mean <= 0.8, {"peak": peak, "dip": dip}

    return _on_paths(
        table, test,
        "Within 6 s a second with at least 0.9 of the capacity, and in the next 3 s one with at most 0.8 of that.",
    )  # fmt: skip


@judges("f8_saturates")
def _saturates(tables: Tables) -> Judgement:
    table = tables["fig8"]

    def test(rate: str, buffer: str, tcp: str) -> tuple[bool, Numbers]:
        late = table("late_share", tcp=tcp, rate=rate, buffer=buffer)
        return late.mean >= 0.95, {"80 to 100 s": late}

    return _on_paths(table, test, "Mean throughput from 80 to 100 s at least 0.95 of the capacity.")


@judges("f8_similar")
def _similar(tables: Tables) -> Judgement:
    table = tables["fig8"]
    ratios = {}
    for rate, buffer in _paths(table):
        ctcp, plus = (table("mean_mbps", tcp=tcp, rate=rate, buffer=buffer) for tcp in ("ctcp", EQ8))
        ratios[f"{rate}, {buffer} BDP"] = plus / ctcp
    return judged(
        all(abs(ratio.mean - 1) <= 0.1 for ratio in ratios.values()),
        ratios,
        "Bytes in 100 s within 10 % of each other.",
    )


# Coexistence


@judges("co_yields")
def _yields(tables: Tables) -> Judgement:
    table = tables["coexist"]

    def at(setting: str) -> tuple[bool, dict[str, Estimate]]:
        numbers, good = {}, True
        for one in ("newreno", "ctcp"):
            alike = table("one_mbps", one=one, other=one, setting=setting)
            with_plus = table("one_mbps", one=one, other=EQ8, setting=setting)
            numbers[f"{one} with CTCP+ / with its like, {setting}"] = with_plus / alike
            numbers[f"CTCP+ beside {one} / {one}, {setting}"] = (
                table("other_mbps", one=one, other=EQ8, setting=setting) / with_plus
            )
            good &= (with_plus / alike).mean >= 0.95
        return good, numbers

    results = {str(setting): at(str(setting)) for setting in table.distinct("setting")}
    measured = {name: value for _, numbers in results.values() for name, value in numbers.items()}
    return judged(
        results[MAIN][0],
        measured,
        "Ten flows of NewReno, and of CTCP, have at least 0.95 of what they have beside ten of their like when the "
        "other ten are CTCP+ with equation 8. CTCP+ itself gets less.",
    )

"""`wifair reproduce`: selection, JSON, report, exit codes."""

from __future__ import annotations

import json
import re
import signal
import sqlite3
import struct
import sys
import threading
import time
from contextlib import closing, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import recording
from click.testing import CliRunner
from command import started
from wifair import reproduce
from wifair.cli import main
from wifair.reproduce import Effort, report, style
from wifair.reproduce import _page as page
from wifair.reproduce import _session as session
from wifair.reproduce._claims import VERDICTS, Recorded
from wifair.reproduce._expressions import MissingRowsError, evaluate, may_select
from wifair.reproduce._plain import claim_to_dict
from wifair.reproduce.runner import Runner
from wifair.reproduce.table import Row, Table, read_records
from wifair.reproduce.text import fitted
from wifair.sweeps import Store

if TYPE_CHECKING:
    from wifair.reproduce.table import Label

CLAIMS = {"jung2016": 36, "lee2007": 23, "kemerlis2006": 24, "oda2012": 20, "las": 23, "hoiland2017": 12}
"""Claims of each paper, 138 in all."""


@pytest.mark.parametrize("key", reproduce.KEYS)
def test_each_claim_is_declared_in_full(key: str) -> None:
    paper = session.load(key)
    experiments = {experiment.id for experiment in paper.experiments}
    assert len(experiments) == len(paper.experiments)
    assert [claim.id for claim in paper.claims] == list(dict.fromkeys(claim.id for claim in paper.claims))
    assert len(paper.claims) == CLAIMS[key]
    assert set(paper.recorded) <= {claim.id for claim in paper.claims}
    for claim in paper.claims:
        assert claim.needs <= experiments, claim.id
        assert claim.says.endswith("."), claim.id
        assert claim.clauses or claim.given, claim.id
        assert (claim.given is None) == (not claim.because), claim.id
        for clause in claim.clauses:
            assert clause.asks, claim.id
        control = paper.declared.controls.get(claim.control or "")
        assert (control is None) == bool(claim.no_control), claim.id
        assert control is None or control.relabel or control.changes, claim.id
    for one in paper.declared.open:
        assert len({reading.id for reading in one.readings}) == len(one.readings) > 1
        assert set(one.experiments) <= experiments


@pytest.mark.parametrize("key", reproduce.KEYS)
def test_readings_are_run_in_full(key: str) -> None:
    """Each reading of a label has cases in each experiment that it is declared for."""
    paper = session.load(key)
    for experiment in paper.experiments:
        cases = list(experiment.cases(Effort.FULL))
        for one in paper.declared.open:
            if one.label is None or experiment.id not in one.experiments or not cases:
                continue
            run = {str(case.labels.get(one.label)) for case in cases}
            for reading in one.readings:
                if not reading.experiments or experiment.id in reading.experiments:
                    assert str(reading.value) in run, (experiment.id, reading.id)


@pytest.mark.parametrize("key", reproduce.KEYS)
def test_reference_values_belong_to_a_row(key: str) -> None:
    """Matched by the labels of the cases: a typing error in a CSV would otherwise go unnoticed."""
    paper = session.load(key)
    known = {known.experiment for known in [*paper.published, *paper.ns2]}
    assert known <= {experiment.id for experiment in paper.experiments}


@pytest.mark.parametrize("key", reproduce.KEYS)
def test_scenarios_of_both_efforts_are_valid(key: str) -> None:
    for experiment in session.load(key).experiments:
        for effort in Effort:
            cases = list(experiment.cases(effort))
            assert cases or experiment.compute
            labels = [tuple(sorted((k, str(v)) for k, v in case.labels.items())) for case in cases]
            assert len(set(labels)) == len(labels), experiment.id


def test_json_has_the_promised_shape() -> None:
    done = CliRunner().invoke(main, ["reproduce", "lee2007/calc_mu", "lee2007/fig2a", "--json"])
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert document["effort"] == "quick"
    (paper,) = document["papers"]
    assert paper["key"] == "lee2007"
    assert [experiment["id"] for experiment in paper["experiments"]] == ["fig2a", "calc_mu"]
    for experiment in paper["experiments"]:
        assert experiment["rows"]
        assert {"quantity", "value", "ci95", "published", "ns2"} <= experiment["rows"][0].keys()
    for claim in paper["claims"]:
        assert claim["verdict"] in VERDICTS
        assert {"mechanism", "null", "verdict", "specific", "reason"} <= claim["control"].keys()
        assert claim["readings"]
        for reading in claim["readings"]:
            assert reading["result"] in VERDICTS
            assert len(reading["clauses"]) == len(claim["clauses"])
        for clause in claim["clauses"]:
            assert {"text", "published", "measured", "interval", "result"} <= clause.keys()
            assert clause["result"] in ("holds", "fails", "undecided")
    assert {"version", "platform", "python"} <= document.keys()


def test_a_claim_that_no_longer_holds_gives_exit_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if `calc_3868`, which holds in one reading of three, had been recorded as holding."""
    paper = session.load("lee2007")
    monkeypatch.setitem(paper.__dict__, "recorded", {"calc_3868": {"quick": Recorded("holds", 3, "")}})
    done = CliRunner().invoke(main, ["reproduce", "lee2007/calc_mu"])
    assert done.exit_code == 1
    assert "lee2007: calc_3868 is recorded as holding, and does not" in done.stdout
    # A verdict other than the recorded one is a failure only if that was "holds".
    monkeypatch.setitem(paper.__dict__, "recorded", {"calc_3868": {"quick": Recorded("fails", 0, "")}})
    assert CliRunner().invoke(main, ["reproduce", "lee2007/calc_mu"]).exit_code == 0


def test_a_control_takes_the_mechanism_away() -> None:
    """One upload beside four downloads starves none if it is a fifth download."""
    done = CliRunner().invoke(main, ["reproduce", "lee2007/fig2a", "--controls", "--json"])
    assert done.exit_code == 0, done.output
    (paper,) = json.loads(done.stdout)["papers"]
    half = next(claim for claim in paper["claims"] if claim["id"] == "f2_half_channel")
    assert half["control"]["null"] == "a download in place of each upload"
    assert half["verdict"] in ("holds", "depends")
    assert half["control"]["specific"] is True
    # The control is judged where the claim holds: in other readings there is no effect for the mechanism to
    # explain.
    assert half["control"]["readings"] == half["holding"]


def test_a_quick_run_keeps_its_verdict_and_names_that_of_the_full_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a full run had said that `calc_3868`, which holds in one reading of three, holds in all."""
    paper = session.load("lee2007")
    monkeypatch.setitem(paper.__dict__, "recorded", {"calc_3868": {"full": Recorded("holds", 3, "")}})
    (outcome,) = reproduce.reproduce(["lee2007/calc_mu"]).papers
    judged = next(one for one in outcome.claims if one.claim.id == "calc_3868")
    assert (judged.verdict, judged.in_full) == ("depends", "holds")
    assert claim_to_dict(judged)["verdict_of_full_runs"] == "holds"


@pytest.mark.parametrize("key", reproduce.KEYS)
def test_recorded_claims_exist(key: str) -> None:
    paper = session.load(key)
    claims = {claim.id: claim for claim in paper.claims}
    for id_, by_effort in paper.recorded.items():
        assert by_effort.keys() <= {"quick", "full"}
        for recorded in by_effort.values():
            assert recorded.verdict in VERDICTS
            assert (recorded.without in VERDICTS) == (claims[id_].control is not None), id_


CONTRADICTIONS: set[tuple[str, str, str, str]] = set()
"""Claims of which the recorded quick run and the full one both are sure, and differ: paper, claim, quick, full."""
SURER = {
    ("lee2007", "f10_fair_below"),
    ("lee2007", "f12_fair"),
}
"""Claims of which the recorded quick run is sure, and the full one is not."""


def test_differences_between_recorded_quick_and_full_runs_are_known() -> None:
    """A quick run says so where they differ; a new difference has to be looked at."""
    contradictions, surer = set(), set()
    for key in reproduce.KEYS:
        for id_, recorded in session.load(key).recorded.items():
            if {"quick", "full"} <= recorded.keys():
                quick, full = recorded["quick"].verdict, recorded["full"].verdict
                if quick not in ("undecided", "full-only", full):
                    if full == "undecided":
                        surer.add((key, id_))
                    else:
                        contradictions.add((key, id_, quick, full))
    assert contradictions == CONTRADICTIONS
    assert surer == SURER


@pytest.mark.parametrize("key", reproduce.KEYS)
def test_readmes_have_what_is_recorded(key: str) -> None:
    paper = session.load(key)
    text = (paper.folder / "README.md").read_text(encoding="utf-8")
    found = {block[1]: block[0] for block in page.GENERATED.finditer(text)}
    assert found == {
        "verdicts": recording.summary(paper),
        "deviations": recording.beside(paper),
        "readings": recording.by_reading(paper),
    }


def test_a_table_fits_a_terminal_and_keeps_its_reasons() -> None:
    head = ["", "", "published", "ns-2", "wifair", "seeds from .. to", "to paper", "to ns-2", "  why"]
    reason = "how many ACKs the access point drops depends on its queue, which the paper does not give"
    rows = [
        [
            "up, n 4, TCP",
            "aggregate goodput [Mb/s]",
            "5.51",
            "5.60",
            "5.6007 ± 0.0021",
            "5.59 .. 5.6",
            "+2 %",
            "0 %",
            "  ",
        ],
        ["up, n 8, TCP", "aggregate goodput [Mb/s]", "6.88", "6.40", "6.322 ± 0.053", "6.2 .. 6.5", "-8 %", "-1 %", ""],
    ]
    rows[1][-1] = f"  {reason}"
    narrow = fitted("key/table1: Goodput", [head, *rows], 80).splitlines()
    assert max(map(len, narrow)) <= 80
    assert narrow[0] == "key/table1: Goodput (up, TCP, aggregate goodput [Mb/s])"
    assert [line.split()[:3] for line in narrow[3:5]] == [["n", "4", "5.51"], ["n", "8", "6.88"]]
    assert " ".join(" ".join(narrow[5:]).split()) == reason
    wide = fitted("key/table1: Goodput", [head, *rows], 300).splitlines()
    assert wide[-1].endswith(f"-1 %    {reason}")
    assert "5.59 .. 5.6" in wide[-2]


def test_deviations_are_relative_to_the_reference() -> None:
    """1.1 over 1 and 1.8 over 2: 10 % above, 10 % below; the mean of ns-2's runs, 2.2 and 2.0, is 2.1."""
    rows = [
        Row({"n": 1}, "x", np.array([1.0, 1.2]), published=1.0),
        Row({"n": 2}, "x", np.array([1.8]), published=2.0, ns2=[2.2, 2.0]),
        Row({"n": 3}, "x", np.array([7.0])),
    ]
    published, ns2 = recording._deviations("e", "x", "quick", rows)
    assert published[:5] == ("e", "x", "quick", "published", 2)
    assert published.median == pytest.approx(0.1)
    assert abs(published.greatest) == pytest.approx(0.1)
    assert ns2[:5] == ("e", "x", "quick", "ns-2", 1)
    assert ns2.median == pytest.approx(1 / 7)
    assert ns2.greatest == pytest.approx(-1 / 7)
    assert ns2.at == "n 2"


GROWING = {("jung2016", "fig4a", "cwnd", tcp) for tcp in ("reno", "westwood")}
"""Windows that grow as long as a run lasts, because the receiver's window stops the sender first."""
COUNTS = ("transfers", "unfinished", "ap_drops")
"""What a run has more of the longer it is."""


@pytest.mark.parametrize("key", ["jung2016", "kemerlis2006", "las", "lee2007"])
def test_quick_runs_are_short_and_not_biased(key: str) -> None:
    """The mean of each point that figures and tables show is that of the recorded full run.

    Allowed are one and a half times the 95 % interval of the difference, about three standard errors, and 5 %.
    """
    by_point: dict[tuple[str, str, str], dict[str, tuple[float, float]]] = {}
    for row in read_records(session.load(key).folder / "means.csv"):
        at = (row["experiment"], row["quantity"], row["at"])
        by_point.setdefault(at, {})[row["effort"]] = (float(row["mean"]), float(row["half_width"]))
    both = {at: some for at, some in by_point.items() if len(some) == 2}
    assert len(both) > 40
    for (experiment, quantity, named), some in both.items():
        if quantity in COUNTS or any((key, experiment, quantity, tcp) in GROWING for tcp in named.split(", ")):
            continue
        (quick, quick_half), (full, full_half) = some["quick"], some["full"]
        allowed = 1.5 * np.hypot(quick_half, full_half) + 0.05 * abs(full)
        assert abs(quick - full) <= allowed, (experiment, quantity, named)


QUICKLY = [
    "lee2007/fig2a",
    "lee2007/fig2b",
    "lee2007/fig3",
    "lee2007/calc_mu",
    "las/fig6_9",
    "las/wlan_updown",
    "oda2012/access",
]
"""Experiments that take little time: their verdicts and controls are looked at in every run of the tests."""


def contradicted(outcome: reproduce.Outcome) -> list[tuple[str, str, str, str]]:
    """Find the verdicts, with a mechanism and without, that differ from those recorded and are decided in both."""
    found: list[tuple[str, str, str, str]] = []
    for paper in outcome.papers:
        for judged in paper.claims:
            recorded = paper.paper.recorded.get(judged.claim.id, {}).get(outcome.effort.value)
            if recorded is None:
                continue
            pairs = [(recorded.verdict, judged.verdict)]
            if judged.controlled is not None and judged.controlled.judgement is not None:
                pairs.append((recorded.without, judged.controlled.judgement.verdict))
            found += [
                (paper.paper.key, judged.claim.id, before, now)
                for before, now in pairs
                if now != before and "undecided" not in (before, now)
            ]
    return found


def test_quick_verdicts_and_controls_do_not_contradict_those_recorded() -> None:
    outcome = reproduce.reproduce(QUICKLY, controls=True)
    assert contradicted(outcome) == []
    judged = [one for paper in outcome.papers for one in paper.claims]
    assert sum(one.controlled is not None and one.controlled.judgement is not None for one in judged) >= 10


def test_a_verdict_does_not_depend_on_other_claims_in_the_run() -> None:
    alone = reproduce.reproduce(["lee2007/fig2a"], controls=True).papers[0].claims
    among = reproduce.reproduce(["lee2007/fig2a", "lee2007/fig2b", "lee2007/fig3"], controls=True).papers[0].claims
    by_id = {one.claim.id: one for one in among}
    for one in alone:
        other = by_id[one.claim.id]
        assert claim_to_dict(one) == claim_to_dict(other)


def test_runs_of_another_version_are_named_and_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = tmp_path / "store"
    command = ["reproduce", "lee2007/fig2a", "--store", str(store), "--json"]
    with monkeypatch.context() as older:  # as if that version had written the store
        for name in ("_task", "store", "engines", "runs"):
            older.setattr(f"wifair.sweeps.{name}.VERSION", "0.0.1+older")
        first = CliRunner().invoke(main, command)
    assert first.exit_code == 0, first.output
    with Store(store) as opened:
        (runs,) = opened.versions().values()
    again = CliRunner().invoke(main, command)
    assert again.exit_code == 0, again.output
    assert f"{runs} runs are of version 0.0.1+older" in again.stderr
    assert "computed anew" in again.stderr
    assert again.stdout == first.stdout
    with Store(store) as opened:
        assert sorted(opened.versions().values()) == [runs, runs]


def test_results_from_a_store_equal_those_from_memory(tmp_path: Path) -> None:
    selection = ["kemerlis2006/fig4", "lee2007/fig2a"]  # with series, and without
    kept = reproduce.reproduce(selection, store=tmp_path / "store").to_dict()
    assert kept == reproduce.reproduce(selection).to_dict()
    with Store(tmp_path / "store") as store:
        runs = store.count()
    again = reproduce.reproduce(selection, store=tmp_path / "store")
    assert again.to_dict() == kept
    with Store(tmp_path / "store") as store:
        assert store.count() == runs > 0


@pytest.mark.parametrize("kept", [False, True])
def test_cases_of_one_scenario_share_results(kept: bool, tmp_path: Path) -> None:
    """The series that one case needs are kept, whichever case comes first."""
    first = next(iter(session.load("lee2007").experiment("fig2a").cases(Effort.QUICK)))
    plain = replace(first, scenario=first.scenario.with_({"duration": "3 s", "warm_up": "1 s"}), seeds=(1, 2))
    sampled = replace(plain, labels={}, series="1 s")
    with Runner(tmp_path / "store" if kept else None) as runner:
        runner.start("both", [plain, sampled])
        while runner.finished() is None:
            pass
        results = runner.results([plain, sampled])
    assert results.seeds == (1, 2)
    assert sorted(set(results.flows["seed"].tolist())) == [1, 2]
    assert results.series is not None
    assert set(results.series["time_s"].tolist()) == {1.0, 2.0, 3.0}


def test_an_interrupted_reproduction_continues(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with started("reproduce", "lee2007", "--store", store, "--quiet") as process:
        deadline = time.monotonic() + 60
        while not finished(store) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, message = process.communicate(timeout=60)
    assert process.returncode == 130, message
    before = finished(store)
    assert before
    reproduce.reproduce(["lee2007/fig2a"], store=store)
    after = finished(store)
    assert before.items() <= after.items()  # none was computed again
    assert len(after) <= len(before) + 36  # two points, three settings, three seeds and as many again


def finished(store: Path) -> dict[tuple[str, int], str]:
    """When each run finished."""
    if not (store / "runs.sqlite").is_file():
        return {}
    with closing(sqlite3.connect(store / "runs.sqlite")) as db, suppress(sqlite3.OperationalError):
        rows = db.execute("SELECT scenario, seed, finished FROM runs").fetchall()
        return {(scenario, seed): at for scenario, seed, at in rows}
    return {}


def test_unknown_names_get_a_suggestion() -> None:
    done = CliRunner().invoke(main, ["reproduce", "lee2007/fig33"])
    assert done.exit_code == 2
    assert "no experiment or claim `fig33` in lee2007: did you mean `fig3`?" in done.stderr
    done = CliRunner().invoke(main, ["reproduce", "lee2007/f2b_worst"])
    assert done.exit_code == 2
    assert "did you mean `f2b_worse`?" in done.stderr
    done = CliRunner().invoke(main, ["reproduce", "lee2007/zzz"])
    assert done.exit_code == 2
    assert "there are fig2a, fig2b," in done.stderr
    assert "calc_3868, calc_215" in done.stderr
    done = CliRunner().invoke(main, ["reproduce", "jung"])
    assert done.exit_code == 2
    assert "no paper `jung`: did you mean `jung2016`?" in done.stderr


def test_a_single_claim_can_be_selected() -> None:
    paper = session.load("lee2007")
    (one,) = session.select(["lee2007/calc_3868"])
    assert ([claim.id for claim in one.claims], one.experiments) == (["calc_3868"], ("calc_mu",))
    (both,) = session.select(["lee2007/f2b_worse", "lee2007/fig2a"])
    of_2a = [claim.id for claim in paper.claims if claim.experiment == "fig2a"]
    assert [claim.id for claim in both.claims] == [*of_2a, "f2b_worse"]
    assert both.experiments == ("fig2a", "fig2b")
    (whole,) = session.select(["lee2007/f2b_worse", "lee2007"])
    assert whole.claims == list(paper.claims)
    for key in reproduce.KEYS:  # a name means one thing
        ids = [*(one.id for one in session.load(key).experiments), *(one.id for one in session.load(key).claims)]
        assert len(set(ids)) == len(ids)


def test_a_report_without_figures_says_what_they_need(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = CliRunner().invoke(main, ["reproduce", "lee2007/fig2a", "--out", str(tmp_path / "report")])
    assert done.exit_code == 0
    assert "/index.html (without figures, which need matplotlib: pip install 'wifair[plot]')" in done.stdout


def test_report_is_complete_and_needs_no_network(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    out = tmp_path / "report"
    for more in ([], ["--force"]):  # a second time over the first
        command = ["reproduce", "lee2007/fig2a", "lee2007/calc_mu", "--out", str(out), *more]
        done = CliRunner().invoke(main, command)
        assert done.exit_code == 0, done.output
    for name in ("index.html", "lee2007.html", "lee2007/fig2a.csv", "lee2007/calc_mu.csv", "reproduction.json"):
        assert (out / name).stat().st_size > 100, name
    assert (out / "lee2007/fig2a.svg").stat().st_size > 1000
    text = (out / "lee2007.html").read_text()
    assert "<svg" in text
    assert not re.search(r'(src|href)="https?:', text)
    for target in re.findall(r'href="([^"#:]+)"', text):
        assert (out / target).is_file(), target
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(set(ids)) == len(ids)


def test_figures_of_full_runs_have_three_formats_and_the_same_bytes_each_time(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert page.formats(Effort.QUICK) == ("svg",)
    experiment = session.load("lee2007").experiment("fig6")
    rows = [
        Row({"setting": "as printed", "scheme": "B/n", "rtt": rtt}, "up_down_ratio", np.array([1.0, 1.1, 1.3]))
        for rtt in (20, 100)
    ]
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        figure = style.draw(experiment, Table("fig6", rows))
        style.save(figure, tmp_path / name / "fig6", page.formats(Effort.FULL))
    for ending in ("png", "svg", "pdf"):
        first, second = ((tmp_path / name / f"fig6.{ending}").read_bytes() for name in ("one", "two"))
        assert len(first) > 1000
        assert first == second, ending
        if ending == "png":  # 3.5 by 2.6 inches
            assert struct.unpack(">II", first[16:24]) == (1050, 780)


def test_other_files_are_not_touched(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    done = CliRunner().invoke(main, ["reproduce", "lee2007/calc_mu", "--out", str(tmp_path)])
    assert done.exit_code == 2
    assert "holds other files" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("key", reproduce.KEYS)
def test_a_claim_that_also_holds_without_its_mechanism_is_explained(key: str) -> None:
    paper = session.load(key)
    for claim in paper.claims:
        for recorded in paper.recorded.get(claim.id, {}).values():
            if recorded.holding and recorded.without in ("holds", "depends"):
                assert len(claim.not_specific) > 60, claim.id


def test_an_unfinished_report_leaves_the_earlier_one_unchanged(tmp_path: Path) -> None:
    out = tmp_path / "report"
    outcome = reproduce.reproduce(["lee2007/calc_mu"])
    with report.Report(out, outcome.effort) as first:
        first.add(outcome.papers[0])
        first.finish(outcome)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    with suppress(KeyboardInterrupt), report.Report(out, Effort.QUICK) as begun:
        begun.add(outcome.papers[0])
        raise KeyboardInterrupt
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def test_remains_of_a_killed_report_are_not_foreign_files(tmp_path: Path) -> None:
    (tmp_path / f"{report.STAGE}x").mkdir()
    outcome = reproduce.reproduce(["lee2007/calc_mu"])
    with report.Report(tmp_path, outcome.effort) as begun:
        begun.add(outcome.papers[0])
        begun.finish(outcome)
    assert (tmp_path / "lee2007.html").is_file()


def test_a_paper_is_returned_as_soon_as_it_is_final(monkeypatch: pytest.MonkeyPatch) -> None:
    """While others still run: here another paper requests more runs until then."""
    handed = threading.Event()
    judged = session._PaperWork.judge
    deadline = time.monotonic() + 60

    def judge(work: session._PaperWork, runner: Runner) -> bool:
        if work.chosen.paper.key == "jung2016" and not handed.is_set() and time.monotonic() < deadline:
            return True
        return judged(work, runner)

    monkeypatch.setattr(session._PaperWork, "judge", judge)
    order: list[str] = []

    def done(item: session.PaperOutcome) -> None:
        order.append(item.paper.key)
        handed.set()

    outcome = reproduce.reproduce(["lee2007/calc_mu", "jung2016/f2b_500k_3s"], done=done)
    assert order == ["lee2007", "jung2016"]
    assert [item.paper.key for item in outcome.papers] == ["jung2016", "lee2007"]


def test_no_case_is_simulated_longer_than_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fig. 3 of lee2007, runs of 190 s: some claim is undecided with four seeds."""

    def most_seeds() -> int:
        (outcome,) = reproduce.reproduce(["lee2007/fig3"]).papers
        return max(len(case.seeds) for cases in outcome.cases.values() for case in cases)

    assert most_seeds() > 4
    monkeypatch.setattr(session, "MOST_SIMULATED_S", 7 * 190.0)
    assert most_seeds() == 4


def test_a_claim_alone_runs_only_what_it_needs() -> None:
    """Section 2.3 of oda2012: CTCP and NewReno with 20 stations; its control has CTCP+ in place of CTCP."""
    (chosen,) = session.select(["oda2012/f3_sawtooth"])
    work = session._PaperWork(chosen, Effort.FULL, controls=True)
    points = {(case.labels["tcp"], case.labels["n"]) for case in work.cases["fig6a"]}
    assert points == {("ctcp", 20), ("newreno", 20), ("ctcp+ eq 8", 20)}
    (chosen,) = session.select(["oda2012/fi_range"])
    assert list(session._PaperWork(chosen, Effort.FULL, controls=True).todo()) == []  # no run can contradict it
    (chosen,) = session.select(["oda2012/fig6a"])
    every = list(chosen.paper.experiment("fig6a").cases(Effort.QUICK))
    assert len(session._PaperWork(chosen, Effort.QUICK, controls=False).cases["fig6a"]) == len(every)


@pytest.mark.parametrize(
    ("text", "labels", "bound", "expected"),
    [
        ("e.x", {"n": 2}, {}, True),
        ("other.x", {"n": 2}, {}, False),
        ("e[n:4].x", {"n": 2}, {}, False),
        ("e[n:4].x / e[n:2].x", {"n": 2}, {}, True),
        ("max(e[n>=4].x, over=n)", {"n": 2}, {}, False),
        ("e[n>=4].x", {"n": 8}, {}, True),
        ("e[flow:one].x", {"n": 2}, {}, True),  # a label that only the rows have
        ("e.x", {"setting": "a"}, {"setting": "b"}, False),
        ("e[setting:a].x", {"setting": "a"}, {"setting": "b"}, True),
        ("e.x", {"n": 2}, {"setting": "b"}, True),
    ],
)
def test_cases_that_an_expression_may_need(
    text: str, labels: dict[str, Label], bound: dict[str, Label], expected: bool
) -> None:
    assert may_select(text, "e", labels, bound) is expected


@pytest.mark.parametrize("key", reproduce.KEYS)
def test_no_row_that_a_claim_uses_is_left_out(key: str) -> None:
    """The clauses use only rows that `may_use` names."""
    paper = session.load(key)
    cases = {one.id: list(one.cases(Effort.QUICK)) for one in paper.experiments}

    @cache
    def taken(experiment: str, quantity: str, text: str, bound: tuple[tuple[str, Label], ...]) -> set[int]:
        rows = [Row(dict(case.labels), quantity, np.ones(1), case=case) for case in cases[experiment]]
        try:
            return {id(row.case) for row in evaluate(text, {experiment: Table(experiment, rows)}, dict(bound)).rows}
        except MissingRowsError:  # labels that only measured rows have
            return set()

    for claim in paper.claims:
        used = {
            id(case) for name in claim.needs for case in cases[name] if paper.declared.may_use(claim, name, case.labels)
        }
        for reading in paper.declared.readings(claim):
            labels, places = paper.declared.bound(reading)
            for clause in claim.clauses:
                for found in re.finditer(r"\b([a-z]\w*)(?:\[[^]]*\])?\.([a-z]\w*)", clause.filled(places)[0]):
                    assert taken(found[1], found[2], found[0], tuple(labels.items())) <= used, claim.id


def test_markdown_of_the_readmes() -> None:
    text = page.markdown("# A\n\nsome `x < y`\n**bold**\n\n| a | b |\n|---|---|\n| 1 | `2` |\n\n- one\n- two\n")
    assert text.splitlines() == [
        "<h2>A</h2>",
        "<p>some <code>x &lt; y</code> <strong>bold</strong></p>",
        "<table><thead><tr><th>a</th><th>b</th></tr></thead>"
        "<tbody><tr><td>1</td><td><code>2</code></td></tr></tbody></table>",
        "<ul><li>one</li><li>two</li></ul>",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("key", reproduce.KEYS)
def test_verdicts_and_controls_do_not_contradict_those_recorded(key: str, full: bool) -> None:
    paper = session.load(key)
    effort = Effort.FULL if full else Effort.QUICK
    recorded = [claim.id for claim in paper.claims if effort.value in paper.recorded.get(claim.id, {})]
    if not recorded:
        pytest.skip(f"no {effort.value} run is recorded")
    outcome = reproduce.reproduce([f"{key}/{claim}" for claim in recorded], full=full, controls=True)
    assert contradicted(outcome) == []


def test_a_recorded_reproduction_is_verified(tmp_path: Path) -> None:
    file = tmp_path / "reproduction.json"
    done = CliRunner().invoke(main, ["reproduce", "lee2007/calc_mu", "lee2007/fig2a", "--json"])
    file.write_text(done.stdout)
    again = CliRunner().invoke(main, ["reproduce", "--verify", str(file)])
    assert again.exit_code == 0, again.output
    assert "reproduced, value for value" in again.stdout
    document = json.loads(file.read_text())
    assert {"commit", "compiler", "sources", "platform"} <= document.keys()
    document["papers"][0]["experiments"][0]["rows"][0]["value"] += 1e-9
    document["papers"][0]["experiments"][0]["cases"][0]["scenario"] = "0" * 64
    document["papers"][0]["claims"][0]["verdict"] = "fails"
    file.write_text(json.dumps(document))
    again = CliRunner().invoke(main, ["reproduce", "--verify", str(file)])
    assert again.exit_code == 1
    assert "has another scenario" in again.stdout
    assert "3 differences" in again.stdout
    assert "claim f2a_one_uplink_hurts: fails before" in again.stdout


def test_a_file_that_is_not_a_record_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    for text, message in (
        ("{", "is no JSON"),
        ("[]", "records no reproduction"),
        ('{"format": 1, "effort": "quick", "papers": []}', "has layout 1"),
    ):
        file.write_text(text)
        done = CliRunner().invoke(main, ["reproduce", "--verify", str(file)])
        assert done.exit_code == 2
        assert message in done.stderr
    done = CliRunner().invoke(main, ["reproduce", "las", "--verify", str(file)])
    assert done.exit_code == 2
    assert "no names" in done.stderr
    done = CliRunner().invoke(main, ["reproduce", "--full", "--verify", str(file)])
    assert (done.exit_code, "--full changes nothing of --verify" in done.stderr) == (2, True)

"""Reproduces papers: their experiments are run, drawn and compared, and their claims judged.

The papers themselves lie in `wifair.papers`, one folder each; this package knows none of them. A paper declares
experiments (which scenarios to run, what to measure, how to draw it) and claims (a statement, the published value, a
function that judges it from what was measured).
"""

from __future__ import annotations

from wifair.reproduce.claims import Claim, Judgement, Judges, judged, untestable
from wifair.reproduce.model import Case, Effort, Experiment, Measured, Paper
from wifair.reproduce.session import KEYS, Outcome, PaperOutcome, reproduce, select
from wifair.reproduce.table import Estimate, Row, Table

__all__ = [
    "KEYS",
    "Case",
    "Claim",
    "Effort",
    "Estimate",
    "Experiment",
    "Judgement",
    "Judges",
    "Measured",
    "Outcome",
    "Paper",
    "PaperOutcome",
    "Row",
    "Table",
    "judged",
    "reproduce",
    "select",
    "untestable",
]

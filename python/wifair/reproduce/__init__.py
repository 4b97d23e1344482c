"""Reproduction of papers: runs, draws and compares their experiments, and judges their claims.

The papers are in `wifair.papers`, one folder each; this package contains nothing specific to a paper. A paper declares
experiments (the scenarios to run, what to measure, how to draw it) and claims (clauses with predicates on the results,
the readings of what the paper leaves open, and a control for each mechanism).
"""

from __future__ import annotations

from wifair.reproduce._claims import Claim, Clause, Control
from wifair.reproduce._judging import Judgement
from wifair.reproduce._model import Case, Cases, Draw, Effort, Experiment, Measured, Paper, scenarios_of
from wifair.reproduce._session import KEYS, Outcome, PaperOutcome, reproduce, select
from wifair.reproduce.table import Row, Table

__all__ = [
    "KEYS",
    "Case",
    "Cases",
    "Claim",
    "Clause",
    "Control",
    "Draw",
    "Effort",
    "Experiment",
    "Judgement",
    "Measured",
    "Outcome",
    "Paper",
    "PaperOutcome",
    "Row",
    "Table",
    "reproduce",
    "scenarios_of",
    "select",
]

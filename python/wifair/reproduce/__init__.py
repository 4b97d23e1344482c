"""Reproduces papers: their experiments are run, drawn and compared, and their claims judged.

The papers themselves lie in `wifair.papers`, one folder each; this package knows none of them. A paper declares
experiments (which scenarios to run, what to measure, how to draw it) and claims (clauses with predicates on what was
measured, the readings of what it leaves open, and a control for each mechanism).
"""

from __future__ import annotations

from wifair.reproduce.claims import Claim, Clause, Control, Judgement
from wifair.reproduce.model import Case, Effort, Experiment, Measured, Paper
from wifair.reproduce.session import KEYS, Outcome, PaperOutcome, reproduce, select
from wifair.reproduce.table import Estimate, Row, Table

__all__ = [
    "KEYS",
    "Case",
    "Claim",
    "Clause",
    "Control",
    "Effort",
    "Estimate",
    "Experiment",
    "Judgement",
    "Measured",
    "Outcome",
    "Paper",
    "PaperOutcome",
    "Row",
    "Table",
    "reproduce",
    "select",
]

"""Every command and every block of code in the documentation runs, and prints what is shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from pages import ROOT, Runner, blocks

PAGES = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "CONTRIBUTING.md"])
RUN = {"sh", "console", "python", "toml"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page(page: Path, tmp_path: Path) -> None:
    shown = blocks(page)
    if any(block.kind in RUN and block.why is None for block in shown):
        Runner(page, tmp_path).run()


def test_what_is_not_run_says_why() -> None:
    for page in PAGES:
        for block in blocks(page):
            assert block.why is None or len(block.why.split()) >= 2, page

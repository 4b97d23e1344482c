"""Every command and every block of code in the documentation runs, and prints what is shown."""

from __future__ import annotations

import re
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


def test_each_picture_of_the_gallery_is_drawn_by_a_command_of_its_page() -> None:
    """What `docs/draw_gallery.py` would draw again is all that is shown; a picture cannot be left behind."""
    page = ROOT / "docs" / "gallery.md"
    commands = "".join(block.text for block in blocks(page) if block.kind == "sh")
    pictures = re.findall(r"\]\((figures/gallery/[^)]+)\)", page.read_text(encoding="utf-8"))
    assert len(pictures) >= 8
    by_folder = {"fig2a.png": "lee2007/fig2a", "overview.png": "--plot capture", "1_a2b.png": "--plot capture"}
    for picture in pictures:
        assert (ROOT / "docs" / picture).is_file(), picture
        name = Path(picture).name
        assert by_folder.get(name, f" {name}") in commands, name
    kept = {f"figures/gallery/{path.name}" for path in (ROOT / "docs" / "figures" / "gallery").iterdir()}
    assert kept == set(pictures)

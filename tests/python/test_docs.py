"""Every command and every block of code in the documentation runs, and prints what the page shows."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pages import ROOT, Runner, blocks

PAGES = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "CONTRIBUTING.md"])
RUN = {"sh", "console", "python", "toml"}


SLOW = [ROOT / "docs" / "gallery.md"]
"""Pages whose commands take minutes."""


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.slow if page in SLOW else ()) for page in PAGES],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_page(page: Path, tmp_path: Path) -> None:
    shown = blocks(page)
    if any(block.kind in RUN and block.why is None for block in shown):
        Runner(page, tmp_path).run()


def test_blocks_that_are_not_run_say_why() -> None:
    for page in PAGES:
        for block in blocks(page):
            assert block.why is None or len(block.why.split()) >= 2, page


def test_each_picture_of_the_gallery_is_drawn_by_a_command_of_its_page() -> None:
    """`docs/draw_gallery.py` redraws exactly the pictures shown, so none can be left behind."""
    page = ROOT / "docs" / "gallery.md"
    commands = "".join(block.text for block in blocks(page) if block.kind == "sh")
    pictures = re.findall(r"\]\((figures/gallery/[^)]+)\)", page.read_text(encoding="utf-8"))
    assert len(pictures) >= 8
    by_folder = {"fig2a.png": "lee2007/fig2a", "overview.png": "--figure capture", "1_a2b.png": "--figure capture"}
    for picture in pictures:
        assert (ROOT / "docs" / picture).is_file(), picture
        name = Path(picture).name
        assert by_folder.get(name, f" {name}") in commands, name
    kept = {f"figures/gallery/{path.name}" for path in (ROOT / "docs" / "figures" / "gallery").iterdir()}
    assert kept == set(pictures)


def test_the_reference_is_what_the_code_says() -> None:
    """With WIFAIR_BLESS=1 it is written again."""
    generate = runpy.run_path(str(ROOT / "docs" / "generate.py"))
    for folder, pages in (("keys", generate["key_pages"]()), ("python", generate["python_pages"]())):
        place = ROOT / "docs" / folder
        if os.environ.get("WIFAIR_BLESS"):
            for name, text in pages.items():
                (place / name).write_text(text, encoding="utf-8")
        assert {path.name for path in place.iterdir()} == set(pages)
        for name, text in pages.items():
            assert (place / name).read_text(encoding="utf-8") == text, f"{folder}/{name}: python docs/generate.py"


GENERATED = {"scenario.md", *(f"reference/{name}.md" for name in ("congestion-controls", "queues", "schemes"))}
"""Pages that `make docs` writes."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    """Each link leads to a source file or a generated page, and to a heading that exists."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        place = (page.parent / path).resolve() if path else page
        if not place.exists():
            assert place.is_relative_to(ROOT / "docs"), f"{target} leads nowhere"
            assert str(place.relative_to(ROOT / "docs")) in GENERATED, f"{target} leads nowhere"
        elif anchor:
            assert anchor in anchors(place), f"{target}: no such heading"


def anchors(page: Path) -> set[str]:
    """The anchors that mkdocs gives to the headings of a page."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}


def test_the_readme_counts_comparisons_as_the_validation_page_does() -> None:
    """It still counted those of an earlier validation."""
    page, readme = ((ROOT / name).read_text(encoding="utf-8") for name in ("docs/validation.md", "README.md"))
    counts = re.search(r"Of (\d+) comparisons with a criterion (\d+) agree", page)
    shown = re.search(r"Of (\d+) comparisons with [^.]*?, (\d+) agree", " ".join(readme.split()))
    assert counts is not None
    assert shown is not None
    assert shown.groups() == counts.groups()


def test_each_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in sorted((ROOT / "docs").rglob("*.md")):
        assert f": {page.relative_to(ROOT / 'docs')}\n" in navigation, page


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    """Built as by `make docs`, in strict mode, so a broken link of the site fails."""
    for module in ("material", "mkdocstrings", "mkdocs_click"):
        pytest.importorskip(module)
    source = tmp_path / "source"
    source.mkdir()
    shutil.copytree(ROOT / "docs", source / "docs")
    for name in ("mkdocs.yml", "python", "crates"):
        (source / name).symlink_to(ROOT / name)
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}

    def call(*command: str) -> str:
        done = subprocess.run(
            [sys.executable, *command], cwd=source, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    (source / "docs" / "scenario.md").write_text(call("-m", "wifair", "schema", "--markdown"), encoding="utf-8")
    call("docs/generate.py")
    call("-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site"))
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        links = re.findall(r'(?:href|src)="([^"#?]+)', page.read_text(encoding="utf-8"))
        for target in links:
            if (
                "://" in target
                or target.startswith(("data:", "mailto:", "/", "javascript:"))
                or page.name == "404.html"
            ):
                continue
            place = (page.parent / target).resolve()
            assert place.exists(), f"{page.relative_to(tmp_path)}: {target}"

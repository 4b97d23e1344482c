"""The lab page in the system's Chromium, driven by Playwright."""

from __future__ import annotations

import re
import shutil
import time
from typing import TYPE_CHECKING, Any

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: pip install playwright")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
if CHROMIUM is None:
    pytest.skip("no Chromium is installed: apt-get install chromium", allow_module_level=True)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATIENCE_MS = 60_000
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


def chromium() -> Iterator[Any]:
    """Start the browser, for a fixture."""
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


class Opened:
    """A page, and the errors in it."""

    def __init__(self, browser: Any, url: str, *, width: int = 1600, height: int = 1200, dark: bool = False) -> None:
        self.context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", accept_downloads=True
        )
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE_MS)
        self.wrong: list[str] = []
        base = re.match(r"https?://[^/]+/", url)
        assert base
        self.page.on(
            "console", lambda said: self.wrong.append(said.text) if said.type in ("error", "warning") else None
        )
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", lambda one: None if self._own(one.url, base[0]) else self.wrong.append(one.url))
        self.page.goto(url)
        self.page.wait_for_selector("html[data-ready]", state="attached")

    @staticmethod
    def _own(url: str, base: str) -> bool:
        return url.startswith((base, "data:", "blob:"))

    def settle(self) -> None:
        """Wait until no computation is in progress."""
        busy = "() => window.wifairLab.busy"
        calm = 0
        until = time.monotonic() + PATIENCE_MS / 1000
        while calm < 3 and time.monotonic() < until:
            calm = 0 if self.page.evaluate(busy) else calm + 1
            self.page.wait_for_timeout(40)
        assert calm == 3, "the page is busy without end"

    def value(self, expression: str) -> Any:
        return self.page.evaluate(f"() => {{ const lab = window.wifairLab; return {expression}; }}")

    def close(self) -> None:
        self.context.close()
        assert self.wrong == []


def opener(browser: Any) -> Iterator[Callable[..., Opened]]:
    """Open pages that have settled, for a fixture; at its end no page may have errors."""
    pages: list[Opened] = []

    def open_page(url: str, **more: Any) -> Opened:
        pages.append(Opened(browser, url, **more))
        pages[-1].settle()
        return pages[-1]

    yield open_page
    for one in pages:
        one.close()

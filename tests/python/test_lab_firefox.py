"""The lab page in Firefox, driven by its own protocol."""

from __future__ import annotations

import functools
import http.server
import threading
from typing import TYPE_CHECKING

import pytest
import wifair
from marionette import FIREFOX, Firefox
from wifair import Scenario
from wifair.laboratory import page as files
from wifair.laboratory.export import export
from wifair.laboratory.server import LabServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.alone,  # a browser keeps several processes busy
    pytest.mark.slow,
    pytest.mark.skipif(FIREFOX is None, reason="no Firefox is installed: apt-get install firefox-esr"),
]

WAIT = """
const until = performance.now() + 60000;
const lab = () => window.wifairLab;
while (!document.documentElement.dataset.ready || lab().busy) {
    if (performance.now() > until) throw new Error("the page is busy without end");
    await new Promise((done) => setTimeout(done, 30));
}
"""


@pytest.fixture(scope="module")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    with Firefox(tmp_path_factory.mktemp("profile")) as running:
        yield running


def run(firefox: Firefox, script: str) -> object:
    return firefox.run(f"return (async () => {{ {WAIT} {script} }})();")


def look(firefox: Firefox, url: str) -> None:
    """Open the page, run lessons, move a slider, step to a collision, pin, and compare with the command's numbers."""
    firefox.open(url)
    run(firefox, "window.wrong = []; window.addEventListener('error', (event) => wrong.push(event.message));")
    for lesson in ("hidden-node", "uploads"):
        run(
            firefox,
            "const list = document.getElementById('lesson');"
            f"list.value = '{lesson}'; list.dispatchEvent(new Event('change'));"
            "await new Promise((done) => setTimeout(done, 100));",
        )
        text = run(firefox, "return lab().text;")
        assert isinstance(text, str)
        expected = wifair.run(Scenario.from_text(text), seeds=1).flows["goodput_bps"].tolist()
        assert run(firefox, "return [...lab().result.flows.numbers('goodput_bps')];") == expected
    run(
        firefox,
        "document.getElementById('pin').click();"
        "const slider = document.querySelector('#story input[type=range]');"
        "slider.value = 0; slider.dispatchEvent(new Event('input', { bubbles: true }));"
        "await new Promise((done) => setTimeout(done, 100));",
    )
    changed = run(firefox, "return lab().text;")
    assert isinstance(changed, str)
    assert changed != text
    expected = wifair.run(Scenario.from_text(changed), seeds=1).flows["goodput_bps"].tolist()
    assert run(firefox, "return [...lab().result.flows.numbers('goodput_bps')];") == expected
    run(firefox, "lab().player.go(0); await new Promise((done) => setTimeout(done, 100));")
    assert run(firefox, "await lab().player.step('collision'); return lab().player.now_s;") != 0
    assert run(firefox, "return lab().air.frames.start.length;") != 0
    assert run(firefox, "return [document.getElementById('notice').hidden, wrong];") == [True, []]


def test_the_page_of_the_server_works_in_firefox(firefox: Firefox) -> None:
    with LabServer() as server:
        look(firefox, server.url)


def test_the_exported_page_works_in_firefox(firefox: Firefox, tmp_path: Path) -> None:
    if not files.has_engine():
        pytest.skip("the core was not built for the browser: make lab")
    export(tmp_path / "site")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    handler = functools.partial(Quiet, directory=tmp_path / "site")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        look(firefox, f"http://127.0.0.1:{server.server_address[1]}/index.html")
        server.shutdown()

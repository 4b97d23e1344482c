"""`wifair.lab` in a notebook: a kernel shows the page, a browser opens it, and the kernel reads back the changes."""

from __future__ import annotations

import http.server
import json
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

import pytest

pytest.importorskip("nbclient", reason="nbclient is not installed: pip install nbclient ipykernel")
pytest.importorskip("ipykernel", reason="ipykernel is not installed: pip install nbclient ipykernel")
sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: pip install playwright")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
if CHROMIUM is None:
    pytest.skip("no Chromium is installed: apt-get install chromium", allow_module_level=True)

pytestmark = [pytest.mark.alone, pytest.mark.slow]

LESSON = Path(__file__).parents[2] / "lab" / "lessons" / "uploads.toml"

# A separate process, because the kernel's client and Playwright have an event loop each. Cells and outputs are
# lines.
NOTEBOOK = """
import json, sys
import nbformat
from nbclient import NotebookClient
notebook = nbformat.v4.new_notebook()
client = NotebookClient(notebook, timeout=120, kernel_name="python3")
with client.setup_kernel():
    for line in sys.stdin:
        notebook.cells.append(nbformat.v4.new_code_cell(json.loads(line)))
        index = len(notebook.cells) - 1
        client.execute_cell(notebook.cells[index], index)
        print(json.dumps(notebook.cells[index].outputs), flush=True)
"""


def test_a_cell_shows_the_page_and_the_next_one_reads_it_back() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", NOTEBOOK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as kernel:
        assert kernel.stdin is not None
        assert kernel.stdout is not None
        stdin: IO[str] = kernel.stdin
        stdout: IO[str] = kernel.stdout

        def cell(source: str) -> list[dict[str, dict[str, str]]]:
            stdin.write(json.dumps(source) + "\n")
            stdin.flush()
            return list(json.loads(stdout.readline()))

        (output,) = cell(f"import wifair\nview = wifair.lab({str(LESSON)!r})\nview")
        html = output["data"]["text/html"]
        assert "<iframe" in html
        text = change_on_the_page(html)
        (output,) = cell("wifair.run(view.scenario, seeds=view.seed).flows['goodput_bps'].size, view.text")
        count, shown = eval(output["data"]["text/plain"])
        assert shown == text
        assert text != LESSON.read_text()
        assert count == 6
        stdin.close()
    assert kernel.returncode == 0


def change_on_the_page(html: str) -> str:
    """Show a cell's output as a notebook does, move the lesson's slider, and return the new text."""

    class Notebook(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(f"<!doctype html><title>notebook</title><link rel=icon href=data:,>{html}".encode())

        def log_message(self, *_: object) -> None:
            pass

    with (
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), Notebook) as server,
        sync_api.sync_playwright() as playwright,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = chromium.new_page(viewport={"width": 1200, "height": 1000})
        page.set_default_timeout(60_000)
        wrong: list[str] = []
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.goto(f"http://localhost:{server.server_address[1]}/")
        frame = page.frames[1]
        frame.wait_for_selector("html[data-ready]", state="attached")
        field = frame.locator('[data-path="stations[0].count"] input[type="text"]').first
        with page.expect_response(lambda response: response.url.endswith("/state")):
            field.fill("2")
            field.press("Enter")
            frame.wait_for_function("() => !window.wifairLab.busy && window.wifairLab.text.includes('count = 2')")
        text = str(frame.evaluate("() => window.wifairLab.text"))
        chromium.close()
        server.shutdown()
    assert wrong == []
    return text

"""How fast the page of `wifair lab` answers in Chromium: the goals are 50 ms from a moved slider to the new picture,
300 ms for 40 stations, and 60 frames a second while time plays.

    python benches/lab.py             the core in the browser (needs `make lab`, Playwright, Chromium)
    python benches/lab.py --native    the core on the server

The browser has no graphics processor here, and draws with the processor that also simulates. What other programs take
from it counts: the load is printed, and beside each median the shortest time.
"""

from __future__ import annotations

import functools
import http.server
import os
import shutil
import statistics
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from playwright.sync_api import Page, sync_playwright
from wifair.laboratory.export import export
from wifair.laboratory.server import LabServer

MOVE = """async ([moves, values, selector]) => {
  const lab = window.wifairLab;
  const slider = document.querySelector(selector);
  const show = lab.show;
  const times = [];
  for (let i = 0; i < moves; i++) {
    const shown = new Promise((done) => (lab.show = function (result) { show.call(lab, result); done(); }));
    const start = performance.now();
    slider.value = values[i % values.length];
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    await shown;
    lab.show = show;
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    times.push(performance.now() - start);
    while (lab.busy) await new Promise((done) => setTimeout(done, 20));
  }
  return times;
}"""
WRITE = """async ([text, runs]) => {
  const lab = window.wifairLab;
  const times = [];
  for (let i = 0; i < runs; i++) {
    const start = performance.now();
    await lab.write(`${text}# ${i}`);
    times.push(performance.now() - start);
    while (lab.busy) await new Promise((done) => setTimeout(done, 20));
  }
  return times;
}"""
PLAY = """async ([speed, width_s, seconds]) => {
  const { player, air } = window.wifairLab;
  player.go(20);
  air.look(20, width_s);
  while (air.busy) await new Promise((done) => setTimeout(done, 20));
  const select = document.getElementById("speed");
  select.value = speed;
  select.dispatchEvent(new Event("change"));
  player.play();
  const start = performance.now();
  let frames = 0;
  while (performance.now() - start < 1000 * seconds) {
    await new Promise((done) => requestAnimationFrame(done));
    frames++;
  }
  player.pause();
  return frames / seconds;
}"""
FORTY = """duration = "100 s"
wlan.standard = "{standard}"
[[servers]]
name = "server"
delay = "10 ms"
[[stations]]
name = "sta"
count = 40
[[flows]]
name = "up"
station = "sta"
"""


@contextmanager
def address(native: bool) -> Iterator[str]:
    """Where the page is: on the server of `wifair lab`, or as static files."""
    if native:
        with LabServer() as lab:
            yield lab.url
        return

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with tempfile.TemporaryDirectory() as folder:
        export(Path(folder), force=True)
        with http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), functools.partial(Quiet, directory=folder)
        ) as server:  # fmt: skip
            threading.Thread(target=server.serve_forever, daemon=True).start()
            yield f"http://127.0.0.1:{server.server_address[1]}/index.html"
            server.shutdown()


def told(what: str, times: list[float]) -> None:
    """Say a median and the shortest time."""
    load = os.getloadavg()[0]
    click.echo(f"{what}: {statistics.median(times):.0f} ms, shortest {min(times):.0f} ms (load {load:.1f})")


def measure(page: Page, moves: int) -> None:
    """Measure the page that is open."""
    sliders: dict[str, tuple[list[int], str]] = {
        "stations": ([0, 7, 2, 5, 1, 6, 3, 4], '#story input[type="range"]'),
        "delay": ([20, 70, 40, 90], '#main-controls [data-path="servers[0].delay"] input[type="range"]'),
    }
    for name, (values, selector) in sliders.items():
        page.evaluate(MOVE, [4, values, selector])
        told(f"slider of the {name}, eight stations for 100 s", page.evaluate(MOVE, [moves, values, selector]))
    for standard in ("802.11b", "802.11a", "802.11g", "802.11n", "802.11ac", "802.11ax", "802.11be"):
        told(f"{standard}, 40 stations for 100 s", page.evaluate(WRITE, [FORTY.format(standard=standard), 5]))
    page.locator("#lesson").select_option("uploads")
    page.wait_for_timeout(1000)
    for speed, name, width_s in (("5", "real time", 0.05), ("6", "10 x", 0.05), ("6", "10 x", 10)):
        frames = page.evaluate(PLAY, [speed, width_s, 3])
        click.echo(f"{name}, {width_s} s of the air: {frames:.0f} frames a second (load {os.getloadavg()[0]:.1f})")


@click.command(help=(__doc__ or "").partition("\n")[0])
@click.option("--native", is_flag=True, help="The core on the server instead of in the browser.")
@click.option("--moves", default=40, show_default=True, help="Moves of each slider.")
def main(native: bool, moves: int) -> None:
    """Open the page and measure."""
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with address(native) as url, sync_playwright() as playwright:
        browser: Any = playwright.chromium.launch(executable_path=chromium, args=flags)
        page = browser.new_page(viewport={"width": 1600, "height": 1200})
        page.goto(url)
        page.wait_for_selector("html[data-ready]", state="attached")
        page.wait_for_timeout(1000)
        measure(page, moves)
        browser.close()


if __name__ == "__main__":
    main()

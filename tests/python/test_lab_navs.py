"""The NAVs on the lab page, in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from lab_page import Opened, chromium, opener
from wifair.laboratory.server import LabServer

pytestmark = pytest.mark.alone  # a browser keeps several processes busy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CF_END = """
duration = "1 s"
[wlan]
standard = "802.11n"
rts_threshold = "0 B"
cf_end = true
edca.be.txop = "3008 us"
[[servers]]
name = "server"
[[stations]]
name = "a"
[[stations]]
name = "b"
[[flows]]
name = "a"
station = "a"
transport = "udp"
udp.rate = "10 Mb/s"
"""


TWO_CELLS = """
duration = "1 s"
[wlan]
standard = "802.11ax"
[ap]
count = 2
layout = "chain"
chain.spacing = "10 m"
[space]
[[servers]]
name = "server"
at = "switch"
[[stations]]
name = "a"
ap = "ap1"
position = ["0 m", "5 m"]
[[stations]]
name = "b"
ap = "ap2"
position = ["10 m", "5 m"]
[[links]]
from = "ap"
to = "switch"
rate = "1 Gb/s"
[[routers]]
name = "switch"
[[flows]]
name = "a"
station = "a"
transport = "udp"
udp.rate = "10 Mb/s"
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from chromium()


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Opened]]:
    yield from opener(browser)


@pytest.fixture(scope="module")
def lab() -> Iterator[LabServer]:
    with LabServer() as server:
        yield server


def test_a_cf_end_ends_the_nav(opened: Callable[..., Opened], lab: LabServer) -> None:
    page = opened(lab.url)
    page.page.locator("#toml").fill(CF_END)
    page.page.wait_for_timeout(300)
    page.settle()
    page.page.evaluate("window.wifairLab.air.look(0.5, 0.008)")
    page.settle()
    # In lane `b`, which is nobody's receiver: 0.1 ms before and behind the first CF-End of `a` in the middle.
    painted = page.page.evaluate("""() => {
        const { air } = window.wifairLab;
        const { table, start, end, sender } = air.frames;
        const [a, b] = ["a", "b"].map((name) => air.nodes.indexOf(name));
        const row = start.findIndex((time, i) =>
            time > air.from_s + 0.003 && table.text("kind", i) === "cf-end" && sender[i] === a);
        const { width, height } = air.canvas;
        const context = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
        context.drawImage(air.canvas, 0, 0);
        const scale = devicePixelRatio || 1;
        const wide = width / scale - 68;
        const isPainted = (time) => {
            const x = 62 + ((time - air.from_s) / air.width_s) * wide;
            const y = 20 + 34 * b + 30;
            const strip = context.getImageData(Math.round(x * scale), Math.round(y * scale), 8, 2).data;
            return new Set(new Uint32Array(strip.buffer)).size > 1;
        };
        return [isPainted(start[row] - 0.0001), isPainted(end[row] + 0.00005)];
    }""")
    assert painted == [True, False]


@pytest.mark.parametrize("standard", ["802.11ax", "802.11n"])
def test_a_frame_of_another_bss_sets_the_basic_nav(
    opened: Callable[..., Opened], lab: LabServer, standard: str
) -> None:
    page = opened(lab.url)
    page.page.locator("#toml").fill(TWO_CELLS.replace("802.11ax", standard))
    page.page.wait_for_timeout(300)
    page.settle()
    page.page.evaluate("window.wifairLab.air.look(0.5, 0.004)")
    page.settle()
    # In the lane of the other cell's station, behind the first data of `a`: the ticks, and the dashes below them.
    painted = page.page.evaluate("""() => {
        const { air } = window.wifairLab;
        const { table, start, end, sender } = air.frames;
        const [a, b] = ["a", "b"].map((name) => air.nodes.indexOf(name));
        const row = start.findIndex((time, i) =>
            time > air.from_s && table.text("kind", i) === "data" && sender[i] === a);
        const { width, height } = air.canvas;
        const context = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
        context.drawImage(air.canvas, 0, 0);
        const scale = devicePixelRatio || 1;
        const x = 62 + ((end[row] - air.from_s) / air.width_s) * (width / scale - 68) + 2;
        const isPainted = (y) => {
            const { data } = context.getImageData(Math.round(x * scale), Math.round((20 + 34 * b + y) * scale), 10, 1);
            return new Set(new Uint32Array(data.buffer)).size > 1;
        };
        return [table.text("inter_bss_at", row), isPainted(30), isPainted(33)];
    }""")
    assert painted == (["ap2 b", False, True] if standard == "802.11ax" else ["", True, False])

"""The files of the lab page, and its initial state."""

from __future__ import annotations

import base64
import json
import zlib
from importlib.resources import files
from typing import NamedTuple

from wifair import _core
from wifair.scenario.scenario import Scenario

FILES = {
    "index.html": "text/html; charset=utf-8",
    "lab.css": "text/css; charset=utf-8",
    "lab.js": "text/javascript; charset=utf-8",
    "worker.js": "text/javascript; charset=utf-8",
}
"""The files of the page and their types."""
ENGINE = "engine.wasm"
"""The core as WebAssembly, which only exported pages need."""
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline';"
    " img-src 'self' data: blob:; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'"
)
"""What the page may load: only what is its own. The browser refuses requests to other hosts."""
LONGEST_LINK = 4_100_000
"""What a link may unpack to, as in lab/src/share.ts."""
PLACE = '<script type="application/json" id="start"></script>'


class Start(NamedTuple):
    """What the page shows at first."""

    text: str | None = None
    """The text of a scenario; by default the page starts with its first lesson."""
    name: str = "scenario.toml"
    """Name of the scenario in messages."""
    lesson: str | None = None
    """A lesson to open, by its name."""

    @classmethod
    def of(cls, scenario: Scenario) -> Start:
        """Start with a scenario, with its overrides applied."""
        text = scenario.resolved if scenario.overrides else scenario.toml
        return cls(text, scenario._source)


def link_in(text: str) -> str:
    """Get the fragment of a link to a state of the page, with or without an address before it; empty if it is none."""
    _, mark, code = text.partition("#s=")
    return f"#s={code}" if mark else ""


def is_whole(link: str) -> bool:
    """Whether the page can read a link."""
    code = link.removeprefix("#s=")
    try:
        packed = base64.b64decode(code + "=" * (-len(code) % 4), altchars=b"-_", validate=True)
        unpacker = zlib.decompressobj(wbits=-15)
        text = unpacker.decompress(packed, LONGEST_LINK)
        return unpacker.eof and isinstance(json.loads(text)["text"], str)
    except (ValueError, KeyError, TypeError, zlib.error):
        return False


def read(name: str) -> bytes:
    """Get a file of the page.

    Raises
    ------
    FileNotFoundError
        If it was not built.
    """
    return (files("wifair.laboratory") / "static" / name).read_bytes()


def has_engine() -> bool:
    """Whether the core was built as WebAssembly."""
    return (files("wifair.laboratory") / "static" / ENGINE).is_file()


def lessons() -> list[str]:
    """Get the names of the lessons, in their order."""
    return [str(lesson["id"]) for lesson in json.loads(read("lessons.json"))]


def index(start: Start, *, engine: str) -> bytes:
    """Get the page itself.

    Parameters
    ----------
    start : Start
        What the page shows at first.
    engine : {"http", "wasm"}
        Where the simulator runs: on the server of the page, or in the browser.
    """
    data = {"engine": engine, "version": _core.__version__, **start._asdict()}
    text = json.dumps(data, ensure_ascii=True).replace("<", "\\u003c")
    page = read("index.html").decode()
    assert PLACE in page
    if engine == "wasm":  # the server sends it as a header; a folder of files has no other way to say it
        charset = '<meta charset="utf-8">'
        page = page.replace(charset, f'{charset}\n<meta http-equiv="Content-Security-Policy" content="{POLICY}">', 1)
    return page.replace(PLACE, PLACE.replace("></", f">{text}</")).encode()

"""Writes the reference of congestion controls, queues and schemes, and the lessons: ``python docs/generate.py``.

The text about each item is the documentation of its module; names, sources and keys come from the core.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from wifair import _core
from wifair.laboratory.export import export
from wifair.laboratory.page import has_engine

ROOT = Path(__file__).parents[1]
OUT = ROOT / "docs" / "reference"
LESSONS = ROOT / "docs" / "lessons"
MODULES = {"newreno": "reno", "westwood-nr": "westwood"}
PAGES = {
    "congestion-controls": ("Congestion controls", "crates/tcp/src/cc", ["flows.tcp.cc"], "flows.tcp"),
    "queues": ("Queue disciplines", "crates/queue/src", ["ap.queue.discipline"], "ap.queue"),
    "schemes": (
        "Schemes of the access point",
        "crates/ap/src",
        [f"ap.scheme.{kind}" for kind in ("window", "uplink", "client", "access")],
        "ap.scheme",
    ),
}


def head(path: Path) -> str:
    """Get the documentation at the head of a module, with links to other code as plain names."""
    lines = [line[4:] for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("//!")]
    text = "\n".join(line.rstrip() for line in lines)
    return re.sub(r"\[(`[^`\]]+`)\](\([^)]*\))?", r"\1", text)


def keys() -> dict[str, str]:
    """Get the tables of keys by path, from the reference of scenarios."""
    parts = re.split(r"^#{2,6} `\[*([\w.-]+)\]*`\n", _core.reference(), flags=re.M)
    return {path: body.split("\nValues of")[0].strip() for path, body in zip(parts[1::2], parts[2::2])}


def page(title: str, folder: str, choosers: list[str], prefix: str) -> str:
    """Write one page."""
    tables = keys()
    items = [item for item in _core.catalogue() if any(_same(item[0], chooser) for chooser in choosers)]
    lines = [
        f"# {title}",
        "",
        "This page is generated from the code. Entries whose source was known only as an outline are marked.",
        "",
    ]
    lines += ["| name | what it is | source |", "| --- | --- | --- |"]
    sections = {item[1]: ROOT / folder / f"{MODULES.get(item[1], item[1]).replace('-', '_')}.rs" for item in items}
    sections = {name: path for name, path in sections.items() if path.exists()}
    for _, name, summary, source, outline in items:
        if name == "none":
            continue
        mark = " (outline only)" if outline else ""
        shown = f"[`{name}`](#{name})" if name in sections else f"`{name}`"
        lines.append(f"| {shown} | {summary} | {source or ''}{mark} |")
    for key, name, summary, _, outline in items:
        if name not in sections:
            continue
        path = sections[name]
        lines += ["", f"## {name}", "", f'`{key} = "{name}"`: {summary}', ""]
        if outline:
            lines += ["**Only an outline of the source was known**: details are guesses, as described below.", ""]
        lines += [head(path), ""]
        table = next((body for where, body in tables.items() if _same(where, f"{prefix}.{name}") and "|" in body), "")
        if table:
            lines += [table, ""]
    return "\n".join(lines).rstrip() + "\n"


def lesson(number: int, about: dict[str, Any]) -> str:
    """Write the page of a lesson; if the core was built for the browser, it contains the page of the lab."""
    name, title = about["id"], about["title"]
    text = (ROOT / "lab" / "lessons" / f"{name}.toml").read_text(encoding="utf-8")
    lines = [f"# {number}. {title}", "", " ".join(about["sentences"]), "", f"**Move** {about['move']}", ""]
    if has_engine():
        address = f"../../live/index.html?lesson={name}"
        style = "width:100%;height:1100px;border:1px solid #8888"
        lines += [f'<iframe src="{address}" title="The lab: {title}" loading="lazy" style="{style}"></iframe>', ""]
        lines += [f'<a href="{address}">Open in a separate page</a>', ""]
    lines += ["On your own machine:", "", "<!-- not run: a server that goes on -->", "```sh"]
    lines += [f"wifair lab --lesson {name}", "```", "", "The scenario:", "", "```toml", text.rstrip(), "```", ""]
    return "\n".join(lines)


def _same(path: str, wanted: str) -> bool:
    """Whether two paths of keys end in the same two steps, because a queue is described only where it first occurs."""
    return path.split(".")[-2:] == wanted.split(".")[-2:]


def main() -> None:
    """Write all pages."""
    OUT.mkdir(exist_ok=True)
    for name, of in PAGES.items():
        (OUT / f"{name}.md").write_text(page(*of), encoding="utf-8")
    if has_engine():
        export(ROOT / "docs" / "live", force=True)
    LESSONS.mkdir(exist_ok=True)
    abouts = json.loads((ROOT / "lab" / "lessons" / "lessons.json").read_text(encoding="utf-8"))
    for number, about in enumerate(abouts, 1):
        (LESSONS / f"{about['id']}.md").write_text(lesson(number, about), encoding="utf-8")


if __name__ == "__main__":
    main()

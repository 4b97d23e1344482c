"""Hook of the site: replaces links to files outside `docs` by their paths, because the site contains only `docs`."""

from __future__ import annotations

import posixpath
import re
from typing import Any

LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(((?:\.\./)+[^)#\s]+)(#[^)]*)?\)")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Rewrite the links of a page; called by mkdocs."""
    folder = posixpath.dirname(str(page.file.src_uri))

    def plain(match: re.Match[str]) -> str:
        text, target = match[1], posixpath.normpath(posixpath.join(folder, match[2]))
        if not target.startswith("../"):
            return match[0]
        path = target.removeprefix("../")
        return f"`{path}`" if path.endswith(text.strip("`")) else f"{text} (`{path}`)"

    return LINK.sub(plain, markdown)

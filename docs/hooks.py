"""Hook of the site: links to files outside of `docs` become the file's path, for the site holds only `docs`."""

from __future__ import annotations

import posixpath
import re
from typing import Any

LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(((?:\.\./)+[^)#\s]+)(#[^)]*)?\)")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Rewrite the links of one page; what mkdocs calls."""
    folder = posixpath.dirname(str(page.file.src_uri))

    def plain(match: re.Match[str]) -> str:
        text, target = match[1], posixpath.normpath(posixpath.join(folder, match[2]))
        if not target.startswith("../"):
            return match[0]
        path = target.removeprefix("../")
        return f"`{path}`" if path.endswith(text.strip("`")) else f"{text} (`{path}`)"

    return LINK.sub(plain, markdown)

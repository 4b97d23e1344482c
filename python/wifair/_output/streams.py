"""Standard output and error of the command: whole or an error, and without codes that foreign texts bring along.

Labels of a store, messages of a run and names in a capture may come from somebody else. What is printed for people
therefore has no control characters, and none that change the direction of text; see `wifair_config::is_hidden`.
"""

from __future__ import annotations

import html
import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
SHOWN_AS = "\ufffd"


def printable(text: str) -> str:
    """Replace characters that a terminal would obey rather than show."""
    return HIDDEN.sub(SHOWN_AS, text)


def escape(text: str) -> str:
    """Write a text as a part of HTML, or of a value in double quotes there."""
    return html.escape(printable(text))


class PlainStream(io.TextIOWrapper):
    """A stream for texts that people read."""

    def write(self, text: str, /) -> int:
        """Write a text for people."""
        return super().write(printable(text))

    def data(self, text: str) -> None:
        """Write data, exactly as it is unless it goes to a terminal."""
        super().write(printable(text) if self.isatty() else text)

    def codes(self, text: str) -> None:
        """Write a text of our own with codes for the terminal."""
        super().write(text)


def write_data(text: str) -> None:
    """Write data to standard output: JSON, CSV, TOML."""
    out = sys.stdout
    out.data(text) if isinstance(out, PlainStream) else out.write(text)


def write_codes(text: str) -> None:
    """Write a text of our own with codes for the terminal to standard error; foreign parts must be printable."""
    out = sys.stderr
    out.codes(text) if isinstance(out, PlainStream) else out.write(text)


@contextmanager
def plain_streams() -> Iterator[None]:
    """Let standard output and error be plain streams."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = map(_plain, before)
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, PlainStream):
                with suppress(OSError, ValueError):
                    stream.flush()
                with suppress(OSError, ValueError):
                    below = stream.detach()
                    if isinstance(below, _Whole):
                        below.detach()
        sys.stdout, sys.stderr = before


class _Whole(io.BufferedWriter):
    """Over a stream without a buffer, as of `python -u`, which may write a part only."""


def _plain(stream: object) -> object:
    if not isinstance(stream, io.TextIOWrapper) or isinstance(stream, PlainStream):
        return stream
    with suppress(OSError, ValueError, AttributeError):
        stream.flush()
        os.set_blocking(stream.fileno(), True)  # otherwise a slow reader would be an error
    buffer: object = stream.buffer
    if isinstance(buffer, io.RawIOBase):
        buffer = _Whole(buffer)
    return PlainStream(
        buffer,  # type: ignore[arg-type]
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering or isinstance(buffer, _Whole),
        write_through=stream.write_through and not isinstance(buffer, _Whole),
    )

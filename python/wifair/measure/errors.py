"""What can go wrong in a measurement."""

from __future__ import annotations

import os

from wifair.errors import WifairError

__all__ = ["MeasureError", "ProtocolError", "Refused", "reason"]


class MeasureError(WifairError):
    """A measurement that cannot go on; the text says why."""

    exit_code = 1


class ProtocolError(MeasureError):
    """A peer said what it must not say; its connection is closed."""


class Refused(MeasureError):  # noqa: N818
    """The other side does not take part; the text is its reason."""


def reason(error: OSError) -> str:
    """Say why the system refused, as part of a sentence."""
    # Below 0: names that are not found. Otherwise asyncio puts words of its own into the text.
    known = error.errno is not None and error.errno > 0
    text = os.strerror(error.errno) if known and error.errno is not None else error.strerror or str(error)
    return text[:1].lower() + text[1:]

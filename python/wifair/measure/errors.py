"""What can go wrong in a measurement."""

from __future__ import annotations

from wifair.errors import WifairError


class MeasureError(WifairError):
    """A measurement that cannot go on; the text says why."""

    exit_code = 1


class ProtocolError(MeasureError):
    """A peer said what it must not say; its connection is closed."""


class Refused(MeasureError):  # noqa: N818
    """The other side does not take part; the text is its reason."""

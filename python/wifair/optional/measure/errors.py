"""Errors of measurements."""

from __future__ import annotations

from wifair.exceptions import WifairError


class MeasureError(WifairError):
    """A measurement that cannot go on; the text says why."""

    exit_code = 1


class ProtocolError(MeasureError):
    """A peer has broken the protocol; its connection is closed."""


class Refused(MeasureError):  # noqa: N818
    """The other side refuses; the text is its reason."""

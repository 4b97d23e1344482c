"""Reads values from untrusted messages and files; checks their types and bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wifair.optional.measure.errors import ProtocolError


def text(message: Mapping[str, Any], key: str, *, most: int = 200) -> str:
    """Get a printable string of at most `most` characters."""
    value = message.get(key)
    if not isinstance(value, str) or len(value) > most or not value.isprintable():
        raise ProtocolError(f"`{key}` is no text of at most {most} characters")
    return value


def whole(message: Mapping[str, Any], key: str, *, low: int, high: int) -> int:
    """Get an integer from `low` to `high`."""
    value = message.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ProtocolError(f"`{key}` is no whole number from {low} to {high}")
    return value


def number(message: Mapping[str, Any], key: str, *, low: float, high: float) -> float:
    """Get a number from `low` to `high`."""
    value = message.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise ProtocolError(f"`{key}` is no number from {low:g} to {high:g}")
    return float(value)


def flag(message: Mapping[str, Any], key: str) -> bool:
    """Get true or false."""
    value = message.get(key)
    if not isinstance(value, bool):
        raise ProtocolError(f"`{key}` is neither true nor false")
    return value


def table(message: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Get an object."""
    value = message.get(key)
    if not isinstance(value, dict):
        raise ProtocolError(f"`{key}` is no table")
    return value


def records(message: Mapping[str, Any], key: str, *, most: int) -> list[dict[str, Any]]:
    """Get a list of at most `most` objects."""
    value = message.get(key)
    if not isinstance(value, list) or len(value) > most or not all(isinstance(item, dict) for item in value):
        raise ProtocolError(f"`{key}` is no list of at most {most} tables")
    return value


def texts(message: Mapping[str, Any], key: str, *, most: int) -> list[str]:
    """Get a list of at most `most` printable strings."""
    value = message.get(key)
    if not isinstance(value, list) or len(value) > most:
        raise ProtocolError(f"`{key}` is no list of at most {most} texts")
    return [text({key: item}, key) for item in value]


def optional(message: Mapping[str, Any], key: str) -> bool:
    """Whether `key` is there."""
    return message.get(key) is not None


def optional_whole(message: Mapping[str, Any], key: str, *, low: int, high: int) -> int | None:
    """Get an integer from `low` to `high`, or None if `key` is not there."""
    return whole(message, key, low=low, high=high) if optional(message, key) else None

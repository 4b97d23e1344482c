"""The command `wifair`."""

from __future__ import annotations

import click

from wifair import __version__


@click.group()
@click.version_option(__version__, prog_name="wifair")
def main() -> None:
    """Simulate TCP over 802.11 wireless LANs, and see how fair it is."""

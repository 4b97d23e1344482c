"""`wifair bpf`."""

from __future__ import annotations

import sys

import click

from wifair.cli.common import fail
from wifair.emulation.kernel_cc import available, load, loaded, unload


@click.group(name="bpf", context_settings={"help_option_names": ["-h", "--help"]})
def bpf_command() -> None:
    """Load congestion controls of papers into the running kernel (Linux 5.6 and later with BTF, root).

    Every program can then use them, and `wifair compare --emulated` runs the flows of scenarios with them.

    \b
    Examples:
      wifair bpf list
      sudo wifair bpf load vegas-fair
      sudo wifair emulate hot-spot.toml --exec sta1 'iperf3 -c server -C vegas_fair' --serve server 'iperf3 -s'
      sudo wifair bpf unload vegas-fair
    """  # noqa: D301
    if not sys.platform.startswith("linux"):
        fail("BPF needs Linux")


@bpf_command.command(name="list")
def list_command() -> None:
    """List what can be loaded, its name in the kernel, and whether the kernel has it."""
    has = loaded()
    for name, kernel in available().items():
        click.echo(f"{name:14}  {kernel:14}  {'loaded' if name in has else '-'}")


@bpf_command.command(name="load")
@click.argument("names", nargs=-1, required=True)
def load_command(names: tuple[str, ...]) -> None:
    """Compile congestion controls with clang, and load them."""
    for name in names:
        click.echo(f"{name} is loaded: the kernel calls it {load(name)}")


@bpf_command.command(name="unload")
@click.argument("names", nargs=-1, required=True)
def unload_command(names: tuple[str, ...]) -> None:
    """Remove congestion controls from the kernel."""
    for name in names:
        unload(name)
        click.echo(f"{name} is not loaded")

"""`python -m wifair` is the command `wifair`."""

from wifair.cli import main

main()

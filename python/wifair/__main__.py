"""`python -m wifair` is the command `wifair`."""

from wifair.cli import main

if __name__ == "__main__":
    main()

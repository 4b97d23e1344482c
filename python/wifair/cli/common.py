"""What all commands share: exit codes, error messages, options."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Any, NoReturn

import click
from click.core import ParameterSource

from wifair._output.files import json_text, refuse
from wifair._output.streams import printable, write_codes, write_data
from wifair._output.words import reason
from wifair.exceptions import RunError, WifairError
from wifair.figures.style import Look, check
from wifair.results.folder import Folder
from wifair.simulation.seeds import read_seeds

FAILED, WRONG, INTERRUPTED = 1, 2, 130
MOST_HINTED = 1000
"""A larger seed is hardly meant as a number of runs."""

Command = Callable[..., Any]


def fail(message: str, code: int = WRONG) -> NoReturn:
    """Print an error as `error: ...` and leave with `code`."""
    complain(message)
    sys.exit(code)


def complain(message: str) -> None:
    """Print an error as `error: ...` and go on."""
    text = message.rstrip("\n")
    if not text.startswith("error: "):
        text = f"error: {text}"
    text = printable(text)
    if _coloured():
        text = text.replace("error:", click.style("error:", fg="red", bold=True))
    write_codes(text + "\n")
    sys.stderr.flush()


@contextmanager
def trying(what: str, path: str | os.PathLike[str] | None = None) -> Iterator[None]:
    """Exit with an error if a file or folder cannot be read or written, or an option for what is written is wrong.

    The message begins with "cannot", then says `what`, as in ``write to``, and names `path`, or else the file that the
    error of the system names.
    """
    try:
        yield
    except (ImportError, ValueError) as error:
        fail(str(error))
    except FileExistsError as error:
        if error.filename is None:
            fail(str(error))
        fail(f"`{error.filename}` exists: choose another folder, or replace it with --force")
    except OSError as error:
        fail(f"cannot {what} `{error.filename if path is None else path}`: {reason(error)}")


def check_file(path: str, *, force: bool) -> None:
    """Exit with an error if `path` cannot be written, or exists and is not to be replaced (`force`).

    Commands call this before a long run, rather than fail after it.
    """
    with trying("write", path):
        refuse(path, force=force)
        parent = Path(path).absolute().parent
        code = 0
        if Path(path).is_dir():
            code = errno.EISDIR
        elif Path(os.path.realpath(path)).is_symlink():
            code = errno.ELOOP
        elif not parent.exists():
            code = errno.ENOENT
        elif not parent.is_dir():
            code = errno.ENOTDIR
        elif not os.access(path if Path(path).exists() else parent, os.W_OK):
            code = errno.EACCES
        if code:
            raise OSError(code, os.strerror(code))


def check_frames(path: str, *, force: bool) -> None:
    """Check as `check_file` does that a table of frames can be written to `path`."""
    if Path(path).suffix not in (".csv", ".parquet"):
        raise click.UsageError("--frames writes .csv or .parquet")
    check_file(path, force=force)


def check_figure(path: str, *, force: bool) -> None:
    """Check as `check_file` does that a figure can be saved as `path`."""
    with trying("write", path):
        check(path)
    check_file(path, force=force)


def results_folder(path: str | os.PathLike[str], formats: Iterable[str] = (), *, force: bool) -> Folder:
    """Create a folder of results before the runs; exit with an error if that is impossible."""
    with trying("write to", path):
        return Folder(path, formats=tuple(formats) or None, force=force)


def command_line() -> str:
    """Return the command as it was typed, which is stored with results."""
    import shlex  # noqa: PLC0415

    return shlex.join(["wifair", *sys.argv[1:]])


def overrides_of(changes: Iterable[str], duration: str | None) -> list[tuple[str, str]]:
    """Convert the values of --set and --duration to overrides: pairs of the option, for messages, and the change."""
    overrides = [("--set", change) for change in changes]
    return overrides if duration is None else [*overrides, ("--duration", f"duration={duration}")]


def figure_options(option: str, file: str) -> Callable[[Command], Command]:
    """Add the options for the look of a figure. The command gets them as `look`, the keyword arguments of figures.

    `option` is the option that names the file of the figure, and `file` its parameter.
    """

    def add(command: Command) -> Command:
        @wraps(command)
        def with_look(**given: Any) -> Any:
            title, labels, size, logy = (given.pop(name) for name in ("title", "labels", "size", "logy"))
            if given[file] is None and (title is not None or labels or size or logy):
                raise click.UsageError(f"--title, --label, --size and --logy need {option}")
            return command(**given, look=_look(title, labels, size, logy))

        return with_options(
            with_look,
            click.option("--title", metavar="TEXT", help="Title over the figure; '' for none."),
            click.option(
                "--label",
                "labels",
                multiple=True,
                metavar="NAME=TEXT",
                help="Write TEXT in the figure for a flow, value or quantity NAME; may be repeated.",
            ),
            click.option(
                "--size", metavar="SIZE", help="Size of the figure: one-column, two-column, '16 cm', '3.5 x 2.4 in'."
            ),
            click.option("--logy", is_flag=True, help="Draw on a logarithmic scale; ratios always are."),
        )

    return add


def _look(title: str | None, labels: tuple[str, ...], size: str | None, logy: bool) -> dict[str, Any]:
    texts = {}
    for pair in labels:
        name, equals, text = pair.rpartition("=")  # the name of a changed scenario may contain =, too
        if not equals or not name:
            raise click.UsageError(f"--label `{pair}`: write NAME=TEXT")
        texts[name] = text
    try:
        Look.of(title, texts, size, logy)
    except ValueError as error:
        fail(str(error))
    return {"title": title, "labels": texts, "size": size, "logy": logy}


def pcap_options(points: str, snap: str) -> Callable[[Command], Command]:
    """Add the options for captures. The command gets them as `captures`, which is None without --pcap.

    The command must have --force. `points` are the default capture points, and `snap` is the help of --pcap-snap.
    """

    def add(command: Command) -> Command:
        @wraps(command)
        def with_captures(**given: Any) -> Any:
            folder, at, kept, form = (given.pop(name) for name in ("pcap", "pcap_at", "pcap_snap", "pcap_format"))
            if folder is None and (at or kept or form):
                raise click.UsageError("--pcap-at, --pcap-snap and --pcap-format need --pcap")
            captures = None
            if folder is not None:
                from wifair.simulation.taps import WHOLE_PACKETS, Pcap  # noqa: PLC0415

                words = tuple(word.strip() for word in (at or points).split(",") if word.strip())
                captures = Pcap(folder, words, kept or WHOLE_PACKETS, form or "pcap", given["force"])
            return command(**given, captures=captures)

        at = f"Capture points: air, ap, hosts, stations, servers, routers, names of nodes; {points} by default."
        return with_options(
            with_captures,
            click.option(
                "--pcap", metavar="DIR", type=click.Path(), help="Write captures into a folder, one for each point."
            ),
            click.option("--pcap-at", metavar="LIST", help=at),
            click.option("--pcap-snap", metavar="BYTES", type=click.IntRange(1, 262_144), help=snap),
            click.option(
                "--pcap-format", type=click.Choice(["pcap", "pcapng"]), help="Kind of captures; pcap by default."
            ),
        )

    return add


def with_options(command: Command, *options: Callable[[Command], Command]) -> Command:
    """Add options in the order in which the help shows them."""
    for option in reversed(options):
        command = option(command)
    return command


def refuse_unused(options: Iterable[str], why: str) -> None:
    """Refuse those of `options` (names of parameters) that were given on the command line; `why` ends the message."""
    context = click.get_current_context()
    for parameter in context.command.params:
        if parameter.name in options and context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{parameter.opts[0]} {why}")


def refuse_others(taken: Collection[str], use: str) -> None:
    """Refuse the options on the command line that are not `taken` (names of parameters) in this `use` of a command."""
    options = [one.name for one in click.get_current_context().command.params if isinstance(one, click.Option)]
    refuse_unused([name for name in options if name and name not in taken], f"changes nothing of {use}")


def refuse_same(**targets: str | None) -> None:
    """Refuse two options that write the same file or folder; `targets` are the paths by option."""
    places: dict[str, str] = {}
    for name, path in targets.items():
        if path is None:
            continue
        option = f"--{name.replace('_', '-')}"
        other = places.setdefault(os.path.realpath(path), option)
        if other != option and path != "-" and not path.startswith("/dev/"):
            raise click.UsageError(f"{other} and {option} both write `{path}`")


def refuse_twice(command: click.Command) -> None:
    """Have a command, and those in it, refuse an option with a single value that is given twice.

    Otherwise the last value would silently replace the others.
    """
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            refuse_twice(inner)
    make = command.make_parser
    if getattr(make, "refuses_twice", False):
        return

    def make_parser(ctx: click.Context) -> Any:
        parser = make(ctx)
        parse = parser.parse_args

        def parse_args(args: list[str]) -> Any:
            values, rest, order = parse(args)
            for parameter in order:
                single = isinstance(parameter, click.Option) and not (parameter.multiple or parameter.is_flag)
                if single and order.count(parameter) > 1:
                    raise click.UsageError(f"{parameter.opts[0]} is given twice, but has one value", ctx)
            return values, rest, order

        parser.parse_args = parse_args  # type: ignore[method-assign]
        return parser

    make_parser.refuses_twice = True  # type: ignore[attr-defined]
    command.make_parser = make_parser  # type: ignore[method-assign]


def guarded(call: Callable[[], object]) -> object:
    """Call, and turn an exception into one clear message and an exit code. SIGTERM acts like Ctrl-C."""
    try:
        with _terminable():
            return call()
    except RunError as error:
        fail(f"{error}; this is a bug in wifair: please report it with the scenario", error.exit_code)
    except WifairError as error:
        fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # the program that reads stdout has ended, as in `wifair list | head`
        _forget_output()
        sys.exit(0)
    except OSError as error:
        if error.errno is None:  # one of ours, whose text is complete
            fail(str(error))
        if error.filename is not None:  # such as a name that is too long
            fail(f"`{os.fsdecode(error.filename)}`: {reason(error)}")
        if error.errno not in (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG):
            raise
        _forget_output()  # standard output is a file on a full disk
        fail(f"cannot write to standard output: {reason(error)}", FAILED)
    except MemoryError:
        fail("out of memory", FAILED)


def occupy_closed_streams() -> None:
    """Open /dev/null for each standard stream that is closed; otherwise the next file that is opened would become it.

    A closed standard output is an error, because results would be lost silently.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, that is, `number`
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 (until the end)
    if sys.stdout is None:
        fail("standard output is closed: let it be a file, a pipe or /dev/null")


def _forget_output() -> None:
    """Discard buffered output, so that Python does not report an error on exit."""
    with suppress(OSError):  # the stream is not a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _terminate(*_: object) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell script has started it with `&`
        raise KeyboardInterrupt
    signal.raise_signal(signal.SIGINT)


@contextmanager
def _terminable() -> Iterator[None]:
    """Treat SIGTERM as Ctrl-C, so that finished runs are kept and reported."""
    try:
        before = signal.signal(signal.SIGTERM, _terminate)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class Seeds(click.ParamType[list[int]]):
    """Seeds as `3`, `1,2,5`, `1..10` or `1..99:2`."""

    name = "seeds"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> list[int]:
        """Read a list of seeds."""
        if isinstance(value, list):
            return value
        try:
            seeds = read_seeds(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if param is not None and "--seeds" in param.opts and len(seeds) == 1 and 1 < seeds[0] <= MOST_HINTED:
            click.echo(
                f"note: --seeds {seeds[0]} is one run, with seed {seeds[0]}; write 1..{seeds[0]} for {seeds[0]} runs",
                err=True,
            )
        return seeds


def echo_json(document: object) -> None:
    """Print JSON on stdout."""
    write_data(json_text(document) + "\n")


def echo_parts(parts: Iterable[str]) -> None:
    """Print a long text on stdout, part by part."""
    for part in parts:
        write_data(part)


def _coloured() -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or sys.stderr.isatty()

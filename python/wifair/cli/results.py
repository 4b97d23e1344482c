"""`wifair results` and `wifair results merge`."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click

from wifair._output.files import replacing
from wifair._output.report import figure_text
from wifair._output.streams import write_data
from wifair._output.tables import aligned, formatted
from wifair._output.words import counted
from wifair.cli.common import (
    FAILED,
    check_figure,
    check_file,
    echo_json,
    fail,
    figure_options,
    refuse_others,
    trying,
)
from wifair.columns import Columns
from wifair.figures.style import Look, save
from wifair.results.folder import need_pyarrow
from wifair.statistics import Interval
from wifair.sweeps.checksums import examine
from wifair.sweeps.merging import merge
from wifair.sweeps.query import (
    Condition,
    Question,
    ask,
    means,
    name_of,
    scenarios_differ,
    select,
    stream,
    version_of,
)
from wifair.sweeps.repair import repair
from wifair.sweeps.schema import quoted
from wifair.sweeps.store import Store
from wifair.sweeps.summarising import SHOWN, averages, cells_of

# The parameters that each use of the command takes.
TAKEN = {
    "--verify": {"verify"},
    "--repair": {"repair"},
    "--scenario": {"scenario"},
    "--failed": {"failed", "as_json"},
    "--figure": {
        "where",
        "table",
        "figure",
        "x",
        "y",
        "by",
        "panels",
        "logx",
        "title",
        "labels",
        "size",
        "logy",
        "force",
    },
    "--csv or --parquet": {"where", "table", "csv_file", "parquet_file", "group", "force"},
    "a table": {"where", "table", "group", "show", "each", "rows", "as_json", "form"},
}


class Dispatch(click.Command):
    """Runs the command `merge` if that is the first argument; a folder of that name is written `./merge`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Run `merge` if it is the first argument."""
        if args[:1] == ["merge"]:
            merge_command.main(args[1:], prog_name=f"{ctx.command_path} merge", standalone_mode=False)
            ctx.exit()
        return super().parse_args(ctx, args)


@click.command(name="results", cls=Dispatch)
@click.argument("directory", metavar="DIR", type=click.Path())
@click.option("--where", multiple=True, metavar="COND", help="Only runs with stations.count>=4 or cc=reno,vegas.")
@click.option("--group", multiple=True, metavar="NAME", help="Average over all but these; by default over the seeds.")
@click.option("--show", multiple=True, metavar="NAME", help="Figures to show; goodput_bps and jain_index by default.")
@click.option("--runs", "each", is_flag=True, help="Show each run instead of averages.")
@click.option("--table", default="runs", metavar="NAME", help="Another table that was kept: flows, stations, ...")
@click.option(
    "--rows",
    type=click.IntRange(min=0),
    default=40,
    show_default=True,
    metavar="N",
    help="Rows to show at most; 0 for all.",
)
@click.option("--figure", type=click.Path(), metavar="FILE", help="Draw a figure: .png, .svg or .pdf; with --x, --y.")
@click.option("--x", metavar="NAME", help="What was varied, along the figure.")
@click.option("--y", multiple=True, metavar="NAME", help="Figure to draw; may be repeated.")
@click.option("--by", multiple=True, metavar="NAME", help="One line for each value; may be repeated.")
@click.option("--panels", metavar="NAME", help="A panel for each value.")
@click.option("--logx", is_flag=True, help="Logarithmic horizontal axis.")
@figure_options("--figure", "figure")
@click.option(
    "--csv", "csv_file", type=click.Path(), metavar="FILE", help="Write all columns of each run; - is stdout."
)
@click.option("--parquet", "parquet_file", type=click.Path(), metavar="FILE", help="The same as Parquet.")
@click.option("--force", is_flag=True, help="Replace files that are there.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
@click.option("--markdown", "form", flag_value="markdown", help="Print as a table in Markdown.")
@click.option("--latex", "form", flag_value="latex", help="Print as a tabular in LaTeX (booktabs).")
@click.option("--failed", is_flag=True, help="List the runs that failed.")
@click.option("--verify", is_flag=True, help="Compare everything with its checksums, and list what is damaged.")
@click.option("--repair", is_flag=True, help="Drop what is damaged, so that the sweep computes it again.")
@click.option("--scenario", metavar="HASH", help="Print a scenario with all defaults filled in.")
def results_command(
    directory: str,
    where: tuple[str, ...],
    group: tuple[str, ...],
    show: tuple[str, ...],
    each: bool,
    table: str,
    rows: int,
    figure: str | None,
    x: str | None,
    y: tuple[str, ...],
    by: tuple[str, ...],
    panels: str | None,
    logx: bool,
    csv_file: str | None,
    parquet_file: str | None,
    force: bool,
    as_json: bool,
    form: str | None,
    failed: bool,
    verify: bool,
    repair: bool,
    scenario: str | None,
    look: dict[str, Any],
) -> None:
    """Show, filter, group, plot and export the results of a sweep in DIR.

    Averages have 95 % intervals (Student t). Names may be shortened to their end or beginning: cc for flows.tcp.cc,
    jain for jain_index. With --group, --csv and --parquet write the averages.

    \b
    Examples:
      wifair results out
      wifair results out --where 'stations.count>=4' --group cc --show jain,goodput_bps,timeouts
      wifair results out --x stations.count --y jain_index --by flows.tcp.cc --panels discipline --figure jain.pdf
      wifair results out --parquet runs.parquet
      wifair results out --table flows --csv -
      wifair results merge all shard1 shard2
      wifair results out --verify
    """  # noqa: D301
    drawing = figure is not None or bool(x or y or by or panels or logx)
    uses = {
        "--verify": verify,
        "--repair": repair,
        "--scenario": scenario is not None,
        "--failed": failed,
        "--figure": drawing,
        "--csv or --parquet": csv_file is not None or parquet_file is not None,
    }
    mode = next((use for use, wanted in uses.items() if wanted), "a table")
    refuse_others(TAKEN[mode], mode)
    if figure is not None:
        check_figure(figure, force=force)
    for path in (csv_file, parquet_file):
        if path is not None and path != "-":
            check_file(path, force=force)
    if repair:
        _repair(Path(directory))
        return
    with Store(directory, create=False) as store:
        try:
            if verify:
                _verify(store)
            elif scenario is not None:
                write_data(store.scenario_text(scenario))
            elif failed:
                _failures(store, as_json)
            else:
                runs = _SelectedRuns(store, where, table)
                if drawing:
                    runs.draw(figure, x, _names(y), _names(by), panels, logx, look)
                elif csv_file is not None or parquet_file is not None:
                    runs.export(csv_file, parquet_file, _names(group))
                else:
                    runs.show(_names(group), _names(show), each, as_json, form, rows)
        except ValueError as error:
            fail(str(error))


class _SelectedRuns:
    """The runs of a store that meet conditions."""

    def __init__(self, store: Store, where: Sequence[str], table: str) -> None:
        self._store = store
        self._table = table
        self._where = [Condition.parse(text) for text in where]
        self._version, others = version_of(store, self._where)
        if self._version is None and not self._where:
            raise ValueError(f"`{store.path}` has no finished run yet")
        if others:
            runs = store.versions()
            count = sum(runs[version] for version in others)
            click.echo(
                f"{counted(count, 'run')} {'is' if count == 1 else 'are'} of wifair {', '.join(others)}:"
                f" --where version={others[-1]} shows {'it' if count == 1 else 'them'}",
                err=True,
            )
        self._known = self._ask(None).names
        self._changed = scenarios_differ(store, self._labels(), self._where, table, self._version)
        if self._changed:
            self._tell_changed()

    def _tell_changed(self) -> None:
        """Tell that the scenario was changed between sweeps, and have its hash as a further parameter."""
        labels = self._labels()
        same = f" with the same values of {', '.join(labels)}" if labels else ""
        click.echo(
            f"`{self._store.path}` has different scenarios{same}, told apart by `scenario`:"
            " --scenario HASH prints one, --where scenario=HASH selects one",
            err=True,
        )
        self._known.insert(self._known.index("seed"), "scenario")

    def _ask(self, columns: Sequence[str] | None) -> Question:
        return ask(self._store, where=self._where, table=self._table, columns=columns, version=self._version)

    def _read(self, columns: Sequence[str]) -> Columns:
        rows = select(self._store, self._ask(columns))
        if not len(rows):
            raise ValueError("no run meets these conditions")
        return rows

    def _means(self, by: Sequence[str], figures: Sequence[str]) -> Columns:
        return means(self._read([*by, "seed", *figures]), by, figures)

    def _resolve(self, names: Sequence[str], what: str) -> list[str]:
        return [name_of(name, self._known, what, self._store) for name in names]

    def _figures(self, names: Sequence[str], texts: Sequence[str]) -> list[str]:
        """Names of figures, which must be numbers."""
        figures = self._resolve(names, "figure")
        for name in figures:
            if name in texts:
                raise ValueError(f"`{name}` is no number")
        return figures

    def _labels(self) -> list[str]:
        labels = {*self._store.labels(), "scenario"}
        return [name for name in self._known if name in labels]

    def show(
        self, group: Sequence[str], show: Sequence[str], each: bool, as_json: bool, form: str | None, rows: int
    ) -> None:
        """Print a table."""
        by = self._resolve(group, "parameter") if group else self._labels()
        if not group and self._table != "runs":
            by += [name for name in ("name", "direction") if name in self._known]
        default = [name for name in SHOWN if name in self._known] or self._known[-1:]
        figures = self._figures(show, by) if show else default
        if self._changed:
            self._tell_mixed([name for name in ("scenario",) if name not in by])
        if each:
            columns = self._read([*by, "seed", *figures])
            records = columns.to_dicts()
            if as_json:
                echo_json(records)
                return
            some = records[: rows or None]
            cells = ([_cell(name, value, figures) for name, value in row.items()] for row in some)
            table = [list(columns), *cells]
            click.echo("\n".join(aligned(table)) if form is None else formatted(table, form))
            if len(some) < len(records):
                click.echo(f"... and {len(records) - len(some)} more: --rows 0 shows all, --csv writes them")
            return
        means = self._means(by, figures)
        if as_json:
            echo_json(means.to_dicts())
        elif form is not None:
            click.echo(formatted(cells_of(means, by, figures), form))
        else:
            click.echo(averages(means, by, figures, rows or len(means)))

    def _said_of_groups(self, look: dict[str, Any], along: str) -> dict[str, Any]:
        """Label the number of stations as that in each group, if the scenario has several."""
        what, _, key = along.partition(".")
        if key != "count" or "scenario" in self._labels():
            return look
        scenario = str(self._read(["scenario"])["scenario"][0])
        groups = tomllib.loads(self._store.scenario_text(scenario)).get(what, [])
        if len(groups) < 2:
            return look
        return {**look, "labels": {along: f"{what} in each of {len(groups)} groups", **(look.get("labels") or {})}}

    def draw(
        self,
        path: str | None,
        x: str | None,
        y: Sequence[str],
        by: Sequence[str],
        panels: str | None,
        logx: bool,
        look: dict[str, Any],
    ) -> None:
        """Draw a figure."""
        from wifair.figures.sweep import draw  # noqa: PLC0415

        if path is None or x is None or not y:
            raise click.UsageError("a figure needs --x, --y and --figure FILE")
        (along,), lines = self._resolve([x], "parameter"), self._resolve(by, "parameter")
        (beside,) = self._resolve([panels], "parameter") if panels is not None else (None,)
        keys = list(dict.fromkeys(name for name in (along, *lines, beside) if name is not None))
        figures = self._figures(y, keys)
        table = self._means(keys, figures)
        self._tell_mixed([name for name in self._labels() if name not in keys])
        with trying("write", path):
            save(
                draw(
                    table, along, figures, lines, Look.of(**self._said_of_groups(look, along)), panels=beside, logx=logx
                ),
                path,
            )

    def _tell_mixed(self, others: Sequence[str]) -> None:
        """Tell which `others` differ between the rows, because the averages are taken over them, too."""
        if not others:
            return
        asked = self._ask(others)
        counts = ", ".join(f"count(DISTINCT {quoted(name)})" for name in others)
        with self._store.reading():
            found = self._store._db.execute(f"SELECT {counts} FROM ({asked.query})", asked.values).fetchone()
        mixed = [name for name, count in zip(others, found) if count > 1]
        if mixed:
            click.echo(f"averages are over {', '.join(mixed)} too: --by or --where tells them apart", err=True)

    def export(self, csv_file: str | None, parquet_file: str | None, group: Sequence[str]) -> None:
        """Write CSV and Parquet, some rows at a time."""

        def parts() -> Iterator[Columns]:
            if group:
                by = self._resolve(group, "parameter")
                labels = {*self._labels(), *by, "seed", "name", "direction", "flow"}
                yield self._means(by, [name for name in self._known if name not in labels])
            else:
                yield from stream(self._store, self._ask(self._known))

        if csv_file is not None:
            _write_csv(csv_file, parts())
        if parquet_file is not None:
            _write_parquet(parquet_file, parts())


def _write_csv(path: str, parts: Iterator[Columns]) -> None:
    def write(out: Any) -> None:
        for number, part in enumerate(parts):
            text = part.to_csv()
            out.write(text if number == 0 else text.partition("\n")[2])

    if path == "-":
        write(SimpleNamespace(write=write_data))
        return
    with (
        trying("write", path),
        replacing(path) as temporary,
        temporary.open("w", encoding="utf-8", newline="") as out,
    ):
        write(out)


def _write_parquet(path: str, parts: Iterator[Columns]) -> None:
    with trying("write", path), replacing(path) as temporary:
        need_pyarrow()
        from pyarrow import parquet  # noqa: PLC0415

        writer = None
        for part in parts:
            rows = part.to_arrow()
            writer = writer or parquet.ParquetWriter(temporary, rows.schema)
            writer.write_table(rows)
        if writer is None:
            raise ValueError("no run meets these conditions")
        writer.close()


def _verify(store: Store) -> None:
    """Compare everything with its checksums."""
    with store.reading():
        found = examine(store._db)
    for item in found.damage:
        click.echo(f"damaged: {item}")
    click.echo(
        f"{store.path}: {counted(found.runs, 'run')} and {counted(found.points, 'point')} are whole",
        err=bool(found.damage),
    )
    if found.damage:
        them = "it" if len(found.damage) == 1 else "them"
        fail(f"{counted(len(found.damage), 'damage')}: `wifair results {store.path} --repair` drops {them}", FAILED)


def _repair(directory: Path) -> None:
    """Drop what is damaged."""
    done = repair(directory)
    for item in done.damage:
        click.echo(f"dropped: {item}")
    click.echo(f"{directory}: {counted(done.runs, 'run')} and {counted(done.points, 'point')} are whole", err=True)
    if done.old is not None:
        click.echo(f"the file as it was is `{done.old}`; repeat the sweep to compute what is missing", err=True)


def _failures(store: Store, as_json: bool) -> None:
    failures = store.failures()
    if as_json:
        names = ("scenario", "seed", "labels", "message")
        echo_json([dict(zip(names, failure)) for failure in failures])
        return
    for scenario, seed, labels, message in failures:
        what = ", ".join(f"{name}={value}" for name, value in labels.items())
        click.echo(f"{scenario[:12]}  seed {seed}  {what + '  ' if what else ''}{message}")
    if not failures:
        click.echo("no run failed")


def _names(texts: Sequence[str]) -> list[str]:
    return [name.strip() for text in texts for name in text.split(",") if name.strip()]


def _cell(name: str, value: object, figures: Sequence[str]) -> str:
    if name in figures and isinstance(value, (int, float)):
        return figure_text(name, Interval(float(value), math.nan))
    return "-" if value is None else str(value)


@click.command(name="merge")
@click.argument("target", metavar="DIR", type=click.Path())
@click.argument("sources", metavar="FROM...", nargs=-1, required=True, type=click.Path())
def merge_command(target: str, sources: tuple[str, ...]) -> None:
    """Copy the runs of the stores FROM into DIR, which is created if it does not exist.

    \b
    Example:
      wifair results merge all shards/*
    """  # noqa: D301
    for source in sources:  # before anything is made
        Store(source, create=False).close()
    with Store(target) as store:
        for source in sources:
            came = merge(store, Path(os.path.normpath(source)))
            click.echo(f"{source}: {counted(came, 'run')}", err=True)
        click.echo(f"{store.path}: {counted(sum(store.versions().values()), 'run')}", err=True)

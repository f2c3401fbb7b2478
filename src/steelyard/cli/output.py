"""What commands print and write: results on stdout, all else on stderr, files by their suffix."""

from __future__ import annotations

import re
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from steelyard import __version__
from steelyard.cli.flags import spoken
from steelyard.cli.params import FIGURES, F, Names, OutputOptions
from steelyard.core.errors import UsageError, printable, shown_path
from steelyard.core.progress import Progress, listening
from steelyard.core.provenance import origin, taken_alike
from steelyard.core.table import Table, dumps
from steelyard.core.warnings import brief, reworded
from steelyard.formats import files

if TYPE_CHECKING:
    from steelyard.core.display import Screen
    from steelyard.core.parallel import Workers

SCHEMA = 1  # of JSON; a number that changes when old keys do
_NEXT = "next:"
_WHOLE = "--out {} or a wider window has all columns"
_WARNINGS = 3  # that are printed without --details
_PLAIN = ("seg", "src", "refs", "out")  # columns of texts and scores as we write them
_PATIENCE = 1.0  # seconds before a bar is shown


def emit(  # noqa: PLR0913 - every option has a default
    result: Any,
    tables: Sequence[Table],
    output: OutputOptions,
    *,
    draw: Callable[[], Any] | None = None,
    words: Sequence[str] | None = None,
    shown: Sequence[Table | str] | None = None,
    says_read: bool = False,
    wrote: Sequence[Path | str] = (),
    then: str | None = None,
    table_file: str = "FILE.csv",
    more: Mapping[str, Any] | None = None,
) -> None:
    """Print a result, and write it where ``--out`` says: words, tables, warnings, what comes next.

    ``result`` may be the dictionary that JSON shows, with ``warnings``. The first table is what
    other formats hold; ``shown`` is printed in place of all. ``words`` is the answer, by default
    what the result says itself; ``then`` the next command; ``wrote`` names files that are written
    already; ``table_file`` is what ``--out`` writes whole tables to. ``says_read`` tells whether
    the tables say what was read; JSON has what is in ``more``, too.
    """
    from steelyard.core.display import Result, result_text  # no help text needs these

    summary: Sequence[str] = words or ()
    if words is None and isinstance(result, Result):
        words, summary = result.answer(), result.words().sentences()
    pieces = list(tables if shown is None else shown)
    if isinstance(result, Result):
        tables, pieces = result.signed(tables), result.signed(pieces)
    words, summary = ([spoken(text) for text in texts] for texts in (words or (), summary))
    warnings, read = _origin(result)
    guessed = tuple(_guessed(read))
    lines = () if output.json or says_read else guessed
    written = list(map(str, wrote))
    as_file = output.out is not None and files.suffix(output.out) == "json"
    json = (
        {**_headed(result, summary, warnings), **(more or {})} if output.json or as_file else None
    )
    if output.out is not None:
        _write(json, tables, output, words, draw)
        written.append(str(output.out))
    if output.json:
        click.echo(dumps(json))
        then = None
    else:
        screen = replace(_screen(sys.stdout), whole=_WHOLE.format(table_file))
        text = result_text(words, pieces, screen)
        if text:
            click.echo(text, color=screen.colour or None)
        printed = {_bare(text) for text in words}
        warnings = [text for text in warnings if _bare(text) not in printed]
        if lines or warnings or written or then:
            _stand_apart(output)
    for line in taken_alike(lines):
        note(f"read {line}", output)
    _warn(_not_in(guessed, warnings), output)
    for path in written:
        note(f"wrote {path}", output)
    _propose(then, output)


def _origin(result: Any) -> tuple[list[str], Sequence[Mapping[str, Any]]]:
    """Return the warnings of a result, in the words of the command, and what was read."""
    if isinstance(result, Mapping) or not hasattr(result, "provenance"):
        facts = result if isinstance(result, Mapping) else result.to_dict()
        warnings, read = facts["warnings"], facts.get("read", ())
    else:
        warnings, read = result.warnings, origin(result.provenance)["read"]
    return [reworded(warning, spoken) for warning in warnings], read


def _headed(result: Any, words: Sequence[str], warnings: Sequence[str]) -> dict[str, Any]:
    """Return what JSON shows: first which command of which version gave the answer, and it."""
    path = click.get_current_context().command_path
    head = {
        "command": path.removeprefix("steelyard ").removesuffix(" card"),
        "schema": SCHEMA,
        "version": __version__,
        "summary": list(words),
    }
    facts = result if isinstance(result, Mapping) else result.to_dict()
    made = {**head, **facts, "warnings": list(warnings)}
    made.setdefault("read", [])
    made.setdefault("provenance", None)
    return made


def _bare(text: str) -> str:
    """Return a sentence so that it equals a note."""
    return text.removesuffix(".").lower()


def _write(
    json: Any,
    tables: Sequence[Table],
    output: OutputOptions,
    words: Sequence[str],
    draw: Callable[[], Any] | None,
) -> None:
    """Write ``--out``; the caption of a table is the first sentence of the answer."""
    assert output.out is not None
    suffix = files.suffix(output.out)
    if draw is not None and suffix in FIGURES:
        from steelyard.report.figures.drawing import write as write_figure

        write_figure(draw(), output.out)
    elif suffix == "parquet":
        from steelyard.formats.tables import write as write_parquet

        write_parquet(output.out, tables[0].to_columns())
    else:
        table = tables[0]
        if words and suffix in ("md", "tex", "html"):
            table = replace(table, title=words[0])
        text = dumps(json) + "\n" if suffix == "json" else table.render(suffix)
        files.write_text(output.out, text)


# Messages on stderr


def _screen(stream: TextIO) -> Screen:
    from steelyard.core.display import Screen  # no help text needs it

    return Screen.of(stream)


def note(message: str, output: OutputOptions) -> None:
    """Print a message on stderr, unless the user wants quiet."""
    _say(printable(message), output, "aside")


def _say(message: str, output: OutputOptions, style: str, first: str = "") -> None:
    if not output.quiet:
        screen = _screen(sys.stderr)
        lines = "\n".join(screen.lines(message, style, first))
        click.echo(lines, err=True, color=screen.colour or None)


def _stand_apart(output: OutputOptions) -> None:
    """Leave a line between the result and messages, where both are on a screen."""
    if not output.quiet and _screen(sys.stderr).width is not None:
        click.echo(err=True)


def _guessed(read: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield inputs with the columns whose role neither their name nor the user says."""
    params = click.get_current_context().params
    chosen = dict(params.get("columns") or ())
    for entry in read:
        columns = {
            role: name
            for role, name in entry["columns"].items()
            if isinstance(name, str)
            and name not in (role, chosen.get(role), params.get(role), *_PLAIN)
        }
        columns.pop("unit", None)
        if columns:
            yield {**entry, "columns": columns}


def _not_in(read: Iterable[Mapping[str, Any]], warnings: Sequence[str]) -> list[str]:
    """Return warnings without those that repeat what was read."""
    said = {
        f"{shown_path(entry['file'])}: column '{name}' is taken as the {role}"
        for entry in read
        for role, name in entry["columns"].items()
    }
    alone = (re.sub(r" and [0-9,]+ more files?: ", ": ", text) for text in warnings)
    return [text for text, single in zip(warnings, alone, strict=True) if single not in said]


def _warn(warnings: Sequence[str], output: OutputOptions) -> None:
    """Print warnings, those of a kind in one line, at most three without ``--details``."""
    params = click.get_current_context().params
    texts = list(brief(warnings, "--json has all"))
    if len(texts) > _WARNINGS and not params.get("details"):
        where = "--details" if "details" in params else "--json"
        texts[_WARNINGS - 1 :] = [f"{len(texts) - _WARNINGS + 1} more warnings: {where} has all"]
    for text in texts:
        _say(printable(f"warning: {text}"), output, "warning", "warning:")


def _propose(then: str | None, output: OutputOptions) -> None:
    """Print the next useful command, broken so that it can be pasted."""
    if then is None:
        return
    from steelyard.core.display import text_width

    width = _screen(sys.stderr).width
    lines = [_NEXT]
    for word in map(shlex.quote, shlex.split(then)):
        if width is not None and text_width(f"{lines[-1]} {word} \\") > width:
            lines.append("   ")
        lines[-1] += f" {word}"
    if width is None or max(map(text_width, lines)) <= width - 2:
        _say(" \\\n".join(lines), output, "next", _NEXT)


# Figures


def plot_option(names: Sequence[str], more: str = "") -> Callable[[F], F]:
    """Add ``--plot``; ``names`` are those of the command's figures, shown in its help."""
    return click.option(
        "--plot",
        type=Names(),
        help="Figures to draw into --out FILE.png (.svg, .pdf), the first by default: "
        f"{' '.join(names)}{more}. Several go to FILE-NAME.png.",
    )


def wants_figure(output: OutputOptions) -> bool:
    """Tell whether ``--out`` is a figure; if so, refuse at once where figures can't be drawn."""
    if output.out is None or files.suffix(output.out) not in FIGURES:
        return False
    from steelyard.report.figures.vega import need_plots

    need_plots()
    return True


def wanted_figures(
    plot: tuple[str, ...] | None, output: OutputOptions, known: Sequence[str]
) -> tuple[str, ...]:
    """Return the figures to draw: those of ``--plot``, the first, or none without ``--out``."""
    names: Sequence[str] = known[:1]
    if plot:
        from steelyard.report.figures.vega import chosen

        names = chosen(plot, known)
    if wants_figure(output):
        return tuple(names)
    if plot:
        expected = ", ".join(f".{kind}" for kind in FIGURES)
        raise UsageError(f"--plot {','.join(names)}: --out FILE is missing, expected {expected}")
    return ()


def write_figures(
    names: Sequence[str], draw: Callable[[str], Any], output: OutputOptions
) -> OutputOptions:
    """Draw and write figures, all or none; return the options without what is written."""
    if not names:
        return output
    from steelyard.report.figures.drawing import write_all

    assert output.out is not None
    charts = {name: partial(draw, name) for name in names}
    for path in write_all(charts, output.out):
        note(f"wrote {path}", output)
    return replace(output, out=None)


# Progress


class _Bar:
    """A progress bar on a terminal, for work that takes longer than a moment.

    It goes when the work is done; downloads (``in_bytes``) stay, with their size and speed. Rich,
    which draws it, takes a tenth of a second to load.
    """

    def __init__(self, title: str, *, in_bytes: bool, colour: bool) -> None:
        self._title, self._in_bytes, self._colour = title, in_bytes, colour
        self._start = time.monotonic()
        self._bar: Any = None

    def update(self, done: float, total: float | None) -> None:
        """Show how much is done, and how much there is."""
        if self._bar is None and time.monotonic() - self._start >= _PATIENCE:
            self._begin()
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, total=total)

    def _begin(self) -> None:
        from rich import progress
        from rich.console import Console
        from rich.markup import escape

        columns = list(progress.Progress.get_default_columns()[:2])
        if self._in_bytes:
            columns += [progress.DownloadColumn(), progress.TransferSpeedColumn()]
        columns.append(progress.TimeRemainingColumn(elapsed_when_finished=True))
        console = Console(stderr=True, no_color=not self._colour)
        self._bar = progress.Progress(*columns, console=console, transient=not self._in_bytes)
        self._bar.add_task(escape(printable(self._title)), total=None)
        self._bar.start()

    def end(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()


@contextmanager
def progress_of(
    title: str, output: OutputOptions, *, in_bytes: bool = False
) -> Iterator[Progress | None]:
    """Yield a function to call with how much is done and how much there is; None off a terminal."""
    if output.quiet or not sys.stderr.isatty():
        yield None
        return
    bar = _Bar(title, in_bytes=in_bytes, colour=_screen(sys.stderr).colour)
    try:
        yield bar.update
    finally:
        bar.end()


@contextmanager
def shown_progress(title: str, output: OutputOptions) -> Iterator[None]:
    """Show how far the work inside has come."""
    with progress_of(title, output) as progress, listening(progress):
        yield


@contextmanager
def workers_with_progress(title: str, output: OutputOptions) -> Iterator[Workers]:
    """Yield workers that show how far they have come."""
    from steelyard.core.parallel import Workers

    with progress_of(title, output) as progress:
        yield Workers(output.jobs, progress)

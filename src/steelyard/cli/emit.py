"""What commands print and write: results on stdout, all else on stderr, files by their suffix.

How far long work has come is a bar on a terminal (drawn by ``rich``, loaded there alone), one line
elsewhere, nothing if quiet.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from steelyard import __version__
from steelyard.cli.options import FIGURES, F, OutputOptions
from steelyard.cli.values import Names
from steelyard.cli.wording import flags_here, spoken
from steelyard.core.errors import UsageError, printable, shown_path
from steelyard.core.progress import Progress, listening
from steelyard.core.provenance import origin, taken_alike
from steelyard.core.table import Table, dumps
from steelyard.core.warnings import brief, reworded
from steelyard.formats import files

if TYPE_CHECKING:
    from steelyard.core.display import Screen
    from steelyard.core.parallel import Workers


SCHEMA = 1  # of what JSON looks like; a number that changes when old keys do
_NEXT = "next:"
_WHOLE = "--out {} or a wider window has all columns"


def note(message: str, output: OutputOptions) -> None:
    """Say something on stderr, unless the user wants quiet."""
    _say(printable(message), output, "aside")


def _say(message: str, output: OutputOptions, style: str, first: str = "") -> None:
    if not output.quiet:
        screen = _screen(sys.stderr, output)
        lines = "\n".join(screen.lines(message, style, first))
        click.echo(lines, err=True, color=screen.colour or None)


def screen_of(output: OutputOptions, table_file: str = "FILE.csv") -> Screen:
    """Look at standard output; ``table_file`` is what ``--out`` writes whole tables to."""
    return replace(_screen(sys.stdout, output), whole=_WHOLE.format(table_file))


def _screen(stream: TextIO, output: OutputOptions) -> Screen:
    from steelyard.core.display import Screen  # no help text needs it

    return Screen.of(stream, output.color)


def wants_figure(output: OutputOptions) -> bool:
    """Tell whether ``--out`` is a figure; if so, refuse at once where figures can't be drawn."""
    if not _is_figure(output):
        return False
    from steelyard.report.figures.style import need_plots

    need_plots()
    return True


def _is_figure(output: OutputOptions) -> bool:
    return output.out is not None and files.suffix(output.out) in FIGURES


def emit(  # noqa: PLR0913 - every option has a default
    found: Any,
    tables: Sequence[Table],
    output: OutputOptions,
    text: str | None = None,
    draw: Callable[[], Any] | None = None,
    *,
    words: Sequence[str] | None = None,
    shown: Sequence[Table | str] | None = None,
    says_read: bool | None = False,
    wrote: Sequence[Path | str] = (),
    then: str | None = None,
    table_file: str = "FILE.csv",
) -> None:
    """Print a result, and write it where ``--out`` says: words, tables, warnings, what comes next.

    Parameters
    ----------
    found
        The result, or the dictionary that JSON shows, which has ``warnings``. Only JSON asks a
        result for its dictionary: of large results it costs more than the tables.
    tables
        The first is what other formats hold.
    text, shown
        What people see in the place of the tables: all of it as a text, or tables and texts.
    draw
        Makes the chart that a figure holds.
    words
        The answer in a sentence or three; by default what the result says itself.
    says_read
        Whether the tables say what was read; None: it is said where a column's role was guessed.
    wrote
        Files that are written already.
    then
        The next useful command.
    table_file
        What ``--out`` writes whole tables to.
    """
    # No help text needs these.
    from steelyard.core.display import Result, result_text

    summary = found.words() if words is None and isinstance(found, Result) else None
    if words is None:
        words = found.answer() if isinstance(found, Result) else ()
    words = [spoken(text) for text in words]
    every = words if summary is None else [spoken(text) for text in summary.sentences()]
    warnings, read = _told(found)
    done = [str(path) for path in wrote]
    if output.json or (output.out is not None and files.suffix(output.out) == "json"):
        result: Any = headed(found, every, warnings)
    else:
        result = None
    if output.out is not None:
        _write(result, tables, output, draw)
        done.append(str(output.out))
    if output.json:
        click.echo(dumps(result))
    else:
        screen = screen_of(output, table_file)
        blocks: Sequence[Table | str] = tables if shown is None else shown
        shown_text = result_text(words, blocks if text is None else [text], screen)
        if shown_text:
            click.echo(shown_text, color=screen.colour or None)
        said = {_bare(text) for text in words}
        warnings = [text for text in warnings if _bare(text) not in said]
    if says_read is None:
        says_read = not _guessed(read)
    says_read = says_read and not output.json
    if not output.json and ((read and not says_read) or warnings or done or then):
        _stand_apart(output)
    mind(warnings, read, output, says_read=says_read)
    for path in done:
        note(f"wrote {path}", output)
    if not output.json:
        follow(then, output)


def _stand_apart(output: OutputOptions) -> None:
    """Leave a line between the result and what is said of it, where both are on a screen."""
    if not output.quiet and _screen(sys.stderr, output).width is not None:
        click.echo(err=True)


def _bare(text: str) -> str:
    """Give a sentence so that it is the same as a note."""
    return text.removesuffix(".").lower()


def _write(
    result: Any, tables: Sequence[Table], output: OutputOptions, draw: Callable[[], Any] | None
) -> None:
    assert output.out is not None
    suffix = files.suffix(output.out)
    if draw is not None and suffix in FIGURES:
        from steelyard.report.figures.drawing import write as write_figure

        write_figure(draw(), output.out)
    elif suffix == "parquet":
        from steelyard.formats.tables import write as write_parquet

        write_parquet(output.out, tables[0].to_columns())
    else:
        rendered = dumps(result) + "\n" if suffix == "json" else tables[0].render(suffix)
        files.write_text(output.out, rendered)


def _told(found: Any) -> tuple[list[str], Sequence[Mapping[str, Any]]]:
    """Give what is to be minded, in the command's own words, and what was read."""
    if not isinstance(found, Mapping):
        if hasattr(found, "warnings") and hasattr(found, "provenance"):
            read = origin(found.provenance)["read"]
            return [reworded(warning, spoken) for warning in found.warnings], read
        found = found.to_dict()
    warnings, read = found["warnings"], found.get("read", ())
    return [reworded(warning, spoken) for warning in warnings], read


def headed(found: Any, words: Sequence[str], warnings: Sequence[str]) -> dict[str, Any]:
    """Give what JSON shows: at the top the answer, and which command of which version gave it."""
    own = dict(found) if isinstance(found, Mapping) else found.to_dict()
    head = {
        "command": command_name(),
        "schema": SCHEMA,
        "version": __version__,
        "summary": list(words),
    }
    return {**head, **own, "warnings": list(warnings)}


def _guessed(read: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether a column has a role that its name does not say."""
    columns = (pair for each in read for pair in each["columns"].items())
    plain = ("seg", "src", "refs", "out")  # of texts and scores as we write them
    guesses = ((role, name) for role, name in columns if isinstance(name, str))
    return any(name not in (role, *plain) and role != "unit" for role, name in guesses)


def command_name() -> str:
    """Give the name of the command that runs, as one types it."""
    context = click.get_current_context(silent=True)
    path = "" if context is None else context.command_path
    return path.removeprefix("steelyard ").removesuffix(" card")


def mind(
    warnings: Sequence[str],
    read: Sequence[Mapping[str, Any]],
    output: OutputOptions,
    *,
    says_read: bool = False,
) -> None:
    """Say what was read unless ``says_read``, then warnings, those of a kind in one line."""
    from steelyard.cli.advice import advised

    for line in () if says_read else taken_alike(read):
        note(f"read {line}", output)
    told = {
        f"{shown_path(one['file'])}: column '{name}' is taken as the {role}"
        for one in read
        for role, name in one["columns"].items()
    }
    alone = {text: re.sub(r" and [0-9,]+ more files?: ", ": ", text) for text in warnings}
    new = [text for text in warnings if alone[text] not in told]
    flags = flags_here().values()
    for warning in brief(new, "--json has all"):
        told_so = advised(warning, flags)
        _say(printable(f"warning: {told_so}"), output, "warning", "warning:")


def follow(then: str | None, output: OutputOptions) -> None:
    """Say what the next useful command is, so that it can be pasted where it is broken, too."""
    if then is None:
        return
    from steelyard.core.display import text_width

    width = _screen(sys.stderr, output).width
    lines = [_NEXT]
    for word in map(shlex.quote, shlex.split(then)):
        if width is not None and text_width(f"{lines[-1]} {word} \\") > width:
            lines.append("   ")
        lines[-1] += f" {word}"
    if width is None or max(map(text_width, lines)) <= width - 2:
        _say(" \\\n".join(lines), output, "next", _NEXT)


def plot_option(names: Sequence[str], more: str = "") -> Callable[[F], F]:
    """Add ``--plot``; ``names`` are those of the command's figures, shown in its help."""
    return click.option(
        "--plot",
        type=Names(names),
        help="Figures to draw into --out FILE.png (.svg, .pdf), the first by default: "
        f"{' '.join(names)}{more}. Several go to FILE-NAME.png.",
    )


def wanted_figures(
    plot: tuple[str, ...] | None, output: OutputOptions, known: Sequence[str]
) -> tuple[str, ...]:
    """Give the names of the figures to draw, none if ``--out`` is no figure.

    ``known`` are those that can be drawn; the first is drawn where ``--plot`` names none.
    """
    drawn = _is_figure(output)
    if plot is None and not drawn:
        return ()
    from steelyard.report.figures.style import chosen, need_plots

    names = chosen(plot, known) if plot else tuple(known[:1])
    if not drawn:
        expected = ", ".join(f".{kind}" for kind in FIGURES)
        raise UsageError(f"--plot {','.join(names)}: --out FILE is missing, expected {expected}")
    need_plots()
    return names


def write_figures(
    names: Sequence[str], draw: Callable[[str], Any], output: OutputOptions
) -> OutputOptions:
    """Draw and write figures, all or none; give the output options without what is written."""
    if not names:
        return output
    from steelyard.report.figures.drawing import write_all

    assert output.out is not None
    charts = {name: (lambda name=name: draw(name)) for name in names}
    for path in write_all(charts, output.out):
        note(f"wrote {path}", output)
    return replace(output, out=None)


@contextmanager
def progress_of(
    title: str, output: OutputOptions, *, in_bytes: bool = False, aloud: bool = True
) -> Iterator[Progress | None]:
    """Give a function to call with how much is done and how much there is, or None if quiet.

    Where standard error is no terminal, a line says what is done; none unless ``aloud``.
    """
    if output.quiet or not (aloud or sys.stderr.isatty()):
        yield None
    elif not sys.stderr.isatty():
        said: list[str] = []

        def once(_done: float, total: float | None) -> None:
            if not said:
                size = f" ({total:,} bytes)" if total and in_bytes else ""
                said.append(f"{title}{size} ...")
                note(said[0], output)

        yield once
    else:
        from steelyard.cli.bar import WaitingBar

        colour = _screen(sys.stderr, output).colour
        with WaitingBar(title, in_bytes=in_bytes, colour=colour) as bar:
            yield bar.tell


@contextmanager
def shown_progress(title: str, output: OutputOptions) -> Iterator[None]:
    """Show, on a terminal, how far the work inside has come, and how long it will still take."""
    with progress_of(title, output, aloud=False) as progress, listening(progress):
        yield


@contextmanager
def workers_with_progress(title: str, workers: Workers, output: OutputOptions) -> Iterator[Workers]:
    """Give workers that show how far they have come."""
    with progress_of(title, output) as progress:
        yield replace(workers, progress=progress, note=partial(note, output=output))

"""What commands print and write: results on stdout, all else on stderr, files by their suffix."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from steelyard import __version__
from steelyard.cli.flags import spoken
from steelyard.cli.group import pasted
from steelyard.cli.params import FIGURES, OutputOptions
from steelyard.core.errors import printable, shown_path
from steelyard.core.progress import Progress
from steelyard.core.provenance import origin, taken_alike
from steelyard.core.table import Column, Table, dumps
from steelyard.core.text import listed
from steelyard.core.warnings import brief, reworded
from steelyard.formats import files

if TYPE_CHECKING:
    from steelyard.cli.engine import Answer
    from steelyard.core.display import Screen

SCHEMA = 1  # of JSON; a number that changes when old keys do
_NEXT = "next:"
_WHOLE = "--out FILE.md or a wider window has all columns"
_WARNINGS = 3  # that are printed without --details
_PLAIN = ("seg", "src", "refs", "out")  # columns of texts and scores as we write them
_PATIENCE = 1.0  # seconds before a bar is shown


def emit(answer: Answer, output: OutputOptions) -> None:
    """Write files, print the answer: words, tables, warnings, what was written, what comes next."""
    from steelyard.core.display import Result, result_text  # no help text needs these

    result, summary, words = answer.result, answer.words or (), answer.words
    if isinstance(result, Result):
        tables = result.signed(answer.tables or [result.table()])
        pieces = result.signed(result.pieces() if answer.shown is None else answer.shown)
        if words is None:
            words, summary = result.answer(), result.words().sentences()
    else:
        tables = list(answer.tables or ())
        pieces = tables if answer.shown is None else list(answer.shown)
    words, summary = ([spoken(text) for text in texts] for texts in (words or (), summary))
    warnings, read = _origin(result)
    guessed = tuple(_guessed(read))
    json = {**_headed(result, summary, warnings), **(answer.more or {})} if output.as_json else None
    written = _written(answer, output)
    if output.out is not None and output.out not in written and not answer.figures:
        _write(json, tables[0] if tables else facts_table(result), output.out, words)
        written[output.out] = str(output.out)
    then, lines = answer.then, () if output.json or answer.says_read else guessed
    if output.json:
        click.echo(dumps(json))
        then = None
    else:
        screen = replace(_screen(sys.stdout), whole=_WHOLE)
        text = result_text(words, pieces, screen)
        if text:
            click.echo(text, color=screen.colour or None)
        printed = {_bare(text) for text in words}
        warnings = [text for text in warnings if _bare(text) not in printed]
        # On a screen, a line stands between the result and messages.
        messages = lines or warnings or written or then
        if messages and not output.quiet and _screen(sys.stderr).width is not None:
            click.echo(err=True)
    for line in taken_alike(lines):
        note(f"read {line}", output)
    _warn(_not_in(guessed, warnings), output)
    for path in written.values():
        note(f"wrote {path}", output)
    _propose(then, output)


def _written(answer: Answer, output: OutputOptions) -> dict[Path, str]:
    """Write figures, all or none, and further files; return what to say of each."""
    written: dict[Path, str] = {}
    if answer.figures and answer.draw is not None and output.out is not None:
        from steelyard.report.figures.drawing import write_all

        charts = {name: partial(answer.draw, name) for name in answer.figures}
        written |= {path: str(path) for path in write_all(charts, output.out)}
    for path, write in answer.writes:
        if path is not None:
            about = write(path)
            written[path] = about if isinstance(about, str) else str(path)
    return written


def _origin(result: Any) -> tuple[list[str], Sequence[Mapping[str, Any]]]:
    """Return the warnings of a result, in the words of the command, and what was read."""
    if isinstance(result, Mapping) or not hasattr(result, "provenance"):
        facts = result if isinstance(result, Mapping) else result.to_dict()
        warnings, read = facts.get("warnings", ()), facts.get("read", ())
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


def _write(json: Any, table: Table, path: Path, words: Sequence[str]) -> None:
    """Write ``--out``; the caption of a table is the first sentence of the answer."""
    suffix = files.suffix(path)
    if suffix == "parquet":
        from steelyard.formats.tables import write as write_parquet

        write_parquet(path, table.to_columns())
    else:
        if words and suffix in ("md", "tex", "html"):
            table = replace(table, title=words[0])
        files.write_text(path, dumps(json) + "\n" if suffix == "json" else table.render(suffix))


def facts_table(facts: Mapping[str, Any], title: str = "") -> Table:
    """Return a table of two columns: what it is, and a value, a list or counts by name."""

    def shown(value: Any) -> str:
        if isinstance(value, dict):
            value = [f"{name} {n:,}" for name, n in value.items()]
        if isinstance(value, list):
            return listed([str(each) for each in value], 12)
        return f"{value:,}" if isinstance(value, int) else str(value)

    rows = tuple((name, shown(value)) for name, value in facts.items())
    return Table(title, (Column("what"), Column("value")), rows)


def records_table(records: Sequence[Mapping[str, Any]], keys: str, title: str = "") -> Table:
    """Return a table with a row for each record, and a column for each key."""
    names = keys.split()
    whole = {name for name in names if any(isinstance(r[name], int) for r in records)}
    columns = tuple(Column(n.replace("_", " "), digits=0 if n in whole else None) for n in names)
    return Table(title, columns, tuple(tuple(record[name] for name in names) for record in records))


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
    lines = [f"{_NEXT} {then}"] if width is None else pasted(f"{_NEXT} {then}", width)
    if width is None or max(map(text_width, lines)) <= width:
        _say("\n".join(lines), output, "next", _NEXT)


def wants_figure(output: OutputOptions) -> bool:
    """Tell whether ``--out`` is a figure; if so, refuse at once where figures can't be drawn."""
    if output.out is None or files.suffix(output.out) not in FIGURES:
        return False
    from steelyard.report.figures.vega import need_plots

    need_plots()
    return True


# Progress


def _bar(title: str, *, colour: bool) -> Any:
    from rich import progress  # which takes a tenth of a second to load
    from rich.console import Console
    from rich.markup import escape

    bar = progress.Progress(console=Console(stderr=True, no_color=not colour), transient=True)
    bar.add_task(escape(printable(title)), total=None)
    bar.start()
    return bar


@contextmanager
def progress_of(title: str, output: OutputOptions) -> Iterator[Progress | None]:
    """Yield a function to call with how much is done and how much there is; None off a terminal.

    A bar is shown for work that takes longer than a moment.
    """
    if output.quiet or not sys.stderr.isatty():
        yield None
        return
    start = time.monotonic()
    bars: list[Any] = []

    def update(done: float, total: float | None) -> None:
        if not bars and time.monotonic() - start >= _PATIENCE:
            bars.append(_bar(title, colour=_screen(sys.stderr).colour))
        for bar in bars:
            bar.update(bar.task_ids[0], completed=done, total=total)

    try:
        yield update
    finally:
        for bar in bars:
            bar.stop()

"""Commands and groups of them: help under headings with shapes and examples, loaded when called."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any

import click

from steelyard.core.errors import hint

_WIDEST = 100  # columns of help
_NAMES = 26  # columns of the names of options
_WORD = re.compile(r"""(?:[^\s'"]|'[^']*'|"[^"]*")+""")  # as a shell sees words

#: Headings that commands share, and the options below them by their names in Python; a command's
#: headings come before these, and take what they name.
_SHARED = {
    "Tests and intervals": "significance tests test scheme alternative correction alpha unit "
    "intervals n_bootstrap n_resamples",
    "Texts and metrics": "metric src ref src_lang tgt_lang allow_empty settings commands kb",
    "Input": "human kind lp systems drop_systems drop_metrics sees lower_is_better "
    "higher_is_better domain where ignore columns format",
    "Output": "details pairwise plot json out seed jobs quiet debug help _click_default_help",
}

SCORES = """\
A table of scores has a row for each system and segment:
  system,segment,chrF,COMET
  new,1,61.2,0.84
  old,1,58.7,0.81
or a column for each system (segment,new,old). More columns may be there.
"""
JUDGED = """\
A table of scores has a row for each system and segment; one score is human:
  system,segment,mqm,chrF
  new,1,-1.0,61.2
  old,1,-5.0,58.7
Human scores and metrics may also stand in files of their own.
"""
BATTLES = """\
A log of battles has a row for each battle:
  left,right,outcome
  new,old,left
  old,new,tie
"""
TEXTS = """\
Texts are plain files, a line for each segment, or JSON lines:
  {"seg": 1, "src": "Ja.", "refs": {"refA": "Yes."}, "out": {"new": "Yes"}}
"""
RATINGS = """\
Ratings have a row for each output that a rater judged:
  rater,system,segment,raw
  ann,new,1,86
  bo,old,1,75
With the errors that raters marked: rater,system,segment,category,severity.
"""
VERDICTS = """\
Verdicts have a column for each judge and each annotator, who may have left rows open:
  item,left,right,expert,gpt
  1,new,old,left,left
  2,old,new,,tie
On single outputs, columns system and item stand in the place of left and right.
"""
ANY = f"""\
{SCORES}Texts, ratings and logs of many tools are read, too: steelyard data formats.
"""


class _Lines(click.HelpFormatter):
    """Lines that are no longer than the terminal is wide."""

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = _NAMES, col_spacing: int = 2
    ) -> None:
        """Write names and what they mean; a name that is too long has lines of its own."""
        rows = tuple(rows)
        longest = max((len(name) for name, _ in rows), default=0)
        column = min(longest, col_max, max(self.width // 3, 8)) + col_spacing
        room = self.width - self.current_indent
        for name, about in rows:
            # Names of options stay whole.
            lines = textwrap.wrap(about, max(room - column, 10), break_on_hyphens=False) or [""]
            names = textwrap.wrap(name, room, subsequent_indent="    ", break_on_hyphens=False)
            if len(names) == 1 and len(name) <= column - col_spacing:
                names[0] = f"{name:<{column}}{lines.pop(0)}"
            for line in (*names, *(f"{'':{column}}{line}" for line in lines)):
                self.write(f"{'':{self.current_indent}}{line}".rstrip() + "\n")

    def as_it_stands(self, text: str) -> None:
        """Write lines that are laid out already; sentences among them may be broken."""
        for line in text.splitlines():
            indent = "    " if line.startswith(" ") else ""
            filled = textwrap.fill(
                line, self.width, subsequent_indent=indent, break_on_hyphens=False
            )
            self.write(f"{filled}\n")


def pasted(example: str, width: int) -> list[str]:
    r"""Break a command into lines that a shell takes as one.

    Examples
    --------
    >>> pasted("steelyard compare scores.csv --score chrF --by mean,bt", 40)
    ['steelyard compare scores.csv \\', '    --score chrF --by mean,bt']
    """
    parts = re.split(r" (?=-)", example)  # an option stays with its value
    if max(map(len, parts)) + 6 > width:
        parts = _WORD.findall(example)
    lines = [parts[0]]
    for part in parts[1:]:
        if len(lines[-1]) + len(part) + 3 > width:
            lines[-1] += " \\"
            lines.append(f"    {part}")
        else:
            lines[-1] += f" {part}"
    return lines


class _Context(click.Context):
    formatter_class = _Lines


class Question(click.Command):
    """A command with its help in parts.

    ``headings`` map a heading to the options below it, by their names in Python; ``shape`` says
    what a file looks like; ``examples`` are commands to paste.
    """

    context_class = _Context

    def __init__(
        self,
        *args: Any,
        headings: Mapping[str, str] | None = None,
        shape: str = "",
        examples: Sequence[str] = (),
        **settings: Any,
    ) -> None:
        super().__init__(*args, **settings)
        self.headings = dict(headings or {})
        self.shape = shape
        self.examples = tuple(examples)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write options under their headings, each in the order of the heading."""
        params = {param.name: param for param in self.get_params(ctx)}
        groups: list[tuple[str, list[click.Parameter]]] = []
        for heading, names in (*self.headings.items(), *_SHARED.items()):
            members = [params.pop(name) for name in names.split() if name in params]
            groups.append((heading, members))
        for heading, members in (("Options", list(params.values())), *groups):
            records = [p.get_help_record(ctx) for p in members if isinstance(p, click.Option)]
            rows = [_readable(record) for record in records if record is not None]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what a file looks like, and the examples."""
        assert isinstance(formatter, _Lines)
        if self.shape:
            formatter.write("\n")
            formatter.as_it_stands(self.shape)
        if self.examples:
            formatter.write("\nExamples:\n" if len(self.examples) > 1 else "\nExample:\n")
            for example in self.examples:
                for line in pasted(example, formatter.width - 2):
                    formatter.write(f"  {line}\n")
        super().format_epilog(ctx, formatter)


def _readable(record: tuple[str, str]) -> tuple[str, str]:
    """Use the usual letters for numbers, and round those of defaults and bounds."""
    name, about = record
    for word, letter in (("INTEGER", "N"), ("FLOAT", "X")):
        name = re.sub(f" {word}( RANGE)?", f" {letter}", name)
    text, bracket, bounds = about.rpartition("[")
    if bracket:
        bounds = re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.4g}", bounds)
    return name, f"{text}{bracket}{bounds}"


class LazyGroup(click.Group):
    """A group of commands; it lists those of other modules without importing them.

    ``lazy`` holds one line of help for each command of a module of its name; ``also`` other words
    that people try, with the command that they stand for; ``first`` what newcomers should type,
    and what it shows.
    """

    context_class = _Context

    def __init__(
        self,
        *,
        lazy: Mapping[str, str] | None = None,
        also: Mapping[str, str] | None = None,
        first: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> None:
        settings.setdefault("context_settings", {"help_option_names": ["-h", "--help"]})
        super().__init__(**settings)
        self.lazy = lazy or {}
        self.also = also or {}
        self.first = first or {}

    def about(self) -> dict[str, str]:
        """Return what each command does, in a line."""
        short = {name: c.get_short_help_str(_WIDEST) for name, c in self.commands.items()}
        return {**self.lazy, **short}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Name the commands."""
        return list(self.about())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, which may have to be imported."""
        if cmd_name not in self.lazy:
            return super().get_command(ctx, cmd_name)
        module = import_module(f"steelyard.cli.{cmd_name}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find a command, or say which one may have been meant."""
        if args and self.get_command(ctx, args[0]) is None:
            names = self.about()
            raise click.UsageError(f"no command '{args[0]}'; {hint(args[0], names, self.also)}")
        return super().resolve_command(ctx, args)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Say what this is, and where to begin."""
        super().format_help_text(ctx, formatter)
        if self.first:
            with formatter.section("New here? Start with"):
                formatter.write_dl(list(self.first.items()))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands with their one line of help."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.about().items()))

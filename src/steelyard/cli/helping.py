"""What ``--help`` shows: options under headings, what a file looks like, examples.

And one word per thing: where commands have called one option by two names, :data:`WORDS` names
both, the word that help shows first; every command takes either.
"""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from typing import Any

import click

_MOST, _LEAST = 100, 40  # columns of help: longer lines are hard to read, shorter ones hold nothing
_NAMES = 26  # columns of the names of options
_WORD = re.compile(r"""(?:[^\s'"]|'[^']*'|"[^"]*")+""")  # as a shell sees words

#: Spellings of one thing, the word that is used first; a command that has one takes the others.
WORDS = (
    ("--by", "--with"),
    ("--metrics", "--metric"),
    ("--tests", "--test"),
    ("--score", "--scores"),
    ("--ref", "--refs"),
    ("--judges", "--judge"),
    ("--draws", "--trials", "--repeats", "--splits"),
    ("--outlier-cutoff", "--cutoff"),
)
#: Options that had the name of another thing, and that name, which their commands still take.
RENAMED = (
    ("--score-file", "--scores"),
    ("--variants", "--ties"),
    ("--verdict-raters", "--raters"),
    ("--files", "--export"),
)

#: Headings that commands share, and the options below them by their names in Python; a command's
#: own headings come before these, and take what they name.
_SHARED = {
    "Texts and metrics": "metric src ref refs allow_empty settings commands score_files kb links "
    "cache",
    "Input": "human kind lp systems drop_systems drop_metrics sees lower_is_better "
    "higher_is_better domain where ignore columns format",
    "Work that splits": "resume",
    "Output": "pairwise plot json out color seed jobs quiet debug help _click_default_help",
}
_OTHERS = "Options"

SCORES = """\
A table of scores has a row for each system and segment:
  system,segment,chrF,COMET
  new,1,61.2,0.84
  old,1,58.7,0.81
or a column for each system (segment,new,old). More columns may be there.
"""
JUDGED = """\
A table of scores has a row for each system and segment; one score is people's:
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
Ratings have a row for each output that a person judged:
  rater,system,segment,raw
  ann,new,1,86
  bo,old,1,75
With the errors that people marked: rater,system,segment,category,severity.
"""
VERDICTS = """\
Verdicts have a column for each judge and each person, who may have left rows open:
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
        self,
        rows: Iterable[tuple[str, str]],
        col_max: int = _NAMES,
        col_spacing: int = 2,
    ) -> None:
        """Write names and what they mean; a name that is too long has lines of its own."""
        rows = tuple(rows)
        most = min(col_max, max(self.width // 3, 8))
        widths = [len(name) for name, _ in rows]
        column = min(max(widths, default=0), most) + col_spacing
        for name, about in rows:
            lines = self._wrapped(about, column) or [""]
            names = _broken(name, self.width - self.current_indent)
            if len(names) == 1 and len(name) <= column - col_spacing:
                self._line(f"{name:<{column}}{lines.pop(0)}")
            else:
                for part in names:
                    self._line(part)
            for line in lines:
                self._line(f"{'':{column}}{line}")

    def _wrapped(self, text: str, column: int) -> list[str]:
        room = max(self.width - self.current_indent - column, 10)
        return textwrap.wrap(text, room, break_on_hyphens=False)  # names of options stay whole

    def _line(self, text: str) -> None:
        self.write(f"{'':{self.current_indent}}{text}".rstrip() + "\n")

    def as_it_stands(self, text: str) -> None:
        """Write lines that are laid out already; sentences among them may be broken."""
        for line in text.splitlines():
            indent = "    " if line.startswith(" ") else ""
            filled = textwrap.fill(
                line, self.width, subsequent_indent=indent, break_on_hyphens=False
            )
            self.write(f"{filled}\n")


def _broken(name: str, width: int) -> list[str]:
    """Break choices behind bars where a name is wider than the terminal."""
    lines = [""]
    for part in re.split(r"(?<=[|, ])", name):
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines.append("    ")
        lines[-1] += part
    return lines


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


def _width(ctx: click.Context) -> int:
    columns = ctx.terminal_width or shutil.get_terminal_size().columns
    return max(min(columns, _MOST) - 1, _LEAST)


def laid_out(command: click.Command, ctx: click.Context) -> str:
    """Give the help of a command, in lines of this terminal."""
    formatter = _Lines(width=_width(ctx))
    command.format_help(ctx, formatter)
    return formatter.getvalue().rstrip("\n")


class Question(click.Command):
    """A command with its help in parts, which takes every spelling of its options.

    ``headings`` are those of its own, each with the options below it by their names in Python;
    ``lists`` are what else is to be listed, by heading; ``shape`` says what a file looks like;
    ``examples`` are commands to paste.
    """

    def __init__(
        self,
        *args: Any,
        headings: Mapping[str, str] | None = None,
        lists: Mapping[str, Mapping[str, str]] | None = None,
        shape: str = "",
        examples: Sequence[str] = (),
        **settings: Any,
    ) -> None:
        super().__init__(*args, **settings)
        self.headings = dict(headings or {})
        self.lists = dict(lists or {})
        self.shape = shape
        self.examples = tuple(examples)

    def get_help(self, ctx: click.Context) -> str:
        """Lay the help out for this terminal."""
        return laid_out(self, ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write options under their headings, each in the order of the heading."""
        for heading, listed in self.lists.items():
            with formatter.section(heading):
                formatter.write_dl(list(listed.items()))
        params = {param.name: param for param in self.get_params(ctx)}
        seen: set[str] = set()
        groups: list[tuple[str, list[click.Parameter]]] = []
        for heading, names in (*self.headings.items(), *_SHARED.items()):
            own = [name for name in names.split() if name in params and name not in seen]
            seen.update(own)
            groups.append((heading, [params[name] for name in own]))
        others = [param for name, param in params.items() if name not in seen]
        for heading, members in ((_OTHERS, others), *groups):
            options = (param for param in members if isinstance(param, click.Option))
            told = (param.get_help_record(ctx) for param in options)
            rows = [_readable(record) for record in told if record is not None]
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

    def make_parser(self, ctx: click.Context) -> Any:
        """Let the parser take other spellings, too; nobody else need know them."""
        parser = super().make_parser(ctx)
        for option, spelling in other_spellings(self.get_params(ctx)):
            own = copy(option)
            own.opts, own.secondary_opts = [spelling], []
            own.add_to_parser(parser, ctx)
        return parser


def other_spellings(params: Sequence[click.Parameter]) -> Iterator[tuple[click.Option, str]]:
    """Give options of a command with each other name that none of its options has."""
    options = {flag: p for p in params if isinstance(p, click.Option) for flag in p.opts}
    taken = set(options)
    for words in (*RENAMED, *WORDS):
        asked = words[:1] if words in RENAMED else words
        used = next((word for word in asked if word in options), None)
        for word in words:
            if used is not None and word not in taken:
                taken.add(word)
                yield options[used], word


_RANGES = (("INTEGER RANGE", "N"), ("FLOAT RANGE", "X"), ("INTEGER", "N"), ("FLOAT", "X"))


def _readable(record: tuple[str, str]) -> tuple[str, str]:
    """Call numbers what people call them, and round those of defaults and bounds."""
    name, about = record
    for ours, people in _RANGES:
        name = name.replace(f" {ours}", f" {people}")
    text, bracket, bounds = about.rpartition("[")
    if bracket:
        bounds = re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.4g}", bounds)
    return name, f"{text}{bracket}{bounds}"


#: Makes a command of a function, with its help in parts.
command: Callable[..., Callable[[Callable[..., Any]], Question]] = partial(
    click.command, cls=Question
)

"""What every command does alike: take options, check files, call a function, show its answer.

A command is a function of a :class:`Call` that returns an :class:`Answer`; :func:`command` makes
the options of it from classes of options. Errors of the library name arguments: here they get the
flags of the command.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from steelyard.cli.flags import spoken
from steelyard.cli.group import Question
from steelyard.cli.output import emit, progress_of, wants_figure
from steelyard.cli.params import (
    FIGURES,
    NAMES,
    OUTPUT,
    SUFFIXES,
    InputOptions,
    OutputOptions,
    options_of,
    output_options,
)
from steelyard.core.errors import STDIN, SteelyardError, UsageError, printable
from steelyard.core.options import Options
from steelyard.core.progress import Progress, listening
from steelyard.formats import files

if TYPE_CHECKING:
    from steelyard.core.table import Table

O = TypeVar("O", bound=Options)  # noqa: E741 - the usual letter of a type
_Typed = tuple[str | None, tuple[str, ...]]  # the option (None: an argument), and its words

#: Options of reading inputs, which a command that follows takes, too.
READING = frozenset(InputOptions.declared())
_OUTPUT = frozenset(OutputOptions.declared()) - {"seed"}


@dataclass(frozen=True)
class Call:
    """What the user asked; ``settings`` are the values of other options, by their fields."""

    inputs: tuple[str, ...]
    settings: dict[str, Any]
    reading: InputOptions
    output: OutputOptions

    def take(self, cls: type[O]) -> O:
        """Make the object of the settings that belong to a class, and remove them."""
        return cls.take(self.settings)

    def need_inputs(self) -> None:
        """Refuse a call without inputs, and show the first example of the command."""
        if not self.inputs:
            command: Any = click.get_current_context().command
            raise UsageError(f"no input; for example: {command.examples[0]}")

    def given(self, *names: str) -> bool:
        """Tell whether the user set any of some options."""
        sources = map(click.get_current_context().get_parameter_source, names)
        return any(source is not None and source.name != "DEFAULT" for source in sources)

    def without(self, options: Collection[str], where: str) -> tuple[str, ...]:
        """Return a warning about options that the user set, and that ``where`` has no use for."""
        params = click.get_current_context().command.params
        flags = sorted(p.opts[0] for p in params if p.name in options and self.given(p.name))
        verb = "is" if len(flags) == 1 else "are"
        return (f"{', '.join(flags)} {verb} ignored in {where}",) if flags else ()

    @contextmanager
    def progress(self, title: str, *, counted: bool = False) -> Iterator[Progress | None]:
        """Show how far the work inside has come; work that is ``counted`` calls what is yielded."""
        shown = progress_of(title, self.output)
        with shown as progress, listening(None if counted else progress):
            yield progress

    def figures(self, known: Sequence[str]) -> Sequence[str]:
        """Return the figures to draw: those of ``--plot``, the first, or none without ``--out``."""
        chosen: Sequence[str] = self.settings["plot"] or ()
        if chosen:
            from steelyard.report.figures.vega import chosen as checked

            chosen = checked(chosen, known)
        if wants_figure(self.output):
            return chosen or known[:1]
        if chosen:
            expected = ", ".join(f".{kind}" for kind in FIGURES)
            raise UsageError(
                f"--plot {','.join(chosen)}: --out FILE is missing, expected {expected}"
            )
        return ()

    def out(self, suffixes: Collection[str]) -> Path | None:
        """Return where ``--out`` goes, if it ends in one of some suffixes."""
        path = self.output.out
        return path if path is not None and files.suffix(path) in suffixes else None

    # The next useful command, in the words that the user typed. Nothing is proposed that could not
    # work: standard input can't be read twice, and a name that has to be escaped to be shown can't
    # be typed as it is shown.

    def again(self, *more: str, without: Collection[str] = ()) -> str | None:
        """Return the command that runs with other options; where output goes is not repeated."""
        path, parts = _typed()
        left_out = {*without, *_OUTPUT}
        kept = [word for option, words in parts if option not in left_out for word in words]
        return typed(*path, *kept, *more) if path else None

    def another(self, name: str, *more: str, keep: Collection[str] = READING) -> str | None:
        """Return another command on the same inputs, with those options that it keeps."""
        path, parts = _typed()
        words = (words for option, words in parts if option is None or option in keep)
        kept = [word for some in words for word in some]
        return typed(*name.split(), *kept, *more) if path else None


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a command answers: a result, how it is shown, and the files that it is written to.

    ``result`` may be the dictionary that JSON shows, with ``warnings``. The first of ``tables`` is
    what other formats hold; ``shown`` is printed in place of all, by default what the result shows.
    ``words`` is the answer, by default what the result says itself; ``then`` the next command.
    """

    result: Any
    tables: Sequence[Table] | None = None
    shown: Sequence[Table | str] | None = None
    words: Sequence[str] | None = None
    then: str | None = None
    figures: Sequence[str] = ()  # names, which ``draw`` takes
    draw: Callable[[str], Any] | None = None
    writes: Sequence[tuple[Path | None, Callable[[Path], object]]] = ()  # may return what to say
    says_read: bool = False  # whether what is shown says what was read
    more: Mapping[str, Any] | None = None  # what JSON has, too
    code: int = 0


def typed(*words: str) -> str | None:
    """Write a command as it is typed into a shell; None if it can't be."""
    if any(printable(word) != word for word in words) or STDIN in words:
        return None
    return shlex.join(("steelyard", *words))


def typed_option(flag: str, *names: str) -> tuple[str, ...]:
    """Write an option and its names: those with a comma in quotes; some begin with a hyphen."""
    quoted = [
        '"' + name.replace('"', '""') + '"'
        if set(name) & set(',"') or name != name.strip()
        else name
        for name in names
    ]
    value = ",".join(quoted)
    return (f"{flag}={value}",) if value.startswith("-") else (flag, value)


def _typed() -> tuple[list[str], list[_Typed]]:
    """Take apart what was typed: the names of the command, then options and arguments."""
    context = click.get_current_context()
    words = context.find_root().obj
    if not isinstance(words, tuple) or "--" in words:
        return [], []
    path = context.command_path.split(" ")[1:]
    path = [name for name, word in zip(path, words, strict=False) if name == word]  # not "card"
    return path, list(_options(words[len(path) :], context.command))


def _options(words: Sequence[str], of: click.Command) -> Iterator[_Typed]:
    params = {flag: param for param in of.params for flag in (*param.opts, *param.secondary_opts)}
    remaining = iter(words)
    for word in remaining:
        flag, equals, _ = word.partition("=")
        param = params.get(flag) if word.startswith("-") else None
        if not isinstance(param, click.Option):
            yield None, (word,)
        elif param.is_flag or equals:
            yield param.name, (word,)
        else:
            yield param.name, (word, next(remaining, ""))


# Commands


def command(
    *options: type[Options] | click.Parameter | Sequence[click.Option],
    inputs: str = "INPUT...",
    required: bool = True,
    suffixes: Sequence[str] = SUFFIXES,
    plots: str = "",
    figures: bool = False,
    usual: str | None = None,
    hidden: str = "jobs",
    cls: type[Question] = Question,
    **help_parts: Any,
) -> Callable[[Callable[[Call], Answer]], Question]:
    """Make a command of a function, with its arguments and options.

    ``options`` are classes of options, or some options of one; where two have the same name, the
    first counts. ``inputs`` is how usage shows the inputs (none if empty). ``suffixes`` are what
    ``--out`` may end in (none: it names a folder), and ``usual`` is the file where none is named;
    with ``plots``, the names of figures as the help of ``--plot`` shows them, or with ``figures``
    without names, it may be a figure. Options of results that do nothing here are ``hidden``. What
    is left goes to the help, see :class:`Question`.
    """
    suffixes = tuple(dict.fromkeys((*suffixes, *(FIGURES if plots or figures else ()))))
    parts: list[Any] = [*options, output_options(suffixes, usual, hidden.split())]
    if plots:
        parts.append(_plot_option(plots))
    if inputs:
        parts.insert(0, click.Argument(["inputs"], nargs=-1, type=click.Path(), metavar=inputs))
    params: dict[str | None, click.Parameter] = {}
    for part in parts:
        made = options_of(part) if isinstance(part, type) else part
        for param in [made] if isinstance(made, click.Parameter) else made:
            params.setdefault(param.name, param)

    def decorate(function: Callable[[Call], Answer]) -> Question:
        def run(**settings: Any) -> int:
            try:
                output, reading = OutputOptions.take(settings), InputOptions()
                if InputOptions in options:
                    languages = (settings.get("src_lang"), settings.get("tgt_lang"))
                    reading = InputOptions.take(settings).of_languages(*languages)
                call = Call(settings.pop("inputs", ()), settings, reading, output)
                if inputs and required:
                    call.need_inputs()
                if suffixes:
                    output.check_suffix(suffixes)
                    _check_outputs(call)
                answer = function(call)
                emit(answer, output if suffixes else replace(output, out=None))
            except SteelyardError as error:
                error.args = (spoken(str(error)),)
                raise
            return answer.code

        about = {"name": function.__name__, "help": function.__doc__} | help_parts
        return cls(params=list(params.values()), callback=run, **about)

    return decorate


def _plot_option(plots: str) -> click.Option:
    about = "Figures to draw into --out FILE.png (.svg, .pdf), the first by default: "
    about += f"{plots}. Several go to FILE-NAME.png."
    return click.Option(["--plot"], type=NAMES, help=about)


def _check_outputs(call: Call) -> None:
    """Refuse to write over a file that the same command reads, or two things into one file."""
    options = [p for p in click.get_current_context().command.params if p.type is OUTPUT]
    paths: Mapping[str, Path | None] = {
        "--out": call.output.out,
        **{option.opts[0]: call.settings[str(option.name)] for option in options},
    }
    written = {flag: path for flag, path in paths.items() if path is not None}
    if len({path.resolve() for path in written.values()}) < len(written):
        raise UsageError(f"{', '.join(written)}: expected different files")
    existing = {flag: path for flag, path in written.items() if path.is_file()}
    if not existing:
        return
    others = {option.name for option in options}
    values = [call.inputs, *(v for name, v in call.settings.items() if name not in others)]
    names = [name for v in values for name in (v if isinstance(v, tuple) else (v,))]
    read = [Path(name) for name in names if isinstance(name, (str, Path)) and Path(name).is_file()]
    for flag, path in existing.items():
        if any(path.samefile(each) for each in read):
            raise UsageError(f"{flag} {path}: is an input of this command, left as it is")

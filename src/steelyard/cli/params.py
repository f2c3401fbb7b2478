"""Options of commands: how values are read, and which options commands share.

An option is declared once, as a field of an options class (:mod:`steelyard.core.options`), and
:func:`from_fields` makes the click option of it.
"""

from __future__ import annotations

import csv
import functools
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from steelyard.cli.flags import spoken
from steelyard.core.errors import SteelyardError, UsageError, hint
from steelyard.core.options import Option, Options, flag, names, option, whole
from steelyard.formats.options import LoadOptions

if TYPE_CHECKING:
    from steelyard.data.evalset import EvalSet
    from steelyard.formats.entities import EntityAnnotations
    from steelyard.formats.load import Inputs
    from steelyard.scoring.metric import Metric
    from steelyard.scoring.run import Scores

    Type = click.ParamType[Any]
    _Choice = click.Choice[str]
else:
    Type, _Choice = click.ParamType, click.Choice  # older versions of click can't be subscripted

F = TypeVar("F", bound=Callable[..., Any])
SUFFIXES = ("json", "csv", "tsv", "md", "tex", "html", "txt", "parquet")
FIGURES = ("png", "svg", "pdf")
TABLES = ("csv", "tsv", "jsonl", "parquet", "csv.gz", "tsv.gz", "jsonl.gz")  # of segments


# Values as users type them


class Parsed(Type):
    """A text that a function takes apart; its ValueError says what is wrong."""

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name, self.parse = name, parse

    def convert(self, value: Any, param: Any = None, ctx: Any = None) -> Any:
        """Parse a text; click also passes values that were converted already."""
        try:
            return self.parse(value) if isinstance(value, str) else value
        except ValueError as error:
            return self.fail(str(error), param, ctx)


def split_names(text: str) -> tuple[str, ...]:
    """Split names at commas, those with a comma in double quotes."""
    rows = csv.reader([text], skipinitialspace=True)
    return tuple(name for row in rows for name in row if name)


class Names(Parsed):
    """Names separated by commas."""

    def __init__(self) -> None:
        super().__init__("A,B,...", split_names)


def arguments(metavar: str = "INPUT...", *, required: bool = True) -> Callable[[F], F]:
    """Add the inputs of a command, which are files or folders."""

    def check(ctx: click.Context, _param: click.Parameter, value: tuple[str, ...]) -> Any:
        if required and not ctx.resilient_parsing:
            need_inputs(value)
        return value

    return click.argument("inputs", nargs=-1, type=click.Path(), metavar=metavar, callback=check)


def need_inputs(inputs: tuple[str, ...]) -> None:
    """Refuse a call without inputs, and show the first example of the command."""
    if not inputs:
        command: Any = click.get_current_context().command
        raise UsageError(f"no input; for example: {command.examples[0]}")


class Known(_Choice):
    """One of some names, or a word that is ``meant`` as one of them."""

    def __init__(
        self, choices: Sequence[str], meant: Callable[[Any], Any] = lambda value: value
    ) -> None:
        super().__init__(list(choices))
        self.meant = meant

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Accept a name, or refuse it in one line with the nearest one."""
        value = self.meant(value)
        if isinstance(value, str) and value not in self.choices:
            self.fail(f"no '{value}'; {hint(value, self.choices)}", param, ctx)
        return value


class Finite(click.types.FloatParamType):
    """A finite number."""

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Read the number."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class _OrWord:
    """A number within bounds, or a word."""

    word: str | None = None

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Let the word pass."""
        return value if value == self.word else super().convert(value, param, ctx)  # type: ignore[misc]


class _Real(_OrWord, click.FloatRange, Finite):
    pass


class _Whole(_OrWord, click.IntRange):
    pass


class Numbers(Parsed):
    """Numbers, or whole numbers, separated by commas."""

    def __init__(self, kind: type[int | float] = float) -> None:
        def parse(text: str) -> tuple[Any, ...]:
            try:
                numbers = tuple(kind(cell) for cell in split_names(text))
                finite = all(map(math.isfinite, numbers))
            except (ValueError, OverflowError):
                finite, numbers = False, ()
            if not finite:
                wanted = "whole numbers" if kind is int else "numbers"
                raise ValueError(f"'{text}' is not a list of {wanted}")
            return numbers

        super().__init__("M,N,..." if kind is int else "X,Y,...", parse)


class Pair(Parsed):
    """A column or another name, and a value; only the value of a column may be empty."""

    def __init__(self, name: str = "COL=VALUE") -> None:
        super().__init__(name, functools.partial(_pair, name))


def _pair(form: str, text: str) -> tuple[str, str]:
    left, equals, right = text.partition("=")
    if not (left.strip() and equals) or not (right.strip() or form == "COL=VALUE"):
        raise ValueError(f"'{text}' is not of the form {form}")
    return left, right


def _program(text: str) -> tuple[str, str]:
    """Split at an equals sign behind a single word, or name a command by its program."""
    form = "[NAME=]COMMAND"
    if re.match(r"[^\s=]*=", text):
        return _pair(form, text)
    words = text.split()
    scripts = (word for word in words if word.endswith((".py", ".sh", ".pl", ".rb")))
    program = next(scripts, words[0] if words else "")
    if not program:
        raise ValueError(f"'{text}' is not of the form {form}")
    return Path(program).stem, text


def _roles(text: str) -> tuple[tuple[str, str], ...]:
    return tuple(_pair("COL=VALUE", cell) for cell in split_names(text))


def _kinds(text: str) -> tuple[str, tuple[str, ...]]:
    """Read kinds of scores, as human:a,b or metric:c."""
    kind, colon, scores = text.partition(":")
    if not colon or kind not in ("human", "metric"):
        raise ValueError(f"'{text}' is not of the form human:A,B or metric:A,B")
    return kind, split_names(scores)


def _folder(text: str) -> Path:
    if not text:  # which would be the current folder
        raise ValueError("is empty, expected the name of a folder.")
    return Path(text)


# Options from the fields of a class

_REPEATED = ("pairs", "kinds", "texts", "files", "settings", "commands", "score files")


def from_fields(cls: type[Options], *chosen: str) -> Callable[[F], F]:
    """Add options of a class to a command: those of the fields named, or all, in that order.

    The command receives each value under the name of its field, and ``cls.take(settings)`` makes
    the object of them.
    """
    declared = cls.declared()
    defaults = {field.name: field.default for field in fields(cls)}  # type: ignore[arg-type]
    flags = {name: _flags(name, option)[0] for name, option in declared.items()}

    def added(command: F) -> F:
        for name in reversed(chosen or tuple(declared)):
            about = declared[name].help
            shown = replace(declared[name], help=None if about is None else spoken(about, flags))
            command = _option(name, shown, defaults[name])(command)
        return command

    return added


def _flags(name: str, option: Option) -> list[str]:
    return option.flag.split() if option.flag else ["--" + name.replace("_", "-")]


def _option(name: str, option: Option, default: Any, **settings: Any) -> Callable[[F], F]:
    """Make a click option; ``option.none`` is the word that stands for None."""
    settings = {"help": option.help, **settings}
    if option.kind == "flag":
        return click.option(*_flags(name, option), name, is_flag=True, default=default, **settings)
    word, shown = option.none, default
    if default is None:
        shown = word
    elif isinstance(default, tuple):
        shown = ",".join(x if isinstance(x, str) else f"{x:g}" for x in default) or ()
    if word is not None:
        settings["callback"] = lambda _ctx, _param, value: None if value == word else value
    return click.option(
        *_flags(name, option),
        name,
        type=_type(option),
        default=shown,
        show_default=shown is not None,
        multiple=option.kind in _REPEATED,
        metavar=option.metavar,
        **settings,
    )


def _type(option: Option) -> Any:
    least, most, strict = option.least, option.most, option.strict
    word = option.none or option.word
    number: Any = None
    if option.kind == "choice":
        offered = option.offered or option.choices
        return Known([*offered, *([option.none] if option.none else [])], meant=option.meant)
    if option.kind == "whole":
        low, high = (None if end is None else int(end) for end in (least, most))
        number = _Whole(low, high)
    elif option.kind == "number" and (word or least is not None or most is not None):
        number = _Real(least, most, min_open=strict, max_open=strict and most is not None)
    if number is not None:
        number.word = word
        return number
    file = click.Path(path_type=Path, dir_okay=False)
    return {
        "number": Finite(),
        "names": Names(),
        "numbers": Numbers(),
        "wholes": Numbers(int),
        "source": click.Path(),
        "path": click.Path(path_type=Path),
        "file": file,
        "files": file,
        "folder": Parsed("DIR", _folder),
        "pairs": Pair(),
        "roles": Parsed("ROLE=COL,...", _roles),
        "kinds": Parsed("KIND:A,B", _kinds),
        "settings": Pair("NAME=VALUE"),
        "commands": Parsed("[NAME=]COMMAND", _program),
        "score files": Pair("NAME=FILE"),
    }.get(option.kind, str)


def as_object(keyword: str, cls: type[Options]) -> Callable[[Any], Any]:
    """Add all options of a class to a command, which receives them as one object."""

    def bind(settings: dict[str, Any]) -> None:
        settings[keyword] = cls(**{name: settings.pop(name) for name in cls.declared()})

    return lambda command: from_fields(cls)(_bound(command, bind))


def _bound(command: Any, bind: Callable[[dict[str, Any]], None]) -> Any:
    """Let ``bind`` change what a command is called with; the one added last comes first.

    Errors of the library name arguments: here they get the flags of the command.
    """
    if not hasattr(command, "binders"):
        binders: list[Callable[[dict[str, Any]], None]] = []

        @functools.wraps(command)
        def wrapped(*args: Any, **settings: Any) -> Any:
            try:
                for change in reversed(binders):
                    change(settings)
                return command(*args, **settings)
            except SteelyardError as error:
                error.args = (spoken(str(error)),)
                raise

        wrapped.binders = binders  # type: ignore[attr-defined]
        return _bound(wrapped, bind)
    command.binders.append(bind)
    return command


# Options that commands share


class InputOptions(LoadOptions):
    """How inputs are read."""

    def load(self, inputs: Sequence[Any]) -> EvalSet:
        """Load one EvalSet from all inputs."""
        return self.read(inputs).evalset()

    def read(self, inputs: Sequence[Any]) -> Inputs:
        """Read inputs of any kind."""
        from steelyard.formats.load import read

        return read(inputs, self)

    def by_unit(self, unit: str) -> InputOptions:
        """Read the column that names the unit as the documents."""
        from steelyard.core.options import check_unit
        from steelyard.data.units import column_of

        check_unit(unit=unit)
        column = column_of(unit)
        return self if column is None else replace(self, columns=(*self.columns, ("doc", column)))

    def select(self, es: EvalSet) -> EvalSet:
        """Apply the options to a set that was read from files without columns."""
        for name in ("where", "ignore", "columns"):
            if getattr(self, name):
                raise UsageError(f"--{name} applies to columns, which plain files do not have")
        return self.load([es])

    def only_rows_and_columns(self) -> None:
        """Refuse options that apply to scores only, for inputs that are raw judgements."""
        for name in self.declared():
            if name not in ("lp", "where", "ignore", "columns", "format") and getattr(self, name):
                option = "--" + name.replace("_", "-")
                raise UsageError(f"{option} applies to scores, not to raw judgements")


ROWS = from_fields(LoadOptions, "where", "columns")  # of raw judgements
details_option = click.option(
    "--details", is_flag=True, help="Print all columns, tables, sentences and warnings."
)
#: Adds the options of inputs; the command receives them as one ``options``.
input_options = as_object("options", InputOptions)


@dataclass(frozen=True, kw_only=True)
class OutputOptions(Options):
    """Where results go, and how much is printed on the way."""

    json: bool = flag("Print one JSON object on stdout, nothing else.")
    out: Path | None = option("file", None, metavar="FILE")
    seed: int = whole(0, "Seed of everything random.", least=0)
    jobs: int | None = whole(
        None,
        "Processes to use where work splits; auto: one for each core if it takes longer than a few "
        "seconds. The result does not depend on it.",
        least=1,
        none="auto",
        metavar="N|auto",
    )
    quiet: bool = flag("No progress and no messages, only errors.")
    debug: bool = flag("Show the traceback of an error.")

    def check_suffix(self, suffixes: Collection[str]) -> None:
        """Refuse a suffix that can't be written, before any work is done."""
        if self.out is not None:
            parts = self.out.name.lower().split(".")
            suffix = ".".join(parts[-2:] if parts[-1] == "gz" else parts[1:][-1:])
            if suffix not in suffixes:
                expected = ", ".join(f".{each}" for each in suffixes)
                raise UsageError(f"--out {self.out}: can't write '.{suffix}', expected {expected}")


def _out(suffixes: Collection[str], *, folder: bool, default: str | None) -> Option:
    """Return what ``--out`` is for a command; its help lists the suffixes."""
    if folder:
        return Option(kind="folder", help="The folder to make.", metavar="DIR")
    tables = " ".join(f".{suffix}" for suffix in suffixes if suffix not in FIGURES)
    figures = " ".join(f".{suffix}" for suffix in suffixes if suffix in FIGURES)
    listed = f"{tables}; a figure: {figures}" if figures else tables
    about = f"Write the result, by suffix: {listed}."
    return replace(OutputOptions.declared()["out"], help=about, optional=default is None)


def output_options(
    command: F,
    suffixes: Collection[str] = SUFFIXES,
    *,
    folder: bool = False,
    usual: str | None = None,
    unused: Collection[str] = (),
    splits: bool = False,
) -> F:
    """Add the options of results; the command receives them as one ``output``.

    ``suffixes`` are what ``--out`` may end in, and ``usual`` is the file where none is named; with
    ``folder`` it names what the command makes. Options that do nothing here (``unused``, and
    ``--jobs`` unless the work ``splits``) are accepted but not shown.
    """
    declared = OutputOptions.declared()

    def bind(settings: dict[str, Any]) -> None:
        output = OutputOptions(**{name: settings.pop(name) for name in declared})
        if not folder:
            output.check_suffix(suffixes)
            not_an_input("--out", output.out, settings)
        settings["output"] = output

    hidden = {*unused, *(() if splits else ("jobs",))}
    made = _bound(command, bind)
    defaults = {field.name: field.default for field in fields(OutputOptions)} | {"out": usual}
    for name, declaration in reversed(declared.items()):
        shown = _out(suffixes, folder=folder, default=usual) if name == "out" else declaration
        made = _option(name, shown, defaults[name], hidden=name in hidden)(made)
    return made  # type: ignore[no-any-return]


#: The same for commands that draw figures, too.
figure_options = functools.partial(output_options, suffixes=(*SUFFIXES, *FIGURES))
#: The same for commands in which nothing is random.
settled_options = functools.partial(output_options, unused=("seed",))


def not_an_input(option: str, path: Path | None, settings: Mapping[str, Any]) -> None:
    """Refuse to write over a file that the same command reads."""
    if path is None or not path.is_file():
        return
    for value in settings.values():
        for name in value if isinstance(value, tuple) else (value,):
            if isinstance(name, (str, Path)) and Path(name).is_file() and path.samefile(name):
                raise UsageError(f"{option} {path}: is an input of this command, left as it is")


def given(name: str) -> bool:
    """Tell whether the user set an option of the command that runs."""
    source = click.get_current_context().get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def without_part(options: Collection[str], where: str) -> tuple[str, ...]:
    """Return a warning about options that the user set and that nothing in ``where`` looks at."""
    command = click.get_current_context().command
    flags = sorted(p.opts[0] for p in command.params if p.name in options and given(p.name))
    if not flags:
        return ()
    return (f"{', '.join(flags)} {'is' if len(flags) == 1 else 'are'} ignored in {where}",)


def with_languages(options: InputOptions, src: str | None, tgt: str | None) -> InputOptions:
    """Set the language pair from two languages; ``--lp`` may only say the same."""
    if bool(src) != bool(tgt):
        raise UsageError("--src-lang and --tgt-lang: expected both")
    if not src:
        return options
    if options.lp not in (None, f"{src}-{tgt}"):
        raise UsageError(
            f"--lp {options.lp}, and --src-lang {src} --tgt-lang {tgt}: expected the same languages"
        )
    return replace(options, lp=f"{src}-{tgt}")


# Options of commands that score texts

# The registry of scoring, which --help must not import.
METRICS = ("kobe", "kobe-ref", "m-eta", "bleu", "chrf", "chrf++", "ter", "eed", "character")
_KOBE = ("kobe", "kobe-ref")  # which use a knowledge base, or links


def _kobe_options() -> str:
    from steelyard.kobe.options import KobeOptions

    return ", ".join(field.name for field in fields(KobeOptions))


@dataclass(frozen=True, kw_only=True)
class TextOptions(Options):
    """Which texts are scored, and by what."""

    metric: tuple[str, ...] = names(
        (),
        f"Metrics: {' '.join(METRICS)}, and those of installed packages.",
        flag="--metrics",
        choices=METRICS,
    )
    src: Path | None = option(
        "path", None, "Source of plain text files, one line per segment.", metavar="FILE"
    )
    ref: tuple[str, ...] = option(
        "texts",
        (),
        "Reference: a plain text file, or its name in inputs that hold several (repeatable).",
        flag="--ref --refs",
        metavar="FILE|NAMES",
    )
    allow_empty: bool = flag("Empty lines of plain text files are empty texts, not errors.")
    settings: tuple[tuple[str, str], ...] = option(
        "settings",
        (),
        "An option of a metric, as bleu.tokenize=intl (repeatable). Those of kobe: "
        f"{_kobe_options()}.",
        flag="--set",
    )
    commands: tuple[tuple[str, str], ...] = option(
        "commands",
        (),
        "A metric of your own, as 'mine=my-metric {src} {out} {ref}': a program that gives a "
        "number per text, from files or from JSON lines (repeatable).",
        flag="--command",
    )
    score_files: tuple[tuple[str, str], ...] = option(
        "score files",
        (),
        "A metric that is a table with such a column, or a file per system with a number per line: "
        "{system} in its name (repeatable).",
        flag="--score-file",
    )
    kb: Path | None = option(
        "path", None, "Knowledge base of kobe; by default the embedded one.", metavar="DIR"
    )
    links: Path | None = option(
        "path",
        None,
        "Links of another linker for kobe, in place of a knowledge base: entity annotations of the "
        "texts, as JSON lines or a folder of the KoBE release.",
        metavar="PATH",
    )

    @property
    def reference_files(self) -> list[Path]:
        """References that are files, also those that are missing."""
        return [Path(reference) for reference in self.ref if _is_file(reference)]

    @property
    def reference_names(self) -> tuple[str, ...] | None:
        """Names of the references, of files those in the order given; None if none is named."""
        from steelyard.formats.files import names_of

        texts = [reference for reference in self.ref if not _is_file(reference)]
        chosen = tuple(name for text in texts for name in split_names(text))
        return chosen or tuple(names_of(self.reference_files, "reference")) or None

    @property
    def plain(self) -> bool:
        """Whether inputs are plain files of outputs."""
        return self.src is not None or bool(self.reference_files)

    @property
    def asks(self) -> bool:
        """Whether any metric is asked for."""
        return bool(self.metric or self.commands or self.score_files)

    @property
    def kobe(self) -> tuple[str, ...]:
        """The metrics asked for that are variants of KoBE."""
        return tuple(name for name in self.metric if name in _KOBE)

    def load(
        self, inputs: tuple[str, ...], options: InputOptions
    ) -> tuple[EvalSet, EntityAnnotations | None]:
        """Load texts, numbers or anything else, with the entity annotations among it."""
        return self.joined(self.read(inputs, options), options)

    def read(self, inputs: tuple[str, ...], options: InputOptions) -> EvalSet | Inputs:
        """Read plain files as a set, and others as whatever they hold."""
        from steelyard.formats import plaintext

        paths = [Path(name) for name in inputs]
        scored = {name for name, _ in (*self.commands, *self.score_files)}
        options = replace(
            options,
            lower_is_better=tuple(n for n in options.lower_is_better if n not in scored),
            higher_is_better=tuple(n for n in options.higher_is_better if n not in scored),
        )
        if self.plain:
            references = self.reference_files
            return plaintext.read(paths, self.src, references, allow_empty=self.allow_empty)
        if paths and all(plaintext.is_numbers(path) for path in paths):
            return plaintext.read_scores(paths)
        return options.read(inputs)

    def joined(
        self, held: EvalSet | Inputs, options: InputOptions
    ) -> tuple[EvalSet, EntityAnnotations | None]:
        """Join what was read to one set; the texts of entity annotations are part of it."""
        from steelyard.data.evalset import EvalSet
        from steelyard.formats.entities import EntityAnnotations, merged

        if isinstance(held, EvalSet):
            return options.select(held), None
        annotated = [part for part in held.parts if isinstance(part.value, EntityAnnotations)]
        if not annotated:
            return held.evalset(), None
        for part in held.parts:
            if not isinstance(part.value, (EntityAnnotations, EvalSet)):  # raw judgements
                held.refuse(part)
        links = merged([replace(p.value, inputs=p.files, notes=p.notes) for p in annotated])
        others = [part.value for part in held.parts if isinstance(part.value, EvalSet)]
        applied = replace(options, where=(), ignore=(), columns=())  # when files were read
        return applied.load([links.evalset(), *others]), links

    def score(
        self, es: EvalSet, options: InputOptions, annotations: EntityAnnotations | None = None
    ) -> Scores:
        """Run all metrics."""
        from steelyard.scoring.run import score

        metrics: list[str | Metric] = [*self.metric, *self._external(options)]
        if not metrics:
            raise UsageError("texts need a metric to be scored by; for example: --metrics chrf")
        settings = settings_of(self.settings)
        for name, path in (("kb", self.kb), ("links", self.links)):
            if path is not None and not self.kobe:
                raise UsageError(f"--{name} is for kobe, which --metrics does not name")
            for metric in self.kobe if path is not None else ():
                settings.setdefault(metric, {})[name] = path
        linked = annotations is not None or any("links" in settings.get(m, {}) for m in _KOBE)
        if self.kobe and not linked and not (es.language_pair or "").partition("-")[2]:
            raise UsageError(
                "kobe needs the languages: name them by --src-lang and --tgt-lang, or by --lp"
            )
        references = self.reference_names
        return score(es, metrics, references=references, options=settings, annotations=annotations)

    def _external(self, options: InputOptions) -> list[Metric]:
        from steelyard.scoring.external import Command, ScoreFile

        lower = set(options.lower_is_better)
        settled = lower | set(options.higher_is_better)

        def direction(name: str) -> dict[str, bool]:
            return {"higher_is_better": name not in lower, "direction_given": name in settled}

        return [
            *(Command.parse(n, line, **direction(n)) for n, line in self.commands),
            *(ScoreFile(n, path, **direction(n)) for n, path in self.score_files),
        ]


def _is_file(reference: str) -> bool:
    """Tell a file, also one that is missing, from the name of a reference."""
    return "." in reference or "/" in reference or Path(reference).is_file()


def settings_of(pairs: Iterable[tuple[str, str]]) -> dict[str, dict[str, Any]]:
    """Return what ``--set`` says by metric; a further dot leads into a group of options.

    Examples
    --------
    >>> settings_of([("bleu.lowercase", "true"), ("kobe.link.min_population", "5")])
    {'bleu': {'lowercase': True}, 'kobe': {'link': {'min_population': 5}}}
    """
    settings: dict[str, dict[str, Any]] = {}
    for key, value in pairs:
        metric, *groups, name = key.split(".") if "." in key else ("", "")
        if not all((metric, *groups, name)):
            raise UsageError(f"--set {key}={value}: expected METRIC.OPTION=VALUE")
        options = settings.setdefault(metric, {})
        for group in groups:
            options = options.setdefault(group, {})
            if not isinstance(options, dict):
                raise UsageError(f"--set {key}={value}: {metric}.{group} has a value already")
        options[name] = _value(value)
    return settings


def _value(text: str) -> Any:
    """Read true, false and numbers; anything else is a text."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


#: Adds the options of texts and metrics; the command receives them as one ``texts``.
text_options = as_object("texts", TextOptions)

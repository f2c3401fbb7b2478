"""Options of commands, made from the fields of options classes, and values as users type them.

An option is declared once, as a field of an options class (:mod:`steelyard.core.options`);
:func:`options_of` makes the click options of it.
"""

# ruff: noqa: RUF009 - fields of options are made by functions, whatever their type

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.flags import spoken
from steelyard.core.errors import UsageError, hint
from steelyard.core.options import Option, Options, check_unit, flag, names, option, whole
from steelyard.formats import files
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


class _Number:
    """A finite number, or a word."""

    word: str | None = None

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Let the word pass, and refuse what is not finite."""
        if value == self.word:
            return value
        number = super().convert(value, param, ctx)  # type: ignore[misc]
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)  # type: ignore[attr-defined]
        return number


class _Finite(_Number, click.types.FloatParamType):
    pass


class _Real(_Number, click.FloatRange):
    pass


class _Whole(_Number, click.IntRange):
    pass


def split_names(text: str) -> tuple[str, ...]:
    """Split names at commas, those with a comma in double quotes."""
    rows = csv.reader([text], skipinitialspace=True)
    return tuple(name for row in rows for name in row if name)


def _numbers(kind: type[int | float], text: str) -> tuple[Any, ...]:
    try:
        numbers = tuple(kind(cell) for cell in split_names(text))
        finite = all(map(math.isfinite, numbers))
    except (ValueError, OverflowError):
        finite, numbers = False, ()
    if not finite:
        wanted = "whole numbers" if kind is int else "numbers"
        raise ValueError(f"'{text}' is not a list of {wanted}")
    return numbers


def _pair(form: str, text: str) -> tuple[str, str]:
    """Split at the equals sign; only the value of a column may be empty."""
    left, equals, right = text.partition("=")
    if not (left.strip() and equals) or not (right.strip() or form == "COL=VALUE"):
        raise ValueError(f"'{text}' is not of the form {form}")
    return left, right


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


def _paired(form: str) -> Parsed:
    return Parsed(form, partial(_pair, form))


FINITE = _Finite()
PAIR = _paired("COL=VALUE")
NAMES = Parsed("A,B,...", split_names)
_FILE = click.Path(path_type=Path, dir_okay=False)
OUTPUT = click.Path(path_type=Path, dir_okay=False)  # of a file that is written beside the result
#: How values of each kind of option are read; kinds that are not here are texts.
_TYPES: dict[str, Any] = {
    "number": FINITE,
    "names": NAMES,
    "numbers": Parsed("X,Y,...", partial(_numbers, float)),
    "wholes": Parsed("M,N,...", partial(_numbers, int)),
    "source": click.Path(),
    "path": click.Path(path_type=Path),
    "file": _FILE,
    "files": _FILE,
    "output": OUTPUT,
    "folder": Parsed("DIR", _folder),
    "pairs": PAIR,
    "roles": Parsed("ROLE=COL,...", _roles),
    "kinds": Parsed("KIND:A,B", _kinds),
    "settings": _paired("NAME=VALUE"),
    "commands": _paired("NAME=COMMAND"),
}
_REPEATED = ("pairs", "kinds", "texts", "files", "settings", "commands")


def _type(option: Option) -> Any:
    """Return how click reads the value of an option."""
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
    return _TYPES.get(option.kind, str)


# Options from the fields of a class

#: Fields of kinds that only commands have.
path = partial(option, "path", None)
output_file = partial(option, "output", None, metavar="FILE")
texts = partial(option, "texts", ())


def options_of(cls: type[Options], *chosen: str) -> list[click.Option]:
    """Make options of a class: of the fields named, or of all that have a help, in that order.

    The command receives each value under the name of its field, and ``cls.of(settings)`` makes the
    object of them.
    """
    declared = cls.declared()
    defaults = {field.name: field.default for field in fields(cls)}  # type: ignore[arg-type]
    flags = {name: _flags(name, option)[0] for name, option in declared.items()}
    shown = {name: option for name, option in declared.items() if option.help is not None}
    return [
        _made(
            name,
            replace(declared[name], help=spoken(declared[name].help or "", flags) or None),
            defaults[name],
        )
        for name in chosen or shown
    ]


def _flags(name: str, option: Option) -> list[str]:
    return option.flag.split() if option.flag else ["--" + name.replace("_", "-")]


def _made(name: str, option: Option, default: Any, **settings: Any) -> click.Option:
    """Make a click option; ``option.none`` is the word that stands for None."""
    settings = {"help": option.help, **settings}
    flags = (*_flags(name, option), name)
    if option.kind == "flag":
        return click.Option(flags, is_flag=True, default=default, **settings)
    word, shown = option.none, default
    if default is None:
        shown = word
    elif isinstance(default, tuple):
        shown = ",".join(x if isinstance(x, str) else f"{x:g}" for x in default) or ()
    if word is not None:
        settings["callback"] = lambda _ctx, _param, value: None if value == word else value
    return click.Option(
        flags,
        type=_type(option),
        default=shown,
        show_default=shown is not None,
        multiple=option.kind in _REPEATED,
        metavar=option.metavar,
        **settings,
    )


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
        from steelyard.data.units import column_of

        check_unit(unit=unit)
        column = column_of(unit)
        return self if column is None else replace(self, columns=(*self.columns, ("doc", column)))

    def only_rows_and_columns(self) -> None:
        """Refuse options that apply to scores only, for inputs that are raw judgements."""
        for name in self.declared():
            if name not in ("lp", "where", "ignore", "columns", "format") and getattr(self, name):
                option = "--" + name.replace("_", "-")
                raise UsageError(f"{option} applies to scores, not to raw judgements")

    def of_languages(self, src: str | None, tgt: str | None) -> InputOptions:
        """Set the language pair from two languages; ``--lp`` may only say the same."""
        if bool(src) != bool(tgt):
            raise UsageError("--src-lang and --tgt-lang: expected both")
        pair = f"{src}-{tgt}" if src else self.lp
        if self.lp not in (None, pair):
            languages = f"--src-lang {src} --tgt-lang {tgt}"
            raise UsageError(f"--lp {self.lp}, and {languages}: expected the same languages")
        return replace(self, lp=pair)


#: How rows of raw judgements are read.
ROWS = options_of(LoadOptions, "where", "columns")


@dataclass(frozen=True, kw_only=True)
class DetailsOptions(Options):
    """How much is printed."""

    details: bool = flag("Print all columns, tables, sentences and warnings.")


@dataclass(frozen=True, kw_only=True)
class OutputOptions(Options):
    """Where results go, and how much is printed on the way."""

    json: bool = flag("Print one JSON object on stdout, nothing else.")
    out: Path | None = option("file", None, metavar="FILE")
    seed: int = whole(0, "Seed of everything random.", least=0)
    jobs: int | None = whole(
        None, "Processes; the result stays the same.", least=1, none="auto", metavar="N|auto"
    )
    quiet: bool = flag("No progress and no messages, only errors.")
    debug: bool = flag("Show the traceback of an error.")

    @property
    def as_json(self) -> bool:
        """Whether JSON is printed or written."""
        return self.json or (self.out is not None and files.suffix(self.out) == "json")

    def check_suffix(self, suffixes: Collection[str]) -> None:
        """Refuse a suffix that can't be written, before any work is done."""
        if self.out is not None:
            parts = self.out.name.lower().split(".")
            suffix = ".".join(parts[-2:] if parts[-1] == "gz" else parts[1:][-1:])
            if suffix not in suffixes:
                expected = ", ".join(f".{each}" for each in suffixes)
                raise UsageError(f"--out {self.out}: can't write '.{suffix}', expected {expected}")


def output_options(
    suffixes: Collection[str], usual: str | None = None, hidden: Collection[str] = ()
) -> list[click.Option]:
    """Make the options of results; those ``hidden`` are accepted and not shown."""
    about = Option(kind="folder", help="The folder to make.", metavar="DIR")
    if suffixes:
        tables = " ".join(f".{suffix}" for suffix in suffixes if suffix not in FIGURES)
        figures = " ".join(f".{suffix}" for suffix in suffixes if suffix in FIGURES)
        listed = f"{tables}; a figure: {figures}" if figures else tables
        about = Option(kind="file", help=f"Write the result, by suffix: {listed}.", metavar="FILE")
    declared = OutputOptions.declared() | {"out": about}
    defaults = {field.name: field.default for field in fields(OutputOptions)} | {"out": usual}
    return [
        _made(name, declaration, defaults[name], hidden=name in hidden)
        for name, declaration in declared.items()
    ]


# Options of commands that score texts

# The registry of scoring, which --help must not import.
METRICS = ("kobe", "kobe-ref", "m-eta", "bleu", "chrf", "chrf++", "ter", "eed", "character")
_KOBE = ("kobe", "kobe-ref")  # which use a knowledge base, or links


@dataclass(frozen=True, kw_only=True)
class TextOptions(Options):
    """Which texts are scored, and by what."""

    metric: tuple[str, ...] = names(
        (),
        f"Metrics: {' '.join(METRICS)}, and those of installed packages.",
        flag="--metrics",
        choices=METRICS,
    )
    src: Path | None = path("Source of plain text files, one line per segment.", metavar="FILE")
    ref: tuple[str, ...] = texts(
        "Reference: a plain text file, or its name in inputs that hold several (repeatable).",
        flag="--ref --refs",
        metavar="FILE|NAMES",
    )
    allow_empty: bool = flag("Empty lines of plain text files are empty texts, not errors.")
    settings: tuple[tuple[str, str], ...] = option(
        "settings",
        (),
        "An option of a metric, as bleu.tokenize=intl or kobe.rounded=true (repeatable).",
        flag="--set",
    )
    commands: tuple[tuple[str, str], ...] = option(
        "commands",
        (),
        "A metric of your own, as 'mine=my-metric {src} {out} {ref}': a program that gives a "
        "number per text, from files or from JSON lines (repeatable).",
        flag="--command",
    )
    kb: Path | None = path("Knowledge base of kobe; by default the embedded one.", metavar="DIR")

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
    def asks(self) -> bool:
        """Whether any metric is asked for."""
        return bool(self.metric or self.commands)

    @property
    def kobe(self) -> tuple[str, ...]:
        """The metrics asked for that are variants of KoBE."""
        return tuple(name for name in self.metric if name in _KOBE)

    def read(self, inputs: tuple[str, ...], options: InputOptions) -> Inputs:
        """Read inputs, of plain files and of any other kind."""
        from steelyard.formats import plaintext

        paths = [Path(name) for name in inputs]
        read: Sequence[Any] = inputs
        if self.src is not None or self.reference_files:
            empty = self.allow_empty
            read = [plaintext.read(paths, self.src, self.reference_files, allow_empty=empty)]
        elif paths and all(plaintext.is_numbers(path) for path in paths):
            read = [plaintext.read_scores(paths)]
        for name in ("where", "ignore", "columns"):
            if read is not inputs and getattr(options, name):
                raise UsageError(f"--{name} applies to columns, which plain files do not have")
        scored = {name for name, _ in self.commands}  # not by the inputs
        return replace(
            options,
            lower_is_better=tuple(n for n in options.lower_is_better if n not in scored),
            higher_is_better=tuple(n for n in options.higher_is_better if n not in scored),
        ).read(read)

    def joined(
        self, held: Inputs, options: InputOptions
    ) -> tuple[EvalSet, EntityAnnotations | None]:
        """Join what was read to one set; the texts of entity annotations are part of it."""
        from steelyard.data.evalset import EvalSet
        from steelyard.formats.entities import EntityAnnotations, merged

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
        if self.kb is not None and not self.kobe:
            raise UsageError("--kb is for kobe, which --metrics does not name")
        for metric in self.kobe if self.kb is not None else ():
            settings.setdefault(metric, {})["kb"] = self.kb
        linked = annotations is not None or any("links" in settings.get(m, {}) for m in _KOBE)
        if self.kobe and not linked and not (es.language_pair or "").partition("-")[2]:
            raise UsageError(
                "kobe needs the languages: name them by --src-lang and --tgt-lang, or by --lp"
            )
        references = self.reference_names
        return score(es, metrics, references=references, options=settings, annotations=annotations)

    def _external(self, options: InputOptions) -> list[Metric]:
        from steelyard.scoring.external import Command

        lower = options.lower_is_better
        settled = (*lower, *options.higher_is_better)
        return [
            Command.parse(
                name, line, higher_is_better=name not in lower, direction_given=name in settled
            )
            for name, line in self.commands
        ]


def _is_file(reference: str) -> bool:
    """Tell a file, also one that is missing, from the name of a reference."""
    return "." in reference or "/" in reference or Path(reference).is_file()


def settings_of(pairs: Iterable[tuple[str, str]]) -> dict[str, dict[str, Any]]:
    """Return what ``--set`` says by metric; numbers, true and false are written as in JSON.

    Examples
    --------
    >>> settings_of([("bleu.lowercase", "true"), ("bleu.tokenize", "intl")])
    {'bleu': {'lowercase': True, 'tokenize': 'intl'}}
    """
    settings: dict[str, dict[str, Any]] = {}
    for key, text in pairs:
        metric, _, name = key.partition(".")
        if not (metric and name):
            raise UsageError(f"--set {key}={text}: expected METRIC.OPTION=VALUE")
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        settings.setdefault(metric, {})[name] = value
    return settings

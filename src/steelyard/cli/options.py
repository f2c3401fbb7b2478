"""Options that commands share: how inputs are read, and where results go."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from steelyard.cli.values import Kinds, Names, Pair, Roles, Type
from steelyard.cli.wording import spoken
from steelyard.core.errors import SteelyardError, UsageError
from steelyard.formats.options import LoadOptions

SUFFIXES = ("json", "csv", "tsv", "md", "tex", "html", "txt", "parquet")
FIGURES = ("png", "svg", "pdf")
TABLES = ("csv", "tsv", "jsonl", "parquet", "csv.gz", "tsv.gz", "jsonl.gz")  # of segments
F = TypeVar("F", bound=Callable[..., Any])
if TYPE_CHECKING:
    from steelyard.core.parallel import Workers
    from steelyard.data.evalset import EvalSet
    from steelyard.formats.load import Inputs


class InputOptions(LoadOptions):
    """How the user wants inputs to be read."""

    def load(self, inputs: Sequence[Any]) -> EvalSet:
        """Load one EvalSet from all inputs."""
        return self.read(inputs).evalset()

    def read(self, inputs: Sequence[Any]) -> Inputs:
        """Read inputs of whatever kind."""
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
        """Apply the options to a set that was read already, from files without columns."""
        by_column = (
            ("--where", self.where),
            ("--ignore", self.ignore),
            ("--columns", self.columns),
        )
        for option, value in by_column:
            if value:
                raise UsageError(f"{option} applies to columns, which plain files do not have")
        return self.load([es])

    def only_rows_and_columns(self) -> None:
        """Refuse what applies to scores only, for inputs that are raw judgements."""
        for name in ("human", "kind", "systems", "drop_systems", "drop_metrics", "sees", "domain",
                     "lower_is_better", "higher_is_better"):  # fmt: skip
            if getattr(self, name):
                option = "--" + name.replace("_", "-")
                raise UsageError(f"{option} applies to scores, not to raw judgements")


COLUMNS = click.option("--columns", type=Roles(), default=(),
                       help="What columns are, where names do not say it: "
                       "system=model,segment=id.")  # fmt: skip
_INPUT = (
    click.option("--human", metavar="NAME", help="The human score."),
    click.option("--kind", type=Kinds(), multiple=True,
                 help="Which scores are human or metrics, as human:A,B (repeatable)."),
    click.option("--lp", metavar="SRC-TGT", help="Language pair, for folders that hold several."),
    click.option("--systems", type=Names(), help="Keep only these systems."),
    click.option("--drop-systems", type=Names(), default=(), help="Leave out these systems."),
    click.option("--drop-metrics", type=Names(), default=(),
                 help="Leave out these metrics; patterns such as '*-src' stand for several."),
    click.option("--sees", type=Names(),
                 help="Keep only metrics that see src (no reference), ref (a reference), both, "
                 "none (nothing that is known), or a reference of this name."),
    click.option("--lower-is-better", type=Names(), default=(),
                 help="Scores where less is better."),
    click.option("--higher-is-better", type=Names(), default=(),
                 help="Scores where more is better, as is assumed: no question about their names."),
    click.option("--domain", metavar="NAME", help="Keep only the segments of this domain."),
    click.option("--where", type=Pair(), multiple=True,
                 help="Keep only rows with this value, before anything is aligned (repeatable)."),
    click.option("--ignore", type=Names(), default=(), help="Skip these columns."),
    COLUMNS,
    click.option("--format", metavar="NAME",
                 help="Format of inputs that could be of several; steelyard data formats "
                 "lists them."),
)  # fmt: skip


def as_object(
    keyword: str, cls: Callable[..., Any], options: Sequence[Callable[[Any], Any]]
) -> Callable[[Any], Any]:
    """Add options to a command, which receives them as one object of a dataclass."""
    names = tuple(field.name for field in fields(cls))  # type: ignore[arg-type]

    def bind(given: dict[str, Any]) -> None:
        given[keyword] = cls(**{name: given.pop(name) for name in names})

    return lambda command: _with(_bound(command, bind), options)


def _bound(command: Any, bind: Callable[[dict[str, Any]], None]) -> Any:
    """Let ``bind`` change what a command is called with; one wrapper serves all that do.

    What is added last stands outermost and comes first. Errors of the library name arguments:
    they are told in the command's own words.
    """
    if not hasattr(command, "binders"):
        binders: list[Callable[[dict[str, Any]], None]] = []

        @functools.wraps(command)
        def wrapped(*args: Any, **given: Any) -> Any:
            try:
                for own in reversed(binders):
                    own(given)
                return command(*args, **given)
            except SteelyardError as error:
                error.args = (spoken(str(error)),)
                raise

        wrapped.binders = binders  # type: ignore[attr-defined]
        return _bound(wrapped, bind)
    command.binders.append(bind)
    return command


def _with(command: Any, options: Sequence[Callable[[Any], Any]]) -> Any:
    for option in reversed(options):
        command = option(command)
    return command


#: Adds the options of inputs; the command receives them as one ``options``.
input_options = as_object("options", InputOptions, _INPUT)


@dataclass(frozen=True)
class OutputOptions:
    """Where the user wants results, and how much is said on the way."""

    json: bool
    out: Path | None
    seed: int
    jobs: int | None  # None: as many as are worth it
    quiet: bool
    debug: bool
    color: str = "auto"

    def check(self, suffixes: Collection[str] = SUFFIXES) -> None:
        """Refuse a suffix that nothing can be written as, before any work is done."""
        if self.out is not None:
            kind = self.out.name.rpartition(".")[2].lower() if "." in self.out.name else ""
            if kind == "gz":
                kind = ".".join(self.out.name.lower().split(".")[-2:])
            if kind not in suffixes:
                expected = ", ".join(f".{suffix}" for suffix in suffixes)
                raise UsageError(f"--out {self.out}: can't write '.{kind}', expected {expected}")


class _Jobs(Type):
    """A number of processes, or the word that leaves it to the work."""

    name = "jobs"

    def convert(self, value: Any, param: Any, ctx: Any) -> int | None:
        """Give the number; None for auto."""
        if value is None or value == "auto":
            return None
        found: int = click.IntRange(min=1).convert(value, param, ctx)
        return found


_JSON = click.option("--json", is_flag=True, help="Print one JSON object on stdout, nothing else.")
_OUTPUT = (
    click.option("--quiet", is_flag=True, help="No progress and no messages, only errors."),
    click.option(
        "--color",
        type=click.Choice(("auto", "always", "never")),
        default="auto",
        show_default=True,
        help="Colours of what is printed; auto: on a terminal, unless NO_COLOR is set.",
    ),
    click.option("--debug", is_flag=True, help="Show the traceback of an error."),
)


def _seed(*, hidden: bool) -> Callable[[Any], Any]:
    return click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True,
                        hidden=hidden, help="Seed of everything random.")  # fmt: skip


def _jobs(*, hidden: bool) -> Callable[[Any], Any]:
    return click.option("--jobs", type=_Jobs(), default="auto", show_default=True, metavar="N|auto",
                        hidden=hidden, help="Processes to use where work splits; auto: one for "
                        "each core if it takes longer than a few seconds. The result does not "
                        "depend on it.")  # fmt: skip


class _Folder(click.Path):
    """A folder to make; no name at all is not the folder in which one is."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Refuse the empty name, which a path would take for this folder."""
        if value == "":
            self.fail("is empty, expected the name of a folder.", param, ctx)
        return super().convert(value, param, ctx)


_FOLDER = click.option("--out", type=_Folder(path_type=Path), metavar="DIR",
                       help="The folder to make.")  # fmt: skip


def with_languages(options: InputOptions, src: str | None, tgt: str | None) -> InputOptions:
    """Take the languages for the language pair, which must not be said otherwise."""
    if bool(src) != bool(tgt):
        raise UsageError("--src-lang and --tgt-lang: expected both")
    if not src:
        return options
    if options.lp not in (None, f"{src}-{tgt}"):
        raise UsageError(
            f"--lp {options.lp}, and --src-lang {src} --tgt-lang {tgt}: expected the same languages"
        )
    return replace(options, lp=f"{src}-{tgt}")


def not_an_input(option: str, path: Path | None, given: Mapping[str, Any]) -> None:
    """Refuse to write over a file that the same command was given to read."""
    if path is None or not path.is_file():
        return
    for value in given.values():
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, (str, Path)) and Path(one).is_file() and path.samefile(one):
                raise UsageError(f"{option} {path}: is an input of this command, left as it is")


def _file(
    suffixes: Collection[str], *, usual: str | None = None, hidden: bool = False
) -> Callable[[Any], Any]:
    """Make the option that names the file to write; its help lists the suffixes."""
    told = " ".join(f".{suffix}" for suffix in suffixes if suffix not in FIGURES)
    drawn = " ".join(f".{suffix}" for suffix in suffixes if suffix in FIGURES)
    told += f"; a figure: {drawn}" if drawn else ""
    path = click.Path(path_type=Path, dir_okay=False)
    settings: dict[str, Any] = {"default": usual, "show_default": True} if usual else {}
    return click.option("--out", type=path, metavar="FILE", hidden=hidden,
                        help=f"Write the result, by suffix: {told}.", **settings)  # fmt: skip


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
    ``folder`` it names what the command makes. Options that mean nothing to the command
    (``unused``, and ``--jobs`` unless its work ``splits``) are taken, as they always were, but not
    offered.
    """

    def check(given: dict[str, Any]) -> None:
        if not folder:
            given["output"].check(suffixes)
            not_an_input("--out", given["output"].out, given)

    splits |= any(one.name == "resume" for one in getattr(command, "__click_params__", ()))
    out = _FOLDER if folder else _file(suffixes, usual=usual, hidden="out" in unused)
    options = (_JSON, out, _seed(hidden="seed" in unused), _jobs(hidden=not splits), *_OUTPUT)
    return as_object("output", OutputOptions, options)(_bound(command, check))  # type: ignore[no-any-return]


#: The same for commands that draw figures, too.
figure_options = functools.partial(output_options, suffixes=(*SUFFIXES, *FIGURES))
#: The same for commands in which nothing is random.
settled_options = functools.partial(output_options, unused=("seed",))


_WORKERS = (
    click.option("--resume", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
                 help="Keep results in this folder as they come in, and go on from there."),
)  # fmt: skip


def worker_options(command: F) -> F:
    """Add what long work runs on; the command receives it as ``workers``.

    Stands below :func:`output_options`, which knows the number of processes.
    """

    def bind(given: dict[str, Any]) -> None:
        from steelyard.core.parallel import Workers

        given["workers"] = Workers(given["output"].jobs, given.pop("resume"))

    return _with(_bound(command, bind), _WORKERS)  # type: ignore[no-any-return]


def refuse_workers(workers: Workers, reason: str) -> None:
    """Refuse to keep results of work that is not split."""
    if workers.resume is not None:
        raise UsageError(f"--resume: {reason}")


def given(option: str) -> bool:
    """Tell whether the user set an option of the command that runs."""
    source = click.get_current_context().get_parameter_source(option)
    return source is not None and source.name != "DEFAULT"


def without_part(options: Collection[str], where: str) -> tuple[str, ...]:
    """Say which options the user set although nothing looks at them; a warning, if there are any.

    ``where`` is what they have no part in.
    """
    command = click.get_current_context().command
    flags = [p.opts[0] for p in command.params if p.name in options and given(p.name)]
    if not flags:
        return ()
    have = "has" if len(flags) == 1 else "have"
    return (f"{', '.join(sorted(flags))} {have} no part in {where}",)


def need_inputs(
    inputs: tuple[str, ...], example: str = "steelyard data info scores.csv --human mqm"
) -> None:
    """Refuse a call without inputs, with an example instead of a usage line."""
    if not inputs:
        raise UsageError(f"no input; for example: {example}")

"""From any inputs to one EvalSet: read them, join them, keep what is wanted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from steelyard.core.errors import InputError, UsageError, hint
from steelyard.core.options import keywords
from steelyard.data.evalset import EvalSet, Kind, ScoreTable
from steelyard.data.joining import join
from steelyard.data.judgements import BattleLog, Rankings, Ratings
from steelyard.data.selection import with_metrics
from steelyard.data.units import AUTO, column_of
from steelyard.formats import columns as roles
from steelyard.formats import files, frames, registry
from steelyard.formats.bitext import Bitext
from steelyard.formats.entities import EntityAnnotations
from steelyard.formats.files import kept
from steelyard.formats.format import ForeignFormat, SetFormat
from steelyard.formats.options import LoadOptions
from steelyard.formats.rawtable import RawTable
from steelyard.formats.reading import Read, Reading, read_all
from steelyard.formats.scoretables import WIDE
from steelyard.formats.view import FileView

Source = Any  # a path, an EvalSet, or a pandas, polars or Arrow frame


#: What takes judgements of each kind; the command line translates the names.
_TAKEN_BY: tuple[tuple[type, str], ...] = (
    (BattleLog, "compare_battles"),
    (Ratings, "human_scores"),
    (Rankings, "human_scores"),
    (EntityAnnotations, "score"),
    (Bitext, "check"),
)


@dataclass(frozen=True)
class Inputs:
    """What inputs hold, each as it was read: sets of scores and texts, or raw judgements."""

    parts: tuple[Read, ...]
    options: LoadOptions
    reading: Reading

    @property
    def judged(self) -> Read | None:
        """The first input that holds raw judgements or annotations, and no set."""
        return next((part for part in self.parts if not isinstance(part.value, EvalSet)), None)

    @property
    def only(self) -> Read | None:
        """The raw judgements, where there is nothing else."""
        return self.judged if len(self.parts) == 1 else None

    def refuse(self, part: Read) -> NoReturn:
        """Say that an input holds raw judgements, and what takes them."""
        taker = next((name for kind, name in _TAKEN_BY if isinstance(part.value, kind)), None)
        instead = f"; sy.{taker} takes them" if taker else ""
        path = part.files[0].path if part.files else frames.PLACE
        what = "a translation" if isinstance(part.value, Bitext) else "raw judgements"
        raise InputError(f"holds {what} ({part.form}), not scores{instead}", path=path)

    def evalset(self) -> EvalSet:
        """Join the sets, and keep what is wanted; judgements are refused."""
        if self.judged is not None:
            self.refuse(self.judged)
        return _joined(self)


@kept()
@keywords(LoadOptions)
def load(*sources: Source, options: LoadOptions) -> EvalSet:
    """Load one EvalSet from any inputs: files, folders, frames, or EvalSets.

    Parameters
    ----------
    *sources
        Paths of tables (CSV, TSV, JSONL, Parquet, also ``.gz``), texts, mt-metrics-eval folders or
        native files; pandas or polars frames. Several are joined on (system, segment). ``-`` is
        standard input.
    human
        The human score. Its neighbours in the same table are human too if another one has scores.
    kind
        ``{"human": [names], "metric": [names]}``, where that rule is not enough.
    lp
        The language pair, for folders that hold several; otherwise the name to give the set.
    systems, drop_systems, drop_metrics, domain
        What to keep. Patterns stand for all metrics that they match: ``["*-src"]``.
    sees
        Metrics by what they see, any of: ``src`` (no reference), ``ref`` (a reference), ``both``,
        ``none`` (nothing that is known), or the name of a reference.
    lower_is_better, higher_is_better
        Names of scores where less is better, or more, which is assumed of those not named.
    where
        Column and value that select rows, for tables that hold several sets.
    ignore
        Columns to skip.
    columns
        Roles and the columns that have them, as ``{"system": "model", "segment": "id"}``, where
        names do not say it.
    format
        The name of a format (``steelyard data formats`` lists them), for inputs that could be of
        several; for all if none looks like it.

    Examples
    --------
    >>> import polars
    >>> rows = {"system": ["A", "A", "B"], "segment": [1, 2, 1], "chrF": [50.1, 60.2, 40.3]}
    >>> es = load(polars.DataFrame(rows))
    >>> es.systems, es.n_segments, es["chrF"].values.tolist()
    (('A', 'B'), 2, [[50.1, 60.2], [40.3, nan]])
    """
    return read(sources, options).evalset()


@kept()
def read(sources: Sequence[Source], options: LoadOptions | None = None) -> Inputs:
    """Read inputs of whatever kind: sets of scores, ratings, rankings, battles or annotations."""
    options = options or LoadOptions()
    if not sources:
        raise UsageError("nothing to load: expected at least one input")
    chosen = dict(options.where)
    lp = options.lp or next((chosen[name] for name in roles.LANGUAGES if name in chosen), None)
    scores = options.people | options.machines | options.directions
    systems = None if options.systems is None else frozenset(options.systems)
    reading = Reading(
        options.where,
        tuple(options.ignore),
        lp,
        named=roles.Named(frozenset(scores), systems),
        columns=options.columns,
        form=options.format,
    )
    parts = read_all(sources, reading)
    for k, part in enumerate(parts):
        unnamed = isinstance(part.value, EntityAnnotations) and part.value.language_pair is None
        if lp is not None and unnamed:  # annotations get the pair that was named for them
            parts[k] = replace(part, value=replace(part.value, language_pair=lp))
    check_columns(parts, reading)
    return Inputs(tuple(parts), options, reading)


def _joined(inputs: Inputs) -> EvalSet:
    """Join sets, and settle what the user said of them."""
    options, lp = inputs.options, inputs.reading.lp
    sets: list[EvalSet] = [part.value for part in inputs.parts]
    if all(part.form == WIDE.name and not part.value.systems for part in inputs.parts):
        path = inputs.parts[0].files[0].path if inputs.parts[0].files else frames.PLACE
        raise InputError(f"{path}: no column holds the scores of a system")
    joined = replace(join(sets), neighbours=_neighbours(sets)).with_human(options.human)
    joined = _settle(joined, options)
    if lp is not None and joined.language_pair not in (None, lp):
        raise UsageError(f"the input is {joined.language_pair}, not {lp}")
    joined = replace(joined, language_pair=lp or joined.language_pair)
    joined = joined.select(systems=options.systems, domain=options.domain)
    if options.drop_systems:
        joined = joined.drop(systems=options.drop_systems)
    joined = with_metrics(joined, drop=options.drop_metrics, sees=options.sees)
    differing = options.differing(shown=("human",))
    read_with = tuple((name, str(value)) for name, value in differing.items())
    files_read = tuple(replace(file, chosen=(*file.chosen, *read_with)) for file in joined.inputs)
    return replace(joined, inputs=files_read)


def check_columns(parts: Sequence[Read], reading: Reading) -> None:
    """Refuse a column that was named and that no input has."""
    present = {name for part in parts for name in part.columns}
    called = {pair for part in parts for pair in part.called}
    selects = (column for column, _ in reading.where)
    named = (pair[1] for pair in reading.columns if pair not in called)
    for column in (*reading.ignore, *selects, *named):
        if present and column not in present:
            raise UsageError(f"no input has a column '{column}'; {hint(column, present)}")


def as_evalset(source: Source, human: str | None = None, unit: str | int = AUTO) -> EvalSet:
    """Give a set as it is, and load anything else as :func:`load` does, also several together.

    A column that names the unit is read as the documents.
    """
    if isinstance(source, EvalSet):
        return source.with_human(human)
    column = column_of(unit)
    sources = source if isinstance(source, (list, tuple)) else (source,)
    return load(*sources, human=human, columns=() if column is None else (("doc", column),))


@kept()
def column_values(*sources: Source, column: str) -> list[str]:
    """List the values of a column that splits tables into several sets, in their order.

    Folders and native files hold one set and have no such column.
    """
    tables = _tables_with(sources, column)
    return list(dict.fromkeys(value for table in tables for value in table.labels(column)))


@kept()
def systems_by(*sources: Source, column: str) -> dict[str, str] | None:
    """Give the value of a column that each system has, None if a system has several."""
    values: dict[str, str] = {}
    for table in _tables_with(sources, column):
        if roles.SYSTEM[0] not in table:
            return None
        for system, value in zip(table.labels(roles.SYSTEM[0]), table.labels(column), strict=True):
            if values.setdefault(system, value) != value:
                return None
    return values


def _tables_with(sources: Sequence[Source], column: str) -> list[RawTable]:
    """Read the tables that have a column; an error if none has."""
    reading = Reading(((column, ""),))
    tables: list[RawTable] = []
    for source in sources:
        if isinstance(source, EvalSet):
            continue
        if not isinstance(source, (str, Path)):
            tables.append(frames.read(source))
            continue
        view = FileView(Path(source))
        if files.is_folder(view.path):
            continue
        form = registry.of_file(view)
        if isinstance(form, ForeignFormat):
            tables.append(form.unfold(view))
        elif not isinstance(form, SetFormat) or form.columns:
            tables.append(reading.table(view.path))
    fitting = [table for table in tables if column in table]
    if not fitting:
        columns = {name for table in tables for name in table.columns}
        raise UsageError(f"no input has a column '{column}'; {hint(column, columns)}")
    return fitting


def _neighbours(sets: Sequence[EvalSet]) -> dict[str, frozenset[str]]:
    """Say for each score which ones are human if it is: those of its table alone.

    That holds where other tables have scores. A system table beside tables of segments that have
    the human score repeats their columns, so it decides nothing. Folders and native files say
    themselves what is human, and a set that was loaded from several tables knows it already.
    """
    scored = [es for es in sets if es.scores]
    neighbours = {name: group for es in scored for name, group in es.neighbours.items()}
    with_segments = [es for es in scored if es.n_segments]
    holders: dict[str, list[int]] = {}  # which sets hold each score
    for k, es in enumerate(scored):
        for name in es.scores:
            holders.setdefault(name, []).append(k)
    by_holders: dict[tuple[int, ...], frozenset[str]] = {}  # one set of names for a whole table
    for human, group in holders.items():
        if tuple(group) not in by_holders:
            level = with_segments if any(scored[k].n_segments for k in group) else scored
            hosts = [es for es in level if human in es.scores]
            hosts = [es for es in hosts if not es.human and not es.neighbours]
            others = [es for es in level if not any(es is host for host in hosts)]
            names = {name for es in hosts for name in es.scores} if others else set()
            names -= {name for es in others for name in es.scores}
            by_holders[tuple(group)] = frozenset(names)
        if by_holders[tuple(group)]:
            neighbours[human] = by_holders[tuple(group)]
    return neighbours


def _settle(es: EvalSet, options: LoadOptions) -> EvalSet:
    """Apply what the user said of single scores, and what their names say once texts are known."""
    people, machines = options.people, options.machines
    for name in (*people, *machines, *options.lower_is_better, *options.higher_is_better):
        if name != options.human or name not in es.ratings:
            es[name]  # an unknown name is an error that shows the known ones
    for name in set(options.lower_is_better) & set(options.higher_is_better):
        raise UsageError(f"'{name}': both lower and higher is said to be better")

    def settled(name: str, table: ScoreTable) -> ScoreTable:
        kind: Kind = "human" if name in people else "metric" if name in machines else table.kind
        uses = table.uses or roles.uses(name, es.references) if kind == "metric" else ()
        stated = name in options.directions
        higher = name in options.higher_is_better if stated else table.higher_is_better
        stated = stated or table.direction_given
        return replace(table, kind=kind, uses=uses, higher_is_better=higher, direction_given=stated)

    scores = {name: settled(name, table) for name, table in es.scores.items()}
    people_of = {group: group - machines for group in set(es.neighbours.values())}
    neighbours = {name: people_of[group] for name, group in es.neighbours.items()}
    return replace(es, scores=scores, neighbours=neighbours)

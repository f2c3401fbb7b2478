"""Raw judgements to human scores: read them once, find their protocol, and run it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import numpy as np

from steelyard.core.errors import InputError, UsageError, hint
from steelyard.core.provenance import InputFile, Provenance
from steelyard.core.rng import Rng, generator
from steelyard.core.text import plural
from steelyard.data.evalset import EvalSet
from steelyard.data.joining import join
from steelyard.data.judgements import BattleLog, Rankings, Ratings
from steelyard.data.segments import Segments
from steelyard.data.units import column_of
from steelyard.formats import columns as roles
from steelyard.formats.files import kept
from steelyard.formats.format import TableFormat
from steelyard.formats.judged import errors
from steelyard.formats.judged import ratings as directassessment
from steelyard.formats.load import check_columns
from steelyard.formats.options import selection
from steelyard.formats.rawtable import RawTable
from steelyard.formats.reading import Read, Reading, ask_for_raters, read_all
from steelyard.human.options import (
    PRESETS,
    PROTOCOLS,
    HumanOptions,
    Presets,
    Protocol,
    ProtocolName,
    Selection,
    parts_of_scale,
    protocols_with,
)
from steelyard.human.results import HumanScores

Judgements = Ratings | Rankings | BattleLog
#: The modules that score each protocol, loaded when asked for.
_HOMES = {"da": "ratings", "mqm": "ratings", "esa": "ratings", "rr": "rr", "darr": "darr"}
_DECIDED = {"standardised", "quality_control", "unit", "clusters", "test", "alpha", "correction"}


@dataclass(frozen=True, slots=True)
class Inputs:
    """What was read: judgements of one kind, and a set of scores and texts, where there are any.

    ``about`` is what texts beside ratings say of their segments: documents and domains.
    """

    judgements: Judgements | None
    scores: EvalSet | None
    files: tuple[InputFile, ...] = ()
    notes: tuple[str, ...] = ()
    about: Segments | None = None


class Scorer(ABC):
    """What separates one protocol from another."""

    name: str
    expected: str  # what its tables hold, in words
    rated: tuple[TableFormat, ...] = ()  # the formats of ratings that it reads
    scaled = True  # ratings must lie on the scale
    of_sets = False  # it takes the ratings that a set carries

    @abstractmethod
    def score(self, inputs: Inputs, options: HumanOptions, rng: np.random.Generator) -> HumanScores:
        """Turn what was read into scores."""

    def takes(self, form: TableFormat, table: RawTable) -> bool:
        """Tell whether it has a use for a table of this format."""
        del table
        return form in self.rated

    def refuse(self, options: HumanOptions) -> None:
        """Refuse options that it does not take, and those that a preset decides itself."""
        options.refuse_other_protocols()
        if options.unit not in ("auto", "segment") and not self.of_sets:
            raise UsageError(f'unit="{options.unit}" applies to protocols da, mqm and esa')
        if options.preset is None:
            return
        preset = PRESETS[options.preset]
        if self.name not in preset.protocols:
            names = ", ".join(preset.protocols)
            raise UsageError(f'preset="{preset.name}" applies to protocol {names}')
        for name in _DECIDED.intersection(options.changed()):
            value = getattr(options, name)
            if (name, value) != ("standardised", False):
                shown = f'{name}="{value}"' if isinstance(value, str) else f"{name}={value}"
                raise UsageError(f'preset="{preset.name}" leaves no choice of {shown}')

    def inspect(self, form: TableFormat, table: RawTable, options: HumanOptions) -> None:
        """Refuse a table that it can't score."""
        if not self.takes(form, table):
            columns = ", ".join(list(table.columns)[:8])
            read_as = f"was read as {form.name} (columns {columns})"
            table.fail(f"{read_as}; protocol {self.name} expects {self.expected}")
        if form.gives is Ratings and self.scaled:
            plain = form is directassessment.FORMAT
            names = roles.RATING if plain else roles.ERROR_VALUE
            directassessment.check_scale(table, *parts_of_scale(options.scale)[1], names)

    def missing(self, what: str) -> UsageError:
        """Make the error of inputs that hold nothing to score."""
        return UsageError(f"{what}: protocol {self.name} expects {self.expected}")


def scorer_of(protocol: str) -> Scorer:
    """Load the scorer of a protocol."""
    module = import_module(f"steelyard.human.{_HOMES[protocol]}")
    scorer: Scorer = getattr(module, protocol.upper())
    return scorer


def human_scores(
    *sources: object,
    protocol: ProtocolName | Protocol | None = None,
    preset: Presets | None = None,
    unit: str = "auto",
    raters: str | Path | Mapping[str, Sequence[str]] | None = None,
    human: str | None = None,
    systems: Collection[str] | None = None,
    n_bootstrap: int = 1000,
    rng: Rng = 0,
    **keep: Unpack[Selection],
) -> HumanScores:
    """Turn raw judgements into scores of outputs and systems.

    Parameters
    ----------
    *sources
        Files of raw judgements (or :class:`Ratings`, :class:`Rankings`, frames); for ``da``,
        ``mqm`` and ``esa`` also texts, or tables, with documents and domains of segments; for
        ``darr`` texts, and a table of human scores.
    protocol
        ``da`` (direct assessment), ``mqm``, ``esa``, ``rr`` (rankings) or ``darr``, or one of them
        with its options: ``sy.da(standardised=False)``, ``sy.mqm(cap=25)``. By default what the
        judgements are, with a warning that names it.
    preset
        Rank as the organisers of a shared task do: ``wmt22`` (of ``da``), ``wmt24`` (mean of domain
        means, tests by domain combined), ``wmt24-micro`` (plain means, one test), ``wmt25`` or
        ``wmt26`` (of ``esa``).
    unit
        What is independent (``da``, ``mqm``, ``esa``): ``segment``, ``document``, a column, a
        number of consecutive segments; ``auto`` takes documents where at least ten are known, else
        segments. Presets keep their organisers' unit.
    raters
        Who has which logins, so that a person is one rater: ``{person: [logins]}``, or a file of
        that as JSON, or of a table with columns ``login`` and ``person``.
    human
        The human score (or the ratings) of inputs that hold several.
    systems
        The systems to keep, after standardisation.
    n_bootstrap, rng
        Resamples for intervals of agreement, and their seed.
    **keep
        ``score`` (the column to take as the score), ``drop_systems``, ``where``, ``ignore``,
        ``columns``, ``format`` and ``lp``, as in :func:`steelyard.load`.

    Returns
    -------
    HumanScores
        Systems best first, with ranks, clusters, verdicts, raters and their agreement.

    See Also
    --------
    steelyard.compare : Compare systems by the scores of outputs.
    steelyard.meta_evaluate : Compare metrics with human scores.

    Examples
    --------
    >>> import steelyard as sy
    >>> rows = {"rater": ["r"] * 4, "system": ["A", "B"] * 2, "segment": [1, 1, 2, 2],
    ...         "raw": [90, 40, 80, 50]}
    >>> import polars
    >>> result = sy.human_scores(polars.DataFrame(rows), protocol="da")
    >>> [(s.system, round(s.score, 3), s.raw) for s in result.systems]
    [('A', 0.84, 85.0), ('B', -0.84, 45.0)]
    """
    for name in keep.keys() - Selection.__annotations__.keys():
        protocols = protocols_with(name)
        if not protocols:
            raise TypeError(f"human_scores() got an unexpected keyword argument '{name}'")
        raise UsageError(f"{name} is an option of a protocol: protocol=sy.{protocols[0]}({name}=X)")
    settings: dict[str, Any] = {
        "protocol": protocol, "preset": preset, "unit": unit, "raters": raters, "human": human,
        "systems": systems, "n_bootstrap": n_bootstrap, **keep,
    }  # fmt: skip
    if isinstance(protocol, Protocol):
        settings |= {item.name: getattr(protocol, item.name) for item in fields(protocol)}
        settings["protocol"] = protocol.name
    return score_judgements(sources, settings, rng)


@kept()
def score_judgements(
    sources: Sequence[object], settings: Mapping[str, Any], rng: Rng = 0
) -> HumanScores:
    """Score judgements; settings are fields of :class:`HumanOptions`, the protocol may be None."""
    protocol, why = settings["protocol"], ""
    if protocol is None and not sources:
        raise UsageError(f"no input; and protocol=NAME is one of {', '.join(PROTOCOLS)}")
    options = HumanOptions.of({**settings, "protocol": "da" if protocol is None else protocol})
    columns = selection(options.columns, "columns", "roles and columns, as {'system': 'model'}")
    for role, column in (("doc", column_of(options.unit)), ("score", options.score)):
        columns += () if column is None else ((role, column),)
    options = replace(options, where=selection(options.where), columns=columns)
    if protocol is not None:
        scorer_of(protocol).refuse(options)
        if not sources:
            raise scorer_of(protocol).missing("no input")
    held = _read(sources, options)
    if protocol is None:
        protocol, why = _protocol_of(held, options.human)
        options = replace(options, protocol=protocol)
        scorer_of(protocol).refuse(options)
    scorer = scorer_of(protocol)
    inputs = _gathered(held, scorer, options)
    result = scorer.score(inputs, options, generator(rng))
    used = {
        "protocol": scorer.name, "clusters": options.clusters, "alpha": options.alpha,
        **result.settings,
        **({"quality-control": True} if options.quality_control else {}),
    }  # fmt: skip
    notes = [f'read as protocol {scorer.name} ({why}); protocol="NAME" changes it'] if why else []
    return replace(
        result,
        warnings=(*notes, *result.warnings, *inputs.notes),
        provenance=Provenance.of("human", used, inputs.files, rng, options),
        language_pair=options.lp,
    )


class _Held(NamedTuple):
    """What sources hold: judgements that are objects, inputs, and the tables that these were."""

    judged: list[Judgements]
    reads: list[Read]
    tables: list[tuple[TableFormat, RawTable]]


def _read(sources: Sequence[object], options: HumanOptions) -> _Held:
    tables: list[tuple[TableFormat, RawTable]] = []
    reading = Reading(
        options.where,
        tuple(options.ignore),
        options.lp,
        lambda form, table: tables.append((form, table)),
        columns=options.columns,
        form=options.format,
        scale=parts_of_scale(options.scale)[0],
        judged=True,
    )
    judged = [source for source in sources if isinstance(source, Judgements)]
    reads = read_all([s for s in sources if not isinstance(s, Judgements)], reading)
    check_columns(reads, reading)
    return _Held(judged, reads, tables)


@kept()
def read_inputs(sources: Sequence[object], scorer: Scorer, options: HumanOptions) -> Inputs:
    """Read all sources: judgements of one kind are put together, scores and texts joined."""
    return _gathered(_read(sources, options), scorer, options)


def _gathered(held: _Held, scorer: Scorer, options: HumanOptions) -> Inputs:
    for form, table in held.tables:
        scorer.inspect(form, table, options)
    notes: list[str] = []
    judgements = [*held.judged]
    scores: list[EvalSet] = []
    about: list[EvalSet] = []  # with documents and domains
    for read in held.reads:
        notes.extend(read.notes)
        es = read.value
        if not isinstance(es, EvalSet):
            judgements.append(es)
        elif not scorer.of_sets:
            scores.append(es)
        else:
            if es.ratings or (es.segments.documents is None and es.segments.domains is None):
                notes.extend(es.notes)
                judgements.append(ratings_of(es, options.human))
            about.append(es)
    reads = held.reads
    files = [file for read in reads for file in read.files or getattr(read.value, "inputs", ())]
    together = _together(judgements)
    marks = {roles.CATEGORY, roles.SEVERITY}
    if isinstance(together, Ratings) and any(
        marks <= table.columns.keys() for _, table in held.tables
    ):
        clean = errors.unlisted(together, options.unlisted)
        together = _together([together, *clean])
        notes += [f"{plural(len(of), 'output')} without a row taken for error-free" for of in clean]
    if options.raters is not None:
        if not isinstance(together, (Ratings, Rankings)):
            raise UsageError("raters=... merges logins, which these judgements do not have")
        person, logins = directassessment.read_persons(options.raters), set(together.raters)
        together = together.renamed_raters(person)
        note = f"raters: {plural(len(logins), 'login')} are {plural(len(together.raters), 'rater')}"
        absent, silent = len(logins - person.keys()), len(person.keys() - logins)
        if absent or silent:
            note += f"; {absent} not in the file, {silent} of the file without a judgement"
        notes.append(note)
    joined = join(scores) if scores else None
    return Inputs(together, joined, tuple(files), tuple(notes), _known_segments(about))


def _protocol_of(held: _Held, human: str | None) -> tuple[str, str]:
    values = [*held.judged, *(read.value for read in held.reads)]
    protocols = {protocol for value in values for protocol in _shown_by(value, human)}
    if not protocols:
        ask_for_raters(held.reads)
    if len(protocols) != 1:
        what = "are of several" if protocols else "do not show it"
        names = ", ".join(PROTOCOLS)
        raise UsageError(f"protocol=NAME is missing, and the inputs {what}: one of {names}")
    return protocols.pop()


def _shown_by(value: object, human: str | None) -> Iterable[tuple[str, str]]:
    if isinstance(value, Rankings):
        yield "rr", "rankings of systems"
    elif isinstance(value, BattleLog):
        yield "darr", "pairs, the better and the worse"
    elif isinstance(value, EvalSet):
        for name, ratings in value.ratings.items():
            if human in (None, name):
                yield from _shown_by(ratings, None)
    elif isinstance(value, Ratings):
        scored = not np.isnan(value.value).all()
        if value.errors is not None:
            yield ("esa", "scores and marked errors") if scored else ("mqm", "marked errors")
        elif scored:
            yield "da", "scores of raters"


def _known_segments(sets: Sequence[EvalSet]) -> Segments | None:
    if not sets:
        return None
    ids = tuple(dict.fromkeys(name for es in sets for name in es.segments.ids))
    columns: dict[str, Any] = {}
    for kind in ("documents", "domains", "sources"):
        names: dict[str, str] = {}
        for es in sets:
            column = getattr(es.segments, kind) or (None,) * len(es.segments)
            for segment, name in zip(es.segments.ids, column, strict=True):
                clash = name is not None and names.setdefault(segment, name) != name
                if clash and kind != "sources":
                    raise InputError(
                        f"segment '{segment}' is of {kind[:-1]} '{names[segment]}' in one input, "
                        f"of '{name}' in another"
                    )
        columns[kind] = tuple(map(names.get, ids))
    return Segments(ids, **columns)


def ratings_of(es: EvalSet, human: str | None) -> Ratings:
    """Return the ratings that a set carries, by their name where there are several."""
    if not es.ratings:
        raise UsageError("the input holds scores but no raw ratings")
    name = next(iter(es.ratings)) if human is None and len(es.ratings) == 1 else human or ""
    if name not in es.ratings:
        raise UsageError(f"name the raw ratings (human=NAME); {hint(name, es.ratings)}")
    return es.ratings[name]


#: Columns of ratings that some files lack, and what their rows then hold.
_BLANK = {"errors": None, "item": "system", "unit": "", "document": "", "wave": 0, "domain": "",
          "seconds": np.nan}  # fmt: skip


def _together(judged: Sequence[Judgements]) -> Judgements | None:
    """Put several files of judgements together; a rater of the same name is the same person."""
    if len(judged) < 2:
        return judged[0] if judged else None
    if len({type(value) for value in judged}) > 1:
        raise UsageError("the inputs hold judgements of different kinds; give one kind at a time")
    parts = [value for value in judged if isinstance(value, Ratings)]
    if not parts:
        raise UsageError("give one file of rankings or pairs at a time")
    system, segment, rater = (
        [getattr(part, f"{name}s")[code] for part in parts for code in getattr(part, name)]
        for name in ("system", "segment", "rater")
    )
    columns: dict[str, Any] = {}
    for name, blank in _BLANK.items():
        cells = [getattr(part, name) for part in parts]
        if any(column is not None for column in cells):
            sized = [(column, len(part)) for column, part in zip(cells, parts, strict=True)]
            columns[name] = [x for c, n in sized for x in ([blank] * n if c is None else c)]
    value = np.concatenate([part.value for part in parts])
    columns |= {"seconds": np.array(columns["seconds"])} if "seconds" in columns else {}
    return Ratings.from_labels(system, segment, rater, value, **columns)

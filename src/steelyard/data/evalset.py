"""EvalSet: one test set in one setting, N systems x S segments.

Systems and segments stand in canonical order, missing scores are NaN, everything is read-only.
What a statistic needs to know about alignment, orientation or missing values is settled here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from steelyard.core.errors import InputError, ShapeError, UsageError, hint, printable
from steelyard.core.oneline import named as brief
from steelyard.core.oneline import one_line
from steelyard.core.provenance import InputFile
from steelyard.core.table import Frame, frame
from steelyard.core.words import listed, plural
from steelyard.data.judgements import Floats, Ratings, freeze, same_bits
from steelyard.data.segments import Frozen, Index, Segments, Texts
from steelyard.data.trusted import changed, made
from steelyard.stats.arrays import own_floats, own_texts, owned, row_means
from steelyard.stats.permutation.corpus import CorpusStatistics

Kind = Literal["human", "metric"]
KINDS: tuple[Kind, ...] = ("human", "metric")
#: The arrays of a score, and how many axes each has.
_AXES = {"values": 2, "system_scores": 1, "domain_scores": 2, "document_scores": 2}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ScoreTable:
    """The scores of one metric or human protocol: ``values`` is systems x segments, NaN missing.

    ``uses`` names what the scorer sees (``src``, names of references); ``system_scores`` are the
    official scores per system where they are not the mean of the segments (corpus BLEU), and
    likewise ``domain_scores`` (sorted by name) and ``document_scores`` (in order of segments).
    ``statistics`` are what a corpus score is made of, where texts were scored here; they follow
    every selection, and no file keeps them. ``direction_given`` says whether somebody said which
    direction is better, or whether that was assumed.
    """

    values: Floats
    kind: Kind = "metric"
    higher_is_better: bool = True
    uses: tuple[str, ...] = ()
    system_scores: Floats | None = None
    domain_scores: Floats | None = None
    document_scores: Floats | None = None
    statistics: CorpusStatistics | None = None
    direction_given: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        for name, ndim in _AXES.items():
            array = getattr(self, name)
            if array is not None or name == "values":
                object.__setattr__(self, name, own_floats(array, name, ndim))
        if self.kind not in KINDS:
            raise UsageError(f"unknown kind {self.kind!r}; {hint(str(self.kind), KINDS)}")
        if not isinstance(self.higher_is_better, (bool, np.bool_)):
            raise UsageError(f"higher_is_better: {self.higher_is_better!r}, expected True or False")
        object.__setattr__(self, "uses", own_texts(self.uses, "uses"))
        stats = self.statistics
        if not isinstance(stats, CorpusStatistics | None):
            raise UsageError(f"statistics: expected CorpusStatistics, got {type(stats).__name__}")
        object.__setattr__(self, "statistics", _turned(stats, higher=self.higher_is_better))

    def __repr__(self) -> str:
        systems, segments = self.values.shape
        size = f"{plural(systems, 'system')}, {plural(segments, 'segment')}"
        better = "higher" if self.higher_is_better else "lower"
        return one_line(self, f"of a {self.kind} score: {size}; {better} is better")

    @property
    def has_segments(self) -> bool:
        """Whether any segment has a score (some metrics exist at system level only)."""
        first = self.values[:1, :1]  # which mostly settles it
        known = first.size and not np.isnan(first[0, 0])
        return bool(known) or not bool(np.isnan(self.values).all())

    @property
    def oriented(self) -> Floats:
        """The values with the sign that makes higher better."""
        return self.values if self.higher_is_better else freeze(-self.values)

    def system_means(self) -> Floats:
        """Give the score of each system: the official one, else that of its segments together.

        That is the corpus score where its statistics are known, and the mean of the segments else.
        """
        if self.system_scores is not None:
            return self.system_scores
        if self.statistics is not None:
            return self.statistics.corpus_scores()
        return row_means(self.values)

    def identical(self, other: ScoreTable) -> bool:
        """Tell whether the other table holds the same bits (NaN equals NaN)."""
        named = [f.name for f in fields(self) if f.compare]
        return all(_equal(getattr(self, name), getattr(other, name)) for name in named)

    def _map(
        self,
        change: Callable[[str, Floats], Floats | None],
        *,
        systems: Index | None = None,
        segments: Index | None = None,
    ) -> ScoreTable:
        """Change every array, and select the same systems or segments of the statistics."""
        new: dict[str, Any] = {}
        for name in _AXES:
            array = getattr(self, name)
            found = None if array is None else change(name, array)
            new[name] = None if found is None else owned(found)
        if self.statistics is not None:
            new["statistics"] = self.statistics.select(systems, segments)
        return changed(self, **new)


def _turned(stats: CorpusStatistics | None, *, higher: bool) -> CorpusStatistics | None:
    """Let the statistics of a corpus score have the direction of the score."""
    if stats is None or stats.higher_is_better == higher:
        return stats
    return replace(stats, higher_is_better=higher)


def _equal(mine: object, theirs: object) -> bool:
    if isinstance(mine, CorpusStatistics) and isinstance(theirs, CorpusStatistics):
        return mine.identical(theirs)
    if isinstance(mine, np.ndarray) and isinstance(theirs, np.ndarray):
        return same_bits(mine, theirs)
    return mine is theirs or bool(mine == theirs)


def _run(index: Index) -> Index | slice:
    """Give places that follow on each other as a slice, others as they are."""
    if len(index) and np.array_equal(index, np.arange(index[0], index[0] + len(index))):
        return slice(int(index[0]), int(index[0]) + len(index))
    return index


def _take(array: Floats, places: Index | slice, axis: int) -> Floats:
    """Pick along an axis; a contiguous run is a view and no copy."""
    found = places if isinstance(places, slice) else _run(places)
    if isinstance(found, slice):
        return array[found] if axis == 0 else array[:, found]
    return np.take(array, found, axis=axis)


@dataclass(frozen=True, slots=True, eq=False)
class EvalSet:
    """One test set: systems, segments, and everything that was said about their outputs.

    Build one with :func:`steelyard.load`, or from arrays as in the example. Systems are put in
    sorted order, whatever order they come in. ``neighbours`` says, by the files that scores were
    loaded from, which other scores are human if one of them is (:meth:`with_human`).

    Examples
    --------
    >>> import numpy as np
    >>> es = EvalSet(
    ...     systems=("B", "A"),
    ...     segments=Segments(("1", "2")),
    ...     scores={"chrF": ScoreTable(np.array([[3.0, 4.0], [1.0, np.nan]]))},
    ... )
    >>> es.systems, es.scores["chrF"].values.tolist()
    (('A', 'B'), [[1.0, nan], [3.0, 4.0]])
    >>> es.select(systems=["A"]).n_systems
    1
    """

    systems: tuple[str, ...]
    segments: Segments
    scores: Mapping[str, ScoreTable] = field(default_factory=dict)
    outputs: Mapping[str, Texts] = field(default_factory=dict)
    ratings: Mapping[str, Ratings] = field(default_factory=dict)
    name: str | None = None
    language_pair: str | None = None
    inputs: tuple[InputFile, ...] = ()
    notes: tuple[str, ...] = ()
    neighbours: Mapping[str, frozenset[str]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._check_types()
        self._check_shapes(self.scores)
        self._check_names()
        self._arrange()

    def _arrange(self) -> None:
        """Put everything into canonical order."""
        rows = np.array(sorted(range(len(self.systems)), key=self.systems.__getitem__), np.int64)
        segments, columns = self.segments.canonical()
        if not np.array_equal(rows, np.arange(len(rows))):
            self._reorder(rows, axis=0)
        if columns is not None:
            self._reorder(columns, axis=1)
        object.__setattr__(self, "segments", segments)
        for name in ("scores", "outputs", "ratings"):
            object.__setattr__(self, name, Frozen(sorted(getattr(self, name).items())))

    def __repr__(self) -> str:
        """Say in a line what the set holds, and that there are notes to read."""
        named = " ".join(brief([name]) for name in (self.name, self.language_pair) if name)
        held = [plural(self.n_systems, "system"), plural(self.n_segments, "segment")]
        held += [plural(len(self.human), "human score"), plural(len(self.metrics), "metric")]
        held += [f"{plural(len(self.notes), 'note')} (see .notes)"] if self.notes else []
        return f"EvalSet({printable(named)}{': ' if named else ''}{', '.join(held)})"

    def _repr_html_(self) -> str:
        """Show in a notebook what the set holds: a row per score."""
        from steelyard.data.overview import overview

        return overview(self)._repr_html_()

    def _check_types(self) -> None:
        names = own_texts(self.systems, "system names", distinct=True, named=True)
        object.__setattr__(self, "systems", names)
        object.__setattr__(self, "notes", own_texts(self.notes, "notes"))
        _need(self.segments, Segments, "segments")
        for name in ("name", "language_pair"):
            _need(getattr(self, name), str | None, name)
        for name, kind in (("scores", ScoreTable), ("outputs", None), ("ratings", Ratings)):
            given = getattr(self, name)
            _need(given, Mapping, name)
            own_texts(given, f"names of {name}", named=True)
            if kind is not None:
                for key, value in given.items():
                    _need(value, kind, f"{name}['{key}']")
        outputs = {n: own_texts(t, f"outputs['{n}']", optional=True)
                   for n, t in self.outputs.items()}  # fmt: skip
        object.__setattr__(self, "outputs", outputs)

    def _check_shapes(self, scores: Mapping[str, ScoreTable]) -> None:
        n, s = len(self.systems), len(self.segments)
        widths = {"domain_scores": len(self.domains), "document_scores": len(self.documents)}
        for name, table in scores.items():
            if table.values.shape != (n, s):
                raise ShapeError(
                    f"scores of '{name}': {n} systems and {s} segments but a matrix of shape "
                    f"{table.values.shape}; rows must be systems"
                )
            if table.system_scores is not None and table.system_scores.shape != (n,):
                raise ShapeError(
                    f"system scores of '{name}': {n} systems, shape {table.system_scores.shape}"
                )
            stats = table.statistics
            if stats is not None and stats.values.shape[:2] != (n, s):
                raise ShapeError(
                    f"statistics of '{name}': {n} systems and {s} segments, "
                    f"shape {stats.values.shape}"
                )
            for level, width in widths.items():
                array = getattr(table, level)
                if array is not None and array.shape != (n, width):
                    raise ShapeError(f"{level} of '{name}': shape {array.shape}, not {(n, width)}")

    def _check_names(self) -> None:
        for system, texts in self.outputs.items():
            if system not in self.systems or len(texts) != self.n_segments:
                raise ShapeError(
                    f"outputs of '{system}': unknown system or not {self.n_segments} texts"
                )
        for name, ratings in self.ratings.items():
            if not set(ratings.systems) <= set(self.systems):
                raise ShapeError(f"ratings '{name}' name a system that the set does not have")
            if not set(ratings.segments) <= set(self.segments.ids):
                raise ShapeError(f"ratings '{name}' name a segment that the set does not have")

    def _reorder(self, index: Index, axis: int) -> None:
        documents = self.documents
        if axis == 0:
            object.__setattr__(self, "systems", tuple(self.systems[i] for i in index))
        else:
            object.__setattr__(self, "segments", self.segments.take(index))
            pick = {name: tuple(texts[i] for i in index) for name, texts in self.outputs.items()}
            object.__setattr__(self, "outputs", pick)
        moved = np.array([documents.index(name) for name in self.documents], dtype=np.int64)

        def change(level: str, array: Floats) -> Floats:
            if axis == 0:
                return _take(array, index, 0)
            if level == "document_scores":
                return _take(array, moved, 1)
            return _take(array, index, 1) if level == "values" else array

        where = {"systems" if axis == 0 else "segments": index}
        object.__setattr__(
            self, "scores", {name: t._map(change, **where) for name, t in self.scores.items()}
        )

    @property
    def n_systems(self) -> int:
        """How many systems there are."""
        return len(self.systems)

    @property
    def n_segments(self) -> int:
        """How many segments there are."""
        return len(self.segments)

    @property
    def documents(self) -> tuple[str, ...]:
        """Names of the documents, in the order of the segments; empty where unknown."""
        return tuple(dict.fromkeys(d for d in self.segments.documents or () if d is not None))

    @property
    def domains(self) -> tuple[str, ...]:
        """Names of the domains, sorted; empty where unknown."""
        return tuple(sorted({d for d in self.segments.domains or () if d is not None}))

    @property
    def references(self) -> tuple[str, ...]:
        """Names of the reference translations."""
        return tuple(self.segments.references)

    @property
    def human(self) -> tuple[str, ...]:
        """Names of the human scores."""
        return tuple(name for name, table in self.scores.items() if table.kind == "human")

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metric scores."""
        return tuple(name for name, table in self.scores.items() if table.kind == "metric")

    def with_human(self, human: str | None) -> EvalSet:
        """Name the human score: its neighbours in the files that were loaded are human, too."""
        names = self.neighbours.get(human, frozenset()) if isinstance(human, str) else frozenset()
        if not any(self.scores[name].kind == "metric" for name in names & self.scores.keys()):
            return self
        scores = {
            name: changed(table, kind="human", uses=()) if name in names else table
            for name, table in self.scores.items()
        }
        return revised(self, scores=scores)

    def __getitem__(self, name: str) -> ScoreTable:
        if not isinstance(name, str) or name not in self.scores:
            raise UsageError(f"no score named '{name}'; {hint(str(name), self.scores)}")
        return self.scores[name]

    def with_scores(self, name: str, scores: ScoreTable | ArrayLike, **attributes: Any) -> EvalSet:
        """Add or replace a score; arrays have one row per system in the order of ``systems``."""
        if not isinstance(scores, ScoreTable):
            table = ScoreTable(scores, **attributes)  # type: ignore[arg-type]
        else:
            table = replace(scores, **attributes) if attributes else scores
        own_texts([name], "names of scores", named=True)
        self._check_shapes({name: table})
        return revised(self, scores={**self.scores, name: table})

    def select(
        self,
        *,
        systems: Iterable[str] | None = None,
        segments: Iterable[str] | None = None,
        domain: str | None = None,
        scores: Iterable[str] | None = None,
    ) -> EvalSet:
        """Keep only these systems, segments, one domain, or these scores.

        Official system scores hold for all segments: where a selection removes some, they become
        the stored scores of the domain if one is selected and has them, and unknown otherwise
        (corpus scores are then made of the statistics that are left, where these are known).
        """
        result = self
        if scores is not None:
            kept = _known(scores, self.scores, "score")
            kept_scores = {n: t for n, t in self.scores.items() if n in kept}
            result = revised(result, scores=kept_scores)
        if systems is not None:
            chosen = _known(systems, self.systems, "system")
            result = result._keep_systems([i for i, n in enumerate(self.systems) if n in chosen])
        if segments is not None:
            wanted = _known(segments, self.segments.ids, "segment")
            ids = self.segments.ids
            result = result._keep_segments([i for i, n in enumerate(ids) if n in wanted])
        if domain is not None:
            _known([domain], self.domains, "domain")
            domains = result.segments.domains or ()
            result = result._keep_segments(
                [i for i, d in enumerate(domains) if d == domain], domain
            )
        return result

    def drop(
        self,
        *,
        systems: Iterable[str] = (),
        segments: Iterable[str] = (),
        scores: Iterable[str] = (),
    ) -> EvalSet:
        """Leave out these systems, segments or scores; an unknown name is an error."""
        no_systems = _known(systems, self.systems, "system")
        no_segments = _known(segments, self.segments.ids, "segment")
        no_scores = _known(scores, self.scores, "score")
        return self.select(
            systems=[s for s in self.systems if s not in no_systems] if no_systems else None,
            segments=[s for s in self.segments.ids if s not in no_segments]
            if no_segments
            else None,
            scores=[s for s in self.scores if s not in no_scores] if no_scores else None,
        )

    def _keep_systems(self, rows: list[int]) -> EvalSet:
        if len(rows) == self.n_systems:
            return self
        index = np.array(rows, dtype=np.int64)
        names = tuple(self.systems[i] for i in rows)
        run = _run(index)
        tables = {
            n: t._map(lambda _, a: _take(a, run, 0), systems=index) for n, t in self.scores.items()
        }
        return revised(
            self,
            systems=names,
            scores=tables,
            outputs={n: texts for n, texts in self.outputs.items() if n in names},
            ratings={n: r.select(systems=names) for n, r in self.ratings.items()},
        )

    def _keep_segments(self, columns: list[int], domain: str | None = None) -> EvalSet:
        if len(columns) == self.n_segments:
            return self
        index = np.array(columns, dtype=np.int64)
        segments = self.segments.take(index)
        whole = _whole_documents(self.segments.documents, segments.documents)
        documents = np.array([i for i, d in enumerate(self.documents) if d in whole], np.int64)
        one = self.domains.index(domain) if domain in self.domains else None

        def change(level: str, array: Floats) -> Floats | None:
            if level == "values":
                return _take(array, index, 1)
            if level == "document_scores" and len(whole) == len(set(segments.documents or ())):
                return _take(array, documents, 1)
            if level == "domain_scores" and one is not None:
                return array[:, one : one + 1]
            return None

        tables = {}
        for name, table in self.scores.items():
            cut = table._map(change, segments=index)
            if one is not None and table.domain_scores is not None:
                cut = changed(cut, system_scores=owned(table.domain_scores[:, one]))
            tables[name] = cut
        result = revised(
            self,
            segments=segments,
            scores=tables,
            outputs={n: tuple(texts[i] for i in columns) for n, texts in self.outputs.items()},
            ratings={n: r.select(segments=segments.ids) for n, r in self.ratings.items()},
        )
        result._arrange()  # documents that were torn apart may be whole, and stand elsewhere
        return result

    def columns(self, *, texts: bool = False) -> dict[str, Any]:
        """Give the set as columns of a long table: a row for every (system, segment).

        Missing scores are NaN, missing texts None. ``texts`` adds sources, references and outputs.
        """
        n, seg = self.n_systems, self.segments
        table: dict[str, Any] = {
            "system": [name for name in self.systems for _ in range(self.n_segments)],
            "segment": list(seg.ids) * n,
        }
        known = {"doc": seg.documents, "domain": seg.domains}
        if texts:
            known |= {"source": seg.sources, "accepted_names": seg.accepted}
            known |= {f"ref:{name}": column for name, column in seg.references.items()}
        table |= {name: list(column) * n for name, column in known.items() if column is not None}
        if texts and self.outputs:
            blank: Texts = (None,) * self.n_segments
            table["output"] = [t for s in self.systems for t in self.outputs.get(s, blank)]
        table |= {name: t.values.ravel() for name, t in self.scores.items() if t.has_segments}
        return table

    def to_frame(self, backend: str | None = None, *, texts: bool = False) -> Frame:
        """Give the long table as a pandas or polars frame (whichever is installed, or as named)."""
        return frame(self.columns(texts=texts), backend)

    def identical(self, other: EvalSet) -> bool:
        """Tell whether the other set holds the same names, texts, ratings and bits of scores.

        Where the sets came from (``name``, ``inputs``, ``notes``) is not compared.
        """
        return (
            self.systems == other.systems
            and self.segments == other.segments
            and self.language_pair == other.language_pair
            and self.outputs == other.outputs
            and self.scores.keys() == other.scores.keys()
            and all(table.identical(other.scores[n]) for n, table in self.scores.items())
            and self.ratings.keys() == other.ratings.keys()
            and all(r.identical(other.ratings[n]) for n, r in self.ratings.items())
        )


def drafted(systems: tuple[str, ...], segments: Segments, **parts: Any) -> EvalSet:
    """Make a set of what a reader found: in canonical order, and checked when all is joined."""
    es = made(EvalSet, systems=systems, segments=segments, **parts)
    es._arrange()
    return es


def revised(es: EvalSet, **parts: Any) -> EvalSet:
    """Give a set other parts that fit it as well."""
    for name in {"scores", "outputs", "ratings"} & parts.keys():
        parts[name] = Frozen(sorted(parts[name].items()))
    return changed(es, **parts)


def described(
    table: ScoreTable, kind: Kind, uses: tuple[str, ...], *, higher: bool, given: bool
) -> ScoreTable:
    """Say something else of the same scores: their kind, what they see, their direction."""
    stats = _turned(table.statistics, higher=higher)
    said = {"kind": kind, "uses": uses, "direction_given": given}
    return changed(table, higher_is_better=higher, statistics=stats, **said)


def need_outputs(es: EvalSet) -> None:
    """Refuse a set without any output, which has nothing to be scored."""
    if not es.outputs:
        told = "no outputs of systems to score, expected texts of at least one"
        if es.inputs:
            raise InputError(told, path=listed([file.path for file in es.inputs]))
        raise UsageError(f"the set has {told}")


def _need(value: object, kind: Any, what: str) -> None:
    if not isinstance(value, kind):
        expected = getattr(kind, "__name__", str(kind))
        raise UsageError(f"{what}: expected {expected}, got {type(value).__name__}")


def _whole_documents(before: Texts | None, after: Texts | None) -> set[str]:
    """Documents that a selection of segments left complete (only their scores still hold)."""
    if before is None or after is None:
        return set()
    total, kept = Counter(before), Counter(after)
    return {d for d, n in kept.items() if d is not None and n == total[d]}


def _known(names: Iterable[str], known: Iterable[str], what: str) -> set[str]:
    if isinstance(names, str):
        raise UsageError(f"expected a list of {what} names, got the string '{names}'")
    if not isinstance(names, Iterable):
        raise UsageError(f"expected a list of {what} names, got {names!r}")
    wanted, have = set(names), set(known)
    for name in sorted(wanted - have):
        raise UsageError(f"unknown {what} '{name}'; {hint(name, have)}")
    return wanted

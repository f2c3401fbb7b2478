"""EvalSet: one test set in one setting, N systems x S segments.

Systems and segments are in canonical order, missing scores are NaN, everything is read-only.
Alignment, orientation and missing values are settled here, for all statistics.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from steelyard.core.display import named, one_line
from steelyard.core.errors import InputError, ShapeError, UsageError, hint, printable
from steelyard.core.provenance import InputFile
from steelyard.core.table import Frame, frame
from steelyard.core.text import listed, plural
from steelyard.data.judgements import Floats, Ratings, same_values
from steelyard.data.segments import (
    Frozen,
    Index,
    Segments,
    Texts,
    checked_texts,
    positions,
    set_fields,
)
from steelyard.stats.arrays import own_floats, row_means, sealed
from steelyard.stats.permutation.corpus import CorpusStatistics

Kind = Literal["human", "metric"]
KINDS: tuple[Kind, ...] = ("human", "metric")
#: The arrays of a score, and how many axes each has.
_AXES = {"values": 2, "system_scores": 1, "domain_scores": 2, "document_scores": 2}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ScoreTable:
    """The scores of one metric or human protocol: ``values`` is systems x segments, NaN missing.

    ``uses`` names what the scorer sees (``src``, names of references); ``system_scores`` are the
    official scores per system where they are not the mean of the segments (corpus BLEU), likewise
    ``domain_scores`` (sorted by name) and ``document_scores`` (in order of segments).
    ``statistics`` are what a corpus score is made of, where texts were scored here.
    ``direction_given`` says whether the direction was stated, or assumed.
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
                set_fields(self, **{name: own_floats(array, name, ndim)})
        if self.kind not in KINDS:
            raise UsageError(f"unknown kind {self.kind!r}; {hint(str(self.kind), KINDS)}")
        _need(self.higher_is_better, bool | np.bool_, "higher_is_better", "True or False")
        _need(self.statistics, CorpusStatistics | None, "statistics", "CorpusStatistics")
        stats = self.statistics
        if stats is not None and stats.higher_is_better != self.higher_is_better:
            stats = replace(stats, higher_is_better=self.higher_is_better)
        set_fields(self, uses=checked_texts(self.uses, "uses"), statistics=stats)

    def __repr__(self) -> str:
        systems, segments = self.values.shape
        size = f"{plural(systems, 'system')}, {plural(segments, 'segment')}"
        better = "higher" if self.higher_is_better else "lower"
        return one_line(self, f"of a {self.kind} score: {size}; {better} is better")

    @property
    def has_segments(self) -> bool:
        """Whether any segment has a score (some metrics exist at system level only)."""
        return not bool(np.isnan(self.values).all())

    @property
    def oriented(self) -> Floats:
        """The values with the sign that makes higher better."""
        return self.values if self.higher_is_better else sealed(-self.values)

    def system_means(self) -> Floats:
        """Return each system's official score, else its corpus score, else its mean."""
        if self.system_scores is not None:
            return self.system_scores
        if self.statistics is not None:
            return self.statistics.corpus_scores()
        return row_means(self.values)

    def identical(self, other: ScoreTable) -> bool:
        """Return whether the other table holds the same bits (NaN equals NaN)."""
        names = [f.name for f in fields(self) if f.compare and f.name != "statistics"]
        mine, theirs = self.statistics, other.statistics
        same = mine is theirs if mine is None or theirs is None else mine.identical(theirs)
        return same and all(same_values(getattr(self, n), getattr(other, n)) for n in names)

    def _take(
        self,
        systems: Index | None = None,
        segments: Index | None = None,
        documents: Index | None = None,
        **coarse: Floats | None,
    ) -> ScoreTable:
        """Keep systems, segments, documents; ``coarse`` replaces arrays of neither."""
        arrays = {name: getattr(self, name) for name in _AXES} | coarse
        picked: dict[str, Any] = {n: _pick(array, systems, 0) for n, array in arrays.items()}
        picked["values"] = _pick(picked["values"], segments, 1)
        picked["document_scores"] = _pick(picked["document_scores"], documents, 1)
        stats = self.statistics and self.statistics.select(systems, segments)
        return replace(self, **picked, statistics=stats)


def _pick(array: Floats | None, index: Index | None, axis: int) -> Floats | None:
    """Pick along an axis; a contiguous run is a view and no copy."""
    if array is None or index is None:
        return array
    first = int(index[0]) if len(index) else 0
    if np.array_equal(index, np.arange(first, first + len(index))):
        run = slice(first, first + len(index))
        return array[run] if axis == 0 else array[:, run]
    return sealed(np.take(array, index, axis=axis))


@dataclass(frozen=True, slots=True, eq=False)
class EvalSet:
    """One test set: systems, segments, and all scores, ratings and texts of their outputs.

    Build one with :func:`steelyard.load`, or from arrays as in the example. Systems are sorted.
    ``neighbours`` says which other scores are human if one is (:meth:`with_human`).

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
        self._check_shapes()
        systems, documents = tuple(sorted(self.systems)), self.documents
        rows = None if systems == self.systems else positions(systems, self.systems)
        segments, columns = self.segments.canonical()
        set_fields(self, systems=systems, segments=segments)
        scores, outputs = self.scores, self.outputs
        if rows is not None or columns is not None:
            order = positions(self.documents, documents)
            scores = {name: table._take(rows, columns, order) for name, table in scores.items()}
        if columns is not None:
            outputs = {name: tuple(texts[i] for i in columns) for name, texts in outputs.items()}
        for name, value in (("scores", scores), ("outputs", outputs), ("ratings", self.ratings)):
            set_fields(self, **{name: Frozen(sorted(value.items()))})

    def _check_types(self) -> None:
        systems = checked_texts(self.systems, "system names", distinct=True, named=True)
        set_fields(self, systems=systems, notes=checked_texts(self.notes, "notes"))
        _need(self.segments, Segments, "segments")
        _need(self.name, str | None, "name")
        _need(self.language_pair, str | None, "language_pair")
        for name, kind in (("scores", ScoreTable), ("outputs", object), ("ratings", Ratings)):
            mapping = getattr(self, name)
            _need(mapping, Mapping, name)
            checked_texts(mapping, f"names of {name}", named=True)
            for key, value in mapping.items():
                _need(value, kind, f"{name}['{key}']")
        texts = {key: checked_texts(column, f"outputs['{key}']", optional=True)
                 for key, column in self.outputs.items()}  # fmt: skip
        set_fields(self, outputs=texts)

    def _check_shapes(self) -> None:
        n, s = self.n_systems, self.n_segments
        shapes = {
            "values": (n, s),
            "system_scores": (n,),
            "domain_scores": (n, len(self.domains)),
            "document_scores": (n, len(self.documents)),
        }
        for name, table in self.scores.items():
            for part, shape in shapes.items():
                array = getattr(table, part)
                if array is not None and array.shape != shape:
                    raise ShapeError(
                        f"{part} of '{name}': expected shape {shape} for {n} systems and {s} "
                        f"segments, got {array.shape}; rows must be systems"
                    )
            stats = table.statistics
            if stats is not None and stats.values.shape[:2] != (n, s):
                got = stats.values.shape
                raise ShapeError(f"statistics of '{name}': {n} systems, {s} segments, got {got}")
        for system, texts in self.outputs.items():
            if system not in self.systems or len(texts) != s:
                raise ShapeError(f"outputs of '{system}': unknown system or not {s} texts")
        for name, ratings in self.ratings.items():
            if not set(ratings.systems) <= set(self.systems):
                raise ShapeError(f"ratings '{name}' name a system that the set does not have")
            if not set(ratings.segments) <= set(self.segments.ids):
                raise ShapeError(f"ratings '{name}' name a segment that the set does not have")

    def __repr__(self) -> str:
        title = " ".join(named([name]) for name in (self.name, self.language_pair) if name)
        held = [plural(self.n_systems, "system"), plural(self.n_segments, "segment")]
        held += [plural(len(self.human), "human score"), plural(len(self.metrics), "metric")]
        held += [f"{plural(len(self.notes), 'note')} (see .notes)"] if self.notes else []
        return f"EvalSet({printable(title)}{': ' if title else ''}{', '.join(held)})"

    def _repr_html_(self) -> str:
        """Show in a notebook what the set holds: a row per score."""
        from steelyard.data.overview import overview

        return overview(self)._repr_html_()

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
            name: replace(table, kind="human", uses=()) if name in names else table
            for name, table in self.scores.items()
        }
        return replace(self, scores=scores)

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
        return replace(self, scores={**self.scores, name: table})

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
        the stored scores of the selected domain, or unknown.
        """
        result = self
        if scores is not None:
            kept = _existing(scores, self.scores, "score")
            result = replace(result, scores={n: t for n, t in self.scores.items() if n in kept})
        if systems is not None:
            kept = _existing(systems, self.systems, "system")
            result = result._keep_systems([i for i, n in enumerate(self.systems) if n in kept])
        if segments is not None:
            kept = _existing(segments, self.segments.ids, "segment")
            columns = [i for i, n in enumerate(self.segments.ids) if n in kept]
            result = result._keep_segments(columns)
        if domain is not None:
            _existing([domain], self.domains, "domain")
            columns = [i for i, d in enumerate(result.segments.domains or ()) if d == domain]
            result = result._keep_segments(columns, domain)
        return result

    def drop(
        self,
        *,
        systems: Iterable[str] = (),
        segments: Iterable[str] = (),
        scores: Iterable[str] = (),
    ) -> EvalSet:
        """Leave out these systems, segments or scores; an unknown name is an error."""

        def rest(names: Iterable[str], every: Iterable[str], what: str) -> list[str] | None:
            dropped = _existing(names, every, what)
            return [name for name in every if name not in dropped] if dropped else None

        return self.select(
            systems=rest(systems, self.systems, "system"),
            segments=rest(segments, self.segments.ids, "segment"),
            scores=rest(scores, self.scores, "score"),
        )

    def _keep_systems(self, rows: list[int]) -> EvalSet:
        if len(rows) == self.n_systems:
            return self
        index = np.array(rows, dtype=np.int64)
        names = tuple(self.systems[i] for i in rows)
        return replace(
            self,
            systems=names,
            scores={name: table._take(index) for name, table in self.scores.items()},
            outputs={name: texts for name, texts in self.outputs.items() if name in names},
            ratings={name: r.select(systems=names) for name, r in self.ratings.items()},
        )

    def _keep_segments(self, columns: list[int], domain: str | None = None) -> EvalSet:
        if len(columns) == self.n_segments:
            return self
        index = np.array(columns, dtype=np.int64)
        segments = self.segments.take(index)
        # Stored scores of documents hold where no document lost a segment.
        total, kept = Counter(self.segments.documents), Counter(segments.documents)
        torn = any(name is None or n < total[name] for name, n in kept.items())
        documents = np.flatnonzero([kept[name] > 0 for name in self.documents])
        scores = {}
        for name, table in self.scores.items():
            coarse: dict[str, Any] = {"system_scores": None, "domain_scores": None}
            if domain in self.domains and table.domain_scores is not None:
                at = self.domains.index(domain)
                coarse["system_scores"] = table.domain_scores[:, at]
                coarse["domain_scores"] = table.domain_scores[:, [at]]
            if torn:
                coarse["document_scores"] = None
            scores[name] = table._take(None, index, documents, **coarse)
        outputs = {name: tuple(texts[i] for i in columns) for name, texts in self.outputs.items()}
        ratings = {name: r.select(segments=segments.ids) for name, r in self.ratings.items()}
        return replace(self, segments=segments, scores=scores, outputs=outputs, ratings=ratings)

    def columns(self, *, texts: bool = False) -> dict[str, Any]:
        """Return a long table, a row per (system, segment); ``texts`` adds those of each."""
        n, segments = self.n_systems, self.segments
        table: dict[str, Any] = {
            "system": [name for name in self.systems for _ in range(self.n_segments)],
            "segment": list(segments.ids) * n,
        }
        repeated = {"doc": segments.documents, "domain": segments.domains, **segments.metadata}
        if texts:
            repeated |= {"source": segments.sources, "accepted_names": segments.accepted}
            repeated |= {f"ref:{name}": column for name, column in segments.references.items()}
        table |= {name: list(column) * n for name, column in repeated.items() if column is not None}
        if texts and self.outputs:
            blank: Texts = (None,) * self.n_segments
            table["output"] = [t for s in self.systems for t in self.outputs.get(s, blank)]
        table |= {name: t.values.ravel() for name, t in self.scores.items() if t.has_segments}
        return table

    def to_frame(self, backend: str | None = None, *, texts: bool = False) -> Frame:
        """Return the long table as a pandas or polars frame (whichever is installed, or named)."""
        return frame(self.columns(texts=texts), backend)

    def identical(self, other: EvalSet) -> bool:
        """Return whether the other set holds the same; where they came from is not compared."""
        names = ("systems", "segments", "language_pair", "outputs")
        if any(getattr(self, name) != getattr(other, name) for name in names):
            return False
        mine: dict[Any, Any] = {**self.scores, **{(n,): r for n, r in self.ratings.items()}}
        theirs: dict[Any, Any] = {**other.scores, **{(n,): r for n, r in other.ratings.items()}}
        return mine.keys() == theirs.keys() and all(mine[k].identical(theirs[k]) for k in mine)


def need_outputs(es: EvalSet) -> None:
    """Refuse a set without any output, which has nothing to be scored."""
    if not es.outputs:
        problem = "no outputs of systems to score, expected texts of at least one"
        raise InputError(problem, path=listed([file.path for file in es.inputs]) or None)


def _need(value: object, kind: Any, what: str, expected: str = "") -> None:
    if not isinstance(value, kind):
        expected = expected or getattr(kind, "__name__", str(kind))
        raise UsageError(f"{what}: expected {expected}, got {type(value).__name__}")


def _existing(names: Iterable[str], every: Iterable[str], what: str) -> set[str]:
    """Return names as a set; an unknown one is an error with a hint."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise UsageError(f"expected a list of {what} names, got {names!r}")
    wanted, existing = set(names), set(every)
    for name in sorted(wanted - existing):
        raise UsageError(f"unknown {what} '{name}'; {hint(name, existing)}")
    return wanted

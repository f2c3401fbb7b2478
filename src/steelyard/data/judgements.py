"""What people said, before it becomes scores: ratings, rankings and battles, as columns.

Every class keeps names once (``systems``, ``segments``, ``raters``, sorted) and the rows as integer
codes into them, so that millions of judgements are a few arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from steelyard.core.display import one_line
from steelyard.core.errors import ShapeError, UsageError
from steelyard.core.text import plural
from steelyard.stats.arrays import own_codes, own_floats, own_texts, owned

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ErrorSpan:
    """One error that a rater marked: characters ``start`` to ``end`` (exclusive) of the output.

    ``category`` and ``severity`` are blank where the rater gave none, which files write as null;
    ``score`` is the weight that the file gave to it, None where the file gives none;
    ``in_source`` says that the span counts characters of the source instead.
    """

    category: str
    severity: str
    start: int | None = None
    end: int | None = None
    score: float | None = None
    in_source: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Give the object that rating files use for one error."""
        return {
            "start": self.start,
            "end": self.end,
            "category": self.category or None,
            "severity": self.severity or None,
            "score": self.score,
            "is_source_error": self.in_source,
        }


def encode(labels: Sequence[str]) -> tuple[tuple[str, ...], Codes]:
    """Split a column of labels into its sorted names and a code per row.

    Examples
    --------
    >>> names, codes = encode(["b", "a", "b"])
    >>> names, codes.tolist()
    (('a', 'b'), [1, 0, 1])
    """
    names = tuple(sorted(set(labels)))
    place = {name: code for code, name in enumerate(names)}
    return names, np.fromiter((place[label] for label in labels), np.int32, count=len(labels))


def _same_length(owner: object, columns: dict[str, Any]) -> None:
    lengths = {name: len(column) for name, column in columns.items() if column is not None}
    if len(set(lengths.values())) > 1:
        raise ShapeError(f"{type(owner).__name__}: columns of different lengths: {lengths}")


def _own_names(owner: object, *names: str) -> None:
    for name in names:
        if getattr(owner, name) is not None:
            given, known = getattr(owner, name), name == "systems"  # a rater may be unknown
            own = own_texts(given, f"names of {name}", distinct=True, named=known)
            object.__setattr__(owner, name, own)


def _own_codes(owner: object, **columns: str) -> None:
    """Check columns of codes, and the names that they are codes of."""
    for name, names in columns.items():
        if getattr(owner, name) is not None:
            own = own_codes(getattr(owner, name), name, len(getattr(owner, names)))
            object.__setattr__(owner, name, own)


def _own_floats(owner: object, *names: str) -> None:
    for name in names:
        if getattr(owner, name) is not None:
            object.__setattr__(owner, name, own_floats(getattr(owner, name), name, 1))


def freeze(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array as read-only (a view: the caller's own array stays writable)."""
    view = array.view()
    view.flags.writeable = False
    return view


class _Columns:
    """Equality by content (NaN equals NaN) and a line that counts, shared by the three below."""

    __slots__ = ()
    _counted: ClassVar[str] = "judgement"  # what a row is called

    def __len__(self) -> int:
        raise NotImplementedError

    def __repr__(self) -> str:
        held = [
            plural(len(names), kind)
            for kind in ("system", "segment", "rater", "unit")
            if (names := getattr(self, f"{kind}s", None))
        ]
        return one_line(self, f"of {plural(len(self), self._counted)}: {', '.join(held)}")

    def identical(self, other: object) -> bool:
        """Tell whether the other one holds the same names and the same rows, bit for bit."""
        if type(other) is not type(self):
            return False
        pairs = [(getattr(self, f.name), getattr(other, f.name)) for f in fields(self)]  # type: ignore[arg-type]
        return all(_same(mine, theirs) for mine, theirs in pairs)


def _same(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, np.ndarray) and isinstance(theirs, np.ndarray):
        if mine.dtype.kind == "f":
            return same_bits(mine, theirs)
        return mine.dtype == theirs.dtype and np.array_equal(mine, theirs)
    return bool(mine == theirs)


def same_bits(mine: Floats, theirs: Floats) -> bool:
    """Compare bit by bit, which tells 0.0 from -0.0; every NaN counts as missing."""
    if mine.shape != theirs.shape:
        return False
    both_missing = np.isnan(mine) & np.isnan(theirs)
    one, other = (np.ascontiguousarray(x).view(np.int64) for x in (mine, theirs))
    return bool(((one == other) | both_missing).all())


def _renamed(
    names: Sequence[str], codes: Codes, mapping: Mapping[str, str]
) -> tuple[tuple[str, ...], Codes]:
    """Call the names behind codes otherwise; those that the mapping lacks stay."""
    renamed = [mapping.get(name, name) for name in names]
    sorted_names, place = encode(renamed)
    return sorted_names, place[codes]


_PER_ROW = (
    "errors",
    "item",
    "unit",
    "document",
    "wave",
    "domain",
)  # what ratings have as tuples, or not at all


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ratings(_Columns):
    """Raw judgements of single outputs: a value, a list of errors, or both, per row.

    Parameters
    ----------
    systems, segments, raters
        The names behind the codes.
    system, segment, rater
        Codes, one per row.
    value
        The rating (0..100 of direct assessment, the score of ESA); NaN where there is none.
    errors
        Per row the marked errors; ``()`` is "rated, no error", None is "errors not asked for".
    item
        Per row what was shown: ``system``, ``repeat``, ``ref`` or ``bad-ref``; a row that tells
        whether a rater found a planted error (value 1) or not (0) is ``attention``.
    unit
        Per row the batch (HIT) the row was rated in, or None.
    seconds
        Per row how long the rater took, NaN where unknown, or None.
    document
        Per row the document that the segment is of (``""`` where unknown), or None.
    wave
        Per row the round of the campaign, from 1, in which the output was rated (0 where unknown),
        or None. One person may rate an output in several rounds.
    domain
        Per row the domain that the segment is of (``""`` where unknown), or None.

    Rows stand in canonical order: by system, segment, rater, then as they came.
    """

    _counted: ClassVar[str] = "rating"

    systems: tuple[str, ...]
    segments: tuple[str, ...]
    raters: tuple[str, ...]
    system: Codes
    segment: Codes
    rater: Codes
    value: Floats
    errors: tuple[tuple[ErrorSpan, ...] | None, ...] | None = None
    item: tuple[str, ...] | None = None
    unit: tuple[str, ...] | None = None
    seconds: Floats | None = None
    document: tuple[str, ...] | None = None
    wave: tuple[int, ...] | None = None
    domain: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        _own_names(self, "systems", "segments", "raters")
        _own_codes(self, system="systems", segment="segments", rater="raters")
        _own_floats(self, "value", "seconds")
        for name in ("item", "unit", "document", "domain"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, own_texts(getattr(self, name), name))
        if self.errors is not None:
            listed = tuple(None if own is None else tuple(own) for own in self.errors)
            object.__setattr__(self, "errors", listed)
        if self.wave is not None:
            if not all(isinstance(n, (int, np.integer)) and n >= 0 for n in self.wave):
                raise UsageError("wave: expected whole numbers from 1, or 0 where unknown")
            object.__setattr__(self, "wave", tuple(map(int, self.wave)))
        names = ("system", "segment", "rater", "value", "seconds", *_PER_ROW)
        _same_length(self, {name: getattr(self, name) for name in names})
        order = np.lexsort((np.arange(len(self)), self.rater, self.segment, self.system))
        if not np.array_equal(order, np.arange(len(self))):
            self._set(order)

    def _set(self, rows: NDArray[np.int64]) -> None:
        for name in ("system", "segment", "rater", "value", "seconds"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, owned(getattr(self, name)[rows]))
        for name in _PER_ROW:
            column = getattr(self, name)
            if column is not None:
                object.__setattr__(self, name, tuple(column[row] for row in rows))

    def __len__(self) -> int:
        return len(self.value)

    @classmethod
    def from_labels(
        cls,
        system: Sequence[str],
        segment: Sequence[str],
        rater: Sequence[str],
        value: Floats,
        **more: Any,
    ) -> Self:
        """Build from columns of names instead of codes."""
        systems, system_codes = encode(system)
        segments, segment_codes = encode(segment)
        raters, rater_codes = encode(rater)
        return cls(
            systems, segments, raters, system_codes, segment_codes, rater_codes, value, **more
        )

    def take(self, rows: NDArray[Any]) -> Ratings:
        """Keep these rows (indices or a mask), and only the names that still occur."""
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows
        kept: dict[str, Any] = {}
        for names, codes in (("systems", "system"), ("segments", "segment"), ("raters", "rater")):
            used, renumbered = np.unique(getattr(self, codes)[rows], return_inverse=True)
            kept[names] = tuple(getattr(self, names)[code] for code in used)
            kept[codes] = renumbered.astype(np.int32)
        for name in _PER_ROW:
            column = getattr(self, name)
            kept[name] = None if column is None else tuple(column[row] for row in rows)
        kept["seconds"] = None if self.seconds is None else self.seconds[rows]
        return replace(self, value=self.value[rows], **kept)

    def renamed_raters(self, mapping: Mapping[str, str]) -> Ratings:
        """Call raters by other names; those that the mapping lacks keep theirs.

        Two raters who get the same name are one from then on.

        Examples
        --------
        >>> one = Ratings.from_labels(["A", "A"], ["1", "1"], ["ann", "bo"], np.array([5.0, 1.0]))
        >>> new = one.renamed_raters({"ann": "rater2", "bo": "rater1"})
        >>> new.raters, new.rater.tolist(), new.value.tolist()
        (('rater1', 'rater2'), [0, 1], [1.0, 5.0])
        """
        raters, rater = _renamed(self.raters, self.rater, mapping)
        return replace(self, raters=raters, rater=rater)

    def is_item(self, *kinds: str) -> NDArray[np.bool_]:
        """Tell which rows show an item of these kinds; where kinds are unknown, all are ``system``.

        Examples
        --------
        >>> one = Ratings.from_labels(["A", "A"], ["1", "1"], ["r", "r"], np.array([5.0, 1.0]),
        ...                           item=("system", "bad-ref"))
        >>> one.is_item("bad-ref").tolist()
        [False, True]
        """
        if self.item is None:
            return np.full(len(self), "system" in kinds)
        wanted = {kind: kind in kinds for kind in set(self.item)}
        return np.fromiter((wanted[kind] for kind in self.item), bool, count=len(self))

    def select(
        self, *, systems: Iterable[str] | None = None, segments: Iterable[str] | None = None
    ) -> Ratings:
        """Keep the rows of these systems and segments."""
        keep = np.ones(len(self), dtype=bool)
        for names, own, codes in (
            (systems, self.systems, self.system),
            (segments, self.segments, self.segment),
        ):
            if names is not None:
                wanted = set(names)
                keep &= np.array([name in wanted for name in own], dtype=bool)[codes]
        return self if keep.all() else self.take(keep)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rankings(_Columns):
    """Relative rankings: per row one judge orders the outputs of k systems (1 is best, ties too).

    ``system`` and ``rank`` are n x k; a place without a system has code -1 and rank NaN.
    """

    _counted: ClassVar[str] = "ranking"

    systems: tuple[str, ...]
    segments: tuple[str, ...]
    raters: tuple[str, ...]
    segment: Codes
    rater: Codes
    system: Codes
    rank: Floats

    def __post_init__(self) -> None:
        _own_names(self, "systems", "segments", "raters")
        _own_codes(self, segment="segments", rater="raters")
        system = own_codes(self.system, "system", len(self.systems), ndim=2, least=-1)
        object.__setattr__(self, "system", system)
        object.__setattr__(self, "rank", own_floats(self.rank, "rank", 2))
        names = ("segment", "rater", "system", "rank")
        _same_length(self, {name: getattr(self, name) for name in names})
        if self.system.shape != self.rank.shape:
            raise ShapeError(f"{self.system.shape} systems but {self.rank.shape} ranks")

    def __len__(self) -> int:
        return len(self.segment)

    def renamed_raters(self, mapping: Mapping[str, str]) -> Rankings:
        """Call raters by other names; those that the mapping lacks keep theirs."""
        raters, rater = _renamed(self.raters, self.rater, mapping)
        return replace(self, raters=raters, rater=rater)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BattleLog(_Columns):
    """Duels: per row ``left`` met ``right``; ``outcome`` is 1 if left won, 0 if right did.

    A tie is 0.5. ``weight`` and ``time`` are None where the log has none; ``unit`` (codes into
    ``units``) is what the battles of one prompt or segment share: what a bootstrap must resample.
    """

    _counted: ClassVar[str] = "battle"

    systems: tuple[str, ...]
    left: Codes
    right: Codes
    outcome: Floats
    weight: Floats | None = None
    time: Floats | None = None
    units: tuple[str, ...] | None = None
    unit: Codes | None = None

    def __post_init__(self) -> None:
        if (self.unit is None) != (self.units is None):
            raise UsageError("unit: expected codes and the names of units, or neither")
        _own_names(self, "systems", "units")
        _own_codes(self, left="systems", right="systems", unit="units")
        _own_floats(self, "outcome", "weight", "time")
        names = ("left", "right", "outcome", "weight", "time", "unit")
        _same_length(self, {name: getattr(self, name) for name in names})

    def __len__(self) -> int:
        return len(self.outcome)

"""Raw human judgements as columns, before they become scores: ratings, rankings and battles.

Every class keeps names once (``systems``, ``segments``, ``raters``, sorted) and the rows as integer
codes into them, so that millions of judgements are a few arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steelyard.core.display import one_line
from steelyard.core.errors import ShapeError, UsageError
from steelyard.core.text import plural
from steelyard.data.segments import checked_texts, set_fields
from steelyard.stats.arrays import need_axes, own_floats, owned

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ErrorSpan:
    """One error that a rater marked: characters ``start`` to ``end`` (exclusive) of the output."""

    category: str  # may be blank, as the severity
    severity: str
    start: int | None = None
    end: int | None = None
    score: float | None = None  # the weight that the file gives it
    in_source: bool = False  # the span counts characters of the source instead

    def to_dict(self) -> dict[str, Any]:
        """Return the object that rating files use for one error."""
        return {
            "start": self.start,
            "end": self.end,
            "category": self.category or None,
            "severity": self.severity or None,
            "score": self.score,
            "is_source_error": self.in_source,
        }


def encode(labels: Sequence[str]) -> tuple[tuple[str, ...], Codes]:
    """Split a column of labels into its sorted names and a code per row."""
    names = tuple(sorted(set(labels)))
    code = {name: k for k, name in enumerate(names)}
    return names, np.fromiter(map(code.__getitem__, labels), np.int32, count=len(labels))


def checked_codes(values: ArrayLike, what: str, n: int, *, ndim: int = 1, least: int = 0) -> Codes:
    """Return codes of ``n`` names as a read-only array; ``least`` is the smallest code."""
    codes = np.asarray(values)
    need_axes(codes, what, ndim)
    if codes.dtype.kind not in "iu" and codes.size:
        raise UsageError(f"{what}: expected codes, which are whole numbers; got {codes.dtype}")
    if codes.size and not (least <= codes.min() and codes.max() < n):
        raise ShapeError(f"{what}: codes {codes.min()} to {codes.max()}, but there are {n} names")
    return owned(codes.astype(np.int32, copy=False))


def same_values(mine: Any, theirs: Any) -> bool:
    """Compare values; floats bit by bit, which tells 0.0 from -0.0, but every NaN is equal."""
    if not (isinstance(mine, np.ndarray) and isinstance(theirs, np.ndarray)):
        return mine is theirs or bool(mine == theirs)
    if mine.dtype != theirs.dtype or mine.shape != theirs.shape:
        return False
    if mine.dtype.kind != "f":
        return np.array_equal(mine, theirs)
    missing = np.isnan(mine) & np.isnan(theirs)
    bits = (np.ascontiguousarray(x).view(np.int64) for x in (mine, theirs))
    return bool((np.equal(*bits) | missing).all())


class Columns:
    """What all judgements share: checks of their columns, equality by content, a line of counts."""

    __slots__ = ()
    _row: ClassVar[str] = "judgement"  # what a row is called

    def _check(self, codes: Mapping[str, str], floats: Sequence[str], **others: Any) -> None:
        """Check names, codes of names and numbers, and that all columns have as many rows."""
        for name in ("systems", "segments", "raters", "units"):
            if (texts := getattr(self, name, None)) is not None:
                what = f"names of {name}"
                texts = checked_texts(texts, what, distinct=True, named=name == "systems")
                set_fields(self, **{name: texts})
        for name, of in codes.items():
            if (column := getattr(self, name)) is not None:
                set_fields(self, **{name: checked_codes(column, name, len(getattr(self, of)))})
        for name in floats:
            if (column := getattr(self, name)) is not None:
                set_fields(self, **{name: own_floats(column, name, 1)})
        columns = {name: getattr(self, name) for name in (*codes, *floats)} | others
        lengths = {name: len(column) for name, column in columns.items() if column is not None}
        if len(set(lengths.values())) > 1:
            raise ShapeError(f"{type(self).__name__}: columns of different lengths: {lengths}")

    def __len__(self) -> int:
        raise NotImplementedError

    def __repr__(self) -> str:
        held = [
            plural(len(names), kind)
            for kind in ("system", "segment", "rater", "unit")
            if (names := getattr(self, f"{kind}s", None))
        ]
        return one_line(self, f"of {plural(len(self), self._row)}: {', '.join(held)}")

    def identical(self, other: object) -> bool:
        """Return whether the other one holds the same names and the same rows, bit for bit."""
        return type(other) is type(self) and all(
            same_values(getattr(self, f.name), getattr(other, f.name))
            for f in fields(self)  # type: ignore[arg-type]
        )

    def renamed_raters(self, mapping: Mapping[str, str]) -> Self:
        """Rename raters; two raters who get the same name become one."""
        kept: Any = self
        raters, code = encode([mapping.get(name, name) for name in kept.raters])
        renamed: Self = replace(kept, raters=raters, rater=code[kept.rater])
        return renamed


_CODES = {"system": "systems", "segment": "segments", "rater": "raters"}
_PER_ROW = ("errors", "item", "unit", "document", "wave", "domain")  # tuples, or None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ratings(Columns):
    """Raw judgements of single outputs: a value, a list of errors, or both, per row.

    Rows stand in canonical order: by system, segment, rater, batch, kind of item, then as they
    came. ``value`` is the rating, NaN where there is none. Of ``errors``, ``()`` is "rated, no
    error" and None "not asked for". ``item`` is what was shown: ``system``, ``repeat``, ``ref`` or
    ``bad-ref``; ``attention`` rows say whether a rater found a planted error (value 1) or not (0).
    ``unit`` is the batch (HIT) and ``seconds`` the time that a row took. ``document`` and
    ``domain`` are ``""`` where unknown, ``wave`` is the round of the campaign, from 1 (0 where
    unknown).
    """

    _row: ClassVar[str] = "rating"

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
        for name in ("item", "unit", "document", "domain"):
            if (texts := getattr(self, name)) is not None:
                set_fields(self, **{name: checked_texts(texts, name)})
        if self.errors is not None:
            spans = tuple(None if marked is None else tuple(marked) for marked in self.errors)
            set_fields(self, errors=spans)
        if self.wave is not None:
            if not all(isinstance(n, (int, np.integer)) and n >= 0 for n in self.wave):
                raise UsageError("wave: expected whole numbers from 1, or 0 where unknown")
            set_fields(self, wave=tuple(map(int, self.wave)))
        others = {name: getattr(self, name) for name in _PER_ROW}
        self._check(_CODES, ("value", "seconds"), **others)
        names = [texts for texts in (self.item, self.unit) if texts is not None]
        codes: list[Any] = [np.unique(texts, return_inverse=True)[1] for texts in names]
        order = np.lexsort((*codes, self.rater, self.segment, self.system))
        if not np.array_equal(order, np.arange(len(self))):
            set_fields(self, **self._rows(order))

    def _rows(self, rows: NDArray[np.int64]) -> dict[str, Any]:
        """Return all columns of some rows."""
        columns: dict[str, Any] = {}
        for name in (*_CODES, "value", "seconds", *_PER_ROW):
            column = getattr(self, name)
            if isinstance(column, np.ndarray):
                columns[name] = owned(column[rows])
            else:
                columns[name] = None if column is None else tuple(column[row] for row in rows)
        return columns

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
        systems, segments, raters = map(encode, (system, segment, rater))
        codes = systems[1], segments[1], raters[1]
        return cls(systems[0], segments[0], raters[0], *codes, value, **more)

    def take(self, rows: NDArray[Any]) -> Ratings:
        """Keep these rows (indices or a mask), and only the names that still occur."""
        columns = self._rows(np.flatnonzero(rows) if rows.dtype == bool else rows)
        for code, names in _CODES.items():
            used, columns[code] = np.unique(columns[code], return_inverse=True)
            columns[names] = tuple(getattr(self, names)[k] for k in used)
        return replace(self, **columns)

    def is_item(self, *kinds: str) -> NDArray[np.bool_]:
        """Return which rows show an item of these kinds; all are ``system`` where unknown."""
        if self.item is None:
            return np.full(len(self), "system" in kinds)
        return np.fromiter((kind in kinds for kind in self.item), bool, count=len(self))

    def select(
        self, *, systems: Iterable[str] | None = None, segments: Iterable[str] | None = None
    ) -> Ratings:
        """Keep the rows of these systems and segments."""
        keep = np.ones(len(self), dtype=bool)
        for wanted, names, codes in (
            (systems, self.systems, self.system),
            (segments, self.segments, self.segment),
        ):
            if wanted is not None:
                kept = set(wanted)
                keep &= np.array([name in kept for name in names], dtype=bool)[codes]
        return self if keep.all() else self.take(keep)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rankings(Columns):
    """Relative rankings: per row one judge orders the outputs of k systems (1 is best, ties too).

    ``system`` and ``rank`` are n x k; a place without a system has code -1 and rank NaN.
    """

    _row: ClassVar[str] = "ranking"

    systems: tuple[str, ...]
    segments: tuple[str, ...]
    raters: tuple[str, ...]
    segment: Codes
    rater: Codes
    system: Codes
    rank: Floats

    def __post_init__(self) -> None:
        system = checked_codes(self.system, "system", len(self.systems), ndim=2, least=-1)
        set_fields(self, system=system, rank=own_floats(self.rank, "rank", 2))
        codes = {"segment": "segments", "rater": "raters"}
        self._check(codes, (), system=self.system, rank=self.rank)
        if self.system.shape != self.rank.shape:
            raise ShapeError(f"{self.system.shape} systems but {self.rank.shape} ranks")

    def __len__(self) -> int:
        return len(self.segment)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BattleLog(Columns):
    """Duels: per row ``left`` met ``right``; ``outcome`` is 1 if left won, 0.5 for a tie, else 0.

    ``weight`` and ``time`` are None where the log has none; ``unit`` (codes into ``units``) is what
    the battles of one prompt or segment share: what a bootstrap must resample.
    """

    _row: ClassVar[str] = "battle"

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
        codes = {"left": "systems", "right": "systems", "unit": "units"}
        self._check(codes, ("outcome", "weight", "time"))

    def __len__(self) -> int:
        return len(self.outcome)

"""Segments: the items of a test set and what is known about each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from steelyard.core.display import named, one_line
from steelyard.core.errors import ShapeError, UsageError
from steelyard.core.text import plural

Texts = tuple[str | None, ...]
Index = NDArray[np.int64]
_T = TypeVar("_T")
_NUMBER = re.compile("0|[1-9][0-9]{0,17}").fullmatch  # fits into 64 bits, and is written in one way
#: Columns with a text for each segment, and mappings of further ones by name.
COLUMNS = ("documents", "domains", "sources", "accepted")
MAPPINGS = ("references", "metadata")


class Frozen(dict[str, _T]):
    """A dictionary that cannot be changed (and, unlike a mapping proxy, can be pickled)."""

    def _refuse(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise TypeError("an EvalSet is immutable; with_scores, select and drop give a new one")

    __setitem__ = __delitem__ = update = pop = popitem = clear = setdefault = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self),)


def set_fields(instance: object, **values: Any) -> None:
    """Set fields of a frozen dataclass while it is being made."""
    for name, value in values.items():
        object.__setattr__(instance, name, value)


def checked_texts(
    values: Iterable[Any],
    what: str,
    *,
    optional: bool = False,
    distinct: bool = False,
    named: bool = False,
) -> tuple[Any, ...]:
    """Return texts as a tuple: with None (``optional``), no repeats, no blanks (``named``)."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise UsageError(f"{what}: expected a list of texts, got {values!r}"[:200])
    texts = tuple(values)
    for kind in set(map(type, texts)):
        if not (issubclass(kind, str) or (optional and kind is type(None))):
            odd = next(text for text in texts if type(text) is kind)
            raise UsageError(f"{what}: expected texts, found {odd!r}"[:200])
    blank = next((text for text in texts if not text.strip()), None) if named else None
    if blank is not None:
        state = f"holds {blank!r}" if blank else "is empty"
        raise UsageError(f"{what}: one {state}, expected names")
    if distinct and len(set(texts)) != len(texts):
        raise ShapeError(f"{what} repeat")
    return texts


def positions(names: Iterable[str], among: Iterable[str]) -> Index:
    """Return the position of each name among others, -1 where it is not there."""
    position = {name: k for k, name in enumerate(among)}
    return np.array([position.get(name, -1) for name in names], dtype=np.int64)


def natural_key(label: str) -> tuple[tuple[int, int, str], ...]:
    """Return a sort key that puts ``seg 2`` before ``seg 10``."""
    key = []
    for digits, word in re.findall("([0-9]+)|([^0-9]+)", label):
        number = digits.lstrip("0")
        # Digits by length, then as text: the order of the numbers, for any length.
        key.append((0, len(number), f"{number} {digits}") if digits else (1, 0, word))
    return tuple(key)


def _natural_order(ids: Sequence[str]) -> list[int]:
    """Return the order of ids by :func:`natural_key`; of plain numbers 20 times as fast."""
    if ids and all(map(_NUMBER, ids)):
        return list(map(int, np.argsort(np.array(ids).astype(np.int64))))
    return sorted(range(len(ids)), key=lambda i: natural_key(ids[i]))


@dataclass(frozen=True, slots=True, repr=False)
class Segments:
    """The test items: ids and, where known, document, domain, source and references of each.

    ``accepted`` are names of the entity that a segment is about, any of which a translation may
    use, one per line. ``metadata`` are further columns of the input by name. ``document_column`` is
    what the file called the documents, where not by one of our names.
    """

    ids: tuple[str, ...]
    documents: Texts | None = None
    domains: Texts | None = None
    sources: Texts | None = None
    references: Mapping[str, Texts] = field(default_factory=dict)
    accepted: Texts | None = None
    metadata: Mapping[str, Texts] = field(default_factory=dict)
    in_order: bool = field(default=False, compare=False)  # is known to be canonical
    document_column: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        set_fields(self, ids=checked_texts(self.ids, "segment ids", distinct=True, named=True))
        for name in COLUMNS:
            set_fields(self, **{name: self._checked(getattr(self, name), name)})
        for name in MAPPINGS:
            columns = getattr(self, name)
            if not isinstance(columns, Mapping):
                raise UsageError(f"{name}: expected texts by name, got {type(columns).__name__}")
            checked_texts(columns, f"names of {name}", named=True)
            checked = {key: self._checked(columns[key], f"{name} {key}") for key in sorted(columns)}
            set_fields(self, **{name: Frozen(checked)})

    def _checked(self, texts: Texts | None, name: str) -> Texts | None:
        if texts is None:
            return None
        column = checked_texts(texts, name, optional=True)
        if len(column) != len(self.ids):
            raise ShapeError(f"{len(self.ids)} segments but {len(column)} {name}")
        return column

    def __repr__(self) -> str:
        columns = [name for name in COLUMNS if getattr(self, name) is not None]
        columns += [f"reference {name}" for name in self.references] + list(self.metadata)
        held = f", with {named(columns, 5)}" if columns else ""
        return one_line(self, f"of {plural(len(self), 'item')}: {named(self.ids)}{held}")

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, index: Index) -> Segments:
        """Keep these segments, in this order."""

        def pick(column: Texts | None) -> Any:
            return None if column is None else tuple(column[i] for i in index)

        columns = {name: pick(getattr(self, name)) for name in ("ids", *COLUMNS)}
        mappings: dict[str, Any] = {
            name: {key: pick(texts) for key, texts in getattr(self, name).items()}
            for name in MAPPINGS
        }
        return replace(self, **columns, **mappings, in_order=False)

    def canonical(self) -> tuple[Segments, Index | None]:
        """Return the segments in canonical order, and that order if it is not the present one."""
        if self.in_order:
            return self, None
        order = _natural_order(self.ids)
        if self.documents is not None:
            documents = [self.documents[i] for i in order]
            runs = [name for name, _ in groupby(documents) if name is not None]
            if len(runs) != len(set(runs)):
                first = {name: i for i, name in reversed(list(enumerate(documents)))}
                rank = [i if d is None else first[d] for i, d in enumerate(documents)]
                order = [order[i] for i in np.argsort(rank, kind="stable")]
        if order == list(range(len(self))):
            return replace(self, in_order=True), None
        index = np.array(order, dtype=np.int64)
        return replace(self.take(index), in_order=True), index

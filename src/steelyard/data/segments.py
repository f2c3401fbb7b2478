"""Segments: the items of a test set and what is known about each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from steelyard.core.display import named, one_line
from steelyard.core.errors import ShapeError, UsageError
from steelyard.core.text import plural
from steelyard.data.trusted import changed, made
from steelyard.stats.arrays import own_texts

Texts = tuple[str | None, ...]
Index = NDArray[np.int64]
_T = TypeVar("_T")
#: What is known of segments, a text for each.
COLUMNS = ("documents", "domains", "sources", "accepted")


class Frozen(dict[str, _T]):
    """A dictionary that can't be changed (and, unlike a mapping proxy, can be pickled)."""

    def _refuse(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise TypeError("an EvalSet is immutable; with_scores, select and drop give a new one")

    __setitem__ = __delitem__ = update = pop = popitem = clear = setdefault = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self),)


def natural_key(label: str) -> tuple[tuple[int, int, str], ...]:
    """Sort key that puts ``seg 2`` before ``seg 10``.

    Examples
    --------
    >>> sorted(["10", "2", "d1::10", "d1::9"], key=natural_key)
    ['2', '10', 'd1::9', 'd1::10']
    """
    if label.isascii() and label.isdigit():
        number = label.lstrip("0")
        return ((0, len(number), f"{number} {label}"),)
    words = re.split(r"([0-9]+)", label)
    # Digits are compared by length, then as text: equal to comparing numbers, for any length.
    digits = [word.lstrip("0") for word in words]
    return tuple(
        (0, len(number), f"{number} {word}") if i % 2 else (1, 0, word)
        for i, (word, number) in enumerate(zip(words, digits, strict=True))
        if word
    )


@dataclass(frozen=True, slots=True, repr=False)
class Segments:
    """The test items: ids and, where known, document, domain, source and references of each.

    ``accepted`` are names of the entity that a segment is about, any of which a translation may
    use, one per line. ``document_column`` is what the file called the documents, where not by a
    name of ours.
    """

    ids: tuple[str, ...]
    documents: Texts | None = None
    domains: Texts | None = None
    sources: Texts | None = None
    references: Mapping[str, Texts] = field(default_factory=dict)
    accepted: Texts | None = None
    in_order: bool = field(default=False, compare=False)  # known to be canonical
    document_column: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        ids = own_texts(self.ids, "segment ids", distinct=True, named=True)
        object.__setattr__(self, "ids", ids)
        for name in COLUMNS:
            object.__setattr__(self, name, self._column(getattr(self, name), name))
        if not isinstance(self.references, Mapping):
            kind = type(self.references).__name__
            raise UsageError(f"references: expected texts by the name of a reference, got {kind}")
        own_texts(self.references, "names of references", named=True)
        references = {
            name: self._column(texts, f"reference {name}")
            for name, texts in sorted(self.references.items())
        }
        object.__setattr__(self, "references", Frozen(references))

    def _column(self, texts: Texts | None, name: str) -> Texts | None:
        if texts is None:
            return None
        column = own_texts(texts, name, optional=True)
        if len(column) != len(self.ids):
            raise ShapeError(f"{len(self.ids)} segments but {len(column)} {name}")
        return column

    def __repr__(self) -> str:
        known = [name for name in COLUMNS if getattr(self, name) is not None]
        known += [f"reference {name}" for name in self.references]
        held = f", with {named(known, 5)}" if known else ""
        return one_line(self, f"of {plural(len(self), 'item')}: {named(self.ids)}{held}")

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, index: Index) -> Segments:
        """Keep these segments, in this order."""
        if len(set(index)) < len(index):
            raise ShapeError("segments: one is taken twice")

        def pick(column: Sequence[_T] | None) -> Any:
            return None if column is None else tuple(column[i] for i in index)

        return made(
            Segments,
            ids=pick(self.ids),
            **{name: pick(getattr(self, name)) for name in COLUMNS},
            references=Frozen({name: pick(texts) for name, texts in self.references.items()}),
            document_column=self.document_column,
        )

    def canonical(self) -> tuple[Segments, Index | None]:
        """Give the segments in canonical order, and the order if it is another than now."""
        if self.in_order:
            return self, None
        order = self._order()
        if np.array_equal(order, np.arange(len(order))):
            return changed(self, in_order=True), None
        return changed(self.take(order), in_order=True), order

    def _order(self) -> Index:
        """Order by natural order of ids; documents that this tears apart are put together again."""
        order = sorted(range(len(self)), key=lambda i: natural_key(self.ids[i]))
        if self.documents is not None:
            documents = [self.documents[i] for i in order]
            runs = [name for name, _ in groupby(documents) if name is not None]
            if len(runs) != len(set(runs)):
                first = {name: i for i, name in reversed(list(enumerate(documents)))}
                place = [i if d is None else first[d] for i, d in enumerate(documents)]
                order = [order[i] for i in np.argsort(place, kind="stable")]
        return np.array(order, dtype=np.int64)

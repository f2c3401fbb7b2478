"""Which columns mean what, the same in every table: their names and synonyms."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import InputError, UsageError
from steelyard.core.table import unguarded
from steelyard.core.words import plural
from steelyard.data.judgements import Codes
from steelyard.data.segments import Segments, Texts
from steelyard.formats.tables import RawTable, one_of

SYSTEM = ("system",)
SEGMENT = ("segment", "seg", "seg_id", "segment_id", "sid", "line", "item")
DOCUMENT = ("doc", "document")
DOMAIN = ("domain",)
SOURCE = ("source", "src")
REFERENCE = ("reference", "ref")
OUTPUT = ("output", "hyp")
LANGUAGES = ("lp", "langpair", "language_pair")
REFERENCE_PREFIX = "ref:"

#: Words of a name that say that a column numbers or names rows.
_ID = frozenset(("id", "ids", "idx", "index", "uid", "uuid", "guid", "qid", "docid", "rowid"))
_THING = frozenset(
    ("item", "example", "prompt", "question", "query", "segment", "seg", "sentence", "row", "line",
     "instance")
)  # fmt: skip
_NUMBER = frozenset(("no", "nr", "num", "number", "#"))

#: Columns of tables of scores that are names or texts even where they look like numbers.
TEXT = frozenset((*SYSTEM, *SEGMENT, *DOCUMENT, *DOMAIN, *SOURCE, *REFERENCE, *OUTPUT, *LANGUAGES))


def is_text(name: str) -> bool:
    """Tell whether a column of a table of scores holds names or texts."""
    return name in TEXT or name.startswith(REFERENCE_PREFIX)


def words(name: str) -> list[str]:
    """Split a name where a blank, a sign or a capital letter parts it, in small letters."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    return re.findall(r"[^\W_]+|#", parted.casefold())


def says_id(name: str) -> bool:
    """Tell from its name that a column numbers or names rows, and holds no score.

    Examples
    --------
    >>> [says_id(name) for name in ("id", "questionId", "doc_id", "Unnamed: 0", "row no", "BLEU")]
    [True, True, True, True, True, False]
    """
    found = words(name)
    if not found:
        return False
    numbered = len(found) == 2 and found[0] in _THING and found[1] in _NUMBER
    whole = len(found) == 1 and found[0] in _THING
    return found[-1] in _ID or found[0] == "id" or numbered or whole or found[0] == "unnamed"


def check_free(names: Iterable[str], what: str, *, ids: bool = False) -> None:
    """Refuse names of scores or systems that a table would take for a column of its own.

    With ``ids`` some may read like ids, for formats that say which columns are scores.
    """
    for name in names:
        if is_text(name) or not name.strip() or (says_id(name) and not ids):
            raise UsageError(f"a {what} named '{name}' can't be told from the column of that name")


def uses(name: str, references: Sequence[str] = ()) -> tuple[str, ...]:
    """Tell from the end of a metric's name what it sees: source, all, or named references.

    Examples
    --------
    >>> uses("CometKiwi-src"), uses("BLEU-refA"), uses("BLEU-refA.refB"), uses("chrF")
    (('src',), ('refA',), ('refA', 'refB'), ())
    """
    base, dash, ending = name.rpartition("-")
    if not (base and dash and ending):
        return ()
    if ending in ("src", "all"):
        return (ending,)
    names = ending.split(".")
    known = all(n in references or re.fullmatch(r"ref[A-Z0-9a-z]?", n) for n in names)
    return tuple(names) if known else ()


def plain_names(table: RawTable) -> tuple[RawTable, list[str]]:
    """Take guards against formulas off the names in a delimited table of scores, and say so."""
    if not table.blank_is_missing:
        return table, []
    columns: dict[str, Any] = {}
    found: dict[str, str] = {}
    for given, cells in table.columns.items():
        name = unguarded(given)
        found |= {given: name} if name != given else {}
        if name in (*SYSTEM, *SEGMENT) and not isinstance(cells, np.ndarray):
            odd = {cell for cell in set(cells) if unguarded(cell) != cell}
            found |= {cell: unguarded(cell) for cell in sorted(odd)}
            columns[name] = [unguarded(cell) for cell in cells] if odd else cells
        else:
            columns[name] = cells
    if not found or len(columns) < len(table.columns):
        return table, []
    names = f"{plural(len(found), 'name')}, such as '{next(iter(found.values()))}'"
    note = f"{table.place}: an apostrophe before {names}, is taken for a guard against formulas"
    return replace(table, columns=columns), [note]


def segment_column(table: RawTable) -> str | None:
    """Give the column that holds the segment ids, None if there is none."""
    return one_of(table, SEGMENT, "segment")


def language_pair(table: RawTable) -> tuple[str | None, RawTable]:
    """Take out the column that names the language pair; a file with several is an error."""
    column = one_of(table, LANGUAGES, "language pair")
    if column is None:
        return None, table
    pairs = sorted(set(table.labels(column)))
    if len(pairs) > 1:
        shown = ", ".join(pairs[:5]) + (", ..." if len(pairs) > 5 else "")
        raise InputError(
            f"column '{column}' mixes {len(pairs)} language pairs ({shown}); "
            f"choose one with --where {column}={pairs[0]}",
            path=table.path,
        )
    return pairs[0], table.without([column])


@dataclass(frozen=True)
class SegmentColumns:
    """The columns of a table that describe segments, by what they say."""

    document: str | None
    domain: str | None
    source: str | None
    references: Mapping[str, str]

    @classmethod
    def find(cls, table: RawTable) -> SegmentColumns:
        """Look for them by their names."""
        references = {
            name.removeprefix(REFERENCE_PREFIX): name
            for name in table.columns
            if name.startswith(REFERENCE_PREFIX) and len(name) > len(REFERENCE_PREFIX)
        }
        single = one_of(table, REFERENCE, "reference")
        if single is not None:
            references["ref"] = single
        return cls(
            one_of(table, DOCUMENT, "document"),
            one_of(table, DOMAIN, "domain"),
            one_of(table, SOURCE, "source"),
            references,
        )

    @property
    def names(self) -> set[str]:
        """The names of all of them."""
        single = {self.document, self.domain, self.source} - {None}
        return {*self.references.values(), *(name for name in single if name)}

    def read(self, table: RawTable, ids: Sequence[str], segment: Codes) -> Segments:
        """Read what they say of each segment; rows of one segment must agree."""

        def column(name: str | None) -> Texts | None:
            return None if name is None else per_segment(table, name, len(ids), segment)

        references: dict[str, Any] = {key: column(name) for key, name in self.references.items()}
        return Segments(
            tuple(ids), column(self.document), column(self.domain), column(self.source), references
        )


def per_segment(table: RawTable, column: str, n: int, segment: NDArray[Any]) -> Texts:
    """Fold a column of texts to one per segment; two different texts for one are an error."""
    values: list[str | None] = [None] * n
    for row, (place, text) in enumerate(zip(segment.tolist(), table.texts(column), strict=True)):
        if text is None or values[place] == text:
            continue
        if values[place] is not None:
            table.fail(
                f"column '{column}': {text[:40]!r} differs from {values[place][:40]!r} "
                "on an earlier line of the same segment",
                row,
            )
        values[place] = text
    return tuple(values)


def refuse_repeats(
    table: RawTable, column: str | None, labels: Sequence[str], segment: NDArray[Any]
) -> None:
    """Refuse a table with a row per segment in which a segment has two."""
    repeat = first_repeat(segment)
    if repeat is not None:
        first, second = repeat
        message = f"segment '{labels[second]}' stands on line {table.line(first)} already"
        if column is not None and column in table.given:
            message += f" ({table.named(column)} is taken as the segment; a document is a 'doc')"
        table.fail(message, second)


def first_repeat(codes: NDArray[Any]) -> tuple[int, int] | None:
    """Give the rows (first, second) of the earliest code that occurs twice, or None."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    again = np.flatnonzero(ordered[1:] == ordered[:-1])
    if not len(again):
        return None
    place = again[np.argmin(order[again + 1])]
    return int(order[place]), int(order[place + 1])

"""What a cell says of a pair of outputs (who is better), or of a single one (a grade, a label)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.data.judgements import Codes, Floats
from steelyard.data.verdicts import MISSING, OF_PAIRS, POINTS_OF_LEFT, UNPARSED, Bools
from steelyard.formats.cells import GAPS, brief, parse_number

RIGHT, TIE, LEFT = POINTS_OF_LEFT
_PAIRS = {
    **dict.fromkeys(("left", "model_a", "a", "[[a]]", "a>b", "a>>b", "first", "win"), LEFT),
    **dict.fromkeys(("right", "model_b", "b", "[[b]]", "b>a", "b>>a", "second", "loss"), RIGHT),
    **dict.fromkeys(
        ("tie", "tie (bothbad)", "both_bad", "bothbad", "c", "[[c]]", "a=b", "b=a", "equal",
         "same", "draw"),
        TIE,
    ),
}  # fmt: skip
#: Words for a fail and for a pass, in pairs that go together.
_BINARY = (
    ("fail", "pass"), ("failed", "passed"), ("no", "yes"), ("false", "true"),
    ("incorrect", "correct"), ("wrong", "right"), ("bad", "good"), ("i", "c"), ("0", "1"),
    ("unacceptable", "acceptable"), ("invalid", "valid"), ("unsafe", "safe"),
)  # fmt: skip
_FAILS = {fail for fail, _ in _BINARY}
_PASSES = {word for _, word in _BINARY}
_MOST_LEVELS = 11  # whole numbers up to which grades are categories
_LONGEST = 40  # characters of a label; what is longer is an answer that was not parsed
_SLIPS = 0.05  # share of words up to which a person's numbers are numbers with slips
_RARE = 0.01  # share of a judge's verdicts below which a word that people never use is no label


def says_verdict(word: str) -> bool:
    """Tell whether a word is a verdict wherever it stands; single letters may be names, too.

    Examples
    --------
    >>> [says_verdict(word) for word in ("Pass", "tie", "A", "gpt-4")]
    [True, True, False, False]
    """
    small = word.strip().casefold()
    return len(small) > 1 and (small in _PAIRS or small in _FAILS or small in _PASSES)


def is_gap(cell: object) -> bool:
    """Tell whether nothing was said."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return True
    return isinstance(cell, str) and cell.strip() in GAPS


def _number(cell: object) -> float | None:
    if isinstance(cell, bool):
        return float(cell)
    found = parse_number(cell.strip() if isinstance(cell, str) else cell)
    return found if found is not None and math.isfinite(found) else None


def said_in(cells: Sequence[Any]) -> tuple[list[int], list[Any]]:
    """Give the rows in which something is said, and what; lists and objects as text.

    Examples
    --------
    >>> said_in(["left", "", None, " tie ", float("nan"), ["x"]])
    ([0, 3, 5], ['left', 'tie', "['x']"])
    """
    try:
        kinds = set(cells)
    except TypeError:
        cells = [brief(cell) if isinstance(cell, (list, dict, set)) else cell for cell in cells]
        kinds = set(cells)
    told = {cell: None if is_gap(cell) else _plain(cell) for cell in kinds}
    found = [told[cell] for cell in cells]
    rows = [row for row, cell in enumerate(found) if cell is not None]
    return rows, [found[row] for row in rows]


def _plain(cell: object) -> object:
    return cell.strip() if isinstance(cell, str) else cell


@dataclass(frozen=True, slots=True)
class PairColumn:
    """How the numbers of a column of pairs are meant.

    ``style`` is ``points`` (of the left one, 0 to 1), ``places`` (1 left, 2 right, 0 a tie),
    ``signs`` (1 left, -1 right, 0 a tie) or ``open``, which noughts and ones alone leave it: they
    are taken for what others in the same tables write, else for points; None where some number is
    none of these.
    """

    style: str | None

    @classmethod
    def of(cls, cells: Iterable[object]) -> PairColumn:
        """Look through a column.

        Examples
        --------
        >>> columns = (["1", "2"], ["0.3", "1"], ["-1", "1"], ["7"], ["0", "1"])
        >>> [PairColumn.of(cells).style for cells in columns]
        ['places', 'points', 'signs', None, 'open']
        """
        found = {number for cell in set(cells) if (number := _number(cell)) is not None}
        if found <= {0.0, 1.0}:
            return cls("open")
        if found <= {0.0, 1.0, 2.0}:
            return cls("places")
        if found <= {-1.0, 0.0, 1.0}:
            return cls("signs")
        return cls("points" if all(0 <= x <= 1 for x in found) else None)

    def settled(self, others: Iterable[PairColumn]) -> PairColumn:
        """Take the style of others where the own one is open; the first that has one decides.

        Examples
        --------
        >>> PairColumn("open").settled([PairColumn("open"), PairColumn("places")]).style
        'places'
        """
        if self.style != "open":
            return self
        told = (own.style for own in others if own.style in ("points", "places", "signs"))
        return PairColumn(next(told, "points"))

    def word(self, cell: object) -> float | None:
        """Give the points of the left one; None where the cell can't be understood."""
        if isinstance(cell, str):
            known = _PAIRS.get(cell.casefold())
            if known is not None:
                return known
        number = _number(cell)
        if number is None or self.style is None:
            return None
        if self.style == "places":
            return {1.0: LEFT, 2.0: RIGHT, 0.0: TIE}.get(number)
        return (number + 1) / 2 if self.style == "signs" else number

    def points(
        self, cells: Sequence[Any], left: Sequence[str | None], right: Sequence[str | None]
    ) -> Floats:
        """Give the points of the left one of each pair, NaN where a cell can't be understood.

        The name of a system means that it won, whatever else it could mean.

        Examples
        --------
        >>> cells = ["2", "left", "Y", "tie", "sorry", "Z"]
        >>> PairColumn("places").points(cells, ["X"] * 6, ["Y"] * 6).tolist()
        [0.0, 1.0, 0.0, 0.5, nan, nan]
        """
        kinds = set(cells)
        known = {cell: math.nan if (x := self.word(cell)) is None else x for cell in kinds}
        found = np.array([known[cell] for cell in cells], dtype=np.float64)
        if not kinds.isdisjoint(left) or not kinds.isdisjoint(right):
            for row, cell in enumerate(cells):
                if cell == left[row]:
                    found[row] = LEFT
                elif cell == right[row]:
                    found[row] = RIGHT
        return found


def pair_labels(points: Floats, unread: Bools) -> Codes:
    """Give labels of points: who got more than half."""
    half = OF_PAIRS.index("tie")
    said = np.where(points > TIE, OF_PAIRS.index("left"), OF_PAIRS.index("right"))
    found = np.where(np.isnan(points), MISSING, np.where(points == TIE, half, said))
    return np.where(unread, UNPARSED, found).astype(np.int32)


@dataclass(frozen=True, slots=True)
class Scale:
    """What verdicts on single outputs are: categories with their values, or numbers alone.

    ``words`` are labels in small letters and the place of each category; empty for numbers.
    """

    categories: tuple[str, ...]
    values: tuple[float, ...]  # NaN where a category stands for no number
    words: dict[str, int]
    ordered: bool

    @classmethod
    def of(cls, people: Sequence[Sequence[object]], judges: Sequence[Sequence[object]]) -> Scale:
        """Find the scale that people used; a judge's further labels are categories, too.

        Examples
        --------
        >>> Scale.of([["1", "3", ""]], [["2", "3", "5"]]).categories
        ('1', '2', '3', '5')
        >>> Scale.of([["pass", "fail"]], [["Pass", "FAIL"]]).values
        (0.0, 1.0)
        >>> Scale.of([["0.31", "0.7"]], [["0.4", "1"]]).categories
        ()
        """
        counts = Counter(cell for own in people for cell in own if not is_gap(cell))
        numbers = {x for cell in counts if (x := _number(cell)) is not None}
        odd = sum(n for cell, n in counts.items() if _number(cell) is None)
        if odd <= _SLIPS * counts.total():
            return cls._of_numbers(numbers, judges)
        said = [str(cell).strip() for cell in counts]
        small = {word.casefold() for word in said}
        if small <= _FAILS | _PASSES:
            return cls._of_truths(small)
        return cls._of_labels(said, judges)

    @classmethod
    def _of_numbers(cls, numbers: set[float], judges: Sequence[Sequence[object]]) -> Scale:
        if not _are_levels(numbers):
            return cls((), (), {}, ordered=True)
        binary = numbers <= {0.0, 1.0}
        levels = numbers | ({0.0, 1.0} if binary else set())
        for theirs in judges:
            own = {x for cell in set(theirs) if (x := _number(cell)) is not None}
            if _are_levels(levels | own):
                levels |= own
        ordered = sorted(levels)
        names = tuple(str(int(x)) if x.is_integer() else str(x) for x in ordered)
        words: dict[str, int] = {}
        if binary:  # a judge may say it in words
            words = {word: ordered.index(x) for x, own in ((0.0, _FAILS), (1.0, _PASSES))
                     for word in own}  # fmt: skip
        return cls(names, tuple(ordered), words, ordered=True)

    @classmethod
    def _of_truths(cls, small: set[str]) -> Scale:
        """Take words for failing and passing, called as people call them."""
        fail, good = next((both for both in _BINARY if set(both) & small), ("fail", "pass"))
        words = {**dict.fromkeys(_FAILS, 0), **dict.fromkeys(_PASSES, 1)}
        return cls((fail, good), (0.0, 1.0), words, ordered=True)

    @classmethod
    def _of_labels(cls, said: Sequence[str], judges: Sequence[Sequence[object]]) -> Scale:
        names = {word.casefold(): word for word in sorted(set(said), reverse=True)}
        for own in judges:
            cells = [str(cell).strip() for cell in own if not is_gap(cell)]
            counts = Counter(cell.casefold() for cell in cells)
            for cell in sorted(set(cells), reverse=True):
                often = counts[cell.casefold()]
                if often > 1 and often >= _RARE * len(cells) and len(cell) <= _LONGEST:
                    names.setdefault(cell.casefold(), cell)
        ordered = sorted(names.values())
        words = {name.casefold(): place for place, name in enumerate(ordered)}
        return cls(tuple(ordered), (math.nan,) * len(ordered), words, ordered=False)

    def read(self, cells: Sequence[object]) -> tuple[Floats, Codes]:
        """Give values and labels of a column; no labels where its numbers are no categories.

        Examples
        --------
        >>> scale = Scale.of([["1", "2", "3"]], [])
        >>> [own.tolist() for own in scale.read(["3", "sorry", None])]
        [[3.0, nan, nan], [2, -2, -1]]
        >>> [own.tolist() for own in scale.read(["2.5", "3", "sorry"])]
        [[2.5, 3.0, nan], [-1, -1, -2]]
        """
        place = {x: n for n, x in enumerate(self.values)}
        numeric = not any(math.isnan(x) for x in self.values)
        fits = bool(self.categories)
        known: dict[Any, tuple[float, int]] = {}
        for cell in set(cells):
            word, number = self.words.get(str(cell).strip().casefold()), _number(cell)
            if is_gap(cell):
                known[cell] = math.nan, MISSING
            elif word is not None:
                known[cell] = self.values[word], word
            elif number is not None and numeric:
                known[cell] = number, place.get(number, MISSING)
                fits &= number in place
            else:
                known[cell] = math.nan, UNPARSED
        value = np.array([known[cell][0] for cell in cells], dtype=np.float64)
        label = np.array([known[cell][1] for cell in cells], dtype=np.int32)
        if not fits:
            label = np.where(label == UNPARSED, UNPARSED, MISSING).astype(np.int32)
        return value, label


def _are_levels(numbers: set[float]) -> bool:
    """Tell whether numbers are grades: few, and whole (or halves of nought and one)."""
    if numbers <= {0.0, 0.5, 1.0}:
        return True
    return len(numbers) <= _MOST_LEVELS and all(x.is_integer() for x in numbers)
